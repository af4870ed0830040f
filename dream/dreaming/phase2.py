"""Phase 2: code settles the plain findings on a draft; the model settles the others in a bounded tool loop."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dream import prompts
from dream.dreaming.draft import (
    Brief,
    Draft,
    Edit,
    EditError,
    end_of_section,
    lines,
    memory_file,
    plain_ends,
    shown_near,
    shown_to_fit,
)
from dream.dreaming.editing import Editing, HeldEdit
from dream.dreaming.guards import Protected
from dream.errors import AnswerUnusable, PromptTooLong, ToolsUnsupported
from dream.llm import ChatMessage, Completion, Json, Model, Tool, ToolCall
from dream.memory import MEMBERS, PRIVATE, TEMPLATES, like
from dream.models import Finding, MemoryFile, Outcome
from dream.settings import Settings
from dream.text.alike import states
from dream.text.safe import quoted
from dream.text.words import standing, without_bullet

# The three tools of phase 2, and how a model's calls of them are read.


_PATH: Json = {"type": "string", "description": "the path of a file as it is shown"}

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
log = logging.getLogger(__name__)
UNSETTLED = "the edit agent's answer could not be used; it is asked again"
MAX_STEPS = 20  # rounds; in the program that dream descends from, more did not help (20 of 20 was worse than 15)
MAX_BARREN_STEPS = 3  # rounds in a row in which no call succeeded end the loop
MAX_CALLS_A_STEP = 64  # tool calls answered in one round
COPIED = 12  # characters of a removal that a line begins with, or of a line that is a part of it
LONGEST_TITLE = 40  # characters of a new heading
_BRACKETS = re.compile(r"[.。]?\s*[(（][^()（）]*[)）][.。]?|[.。]")
_TITLES: Mapping[MemoryFile, str] = {"SOUL.md": "Rules", "USER.md": "Person", "memory/MEMORY.md": "Facts"}


def answer(call: ToolCall, editing: Editing) -> str:
    """Carry out one tool call on the draft and return the answer; raises EditError if that is impossible."""
    if call.problem:
        raise EditError(f"the arguments of {call.name} cannot be read: {call.problem}")
    if call.name == "edit_file":
        return editing.edit(_edit(call.arguments, editing.draft.texts))
    if call.name == "skip_finding":
        reason = call.arguments.get("reason", "")
        return editing.skip(_number(call.arguments.get("finding")), reason if isinstance(reason, str) else "")
    if call.name == "read_file":
        return (
            editing.draft.texts[memory_file(call.arguments.get("path"), editing.draft.texts)] or "(the file is empty)"
        )
    raise EditError(f"there is no tool {call.name[:40]!r}; the tools are edit_file, skip_finding and read_file")


def _edit(arguments: Mapping[str, Json], files: Collection[MemoryFile]) -> Edit:
    old, new = arguments.get("old_text", ""), arguments.get("new_text")
    if not isinstance(old, str) or not isinstance(new, str):
        raise EditError("edit_file wants the strings old_text and new_text")
    return Edit(memory_file(arguments.get("path"), files), old, new, _numbers(arguments.get("findings")))


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


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of phase 2: the draft, the outcome of each finding, the held edits, and notes of what was removed."""

    draft: Draft
    outcomes: tuple[Outcome, ...]
    held: tuple[HeldEdit, ...]
    notes: tuple[str, ...] = ()


def edit(
    findings: Sequence[Finding],
    protected: Protected,
    model: Model,
    brief: Brief,
    follow: Callable[[Editing], None] | None = None,
) -> Edited:
    """Settle every finding on a draft of the files.

    The model is called only if a finding needs judgement, or the settings say always. Findings that it leaves open
    (all of them if it cannot call tools) are applied deterministically. `follow` then settles the dependent lines.
    Raises ModelUnavailable, ModelRejected or SpendingLimit; the workspace is not touched either way.
    """
    editing = Editing(findings, protected, brief.settings)
    if brief.settings.phase2 == "auto":
        settle_plain(editing, brief.settings)
    try:
        if editing.unsettled():
            _loop(editing, model, brief)
    except (ToolsUnsupported, AnswerUnusable, PromptTooLong) as error:
        log.info("phase 2 goes on without the model: %s", error)
    settle(editing)
    if follow is not None:
        follow(editing)
    return Edited(editing.draft, editing.outcomes(), tuple(editing.held), tuple(editing.notes))


