"""A dream's last step to disk: what its commit says, and what waits where a person saved a file at that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dream.dreaming import proposals
from dream.dreaming.changes import Found
from dream.models import Outcome, Proposal
from dream.phases.phase2 import Edited
from dream.reports import BatchReport
from dream.store import messages
from dream.store.gitdiff import Diff
from dream.store.messages import Moved
from dream.store.proposal_numbers import ProposalNumbers
from dream.store.review_files import PENDING, render_pending
from dream.store.transaction import Held


@dataclass(slots=True)
class Landing:
    """One dream on its way into a commit.

    `report` says what became of each finding, also after the commit: what had to give way to a person is held.
    `waiting` are the proposals that the dream adds to the review queue.
    """

    report: BatchReport
    found: Found
    edited: Edited
    waiting: Sequence[Proposal]
    numbers: ProposalNumbers
    model: str
    now: datetime
    note: str
    moved: Sequence[Moved] = ()

    def hold(self, stopped: Sequence[Held]) -> Mapping[str, bytes | None]:
        """Queue the edits of files that a person saved meanwhile and that would not merge: theirs stays."""
        paths = {item.path for item in stopped}
        true = tuple(item for item in self.report.true if item.file not in paths)
        queue = [*(item for item in self.found.pending if item not in true), *self.waiting]
        last = self.numbers.last(queue)
        late = proposals.held_back(self.edited.draft, self.edited.outcomes, paths, queue, last, self.now)
        self.numbers.given(late)
        outcomes = tuple(_held_back(outcome, paths) for outcome in self.report.outcomes)
        self.report = replace(self.report, outcomes=outcomes, true=true)
        return {PENDING: render_pending([*queue, *late])}

    def message(self, diff: Diff) -> str:
        """Write the commit's message; its figures are the diff's."""
        return messages.build(
            "dream",
            diff.files,
            entries=self.report.entries,
            outcomes=self.report.outcomes,
            model=self.model,
            usage=self.report.usage,
            note=self.note,
            moved=self.moved,
        )


def _held_back(outcome: Outcome, paths: set[str]) -> Outcome:
    if outcome.state == "applied" and outcome.finding.file in paths:
        return Outcome(outcome.finding, "held", "a person saved the file meanwhile")
    return outcome
