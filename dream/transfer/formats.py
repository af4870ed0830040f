"""What other tools remember, read line by line: Markdown with its habits, and JSON exports. Pure.

A reader gives statements: one line each, under the headings it had, with its day where it names one. What a template
asks for and nobody filled in, what only leads elsewhere, and memory of our own in a block are no statements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from dream.errors import UsageError
from dream.memory import like, memory_file, place_of, tag
from dream.text.words import without_bullet

SHORT_CODE = 300  # characters of a code block that a line takes along; a longer one is no line of memory
LEAD = 100  # characters of what announces a list
WHOLE = 600  # characters of a memory file of one fact that is taken in as one line

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^[ \t]*([\w-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_OURS = re.compile(r"<dream-memory\b[^<>]*>.*?(?:</dream-memory>|\Z)", re.DOTALL | re.IGNORECASE)
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_FILE = re.compile(r"\s*dream: (\S+)\s*")  # in a comment of ours, before each file of an export
_OBSERVED = re.compile(r"\s*observed: (\d{4}-\d\d-\d\d) \| status: (\w+)\s*")  # OpenClaw's, before a line of USER.md
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•–]|\d{1,3}[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)$")
_EMPTY_ITEM = re.compile(r"[ \t]*[-*+•][ \t]*$")
_RULE = re.compile(r"[ \t]*([-*_=])(?:[ \t]*\1){2,}[ \t]*$|[ \t]*§[ \t]*$")  # § parts the entries of Hermes
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_ROW = re.compile(r"[ \t]*\|(.*)\|[ \t]*$")
_INCLUDE = re.compile(r"@[\w~./-]\S*$")  # Claude Code's and Gemini's way to read another file too
_POINTER = re.compile(r"\[[^\]]*\]\((?!\w+:)[^)]*\.md\)")  # to another file of the same memory
_DAY = re.compile(r"\[(\d{4}-\d\d-\d\d)(?:[T ][\d:.]+Z?)?\][ \t]*[-–—:]?[ \t]*(?=\S)")  # as Claude's export has it
_KEYED = re.compile(r"\*{0,2}[^:*]{1,60}:\*{0,2}[ \t]*$|\*{2}[^:*]{1,60}\*{2}:?[ \t]*$")
_BRACKETED = re.compile(r"[_*]{0,2}[(<\[].*[)>\]][_*]{0,2}[.]?")
_FOOTNOTE = re.compile(r"\[\^[\w-]+\]")
_NOTED = re.compile(r"\[\^[\w-]+\]:")
_ADDED = "## Gemini Added Memories"  # below it Gemini CLI keeps what it was told about the user
_OBSERVATION = re.compile(r"\[([\w -]{1,40})\][ \t]+(.*)")  # basic-memory's "- [category] content"
_RELATION = re.compile(r"[\w -]{1,60}[ \t]+\[\[[^\]]*\]\].*")  # and its "- relates_to [[Other note]]"
_TEXTS = ("memory", "text", "content", "value", "fact", "summary")
_DAYS = ("updated_at", "updatedAt", "created_at", "createdAt", "timestamp", "date", "day", "last_updated")
_TALKS = frozenset(("role", "mapping", "chat_messages", "messages", "sender"))
_LABELS = {"human": "USER", "persona": "SOUL"}  # of Letta's blocks
_FORMATS: tuple[tuple[str, frozenset[str]], ...] = (
    ("dream", frozenset(("dream_memory",))),
    ("claude", frozenset(("conversations_memory",))),
    ("claude", frozenset(("project_memories",))),
    ("supermemory", frozenset(("memoryEntries",))),
    ("supermemory", frozenset(("customId", "createdAt"))),
    ("letta", frozenset(("label", "value"))),
    ("mcp-memory", frozenset(("observations",))),
    ("mem0", frozenset(("memory", "created_at"))),
    ("mem0", frozenset(("memory", "hash"))),
)


@dataclass(frozen=True, slots=True)
class Remembered:
    """One line of what a tool remembers.

    `file` is SOUL, USER or MEMORY where the source says which, else ""; `place` is the name of a place of an export of
    ours. `headings` are those it stands below, `## Rules` and deeper, as they are written. `row` is the line of an
    export of ours, as it is.
    """

    text: str
    headings: tuple[str, ...] = ()
    day: date | None = None
    file: str = ""
    place: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True)
class ReadMemory:
    """What was read of one file: its statements, and how many lines a template asks for and nobody filled in."""

    format: str
    statements: tuple[Remembered, ...]
    placeholders: int = 0
    left_out: tuple[str, ...] = ()  # sentences: what else is no line of memory


def read(path: Path, data: bytes) -> ReadMemory:
    """Read a file of any known format. Raises UsageError for what is no memory: a transcript, or no text."""
    try:
        return _read(path, data)
    except RecursionError as fault:
        raise UsageError(f"{path} is nested too deeply to be read as somebody's memory.") from fault


def _read(path: Path, data: bytes) -> ReadMemory:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeError as fault:
        raise UsageError(f"{path} is not UTF-8 text, so it can't be read as somebody's memory.") from fault
    if "\0" in text:
        raise UsageError(f"{path} is no text, so it can't be read as somebody's memory.")
    if path.suffix.lower() in (".json", ".jsonl", ".af") or text.lstrip()[:2] in ('{"', "[{", '["', "{\n", "[\n"):
        return _json(path, text)
    return _markdown(path, text)


# Markdown: bullets, paragraphs and rows of a table, one statement each, with what announces them.


def _markdown(path: Path, text: str) -> ReadMemory:
    if text.startswith("<!-- dream: "):
        return ReadMemory("dream", tuple(_own_rows(text)))
    front, body = _front_matter(text)
    kind = _kind(path, front, body)
    described = path.stem in ("SOUL", "USER", "MEMORY", "IDENTITY") and "\n## " in body
    siblings = kind in ("claude-code memory", "okf") or path.name == "MEMORY.md"
    gather = _Markdown(siblings=siblings, described=described, listed=path.suffix == ".txt")
    statements = list(gather.read(body))
    if kind == "okf" and "dream_file" in front:
        title = tuple(re.findall(r'"(#{2,6} (?:[^"\\]|\\.)*)"', front.get("dream_headings", "")))
        title = tuple(json.loads(f'"{one}"') for one in title)
        body = _FOOTNOTE.sub("", body.partition("\n[^")[0])
        statements = [replace(one, headings=title) for one in _own_rows(f"<!-- dream: {front['dream_file']} -->{body}")]
    elif kind == "claude-code memory":
        file = {"user": "USER", "feedback": "SOUL"}.get(front["type"], "MEMORY")
        whole = " ".join(one.text for one in statements)
        if len(whole) <= WHOLE and not any(one.headings for one in statements):
            statements = [Remembered(whole)] if whole else []  # why and how stand beside the fact
        statements = [replace(one, file=file) for one in statements]
    elif kind == "basic-memory":
        statements = [one for one in map(_observed, statements) if one is not None]
    else:
        statements = [replace(one, file="USER", headings=()) if _ADDED in one.headings else one for one in statements]
    day = _day(front.get("timestamp") or front.get("at") or front.get("modified") or front.get("date") or "")
    statements = [one if one.day or day is None else replace(one, day=day) for one in statements]
    return ReadMemory(kind, tuple(statements), gather.placeholders, tuple(gather.left_out))


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    fields = {name: value.strip("\"'") for name, value in _FIELD.findall(found[1])}
    if generated := re.search(r"\bat:\s*([\d-]{10})", fields.get("generated", "")):
        fields.setdefault("at", generated[1])
    return fields, text[found.end() :]


def _kind(path: Path, front: Mapping[str, str], body: str) -> str:
    if front.get("type") in ("user", "feedback", "project", "reference"):
        return "claude-code memory"
    if "permalink" in front:
        return "basic-memory"
    if front.get("type") or (path.name == "index.md" and front.get("okf_version")):
        return "okf"
    if path.suffix == ".mdc":
        return "cursor"
    return "hermes" if "\n§\n" in body else "markdown"


def _observed(one: Remembered) -> Remembered | None:
    """Return an observation of basic-memory's without its category in brackets; None for a relation."""
    if _RELATION.fullmatch(one.text):
        return None
    found = _OBSERVATION.match(one.text)
    return replace(one, text=found[2]) if found else one


