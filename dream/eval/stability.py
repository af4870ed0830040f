"""Stability: nothing happens twice, nothing is lost on the way, nothing stands there twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations, pairwise

from dream.eval import planted
from dream.eval.conversation import Conversation, Fact
from dream.eval.planted import PLANTING
from dream.eval.scratch import Night, Remembered, Scratch, Tell
from dream.language.similar import content_words, same_fact
from dream.models import MemoryFile
from dream.workspace import trace

RESTATED = 0.7  # of a line's content words that stand in one line of the next night: then it is not lost


@dataclass(frozen=True, slots=True)
class Stability:
    """Counts over all conversations. `again_…`: what a second look at the same input did, which must be nothing.

    `lost` are lines that the next night neither has nor restates nor moved to the archive; `moved` those that it did.
    """

    dreams: int
    again_calls: int
    again_commits: int
    again_entries: int
    again_files: int
    lines: int
    pairs: int
    lost: int
    moved: int


@dataclass(frozen=True, slots=True)
class Survival:
    """How many planted facts stand in memory after the sittings that planted them, and after `dreams` over others.

    `lost` stood there at first and do not at the end, or only with the value that they had then; `never` did neither.
    """

    material: str
    dreams: int
    planted: int
    before: int
    after: int
    lost: tuple[str, ...]
    never: tuple[str, ...]


def measure(remembered: Sequence[Remembered]) -> Stability:
    """Count over all conversations."""
    gone = [_gone(one) for one in remembered]
    lines = [[line for text in one.files.values() for line in trace.facts(text)] for one in remembered]
    return Stability(
        dreams=sum(len(night.run.batches) for one in remembered for night in one.nights),
        again_calls=sum(one.again.calls for one in remembered),
        again_commits=sum(one.again.commits for one in remembered),
        again_entries=sum(one.again.entries for one in remembered),
        again_files=sum(one.again.changed for one in remembered),
        lines=sum(map(len, lines)),
        pairs=sum(len(pairs(one)) for one in lines),
        lost=sum(lost for lost, _ in gone),
        moved=sum(moved for _, moved in gone),
    )


def pairs(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of lines that state nearly the same."""
    return [(one, other) for one, other in combinations(lines, 2) if same_fact(one, other)]


def held(fact: Fact, text: str) -> bool:
    """Tell whether one line of `text` holds the fact."""
    return any(all(_has(line, key) for key in fact.keys) for line in text.splitlines())


def survival(material: str, facts: Conversation, nights: Sequence[Night]) -> Survival:
    """Look for the planted facts after the nights that planted them, and after the last one."""
    first, last = _text(nights[PLANTING - 1].files), _text(nights[-1].files)
    learnt = {fact.name for fact in facts.facts_first if held(fact, first)}
    missing = [fact.name for fact in facts.facts if not held(fact, last)]
    return Survival(
        material=material,
        dreams=sum(len(night.run.batches) for night in nights[PLANTING:]),
        planted=len(facts.facts),
        before=len(learnt),
        after=len(facts.facts) - len(missing),
        lost=tuple(name for name in missing if name in learnt),
        never=tuple(name for name in missing if name not in learnt),
    )


def planted_before(others: Sequence[Conversation], scratch: Scratch, tell: Tell) -> Survival:
    """Plant facts in the weeks before the others, dream over 20 of their sittings by date, and look for them."""
    material = sorted((session for other in others for session in other.sessions), key=lambda one: one.at)
    material = material[: planted.OTHER]
    facts = planted.read(sittings=PLANTING, begin=material[0].at - timedelta(days=30))
    for number, session in enumerate([*facts.sessions, *material]):
        tell(f"facts, then other material: night {number + 1} of {PLANTING + len(material)}")
        scratch.night([session])
    return survival(f"{len(others)} conversations", facts, scratch.nights)


def _gone(one: Remembered) -> tuple[int, int]:
    """Count the lines that a night took away and no line restates: (lost, moved to the archive)."""
    lost = moved = 0
    for earlier, later in pairwise(night.files for night in one.nights):
        now = list(_lines(later))
        kept = set(now)
        for line in _lines(earlier):
            if line in kept or _restated(line, now):
                continue
            if any(line in text for text in one.archive):
                moved += 1
            elif not _ARCHIVED.search(line):
                lost += 1
    return lost, moved


_ARCHIVED = re.compile(r"older lines? (?:is|are) in memory/archive/")


def _restated(line: str, now: Sequence[str]) -> bool:
    wanted = content_words(line)
    return bool(wanted) and any(len(wanted & content_words(other)) >= RESTATED * len(wanted) for other in now)


def _lines(files: Mapping[MemoryFile, str]) -> Iterable[str]:
    for text in files.values():
        yield from trace.facts(text)


def _text(files: Mapping[MemoryFile, str]) -> str:
    return "\n".join(files.values())


def _has(line: str, key: str) -> bool:
    low = line.casefold()
    return any(form in low for form in key.casefold().split("|"))
