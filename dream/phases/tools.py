"""The three tools of phase 2, and how a model's calls of them are read."""

from __future__ import annotations

from collections.abc import Mapping

from dream.llm.model import Json, Tool, ToolCall
from dream.phases.draft import Edit, EditError, memory_file
from dream.phases.editing import Editing

_PATH: Json = {"type": "string", "enum": ["SOUL.md", "USER.md", "memory/MEMORY.md"]}

TOOLS = (
    Tool(
        "edit_file",
        "Replace old_text, which must occur exactly once in the file, by new_text. "
        "An empty old_text appends new_text at the end of the file; an empty new_text removes old_text.",
        {
            "type": "object",
            "properties": {
                "path": _PATH,
                "old_text": {"type": "string"},
                "new_text": {"type": "string"},
                "findings": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "the numbers of the findings that this edit settles",
                },
            },
            "required": ["path", "old_text", "new_text", "findings"],
        },
    ),
    Tool(
        "skip_finding",
        "Settle a finding without an edit: it stands in the file already, or must not be written. Say why.",
        {
            "type": "object",
            "properties": {"finding": {"type": "integer"}, "reason": {"type": "string"}},
            "required": ["finding", "reason"],
        },
    ),
    Tool(
        "read_file",
        "Read a memory file as it stands in the draft.",
        {"type": "object", "properties": {"path": _PATH}, "required": ["path"]},
    ),
)


def answer(call: ToolCall, editing: Editing) -> str:
    """Carry out one tool call on the draft and return the answer; raise EditError for one that cannot be."""
    if call.problem:
        raise EditError(f"the arguments of {call.name} cannot be read: {call.problem}")
    if call.name == "edit_file":
        return editing.edit(_edit(call.arguments))
    if call.name == "skip_finding":
        reason = call.arguments.get("reason", "")
        return editing.skip(_number(call.arguments.get("finding")), reason if isinstance(reason, str) else "")
    if call.name == "read_file":
        return editing.draft.texts[memory_file(call.arguments.get("path"))] or "(the file is empty)"
    raise EditError(f"there is no tool {call.name[:40]!r}; the tools are edit_file, skip_finding and read_file")


def _edit(arguments: Mapping[str, Json]) -> Edit:
    old, new = arguments.get("old_text", ""), arguments.get("new_text")
    if not isinstance(old, str) or not isinstance(new, str):
        raise EditError("edit_file wants the strings old_text and new_text")
    return Edit(memory_file(arguments.get("path")), old, new, _numbers(arguments.get("findings")))


def _numbers(value: Json) -> tuple[int, ...]:
    """Read finding numbers however a model spells them: 3, "3", [3], ["3", 4] or "3, 4"."""
    if isinstance(value, str):
        return tuple(_number(part) for part in value.strip("[] ").split(",") if part.strip())
    if isinstance(value, list):
        return tuple(_number(item) for item in value)
    return () if value is None else (_number(value),)


def _number(value: Json) -> int:
    if isinstance(value, str) and value.strip().lstrip("#").isdecimal():
        return int(value.strip().lstrip("#")[:9])
    if isinstance(value, int | float) and not isinstance(value, bool) and value == int(value):
        return int(value)
    raise EditError(f"{value!r} is not the number of a finding")