def _own_rows(text: str) -> Iterator[Remembered]:
    """Yield the lines of an export of ours, as they are."""
    file = place = ""
    headings: list[str] = []
    for row in text.split("\n"):
        if comment := _COMMENT.match(row):
            named = _FILE.fullmatch(comment[1])
            file, place = _named(named[1]) if named else (file, place)
            headings = []
        elif heading := _HEADING.match(row):
            kept = [one for one in headings if len(one.partition(" ")[0]) < len(heading[1])]
            headings = [*kept, row] if len(heading[1]) > 1 else []
        elif row.strip():
            yield Remembered(without_bullet(row).strip(), tuple(headings), None, file, place, row)


class _Markdown:
    """Reads one document; counts what is no statement."""

    def __init__(self, *, siblings: bool = False, described: bool = False, listed: bool = False) -> None:
        self.placeholders = 0
        self.left_out: list[str] = []
        self._siblings = siblings  # files beside it say what its links point at
        self._described = described  # what stands below its title says what the file is for
        self._listed = listed  # each line is one statement
        self._headings: list[str] = []
        self._leads: list[tuple[int, str]] = []  # what announces the items below it, by their indent
        self._taken: list[str] = []  # the code block that went with the line above it
        self._day: date | None = None
        self._superseded = False

    def read(self, body: str) -> Iterator[Remembered]:
        """Yield the statements of a document."""
        body = _OURS.sub("", body)
        rows = _COMMENT.sub(lambda found: f"\n<!--{' '.join(found[1].split())}-->\n", body).split("\n")
        fences = [number for number, row in enumerate(rows) if _FENCE.match(row)]
        outside = [row for row in _outside(rows) if row.strip() and not _FENCE.match(row) and not _HEADING.match(row)]
        if len(fences) == 2 and len(outside) <= 2:  # a list that was asked for "in a single code block"
            rows, self._listed = rows[fences[0] + 1 : fences[1]], True
        blocks = list(_blocks(rows))
        for number, block in enumerate(blocks):
            below = blocks[number + 1] if number + 1 < len(blocks) else []
            yield from self._block(block, below)

    def _block(self, block: list[str], below: list[str]) -> Iterator[Remembered]:
        first = block[0]
        if first.startswith("<!--"):
            self._comment(first.removeprefix("<!--").removesuffix("-->"))
        elif heading := _HEADING.match(first):
            level = len(heading[1])
            kept = [one for one in self._headings if len(one.partition(" ")[0]) < level]
            self._headings = [*kept, f"{heading[1]} {heading[2]}"] if level > 1 else []
            self._leads = []
        elif _RULE.match(first) or _NOTED.match(first):
            self._leads = []
        elif _FENCE.match(first):
            self._leads = []
            if block is not self._taken:
                self.left_out.append(f"a code block of {len(block) - 2} lines")
        elif item := _ITEM.match(first):
            yield from self._item(item, block, below)
        elif _EMPTY_ITEM.match(first):
            self.placeholders += 1
        elif _ROW.match(first):
            yield from self._table(block)
        else:
            yield from self._paragraph([row.lstrip("> \t").strip() for row in block], below)

    def _paragraph(self, rows: list[str], below: list[str]) -> Iterator[Remembered]:
        self._leads = []
        text = " ".join(rows)
        if self._described and not self._headings:
            self.placeholders += 1
        elif self._listed or (len(rows) > 1 and all(row.endswith((".", "!", "?")) or _DAY.match(row) for row in rows)):
            for row in rows:
                yield from self._statement(row, [])
        elif text.endswith(":") and len(text) <= LEAD and below and _ITEM.match(below[0]):
            self._leads = [(-1, text)]
        else:
            yield from self._statement(text, below)

    def _comment(self, text: str) -> None:
        if found := _OBSERVED.fullmatch(text):
            self._day, self._superseded = _day(found[1]), found[2] == "superseded"

    def _item(self, item: re.Match[str], block: list[str], below: list[str]) -> Iterator[Remembered]:
        indent = len(item[1].expandtabs(4))
        self._leads = [one for one in self._leads if one[0] < indent]
        text = " ".join([item[3].strip(), *(row.strip() for row in block[1:])]).strip()
        if item[2] == " ":  # a box that nobody ticked
            self.placeholders += 1
            return
        if item[2] and self._headings:
            text = f"{self._headings[-1].lstrip('# ')}: {text}"
        nested = _ITEM.match(below[0]) if below else None
        if nested and len(nested[1].expandtabs(4)) > indent and text.rstrip("*").endswith(":"):
            self._leads.append((indent, text))
        else:
            yield from self._statement(text, below)

    def _table(self, block: list[str]) -> Iterator[Remembered]:
        cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in block]
        rows = cells[2:] if len(cells) > 1 and all(set(cell) <= set("-: ") for cell in cells[1]) else cells
        for row in rows:
            yield from self._statement(": ".join(filter(None, (row[0], ", ".join(filter(None, row[1:]))))), [])

    def _statement(self, text: str, below: list[str]) -> Iterator[Remembered]:
        superseded, day = self._superseded, self._day
        self._superseded, self._day = False, None
        text = _FOOTNOTE.sub("", text).strip()
        code = [row.strip() for row in below[1:-1] if row.strip()] if below and _FENCE.match(below[0]) else []
        if code and sum(map(len, code)) <= SHORT_CODE and "`" not in "".join(code):
            text = " ".join([text, *(f"`{row}`" for row in code)])
            self._taken = below
        if _is_unfilled(text):
            self.placeholders += bool(text)
            return
        if superseded:
            self.left_out.append("a line that is superseded")
        elif _INCLUDE.fullmatch(text):
            self.left_out.append(f"{text}, another file that it includes")
        elif not (self._siblings and _POINTER.search(text)):
            if (found := _DAY.match(text)) and (said := _day(found[1])):
                text, day = text[found.end() :], said
            lead = " ".join(one for _, one in self._leads)
            yield Remembered(f"{lead} {text}".strip(), tuple(self._headings), day)


