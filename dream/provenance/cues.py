"""Words by which a rule is told from an order, a joke or a supposition, and what users say from what they report.

They are rows of cues.toml, by language: a language is added there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources
from typing import Literal

from dream.text.words import listed

Cue = Literal[
    "standing", "once", "supposed", "leave", "risky", "hearsay", "own_rules", "about_a_text", "works_on",
    "reported", "own_report", "until", "sends", "each", "person_says", "told", "bans", "denies",
    "the_user", "imagined", "mail_field", "requests", "tagged", "exemplifies", "opens_condition",
    "names_source", "refuses", "authority", "orders", "normative", "today", "mine",
    "amends",
]  # fmt: skip

_SIGNS = re.compile(r"\W*")


def says(cue: Cue, text: str) -> bool:
    """Return whether a cue of that kind stands in `text`."""
    return pattern(cue).search(text) is not None


def begins(cue: Cue, text: str) -> bool:
    """Return whether a text begins with a cue of that kind, signs apart."""
    return pattern(cue).match(text, _SIGNS.match(text).end()) is not None  # type: ignore[union-attr]


@cache
def pattern(cue: Cue) -> re.Pattern[str]:
    """Return what finds any cue of that kind, in any language."""
    narrow = "|".join(one.replace(" ", r"\s+") for one in _rows(cue, _table().keys() - _wide()))
    return re.compile("|".join((rf"(?<!\w)(?:{narrow})(?!\w)", *_rows(cue, _wide()))), re.IGNORECASE)


def rows(cue: Cue) -> list[str]:
    """Return the cues of that kind as they stand in the table, for a pattern that they are a part of."""
    return list(_rows(cue, _table()))


def _rows(cue: Cue, languages: Collection[str]) -> Iterator[str]:
    for language, cues in _table().items():
        if language in languages:
            yield from filter(None, re.split(r";\s+|\n", cues.get(cue, "")))


def _wide() -> frozenset[str]:
    """Return the sections whose cues are found inside of a longer word too."""
    return listed("wide") | {"signs"}


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads((resources.files("dream.provenance") / "cues.toml").read_text(encoding="utf-8"))
