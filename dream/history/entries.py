"""One history line: from a value to bytes and back, ours and nanobot's, strict in what is written only."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple, get_args

import orjson

from dream.history.checksums import FIRST, checksum, is_as_written, sealed
from dream.models import UNKNOWN_LINE, Entry, EntryLine, Kind, NewEntry, Voice
from dream.text.safe import mend_surrogates
from dream.text.tokens import estimate

HIGHEST = 1 << 62  # cursors stay below; a larger number in a foreign line is no cursor
KINDS = frozenset(get_args(Kind))
DIGEST_CHARS = 8  # characters of a message's identity: 48 bits in base64
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # of a line that doesn't say when
EMPTY_ANSWERS = {"(nothing)", "[no summary]"}  # nanobot stored a model's empty answer as these
_BEGINNING = re.compile(rb'\{"cursor":(\d{1,15}),"timestamp":"')  # of every line of ours
_CURSOR = re.compile(rb'\s*\{\s*"cursor"\s*:\s*(\d{1,15})\s*[,}]')
_KNOWN = [one.name for one in fields(NewEntry) if one.name not in ("content", "session", "tokens")]
VOICES = frozenset(get_args(Voice))
_OLDER_VOICES: tuple[tuple[str, Voice], ...] = (
    ("by_user", "user"),
    ("by_agent", "agent"),
    ("by_paste", "pasted"),
    ("by_tool", "tool"),
    ("by_others", "tool"),
)
_OLDER_CODES: Mapping[str, Voice] = {"u": "user", "a": "agent", "t": "tool", "p": "pasted"}
OLDER_QUOTE = "    > "  # before the user's own sentence, below the line that is based on it


class BrokenRow(ValueError):
    """A line that is no history entry; the message says why."""


class Outline(NamedTuple):
    """What the index keeps of a line. `flaw` is empty unless the line was readable only with leniency."""

    cursor: int
    session: str | None
    end: int
    tokens: int
    flaw: str
    prefix: str = ""
    ids: str = ""  # the digests of its messages, joined


def entry_of(new: NewEntry, cursor: int, at: datetime, machine: str = "") -> Entry:
    """Give `new` its cursor and time, its text made valid and its tokens estimated where they are not known."""
    content = mend_surrogates(new.content)
    session = None if new.session is None else mend_surrogates(new.session)
    known = {name: getattr(new, name) for name in _KNOWN}
    if new.kind != "note" and all(line == UNKNOWN_LINE for line in new.lines):
        known["lines"] = ()
    return Entry(
        content=content,
        session=session,
        tokens=new.tokens or estimate(content),
        cursor=cursor,
        at=at,
        machine=machine,
        **known,
    )


def current(newest_first: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries, newest first, without those whose messages a later entry summarises again."""
    replaced: set[int] = set()
    for entry in newest_first:
        if entry.cursor not in replaced:
            yield entry
        replaced.update(entry.rereads)


def outlined(entry: Entry) -> Outline:
    """Return what the index keeps of an entry."""
    end = entry.span[1] if entry.span and not entry.rereads else 0  # what is read again is no progress
    return Outline(entry.cursor, entry.session, end, entry.tokens, "", entry.prefix, entry.ids)


def encode(entry: Entry, *, more: int = 0, before: bytes = FIRST) -> bytes:
    """Return the entry as one JSON line with its checksum.

    `more` counts the entries after it that were appended with it; `before` is the `mark` of the line before.
    """
    row: dict[str, Any] = {
        "cursor": entry.cursor,
        "timestamp": entry.at,
        "kind": entry.kind,
        "content": entry.content,
    }
    if entry.session is not None:
        row["session"] = entry.session
    if entry.span is not None:
        row["span"] = entry.span
    if entry.ids:
        row["ids"] = entry.ids
        row["prefix"] = entry.prefix
    if entry.said is not None:
        row["said"] = entry.said.astimezone(UTC).isoformat(timespec="seconds")
    row["tokens"] = entry.tokens
    if entry.model is not None:
        row["model"] = entry.model
    lines = [_line_row(line) for line in entry.lines]
    last: dict[str, Any] = {"place": entry.place, "machine": entry.machine, "lines": lines}
    last |= {"rereads": entry.rereads, "batch": entry.batch, "kept": entry.kept, "more": more}
    row |= {name: value for name, value in last.items() if value}
    return sealed(orjson.dumps(row), before)


