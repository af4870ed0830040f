"""Say whether two lines tell the same with another number in it."""

from __future__ import annotations

import re

from dream.llm.embedded.amounts import KINDS, NUMBER, labels, numbered, values
from dream.llm.embedded.cues import found, says_changed
from dream.llm.embedded.lexicon import COMMON, MONTHS, PAST
from dream.llm.embedded.rescheduled import other_day
from dream.llm.embedded.salience import happened
from dream.llm.embedded.slots import names_thing, told_apart
from dream.llm.embedded.words import content, overlap, stem

_UPGRADE = re.compile(
    r"\b(?:upgraded|updated|downgraded|bumped|migrated|moved|switched|went|upgrade|aktualisiert)\b(?: [\w.-]+){0,3}? (?:to|auf) (?P<name>[A-Z][\w+#-]*) v?(?P<n>\d[\d.]*)\b"
)
# What somebody did once is another deed the next time: "Bought a new saw for 120 euros".
_DEED = re.compile(
    rf"(?:[A-Z][a-z]+ |We )?(?:{'|'.join(sorted(PAST - {'was', 'were', 'had', 'got'}))}|paid|ordered|booked|received|visited|finished|watched|attended|planted|cooked|baked)\b",
    re.I,
)
_FROM = re.compile(r"\b(?:from|instead of|rather than|no longer|not)\b", re.I)
# What only grows: "Has completed 15 problems".
_DONE = re.compile(
    r"\b(?:complet(?:ed|ing)|finish(?:ed|ing)|solv(?:ed|ing)|read|written|learn(?:ed|t|ing)|watched|visited|collected) (?:about |over |only )?(?P<n>\d{1,9}) (?:[a-z-]+ ){0,3}?(?P<unit>[a-z]+s)\b",
    re.I,
)
SHORT = 80  # characters of a line in which a name is of what the line tells
PLAIN = 1.0  # the weight of a word that is no name
_ANY = frozenset(map(stem, ("runs", "listening", "served", "starts", "works", "needs", "server", "service")))


def other_value(new: str, old: str, shared: list[str]) -> bool:
    """Say whether both name another number of the same unit, or another day, in as many of the same words as make it likely."""
    if told_apart(new, old) or _of_others(new, old):
        return False
    left, right = content(new), content(old)
    cue = says_changed(new) and not (_DEED.match(new) and _DEED.match(old))
    same, was = overlap(left, right), values(old)
    if (names_thing(new, old) and _other_amount(values(new), was, shared, cue=cue, same=same)) or _other_number(
        new, old, shared
    ):
        return True
    return other_day(new, old, shared)


def _of_others(new: str, old: str) -> bool:
    """Say whether each names somebody or something that the other doesn't: "Owes Clara 25 euros"."""
    if max(len(new), len(old)) > SHORT:
        return False
    left, right = ({key for key, weight in content(line).items() if weight > PLAIN} for line in (new, old))
    return bool(left - right and right - left) and not found(_FROM, new)


def _other_amount(
    new: tuple[tuple[str, str], ...], was: tuple[tuple[str, str], ...], shared: list[str], *, cue: bool, same: float
) -> bool:
    for unit, number in new:
        named = {key for key, _ in was if key in shared} if unit == "" and cue else {unit}
        numbers = {other for key, other in was if key in named}
        if not numbers or number in numbers or (unit in COMMON and unit not in {"day", "year", "week", "hour"}):
            continue
        kind = {unit, *named} & KINDS  # a port is one service's: that it runs tells nothing of which
        context = [key for key in shared if key != unit and not (kind and key in _ANY | kind)]
        least = (1 if cue else 3) + (unit == "%")
        if len(context) >= least and same >= (0.25 if cue else 0.6):
            return True
    return False


def _other_number(new: str, old: str, shared: list[str]) -> bool:
    """Say whether both state the same of a thing that they name, but for one number: "Staging listens on port …"."""
    left, right = NUMBER.findall(new), NUMBER.findall(old)
    differ = sum(one != other for one, other in zip(left, right, strict=False))
    if len(left) != len(right) or differ != 1 or NUMBER.sub("#", new).lower() != NUMBER.sub("#", old).lower():
        return False
    named = [key for key in shared if key not in _ANY | KINDS]
    return bool(named) and not happened(new) and numbered(new) == numbered(old)


def outgrown(new: str, old: str) -> bool:
    """Say whether `new` tells of fewer done than `old` did: what was done by then, told again, and no change."""
    one, other = found(_DONE, new), found(_DONE, old)
    if one is None or other is None or stem(one["unit"].lower()) != stem(other["unit"].lower()):
        return False
    return int(one["n"]) < int(other["n"])


def of_another(new: str, old: str) -> bool:
    """Say whether both are about things of one kind that their numbers tell apart, and neither is said to be new."""
    left, right = labels(new), labels(old)
    kinds = {kind for kind, _ in left} & {kind for kind, _ in right}
    return bool(kinds) and not left & right and not says_changed(new)


def other_version(new: str, old: str) -> bool:
    """Say whether `new` tells of an upgrade of what `old` names with another version: "upgraded to Postgres 16"."""
    match = found(_UPGRADE, new)
    if match is None or match["name"] in MONTHS:
        return False
    was = re.search(rf"\b{re.escape(match['name'])} v?(\d[\d.]*)\b", old)
    return was is not None and was[1].rstrip(".") != match["n"].rstrip(".") and f"{match['name']} {was[1]}" not in new
