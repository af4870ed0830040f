"""All formats, the choice among them by content, and `read`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from hashlib import blake2b
from pathlib import Path

from dream.errors import TranscriptError
from dream.models import Diagnostic, Report
from dream.transcripts import (
    chat_text,
    chatgpt,
    claude_code,
    codex,
    gemini_cli,
    hermes,
    letta_code,
    nanobot,
    openai,
    pi,
    sniffing,
    trajectory,
)
from dream.transcripts.files import find
from dream.transcripts.reader import Pair, Reader
from dream.transcripts.source import Source
from dream.transcripts.turns import Options

# In the order in which they are tried: from the most particular to the most general.
_READERS: tuple[Reader, ...] = (
    *(claude_code, codex, pi.pi, pi.openclaw, pi.omp, nanobot, hermes, gemini_cli, letta_code, chatgpt),
    *trajectory.FOREIGN,
    *(openai, chat_text),
)
FORMATS: dict[str, Reader] = {reader.name: reader for reader in _READERS}


def read(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002, the word of the command line
    zone: tzinfo,
    report: Report,
    tool_result_chars: int = 2_000,
    include_subagents: bool = False,
) -> Iterator[Pair]:
    """Yield (session key, message) for each message of a transcript, or of all transcripts in a directory.

    The file is a stream: what is held is one record, and 8 bytes a message by which repeated ones are known.
    The messages of one key come in order; their positions are counted from 0 for each key.
    `format` is one of FORMATS; without it the content tells. Times without a zone are read in `zone`.
    `tool_result_chars` is what is kept of a tool's result. Sub-agents' and scheduled sessions are left out unless
    `include_subagents`.
    What can't be used is told to `report`. Raises TranscriptError, at once or at the first step, when nothing can be
    read: the file is missing, empty, binary or in no known format, or the directory has no transcripts.
    """
    path = Path(path)
    options = Options(zone, report, tool_result_chars, include_subagents)
    if format is not None and format not in FORMATS:
        raise TranscriptError(f"{format!r} is no known format; the formats are {', '.join(FORMATS)}.")
    if path.is_dir():
        return _directory(path, format, options)
    return _file(path, format, options)


def recognise(source: Source) -> Reader:
    """Find the reader of a file by its content. Raises TranscriptError if there is none."""
    head = sniffing.head(source)
    for reader in _READERS:
        if reader.recognises(head):
            return reader
    bare = bool(head.records) or head.shape == "array"
    if bare and not head.header and all(record.get("messages") == [] for record in head.records):
        raise TranscriptError(f"{source.path} holds no messages; there is nothing to read in it.")
    formats = ", ".join(FORMATS)
    raise TranscriptError(f"{source.path} is in no format that is known; name one with --format ({formats}).")


def _file(path: Path, name: str | None, options: Options) -> Iterator[Pair]:
    source = sniffing.open_source(path, options.report)
    try:
        reader = FORMATS[name] if name else recognise(source)
    except OSError as error:
        raise _gone(path, error) from error
    return _once(_read(reader, source, options))


def _read(reader: Reader, source: Source, options: Options) -> Iterator[Pair]:
    try:
        yield from reader.read(source, options)
    except OSError as error:
        raise _gone(source.path, error) from error


def _gone(path: Path, error: OSError) -> TranscriptError:
    return TranscriptError(f"{path} can no longer be read ({error.strerror}); try again.")


def _directory(path: Path, name: str | None, options: Options) -> Iterator[Pair]:
    found = 0
    for file in find(path):
        try:
            yield from _file(file, name, options)
            found += 1
        except TranscriptError as error:
            options.report(Diagnostic(str(file), 0, str(error)))
    if not found:
        raise TranscriptError(f"{path} holds no transcript that can be read; name one of its files.")


def _once(pairs: Iterator[Pair]) -> Iterator[Pair]:
    """Drop messages that a resumed or rewritten session repeats: the same id, and the same said."""
    seen: set[int] = set()
    for key, message in pairs:
        if message.id is not None and not message.id.startswith("~"):
            told = "\0".join((key, message.id, message.role, message.content))
            mark = int.from_bytes(blake2b(told.encode("utf-8", "replace"), digest_size=8).digest())
            if mark in seen:
                continue
            seen.add(mark)
        yield key, message
