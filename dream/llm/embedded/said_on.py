"""When a line was told: the day in brackets at its end, or the day that it tells of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from dream.llm.embedded.dates_de import MONTHS_DE
from dream.llm.embedded.lexicon import MONTHS

_NUMBER_OF = {name: index % 12 + 1 for index, name in enumerate((*MONTHS, *MONTHS_DE))}
_DAY = re.compile(
    rf"(?P<d>\d{{1,2}})\.? (?P<m>{'|'.join(_NUMBER_OF)}) (?P<y>\d{{4}})|(?P<y2>\d{{4}})年(?P<m2>\d{{1,2}})月(?P<d2>\d{{1,2}})日"
)
_AT_END = re.compile(rf"[(（](?:{_DAY.pattern})[)）]$")


def said_on_day(line: str) -> date | None:
    """Return the day that a line says it was told on, None where it says none."""
    match = _AT_END.search(line)
    return _read(match) if match else None


def latest(lines: Iterable[str]) -> date | None:
    """Return the latest day that one of the lines was told on."""
    return max((day for line in lines if (day := said_on_day(line))), default=None)


def _read(match: re.Match[str]) -> date | None:
    year, month, number = match["y"] or match["y2"], match["m2"] or _NUMBER_OF[match["m"]], match["d"] or match["d2"]
    try:
        return date(int(year), int(month), int(number))
    except ValueError:
        return None
