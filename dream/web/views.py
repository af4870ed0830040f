"""What each page shows, as values: read from the workspace, and never written to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from typing import Literal

from dream.actions import review
from dream.actions.status import Health
from dream.actions.why import Evidence, evidence
from dream.directory import Workspace
from dream.dreaming.draft import lines
from dream.errors import UsageError
from dream.memory import memory_file
from dream.models import HANGS, MemoryFile, Proposal
from dream.recall import Hit
from dream.reports import Usage
from dream.text.safe import shortened
from dream.text.sentences import sentences
from dream.text.words import coverage, without_said_on
from dream.versions import is_memory, read_all
from dream.versions.diff import by_file
from dream.versions.log import Change
from dream.versions.trace import Deed, trace
from dream.web.known import Past
from dream.workspace import runs
from dream.workspace.runs import RunRecord
from dream.workspace.stamp import last_night

BEGUN = timedelta(minutes=1)  # largest time between the stamp of a night and its first record
NIGHT = timedelta(hours=12)  # runs within this time before the last run belong to the same night
CHANGES = 3  # changes of a night that are shown in full; the others are linked
ROWS = 120  # of a file's diff on the first page
LINES, CHARS = 200, 30_000  # of a memory file on one page
EARLIER = 20  # earlier forms of a line, and changes that wrote it, on its page
PAGE = 40  # changes, or held findings, on one page
ALIKE = 0.34  # share of a held line's words that a line of memory must have, to be shown beside it
RESTS = 4  # source entries shown of a held finding
HANDS = {
    "hand": "was written by hand",
    "init": "stood there when dream began",
    "restore": "was brought back by a restore",
}
NEIGHBOUR, SAID, LEAD = 240, 700, 160  # characters shown of a message beside, of the one meant, and before its sentence

# Why a guard held an edit, in plain words; the reason itself is shown beside it.
GUARDS: Mapping[str, str] = {
    "review": 'You asked to see every edit first (review = "hold").',
    "person-line": "It would change a line that you wrote.",
    "person-edit": "You saved the file while the dream was at work.",
    "loss": "It would take out too much of the file at once.",
    "rule-source": "It is a rule for the agent, and no message of yours vouches for it.",
    "instruction": "It reads like an instruction that somebody else slipped in.",
    "third-party": "Somebody else said it, not you.",
    "unfounded": "What was said does not bear it out.",
    "hangs": "Something else changed that it rested on.",
    "everywhere": "You said it in several projects; accepted, it applies in all of them.",
    "members": "A member of a group asked for it, and it names more than how to answer.",
    "older": "It is older than what stands there.",
    "entry": "An entry of history could not be dreamt.",
    "forget": "You asked in a talk to forget it; dream review accept on a terminal shows what goes.",
}
COMPARED = 4_000  # characters of a line whose words are compared
_CODE = re.compile(r"`([^`\n]+)`")
_PIECES = re.compile(r"[^\W_]+|\s+|.", re.DOTALL)
Sign = Literal["+", "-", " ", "@"]


# The state that a page showed, so that an action can tell whether it has changed since.


def state(workspace: Workspace) -> str:
    """Return HEAD and a digest of each versioned file on disk, as one word."""
    head = workspace.git.head() if workspace.git.exists else None
    found = read_all(workspace.root)
    each = (f"{path}={hashlib.blake2b(data, digest_size=8).hexdigest()}" for path, data in sorted(found.items()))
    return ";".join([head or "", *each])


def changed_since(workspace: Workspace, shown: str) -> list[str]:
    """Return what has changed since the state `shown`: commits made, and files saved."""
    before, now = shown.split(";"), state(workspace).split(";")
    changes = []
    if before[0] != now[0] and workspace.git.exists:
        after = before[0] if len(before[0]) == 40 and set(before[0]) <= set("0123456789abcdef") else None
        known = after is not None and workspace.git.is_ancestor(after)
        made = workspace.git.log(5, after=after) if known else workspace.git.log(1)
        changes = [f"{change.sha[:10]} was made: {change.subject}" for change in made]
    files = {one.partition("=")[0] for one in {*before[1:]} ^ {*now[1:]}}
    names = {"memory/.pending.jsonl": "the review queue", "memory/.rejected.jsonl": "what was taken back"}
    names["memory/.dream_cursor"] = "how far was dreamt"
    changes += [f"{names.get(file, file)} changed" for file in sorted(files) if file]
    return changes or ["something changed and changed back"]


# A line of memory: where it is, and what it is based on.


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line of a memory file; `change` wrote it, None where that is not known or it is not committed."""

    number: int
    text: str
    key: str
    is_fact: bool
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class LineStory:
    """A line, the changes that wrote it, its earlier forms and its sources. `number` is 0 if it is no longer there."""

    file: MemoryFile
    text: str
    key: str
    number: int
    changes: tuple[Change, ...]
    earlier: tuple[str, ...]
    talks: tuple[Evidence, ...]
    complete: bool


