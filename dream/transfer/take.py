"""What other tools remember, held against memory, and taken in: entries of history, lines of files, one commit.

A line is nobody's word until the person accepts it. What memory has is not offered again; what says otherwise than
memory, a repository's own rules and what looks like something else than it is are accepted one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path

from dream import prompts
from dream.directory import Workspace
from dream.door import contents
from dream.dreaming import markup
from dream.errors import UsageError
from dream.memory import TEMPLATES, files_of, like
from dream.models import ALONE, IMPORT, EntryLine, Finding, MemoryFile, Message, NewEntry, Outcome, Proposal
from dream.redact import redact
from dream.settings import Settings
from dream.text import safe, tokens
from dream.text.alike import same_fact
from dream.text.words import content_words, is_hard, standing, without_bullet, without_said_on
from dream.transfer.formats import Remembered, read
from dream.transfer.tools import MemorySource
from dream.versions import CURSOR, log, read_all, transaction
from dream.workspace import files, review_files
from dream.workspace.lock import run_lock
from dream.workspace.places import Places

LARGEST = 5_000_000  # bytes of a file that is read
LONGEST = 2_000  # characters of a line: a fact, and no document
FEW = 2  # words that two lines must share beside their numbers to be about the same
USUAL: Mapping[MemoryFile, str] = {"SOUL.md": "## Rules", "USER.md": "## Person", "memory/MEMORY.md": "## Facts"}
_SESSION = re.compile(r"import:(?P<batch>b-[0-9a-f]{8}):(?P<tool>[^:]+):(?P<path>.+)", re.DOTALL)
_FILES: Mapping[str, MemoryFile] = {"SOUL": "SOUL.md", "USER": "USER.md", "MEMORY": "memory/MEMORY.md"}


@dataclass(frozen=True, slots=True)
class Offer:
    """One line that a tool remembers and memory doesn't.

    `file` is where it goes: one of the three, or of the place of `folder`, or `place`, that is a known one's name.
    `instead` is the line of memory that it contradicts and whose place it takes; without a `text` that line goes, for
    the source has it no longer. `alone` says why it is accepted by itself; "" where it may go with others. `row` is the
    line as it is written.
    """

    source: MemorySource
    text: str
    file: MemoryFile
    headings: tuple[str, ...] = ()
    day: date | None = None
    folder: str = ""
    place: str = ""
    instead: str = ""
    alone: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What a file holds: its offers, and how many of its lines are none, by the reason."""

    source: MemorySource
    day: date
    lines: int
    offers: tuple[Offer, ...]
    left: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did: its batch, its commit, the entries, and the numbers of what waits in review."""

    batch: str = ""
    sha: str | None = None
    entries: tuple[int, int] | None = None
    accepted: int = 0
    held: tuple[int, ...] = ()


def look(workspace: Workspace, sources: Iterable[MemorySource], settings: Settings, home: Path) -> list[FoundFile]:
    """Read `sources` and hold each line against memory; nothing is written, and no source is ever."""
    known = _MemoryHeld(workspace, home)
    return [_file(source, known, settings) for source in sources]


def take(
    workspace: Workspace, accepted: Sequence[Offer], held: Sequence[Offer], *, settings: Settings, now: datetime
) -> Taken:
    """Take in what a person accepted and propose the rest for review, in one commit with a batch id of its own.

    Raises Busy and what a commit raises; then memory is as it was.
    """
    if not accepted and not held:
        return Taken()
    with run_lock(workspace.private, "dream import", now=now):
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        found: dict[str, bytes | None] = {**read_all(workspace.root)}
        batch = log.new_batch()
        places = _PlaceFiles(workspace)
        accepted, held = ([places.settled(one) for one in offers] for offers in (accepted, held))
        # 1. Each line is an entry: the person's own word once they accepted it, until then nobody's.
        entries = workspace.history.append(
            [_entry(one, batch, places) for one in accepted] + [_entry(one, batch, places, held=True) for one in held],
            now=now,
        )
        cursors = [entry.cursor for entry in entries]
        # 2. What is accepted stands in its file, under the heading that it had.
        texts: dict[MemoryFile, str] = {}
        for one in accepted:
            text = texts.get(one.file) or files.decode(found.get(one.file) or b"", workspace.root / one.file)
            texts[one.file] = placed(text, one.file, one.headings, one.row, one.instead)
        # 3. What is not waits for review.
        numbers = review_files.ProposalNumbers(workspace.git, workspace.private)
        pending = workspace.pending()
        waiting = _proposals(held, cursors[len(accepted) :], numbers.last(pending), batch, now)
        numbers.given(waiting)
        changes: dict[str, bytes | None] = {file: text.encode("utf-8") for file, text in texts.items()}
        if waiting:
            changes[review_files.PENDING] = review_files.render_pending([*pending, *waiting])
        if workspace.dream_cursor() == cursors[0] - 1:  # nobody has to dream what is decided
            changes[CURSOR] = b"%d\n" % cursors[-1]
        outcomes = [
            Outcome(_finding(one, at), "applied", "imported") for one, at in zip(accepted, cursors, strict=False)
        ]
        note = f"(imported from {_names(one.source for one in (*accepted, *held))})"
        message = partial(log.build, "dream", outcomes=outcomes, note=note, trailers={log.BATCH: batch})
        done = transaction.commit(workspace, changes, expected=found, message=message, now=now)
        numbered = tuple(one.id for one in waiting)
        return Taken(batch, done.sha, (cursors[0], cursors[-1]), len(accepted), numbered)


def imported_from(workspace: Workspace, home: Path) -> list[Path]:
    """Return the files that lines were taken in from."""
    found = {match["path"] for entry in _entries(workspace) if (match := _SESSION.fullmatch(entry[0]))}
    return [home / path[2:] if path.startswith("~/") else Path(path) for path in sorted(found)]


def placed(text: str, file: MemoryFile, headings: Sequence[str], row: str, instead: str = "") -> str:
    """Return a file with a line at the end of the section that it belongs to, or in the place of another line.

    A section that is missing is made; an empty `row` takes the other one out.
    """
    rows = text.rstrip("\n").split("\n") if text.strip() else TEMPLATES[like(file)].decode().split("\n")[:1]
    if instead and instead in rows:
        at = rows.index(instead)
        rows[at : at + 1] = [row] if row else []
        return "\n".join(rows) + "\n"
    if not row:
        return text
    start, end = 0, len(rows)
    for heading in headings or (USUAL[like(file)],):
        wanted = heading if heading in rows[start:end] else standing(rows[start:end], heading.lstrip("# ")) or heading
        if wanted not in rows[start:end]:
            at = _last(rows, start, end)
            rows[at:at] = ["", heading]
            end += 2
            wanted, start = heading, at
        start = rows.index(wanted, start) + 1
        level = len(heading) - len(heading.lstrip("#"))
        end = next((n for n in range(start, end) if re.match(rf"#{{1,{level}}} ", rows[n])), end)
    stop = next((n for n in range(start, end) if re.match(r"#{1,6} ", rows[n])), end)
    if row not in rows[start:stop]:
        rows.insert(_last(rows, start, stop), row)
    return "\n".join(rows) + "\n"


def _last(rows: Sequence[str], start: int, end: int) -> int:
    """Return the row after the last one of a section that is not empty."""
    while end > start and not rows[end - 1].strip():
        end -= 1
    return end


# What is offered.


class _MemoryHeld:
    """What memory has, had and refused, read once for all files of an import."""

    def __init__(self, workspace: Workspace, home: Path) -> None:
        self.home = home
        self.lines = {
            file: [row for row in workspace.read_file(file).splitlines() if row.strip() and not row.startswith("#")]
            for file in workspace.files()
        }
        self.rejected = [one for one in workspace.rejected() if not one.removal]
        self.waiting = {_plain(row) for one in workspace.pending() for row in one.new_text.splitlines()}
        self.places = {path: place.name for place in _places(workspace, home).all() for path in place.paths}
        self.before: dict[str, set[str]] = {}
        standing = {one.batch for one in reversed(workspace.git.log()) if one.batch} if workspace.git.exists else set()
        gone = {one.batch for one in workspace.git.log(kind="restore")} if standing else set()
        for session, text in _entries(workspace):
            match = _SESSION.fullmatch(session)
            if match and match["batch"] in standing - gone:
                self.before.setdefault(match["path"], set()).add(_plain(text))
        self.seen: dict[tuple[str, MemoryFile, str], tuple[Path, tuple[str, ...]]] = {}

    def beside(self, file: MemoryFile, folder: str) -> list[tuple[MemoryFile, str]]:
        """Return the lines that a line of `file` may double or contradict: everywhere's, and its place's."""
        place = self.places.get(folder, "")
        return [(name, row) for name in (*_FILES.values(), *files_of(place)) for row in self.lines.get(name, ())]


def _places(workspace: Workspace, home: Path) -> Places:
    return Places(workspace.root, workspace.private, home)


def _entries(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the session and the text of every entry that an import made."""
    yield from ((one.session or "", one.content) for one in workspace.history.of(_SESSION))


