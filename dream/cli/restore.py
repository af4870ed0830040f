"""`dream restore`: take a change back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from dream.actions.restore import Mode, Restored
from dream.cli import group, output, show
from dream.cli import log as listing
from dream.cli.group import DreamCommand
from dream.errors import UsageError


@click.command("restore", cls=DreamCommand)
@click.argument("sha", required=False, shell_complete=group.shas)
@click.option("--only", is_flag=True, help="Undo that one change and keep all later ones.")
@click.option("--at", is_flag=True, help="Restore to exactly that commit instead of just before it.")
@click.option("--forget", is_flag=True, help="Remember what is removed, so that no later dream writes it again.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be undone; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@group.workspace
@group.as_json
def command(
    sha: str | None,
    only: bool,
    at: bool,
    forget: bool,
    dry_run: bool,
    yes: bool,
    directory: Path | None,
    as_json: bool,
) -> int | None:
    """Put memory back as it was just before a change.

    The result is a new commit, so it can be undone the same way. The cursor goes back with the files: those entries are
    dreamt again. Your own uncommitted edits are committed first and stay. On a terminal the diff is shown and you are
    asked; without one nothing is asked, and the command reports what it did and how to undo it.
    Without SHA the changes are listed, newest first.

    \b
    Examples:
      dream restore 3f9c2a71               memory as it was before 3f9c2a71
      dream restore 3f9c2a71 --only        without 3f9c2a71, with all that came after it
      dream restore 3f9c2a71 --dry-run
      dream-restore 3f9c2a71 --yes --forget
    """
    from dream.actions.restore import restore

    if only and at:
        raise UsageError("--only and --at exclude each other.")
    if sha is None:
        listing.listed(group.open_workspace(directory), as_json=as_json)
        return None
    mode: Mode = "only" if only else "at" if at else "before"
    restoring = partial(restore, group.open_workspace(directory), sha, mode=mode, forget=forget)
    # 1. What would be undone, where that is asked for or a person is there to be asked.
    if dry_run or (group.somebody_answers() and not (yes or as_json)):
        preview = restoring(dry_run=True, now=group.now())
        _show(preview, preview=True, as_json=as_json)
        if dry_run or not preview.diff.text:
            return None
        if not group.confirmed("Restore this?"):
            output.say("Nothing was changed.")
            return 1
    # 2. The restore.
    done = restoring(now=group.now())
    _show(done, preview=False, as_json=as_json)
    return 3 if done.held else None


def _show(restored: Restored, *, preview: bool, as_json: bool) -> None:
    if as_json:
        output.emit(_shape(restored, dry_run=preview))
    elif preview:
        _preview(restored)
    else:
        _done(restored)


def _shape(done: Restored, *, dry_run: bool) -> dict[str, object]:
    return {
        "commit": done.sha,
        "restored": done.change.sha,
        "mode": done.mode,
        "dry_run": dry_run,
        "files": done.diff.files,
        "diff": done.diff.text,
        "kept": [one.sha for one in done.kept],
        "forgotten": [{"file": fact.file, "text": fact.text} for fact in done.forgotten],
        "held": done.held,
        "hand": done.hand,
        "reason": done.reason,
    }


def _preview(preview: Restored) -> None:
    output.say(f"{show.short(preview.change.sha)}  {preview.change.subject}", bold=True)
    if not preview.diff.text:
        output.say(preview.reason or "Nothing would change.")
        return
    output.say("Restoring would change:")
    show.diff(preview.diff.text)
    for change in preview.kept:
        output.say(f"Kept: {show.short(change.sha)}  {change.subject}", colour="cyan")
    for fact in preview.forgotten:
        output.say(f"Never again: {fact.text}", colour="yellow")


def _done(done: Restored) -> None:
    if done.hand:
        output.say(f"Your own edits were committed first: {show.short(done.hand)}")
    if done.sha is None:
        output.say(done.reason or "Nothing had to change.")
        return
    changed = show.changed(done.diff.files)
    where = {"before": "as it was just before", "only": "without", "at": "as it was at"}[done.mode]
    output.say(f"Memory is {where} {show.short(done.change.sha)}: {changed or 'the cursor only'}.", bold=True)
    for fact in done.forgotten:
        output.say(f"Never again: {fact.text}", colour="yellow")
    for path in done.held:
        output.problem(f"{path} was saved at this moment and stays as you saved it.")
    output.say(f"The restore is {show.short(done.sha)}. To take it back: dream restore {show.short(done.sha)}")
    if done.mode == "before" and done.change.kind == "dream" and not done.forgotten:
        output.say("The next dream reads those entries again, and may find the same; --forget keeps it out.", fold=True)
