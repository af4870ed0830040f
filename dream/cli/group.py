"""The group `dream`: its commands, which load late, what they have in common, and where the process ends."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dream import __version__
from dream.cli import output
from dream.cli.output import NARROWEST
from dream.errors import DreamError, UsageError

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.models import Diagnostic
    from dream.workspace.places import Scope

# The list of commands. `dream --help` is made from it, without loading any command.


# Name → what it does, in the order of the help. A test holds each sentence to the first of the command's own help.
COMMANDS: dict[str, str] = {
    "init": "Make a workspace, or adopt nanobot's, and its first commit.",
    "sources": "List the agents found on this machine, and choose which are read every night.",
    "models": "List the models available on this machine, choose one, or try one.",
    "consolidate": "Read transcripts and append to history what is new in them.",
    "reread": "Read the kept messages again with the current model, and dream the result.",
    "run": "Dream until nothing is left: distil new history into the memory files.",
    "nightly": "Consolidate the configured sources, then dream: what cron calls.",
    "log": "List the changes of memory, newest first, or show one.",
    "why": "Show where a line of memory comes from: the changes that wrote it, and the messages behind it.",
    "search": "Search the memory files, history, and the messages behind them.",
    "get": "Open a citation: a line of memory, an entry of history, or a message.",
    "restore": "Put memory back as it was just before a change.",
    "review": "Show what is held for review, and accept or reject it.",
    "web": "Show memory in a browser: what the night changed, why, and how to undo it.",
    "places": "List the projects and group chats that have memory of their own, and change what belongs to which.",
    "drop": "Remove one line of memory for good, unless you restore it.",
    "forget": "Delete a fact or a secret from files, history and every version, for good.",
    "context": "Print memory for an agent's prompt: the files, then history not dreamt yet.",
    "import": "Import what other tools remember: Claude Code, Codex, ChatGPT, mem0 and others.",
    "export": "Write memory for other tools and for a copy: Markdown, JSON or OKF.",
    "connect": "Connect agents' clients with memory: hooks and an MCP server, shown before they are written.",
    "mcp": "Serve memory to an agent's client over MCP, on standard input and output.",
    "note": "Add a fact to history now.",
    "check": "Check whether memory is still true: contradictions, duplicates, past dates, missing paths.",
    "status": "Show whether it works: backlog, sizes, spending, last runs, next run.",
    "doctor": "Check everything on disk, and repair what can be repaired without loss.",
    "sync": "Share this memory with your other machines, through your own git remote.",
    "clone": "Make a workspace from a memory that another machine has synced: on a new machine, or from a backup.",
    "trust": "Show what an untrusted workspace's settings would do, and accept it.",
    "serve": "Keep running, and dream on a cron schedule.",
    "cron": "Let crontab, systemd or launchd dream every night.",
    "fleet": "Dream for many workspaces: on one machine, or on several with one limit for the provider.",
    "demo": "Run the whole pipeline on a sample conversation, with no configuration.",
}

# The headings of the help, and what stands below each.
GROUPS = {
    "Start": ("init", "connect", "import", "clone", "demo"),
    "Every night": ("nightly", "sources", "models", "cron", "serve", "sync", "fleet"),
    "Look": ("status", "log", "why", "search", "get", "check", "web"),
    "Decide": ("review", "note", "drop", "forget", "restore", "places"),
    "By hand and for agents": ("consolidate", "run", "reread", "context", "mcp", "export", "doctor", "trust"),
}

# Commands of older versions, with what replaces them.
REMOVED = {
    "eval": "`dream eval` is not installed any more: a clone of the repository has it as `python -m tests.quality`.",
}
MANY = 10  # commands from which on an error does not list them all

# Those that are not in a module of their own name.
MODULES = {
    **dict.fromkeys(("context", "note", "search", "get", "mcp"), "agents"),
    **dict.fromkeys(("log", "why", "restore", "drop", "forget", "check"), "changes"),
    **dict.fromkeys(("run", "nightly", "serve", "cron"), "nights"),
    **dict.fromkeys(("init", "trust", "status", "doctor"), "workspace"),
    **dict.fromkeys(("import", "export"), "transfer"),
    "consolidate": "sources",
    "web": "review",
    "clone": "sync",
}
Function = TypeVar("Function", bound=Callable[..., Any])
as_of = click.option(
    "--as-of", metavar="MOMENT", help="Memory as it stood then: a day, a commit, a citation, or before the last dream."
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print problems only.")
verbose = click.option("-v", "--verbose", is_flag=True, help="Also show each finding and what became of it.")
_model = click.option("-m", "--model", metavar="MODEL", help="The model for all three jobs: any LiteLLM name.")
_set = click.option(
    "-s", "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Override a setting once. Can be repeated."
)
INTERRUPTED = 130  # 128 + SIGINT, as shells count
CLICKS_NARROWEST = 52  # columns for which click lays out its help, also where there are fewer


def loaded(name: str) -> click.Command:
    """Import the module of one of the `COMMANDS`, and return the command."""
    command = getattr(import_module(f"dream.cli.{MODULES.get(name, name)}"), f"{name}_command")
    assert isinstance(command, click.Command)
    return command


class DreamCommand(click.Command):
    """A command whose function returns the exit status, or None for 0.

    `failed` is what the JSON of a failure holds besides the outcome and the reason.
    """

    failed: Mapping[str, object] = {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a DreamError becomes one line on stderr and its exit status."""
        try:
            return super().invoke(ctx)
        except DreamError as error:
            output.problem(str(error))
            if ctx.params.get("as_json"):
                output.emit({"outcome": "failed", **self.failed, "reason": str(error)})
            return error.exit_status


