"""The nights as charts: numbers laid out on axes for a template to draw, each with its table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from dream.directory import Workspace
from dream.memory import memory_file
from dream.reports import Usage
from dream.versions.trace import Deed
from dream.web.known import Past
from dream.workspace import runs
from dream.workspace.bills import Bills
from dream.workspace.runs import RunRecord

SHOWN = 60  # nights in one picture
RECORDS = 2_000  # runs that are looked through
WIDTH, HEIGHT = 640, 220  # of a picture, in its own units
LEFT, RIGHT, TOP, BOTTOM = 72, 608, 14, 184  # of its plot
LONGEST = timedelta(hours=24)  # a longer duration is not real: the clock was changed during the run
BAR = 40  # widest bar, in the same units
COLOURS = 6  # colours in the style sheet for the series of one chart
COMMANDS = {"run": "dreaming", "consolidate": "consolidation"}
JOBS = {"consolidator": "consolidation", "phase1": "analysis", "phase2": "editing"}
_STEPS = (1, 2, 2.5, 5, 10)
Numbers = Mapping[str, Mapping[date, float]]  # by name, then by night


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of number, by night; None where it is not known. `points` joins a line, `bars` are (x, y, w, h)."""

    name: str
    values: tuple[float | None, ...]
    points: str = ""
    bars: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """One picture. `ticks` are (y, label) and `marks` (x, label, day)."""

    title: str
    unit: str
    nights: tuple[str, ...]
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, str, str], ...]


def all_of(workspace: Workspace, known: Past) -> list[Chart]:
    """Draw every chart of a workspace, except those without data."""
    zone = workspace.settings(using=()).zone()
    steps = known.steps(workspace)
    records = runs.last(workspace.private, RECORDS)
    bills = Bills(workspace.private).daily(datetime.now(UTC), zone)
    drawn = [
        chart("Lines of each file", "lines", _lines(workspace, steps, zone), "line"),
        chart("Lines that were new, changed, or moved out", "lines", _changes(steps, zone), "bars"),
        chart("Entries read, and left to be dreamt", "entries", _entries(records, zone), "line"),
        chart("Tokens, by job and model", "tokens", _bills(bills, lambda one: float(one.tokens)), "bars"),
        chart("Money, by job and model", "US dollars", _bills(bills, lambda one: one.cost_usd or 0.0), "bars"),
        chart("How long it took", "seconds", _lasted(records, zone), "bars"),
    ]
    return [one for one in drawn if one.nights]


