"""`dream run` and `nightly`: history becomes memory, now or as a whole night."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from dream.cli import group, output, show
from dream.cli.group import DreamingCommand
from dream.cli.output import progress
from dream.models import Step, shape
from dream.settings import CALLING, REACHING


@click.command("run", cls=DreamingCommand)
@click.option("--max-batches", type=click.IntRange(min=1), metavar="N", help="Stop after N dreams.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what the dreams would change; change nothing.")
@click.option("--estimate", is_flag=True, help="Say what the dreams would cost; call no model and change nothing.")
@group.verbose
@group.quiet
@group.models
@group.workspace
@group.as_json
def run_command(
    max_batches: int | None,
    dry_run: bool,
    estimate: bool,
    verbose: bool,
    quiet: bool,
    flags: Mapping[str, object],
    directory: Path | None,
    as_json: bool,
) -> int:
    """Dream until nothing is left: distil new history into the memory files.

    Each dream takes the oldest entries that have not been dreamt yet. It ends in one git commit of SOUL.md, USER.md,
    memory/MEMORY.md and the cursor, or changes nothing. `dream log` shows what it did, `dream restore` takes it back.
    Exits with 3 when something is held for review, and with 4 when another run holds the workspace.

    \b
    Examples:
      dream run
      dream run --verbose
      dream run --dry-run
      dream run --dry-run --estimate --model openai/gpt-5-mini
      dream run --model openai/gpt-5-mini --max-batches 5
      dream run --set batch_tokens=8000 --json
    """
    from dream import pipeline
    from dream.workspace.workspace import absent

    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, flags, using=CALLING)
    for sentence in absent(workspace.root):
        output.problem(sentence)
    if estimate:
        from dream import rehearsal

        expected = rehearsal.estimate(workspace, settings, group.now(), max_batches)
        output.emit(expected) if as_json else show.estimated(expected)
        return 0
    silent = quiet or as_json
    with output.progress("dreaming", quiet=silent) as shown:

        def watch(step: Step) -> None:
            if shown:
                shown(step)
            if step.ended and not silent:
                show.batch(step.ended, dry_run=dry_run, verbose=verbose or dry_run)

        report = pipeline.run(
            workspace, settings=settings, now=group.now, max_batches=max_batches, dry_run=dry_run, progress=watch
        )
    if as_json:
        output.emit(shape(report) | ({"dry_run": True} if dry_run else {}))
    if report.outcome == "failed":
        output.problem(report.reason)
    elif not silent:
        show.ran(report, dry_run=dry_run)
    return report.exit_status


@click.command("nightly", cls=DreamingCommand)
@group.quiet
@group.models
@group.workspace
@group.as_json
def nightly_command(quiet: bool, flags: Mapping[str, object], directory: Path | None, as_json: bool) -> int:
    """Consolidate the configured sources, then dream: what cron calls.

    Reads the transcripts of the configured `sources` that have been quiet for `idle_hours`, dreams until nothing is
    left or `max_minutes` have passed, and prints one line. The next night continues with what is left, and retries
    what failed. At the end the `on_change` or `on_failure` command from the settings runs, with the outcome as JSON on
    its standard input.

    \b
    Examples:
      dream nightly
      dream nightly --workspace ~/memory --json
      dream nightly --set max_minutes=30
    """
    from dream.nights import nightly

    if not (as_json or output.watched()):
        output.dated()  # cron appends it to a log
    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, flags, using=REACHING)
    with progress("the night begins", quiet=as_json or quiet, lines=False) as shown:
        report = nightly.night(workspace, settings=settings, now=group.now(), environ=os.environ, progress=shown)
    if as_json:
        output.emit(shape(report) | {"usage": shape(report.usage)})
        if report.run.outcome == "failed":
            output.problem(report.run.reason)
    else:
        show.night(report, quiet=quiet)
    return report.exit_status
