"""What history holds under the keys of sessions: their messages' digests, and how far each has come."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dream.store.history import History
from dream.store.history_records import DERIVED, DIGEST_CHARS

SHORTEST_ID = 16  # characters of an id that is no mere number of a message in its file


@dataclass(slots=True)
class Held:
    """What history holds under one key."""

    position: int = 0
    prefix: str = ""
    digests: Counter[str] = field(default_factory=Counter)


def base(key: str) -> str:
    """Return the key that `key` was derived from, or itself."""
    match = DERIVED.fullmatch(key)
    return match[1] if match else key


def held_under(history: History, keys: Iterable[str]) -> dict[str, Held]:
    """Read what the log holds for each of `keys` and for the keys derived from them."""
    found: dict[str, Held] = {}
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, keys))})" + r"(?:~[\w-]{8})?", re.ASCII)
    for entry in history.of(pattern):
        one = found.setdefault(entry.session or "", Held())
        if entry.span is not None and entry.span[1] > one.position:
            one.position, one.prefix = entry.span[1], entry.prefix
        one.digests.update(entry.ids[at : at + DIGEST_CHARS] for at in range(0, len(entry.ids), DIGEST_CHARS))
    return found


def taken(held: Counter[str], one: str) -> bool:
    """Take one out of `held` if it is there."""
    if held[one] <= 0:
        return False
    held[one] -= 1
    return True
