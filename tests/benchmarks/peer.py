"""The smallest honest equivalent of what a two-phase store without an index does.

`Log`: an append opens the log, writes one row, closes it, reads and rewrites a cursor file; every read parses the
whole file.

`TwoPhase`: a dream takes up to 20 entries, 4,000 characters of each, and sends the whole files, older lines of
MEMORY.md marked with their age, in both phases; the entries stand before the files. Phase 2 is called whatever phase 1
found. It is a tool loop in which each round sends again all that was said before: the edits, all in a round or, as was
seen more often, each in one of its own; and a last round to say that it is done. No file is read again, since both
phases hold them all, and no call ever fails. Its instructions, tools and list of skills are as long as those of
nanobot 0.2.1; `nanobot.py` runs that one itself, and a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from dream.dreaming.draft import Edit, replaced
from dream.llm.spending import MESSAGE_TOKENS
from dream.models import Finding, MemoryFile
from tests.benchmarks import editor

ENTRIES, CHARACTERS = 20, 4_000  # of one batch, and of each of its entries
OLD = 14  # days, after which a line is marked
# What nanobot 0.2.1 sends whatever there is to dream, in GPT-5's tokens: the instructions of each phase; and in each
# round of phase 2 its three tools, and the list of the skills that it ships with.
INSTRUCTIONS1, INSTRUCTIONS2, TOOLS, SKILLS = 501, 450, 669, 366
FIXED1 = INSTRUCTIONS1 + MESSAGE_TOKENS
FIXED2 = INSTRUCTIONS2 + TOOLS + SKILLS + 4 * MESSAGE_TOKENS


class Log:
    """A log of JSON rows with a cursor file beside it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "history.jsonl"
        self.cursor = directory / ".cursor"

    def append(self, content: str) -> int:
        """Append one row and note its cursor; neither is synced."""
        number = int(self.cursor.read_text(encoding="utf-8")) + 1 if self.cursor.exists() else 1
        row = {"cursor": number, "timestamp": f"{datetime.now():%Y-%m-%d %H:%M}", "content": content}
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


@dataclass(slots=True)
class TwoPhase:
    """Dreams in two phases on `files`; `used` counts the tokens sent and received."""

    count: Callable[[str], int]
    files: dict[MemoryFile, str]
    one_by_one: bool = False
    used: int = 0
    _seen: dict[str, date] = field(default_factory=dict)

    def dream(self, day: date, entries: Sequence[str], analysis: str, findings: Mapping[int, Finding]) -> None:
        """Dream `entries`, of which phase 1 says `analysis`, in batches; the last of them holds all edits."""
        batches = [entries[start : start + ENTRIES] for start in range(0, len(entries), ENTRIES)]
        for number, batch in enumerate(batches, 1):
            news = "\n".join(entry[:CHARACTERS] for entry in batch)
            last = number == len(batches)
            self._phase1(day, news, analysis if last else "[SKIP]")
            self._phase2(day, analysis if last else "[SKIP]", findings if last else {})

    def _phase1(self, day: date, news: str, analysis: str) -> None:
        self._call(FIXED1, [f"## Conversation History\n{news}\n{self._whole(day)}"], analysis)

    def _phase2(self, day: date, analysis: str, findings: Mapping[int, Finding]) -> None:
        said = [f"## Analysis Result\n{analysis}\n{self._whole(day)}"]
        edits = editor.edits(findings, self.files)
        for some in [[one] for one in edits] if self.one_by_one else [edits] if edits else []:
            asked = "".join(
                json.dumps({"path": f, "old_text": o, "new_text": n}, ensure_ascii=False) for f, o, n, _ in some
            )
            self._call(FIXED2, said, asked)
            said += [asked, *(f"Successfully edited {file}" for file, *_ in some)]
        self._call(FIXED2, said, "Done.")
        for file, old, new, _ in edits:
            self.files[file] = replaced(self.files[file], Edit(file, old, new))

    def _call(self, fixed: int, said: Sequence[str], answer: str) -> None:
        self.used += fixed + sum(self.count(text) + MESSAGE_TOKENS for text in said) + self.count(answer)

    def _whole(self, day: date) -> str:
        """Write the files out, the lines of MEMORY.md that have stood for long with their age."""
        parts = [f"## Current Date\n{day}"]
        for path, text in self.files.items():
            lines = [self._aged(line, day) if path == "memory/MEMORY.md" else line for line in text.splitlines()]
            parts.append(f"## Current {path}\n" + "\n".join(lines))
        return "\n".join(parts)

    def _aged(self, line: str, day: date) -> str:
        age = (day - self._seen.setdefault(line, day)).days
        return f"{line}  ← {age}d" if line.strip() and age > OLD else line
