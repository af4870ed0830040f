"""From an edited draft to one commit: the bytes it puts on disk, its message, and what waits where a person saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from dream import prompts
from dream.dreaming.draft import Draft, added, gone, lines
from dream.dreaming.editing import HeldEdit
from dream.dreaming.guards import Verdict
from dream.dreaming.phase2 import Edited
from dream.language import cues
from dream.language.likeness import ranked, same_fact
from dream.language.words import MONTH, without_said_on
from dream.models import MEMORY_FILES, TAGS, Finding, MemoryFile, Outcome, Proposal
from dream.reports import BatchReport, LineCount
from dream.settings import Settings
from dream.versions import is_memory, log, read_memory
from dream.versions.diff import PLAIN
from dream.versions.log import Moved, kind_of
from dream.versions.store import GitStore
from dream.versions.transaction import Held
from dream.workspace.files import decode
from dream.workspace.index import Index
from dream.workspace.review_files import PENDING, ProposalNumbers, parse_pending, render_pending
from dream.workspace.workspace import Workspace

# What waits for a person: held edits become numbered proposals, and what has come true leaves the queue. Pure.


def queued(
    held: Sequence[HeldEdit], findings: Sequence[Finding], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Turn held edits into proposals, numbered from after `last`; one that waits already is not queued again."""
    waiting = {(item.file, item.old_text, item.new_text) for item in pending}
    new: list[Proposal] = []
    for item in held:
        key = (item.edit.file, item.edit.old_text, item.edit.new_text)
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
            )
        )
    return new


def held_back(
    draft: Draft, outcomes: Sequence[Outcome], paths: Set[str], pending: Sequence[Proposal], last: int, now: datetime
) -> list[Proposal]:
    """Queue the draft's edits of files that a person saved while the dream ran, where theirs had to stay."""
    verdict = Verdict("held", "person-edit", "a person saved the file while the dream ran")
    held = [HeldEdit(edit, verdict) for edit in draft.edits if edit.file in paths]
    return queued(held, [outcome.finding for outcome in outcomes], pending, last, now)


def set_aside(cursor: int, reason: str, last: int, now: datetime) -> Proposal:
    """Queue an entry that could not be dreamt, so that a person sees it."""
    return Proposal(last + 1, now, None, "", "", "entry", reason, (), (cursor,))


def come_true(pending: Sequence[Proposal], texts: Mapping[MemoryFile, str]) -> list[Proposal]:
    """List the proposals that nothing is left of to do: what they add stands in `texts`, what they remove is gone."""
    return [item for item in pending if item.file is not None and _is_true(item, texts[item.file])]


