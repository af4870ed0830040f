"""Speakers whose names stand in what they say, `Caroline: Hey Mel!`, as bridges of chats write them."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from dream.llm.embedded.lexicon import AGENTS
from dream.llm.embedded.sections import Said
from dream.llm.embedded.words import CJK
from dream.vocabulary import LABELS

MOST = 0.8  # of a role's messages that begin with a name: then names stand there
_PREFIX = re.compile(
    rf"(?P<name>[A-ZÀ-Þ][\w’'-]{{1,24}}(?: [A-ZÀ-Þ][\w’'.-]{{0,24}})?|[{CJK}]{{2,6}})(?:: +|：\s*)(?=\S)"
)


def named(messages: Sequence[Said]) -> list[Said]:
    """Give messages the speakers that they begin with, where two or more people speak so."""
    found = {number: match for number, message in enumerate(messages) if (match := _speaker(message))}
    roles = {role for role in ("user", "assistant") if _all_but_few(messages, found.keys(), role)}
    found = {number: match for number, match in found.items() if messages[number].role in roles}
    if len({match["name"] for match in found.values()}) < 2:
        return list(messages)
    return [
        replace(message, name=found[number]["name"], text=message.text[found[number].end() :])
        if number in found
        else message
        for number, message in enumerate(messages)
    ]


def _speaker(message: Said) -> re.Match[str] | None:
    if message.name and message.name.lower() not in AGENTS | {"user", "me", "human"}:
        return None
    match = _PREFIX.match(message.text)
    return match if match and match["name"].lower() not in LABELS | AGENTS else None


def _all_but_few(messages: Sequence[Said], found: Set[int], role: str) -> bool:
    own = [number for number, message in enumerate(messages) if message.role == role and message.text.strip()]
    return sum(number in found for number in own) >= max(2, MOST * len(own))
