"""What memory, history and messages say of a question. Here are hits: what was found, how it is cited and shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from dream.errors import NothingThere, UsageError
from dream.recall.search_index import caught_up
from dream.text.safe import mend_surrogates, shortened
from dream.text.words import is_hard, without_said_on

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.history.messages import KeptMessage
    from dream.models import Entry
    from dream.recall.then import Then
    from dream.workspace.places import Scope

HitKind = Literal["memory", "history", "message"]
KINDS: tuple[HitKind, ...] = ("memory", "history", "message")

MACHINES = "machines"  # folder in memory/ with the history of other machines
CALL = "→ "  # how a line with an agent's tool call begins
LISTED = 300  # characters of a hit's text in a list
TWICE = 0.8  # share of a hit's words found in an earlier hit, from which it is a repetition
LONGEST = 80  # characters of a citation that an error repeats
WORDS = 64  # of a query that are marked in a text

_MEMORY_CITE = re.compile(
    r"(?:memory/)?(?P<file>[\w.-]+\.md|archive/[\w.-]+\.md|places/[\w-]+/(?:SOUL|MEMORY)\.md):(?P<line>\d+)"
)
_OWN = ("SOUL.md", "USER.md", "MEMORY.md")  # in whatever capitals they are named
_ENTRY_CITE = re.compile(r"history:(?:(?P<machine>[a-z0-9-]+):)?(?P<cursor>\d+)")
_MESSAGE_CITE = re.compile(r"(?P<session>.+)#(?P<position>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found. `cite` opens it: `USER.md:12`, `history:42`, `claude-code:6f1e#118`.

    `until` is the day on which it ceased to hold, where a dream has replaced or removed what it says.
    """

    kind: HitKind
    text: str
    when: datetime | None
    session: str | None
    speaker: str | None
    cite: str
    score: float
    until: date | None = None
    place: str = ""  # its name where it is shown, else its id; "" for nowhere in particular


def get(workspace: Workspace, citation: str, *, around: int = 0, scope: Scope | None = None) -> list[Hit]:
    """Open a citation, with `around` neighbours on each side, in their order; what `scope` may be given of it.

    Raises UsageError where it is none, and NothingThere, with what is nearest, where nothing is there.
    """
    if scope is None or scope.every:
        return _opened(workspace, citation, around, names_others=True)
    lines = {place for place, _ in memory_lines(workspace, scope=scope)}

    def given(hit: Hit) -> bool:
        return hit.cite in lines if hit.kind == "memory" else scope.holds(hit.place)

    if not any(map(given, _opened(workspace, citation, 0, names_others=False))):
        raise UsageError(f"{shortened(citation, LONGEST)!r} is of another place.")
    return list(filter(given, _opened(workspace, citation, around, names_others=False)))


def _opened(workspace: Workspace, citation: str, around: int, *, names_others: bool) -> list[Hit]:
    nearest = ""
    citation = mend_surrogates(citation).strip()
    if citation.startswith("[") and citation.endswith("]"):  # as a context and a tool show it
        citation = citation[1:-1]
    shown = citation if len(citation) <= LONGEST else f"{citation[:LONGEST]}…"
    if match := _ENTRY_CITE.fullmatch(citation):
        cursor = int(match["cursor"])
        if found := _entries(workspace, match["machine"], cursor, around):
            return found
        last = workspace.history.last_cursor()
        nearest = f"history:{max(1, min(cursor, last))}" if last else ""
    elif match := _MEMORY_CITE.fullmatch(citation):
        name = next((own for own in _OWN if own.lower() == match["file"].lower()), match["file"])
        lines = _file_lines(workspace, name)
        at = int(match["line"])
        if 1 <= at <= len(lines):
            near = range(max(1, at - around), min(len(lines), at + around) + 1)
            return [Hit("memory", lines[n - 1], None, None, None, f"{name}:{n}", 0.0) for n in near]
        nearest = f"{name}:{max(1, min(at, len(lines)))}" if lines else ""
    elif match := _MESSAGE_CITE.fullmatch(citation):
        session, at = match["session"], int(match["position"])
        found = talk(workspace, session, at - around, at + around)
        if any(hit.cite.startswith(session) and hit.cite.endswith(f"#{at}") for hit in found):
            return found
        nearest = _nearest_message(workspace, session, at)
    else:
        raise UsageError(f"{shown!r} is no citation; they look like USER.md:12, history:42 or claude-code:6f1e#118.")
    raise NothingThere(
        f"Nothing stands at {shown} (any more).{f' The nearest is {nearest}.' if nearest and names_others else ''}"
    )


def _entries(workspace: Workspace, machine: str | None, cursor: int, around: int) -> list[Hit]:
    """Return an entry with its neighbours, of this machine or of the one that is named; [] where it is not there."""
    if machine:
        from dream.recall import others  # most workspaces are on one machine

        return others.entry(workspace, machine, cursor, around)
    entries = workspace.history.between(cursor - around, cursor + around)
    return [of_entry(entry) for entry in entries] if any(entry.cursor == cursor for entry in entries) else []