def chart(title: str, unit: str, numbers: Numbers, kind: Literal["line", "bars"]) -> Chart:
    """Lay numbers out as lines over all nights, or as stacked bars. Pure."""
    numbers = {name: values for name, values in numbers.items() if kind == "line" or any(values.values())}
    nights = sorted({night for values in numbers.values() for night in values})[-SHOWN:]
    rows = {name: [values.get(night) for night in nights] for name, values in numbers.items()}
    piled = [sum(row[n] or 0 for row in rows.values()) for n in range(len(nights))]
    highest = max([*piled] if kind == "bars" else [v or 0 for row in rows.values() for v in row], default=0)
    step = _step(highest)
    top = step * max(1, -(-highest // step))
    width = (RIGHT - LEFT) / max(1, len(nights))
    bar = min(width * 0.7, BAR)

    def x(place: int) -> float:
        return round(LEFT + (place + 0.5) * width, 1)

    def y(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * value / top, 1)

    series, base = list[Series](), [0.0] * len(nights)
    for name, row in rows.items():
        if kind == "line":
            points = " ".join(f"{x(n)},{y(value)}" for n, value in enumerate(row) if value is not None)
            series.append(Series(name, tuple(row), points))
            continue
        bars = []
        for n, value in enumerate(row):
            low, base[n] = base[n], base[n] + (value or 0)
            if value:
                bars.append((round(x(n) - bar / 2, 1), y(base[n]), round(bar, 1), round(y(low) - y(base[n]), 1)))
        series.append(Series(name, tuple(row), "", tuple(bars)))
    ticks = tuple((y(step * n), _label(step * n)) for n in range(int(top / step) + 1))
    every = max(1, -(-len(nights) // 6))
    marks = tuple((x(n), f"{nights[n]:%-d %b}", nights[n].isoformat()) for n in range(0, len(nights), every))
    return Chart(title, unit, tuple(night.isoformat() for night in nights), tuple(series), ticks, marks)


def _step(highest: float) -> float:
    """Return a round distance between two of about four lines of an axis."""
    if not highest:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest / 4))
    return next((power * one for one in _STEPS if power * one >= highest / 4), power * 10)


def _label(value: float) -> str:
    """Write a number as short as an axis has room for."""
    if value >= 10_000:
        return f"{value / 1e6:,g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}".rstrip("0")


def _lines(workspace: Workspace, steps: Sequence[Deed], zone: tzinfo) -> Numbers:
    """Count the lines of each file at the end of each day, backwards from today's."""
    found: dict[str, dict[date, float]] = {}
    for file in workspace.files():
        now, days = float(len(workspace.read_file(file).splitlines())), dict[date, float]()
        for step in steps:
            days.setdefault(step.change.time.astimezone(zone).date(), now)
            if count := step.change.files.get(file):
                now += count.removed - count.added
        found[file] = days
    return found


def _changes(steps: Sequence[Deed], zone: tzinfo) -> Numbers:
    new, other, moved = (dict[date, float]() for _ in range(3))
    for step in steps:
        day = step.change.time.astimezone(zone).date()
        counts = [count for file, count in step.change.files.items() if memory_file(file)]
        both = [min(count.added, count.removed) for count in counts]
        new[day] = new.get(day, 0) + sum(count.added for count in counts) - sum(both)
        other[day] = other.get(day, 0) + sum(both)
        moved[day] = moved.get(day, 0) + _moved(step.body)
    return {"new": new, "changed": other, "moved out": moved}


def _moved(body: str) -> int:
    """Count the lines that a message lists as moved to an archive."""
    parts = (part for part in body.split("\n\n") if part.startswith("Moved from "))
    return sum(part.count("\n") for part in parts)


def _entries(records: Iterable[RunRecord], zone: tzinfo) -> Numbers:
    """Return how far history and dreams had come by the end of each day, as the runs recorded."""
    read, left = dict[date, float](), dict[date, float]()
    newest = dreamt = 0
    for record in sorted(records, key=lambda one: one.ended):
        if record.entries is None:
            continue
        day = record.ended.astimezone(zone).date()
        newest = max(newest, record.entries[1])
        if record.command == "consolidate":
            read[day] = read.get(day, 0) + record.entries[1] - record.entries[0] + 1
        else:
            dreamt = max(dreamt, record.entries[1])
        left[day] = float(newest - dreamt)
    return {"read": read, "left to be dreamt": left}


def _lasted(records: Iterable[RunRecord], zone: tzinfo) -> Numbers:
    found: dict[str, dict[date, float]] = {}
    for record in records:
        lasted = record.ended - record.started
        if timedelta() <= lasted <= LONGEST:
            days = found.setdefault(COMMANDS.get(record.command, record.command), {})
            day = record.ended.astimezone(zone).date()
            days[day] = round(days.get(day, 0) + lasted.total_seconds(), 1)
    return found


def _bills(bills: Mapping[tuple[date, str, str], Usage], number: Callable[[Usage], float]) -> Numbers:
    """Sum up by job and model, the largest first; those beyond the colours are "others"."""
    found: dict[str, dict[date, float]] = {}
    for (day, model, job), usage in bills.items():
        found.setdefault(f"{JOBS.get(job, job)}: {model}" if job else model, {})[day] = number(usage)
    ordered = sorted(found.items(), key=lambda one: -sum(one[1].values()))
    if len(ordered) <= COLOURS:
        return dict(ordered)
    others: dict[date, float] = {}
    for _, days in ordered[COLOURS - 1 :]:
        for day, value in days.items():
            others[day] = others.get(day, 0) + value
    return dict(ordered[: COLOURS - 1]) | {"others": others}
