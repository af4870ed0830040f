"""A provider's answer, read into our own value. Pure; each habit of each provider is dealt with here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dream.llm.arguments import read_arguments
from dream.llm.model import Finish, ToolCall
from dream.llm.written import RawCall, written_calls
from dream.text import mend_surrogates

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
# Harmony, the form of gpt-oss: a header, `<|message|>`, the text of that channel, and a mark at its end.
_HARMONY = re.compile(r"(?:<\|start\|>\w+)?(<\|channel\|>[^<]*(?:<\|constrain\|>[^<]*)?)<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|call)\|>\s*\Z")
_HARMONY_CALL = re.compile(r"to=functions\.([A-Za-z_]\w*)")


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


def without_thinking(text: str) -> str:
    """Drop thinking blocks from the start of `text`; one that never ends is all there is.

    Marks further on are what the text talks about and stay. A closing mark that begins the text, or a line, with
    nothing opened before it ends a block whose opening mark was part of the prompt; one of XML stands alone in a line.
    """
    rest = text.lstrip()
    if _HARMONY.match(rest):
        return _final(rest)
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


def _final(text: str) -> str:
    """Return what an answer in channels says in the end, or the calls that it makes, each a name and an object."""
    _, *parts = _HARMONY.split(text)
    said, calls = "", []
    for header, body in zip(parts[::2], parts[1::2], strict=True):
        told = _HARMONY_END.sub("", body).strip()
        if call := _HARMONY_CALL.search(header):
            calls.append(f"functions.{call[1]}{told}")
        elif "final" in header:
            said = told
    return "\n".join(calls) or said


def calls_in_text(text: str, offered: Sequence[str]) -> tuple[tuple[ToolCall, ...], str]:
    """Find tool calls that a model wrote into its text; return them and the text without them."""
    found, rest = written_calls(text, offered)
    return _native(found), rest


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
