"""The review queue: held edits become numbered proposals, and proposals with nothing left to do are removed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime

from dream import prompts
from dream.dreaming.draft import Draft, added, gone, lines
from dream.dreaming.editing import HeldEdit
from dream.dreaming.guards import Verdict
from dream.memory import memory_file
from dream.models import IMPORTS, Finding, MemoryFile, Outcome, Proposal
from dream.text.alike import same_fact
from dream.text.words import without_said_on


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
    findings: Sequence[Finding], pending: Sequence[Proposal], texts: Mapping[MemoryFile, str], vouched: Set[int]
) -> tuple[tuple[Finding, ...], tuple[Proposal, ...]]:
    """Separate out findings that retract a pending proposal, and return those proposals: no review is needed.

    Such a removal names no line of the file, and cites one of the `vouched` entries, in which the user spoke.
    """
    left: list[Finding] = []
    taken: dict[int, Proposal] = {}
    for finding in findings:
        back = [item for item in pending if finding.remove and item.file == finding.file and _says(item, finding.text)]
        stands = any(same_fact(finding.text, line) for line in lines(texts[finding.file]))
        if not back or stands:
            left.append(finding)
        elif not vouched.isdisjoint(finding.entries):
            taken.update((item.id, item) for item in back)
    return tuple(left), tuple(taken.values())


def _says(proposal: Proposal, text: str) -> bool:
    """Return whether a proposal would add the fact that a removal retracts."""
    waiting = [_uncited(one).partition("] ") for one in proposal.findings]
    return any(not tag.endswith("-REMOVE") and same_fact(fact, text) for tag, _, fact in waiting)


def waiting(pending: Sequence[Proposal]) -> list[tuple[Finding, str]]:
    """Return the findings pending review, each once with its reason, as phase 1 is shown them."""
    found: dict[str, tuple[Finding, str]] = {}
    for item in pending:
        for one in item.findings if item.guard not in IMPORTS else ():  # the user has said none of it yet
            tag, _, fact = _uncited(one)[:300].partition("] ")
            file = memory_file(tag.lstrip("[").removesuffix("-REMOVE"))
            if file is not None and fact:
                remove = tag.endswith("-REMOVE")
                found.setdefault(one, (Finding(file, fact, item.entries, remove=remove), item.reason[:300]))
    return list(found.values())


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
