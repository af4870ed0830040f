"""A provider's answer, read into our own value; each habit of each provider is dealt with here.

Three things are read: the answer as a whole, the arguments of a tool call, and calls that a model wrote into its text,
as fenced JSON or in `<tool_call>`. A server that passes on a model family's own marks is to be set up to parse them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dream.llm import Finish, Json, ToolCall
from dream.text.safe import mend_json, mend_surrogates

MAX_CHARS = 1_000_000  # characters of the longest arguments that are read; a memory file has a fortieth of them
MAX_TEXT_CALLS = 100  # tool calls read from one text
MAX_BLOCK_CHARS = 200_000  # characters of the longest block that is read; a memory file has an eighth of them

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}
# A provider's own words for "this did not end well", which LiteLLM passes on as "stop".
_FAILED = re.compile(r"error|fail|abort|cancel|malformed|unexpected|timeout", re.IGNORECASE)
# How models mark what they think before they answer, and where that ends.
_THINKING = (
    *((f"<{tag}>", f"</{tag}>") for tag in ("think", "thinking", "reasoning", "thought", "seed:think")),
    ("<|channel>", "<channel|>"),  # Gemma 4, also round nothing
    ("◁think▷", "◁/think▷"),  # Kimi
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
)
_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*?)\n?```\Z", re.DOTALL)
_BLOCKS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<tool_call>(.*?)(?:</tool_call>|\Z)",
        r"```(?:json)?[ \t\r]*\n(.*?)\n?[ \t]*```",
    )
)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as the model sent or wrote it; `arguments` may be an object or its text."""

    id: str | None
    name: str | None
    arguments: object


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The first choice of a response as plain values; `native_finish` is the provider's own word, where known."""

    content: str | None
    calls: tuple[RawCall, ...] = ()
    refusal: str | None = None
    finish: str | None = None
    native_finish: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said. `failed` holds the provider's word for an answer that broke off, or is empty."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish: Finish
    failed: str = ""


def read_answer(raw: RawAnswer, offered: Sequence[str]) -> Answer:
    """Read an answer. `offered` are the names of the tools that the model was given.

    Calls in the text count only where tools were offered, none came natively, and the name is an offered one.
    """
    text = without_thinking(mend_surrogates(raw.content or ""))
    calls = _native(raw.calls)
    if offered and not calls:
        calls, text = calls_in_text(text, offered)
    word = (raw.native_finish or "").lower()
    finish = _FINISHES.get(word) or _FINISHES.get((raw.finish or "stop").lower(), "stop")
    failed = word if word and word not in _FINISHES and _FAILED.search(word) else ""
    if raw.refusal and not calls:
        return Answer(text or mend_surrogates(raw.refusal), (), "refusal", failed)
    if calls and finish == "stop":
        finish = "tool_calls"
    elif not calls and finish == "tool_calls":
        finish = "stop"
    return Answer(text, calls, finish, failed)


def read_arguments(raw: object) -> tuple[dict[str, Json], str | None]:
    """Return the arguments as an object, and what is wrong with them, or None.

    An object, its JSON text, its JSON text twice encoded, and a list of one object are understood.
    One mending is tried on broken text, and only of trivial breaks that can't change a value: a code fence, what
    follows the object. A cut-off text is never completed.
    """
    value = raw
    for _ in range(3):  # as it is, encoded, encoded twice
        if not isinstance(value, str):
            break
        if len(value) > MAX_CHARS:
            return {}, f"the arguments are {len(value):,} characters long; at most {MAX_CHARS:,} are read"
        if not value.strip():
            return {}, None
        try:
            value = _load(value)
        except (ValueError, RecursionError) as error:
            return {}, f"the arguments are not valid JSON ({error}); send one JSON object"
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None:
        return {}, None
    if not isinstance(value, Mapping):
        return {}, f"the arguments are {_a(value)}, not a JSON object; send one JSON object"
    return {str(name): mend_json(item) for name, item in value.items()}, None