class DreamingCommand(DreamCommand):
    """A command that dreams: also where it failed before its first dream, its JSON lists the dreams."""

    failed: Mapping[str, object] = {"batches": []}


class TextCommand(DreamCommand):
    """A command that takes a text; one that begins with a dash, as a line of a list does, is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what begins with a dash and a space, or a dash and a digit, is text."""
        texts = [word for word in args if word[:1] == "-" and (word[1:2].isspace() or word[1:2].isdigit())]
        if texts and "--" not in args:
            args = [*(word for word in args if word not in texts), "--", *texts]
        return super().parse_args(ctx, args)


class DreamGroup(DreamCommand, click.Group):
    """A group inside the group: `dream review`, `dream cron`."""

    command_class = DreamCommand

    def summaries(self) -> dict[str, str]:
        """Return the first sentence of each command's help, by its name."""
        helps = {name: (one.help or "").partition("\n\n")[0] for name, one in sorted(self.commands.items())}
        return {name: " ".join(text.split()) for name, text in helps.items()}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one the nearest is named, or where they are."""
        names, said = list(self.summaries()), args[0]
        if said not in names and not said.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(said, names, n=1)
            *others, last = [f"`{ctx.command_path} {name}`" for name in names]
            where = f"`{ctx.command_path} --help` lists them."
            if len(names) < MANY:
                where = f"There are {', '.join(others)} and {last}."
            meant = f"Did you mean {near[0]!r}?" if near else where
            raise click.UsageError(f"There is no command {said!r}. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def sections(self) -> dict[str, tuple[str, ...]]:
        """Return the headings of the help, with the commands below each."""
        return {"Commands": tuple(self.summaries())}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with a whole sentence."""
        told = self.summaries()
        for heading, names in self.sections().items():
            with formatter.section(heading):
                formatter.write_dl([(name, told[name]) for name in names if name in told])


class LazyGroup(DreamGroup):
    """The group `dream`: a command's module is imported when the command is called, and not for the help."""

    def summaries(self) -> dict[str, str]:
        """Return the first sentence of each command's help, without loading any."""
        return COMMANDS

    def sections(self) -> dict[str, tuple[str, ...]]:
        """Return the groups of commands; ungrouped ones come last."""
        grouped = {name for names in GROUPS.values() for name in names}
        rest = tuple(name for name in COMMANDS if name not in grouped)
        return {**GROUPS, "More": rest} if rest else GROUPS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None for a name that is not ours."""
        return loaded(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; `help run` is `run --help`, and one that was removed is a sentence."""
        if args[0] in REMOVED:
            raise click.UsageError(REMOVED[args[0]], ctx)
        return super().resolve_command(ctx, [*args[1:], "--help"] if args[0] == "help" else args)