def _file(source: MemorySource, known: _MemoryHeld, settings: Settings) -> FoundFile:
    path = source.path.resolve()
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone().date()
    if path.stat().st_size > LARGEST:
        return FoundFile(source, day, 0, (), {}, f"{source.path} has more than {LARGEST:,} bytes and is not read.")
    try:
        found = read(source.path, contents(path))
    except OSError as fault:
        return FoundFile(source, day, 0, (), {}, f"{source.path} can't be read: {files.reason(fault)}.")
    except UsageError as fault:
        return FoundFile(source, day, 0, (), {}, str(fault))
    if source.tool == "file" and found.format != "markdown":
        source = replace(source, tool=found.format.partition(" ")[0])
    left = Counter({"left unfilled in a template": found.placeholders} if found.placeholders else {})
    left.update({f"left out: {why}": 1 for why in found.left_out})
    offers: list[Offer] = []
    now: set[str] = set()
    for statement in found.statements:
        offer, why = _offer(source, statement, day, known, settings)
        now.add(_plain(offer.text))
        if why:
            left[why] += 1
        else:
            offers.append(offer)
    replaced = {offer.instead for offer in offers}
    offers += [one for one in _gone(source, known, now) if one.instead not in replaced]
    return FoundFile(source, day, len(found.statements), tuple(sorted(offers, key=_rules_first)), dict(left))