def decode(line: bytes, zone: tzinfo | None = None) -> Entry:
    """Read one line, ours or nanobot's; naive times are in `zone` (None: the machine's).

    Raises BrokenRow for what is no entry.
    """
    row, _ = _row(line)
    content = row["content"]
    kind: Kind = row.get("kind", "")
    if kind not in KINDS or (kind == "nothing" and content):
        kind, content = _infer(content)
    span = _span(row)
    model = row["model"] if isinstance(row.get("model"), str) else None
    ids, prefix = _identities(row, span)
    return Entry(
        cursor=row["cursor"],
        at=_time(row, zone),
        kind=kind,
        content=content,
        session=_session(row),
        span=span,
        tokens=_tokens(row),
        model=model,
        ids=ids,
        prefix=prefix,
        said=None if (said := _time(row, zone, "said")) == NO_TIME else said,
        lines=_lines(row, content),
        place=place if isinstance(place := row.get("place"), str) else "",
        rereads=_numbers(row.get("rereads")),
        batch=batch if isinstance(batch := row.get("batch"), str) else "",
        kept=row["kept"] if type(row.get("kept")) is int else 0,
        machine=row["machine"] if isinstance(row.get("machine"), str) else "",
    )


def outline(line: bytes) -> Outline:
    """Read only what the index needs of a line; raises BrokenRow exactly where `decode` does."""
    row, flaw = _row(line)
    span = _span(row) if "span" in row and "rereads" not in row else None
    if span is None:
        return Outline(row["cursor"], _session(row), 0, _tokens(row), flaw)
    ids, prefix = _identities(row, span) if "ids" in row else ("", "")
    return Outline(row["cursor"], _session(row), span[1], _tokens(row), flaw, prefix, ids)


def is_ours(line: bytes) -> bool:
    """Return whether a line begins as `dream` writes it; nanobot writes a space behind each colon."""
    return _BEGINNING.match(line) is not None


def cursor_at_once(line: bytes) -> int:
    """Return the cursor that a line begins with, unparsed; 0 where it begins with something else."""
    found = _CURSOR.match(line)
    return int(found[1]) if found else 0


def is_whole(line: bytes) -> bool:
    """Return whether a line is a valid entry."""
    try:
        _row(line)
    except BrokenRow:
        return False
    return True


def _row(line: bytes) -> tuple[dict[str, Any], str]:
    flaw = ""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        row, flaw = _lenient(line)
    if not isinstance(row, dict):
        raise BrokenRow("a history line is a JSON object, this is not")
    cursor = row.get("cursor")
    if type(cursor) is not int or not 0 < cursor < HIGHEST:
        raise BrokenRow(f"the cursor is not a positive whole number: {cursor!r:.40}")
    if not isinstance(row.get("content"), str):
        raise BrokenRow(f"entry {cursor} has no text as its content")
    if "checksum" in row and not _is_unchanged(line, row):
        raise BrokenRow(f"entry {cursor} is not as it was written: its checksum is another")
    return row, flaw


def _is_unchanged(line: bytes, row: dict[str, Any]) -> bool:
    """Return whether a row still matches its checksum, even if a program has rewritten it with spaces."""
    found = checksum(line)
    if found is None:
        return False
    if is_as_written(line, found):
        return True
    try:
        body = orjson.dumps({name: value for name, value in row.items() if name != "checksum"})[:-1]
    except TypeError:  # a number beyond 64 bits
        return False
    return int(found[2], 16) == zlib.crc32(body)


def _lenient(line: bytes) -> tuple[Any, str]:
    """Parse a row that the strict parser refuses but a person would understand; raises BrokenRow."""
    text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        row = json.loads(text, strict=False)
    except (ValueError, RecursionError) as fault:
        raise BrokenRow("the line is not JSON") from fault
    if b"\0" in line:  # damage by the disk, not a person's typing error: the remaining text may say the opposite
        raise BrokenRow("the line holds NUL bytes")
    if isinstance(row, dict):
        row = {key: mend_surrogates(value) if isinstance(value, str) else value for key, value in row.items()}
    return (
        row,
        "some characters are not valid; they read as \ufffd" if "\ufffd" in text else "the line is not strict JSON",
    )


