"""`dream run`: history becomes memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output
from dream.cli.group import DreamingCommand

if TYPE_CHECKING:
    from dream.models import Step
    from dream.settings import Settings
    from dream.workspace.workspace import Workspace


@click.command("run", cls=DreamingCommand)
@click.option("--max-batches", type=click.IntRange(min=1), metavar="N", help="Stop after N dreams.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what the dreams would change; change nothing.")
@click.option("--estimate", is_flag=True, help="Say what the dreams would cost; call no model and change nothing.")
@group.verbose
@group.quiet
@group.models
@group.workspace
@group.as_json
def command(
    max_batches: int | None,
    dry_run: bool,
    estimate: bool,
    verbose: bool,
    quiet: bool,
    model: str | None,
    pairs: tuple[str, ...],
    directory: Path | None,
    as_json: bool,
) -> int:
    """Dream until nothing is left: distil new history into the memory files.

    Each dream takes the oldest entries that were not dreamt yet, and ends in one git commit of SOUL.md, USER.md,
    memory/MEMORY.md and the cursor, or changes nothing. `dream log` shows what it did, `dream restore` takes it back.
    Exits 3 when something is held for review, 4 when another run holds the workspace.

    \b
    Examples:
      dream run
      dream run --verbose
      dream run --dry-run
      dream run --dry-run --estimate --model openai/gpt-5-mini
      dream run --model openai/gpt-5-mini --max-batches 5
      dream run --set batch_tokens=8000 --json
    """
    quiet = quiet and not as_json
    if not (model or pairs or dry_run or estimate) and _idle(directory, as_json=as_json, quiet=quiet):
        return 0
    from dream.settings import CALLING

    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, model, pairs, using=CALLING)
    _warn(workspace.root)
    if estimate:
        return _estimate(workspace, settings, max_batches, as_json=as_json)
    if not dry_run and _nothing(workspace, settings, as_json=as_json, quiet=quiet):
        return 0
    from dream import pipeline
    from dream.cli import show
    from dream.cli.output import progress
    from dream.models import shape

    with progress("dreaming", quiet=as_json or quiet) as shown:

        def watch(step: Step) -> None:
            if shown:
                shown(step)
            if step.ended and not (as_json or quiet):
                show.batch(step.ended, dry_run=dry_run, verbose=verbose or dry_run)

        report = pipeline.run(
            workspace,
            settings=settings,
            now=group.now,
            max_batches=max_batches,
            dry_run=dry_run,
            progress=watch,
        )
    if as_json:
        output.emit(shape(report) | ({"dry_run": True} if dry_run else {}))
    if report.outcome == "failed":
        output.problem(report.reason)
    elif not (as_json or quiet):
        show.ran(report, dry_run=dry_run)
    return report.exit_status


def _estimate(workspace: Workspace, settings: Settings, max_batches: int | None, *, as_json: bool) -> int:
    """Say what a run will cost."""
    from dream import estimate
    from dream.cli import show

    found = estimate.estimate(workspace, settings, group.now(), max_batches)
    if as_json:
        output.emit(found)
    else:
        show.estimated(found)
    return 0


def _idle(directory: Path | None, *, as_json: bool, quiet: bool) -> bool:
    """Say so and leave a record where plainly nothing is to be dreamt; then nothing else has to be loaded."""
    from dream.workspace import idle, places

    root = places.absolute(directory) if directory else places.find(Path(), os.environ)
    configured = any(name.startswith("DREAM_") and name != places.VARIABLE for name in os.environ)
    if root is None or configured or (root / "dream.toml").exists():
        return False
    reason = idle.reason(root)
    if reason is None or not idle.record(root, reason, group.now()):
        return False
    _warn(root)
    _say(reason, as_json=as_json, quiet=quiet)
    return True


def _nothing(workspace: Workspace, settings: Settings, *, as_json: bool, quiet: bool) -> bool:
    """Say so where nothing is to be dreamt, of a workspace with settings; then the pipeline is not loaded."""
    from dream.workspace import idle
    from dream.workspace.lock import run_lock

    with run_lock(workspace.private):
        reason = idle.why_nothing(workspace, settings, group.now())
    if reason:
        _say(reason, as_json=as_json, quiet=quiet)
    return bool(reason)


def _say(reason: str, *, as_json: bool, quiet: bool) -> None:
    from dream.workspace import idle

    if as_json:
        output.emit({"outcome": "nothing", "batches": [], "reason": reason, "usage": idle.USAGE})
    elif not quiet:
        output.say(output.sentence(reason))


def _warn(root: Path) -> None:
    """Tell of memory files that are gone or empty."""
    from dream.workspace.workspace import absent

    for sentence in absent(root):
        output.problem(sentence)
