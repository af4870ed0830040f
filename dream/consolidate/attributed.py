"""Who said which line of an entry: the user, a tool, a pasted text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dream.models import Message, NewEntry
from dream.provenance import secondhand
from dream.provenance.others import by_others
from dream.provenance.user import by_user


def attributed(entry: NewEntry, messages: Sequence[Message]) -> NewEntry:
    """Return `entry` with the numbers of its lines that the user said, and of those that others did."""
    by_tool, by_paste = secondhand.sources(entry.content, messages)
    return replace(
        entry,
        by_user=by_user(entry.content, messages),
        by_others=by_others(entry.content, messages),
        by_tool=by_tool,
        by_paste=by_paste,
    )
