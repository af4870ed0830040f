"""Say whether a new statement takes the place of an old one: another value for the same thing."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.lexicon import COMMON, MONTHS, NUMBERS, STOP, WEEKDAYS
from dream.llm.embedded.renewing import renewed
from dream.llm.embedded.salience import happened
from dream.llm.embedded.subjects import about, apart, same_person
from dream.llm.embedded.words import CJK, content, has_cjk, likeness, overlap, stem

SUFFIX = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\b(?:(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})(?: \d{{4}})?|\d{{4}}-\d\d-\d\d)\b"
    r"|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]|(?:周|星期)[一二三四五六日天]"
)
_YEAR = re.compile(r",? (\d{4})$|^(\d{4})年")
_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:am|pm|AM|PM)\b|\b\d{1,2}:\d\d\b")
_VALUE = re.compile(
    rf"(?P<n>(?<![A-Za-z0-9_.])[$€£¥]?\d[\d,]*(?:\.\d+)*%?|\b(?:{'|'.join(k for k in NUMBERS if len(k) > 2)}|twice|once|dozen)\b)"
    rf"(?:[ -]?(?P<unit>[A-Za-z]+|[{CJK}]{{1,2}}))?(?: (?P<second>[a-z]+))?(?: (?P<third>[a-z]+))?",
    re.I,
)
_CUE = re.compile(
    r"\b(?:now|actually|instead|no longer|not anymore|changed?|switch(?:ed|ing)?|moved?|moving|relocated|updat\w+|new|"
    r"increas\w+|decreas\w+|reduced|dropped|rais\w+|mov(?:e|es|ing) to|grew|grown|improv\w+|extend\w+|shift\w+|postpon\w+|reschedul\w+|push\w+|"
    r"delay\w+|correct\w+|revis\w+|adjust\w+|reach\w+|recently|total|latest|upgrad\w+|bump\w+|brought|down to|up to|rather than)\b"
    r"|其实|改成|改为|改到|改[喝吃用学玩看]|换成|换到|换了|搬到|搬去|现在|不再|更新|推迟|提前|增加到|减少到|变成|新的|変わ|変更|延期|移行",
    re.I,
)
ONE = 120  # characters of a line that still states one thing
LEAST = 2  # words that tell something in a line that another may hold whole
_END = re.compile(
    r"\b(?:no longer|(?:not|n't) .{0,30}\banymore|(?<!n't )quit|stopped|gave up|sold|broke up|cancel\w*|ended)\b|不再|取消|放弃|戒了|卖了",
    re.I,
)
_APPOINTMENT = re.compile(
    r"\b(?:calls?|meetings?|deadline|appointment|interview|session|exam|review|flight|launch|release|due|scheduled|delivery|demo|party|wedding|trip|visit)\b"
    r"|会议|截止|预约|面试|考试|航班|演示|上线|发布",
    re.I,
)
PLACE = re.compile(
    r"(?:(?i:\b(?:moved|moves|moving|relocated|relocating|move)(?: (?:back|out|over|away|here|house|home|flat|recently|just|from \w+))* to)|(?i:\b(?:liv(?:es|ed|e|ing)|based|resid\w+)) in|\b(?:flat|house|home|apartment) is in|(?i:\b(?:wohn|leb)\w*)(?: jetzt| nun| seit \w+)? in|(?i:gezogen|umgezogen|zieht?) nach|(?:搬到|搬去|住在|家在|住|搬家到))"
    rf"\s*(?:了)?(?P<what>[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|[{CJK}]{{2,6}})"
)
JOB = re.compile(
    r"(?:(?i:\b(?:works?|working|worked|employed|job|joined|position|hired|started))(?: \w+){0,3}? (?:at|for|by|with)|(?i:\bjoined)|(?i:\barbeitet?)(?: jetzt| nun)? (?:bei|für)|(?:入职|跳槽到|去了|就职于))"
    rf"\s*(?P<what>[A-Z][\w'&-]*(?: [A-Z][\w'&-]*)*|[{CJK}]{{2,8}})"
)
_FAVOURITE = re.compile(r"\bfavou?rite (?P<slot>\w+(?: \w+)?) (?:is|are|was) (?:now )?(?P<what>.{2,40})", re.I)
_NAME = re.compile(
    r"^(?:The user is called|Is called|The user's (?:full )?name is|Their name is|(?:\w+ )?[Gg]oes by) (?P<what>[A-Z]\w+)"
)
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})(?!s? before \d)|周[一二三四五六日天]|星期[一二三四五六日天]")
_NOW = re.compile(r"\bnow\b|\binstead of\b|\bno longer\b|现在|改成|改到|改为|不再")
_THING = re.compile(r"\b([A-Z][a-z]+|sprint|phase|chapter|version|round|part|week) #?(\d{1,2})\b(?![:.,]?\d)")
_FROM = re.compile(
    r"\b(?i:from|instead of|rather than|over|no longer (?:uses?|likes?|prefers?|in|at|with|on)?|replac(?:ed|es|ing)|not|than) "
    r"(?:using |the |a |an )?(?P<old>[\w+#.-]+(?: [A-Z][\w+#.-]*)?)",
)
_FROM_ZH = re.compile(
    rf"(?:从|把|不再?(?:喜欢)?[用喝吃玩看学养开穿抽听写做])(?P<old>[{CJK}]{{2,6}}?|[A-Za-z+#.]+)(?:换|改|搬|了|到|，|$)"
)
_NUMBERED = re.compile(r"\b(port|version|room|extension|floor|line|page) (?:number |no\.? |is |to )?$", re.I)
# "Boat number 2" is another boat than number 1, where a room's or a version's number is a value of its own.
_LABEL = re.compile(
    r"\b(?!(?:port|version|room|extension|floor|line|page|phone|my|our|the)\b)(?P<thing>[a-z]+) (?:(?:number|no\.?|nr\.?) |#)"
    r"(?P<n>\d{1,3})\b(?![:.,]?\d)",
    re.I,
)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d[\d.,]*(?<![.,])")
_HOLDER = re.compile(
    r"^(?P<who>(?:[A-Z]\w+ ?)+) (?:does|leads|owns|manages|handles|runs|reviews|maintains|is (?:responsible for|in charge of|the|our)"
    r"|takes over|took over) (?P<task>.+?)(?: now)?$"
)
_LIKES = re.compile(
    r"^(?P<who>.{0,30}?)\s*(?:now )?(?:(?P<not>hates|dislikes|(?:doesn't|does not|no longer) (?:like|likes|love|loves|enjoy)|can't stand)|likes|loves|enjoys)"
    r" (?P<what>.+?)(?: now)?$",
    re.I,
)
_PLANNED = re.compile(
    rf"^(?:the |our |their |the user's )?(?P<thing>[\w' -]{{3,50}}?) (?:is|are|starts?|takes place|is due|is planned|is scheduled|(?:was |is |has )?(?:been )?"
    rf"(?:mov\w+|shift\w*|slip\w*|postponed|rescheduled|delayed))(?: now)?(?: on| in| at| by| for| to)* (?:the )?(?P<when>[^,;]*(?:{_MONTH}|{'|'.join(WEEKDAYS)})[^,;]*)",
    re.I,
)
_KINDS = frozenset(stem(kind) for kind in ("port", "version", "room", "extension", "floor", "line", "page"))
_ANY = frozenset(map(stem, ("runs", "listening", "served", "starts", "works", "needs", "server", "service")))


_STATE = re.compile(
    r"\b(?:uses?|using|prefers?|likes?|runs?|is on|works? with|drives?|plays?|is|are|decided|chose|go(?:ing)? with|switch(?:ed)? to)\b|用|喜欢|偏好|[爱常]",
    re.I,
)


@lru_cache(maxsize=16384)
def _found(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Search a line, which is compared with many others, only once."""
    return pattern.search(text)


