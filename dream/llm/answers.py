"""A provider's answer, read into our own value; each habit of each provider is dealt with here.

Three things are read, each from whatever a model put there: the answer as a whole, the arguments of a tool call, and
calls that a model wrote into its text, in the forms that model families are trained on.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from dream.language.text import mend_json, mend_surrogates
from dream.llm import Finish, Json, ToolCall

MAX_CHARS = 1_000_000  # of arguments that are read at all; a memory file holds a fortieth of that
MAX_TEXT_CALLS = 100  # tool calls read from one text
MAX_BLOCK_CHARS = 200_000  # of one block; a memory file holds an eighth of that

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
    follows the object, Python's spelling. A cut-off text is never completed.
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


def calls_in_text(text: str, offered: Sequence[str]) -> tuple[tuple[ToolCall, ...], str]:
    """Find the calls of `offered` tools in what a model wrote; return them in order, and the text without them.

    Only calls of an offered name count; a block that is not wholly made of such calls stays text.
    """
    if not any(name in text for name in offered):
        return (), text
    found: list[RawCall] = []

    def take(match: re.Match[str]) -> str:
        calls = _read(match[1], offered)
        found.extend(calls)
        return "" if calls else match[0]

    rest = text
    for pattern in _BLOCKS:
        rest = pattern.sub(take, rest)
    if not found:
        found = _read(rest, offered)
        rest = "" if found else rest
    if not found:
        found, rest = _leading(rest, offered)
    if not found:
        found, rest = _among_prose(rest, offered)
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


# Arguments: at most one mending, and only of trivial breaks.

_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*?)\n?```\Z", re.DOTALL)


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
        return _python(text)
    rest = text[end:].strip()
    return value if isinstance(value, dict) and not rest.strip("}] \n;`") else None


def _python(text: str) -> object | None:
    """Read Python's spelling of an object: single quotes, True, None, a comma at the end."""
    if not text.startswith("{") or len(text) > 100_000:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_json(value) else None


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_json(item) for name, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int | float)


def _a(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "something else")


# Calls in text: a model's own marks round a block, and the forms of what stands in it.

_BLOCKS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<\|tool_calls_section_begin\|>(.*?)(?:<\|tool_calls_section_end\|>|\Z)",  # Kimi
        r"<｜tool▁calls▁begin｜>(.*?)(?:<｜tool▁calls▁end｜>|\Z)",  # DeepSeek
        r"\[TOOL_CALLS\](.*)\Z",  # Mistral
        r"<\|python_tag\|>(.*?)(?:<\|eo[mt]_id\|>|\Z)",  # Llama
        r"<\|tool_call\|>(.*)\Z",  # Granite
        r"<(?:tool_calls?|tools|function_calls?)>(.*?)(?:</(?:tool_calls?|tools|function_calls?)>|\Z)",  # Hermes, Qwen
        r"(<function=.*?)(?:</function>|\Z)",  # Llama, Qwen Coder
        r"```(?:json|tool_calls?|tool_code|python|xml)?[ \t]*\n(.*?)\n?[ \t]*```",  # Gemma, and whoever likes fences
    )
)
_MARKS = re.compile(
    r"\[TOOL_CALLS\]|<\|tool_call_(?:begin|end)\|>|<｜tool▁call▁(?:begin|end)｜>|</?function>|</?tool_call>|</function(?=\s*<|\s*\Z)"
)
_NAMED = re.compile(
    r"\s*(?:function)?(?:<｜tool▁sep｜>)?(?:functions\.)?([A-Za-z_]\w*)(?::\d+)?\s*"
    r"(?:\[CALL_ID\]\w+)?(?:\[ARGS\]|<\|tool_call_argument_begin\|>|\n?```(?:json)?\n|\n|>)?\s*(?=\{)"
)
_XML = re.compile(r"<function=([A-Za-z_]\w*)>(.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(\w+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_GLM = re.compile(r"\s*([A-Za-z_]\w*)\s*((?:<arg_key>.*?</arg_value>\s*)+)\Z", re.DOTALL)
_GLM_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


def _read(block: str, offered: Sequence[str]) -> list[RawCall]:
    """Read a block in the first form in which all of it is calls of offered tools; none where there is no such."""
    if len(block) > MAX_BLOCK_CHARS:
        return []
    for reader in _READERS:
        calls = reader(block)
        if calls and all(call.name in offered for call in calls):
            return calls
    return []


def _objects(block: str) -> list[RawCall]:
    """Read `{"name": …, "arguments": {…}}`: one, several one after another, or a list."""
    calls: list[RawCall | None] = []
    for value in _values(_MARKS.sub(" ", block)):
        calls += [_described(item) for item in (value if isinstance(value, list) else [value])]
    known = [call for call in calls if call is not None]
    return known if len(known) == len(calls) else []


def _values(text: str) -> Iterator[object]:
    """Yield the JSON values that `text` consists of; one None where it has anything else."""
    place, decoder = 0, json.JSONDecoder(strict=False)
    while place < len(text):
        if text[place] in " \t\r\n,;":
            place += 1
            continue
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            yield None
            return
        yield value


def _described(item: object) -> RawCall | None:
    if not isinstance(item, dict):
        return None
    inner = item.get("function")
    if isinstance(inner, dict):
        item = inner
    name = item.get("name", item.get("tool", item.get("function")))
    given = next((item[key] for key in ("arguments", "parameters", "args", "input") if key in item), None)
    return RawCall(None, name, given) if isinstance(name, str) and given is not None else None


def _named(block: str) -> list[RawCall]:
    """Read a name with an object after it: `edit_file[ARGS]{…}`, and what DeepSeek and Kimi put between the two."""
    text, place = _MARKS.sub(" ", block), 0
    calls: list[RawCall] = []
    decoder = json.JSONDecoder(strict=False)
    while text[place:].strip("` \n\t"):
        head = _NAMED.match(text, place)
        if head is None:
            return []
        try:
            value, end = decoder.raw_decode(text, head.end())
        except (ValueError, RecursionError):
            return []
        calls.append(RawCall(None, head[1], value))
        place = end + len(text[end:]) - len(text[end:].lstrip("` \n\t"))
    return calls


def _tagged(block: str) -> list[RawCall]:
    """Read `<function=edit_file>`, with `<parameter=path>` elements or an object in it."""
    calls: list[RawCall] = []
    for name, inner in _XML.findall(block):
        pairs = _PARAMETER.findall(inner)
        given: object = {key: _scalar(key, value) for key, value in pairs} if pairs else inner.strip()
        calls.append(RawCall(None, name, given))
    return calls if not _XML.sub("", block).strip() else []


def _keyed(block: str) -> list[RawCall]:
    """Read GLM's form: a name, then `<arg_key>` and `<arg_value>` elements."""
    whole = _GLM.match(block)
    if whole is None:
        return []
    pairs = ((key.strip(), value) for key, value in _GLM_PAIR.findall(whole[2]))
    return [RawCall(None, whole[1], {key: _scalar(key, value) for key, value in pairs})]


def _scalar(key: str, value: str) -> object:
    """Read a value that stands bare in XML: numbers and lists as such; a text stays text, whatever it looks like."""
    if key.endswith("text"):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, int | list) else value


