"""Search: what a question costs in a process that has asked before, what a new message does, and the index's size."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from dream.directory import Workspace
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from tests.benchmarks.measure import Row, command, compiled, pairs

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SESSION = 40  # messages of a session, and of them what an entry stands for:
ENTRY = 10
WORDS = 20_000  # that people know; how often they say one falls with its rank
QUESTIONS = 40


def rows(folder: Path, messages: int, *, aim: float, command: bool = True) -> Iterator[Row]:
    """Measure a workspace of so many messages, and a tenth as many entries."""
    chance = random.Random(20261122)
    vocabulary = ["".join(chance.choice(("ba", "ce", "dor", "fi", "gun", "la", "mes", "ro")) for _ in range(4))]
    while len(vocabulary) < WORDS:
        vocabulary.append(f"{vocabulary[0][:2]}{chance.randrange(36**4):x}{chance.choice(('a', 'en', 'or', 'is'))}")
    shares = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    workspace = _filled(folder, messages, lambda: chance.choices(vocabulary, cum_weights=shares, k=12))

    taken = _busy(lambda: workspace.search("the first question"))
    text = sum(path.stat().st_size for path in workspace.history.messages.paths())
    asked = [" ".join(chance.choices(vocabulary, cum_weights=shares, k=6)) for _ in range(QUESTIONS)]
    for question in asked:
        workspace.search(question)
    spent = statistics.median(_busy(lambda q=question: workspace.search(q)) for question in asked) * 1e3  # type: ignore[misc]
    size = f"{messages:,} messages, {messages // ENTRY:,} entries"
    yield Row(f"a search, {size}", spent, aim, "ms", spent, aim)
    each = taken / (messages + messages // ENTRY) * 1e3
    yield Row("a new message or entry in the index", each, 0.2, "ms", each, 0.2)
    workspace.history.close()
    index = sum(path.stat().st_size for path in workspace.private.glob("index.sqlite*"))
    yield Row("index / text of the messages", index / 1e6, text / 1e6, "MB", index / text, 1.5)
    if command:
        yield _command(workspace.root, asked[0], size)


def _busy(deed: Callable[[], object]) -> float:
    """Return the seconds of processor time that a call takes, which others on the machine don't prolong much."""
    began = time.process_time()
    deed()
    return time.process_time() - began


def _filled(folder: Path, messages: int, said: Callable[[], list[str]]) -> Workspace:
    workspace = Workspace.create(folder / "ws", now=NOW)
    workspace.history.durable = False
    for first in range(0, messages, 10_000):
        new: list[NewEntry] = []
        kept: list[KeptMessage] = []
        for number in range(first, min(messages, first + 10_000)):
            session, position = f"claude-code:{number // SESSION:06}", number % SESSION
            at = NOW - timedelta(minutes=messages - number)
            text = f"{' '.join(said())} HS-{number}."
            kept.append(KeptMessage(session, position, "assistant" if position % 2 else "user", text, at))
            if position % ENTRY == ENTRY - 1:
                rows = "\n".join(f"- {one.text}" for one in kept[-ENTRY::3])
                new.append(NewEntry("summary", rows, session, (position + 1 - ENTRY, position + 1)))
        workspace.history.append(new, now=NOW, said=kept)
    return Workspace.open(workspace.root)


def _command(root: Path, question: str, size: str) -> Row:
    dream, environ = (sys.executable, "-m", "dream"), compiled(root.parent)
    found = command(*dream, "search", question, "-w", str(root), environ=environ)
    ours, other, ratio = pairs(found, command(*dream, "--help", environ=environ), 15)
    return Row(f"`dream search`, {size} / `dream --help`", ours * 1e3, other * 1e3, "ms", ratio, 2.5)
