"""The log: appends, against the peer and the disk, and commands where a million entries are archived."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream.directory import Workspace
from dream.history.history import History
from dream.models import NewEntry
from tests.benchmarks.measure import Row, command, compiled, pairs, three
from tests.benchmarks.nanobot import Nanobot
from tests.benchmarks.peer import Log

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
TEXT = "- Moved to Tokyo on 2026-11-18 and works on the parser, with Mei as the designer. " * 3
TOKENS = 60  # of an entry
BUDGET = 200_000  # tokens; the default of `history_tokens`
NEW = NewEntry("summary", TEXT, "claude-code:6f1e", None, TOKENS, "openai/gpt-5-mini")
TIMES = 500
COMMANDS = (("status",), ("context",), ("note", "I like tea."), ("log",), ("run",), ("nightly",), ("get", "history:5"))


def rows(folder: Path, size: int, real: Nanobot | None) -> Iterator[Row]:
    """Measure in `folder`, and `real` in turns with both."""
    yield from _appends(folder, real)
    yield from _commands(folder, size)


def _appends(folder: Path, real: Nanobot | None) -> Iterator[Row]:
    peer = Log(folder / "peer")
    quick = History(folder / "quick", private=folder / "quick" / ".dream", durable=False)
    taken, theirs, ratio, itself = three(
        lambda: [quick.append([NEW], now=NOW) for _ in range(TIMES)],
        lambda: [peer.append(TEXT) for _ in range(TIMES)],
        real and (lambda: real.append(folder / "nanobot", TEXT, TIMES)),
    )
    each, name = 1e6 / TIMES, "append, no fsync, against the peer"
    yield Row(name, taken * each, theirs * each, "µs", 1 / ratio, 5, at_least=True, real=itself and itself * each)
    safe = History(folder / "safe", private=folder / "safe" / ".dream", durable=True)
    safe.append([NEW], now=NOW)
    line = (folder / "safe" / "history.jsonl").read_bytes()
    bare = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def floor() -> None:
        for _ in range(50):
            os.write(bare, line)
            os.fsync(bare)

    ours, other, ratio = pairs(lambda: [safe.append([NEW], now=NOW) for _ in range(50)], floor, 11)
    yield Row("append, durable, against write + fsync", ours / 50 * 1e6, other / 50 * 1e6, "µs", 1 / ratio, 0.75, True)
    os.close(bare)


def _commands(folder: Path, size: int) -> Iterator[Row]:
    """Measure whole commands where `size` entries are archived, against a thousand entries."""
    workspaces = []
    for number in (1_000, size):
        root = Workspace.create(folder / str(number), now=NOW).root
        write(root / "memory", number, archived=max(0, number - BUDGET // TOKENS))
        (root / "memory/.dream_cursor").write_text(f"{number}\n", encoding="utf-8")
        workspaces.append(str(root))
    dream, environ = (sys.executable, "-m", "dream"), compiled(folder)
    for words in COMMANDS:
        small, large = (command(*dream, *words, "-w", root, environ=environ) for root in workspaces)
        ours, other, ratio = pairs(large, small)
        yield Row(f"dream {words[0]} at {size:,}, against 1,000", ours * 1e3, other * 1e3, "ms", ratio, 1.3)


def write(folder: Path, size: int, archived: int = 0) -> None:
    """Write a history of `size` entries as `dream` would have, the first `archived` in files of a tenth of a budget."""
    (folder / "archive").mkdir(parents=True, exist_ok=True)
    each = BUDGET // TOKENS // 10
    for first in range(1, archived + 1, each):
        last = min(first + each - 1, archived)
        (folder / "archive" / f"history-{first}-{last}.jsonl").write_bytes(b"".join(map(_line, range(first, last + 1))))
    with (folder / "history.jsonl").open("wb") as file:
        file.writelines(_line(number) for number in range(archived + 1, size + 1))
    (folder / ".cursor").write_text(f"{size}\n", encoding="utf-8")


def _line(number: int) -> bytes:
    return (
        b'{"cursor":%d,"timestamp":"2026-11-21T03:00:07+00:00","kind":"summary","content":"%s",'
        b'"session":"claude-code:%d","span":[%d,%d],"tokens":%d,"model":"openai/gpt-5-mini"}\n'
        % (number, TEXT.encode(), number % 1000, number // 1000, number // 1000 + 1, TOKENS)
    )