@lru_cache(maxsize=16384)
def undated(line: str) -> str:
    """Return a line without the date that it was said on."""
    return SUFFIX.sub("", line)


@lru_cache(maxsize=4096)
def _values(text: str) -> tuple[tuple[str, str], ...]:
    """Return each (unit, number) that a text states; the unit is the stem of one of the words that follow."""
    found = []
    text = _CLOCK.sub(" ", _DATE.sub(" ", text))
    for match in _VALUE.finditer(text):
        number = str(NUMBERS.get(match["n"].lower(), match["n"].lower().replace(",", "").rstrip(".")))
        if number.endswith("%"):
            found.append(("%", number))
            continue
        if kind := _numbered_kind(text[: match.start()]):
            found.append((kind, number))
            continue
        units = [match["unit"], match["second"], match["third"]]
        if not any(unit and unit.lower() not in STOP for unit in units):
            found.append(("", number))
        found += [(stem(unit.lower()), number) for unit in units if unit and unit.lower() not in STOP]
    return tuple(found)


def _numbered_kind(before: str) -> str:
    """Return what a number without a unit counts, where the word before it says so: "port 8080"."""
    match = _NUMBERED.search(before)
    return stem(match[1].lower()) if match else ""


def supersedes(new: str, old: str) -> bool:
    """Say whether `new`, said later, makes `old` untrue, so that one takes the other's place."""
    whole = fuller(new, old)
    new, old = undated(new), undated(old)
    if new == old or _of_another(new, old):
        return False
    left, right = content(new), content(old)
    same = overlap(left, right)
    if whole or _relation(new, old):
        return True
    name = stem(about(new).lower())
    shared = [key for key in left if key in right and not key.isdigit() and left[key] >= 0.4 and key != name]
    if not shared:
        return False
    cue = _found(_CUE, new) is not None
    if _other_value(new, old, shared, cue, same) or _same_but_one(new, old, shared):
        return True
    fixed = {stem(word.lower()) for word in _APPOINTMENT.findall(new)} & set(left) & set(right)
    if fixed and len(shared) >= 2 and same >= (0.3 if cue else 0.6) and _other_date(new, old):
        return True
    ended = len(new) < ONE and _found(_END, new) and not _found(_END, old)
    if ended and same >= 0.5 and sum(left[key] >= 0.5 for key in shared) >= 2:
        return True
    return _named_old(new, old, shared) or _other_weekday(new, old, shared, same)


