"""`dream nightly`: one night, for cron and its like."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dream.cli import group, output, show
from dream.cli.group import DreamingCommand
from dream.cli.output import progress
from dream.models import shape
from dream.settings import REACHING


@click.command("nightly", cls=DreamingCommand)
@group.quiet
@group.models
@group.workspace
@group.as_json
def command(quiet: bool, model: str | None, pairs: tuple[str, ...], directory: Path | None, as_json: bool) -> int:
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
    settings = group.read_settings(workspace, model, pairs, using=REACHING)
    with progress("the night begins", quiet=as_json or quiet, lines=False) as shown:
        report = nightly.night(workspace, settings=settings, now=group.now(), environ=os.environ, progress=shown)
    if as_json:
        output.emit(shape(report) | {"usage": shape(report.usage)})
        if report.run.outcome == "failed":
            output.problem(report.run.reason)
    else:
        show.night(report, quiet=quiet)
    return report.exit_status
