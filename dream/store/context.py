"""Memory as a block for an agent's system prompt, within a token budget. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from dream.models import Entry, MemoryFile, Proposal
from dream.store import history_legacy
from dream.store.choosing import chosen
from dream.wording import content_words, without_said_on

Count = Callable[[str], int]

# The block is marked, so that readers of transcripts know recalled memory and it is never learnt again.
OPEN = "<dream-memory>"
CLOSE = "</dream-memory>"
TAGS = re.compile(r"<(?=/?dream-memory\b)", re.IGNORECASE)
RECENT = "## Recent history"
WAITING = "## Waiting for review"
# Guards that stop what the user said only to ask them first; what somebody else said is shown to no agent.
ASKING = ("person-line", "person-edit", "loss", "review")
WAITING_SHARE = 0.2  # of the room, at most, for what waits
SPARE = 0.1  # of a line's content words may be missing in what says the same


def undreamt(
    newest_first: Iterable[Entry], dreamt: int, session: str | None = None, beside: str = ""
) -> Iterator[Entry]:
    """Yield the entries above cursor `dreamt` that say something, newest first; not those that `beside` holds whole."""
    held = set(beside.splitlines())
    for entry in newest_first:
        if entry.cursor <= dreamt:
            return
        ours = (session is None or entry.session in (session, None)) and entry.session != history_legacy.SESSION
        if ours and entry.content and not held.issuperset(entry.content.splitlines()):
            yield entry


def unsaid(text: str, beside: str) -> str:
    """Return a memory file without the list lines that a line of `beside` says too, in nearly the same words."""
    said = [content_words(line) for line in beside.splitlines()]
    return "\n".join(row for row in text.split("\n") if not (row.startswith("- ") and _said(row, said)))


def _said(row: str, said: Iterable[frozenset[str]]) -> bool:
    wanted = content_words(without_said_on(row))
    return bool(wanted) and any(len(wanted - one) <= SPARE * len(wanted) for one in said)


def waiting(pending: Iterable[Proposal]) -> list[str]:
    """Return the lines that held edits would write, the newest last, where only a person's decision is missing."""
    held = [item for item in pending if item.guard in ASKING]
    return list(dict.fromkeys(row for item in held for row in _fresh(item)))


def _fresh(item: Proposal) -> Iterator[str]:
    before = set(item.old_text.splitlines())
    for row in item.new_text.splitlines():
        if row.strip() and row not in before and not row.startswith("#"):
            yield f"- {row.strip().removeprefix('- ')}"


def block(
    texts: Mapping[MemoryFile, str],
    newest_first: Iterable[Entry],
    tokens: int,
    count: Count,
    held: Sequence[str] = (),
) -> str:
    """Lay out the files and then recent history within `tokens`, whole lines and whole entries only.

    Of a file that doesn't fit, what tells most for its length is shown, in its order, and how much is not. History is
    taken from the newest entry backwards as long as it fits; an entry too long for all the room there is left out, so
    that it doesn't hide the others.
    Empty when there is nothing to say, or no room to say it.
    """
    room = tokens - count(f"{OPEN}\n{CLOSE}\n")
    last = _waiting(held, int(room * WAITING_SHARE), count)
    room -= count(last)
    parts: list[str] = []
    for name, text in texts.items():
        section = _file(name, text, room - sum(map(count, parts)), count)
        if section:
            parts.append(section)
    recent = _recent(newest_first, room - sum(map(count, parts)) - count(f"{RECENT}\n\n"), count)
    if recent:
        parts.append(f"{RECENT}\n\n" + "".join(recent))
    if last:
        parts.append(last)
    return f"{OPEN}\n" + "\n".join(parts) + f"{CLOSE}\n" if parts else ""


def _waiting(held: Sequence[str], room: int, count: Count) -> str:
    """Return the newest of the held lines that fit."""
    shown = ""
    for at in range(len(held) - 1, -1, -1):
        text = f"{WAITING}\n\n" + "".join(f"{_plain(row)}\n" for row in held[at:])
        if count(text) > room:
            break
        shown = text
    return shown


def _file(name: MemoryFile, text: str, room: int, count: Count) -> str:
    """Return a file under its name, or what of it `room` holds; "" where it is empty or there is no room."""
    body = chosen(_plain(text), lambda shown: count(_named(name, shown)) < room)
    return _named(name, body) if body and count(_named(name, body)) < room else ""


def _named(name: MemoryFile, body: str) -> str:
    return f"## {name}\n\n{body}"


def _recent(newest_first: Iterable[Entry], room: int, count: Count) -> list[str]:
    taken: list[str] = []
    left = room
    for entry in newest_first:
        if left <= 0:
            break
        text = f"[{entry.cursor}] {entry.at:%Y-%m-%d %H:%M} {_plain(entry.content).strip()}\n"
        size = count(text)
        if size > room:
            continue
        if size > left:
            break
        taken.append(text)
        left -= size
    return taken[::-1]


def _plain(text: str) -> str:
    """Take the meaning from text that would open or close our block."""
    return TAGS.sub("<\\\\", text)