def without_thinking(text: str) -> str:
    """Drop thinking blocks from the start of `text`; one that never ends is all there is.

    Marks further on are what the text talks about and stay. A closing mark that begins the text, or a line, with
    nothing opened before it ends a block whose opening mark was part of the prompt; one of XML stands alone in a line.
    """
    rest = text.lstrip()
    while pair := next((pair for pair in _THINKING if rest.startswith(pair)), None):
        opened, closing = pair
        if rest.startswith(opened):
            _, closed, rest = rest.partition(closing)
            if not closed:
                return ""
        else:
            rest = rest.removeprefix(closing)
        text = rest = rest.lstrip()
    for opened, closing in _THINKING:
        ends = f"\n{closing}\n" if closing.startswith("</") else f"\n{closing}"
        before, closed, after = text.partition(ends)
        if closed and opened not in before and "```" not in before:
            return after.lstrip()
    return text


def calls_in_text(text: str, offered: Sequence[str]) -> tuple[tuple[ToolCall, ...], str]:
    """Find the calls of `offered` tools in what a model wrote; return them in order, and the text without them.

    Only calls of an offered name count; a block that is not wholly made of such calls stays text.
    """
    if not any(name in text for name in offered):
        return (), text
    found: list[RawCall] = []

    def take(match: re.Match[str]) -> str:
        calls = _written(match[1], offered)
        found.extend(calls)
        return "" if calls else match[0]

    rest = text
    for pattern in _BLOCKS:
        rest = pattern.sub(take, rest)
    if not found and (found := _written(rest, offered)):
        rest = ""
    return _native(found[:MAX_TEXT_CALLS]), rest.strip() if found else text


def _native(calls: Sequence[RawCall]) -> tuple[ToolCall, ...]:
    """Read calls; an id that is missing or used before gets a new one, for an answer must name its call."""
    read: list[ToolCall] = []
    for number, call in enumerate(calls, 1):
        arguments, problem = read_arguments(call.arguments)
        taken = {other.id for other in read}
        wanted = call.id or f"call_{number}"
        own = wanted if wanted not in taken else f"{wanted}_{number}"
        one = ToolCall(own, mend_surrogates(call.name or ""), arguments, problem)
        read.append(one if one.name else replace(one, problem="the call names no tool"))
    return tuple(read)


# Arguments: at most one mending, and only of trivial breaks.


def _load(text: str) -> object:
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except ValueError as error:
        mended = _mended(text.strip())
        if mended is None:
            raise error from None
        return mended


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _mended(text: str) -> object | None:
    fenced = _FENCE.match(text)
    if fenced:
        text = fenced[1].strip()
    try:
        value, end = json.JSONDecoder(strict=False, parse_constant=_refuse).raw_decode(text)
    except ValueError:
        return None
    rest = text[end:].strip()
    return value if isinstance(value, dict) and not rest.strip("}] \n;`") else None


def _a(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "something else")


# Calls in text: fenced JSON, JSON in <tool_call>, or nothing but JSON.


def _written(block: str, offered: Sequence[str]) -> list[RawCall]:
    """Read `{"name": …, "arguments": {…}}`: one, several, or a list of them; none if there is anything else."""
    if len(block) > MAX_BLOCK_CHARS:
        return []
    calls: list[RawCall] = []
    place, decoder = 0, json.JSONDecoder(strict=False)
    while place < len(block):
        if block[place] in " \t\r\n,;":
            place += 1
            continue
        try:
            value, place = decoder.raw_decode(block, place)
        except (ValueError, RecursionError):
            return []
        for item in value if isinstance(value, list) else [value]:
            call = _described(item)
            if call is None or call.name not in offered:
                return []
            calls.append(call)
    return calls


def _described(item: object) -> RawCall | None:
    if not isinstance(item, dict):
        return None
    inner = item.get("function")
    if isinstance(inner, dict):
        item = inner
    name = item.get("name", item.get("tool"))
    given = next((item[key] for key in ("arguments", "parameters") if key in item), None)
    return RawCall(None, name, given) if isinstance(name, str) and given is not None else None