def _rules_first(offer: Offer) -> bool:
    return like(offer.file) != "SOUL.md"


def _offer(
    source: MemorySource, said: Remembered, day: date, known: _MemoryHeld, settings: Settings
) -> tuple[Offer, str]:
    """Return what a statement offers, and why it is none, or ""."""
    headings = tuple(filter(None, (_heading(one, settings) for one in said.headings)))
    if source.own and headings:  # what stands in a heading is accepted too, so it has to be seen
        said, headings = replace(said, text=f"{headings[-1].lstrip('# ')}: {said.text}"), ()
    hidden = safe.problems(said.text)
    row, secrets = redact(safe.clean(said.row or f"- {said.text}").replace("\n", " "), settings.redact_patterns)
    text = without_bullet(row).strip()
    kind = said.file if said.file in _FILES else source.file or "USER"
    folder = source.folder if kind != "USER" else ""
    file = _FILES[kind]
    flaw = markup.flaw(f"- {text}", frozenset(one[0].rstrip(markup.AFTER_URL) for one in markup.URL.finditer(text)))
    alone = [f"is of {Path(source.folder).name}'s own files, which others may write"] if source.own else []
    alone += [f"holds {', '.join(hidden)}"] if hidden else []
    alone += [flaw.reason] if flaw else []
    alone += ["held a secret, which is left out"] if secrets else []
    offer = Offer(source, text, file, headings, said.day or day, folder, said.place, "", "; ".join(alone), row)
    beside = known.beside(file, folder)
    key = (_plain(text), file, folder or said.place)
    if not content_words(text):
        return offer, "without a word"
    if len(text) > LONGEST:
        return offer, f"longer than {LONGEST:,} characters"
    if any(_plain(row) == _plain(text) or (like(name) == file and same_fact(row, text)) for name, row in beside):
        return offer, "in memory already"
    before = known.seen.get(key)
    elsewhere = before is not None and before[0] != source.path and not said.row
    if before and (elsewhere or before[1] == headings):  # one file, or an export, may say it in two sections
        return offer, "said twice"
    if _plain(text) in known.waiting:
        return offer, "waiting in review"
    if _plain(text) in known.before.get(shown(source.path, known.home), ()):
        return offer, "taken in before, and changed in memory since"
    if any(same_fact(one.text, text) for one in known.rejected):
        return offer, "taken back by you"
    known.seen[key] = source.path, headings
    other = next(((name, row) for name, row in beside if _contradicts(row, text)), None)
    if other is not None:
        why = "; ".join([f"contradicts memory: {without_bullet(other[1]).strip()}", *alone])
        offer = replace(offer, file=other[0], folder="", instead=other[1], alone=why)
    return offer, ""


def _heading(heading: str, settings: Settings) -> str:
    """Return a heading as it may be written: one line without secrets; "" for what is none."""
    line, _ = redact(safe.clean(heading).rstrip(), settings.redact_patterns)
    return line if re.fullmatch(r"#{2,6} [^#].{0,79}", line) and not markup.flaw(line.lstrip("# ")) else ""


def _gone(source: MemorySource, known: _MemoryHeld, now: Collection[str]) -> Iterator[Offer]:
    """Yield a removal for each line that was taken in from a file, stands in memory as it was, and is gone there."""
    for text in sorted(known.before.get(shown(source.path, known.home), set()) - set(now)):
        for file, rows in known.lines.items():
            for row in rows:
                if _plain(row) == text:
                    why = f"is no longer in {source.path.name}"
                    yield Offer(source, "", file, instead=row, alone=why)


