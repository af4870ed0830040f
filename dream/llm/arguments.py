"""The arguments of a tool call, read from whatever a model put there. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from dream.llm.model import Json
from dream.text import mend_surrogates

MAX_CHARS = 1_000_000  # of arguments that are read at all; a memory file holds a fortieth of that
_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*?)\n?```\Z", re.DOTALL)


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
    return {str(name): mend(item) for name, item in value.items()}, None


def mend(value: object) -> Json:
    """Copy a JSON value with its lone surrogates replaced: no file and no request could hold them."""
    if isinstance(value, str):
        return mend_surrogates(value)
    if isinstance(value, Mapping):
        return {mend_surrogates(str(name)): mend(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [mend(item) for item in value]
    return value if isinstance(value, bool | int | float) else None


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
    import ast  # 10 ms, for answers that are broken only

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
