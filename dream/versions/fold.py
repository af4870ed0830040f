"""One memory from the line operations of several machines. Pure: the files depend on the set of operations alone.

A line of a file stands in a slot, which keeps its place; each change of the line is a version that names the versions
it takes the place of. Machines that changed one line without knowing of each other leave several versions: the one of
a person wins, then the one said last; the others are named. So an order in which operations come is of no matter.

- A new line stands after the line that it was written behind (as in the sequence type RGA; Roh et al. 2011).
- A line that was removed or replaced stays away where another machine has it too, unless it was said again later.
- A line that two machines wrote is shown once, and so is a heading; what stood under the second one joins the first.

`at` is when a thing was said, in seconds of the epoch, never before what it was made from; `number` is higher than
that of every operation its machine knew then. (at, number, machine) is the one order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from dream.text.words import content_words, without_bullet

Id = tuple[int, str]  # number and machine: of an operation, of the version it makes, of the slot that a new line opens
By = Literal["hand", "dream"]
Author = Callable[[str, str, bool], tuple[int, By]]  # (file, line, whether it came or went): when, and by whom


@dataclass(frozen=True, slots=True)
class Op:
    """One operation on a line: a new one where `slot` is None, else a change; `text` None takes the line out.

    `after` is the slot behind which a new line stands, None for the beginning; `over` are the versions replaced.
    """

    number: int
    machine: str
    at: int
    by: By
    file: str
    text: str | None
    slot: Id | None = None
    after: Id | None = None
    over: tuple[Id, ...] = ()

    @property
    def id(self) -> Id:
        """Return what names it."""
        return (self.number, self.machine)

    @property
    def is_forgotten(self) -> bool:
        """Return whether its text was forgotten: it replaces what it replaced, and gives way to any other version."""
        return self.text is None and self.at == 0

    @property
    def order(self) -> tuple[int, int, str]:
        """Return its place in the one order."""
        return (self.at, self.number, self.machine)


@dataclass(frozen=True, slots=True)
class Slot:
    """A line as it is shown, with all versions that a change of it takes the place of; `twins` are hidden doubles."""

    id: Id
    text: str
    leaves: tuple[Op, ...]
    twins: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A version that gave way to another of the same line; "" is a removal."""

    file: str
    kept: str
    lost: str
    machine: str


@dataclass(frozen=True, slots=True)
class Folded:
    """The lines of each file in their order. `latest` is when a file's line was last heard of, by (file, key)."""

    files: Mapping[str, tuple[Slot, ...]] = field(default_factory=dict)
    lost: frozenset[Lost] = frozenset()
    latest: Mapping[tuple[str, str], int] = field(default_factory=dict)
    highest: int = 0

    def text(self, file: str) -> str:
        """Return the text of a file; "" where it has no line."""
        return "".join(f"{slot.text}\n" for slot in self.files.get(file, ()))


def forgotten(op: Op, left: str | None) -> Op:
    """Return an operation whose text was forgotten: its line is what is `left` of it, None for nothing."""
    return replace(op, text=left) if left is not None else replace(op, text=None, by="dream", at=0)


def key(text: str) -> str:
    """Return what a line is known by on another machine; "" for one that says nothing, such as a rule or a bracket."""
    bare = " ".join(without_bullet(text).split()).casefold()
    return bare if any(map(str.isalnum, bare)) else ""


def fold(ops: Iterable[Op], held: Callable[[Op], bool] = lambda op: False) -> Folded:
    """Fold a set of operations into files; what is `held` keeps its place, and says nothing until it isn't."""
    by_file: dict[str, list[Op]] = defaultdict(list)
    known = {op.id: op for op in ops}
    for op in sorted(known.values(), key=lambda op: op.id):
        by_file[op.file].append(op)
    latest: dict[tuple[str, str], int] = {}
    files: dict[str, tuple[Slot, ...]] = {}
    lost: set[Lost] = set()
    for file, some in sorted(by_file.items()):
        for op in (one for one in some if not held(one)):
            for text in (op.text, *(known[version].text for version in op.over if version in known)):
                if text is not None:
                    latest[file, key(text)] = max(latest.get((file, key(text)), 0), op.at)
        shown, given_way = _FoldedFile(file, some, known, held).shown()
        files[file] = shown
        lost |= given_way
    return Folded(files, frozenset(lost), latest, max((number for number, _ in known), default=0))


