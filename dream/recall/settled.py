"""What no longer holds: a dream that replaced or removed a line settles until when the message under it held.

It is read from git once a commit, oldest first, and kept in the index as citations and days, never as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from zlib import crc32

from dream.text.words import coverage, without_said_on

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.versions.trace import Deed
    from dream.workspace.index import Index

NAME = "settled"  # the document of the index
REPLACED = 0.5  # share of a removed line's content words that the line replacing it has; as trace.KEPT
COPIED = 0.8  # share of a removal's words that the removed line has


@dataclass(frozen=True, slots=True)
class SettledLine:
    """A line of memory: the day of its last change, as an ordinal, and the citations of the messages it is based on."""

    day: int
    cites: tuple[str, ...]


@dataclass(slots=True)
class HeldUntil:
    """By citation the day until which a message or an entry held, and what took its place; and the present lines."""

    head: str = ""
    ended: dict[str, tuple[int, str]] = field(default_factory=dict)
    lines: dict[int, SettledLine] = field(default_factory=dict)

    def until(self, cite: str, then: date | None = None) -> date | None:
        """Return until when what a citation names held; None where it holds, or still did `then`."""
        day = date.fromordinal(self.ended[cite][0]) if cite in self.ended else None
        return day if day is None or then is None or day <= then else None

    def successor(self, cite: str) -> str:
        """Return the citation of what took the place of what one names; "" where nothing did."""
        return self.ended.get(cite, (0, ""))[1]

    def changed(self, line: str) -> date | None:
        """Return the day of a line's last change."""
        found = self.lines.get(crc32(line.encode()))
        return date.fromordinal(found.day) if found else None


def settled(workspace: Workspace) -> HeldUntil:
    """Return what the commits settle; those that are new are read first."""
    index = workspace.history.index
    head, known = _head(workspace), known_by(index)
    if not head or known.head == head:
        return known
    from dream.versions.trace import steps  # nothing changed since most searches

    new = list(takewhile(lambda deed: deed.change.sha != known.head, steps(workspace)))
    if known.head and (not new or new[-1].change.parent != known.head):
        known, new = HeldUntil(), list(steps(workspace))  # rewritten: something was forgotten
    for deed in reversed(new):
        _take_in(known, deed, workspace)
    known.head = head
    index.keep(**{NAME: _kept(known)})
    return known


def known_by(index: Index) -> HeldUntil:
    """Return what the index knows of it, without a look at git."""
    return _loaded(index.document(NAME))


def _head(workspace: Workspace) -> str:
    """Return the sha of HEAD from the repository's files, for each search asks; "" where that needs git itself."""
    from dream.versions import gitdir
    from dream.versions.git import head_of

    directory = gitdir.find(workspace.root, workspace.private)
    named = head_of(directory) if directory else ""
    return gitdir.sha_of(directory, named) if directory and named else ""


def _take_in(known: HeldUntil, deed: Deed, workspace: Workspace) -> None:
    added, removed = set(deed.added), set(deed.removed)
    rests = {one: _rests(one, deed.findings, workspace) for one in added - removed}
    day = deed.change.time.date().toordinal()
    for place in removed - added:
        old = known.lines.pop(crc32(place[1].encode()), None)
        if old is None or any(line == place[1] for _, line in added):  # moved as it was
            continue
        new = _successors(place, deed, rests)
        if deed.change.kind in ("dream", "hand") and new is not None:
            said = max((line.day for line in new), default=day)
            cites = [cite for line in new for cite in line.cites]
            known.ended |= {cite: (said, (cites or [""])[0]) for cite in old.cites if cite not in cites}
    for (_, line), found in rests.items():
        known.lines[crc32(line.encode())] = found or SettledLine(day, ())


def _successors(
    place: tuple[str, str], deed: Deed, rests: Mapping[tuple[str, str], SettledLine | None]
) -> list[SettledLine] | None:
    """Return the lines that took the place of one; none where a dream only took it out; None where it did neither."""
    file, line = place
    taken = [
        at for where, text, at in deed.removals if where == file and coverage(text, without_said_on(line)) >= COPIED
    ]
    cursors = {cursor for at in taken for cursor in at}
    written = [text for _, text, at in deed.findings if cursors & set(at)]
    own = [one for one in rests if one[0] == file]
    pair = [one for one in own if any(coverage(text, one[1]) >= COPIED for text in written)]
    pair = pair or [one for one in own if coverage(without_said_on(line), one[1]) >= REPLACED]
    found = [one for one in (rests[place] for place in pair) if one is not None]
    return found if found or taken else None


def _rests(
    place: tuple[str, str], findings: Sequence[tuple[str, str, tuple[int, ...]]], workspace: Workspace
) -> SettledLine | None:
    """Return what a new line is based on: the nearest rows of the entries that its nearest finding cites."""
    told = without_said_on(place[1])
    shares = [(coverage(text, told), at) for _, text, at in findings]
    best = max(shares, default=(0.0, ()))
    if best[0] < REPLACED:
        return None
    cites, days = list[str](), list[int]()
    for cursor in best[1]:
        for entry in workspace.history.between(cursor, cursor):
            days.append(entry.when.date().toordinal())
            row = max(entry.rows(), key=lambda one: coverage(told, one[0]), default=None)
            said = row[1].cites if row and entry.session else ()
            cites += [f"{entry.session}#{at}" for at in said] or [f"history:{cursor}"]
    return SettledLine(max(days), tuple(dict.fromkeys(cites))) if days else None


def _loaded(document: Any) -> HeldUntil:
    try:
        lines = {int(number): SettledLine(day, tuple(cites)) for number, (day, cites) in document["lines"].items()}
        ended = {cite: (int(day), str(new)) for cite, (day, new) in document["ended"].items()}
        return HeldUntil(str(document["head"]), ended, lines)
    except (TypeError, KeyError, ValueError, AttributeError):
        return HeldUntil()


def _kept(known: HeldUntil) -> dict[str, object]:
    lines = {str(number): (line.day, line.cites) for number, line in known.lines.items()}
    return {"head": known.head, "ended": known.ended, "lines": lines}
