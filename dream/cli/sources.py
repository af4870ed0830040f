"""`dream sources` and `consolidate`: which transcripts are read, and reading them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream import cli
from dream.actions import configure
from dream.cli import group, output, show
from dream.consolidate import listing
from dream.directory import Workspace
from dream.errors import SettingsError, TranscriptError, UsageError
from dream.models import Diagnostic, Unread
from dream.reports import ConsolidateReport, Progress
from dream.settings import CALLING, FILE_NAME, REACHING, Settings
from dream.transcripts import known_formats
from dream.workspace.files import explained, temporary_name, write_beside

if TYPE_CHECKING:
    from dream.consolidate.listing import File, FoundSource

_named = click.argument("names", nargs=-1, required=True, metavar="NAME|PATH|GLOB...")
PIPED = "stdin"  # the id of a session that comes on standard input and has none of its own


@click.group("sources", cls=group.DreamGroup, invoke_without_command=True)
@group.workspace
@group.as_json
@click.pass_context
def sources_command(context: click.Context, directory: Path | None, as_json: bool) -> None:
    """List the agents found on this machine, and choose which are read every night.

    For each: its files, their sessions, their size, and how many files have something new. No file is opened.
    Marked agents are in `sources` of dream.toml; `dream nightly` and `dream consolidate` without a PATH read
    them. The command also works without a workspace.

    \b
    Examples:
      dream sources
      dream sources add claude-code
      dream sources add "~/chats/*.json" "hermes @ Asia/Tokyo"
      dream sources remove claude-code
    """
    if context.invoked_subcommand is not None:
        return
    from dream.settings import load
    from dream.workspace import locate

    if directory is None and locate.find(Path(), os.environ) is None:  # it also works before there is a workspace
        found = listing.survey(load(None, using=()), Path(), None, group.now(), home=Path.home(), environ=os.environ)
    else:
        workspace = group.open_workspace(directory)
        settings = workspace.settings(using=())
        history = workspace.history
        found = listing.survey(settings, workspace.root, history, group.now(), home=Path.home(), environ=os.environ)
    if as_json:
        output.emit(found)
    else:
        _show(found)


@sources_command.command("add")
@_named
@group.workspace
@group.as_json
def add(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Read an agent's transcripts every night, or a path or glob.

    The rest of dream.toml stays as it is, comments included. A zone behind ` @ ` is that of times without one.

    \b
    Examples:
      dream sources add claude-code codex
      dream sources add "~/chats/*.json"
      dream sources add "hermes @ Asia/Tokyo"
    """
    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=REACHING)
    if not workspace.is_trusted:  # `settings` has refused anything of others; what is added here is the person's own
        workspace.trust()
    done = []
    for name in (_from_here(name, workspace.root) for name in names):
        files = listing.check(name, settings, workspace.root, home=Path.home(), environ=os.environ)
        added = configure.set_source(workspace.root, name, read=True)
        done.append({"source": name, "added": added, "files": files})
        if not as_json:
            there = show.counted(files, "file")
            output.say(f"Added {name}: {there} so far." if added else f"{name} is already a source.")
        if needs := listing.needs(name):
            output.problem(f"{name} is skipped for now: reading it needs {needs}.")
    _show_sources(done, as_json)


