"""Put the embedded model's two jobs to it as the prompts render them, and apply what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date

from dream.dreaming import phase2
from dream.dreaming.draft import Brief
from dream.dreaming.findings import parse, references
from dream.dreaming.guards import Protected
from dream.dreaming.phase2 import Edited
from dream.embedded import EmbeddedModel
from dream.llm import ChatMessage, Completion
from dream.models import MEMORY_FILES
from dream.settings import Settings
from tests.vouched import evidence

MONDAY = date(2023, 5, 8)

Talk = Sequence[tuple[str, str]]  # "user", "user Ann" or "assistant", and the text


def ask(data: str) -> Completion:
    """Ask the model as the pipeline does."""
    return EmbeddedModel().complete([ChatMessage("system", "…"), ChatMessage("user", data)])


def summary(talk: Talk, day: date | None = MONDAY) -> list[str]:
    """Return the bullets of a conversation."""
    stamp = f"{day:%Y-%m-%d} 09:00 " if day else ""
    lines = [f"[{i}] {stamp}{who}: " + text.replace("\n", "\n    ") for i, (who, text) in enumerate(talk)]
    body = "\n".join(lines)
    text = ask(f'<conversation session="test:1" messages="0-{len(lines) - 1}">\n{body}\n</conversation>').text
    return [] if text == "(nothing)" else [line.removeprefix("- ") for line in text.split("\n")]


def said(*texts: str, day: date | None = MONDAY) -> list[str]:
    """Return the bullets of what a user without a name said."""
    return summary([("user", text) for text in texts], day)


def sections(files: dict[str, str]) -> str:
    """Render the three files."""
    return "".join(f'<file path="{path}">\n{files.get(path, "")}\n</file>\n' for path in MEMORY_FILES)


def findings(files: dict[str, str], *entries: str, kind: str = "summary") -> list[str]:
    """Return the findings of phase 1 over entries numbered from 1."""
    rows = [
        f"[{i}] 2023-05-09 03:00 {kind} test:1\n" + "\n".join("    " + line for line in text.split("\n"))
        for i, text in enumerate(entries, 1)
    ]
    text = ask(sections(files) + "<today>2023-05-09</today>\n<history>\n" + "\n".join(rows) + "\n</history>").text
    return [] if text == "[SKIP]" else text.split("\n")


def edited(files: dict[str, str], found: Sequence[str]) -> Edited:
    """Edit the files by findings of entry 1 that the user said themselves; the model is the embedded one."""
    before = {path: files.get(path, "") for path in MEMORY_FILES}
    wanted = parse("\n".join(found), [1], references(before)).findings
    heard = evidence(*(one.text for one in wanted))
    wanted, rules = heard.in_own_words(wanted, before)
    protected = Protected(before, {}, (), heard, rules)
    return phase2.edit(wanted, protected, EmbeddedModel(), Brief(Settings(), MONDAY, UTC))


def dreamt(files: dict[str, str], *entries: str) -> dict[str, str]:
    """Return the files after one dream over entries."""
    found = findings(files, *entries)
    return dict(edited(files, found).draft.texts) if found else files


def facts(text: str) -> list[str]:
    """Return the bullets of a memory file."""
    return [line.removeprefix("- ") for line in text.split("\n") if line.startswith("- ")]
