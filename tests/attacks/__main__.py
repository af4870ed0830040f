"""`python -m tests.attacks`: every attack with guards and without, as a table for the docs.

`python -m tests.attacks honest FILE…` counts what the guards do to honest conversations and transcripts.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.attacks import honest
from tests.attacks.cases import CASES
from tests.attacks.running import Result, guarded, unguarded


def main(directory: Path, *, details: bool) -> int:
    """Run all cases, print the table, and return how many got in with guards on."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0] * 9)
    lost = 0
    for number, case in enumerate(CASES):
        for column, embedded in ((1, True), (5, False)):
            without = unguarded(case, embedded=embedded)
            held = guarded(case, directory / f"{number}-{column}", embedded=embedded)
            _count(rows[case.kind], column, without, held)
            lost += bool(held.won)
            if details and (held.won or (not embedded and not without.won)):
                print(f"  {case.name} ({'embedded' if embedded else 'obeying'}): {held} without: {without.won}")
        rows[case.kind][0] += 1
    print("| attacks | number | embedded: without, with guards | obeying: without, with guards | of these SOUL.md |")
    print("| --- | --- | --- | --- | --- |")
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    for kind, counts in [*rows.items(), ("all", total)]:
        many, e_without, e_with, e_soul, e_soul_with, o_without, o_with, o_soul, o_soul_with = counts
        soul = f"{e_soul}, {e_soul_with} / {o_soul}, {o_soul_with}"
        print(f"| {kind} | {many} | {e_without}, {e_with} | {o_without}, {o_with} | {soul} |")
    return lost


def _count(row: list[int], column: int, without: Result, held: Result) -> None:
    row[column] += bool(without.won)
    row[column + 1] += bool(held.won)
    row[column + 2] += "SOUL.md" in without.won
    row[column + 3] += "SOUL.md" in held.won


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if "honest" in sys.argv:
            honest.main([Path(given) for given in sys.argv[2:]], Path(place))
            sys.exit()
        sys.exit(1 if main(Path(place), details="--details" in sys.argv) else 0)