def _nearest_message(workspace: Workspace, session: str, at: int) -> str:
    """Return the citation of the message that is kept nearest to a position, of the session named most like it."""
    from difflib import get_close_matches

    ends = workspace.history.positions()
    like = session if session in ends else next(iter(get_close_matches(session, ends, 1)), "")
    end = ends.get(like, 0)
    return f"{like}#{max(0, min(at, end - 1))}" if end else ""


def memory_lines(
    workspace: Workspace, then: Then | None = None, scope: Scope | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the lines of the memory files and of their archive, each after its citation, without headings.

    With `then` they are as they were; with a `scope` those that may be given there.
    """
    from dream.memory import TEMPLATES
    from dream.versions import is_memory

    began = {line for text in TEMPLATES.values() for line in text.decode("utf-8").splitlines()}
    if then is not None:
        texts = [(path.removeprefix("memory/"), then.text(path).splitlines()) for path in then.files if is_memory(path)]
    else:
        names = (*(name.removeprefix("memory/") for name in workspace.files()), *_archived(workspace))
        texts = [(name, _file_lines(workspace, name)) for name in names]
    for name, rows in texts:
        for number, line in enumerate(scope.text(name, "\n".join(rows)).split("\n") if scope else rows, 1):
            if line.strip() and not line.startswith("#") and line not in began:
                yield f"{name}:{number}", line


def _archived(workspace: Workspace) -> list[str]:
    folder = workspace.memory / "archive"
    return [f"archive/{path.name}" for path in sorted(folder.glob("*.md"))] if folder.is_dir() else []


def _file_lines(workspace: Workspace, name: str) -> list[str]:
    from dream.memory import memory_file
    from dream.workspace.files import read_bytes

    whole = None if name.startswith("archive/") else memory_file(name)
    if whole is not None:
        return workspace.read_file(whole).splitlines()
    path = workspace.memory / name
    if name not in _archived(workspace):
        return []
    return (read_bytes(path) or b"").decode("utf-8", "replace").splitlines()


def spoken(text: str) -> str:
    """Return a message's text in one line, without the lines of an agent's tool calls."""
    return " ".join(" ".join(line for line in text.splitlines() if not line.startswith(CALL)).split())


def is_told(words: frozenset[str], known: frozenset[str]) -> bool:
    """Return whether most of a text's words are in `known`, and all its numbers, days and negations."""
    return len(words & known) >= TWICE * len(words) and not any(map(is_hard, words - known))


def as_line(hit: Hit, text: str) -> str:
    """Return a hit as one line of a list: who said `text`, its own or a part of it, when, and the citation."""
    when = f" ({hit.when:%-d %B %Y})" if hit.when and without_said_on(text) == text else ""
    return f"- {hit.speaker + ': ' if hit.speaker else ''}{text}{when}{no_longer(hit)} [{hit.cite}]"


def no_longer(hit: Hit) -> str:
    """Return the mark of a hit that no longer holds."""
    return f" (until {hit.until:%-d %B %Y})" if hit.until else ""


def excerpt(text: str, query: str) -> str:
    """Return as much of a long text as a list shows: the passage with most words of the query."""
    return window(text, words_of(query), LISTED)


def window(text: str, wanted: re.Pattern[str], size: int) -> str:
    """Return at most `size` characters of a text, around the passage with most of the wanted words."""
    if len(text) <= size:
        return text
    found = [(one.start(), one[0].lower()) for one in wanted.finditer(text)]
    lead = size // 3

    def held(start: int) -> int:
        return len({word for at, word in found if start <= at < start + size - lead})

    best = max((at for at, _ in found), key=held, default=0)
    start = max(0, best - lead)
    if start:  # at the beginning of a word
        start = max(start, text.find(" ", start, best) + 1)
    return ("…" if start else "") + shortened(text[start:].strip(), size)


def words_of(query: str) -> re.Pattern[str]:
    """Return a pattern that finds the words of a query in a text, at the beginning of a word."""
    found = [re.escape(word) for word in re.findall(r"[^\W_]{3,}", query)[:WORDS]]
    return re.compile(rf"\b(?:{'|'.join(found)})" if found else r"(?!)", re.IGNORECASE)


def cite(said: KeptMessage) -> str:
    """Return the citation of a message."""
    return f"{said.session}#{said.position}"


def of_message(said: KeptMessage, score: float = 0.0) -> Hit:
    """Return a message as a hit."""
    return Hit("message", said.text, said.at, said.session, said.name or said.role, cite(said), score, place=said.place)


def of_entry(entry: Entry) -> Hit:
    """Return an entry of history as a hit."""
    who = "agent" if entry.by_agent else None
    return Hit(
        "history", entry.content, entry.when, entry.session, who, f"history:{entry.cursor}", 0.0, place=entry.place
    )


def talk(workspace: Workspace, session: str, first: int, last: int) -> list[Hit]:
    """Return the messages of a session that are kept, from position `first` to `last`, both included, in order."""
    with caught_up(workspace.history) as index:
        found = [said for one in index.between(session, first, last) if (said := index.said(one)) is not None]
    if not found and (workspace.memory / MACHINES).is_dir():
        from dream.recall import others

        return others.talk(workspace, session, first, last)
    return [of_message(said) for said in found]
