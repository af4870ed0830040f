"""Look into foreign JSON, where any field may be absent or of any type, and take a message's content apart.

One tolerant decoder for the content blocks of all agents: `text`, `input_text`, `output_text`;
`tool_use`, `toolCall`; `tool_result`. Thinking and what is not known here are left out, and so are images, but for
a mark where the user showed one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dream.transcripts import clean

# The one place of `Any` here: what an agent wrote is checked field by field, where it is used.
Json = dict[str, Any]

IMAGE = "[image]"  # where the user showed one
_NO_ANSWER = ("Unanswered", "(notes only)")
LINE_CHARS = 160  # of a tool call's line
# The most informative arguments of a call, in this order; else the first one that is a string.
_TELLING = (
    *("command", "cmd", "file_path", "path", "filename", "query", "pattern", "url", "prompt", "input", "description"),
    *("title", "subject", "name", "message", "explanation", "task", "text", "content", "code"),
)
_COMMANDS = ("command", "cmd")  # arguments that hold what a shell is given
# How clients say that a result is an error: by a flag, by its opposite, by the command's exit status, by a word, or in
# the first or last line of its text.
_FAILED, _WORKED = ("is_error", "isError"), ("success", "resultOk")
_STATUS = ("exit_code", "exitCode", "exit")
_ERRORS = ("error", "failed", "cancelled", "rejected")
_EXITED = re.compile(r"<?(?:process )?(?:exit code|exited with(?: exit)? code):? (-?\d+)>?", re.IGNORECASE)
_TEXTS = {"text", "input_text", "output_text", "markdown", "audio_transcription", "refusal"}
_CALLS = {"tool_use", "toolCall", "tool-call", "tool_call", "function_call", "server_tool_use", "mcp_tool_use"}
_IMAGES = {"image", "image_url", "input_image", "image_file"}
_RESULTS = {"tool_result", "toolResult", "tool-result", "function_call_output", "mcp_tool_result"}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id if it has one, the tool's name, the call as one short line, and with all its arguments.

    `command` is what it gives a shell to run, "" where it runs none. `questions` are those in its arguments, each with
    its id; "" where it has none.
    """

    id: str | None
    name: str
    line: str
    whole: str
    questions: tuple[tuple[str, str], ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result, the id of the call that it answers, if it says, and whether it is an error."""

    answers: str | None
    content: str
    name: str | None = None
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What a message's content holds."""

    text: str
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


def text_of(record: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of the named fields that is a string with something in it."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def key(record: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of the named fields that can be an id: a string, or a number as a string."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**30:
            return str(value)
    return None


def table(record: Mapping[str, Any], name: str) -> Json:
    """Return the named field if it is an object, else an empty one."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def tables(record: Mapping[str, Any], name: str) -> list[Json]:
    """Return the objects in the named field, if it is a list of them."""
    value = record.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def first(record: Mapping[str, Any], *names: str) -> Any:
    """Return the first of the named fields that is there and not null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def opened(value: Any) -> Any:
    """Return the JSON in a string that holds an object or a list, else the value itself."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def split(content: object, image: str = "") -> Parts:
    """Take `content` apart: a string, a list of blocks, one block, or anything. `image` replaces each image."""
    if isinstance(content, str):
        return Parts(content)
    texts, calls, results = [], [], []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            texts.append(block)
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind is not None and not isinstance(kind, str):
            continue
        if kind in _CALLS:
            calls.append(call(block))
        elif kind in _RESULTS:
            results.append(_result(block))
        elif kind in _IMAGES or "inlineData" in block or block.get("content_type") == "image_asset_pointer":
            texts.append(image)
        elif kind is None or kind in _TEXTS:
            texts.append(_block_text(block))
    return Parts("\n\n".join(part for part in texts if part.strip()), tuple(calls), tuple(results))


def text(content: object) -> str:
    """Return only the text of `content`, results' text included; what is not text is shown as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = split(content)
    whole = [parts.text, *(result.content for result in parts.results)]
    found = "\n\n".join(part for part in whole if part)
    if found or _only_blocks(content):
        return found
    return _as_json(content)


def call(block: Mapping[str, Any]) -> Call:
    """Read a tool call of any shape: `{name, input}`, `{name, arguments}`, `{function: {name, arguments}}`."""
    function = table(block, "function")
    name = text_of(function, "name") or text_of(block, "name", "toolName", "tool_name", "tool") or "tool"
    arguments = first(function, "arguments", "args")
    if arguments is None:
        arguments = first(block, "input", "arguments", "args", "argsText")
    identity = key(block, "id", "call_id", "tool_call_id", "toolCallId", "callID")
    inside = opened(arguments)
    return Call(identity, name, line(name, arguments), _whole(name, arguments), _questions(inside), _command(inside))


def failed(*records: Mapping[str, Any], text: str = "") -> bool | None:
    """Return whether a result is an error, by the fields of its `records` or by its `text`; None where nothing says."""
    for record in records:
        for names, wrong in ((_FAILED, True), (_WORKED, False)):
            if said := [record[name] for name in names if isinstance(record.get(name), bool)]:
                return bool(said[0] is wrong)
        status = [record[name] for name in _STATUS if isinstance(record.get(name), int)]
        if status or record.get("status") in _ERRORS:
            return not status or status[0] != 0
    rows = text.strip().split("\n")
    found = _EXITED.fullmatch(rows[0].strip()) or _EXITED.fullmatch(rows[-1].strip())
    return int(found[1]) != 0 if found else None


def line(name: str, arguments: object) -> str:
    """Show a call as `→ Bash(git status)`: the name and its most telling argument, at most 160 characters."""
    telling = clean.images(_telling(opened(arguments)))
    shown = " ".join(f"→ {name}({telling[: 4 * LINE_CHARS]})".replace("\0", "").split())
    return shown if len(shown) <= LINE_CHARS else shown[: LINE_CHARS - 2] + "…)"


def answered(questions: Sequence[tuple[str, str]], told: str) -> list[tuple[str, str]]:
    """Return each of `questions` that a result answers, with its answer.

    Clients write `{"answers": {…}}`, by a question's text, id or number, or a sentence that holds
    `"question"="answer"`.
    """
    given = opened(told)
    if isinstance(given, dict):
        by = table(given, "answers")
        found = [(text, _flat(first(by, text, own, str(at)))) for at, (own, text) in enumerate(questions)]
    else:
        found = [(text, _between(told, text, [other for _, other in questions])) for _, text in questions]
    return [(question, answer) for question, answer in found if answer and answer not in _NO_ANSWER]


def cut(value: str, chars: int) -> str:
    """Cut `value` in its middle to `chars` characters, the mark of how much was left out included."""
    if len(value) <= chars:
        return value
    kept = max(chars - len(f"\n[… {len(value):,} characters left out …]\n"), 0)
    mark = f"\n[… {len(value) - kept:,} characters left out …]\n"
    head = (kept + 1) // 2
    return (value[:head] + mark + value[len(value) - (kept - head) :]).strip() if kept else mark.strip()


def _questions(arguments: object) -> tuple[tuple[str, str], ...]:
    asked = tables(arguments, "questions") if isinstance(arguments, dict) else []
    return tuple((key(one, "id") or "", text) for one in asked if (text := text_of(one, "question")))


def _flat(answer: object) -> str:
    if isinstance(answer, dict):
        answer = answer.get("answers")
    given = answer if isinstance(answer, list) else [answer]
    return ", ".join(one.strip() for one in given if isinstance(one, str) and one.strip())


def _between(told: str, question: str, questions: Sequence[str]) -> str:
    """Return the text from `"question"="` to the next question, or to the last quotation mark."""
    _, found, rest = told.partition(f'"{question}"="')
    ends = [at for other in questions if (at := rest.find(f'", "{other}"="')) >= 0]
    return rest[: min(ends, default=rest.rfind('"'))].strip() if found else ""


def _whole(name: str, arguments: object) -> str:
    """Show a call with all its arguments, as they came or as JSON; as its line does where there is but one."""
    inside = opened(arguments)
    alone = inside.values() if isinstance(inside, dict) and len(inside) < 2 else [inside]
    told = next(iter(alone), "")
    if isinstance(told, str):
        return clean.images(f"→ {name}({told})")
    shown = arguments if isinstance(arguments, str) else "" if arguments is None else _as_json(arguments)
    return clean.images(f"→ {name}({shown})")


def _command(arguments: object) -> str:
    given = first(arguments, *_COMMANDS) if isinstance(arguments, dict) else None
    if isinstance(given, list) and len(words := [word for word in given if isinstance(word, str)]) == len(given):
        return (_of_shell(words) or shlex.join(words)).strip()
    return given.strip() if isinstance(given, str) else ""


def _of_shell(words: list[str]) -> str:
    """Return the command that `bash -lc COMMAND` gives a shell, else ""."""
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else ""


def _telling(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, list):
        words = [word for word in arguments if isinstance(word, str)]
        return _of_shell(words) or " ".join(words)
    if not isinstance(arguments, dict):
        return ""
    names = [name for name in _TELLING if name in arguments] + list(arguments)
    for name in names:
        value = arguments[name]
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _telling(value)
    return next((str(value) for value in arguments.values() if isinstance(value, int | float)), "")


def _block_text(block: Mapping[str, Any]) -> str:
    for name in ("text", "content", "value", "output", "refusal"):
        value = block.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and isinstance(value.get("value"), str):
            return str(value["value"])
    return ""


def _result(block: Mapping[str, Any]) -> Result:
    answers = key(block, "tool_use_id", "tool_call_id", "toolCallId", "call_id")
    content = text(first(block, "content", "output", "result"))
    return Result(answers, content, text_of(block, "toolName"), failed(block, text=content))


def _only_blocks(content: object) -> bool:
    """Return whether `content` is blocks that are left out on purpose (images), or nothing."""
    blocks = content if isinstance(content, list) else [content]
    return all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)


def _as_json(content: object) -> str:
    try:
        return json.dumps(content, ensure_ascii=False, separators=(", ", ": "))
    except (ValueError, RecursionError):
        return ""