# Options that many commands share, and the workspace and settings that they open.


class Text(click.types.StringParamType):
    """Text of an argument: UTF-8, also in an ASCII locale."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the bytes behind what Python could not decode; it is wrong usage where they are not UTF-8."""
        undecoded = any("\ud800" <= char <= "\udfff" for char in value)
        try:
            return os.fsencode(value).decode("utf-8") if undecoded else str(value)
        except UnicodeError:
            self.fail("it is not UTF-8 text.", param, ctx)


def standard_bytes() -> bytes:
    """Read standard input, with a hint on a terminal; raises UsageError where it is closed."""
    if sys.stdin is None:
        raise UsageError("Standard input is closed.")
    if sys.stdin.isatty():
        output.problem("Type or paste the text; Ctrl-D on a line of its own ends it.")
    return sys.stdin.buffer.read()


def standard_input() -> str:
    """Read standard input as UTF-8, whatever the locale; raises UsageError where it is closed or something else."""
    try:
        return standard_bytes().decode("utf-8")
    except UnicodeError as error:
        raise UsageError("Standard input is not UTF-8 text.") from error


def somebody_answers() -> bool:
    """Return whether a person can be asked: standard input and output are a terminal; a closed one is None."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def confirmed(question: str) -> bool:
    """Ask a person on the terminal; on Ctrl-C begin a new line first."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        raise


def only_a_person(what: str, line: str) -> None:
    """Raise UsageError inside an agent's client: a page or a file may have talked the agent into it."""
    from dream import trust

    if agent := trust.inside_agent(os.environ):
        where = f"`{line}` in a terminal of your own"
        raise UsageError(
            f"{what} is for a person to decide, not inside an agent's client ({agent} is set): type {where}."
        )


def in_place(command: Function) -> Function:
    """Add the options that name the place for which memory is asked."""
    for option in (
        click.option("--chat", metavar="KEY", default="", help="For this group chat: what a group may be given."),
        click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR", help="For the project of DIR."),
        click.option("--place", metavar="NAME", default="", help="For this place; else for where you are."),
    ):
        command = option(command)
    return command


def scope(
    workspace: Workspace,
    place: str,
    cwd: Path | None,
    chat: str,
    *,
    everywhere: bool = False,
    all_outside: bool = False,
) -> Scope:
    """Return the scope of a place that was named, else of the current directory.

    Only a person may ask for `everywhere`; with `all_outside` a person who is in no place gets everything.
    """
    from dream import trust
    from dream.workspace.places import Scope

    if everywhere:
        only_a_person("What was said in other places", "dream search --everywhere")
        return Scope(every=True)
    if place:
        only_a_person("What was said in another place", f"dream search --place {place}")
        return workspace.scope(place)
    found = workspace.places().scope(str(Path.cwd() / (cwd or "")), chat)
    alone = found.place is None and cwd is None
    return Scope(every=True) if alone and all_outside and not trust.inside_agent(os.environ) else found


