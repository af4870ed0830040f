"""The log: appends, the tail and reading after a cursor, from a thousand to a million entries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dream.models import NewEntry
from dream.store.history import History
from tests.benchmarks.measure import Row, pairs, python
from tests.benchmarks.peer import Log

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
TEXT = "- Moved to Tokyo on 2026-11-18 and works on the parser, with Mei as the designer. " * 3
NEW = NewEntry("summary", TEXT, "claude-code:6f1e", None, 60, "openai/gpt-5-mini")
TIMES = 500
# A process of its own: this one has held the whole file, for the peer.
_TAIL = """
import resource
from pathlib import Path
from dream.store.history import History
folder = Path({folder!r})
log = History(folder, private=folder / ".dream", durable=False)
log.last(20), list(log.after(log.last_cursor() - 100)), log.size()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def rows(folder: Path, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Measure in `folder`."""
    yield from _appends(folder)
    for size in sizes:
        yield from _reads(folder / str(size), size)


def _appends(folder: Path) -> Iterator[Row]:
    peer = Log(folder / "peer")
    quick = History(folder / "quick", private=folder / "quick" / ".dream", durable=False)
    ours, other, ratio = pairs(
        lambda: [quick.append([NEW], now=NOW) for _ in range(TIMES)], lambda: [peer.append(TEXT) for _ in range(TIMES)]
    )
    yield Row("append, no fsync, against the peer", ours / TIMES * 1e6, other / TIMES * 1e6, "µs", 1 / ratio, 5, True)
    safe = History(folder / "safe", private=folder / "safe" / ".dream", durable=True)
    safe.append([NEW], now=NOW)
    line = (folder / "safe" / "history.jsonl").read_bytes()
    bare = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def floor() -> None:
        for _ in range(50):
            os.write(bare, line)
            os.fsync(bare)

    ours, other, ratio = pairs(lambda: [safe.append([NEW], now=NOW) for _ in range(50)], floor, 11)
    yield Row("append, durable, against write + fsync", ours / 50 * 1e6, other / 50 * 1e6, "µs", 1 / ratio, 0.9, True)
    os.close(bare)


def _reads(folder: Path, size: int) -> Iterator[Row]:
    write(folder, size)
    peer = Log(folder)

    def tail() -> object:
        return History(folder, private=folder / ".dream", durable=False).last(20)

    rounds = 3 if size >= 100_000 else 7
    ours, other, ratio = pairs(tail, lambda: peer.rows()[-20:], rounds)
    yield Row(f"last 20 of {size:,}, opened anew", ours * 1e3, other * 1e3, "ms", ours * 1e3, 2)
    ours, other, ratio = pairs(
        lambda: list(History(folder, private=folder / ".dream", durable=False).after(size - 100)),
        lambda: peer.after(size - 100),
        rounds,
    )
    yield Row(f"100 after a cursor of {size:,}", ours * 1e3, other * 1e3, "ms", ours * 1e3, 5)
    log = History(folder, private=folder / ".dream", durable=False)
    log.append([NEW], now=NOW)
    ours, other, ratio = pairs(
        lambda: [log.append([NEW], now=NOW) for _ in range(100)], lambda: [peer.append(TEXT) for _ in range(100)], 5
    )
    held = float(python(_TAIL.format(folder=str(folder))))
    yield Row(f"memory of reading the tail and the end of {size:,}", held, 0, "MiB", held, 60)
    yield Row(f"append at {size:,}", ours * 1e4, other * 1e4, "µs", 1 / ratio, 5, True)


def write(folder: Path, size: int) -> None:
    """Write a history of `size` entries as `dream` would have."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "history.jsonl").open("wb") as file:
        for number in range(1, size + 1):
            file.write(
                b'{"cursor":%d,"timestamp":"2026-11-21T03:00:07+00:00","kind":"summary","content":"%s",'
                b'"session":"claude-code:%d","span":[%d,%d],"tokens":60,"model":"openai/gpt-5-mini"}\n'
                % (number, TEXT.encode(), number % 1000, number // 1000, number // 1000 + 1)
            )
    (folder / ".cursor").write_text(f"{size}\n", encoding="utf-8")
