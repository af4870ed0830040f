"""The smallest honest equivalent of what a two-phase store without an index does.

An append opens the log, writes one row, closes it, reads and rewrites a cursor file; every read parses the
whole file. Each dream sends the whole files in both phases, and phase 2 answers every edit in a round of its own,
with a last round to say that it is done; everything said so far is sent again each time.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path


class Log:
    """A log of JSON rows with a cursor file beside it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "history.jsonl"
        self.cursor = directory / ".cursor"

    def append(self, content: str) -> int:
        """Append one row and note its cursor; neither is synced."""
        number = int(self.cursor.read_text(encoding="utf-8")) + 1 if self.cursor.exists() else 1
        row = {"cursor": number, "timestamp": f"{datetime.now():%Y-%m-%d %H:%M}", "content": content}  # noqa: DTZ005
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.cursor.write_text(str(number), encoding="utf-8")
        return number

    def rows(self) -> list[dict[str, object]]:
        """Read the whole file."""
        with self.path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]

    def after(self, cursor: int) -> list[dict[str, object]]:
        """Return the rows past `cursor`."""
        return [row for row in self.rows() if int(str(row["cursor"])) > cursor]
