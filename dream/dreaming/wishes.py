"""Requests to forget that the user made in a session: each is held for review, none is written to memory. Pure."""

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
    """What the user asked to forget, with the sentence in which they asked, "" if the model did not copy it."""

    finding: Finding
    quote: str = ""


def parted(
    findings: Iterable[Finding], evidence: BatchEvidence
) -> tuple[tuple[Finding, ...], list[Wish], list[Outcome]]:
    """Separate out requests to forget, and refuse findings that would write such a request or what it is about.

    A request must cite an entry in which the user spoke. One that phase 1 missed is taken from the line of history.
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
    """Turn requests into proposals, numbered from `last` + 1; one that is already queued is not queued again."""
    waiting = {one.old_text.casefold() for one in pending if one.guard == FORGET}
    new = {one.finding.text.casefold(): one.finding for one in wishes}
    return [
        Proposal(number, now, None, one.text, "", FORGET, WAITS, (prompts.finding(one),), one.entries)
        for number, one in enumerate((one for text, one in new.items() if text not in waiting), last + 1)
    ]


def outcomes(wishes: Iterable[Wish]) -> list[Outcome]:
    """Return the outcomes of the requests themselves."""
    return [Outcome(one.finding, "held", WAITS) for one in wishes]


def _heard(evidence: BatchEvidence) -> Iterator[Wish]:
    """Yield the requests to forget that lines of history contain, in the format of the summary prompt."""
    for cursor, heard in sorted(evidence.heard.items()):
        for text, line in heard.rows:
            row = without_bullet(text).strip()
            if line.voice == "user" and row.startswith(WISH) and (what := row.removeprefix(WISH).strip()):
                yield Wish(Finding(TAG, what, (cursor,)), line.quote)


def _repeats(finding: Finding, wishes: Iterable[Wish]) -> bool:
    """Return whether a finding would write a request to forget, or a line with all words of what to forget."""
    said = content_words(finding.text)
    near = [one for one in wishes if not set(one.finding.entries).isdisjoint(finding.entries)]
    return finding.text.startswith(WISH) or any(
        (words and words <= said) or (quote and points_at(finding.text, quote))
        for words, quote in ((content_words(one.finding.text), one.quote) for one in near)
    )
