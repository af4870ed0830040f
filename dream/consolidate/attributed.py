"""Who said which line of an entry: the user, a tool, a pasted text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dream.models import Message, NewEntry
from dream.provenance import secondhand
from dream.provenance.line import QUOTE
from dream.provenance.others import by_others
from dream.provenance.user import by_user


def attributed(entry: NewEntry, messages: Sequence[Message]) -> NewEntry:
    """Return `entry` with the numbers of its lines that the user said, and of those that others did.

    The user's own sentences, which code has put under the lines that rest on them, are theirs whatever else.
    """
    by_tool, by_paste = secondhand.sources(entry.content, messages)
    rows = enumerate(entry.content.split("\n"), start=1)
    quotes = {number for number, row in rows if entry.rests and row.startswith(QUOTE)}
    return replace(
        entry,
        by_user=tuple(sorted({*by_user(entry.content, messages), *quotes})),
        by_others=tuple(number for number in by_others(entry.content, messages) if number not in quotes),
        by_tool=tuple(number for number in by_tool if number not in quotes),
        by_paste=tuple(number for number in by_paste if number not in quotes),
    )
