"""The review queue: held edits become numbered proposals, and proposals with nothing left to do are removed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime

from dream import prompts
from dream.dreaming.draft import Draft, added, gone, lines, section
from dream.dreaming.editing import HeldEdit
from dream.dreaming.evidence import BatchEvidence
from dream.dreaming.guards import Verdict
from dream.models import IMPORTS, Finding, MemoryFile, Outcome, Proposal
from dream.text.safe import quoted
from dream.text.words import without_bullet, without_said_on

LONGEST = 300  # characters of a pending edit, and of its reason, that phase 1 is shown


def queued(
    held: Sequence[HeldEdit], findings: Sequence[Finding], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Turn held edits into proposals, numbered from `last` + 1; one that is already queued is not queued again."""
    waiting = {_change(item.file, item.old_text, item.new_text) for item in pending}
    new: list[Proposal] = []
    for item in held:
        key = _change(item.edit.file, item.edit.old_text, item.edit.new_text)
        if key in waiting:
            continue
        waiting.add(key)
        about = [findings[place - 1] for place in item.edit.findings]
        new.append(
            Proposal(
                id=last + len(new) + 1,
                at=now,
                file=item.edit.file,
                old_text=item.edit.old_text,
                new_text=item.edit.new_text,
                guard=item.verdict.guard,
                reason=item.verdict.reason,
                findings=tuple(prompts.finding(finding) for finding in about),
                entries=tuple(sorted({cursor for finding in about for cursor in finding.entries})),
                under=item.under,
            )
        )
    return new


def _change(file: MemoryFile | None, old: str, new: str) -> tuple[object, ...]:
    """Return a key for what an edit changes, independent of the lines around it."""
    return file, gone(old, new), added(old, new)


def held_back(
    draft: Draft, outcomes: Sequence[Outcome], paths: Set[str], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Queue the draft's edits that conflict with what a person saved while the dream ran."""
    verdict = Verdict("held", "person-edit", "a person saved the file while the dream ran")
    held = [HeldEdit(edit, verdict) for edit in draft.edits if edit.file in paths]
    return queued(held, [outcome.finding for outcome in outcomes], pending, last, now)


def set_aside(cursor: int, reason: str, last: int, now: datetime) -> Proposal:
    """Queue an entry that no dream could process, so that a person sees it."""
    return Proposal(last + 1, now, None, "", "", "entry", reason, (), (cursor,))


def come_true(pending: Sequence[Proposal], texts: Mapping[MemoryFile, str]) -> list[Proposal]:
    """List the proposals with nothing left to do: `texts` has the lines they add and not the ones they remove."""
    return [item for item in pending if item.file and item.file in texts and _is_true(item, texts[item.file])]


def withdrawn(
    findings: Sequence[Finding], evidence: BatchEvidence
) -> tuple[tuple[Finding, ...], frozenset[int], list[Outcome]]:
    """Separate out findings that withdraw a pending proposal; return the numbers of these, and what is refused.

    Only who may change what is pending withdraws it, or has another line take its place.
    """
    left: list[Finding] = []
    taken: set[int] = set()
    refused: list[Outcome] = []
    for one in findings:
        may = evidence.may_change(one.file, one.entries)
        if not one.waits or not one.remove:
            left.append(one if may else replace(one, waits=0))
        elif may:
            taken.add(one.waits)
        else:
            reason = f"what waits as {one.waits} stays: no message of the user's is cited for it"
            refused.append(Outcome(one, "refused", reason))
    return tuple(left), frozenset(taken), refused


def waiting(pending: Sequence[Proposal]) -> list[tuple[Finding, str]]:
    """Return what each pending edit would add or remove, with its reason, as phase 1 is shown it.

    What another tool remembers is left out: the user has said none of it yet.
    """
    found: list[tuple[Finding, str]] = []
    for item in pending:
        new, old = added(item.old_text, item.new_text), gone(item.old_text, item.new_text)
        shown = [line for line in new or old if not line.startswith("#")]
        if item.file is None or item.guard in IMPORTS or not shown:
            continue
        text = " / ".join(" ".join(without_bullet(line).split()) for line in shown)[:LONGEST]
        heading = section(item.new_text, shown[0]) or item.under
        line = old[0] if len(old) == 1 else ""
        one = Finding(item.file, text, item.entries, not new, heading.lstrip("# "), line, waits=item.id)
        # The reason ends with the line itself, which the reader has just read.
        found.append((one, item.reason.removesuffix(f": {quoted(shown[0])}")[:LONGEST]))
    return found


def is_about(proposal: Proposal, outcome: Outcome) -> bool:
    """Return whether a held finding is one of those in `proposal`."""
    told = prompts.finding(outcome.finding)
    return outcome.state == "held" and any(_uncited(told) == _uncited(other) for other in proposal.findings)


def _is_true(proposal: Proposal, text: str) -> bool:
    new, old = added(proposal.old_text, proposal.new_text), gone(proposal.old_text, proposal.new_text)
    here = {_undated(line) for line in lines(text)}
    return bool(new or old) and here.issuperset(map(_undated, new)) and here.isdisjoint(map(_undated, old))


def _undated(line: str) -> str:
    return without_said_on(line).strip()


def _uncited(finding: str) -> str:
    return finding.rpartition(" {")[0]