def memory_lines(workspace: Workspace, file: MemoryFile, known: Past, first: int = 1) -> tuple[list[ShownLine], int]:
    """Return the lines of a memory file from `first` on, as many as one page shows, and how many there are."""
    wrote = _wrote(known.steps(workspace), file)
    lines = [
        ShownLine(number, row, line_key(file, row), bool(row.strip()) and not row.startswith("#"), wrote.get(row))
        for number, row in enumerate(_rows(workspace, file), 1)
    ]
    part, room = list[ShownLine](), CHARS
    for line in lines[first - 1 : first - 1 + LINES]:
        room -= len(line.text)
        if part and room < 0:
            break
        part.append(line)
    return part, len(lines)


def _wrote(steps: Sequence[Deed], file: MemoryFile) -> dict[str, Change]:
    """Return for each line the change that wrote it last, passing over those that merely brought it back."""
    found: dict[str, Change] = {}
    for step in steps:
        if step.change.kind != "restore":
            for path, line in step.added:
                if path == file:
                    found.setdefault(line, step.change)
    return found


def line_story(workspace: Workspace, known: Past, file: str, key: str, sha: str = "") -> LineStory | None:
    """Find a line by its key, in its file or in the change `sha`, and return where it comes from."""
    name = memory_file(file)
    if name is None or name != file:
        return None
    steps = known.steps(workspace)
    standing = {line_key(name, row): (row, number) for number, row in enumerate(_rows(workspace, name), 1)}
    text, number = standing.get(key, ("", 0))
    since: Sequence[Deed] = steps
    if not number:
        place = next((place for place, step in enumerate(steps) if step.change.sha == sha), len(steps))
        since = steps[place:]
        added = since[0].added if since else ()
        text = next((row for path, row in added if path == name and line_key(name, row) == key), "")
        if not text:
            return None
    (origin,) = trace(workspace, [(name, text)], since)
    changes = {step.change.sha: step.change for step in steps}
    return LineStory(
        name,
        text,
        key,
        number,
        tuple(changes[one] for one in origin.commits[:EARLIER] if one in changes),
        origin.earlier[:EARLIER],
        evidence(workspace, origin.entries, text),
        known.complete or bool(origin.commits),
    )


def _rows(workspace: Workspace, file: MemoryFile) -> list[str]:
    return workspace.read_file(file).splitlines()


def line_at(workspace: Workspace, cite: str) -> tuple[str, str] | None:
    """Return the memory file and the key of the line that a citation like `USER.md:12` names."""
    name, _, number = cite.rpartition(":")
    file = memory_file(name)
    rows = _rows(workspace, file) if file else []
    return (file, line_key(file, rows[int(number) - 1])) if file and 0 < int(number) <= len(rows) else None


def excerpt(text: str, about: str, *, meant: bool) -> tuple[tuple[str, bool], ...]:
    """Shorten a message for display: if it is `meant`, to the text around the sentence that matches `about`.

    That sentence is marked True.
    """
    if not meant:
        return ((shortened(" ".join(text.split()), NEIGHBOUR), False),)
    told = without_said_on(about)
    spans = [(one.start, one.end) for one in sentences(text)]
    shares = [coverage(told, text[first:last]) for first, last in spans] if told else []
    if not any(shares):
        return ((shortened(text, SAID), False),)
    first, last = spans[max(range(len(spans)), key=lambda n: shares[n])]
    begin = max(0, first - LEAD) if len(text) > SAID else 0
    end = max(last, begin + SAID)
    before, after = "…" * (begin > 0) + text[begin:first], text[last:end] + "…" * (end < len(text))
    return ((before, False), (text[first:last], True), (after, False))


def opened(workspace: Workspace, cite: str, *, around: int = 0) -> list[Hit]:
    """Open a citation; return an empty list if it is gone."""
    try:
        return workspace.get(cite, around=around)
    except UsageError:
        return []


