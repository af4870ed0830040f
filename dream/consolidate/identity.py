"""Which messages of a session history holds already, so that each is archived once, whatever became of its file.

A session's messages are known by digests of their identities. History keeps with each entry those of its span, and
one digest of all from the session's first. Where a transcript still begins with what history holds, the position says
where to go on. Where it does not (the file was started anew, rewritten, cut, rewound, or a second one has the same
key), its messages are compared one by one with those of the key, and what is new goes on behind them.

A fork or a copy of a session says again what history holds of another, and goes in without that: its messages have
the ids that their agent gave them.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from dream.history.entries import DIGEST_CHARS
from dream.history.history import History
from dream.models import Entry, Message

OLDER = r"(?:~[\w-]{8})?"  # behind a key: what older versions filed apart where a session did not go on as it was
SHORTEST_ID = 16  # characters of an id that is no mere number of a message in its file
ASKED = 100  # messages that history is asked about at a time,
ASKED_CHARS = 1 << 18  # and of how many characters they may be

Numbered = Iterator[tuple[int, Message]]


def taken(held: Counter[str], one: str) -> bool:
    """Take `one` out of `held`; return whether it was there."""
    if held[one] <= 0:
        return False
    held[one] -= 1
    return True


def unheld(history: History, key: str, messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages with their digests as ids; what another session of history holds keeps only its place.

    A fork or a copy has its origin's messages under the ids that their agent gave them.
    """
    for some in _batches(messages):
        digests = [digest(message) for message in some]
        holders = history.holders(one for one, message in zip(digests, some, strict=True) if _is_named(message))
        for one, message in zip(digests, some, strict=True):
            holder = holders.get(one)
            known = holder is not None and holder != key
            left = replace(message, content="", whole="", ran=None, calls=(), answers=None) if known else message
            yield replace(left, id=one)


def _batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Yield messages some at a time, as history is asked about them: ASKED, or fewer that are long."""
    some: list[Message] = []
    chars = 0
    for message in messages:
        some.append(message)
        chars += len(message.content) + len(message.whole)
        if len(some) == ASKED or chars > ASKED_CHARS:
            yield some
            some, chars = [], 0
    yield some


def _is_named(message: Message) -> bool:
    """Return whether no other message has the id of this one, or not at the same time."""
    own = message.id is not None and not message.id.startswith("~")
    return own and (len(message.id or "") >= SHORTEST_ID or message.at is not None)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is new of a session: the key it goes on under, from which position, and the messages, to be taken once.

    Each message's id is its digest. `prefix` is the digest of what history holds under the key; `known` is False
    where the entries there don't say which messages they stand for, and so none that follows can.
    """

    key: str
    start: int
    prefix: str
    numbered: Numbered
    known: bool = True
    remark: str = ""


def digest(message: Message) -> str:
    """Return a message's digest: of its id, or of its content if the id is missing or only a number."""
    if message.id is not None and len(message.id) >= SHORTEST_ID:
        return _short(message.id)
    return _short(repr((message.id, message.role, message.name, message.at, message.content, message.calls)))


def extended(prefix: str, digests: str) -> str:
    """Return the digest of a session's messages up to the last of `digests`, from that of those before."""
    for at in range(0, len(digests), DIGEST_CHARS):
        prefix = _short(prefix + digests[at : at + DIGEST_CHARS])
    return prefix


def plan(history: History, key: str, messages: Iterable[Message]) -> Plan:
    """Find what is new among `messages`, which are those of session `key` from its first.

    They are iterated once where they begin as history has them, else twice.
    """
    position, prefix = history.tail(key)
    given, found = 0, ""
    read = iter(messages)
    while given < position and (message := next(read, None)) is not None:
        given += 1
        found = extended(found, digest(message))
    if position and not prefix:
        short = f"history holds {position} messages of this session, but only {given} were given; none is read"
        return Plan(key, position, "", enumerate(_named(read), position), False, short if given < position else "")
    if given == position and found == prefix:
        return Plan(key, position, prefix, enumerate(unheld(history, key, read), position))
    return _compared(history, key, messages, position, prefix)


def without_summarised(history: History, key: str, numbered: Numbered) -> Numbered:
    """Blank the messages that their agent has summarised itself, where its own entries are in this history.

    They are told by their session, the agent's own key, and by standing for no range of messages of ours. nanobot's
    don't say their session before 0.2.2: they count for the messages up to the minute of the last of them.
    """
    looked, until = False, None  # up to when messages are in the agent's own entries
    for at, message in numbered:
        if message.summarised and not looked:
            looked, until = True, _summarised_until(history, key.partition(":")[2])
        theirs = message.summarised and until is not None and (message.at is None or message.at < until)
        yield at, replace(message, content="", whole="", ran=None, calls=(), answers=None) if theirs else message


def _summarised_until(history: History, own: str) -> datetime | None:
    if any(entry.span is None for entry in history.of(re.compile(re.escape(own)))):
        return datetime.max.replace(tzinfo=UTC)
    newest = history.newest_unnamed()
    return newest and newest + timedelta(minutes=1)  # it is written to the minute


def _compared(history: History, key: str, messages: Iterable[Message], position: int, prefix: str) -> Plan:
    """Find the new messages by comparing every one: those that history does not hold under the key."""
    keys = re.compile(re.escape(key) + OLDER, re.ASCII)
    held = Counter(one for entry in history.of(keys) if not entry.rereads for one in digests(entry))
    given = [digest(message) for message in messages]
    if not Counter(given) - held:
        short = f"history holds {position} messages of this session, but only {len(given)} are left of it"
        return Plan(key, position, prefix, iter(()), remark=short if len(given) < position else "")
    new = (message for message in messages if not taken(held, digest(message)))
    return Plan(key, position, prefix, enumerate(unheld(history, key, new), position))


def digests(entry: Entry) -> list[str]:
    """Return the digests of the messages that an entry summarises."""
    return [entry.ids[at : at + DIGEST_CHARS] for at in range(0, len(entry.ids), DIGEST_CHARS)]


def _named(messages: Iterable[Message]) -> Iterator[Message]:
    return (replace(message, id=digest(message)) for message in messages)


def _short(text: str) -> str:
    return urlsafe_b64encode(blake2b(text.encode("utf-8", "replace"), digest_size=6).digest()).decode()
