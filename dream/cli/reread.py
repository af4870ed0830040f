"""`dream reread`: read the kept messages again with the current model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import UsageError
from dream.reports import ConsolidateReport, RunReport, Usage, shape
from dream.settings import CALLING, EMBEDDED, Settings

if TYPE_CHECKING:
    from dream.consolidate.reread import Rereading, Share
    from dream.directory import Workspace

NOWHERE = "nowhere in particular"
SUMMARY, DREAM = 0.15, 0.4  # of the tokens read: what the summaries have, and what dreaming them reads again


@click.command("reread", cls=group.DreamingCommand)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="Only messages since this day.")
@click.option("--place", "places", multiple=True, metavar="NAME", help="Only messages from this project or chat.")
@click.option("--without", multiple=True, metavar="NAME", help="Skip messages from this project or chat.")
@click.option("--again", is_flag=True, help="Include messages that the current model has already read.")
@click.option("--estimate", is_flag=True, help="Show what it would read and cost; call no model and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Read without asking.")
@group.models
@group.workspace
@group.as_json
def reread_command(
    since: datetime | None,
    places: tuple[str, ...],
    without: tuple[str, ...],
    again: bool,
    estimate: bool,
    yes: bool,
    flags: Mapping[str, object],
    directory: Path | None,
    as_json: bool,
) -> int:
    """Read the kept messages again with the current model, and dream the result.

    It first shows what it will read, place by place, and who receives it. What the current model has already
    read is left out. The new reading replaces lines that are based only on older ones; what you wrote,
    accepted, dropped or undid stays as you decided. Each dream is a commit, and `dream restore --batch` undoes
    all dreams of this rereading and no earlier one. If a limit stops it, it continues the next night.

    \b
    Examples:
      dream reread --estimate
      dream reread --since 2026-06-01 --without acme
      dream reread --place crumb --yes
    """
    from dream.consolidate import reread

    workspace = group.open_workspace(directory)
    settings = workspace.settings(flags=flags, using=CALLING)
    wanted = _wanted(workspace, settings, since, places, without, again)
    shares = reread.shares(reread.stretches(workspace.history, wanted))
    _tell(workspace, wanted, shares, settings, as_json=as_json, alone=estimate)
    if estimate or not shares:
        return 0
    if settings.receivers:
        group.only_a_person("What was said long ago", "dream reread")
    if not (yes or (not as_json and group.somebody_answers() and group.confirmed("Read it again?"))):
        output.problem("Nothing was read; add --yes to read without asking.")
        return 1
    read, report = _read(workspace, wanted, settings, quiet=as_json)
    _report(read, report, wanted.batch, as_json=as_json)
    return 1 if read.failed else report.exit_status


def _wanted(
    workspace: Workspace,
    settings: Settings,
    since: datetime | None,
    places: Sequence[str],
    without: Sequence[str],
    again: bool,
) -> Rereading:
    """Return what is to be read: the rest of a stopped rereading if it is the same, else a new one."""
    from dream.consolidate import reread
    from dream.versions.log import new_batch
    from dream.workspace.places import Places

    ids = {one.name: one.id for one in Places(workspace.root, workspace.private, Path.home()).all()}
    for name in (*places, *without):
        if name not in ids:
            known = f"; known are {', '.join(sorted(ids))}" if ids else ""
            raise UsageError(f"{name!r} is not a known place{known}.")
    wanted = reread.Rereading(
        since=since.date() if since else None,
        places=tuple(ids[name] for name in places),
        without=tuple(ids[name] for name in without),
        model=settings.model_for("consolidator"),
        again=again,
        batch=new_batch(),
    )
    stopped = reread.noted(workspace.private)
    return stopped if stopped is not None and stopped.continues(wanted) else wanted


def _tell(
    workspace: Workspace, wanted: Rereading, shares: list[Share], settings: Settings, *, as_json: bool, alone: bool
) -> None:
    """Show what would be read, or why there is nothing to read; as JSON only if nothing is read now (`alone`)."""
    reason = "" if shares else _nothing(workspace, wanted)
    if as_json:
        if alone or not shares:
            output.emit({"places": shares, "reason": reason})
    elif shares:
        _show_shares(workspace, wanted, shares)
        _show_cost(sum(one.tokens for one in shares), settings)
    else:
        output.say(reason, fold=True)
        if workspace.history.backlog(workspace.dream_cursor())[0]:
            output.say("History has entries that are not dreamt yet: `dream run` dreams them.", fold=True)


def _nothing(workspace: Workspace, wanted: Rereading) -> str:
    """Return why nothing is left to read again."""
    from dream.consolidate.reread import stretches

    if next(stretches(workspace.history, replace(wanted, again=True, upto=0)), None) is None:
        some = wanted.since or wanted.places or wanted.without
        return f"Nothing to read again: no messages are kept{' of these places and days' if some else ''}."
    have = f"{wanted.model} has already read all of these messages"
    return f"Nothing to read again: {have}. To have it read them once more, add --again."


def _show_shares(workspace: Workspace, wanted: Rereading, shares: Sequence[Share]) -> None:
    """Show what would be read, place by place, the largest first."""
    from dream.consolidate.reread import noted
    from dream.workspace.places import Places

    if wanted.upto:
        output.say("A rereading was stopped; this continues it.", fold=True)
    elif noted(workspace.private) is not None:
        output.say("Another rereading was stopped; this one replaces it.", fold=True)
    names = {one.id: one.name for one in Places(workspace.root, workspace.private, Path.home()).all()}
    for one in sorted(shares, key=lambda share: -share.tokens):
        name = names.get(one.place, one.place) if one.place else NOWHERE
        sessions, messages = show.counted(one.sessions, "session"), show.counted(one.messages, "message")
        output.say(f"{name}: {sessions}, {messages}, {show.counted(one.tokens, 'token')}", fold=True)


def _show_cost(tokens: int, settings: Settings) -> None:
    """Show which model would receive these tokens, and the estimated cost with the dreams."""
    from dream.llm import card

    receivers = settings.receivers
    expected = Usage(0, int(tokens * (1 + DREAM)), int(tokens * SUMMARY))
    usd = card(receivers[0]).cost(expected) if receivers else 0
    cost = "free" if usd == 0 else f"about ${usd:.2f}" if usd is not None else "price not known"
    named = (
        f"{' and '.join(receivers)} {'receive' if len(receivers) > 1 else 'receives'} all of it, with secrets marked"
    )
    told = named if receivers else f"{EMBEDDED} reads it on this machine"
    output.say(f"{told}; about {expected.tokens:,} tokens in all, {cost}.", fold=True)


def _read(
    workspace: Workspace, wanted: Rereading, settings: Settings, *, quiet: bool
) -> tuple[ConsolidateReport, RunReport]:
    """Read the messages again, and dream the new entries, under one lock."""
    from dream import pipeline
    from dream.workspace.lock import run_lock

    now = group.now()
    with run_lock(workspace.private, "dream reread", now=now), output.progress("reading", quiet=quiet) as shown:
        read = pipeline.reread(workspace, wanted, settings=settings, now=now, progress=shown)
        report = pipeline.run(workspace, settings=settings, now=group.now, progress=shown, locked=True)
    return read, report


def _report(read: ConsolidateReport, report: RunReport, batch: str, *, as_json: bool) -> None:
    """Show what was read and dreamt, how to undo it, and what stopped it."""
    if as_json:
        output.emit({"read": shape(read), "run": shape(report), "batch": batch})
    else:
        for diagnostic in read.diagnostics:
            output.problem(str(diagnostic))
        what = f"{show.counted(read.messages, 'message')} of {show.counted(read.sessions, 'session')}"
        output.say(f"Read {what} again.", fold=True)
        show.ran(replace(report, usage=read.usage + report.usage))
        if report.commits:
            output.say(f"To undo all of this rereading: dream restore --batch {batch}", fold=True)
    if read.failed:
        output.problem(f"{read.reason} The next night continues with the rest.")
    elif report.outcome == "failed":
        output.problem(report.reason)