class _FoldedFile:
    """The operations of one file."""

    def __init__(self, file: str, ops: Sequence[Op], known: Mapping[Id, Op], held: Callable[[Op], bool]) -> None:
        self._file = file
        self._slots = {op.id: op for op in ops if op.slot is None}
        counted = [op for op in ops if not held(op)]
        replaced = {version for op in counted for version in op.over}
        self._leaves: dict[Id, list[Op]] = defaultdict(list)
        self._gone: dict[str, tuple[int, int, str]] = {}
        for op in counted:
            if op.id not in replaced:
                self._leaves[op.slot or op.id].append(op)
            for version in op.over:
                before = known.get(version)
                if before is not None and before.text is not None and _differ(before.text, op.text):
                    name = key(before.text)
                    self._gone[name] = max(self._gone.get(name, op.order), op.order)

    def shown(self) -> tuple[tuple[Slot, ...], set[Lost]]:
        lost: set[Lost] = set()
        found: list[Slot] = []
        for op in self._in_order():
            leaves = self._leaves.get(op.id, [])
            best = max(leaves, key=lambda one: (one.by == "hand", one.order), default=None)
            for one in leaves:
                if best is not None and _differ(one.text, best.text) and not (one.is_forgotten or best.is_forgotten):
                    lost.add(Lost(self._file, best.text or "", one.text or "", one.machine))
            text = best.text if best is not None and not self._is_gone(best) else None
            if text is not None:
                found.append(Slot(op.id, text, tuple(leaves)))
        return _joined(found), lost

    def _is_gone(self, op: Op) -> bool:
        name = key(op.text or "")
        return name != "" and name in self._gone and op.order < self._gone[name]

    def _in_order(self) -> Iterator[Op]:
        """Yield the slots in their order: behind each what was written behind it, the newest first."""
        behind: dict[Id | None, list[Op]] = defaultdict(list)
        late: list[Op] = []
        for op in self._slots.values():  # ascending, so that the newest is taken from the end
            (behind[op.after] if op.after is None or op.after in self._slots else late).append(op)
        waiting = [*reversed(late), *behind[None]]
        while waiting:
            op = waiting.pop()
            yield op
            waiting += behind[op.id]


def _differ(one: str | None, other: str | None) -> bool:
    return (one is None) != (other is None) or key(one or "") != key(other or "")


def _joined(found: Iterable[Slot]) -> tuple[Slot, ...]:
    """Show once what two machines wrote, and put what stood under a heading of the second under that of the first."""
    slots = list(found)
    first: dict[str, Slot] = {}
    twins: dict[Id, list[Slot]] = defaultdict(list)
    hidden: dict[Id, Id] = {}
    for slot in sorted(slots, key=lambda slot: slot.id):
        name = key(slot.text)
        if name and first.setdefault(name, slot).id[1] != slot.id[1]:
            hidden[slot.id] = first[name].id
            twins[first[name].id].append(slot)
    sections: dict[Id | None, list[Slot]] = {None: []}
    joining: dict[Id | None, list[list[Slot]]] = defaultdict(list)
    section = sections[None]
    for slot in slots:
        if slot.text.startswith("#"):
            section = []
            if slot.id in hidden:
                joining[hidden[slot.id]].append(section)
                continue
            sections[slot.id] = section
        if slot.id not in hidden:
            section.append(replace(slot, twins=tuple(twins[slot.id])) if slot.id in twins else slot)
    return tuple(line for heading, own in sections.items() for line in _with(own, joining[heading]))


