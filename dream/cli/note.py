"""`dream note`: a fact, said directly."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import TextCommand
from dream.errors import UsageError


@click.command("note", cls=TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="TEXT")
@click.option("--by-agent", is_flag=True, help="An agent says it by itself, not the user: it makes no rule.")
@group.workspace
@group.as_json
def command(words: tuple[str, ...], by_agent: bool, directory: Path | None, as_json: bool) -> None:
    """Put a fact into history now.

    The next dream weighs it like everything else that was said, and writes it where it belongs.
    With `-` as TEXT, or without TEXT in a pipe, standard input is read. What an agent notes by itself, with --by-agent,
    is marked as its own; it waits for your review where it would be a rule, or a fact about you.

    \b
    Examples:
      dream note "I am allergic to peanuts"
      git log -1 --format=%B | dream note
    """
    from dream.actions import note

    piped = words == ("-",) or (not words and sys.stdin is not None and not sys.stdin.isatty())
    text = group.standard_input() if piped else " ".join(words)
    if not text.strip():
        raise UsageError('There is nothing to note: dream note "I am allergic to peanuts".')
    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, using=("redact_patterns",))
    entry = note.note(workspace, text, settings=settings, now=group.now(), by_agent=by_agent)
    if as_json:
        output.emit({"cursor": entry.cursor})
    else:
        output.say(f"Noted as entry {entry.cursor}. The next `dream run` puts it into memory.")
