"""Formats that are read through the package `agent-trajectory`, an extra that needs Node.js 20.

It takes a transcript as one string, so a file is held in memory, and one over MAX_BYTES is refused; of Deep Agents'
database it takes one thread at a time.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dream.errors import ReaderMissing, TranscriptError
from dream.models import Message
from dream.transcripts import databases, parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Pair, Place, Source
from dream.transcripts.turns import Options, Turns

MAX_BYTES = 64 << 20
EXTRA = "agent-trajectory"
WHOLE = {"toolArguments": {"maxCharacters": None}, "toolResults": {"maxCharacters": None}}  # we cut them ourselves


@dataclass(frozen=True, slots=True)
class Foreign:
    """A format that the extra reads: how it is recognised and where it lies."""

    name: str
    title: str
    is_it: Callable[[Head], bool]
    places: tuple[Place, ...] = ()
    extra: str = EXTRA  # what pip has to install
    grows: bool = False  # the extra takes whole transcripts

    def recognises(self, head: Head) -> bool:
        """Return whether a file is in this format, from its content alone."""
        return self.is_it(head)

    def read(self, source: Source, options: Options) -> Iterator[Pair]:
        """Yield the messages of each session. Raises TranscriptError without the extra, or when it refuses."""
        if needs := self.needs():
            sentence = f"{source.path} is in the format of {self.title}, which needs {needs}."
            raise ReaderMissing(sentence, self.title, needs)
        for session, rows in self._sessions(source, import_module("trajectory")):
            for message in _messages(rows, Turns(options)):
                yield f"{self.name}:{session}", message

    def needs(self) -> str:
        """Return what has to be installed before it can be read, and how; "" where all is there."""
        missing = [] if shutil.which("node") else ["Node.js 20"]
        if find_spec("trajectory") is None:
            missing.append(f"`{_installer()} {self.extra}`")
        return " and ".join(missing)

    def _sessions(self, source: Source, library: Any) -> Iterator[tuple[str, list[Json]]]:
        with source.open() as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise TranscriptError(
                f"{source.path} is over {MAX_BYTES >> 20} MiB, too large for the format of {self.title}."
            )
        told = raw.decode("utf-8", "replace")
        try:
            result = library.normalize_transcript(
                source=self.name, transcript=told, bounds=WHOLE, source_context={"partial": True}
            )
        except (library.TrajectoryRuntimeError, library.NormalizationError) as error:
            raise self._refused(source, error) from error
        yield _session(source), _told(result, source)

    def _refused(self, source: Source, error: Exception) -> TranscriptError:
        return TranscriptError(f"{source.path} cannot be read in the format of {self.title}: {error}")


def _installer() -> str:
    """Return the command that installs a package beside this `dream`, however that was installed itself."""
    place = Path(sys.prefix)
    if (place / "pipx_metadata.json").exists():
        return f"pipx inject {place.name}"
    if (place / "uv-receipt.toml").exists() or find_spec("pip") is None:
        return f"uv pip install --python {sys.executable}"
    return f"{sys.executable} -m pip install"


class DeepAgents(Foreign):
    """A LangGraph database of threads, each of them a session."""

    def _sessions(self, source: Source, library: Any) -> Iterator[tuple[str, list[Json]]]:
        for number, thread in enumerate(databases.groups(source.path, "checkpoints", "thread_id", "checkpoint_id")):
            try:
                result = library.normalize_checkpoint(thread_id=thread, path=source.path, bounds=WHOLE)
            except (library.TrajectoryRuntimeError, library.NormalizationError) as error:
                if number == 0:  # mostly LangGraph is missing, for all of them
                    raise self._refused(source, error) from error
                source.say(0, f"Thread {thread} could not be read ({error}).")
                continue
            yield thread, _without_one_time(_told(result, source))


def _messages(rows: Iterable[Json], turns: Turns) -> Iterator[Message]:
    for row in rows:
        who, at, content = row.get("role"), row.get("timestamp"), row.get("content")
        if who == "tool":
            yield from turns.result(content, answers=parts.key(row, "tool_call_id"), at=at)
        elif who in ("user", "assistant"):
            calls = [call(block) for block in parts.tables(row, "tool_calls")]
            yield from turns.said(who, content, at=at, calls=calls)


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


def _session(source: Source) -> str:
    """Return the session's id, from the header or from the first record that has one."""
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
    return source.default_id


def _types(head: Head) -> set[str]:
    return {record["type"] for record in head.records if isinstance(record.get("type"), str)}


def _openhands(head: Head) -> bool:
    kinds = [row["kind"] for row in head.records if isinstance(row.get("kind"), str)]
    return any(kind.endswith(("Event", "Observation")) for kind in kinds)


FOREIGN = (
    Foreign("atif", "ATIF", lambda head: str(head.header.get("schema_version")).startswith("ATIF")),
    Foreign("droid", "Droid", lambda head: "session_start" in _types(head), (Place(".factory", "sessions/*/*.jsonl"),)),
    Foreign("openhands", "OpenHands", _openhands),
    DeepAgents(
        "deepagents",
        "Deep Agents",
        lambda head: head.shape == "sqlite" and "checkpoints" in head.names,
        (Place(".deepagents", "sessions.db"),),
        f'"{EXTRA}[deepagents]"',  # with LangGraph, which alone understands what it stores
    ),
)
