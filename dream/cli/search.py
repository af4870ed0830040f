"""`dream search` and `get`: what memory, history and messages say of a question, and what a citation names."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand, TextCommand
from dream.errors import UsageError

if TYPE_CHECKING:
    from dream.recall.hits import Hit


DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.command("search", cls=TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="QUERY…")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="At most.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(["memory", "history", "message"]), help="Only these.")
@click.option("--session", metavar="KEY", help="Only of this session.")
@click.option("--source", metavar="NAME", help="Only of this agent's sessions, such as claude-code.")
@click.option("--speaker", metavar="NAME", help="Only messages of this speaker: a name, user or assistant.")
@click.option("--since", type=DAY, metavar="DAY", help="Only what was said on this day or later.")
@click.option("--until", type=DAY, metavar="DAY", help="Only what was said on this day or earlier.")
@group.workspace
@group.as_json
def search_command(
    words: tuple[str, ...],
    limit: int,
    kinds: tuple[str, ...],
    session: str | None,
    source: str | None,
    speaker: str | None,
    since: datetime | None,
    until: datetime | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Find what was said: in the three files, in history, and in the messages beneath them.

    Any of the words counts, best first, each hit with a citation that `dream get` opens. What is new is found at once.

    \b
    Examples:
      dream search which port does staging use
      dream search Lisbon --kind message --since 2026-11-01
      dream search "HS-214" --json
    """
    query = " ".join(words).strip()
    if not query:
        raise UsageError("Say what to look for: dream search which port does staging use.")
    hits = group.open_workspace(directory).search(
        query,
        limit=limit,
        kinds=kinds or None,
        since=_day(since),
        until=_day(until),
        session=session,
        source=source,
        speaker=speaker,
    )
    if as_json:
        output.emit(hits)
        return
    if not hits:
        output.say("Nothing of what is kept says that.")
    for hit in hits:
        show(hit, query)


def show(hit: Hit, query: str = "") -> None:
    """Print a hit: its citation, when and by whom it was said, and its text with the words of the query marked."""
    from dream.recall.hits import excerpt, words_of

    facts = [hit.cite, f"{hit.when:%Y-%m-%d}" if hit.when else "", hit.speaker or ""]
    output.say("  ".join(fact for fact in facts if fact), dim=True)
    text = hit.text.strip()
    text = excerpt(text, query) if query else text
    output.say("  " + text.replace("\n", "\n  "), fold=True, mark=words_of(query) if query else None)


def _day(given: datetime | None) -> date | None:
    return given.date() if given else None


@click.command("get", cls=DreamCommand)
@click.argument("citation")
@click.option(
    "--around", type=click.IntRange(min=0), default=0, metavar="N", help="Show N neighbours on each side too."
)
@group.workspace
@group.as_json
def get_command(citation: str, around: int, directory: Path | None, as_json: bool) -> None:
    """Open a citation: a line of memory, an entry of history, or a message.

    \b
    Examples:
      dream get USER.md:12
      dream get history:42
      dream get claude-code:6f1e#118 --around 3
    """
    found = group.open_workspace(directory).get(citation, around=around)
    if as_json:
        output.emit(found)
        return
    for hit in found:
        show(hit)
