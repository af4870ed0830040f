"""Say whether one thing has another day: an appointment, a plan, what happens every week."""

from __future__ import annotations

import re

from dream.llm.embedded.amounts import MONTH, WEEKDAY, days, numbered
from dream.llm.embedded.cues import NOW, found, says_changed
from dream.llm.embedded.lexicon import WEEKDAYS
from dream.llm.embedded.subjects import apart
from dream.llm.embedded.words import content, has_cjk, overlap, stem

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


def other_day(new: str, old: str, shared: list[str]) -> bool:
    """Say whether two lines name another day for one thing, as far as the words that they share tell."""
    if _other_time(new, old) or _other_weekday(new, old, shared):
        return True
    left, right = content(new), content(old)
    fixed = {stem(word.lower()) for word in _APPOINTMENT.findall(new)} & set(left) & set(right)
    enough = overlap(left, right) >= (0.3 if says_changed(new) else 0.6)
    return bool(fixed) and len(shared) >= 2 and enough and _other_date(new, old)


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
