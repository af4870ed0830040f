"""Memory for other tools and for a copy: Markdown as it stands, JSON with provenance, or a bundle of OKF.

What is written here and read by `dream import` is the same memory: each line in its file, under its headings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from dream import __version__
from dream.directory import Workspace
from dream.door import make_folder
from dream.errors import UsageError
from dream.memory import TEMPLATES, place_of, tag
from dream.models import Entry, MemoryFile
from dream.text.words import without_bullet
from dream.versions.trace import Origin, facts, trace
from dream.workspace.files import explained, replace_file

Format = Literal["md", "json", "okf"]
FORMATS: tuple[Format, ...] = ("md", "json", "okf")
VERSION = 1  # of the JSON
OKF = "0.2"  # https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md
_HEADING = re.compile(r"(#{2,6}) ")


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One line of memory with where it comes from: the day it was said, and the entries that it rests on."""

    file: MemoryFile
    headings: tuple[str, ...]
    row: str
    entries: tuple[Entry, ...] = ()


def lines(workspace: Workspace, place: str = "") -> list[ExportLine]:
    """Return every line of memory, or of the place of this name, in its order, with its provenance.

    Raises UsageError for a place that has no memory.
    """
    names = [file for file in workspace.files() if not place or place_of(file) == place]
    if not names:
        known = ", ".join(dict.fromkeys(filter(None, map(place_of, workspace.files())))) or "none"
        raise UsageError(f"No place named {place!r} has memory of its own; there is {known}.")
    found = [(file, row, above) for file in names for row, above in _sections(file, workspace.read_file(file))]
    origins = trace(workspace, [(file, row) for file, row, _ in found])
    cursors = sorted({cursor for one in origins for cursor in one.entries})
    entries = {entry.cursor: entry for entry in workspace.history.numbered(cursors)}
    return [
        ExportLine(file, above, row, _of(origin, entries))
        for (file, row, above), origin in zip(found, origins, strict=True)
    ]


def files(lines: Sequence[ExportLine], format: Format, now: datetime, log: Sequence[str] = ()) -> dict[str, str]:  # noqa: A002
    """Return what an export holds, by path: one file for JSON, one for each memory file, or a bundle.

    `log` are the days and subjects of the changes, newest first, for the bundle's own log.
    """
    if format == "json":
        return {"memory.json": json.dumps(_value(lines, now), ensure_ascii=False, indent=1) + "\n"}
    if format == "md":
        return {file.removeprefix("memory/"): _markdown(file, rows) for file, rows in _by_file(lines)}
    made = {path: text for file, rows in _by_file(lines) for path, text in _concepts(file, rows, now)}
    index = "".join(f"- [{path.removesuffix('.md')}]({path})\n" for path in made)
    told = "".join(f"## {day}: {subject}\n\n" for day, subject in (row.split(" ", 1) for row in log))
    root = f'---\nokf_version: "{OKF}"\n---\n\n# Memory\n\n{index}'
    return {"index.md": root, "log.md": f"# Changes\n\n{told}".rstrip() + "\n", **made}


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write an export into a new or empty folder, for its owner alone; raises UsageError for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and not empty; name a new folder.")
    for name, text in made.items():
        with explained("written", folder / name):
            make_folder((folder / name).parent)
        replace_file(folder / name, text.encode("utf-8"))


def _sections(file: MemoryFile, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the lines of a file that state something, each with the headings above it; its own first lines are none."""
    began = set(TEMPLATES.get(file, b"").decode().splitlines())
    above: list[str] = []
    for row in text.splitlines():
        if heading := _HEADING.match(row):
            above = [*(one for one in above if len(one.split(" ")[0]) < len(heading[1])), row.rstrip()]
        elif any(facts(row)) and row not in began:
            yield row, tuple(above)


def _of(origin: Origin, entries: Mapping[int, Entry]) -> tuple[Entry, ...]:
    return tuple(entries[cursor] for cursor in origin.entries if cursor in entries)


def _by_file(lines: Sequence[ExportLine]) -> Iterator[tuple[MemoryFile, list[ExportLine]]]:
    yield from ((file, list(rows)) for file, rows in groupby(lines, lambda one: one.file))


def _markdown(file: MemoryFile, lines: Sequence[ExportLine]) -> str:
    text = f"<!-- dream: {file.removeprefix('memory/')} -->\n# {tag(file)}\n"
    shown: tuple[str, ...] = ()
    for headings, rows in groupby(lines, lambda one: one.headings):
        new = [one for level, one in enumerate(headings) if headings[: level + 1] != shown[: level + 1]]
        text += "".join(f"\n{one}\n" for one in new) + ("" if new else "\n")
        text += "".join(f"{one.row}\n" for one in rows)
        shown = headings
    return text


def _value(lines: Sequence[ExportLine], now: datetime) -> dict[str, Any]:
    rows = [
        {
            "file": one.file.removeprefix("memory/"),
            "place": place_of(one.file) or None,
            "headings": one.headings,
            "text": without_bullet(one.row).strip(),
            "row": one.row,
            "day": _day(one),
            "sources": [_source(entry) for entry in one.entries],
        }
        for one in lines
    ]
    return {"dream_memory": VERSION, "exported": now.isoformat(timespec="seconds"), "lines": rows}


def _day(line: ExportLine) -> str | None:
    return max((f"{entry.when:%Y-%m-%d}" for entry in line.entries), default=None)


def _source(entry: Entry) -> dict[str, Any]:
    voice = "user" if entry.imported else next((one.voice for one in entry.lines), None)  # they accepted it
    said = {"session": entry.session, "span": entry.span, "voice": voice}
    return {"cite": f"history:{entry.cursor}", "day": f"{entry.when:%Y-%m-%d}", "kind": entry.kind, **said}


def _concepts(file: MemoryFile, lines: Sequence[ExportLine], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield a concept of the bundle for each section of a memory file: its lines with their sources as footnotes."""
    taken: set[str] = set()
    for headings, rows in groupby(lines, lambda one: one.headings):
        kept = list(rows)
        title = headings[-1].lstrip("# ") if headings else tag(file)
        slug = "-".join(re.findall(r"[^\W_]+", title.casefold())) or "memory"
        name = next(one for one in (slug, *(f"{slug}-{n}" for n in range(2, 10_000))) if one not in taken)
        taken.add(name)
        entries = {entry.cursor: entry for one in kept for entry in one.entries}
        sources = "".join(
            f"  - id: h{cursor}\n    resource: {json.dumps(entry.session or f'history:{cursor}', ensure_ascii=False)}\n"
            f"    last_modified: {entry.when:%Y-%m-%d}\n"
            for cursor, entry in sorted(entries.items())
        )
        front = [
            "type: Memory",
            f"title: {json.dumps(title, ensure_ascii=False)}",
            f"dream_file: {json.dumps(file.removeprefix('memory/'), ensure_ascii=False)}",
            f"dream_headings: {json.dumps(headings, ensure_ascii=False)}",
            f"generated: {{ by: dream/{__version__}, at: {now.isoformat(timespec='seconds')} }}",
        ]
        front += [f"sources:\n{sources}".rstrip()] if sources else []
        body = "".join(f"{one.row}{''.join(f'[^h{entry.cursor}]' for entry in one.entries)}\n" for one in kept)
        notes = "".join(f"[^h{cursor}]: {entry.when:%Y-%m-%d}\n" for cursor, entry in sorted(entries.items()))
        text = f"---\n{chr(10).join(front)}\n---\n\n# {title}\n\n{body}" + (f"\n{notes}" if notes else "")
        yield f"{tag(file).lower()}/{name}.md", text
