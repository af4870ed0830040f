"""Wishes to forget that were said in a talk: each waits for a person, and none is ever a line of memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dream import prompts
from dream.dreaming.evidence import BatchEvidence
from dream.memory import FORGET as TAG
from dream.models import FORGET, Finding, Outcome, Proposal
from dream.provenance.citations import WISH
from dream.provenance.copied import points_at
from dream.text.words import content_words, without_bullet

WAITS = "what is forgotten can't be brought back, so a person decides"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked to forget, with the sentence in which they did, "" where nobody copied it."""

    finding: Finding
    quote: str = ""


def parted(
    findings: Iterable[Finding], evidence: BatchEvidence
) -> tuple[tuple[Finding, ...], list[Wish], list[Outcome]]:
    """Part findings from the wishes to forget, and from what would write such a wish, or what it is about.

    A wish rests on an entry in which the user spoke. One that phase 1 passed over is taken from the line of history.
    """
    every = list(findings)
    named = [Wish(one) for one in every if one.file == TAG and evidence.said(one.entries)]
    passed = {cursor for one in named for cursor in one.finding.entries}
    heard = list(_heard(evidence))
    wishes = [*named, *(one for one in heard if passed.isdisjoint(one.finding.entries))]
    lines = [one for one in every if one.file != TAG]
    stopped = [one for one in lines if not one.remove and _repeats(one, [*wishes, *heard])]
    reason = "the user asked to forget it"
    left = tuple(one for one in lines if one not in stopped)
    return left, wishes, [Outcome(one, "refused", reason) for one in stopped]


def queued(wishes: Sequence[Wish], pending: Sequence[Proposal], last: int, now: datetime) -> list[Proposal]:
    """Turn wishes into proposals, numbered from after `last`; one that waits already is not queued again."""
    waiting = {one.old_text.casefold() for one in pending if one.guard == FORGET}
    new = {one.finding.text.casefold(): one.finding for one in wishes}
    return [
        Proposal(number, now, None, one.text, "", FORGET, WAITS, (prompts.finding(one),), one.entries)
        for number, one in enumerate((one for text, one in new.items() if text not in waiting), last + 1)
    ]


def outcomes(wishes: Iterable[Wish]) -> list[Outcome]:
    """Return what becomes of the wishes themselves."""
    return [Outcome(one.finding, "held", WAITS) for one in wishes]


def _heard(evidence: BatchEvidence) -> Iterator[Wish]:
    """Yield the wishes that lines of history hold in the form that the summary's prompt gives them."""
    for cursor, heard in sorted(evidence.heard.items()):
        for text, line in heard.rows:
            row = without_bullet(text).strip()
            if line.voice == "user" and row.startswith(WISH) and (what := row.removeprefix(WISH).strip()):
                yield Wish(Finding(TAG, what, (cursor,)), line.quote)


def _repeats(finding: Finding, wishes: Iterable[Wish]) -> bool:
    """Return whether a finding would write a wish, or a line that holds all words of what is to be forgotten."""
    said = content_words(finding.text)
    near = [one for one in wishes if not set(one.finding.entries).isdisjoint(finding.entries)]
    return finding.text.startswith(WISH) or any(
        (words and words <= said) or (quote and points_at(finding.text, quote))
        for words, quote in ((content_words(one.finding.text), one.quote) for one in near)
    )
