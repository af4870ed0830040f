"""`dream reread`: read the kept messages again with the current model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import UsageError
from dream.reports import Usage, shape
from dream.settings import CALLING, EMBEDDED, Settings

if TYPE_CHECKING:
    from dream.consolidate.reread import Rereading, Share
    from dream.directory import Workspace

NOWHERE = "nowhere in particular"
SUMMARY, DREAM = 0.15, 0.4  # shares of the tokens read: of the summaries, and of what dreaming them reads again


@click.command("reread", cls=group.DreamingCommand)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="Only messages since this day.")
@click.option("--place", "places", multiple=True, metavar="NAME", help="Only messages from this project or chat.")
@click.option("--without", multiple=True, metavar="NAME", help="Skip messages from this project or chat.")
@click.option("--estimate", is_flag=True, help="Say what it would read and cost; call no model and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Read without asking.")
@group.models
@group.workspace
@group.as_json
def reread_command(
    since: datetime | None,
    places: tuple[str, ...],
    without: tuple[str, ...],
    estimate: bool,
    yes: bool,
    flags: Mapping[str, object],
    directory: Path | None,
    as_json: bool,
) -> int:
    """Read the kept messages again with the current model, and dream the result.

    It first shows what it will read, place by place, and who receives it. The new reading replaces lines that
    are based only on the old one; what you wrote, accepted, dropped or undid stays as you decided. Each dream
    is a commit, and `dream restore --batch` undoes all of them. If a limit stops it, it continues the next
    night.

    \b
    Examples:
      dream reread --estimate
      dream reread --since 2026-06-01 --without acme
      dream reread --place crumb --yes
    """
    from dream import pipeline
    from dream.consolidate import reread
    from dream.versions.log import new_batch
    from dream.workspace.lock import run_lock

    workspace = group.open_workspace(directory)
    settings = workspace.settings(flags=flags, using=CALLING)
    wanted = _wanted(workspace, since, places, without)
    shares = reread.shares(reread.stretches(workspace.history, wanted))
    if not as_json:
        _tell(workspace, shares, settings)
    elif estimate or not shares:
        output.emit({"places": shares})
    if estimate or not shares:
        return 0
    if settings.model_for("consolidator") != EMBEDDED:
        group.only_a_person("What was said long ago", "dream reread")
    if not (yes or (not as_json and group.somebody_answers() and group.confirmed("Read it again?"))):
        output.problem("Nothing was read; add --yes to read without asking.")
        return 1
    now = group.now()
    wanted = replace(wanted, batch=new_batch())
    with run_lock(workspace.private, "dream reread", now=now), output.progress("reading", quiet=as_json) as shown:
        read = pipeline.reread(workspace, wanted, settings=settings, now=now, progress=shown)
        report = pipeline.run(
            workspace, settings=settings, now=group.now, progress=shown, locked=True, batch=wanted.batch
        )
    if as_json:
        output.emit({"read": shape(read), "run": shape(report), "batch": wanted.batch})
    else:
        for diagnostic in read.diagnostics:
            output.problem(str(diagnostic))
        show.ran(report, dry_run=False)
        output.say(f"All of it can be taken back: dream restore --batch {wanted.batch}", fold=True)
    if read.failed:
        output.problem(f"{read.reason} The next night goes on with what is left.")
    elif report.outcome == "failed":
        output.problem(report.reason)
    return 1 if read.failed else report.exit_status


def _wanted(
    workspace: Workspace, since: datetime | None, places: tuple[str, ...], without: tuple[str, ...]
) -> Rereading:
    from dream.consolidate.reread import Rereading
    from dream.workspace.places import Places

    ids = {one.name: one.id for one in Places(workspace.root, workspace.private, Path.home()).all()}
    for name in (*places, *without):
        if name not in ids:
            known = f"; there are {', '.join(sorted(ids))}" if ids else ""
            raise UsageError(f"{name!r} is no place that is known{known}.")
    day: date | None = since.date() if since else None
    return Rereading(day, tuple(ids[name] for name in places), tuple(ids[name] for name in without))


def _tell(workspace: Workspace, shares: list[Share], settings: Settings) -> None:
    """Print what would be read, place by place, by which model, and the estimated cost."""
    from dream.llm import card
    from dream.workspace.places import Places

    if not shares:
        output.say("Nothing is there to be read again: the messages are not kept, or were read again already.")
        if workspace.history.backlog(workspace.dream_cursor())[0]:
            output.say("History holds entries that wait to be dreamt: `dream run` dreams them.")
        return
    names = {one.id: one.name for one in Places(workspace.root, workspace.private, Path.home()).all()}
    for one in sorted(shares, key=lambda share: -share.tokens):
        name = names.get(one.place, one.place) if one.place else NOWHERE
        output.say(f"{name}: {one.sessions:,} sessions, {one.messages:,} messages, {one.tokens:,} tokens", fold=True)
    tokens = sum(one.tokens for one in shares)
    model = settings.model_for("consolidator")
    expected = Usage(0, int(tokens * (1 + DREAM)), int(tokens * SUMMARY))
    usd = card(model).cost(expected)
    cost = "free" if usd == 0 else f"about ${usd:.2f}" if usd is not None else "price not known"
    whose = "stays on this machine" if model == EMBEDDED else "receives all of it, secrets marked"
    output.say(f"{model} {whose}; about {expected.tokens:,} tokens in all, {cost}.", fold=True)
