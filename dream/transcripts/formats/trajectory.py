"""Formats that are read through the package `agent-trajectory`, an extra that needs Node.js 20.

It takes a transcript as one string, so a file is held in memory, and one over MAX_BYTES is refused; of Deep Agents'
database it takes one thread at a time.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dream.errors import ReaderMissing, TranscriptError
from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Place, Reader, Said, Source, groups
from dream.transcripts.turns import Options, Turns

MAX_BYTES = 64 << 20
EXTRA = "agent-trajectory"
WHOLE = {"toolArguments": {"maxCharacters": None}, "toolResults": {"maxCharacters": None}}  # we cut them ourselves


Sessions = Iterator[tuple[str | None, list[Json]]]  # id and the rows of each


def _foreign(
    name: str,
    title: str,
    recognises: Callable[[Head], bool],
    places: tuple[Place, ...] = (),
    extra: str = EXTRA,
    sessions: Callable[[Source, Any], Sessions] | None = None,
) -> Reader:
    """Return the reader of a format that the extra reads; pip has to install `extra`."""

    def needs() -> str:
        missing = [] if shutil.which("node") else ["Node.js 20"]
        if find_spec("trajectory") is None:
            missing.append(f"`{_installer()} {extra}`")
        return " and ".join(missing)

    def read(source: Source, options: Options) -> Iterator[Said]:
        """Yield the messages of each session. Raises TranscriptError without the extra, or when it refuses."""
        if missing := needs():
            sentence = f"{source.path} is in the format of {title}, which needs {missing}."
            raise ReaderMissing(sentence, title, missing)
        library = import_module("trajectory")
        try:
            for session, rows in sessions(source, library) if sessions else _whole(source, library, name, title):
                for message in _messages(rows, Turns(options)):
                    yield session, message
        except (library.TrajectoryRuntimeError, library.NormalizationError) as error:
            raise TranscriptError(f"{source.path} cannot be read in the format of {title}: {error}") from error

    return Reader(name, recognises, read, places, paired=False, needs=needs, title=title)


def _whole(source: Source, library: Any, name: str, title: str) -> Sessions:
    """Give the extra a whole transcript, which is one session."""
    with source.open() as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise TranscriptError(f"{source.path} is over {MAX_BYTES >> 20} MiB, too large for the format of {title}.")
    told = raw.decode("utf-8", "replace")
    result = library.normalize_transcript(source=name, transcript=told, bounds=WHOLE, source_context={"partial": True})
    yield _session(source), _told(result, source)


def _threads(source: Source, library: Any) -> Sessions:
    """Give the extra a LangGraph database of threads, each of them a session."""
    for number, thread in enumerate(groups(source.path, "checkpoints", "thread_id", "checkpoint_id")):
        try:
            result = library.normalize_checkpoint(thread_id=thread, path=source.path, bounds=WHOLE)
        except (library.TrajectoryRuntimeError, library.NormalizationError) as error:
            if number == 0:  # mostly LangGraph is missing, for all of them
                raise
            source.say(0, f"Thread {thread} could not be read ({error}).")
            continue
        yield thread, _without_one_time(_told(result, source))


def _installer() -> str:
    """Return the command that adds a package to this installation of `dream`, however it was installed."""
    place = Path(sys.prefix)
    if (place / "pipx_metadata.json").exists():
        return f"pipx inject {place.name}"
    if (place / "uv-receipt.toml").exists() or find_spec("pip") is None:
        return f"uv pip install --python {sys.executable}"
    return f"{sys.executable} -m pip install"


def _messages(rows: Iterable[Json], turns: Turns) -> Iterator[Message]:
    for row in rows:
        who, at, content = row.get("role"), row.get("timestamp"), row.get("content")
        if who in ("user", "assistant", "tool"):
            calls = [call(block) for block in parts.tables(row, "tool_calls")]
            answers, failed = parts.key(row, "tool_call_id"), parts.failed(row)
            yield from turns.told(who, content, at=at, calls=calls, answers=answers, failed=failed)


def _without_one_time(rows: list[Json]) -> list[Json]:
    """Take out the times where all are one: that of the last checkpoint, and another when the thread goes on."""
    times = {row["timestamp"] for row in rows if row.get("timestamp")}
    return rows if len(times) > 1 else [{**row, "timestamp": None} for row in rows]


def _told(result: Json, source: Source) -> list[Json]:
    """Report the extra's diagnostics, and take out the times that it made up."""
    found = parts.tables(result, "diagnostics")
    for diagnostic in found:
        if diagnostic.get("code") in ("invalid_json_line", "non_object_json_line"):
            line = diagnostic.get("inputLine")
            source.say(line if isinstance(line, int) else 0, str(diagnostic.get("message")))
    made_up = any(str(diagnostic.get("code", "")).startswith("timestamps_synth") for diagnostic in found)
    rows = parts.tables(result, "records")
    return [{**row, "timestamp": None} for row in rows] if made_up else rows


def _session(source: Source) -> str | None:
    """Return the session's id, from the header or from the first record that has one; None where there is none."""
    header, _ = source.header()
    names = ("session_id", "sessionId", "sessionID")
    if own := parts.key(header, *names):
        return own
    for record in source.records():
        row = record.value
        if row.get("type") == "session_start" and (own := parts.key(row, "id")):
            return own
        if own := parts.key(row, *names):
            return own
        if record.line > 20:
            break
    return None


def _types(head: Head) -> set[str]:
    return {record["type"] for record in head.records if isinstance(record.get("type"), str)}


def _openhands(head: Head) -> bool:
    kinds = [row["kind"] for row in head.records if isinstance(row.get("kind"), str)]
    return any(kind.endswith(("Event", "Observation")) for kind in kinds)


FOREIGN = (
    _foreign("atif", "ATIF", lambda head: str(head.header.get("schema_version")).startswith("ATIF")),
    _foreign(
        "droid", "Droid", lambda head: "session_start" in _types(head), (Place(".factory", "sessions/*/*.jsonl"),)
    ),
    _foreign("openhands", "OpenHands", _openhands),
    _foreign(
        "deepagents",
        "Deep Agents",
        lambda head: head.shape == "sqlite" and "checkpoints" in head.names,
        (Place(".deepagents", "sessions.db"),),
        f'"{EXTRA}[deepagents]"',  # with LangGraph, which alone understands what it stores
        _threads,
    ),
)
