"""Japanese: who the user is, without 私; relative dates made absolute."""

from __future__ import annotations

import re
from datetime import date, timedelta

_GREETS = re.compile(r"^(?:はじめまして|初めまして|こんにちは|実は|ちなみに|あと|そういえば)[、,。\s]*")
_NAME = re.compile(
    r"^(?:(?:はじめまして|初めまして)[、,\s]*(?:私は|僕は)?(?P<met>[^\sはがのを、]{2,12})(?:です|と申します|といいます)"
    r"|(?:私は|僕は)?(?P<called>[^\sはがのを、]{2,12})(?:と申します|といいます|と言います)"
    r"|(?:私の|僕の)?名前は(?P<name>[^\sはがのを、]{2,12})(?:です)?)$"
)
_DAYS = {
    "一昨日": -2,
    "おととい": -2,
    "昨日": -1,
    "きのう": -1,
    "今日": 0,
    "本日": 0,
    "明日": 1,
    "あした": 1,
    "明後日": 2,
    "あさって": 2,
}
_WEEKS = {"先々週": -2, "先週": -1, "今週": 0, "来週": 1, "再来週": 2}
_MONTHS = {"先々月": -2, "先月": -1, "今月": 0, "来月": 1, "再来月": 2}
_YEARS = {"一昨年": -2, "去年": -1, "昨年": -1, "今年": 0, "来年": 1, "再来年": 2}
WEEK = "月火水木金土日"
_PATTERN = re.compile(
    rf"(?P<week>{'|'.join(sorted(_WEEKS, key=len, reverse=True))})(?:の?(?P<weekday>[{WEEK}])曜日?|(?P<end>末))?"
    rf"|(?P<day>{'|'.join(sorted(_DAYS, key=len, reverse=True))})"
    rf"|(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
    rf"|(?P<year>{'|'.join(sorted(_YEARS, key=len, reverse=True))})"
    r"|(?P<n>\d{1,3})(?P<unit>日|週間|[かヶカ]月|年)(?P<way>前|後)"
)


def name_ja(text: str) -> str:
    """Return the name that a sentence gives its speaker, or ''."""
    match = _NAME.match(text.rstrip("。！!"))
    return (match["met"] or match["called"] or match["name"]) if match else ""


def third_ja(text: str, name: str) -> str:
    """Rewrite a Japanese sentence about its speaker, who need not be named."""
    told = re.sub(r"^(?:私|僕|俺|わたし)(?:は|が|も)、?", f"{name}は" if name else "", _GREETS.sub("", text))
    told = re.sub(r"(?:私|僕|俺|わたし)の", f"{name or 'ユーザー'}の", told)
    return f"{name}：{told}" if name and name not in told else told


def anchor_ja(text: str, day: date) -> str:
    """Rewrite the relative dates of a Japanese text as absolute ones, seen from `day`."""
    try:
        return _PATTERN.sub(lambda match: _absolute(match, day), text)
    except (OverflowError, ValueError):  # a year outside the calendar
        return text


def _spelled(day: date) -> str:
    return f"{day.year}年{day.month}月{day.day}日"


def _absolute(match: re.Match[str], day: date) -> str:
    if word := match["day"]:
        return _spelled(day + timedelta(days=_DAYS[word]))
    if word := match["week"]:
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=_WEEKS[word])
        if match["weekday"]:
            then = monday + timedelta(days=WEEK.index(match["weekday"]))
            return f"{_spelled(then)}（{match['weekday']}曜日）"
        return f"{_spelled(monday + timedelta(days=5))}の週末" if match["end"] else f"{_spelled(monday)}の週"
    if word := match["month"]:
        return _month(day, _MONTHS[word])
    if word := match["year"]:
        return f"{day.year + _YEARS[word]}年"
    number = int(match["n"]) * (-1 if match["way"] == "前" else 1)
    unit = match["unit"]
    if unit == "年":
        return f"{day.year + number}年"
    if unit.endswith("月"):
        return _month(day, number)
    return _spelled(day + timedelta(days=number * (7 if unit == "週間" else 1)))


def _month(day: date, shift: int) -> str:
    index = day.year * 12 + day.month - 1 + shift
    return f"{index // 12}年{index % 12 + 1}月"
