"""Gemini CLI's chats: one JSON object with its messages, or (newer) JSON lines with a header line.

A row that is written again with more tool calls adds only those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Deletion, Head, Place, Reader, Said, Source, at_once, setting
from dream.transcripts.turns import Options, Turns

PATH_BYTES = 1 << 14  # of the noted folder that are read
_AGE = re.compile(r"(\d+)([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30}


def _recognises(head: Head) -> bool:
    """Return whether it has a header with a project's hash, or messages of type gemini."""
    if head.shape not in ("object", "lines"):
        return False
    if "projectHash" in head.header or any("projectHash" in record for record in head.records):
        return True
    return any(record.get("type") == "gemini" and "content" in record for record in head.records)


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session."""
    header, _ = source.header()
    turns, session = Turns(options, cwd=_folder(source.path, header)), parts.key(header, "sessionId")
    told: set[str] = set()
    for record in source.records():
        turns.cwd = turns.cwd or _folder(source.path, record.value)
        rows = parts.tables(record.value, "messages") or [record.value]
        session = session or parts.key(record.value, "sessionId")
        for row in rows:
            for message in _messages(row, turns, told):
                yield session, message


def _folder(path: Path, header: Json) -> str:
    """Return the project's folder, which Gemini CLI notes beside its chats, if the header's hash is of that folder."""
    if "projectHash" not in header:
        return ""
    with suppress(OSError), open(path.parent.parent / ".project_root", "rb", opener=at_once) as file:
        noted = file.read(PATH_BYTES).strip()
        return os.fsdecode(noted) if sha256(noted).hexdigest() == header["projectHash"] else ""
    return ""


def _messages(row: Json, turns: Turns, told: set[str]) -> Iterator[Message]:
    kind, at, identity = row.get("type", "user"), row.get("timestamp"), parts.key(row, "id")
    if kind not in ("user", "gemini") or "content" not in row:
        return
    blocks = [block for block in parts.tables(row, "toolCalls") if _is_new(block, told)]
    again = identity is not None and identity in told
    told.update([identity] if identity else [])
    made = list(
        turns.said(
            "user" if kind == "user" else "assistant",
            "" if again else row["content"],
            at=at,
            identity=f"{identity}+{parts.key(blocks[0], 'id')}" if again and blocks else identity,
            calls=[call(block) for block in blocks],
        )
    )
    yield from made
    if not blocks:
        return
    for number, (block, answers) in enumerate(zip(blocks, made[-1].calls[-len(blocks) :], strict=True), start=1):
        if block.get("result") is not None:
            when = block.get("timestamp") or at
            own = identity and f"{made[-1].id}#{number}"
            output = _output(block["result"])
            yield from turns.result(output, answers=answers, at=when, identity=own, failed=_failed(block, output))


def _is_new(block: Json, told: set[str]) -> bool:
    """Note a call by its id; return whether it is new."""
    identity = parts.key(block, "id")
    if identity is None:
        return True
    if f"call {identity}" in told:
        return False
    told.add(f"call {identity}")
    return True


def _failed(block: Json, output: object) -> bool | None:
    """Return whether a call failed: its status, or among the lines of a shell's output the exit code."""
    rows = output.split("\n") if isinstance(output, str) and output.startswith(("Command: ", "Output: ")) else []
    if (failed := parts.failed(block)) is not None:
        return failed
    return next((found for row in reversed(rows) if (found := parts.failed(text=row)) is not None), None)


def _output(result: object) -> object:
    """Take the output out of `[{functionResponse: {response: {output}}}]`."""
    found = []
    for item in result if isinstance(result, list) else [result]:
        if not isinstance(item, dict):
            found.append(item)
            continue
        response = parts.table(parts.table(item, "functionResponse"), "response")
        found.append(parts.first(response, "output", "error") or response or item)
    return found[0] if len(found) == 1 else found


def _deletes(home: Path, environ: Mapping[str, str]) -> Deletion | None:
    path = Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "settings.json"
    kept = "general", "sessionRetention"
    if setting(path, *kept, "enabled") is False:
        return None
    age = _AGE.fullmatch(str(setting(path, *kept, "maxAge")))
    return Deletion(int(age[1]) * _HOURS[age[2]] / 24 if age else 30.0, "general.sessionRetention")


GEMINI_CLI = Reader(
    "gemini-cli",
    _recognises,
    _read,
    (
        Place("", ".gemini/tmp/*/chats/session-*.json", "GEMINI_CLI_HOME"),
        Place("", ".gemini/tmp/*/chats/session-*.jsonl", "GEMINI_CLI_HOME"),
    ),
    asks="ask_user",
    title="Gemini CLI",
    deletes=_deletes,
)
