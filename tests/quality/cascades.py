"""Cascades: after a change, do the lines that hung on it go, change, or get asked about, and the others stay?

A case is a TOML file: dated sittings, of which the last tells a change; `follows` from it, what only `looks` so, and
what stands `apart`, each with the patterns of its line. Run it with `python -m tests.quality.cascades FOLDER|FILE…
[--case NAME] [--half seen|unseen] [--keep DIR]`, with the model of the environment (DREAM_MODEL, …). With --keep a run
that ended early goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from dream.llm.spending import Meter
from dream.models import Message, Proposal
from dream.settings import CALLING, Settings, load
from tests.quality import Sitting
from tests.quality.scratch import Scratch

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CascadeFigures:
    """What came of a case. Of the lines that memory `held` before the change so many were `settled`.

    Of the `unrelated` lines so many were `touched`: changed, gone or asked about. `told` says whether memory holds the
    change itself; `rows` name each line and what became of it.
    """

    case: str
    told: bool
    held: int
    settled: int
    follows: int
    unrelated: int
    touched: int
    calls: int
    tokens: int
    rows: tuple[str, ...]


def sittings(case: Case) -> Iterator[Sitting]:
    """Yield the sittings of a case, a quarter past nine of their day."""
    for number, sitting in enumerate(case["sitting"]):
        at = datetime.combine(sitting["day"], time(9, 15), UTC)
        said = enumerate(sitting["message"])
        rows = (Message(one["role"], one["text"], at + timedelta(minutes=n), id=f"{number}-{n}") for n, one in said)
        yield Sitting(f"{case['id']}-{number}", at, tuple(rows))


def dreamt(case: Case, folder: Path, settings: Settings) -> tuple[list[str], Scratch]:
    """Dream a case in `folder`, a sitting a night; return the lines of memory before the last night."""
    scratch = Scratch(folder, settings, Meter(settings))
    *earlier, last = sittings(case)
    note = folder / "before.json"
    if not note.exists():
        for sitting in earlier:
            scratch.night([sitting])
        note.write_text(json.dumps(memory(scratch), ensure_ascii=False), encoding="utf-8")
    before: list[str] = json.loads(note.read_text(encoding="utf-8"))
    scratch.night([last])
    return before, scratch


def figures(case: Case, before: Sequence[str], scratch: Scratch) -> CascadeFigures:
    """Count what became of a case's lines."""
    after, pending = memory(scratch), scratch.workspace.pending()
    rows: list[str] = []
    counts = dict.fromkeys(("held", "settled", "unrelated", "touched"), 0)
    for kind in ("follows", "looks", "apart"):
        for gold in case[kind]:
            lines = [line for line in before if matches(line, gold["line"])]
            became = _became(lines, after, pending, gold) if lines else "never kept"
            touched = became not in ("never kept", "stays")
            held, hit = ("held", "settled") if kind == "follows" else ("unrelated", "touched")
            counts[held] += bool(lines)
            counts[hit] += touched
            rows.append(f"{kind}: {gold['what']}: {became} ({gold.get('expect', 'stays')})")
    night = scratch.nights[-1]
    return CascadeFigures(
        case=case["id"],
        told=any(matches(line, case["change"]["new"]) for line in after),
        follows=len(case["follows"]),
        calls=night.usage.calls,
        tokens=night.usage.input_tokens + night.usage.output_tokens,
        rows=tuple(rows),
        **counts,
    )


def _became(lines: Sequence[str], after: Sequence[str], pending: Sequence[Proposal], gold: Case) -> str:
    """Return what became of the lines that say one thing."""
    asked = [one for one in pending if any(line in one.old_text.splitlines() for line in lines)]
    if asked:
        return f"asked: {asked[0].reason}"
    if all(line in after for line in lines):
        return "stays"
    left = [line for line in after if matches(line, gold["line"])]
    return f"changed: {left[0]}" if left else "gone"


def matches(line: str, patterns: Sequence[str]) -> bool:
    """Return whether a line holds each of the patterns."""
    return all(re.search(pattern, line) for pattern in patterns)


def memory(scratch: Scratch) -> list[str]:
    """Return the lines of the memory files."""
    rows = (row.rstrip() for text in scratch.files().values() for row in text.splitlines())
    return [row for row in rows if row and not row.startswith("#")]


def main() -> None:
    """Dream the cases that are named, and print what became of their lines, and the sum."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("files", nargs="+", type=Path)
    asked.add_argument("--case", help="only the case with this id")
    asked.add_argument("--half", help="only the cases of this half")
    asked.add_argument("--keep", type=Path, help="a folder in which the workspaces stay")
    asked.add_argument("--quiet", action="store_true", help="no words of a case: for those that nobody may look at")
    options = asked.parse_args()
    settings = load(None, flags={"timezone": "UTC", "durable": False}, using=CALLING)
    found: list[CascadeFigures] = []
    for path in (one for given in options.files for one in (sorted(given.glob("*.toml")) or [given])):
        case = tomllib.loads(path.read_text(encoding="utf-8"))
        if "change" not in case or options.case not in (None, case["id"]) or options.half not in (None, case["half"]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            kept = options.keep / case["id"] if options.keep else Path(folder)
            kept.mkdir(parents=True, exist_ok=True)
            found.append(figures(case, *dreamt(case, kept, settings)))
        shown = asdict(found[-1])
        print(json.dumps(shown | {"rows": ()} if options.quiet else shown, ensure_ascii=False, indent=1), flush=True)
    names = ("follows", "held", "settled", "unrelated", "touched", "calls", "tokens")
    print(json.dumps({name: sum(getattr(one, name) for one in found) for name in names}), file=sys.stderr)


if __name__ == "__main__":
    main()
