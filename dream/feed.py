"""Which transcripts are read, and which sessions stand in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from dream import transcripts
from dream.errors import TranscriptError
from dream.models import Diagnostic, Message, Report
from dream.settings import Settings

Sessions = Iterator[tuple[str, Iterator[Message]]]


def files(paths: Iterable[Path], report: Report) -> list[Path]:
    """List the transcript files at `paths`, each once.

    A path that holds none is told to `report` as long as another does; else TranscriptError.
    """
    found: dict[Path, None] = {}
    first: TranscriptError | None = None
    for path in paths:
        try:
            found |= dict.fromkeys(transcripts.find(path))
        except TranscriptError as error:
            first = first or error
            report(Diagnostic(str(path), 0, str(error)))
    if first is not None and not found:
        raise first
    return list(found)


def quiet(paths: Iterable[Path], now: datetime, idle_hours: float) -> list[Path]:
    """Leave out the files that were written to within `idle_hours` before `now`, or are gone."""
    return [path for path in paths if path.exists() and now - _written(path) >= timedelta(hours=idle_hours)]


def sessions(path: Path, settings: Settings, form: str | None, report: Report) -> Sessions:
    """Yield each session of the file with its messages from the first; take them before the next session.

    A file may mix sessions; one whose messages don't stand together is given again, whole, at the end.
    """

    def read(tell: Report) -> Iterator[tuple[str, Message]]:
        return transcripts.read(
            path, format=form, zone=settings.zone(), report=tell, tool_result_chars=settings.tool_result_chars
        )

    seen: set[str] = set()
    scattered: dict[str, None] = {}
    for key, group in groupby(read(report), key=itemgetter(0)):
        if key in seen:
            scattered[key] = None
            continue
        seen.add(key)
        yield key, map(itemgetter(1), group)
    for key in scattered:
        yield key, (message for other, message in read(_silent) if other == key)


def each(paths: Iterable[Path], take: Callable[[Path], None], report: Report) -> None:
    """Call `take` for each path; one that can't be read is told to `report` as long as another can.

    Raises the TranscriptError of the first when none can.
    """
    read, first = 0, None
    for path in paths:
        try:
            take(path)
            read += 1
        except TranscriptError as error:
            first = first or error
            report(Diagnostic(str(path), 0, str(error)))
    if first is not None and not read:
        raise first


def _written(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _silent(diagnostic: Diagnostic) -> None:
    """Diagnostics of a second reading were told at the first."""
