"""The real two-phase peer: nanobot (`nanobot-ai`) itself, run in an interpreter in which it is installed.

Its libraries clash with ours and are many, so it has an environment of its own and a process of its own, which times
itself: nothing but nanobot's own calls lies between its two looks at the clock.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

from dream.dreaming.draft import Edit, replaced
from dream.models import MEMORY_FILES, Finding
from tests.benchmarks import editor

WORKER = Path(__file__).with_name("nanobot_worker.py")
LAST = "nanobot-ai==0.2.1"  # the last version that dreams in two phases, of June 2026
HOW = (
    f"Install it in an environment of its own, `python3 -m venv peer && peer/bin/pip install {LAST}`, "
    "and name that: `--peer peer/bin/python`."
)


Edits = list[dict[str, str]]


class Missing(Exception):
    """The interpreter has no nanobot; the message says what to do."""


class Nanobot:
    """A process of nanobot's. `version` is its own; `two_phase` tells whether it has the dream in two phases."""

    def __init__(self, interpreter: str) -> None:
        command = [interpreter, "-P", str(WORKER)]  # -P: the modules beside the worker are none of its business
        missing = Missing(f"The peer, nanobot, can't be run by {interpreter}. {HOW}")
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as fault:
            raise missing from fault
        try:
            about = self._do("hello")
        except (OSError, json.JSONDecodeError) as fault:
            self._process.communicate()
            raise missing from fault
        self.version: str = about["version"]
        self.two_phase: bool = about["two_phase"]

    def append(self, workspace: Path, text: str, times: int) -> float:
        """Append `text` that many times to an open store; return the seconds."""
        return float(self._do("append", folder=str(workspace), text=text, times=times))

    def after(self, workspace: Path, cursor: int, last: int) -> float:
        """Open a store and read the `last` entries above `cursor`; return the seconds."""
        found = self._do("after", folder=str(workspace), cursor=cursor, last=last)
        assert len(found["cursors"]) == last, found
        return float(found["seconds"])

    def peak(self) -> float:
        """Return the most memory that its process has held, in MiB."""
        return float(self._do("peak"))

    def dream(
        self, workspace: Path, now: datetime, entries: Sequence[str], analysis: str, edits: Edits
    ) -> list[dict[str, Any]]:
        """Dream `entries`, of which its model says `analysis` and then makes `edits`; return the calls it made."""
        given = {"at": now.timestamp(), "entries": list(entries), "analysis": analysis, "edits": edits}
        told = self._do("dream", folder=str(workspace), **given)
        assert told["done"], "nanobot has not passed its entries"
        assert not told["failed"], told["failed"]
        return list(told["calls"])

    def __enter__(self) -> Nanobot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def _do(self, name: str, **given: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": name} | given) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def edits(wanted: Mapping[int, Finding], workspace: Path) -> Edits:
    """Say which calls of nanobot's edit tool settle `wanted` in the files as they lie."""
    texts = {file: (workspace / file).read_text(encoding="utf-8") for file in MEMORY_FILES}
    made: Edits = []
    for file, old, new, _ in editor.edits(wanted, texts):
        after = replaced(texts[file], Edit(file, old, new))
        made.append({"path": file} | _difference(texts[file], after))
        texts[file] = after
    return made


def _same(one: Sequence[str], two: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def _difference(before: str, after: str) -> dict[str, str]:
    """Say the change as an old text that stands once, and no more of it than that takes, and a new one."""
    one, two = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = _same(one, two)
    end = _same(one[start:][::-1], two[start:][::-1])
    while True:
        old = "".join(one[start : len(one) - end])
        if (old and before.count(old) == 1) or not (start or end):
            return {"old_text": old, "new_text": "".join(two[start : len(two) - end])}
        start, end = (start - 1, end) if start else (start, end - 1)
