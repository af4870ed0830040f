"""Phase 2: a bounded tool loop that settles numbered findings by small edits on a draft."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dream import prompts
from dream.errors import AnswerUnusable, PromptTooLong, ToolsUnsupported
from dream.llm.model import ChatMessage, Completion, Model
from dream.models import Finding, MemoryFile, Outcome
from dream.phases import excerpt, fallback, tools
from dream.phases.brief import Brief
from dream.phases.draft import Draft, EditError
from dream.phases.editing import Editing, HeldEdit
from dream.phases.guards import Protected

log = logging.getLogger(__name__)

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

    What the model leaves open, or all of it where it cannot call tools, is applied deterministically.
    Raises ModelUnavailable, ModelRejected or SpendingLimit; the workspace is not touched either way.
    """
    editing = Editing(findings, protected, brief.settings)
    try:
        _loop(editing, model, brief)
    except (ToolsUnsupported, AnswerUnusable, PromptTooLong) as error:
        log.info("phase 2 goes on without the model: %s", error)
    fallback.settle(editing)
    return Edited(editing.draft, editing.outcomes(), tuple(editing.held), tuple(editing.notes))


def _loop(editing: Editing, model: Model, brief: Brief) -> None:
    messages = _opening(editing, model, brief)
    barren, nudged = 0, False
    for _ in range(brief.settings.max_steps):
        completion = model.complete(messages, tools=tools.TOOLS)
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


def _opening(editing: Editing, model: Model, brief: Brief) -> list[ChatMessage]:
    system = prompts.load("phase2", brief.prompts_folder, language=prompts.language(brief.settings.language))
    findings = prompts.findings(editing.findings)
    room = brief.room(model, system, findings)
    shown = excerpt.fit(_shown(editing, model), [finding.text for finding in editing.findings], room, model.count)
    system, user = prompts.filled(system, f"{prompts.files(shown)}\n{findings}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _shown(editing: Editing, model: Model) -> Mapping[MemoryFile, str]:
    """Show of large files what the findings are about: everything else is paid for in every round."""
    if model.name == "embedded":  # which is free, and puts a line where the whole file has its like
        return editing.draft.texts
    topics: dict[MemoryFile, list[str]] = {}
    for finding in editing.findings:
        topics.setdefault(finding.file, []).append(finding.text)
    return excerpt.near(editing.draft.texts, topics, model.count)


def _answers(completion: Completion, editing: Editing) -> tuple[list[ChatMessage], bool]:
    """Carry out a round's calls in order; a mistake is an answer to the model, not an end."""
    answers, succeeded = [], False
    for call in completion.tool_calls[:MAX_CALLS_A_STEP]:
        try:
            text = tools.answer(call, editing)
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
