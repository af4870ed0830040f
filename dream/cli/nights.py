"""`dream run`, `nightly`, `serve` and `cron`: history becomes memory, now or every night."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dream.cli import group, output, show
from dream.reports import Step, shape
from dream.settings import CALLING, REACHING

if TYPE_CHECKING:
    from dream.nights.nightly import NightReport
    from dream.nights.timers import Timer, TimerJob

_schedule = click.option("--schedule", metavar="CRON", help="When, instead of the setting `schedule`: '0 3 * * *'.")
_kind = click.argument("kind", required=False, type=click.Choice(["crontab", "systemd", "launchd"]))


@click.command("run", cls=group.DreamingCommand)
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

    Each dream takes the oldest entries that have not been dreamt yet. It ends in one git commit of SOUL.md,
    USER.md, memory/MEMORY.md and the cursor, or changes nothing. `dream log` shows what it did, `dream restore`
    undoes it. Exits with 3 when something is held for review, and with 4 when another run holds the workspace.

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
    from dream.directory import absent

    workspace = group.open_workspace(directory)
    settings = workspace.settings(flags=flags, using=CALLING)
    for sentence in absent(workspace.root):
        output.problem(sentence)
    if estimate:
        from dream.dreaming.estimate import estimate as expect

        expected = expect(workspace, settings, group.now(), max_batches)
        output.emit(expected) if as_json else show.estimated(expected)
        return 0
    silent = quiet or as_json
    with output.progress("dreaming", quiet=silent) as shown:

        def watch(step: Step) -> None:
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


@click.command("nightly", cls=group.DreamingCommand)
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

    if not (as_json or sys.stdout.isatty()):
        output.dated()  # cron appends the output to a log
    workspace = group.open_workspace(directory)
    settings = workspace.settings(flags=flags, using=REACHING)
    with output.progress("the night begins", quiet=as_json or quiet) as shown:
        report = nightly.night(workspace, settings=settings, now=group.now(), environ=os.environ, progress=shown)
    if as_json:
        output.emit(shape(report) | {"usage": shape(report.usage)})
        if report.run.outcome == "failed":
            output.problem(report.run.reason)
    else:
        show.night(report, quiet=quiet)
        if quiet or not report.run.commits:  # as on most nights
            return report.exit_status
        from dream.actions import check

        if told := check.in_short(check.doubts(workspace, group.now())):
            output.say(f"Doubtful in memory: {told}. Look at them: dream check", fold=True)
    return report.exit_status


# Starting the nights: `dream serve`, or the system's scheduler.


@click.command("serve", cls=group.DreamCommand)
@_schedule
@group.models
@group.workspace
def serve_command(schedule: str | None, flags: Mapping[str, object], directory: Path | None) -> None:
    """Keep running, and dream on a cron schedule.

    A night missed while the machine slept runs as soon as it wakes or the command is started again, and no
    night runs twice. The schedule is a crontab expression in the time zone of the `timezone` setting. SIGTERM
    and Ctrl-C let the current dream finish; SIGHUP reloads the settings.

    \b
    Examples:
      dream serve
      dream serve --schedule "30 4 * * mon-fri"
      dream serve --set timezone=Europe/Berlin
    """
    from dream.nights import serve as schedules

    output.dated()
    workspace = group.open_workspace(directory)
    if schedule is not None:
        flags = {**flags, "schedule": schedule}
    server = schedules.Server(
        workspace,
        lambda: workspace.settings(flags=flags, using=REACHING),
        environ=os.environ,
        tell=lambda line: output.say(line, now=True),
        told=_tell_night,
    )
    server.serve()


def _tell_night(report: NightReport) -> None:
    for problem in report.problems:
        output.problem(problem)
    output.say(show.night_line(report), now=True)


def _timer_options(function: Callable[..., Any]) -> Callable[..., Any]:
    return _kind(_schedule(group.workspace(group.as_json(function))))


@click.group("cron", cls=group.DreamGroup)
@group.workspace
@group.as_json
def cron_command(directory: Path | None, as_json: bool) -> None:
    """Let crontab, systemd or launchd dream every night.

    Without a name, the scheduler that suits this machine is used. `dream cron show` prints what is installed, or would
    be, and changes nothing. The files are those in the folder cron/, with absolute paths; other lines in your crontab
    stay as they are.

    \b
    Examples:
      dream cron show
      dream cron install
      dream cron install crontab --schedule "30 4 * * mon-fri"
      dream cron remove
    """


@cron_command.command("show")
@_timer_options
def show_timer(kind: Timer | None, schedule: str | None, directory: Path | None, as_json: bool) -> None:
    """Print what is installed, or would be.

    \b
    Example:
      dream cron show systemd
    """
    from dream.nights import timers

    usual, job = _job(kind, schedule, directory)
    there = timers.installed(job)
    chosen = kind or [*there, usual][0]
    job = there.get(chosen, job) if schedule is None else job
    files = timers.timer_files(chosen, job)
    if as_json:
        shown = {str(path): text for path, text in files.items()}
        output.emit({"kind": chosen, "files": shown, "installed": list(there)})
        return
    output.say(f"# {_where(there, chosen)}")
    for path, text in files.items():
        output.say(f"# {path}", bold=True)
        output.say(text.rstrip("\n"))
    output.say(f"# {timers.zone_note(chosen, job)}")


@cron_command.command("install")
@_timer_options
def install(kind: Timer | None, schedule: str | None, directory: Path | None, as_json: bool) -> None:
    """Install it; again for a new schedule.

    \b
    Example:
      dream cron install
    """
    from dream.nights import timers

    kind, job = _job(kind, schedule, directory, using=REACHING)
    done = timers.install(kind, job)
    note = [timers.zone_note(kind, job)] if job.zone else []
    others = [other for other in timers.installed(job) if other != kind]
    twice = [f"But {other} starts the nights too: `dream cron remove {other}` stops that." for other in others]
    _tell_timer(kind, [*done, *note, *twice], as_json=as_json)


@cron_command.command("remove")
@_timer_options
def remove(kind: Timer | None, schedule: str | None, directory: Path | None, as_json: bool) -> None:
    """Remove it again.

    \b
    Example:
      dream cron remove
    """
    from dream.nights import timers

    named = kind
    kind, job = _job(kind, schedule, directory)
    kinds = [named] if named else list(timers.installed(job)) or [kind]
    for one in kinds:
        _tell_timer(one, timers.remove(one, job), as_json=as_json and one == kinds[-1])


def _where(there: Collection[Timer], kind: Timer) -> str:
    """Return a sentence on whether the shown timer is installed."""
    if kind in there:
        return f"This is installed in {' and '.join(there)}." if len(there) > 1 else "This is installed."
    return f"{' and '.join(there)} is installed, not this." if there else "Nothing is installed: dream cron install"


def _job(
    kind: Timer | None, schedule: str | None, directory: Path | None, using: Collection[str] = ()
) -> tuple[Timer, TimerJob]:
    from dream.crontime import parse
    from dream.nights import timers

    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=using)
    job = timers.job(workspace.root, parse(schedule or settings.schedule), os.environ, settings.timezone or "")
    return kind or timers.usual_kind(), job


def _tell_timer(kind: Timer, sentences: list[str], *, as_json: bool) -> None:
    if as_json:
        output.emit({"kind": kind, "done": sentences})
        return
    for sentence in sentences:
        output.say(sentence)
