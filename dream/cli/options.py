"""The options that many commands take, and what they open: the workspace and its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dream.cli import output
from dream.errors import DreamError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dream.models import Diagnostic
    from dream.settings import Settings
    from dream.store.workspace import Workspace

SUGGESTED = 50  # changes that completion offers
Function = TypeVar("Function", bound=Callable[..., Any])


class Text(click.types.StringParamType):
    """What a person says on the command line: UTF-8, also where the locale knows no more than ASCII."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the bytes behind what Python could not decode; it is wrong usage where they are not UTF-8."""
        undecoded = any("\ud800" <= char <= "\udfff" for char in value)
        try:
            return os.fsencode(value).decode("utf-8") if undecoded else str(value)
        except UnicodeError:
            self.fail("it is not UTF-8 text.", param, ctx)


def shas(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a sha: the newest changes, with what each did."""
    from click.shell_completion import CompletionItem

    with suppress(DreamError):
        git = open_workspace(ctx.params.get("directory") or ctx.meta.get(f"{__name__}--workspace")).git
        changes = git.log(SUGGESTED) if git.exists else []
        return [CompletionItem(one.sha[:10], help=one.subject) for one in changes if one.sha.startswith(incomplete)]
    return []


def held(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Complete the number of an edit that is held."""
    from click.shell_completion import CompletionItem

    with suppress(DreamError):
        waiting = open_workspace(ctx.params.get("directory")).pending()
        return [CompletionItem(str(one.id), help=one.reason) for one in waiting if str(one.id).startswith(incomplete)]
    return []


def agents(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of an agent whose transcripts are found by it, or a path."""
    from click.shell_completion import CompletionItem

    from dream.transcripts import FORMATS

    names = [name for name, reader in FORMATS.items() if reader.places and name.startswith(incomplete)]
    return [*(CompletionItem(name) for name in names), CompletionItem(incomplete, type="file")]


def standard_bytes() -> bytes:
    """Read standard input; raises UsageError where it is closed."""
    if sys.stdin is None:
        raise UsageError("Standard input is closed.")
    return sys.stdin.buffer.read()


def standard_input() -> str:
    """Read standard input as UTF-8, whatever the locale; raises UsageError where it is closed or something else."""
    try:
        return standard_bytes().decode("utf-8")
    except UnicodeError as error:
        raise UsageError("Standard input is not UTF-8 text.") from error


def somebody_answers() -> bool:
    """Tell whether a person can be asked: both ends are a terminal. Either may be closed, then it is None."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def confirmed(question: str) -> bool:
    """Ask a person on the terminal; where they end the command instead, what is said next stands in its own line."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        raise


def inherited(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Let what is said to a group hold for the command inside it: `dream -w DIR log`, `dream review --json`."""
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
settings_of = _directory("directory", "Go by this workspace's dream.toml too; its memory is not touched.")
as_json = click.option(
    "--json", "as_json", is_flag=True, callback=inherited, help="Print one JSON value on stdout and nothing else."
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print nothing but what is wrong.")
verbose = click.option("-v", "--verbose", is_flag=True, help="Show each finding too, and what became of it.")
_model = click.option("-m", "--model", metavar="MODEL", help="The model for all three jobs: any LiteLLM name.")
_set = click.option(
    "-s", "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Any setting, for this time. Can be repeated."
)


def models(function: Function) -> Function:
    """Add `--model` and `--set`."""
    return _model(_set(function))


def now() -> datetime:
    """Read the clock: the only place where the command line does."""
    return datetime.now(UTC)


def open_workspace(directory: Path | None) -> Workspace:
    """Open the workspace that is named, or find it from here; what is wrong in its files is told on stderr, once."""
    from dream.store.workspace import Workspace

    told: set[Diagnostic] = set()

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic not in told:
            told.add(diagnostic)
            output.problem(str(diagnostic))

    if directory is not None:
        return Workspace.open(directory, report=report)
    return Workspace.find(Path(), os.environ, report=report)


def read_settings(
    opened: Workspace, model: str | None = None, pairs: tuple[str, ...] = (), *, using: Collection[str]
) -> Settings:
    """Read the settings of `opened`, with those of the command line before all others.

    `using` names what the command goes by of that which sends, starts or reads beyond the workspace: none of it for a
    command that only reads memory. Raises Untrusted where an untrusted workspace's own files name such a thing.
    """
    return opened.settings(flags=flags(model, pairs), using=using)


def flags(model: str | None, pairs: tuple[str, ...]) -> dict[str, object]:
    """Read `--model` and `--set` as settings; raises UsageError."""
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair!r} is not of the form NAME=VALUE.")
        given[name.strip()] = value.strip()
    return given if model is None else given | {"model": model}
