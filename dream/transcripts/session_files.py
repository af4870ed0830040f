"""The session files that agents write as JSON lines, row by row, and how each of them is read.

The agents stand in the order of their names; at the end of each section is its `Reader`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dream.models import Message, Role
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Deletion, Head, Place, Reader, Said, Source, setting
from dream.transcripts.turns import Options, Turns, role

# Claude Code's session files: JSON lines, one row a content block of an answer.
#
# Rows are taken in the order of the file, and each row is a message of its own, so a growing file never changes
# what was read before; rows that a resumed session repeats are dropped by their id.
# Source of the shape: letta-ai/trajectory, Claude Code 2.1.139 to 2.1.206.

_CLAUDE_MARKS = {"uuid", "parentUuid", "sessionId", "isSidechain", "leafUuid", "requestId", "gitBranch", "userType"}


def _is_claude(head: Head) -> bool:
    """Return whether rows of type user or assistant hold a message, with Claude Code's own fields beside it."""
    return head.shape == "lines" and any(
        record.get("type") in ("user", "assistant")
        and isinstance(record.get("message"), dict)
        and not _CLAUDE_MARKS.isdisjoint(record)
        for record in head.records
        if isinstance(record.get("type"), str)
    )


def _read_claude(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each session in the file; a sub-agent's belong to a session of their own."""
    state, default = source.carried, source.default_id
    for record in source.records():
        row = _claude_queued(record.value)
        session = state.session = parts.key(row, "sessionId") or state.session or default
        if row.get("type") not in ("user", "assistant") or _is_claude_left_out(row):
            continue
        sidechain = row.get("isSidechain") is True
        if sidechain and not options.include_subagents:
            continue
        own = f"{session}/{parts.key(row, 'agentId') or 'sidechain'}" if sidechain else session
        said = parts.table(row, "message")
        who: Role = "assistant" if row["type"] == "assistant" else "user"
        turns, at = state.turns_of(own, options), parts.first(row, "timestamp")
        identity = parts.key(row, "uuid") or parts.key(said, "id")
        name = _claude_sender(row) if who == "user" else None
        for message in turns.said(who, _claude_content(row, said), at=at, identity=identity, name=name):
            yield own, message
        if refused := _claude_refusal(row, said):
            yield from ((own, one) for one in turns.said("user", refused, at=at, identity=identity and f"{identity}=1"))


def _claude_queued(row: Json) -> Json:
    """Return as a message what the user typed while the agent worked, which stands in an attachment alone."""
    held = parts.table(row, "attachment")
    typed = held.get("commandMode", "prompt") == "prompt" and held.get("isMeta") is not True
    if row.get("type") != "attachment" or held.get("type") != "queued_command" or not typed:
        return row
    said = {"role": "user", "content": held.get("prompt")}
    return {**row, "type": "user", "origin": held.get("origin"), "message": said}


def _claude_sender(row: Json) -> str | None:
    """Name whoever sent a message that the user did not type: another session, a channel, a task."""
    kind = parts.text_of(parts.table(row, "origin"), "kind")
    return None if kind == "human" else kind


def _claude_content(row: Json, said: Json) -> object:
    """Return what a row says; of answers to questions what the client keeps of them, which a sentence can't."""
    content, kept = parts.first(said, "content", "text"), parts.table(row, "toolUseResult")
    results = [block for block in parts.tables(said, "content") if block.get("type") == "tool_result"]
    answers, notes = parts.table(kept, "answers"), parts.table(kept, "annotations")
    if not answers or len(results) != 1:
        return content
    given = {
        question: [*(answer if isinstance(answer, list) else [answer]), parts.table(notes, question).get("notes")]
        for question, answer in answers.items()
    }
    return [{**results[0], "content": json.dumps({"answers": given})}]


def _claude_refusal(row: Json, said: Json) -> str:
    """Return what the user said when they refused a tool; only the client's own mark makes it theirs."""
    if row.get("toolDenialKind") != "user-rejected":
        return ""
    told = "".join(parts.text(block.get("content")) for block in parts.tables(said, "content"))
    return told.partition("the user said:\n")[2].partition("\nNote: The user's next message")[0]


def _is_claude_left_out(row: Json) -> bool:
    """Return whether a row is not a person's or the model's: meta rows, compaction summaries, the harness's answers."""
    if any(row.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return True
    return parts.table(row, "message").get("model") == "<synthetic>"


def _claude_deletes(home: Path, environ: Mapping[str, str]) -> Deletion | None:
    own = environ.get("CLAUDE_CONFIG_DIR")
    days = setting((Path(own).expanduser() if own else home / ".claude") / "settings.json", "cleanupPeriodDays")
    return Deletion(float(days) if isinstance(days, int) and days > 0 else 30.0, "cleanupPeriodDays")


CLAUDE_CODE = Reader(
    "claude-code",
    _is_claude,
    _read_claude,
    (
        Place(".claude", "projects/*/*.jsonl", "CLAUDE_CONFIG_DIR"),
        Place(".claude", "projects/*/*/subagents/*.jsonl", "CLAUDE_CONFIG_DIR", subagents=True),
    ),
    asks="AskUserQuestion",
    title="Claude Code",
    deletes=_claude_deletes,
)


# Codex's rollout files: JSON lines of `{timestamp, type, payload}`; of older versions, the payloads themselves.
#
# What was said stands in `response_item` rows; `event_msg` rows repeat it for the screen.
# Source of the shape: letta-ai/trajectory.

_CODEX_ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CODEX_OLD_ROWS = ("message", "function_call", "function_call_output", "reasoning", "local_shell_call")


def _is_codex(head: Head) -> bool:
    """Return whether rows have a payload, or, as older ones, instructions first and then items without a message."""
    if head.shape != "lines":
        return False
    if any(isinstance(row.get("payload"), dict) and row.get("type") in _CODEX_ROWS for row in head.records):
        return True
    old = [
        row for row in head.records if row.get("type") in _CODEX_OLD_ROWS and not isinstance(row.get("message"), dict)
    ]
    return bool(old) and ("instructions" in head.records[0] or any(row["type"] != "message" for row in old))


def _read_codex(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session. A fork repeats its parent's head and keeps its own id, the first one."""
    state = source.carried
    turns = state.turns_of("", options)
    for record in source.records():
        row = record.value
        payload = row["payload"] if isinstance(row.get("payload"), dict) else row
        if row.get("type") == "session_meta" or "instructions" in row:
            state.session = state.session or parts.key(payload, "id")
            if _is_codex_subagent(payload) and not options.include_subagents:
                state.over = True
                return
        if payload is not row and row.get("type") != "response_item":
            continue
        for message in _codex_item(payload, parts.first(row, "timestamp"), turns):
            yield state.session, message


def _is_codex_subagent(meta: Json) -> bool:
    origin = meta.get("source")
    return "subagent" in origin if isinstance(origin, dict | str) else False


def _codex_item(item: Json, at: object, turns: Turns) -> Iterator[Message]:
    kind = item.get("type")
    if not isinstance(kind, str) or kind == "message":
        who, person = role(item.get("role"))
        if who in ("user", "assistant") and "content" in item:
            yield from turns.said(who, item["content"], at=at, identity=parts.key(item, "id"), name=person)
    elif kind.endswith("_output"):
        content = parts.first(item, "output", "tools", "result")
        yield from turns.result(_codex_output(content), answers=parts.key(item, "call_id"), at=at)
    elif kind.endswith("_call"):
        action = item.get("action")  # of local_shell_call and web_search_call
        asked = item if action is None else {**item, "arguments": action}
        own = {"name": kind.removesuffix("_call")} | asked
        yield from turns.said("assistant", "", at=at, calls=[call(own | {"id": parts.key(item, "call_id", "id")})])


def _codex_output(content: object) -> object:
    """Take the output out of `{"output": "…", "metadata": {…}}`, which comes as an object or as JSON in a string."""
    opened = parts.opened(content)
    if isinstance(opened, dict) and isinstance(opened.get("output"), str):
        return opened["output"]
    return content


CODEX = Reader(
    "codex",
    _is_codex,
    _read_codex,
    (Place(".codex", "sessions/*/*/*/rollout-*.jsonl", "CODEX_HOME"),),
    asks="request_user_input",
    title="Codex",
)


# Copilot CLI's event files: JSON lines of `{type, data, id, timestamp}`.
#
# What the user said stands in `user.message`; older versions have it only where the hook `userPromptSubmitted`
# begins, and some in both, one after the other.
# Source of the shape: letta-ai/trajectory, and files of Copilot CLI 1.0.102.

_COPILOT_EVENTS = {"session.start", "user.message", "assistant.message", "hook.start"}
_COPILOT_NOT_TYPED = ("skill", "system", "autopilot")  # how the source of a user message begins that nobody typed


def _is_copilot(head: Head) -> bool:
    """Return whether it has events of a known type with their data."""
    return head.shape == "lines" and any(
        record.get("type") in _COPILOT_EVENTS and isinstance(record.get("data"), dict)
        for record in head.records
        if isinstance(record.get("type"), str)
    )


def _read_copilot(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; a sub-agent's are left out unless they are asked for."""
    state = source.carried
    turns = state.turns_of("", options)
    for record in source.records():
        row, data = record.value, parts.table(record.value, "data")
        if row.get("type") == "session.start":
            state.session = state.session or parts.key(data, "sessionId")
        if parts.key(data, "parentToolCallId") and not options.include_subagents:
            continue
        for message in _copilot_messages(row, data, turns, state.told):
            yield state.session, message


def _copilot_messages(row: Json, data: Json, turns: Turns, prompts: set[str]) -> Iterator[Message]:
    kind, at, identity = row.get("type"), row.get("timestamp"), parts.key(row, "id")
    if kind == "user.message":
        if not str(data.get("source")).startswith(_COPILOT_NOT_TYPED) and _copilot_is_new(
            data.get("content"), "said", prompts
        ):
            yield from turns.said("user", data.get("content"), at=at, identity=identity)
    elif kind == "hook.start" and data.get("hookType") == "userPromptSubmitted":
        asked = parts.table(data, "input")
        if _copilot_is_new(asked.get("prompt"), "hooked", prompts):
            yield from turns.said("user", asked.get("prompt"), at=asked.get("timestamp") or at, identity=identity)
    elif kind == "assistant.message":
        prompts.clear()
        calls = [call(block) for block in parts.tables(data, "toolRequests")]
        yield from turns.said("assistant", data.get("content"), at=at, identity=identity, calls=calls)
    elif kind == "tool.execution_complete":
        yield from turns.result(_copilot_output(data), answers=parts.key(data, "toolCallId"), at=at, identity=identity)


def _copilot_is_new(prompt: object, where: str, prompts: set[str]) -> bool:
    """Note where a prompt of this turn stands; return whether it is not in the other place."""
    other = f"{'hooked' if where == 'said' else 'said'} {prompt}"
    if other in prompts:
        prompts.remove(other)
        return False
    prompts.add(f"{where} {prompt}")
    return True


def _copilot_output(data: Json) -> object:
    found = parts.first(parts.table(data, "result"), "content", "detailedContent")
    return found if found is not None else parts.first(parts.table(data, "error"), "message") or data.get("error")


COPILOT_CLI = Reader(
    "copilot-cli",
    _is_copilot,
    _read_copilot,
    (
        Place(".copilot", "session-state/*.jsonl", "COPILOT_HOME"),
        Place(".copilot", "session-state/*/events.jsonl", "COPILOT_HOME"),
    ),
    title="Copilot CLI",
)


# Gemini CLI's chats: one JSON object with its messages, or (newer) JSON lines with a header line.
#
# A row that is written again with more tool calls adds only those.


def _is_gemini(head: Head) -> bool:
    """Return whether it has a header with a project's hash, or messages of type gemini."""
    if head.shape not in ("object", "lines"):
        return False
    if "projectHash" in head.header or any("projectHash" in record for record in head.records):
        return True
    return any(record.get("type") == "gemini" and "content" in record for record in head.records)


def _read_gemini(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session."""
    header, _ = source.header()
    state = source.carried
    state.session = state.session or parts.key(header, "sessionId")
    turns = state.turns_of("", options)
    for record in source.records():
        rows = parts.tables(record.value, "messages") or [record.value]
        state.session = state.session or parts.key(record.value, "sessionId")
        for row in rows:
            for message in _gemini_messages(row, turns, state.told):
                yield state.session, message


def _gemini_messages(row: Json, turns: Turns, told: set[str]) -> Iterator[Message]:
    kind, at, identity = row.get("type", "user"), row.get("timestamp"), parts.key(row, "id")
    if kind not in ("user", "gemini") or "content" not in row:
        return
    blocks = [block for block in parts.tables(row, "toolCalls") if _gemini_is_new(block, told)]
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
            yield from turns.result(_gemini_output(block["result"]), answers=answers, at=when, identity=own)


def _gemini_is_new(block: Json, told: set[str]) -> bool:
    """Note a call by its id; return whether it is new."""
    identity = parts.key(block, "id")
    if identity is None:
        return True
    if f"call {identity}" in told:
        return False
    told.add(f"call {identity}")
    return True


def _gemini_output(result: object) -> object:
    """Take the output out of `[{functionResponse: {response: {output}}}]`."""
    found = []
    for item in result if isinstance(result, list) else [result]:
        if not isinstance(item, dict):
            found.append(item)
            continue
        response = parts.table(parts.table(item, "functionResponse"), "response")
        found.append(parts.first(response, "output", "error") or response or item)
    return found[0] if len(found) == 1 else found


_GEMINI_AGE = re.compile(r"(\d+)([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30}


def _gemini_deletes(home: Path, environ: Mapping[str, str]) -> Deletion | None:
    path = Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "settings.json"
    kept = "general", "sessionRetention"
    if setting(path, *kept, "enabled") is False:
        return None
    age = _GEMINI_AGE.fullmatch(str(setting(path, *kept, "maxAge")))
    return Deletion(int(age[1]) * _HOURS[age[2]] / 24 if age else 30.0, "general.sessionRetention")


GEMINI_CLI = Reader(
    "gemini-cli",
    _is_gemini,
    _read_gemini,
    (
        Place("", ".gemini/tmp/*/chats/session-*.json", "GEMINI_CLI_HOME"),
        Place("", ".gemini/tmp/*/chats/session-*.jsonl", "GEMINI_CLI_HOME"),
    ),
    asks="ask_user",
    title="Gemini CLI",
    deletes=_gemini_deletes,
)


# Letta Code's transcripts: JSON lines of `{kind, text, captured_at}`, a tool's call and result in one row.
#
# Its local backend keeps messages in the shape of pi's, with `metadata` beside them; it counts conversations and
# messages from 1 for each agent, and gives what the user says the number of the message as its time: there the time
# of the answer stands.
# Source of the shapes: letta-ai/trajectory, and files of Letta Code 0.25.9.

COUNTED_FROM = 1_767_225_600_000  # ms: 2026-01-01, from which it counts its messages in seconds
_LETTA_KINDS = ("user", "assistant", "reasoning", "tool_call", "error")


def _is_letta(head: Head) -> bool:
    """Return whether it has rows of a known kind, or messages that name their agent and conversation."""
    return head.shape == "lines" and any(_is_letta_local(record) or _is_letta_known(record) for record in head.records)


def _read_letta(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session."""
    turns = source.carried.turns_of("", options)
    asked: list[Json] = []  # what waits for the time of its answer
    for record in source.records():
        row = record.value
        if not _is_letta_local(row):
            for message in _letta_messages(row, turns):
                yield parts.key(row, "conversation_id"), message
            continue
        asked.append(row)
        if row["role"] != "user":
            yield from _letta_local(asked, turns)
            asked.clear()
    yield from _letta_local(asked, turns)


def _letta_local(rows: list[Json], turns: Turns) -> Iterator[Said]:
    """Yield the messages of rows of the local backend; those without a time get that of the last."""
    for row in rows:
        session = "/".join(_letta_owner(row))
        for message in pi_says(
            row, turns, _letta_time(row) or _letta_time(rows[-1]), f"{session}/{parts.key(row, 'id')}"
        ):
            yield session, message


def _is_letta_known(row: Json) -> bool:
    known = isinstance(row.get("kind"), str) and row["kind"] in _LETTA_KINDS
    return known and not {"captured_at", "source_line_id", "text"}.isdisjoint(row)


def _is_letta_local(row: Json) -> bool:
    return "role" in row and all(_letta_owner(row))


def _letta_owner(row: Json) -> tuple[str, str]:
    about = parts.table(row, "metadata")
    return parts.key(about, "agent_id") or "", parts.key(about, "conversation_id") or ""


def _letta_time(row: Json) -> object:
    """Return when a message was said, where that is told: else it counts the message."""
    at, number = row.get("timestamp"), (parts.key(row, "id") or "").rpartition("-")[2]
    made_up = number.isdecimal() and at == COUNTED_FROM + 1_000 * int(number)
    return None if made_up else at


def _letta_messages(row: Json, turns: Turns) -> Iterator[Message]:
    kind, at, identity = row.get("kind", "user"), row.get("captured_at"), parts.key(row, "source_line_id")
    if kind in ("user", "assistant"):
        yield from turns.said(kind, row.get("text"), at=at, identity=identity)
    elif kind == "tool_call":
        asked = call({"id": identity, "name": row.get("name"), "argsText": row.get("argsText")})
        yield from turns.called(asked, row.get("resultText"), at=at, identity=identity)


LETTA_CODE = Reader(
    "letta-code",
    _is_letta,
    _read_letta,
    (
        Place(".letta", "transcripts/*/*/transcript.jsonl"),
        Place(".letta", "lc-local-backend/conversations/*/messages.jsonl"),
    ),
    asks="AskUserQuestion",
    title="Letta Code",
)


# nanobot's session files: a metadata line, then OpenAI-style messages with naive local times.
#
# A file that was started anew (`/new`) keeps its key; what tells it is the messages' ids. Of the rows, as many as
# `last_consolidated` says are in nanobot's own history; a number that can't be is none, as it is for nanobot.

# Channels on which nobody speaks: scheduled runs, sub-agents, and the dreaming of nanobot itself.
_NANOBOT_SILENT = ("cron", "heartbeat", "subagent", "system", "dream")


def _is_nanobot(head: Head) -> bool:
    """Return whether it has a line whose `_type` is metadata."""
    return head.shape == "lines" and any(record.get("_type") == "metadata" for record in head.records)


def _read_nanobot(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; none of a scheduled or sub-agent's session unless they are asked for."""
    state = source.carried
    turns = state.turns_of("", options)
    for record in source.records():
        row = record.value
        if row.get("_type") == "metadata":
            state.session = parts.key(row, "key") or state.session
            state.number = _nanobot_summarised(row.get("last_consolidated"), source)
        if "_type" in row:
            continue
        done, state.number = state.number > 0, max(state.number - 1, 0)
        if row.get("_command") or row.get("injected_event"):
            continue
        if (state.session or "").partition(":")[0] in _NANOBOT_SILENT and not options.include_subagents:
            continue
        who, person = role(row.get("role"))
        for message in turns.told(
            who,
            row.get("content"),
            at=row.get("timestamp"),
            identity=parts.key(row, "id"),
            name=parts.text_of(row, "name") or person,
            calls=[call(block) for block in parts.tables(row, "tool_calls")],
            answers=parts.key(row, "tool_call_id"),
        ):
            yield state.session, replace(message, summarised=done)


def _nanobot_summarised(value: object, source: Source) -> int:
    """Read how many rows nanobot has summarised: 0 for what is no number, or more than there are."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return 0
    with source.open() as file:
        rows = sum(1 for line in file if line.strip())
    return value if value < rows else 0


NANOBOT = Reader(
    "nanobot",
    _is_nanobot,
    _read_nanobot,
    (
        Place(".nanobot", "sessions/*.jsonl"),
        Place(".nanobot", "sessions/*/*.jsonl"),
        Place(".nanobot", "workspace/sessions/*.jsonl"),  # of older versions
    ),
    paired=False,
    title="nanobot",
)


# Session files of pi and of what is built on it, OpenClaw and omp: a header line, then rows that form a tree.
#
# Rows are taken in the order of the file, abandoned branches included: the file only grows, so positions stay.
# Keys begin with `pi:` for all three; nothing in a file tells which of them wrote it.

# How the first message of a session begins that a scheduler or another agent started.
_PI_STARTED_BY_ITSELF = ("[cron:", "[Subagent Context]", "[Subagent Task]")


def is_pi(head: Head) -> bool:
    """Return whether it has a session header, and rows that are messages with a role inside."""
    return head.shape == "lines" and any(
        record.get("type") == "message"
        and "role" in parts.table(record, "message")
        and ("parentId" in record or "timestamp" in record)
        for record in head.records
    )


def read_pi(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of the session; none of a scheduled or sub-agent's one unless they are asked for."""
    state = source.carried
    turns = state.turns_of("", options)
    for record in source.records():
        row = record.value
        if row.get("type") == "session":
            state.session = state.session or parts.key(row, "id")
        if row.get("type") != "message":
            continue
        said = parts.table(row, "message")
        at = parts.first(row, "timestamp") or said.get("timestamp")
        for message in pi_says(said, turns, at, parts.key(row, "id")):
            alone = message.content.startswith(_PI_STARTED_BY_ITSELF)
            if not state.begun and message.role == "user" and alone and not options.include_subagents:
                state.over = True
                return
            state.begun = True
            yield state.session, message


def pi_says(said: Json, turns: Turns, at: object, identity: str | None, name: str | None = None) -> Iterator[Message]:
    """Yield what a message of pi's says; Letta Code and OpenClaw have the same ones."""
    who = said.get("role", "user")
    if who == "toolResult":
        answers, tool = parts.key(said, "toolCallId"), parts.text_of(said, "toolName")
        return turns.result(said.get("content"), answers=answers, at=at, identity=identity, name=tool)
    if who in ("user", "assistant"):
        return turns.said(who, said.get("content"), at=at, identity=identity, name=name)
    return iter(())  # summaries of branches and compactions, what extensions inject


PI = Reader("pi", is_pi, read_pi, (Place(".pi/agent", "sessions/*/*.jsonl", "PI_CODING_AGENT_DIR"),))
OMP = Reader("omp", is_pi, read_pi, (Place(".omp/agent", "sessions/*/*.jsonl"),), key=PI.name)