@sources_command.command("remove")
@_named
@group.workspace
@group.as_json
def remove(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Stop reading it; what is in history stays.

    \b
    Example:
      dream sources remove claude-code
    """
    workspace = group.open_workspace(directory)
    done = []
    for name in names:
        removed = configure.set_source(workspace.root, name, read=False)
        done.append({"source": name, "removed": removed})
        if not as_json:
            output.say(f"Removed {name}." if removed else f"{name} is not a source.")
    _show_sources(done, as_json)


def _from_here(name: str, root: Path) -> str:
    """Make a path absolute that exists in the current directory and not in `root`, from which dream.toml counts."""
    path, _, zone = name.partition(listing.ZONE)
    if not path or path in known_formats() or Path(path).expanduser().is_absolute() or _is_there(root, path):
        return name
    if not _is_there(Path(), path):
        return name
    return f"{Path(path).absolute()}{listing.ZONE}{zone}" if zone else str(Path(path).absolute())


def _is_there(folder: Path, path: str) -> bool:
    return (folder / path).exists() or any(folder.glob(path))


def _show_sources(done: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        output.emit(done)
    if os.environ.get("DREAM_SOURCES"):
        output.problem("DREAM_SOURCES is set in the environment and overrides dream.toml.")


def _show(found: list[FoundSource]) -> None:
    if not found:
        output.say("No agent's transcripts were found here. Name a path: dream sources add PATH")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        if one.problem:
            why = _not_there(one) if one.configured and not one.files else one.problem
            output.say(f"✗ {one.name:<{width}}  {why}", colour="red")
            continue
        mark, new = "✓" if one.configured else " ", f"{one.new:,} new" if one.new else "nothing new"
        size = f"{one.bytes / 1e6:,.1f} MB" if one.bytes >= 1e6 else f"{one.bytes / 1e3:,.0f} kB"
        row = f"{mark} {one.name:<{width}}  {show.counted(one.sessions, 'session'):>16}  {size:>10}  {new}"
        output.say(row, bold=one.configured, dim=not one.configured)
    for one in found:
        if one.deletes:
            output.say(f"{one.deletes}. dream keeps what it has read.", colour="red", fold=True)
    if any(not one.configured for one in found):
        output.say("✓ is read every night; add another with: dream sources add NAME")


def _not_there(one: FoundSource) -> str:
    """Return what is wrong with a source, and the command that removes it."""
    why = one.problem.partition(f" of your settings: {one.name} ")[2] or one.problem
    return f"{why.partition('.')[0]}, or: dream sources remove {shlex.quote(one.name)}"


@click.command("consolidate", cls=group.DreamCommand)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(known_formats())),
    metavar="NAME",
    help=f"The transcripts' format; default: detected by content. One of {', '.join(known_formats())}.",
)
@click.option("--hook", is_flag=True, help="Read a hook's JSON on standard input: its `transcript_path` is the PATH.")
@click.option(
    "--detach", is_flag=True, help="Continue in the background and return at once, as agents stop slow hooks."
)
@click.option("--idle", is_flag=True, help="Skip transcripts that changed within the last `idle_hours`.")
@group.quiet
@group.models
@group.workspace
@group.as_json
def consolidate_command(
    paths: tuple[Path, ...],
    format_name: str | None,
    hook: bool,
    detach: bool,
    idle: bool,
    quiet: bool,
    flags: Mapping[str, object],
    directory: Path | None,
    as_json: bool,
) -> int:
    """Read transcripts and append to history what is new in them.

    A PATH is a transcript, a directory of transcripts, or `-` for standard input, in any of the formats that
    --format lists; or the name of an agent, for all of its transcripts on this machine. Only messages that are
    not in history yet are summarised, so you can give the same PATH again. Without a PATH it reads the sessions
    of the `sources` in dream.toml that have been quiet for `idle_hours`.

    \b
    Examples:
      dream consolidate session.jsonl
      dream consolidate claude-code --idle
      pbpaste | dream consolidate -
      dream consolidate chat.json --format openai --json
      dream consolidate --hook --detach    # as Claude Code's SessionEnd hook
    """
    workspace = group.open_workspace(directory)
    settings = workspace.settings(flags=flags, using=CALLING if hook or paths else (*CALLING, "sources"))
    said = group.standard_bytes() if Path("-") in paths and not hook else None
    named = _of_hook() if hook else []
    if hook and not named:
        return _report(ConsolidateReport(reason="the session has no transcript"), as_json=as_json, quiet=quiet)
    if detach and not _detach(workspace):
        return 0
    with nullcontext() if said is None else _piped(said, workspace.private) as piped:
        wanted = _wanted(paths, named, piped, workspace, settings)
        with output.progress("reading", quiet=as_json or quiet) as shown:
            report = _consolidated(workspace, wanted, settings, format_name, idle, shown)
    if hook:
        _index(workspace)
    return _report(report, as_json=as_json, quiet=quiet, piped=piped)


def _detach(workspace: Workspace) -> bool:
    """Continue in the background; return whether this is the process that continues."""
    with explained("opened", workspace.private / cli.LOG):
        return cli.detach(workspace.private)


@dataclass(frozen=True, slots=True)
class _NamedFiles:
    """The transcripts to read. Those of the `configured` sources are read when quiet; `reason` says why none is."""

    files: Sequence[Path | File] = ()
    configured: bool = False
    wrong: tuple[Diagnostic, ...] = ()
    reason: str = ""


def _wanted(
    paths: Sequence[Path], named: Sequence[Path | File], piped: File | None, workspace: Workspace, settings: Settings
) -> _NamedFiles:
    """Return the transcripts that a hook has named, and those that the paths mean; else those of the sources."""
    meant = {path: _meant(path, piped, workspace, settings) for path in paths}
    files = [*named, *(file for files in meant.values() for file in files)]
    absent = [str(path) for path, found in meant.items() if not found]
    reason = f"no transcripts of {', '.join(absent)} on this machine; name the path of some" if absent else ""
    if reason and files:
        output.problem(f"{reason}.")
    if files or reason:
        return _NamedFiles(files, reason="" if files else reason)
    found, wrong = _configured(workspace, settings)
    return _NamedFiles(found, True, wrong)


def _consolidated(
    workspace: Workspace, wanted: _NamedFiles, settings: Settings, format_name: str | None, idle: bool, shown: Progress
) -> ConsolidateReport:
    """Read the transcripts into history; the report also names the sources that are missing."""
    from dream import pipeline

    if wanted.reason:
        return ConsolidateReport(reason=wanted.reason)
    report = pipeline.consolidate(
        workspace,
        wanted.files,
        settings=settings,
        now=group.now(),
        format=format_name,
        idle=idle or wanted.configured,
        progress=shown,
    )
    return replace(report, diagnostics=(*wanted.wrong, *report.diagnostics))


def _index(workspace: Workspace) -> None:
    """Index what was read, so that the first prompt of the next session finds it."""
    from dream.recall.prompt import Kept

    Kept(workspace.root).take_in(workspace)


@contextmanager
def _piped(said: bytes, private: Path) -> Iterator[File]:
    """Write standard input to a temporary file for the block; the next command removes one that a kill has left."""
    path = temporary_name(private / PIPED)
    with explained("written", path):
        write_beside(path, said, path, durable=False)
    try:
        yield next(listing.listed([str(path)], named=str(path)))._replace(session=PIPED)
    except TranscriptError as error:
        raise TranscriptError(str(error).replace(str(path), "Standard input")) from error
    finally:
        path.unlink(missing_ok=True)


def _meant(path: Path, piped: File | None, workspace: Workspace, settings: Settings) -> list[Path | File]:
    """Return what `path` names: standard input, that path, or else all transcripts of an agent."""
    if piped is not None and path == Path("-"):
        return [piped]
    if str(path) not in known_formats() or path.exists():
        return [path]
    found = listing.paths(replace(settings, sources=(str(path),)), workspace.root, home=Path.home(), environ=os.environ)
    return list(found)


def _of_hook() -> list[Path | File]:
    """Return the transcript that a hook's JSON names, as Claude Code and agents like it write it.

    Empty where it names none, or the file does not exist: the session ended before the first message.
    """
    import orjson

    try:
        named = orjson.loads(group.standard_input())["transcript_path"]
        path = None if named is None else Path(named).expanduser().absolute()
        return [] if path is None else list(listing.listed([str(path)]))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError('--hook needs {"transcript_path": "…"} as JSON on standard input.') from error


def _report(report: ConsolidateReport, *, as_json: bool, quiet: bool, piped: File | None = None) -> int:
    """Print the report and return the exit status: 1 also where a named path could not be read."""
    if piped is not None:
        named = (replace(one, file="-") if one.file == piped.name else one for one in report.diagnostics)
        report = replace(report, diagnostics=tuple(named))
    if as_json:
        output.emit(report)
        if report.failed:
            output.problem(report.reason)
    else:
        show.consolidated(report, quiet=quiet)
    return 1 if report.failed or any(isinstance(found, Unread) for found in report.diagnostics) else 0


def _configured(workspace: Workspace, settings: Settings) -> tuple[list[Path | File], tuple[Diagnostic, ...]]:
    """Return the transcripts of the configured sources, and a diagnostic for each source that is missing."""
    if not settings.sources:
        raise UsageError(
            "No transcript is named and no `sources` are configured: name a PATH, or add a source: "
            "dream sources add claude-code."
        )
    wrong: list[SettingsError] = []
    found = listing.paths(settings, workspace.root, home=Path.home(), environ=os.environ, wrong=wrong.append)
    if wrong and not found:
        raise wrong[0]
    return list(found), tuple(Unread(FILE_NAME, 0, str(error)) for error in wrong)
