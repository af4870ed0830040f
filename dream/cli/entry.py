"""Where the installed commands start, and the one place where a process ends."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

import dream
from dream.cli import group, output
from dream.cli.group import DreamCommand, LazyGroup, loaded
from dream.cli.output import NARROWEST

INTERRUPTED = 130  # 128 + SIGINT, as shells count
CLICKS_NARROWEST = 52  # columns for which click lays out its help, also where there are fewer


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@group.workspace
@click.version_option(dream.__version__, prog_name="dream")
def dream_group(directory: Path | None) -> None:
    """A memory for AI agents that is put in order every night.

    dream reads what an agent and its user said, keeps a running history, and distils it into SOUL.md, USER.md and
    memory/MEMORY.md. Every change is one git commit that can be read and taken back.

    \b
    New here:    dream demo
    Your own:    dream init · dream consolidate TRANSCRIPT · dream run · dream log
    """


def main() -> None:
    """Run `dream`."""
    _finish(dream_group, "dream")


def main_log() -> None:
    """Run `dream-log`, the same as `dream log`."""
    _finish(loaded("log"), "dream-log")


def main_restore() -> None:
    """Run `dream-restore`, the same as `dream restore`."""
    _finish(loaded("restore"), "dream-restore")


def _finish(command: click.Command, program: str) -> None:
    """Run `command` on the process's arguments and exit: 0, what it returned, 2 for wrong usage, 130 for Ctrl-C.

    What could not be printed makes a 0 a 1.
    """
    output.prepare()
    try:
        status = command.main(prog_name=program, standalone_mode=False, terminal_width=_narrow())
    except SystemExit:  # click's, where the reader of what it prints itself has gone: `dream --help | true`
        status = 0
    except click.ClickException as error:
        if error.format_message().startswith("Usage: "):  # `dream cron` alone: its help is all there is to tell
            click.echo(error.format_message(), err=True)
        else:
            output.problem(_sentence(error))
        if "--json" in sys.argv:
            _emit(error)
        status = error.exit_code
    except click.Abort:
        output.problem("Stopped. What was committed stays; everything else is as it was.")
        status = INTERRUPTED
    status = status if isinstance(status, int) else 0
    status = status if output.close() else status or 1
    if status == INTERRUPTED:
        os._exit(status)  # else Python waits for calls that are under way in threads
    sys.exit(status)


def _sentence(error: click.ClickException) -> str:
    """Return what was wrong on the command line, as our own errors do, and where it is told how it is right."""
    said = output.sentence(error.format_message())
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else None
    return f"{said} `{path} --help` tells more." if path and "--help" not in said else said


def _narrow() -> int | None:
    """Return the width of a terminal that is narrower than click takes any to be; else None."""
    columns = shutil.get_terminal_size().columns
    return columns if NARROWEST <= columns < CLICKS_NARROWEST else None


def _emit(error: click.ClickException) -> None:
    """Give a program the one value that it reads, also where its own usage was wrong."""
    called = error.ctx.command if isinstance(error, click.UsageError) and error.ctx else None
    more = called.failed if isinstance(called, DreamCommand) else {}
    output.emit({"outcome": "failed", **more, "reason": error.format_message()})