def withdrawn(
    findings: Sequence[Finding], pending: Sequence[Proposal], texts: Mapping[MemoryFile, str], vouched: Set[int]
) -> tuple[tuple[Finding, ...], tuple[Proposal, ...]]:
    """Part findings from those that take back what only waits, and return these proposals: a person need not decide.

    Such a removal names no line of the file, and rests on an entry in which the user spoke, of the `vouched` ones.
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
    """Return whether what waits adds what a removal takes back."""
    waiting = [_uncited(one).partition("] ") for one in proposal.findings]
    return any(not tag.endswith("-REMOVE") and same_fact(fact, text) for tag, _, fact in waiting)


def waiting(pending: Sequence[Proposal]) -> list[tuple[Finding, str]]:
    """Return the findings that wait, each once with the reason why, as phase 1 is shown them."""
    found: dict[str, tuple[Finding, str]] = {}
    for item in pending:
        for one in item.findings:
            tag, _, fact = _uncited(one)[:300].partition("] ")
            file = TAGS.get(tag.lstrip("[").removesuffix("-REMOVE"))
            if file is not None and fact:
                remove = tag.endswith("-REMOVE")
                found.setdefault(one, (Finding(file, fact, item.entries, remove=remove), item.reason[:300]))
    return list(found.values())


def is_about(proposal: Proposal, outcome: Outcome) -> bool:
    """Return whether a held finding is what `proposal` would have done."""
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


# From an edited draft to the bytes that one commit puts on disk: files, archive, pending and cursor.


CURSOR = "memory/.dream_cursor"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The workspace as a dream found it: its memory files as bytes and text, archives, and what waits for a person."""

    data: Mapping[str, bytes | None]
    texts: Mapping[MemoryFile, str]
    archives: Mapping[str, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    pending: Sequence[Proposal]

    def imagining(self, files: Mapping[str, bytes | None]) -> Snapshot:
        """Return the workspace as it would be had `files` been written; for a dry run."""
        now = {**self.data, **files}
        texts = {path: _text(now.get(path), path) for path in MEMORY_FILES}
        archives = {path: _text(data, path) for path, data in now.items() if path.startswith("memory/archive/")}
        pending = parse_pending(now.get(PENDING) or b"")
        return Snapshot(now, texts, archives, self.person_lines, pending)


def look(workspace: Workspace, *, uncommitted: bool = False) -> Snapshot:
    """Read what a dream must know of the workspace. Raises WorkspaceError for a memory file that is not UTF-8 text.

    With `uncommitted`, for a dry run, what is in no commit yet counts as a person's where it will be in theirs.
    """
    data: dict[str, bytes | None] = dict(read_memory(workspace.root))
    texts = {path: _text(data.get(path), path) for path in MEMORY_FILES}
    archives = {path: _text(content, path) for path, content in data.items() if path not in texts}
    git = workspace.git
    head = git.head() if git.exists else None
    person = person_lines(git) if head else {}
    lines = {path: person.get(path, frozenset()) for path in MEMORY_FILES}
    if uncommitted and not workspace.agent:
        committed = git.read_all(head) if head else {}
        lines = {path: lines[path] | set(added(_text(committed.get(path), path), texts[path])) for path in MEMORY_FILES}
    return Snapshot(data, texts, archives, lines, workspace.pending())


@dataclass(frozen=True, slots=True)
class Composed:
    """What a dream wants on disk, by path, and what there is to say about it.

    `content` is False when nothing but the cursor would change; then there is no commit. `true` are the proposals
    that leave the review queue, because nothing is left of them to do; `moved` is what left a file for the archive.
    """

    files: Mapping[str, bytes | None]
    content: bool
    notes: tuple[str, ...]
    true: tuple[Proposal, ...] = ()
    moved: tuple[Moved, ...] = ()


def compose(
    found: Snapshot,
    draft: Draft,
    new: Sequence[Proposal],
    cursor: int,
    settings: Settings,
    day: date,
    recent: Callable[[MemoryFile], frozenset[str]],
    withdrawn: Sequence[Proposal] = (),
) -> Composed:
    """Compose the change of one dream: the draft within its budgets, new proposals, and the cursor.

    `recent` tells which lines of a file the dreams of the last days wrote; `withdrawn` proposals leave the queue.
    """
    files: dict[str, bytes | None] = {}
    notes: list[str] = []
    moved: list[Moved] = []
    for path in MEMORY_FILES:
        before, text = found.texts[path], draft.texts[path]
        if text == before:
            continue
        person = found.person_lines.get(path, frozenset())
        fitted = fit_budget(path, before, text, person, settings, day, partial(recent, path))
        if fitted is not None:
            text = fitted.text
        if fitted is not None and fitted.moved:
            archive = archived(found.archives.get(fitted.archive, ""), fitted, day)
            files[fitted.archive] = archive.encode("utf-8")
            moved.append(Moved(path, fitted.archive, fitted.moved))
            notes.append(f"{path} was over its budget: {len(fitted.moved)} older lines moved to {fitted.archive}")
        files[path] = text.encode("utf-8")
    true = [item for item in come_true(found.pending, draft.texts) if item not in withdrawn]
    notes += [
        f"what waited as {item.id} no longer does: the user changed or took back what it says" for item in withdrawn
    ]
    if new or true or withdrawn:
        left = [item for item in found.pending if item not in true and item not in withdrawn]
        files[PENDING] = render_pending([*left, *new])
    content = bool(files)
    files[CURSOR] = b"%d\n" % cursor
    return Composed(files, content, tuple(notes), tuple(true), tuple(moved))


def _text(data: bytes | None, path: str) -> str:
    return decode(data or b"", Path(path))


# A dream's last step to disk: what its commit says, and what waits where a person saved a file at that moment.


@dataclass(slots=True)
class Landing:
    """One dream on its way into a commit.

    `report` says what became of each finding, also after the commit: what had to give way to a person is held.
    `waiting` are the proposals that the dream adds to the review queue.
    """

    report: BatchReport
    found: Snapshot
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
        late = held_back(self.edited.draft, self.edited.outcomes, paths, queue, last, self.now)
        self.numbers.given(late)
        outcomes = tuple(_held_back(outcome, paths) for outcome in self.report.outcomes)
        self.report = replace(self.report, outcomes=outcomes, true=true)
        return {PENDING: render_pending([*queue, *late])}

    def message(self, counts: Mapping[str, LineCount]) -> str:
        """Write the commit's message; its figures are those of the lines that each file gains and loses."""
        return log.build(
            "dream",
            counts,
            entries=None if self.note == log.TIDY else self.report.entries,
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


# Which lines a person wrote: what their own commits added, by file.
#
# The answer is kept in the index with the commit it holds for, so that only newer commits are ever read.


AUTHORS = "authors"
_HUNK = re.compile(rb"@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,([0-9]+))? @@")
# Commits that are not dream's own are a person's too: they may well use git in their workspace.
_OURS = "^Dream-Kind: (dream|restore|init)$"
_DREAMT = re.compile(_OURS.encode(), re.MULTILINE)
_NOT_DREAMT = ("--extended-regexp", "--invert-grep", f"--grep={_OURS}")
_FORMAT = (
    "--format=%x1e%s%x1f%(trailers:key=Dream-Kind,valueonly,separator=%x1d)"
    "%x1f%(trailers:key=Dream-Author,valueonly,separator=%x1d)%x1f"
)


def person_lines(git: GitStore) -> dict[str, frozenset[str]]:
    """Return, for each memory file, the text of every line that a person ever added to it.

    Lines are compared without the white space at their end; blank ones don't count. Templates of `dream init`, what a
    dream wrote and what an agent did by its own tools are not among them; what stood in a workspace when it was
    adopted is.
    """
    head = git.head()
    index = Index(git.private)
    known, lines = _known(index.document(AUTHORS))
    if head == known or head is None:
        return lines
    new = git.since(known, head) if known is not None else None
    if known is not None and new is None and not git.is_ancestor(known, head):
        known, lines = None, {}
    is_dreamt = new is not None and all(map(_DREAMT.search, new))  # as after most nights: then git has nothing to tell
    for path, line in () if is_dreamt else _added(git, head, known):
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            lines[path] = lines.get(path, frozenset()) | {text}
    kept = {name: sorted(texts) for name, texts in sorted(lines.items())}
    index.keep(**{AUTHORS: {"head": head, "lines": kept}})
    return lines


def _added(git: GitStore, head: str, known: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield (path, line) for all that commits of a person added since `known`."""
    revisions = [head, *([f"^{known}"] if known else [])]
    arguments = ("log", _FORMAT, "--patch", "--unified=0", *PLAIN, *_NOT_DREAMT, "--end-of-options", *revisions, "--")
    for record in git.git.run(*arguments).split(b"\x1e")[1:]:
        subject, trailer, agent, patch = [*record.split(b"\x1f", 3), b"", b"", b""][:4]
        kind = kind_of(subject.decode("utf-8", "replace"), trailer.decode("utf-8", "replace"))
        if kind in (None, "hand") and not agent.strip():
            yield from _plus_lines(patch)


def _plus_lines(patch: bytes) -> Iterator[tuple[str, bytes]]:
    path, remaining = "", 0
    for line in patch.split(b"\n"):
        if remaining and line.startswith(b"+"):
            remaining -= 1
            if is_memory(path):
                yield path, line[1:]
        elif not remaining and line.startswith(b"+++ b/"):
            path = line[6:].rstrip(b"\t").decode("utf-8", "replace")
        elif found := _HUNK.match(line):
            remaining = int(found[1]) if found[1] is not None else 1


def _known(kept: Any) -> tuple[str | None, dict[str, frozenset[str]]]:
    try:
        return kept["head"], {name: frozenset(lines) for name, lines in kept["lines"].items()}
    except (KeyError, TypeError, AttributeError):
        return None, {}


# Keep each memory file within its budget: what is over moves to an archive file, one line is left behind.

# Which lines of memory are the last to go when it is full: who the user is, what was decided, how things are.
#
# Told by the form of a sentence: what somebody did last week can be read up in the archive, but an agent that no
# longer has the port, the day of the release or the user's name in its prompt does not know that it should look.


LONGEST = 130  # characters of a line that states one thing; of a longer one its first clause counts
_CLAUSE = re.compile(r"[;:.。；](?:\s|$)| \(")
_DAY = rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?i:{MONTH}) \d|\d{{1,2}} (?i:{MONTH})"
_VALUE = rf"(?:\d|{_DAY}|https?://|(?:^|\s)[~.]{{0,2}}/\w|`[^`]+`)"
_THING = r"(?:The|Our|Every|Deploys|[A-Z][\w-]*(?:'s [\w -]{2,30}?)?) (?!user\b)(?:[\w'/.-]+ ){0,6}?"
_IS = (
    r"(?:is|are|runs?|listens?|lives?|goes|go|uses?|needs?|costs?|takes|lasts|starts|ends|opens|closes|has|stands"
    r"|expires|must|may)"
)
_WE_DO = r"We (?:deploy|release|meet|use|run|ship|keep|store|host|work|bill|publish|want to|plan to|aim to)"
# Who somebody is, in the present: "Melanie, a friend of Vera's, has kids and a job", "Otto is from Orkney".
_WHO = r"^(?:The user|[A-Z][\w-]*(?: [A-Z][\w-]*)?(?:['’]s [\w -]{2,30}?)?)(?:, [^,]{2,40},)?"
_KIN = (
    r"(?:kids?|child(?:ren)?|sons?|daughters?|twins|brothers?|sisters?|siblings?|wife|husband|partner|dogs?|cats?|pets?"
    r"|guinea pigs?|horses?|job|degree|allerg\w+|diabetes|asthma)"
)
_STATE = re.compile(
    rf"{_WHO} (?:is (?:called|named|from|married|divorced|engaged|transgender|allergic|vegetarian|vegan)"
    rf"|has (?:[\w-]+ ){{0,2}}{_KIN}|has been .{{0,40}}\bfor \w+ years"
    r"|lives (?:in|at|on|with)|works (?:at|for|as|in)|comes from|studies|speaks|owns|volunteers|was born)\b"
    r"|^(?:The user|[A-Z][\w-]*)['’]s favou?rite\b"
)
_DECIDED = re.compile(
    r"^(?:(?:(?:We|The team|The user|Our team|They)(?:'ve| have| has)?|For [\w-]+,? we) )?"
    r"(?:decided|settled|agreed|chose)\b",
    re.I,
)
# How a thing is set: "The API timeout of Heron is 300 ms", "We deploy Heron every Monday".
_SET = re.compile(rf"^{_THING}{_IS}\b(?! (?:\w+ing|going|been)\b).*{_VALUE}|^{_WE_DO}\b.*{_VALUE}")
_RUN = re.compile(
    rf"^{_THING}(?:is|are) (?:run|built|deployed|started|tested|released|installed)"
    r" (?:with|by|through|via|using|from) \S"
    r"|\b(?:fixed|solved) (?:it|the|this|that)\b|\b(?:root cause|caused by)\b"
)
_BEGINS = re.compile(r"^\s*[-*+] (?:[^:“„«「\"]{1,40}: ?(?=[“„«「\"]))?")  # the bullet, and who says it


def lasting(line: str) -> bool:
    """Return whether a line of memory states who the user is, what was decided or found out, or how a thing is set."""
    text = without_said_on(_BEGINS.sub("", line)).strip(' "“”„«»「」')
    if len(text) > LONGEST:
        text = _CLAUSE.split(text, maxsplit=1)[0][:LONGEST]
    if _says_who(text) or _DECIDED.search(text) or cues.says("decides", text) or _RUN.search(text):
        return True
    is_set = _SET.search(text) is not None or cues.says("is_set", text)
    return is_set and not cues.says("past", text)


def _says_who(text: str) -> bool:
    """Return whether a line states who somebody is."""
    return cues.pattern("identity").match(text) is not None or _STATE.match(text) is not None


LINE = 40  # characters that a line costs beyond its own: a file is bound in lines as well as in bytes
SMALL = 5  # lines of a section that it keeps while there are others
POINTER_LINES, POINTER_BYTES = 2, 110  # at most, of the line that is left behind, with the blank one before it
_HEADING = re.compile(r"(#{1,6})\s")
_MOVED = re.compile(r"^- (\d+) older lines are in (memory/archive/\S+\.md)(?: to \S+\.md)?\s*$")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A file that fits, and the lines that moved out of it, by archive file."""

    text: str
    moved: tuple[str, ...]
    archive: str


def fit_budget(
    file: MemoryFile,
    before: str,
    text: str,
    keep: frozenset[str],
    settings: Settings,
    day: date,
    recent: Callable[[], Set[str]] = frozenset,
) -> Fitted | None:
    """Move out of `text` what tells least until it fits; None when it fits as it is.

    Headings that nothing stands below go first, and nothing is moved where that is enough. Other headings and lines
    in `keep` (a person's) stay where they are. List lines go before prose, `recent` ones, of the days before, only
    where there are no others, lines that this dream wrote only where they alone are too many, and what `lasting`
    tells (who the user is, decisions, values) last.
    """
    max_lines, max_bytes = settings.limits(file)
    here = text.splitlines(keepends=True)
    if _fits(here, (max_lines, max_bytes)):
        return None
    archive = f"memory/archive/{file.removeprefix('memory/').removesuffix('.md')}-{day:%Y-%m}.md"
    here = _without_empty(here, keep)
    if _fits(here, (max_lines, max_bytes)):
        return Fitted("".join(here), (), archive)
    room = max_lines - POINTER_LINES, max_bytes - POINTER_BYTES
    last = keep | {line.rstrip() for line in here if lasting(line)}
    new = set(added(before, text))
    moved = _move(here, room, last | new | recent())
    moved += _move(here, room, last | new)
    if _fits([line for line in here if not _may_go(line, keep)], room):
        moved += _move(here, room, last)
        moved += _move(here, room, keep)
        moved += _move(here, room, keep, prose=True)
    if not moved:
        return None
    return Fitted(_with_pointer("".join(here), len(moved), archive), tuple(moved), archive)


def archived(earlier: str, fitted: Fitted, day: date) -> str:
    """Return the archive file's text with the moved lines added under the day."""
    head = earlier if earlier.strip() else "# Moved out of memory\n"
    return f"{head.rstrip()}\n\n## {day.isoformat()}\n\n" + "\n".join(fitted.moved) + "\n"


def _without_empty(here: Sequence[str], keep: Set[str]) -> list[str]:
    """Return the lines without the headings that nothing stands below, and without two blank lines in a row."""
    kept: list[str] = []  # from the last line backwards
    below = ""  # the nearest line that is not blank
    for line in reversed(here):
        level = _level(line)
        if level > 1 and line.rstrip() not in keep and (not below or 0 < _level(below) <= level):
            continue
        kept.append(line)
        below = line if line.strip() else below
    kept.reverse()
    return [line for line, before in zip(kept, ["", *kept], strict=False) if line.strip() or before.strip()]


def _level(line: str) -> int:
    """Return the level of a heading, 0 for any other line."""
    match = _HEADING.match(line)
    return len(match[1]) if match else 0


def _fits(here: Sequence[str], room: tuple[int, int]) -> bool:
    return len(here) <= room[0] and _size(here) <= room[1]


def _size(here: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8")) for line in here)


def _move(here: list[str], room: tuple[int, int], stay: Set[str], *, prose: bool = False) -> list[str]:
    """Take list items, or with `prose` any line, out of `here` until it fits, each with its indented further lines."""
    order = _last_first(here, _sections(here, stay, prose=prose))
    lines, size = len(here), _size(here)
    gone: list[range] = []
    while (lines > room[0] or size > room[1]) and order:
        gone.append(order.pop(0))
        lines, size = lines - len(gone[-1]), size - _size(here[gone[-1].start : gone[-1].stop])
    moved = [here[place].rstrip() for item in sorted(gone, key=lambda item: item.start) for place in item]
    here[:] = _without(here, gone)
    return moved


def _without(here: Sequence[str], gone: Sequence[range]) -> list[str]:
    places = {place for item in gone for place in item}
    return [line for place, line in enumerate(here) if place not in places]


def _sections(here: Sequence[str], stay: Set[str], *, prose: bool) -> list[list[range]]:
    """Return the places of what may go from each section."""
    sections: list[list[range]] = [[]]
    for place, line in enumerate(here):
        if line.startswith("#"):
            sections.append([])
        elif _may_go(line, stay, item=None if prose else True):
            sections[-1].append(range(place, _end(here, place, stay)))
    return sections


def _last_first(here: Sequence[str], sections: Sequence[Sequence[range]]) -> list[range]:
    """Return the places of what may go, what tells least first, wherever it stands; of small sections last of all."""
    large = [item for section in sections if len(section) > SMALL for item in section]
    small = [item for section in sections if len(section) <= SMALL for item in section]
    return [*_best_first(here, large)[::-1], *_best_first(here, small)[::-1]]


def _end(here: Sequence[str], place: int, stay: Set[str]) -> int:
    end = place + 1
    while end < len(here) and here[end].startswith((" ", "\t")) and _may_go(here[end], stay, item=False):
        end += 1
    return end


def _best_first(here: Sequence[str], items: Sequence[range]) -> list[range]:
    """Return the places of what tells most first; of two that tell the same the later one."""
    items = items[::-1]
    inside = {place for item in items for place in item}
    beside = [line for place, line in enumerate(here) if place not in inside]
    texts = ["".join(here[item.start : item.stop]) for item in items]
    return [items[number] for number in ranked(texts, beside=beside, line=LINE)]


def _may_go(line: str, stay: Set[str], *, item: bool | None = None) -> bool:
    """Return whether `line` may leave; with `item`, only a list item, or only what is none."""
    fixed = not line.strip() or line.startswith("#") or line.rstrip() in stay or _MOVED.match(line)
    return not fixed and item in {None, line.lstrip().startswith(("- ", "* "))}


def _with_pointer(text: str, count: int, archive: str) -> str:
    """Leave one line that says where the moved ones are; what an earlier one told of is counted in it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first = archive
    kept: list[str] = []
    for line in text.splitlines():
        if earlier := _MOVED.match(line):
            count, first = count + int(earlier[1]), min(first, earlier[2])
            if kept and not kept[-1].strip():
                kept.pop()
        else:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    until = "" if first == archive else f" to {archive.rpartition('/')[2]}"
    return newline.join([*kept, "", f"- {count} older lines are in {first}{until}", ""])