def _with(section: list[Slot], others: Iterable[list[Slot]]) -> list[Slot]:
    """Return a section with the text of others at its end, before the blank lines there."""
    parts = [part for part in map(_said, others) if part]
    if not parts:
        return section
    end = 1 + max((place for place, slot in enumerate(section) if slot.text.strip()), default=-1)
    if end == 1 and section[0].text.startswith("#"):  # nothing stood under it but a blank line
        end = min(2, len(section))
    lead, trail = (_blank(parts[0][:1]), _blank(parts[-1][-1:]))
    joined = [line for part in parts for line in part[bool(_blank(part[:1])) : len(part) - bool(_blank(part[-1:]))]]
    return [*section[:end], *(lead if len(section) == 1 else []), *joined, *(section[end:] or trail)]


def _said(section: list[Slot]) -> list[Slot]:
    """Return a section with no more than one blank line at its beginning, and one at its end; [] where it is empty."""
    places = [place for place, slot in enumerate(section) if slot.text.strip()]
    return section[max(0, places[0] - 1) : places[-1] + 2] if places else []


def _blank(slots: list[Slot]) -> list[Slot]:
    return [slot for slot in slots if not slot.text.strip()]


# What a machine did since then: the lines on its disk against those that it had.


def derive(base: Folded, texts: Mapping[str, str], machine: str, author: Author) -> list[Op]:
    """Return the operations that make the files `texts` of those in `base`, numbered on from its highest."""
    deriving = _Deriving(base, machine, author)
    for file in sorted({*base.files, *texts}):
        deriving.file(file, base.files.get(file, ()), _lines(texts.get(file, "")))
    return deriving.made


class _Deriving:
    """The operations that are made of what changed on a disk."""

    def __init__(self, base: Folded, machine: str, author: Author) -> None:
        self.made: list[Op] = []
        self._number = base.highest
        self._latest = dict(base.latest)
        self._machine = machine
        self._author = author

    def file(self, file: str, before: Sequence[Slot], after: Sequence[str]) -> None:
        codes = SequenceMatcher(None, [slot.text for slot in before], after, autojunk=False).get_opcodes()
        changed = [(i1, before[i1:i2], after[j1:j2]) for tag, i1, i2, j1, j2 in codes if tag != "equal"]
        hunks = [(start, old, new, _paired(old, new)) for start, old, new in changed]
        for _, old, _, pairs in hunks:  # first what goes: a line that moved comes after
            for place, slot in enumerate(old):
                if place not in pairs.values():
                    self._change(file, slot, None)
        for start, old, new, pairs in hunks:
            behind = before[start - 1].id if start else None
            for place, text in enumerate(new):
                if place in pairs:
                    behind = old[pairs[place]].id
                    self._change(file, old[pairs[place]], text)
                else:
                    behind = self._add(file, text, text, after=behind)

    def _change(self, file: str, slot: Slot, text: str | None) -> None:
        self._add(file, text, slot.text, slot=slot.id, over=slot.leaves)
        for twin in slot.twins:
            self._change(file, twin, None)

    def _add(
        self,
        file: str,
        text: str | None,
        was: str,
        *,
        slot: Id | None = None,
        after: Id | None = None,
        over: tuple[Op, ...] = (),
    ) -> Id:
        """Make an operation that is not earlier than what it is made from."""
        self._number += 1
        at, by = self._author(file, was if text is None else text, text is not None)
        names = [(file, key(one)) for one in {was, text} if one is not None]
        at = max([at, *(op.at for op in over), *(self._latest.get(name, 0) for name in names if name[1])])
        self._latest.update(dict.fromkeys(names, at))
        replaced = tuple(op.id for op in over)
        self.made.append(Op(self._number, self._machine, at, by, file, text, slot, after, replaced))
        return self.made[-1].id


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _paired(old: Sequence[Slot], new: Sequence[str]) -> dict[int, int]:
    """Return which new lines are what became of which old ones, by their places, in the order of both.

    Of an old one at least half of the words stand in the new one, or it of the new one's: else they are two statements.
    """
    pairs: dict[int, int] = {}
    start = 0
    for place, text in enumerate(new):
        words = content_words(text)
        for at in range(start, len(old)):
            had = content_words(old[at].text)
            if words and had and 2 * len(words & had) >= min(len(words), len(had)):
                pairs[place] = at
                start = at + 1
                break
    return pairs