# The last night.


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change in full: its message and its diff."""

    change: Change
    body: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class LastNight:
    """The last run: what it read, changed, held and cost; `title` says whether it was a night."""

    title: str
    records: tuple[RunRecord, ...]
    read: tuple[tuple[str, int], ...]
    changes: tuple[ShownChange, ...]
    more: tuple[Change, ...]
    held: tuple[Proposal, ...]
    usage: Usage


def night(workspace: Workspace, known: Past) -> LastNight:
    """Return the last night, or what ran after it; the newest change if nothing has run."""
    recent = [one for one in runs.last(workspace.private, PAGE) if one.outcome != "refused"]
    records = [one for one in recent if one.ended >= recent[0].ended - NIGHT]
    steps = known.steps(workspace)
    shas = {sha for record in records for sha in record.commits}
    changes = [step.change for step in steps if step.change.sha in shas]
    changes = changes or [step.change for step in steps[:1]]
    since = min((record.started for record in records), default=None)
    usage = sum((record.usage for record in records), Usage())
    at = last_night(workspace.private)
    was_night = not records or (at is not None and any(abs(one.started - at) < BEGUN for one in records))
    return LastNight(
        "Last night" if was_night else "Last runs",
        tuple(records),
        _read(workspace, known, [one for one in records if one.command == "consolidate"]),
        tuple(change(workspace, one.sha) for one in changes[:CHANGES]),
        tuple(changes[CHANGES:]),
        tuple(one for one in workspace.pending() if since is not None and one.at >= since),
        usage,
    )


def _read(workspace: Workspace, known: Past, records: Sequence[RunRecord]) -> tuple[tuple[str, int], ...]:
    """Count the entries that were appended, by session."""
    counts: dict[str, int] = {}
    for record in records:
        first, last = record.entries or (1, 0)
        for cursor in range(first, min(last, first + 5 * PAGE) + 1):
            session = known.session(workspace, cursor) or "notes"
            counts[session] = counts.get(session, 0) + 1
    return tuple(counts.items())


def change(workspace: Workspace, sha: str) -> ShownChange:
    """Read one change with its diff; raises GitError."""
    found = workspace.git.show(sha)
    return ShownChange(found.change, found.body, tuple(read_diff(found.diff)))


# The review queue, one finding at a time.


@dataclass(frozen=True, slots=True)
class HeldFinding:
    """A finding that is held: `number` as `dream review` names it, `key` its exact edit.

    `word` is why in plain words, `reason` the guard's own.
    """

    number: str
    key: str
    proposal: Proposal
    old: str
    new: str
    word: str
    source: str

    @property
    def asks(self) -> bool:
        """Return whether it is a question: does the line still hold."""
        return self.proposal.guard == HANGS

    @property
    def name(self) -> str:
        """Return number and key as one word, as a form sends them."""
        return f"{self.number}:{self.key}"

    @property
    def place(self) -> review.Pick:
        """Return what `review` calls it."""
        whole, _, part = self.number.partition(".")
        return (int(whole), int(part)) if part else int(whole)

    def rows(self) -> tuple[DiffRow, ...]:
        """Return the diff of the held edit, with the changed words marked."""
        before, after = words(self.old, self.new)
        return (*([DiffRow("-", before)] if self.old else []), *([DiffRow("+", after)] if self.new else []))


def items(workspace: Workspace, known: Past) -> list[HeldFinding]:
    """Return every finding that is held, in the order of the queue."""
    waiting = workspace.pending()
    known.learn(workspace, [one.entries[0] for one in waiting if one.entries])
    return [item for proposal in waiting for item in _items(workspace, known, proposal)]


def _items(workspace: Workspace, known: Past, one: Proposal) -> Iterator[HeldFinding]:
    exact = hashlib.blake2b(repr(one).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    word = GUARDS.get(one.guard, f"The guard “{one.guard}” stopped it.")
    source = known.session(workspace, one.entries[0]).partition(":")[0] if one.entries else ""
    parts = review.findings_of(one)
    if len(parts) < 2:
        old, new = parts[0] if parts else (one.old_text.strip("\n"), one.new_text.strip("\n"))
        yield HeldFinding(str(one.id), exact, one, old, new, word, source)
        return
    for number, (old, new) in enumerate(parts, 1):
        yield HeldFinding(f"{one.id}.{number}", exact, one, old, new, word, source)


def coded(text: str) -> list[tuple[str, bool]]:
    """Return the pieces of a line of memory, each with whether it stands between backticks, which are left out."""
    return [(piece, bool(number % 2)) for number, piece in enumerate(_CODE.split(text)) if piece]


def matching(found: Sequence[HeldFinding], query: Mapping[str, str]) -> list[HeldFinding]:
    """Return the items that match a filter: by file, guard, source and text."""
    file, guard, source = query.get("file", ""), query.get("guard", ""), query.get("source", "")
    text = query.get("q", "").casefold()

    def matches(one: HeldFinding) -> bool:
        asked = ((file, one.proposal.file), (guard, one.proposal.guard), (source, one.source))
        if any(wanted and wanted != there for wanted, there in asked):
            return False
        return text in f"{one.old}\n{one.new}\n{one.proposal.reason}".casefold()

    return list(filter(matches, found))


def digest(found: Sequence[HeldFinding]) -> str:
    """Return a digest of exactly these items."""
    return hashlib.blake2b(" ".join(one.name for one in found).encode(), digest_size=8).hexdigest()


def similar_lines(workspace: Workspace, item: HeldFinding) -> list[str]:
    """Return the lines of the file that are similar to the held edit, the nearest first."""
    if item.proposal.file is None:
        return []
    wanted = without_said_on(item.new or item.old)
    rows = [row for row in _rows(workspace, item.proposal.file) if lines(row) and not row.startswith("#")]
    scored = [(coverage(wanted, row), row) for row in rows if row not in (item.old, item.new)]
    return [row for score, row in sorted(scored, key=lambda one: -one[0]) if score >= ALIKE][:3]


def source_of(workspace: Workspace, item: HeldFinding) -> tuple[Evidence, ...]:
    """Return the messages that a held finding is based on."""
    return evidence(workspace, item.proposal.entries[:RESTS], item.new or item.old)


# The timeline.


def timeline(steps: Sequence[Deed], query: Mapping[str, str]) -> list[Change]:
    """Return the changes that match a filter, newest first: by file, author and text."""
    file, kind = query.get("file", ""), query.get("kind", "")
    text = query.get("q", "").casefold()

    def matches(step: Deed) -> bool:
        change = step.change
        if (file and file not in change.files) or (kind and kind != change.kind):
            return False
        return not text or any(text in said.casefold() for said in _said(step))

    return [step.change for step in steps if matches(step)]


def _said(step: Deed) -> Iterator[str]:
    yield from (step.change.sha[:12], step.body, *(line for _, line in (*step.added, *step.removed)))


def well(found: Health) -> str:
    """Return the sentence that all is well."""
    if not found.history.last_cursor and found.is_live:
        return "Works; a live session goes on, and nothing of it is in history yet."
    if not found.history.last_cursor:
        return "Ready; history is empty."
    if found.backlog.entries:
        waiting = "entry waits" if found.backlog.entries == 1 else "entries wait"
        return f"Works; {found.backlog.entries:,} {waiting} to be dreamt."
    return "Works; all of history is dreamt."


def day(when: datetime) -> str:
    """Write a time as the machine's zone has it; the page's script writes it as the browser's language does."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


