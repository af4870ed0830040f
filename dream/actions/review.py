"""Decide on proposals held for review: accept them unchanged, or reject them for good; and a person's own edits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby, zip_longest

from dream.actions.forget import Forgotten, forget
from dream.directory import Workspace
from dream.dreaming import findings
from dream.dreaming.draft import Edit, EditError, added, end_of_section, gone, lines, paired, plain_ends, replaced
from dream.errors import AnswerUnusable, UsageError
from dream.memory import like, place_of
from dream.models import FORGET, IMPORTS, MemoryFile, Outcome, Proposal, Rejected
from dream.text.safe import clean
from dream.text.words import standing, without_bullet
from dream.transfer.take import placed
from dream.versions import log, read_all, transaction
from dream.versions.log import ChangeKind
from dream.workspace import files, review_files
from dream.workspace.lock import run_lock
from dream.workspace.places import EVERYWHERE

EDITED = "edited and accepted"
UNSEEN = "it would forget for good; `dream review` shows what, and `dream review accept` with its number does it"
Pick = int | tuple[int, int]  # a proposal, or one of its findings
ChosenPart = tuple[
    Proposal, Proposal | None, Proposal | None
]  # and the rest of it after an acceptance, or after a rejection


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision did. `misfits` are proposals that no longer fit, with the reason; they stay held."""

    done: tuple[Proposal, ...]
    misfits: tuple[tuple[Proposal, str], ...]
    sha: str | None
    remembered: tuple[Rejected, ...] = ()
    forgotten: tuple[Forgotten, ...] = ()


def diff(proposal: Proposal) -> str:
    """Show a proposal as the lines that it removes and adds, in order, with their white space."""
    old, new = proposal.old_text.splitlines(), proposal.new_text.splitlines()
    shown: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            shown += [f"-{line}" for line in old[first:last]]
            shown += [f"+{line}" for line in new[start:end]]
    return "\n".join(shown)


def findings_of(proposal: Proposal) -> list[tuple[str, str]]:
    """Return the parts of a proposal that can be decided separately: each removed line (or "") with its replacement.

    Headings and blank lines are not parts of their own.
    """
    return [(before or "", after or "") for before, after in _pairs(proposal) if _is_finding(before, after)]


def part(proposal: Proposal, chosen: Collection[int]) -> tuple[Proposal, Proposal, Proposal]:
    """Split a proposal: what is `chosen` of its findings (from 1), and what is left when that is accepted, or rejected.

    Raises UsageError for a number that there is not.
    """
    taken, rest, number = list[str](), list[str](), 0
    for before, after in _pairs(proposal):
        own = _is_finding(before, after)
        number += own
        taken += [line for line in [after if not own or number in chosen else before] if line is not None]
        rest += [line for line in [after if not own or number not in chosen else before] if line is not None]
    if missing := sorted(set(chosen) - set(range(1, number + 1))):
        raise UsageError(f"{proposal.id} has {number} findings, so there is no {proposal.id}.{missing[0]}.")
    wanted, others = (_ended(rows, like=proposal.new_text) for rows in (taken, rest))
    rows, told = dict(enumerate(proposal.findings, 1)), len(proposal.findings) == number
    ours = tuple(row for place, row in rows.items() if not told or place in chosen)
    left = replace(proposal, findings=tuple(row for place, row in rows.items() if not told or place not in chosen))
    is_plain_append = not proposal.old_text and len(taken) + len(rest) == number
    accepted = replace(left, new_text=others) if is_plain_append else replace(left, old_text=wanted)
    return replace(proposal, new_text=wanted, findings=ours), accepted, replace(left, new_text=others)


def edited(proposal: Proposal, text: str) -> Proposal:
    """Return a proposal of one finding with `text` as what it writes; raises UsageError where it has several."""
    if len(findings_of(proposal)) != 1:
        raise UsageError(f"{proposal.id} has not one finding; edit one of them at a time.")
    rows: list[str] = []
    for before, after in _pairs(proposal):
        mine = _is_finding(before, after)
        rows += text.splitlines() if mine else [] if after is None else [after]
    return replace(proposal, new_text=_ended(rows, like=proposal.new_text or "\n"))