def tidied(desk: Editing, doubled: int, model: Model, brief: Brief) -> Edited:
    """Remove the duplicate lines, the first `doubled` findings, and let the model settle the near duplicates.

    Findings that the model does not settle change nothing. Raises the same errors as `edit`.
    """
    for number in range(1, doubled + 1):
        remove_plainly(desk, number)
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
    for _ in range(MAX_STEPS):
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
    shown = shown_to_fit(texts, [finding.text for finding in open_findings], room, model.count)
    today = f"{prompts.today(brief.day)}\n" if prompt == "tidy" else ""
    system, user = prompts.filled(system, f"{prompts.files(shown)}\n{today}{findings}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _shown(texts: Mapping[MemoryFile, str], findings: Sequence[Finding], model: Model) -> Mapping[MemoryFile, str]:
    """Return the files as shown, of large ones only the lines about the findings: every round pays for all of it."""
    topics: dict[MemoryFile, list[str]] = {}
    for finding in findings:
        topics.setdefault(finding.file, []).append(finding.text)
    return shown_near(texts, topics, model.count)


def _answers(completion: Completion, editing: Editing) -> tuple[list[ChatMessage], bool]:
    """Carry out a round's calls in order; a mistake is answered to the model and does not end the loop."""
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


# Apply findings without a model: those that need no judgement, and those that the model could not or did not settle.


def settle_plain(editing: Editing, settings: Settings) -> None:
    """Settle the findings that need no judgement; all others stay open for the edit agent.

    These are a removal that names or copies a line of the file, together with the fact that replaces it, and a fact
    under a heading that phase 1 names, if it fits into the file's budget.
    """
    for number in editing.unsettled():
        finding = editing.findings[number - 1]
        if finding.remove and (line := _line_of(editing, finding)) is not None:
            _try(editing, _taken_out(editing, number, line))
    for number in editing.unsettled():
        finding = editing.findings[number - 1]
        if not finding.remove and finding.heading and not _is_full(editing, number, settings):
            _add(editing, number, plainly=True)


def settle(editing: Editing) -> None:
    """Settle every finding that is still open: replacements and removals first, then additions."""
    for number in editing.unsettled():
        if editing.findings[number - 1].remove:
            remove_plainly(editing, number)
    for number in editing.unsettled():
        if not editing.findings[number - 1].remove:
            _add(editing, number)


def remove_plainly(editing: Editing, number: int) -> None:
    """Remove the line that a removal names or copies, and add the fact that replaces it."""
    finding = editing.findings[number - 1]
    line = _line_of(editing, finding)
    if line is None:
        editing.decide(number, "present", "no such line is in the file")
    else:
        _attempt(editing, _taken_out(editing, number, line), number)


def _taken_out(editing: Editing, number: int, line: str) -> Edit:
    """Return the edit that removes a line, or puts the fact that replaces it in its place if it belongs there."""
    finding = editing.findings[number - 1]
    beside = number - 1
    fact = editing.findings[beside - 1] if beside in editing.unsettled() else None
    if fact is None or fact.remove or fact.file != finding.file or fact.line != line.rstrip():
        return Edit(finding.file, line, "", (number,))
    rows = plain_ends(editing.draft.texts[finding.file]).split("\n")
    if like(finding.file) == "SOUL.md" and f"- {fact.text}" in rows and f"- {fact.text}" != line:
        editing.decide(beside, "present", f"already there as {quoted(fact.text)}")
        return Edit(finding.file, line, "", (number,))
    above = rows[: rows.index(line)] if line in rows else []
    section = next((row for row in reversed(above) if row.startswith("#")), "").lstrip("# ")
    if fact.heading not in ("", section) and (there := _below(editing, beside, fact.heading)) is not None:
        _try(editing, there)
        return Edit(finding.file, line, "", (beside, number))
    return Edit(finding.file, line, _bullet(fact.text, like=line), (beside, number))


def _line_of(editing: Editing, finding: Finding) -> str | None:
    """Return the line of its file that a removal names by its number, or copies."""
    rows = plain_ends(editing.draft.texts[finding.file]).split("\n")
    if finding.line:
        return next((row for row in rows if row.rstrip() == finding.line), None)
    return _copied(finding.text, rows)


def _copied(text: str, rows: list[str]) -> str | None:
    """Return the one line that a removal copies: exactly, with words around it, or without the brackets at its end.

    A line that says more than the removal does not count: the rest of it would be lost.
    """
    wanted = without_bullet(text).strip()
    bare = {row: without_bullet(row).strip() for row in rows if not row.startswith("#")}
    same = [row for row in rows if bare.get(row) == wanted]
    long = [(row, one) for row, one in bare.items() if min(len(one), len(wanted)) >= COPIED]
    partly = [
        row
        for row, one in long
        if one in wanted or (one.startswith(wanted) and _BRACKETS.fullmatch(one, len(wanted)) is not None)
    ]
    found = same or partly
    return found[0] if len(found) == 1 else None


def _is_full(editing: Editing, number: int, settings: Settings) -> bool:
    """Return whether a fact would exceed its file's budget: merging lines then needs judgement."""
    finding = editing.findings[number - 1]
    text = editing.draft.texts[finding.file]
    max_lines, max_bytes = settings.limits(finding.file)
    return len(text.splitlines()) >= max_lines or len(text.encode()) + len(finding.text.encode()) > max_bytes


def _try(editing: Editing, edit: Edit) -> None:
    """Try an edit that needs no judgement; if it fails, its findings stay open."""
    with suppress(EditError):
        editing.edit(edit)


def _add(editing: Editing, number: int, *, plainly: bool = False) -> None:
    """Add a fact under its heading, else under that of its file; one already there in the same words is present."""
    finding = editing.findings[number - 1]
    here = lines(editing.draft.texts[finding.file])
    stated = next((line for line in here if states(line, finding.text)), None)
    if stated is not None:
        editing.decide(number, "present", f"already there as {quoted(stated)}")
        return
    named = _below(editing, number, finding.heading)
    begins = not editing.draft.texts[finding.file].strip()
    usual = _below(editing, number, _TITLES[like(finding.file)], begin=begins)
    for edit in (named, *(() if plainly else (usual, Edit(finding.file, "", _bullet(finding.text), (number,))))):
        if edit is not None and plainly:
            _try(editing, edit)
        elif edit is not None and _attempt(editing, edit, number):
            return


def addition(text: str, finding: Finding, number: int) -> Edit:
    """Return the edit that adds a fact to its file, which holds `text`, below its heading or at the end."""
    plain = Edit(finding.file, "", _bullet(finding.text), (number,))
    return _beneath(text, finding, number, finding.heading, begin=True) or plain


def _below(editing: Editing, number: int, heading: str, *, begin: bool = True) -> Edit | None:
    """Return the edit that adds a fact at the end of a section, or with `begin` as the first of a new one, or None."""
    finding = editing.findings[number - 1]
    return _beneath(editing.draft.texts[finding.file], finding, number, heading, begin=begin)


def _beneath(text: str, finding: Finding, number: int, heading: str, *, begin: bool) -> Edit | None:
    """Do the same in a file with this `text`; among rules, only known sections are created."""
    text = plain_ends(text)
    rows = text.split("\n")
    title = standing(rows, heading) if heading else None
    if title is not None and rows.count(title) == 1:
        anchor = end_of_section(rows, title)
        return Edit(finding.file, anchor, f"{anchor}\n{_bullet(finding.text)}", (number,))
    new = f"## {heading}"
    known = heading in (PRIVATE, MEMBERS) or standing([new], "Rules") is not None
    allowed = like(finding.file) != "SOUL.md" or known
    if title is not None or not (begin and heading and allowed and len(heading) <= LONGEST_TITLE):
        return None
    above = "" if text.strip() else TEMPLATES[like(finding.file)].decode().partition("\n")[0] + "\n"
    return Edit(finding.file, "", f"{above}\n{new}\n{_bullet(finding.text)}", (number,))


def _attempt(editing: Editing, edit: Edit, number: int) -> bool:
    try:
        editing.edit(edit)
    except EditError as error:
        editing.decide(number, "refused", str(error))
        return False
    return True


def _bullet(text: str, like: str = "- ") -> str:
    """Write a fact as a list line, indented like the line that it replaces."""
    indent = like[: len(like) - len(like.lstrip())]
    fact = text if text[:1].isdigit() else without_bullet(text)  # "1. FC Köln" begins with no list's number
    return f"{indent}- {fact.strip()}"