def _python_calls(block: str) -> list[RawCall]:
    """Read `edit_file(path="USER.md", …)`: calls with literal keyword arguments, one a line or in a list."""
    try:
        body = ast.parse(block.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    calls: list[RawCall | None] = []
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        items = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        calls += [_called(_unwrapped(item)) for item in items]
    known = [call for call in calls if call is not None]
    return known if len(known) == len(calls) else []


def _unwrapped(item: ast.expr | None) -> ast.expr | None:
    """Take the call out of `print(…)`, which Gemma puts round it."""
    if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "print" and item.args:
        return item.args[0]
    return item


def _called(item: ast.expr | None) -> RawCall | None:
    if not isinstance(item, ast.Call) or item.args:
        return None
    name = item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", None)
    try:
        given = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in item.keywords}
    except (ValueError, TypeError, RecursionError):
        return None
    return RawCall(None, name, given)


def _leading(text: str, offered: Sequence[str]) -> tuple[list[RawCall], str]:
    """Find a whole object that text begins with, whatever a small model goes on to write after it."""
    text = text.strip()
    if not text.startswith("{"):
        return [], text
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return [], text
    call = _described(value)
    return ([call], text[end:]) if call is not None and call.name in offered else ([], text)


def _among_prose(text: str, offered: Sequence[str]) -> tuple[list[RawCall], str]:
    """Find python-like calls that each begin a line of other text."""
    found: list[RawCall] = []
    head = re.compile(
        r"^[ \t]*(?:[-*][ \t]+|\d+[.)][ \t]+)?`?(?=(?:" + "|".join(map(re.escape, offered)) + r")\()", re.M
    )
    rest, place = "", 0
    for match in islice(head.finditer(text), MAX_TEXT_CALLS):
        if match.start() < place:
            continue
        end = _closing(text, match.end())
        calls = _read(text[match.end() : end], offered)
        if calls:
            found += calls
            rest += text[place : match.start()]
            place = end
    return found, rest + text[place:]


def _closing(text: str, start: int) -> int:
    """Return where the bracket closes that opens after `start`, strings left aside; `start` if it never does."""
    depth, quote, place = 0, "", start
    while place < min(len(text), start + MAX_BLOCK_CHARS):
        char = text[place]
        if quote:
            if char == "\\":
                place += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return start


_READERS: tuple[Callable[[str], list[RawCall]], ...] = (_objects, _named, _tagged, _keyed, _python_calls)
