"""One dream: a batch of entries becomes findings, a draft, and one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dream.dreaming import commit, dependents, giveway, phase1, phase2, queue, scope, tidy, wishes
from dream.dreaming.commit import Landing, Snapshot
from dream.dreaming.draft import Brief, Draft
from dream.dreaming.editing import Editing, HeldEdit
from dream.dreaming.evidence import BatchEvidence, Heard, gather, hear
from dream.dreaming.guards import Protected, Verdict
from dream.dreaming.phase2 import Edited
from dream.errors import AnswerCut, AnswerUnusable, ModelError, PromptTooLong
from dream.llm import Model
from dream.llm.spending import Meter
from dream.memory import memory_file, place_of
from dream.models import Entry, Finding, Proposal, Rejected
from dream.reports import BatchReport, LineCount
from dream.settings import EMBEDDED, Settings
from dream.text.alike import same_fact
from dream.transcripts.formats.nanobot import group_of
from dream.versions import log, trace, transaction
from dream.versions.diff import compare
from dream.workspace.files import read_note, replace_file, write_note
from dream.workspace.places import KnownPlace
from dream.workspace.review_files import ProposalNumbers

if TYPE_CHECKING:
    from dream.directory import Workspace

# How often a batch has failed, so that one poisoned entry never stops the ones after it.
#
# A batch that failed `MAX_ATTEMPTS` times is halved until the faulty entry is alone; that one is queued for review.
# Only unusable answers count as failures: a provider that is down says nothing about the batch.


FILE_NAME = "attempts.json"
MAX_ATTEMPTS = 3  # failures of one batch before it is split
RECENT = timedelta(days=7)  # a full file archives lines younger than this only after all older ones


@dataclass(frozen=True, slots=True)
class Attempts:
    """The failures of the batch of entries `first` to `last` (cursors).

    `size` is the number of entries per batch within that range once it was split; 0 before that.
    """

    first: int = 0
    last: int = 0
    failures: int = 0
    size: int = 0

    def limit(self, cursor: int) -> int | None:
        """Return how many entries a batch that begins at `cursor` may hold; None if nothing failed there."""
        return self.size if self.size and self.first <= cursor <= self.last else None

    def failed(self, first: int, last: int, size: int, max_attempts: int) -> Attempts:
        """Count a failure of the `size` entries from `first` to `last`."""
        failures = self.failures + 1 if first == self.first else 1
        if self.limit(first) is None:
            if failures >= max_attempts and size > 1:
                return Attempts(first, last, 0, (size + 1) // 2)
            return Attempts(first, last, failures)
        if size > 1:
            return Attempts(first, self.last, 0, (size + 1) // 2)
        return Attempts(first, self.last, failures, 1)


def read(private: Path) -> Attempts:
    """Read the failures recorded in `private`; none if the record is missing or damaged."""
    try:
        noted = read_note(private / FILE_NAME)
        return Attempts(*(int(noted[name]) for name in ("first", "last", "failures", "size")))
    except (ValueError, TypeError, KeyError):
        return Attempts()


def write(private: Path, attempts: Attempts) -> None:
    """Record the failures; losing the record costs extra model calls and nothing else."""
    write_note(private / FILE_NAME, asdict(attempts))


@dataclass(frozen=True, slots=True)
class Models:
    """The models of both phases, and the meter that counts the calls of both."""

    phase1: Model
    phase2: Model
    meter: Meter

    def names(self, mark: int = 0) -> str:
        """Name the models that answered after `mark`, each once; if none did, the configured ones."""
        answered = self.meter.models(mark)
        return ", ".join(answered or dict.fromkeys((self.phase1.name, self.phase2.name)))


def brief(workspace: Workspace, settings: Settings, now: datetime) -> Brief:
    """Return the brief for both phases of a dream at `now`."""
    zone = settings.zone()
    return Brief(settings, now.astimezone(zone).date(), zone, workspace.prompts)


class Dreamer:
    """Processes the batches of one run in order, in one workspace.

    The caller holds the run lock. In a dry run nothing is written; what one dream would have written is
    what the next one finds. `now` is the day that the run dreams on, `clock` the time of each commit.
    """

    def __init__(
        self,
        workspace: Workspace,
        models: Models,
        settings: Settings,
        now: datetime,
        dry_run: bool,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._workspace = workspace
        self._models = models
        self._settings = settings
        self._dry_run = dry_run
        self._clock = clock or (lambda: now)
        self._brief = brief(workspace, settings, now)
        self._cursor = workspace.dream_cursor()
        self._answered = False  # whether the model has given a usable analysis in this run
        self._imagined: dict[str, bytes | None] = {}  # what a dry run would have written
        self._numbers = ProposalNumbers(workspace.git, workspace.private)
        self._heard: dict[int, Heard] = {}
        self._places = workspace.places()
        self._run = log.new_batch()  # all commits of one run can be undone together
        self._batch = self._run  # the id for the next commit: of this run, or of the rereading that made the entries

    def next_batch(self) -> list[Entry]:
        """Return the next batch of entries, an empty list when none is left; a smaller batch after a failure."""
        batch = self._batch_after(self._cursor)
        limit = read(self._workspace.private).limit(batch[0].cursor) if batch else None
        return batch[:limit]

    def dream(self, batch: Sequence[Entry]) -> BatchReport | None:
        """Dream one batch, move the cursor past it, and report; None if the batch was split for another try.

        Raises a DreamError when it fails; then the workspace is as it was.
        """
        mark = self._models.meter.mark()
        self._batch = batch[0].batch or self._run
        left_out: list[str] = []
        # 1. Read the workspace; the draft starts as a copy of it.
        everything, place = self._look(), self._places.named(batch[0].place)
        owners, group = self._settings.owners, bool(place and place.is_group)
        found = everything.within(place, owners)
        shown, restored = self._given_way(found, batch)
        evidence = gather(map(self._hear, batch), shown.texts, owners, group=group)
        # 2. Phase 1: findings. Without any, phase 2 is not called.
        try:
            findings = self._analyse(batch, shown, evidence, left_out, place)
        except (AnswerUnusable, PromptTooLong) as error:
            return self._split_or_set_aside(batch, found, error, mark)
        findings, wanted, stopped = wishes.parted(findings, evidence)
        # 3. Phase 2 edits the draft; guards check every edit. An error up to here leaves the workspace as it was.
        findings, withdrawn, unheard = queue.withdrawn(findings, evidence)
        findings = scope.scoped(findings, place, evidence, shown.texts)
        edited = self._edit(findings, shown, evidence, place, restored)
        findings = tuple(one.finding for one in edited.outcomes)  # including those about dependent lines
        edited = replace(edited, outcomes=(*edited.outcomes, *stopped, *unheard, *wishes.outcomes(wanted)))
        # 4. Files, archive, review queue and cursor land in one commit, or not at all.
        withdrawn |= {one.finding.waits for one in edited.outcomes if one.state != "refused" and one.finding.waits}
        pending = [one for one in found.pending if one.id not in withdrawn]
        last = self._numbers.last(found.pending) if edited.held else 0
        waiting = queue.queued(edited.held, findings, pending, last, self._clock())
        waiting += self._for_everywhere(place, edited, everything, waiting)
        waiting += self._to_forget(wanted, [*found.pending, *waiting])
        report = self._commit(batch, found, edited, waiting, mark, withdrawn=withdrawn)
        self._cursor = batch[-1].cursor
        self._heard.clear()
        unknown = (
            f"left out of phase 1's answer, it names no file of memory or repeats the prompt: {line}"
            for line in left_out
        )
        return replace(report, notes=(*report.notes, *unknown))

    def tidy(self) -> BatchReport | None:
        """Tidy the files that are due; None if no file is due, or there is nothing to tidy.

        Raises a DreamError when it fails; then the workspace is as it was.
        """
        mark, found = self._models.meter.mark(), self._look()
        changes = self._workspace.git.log(limit=tidy.DREAMS + 1, kind="dream")
        files = tidy.due(changes, found.texts, self._workspace.private, self._settings)
        if not files:
            return None
        found = found.within(self._places.of_file(files[0]))  # of several places, one at a time
        files = tuple(file for file in files if place_of(file) == place_of(files[0]))
        doubled = [one for path in files for one in tidy.doubled(path, found.texts[path])]
        known = {(one.file, one.text) for one in doubled}
        asks = self._models.phase2.name != EMBEDDED
        left = tidy.read_left(self._workspace.private)
        rows = [row for path in files if asks for row in tidy.doubtful(path, found.texts[path], left).items()]
        doubtful = {mark: one for mark, one in rows if (one.file, one.text) not in known}
        protected = Protected(found.texts, found.person_lines, self._workspace.rejected())
        desk = Editing([*doubled, *doubtful.values()], protected, self._settings, optional=True)
        edited = phase2.tidied(desk, len(doubled), self._models.phase2, self._brief)
        swept = tidy.swept({path: edited.draft.texts[path] for path in files}, found.person_lines)
        edited = replace(edited, draft=Draft({**edited.draft.texts, **swept}, edited.draft.edits))
        last = self._numbers.last(found.pending) if edited.held else 0
        waiting = queue.queued(edited.held, desk.findings, found.pending, last, self._clock())
        report = self._commit((), found, edited, waiting, mark, log.TIDY)
        asked = zip(doubtful, edited.outcomes[len(doubled) :], strict=True)
        alone = {mark for mark, one in asked if one.state == "refused" and one.reason != phase2.UNSETTLED}
        tidy.write_looks(self._workspace.private, files, report.commit or changes[0].sha, left | alone)
        return report if report.commit else None

    def _batch_after(self, cursor: int) -> list[Entry]:
        new = (one for one in self._workspace.history.after(cursor) if one.cursor not in self._replaced)
        entries = map(self._placed, new)
        return next(phase1.batches(entries, self._models.phase1, self._brief, self._hear), [])

    def _placed(self, entry: Entry) -> Entry:
        """Return an entry of a group chat that only its session key tells with the id of its place, which is noted."""
        if self._dry_run or not entry.place or entry.place != group_of(entry.session or ""):
            return entry
        return replace(entry, place=self._places.group(entry.place))

    @cached_property
    def _replaced(self) -> frozenset[int]:
        """The cursors of undreamt entries that a reread has replaced; the new entries are dreamt instead."""
        return frozenset(cursor for one in self._workspace.history.after(self._cursor) for cursor in one.rereads)

    @cached_property
    def _rereads(self) -> dict[int, tuple[int, ...]]:
        """The cursors that each entry made by rereading replaced, in all of history."""
        return self._workspace.history.rereads()

    def _hear(self, entry: Entry) -> Heard:
        """Return the evidence of an entry; it is read once, even if batches are cut again."""
        if entry.cursor not in self._heard:
            place = self._places.named(entry.place)
            group = bool(place and place.is_group)
            self._heard[entry.cursor] = hear(
                entry, self._workspace.history.messages, self._settings.owners, group=group
            )
        return self._heard[entry.cursor]

    def _look(self) -> Snapshot:
        if self._dry_run:
            return commit.look(self._workspace, uncommitted=True).imagining(self._imagined)
        transaction.commit_hand_edits(self._workspace, self._clock())
        return commit.look(self._workspace)

    def _analyse(
        self,
        batch: Sequence[Entry],
        found: Snapshot,
        evidence: BatchEvidence,
        left_out: list[str] | None = None,
        place: KnownPlace | None = None,
    ) -> tuple[Finding, ...]:
        saying = phase1.that_say_something(batch)
        if not saying:
            return ()
        leave_out = left_out.append if left_out is not None else None
        shown = scope.given(found.texts, place)
        files = place.files if place and place.is_group else tuple(shown)
        waiting = queue.waiting([one for one in found.pending if one.file in files])
        findings = phase1.analyse(
            saying, shown, self._models.phase1, self._brief, leave_out, waiting=waiting, evidence=evidence, place=place
        )
        self._answered = True
        return findings

    def _given_way(self, found: Snapshot, batch: Sequence[Entry]) -> tuple[Snapshot, tuple[Rejected, ...]]:
        """Return the files without lines that only cite what `batch` reread, and the lines that restores removed."""
        if not any(entry.rereads for entry in batch):
            return found, ()
        texts = giveway.given_way(self._workspace, found, batch, self._rereads)
        return replace(found, texts=texts), giveway.restored_over(self._workspace, found.texts)

    def _edit(
        self,
        findings: Sequence[Finding],
        found: Snapshot,
        evidence: BatchEvidence,
        place: KnownPlace | None,
        restored: Sequence[Rejected] = (),
    ) -> Edited:
        if not findings:
            return Edited(Draft(found.texts), (), ())
        findings, rules = evidence.in_own_words(findings, found.texts)
        protected = Protected(
            before=found.texts,
            person_lines=found.person_lines,
            rejected=self._workspace.rejected(),
            restored=restored,
            evidence=evidence,
            rules=rules,
            learnt=partial(trace.said, self._workspace),
            day=self._brief.day,
            elsewhere=lambda file, command: scope.names_other(command, place_of(file), self._places.all()),
        )
        follow = partial(
            dependents.follow,
            before=found.texts,
            evidence=evidence,
            model=self._models.phase1,
            brief=self._brief,
            place=place,
        )
        return phase2.edit(findings, protected, self._models.phase2, self._brief, follow)

    def _to_forget(self, wanted: Sequence[wishes.Wish], pending: Sequence[Proposal]) -> list[Proposal]:
        return wishes.queued(wanted, pending, self._numbers.last(pending), self._clock()) if wanted else []

    def _for_everywhere(
        self, place: KnownPlace | None, edited: Edited, everything: Snapshot, waiting: Sequence[Proposal]
    ) -> list[Proposal]:
        """Propose as global rules those that this dream adds to a project and that were said in others too."""
        if place is None or place.is_group:
            return []
        soul, groups = place.files[0], [one.name for one in self._places.all() if one.is_group]
        before, after = everything.texts.get(soul, ""), edited.draft.texts[soul]
        found = scope.repeated(place, before, after, everything.texts, groups)
        pending = [*everything.pending, *waiting]
        cursors = tuple(cursor for one in edited.outcomes for cursor in one.finding.entries)
        held, wanted = list[HeldEdit](), list[Finding]()
        for one in found:
            if any(fact.file == "SOUL.md" and same_fact(fact.text, one.line) for fact in self._workspace.rejected()):
                continue
            wanted.append(Finding("SOUL.md", one.line, tuple(sorted(set(cursors))), heading="Rules"))
            edit = phase2.addition(everything.texts["SOUL.md"], wanted[-1], len(wanted))
            verdict = Verdict("held", "everywhere", f"it was said in {len(one.cites)} projects: {', '.join(one.cites)}")
            held.append(HeldEdit(edit, verdict))
        return queue.queued(held, wanted, pending, self._numbers.last(pending), self._clock()) if held else []

    def _commit(
        self,
        batch: Sequence[Entry],
        found: Snapshot,
        edited: Edited,
        waiting: Iterable[Proposal],
        mark: int,
        note: str = "",
        withdrawn: frozenset[int] = frozenset(),
    ) -> BatchReport:
        entries = (batch[0].cursor, batch[-1].cursor) if batch else (self._cursor, self._cursor)
        usage = self._models.meter.since(mark)
        recent = partial(trace.written_since, self._workspace, self._clock() - RECENT)
        day = self._brief.day
        waiting = [replace(one, batch=self._batch) for one in waiting]
        change = commit.compose(found, edited.draft, waiting, entries[1], self._settings, day, recent, withdrawn)
        notes = (*edited.notes, *change.notes)
        report = BatchReport(entries, edited.outcomes, {}, usage, notes=notes, true=change.true)
        if self._dry_run:
            return self._imagine(report, found, change.files)
        if not change.content:
            replace_file(self._workspace.root / commit.CURSOR, b"%d\n" % entries[1])
            return report
        self._numbers.given(waiting)
        names = self._models.names(mark)
        now = self._clock()
        sessions = len({entry.session for entry in batch if entry.session})
        found = replace(found, pending=[one for one in found.pending if one.id not in withdrawn])
        landing = Landing(
            report, found, edited, waiting, self._numbers, names, now, note, change.moved, self._batch, sessions
        )
        done = transaction.commit(
            self._workspace,
            change.files,
            expected=found.data,
            message=landing.message,
            now=now,
            hold=landing.hold,
        )
        merged = tuple(f"{path} was saved by a person meanwhile; both changes are in it" for path in done.merged)
        report = _noting_what_left(landing.report)
        return replace(report, commit=done.sha, files=done.files, notes=(*report.notes, *merged))

    def _imagine(self, report: BatchReport, found: Snapshot, files: Mapping[str, bytes | None]) -> BatchReport:
        """Report what a commit would hold, and go on as if it had been made."""
        diff = compare({path: found.data.get(path) for path in files}, files)
        counts: dict[str, LineCount] = {path: count for path, count in diff.files.items() if memory_file(path) == path}
        self._imagined |= files
        return replace(_noting_what_left(report), files=counts, diff=diff.text)

    def _split_or_set_aside(
        self, batch: Sequence[Entry], found: Snapshot, error: ModelError, mark: int
    ) -> BatchReport | None:
        """Handle an unusable analysis: raise, split the batch, or queue a single entry for review.

        A batch whose findings don't fit into one answer is split at once; another try would not help.
        """
        private, limit = self._workspace.private, MAX_ATTEMPTS
        if isinstance(error, AnswerCut) and len(batch) > 1:
            limit = 1
        if self._dry_run:
            raise error
        noted = read(private).failed(batch[0].cursor, batch[-1].cursor, len(batch), limit)
        write(private, noted)
        if noted.size and noted.size < len(batch):
            return None
        lone = len(batch) == 1 and (
            noted.failures >= limit or (noted.size == 1 and (self._answered or self._read_next(batch, found)))
        )
        if not lone:
            raise error
        last = self._numbers.last(found.pending)
        waiting = queue.set_aside(batch[0].cursor, str(error), last, self._clock())
        report = self._commit(batch, found, Edited(Draft(found.texts), (), ()), [waiting], mark, "entry set aside")
        self._cursor = batch[-1].cursor
        return replace(report, set_aside=True)

    def _read_next(self, batch: Sequence[Entry], found: Snapshot) -> bool:
        """Return whether the model can analyse the entry after `batch`; if so, `batch` is at fault."""
        following = list(islice(self._workspace.history.after(batch[-1].cursor), 1))
        try:
            return bool(following) and self._analyse(following, found, gather(map(self._hear, following))) is not None
        except (AnswerUnusable, PromptTooLong):
            return False


def _noting_what_left(report: BatchReport) -> BatchReport:
    """Add a note for each proposal removed from the review queue because memory is already as it proposes."""
    left = (f"proposal {item.id} left the review queue: {item.file} is already as it proposes" for item in report.true)
    return replace(report, notes=(*report.notes, *left))
