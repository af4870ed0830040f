"""`dream log`: what changed in memory, when, why and at what price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand

if TYPE_CHECKING:
    from dream.settings import Settings
    from dream.versions.log import Change, Shown
    from dream.workspace.workspace import Workspace

COLOURS = {"dream": None, "hand": "cyan", "restore": "yellow", "init": None}


@click.command("log", cls=DreamCommand)
@click.argument("sha", required=False, shell_complete=group.shas)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show the newest N changes only.")
@group.workspace
@group.as_json
def command(sha: str | None, limit: int | None, directory: Path | None, as_json: bool) -> None:
    """List the changes of memory, newest first, or show one.

    With SHA: that change, its findings and what became of each, its bill and its diff. A SHA has at least 4 characters,
    or is HEAD for the newest change, or HEAD~2 for the second before it.
    `hand` marks what a person edited, `dream` what a dream did, `restore` what was undone.
    Nothing is ever asked and no pager is opened.

    \b
    Examples:
      dream log
      dream log --limit 5
      dream log 3f9c2a71
      dream log --json
    """
    workspace = group.open_workspace(directory)
    git = workspace.git
    if sha is not None:
        shown = git.show(git.resolve(sha))
        if as_json:
            output.emit(shown)
        else:
            _show(shown)
        return
    listed(workspace, limit, as_json=as_json)


def listed(workspace: Workspace, limit: int | None = None, *, as_json: bool) -> None:
    """List the newest changes, all of them where no `limit` is given."""
    git = workspace.git
    changes = git.log(limit) if git.exists else []
    if as_json:
        output.emit(changes)
        return
    settings = group.read_settings(workspace, using=())
    if not changes:
        output.say("Nothing has changed yet. `dream run` makes the first change.")
    for change in changes:
        _line(change)
    _spent(workspace, settings)


def _line(change: Change) -> None:
    at = change.time.astimezone()
    cost = f"  [{show.price(change.usage)}]" if change.usage and change.usage.calls else ""
    line = f"{show.short(change.sha)}  {at:%Y-%m-%d %H:%M}  {change.subject}{cost}"
    output.say(line, colour=COLOURS[change.kind], fold=True)


def _spent(workspace: Workspace, settings: Settings) -> None:
    """Close the list with what the day and the month have cost, whatever came of it; nothing where all was free."""
    from dream.workspace.runs import Bills

    spent = Bills(workspace.private).spent(group.now(), settings.zone())
    if spent.month.cost_usd != 0:
        output.say(f"Cost today: {show.bill(spent.today)}. This month: {show.bill(spent.month)}.", dim=True, fold=True)


def _show(shown: Shown) -> None:
    change = shown.change
    subject, _, body = shown.body.partition("\n")
    output.say(subject, bold=True, fold=True)
    output.say(f"{change.sha}  {change.time.astimezone():%A %Y-%m-%d %H:%M %Z}", dim=True)
    if body.strip():
        output.say(body.strip("\n"), fold=True)
    if change.model:
        output.say(f"Model: {change.model}", fold=True)
    if change.usage:
        output.say(f"Cost: {show.bill(change.usage)}")
    output.say()
    show.diff(shown.diff)