# Unified diffs as rows for a reader: by file, with the words that changed marked. Pure.


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff; `parts` are pieces of it and whether each changed. `key` names the line where it was added.

    A row of sign `@` replaces lines that are left out.
    """

    sign: Sign
    parts: tuple[tuple[str, bool], ...]
    key: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What changed in one file."""

    file: str
    rows: tuple[DiffRow, ...]


def line_key(file: str, line: str) -> str:
    """Return a short key of a line of a file, which changes when the text of the line does."""
    return hashlib.blake2b(f"{file}\0{line}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def read_diff(diff: str) -> list[FileDiff]:
    """Parse a unified diff into the files that a person reads, in its order."""
    return [FileDiff(file, tuple(_diff_rows(file, rows))) for file, rows in by_file(diff) if is_memory(file)]


def _diff_rows(file: str, lines: Sequence[str]) -> Iterator[DiffRow]:
    gone, new = list[str](), list[str]()
    for line in [*lines, ""]:
        if line[:1] == "-":
            gone.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])
        else:
            yield from _changed(file, gone, new)
            gone, new = [], []
            if line.startswith("@@ "):
                yield DiffRow("@", ())
            elif line[:1] == " ":
                yield DiffRow(" ", ((line[1:], False),), line_key(file, line[1:]))


def _changed(file: str, gone: Sequence[str], new: Sequence[str]) -> list[DiffRow]:
    """Lay out removed and added lines; of lines that replace each other the changed words are marked."""
    olds: list[DiffRow] = []
    news = [DiffRow("+", ((line, False),), line_key(file, line)) for line in new]
    for number, line in enumerate(gone):
        if number < len(new):
            before, after = words(line, new[number])
            olds.append(DiffRow("-", before))
            news[number] = DiffRow("+", after, news[number].key)
        else:
            olds.append(DiffRow("-", ((line, False),)))
    return [*olds, *news]


def words(old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Cut two lines into pieces, each with whether the other line lacks it; lines too unlike are one piece each."""
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if len(old) + len(new) > COMPARED or matcher.ratio() < 0.4:
        return ((old, False),), ((new, False),)
    left, right = list[tuple[str, bool]](), list[tuple[str, bool]]()
    for kind, first, last, start, end in matcher.get_opcodes():
        for pieces, side in ((before[first:last], left), (after[start:end], right)):
            if pieces:
                side.append(("".join(pieces), kind != "equal"))
    return tuple(left), tuple(right)
