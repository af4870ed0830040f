"""Forks and copies: a session that begins as others do says again what history holds of them, and says it once.

They are known by the first message: by its id, or by what it says and when. Where it has neither id nor time it takes
ALIKE messages in a row, for many a talk begins with "hello".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from dream.consolidate.held import SHORTEST_ID, base, held_under, taken
from dream.models import Message
from dream.store.history import History

ALIKE = 3


def without_copied(history: History, key: str, first: Message, stream: Iterator[Message]) -> Iterator[Message]:
    """Yield the messages of a session that is new to history; what it repeats of another one keeps only its place.

    `stream` are all of them, with digests as their ids; `first` is the first one as its transcript has it.
    """
    ahead = list(islice(stream, ALIKE))
    stream = chain(ahead, stream)
    if first.id is None or history.beginning_with(ahead[0].id or "") is None:
        return stream
    if first.at is None and (first.id.startswith("~") or len(first.id) < SHORTEST_ID):
        ahead = ahead if len(ahead) == ALIKE else []
    else:
        ahead = ahead[:1]
    others = [one for one in _others(history, key, ahead[0].id or "") if _begins(one, ahead)] if ahead else []
    return _blanked(stream, others) if others else stream


def _others(history: History, key: str, first: str) -> list[Counter[str]]:
    """Return the digests of each session that begins with the message `first`, its derived ones with it."""
    origins = {base(one): Counter[str]() for one in history.all_beginning_with(first) if base(one) != key}
    for name, held in held_under(history, origins).items() if origins else ():
        origins[base(name)].update(held.digests)
    return list(origins.values())


def _begins(held: Counter[str], messages: list[Message]) -> bool:
    return not Counter(message.id or "" for message in messages) - held


def _blanked(stream: Iterator[Message], others: list[Counter[str]]) -> Iterator[Message]:
    """Blank the messages that one of `others` holds, up to the first that none of them goes on with."""
    for message in stream:
        others = [held for held in others if taken(held, message.id or "")]
        yield replace(message, content="", calls=(), answers=None) if others else message
