"""`dream why`: where a line of memory comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import TextCommand
from dream.errors import UsageError

if TYPE_CHECKING:
    from dream.actions.why import Reason
    from dream.workspace.workspace import Workspace

HAND = {"hand": "written by hand", "init": "stood there when dream began", "restore": "brought back"}


@click.command("why", cls=TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="TEXT")
@group.workspace
@group.as_json
def command(words: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Show where a line of memory comes from: the changes that wrote it, and what was said.

    TEXT is part of the line, or some of its words. Earlier forms of the line are traced too, oldest last, back to the
    history entries, their sessions and the positions of the messages.

    \b
    Examples:
      dream why Lisbon
      dream why "prefers short answers" --json
    """
    from dream.actions.why import why

    text = " ".join(words).strip()
    if not text:
        raise UsageError("Give part of the line that you ask about: dream why Lisbon.")
    workspace = group.open_workspace(directory)
    found = why(workspace, text)
    if as_json:
        output.emit(found)
        return
    for number, one in enumerate(found):
        if number:
            output.say()
        _tell(one)
    if not found:
        _absent(workspace, text)


def _tell(one: Reason) -> None:
    output.say(f"{one.origin.file}: {one.origin.line.strip().removeprefix('- ')}", bold=True, fold=True)
    for change in one.changes:
        what = HAND.get(change.kind, change.subject)
        output.say(f"  {show.short(change.sha)}  {change.time.astimezone():%Y-%m-%d %H:%M}  {what}", fold=True)
    if not one.changes:
        output.say("  It was typed after the last change and is not committed yet.")
    for evidence in one.evidence:
        show.evidence(evidence)


def _absent(workspace: Workspace, text: str) -> None:
    """Say that memory does not say it, and whether it is about to."""
    from dream.actions.why import waiting

    output.say("No line of memory says that.")
    for entry in waiting(workspace, text):
        output.say(f"Entry {entry.cursor} says it, but has not been dreamt yet.")
