"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dream.models import MemoryFile, Rejected
from dream.phases.draft import Draft, Edit, added, gone
from dream.phases.similar import same_fact
from dream.settings import Settings

GuardName = Literal["review", "person-line", "loss", "rejected-fact", "rule-source", "file", "person-edit"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of one edit. `held` waits for a person; `refused` is never written."""

    decision: Literal["held", "refused"]
    guard: GuardName
    reason: str


@dataclass(frozen=True, slots=True)
class Protected:
    """What the guards must know of the workspace.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts taken back. `unsafe_files`: files that must not be written, with the reason.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    unsafe_files: Mapping[MemoryFile, str]


def check(edit: Edit, now: Draft, then: Draft, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge `edit`, which turns the draft `now` into `then`; None lets it pass.

    A refusal comes before a hold: what must never be written need not wait for a person.
    """
    return (
        _rejected_fact(edit, now, then, protected)
        or _unsafe_file(edit, protected)
        or _person_line(edit, now, then, protected)
        or _loss(edit, then, protected, settings)
        or _review(settings)
    )


def _rejected_fact(edit: Edit, now: Draft, then: Draft, protected: Protected) -> Verdict | None:
    for line in added(now.texts[edit.file], then.texts[edit.file]):
        for fact in protected.rejected:
            if same_fact(fact.text, line):
                return Verdict("refused", "rejected-fact", f"a person took this fact back on {fact.at:%Y-%m-%d}")
    return None


def _unsafe_file(edit: Edit, protected: Protected) -> Verdict | None:
    reason = protected.unsafe_files.get(edit.file)
    return Verdict("held", "file", reason) if reason else None


def _person_line(edit: Edit, now: Draft, then: Draft, protected: Protected) -> Verdict | None:
    theirs = protected.person_lines.get(edit.file, frozenset())
    for line in gone(now.texts[edit.file], then.texts[edit.file]):
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {line.strip()[:80]!r}")
    return None


def _loss(edit: Edit, then: Draft, protected: Protected, settings: Settings) -> Verdict | None:
    before = protected.before[edit.file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    missing = len(gone(before, then.texts[edit.file]))
    allowed = max(settings.max_loss_lines, int(earlier * settings.max_loss_ratio))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {edit.file} would be gone, {allowed} may")


def _review(settings: Settings) -> Verdict | None:
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None
