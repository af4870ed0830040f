"""All formats, the choice among them by content, and `read`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from dream.errors import NoTranscript, TranscriptError
from dream.models import Diagnostic, Report, Unheard
from dream.settings import Settings
from dream.transcripts import (
    chat_text,
    chatgpt,
    claude_code,
    clean,
    codex,
    copilot_cli,
    fields,
    gemini_cli,
    hermes,
    letta_code,
    nanobot,
    openai,
    opencode,
    parts,
    pi,
    sniffing,
    trajectory,
)
from dream.transcripts.carried import Carried
from dream.transcripts.fields import Json
from dream.transcripts.files import find
from dream.transcripts.reader import Pair, Reader
from dream.transcripts.source import HEAD_RECORDS, Source
from dream.transcripts.turns import Options, Tally

# In the order in which they are tried: from the most particular to the most general.
_READERS: tuple[Reader, ...] = (
    *(claude_code, codex, pi.pi, pi.openclaw, pi.omp, nanobot, hermes, gemini_cli, letta_code, chatgpt),
    *(copilot_cli, opencode),
    *trajectory.FOREIGN,
    *(openai, chat_text),
)
FORMATS: dict[str, Reader] = {reader.name: reader for reader in _READERS}


# These don't record every call of a tool, or the extra has paired calls and results already.
_UNPAIRED = {"openai", "chatgpt", "text", "nanobot", *(reader.name for reader in trajectory.FOREIGN)}
UNHEARD = (
    "It holds messages, but none of the user's was read: nobody spoke in it, or {} writes down what users say in a way "
    "that dream does not know yet."
)


class Unlike(ValueError):  # noqa: N818, what a file is
    """A file that is no longer in the format that it was in when `carried` was there."""


def _nobody(diagnostic: Diagnostic) -> None:
    """Nobody wants to know what can't be used."""


def read(
    path: Path | str,
    *,
    format: str | None = None,  # noqa: A002, the word of the command line
    zone: tzinfo | None = None,
    report: Report = _nobody,
    tool_result_chars: int = 2_000,
    include_subagents: bool = False,
    carried: Carried | None = None,
    session: str = "",
) -> Iterator[Pair]:
    """Yield (session key, message) for each message of a transcript, or of all transcripts in a directory.

    The file is a stream: what is held is one record, and 8 bytes a message by which repeated ones are known.
    The messages of one key come in order; their positions are counted from 0 for each key.
    `format` is one of FORMATS; without it the content tells. Times without a zone are read in `zone`;
    None is the machine's.
    `tool_result_chars` is what is kept of a tool's result. Sub-agents' and scheduled sessions are left out unless
    `include_subagents`. Of a file, reading begins where `carried` is, and `carried` is then where it ended; `session`
    is the id of a session of its where the format has none, in place of one made from the file's name.
    What can't be used is told to `report`. Raises TranscriptError, at once or at the first step, when nothing can be
    read: the file is missing, empty, binary or in no known format, or the directory has no transcripts.
    """
    path = Path(path)
    options = Options(zone or Settings().zone(), report, tool_result_chars, include_subagents)
    if format is not None and format not in FORMATS:
        raise TranscriptError(f"{format!r} is no known format; the formats are {', '.join(FORMATS)}.")
    if path.is_dir():
        return _directory(path, format, options)
    return _file(path, format, options, carried or Carried(), session)


def recognise(source: Source) -> Reader:
    """Find the reader of a file by its content. Raises TranscriptError if there is none."""
    head = sniffing.head(source)
    for reader in _READERS:
        if reader.recognises(head):
            return reader
    bare = bool(head.records) or head.shape == "array"
    if bare and not head.header and all(record.get("messages") == [] for record in head.records):
        raise NoTranscript(f"{source.path} holds no messages; there is nothing to read in it.")
    formats = ", ".join(FORMATS)
    raise NoTranscript(f"{source.path} is in no format that is known; name one with --format ({formats}).")


def _file(path: Path, name: str | None, options: Options, carried: Carried, session: str = "") -> Iterator[Pair]:
    if carried.records >= HEAD_RECORDS:  # nothing that follows changes what the file is
        source, reader = Source(path, "lines", "utf-8", 0, options.report), FORMATS[carried.format]
    else:
        source, reader = _opened(path, name, options)
    grows = reader.grows and source.shape == "lines" and source.encoding == "utf-8"
    form = reader.name if grows else ""
    if carried.offset and carried.format != form:
        raise Unlike(f"{path} is no longer what it was.")
    carried.format = form
    for line, text in carried.said:
        options.report(Diagnostic(str(path), line, text))
    unpaired = reader.name in _UNPAIRED
    options = replace(options, unpaired=unpaired, tally=Tally())
    return _read(reader, replace(source, carried=carried, session=session), options)


def _opened(path: Path, name: str | None, options: Options) -> tuple[Source, Reader]:
    source = sniffing.open_source(path, options.report)
    try:
        return source, FORMATS[name] if name else recognise(source)
    except OSError as error:
        raise _gone(path, error) from error


def _read(reader: Reader, source: Source, options: Options) -> Iterator[Pair]:
    """Read on, without what a resumed or rewritten session repeats; say what is strange about the whole."""
    state = source.carried
    try:
        for key, message in reader.read(source, options):
            state.spoken = state.spoken or message.role
            state.heard = state.heard or message.role == "user"
            if not state.repeats(key, message):
                yield key, message
    except OSError as error:
        raise _gone(source.path, error) from error
    state.unpaired += options.tally.unpaired
    if state.unpaired:
        which = "A tool's result was" if state.unpaired == 1 else f"{state.unpaired:,} results of tools were"
        options.report(Diagnostic(str(source.path), 0, f"{which} left out: no call waits for such an answer."))
    if not state.heard and (state.spoken or _has_unheard(reader, source, options)):
        options.report(Unheard(str(source.path), 0, UNHEARD.format(reader.name)))


def _has_unheard(reader: Reader, source: Source, options: Options) -> bool:
    """Return whether a file of which nothing was read holds words of a user, and not because it was left out."""
    if options.tally.emptied or not any(_is_users(record) for record in sniffing.head(source).records):
        return False
    asked = replace(options, include_subagents=True, report=_nobody, tally=Tally())
    return next(reader.read(replace(source, report=_nobody, carried=Carried()), asked), None) is None


def _is_users(record: Json) -> bool:
    """Return whether a record of any format looks like something that a user said, and not like a command."""
    tables = [record, *(fields.table(record, name) for name in ("data", "message", "payload"))]
    users = any(
        str(table.get(name)).lower().startswith(("user", "human"))
        for table in tables
        for name in ("role", "type", "kind", "from")
    )
    told = (fields.first(table, "content", "text", "prompt", "value", "message") for table in tables)
    said = clean.said(next((text for one in told if (text := parts.split(one).text)), ""))
    return users and record.get("isMeta") is not True and bool(said) and not said.startswith("/")


def _gone(path: Path, error: OSError) -> TranscriptError:
    return TranscriptError(f"{path} can no longer be read ({error.strerror}); try again.")


def _directory(path: Path, name: str | None, options: Options) -> Iterator[Pair]:
    found = 0
    for file in find(path):
        try:
            yield from _file(file, name, options, Carried())
            found += 1
        except TranscriptError as error:
            options.report(Diagnostic(str(file), 0, str(error)))
    if not found:
        raise TranscriptError(f"{path} holds no transcript that can be read; name one of its files.")
