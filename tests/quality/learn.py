"""Make the weights of kinds.py from labelled sentences: `python -m tests.quality.learn [FOLDER] [--common | --check]`.

FOLDER holds `<language>-*.tsv` files of `label<TAB>context<TAB>sentence`; the project's own are in `sentences/`. The
same sentences give the same weights. `--common` writes the words instead that many of the sentences hold; the stored
ones are of an earlier day, with half of the sentences. `--check` says how well each fifth of the chats is told by the
others; with `--quick` each half.
"""

from __future__ import annotations

import lzma
import math
import os
import random
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from dream.embedded import kinds, likeness
from dream.embedded.kinds import KEPT, LABELS, UNMEANT, WEIGHTS, features

SHIPPED = Path(__file__).with_name("sentences")
ROUNDS = 8
RUNS = 4  # whose weights are averaged: one run's chance moves a language's rules by ten points
DROPPED = 0.4  # of a sentence's features that each look at it leaves out, so that none is relied on alone
RATE = 0.3
LEAST = 3  # sentences that must have a feature for it to count
ROWS = 84_000  # features that are stored, those of the largest weights
# How often a round the sentences of a file are looked at. Those of whole chats, in which a line without context goes on
# with the one before, more often than single ones, for they are as people type; and the plainest statements, `p`, most:
# "I have a cat." is a rare line of a chat, and worth a memory.
CHATS = {"chats1": 2, "chats2": 2, "w": 2, "d": 3, "r": 2, "r2": 2, "v": 2}
LOOKS = {**CHATS, "p": 4}
NATURAL = ("chats1", "chats2", "w", "d", "v")  # files of whole chats, in which things are as frequent as said
BLOCK = 15  # lines that are held back together where a file has no chats
RICH = ("r", "r2", "u", "v", "p")  # files of a mix that no talk has: they don't tell which words are common
HIGHEST = 9
KEEP, RULE, RULE_KEPT = 0.3, 0.6, 0.25  # as the small model reads; --check counts by them

COMMON = 0.006  # of the sentences of a language that hold a word: then it is a common one

Rows = dict[int, list[float]]  # of each feature a weight for each label


class Example(NamedTuple):
    """A labelled sentence: its label, features and language, how often a round looks at it, and the chat it is of."""

    label: int
    numbers: list[int]
    code: str
    looks: int
    chat: int  # or the block of lines, where a file has no chats
    natural: bool  # of a chat in which one thing is as frequent as people say it


def main(arguments: Sequence[str]) -> int:
    """Learn from a folder and write the weights beside kinds.py, or check; the exit status."""
    folder = Path(next((one for one in arguments if not one.startswith("-")), SHIPPED))
    if not _files(folder):
        sys.stderr.write(f"no labelled sentences in {folder}: they are in tests/quality/sentences/\n")
        return 1
    examples = read(folder)
    if "--check" in arguments:
        check(examples, 2 if "--quick" in arguments else 5)
        return 0
    path = Path(kinds.__file__).with_name(WEIGHTS)
    if "--common" not in arguments:
        path.write_bytes(packed(learn(examples)))
        sys.stdout.write(f"{len(examples)} sentences → {path} ({path.stat().st_size:,} bytes)\n")
        return 0
    path = Path(likeness.__file__).with_name(likeness.COMMON)
    counted = [path for path in _files(folder) if path.stem[3:] not in RICH]
    words = common([(path.name[:2], text) for path in counted for _, _, text in _lines(path)])
    path.write_text("\n".join(words) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(words)} words → {path}\n")
    return 0


def read(folder: Path) -> list[Example]:
    """Read the labelled sentences of a folder, in the order of names and lines; lines of other labels are left out."""
    found: dict[tuple[str, str, str], Example] = {}
    chat = 0
    for path in _files(folder):
        code, _, part = path.stem.partition("-")
        lines = list(_lines(path))
        of_chats = any(label == "" for label, _, _ in lines[:-1])
        for at, ((label, context, text), before, after) in enumerate(
            zip(lines, [_NONE, *lines], [*lines[1:], _NONE], strict=False)
        ):
            chat += label == "" if of_chats else at % BLOCK == 0
            if label in LABELS and text:
                goes_on, ends = part in CHATS and not context, part not in CHATS or after[1]
                numbers = features(text, context, code, before[2] if goes_on else "", "" if ends else after[2])
                found[label, context, text] = Example(
                    LABELS.index(label), numbers, code, LOOKS.get(part, 1), chat, natural=part in NATURAL
                )
        chat += 1
    return list(found.values())


