"""Put the embedded model's three jobs to it as the prompts render them, and apply what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from dream.embedded import EmbeddedModel
from dream.llm.model import ChatMessage, Completion, Tool, ToolCall
from dream.models import MEMORY_FILES

TOOLS = tuple(Tool(name, "", {}) for name in ("read_file", "edit_file", "skip_finding"))
MONDAY = date(2023, 5, 8)

Talk = Sequence[tuple[str, str]]  # "user", "user Ann" or "assistant", and the text


def ask(data: str, tools: Sequence[Tool] = (), after: Sequence[ChatMessage] = ()) -> Completion:
    """Ask the model as the pipeline does."""
    return EmbeddedModel().complete([ChatMessage("system", "…"), ChatMessage("user", data), *after], tools=tools)


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


@dataclass
class Edited:
    """What phase 2 made of the findings: the files, its calls, and its last words."""

    files: dict[str, str]
    calls: list[ToolCall] = field(default_factory=list)
    text: str = ""


def edited(files: dict[str, str], found: Sequence[str], *, refuse: int = 0) -> Edited:
    """Run phase 2's loop on text; the first `refuse` edits are answered with an error."""
    data = sections(files) + "<findings>\n" + "\n".join(f"{i}. {f}" for i, f in enumerate(found, 1)) + "\n</findings>"
    done = Edited({path: files.get(path, "") for path in MEMORY_FILES})
    after: list[ChatMessage] = []
    for _ in range(6):
        answer = ask(data, TOOLS, after)
        done.text = answer.text
        if not answer.tool_calls:
            return done
        after.append(ChatMessage("assistant", answer.text, answer.tool_calls))
        for call in answer.tool_calls:
            done.calls.append(call)
            result = "ok"
            if call.name == "edit_file":
                refuse, result = (refuse - 1, "error: refused") if refuse > 0 else (0, _apply(done.files, call))
            after.append(ChatMessage("tool", result, tool_call_id=call.id))
    raise AssertionError("phase 2 did not end")


def _apply(files: dict[str, str], call: ToolCall) -> str:
    path, old, new = (str(call.arguments[key]) for key in ("path", "old_text", "new_text"))
    if not old:
        files[path] += ("" if not files[path] or files[path].endswith("\n") else "\n") + new
    elif files[path].count(old) != 1:
        return f"error: old_text occurs {files[path].count(old)} times"
    else:
        files[path] = files[path].replace(old, new)
    return "ok"


def dreamt(files: dict[str, str], *entries: str) -> dict[str, str]:
    """Return the files after one dream over entries."""
    found = findings(files, *entries)
    return edited(files, found).files if found else files


def facts(text: str) -> list[str]:
    """Return the bullets of a memory file."""
    return [line.removeprefix("- ") for line in text.split("\n") if line.startswith("- ")]
