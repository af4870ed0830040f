"""`dream demo`: the whole pipeline on a conversation that is shipped."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import click

from dream import pipeline, transcripts
from dream.cli import group, output, show
from dream.directory import Workspace
from dream.errors import UsageError
from dream.models import Diagnostic, MemoryFile
from dream.reports import BatchReport, ConsolidateReport, Progress, RunReport, named
from dream.settings import EMBEDDED, Settings
from dream.text import tokens

# The time of each night, with the sessions that were over by then.
NIGHTS: tuple[tuple[datetime, tuple[str, ...]], ...] = (
    (datetime(2026, 11, 5, 3, tzinfo=UTC), ("1-monday.jsonl", "2-wednesday.jsonl")),
    (datetime(2026, 11, 9, 3, tzinfo=UTC), ("3-friday.jsonl", "4-sunday.jsonl", "5-pages.jsonl")),
    (datetime(2026, 11, 14, 3, tzinfo=UTC), ("6-wednesday.jsonl", "7-friday.jsonl")),
)
# Independent of any configuration: no key, and the same result on every machine.
SETTINGS = Settings(model=EMBEDDED, timezone="UTC")


@click.command("demo", cls=group.DreamCommand)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def demo_command(directory: Path | None, named: Path | None, as_json: bool) -> int | None:
    """Run the whole pipeline on a sample conversation, with no configuration.

    Twelve days of a developer and her coding assistant become history, and dreams turn it into memory: the
    three files, the files of two projects, and one git commit per dream. The model is `embedded` whatever is
    configured: no key, no network. DIR has to be new or empty; without it a temporary directory is created.

    \b
    Examples:
      dream demo
      dream demo ./dream-demo
    """
    place = _demo_place(directory or named)
    with output.progress("dreaming", quiet=as_json) as shown:
        played = play(place, shown)
    if as_json:
        output.emit(played)
    else:
        _show_played(played)
    return max(night.run.exit_status for night in played.nights) or None


def _demo_place(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="dream-demo-"))
    place = wanted.expanduser()
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise UsageError(f"{wanted} is not empty; the demo makes a workspace of its own: name a new directory.")
    return place


def _show_played(played: Played) -> None:
    said = f"{show.counted(played.sessions, 'session')} in two projects, {show.counted(played.messages, 'message')}"
    said += f", {played.tokens:,} tokens"
    output.say(f"Twelve days of a developer and her coding assistant: {said}.", bold=True, fold=True)
    for night in played.nights:
        _tell_night(night.at.strftime("%a %d %b"), night.consolidated.messages, night.run.batches)
    for name, text in played.files.items():
        output.say()
        output.say(f"──── {name} ────", bold=True)
        output.say(text.rstrip("\n"), fold=True)
    output.say()
    output.say("──── what the last dream changed ────", bold=True)
    show.diff(played.diff)
    output.say()
    output.say(f"Model: {show.model_line(SETTINGS)}", fold=True)
    place, dream = shlex.quote(str(played.workspace)), _typed()
    commits = [batch.commit[:10] for night in played.nights for batch in night.run.batches if batch.commit]
    output.say(f"Try:   {dream} log -w {place}")
    for commit in commits[:1]:
        output.say(f"       {dream} log {commit} -w {place}")
        output.say(f"       {dream} restore {commit} --only --dry-run -w {place}")
    output.say(f"       git -C {place} log")
    output.say(f"Yours: {dream} init, {dream} consolidate TRANSCRIPT, {dream} run")


def _typed() -> str:
    """Return `dream` as this person has to type it: it may not be on PATH."""
    called = Path(sys.argv[0])
    return "dream" if shutil.which("dream") or called.name != "dream" else shlex.quote(str(called))


def _tell_night(day: str, messages: int, batches: tuple[BatchReport, ...]) -> None:
    for batch in batches:
        changed = show.changed(batch.files)
        commit = batch.commit[:10] if batch.commit else "no commit "
        found = show.counted(len(batch.outcomes), "finding")
        line = f"  {day}  {commit}  {show.counted(messages, 'message')} → {found} → {changed or 'nothing'}"
        output.say(line, fold=True)


# The nights of the demo. Its sessions are in dream/demo/, one file each in Claude Code's format; everything in them is
# invented, the password too.


@dataclass(frozen=True, slots=True)
class DemoNight:
    """One night of the demo."""

    at: datetime = field(metadata=named("time"))
    consolidated: ConsolidateReport
    run: RunReport


@dataclass(frozen=True, slots=True)
class Played:
    """What the demo did: sessions, messages and tokens, the nights, the files, and the diff of the last dream."""

    workspace: Path
    sessions: int
    messages: int
    tokens: int
    nights: tuple[DemoNight, ...]
    files: dict[MemoryFile, str]
    diff: str


def play(directory: Path, watch: Progress) -> Played:
    """Make a workspace in `directory`, which has to be empty or new, and run three nights in it.

    Unlike real nights, they use the `embedded` model whatever is configured, and fixed times.
    """
    workspace, folder = Workspace.create(directory, now=NIGHTS[0][0]), resources.files("dream") / "demo"
    nights, said = list[DemoNight](), 0
    for at, names in NIGHTS:
        paths = [Path(str(folder / name)) for name in names]
        read = pipeline.consolidate(workspace, paths, settings=SETTINGS, now=at, progress=watch)
        nights.append(DemoNight(at, read, pipeline.run(workspace, settings=SETTINGS, now=at, progress=watch)))
        for path in paths:
            said += sum(tokens.estimate(one.content) for _, one in transcripts.read(path, zone=UTC, report=_silent))
    commits = [batch.commit for night in nights for batch in night.run.batches if batch.commit]
    return Played(
        workspace=workspace.root,
        sessions=sum(night.consolidated.sessions for night in nights),
        messages=sum(night.consolidated.messages for night in nights),
        tokens=said,
        nights=tuple(nights),
        files={name: workspace.read_file(name) for name in workspace.files()},
        diff=workspace.git.show(commits[-1]).diff if commits else "",
    )


def _silent(diagnostic: Diagnostic) -> None:
    """Drop diagnostics: the pipeline reads the same file and reports them."""