def _same_but_one(new: str, old: str, shared: list[str]) -> bool:
    """Say whether both are one statement with another number, holder, attitude or day in it."""
    if _other_number(new, old, shared) or _other_holder(new, old):
        return True
    return _other_attitude(new, old) or _other_time(new, old)


def _other_value(new: str, old: str, shared: list[str], cue: bool, same: float) -> bool:
    was = _values(old)
    for unit, number in _values(new):
        named = {key for key, _ in was if key in shared} if unit == "" and cue else {unit}
        numbers = {other for key, other in was if key in named}
        if not numbers or number in numbers or (unit in COMMON and unit not in {"day", "year", "week", "hour"}):
            continue
        kind = {unit, *named} & _KINDS  # a port is one service's: that it runs tells nothing of which
        context = [key for key in shared if key != unit and not (kind and key in _ANY | kind)]
        least = (1 if cue else 3) + (unit == "%")
        if len(context) >= least and same >= (0.25 if cue else 0.6):
            return True
    return False


def _other_number(new: str, old: str, shared: list[str]) -> bool:
    """Say whether both state the same of a thing that they name, but for one number: "Staging listens on port …"."""
    left, right = _NUMBER.findall(new), _NUMBER.findall(old)
    differ = sum(one != other for one, other in zip(left, right, strict=False))
    if len(left) != len(right) or differ != 1 or _NUMBER.sub("#", new).lower() != _NUMBER.sub("#", old).lower():
        return False
    named = [key for key in shared if key not in _ANY | _KINDS]
    return bool(named) and not happened(new) and _numbered(new) == _numbered(old)


def _other_holder(new: str, old: str) -> bool:
    """Say whether somebody else has a task now: "Clara does the reviews now" after "Ben does the reviews"."""
    one, other = _found(_HOLDER, new), _found(_HOLDER, old)
    if one is None or other is None or one["who"] == other["who"] or not _found(_CUE, new):
        return False
    return overlap(content(one["task"]), content(other["task"])) >= 0.8


def _other_attitude(new: str, old: str) -> bool:
    """Say whether somebody now likes what they disliked, or the other way round."""
    one, other = _found(_LIKES, new), _found(_LIKES, old)
    if one is None or other is None or (one["not"] is None) == (other["not"] is None):
        return False
    return one["who"].lower() == other["who"].lower() and overlap(content(one["what"]), content(other["what"])) >= 0.8


def _other_time(new: str, old: str) -> bool:
    """Say whether one thing that is planned was moved to another day."""
    one, other = _found(_PLANNED, new), _found(_PLANNED, old)
    if one is None or other is None or not _found(_CUE, new) or _numbered(new) != _numbered(old):
        return False
    things = content(one["thing"]), content(other["thing"])
    alike = overlap(*things) >= 0.8 and any(key in things[1] and weight >= 0.9 for key, weight in things[0].items())
    return alike and one["when"].lower() != other["when"].lower()


def _other_weekday(new: str, old: str, shared: list[str], same: float) -> bool:
    """Say whether what happens on one day of the week now happens on another."""
    left, right = set(_WEEKDAY.findall(new)), set(_WEEKDAY.findall(old))
    days = {stem(day.lower()) for day in left | right}
    named = any(key not in days for key in shared)
    return bool(_found(_NOW, new) and right and left - right) and named and same >= 0.3 and not apart(new, old)


