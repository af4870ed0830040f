"""The transcripts of many agents read as one kind of message: find files, tell what each is, and read it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from fnmatch import translate
from pathlib import Path

from dream.errors import NoTranscript, TranscriptError
from dream.models import Diagnostic, Report, Unheard
from dream.settings import Settings
from dream.transcripts import clean, parts, records
from dream.transcripts.formats import known_formats
from dream.transcripts.formats.chat_text import NEEDED
from dream.transcripts.parts import Json
from dream.transcripts.source import (
    Head,
    Pair,
    Passed,
    Place,
    Reader,
    Said,
    Source,
    at_once,
    ignore,
    open_source,
    read_head,
)
from dream.transcripts.turns import Options, Repeated, Tally, Turns, parse_time

__all__ = [
    "Head",
    "Options",
    "Place",
    "Reader",
    "Said",
    "Source",
    "Turns",
    "known_formats",
    "names",
    "newest",
    "read",
]

UNHEARD = (
    "It holds messages, but none of the user's was read: nobody spoke in it, or {} writes down what users say in a way "
    "that dream does not know yet."
)

SUFFIXES = frozenset((".jsonl", ".ndjson", ".json", ".md", ".markdown", ".txt", ".zip", ".db", ".sqlite", ".vscdb"))
# Directories that hold no conversations of a person: ours, other people's code, sub-agents.
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "subagents"))
# Memory, not conversation: dream and nanobot keep these in a workspace.
_NOT_TRANSCRIPTS = frozenset(("SOUL.md", "USER.md", "MEMORY.md", "HISTORY.md", "AGENTS.md", "CLAUDE.md", "README.md"))

LOOK_BYTES = 1 << 16  # at the end of the file; at its beginning if the end has no time
_NAMES = rb"timestamp|captured_at|created_?at|updated_?at|last_?updated|(?:create|update)_time|datetime|date|time|ts"
_TIME = re.compile(rb'"(?:' + _NAMES + rb')"\s*:\s*("[^"\\]{8,40}"|\d{9,20}(?:\.\d+)?)', re.IGNORECASE)


def read(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002, the word of the command line
    zone: tzinfo | None = None,
    report: Report = ignore,
    tool_result_chars: int = 2_000,
    session: str = "",
    passed: Passed | None = None,
) -> Iterator[Pair]:
    """Yield (session key, message) for each message of a transcript, or of all transcripts in a directory.

    The file is a stream: what is held is one record, and 8 bytes a message by which repeated ones are known.
    The messages of one key come in order; their positions are counted from 0 for each key.
    `format` is one of `known_formats()`; without it the content tells. Times without a zone are read in `zone`;
    None is the machine's.
    `tool_result_chars` is what is kept of a tool's result. Sub-agents' and scheduled sessions are left out.
    `session` is the id of a session of a file whose format has none, in place of one made from the file's name;
    `passed` is told how much of it has been read.
    What can't be used is told to `report`. Raises TranscriptError, at once or at the first step, when nothing can be
    read: the file is missing, empty, binary or in no known format, or the directory has no transcripts.
    """
    path = Path(path)
    options = Options(zone or Settings().zone(), report, tool_result_chars)
    if format is not None and format not in known_formats():
        raise TranscriptError(f"{format!r} is no known format; the formats are {', '.join(known_formats())}.")
    if path.is_dir():
        return _directory(path, format, options)
    return _file(path, format, options, session, passed)


def recognise(source: Source) -> Reader:
    """Find the reader of a file by its content. Raises TranscriptError if there is none."""
    head = read_head(source)
    for reader in known_formats().values():
        if reader.recognises(head):
            return reader
    bare = bool(head.records) or head.shape == "array"
    if bare and not head.header and all(record.get("messages") == [] for record in head.records):
        raise NoTranscript(f"{source.path} holds no messages; there is nothing to read in it.")
    formats = ", ".join(known_formats())
    chat = "" if bare else f" A text is read where it has {NEEDED}."
    raise NoTranscript(f"{source.path} is in no format that is known; name one with --format ({formats}).{chat}")


def names(path: Path | str) -> list[str]:
    """Return the files under a directory, or behind a glob, that may be transcripts, sorted by path.

    A file that is named itself is always one. Beneath a directory, hidden directories, sub-agents' and a
    workspace's own memory are passed over. Links to directories are not followed.
    Raises TranscriptError when there is no such path, or no such file beneath it.
    """
    given = Path(path).expanduser()
    named = [str(given)] if given.exists() else _matching(str(given))
    if not named:
        raise TranscriptError(f"{path} does not exist; check the path.")
    directories = [one for one in named if _is_directory(one)]
    found = named
    if directories:
        found = [*set(named).difference(directories)]
        found += {file for one in directories for file in _beneath(one)}.difference(found)
    if not found:
        raise TranscriptError(f"{path} holds no transcripts; name a file, or a directory that holds some.")
    return sorted(found)


def newest(name: str, zone: tzinfo, modified: int) -> datetime:
    """Return the last time that the file `name` tells; when it was `modified` (ns since the epoch) if it tells none.

    Only the file's end is looked at: good enough to put files in order before they are read.
    """
    try:
        with open(name, "rb", buffering=0, opener=at_once) as file:
            size = os.fstat(file.fileno()).st_size
            for start in dict.fromkeys((max(size - LOOK_BYTES, 0), 0)):
                told = [_time(found, zone) for found in _TIME.findall(os.pread(file.fileno(), LOOK_BYTES, start))]
                if known := [moment for moment in told if moment is not None]:
                    return max(known)
    except OSError:
        pass  # it is read all the same, and what is wrong with it is said then
    return datetime.fromtimestamp(modified / 1e9, UTC)


# Reading one file, or all of a directory.


def _file(
    path: Path, name: str | None, options: Options, session: str = "", passed: Passed | None = None
) -> Iterator[Pair]:
    source, reader = _opened(path, name, options)
    options = replace(options, unpaired=not reader.paired, asks=reader.asks, tally=Tally())
    return _read(reader, replace(source, session=session, passed=passed or Passed()), options)


def _opened(path: Path, name: str | None, options: Options) -> tuple[Source, Reader]:
    source = open_source(path, options.report)
    try:
        return source, known_formats()[name] if name else recognise(source)
    except OSError as error:
        raise _gone(path, error) from error


def _read(reader: Reader, source: Source, options: Options) -> Iterator[Pair]:
    """Read on, without what a resumed or rewritten session repeats; report what is wrong with the whole file."""
    repeated, default, spoken = Repeated(), source.default_id, set[str]()
    try:
        for session, message in reader.read(source, options):
            key = f"{reader.key or reader.name}:{session or default}"
            spoken.add(message.role)
            if not repeated.repeats(key, message):
                yield key, message
    except OSError as error:
        raise _gone(source.path, error) from error
    if unpaired := options.tally.unpaired:
        which = "A tool's result was" if unpaired == 1 else f"{unpaired:,} results of tools were"
        options.report(Diagnostic(str(source.path), 0, f"{which} left out: no call waits for such an answer."))
    if "user" not in spoken and (spoken or _has_unheard(source, options.tally)):
        options.report(Unheard(str(source.path), 0, UNHEARD.format(reader.name)))


def _has_unheard(source: Source, left_out: Tally) -> bool:
    """Return whether a file of which nothing was read holds words of a user, and not because they were left out."""
    if left_out.emptied or left_out.silent:
        return False
    return any(_is_users(record) for record in read_head(source).records)


def _is_users(record: Json) -> bool:
    """Return whether a record of any format looks like something that a user said, and not like a command."""
    tables = [record, *(parts.table(record, name) for name in ("data", "message", "payload"))]
    users = any(
        str(table.get(name)).lower().startswith(("user", "human"))
        for table in tables
        for name in ("role", "type", "kind", "from")
    )
    told = (parts.first(table, "content", "text", "prompt", "value", "message") for table in tables)
    said = clean.said(next((text for one in told if (text := parts.split(one).text)), ""))
    return users and record.get("isMeta") is not True and bool(said) and not said.startswith("/")


def _gone(path: Path, error: OSError) -> TranscriptError:
    return TranscriptError(f"{path} can no longer be read ({error.strerror}); try again.")


def _directory(path: Path, name: str | None, options: Options) -> Iterator[Pair]:
    found = 0
    for file in names(path):
        try:
            yield from _file(Path(file), name, options)
            found += 1
        except TranscriptError as error:
            options.report(Diagnostic(file, 0, str(error)))
    if not found:
        raise TranscriptError(f"{path} holds no transcript that can be read; name one of its files.")


# Finding files, and the last time that a file mentions.


def _matching(pattern: str) -> list[str]:
    """Return what `glob.glob` does, in half its time where there is no `**`: each directory is listed once."""
    if "**" in pattern or not Path(pattern).is_absolute():
        return glob.glob(pattern, recursive=True)  # noqa: PTH207, a whole pattern
    first, *parts = Path(pattern).parts
    found = [first]
    for number, part in enumerate(parts, start=1):
        if not glob.has_magic(part):
            found = [place for here in found if os.path.lexists(place := os.path.join(here, part))]  # noqa: PTH118
            continue
        match, inner = re.compile(translate(part)).match, number < len(parts)
        found = [
            entry.path
            for here in found
            for entry in _entries(here, hidden=part.startswith("."))
            if match(entry.name) and (not inner or entry.is_dir())
        ]
    return found


def _entries(directory: str, *, hidden: bool) -> list[os.DirEntry[str]]:
    """List a directory, with or without what is hidden in it; one that can't be listed has nothing."""
    try:
        with os.scandir(directory) as found:
            return [entry for entry in found if hidden or not entry.name.startswith(".")]
    except OSError:
        return []


def _is_directory(name: str) -> bool:
    """Return whether to look beneath `name`; what is named like a transcript is not looked up on disk."""
    return _suffix(name) not in SUFFIXES and os.path.isdir(name)  # noqa: PTH112


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower()


def _beneath(directory: str) -> list[str]:
    found = []
    for here, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in _PASSED_OVER and not name.startswith(".")]
        memory = "MEMORY.md" in names or Path(here).name == "archive"
        for name in names:
            if _suffix(name) not in SUFFIXES or name.startswith(".") or name in _NOT_TRANSCRIPTS:
                continue
            if memory and (name == "history.jsonl" or name.endswith(".md")):
                continue
            found.append(f"{here}{os.sep}{name}")
    return found


def _time(found: bytes, zone: tzinfo) -> datetime | None:
    try:
        return parse_time(records.value(found)[0], zone)
    except records.Broken:
        return None
