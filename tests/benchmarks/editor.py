"""The scripted editor of both sides: the same findings become the same kind of edits, without a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dream.dreaming.findings import parse
from dream.embedded.sections import files
from dream.llm import ChatMessage, Completion, Json, ToolCall
from dream.models import Finding, MemoryFile
from dream.text.alike import nearest, states

Asked = tuple[MemoryFile, str, str, int]  # file, old_text, new_text, the finding that it settles


_NUMBERED = re.compile(r"^(\d+)\. (\[.+)$", re.M)


def findings(text: str) -> dict[int, Finding]:
    """Read the numbered findings of a phase-2 prompt."""
    return {int(number): parse(line, [0]).findings[0] for number, line in _NUMBERED.findall(text)}


def edits(wanted: Mapping[int, Finding], texts: Mapping[MemoryFile, str]) -> list[Asked]:
    """Say which edits settle `wanted`: a removal takes the nearest line out, a fact goes beside the nearest one."""
    made: list[Asked] = []
    texts = dict(texts)
    for number, finding in wanted.items():
        lines = texts[finding.file].splitlines()
        listed = [line for line in lines if line.startswith("- ") and lines.count(line) == 1]
        _, near = nearest(finding.text, listed)
        fact = f"- {finding.text}"
        if finding.remove:
            made += [(finding.file, near, "", number)] if near else []
            texts[finding.file] = texts[finding.file].replace(f"{near}\n", "", 1)
        elif not any(states(line, finding.text) for line in listed):
            made.append((finding.file, near, f"{near}\n{fact}", number) if near else (finding.file, "", fact, number))
    return made


def calls(made: Sequence[Asked], settled: Sequence[int]) -> tuple[ToolCall, ...]:
    """Write `made` as tool calls; what of `settled` no edit names is skipped."""
    asked: list[tuple[str, dict[str, Json]]] = [
        ("edit_file", {"path": file, "old_text": old, "new_text": new, "findings": [number]})
        for file, old, new, number in made
    ]
    named = {number for *_, number in made}
    asked += [("skip_finding", {"finding": n, "reason": "already present"}) for n in settled if n not in named]
    return tuple(ToolCall(f"call_{place}", name, given) for place, (name, given) in enumerate(asked, 1))


def answer(messages: Sequence[ChatMessage]) -> Completion:
    """Answer our own phase 2 in one round."""
    data = messages[1].content
    wanted = findings(data)
    texts: dict[MemoryFile, str] = {"SOUL.md": "", "USER.md": "", "memory/MEMORY.md": ""}
    return Completion("", calls(edits(wanted, texts | files(data)), list(wanted)), "tool_calls")