def _other_date(new: str, old: str) -> bool:
    left, right = _days(new), _days(old)
    same = any(day == other and (year == its or not (year and its)) for day, year in left for other, its in right)
    return bool(left and right) and not same and _numbered(new) == _numbered(old)


def _days(text: str) -> set[tuple[str, str]]:
    """Return each (day, year) that a text names; the year is "" where it names none, for it may be left out."""
    found = set()
    for day in _DATE.findall(text):
        bare = _YEAR.sub("", day)
        month = re.search(_MONTH, bare, re.I)
        number = re.search(r"\d+", bare)
        year = _YEAR.search(day)
        name = f"{month[0].lower()} {number[0]}" if month and number else bare
        found.add((name, year[1] or year[2] if year else ""))
    return found


def _numbered(text: str) -> set[tuple[str, str]]:
    """Return the things that a line tells apart by number: "Sprint 2", "phase 3"."""
    dates = (*MONTHS, *WEEKDAYS)
    return {(stem(match[1].lower()), match[2]) for match in _THING.finditer(text) if match[1] not in dates}


@lru_cache(maxsize=16384)
def _labels(text: str) -> frozenset[tuple[str, str]]:
    """Return the things of a kind that a line tells apart by their number: "boat number 2"."""
    return frozenset((stem(match["thing"].lower()), match["n"]) for match in _LABEL.finditer(text))


def _of_another(new: str, old: str) -> bool:
    """Say whether both are about things of one kind that their numbers tell apart, and neither is said to be new."""
    left, right = _labels(new), _labels(old)
    kinds = {kind for kind, _ in left} & {kind for kind, _ in right}
    return bool(kinds) and not left & right and not _found(_CUE, new)


def _relation(new: str, old: str) -> bool:
    """Say whether both state the same relation, of which there is one at a time, with another object."""
    if not same_person(new, old):
        return False
    for pattern in (PLACE, JOB, _NAME):
        left, right = _found(pattern, new), _found(pattern, old)
        if left and right and left["what"] not in right["what"] and right["what"] not in left["what"]:
            return True
    left, right = _found(_FAVOURITE, new), _found(_FAVOURITE, old)
    return bool(left and right and left["slot"].lower() == right["slot"].lower() and left["what"] != right["what"])


_BUILT = re.compile(
    r"\b(?:runs on|built (?:on|with)|written in|hosted|deployed|based on|backend|frontend|database)\b", re.I
)


def _named_old(new: str, old: str, shared: list[str]) -> bool:
    """Say whether `new` names what it takes the place of: "switched from vim to Helix"."""
    if not _found(_CUE, new) or (apart(new, old) and not _found(_BUILT, old)):
        return False
    if renewed(new, old):
        return True
    gone = _found(_FROM_ZH, new) or _found(_FROM, new)
    if gone is None or gone["old"].lower() not in old.lower() or gone["old"].lower() in STOP:
        return False
    kept = _found(_FROM, old) or _found(_FROM_ZH, old)
    if kept and gone["old"].lower() in kept[0].lower():
        return False  # the old line had given it up as well
    if _found(_DATE, gone["old"]):
        return any(key not in content(gone["old"]) for key in shared)
    if has_cjk(gone["old"]):
        return _found(_STATE, old) is not None or len(shared) >= 2
    if content(gone["old"]).get(stem(gone["old"].lower()), 0.0) < 0.9:
        return False
    return _found(_STATE, old) is not None or len(shared) >= 2


def fuller(new: str, old: str) -> bool:
    """Say whether `new` holds all that `old` tells and more: a state, or what happened as told on the same day."""
    body, was = undated(new), undated(old)
    if happened(was) and new[len(body) :] != old[len(was) :]:
        return False
    told, before = _telling(body), _telling(was)
    return len(before) >= LEAST and before < told and about(body) == about(was)


def _telling(text: str) -> set[str]:
    return {key for key, weight in content(text).items() if weight >= 0.4}


def same_fact(left: str, right: str) -> bool:
    """Say whether two lines state the same thing with the same values, or the right one that and more."""
    if fuller(right, left):
        return True
    left, right = undated(left), undated(right)
    if left.casefold() == right.casefold():
        return True
    one, other = content(left), content(right)
    if supersedes(left, right):
        return False
    numbers = [{key for key in found if key[:1].isdigit()} for found in (one, other)]
    return numbers[0] == numbers[1] and likeness(one, other) >= 0.75
