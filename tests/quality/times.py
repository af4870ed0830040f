"""Time: is the value that holds now found before the old one, is a day a range, and what was known then?

Cases are TOML files: dated sittings, and questions of three kinds. `now` asks for the present one of two values, `day`
names a day or a span, `asof` asks as of the day of that name. `answer` are lists of words, of each of which a hit holds
one; `wrong` are words of which an old value is made. Run with `python -m tests.quality.times FOLDER`.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from dream.llm.spending import Meter
from dream.models import Message
from dream.recall import Hit
from dream.recall.search import Wanted, search
from dream.recall.then import then
from dream.settings import Settings
from tests.quality import Sitting
from tests.quality.scratch import Scratch

LOOKED = 10  # hits
ROOM = 2_000  # tokens of a context


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question: was it right, does its context hold an old value unmarked, and what stood first."""

    name: str
    kind: str
    text: str
    right: bool
    stale: bool
    first: str


def ask(file: Path, folder: Path) -> Iterator[Asked]:
    """Dream a case sitting by sitting, and ask its questions."""
    case = tomllib.loads(file.read_text(encoding="utf-8"))
    scratch = Scratch(folder, Settings(timezone="UTC", durable=False), Meter(Settings()))
    for number, sitting in enumerate(case["sitting"]):
        scratch.night([_sitting(case["id"], number, sitting)])
    for question in case["question"]:
        yield _asked(scratch, case["id"], question)


def _sitting(name: str, number: int, sitting: Mapping[str, Any]) -> Sitting:
    at = datetime.combine(sitting["day"], time(9), UTC)
    said = enumerate(sitting["message"])
    messages = (Message(one["role"], one["text"], at + timedelta(minutes=n), id=f"{number}-{n}") for n, one in said)
    return Sitting(f"{name}-{number}", at, tuple(messages))


def _asked(scratch: Scratch, name: str, question: Mapping[str, Any]) -> Asked:
    text, kind, day = question["text"], question["kind"], question.get("asof")
    moment = then(scratch.workspace, str(day), datetime.now(UTC)) if day else None
    wanted = Wanted(text, today=question["asked"], as_of=moment)
    hits = search(scratch.workspace, wanted, LOOKED)
    answers = next((n for n, hit in enumerate(hits) if _holds(hit.text, question["answer"])), None)
    olds = [n for n, hit in enumerate(hits) if _is_old(hit.text, question)]
    right = answers == 0 if kind == "day" else answers is not None and not any(old < answers for old in olds)
    context = scratch.workspace.context(ROOM, query=text) if kind == "now" else ""
    stale = any(_is_old(line, question) and "(until " not in line for line in context.splitlines())
    return Asked(name, kind, text, right, stale, _line(hits[0]) if hits else "")


def _is_old(text: str, question: Mapping[str, Any]) -> bool:
    return any(_plain(word) in _plain(text) for word in question["wrong"]) and not _holds(text, question["answer"])


def _holds(text: str, answer: Sequence[Sequence[str]]) -> bool:
    return all(any(_plain(word) in _plain(text) for word in words) for words in answer)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _line(hit: Hit) -> str:
    return f"{hit.cite} {hit.when and date.isoformat(hit.when)} {' '.join(hit.text.split())[:100]}"


def main() -> None:
    """Print what came of the cases in the folder that is named: `--all` each wrong one too, `--half` of one half."""
    counts, right, stale = Counter[str](), Counter[str](), 0
    half = sys.argv[sys.argv.index("--half") + 1] if "--half" in sys.argv else ""
    for file in sorted(Path(sys.argv[1]).glob("*.toml")):
        case = tomllib.loads(file.read_text(encoding="utf-8"))
        if "question" not in case or half not in ("", case.get("half")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for one in ask(file, Path(folder)):
                counts[one.kind] += 1
                right[one.kind] += one.right
                stale += one.stale
                if "--all" in sys.argv and (not one.right or one.stale):
                    sys.stdout.write(f"{one.name} {one.kind}{' STALE' * one.stale}: {one.text}\n    {one.first}\n")
    for kind, count in counts.items():
        sys.stdout.write(f"{kind}: {right[kind]} of {count} right\n")
    sys.stdout.write(f"contexts without an unmarked old value: {counts['now'] - stale} of {counts['now']}\n")


if __name__ == "__main__":
    main()