def _pairs(proposal: Proposal) -> list[tuple[str | None, str | None]]:
    """Pair the lines of both texts in their order; None stands for no line."""
    return paired(proposal.old_text.splitlines(), proposal.new_text.splitlines())


def _is_finding(before: str | None, after: str | None) -> bool:
    changed = [line for line in (before, after) if line is not None and before != after]
    return any(lines(line) and not line.lstrip().startswith("#") for line in changed)


def _ended(rows: Sequence[str], *, like: str) -> str:
    return "\n".join(rows) + ("\n" if rows and like.endswith("\n") else "")


def accept(
    workspace: Workspace,
    numbers: Sequence[Pick],
    *,
    now: datetime,
    locked: bool = False,
    instead: str | None = None,
    ask: Callable[[Forgotten], bool] | None = None,
) -> Decided:
    """Apply exactly the proposals `numbers`, in one commit, and those of an import in one of its own.

    One that no longer fits stays held. So does a wish to forget, unless `ask` says yes to what it would take.

    `instead` is what a person wants written in place of the one finding that is named: the commit is then theirs.
    Raises UsageError for a number that nothing waits under, and Busy.
    """
    wishes = [one for one in workspace.pending() if one.guard == FORGET and one.id in numbers]
    agreed = {one.id for one in wishes if ask is not None and ask(forgetting(workspace, one, now=now))}
    with nullcontext() if locked else run_lock(workspace.private, "dream review", now=now):
        chosen = _chosen(workspace, numbers)
        gone = [
            forgetting(workspace, one, dry_run=False, now=now, locked=True) for one, _, _ in chosen if one.id in agreed
        ]
        fit = [one for one in chosen if one[0].guard != FORGET or one[0].id in agreed]
        together = groupby(fit, lambda one: one[0].batch if one[0].guard in IMPORTS else "")
        made = [_accepted(workspace, list(parts), instead, now) for _, parts in together]
        done = tuple(one for each in made for one in each.done)
        misfits = tuple(one for each in made for one in each.misfits)
        misfits += tuple((one, UNSEEN) for one in wishes if one.id not in agreed)
        sha = next((each.sha for each in reversed(made) if each.sha), None)
        return Decided(done, misfits, sha, forgotten=tuple(gone))


def forgetting(
    workspace: Workspace, wish: Proposal, *, dry_run: bool = True, now: datetime, locked: bool = False
) -> Forgotten:
    """Forget what a wish of the review queue names, with the wish itself; a dry run says what would go."""
    return forget(workspace, wish.old_text, text=True, wish=wish.entries, dry_run=dry_run, now=now, locked=locked)


def _accepted(workspace: Workspace, parts: Sequence[ChosenPart], instead: str | None, now: datetime) -> Decided:
    found = _look(workspace, now)
    named = dict.fromkeys(held.file for held, _, _ in parts if held.file is not None)
    texts = {file: files.decode(found.get(file) or b"", workspace.root / file) for file in named}
    before = dict(texts)
    done, misfits, left = [], [], list[Proposal]()
    for held, rest, _ in parts:
        proposal = held if instead is None else edited(held, clean(instead))
        try:
            _apply(proposal, texts)
            done.append(proposal)
            left += [rest] if rest else []
        except _NoFitError as error:
            misfits.append((proposal, str(error)))
    changes: dict[str, bytes | None] = {
        file: text.encode("utf-8") for file, text in texts.items() if text != before[file]
    }
    changes |= _copies_gone([one.new_text for one in done if one.guard == EVERYWHERE], {**found, **changes})
    word = "accepted" if instead is None else EDITED
    sha = _commit(workspace, changes, found, done, left, word, now)
    return Decided(tuple(done), tuple(misfits), sha)


