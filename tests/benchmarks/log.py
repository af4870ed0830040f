"""The log: appends, the tail and reading after a cursor, from a thousand to a million entries."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dream.history.history import History
from dream.models import NewEntry
from dream.workspace.files import replace_file
from tests.benchmarks.measure import Row, median, pairs, python, seconds, three
from tests.benchmarks.nanobot import Nanobot
from tests.benchmarks.peer import Log

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
TEXT = "- Moved to Tokyo on 2026-11-18 and works on the parser, with Mei as the designer. " * 3
TOKENS = 60  # of an entry
BUDGET = 200_000  # tokens; the default of `history_tokens`
NEW = NewEntry("summary", TEXT, "claude-code:6f1e", None, TOKENS, "openai/gpt-5-mini")
TIMES = 500
Deed = Callable[[], object]
# A process of its own: this one has held the whole file, for the peer.
_TAIL = """
from pathlib import Path
from dream.history.history import History
from tests.benchmarks.measure import peak
folder = Path({folder!r})
log = History(folder / "memory", private=folder / ".dream", durable=False)
log.last(20), list(log.after(log.last_cursor() - 100)), log.size()
print(peak())
"""


def rows(folder: Path, sizes: tuple[int, ...], real: Nanobot | None) -> Iterator[Row]:
    """Measure in `folder`, and `real` in turns with both."""
    yield from _appends(folder, real)
    for size in sizes:
        yield from _reads(folder / str(size), size, real)
        yield from _kept(folder / f"{size}-kept", size)


def _appends(folder: Path, real: Nanobot | None) -> Iterator[Row]:
    peer = Log(folder / "peer")
    quick = History(folder / "quick", private=folder / "quick" / ".dream", durable=False)
    yield _appending(
        "append, no fsync, against the peer",
        lambda: [quick.append([NEW], now=NOW) for _ in range(TIMES)],
        lambda: [peer.append(TEXT) for _ in range(TIMES)],
        real and (lambda: real.append(folder / "nanobot", TEXT, TIMES)),
        TIMES,
    )
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


def _reads(workspace: Path, size: int, real: Nanobot | None) -> Iterator[Row]:
    folder = workspace / "memory"
    write(folder, size)
    peer = Log(folder)

    def opened() -> History:
        return History(folder, private=workspace / ".dream", durable=False)

    def read(name: str, ours: Deed, other: Deed, cursor: int, last: int, aim: float) -> Row:
        taken, theirs, _, itself = three(
            ours, other, real and (lambda: real.after(workspace, cursor, last)), 3 if size >= 100_000 else 7
        )
        return Row(name, taken * 1e3, theirs * 1e3, "ms", taken * 1e3, aim, real=itself and itself * 1e3)

    yield read(f"last 20 of {size:,}, opened anew", lambda: opened().last(20), lambda: peer.rows()[-20:], 0, 20, 2)
    end = size - 100
    yield read(
        f"100 after a cursor of {size:,}", lambda: list(opened().after(end)), lambda: peer.after(end), end, 100, 5
    )
    held = float(python(_TAIL.format(folder=str(workspace))))
    itself = real and real.peak()
    yield Row(f"memory of reading the tail and the end of {size:,}", held, 0, "MiB", held, 60, real=itself)
    log = opened()
    log.append([NEW], now=NOW)
    yield _appending(
        f"append at {size:,}",
        lambda: [log.append([NEW], now=NOW) for _ in range(100)],
        lambda: [peer.append(TEXT) for _ in range(100)],
        real and (lambda: real.append(workspace, TEXT, 100)),
        100,
    )


def _appending(name: str, ours: Deed, other: Deed, real: Callable[[], float] | None, times: int) -> Row:
    """Measure deeds that append `times`; the figures are of one append."""
    each = 1e6 / times
    taken, theirs, ratio, itself = three(ours, other, real)
    return Row(name, taken * each, theirs * each, "µs", 1 / ratio, 5, at_least=True, real=itself and itself * each)


def _kept(folder: Path, size: int) -> Iterator[Row]:
    """Measure on a log within its budget of tokens, as use makes it: all but the newest lies in the archive."""
    write(folder, size, archived=max(0, size - BUDGET // TOKENS))
    settled = time.time() - 60  # its last move was not this second
    with suppress(FileNotFoundError):
        os.utime(folder / "archive", (settled, settled))

    def opened() -> History:
        return History(folder, private=folder / ".dream", durable=False)

    opened().size()  # the index is made once
    deeds: dict[str, Callable[[], object]] = {
        "open and read the last 20": lambda: opened().last(20),
        "open, count and ask a position": lambda: (log := opened(), log.size(), log.position("claude-code:7")),
        "open and append": lambda: opened().append([NEW], now=NOW),
        "read the last 100 of an open log": lambda: list(log.after(size - 100)),
    }
    log = opened()
    log.append([NEW], now=NOW)
    for name, deed in deeds.items():
        each = median(deed, 15) * 1e3
        yield Row(f"{name}: {size:,}, most of them archived", each, each, "ms", each, 10)
    taken, other = [], []
    for _ in range(3):  # a half of what is left each time
        data = (folder / "history.jsonl").read_bytes()
        halves = [(folder / f"half-{part}", data[: len(data) // 2]) for part in (1, 2)]
        other.append(seconds(lambda halves=halves: [replace_file(path, half) for path, half in halves]) * 1e3)
        budget = log.size()[1] // 2
        taken.append(seconds(lambda budget=budget: log.archive(size, budget, now=NOW)) * 1e3)
    ours, floor = statistics.median(taken), statistics.median(other)
    yield Row(f"a move to the archive at {size:,}, against two files", ours, floor, "ms", ours / floor, 3)


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
