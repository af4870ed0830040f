"""Print the table: `python -m tests.benchmarks [part …] [--quick] [--peer [PYTHON]]`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import bill, fleet, log, scale, search, sources, startup, versions, web
from tests.benchmarks.measure import Row
from tests.benchmarks.nanobot import Missing, Nanobot

PARTS = ("log", "versions", "startup", "scale", "bill", "sources", "fleet", "search", "web")
LARGE = ("million",)  # only where they are named: minutes each


def rows(parts: Sequence[str], folder: Path, *, quick: bool, real: Nanobot | None) -> Iterator[Row]:  # noqa: C901 - a row a part
    """Measure the named parts, in order."""
    if "log" in parts:
        yield from log.rows(folder / "log", 10_000 if quick else 1_000_000, real)
    if "versions" in parts:
        yield from versions.rows(folder / "versions", (10, 1_000) if quick else (10, 1_000, 10_000))
    if "startup" in parts:
        yield from startup.rows(folder / "startup")
    if "scale" in parts:
        yield from scale.rows(folder / "scale", 200 if quick else 1_000)
    if "fleet" in parts:
        yield from fleet.rows(folder / "fleet", 20 if quick else 200, 1_000 if quick else 100_000)
    if "bill" in parts:
        yield from bill.rows(folder / "bill", quick=quick, real=real)
    if "web" in parts:
        yield from web.rows(folder / "web", *((500, 5_000) if quick else (10_000, 100_000)))
    if "sources" in parts:
        yield from sources.rows(folder / "sources", 1_000 if quick else 10_000)
    if "search" in parts:
        yield from search.rows(folder / "search", 10_000 if quick else 100_000, aim=20)
    if "million" in parts:
        yield from search.rows(folder / "million", 1_000_000, aim=100, command=False)


def asked() -> argparse.Namespace:
    """Read the command line; a usage error exits 2."""
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description="What dream costs, as ratios.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}: all if none is named; million")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument(
        "--peer",
        nargs="?",
        const=sys.executable,
        metavar="PYTHON",
        help="run the real peer too, nanobot, in the interpreter in which it is installed; this one if none is named",
    )
    given = parser.parse_args()
    for part in set(given.parts) - {*PARTS, *LARGE}:
        parser.error(f"no such part: {part}")
    return given


def table(found: Iterator[Row], peer: Nanobot | None) -> int:
    """Print the rows as they come; return how many miss their aim."""
    now = datetime.now(UTC)
    print(f"{now:%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}\n")
    more = f" nanobot-ai {peer.version} | dream / it |" if peer else ""
    print(f"| what | dream | against | ratio or ms | aim | |{more}\n| --- | --- | --- | --- | --- | --- |", end="")
    print(" --- | --- |" if peer else "")
    missed = 0
    for row in found:
        missed += not row.met
        sign, mark = "≥" if row.at_least else "≤", "" if row.met else "missed"
        figures = f"{row.ours:.2f} {row.unit} | {row.other:.2f} {row.unit} | {row.ratio:.2f}"
        real = f" {row.real:.2f} {row.unit} | {row.ours / row.real:.4f} |" if row.real else " | |" if peer else ""
        print(f"| {row.name} | {figures} | {sign} {row.aim:g} | {mark} |{real}", flush=True)
    return missed


def main() -> int:
    """Measure and print; 1 when an aim is missed, 2 when the peer that was asked for is not there."""
    given = asked()
    try:
        peer = Nanobot(given.peer) if given.peer else None
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    with peer or nullcontext(), tempfile.TemporaryDirectory(prefix="dream-bench-") as folder:
        found = rows(given.parts or PARTS, Path(folder), quick=given.quick, real=peer)
        return int(bool(table(found, peer)))


sys.exit(main())
