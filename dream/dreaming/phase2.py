"""Phase 2: code settles the plain findings, a bounded tool loop those that need judgement, on a draft."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dream import prompts
from dream.dreaming import excerpt, planner
from dream.dreaming.draft import Draft, Edit, EditError, memory_file
from dream.dreaming.editing import Editing, HeldEdit
from dream.dreaming.excerpt import Brief
from dream.dreaming.guards import Protected
from dream.errors import AnswerUnusable, PromptTooLong, ToolsUnsupported
from dream.llm import ChatMessage, Completion, Json, Model, Tool, ToolCall
from dream.models import Finding, MemoryFile, Outcome

# The three tools of phase 2, and how a model's calls of them are read.


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


log = logging.getLogger(__name__)

UNSETTLED = "the edit agent's answer could not be used; it is asked again"
MAX_BARREN_STEPS = 3  # rounds in a row in which no call succeeded end the loop
MAX_CALLS_A_STEP = 64  # tool calls answered in one round


@dataclass(frozen=True, slots=True)
class Edited:
    """What phase 2 leaves: the draft, what became of each finding, what waits for a person, and what was taken out."""

    draft: Draft
    outcomes: tuple[Outcome, ...]
    held: tuple[HeldEdit, ...]
    notes: tuple[str, ...] = ()


def edit(findings: Sequence[Finding], protected: Protected, model: Model, brief: Brief) -> Edited:
    """Settle every finding on a draft of the files.

    The model is asked only where something needs judgement, or the settings say always. What it leaves open, or all
    of it where it cannot call tools, is applied deterministically.
    Raises ModelUnavailable, ModelRejected or SpendingLimit; the workspace is not touched either way.
    """
    editing = Editing(findings, protected, brief.settings)
    if brief.settings.phase2 == "auto":
        planner.settle_plain(editing, brief.settings)
    try:
        if editing.unsettled():
            _loop(editing, model, brief)
    except (ToolsUnsupported, AnswerUnusable, PromptTooLong) as error:
        log.info("phase 2 goes on without the model: %s", error)
    planner.settle(editing)
    return Edited(editing.draft, editing.outcomes(), tuple(editing.held), tuple(editing.notes))


def tidied(desk: Editing, doubled: int, model: Model, brief: Brief) -> Edited:
    """Take out the lines that are said twice, the first `doubled` of the desk, and let the model settle the others.

    What the model leaves alone stays as it is. Raises as `edit` does.
    """
    for number in range(1, doubled + 1):
        planner.remove_plainly(desk, number)
    why = "left as it is"
    if len(desk.findings) > doubled:
        try:
            _loop(desk, model, brief, "tidy")
        except (ToolsUnsupported, AnswerUnusable, PromptTooLong) as error:
            log.info("the memory is tidied without the model: %s", error)
            why = UNSETTLED
    for number in desk.unsettled():
        desk.decide(number, "refused", why)
    return Edited(desk.draft, desk.outcomes(), tuple(desk.held), tuple(desk.notes))


def _loop(editing: Editing, model: Model, brief: Brief, prompt: str = "phase2") -> None:
    messages = _opening(editing, model, brief, prompt)
    barren, nudged = 0, False
    for _ in range(brief.settings.max_steps):
        completion = model.complete(messages, tools=TOOLS)
        messages.append(ChatMessage("assistant", completion.text, tool_calls=completion.tool_calls))
        if completion.tool_calls:
            answers, succeeded = _answers(completion, editing)
            messages.extend(answers)
            barren = 0 if succeeded else barren + 1
        elif nudged or completion.finish in ("refusal", "length"):
            return
        else:
            nudged = True
            messages.append(ChatMessage("user", _nudge(editing)))
        if not editing.unsettled() or barren >= MAX_BARREN_STEPS:
            return


def _opening(editing: Editing, model: Model, brief: Brief, prompt: str) -> list[ChatMessage]:
    system = prompts.load(prompt, brief.prompts_folder, language=prompts.language(brief.settings.language))
    numbers = editing.unsettled()
    open_findings = [editing.findings[number - 1] for number in numbers]
    findings = prompts.findings(open_findings, numbers)
    room = brief.room(model, system, findings)
    texts = _shown(editing.draft.texts, open_findings, model)
    shown = excerpt.fit(texts, [finding.text for finding in open_findings], room, model.count)
    today = f"{prompts.today(brief.day)}\n" if prompt == "tidy" else ""
    system, user = prompts.filled(system, f"{prompts.files(shown)}\n{today}{findings}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _shown(texts: Mapping[MemoryFile, str], findings: Sequence[Finding], model: Model) -> Mapping[MemoryFile, str]:
    """Show of large files what the findings are about: everything else is paid for in every round."""
    topics: dict[MemoryFile, list[str]] = {}
    for finding in findings:
        topics.setdefault(finding.file, []).append(finding.text)
    return excerpt.near(texts, topics, model.count)


def _answers(completion: Completion, editing: Editing) -> tuple[list[ChatMessage], bool]:
    """Carry out a round's calls in order; a mistake is an answer to the model, not an end."""
    answers, succeeded = [], False
    for call in completion.tool_calls[:MAX_CALLS_A_STEP]:
        try:
            text = answer(call, editing)
            succeeded = succeeded or call.name != "read_file"
        except EditError as error:
            text = f"error: {error}"
        answers.append(ChatMessage("tool", text, tool_call_id=call.id))
    answers += [
        ChatMessage("tool", f"error: more than {MAX_CALLS_A_STEP} calls at once", tool_call_id=call.id)
        for call in completion.tool_calls[MAX_CALLS_A_STEP:]
    ]
    return answers, succeeded


def _nudge(editing: Editing) -> str:
    numbers = ", ".join(map(str, editing.unsettled()))
    return f"Findings {numbers} are not settled. Settle each by edit_file or skip_finding."
