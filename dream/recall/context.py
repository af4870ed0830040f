"""Memory as a block for an agent's system prompt, within a token budget. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from dream.memory import like
from dream.text.words import content_words, without_said_on

if TYPE_CHECKING:
    from dream.models import Entry, MemoryFile, Proposal

# Which part of the memory files is shown if not all of them fit into a prompt. Pure.
#
# Rules of SOUL.md come first; then, of the other files together, the statements that say most for their length, as
# `ranked` has them. Earlier lines of a file count for more: people and models write what matters first.


LINE = 8  # characters that a statement costs beyond its own: bullet, newline, attention
PLENTY = 100_000  # tokens: an empty context of so many says that memory is empty
LAST = 3 / 4  # weight of a file's last statement, relative to the first
_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")

_Lines = tuple["MemoryFile", range]  # a statement: its file, and its rows there
Count = Callable[[str], int]

# The block is marked, so that readers of transcripts know recalled memory and it is never learnt again.
OPEN = "<dream-memory>"
CLOSE = "</dream-memory>"
TAGS = re.compile(r"<(?=/?dream-memory\b)", re.IGNORECASE)
RECENT = "## Recent history"
WAITING = "## Waiting for review"
UNREAD = "Not all of memory could be read:"
RECALLED = "## From earlier conversations"
# Guards that hold the user's own words only to ask first; other people's held words are shown to no agent.
ASKING = ("person-line", "person-edit", "loss", "review")
WAITING_SHARE = 0.2  # of the room, at most, for what waits
LATER_SHARE = 0.2  # of the tokens, at most, for what the user said later of a line
SPARE = 0.1  # share of a line's content words that may be missing in a line that says the same


def chosen(texts: Mapping[MemoryFile, str], fits: Callable[[str], bool]) -> str:
    """Return as much of the files as fits, each under its name and in its order, with how much of it is left out.

    Headings without a statement are left out, also where all of it fits; "" where nothing does.
    """
    rows = {file: text.rstrip().splitlines() for file, text in texts.items()}
    parts = [(file, part) for file in texts for part in _statements(rows[file])]
    whole = _laid_out(rows, parts, parts)
    if not whole or fits(whole):
        return whole
    order = _best_first(rows, parts)
    low, high = 0, len(parts) - 1  # the most statements that fit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(_laid_out(rows, parts, order[:middle])) else (low, middle - 1)
    return _laid_out(rows, parts, order[:low])


def _best_first(rows: Mapping[MemoryFile, Sequence[str]], parts: Sequence[_Lines]) -> list[_Lines]:
    """Return the statements in the order in which they are shown as room grows."""
    from dream.text.alike import ranked  # a hook at a prompt has no time for it

    said = {one: "\n".join(rows[one[0]][one[1].start : one[1].stop]) for one in parts}
    rules = [one for one in parts if like(one[0]) == "SOUL.md"]
    facts = [one for one in parts if like(one[0]) != "SOUL.md"]
    order = [rules[n] for n in ranked([said[one] for one in rules], rates=_rates(rules), line=LINE)]
    beside = [said[one] for one in rules]
    return order + [
        facts[n] for n in ranked([said[one] for one in facts], beside=beside, rates=_rates(facts), line=LINE)
    ]


def _rates(parts: Sequence[_Lines]) -> list[float]:
    """Return the weight of each statement by its place in its file."""
    lengths = Counter(file for file, _ in parts)
    places = Counter["MemoryFile"]()
    rates = []
    for file, _ in parts:
        rates.append(1 - (1 - LAST) * places[file] / max(1, lengths[file] - 1))
        places[file] += 1
    return rates


def _laid_out(rows: Mapping[MemoryFile, Sequence[str]], parts: Sequence[_Lines], kept: Sequence[_Lines]) -> str:
    """Return the kept statements under the names of their files, and how many of each file are left out."""
    of, left = Counter(file for file, _ in kept), Counter(file for file, _ in parts)
    left.subtract(of)
    more = {file: "(1 more line)\n" if left[file] == 1 else f"({left[file]} more lines)\n" for file in of}
    shown = {file: _shown(rows[file], [part for name, part in kept if name == file]) for file in rows if of[file]}
    return "\n".join(f"## {file}\n\n{text}{more[file] if left[file] else ''}" for file, text in shown.items())


def _statements(rows: Sequence[str]) -> Iterator[range]:
    """Yield the rows of each statement: a bullet with what is indented below it, or a paragraph."""
    start: int | None = None
    fenced = False
    for number, row in enumerate(rows):
        ends = not fenced and (not row.strip() or _HEADING.match(row) is not None)
        if start is not None and (ends or (not fenced and row.startswith(("- ", "* ", "+ ")))):
            yield range(start, number)
            start = None
        if start is None and not ends:
            start = number
        if _FENCE.match(row):
            fenced = not fenced
    if start is not None:
        yield range(start, len(rows))


def _shown(rows: Sequence[str], parts: Sequence[range]) -> str:
    """Return the rows of `parts` below their headings, with the blank lines that the file has between them."""
    kept = {number for part in parts for number in part}
    kept |= _headings(rows, kept)
    shown: list[str] = []
    for number, row in enumerate(rows):
        if number in kept or (not row.strip() and shown and shown[-1].strip()):
            shown.append(row)
    return "\n".join(shown).rstrip() + "\n" if kept else ""


def _headings(rows: Sequence[str], kept: Set[int]) -> set[int]:
    """Return the rows of the headings above the kept rows."""
    needed: set[int] = set()
    above: list[tuple[int, int]] = []  # level and row
    for number, row in enumerate(rows):
        if number in kept:
            needed.update(heading for _, heading in above)
        elif heading := _HEADING.match(row):
            level = len(heading[1])
            above = [*((depth, one) for depth, one in above if depth < level), (level, number)]
    return needed


def undreamt(
    newest_first: Iterable[Entry], dreamt: int, session: str | None = None, beside: str = ""
) -> Iterator[Entry]:
    """Yield the entries above cursor `dreamt` that are not empty, newest first, without those that `beside` repeats."""
    from dream.history import legacy
    from dream.history.entries import current

    held = set(beside.splitlines())
    for entry in current(newest_first):
        if entry.cursor <= dreamt:
            return
        ours = (
            (session is None or entry.session in (session, None))
            and entry.session != legacy.SESSION
            and not entry.imported
        )
        if ours and entry.content and not held.issuperset(entry.content.splitlines()):
            yield entry


def unsaid(text: str, beside: str) -> str:
    """Return a memory file without the list lines that `beside` repeats in nearly the same words."""
    said = [content_words(line) for line in beside.splitlines()]
    return "\n".join(row for row in text.split("\n") if not (row.startswith("- ") and _said(row, said)))


def _said(row: str, said: Iterable[frozenset[str]]) -> bool:
    wanted = content_words(without_said_on(row))
    return bool(wanted) and any(len(wanted - one) <= SPARE * len(wanted) for one in said)


def waiting(pending: Iterable[Proposal]) -> list[str]:
    """Return the lines that held edits would write, the newest last, if they only await a person's decision."""
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
    unread: Sequence[str] = (),
) -> str:
    """Lay out the files and then recent history within `tokens`, whole lines and whole entries only.

    Of files that don't fit, the most informative statements are shown, in order, and a count of the others. History is
    taken from the newest entry backwards as long as it fits; an entry too long for all the room there is left out, so
    that it doesn't hide the others.
    Last come sentences on what could not be read.
    Empty when there is nothing to say, or no room to say it.
    """
    room = tokens - count(f"{OPEN}\n{CLOSE}\n")
    last = _waiting(held, int(room * WAITING_SHARE), count)
    last += "\n" * bool(last and unread) + "".join(f"{UNREAD} {_plain(line)}\n" for line in unread)
    room -= count(last)
    files = chosen({name: _plain(text) for name, text in texts.items()}, lambda shown: count(shown) < room)
    parts = [files] if files else []
    recent = _recent(newest_first, room - count(files) - count(f"{RECENT}\n\n"), count)
    if recent:
        parts.append(f"{RECENT}\n\n" + "".join(recent))
    if last:
        parts.append(last)
    return f"{OPEN}\n" + "\n".join(parts) + f"{CLOSE}\n" if parts else ""


