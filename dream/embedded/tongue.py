"""The languages that are known by a table, and which of them a text is in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dream.text.days import codes
from dream.text.tongues import plain
from dream.text.words import listed


@dataclass(frozen=True, slots=True)
class Tongue:
    """One language: what it quotes with, and the phrases that hint at what is meant."""

    code: str
    quotes: tuple[str, str]
    earlier: str
    first: frozenset[str]
    second: frozenset[str]
    cues: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, tuple[str, ...]]
    front: tuple[str, ...]
    back: tuple[str, ...]
    loose: frozenset[str]
    greets: frozenset[str]
    polite: frozenset[str]
    request: tuple[str, ...]
    aims: tuple[str, ...]
    here: tuple[str, ...]
    not_here: tuple[str, ...]
    articles: re.Pattern[str]
    wide: bool

    def has(self, name: str, plain: str) -> bool:
        """Return whether a text made `plain` contains a phrase of the cues `name`."""
        return any(map(plain.__contains__, self.cues[name]))

    def points_here(self, plain: str) -> bool:
        """Return whether a text made `plain` points at the chat or project in which it is said: "keep it short here"."""
        for phrase in self.not_here:
            plain = plain.replace(phrase, "  ")
        return any(map(plain.__contains__, self.here))

    def without_aims(self, plain: str) -> str:
        """Return a text made `plain` without the phrases for what its speaker is doing or unsure about: "I'm trying to", "not sure"."""
        for phrase in self.aims:
            plain = plain.replace(phrase, "  ")
        return plain


@cache
def tongue(code: str) -> Tongue:
    """Return the table of a language; English for a language without one."""
    code = code if code in codes() else "en"
    text = (Path(__file__).parent / "tables" / f"{code}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    wide = code in listed("wide")
    trim: dict[str, list[str]] = table["trim"]
    return Tongue(
        code=code,
        quotes=(table["quotes"][0], table["quotes"][1]),
        earlier=table["earlier"],
        first=frozenset(table["first"].split()),
        second=frozenset(table["second"].split()),
        cues={name: tuple(_phrase(one, wide) for one in ones) for name, ones in table["cues"].items()},
        attributes={name: tuple(_phrase(one, wide) for one in ones) for name, ones in table["attributes"].items()},
        front=_longest(plain(one).strip() or one for one in trim["front"]),
        back=_longest(plain(one).strip() or one for one in trim["back"]),
        loose=frozenset(plain(one).strip() for one in trim["loose"]),
        greets=frozenset(trim["greets"]),
        polite=frozenset(trim["polite"]),
        request=tuple(_phrase(one, wide) for one in trim["request"]),
        aims=tuple(_phrase(one, wide) for one in table["aims"]),
        here=tuple(_phrase(one, wide) for one in table["here"]),
        not_here=tuple(_phrase(one, wide) for one in table["not_here"]),
        articles=re.compile(table["articles"] or "(?!)"),
        wide=wide,
    )


@cache
def earlier_part() -> re.Pattern[str]:
    """Return the pattern of the earlier value at the end of a line by an older version: "(earlier, …)", "(früher, …)"."""
    words = "|".join(dict.fromkeys(tongue(code).earlier for code in codes()))
    return re.compile(rf" ?[(（](?:{words})[,，、] ?.*[)）]\s*$")


def _phrase(phrase: str, wide: bool) -> str:
    text = plain(phrase)
    if wide:
        return text.strip() or phrase
    return text.rstrip(" *") if phrase.endswith("*") else text


def _longest(phrases: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(phrases), key=lambda one: (-len(one), one)))