def _outside(rows: list[str]) -> Iterator[str]:
    inside = False
    for row in rows:
        inside ^= bool(_FENCE.match(row))
        if not inside:
            yield row


def _blocks(rows: list[str]) -> Iterator[list[str]]:
    """Yield the blocks of a document: an item with its continuation, a paragraph, a table, a code block, a heading."""
    block: list[str] = []
    fence = ""
    for row in rows:
        if fence:
            block.append(row)
            if row.strip().startswith(fence):
                yield block
                block, fence = [], ""
            continue
        alone = row.startswith("<!--") or any(one.match(row) for one in (_HEADING, _RULE, _NOTED, _INCLUDE))
        opens = alone or _FENCE.match(row) or _ITEM.match(row) or _EMPTY_ITEM.match(row)
        table = bool(_ROW.match(row))
        if block and (opens or not row.strip() or table != bool(_ROW.match(block[0]))):
            yield block
            block = []
        if opened := _FENCE.match(row):
            fence = opened[1]
        if alone:
            yield [row]
        elif row.strip():
            block.append(row)
    if block:
        yield block


def _is_unfilled(text: str) -> bool:
    """Return whether a line is what a template asks for: a name without its value, or with one in brackets."""
    if not text or _KEYED.fullmatch(text):
        return True
    name, colon, value = text.partition(":")
    value = value.strip(" *_")
    whole = text.strip()
    if colon and len(name) <= 60 and value and _BRACKETED.fullmatch(value) and "](" not in value:
        return True
    in_emphasis = re.fullmatch(r"_[^_]+_|\*[^*]+\*", whole) is not None
    return in_emphasis or whole.endswith(" ...") or (bool(_BRACKETED.fullmatch(whole)) and "](" not in whole)


