"""Words that distinguish a rule from an order, a joke or a supposition, and users' statements from their reports.

They are rows of cues.toml, by language; add a language there.
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
    """Return whether `text` contains a cue of that kind."""
    return pattern(cue).search(text) is not None


def begins(cue: Cue, text: str) -> bool:
    """Return whether a text begins with a cue of that kind, ignoring punctuation."""
    return pattern(cue).match(text, _SIGNS.match(text).end()) is not None  # type: ignore[union-attr]


@cache
def pattern(cue: Cue) -> re.Pattern[str]:
    """Return the pattern that matches any cue of that kind, in any language."""
    narrow = "|".join(one.replace(" ", r"\s+") for one in _rows(cue, _table().keys() - listed("wide")))
    return re.compile("|".join((rf"(?<!\w)(?:{narrow})(?!\w)", *_rows(cue, listed("wide")))), re.IGNORECASE)


def rows(cue: Cue) -> list[str]:
    """Return the cues of that kind as written in the table, to be used as part of a pattern."""
    return list(_rows(cue, _table()))


def _rows(cue: Cue, languages: Collection[str]) -> Iterator[str]:
    for language, cues in _table().items():
        if language in languages:
            yield from filter(None, re.split(r";\s+|\n", cues.get(cue, "")))


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads((resources.files("dream.provenance") / "cues.toml").read_text(encoding="utf-8"))
