"""`dream serve`: stay and dream on a schedule."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand
from dream.settings import REACHING

if TYPE_CHECKING:
    from dream.nights.nightly import NightReport


@click.command("serve", cls=DreamCommand)
@click.option("--schedule", metavar="CRON", help="When, instead of the setting `schedule`: '0 3 * * *'.")
@group.models
@group.workspace
def command(schedule: str | None, model: str | None, pairs: tuple[str, ...], directory: Path | None) -> None:
    """Stay and dream on a cron schedule.

    A night that the machine slept through runs as soon as it wakes or the command is started again, and no night runs
    twice. The schedule is a crontab expression in the time zone of the `timezone` setting. With `early_tokens` it also
    dreams when the backlog exceeds that size. SIGTERM and Ctrl-C let the current dream finish; SIGHUP reloads the
    settings.

    \b
    Examples:
      dream serve
      dream serve --schedule "30 4 * * mon-fri"
      dream serve --set timezone=Europe/Berlin --set early_tokens=20000
    """
    from dream.nights import serve as schedules

    output.dated()
    workspace = group.open_workspace(directory)
    if schedule is not None:
        pairs = (*pairs, f"schedule={schedule}")
    server = schedules.Server(
        workspace,
        lambda: group.read_settings(workspace, model, pairs, using=REACHING),
        environ=os.environ,
        tell=lambda line: output.say(line, now=True),
        told=_told,
    )
    server.serve()


def _told(report: NightReport) -> None:
    for problem in report.problems:
        output.problem(problem)
    output.say(show.night_line(report), now=True)