def _named(name: str) -> tuple[str, str]:
    """Return which of the three files a name of ours means, and the name of its place."""
    file = memory_file(name)
    return (tag(like(file)), place_of(file)) if file else ("", "")


def _day(value: object) -> date | None:
    """Read the day of a date or a time as tools write it: ISO, or seconds since 1970."""
    try:
        if isinstance(value, int | float) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC).date()
        return date.fromisoformat(str(value)[:10])
    except (ValueError, OverflowError, OSError):
        return None


# JSON: objects that hold a text, however deep, by the names that tools give it.


def _json(path: Path, text: str) -> ReadMemory:
    try:
        values = [json.loads(text)]
    except ValueError:
        try:
            values = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as fault:
            raise UsageError(f"{path} can't be read as JSON: {fault}.") from fault
    keys = frozenset(key for value in values for one in _objects(value) for key in one)
    if keys & _TALKS and "memory" not in keys:
        raise UsageError(f"{path} holds conversations, and no list of memories: dream consolidate {path}")
    name = next((name for name, wanted in _FORMATS if wanted <= keys), "json")
    statements = tuple(one for value in values for one in _statements(value))
    if not statements:
        raise UsageError(f"{path} holds no memories in a form that is known: objects with {', '.join(_TEXTS)}.")
    return ReadMemory(name, statements)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(one)


