"""Make relative Chinese dates absolute: 昨天, said on 2023-05-08, is 2023年5月7日."""

from __future__ import annotations

import re
from datetime import date, timedelta

_DAYS = {"大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "今天": 0, "今日": 0, "今早": 0, "今晚": 0,
         "明天": 1, "明日": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3}  # fmt: skip
_PARTS = {"昨晚": "晚上", "今早": "早上", "今晚": "晚上", "明早": "早上", "明晚": "晚上"}
_WEEKDAY = {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6}
_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九十")} | {"两": 2, "半": 0}
_PATTERN = re.compile(
    r"(?P<day>大前天|大后天|前天|昨天|昨日|昨晚|今天|今日|今早|今晚|明天|明日|明早|明晚|后天)"
    r"|(?P<week>上上|上|这|本|下下|下)(?:个)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?"
    r"|(?P<month>上上|上|这|本|下)(?:个)?月"
    r"|(?P<year>前年|去年|今年|明年|后年)"
    r"|(?P<n>\d{1,3}|[一二两三四五六七八九十])(?:个)?(?P<unit>天|周|星期|礼拜|月|年)(?P<way>前|之前|以前|后|之后|以后)"
)


def spelled_zh(day: date) -> str:
    """Write a date as 2023年5月7日."""
    return f"{day.year}年{day.month}月{day.day}日"


def anchor_zh(text: str, day: date) -> str:
    """Rewrite the relative Chinese dates of a text as absolute ones, seen from `day`."""
    try:
        return _PATTERN.sub(lambda match: _absolute(match, day), text)
    except (OverflowError, ValueError):  # a year outside the calendar
        return text


def _absolute(match: re.Match[str], day: date) -> str:
    if word := match["day"]:
        return spelled_zh(day + timedelta(days=_DAYS[word])) + _PARTS.get(word, "")
    if word := match["week"]:
        return _week({"上上": -2, "上": -1, "下": 1, "下下": 2}.get(word, 0), match["weekday"], day)
    if word := match["month"]:
        return _month(day, {"上上": -2, "上": -1, "下": 1}.get(word, 0))
    if word := match["year"]:
        return f"{day.year + {'前年': -2, '去年': -1, '今年': 0, '明年': 1, '后年': 2}[word]}年"
    number = int(match["n"]) if match["n"].isdigit() else _DIGITS[match["n"]]
    sign = -1 if "前" in match["way"] else 1
    unit = match["unit"]
    if unit == "月":
        return _month(day, sign * number)
    if unit == "年":
        return f"{day.year + sign * number}年"
    return spelled_zh(day + timedelta(days=sign * number * (1 if unit == "天" else 7)))


def _week(shift: int, weekday: str | None, day: date) -> str:
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=shift)
    if weekday == "末":
        return f"{spelled_zh(monday + timedelta(days=5))}那个周末"
    if weekday:
        return spelled_zh(monday + timedelta(days=_WEEKDAY[weekday]))
    return f"{spelled_zh(monday)}那一周"


def _month(day: date, shift: int) -> str:
    index = day.year * 12 + day.month - 1 + shift
    return f"{index // 12}年{index % 12 + 1}月"
