"""Give a Chinese or Japanese day of a month its year: 12月4日, said on 13 November 2026, is 2026年12月4日."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.nearest_year import nearest_year

_DAY = re.compile(r"(?<![年\d/])(?P<month>\d{1,2})月(?P<number>\d{1,2})[日号](?![~～至到から-]+\d)")
_YEARLY = re.compile(r"生日|每年|每个|纪念日|出生|誕生日|毎年|記念日|生まれ|\d{4}年")
_PAST = re.compile(r"了|过(?!年)|已经|ました|でした|った(?:。|$)")
# What is moved to a day or planned for it lies ahead, though it is told as done.
_OPEN = re.compile(
    r"改到|改成|改为|推迟|提前|延期|截止|之前|以前|要|将|打算|计划|预定|变|変更|変わ|締め切り|予定|まで|つもり|決ま"
)


def with_years_cjk(text: str, day: date) -> str:
    """Write the year before the days that a sentence said on `day` names without one, where it is clear."""
    if _YEARLY.search(text):
        return text
    past = _PAST.search(text) is not None and _OPEN.search(text) is None

    def dated(match: re.Match[str]) -> str:
        year = nearest_year(int(match["month"]), int(match["number"]), day, past=past)
        return match[0] if year is None else f"{year}年{match[0]}"

    return _DAY.sub(dated, text)
