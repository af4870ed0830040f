"""Parse one JSON record from bytes, as tolerantly as it can be done without guessing."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

from dream.transcripts import clean
from dream.transcripts.fields import Json


class Broken(ValueError):  # noqa: N818, what a record is
    """A record that cannot be used; the message is the end of a sentence: "is not JSON (…)"."""


def record(raw: bytes) -> tuple[Json, str]:
    """Return the JSON object in `raw`, and what had to be mended, or "". Raises Broken."""
    found, mended = value(raw)
    if not isinstance(found, dict):
        raise Broken(f"is JSON, but {_kind(found)} and not an object")
    return found, mended


def incomplete() -> NoReturn:
    """Refuse a record whose end was not found."""
    raise Broken("is not complete, or too large")


def value(raw: bytes) -> tuple[Any, str]:
    """Return the JSON value in `raw`, and what had to be mended, or "".

    orjson is strict: what it refuses and `json` takes (unpaired surrogates, NaN, bytes that are not UTF-8,
    which become �) is mended. Raises Broken.
    """
    try:
        return orjson.loads(raw), ""
    except ValueError:
        return _tolerant(raw)


def _tolerant(raw: bytes) -> tuple[Any, str]:
    mended = ""
    try:
        told = raw.decode("utf-8")
    except UnicodeDecodeError:
        told, mended = raw.decode("utf-8", "replace"), "holds bytes that are not UTF-8; they were replaced by �"
    try:
        return _whole(json.loads(told.lstrip("\ufeff"))), mended
    except RecursionError:
        raise Broken("is nested too deeply") from None
    except ValueError as error:
        reason = error.msg.removesuffix(" at") if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise Broken(f"is not JSON ({reason[0].lower()}{reason[1:]})") from None


def _whole(value: Any) -> Any:
    """Replace unpaired surrogates in all strings of `value`."""
    if isinstance(value, str):
        return clean.surrogates(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {clean.surrogates(name): _whole(item) for name, item in value.items()}
    return value


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
