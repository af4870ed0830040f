"""Phase 1 as JSON, for providers that hold a model to a schema; it is read as the `[FILE] fact` lines that it says."""

from __future__ import annotations

import json
import re
from typing import Any

from dream.llm.model import Json

SCHEMA: dict[str, Json] = {
    "type": "object",
    "description": "The [FILE] lines of the answer; no finding at all means [SKIP].",
    "properties": {
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string", "enum": ["SOUL", "USER", "MEMORY"]},
                    "remove": {"type": "boolean", "description": "true for a [FILE-REMOVE] line"},
                    "text": {"type": "string", "description": "the fact, or the line that is no longer true"},
                    "entries": {"type": "array", "items": {"type": "integer"}, "description": "the numbers in braces"},
                },
                "required": ["file", "remove", "text", "entries"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["findings"],
    "additionalProperties": False,
}
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


def lines(answer: str) -> str:
    """Return `answer` in lines, if it is JSON by the schema; else as it is, for the contract of lines to judge."""
    fenced = _FENCE.match(answer)
    text = fenced[1] if fenced else answer
    if not text.lstrip().startswith("{"):
        return answer
    try:
        said = json.loads(text, strict=False)
        return "\n".join(map(_line, said["findings"])) or "[SKIP]"
    except (ValueError, KeyError, TypeError, RecursionError):
        return answer


def _line(finding: dict[str, Any]) -> str:
    tag = str(finding["file"]) + ("-REMOVE" if finding.get("remove") is True else "")
    cursors = ",".join(str(int(cursor)) for cursor in finding.get("entries") or ())
    return f"[{tag}] {' '.join(str(finding['text']).split())} {{{cursors}}}"
