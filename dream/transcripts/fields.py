"""Look into foreign JSON, where any field may be absent or of any type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

# The one place of `Any` here: what an agent wrote is checked field by field, where it is used.
Json = dict[str, Any]


def text(record: Mapping[str, Any], *names: str) -> str | None:
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
