"""`dream demo`: what dream does, shown on a shipped conversation."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand
from dream.cli.output import progress
from dream.demo import SETTINGS, Played
from dream.errors import UsageError
from dream.models import BatchReport


@click.command("demo", cls=DreamCommand)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def command(directory: Path | None, named: Path | None, as_json: bool) -> int | None:
    """Run the whole pipeline on a shipped conversation, with nothing configured.

    Twelve days of a developer and her coding assistant become history, and three dreams make memory of it: the three
    files, and one git commit a dream. The model is `embedded` whatever is configured: no key, no network. DIR has to be
    new or empty; without it a temporary directory is made.

    \b
    Examples:
      dream demo
      dream demo ./dream-demo
    """
    from dream import demo

    place = _place(directory or named)
    with progress("dreaming", quiet=as_json) as shown:
        played = demo.play(place, shown)
    if as_json:
        output.emit(played)
    else:
        _show(played)
    return max(night.run.exit_status for night in played.nights) or None


def _place(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="dream-demo-"))
    place = wanted.expanduser()
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise UsageError(f"{wanted} is not empty; the demo makes a workspace of its own: name a new directory.")
    return place


def _show(played: Played) -> None:
    said = f"{show.counted(played.sessions, 'session')}, {show.counted(played.messages, 'message')}"
    said += f", {played.tokens:,} tokens"
    output.say(f"Twelve days of a developer and her coding assistant: {said}.", bold=True, fold=True)
    for night in played.nights:
        _night(night.at.strftime("%a %d %b"), night.consolidated.messages, night.run.batches)
    for name, text in played.files.items():
        output.say()
        output.say(f"──── {name} ────", bold=True)
        output.say(text.rstrip("\n"), fold=True)
    output.say()
    output.say("──── what the last dream changed ────", bold=True)
    show.diff(played.diff)
    output.say()
    output.say(f"Model: {show.model_line(SETTINGS)}", fold=True)
    place, dream = show.word(str(played.workspace)), _program()
    commits = [batch.commit[:10] for night in played.nights for batch in night.run.batches if batch.commit]
    output.say(f"Try:   {dream} log -w {place}")
    for commit in commits[:1]:
        output.say(f"       {dream} log {commit} -w {place}")
        output.say(f"       {dream} restore {commit} --only --dry-run -w {place}")
    output.say(f"       git -C {place} log")
    output.say(f"Yours: {dream} init, {dream} consolidate TRANSCRIPT, {dream} run")


def _program() -> str:
    """Name the command as this person has to type it: it may be in an environment that is not on PATH."""
    called = Path(sys.argv[0])
    return "dream" if shutil.which("dream") or called.name != "dream" else show.word(str(called))


def _night(day: str, messages: int, batches: tuple[BatchReport, ...]) -> None:
    for batch in batches:
        changed = show.changed(batch.files)
        commit = batch.commit[:10] if batch.commit else "no commit "
        found = show.counted(len(batch.outcomes), "finding")
        line = f"  {day}  {commit}  {show.counted(messages, 'message')} → {found} → {changed or 'nothing'}"
        output.say(line, fold=True)
