"""`dream consolidate`: transcripts become history."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import detached, group, output, show
from dream.cli.group import DreamCommand
from dream.cli.output import progress
from dream.errors import SettingsError, TranscriptError, UsageError
from dream.settings import CALLING, FILE_NAME, Settings
from dream.transcripts import FORMATS
from dream.workspace.files import explained
from dream.workspace.workspace import Workspace

if TYPE_CHECKING:
    from dream.models import ConsolidateReport, Diagnostic
    from dream.workspace.listing import File

PIPED = "stdin"  # the id of a session that comes on standard input and has none of its own


@click.command("consolidate", cls=DreamCommand)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...", shell_complete=group.agents)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    metavar="NAME",
    help=f"The transcripts' format; default: told by content. One of {', '.join(FORMATS)}.",
)
@click.option("--hook", is_flag=True, help="Read a hook's JSON on standard input: its `transcript_path` is the PATH.")
@click.option("--detach", is_flag=True, help="Continue in the background and return at once: agents end hooks soon.")
@click.option("--idle", is_flag=True, help="Skip what was written to within the last `idle_hours`.")
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

    A PATH is a transcript, a directory of transcripts, or `-` for standard input, in any of the formats that --format
    lists; or the name of an agent, for all of its transcripts on this machine. Only what is not in history yet is
    summarised, so the same PATH can be given again.
    Without a PATH the `sources` from dream.toml are read, as far as they have been quiet for `idle_hours`.

    \b
    Examples:
      dream consolidate session.jsonl
      dream consolidate claude-code --idle
      pbpaste | dream consolidate -
      dream consolidate chat.json --format openai --json
      dream consolidate --hook --detach    # as Claude Code's SessionEnd hook
    """
    from dream import pipeline

    workspace = group.open_workspace(directory)
    using = CALLING if hook or paths else (*CALLING, "sources")
    settings = group.read_settings(workspace, flags, using=using)
    said = group.standard_bytes() if Path("-") in paths and not hook else None
    named = _of_hook() if hook else []
    if hook and not named:
        return _told(_nothing(), as_json=as_json, quiet=quiet)
    if detach:
        with explained("opened", workspace.private / detached.LOG):
            stays = detached.leave(workspace.private)
        if not stays:
            return 0
    wrong: tuple[Diagnostic, ...] = ()
    with nullcontext() if said is None else _piped(said, workspace.private) as piped:
        named += [file for path in paths for file in _named(path, piped, workspace, settings)]
        if not named:
            named, wrong = _configured(workspace, settings)
            idle = True
        with progress("reading", quiet=as_json or quiet) as shown:
            report = pipeline.consolidate(
                workspace, named, settings=settings, now=group.now(), format=format_name, idle=idle, progress=shown
            )
    if hook:  # so that the next session's first prompt finds it
        from dream.recall.prompt import Kept

        Kept(workspace.root).take_in()
    report = replace(report, diagnostics=(*wrong, *report.diagnostics))
    return _told(report, as_json=as_json, quiet=quiet, piped=piped)


@contextmanager
def _piped(said: bytes, private: Path) -> Iterator[File]:
    """Keep what came on standard input while it is read; what a kill leaves of it, the next command removes."""
    from dream.workspace import files, listing

    path = files.temporary_name(private / PIPED)
    with files.explained("written", path):
        files.write_beside(path, said, path, durable=False)
    try:
        yield next(listing.listed([str(path)], named=str(path)))._replace(session=PIPED)
    except TranscriptError as error:
        raise TranscriptError(str(error).replace(str(path), "Standard input")) from error
    finally:
        path.unlink(missing_ok=True)


def _named(path: Path, piped: File | None, workspace: Workspace, settings: Settings) -> list[Path | File]:
    """Find what is to be read where a person says `path`: standard input, that path, else an agent's transcripts."""
    if piped is not None and path == Path("-"):
        return [piped]
    if str(path) not in FORMATS or path.exists():
        return [path]
    from dream.workspace import listing

    found = listing.paths(replace(settings, sources=(str(path),)), workspace.root, home=Path.home(), environ=os.environ)
    if not found:
        raise TranscriptError(f"{path} has no transcripts on this machine; name the path of some.")
    return list(found)


def _of_hook() -> list[Path | File]:
    """Read which transcript a hook of Claude Code, or of an agent that does as it does, is about.

    Empty where the agent names none, or has not written it: a session that ended before anybody said anything.
    """
    import orjson

    from dream.workspace import listing

    try:
        named = orjson.loads(group.standard_input())["transcript_path"]
        path = None if named is None else Path(named).expanduser().absolute()
        return [] if path is None else list(listing.listed([str(path)]))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError('--hook needs {"transcript_path": "…"} as JSON on standard input.') from error


def _told(report: ConsolidateReport, *, as_json: bool, quiet: bool, piped: File | None = None) -> int:
    """Print what was done and return the exit status: 1 too where a path that was named could not be read."""
    from dream.workspace.listing import Unread

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


def _nothing() -> ConsolidateReport:
    from dream.models import ConsolidateReport

    return ConsolidateReport(reason="the session has no transcript")


def _configured(workspace: Workspace, settings: Settings) -> tuple[list[Path | File], tuple[Diagnostic, ...]]:
    """Find what the settings name, and what of it is not there, as long as something is."""
    from dream.workspace import listing

    if not settings.sources:
        raise UsageError(
            "No transcript is named and no `sources` are configured: name a PATH, or add a source: "
            "dream sources add claude-code."
        )
    wrong: list[SettingsError] = []
    found = listing.paths(settings, workspace.root, home=Path.home(), environ=os.environ, wrong=wrong.append)
    if wrong and not found:
        raise wrong[0]
    return list(found), tuple(listing.Unread(FILE_NAME, 0, str(error)) for error in wrong)