def inherited(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Let a group's option hold for its command: `dream -w DIR log`, `dream review --json`."""
    key = f"{__name__}{parameter.opts[-1]}"
    if value:
        ctx.meta[key] = value
    return value or ctx.meta.get(key, value)


def _directory(name: str, said: str) -> Callable[[Function], Function]:
    return click.option(
        "-w", "--workspace", name, type=click.Path(path_type=Path), metavar="DIR", callback=inherited, help=said
    )


workspace = _directory(
    "directory", "The workspace. Default: DREAM_WORKSPACE, else the nearest upwards, else ~/.dream/workspace."
)
place = _directory("named", "The same as DIR.")  # of a command that makes a workspace
settings_of = _directory("directory", "Use this workspace's dream.toml too; its memory is not touched.")
as_json = click.option(
    "--json", "as_json", is_flag=True, callback=inherited, help="Print one JSON value on stdout and nothing else."
)


def models(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--model` and `--set`, which the command gets as settings in `flags`; UsageError for what is none."""

    @wraps(function)
    def command(*, model: str | None, pairs: tuple[str, ...], **given: Any) -> Any:
        return function(flags=_flags(model, pairs), **given)

    return _model(_set(command))


def now() -> datetime:
    """Return the current time; the only place where the command line reads the clock."""
    return datetime.now(UTC)


def open_workspace(directory: Path | None, *, to_trust: bool = False) -> Workspace:
    """Open the named workspace, or find one from here; diagnostics of its files go to stderr, each once."""
    from dream.directory import Workspace

    told: set[Diagnostic] = set()

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic not in told:
            told.add(diagnostic)
            output.problem(str(diagnostic))

    if directory is not None:
        return Workspace.open(directory, report=report, to_trust=to_trust)
    return Workspace.find(Path(), os.environ, report=report, to_trust=to_trust)


def _flags(model: str | None, pairs: tuple[str, ...]) -> dict[str, object]:
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair!r} is not of the form NAME=VALUE.")
        given[name.strip()] = value.strip()
    return given if model is None else given | {"model": model}


# Where the installed commands start and end.


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@workspace
@click.version_option(__version__, prog_name="dream")
def dream_group(directory: Path | None) -> None:
    """A memory for AI agents that is put in order every night.

    dream reads what an agent and its user said, keeps a running history, and distils it into SOUL.md, USER.md and
    memory/MEMORY.md. Every change is one git commit that can be read and taken back.

    \b
    New here:    dream demo · dream connect claude-code
    Your own:    dream init · dream consolidate TRANSCRIPT · dream run · dream log
    """


def finish(command: click.Command, program: str) -> None:
    """Run `command` on the process's arguments and exit: 0, what it returned, 2 for wrong usage, 130 for Ctrl-C.

    A status of 0 becomes 1 where output could not be written.
    """
    output.prepare()
    try:
        status = command.main(prog_name=program, standalone_mode=False, terminal_width=_narrow())
    except SystemExit:  # click's, where the reader of what it prints itself has gone: `dream --help | true`
        status = 0
    except click.ClickException as raised:
        error = _plainly(raised)
        if error.format_message().startswith("Usage: "):  # `dream cron` alone: its help is all there is to tell
            click.echo(error.format_message(), err=True)
        else:
            output.problem(_sentence(error))
        if "--json" in sys.argv:  # a program reads one value, also where its own usage was wrong
            called = error.ctx.command if isinstance(error, click.UsageError) and error.ctx else None
            more = called.failed if isinstance(called, DreamCommand) else {}
            output.emit({"outcome": "failed", **more, "reason": error.format_message()})
        status = error.exit_code
    except click.Abort:
        output.problem("Stopped. What was committed stays; everything else is as it was.")
        status = INTERRUPTED
    status = status if isinstance(status, int) else 0
    status = status if output.close() else status or 1
    if status == INTERRUPTED:
        os._exit(status)  # else Python waits for calls that are under way in threads
    sys.exit(status)


def _sentence(error: click.ClickException) -> str:
    """Return a usage error as a sentence, with the help that explains the command."""
    said = output.sentence(error.format_message())
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else None
    return f"{said} `{path} --help` tells more." if path and "--help" not in said else said


class Span(click.types.StringParamType):
    """A day or span of days in words; the value is its first day, or its last one."""

    name = "span"

    def __init__(self, *, last: bool = False) -> None:
        self._last = last

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the day that is meant."""
        from dream.recall.then import named_range

        if isinstance(value, date):
            return value
        found = named_range(value, now().date())
        if found is None:
            self.fail(f"{value!r} is not a day like 2026-11-18, or a span like 'last week' or März.", param, ctx)
        return found[self._last]


def _plainly(error: click.ClickException) -> click.ClickException:
    """Return the error without click's words for types and ranges."""
    if type(error) is not click.BadParameter:
        return error
    return click.BadParameter(_none_of_its_kind(error), error.ctx, error.param)


def _none_of_its_kind(error: click.BadParameter) -> str:
    value, kind = re.split(" is not | does not ", error.message)[0], error.param.type if error.param else None
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return error.message
    number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    bounds = f"of at least {kind.min}" if kind.max is None else f"from {kind.min} to {kind.max}"
    return f"{value} is not {number} {bounds}."


def _narrow() -> int | None:
    """Return the terminal's width if it is below click's minimum, else None."""
    columns = shutil.get_terminal_size().columns
    return columns if NARROWEST <= columns < CLICKS_NARROWEST else None
