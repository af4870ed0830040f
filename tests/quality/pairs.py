"""Look-alikes: does a line stay where what was said later only looks like its successor?

A world is a TOML file of pairs: what is said `first`, what is said `second` and looks like it, and the patterns of the
line to `keep`. All firsts are told on one day, the seconds on two later ones, a dream each. Run it with
`python -m tests.quality.pairs FOLDER|FILE… [--half seen|unseen] [--keep DIR]`, with the model of the environment.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dream.llm.spending import Meter
from dream.models import Message
from dream.settings import CALLING, Settings, load
from tests.quality import Sitting
from tests.quality.cascades import matches, memory
from tests.quality.scratch import Scratch

BEGUN = datetime(2026, 9, 7, 9, tzinfo=UTC)
LATER = (12, 26)  # days after the first, on which the halves of the seconds are told
LOOKED = 10  # hits
World = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PairsFigures:
    """What came of a world: of its `pairs`, whose first line memory had `kept`, so many are `gone`.

    Of all firsts so many are `outdated`: a search gives their line or message as no longer true. `asked` wait for a
    person. `rows` name each fault.
    """

    world: str
    pairs: int
    kept: int
    gone: int
    outdated: int
    asked: int
    calls: int
    tokens: int
    rows: tuple[str, ...]


def told(world: World) -> Iterator[Sitting]:
    """Yield the sittings: all firsts, then each half of the seconds."""
    pairs, half = world["pair"], len(world["pair"]) // 2
    seconds = [one["second"] for one in pairs]
    days = (0, *LATER)
    for day, texts in zip(days, ([one["first"] for one in pairs], seconds[:half], seconds[half:]), strict=True):
        at = BEGUN + timedelta(days=day)
        messages: list[Message] = []
        for number, text in enumerate(texts):
            then = at + timedelta(minutes=2 * number)
            messages.append(Message("user", text, then, id=f"{day}-{number}"))
            messages.append(Message("assistant", "OK.", then + timedelta(minutes=1), id=f"{day}-{number}-ok"))
        yield Sitting(f"{world['id']}-{day}", at, tuple(messages))


def figures(world: World, folder: Path, settings: Settings) -> PairsFigures:
    """Dream a world in `folder` and count what its look-alikes cost."""
    scratch = Scratch(folder, settings, Meter(settings))
    note = folder / "before.json"
    first, *later = told(world)
    scratch.night([first])
    if not note.exists():
        note.write_text(json.dumps(memory(scratch), ensure_ascii=False), encoding="utf-8")
    before: list[str] = json.loads(note.read_text(encoding="utf-8"))
    for sitting in later:
        scratch.night([sitting])
    after, waiting = memory(scratch), scratch.workspace.pending()
    kept, gone, outdated, asked, rows = 0, 0, 0, 0, list[str]()
    for pair in world["pair"]:
        lines = [line for line in before if matches(line, pair["keep"])]
        left = [line for line in after if matches(line, pair["keep"])]
        hits = scratch.workspace.search(pair["first"], limit=LOOKED)
        old = next((hit for hit in hits if hit.until is not None and _is_first(hit.text, pair)), None)
        kept += bool(lines)
        gone += bool(lines) and not left
        outdated += old is not None
        asked += any(line in one.old_text.splitlines() for one in waiting for line in lines)
        if lines and not left:
            rows.append(f"gone: {lines[0]} (then: {pair['second']})")
        if old is not None:
            rows.append(f"outdated: {old.cite} {old.text} (then: {pair['second']})")
    usage = [night.usage for night in scratch.nights]
    tokens = sum(one.input_tokens + one.output_tokens for one in usage)
    calls = sum(one.calls for one in usage)
    return PairsFigures(world["id"], len(world["pair"]), kept, gone, outdated, asked, calls, tokens, tuple(rows))


def _is_first(text: str, pair: Mapping[str, Any]) -> bool:
    return pair["first"] in text or (matches(text, pair["keep"]) and pair["second"] not in text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Dream the worlds that are named, and print their figures and the sum."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("files", nargs="+", type=Path)
    asked.add_argument("--half", help="only the worlds of this half")
    asked.add_argument("--keep", type=Path, help="a folder in which the workspaces stay")
    asked.add_argument("--quiet", action="store_true", help="no words of a world: for those that nobody may look at")
    options = asked.parse_args(arguments)
    settings = load(None, flags={"timezone": "UTC", "durable": False}, using=CALLING)
    found: list[PairsFigures] = []
    for path in (one for given in options.files for one in (sorted(given.glob("*.toml")) or [given])):
        world = tomllib.loads(path.read_text(encoding="utf-8"))
        if options.half not in (None, world["half"]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            kept = options.keep / world["id"] if options.keep else Path(folder)
            kept.mkdir(parents=True, exist_ok=True)
            found.append(figures(world, kept, settings))
        shown = asdict(found[-1])
        print(json.dumps(shown | {"rows": ()} if options.quiet else shown, ensure_ascii=False, indent=1), flush=True)
    names = ("pairs", "kept", "gone", "outdated", "asked", "calls", "tokens")
    print(json.dumps({name: sum(getattr(one, name) for one in found) for name in names}), file=sys.stderr)


if __name__ == "__main__":
    main()
