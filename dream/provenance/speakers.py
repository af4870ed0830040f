"""The speaker of a message among several people: its name field, else the name that it begins with, `Caroline: …`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from dream.models import Message
from dream.text.words import listed

AGENTS = frozenset("assistant agent ai bot claude gpt chatgpt model system tool user human me".split())
MOST = 0.8  # share of a role's messages that must begin with a name for these to count as speakers
_LIST_MARK = re.compile(r"\s*(?:[-*•]\s+)?")
_PREFIX = re.compile(r"(?P<name>[A-ZÀ-Þ][\w’'-]{1,24}(?: [A-ZÀ-Þ][\w’'.-]{0,24})?|[぀-ヿ㐀-鿿]{2,6})(?:: +|：\s*)(?=\S)")


def speakers(messages: Sequence[Message]) -> frozenset[str]:
    """Return the names of the users who speak."""
    return frozenset(message.name for message in speaking(messages) if message.role == "user" and message.name)


def is_owner(name: str, owners: Sequence[str]) -> bool:
    """Return whether the messages of `name` count as the user's by the setting `owners`; one without a name does."""
    return not name or "*" in owners or _known_as(name) in map(_known_as, owners)


def have_shared_rules(owners: Sequence[str]) -> bool:
    """Return whether the setting `owners` allows several people, so that a rule has to name its speaker."""
    return "*" in owners or len(set(map(_known_as, owners))) > 1


def _known_as(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def speaking(messages: Sequence[Message]) -> list[Message]:
    """Return messages with their speakers' names, and without lines that put words into another speaker's mouth.

    A name at the beginning of a text counts only if the message has no name field: anybody can type a name.
    """
    rows = [(one.role, "" if one.role == "user" else one.name or "assistant", one.content) for one in messages]
    known = {one.name for one in messages if one.role == "user" and one.name}
    begun = {} if known else prefixed(rows)
    shown = [
        replace(one, name=begun[at]["name"], content=one.content[begun[at].end() :]) if at in begun else one
        for at, one in enumerate(messages)
    ]
    names = known | {match["name"] for at, match in begun.items() if messages[at].role == "user"}
    return [_without_others(one, names) if one.role == "user" else one for one in shown] if len(names) > 1 else shown


def prefixed(rows: Sequence[tuple[str, str, str]]) -> dict[int, re.Match[str]]:
    """Return the speakers that messages (role, name, text) begin with, if these are two or more people."""
    found = {at: match for at, row in enumerate(rows) if (match := _speaker(*row[1:]))}
    roles = set()
    for role in ("user", "assistant"):
        own = [at for at, row in enumerate(rows) if row[0] == role and row[2].strip()]
        if sum(at in found for at in own) >= max(2, MOST * len(own)):
            roles.add(role)
    found = {at: match for at, match in found.items() if rows[at][0] in roles}
    return found if len({match["name"] for match in found.values()}) > 1 else {}


def without_speaker(line: str, name: str) -> str:
    """Return a line without its speaker's `name` at its beginning."""
    return re.sub(rf"^(\s*(?:[-*•>]\s+)?){re.escape(name)}\s*[:：]\s*", r"\1", line) if name else line


def unnamed(line: str, names: Iterable[str]) -> str:
    """Return a rule without the speaker's name at its beginning, if it is one of `names`; "*" stands for any name."""
    rest = next((rest for name in names if (rest := without_speaker(line, name)) != line), line)
    mark = _LIST_MARK.match(line)
    found = _PREFIX.match(line, mark.end() if mark else 0) if rest == line and "*" in names else None
    return line[: found.start()] + line[found.end() :] if found else rest


def _speaker(name: str, text: str) -> re.Match[str] | None:
    if name and name.lower() not in AGENTS:
        return None
    match = _PREFIX.match(text)
    return match if match and match["name"].lower() not in listed("labels") | AGENTS else None


def _without_others(message: Message, names: Set[str]) -> Message:
    others = "|".join(re.escape(name) for name in sorted(names - {message.name}))
    return replace(message, content=re.sub(rf"(?mi)^\s*(?:{others})\s*[:：].*$", "", message.content))