def _copies_gone(accepted: Iterable[str], found: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the rules of projects without the lines that were accepted for everywhere: there they apply anyway."""
    lines = {line.strip() for text in accepted for line in text.splitlines() if line.startswith("- ")}
    changes: dict[str, bytes | None] = {}
    for file in (path for path in found if lines and place_of(path) and like(path) == "SOUL.md"):
        rows = (found[file] or b"").decode("utf-8", "replace").splitlines(keepends=True)
        kept = [row for row in rows if row.strip() not in lines]
        if kept != rows:
            changes[file] = "".join(kept).encode("utf-8")
    return changes


def reject(
    workspace: Workspace,
    numbers: Sequence[Pick],
    *,
    now: datetime,
    locked: bool = False,
    remember: bool = True,
) -> Decided:
    """Reject the proposals `numbers` and record them, so that none is proposed again.

    What they would have written no dream writes; what they would only have removed no dream removes. Where they are
    not to be remembered, they may be proposed anew when the same is said again.
    """
    with nullcontext() if locked else run_lock(workspace.private, "dream review", now=now):
        found = _look(workspace, now)
        parts = _chosen(workspace, numbers)
        chosen, left = [proposal for proposal, _, _ in parts], [rest for _, _, rest in parts if rest]
        remembered = [fact for proposal in chosen for fact in _facts(proposal, now)] if remember else []
        changes: dict[str, bytes | None] = {}
        if remembered:
            changes[review_files.REJECTED] = review_files.grown(found.get(review_files.REJECTED) or b"", remembered)
        sha = _commit(workspace, changes, found, chosen, left, "rejected", now)
        return Decided(tuple(chosen), (), sha, tuple(remembered))


def _look(workspace: Workspace, now: datetime) -> Mapping[str, bytes | None]:
    transaction.recover(workspace)
    transaction.commit_hand_edits(workspace, now)
    return {**read_all(workspace.root)}


def _chosen(workspace: Workspace, numbers: Sequence[Pick]) -> list[ChosenPart]:
    """Find the proposals with these numbers."""
    waiting = {proposal.id: proposal for proposal in workspace.pending()}
    asked: dict[int, set[int]] = {}
    for number in numbers:
        whole, place = number if isinstance(number, tuple) else (number, 0)
        asked.setdefault(whole, set()).add(place)
    missing = [str(number) for number in asked if number not in waiting]
    if missing:
        raise UsageError(f"Nothing waits under {', '.join(missing)}; `dream review` lists what does.")
    chosen: list[ChosenPart] = []
    for number, places in asked.items():
        proposal = waiting[number]
        everything = places == set(range(1, len(findings_of(proposal)) + 1))
        chosen.append((proposal, None, None) if 0 in places or everything else part(proposal, places))
    return chosen


class _NoFitError(Exception):
    """A proposal that cannot be applied as it stands; the text says why, to a person."""


def _apply(proposal: Proposal, texts: dict[MemoryFile, str]) -> None:
    file = proposal.file
    if proposal.guard == FORGET:
        return
    if file is None:
        raise _NoFitError("it is an entry that could not be dreamt, not an edit; reject it to put it away")
    if proposal.guard in IMPORTS:
        texts[file] = _placed(proposal, texts[file], file)
        return
    try:
        texts[file] = replaced(texts[file], Edit(file, proposal.old_text, proposal.new_text))
    except EditError as error:
        text = texts[file]
        new = added(proposal.old_text, proposal.new_text)
        if gone(proposal.old_text, proposal.new_text) or not new or not set(lines(text)).isdisjoint(new):
            raise _NoFitError(_why_not(proposal, text, file)) from error
        # The line that it was to stand beside has changed since: it goes to the end of its section, or of the file.
        rows = plain_ends(text).split("\n")
        beside = end_of_section(rows, proposal.under) if rows.count(proposal.under) == 1 and proposal.under else ""
        texts[file] = replaced(text, Edit(file, beside, "\n".join([beside, *new] if beside else new)))


def _placed(proposal: Proposal, text: str, file: MemoryFile) -> str:
    """Return a file with imported lines where they belong, or in the place of the line that they contradict."""
    old = proposal.old_text.rstrip("\n")
    if old and old not in text.split("\n"):
        raise _NoFitError(f"what it would change is no longer in {file}; edit the file yourself, or reject it")
    titles = [outcome.finding.heading for outcome in _outcomes(proposal)]
    rows = proposal.new_text.splitlines() or [""]
    if set(rows) & set(text.split("\n")) - {""}:
        raise _NoFitError(f"what it would write stands in {file} already; reject it to put it away")
    for row, title in zip_longest(rows, titles[: len(rows)], fillvalue=""):
        known = standing(text.split("\n"), title) if title else None  # a new heading is nothing that a person was shown
        text = placed(text, file, (known,) if known else (), row, old)
    return text


def _why_not(proposal: Proposal, text: str, file: MemoryFile) -> str:
    """Return for a person what an EditError says to a model."""
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
    facts = (without_bullet(line).strip() for line in told if not line.lstrip().startswith("#"))
    return [fact for fact in facts if lines(fact)]


def _commit(
    workspace: Workspace,
    changes: Mapping[str, bytes | None],
    found: Mapping[str, bytes | None],
    decided: Sequence[Proposal],
    parts_left: Sequence[Proposal],
    word: str,
    now: datetime,
) -> str | None:
    if not decided:
        return None
    settled = {proposal.id for proposal in decided}
    left = [proposal for proposal in workspace.pending() if proposal.id not in settled]
    left = sorted((*left, *parts_left), key=lambda proposal: proposal.id)
    names = ", ".join(str(proposal.id) for proposal in decided)

    outcomes = [outcome for one in decided for outcome in _outcomes(one)] if word != "rejected" else []
    kind: ChangeKind = "hand" if word == EDITED else "dream"
    batches = {one.batch for one in decided}
    trailers = {log.BATCH: batches.pop()} if len(batches) == 1 and "" not in batches else None
    message = partial(log.build, kind, outcomes=outcomes, note=f"({word} in review: {names})", trailers=trailers)
    wanted = {**changes, review_files.PENDING: review_files.render_pending(left)}
    return transaction.commit(workspace, wanted, expected=found, message=message, now=now).sha


def _outcomes(proposal: Proposal) -> list[Outcome]:
    """Return the findings that an accepted edit settles, so that its lines can be traced like any other's."""
    if proposal.guard == FORGET:  # its words are gone
        return []
    try:
        found = findings.parse("\n".join(proposal.findings), proposal.entries).findings
    except AnswerUnusable:  # a row that a person changed: the edit is what they decided on
        return []
    return [Outcome(finding, "applied", "held, then accepted by a person") for finding in found]


# A person's own change of one line of memory: written anew, taken out, or taken out and never written again.


def amend(
    workspace: Workspace,
    file: MemoryFile,
    number: int,
    line: str,
    text: str,
    *,
    never: bool,
    now: datetime,
) -> str | None:
    """Write `text` in place of `line`, the line `number` (from 1) of `file`, as a person's commit; return its sha.

    An empty `text` takes the line out, and with `never` no later dream writes it again. What was typed before is
    committed first. The caller holds the lock. Raises UsageError where that line stands there no longer; then nothing
    has changed.
    """
    found = _look(workspace, now)
    rows = files.decode(found.get(file) or b"", workspace.root / file).splitlines(keepends=True)
    if not 1 <= number <= len(rows) or rows[number - 1].rstrip("\r\n") != line:
        raise UsageError(f"Line {number} of {file} is no longer what was shown; nothing was changed.")
    old = rows[number - 1]
    end = old[len(old.rstrip("\r\n")) :] or "\n"
    rows[number - 1] = "".join(f"{row}{end}" for row in clean(text).rstrip("\n").split("\n")) if text else ""
    changes: dict[str, bytes | None] = {file: "".join(rows).encode("utf-8")}
    if never:
        fact = Rejected(now, file, without_bullet(line).strip(), "by hand")
        changes[review_files.REJECTED] = review_files.grown(found.get(review_files.REJECTED) or b"", [fact])
    message = partial(log.build, "hand", note="(never again)" if never else "")
    return transaction.commit(workspace, changes, expected=found, message=message, now=now).sha