_NONE = ("", "", "")
_GROUPS = {
    "kept": KEPT[1:],
    "unmeant in": UNMEANT,
    "tasks in": ("task",),
    "questions and talk in": ("question", "chat"),
}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tsv"))


def _lines(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield label, context and sentence of each line; all are "" between two chats."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        label, context, text = [*line.split("\t"), "", "", ""][:3]
        yield label, context, text.strip()


def learn(examples: Sequence[Example]) -> Rows:
    """Return the weights of the features that count, averaged over runs that look at the sentences in another order."""
    (rows,) = _learnt([examples], RUNS)
    return rows


def _learnt(lots: Sequence[Sequence[Example]], runs: int) -> list[Rows]:
    """Return the weights that each lot of examples teaches, averaged over runs."""
    counted = [Counter(number for one in lot for number in one.numbers) for lot in lots]
    jobs: list[tuple[list[tuple[int, list[int]]], int]] = []
    for lot, known in zip(lots, counted, strict=True):
        frequent = [(one, [number for number in one.numbers if known[number] >= LEAST]) for one in lot]
        looks = [(one.label, numbers) for one, numbers in frequent for _ in range(one.looks)]
        jobs += [(looks, seed) for seed in range(runs)]
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as pool:
        found = list(pool.map(_run, *zip(*jobs, strict=True)))
    return [_mean(found[at * runs : (at + 1) * runs], known) for at, known in enumerate(counted)]


def _mean(found: Sequence[Rows], counted: Mapping[int, int]) -> Rows:
    """Return the mean of the weights of some runs, of the features that tell most."""
    mean = {
        number: [sum(lane) / len(found) for lane in zip(*(rows[number] for rows in found), strict=True)]
        for number in found[0]
    }
    telling = sorted(mean, key=lambda number: (-math.hypot(*mean[number]) * math.sqrt(counted[number]), number))[:ROWS]
    return {number: mean[number] for number in sorted(telling)}


def _run(order: Sequence[tuple[int, list[int]]], seed: int) -> Rows:
    """Return the weights of one run: softmax regression, averaged over the last half of its rounds.

    Its steps go down the gradient, and are the shorter the further a row has come (AdaGrad: Duchi et al., 2011).
    """
    order = list(order)
    chance = random.Random(20261122 + seed)
    draw = chance.random
    rows: Rows = {number: [0.0] * len(LABELS) for number in sorted({one for _, numbers in order for one in numbers})}
    total: Rows = {number: [0.0] * len(LABELS) for number in rows}
    gone = dict.fromkeys(rows, 1e-6)
    summed = 0
    for number in range(ROUNDS):
        chance.shuffle(order)
        for label, found in order:
            _step(rows, gone, label, [one for one in found if draw() >= DROPPED], len(found))
        if number >= ROUNDS // 2:
            summed += 1
            for row, whole in zip(rows.values(), total.values(), strict=True):
                whole[:] = map(float.__add__, whole, row)
    return {number: [weight / summed for weight in whole] for number, whole in total.items()}


def _step(rows: Rows, gone: dict[int, float], label: int, found: list[int], whole: int) -> None:
    if not found:
        return
    scale = 1 / math.sqrt(whole) / (1 - DROPPED)
    shares = softmax([sum(column) * scale for column in zip(*(rows[number] for number in found), strict=True)])
    shares[label] -= 1.0
    far = sum(share * share for share in shares) * scale * scale / len(LABELS)
    steps = [(lane, RATE * scale * share) for lane, share in enumerate(shares) if abs(share) > 0.003]
    for number in found:
        gone[number] += far
        pace = 1 / math.sqrt(gone[number])
        row = rows[number]
        for lane, step in steps:
            row[lane] -= step * pace


def common(examples: Sequence[tuple[str, str]]) -> list[str]:
    """Return the telling words that more than `COMMON` of the sentences (language, text) of a language hold."""
    counted: dict[str, Counter[str]] = {}
    sizes: Counter[str] = Counter(code for code, _ in examples)
    for code, text in examples:
        counted.setdefault(code, Counter()).update(likeness.telling(text, code))
    return sorted(
        {word for code, words in counted.items() for word, n in words.items() if n > max(2, COMMON * sizes[code])}
    )


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the share of each score."""
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    whole = sum(powers)
    return [power / whole for power in powers]


def packed(rows: Rows) -> bytes:
    """Return the weights as they are stored: their scale and count, the steps between rows, and a byte a weight."""
    sizes = sorted(abs(weight) for row in rows.values() for weight in row if weight)
    scale = max(1e-6, sizes[int(0.9995 * (len(sizes) - 1))] / HIGHEST)
    head = f"{scale:<16.12f}"[:16] + f"{len(rows):<8}"
    steps = struct.pack(f"<{len(rows)}H", *map(int.__sub__, rows, [0, *rows]))
    data = bytes(128 + max(-HIGHEST, min(HIGHEST, round(weight / scale))) for row in rows.values() for weight in row)
    return lzma.compress(head.encode("ascii") + steps + data, preset=9 | lzma.PRESET_EXTREME)


def check(examples: Sequence[Example], parts: int) -> None:
    """Print how well the sentences of whole chats are told by one run on other chats, by language and by label.

    First what is to be kept and is kept, then what gets in that is not: not meant, an order for once, and talk. A chat
    is held back as a whole, for its lines tell of each other.
    """
    taught = _learnt([[one for one in examples if one.chat % parts != part] for part in range(parts)], 1)
    by_language: dict[str, list[tuple[int, list[float]]]] = {}
    for one in (one for one in examples if one.natural):
        shares = _shares(taught[one.chat % parts], one.numbers)
        by_language.setdefault(one.code, []).append((one.label, shares))
    every = [one for ones in by_language.values() for one in ones]
    for code, ones in sorted({**by_language, "all": every}.items()):
        sys.stdout.write(f"{code}: {len(ones)} sentences, {', '.join(_figures(ones))}\n")
    best = [(label, shares.index(max(shares))) for label, shares in every]
    for number, name in enumerate(LABELS):
        of = [other for label, other in best if label == number]
        taken = sum(other == number for _, other in best)
        wrong = sorted(((of.count(other), LABELS[other]) for other in set(of) if other != number), reverse=True)[:4]
        right = of.count(number)
        sys.stdout.write(
            f"  {name}: {right} of {len(of)} found, {right / max(1, taken):.0%} of {taken} right; taken for {wrong}\n"
        )


def _shares(rows: Rows, numbers: Sequence[int]) -> list[float]:
    found = [rows[number] for number in numbers if number in rows] or [[0.0] * len(LABELS)]
    return softmax([sum(column) / math.sqrt(len(found)) for column in zip(*found, strict=True)])


def _figures(ones: Sequence[tuple[int, Sequence[float]]]) -> Iterator[str]:
    yield f"label {sum(shares[label] == max(shares) for label, shares in ones) / len(ones):.1%}"
    kept = [(label, sum(shares[: len(KEPT)]) - (1 - RULE_KEPT) * shares[0] >= KEEP) for label, shares in ones]
    for name, labels in _GROUPS.items():
        of = [gets_in for label, gets_in in kept if LABELS[label] in labels]
        yield f"{name} {sum(of) / max(1, len(of)):.1%}"
    rules = [(label == 0, shares[0] >= RULE) for label, shares in ones]
    hit = sum(gold and taken for gold, taken in rules)
    yield f"rules found {hit / max(1, sum(gold for gold, _ in rules)):.1%}"
    yield f"right {hit / max(1, sum(taken for _, taken in rules)):.1%}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