def why_empty(context: Callable[[int], str]) -> str:
    """Say why a context is empty; `context` lays one out in as many tokens as it is given."""
    return "No line of memory fits into so few tokens; ask for more." if context(PLENTY) else "Memory says nothing yet."


def marked(text: str) -> str:
    """Return a text of memory inside the mark; it is made plain, so that it cannot close the mark."""
    return f"{OPEN}\n{_plain(text).rstrip()}\n{CLOSE}\n"


def with_recalled(memory: str, lines: Sequence[str]) -> str:
    """Return the block `memory` with what was recalled at its end, inside the mark."""
    if not lines:
        return memory
    recalled = f"{RECALLED}\n\n" + "".join(f"{_plain(line)}\n" for line in lines)
    before = memory.removesuffix(f"{CLOSE}\n") + "\n" if memory else f"{OPEN}\n"
    return f"{before}{recalled}{CLOSE}\n"


def _waiting(held: Sequence[str], room: int, count: Count) -> str:
    """Return the newest of the held lines that fit."""
    shown = ""
    for at in range(len(held) - 1, -1, -1):
        text = f"{WAITING}\n\n" + "".join(f"{_plain(row)}\n" for row in held[at:])
        if count(text) > room:
            break
        shown = text
    return shown


def _recent(newest_first: Iterable[Entry], room: int, count: Count) -> list[str]:
    taken: list[str] = []
    left = room
    for entry in newest_first:
        if left <= 0:
            break
        by = "(noted by an agent) " if entry.by_agent else ""
        text = f"[{entry.cursor}] {entry.at:%Y-%m-%d %H:%M} {by}{_plain(entry.content).strip()}\n"
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
