"""Put the new value into an old statement that tells more: after "we moved from SQLite to Postgres 16",
"Crumb runs on FastAPI with SQLite" is "Crumb runs on FastAPI with Postgres 16"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from dream.llm.embedded.lexicon import COMMON, MONTHS, WEEKDAYS
from dream.llm.embedded.words import CJK, content, has_cjk, stem

_MONTH = "|".join(MONTHS)
_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})|(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?"
_THING = rf"(?:{_DATE}|(?:the |an? )?[A-Z][\w+#.-]*(?: (?:[A-Z][\w+#.-]*|\d[\w.]*))*|[a-z][\w+#-]*[A-Z0-9+#]\w*|(?:{'|'.join(WEEKDAYS)})s?)"
_WORD = r"[A-Za-z][\w+#.-]*"
_PAIRS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b[Ff]rom (?P<old>{_THING}|{_WORD}) (?:over )?to (?P<new>{_THING}|{_WORD})",
        rf"(?P<new>{_THING}) (?:instead of|rather than|in place of) (?P<old>{_THING})",
        rf"\b(?:replaced?|replacing|swapped) (?P<old>{_THING}) (?:with|by|for) (?P<new>{_THING})",
        rf"\b(?:skip|drop|cancel|leave out) (?P<old>{_THING}) and (?:go to|visit|use|take|do|try) (?P<new>{_THING}) instead",
        rf"\b(?:statt|anstelle von) (?P<old>{_THING}) (?:jetzt |nun )?(?P<new>{_THING})",
        rf"\bvon (?P<old>{_THING}) (?:auf|zu) (?P<new>{_THING})",
        rf"从(?P<old>[\w .+#-]+?|[{CJK}]{{2,6}}?)(?:换成|改成|改为|换到|迁移到|迁到)了?(?P<new>[A-Za-z][\w .+#-]*\w|[{CJK}]{{2,6}})",
        rf"(?P<old>[A-Za-z][\w .+#-]*?|[{CJK}]{{2,8}}?)から(?P<new>[A-Za-z][\w .+#-]*\w|[{CJK}]{{2,8}}?)に(?:変わ|変え|移行|切り替え)",
    )
)
_AMOUNT = re.compile(r"(?P<n>[$€£¥]?\d[\d,]*(?:\.\d+)?) ?(?P<unit>%|[a-z]{1,12}\b)?")
_UP = re.compile(
    r"\b(?:raised?|increas\w+|reduced?|lower\w+|went (?:up|down)|cut|chang\w+|up|down|now|bump\w+|set)\b"
    r"[^.;]*?\b(?:to|at|is|are) (?P<n>[$€£¥]?\d[\d,]*(?:\.\d+)?) ?(?P<unit>%|[a-z]{1,12}\b)?",
    re.I,
)
_MOVED = re.compile(
    rf"(?P<thing>[{CJK}]{{2,10}}?)[はが](?P<day>[月火水木金土日])曜日?に(?:変わ|変更|なり|延期|ずれ)"
    rf"|(?P<what>[{CJK}]{{2,6}}?)(?:改到|改在|推迟到|提前到|移到|改成)了?(?:周|星期)(?P<on>[一二三四五六日天])"
)
_DAY = re.compile(r"\d{4}年\d{1,2}月\d{1,2}日(?P<mark>（.曜日）)?")
_WEEK = {letter: day for week in ("月火水木金土日", "一二三四五六天") for day, letter in enumerate(week)}
_CALENDAR = re.compile(rf"{_DATE}|{'|'.join(WEEKDAYS)}|^\d", re.I)
NAMES = 0.9  # weight of a word that names something
_PLAIN = frozenset(map(stem, COMMON)) | {"user"}
MORE = 1.2  # weight of the words that the old statement has beyond the new one
REST = 6  # letters after the day: りました, 了
LONGEST = 110  # characters of a statement that states one amount


def renewed(new: str, old: str) -> str:
    """Return `old` with the value that `new` puts in the place of the one in it; '' where that would tell no more."""
    text = _pair(new, old) or _amount(new, old) or _weekday(new, old)
    if text and has_cjk(text):
        return text
    return text if text and _tells_more(old, new) else ""


def only_moves(new: str) -> bool:
    """Say whether a statement tells nothing but that something has another day, which then stands in the old one."""
    match = _MOVED.match(new)
    return match is not None and len(new) - match.end() <= REST


def _pair(new: str, old: str) -> str:
    for pattern in _PAIRS:
        match = pattern.search(new)
        if match is None:
            continue
        was, now = re.sub(r"^(?:the|an?) ", "", match["old"]), re.sub(r"^(?:the|an?) ", "", match["new"])
        found = list(re.finditer(rf"(?<![A-Za-z0-9]){re.escape(was)}(?![A-Za-z0-9])(?: \d[\d.]*\b)?", old))
        known = _CALENDAR.search(was) is None or _shares(new, old, was, now)
        if known and len(found) == 1 and now.casefold() not in old.casefold():
            return old[: found[0].start()] + now + old[found[0].end() :]
    return ""


def _shares(new: str, old: str, was: str, now: str) -> bool:
    """Say whether two statements tell of one thing beside the days: any of them may be on a Monday."""
    days = content(was).keys() | content(now).keys()
    return any(weight >= NAMES and key in content(old) and key not in days for key, weight in content(new).items())


def _amount(new: str, old: str) -> str:
    """Renew the one amount of a short statement: "takes 5 mg every morning" after "raised it to 10 mg"."""
    match = _UP.search(new)
    if match is None or not match["unit"] or len(old) > LONGEST:
        return ""
    said = list(_AMOUNT.finditer(old))
    same = [amount for amount in said if amount["unit"] == match["unit"]]
    if len(said) != 1 or len(same) != 1 or same[0]["n"] == match["n"]:
        return ""
    return old[: same[0].start("n")] + match["n"] + old[same[0].end("n") :]


def _weekday(new: str, old: str) -> str:
    """Move what has a date to another day of its week: "出張は木曜日に変わりました"."""
    match = _MOVED.search(new)
    if match is None:
        return ""
    thing, letter = match["thing"] or match["what"], match["day"] or match["on"]
    dates = [found for found in _DAY.finditer(old) if thing in old[found.end() :]]
    if not dates or thing not in old:
        return ""
    then = date(*(int(part) for part in re.findall(r"\d+", dates[-1][0])[:3]))
    then += timedelta(days=_WEEK[letter] - then.weekday())
    mark = f"（{letter}曜日）" if dates[-1]["mark"] else ""
    written = f"{then.year}年{then.month}月{then.day}日{mark}"
    return old[: dates[-1].start()] + written + old[dates[-1].end() :]


def _tells_more(old: str, new: str) -> bool:
    known = content(new).keys()
    rest = (weight for key, weight in content(old).items() if key not in known | _PLAIN and not key[:1].isdigit())
    return sum(rest) > MORE