def _infer(content: str) -> tuple[Kind, str]:
    if not content.strip() or content.strip() in EMPTY_ANSWERS:
        return "nothing", ""
    return ("raw" if content.startswith("[RAW]") else "summary"), content


def _time(row: dict[str, Any], zone: tzinfo | None, name: str = "timestamp") -> datetime:
    text = row.get(name)
    if not isinstance(text, str):
        return NO_TIME
    try:
        time = datetime.fromisoformat(text.strip())
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone) if zone else time.astimezone()
        return time.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return NO_TIME


def _session(row: dict[str, Any]) -> str | None:
    session = row.get("session", row.get("session_key"))
    return session if isinstance(session, str) and session else None


def _span(row: dict[str, Any]) -> tuple[int, int] | None:
    span = row.get("span")
    if isinstance(span, list) and len(span) == 2 and type(span[0]) is int and type(span[1]) is int:
        return (span[0], span[1]) if 0 <= span[0] <= span[1] else None
    return None


def _tokens(row: dict[str, Any]) -> int:
    tokens = row.get("tokens")
    return tokens if type(tokens) is int and tokens > 0 else estimate(row["content"])


def _identities(row: dict[str, Any], span: tuple[int, int] | None) -> tuple[str, str]:
    """Return the digests of the span's messages and that of all before its end; empty where they don't fit it."""
    ids, prefix = row.get("ids"), row.get("prefix")
    if not isinstance(ids, str) or not isinstance(prefix, str) or span is None or len(prefix) != DIGEST_CHARS:
        return "", ""
    return (ids, prefix) if len(ids) == DIGEST_CHARS * (span[1] - span[0]) else ("", "")


def _line_row(line: EntryLine) -> dict[str, Any]:
    row = {"cites": [*line.cites], "voice": line.voice, "quote": line.quote, "by": line.by}
    return {name: value for name, value in row.items() if value}


def _lines(row: dict[str, Any], content: str) -> tuple[EntryLine, ...]:
    """Return the sources of each line of the content; none where the row does not give them for every line."""
    found = row.get("lines")
    if not isinstance(found, list):
        return _older_lines(row, content)
    lines = tuple(map(_line, found))
    return lines if len(lines) == content.count("\n") + 1 else ()


def _line(row: object) -> EntryLine:
    if not isinstance(row, dict):
        return UNKNOWN_LINE
    voice = row.get("voice")
    quote, by = (value if isinstance(value := row.get(name), str) else "" for name in ("quote", "by"))
    return EntryLine(_numbers(row.get("cites")), voice if voice in VOICES else None, quote, by)


def _numbers(found: object) -> tuple[int, ...]:
    if isinstance(found, list) and all(type(number) is int and number >= 0 for number in found):
        return tuple(found)
    return ()


# Rows of versions before `lines`: fields that number the lines of each voice, a code for the sources of each line,
# names.


def _older_lines(row: dict[str, Any], content: str) -> tuple[EntryLine, ...]:
    texts = content.split("\n")
    voices: dict[int, Voice] = {}
    for name, whose in reversed(_OLDER_VOICES):
        voices |= dict.fromkeys(_numbers(row.get(name)), whose)
    rests, names = row.get("rests"), row.get("speakers")
    rests = rests if isinstance(rests, list) and len(rests) == len(texts) else [""] * len(texts)
    names = names if isinstance(names, list) and len(names) == len(texts) else [()] * len(texts)
    lines = []
    for number, (text, resting, by) in enumerate(zip(texts, rests, names, strict=True), start=1):
        code = resting if isinstance(resting, str) else ""
        said_by = str(by[-1]) if isinstance(by, list) and by else ""
        known = voices.get(number) or _OLDER_CODES.get(code[:1])
        voice: Voice | None = known or ("other" if said_by else None)
        cites = tuple(int(part) for part in code[1:].split(",") if part.isdecimal())
        quote = text.removeprefix(OLDER_QUOTE) if text.startswith(OLDER_QUOTE) and voice == "user" else ""
        lines.append(EntryLine(cites, voice, quote, said_by))
    return tuple(lines) if any(line != UNKNOWN_LINE for line in lines) else ()
