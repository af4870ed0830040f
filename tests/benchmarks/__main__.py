"""Print the table: `python -m tests.benchmarks [log] [versions] [startup] [scale] [bill] [sources] [--quick]`."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import bill, log, scale, sources, startup, versions
from tests.benchmarks.measure import Row

PARTS = ("log", "versions", "startup", "scale", "bill", "sources")


def rows(parts: list[str], folder: Path, *, quick: bool) -> Iterator[Row]:
    """Measure the named parts, in order."""
    if "log" in parts:
        yield from log.rows(folder / "log", (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000))
    if "versions" in parts:
        yield from versions.rows(folder / "versions", (10, 1_000) if quick else (10, 1_000, 10_000))
    if "startup" in parts:
        yield from startup.rows(folder / "startup")
    if "scale" in parts:
        yield from scale.rows(folder / "scale", 200 if quick else 1_000)
    if "bill" in parts:
        yield from bill.rows(folder / "bill", quick=quick)
    if "sources" in parts:
        yield from sources.rows(folder / "sources", 1_000 if quick else 10_000, 20 if quick else 200)


def main() -> None:
    """Measure and print; exits 1 when an aim is missed."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    now = datetime.now(UTC)
    print(f"{now:%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}\n")
    print("| what | dream | against | ratio or ms | aim | |\n| --- | --- | --- | --- | --- | --- |")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="dream-bench-") as folder:
        for row in rows(words or list(PARTS), Path(folder), quick="--quick" in sys.argv):
            missed += not row.met
            sign, mark = "≥" if row.at_least else "≤", "" if row.met else "missed"
            figures = f"{row.ours:.2f} {row.unit} | {row.other:.2f} {row.unit} | {row.ratio:.2f}"
            print(f"| {row.name} | {figures} | {sign} {row.aim:g} | {mark} |", flush=True)
    sys.exit(bool(missed))


main()
