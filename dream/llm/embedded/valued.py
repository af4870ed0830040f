"""Say whether two lines tell the same with another number or another day in it."""

from __future__ import annotations

import re

from dream.llm.embedded.amounts import KINDS, MONTH, NUMBER, WEEKDAY, days, labels, numbered, values
from dream.llm.embedded.cues import NOW, found, says_changed
from dream.llm.embedded.lexicon import COMMON, PAST, WEEKDAYS
from dream.llm.embedded.salience import happened
from dream.llm.embedded.slots import names_thing, told_apart
from dream.llm.embedded.subjects import apart
from dream.llm.embedded.words import content, has_cjk, overlap, stem

_UPGRADE = re.compile(
    r"\b(?:upgraded|updated|downgraded|bumped|migrated|moved|switched|went|upgrade|aktualisiert)\b(?: [\w.-]+){0,3}? (?:to|auf) (?P<name>[A-Z][\w+#-]*) v?(?P<n>\d[\d.]*)\b"
)
# What somebody did once is another deed the next time: "Bought a new saw for 120 euros".
_DEED = re.compile(
    rf"(?:[A-Z][a-z]+ |We )?(?:{'|'.join(sorted(PAST - {'was', 'were', 'had', 'got'}))}|paid|ordered|booked|received|visited|finished|watched|attended|planted|cooked|baked)\b",
    re.I,
)
_FROM = re.compile(r"\b(?:from|instead of|rather than|no longer|not)\b", re.I)
SHORT = 80  # characters of a line in which a name is of what the line tells
WHAT = 0.6  # of what a line with a day of the week tells beside the day, that another one tells too
PLAIN = 1.0  # the weight of a word that is no name
_APPOINTMENT = re.compile(
    r"\b(?:calls?|meetings?|deadline|appointment|interview|session|exam|review|flight|launch|release|due|scheduled|delivery|demo|party|wedding|trip|visit)\b"
    r"|会议|截止|预约|面试|考试|航班|演示|上线|发布",
    re.I,
)
_PLANNED = re.compile(
    rf"^(?:the |our |their |the user's )?(?P<thing>[\w' -]{{3,50}}?) (?:is|are|starts?|takes place|is due|is planned|is scheduled|(?:was |is |has )?(?:been )?"
    rf"(?:mov\w+|shift\w*|slip\w*|postponed|rescheduled|delayed))(?: now)?(?: on| in| at| by| for| to)* (?:the )?(?P<when>[^,;]*(?:{MONTH}|{'|'.join(WEEKDAYS)})[^,;]*)",
    re.I,
)
_ANY = frozenset(map(stem, ("runs", "listening", "served", "starts", "works", "needs", "server", "service")))


def other_value(new: str, old: str, shared: list[str]) -> bool:
    """Say whether both name another number of the same unit, in as many of the same words as make it likely."""
    if told_apart(new, old) or _of_others(new, old):
        return False
    left, right = content(new), content(old)
    cue = says_changed(new) and not (_DEED.match(new) and _DEED.match(old))
    same, was = overlap(left, right), values(old)
    if (
        (names_thing(new, old) and _other_amount(values(new), was, shared, cue=cue, same=same))
        or _other_number(new, old, shared)
        or _other_time(new, old)
    ):
        return True
    fixed = {stem(word.lower()) for word in _APPOINTMENT.findall(new)} & set(left) & set(right)
    if fixed and len(shared) >= 2 and same >= (0.3 if cue else 0.6) and _other_date(new, old):
        return True
    return _other_weekday(new, old, shared)


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


def _other_time(new: str, old: str) -> bool:
    """Say whether one thing that is planned was moved to another day."""
    one, other = found(_PLANNED, new), found(_PLANNED, old)
    if one is None or other is None or not says_changed(new) or numbered(new) != numbered(old):
        return False
    things = content(one["thing"]), content(other["thing"])
    alike = overlap(*things) >= 0.8 and any(key in things[1] and weight >= 0.9 for key, weight in things[0].items())
    return alike and one["when"].lower() != other["when"].lower()


def _other_weekday(new: str, old: str, shared: list[str]) -> bool:
    """Say whether what happens on one day of the week now happens on another."""
    left, right = set(WEEKDAY.findall(new)), set(WEEKDAY.findall(old))
    if not (right and left - right and found(NOW, new)) or apart(new, old):
        return False
    days_ = {stem(day.lower()) for day in left | right}
    rest = [{key: weight for key, weight in content(line).items() if key not in days_} for line in (new, old)]
    told = any(key not in days_ and rest[0][key] <= PLAIN for key in shared)  # beside names
    return told and overlap(*rest) >= (WHAT / 2 if has_cjk(new) else WHAT)


def _other_date(new: str, old: str) -> bool:
    left, right = days(new), days(old)
    same = any(day == other and (year == its or not (year and its)) for day, year in left for other, its in right)
    return bool(left and right) and not same and numbered(new) == numbered(old)


def of_another(new: str, old: str) -> bool:
    """Say whether both are about things of one kind that their numbers tell apart, and neither is said to be new."""
    left, right = labels(new), labels(old)
    kinds = {kind for kind, _ in left} & {kind for kind, _ in right}
    return bool(kinds) and not left & right and not says_changed(new)


def other_version(new: str, old: str) -> bool:
    """Say whether `new` tells of an upgrade of what `old` names with another version: "upgraded to Postgres 16"."""
    match = found(_UPGRADE, new)
    if match is None or match["name"] in MONTH:
        return False
    was = re.search(rf"\b{re.escape(match['name'])} v?(\d[\d.]*)\b", old)
    return was is not None and was[1].rstrip(".") != match["n"].rstrip(".") and f"{match['name']} {was[1]}" not in new