def _statements(value: Any) -> Iterator[Remembered]:
    """Yield what objects say, a statement a line; of one that holds others that say something, only theirs."""
    if isinstance(value, str):
        yield from _Markdown().read(value)
    elif isinstance(value, list):
        for one in value:
            yield from _statements(one)
    elif isinstance(value, dict):
        yield from _object(value)


def _object(row: Mapping[str, Any]) -> Iterator[Remembered]:
    day = next((day for key in _DAYS if (day := _day(row.get(key)))), None)
    if row.get("isForgotten") or row.get("is_deleted") or row.get("deleted_at"):
        return
    if isinstance(row.get("dream_memory"), int):
        yield from (_own(line) for line in row.get("lines", []) if isinstance(line, dict))
        return
    if isinstance(row.get("observations"), list) and isinstance(row.get("name"), str):
        yield from (Remembered(f"{row['name']}: {one}", day=day) for one in row["observations"] if isinstance(one, str))
        return
    if isinstance(row.get("conversations_memory"), str | None) and "conversations_memory" in row:
        yield from _statements([row.get("conversations_memory") or "", *(row.get("project_memories") or {}).values()])
        return
    text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str) and row[key].strip()), None)
    lists = [[one for one in value if isinstance(one, dict)] for value in row.values() if isinstance(value, list)]
    nested = [] if text == row.get("memory", "") else [one for part in lists for one in _statements(part)]
    if text is None:
        nested += [one for value in row.values() if isinstance(value, dict) for one in _statements(value)]
    if nested or text is None:
        yield from nested
        return
    file = _LABELS.get(str(row.get("label", "")), "MEMORY" if "label" in row and "value" in row else "")
    yield from (replace(one, day=one.day or day, file=file) for one in _Markdown().read(text))


def _own(line: Mapping[str, Any]) -> Remembered:
    """Read a line of an export of ours."""
    file, place = _named(str(line.get("file", "")))
    headings = tuple(one for one in line.get("headings") or () if isinstance(one, str))
    row = str(line.get("row", ""))
    return Remembered(without_bullet(row).strip(), headings, _day(line.get("day") or ""), file, place, row)
