"""What is held for review, and a person's decision: accepted exactly as it stands, or rejected and remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher

from dream.errors import AnswerUnusable, UsageError
from dream.models import MEMORY_FILES, MemoryFile, Outcome, Proposal, Rejected
from dream.phases import findings
from dream.phases.draft import Edit, EditError, added, gone, lines, replaced
from dream.store import files, handedits, messages, review_files, transaction
from dream.store.gitdiff import Diff
from dream.store.lock import run_lock
from dream.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision did. `misfits` are proposals that no longer fit, with the reason; they go on waiting."""

    done: tuple[Proposal, ...]
    misfits: tuple[tuple[Proposal, str], ...]
    sha: str | None
    remembered: tuple[Rejected, ...] = ()


def diff(proposal: Proposal) -> str:
    """Write a proposal as the lines that it takes out and puts in, in their order, white space and all."""
    old, new = proposal.old_text.splitlines(), proposal.new_text.splitlines()
    shown: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            shown += [f"-{line}" for line in old[first:last]]
            shown += [f"+{line}" for line in new[start:end]]
    return "\n".join(shown)


def accept(workspace: Workspace, numbers: Sequence[int], *, now: datetime, locked: bool = False) -> Decided:
    """Apply exactly the proposals `numbers`, in one commit; one that no longer fits goes on waiting.

    Raises UsageError for a number that nothing waits under, and Busy.
    """
    with nullcontext() if locked else run_lock(workspace.private, "dream review", now=now):
        found = _look(workspace, now)
        texts = {file: files.decode(found.get(file) or b"", workspace.root / file) for file in MEMORY_FILES}
        before = dict(texts)
        done, misfits = [], []
        for proposal in _chosen(workspace, numbers):
            try:
                _apply(proposal, texts)
                done.append(proposal)
            except _NoFitError as error:
                misfits.append((proposal, str(error)))
        changes: dict[str, bytes | None] = {
            file: text.encode("utf-8") for file, text in texts.items() if text != before[file]
        }
        sha = _commit(workspace, changes, found, done, "accepted", now)
        return Decided(tuple(done), tuple(misfits), sha)


def reject(workspace: Workspace, numbers: Sequence[int], *, now: datetime, locked: bool = False) -> Decided:
    """Put the proposals `numbers` away and remember them, so that none comes back.

    What they would have written no dream writes; what they would only have removed no dream removes.
    """
    with nullcontext() if locked else run_lock(workspace.private, "dream review", now=now):
        found = _look(workspace, now)
        chosen = _chosen(workspace, numbers)
        remembered = [fact for proposal in chosen for fact in _facts(proposal, now)]
        changes: dict[str, bytes | None] = {}
        if remembered:
            rejected = files.read_bytes(workspace.root / review_files.REJECTED) or b""
            changes[review_files.REJECTED] = review_files.grown(rejected, remembered)
        sha = _commit(workspace, changes, found, chosen, "rejected", now)
        return Decided(tuple(chosen), (), sha, tuple(remembered))


def _look(workspace: Workspace, now: datetime) -> Mapping[str, bytes | None]:
    transaction.recover(workspace)
    transaction.commit_hand_edits(workspace, now)
    return {**handedits.read(workspace.root), **handedits.read_state(workspace.root)}


def _chosen(workspace: Workspace, numbers: Sequence[int]) -> list[Proposal]:
    waiting = {proposal.id: proposal for proposal in workspace.pending()}
    missing = [str(number) for number in numbers if number not in waiting]
    if missing:
        raise UsageError(f"Nothing waits under {', '.join(missing)}; `dream review` lists what does.")
    return [waiting[number] for number in dict.fromkeys(numbers)]


class _NoFitError(Exception):
    """A proposal that cannot be applied as it stands; the text says why, to a person."""


def _apply(proposal: Proposal, texts: dict[MemoryFile, str]) -> None:
    file = proposal.file
    if file is None:
        raise _NoFitError("it is an entry that could not be dreamt, not an edit; reject it to put it away")
    try:
        texts[file] = replaced(texts[file], Edit(file, proposal.old_text, proposal.new_text))
    except EditError as error:
        raise _NoFitError(_why_not(proposal, texts[file], file)) from error


def _why_not(proposal: Proposal, text: str, file: MemoryFile) -> str:
    """Say to a person what an EditError says to a model."""
    if proposal.old_text == "" or set(lines(proposal.new_text)) - set(lines(proposal.old_text)) <= set(lines(text)):
        return f"what it would write stands in {file} already; reject it to put it away"
    count = text.count(proposal.old_text)
    where = f"stands {count} times in" if count else "is no longer in"
    return f"what it would change {where} {file}; edit the file yourself, or reject it"


def _facts(proposal: Proposal, now: datetime) -> list[Rejected]:
    if proposal.file is None:
        return []
    new, old = added(proposal.old_text, proposal.new_text), gone(proposal.old_text, proposal.new_text)
    told = _plain(new) or _plain(old)
    removal = not _plain(new)
    return [Rejected(now, proposal.file, fact, f"review {proposal.id}", removal) for fact in told]


def _plain(told: Sequence[str]) -> list[str]:
    """Return the facts in lines of a file: no headings, no list marks."""
    facts = (line.strip().removeprefix("- ") for line in told if not line.lstrip().startswith("#"))
    return [fact for fact in facts if lines(fact)]


def _commit(
    workspace: Workspace,
    changes: Mapping[str, bytes | None],
    found: Mapping[str, bytes | None],
    decided: Sequence[Proposal],
    word: str,
    now: datetime,
) -> str | None:
    if not decided:
        return None
    settled = {proposal.id for proposal in decided}
    left = [proposal for proposal in workspace.pending() if proposal.id not in settled]
    names = ", ".join(str(proposal.id) for proposal in decided)

    outcomes = [outcome for proposal in decided for outcome in _outcomes(proposal)] if word == "accepted" else []

    def message(difference: Diff) -> str:
        return messages.build("dream", difference.files, outcomes=outcomes, note=f"({word} in review: {names})")

    wanted = {**changes, review_files.PENDING: review_files.render_pending(left)}
    return transaction.commit(workspace, wanted, expected=found, message=message, now=now).sha


def _outcomes(proposal: Proposal) -> list[Outcome]:
    """Return the findings that an accepted edit settles, so that its lines can be traced like any other's."""
    try:
        found = findings.parse("\n".join(proposal.findings), proposal.entries).findings
    except AnswerUnusable:  # a row that a person changed: the edit is what they decided on
        return []
    return [Outcome(finding, "applied", "held, then accepted by a person") for finding in found]
