"""Say whether two lines state values of one thing, and other ones."""

from __future__ import annotations

import re

from dream.llm.embedded.amounts import CLOCK, DATE, WEEKDAY
from dream.llm.embedded.cues import OVER, found, says_changed, timeless
from dream.llm.embedded.things import slot
from dream.llm.embedded.words import content, has_cjk

_BARE = re.compile(
    r"^(?:is |are |was |were |been |has |have |be |set |moved |raised |lowered |changed |increased |reduced |extended |postponed |rescheduled |rebooked |shifted |pushed |slipped |scheduled |planned |due |upgraded |renamed |called |named )*(?:(?:up|down|back) )?(?P<where>to |at |on |in |by |for |from )?(?:now |about |around |only |over |the |an? )*",
    re.I,
)
_AMOUNT = re.compile(r"(?P<n>[$€£¥]?\d[\d.,]*\d|[$€£¥]?\d)\s?(?P<unit>%|[A-Za-zäöü€$]+|[一-龥ァ-ヶー]{1,3})?")
_URL = re.compile(r"https?://\S+|(?:^|(?<=\s))(?:~|\.{0,2})/[\w./-]+")
_NAME = re.compile(r"^[A-ZÄÖÜ][\w+#.'-]*(?: [A-Z0-9][\w+#.'-]*)*")
_MODEST = re.compile(
    r"^(?:good|great|nice|bad|fine|ready|done|finished|open|closed|broken|red|green|fast|slow|ok|okay|true|important|useful)\b",
    re.I,
)


def told_apart(new: str, old: str) -> bool:
    """Say whether two lines state values of two things."""
    left, right = slot(new), slot(old)
    if left is None or right is None or left.same(right):
        return False
    return left.noun == right.noun or not (left.noun in content(old) or right.noun in content(new))


def names_thing(new: str, old: str) -> bool:
    """Say whether `new` names the thing of which `old` states a value, where that is clear."""
    thing = slot(old)
    return thing is None or thing.noun in (new if has_cjk(new) else content(new))


def other_in_slot(new: str, old: str) -> bool:
    """Say whether `new` states another value of the same thing: a number, a time, an address, or a name that is new."""
    left, right = slot(new), slot(old)
    if left is None or right is None or not left.same(right) or found(OVER, new):
        return False
    changed = says_changed(new)
    if one := _URL.search(left.value):
        other = _URL.search(right.value)
        return other is not None and changed and one[0] != other[0]
    for pattern in (DATE, CLOCK, WEEKDAY):
        one, other = pattern.search(left.value), pattern.search(right.value)
        if one and other:
            return changed and one[0].lower() != other[0].lower()
        if (one is None) != (other is None):
            return False
    one, other = _AMOUNT.search(_BARE.sub("", left.value)), _AMOUNT.search(_BARE.sub("", right.value))
    if one and other:
        told = changed or bool(left.marks | left.names)  # "the server" may be any
        return told and _other_amount(one, other, changed=changed)
    return changed and one is None and other is None and _other_name(left.value, right.value)


def _other_amount(one: re.Match[str], other: re.Match[str], *, changed: bool) -> bool:
    units = [(match["unit"] or "").lower().rstrip("s") for match in (one, other)]
    alike = units[0] == units[1] or (changed and not all(units))
    return alike and one["n"] != other["n"]


def _other_name(new: str, old: str) -> bool:
    """Say whether the values are names, or short phrases of the same kind, that differ."""
    new, old = timeless(new), timeless(old)
    one, other = _BARE.sub("", new), _BARE.sub("", old)
    if not one or not other or one.lower() in other.lower() or other.lower() in one.lower():
        return False
    if _where(new) not in {"to", _where(old)}:
        return False
    left, right = _NAME.match(one), _NAME.match(other)
    if left and right:
        return True
    single = len(one.split()) == len(other.split()) == 1 and not _MODEST.match(one)
    return single or (
        not left and not right and max(len(one.split()), len(other.split())) <= 3 and not _MODEST.match(one)
    )


def _where(value: str) -> str:
    """Return the preposition that a value begins with, '' for none."""
    match = _BARE.match(value)
    return (match["where"] or "").strip().lower() if match else ""