def _contradicts(row: str, text: str) -> bool:
    """Return whether two lines have one subject and another value: `editor: vim`, or the same words but for numbers."""
    (first, one), (second, other) = (_subject(without_said_on(without_bullet(line))) for line in (row, text))
    return bool(first) and first == second and bool(one) and bool(other) and one != other


def _subject(text: str) -> tuple[frozenset[str], frozenset[str]]:
    name, colon, value = text.replace("**", "").partition(":")
    if colon and value[:1].isspace():
        return content_words(name), content_words(value)
    words = content_words(text)
    hard = frozenset(filter(is_hard, words))
    return (words - hard, hard) if len(words - hard) >= FEW else (frozenset(), hard)


def _plain(text: str) -> str:
    return " ".join(without_bullet(text).split()).casefold()


def shown(path: Path, home: Path) -> str:
    """Return a path as it is shown and kept: below the home directory with `~`."""
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


# What is taken in.


class _PlaceFiles:
    """The places of lines: those that are known, and those that are noted now."""

    def __init__(self, workspace: Workspace) -> None:
        self._places = _places(workspace, Path.home())

    def settled(self, offer: Offer) -> Offer:
        """Return an offer with the file of its place."""
        if not offer.folder and not offer.place:
            return offer
        if offer.file == "USER.md":
            return replace(offer, place="")
        if offer.folder:
            ident = self._places.of(Message("user", "", cwd=offer.folder))
        else:
            ident = self._places.of_name(offer.place)
        name = next((one.name for one in self._places.all() if one.id == ident), "")
        if not name:
            return replace(offer, place="")
        of_place = next(file for file in files_of(name) if like(file) == like(offer.file))
        return replace(offer, file=of_place, place=name)

    def id_of(self, name: str) -> str:
        """Return the id of a place by its name."""
        return next((one.id for one in self._places.all() if one.name == name), "")


def _entry(offer: Offer, batch: str, places: _PlaceFiles, *, held: bool = False) -> NewEntry:
    text = offer.text or f"[gone] {without_bullet(offer.instead).strip()}"
    said = datetime.combine(offer.day, time(12), UTC) if offer.day else None
    session = f"import:{batch}:{offer.source.tool}:{shown(offer.source.path, Path.home())}"
    line = EntryLine(voice=None if held else "user")
    lines = (line,) * (text.count("\n") + 1)
    place = places.id_of(offer.place) if offer.place else ""
    return NewEntry("note", text, session, tokens=tokens.estimate(text), said=said, lines=lines, place=place)


def _finding(offer: Offer, cursor: int) -> Finding:
    heading = offer.headings[-1].lstrip("# ") if offer.headings else ""
    text = offer.text or without_bullet(offer.instead).strip()
    return Finding(offer.file, text, (cursor,), remove=not offer.text, heading=heading, line=offer.instead)


def _proposals(held: Sequence[Offer], cursors: Sequence[int], last: int, batch: str, now: datetime) -> list[Proposal]:
    """Return what waits: a proposal for the lines of a file that go together, and one for each that doesn't."""
    together: dict[tuple[object, ...], list[tuple[Offer, int]]] = {}
    for number, (one, cursor) in enumerate(zip(held, cursors, strict=True)):
        together.setdefault((one.source, one.file, one.alone and number), []).append((one, cursor))
    made: list[Proposal] = []
    for number, rows in enumerate(together.values(), last + 1):
        first = rows[0][0]
        tool = "somebody" if first.source.tool == "file" else first.source.tool
        reason = f"{tool} remembers it in {shown(first.source.path, Path.home())}"
        reason = reason if first.text else f"it was taken in from {shown(first.source.path, Path.home())}"
        made.append(
            Proposal(
                id=number,
                at=now,
                file=first.file,
                old_text=f"{first.instead}\n" if first.instead else "",
                new_text="".join(f"{one.row}\n" for one, _ in rows if one.row),
                guard=ALONE if first.alone else IMPORT,
                reason=f"{reason}; {first.alone}" if first.alone else reason,
                findings=tuple(prompts.finding(_finding(one, cursor)) for one, cursor in rows),
                entries=tuple(cursor for _, cursor in rows),
                batch=batch,
            )
        )
    return made


def _names(sources: Iterable[MemorySource]) -> str:
    names = list(dict.fromkeys(one.tool if one.tool != "file" else one.path.name for one in sources))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
