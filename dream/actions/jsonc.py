"""JSON with comments, changed by its text: one value is put in or taken out, and all else stays as it stands. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a text, from `start` to `end`: that of an object has its members by name, of a list by number."""

    start: int
    end: int
    value: Any
    inside: Mapping[str | int, Node]
    begin: int  # where what names it begins: a member's key


_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ATOM = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')


def parsed(text: str) -> Node:
    """Read a text; raises ValueError."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _node(text, start, start)
    if _skip(text, node.end) != len(text):
        raise ValueError(f"something follows its end, {_place(text, node.end)}")
    return node


def _skip(text: str, at: int) -> int:
    match = _SKIPPED.match(text, at)
    return match.end() if match else at


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


def _node(text: str, start: int, begin: int) -> Node:
    opening = text[start : start + 1]
    if opening not in ("{", "["):
        match = _ATOM.match(text, start)
        if match is None:
            raise ValueError(f"a value was expected, {_place(text, start)}")
        return Node(start, match.end(), json.loads(match[0]), {}, begin)
    closing, inside = {"{": "}", "[": "]"}[opening], dict[str | int, Node]()
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        name: str | int = len(inside)
        begin_of, value_at = at, at
        if opening == "{":
            key = _node(text, at, at)
            colon = _skip(text, key.end)
            if not isinstance(key.value, str) or text[colon : colon + 1] != ":" or key.value in inside:
                raise ValueError(f"a name of its own and a colon were expected, {_place(text, at)}")
            name, value_at = key.value, _skip(text, colon + 1)
        inside[name] = node = _node(text, value_at, begin_of)
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise ValueError(f"a comma was expected, {_place(text, at)}")
    values = {name: node.value for name, node in inside.items()}
    return Node(start, at + 1, values if opening == "{" else list(values.values()), inside, begin)


def added(text: str, keys: Sequence[str | int], value: Any) -> str:
    """Put `value` in at `keys`, the last of its object or list; what is missing above it is made."""
    if not text.strip():
        text = "{}\n"
    node, depth = parsed(text), 0
    while keys[depth] in node.inside:
        node, depth = node.inside[keys[depth]], depth + 1
    for key in reversed(keys[depth + 1 :]):
        value = [value] if isinstance(key, int) else {key: value}
    step = _step(text)
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = re.match(r"[ \t]*", line)[0]  # type: ignore[index]  # it always matches
    one_line = "\n" not in text[node.start : node.end] and bool(node.inside)
    indent = None if one_line else step
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    if isinstance(keys[depth], str) != isinstance(node.value, dict) or not isinstance(node.value, dict | list):
        raise ValueError(f"what should hold {keys[depth]!r} is something else, {_place(text, node.start)}")
    if isinstance(keys[depth], str):
        written = f"{json.dumps(keys[depth], ensure_ascii=False)}: {written}"
    if one_line:
        last = list(node.inside.values())[-1]
        return f"{text[: last.end]}, {written}{text[last.end :]}"
    written = "\n" + outer + step + written.replace("\n", "\n" + outer + step)
    if not node.inside:
        return f"{text[: node.start + 1]}{written}\n{outer}{text[node.end - 1 :]}"
    last = list(node.inside.values())[-1]
    comma = _skip(text, last.end)
    trailing = text[comma] == ","
    after = comma + 1 if trailing else last.end
    tail = after + len(text[after : node.end - 1].rstrip())  # a comment of the last one stays behind it
    between = text[last.end : tail] if trailing else "," + text[after:tail]
    return f"{text[: last.end]}{between}{written}{',' * trailing}{text[tail:]}"


def _step(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def removed(text: str, keys: Sequence[str | int]) -> str:
    """Take out what stands at `keys`, and what is left empty above it."""
    nodes = [parsed(text)]
    for key in keys:
        nodes.append(nodes[-1].inside[key])
    depth = len(keys) - 1
    while depth and len(nodes[depth].inside) == 1:
        depth -= 1
    siblings = list(nodes[depth].inside.values())
    place = siblings.index(nodes[depth + 1])
    if len(siblings) == 1:
        return f"{text[: nodes[depth].start + 1]}{text[nodes[depth].end - 1 :]}"
    if place == len(siblings) - 1:
        before, end = siblings[place - 1].end, siblings[place].end
        comma = _skip(text, end)
        trailing = text[comma] == ","
        rest = text[before : siblings[place].begin].rstrip()
        rest = rest if trailing else rest.replace(",", "", 1)
        return f"{text[:before]}{rest}{text[comma + 1 if trailing else end :]}"
    return f"{text[: siblings[place].begin]}{text[siblings[place + 1].begin :]}"
