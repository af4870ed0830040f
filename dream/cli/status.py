"""`dream status` and `doctor`: whether it works, and whether everything on disk is as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand
from dream.models import span

if TYPE_CHECKING:
    from dream.actions.status import Health
    from dream.settings import Settings
    from dream.workspace.runs import RunRecord


@click.command("status", cls=DreamCommand)
@click.option("--check", is_flag=True, help="Exit 1 when something is wrong: for monitoring.")
@group.workspace
@group.as_json
def status_command(check: bool, directory: Path | None, as_json: bool) -> int | None:
    """Show whether it works: backlog, sizes, spending, last runs, next run.

    Calls no model and changes nothing. The first line says whether everything works.

    \b
    Examples:
      dream status
      dream status --json
      dream status --check || echo "memory needs you"
    """
    from dream.actions import status
    from dream.workspace.workspace import absent

    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, using=())
    found = status.read(workspace, settings, group.now(), status.scheduled(workspace, settings))
    for sentence in absent(workspace.root):
        output.problem(sentence)
    if as_json:
        output.emit(found)
    else:
        _show(found, settings)
    return 1 if check and found.problems else None


def _show(found: Health, settings: Settings) -> None:
    if found.problems:
        for problem in found.problems:
            output.say(f"✗ {problem}", colour="red", bold=True, fold=True)
    else:
        output.say(f"✓ {_well(found)}", colour="green", bold=True, fold=True)
    rows = [
        ("workspace", str(found.workspace)),
        ("model", show.model_line(settings)),
        ("history", _history(found, settings)),
        ("backlog", _backlog(found)),
        ("held", f"{show.counted(found.pending, 'edit')}: dream review" if found.pending else "nothing"),
        ("today", show.bill(found.today)),
        ("month", show.bill(found.month)),
        ("next run", _next(found)),
    ]
    if found.batches:
        rows.append(("batches", f"{found.batches} with the provider at half the price: dream nightly goes on with it"))
    for name, value in rows:
        output.say(f"{name:<10} {value}", fold=True)
    output.say()
    for path, size in found.files.items():
        bounds = f"{size.lines:>4} of {size.max_lines} lines  {size.bytes:>6,} of {size.max_bytes:,} bytes"
        output.say(f"{path:<18} {bounds}  ~{size.tokens:,} tokens", fold=True)
    if found.runs:
        output.say()
        for record in found.runs:
            _run(record)


def _well(found: Health) -> str:
    if not found.history.last_cursor:
        return "Ready; history is empty. Fill it: dream consolidate TRANSCRIPT"
    if found.backlog.entries:
        return f"Works; {show.counted(found.backlog.entries, 'entry')} to dream."
    return "Works; all of history is dreamt."


def _history(found: Health, settings: Settings) -> str:
    size = found.history
    return f"{show.counted(size.entries, 'entry')}, {size.tokens:,} of {settings.history_tokens:,} tokens"


def _backlog(found: Health) -> str:
    if not found.backlog.entries:
        return f"nothing: dreamt up to entry {found.dream_cursor}"
    waiting = span((found.dream_cursor + 1, found.history.last_cursor))
    return f"{show.counted(found.backlog.entries, 'entry')} ({waiting}), {found.backlog.tokens:,} tokens: dream run"


def _next(found: Health) -> str:
    if found.next_run is None:
        return "not scheduled: dream cron install, or dream serve"
    return f"{found.next_run.astimezone():%A %Y-%m-%d %H:%M} ({', '.join(found.scheduled)})"


def _run(record: RunRecord) -> None:
    reason = f": {record.reason}" if record.reason else ""
    which = f" {span(record.entries)}" if record.entries else ""
    cost = f"  [{show.price(record.usage)}]" if record.usage.calls else ""
    line = f"{record.ended.astimezone():%Y-%m-%d %H:%M}  {record.command}: {record.outcome}{which}{reason}{cost}"
    output.say(line, colour="red" if record.outcome == "failed" else None, fold=True)


@click.command("doctor", cls=DreamCommand)
@click.option("--repair", is_flag=True, help="Mend what can be mended without loss.")
@group.workspace
@group.as_json
def doctor_command(repair: bool, directory: Path | None, as_json: bool) -> int | None:
    """Check everything on disk, and mend what can be mended without loss.

    Checks the memory files, history, the cursor, the versions, the review queue and the schedule, and says what is
    wrong with each and what you can do about it. Exits with 1 when something is wrong and was not mended.

    \b
    Examples:
      dream doctor
      dream doctor --repair
    """
    from dream.actions import doctor

    workspace = group.open_workspace(directory)
    found = doctor.examine(workspace, group.read_settings(workspace, using=()), now=group.now(), repair=repair)
    if as_json:
        output.emit(found)
    elif not found:
        output.say("✓ Everything on disk is as it should be.", colour="green", bold=True)
    else:
        for one in found:
            output.say(
                f"{'✓ mended:' if one.mended else '✗'} {one.file}: {one.text}", colour="green" if one.mended else "red"
            )
            if one.cure and not one.mended:
                output.say(f"    {one.cure}")
    return 1 if any(not one.mended for one in found) else None
