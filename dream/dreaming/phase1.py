"""Phase 1: read the new entries beside the present files and answer in findings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dream import prompts
from dream.dreaming.draft import Brief, shown_to_fit
from dream.dreaming.findings import Analysis, parse
from dream.errors import AnswerCut, AnswerUnusable
from dream.history import legacy
from dream.language import cues
from dream.language.text import span
from dream.language.words import MONTH, coverage
from dream.llm import ChatMessage, Completion, Json, Model
from dream.models import Entry, Finding, MemoryFile
from dream.redact import redact

# What in an answer only repeats the prompt: small models copy its examples and our own lines. Pure.


SHORTEST = 8  # characters of a fact that can be taken for one of our header lines
# What a prompt shows as an example: in quotation marks, or behind a [FILE] mark at a line's start.
_EXAMPLE = re.compile(r"[\"“]([^\"”\n]+)[\"”]|^\[[A-Z-]+(?:/[^\]\n]+)?\] ([^{\n]+?)(?: \{[\d,]+\})?$", re.MULTILINE)
_MONTH = re.compile(rf"\b{MONTH}")  # of a fact in small letters
SAID = 0.5  # of an example's words that the data must hold for it to be a fact of the data too


def echoes(facts: Sequence[str], prompt: str, headers: Sequence[str], data: str) -> list[bool]:
    """Return for each fact whether it is an example or a placeholder of `prompt`, or one of our `headers`.

    An example with other numbers or dates in it is one too. What the data bears out is a fact: some user is a
    vegetarian.
    """
    ours = "\n".join(map(_bare, headers))
    examples = {_numberless(_bare(example)) for pair in _EXAMPLE.findall(prompt) for example in pair}

    def is_echo(fact: str) -> bool:
        bare = _bare(fact)
        if len(bare) >= SHORTEST and bare in ours:
            return True
        return _numberless(bare) in examples and coverage(fact, data) < SAID

    return [is_echo(fact) for fact in facts]


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "0", _MONTH.sub("may", text))


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”.…").casefold()


# Phase 1 as JSON, for providers that hold a model to a schema; it is read as the `[FILE] fact` lines that it says.


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
                    "heading": {"type": "string", "description": "the heading that a fact goes under; else empty"},
                    "text": {"type": "string", "description": "the fact, or the line that is no longer true"},
                    "entries": {"type": "array", "items": {"type": "integer"}, "description": "the numbers in braces"},
                },
                "required": ["file", "remove", "heading", "text", "entries"],
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
    tag += f"/{heading}" if (heading := str(finding.get("heading") or "")) else ""
    cursors = ",".join(str(int(cursor)) for cursor in finding.get("entries") or ())
    return f"[{tag}] {' '.join(str(finding['text']).split())} {{{cursors}}}"


ENTRY_TOKENS = 16  # of the header line of one entry
PAGE_TOKENS = 64  # of a long entry in one prompt at least, however small the window or the setting
FILES_SHARE = 0.5  # of the room, at the most, for the present files
FILES_TOKENS = 12_000  # and no more than this: the files' budgets are below it
WAITING = 20  # findings that wait for a person, the newest, which phase 1 is told of
AGAIN = "Answer again: only lines that begin with [SOUL], [USER] or [MEMORY], of what the <history> tells, or [SKIP]."


class OnlyEchoes(AnswerUnusable):
    """The answer holds nothing but examples of the prompt."""


def batches(entries: Iterable[Entry], model: Model, brief: Brief) -> Iterator[list[Entry]]:
    """Cut entries, oldest first, into batches that fit one phase-1 prompt; a longer entry is one by itself."""
    room = _history_room(model, brief)
    batch: list[Entry] = []
    used = 0
    for entry in entries:
        tokens = _tokens(entry, model)
        if batch and used + tokens > room:
            yield batch
            batch, used = [], 0
        batch.append(entry)
        used += tokens
    if batch:
        yield batch


def that_say_something(batch: Sequence[Entry]) -> list[Entry]:
    """Leave out the entries that say nothing, and nanobot's older ones, which it has dreamt."""
    said = [entry for entry in batch if entry.kind != "nothing" and entry.content.strip()]
    return [entry for entry in said if entry.session != legacy.SESSION]


def analyse(
    batch: Sequence[Entry],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
    leave_out: Callable[[str], None] | None = None,
    *,
    waiting: Sequence[str] = (),
) -> tuple[Finding, ...]:
    """Ask for the findings of `batch`; an empty answer means `[SKIP]`.

    A long entry is read in pages, one call each, so that no byte of it passes unseen. Secrets are marked before the
    model sees them, and again in what it answers. `leave_out` is told each line that names a file we don't have,
    or repeats an example of the prompt. `waiting` are findings that a person has not decided on yet.
    Raises AnswerUnusable after one retry, and whatever the model's door raises.
    """
    cursors = [entry.cursor for entry in batch]
    findings: dict[tuple[str, bool, str], Finding] = {}
    for page, messages in requests(batch, files, model, brief, waiting=waiting):
        found = _ask(page, messages, cursors, files, model, brief)
        for line in found.unreadable:
            if leave_out and line.startswith("["):
                leave_out(line)
        for finding in found.findings:
            findings.setdefault((finding.file, finding.remove, finding.text.casefold()), finding)
    return tuple(_for_a_time(list(findings.values())))


def requests(
    batch: Sequence[Entry],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
    *,
    waiting: Sequence[str] = (),
) -> Iterator[tuple[list[Entry], list[ChatMessage]]]:
    """Yield each page of `batch`, without secrets, and the prompt that asks for its findings."""
    for entries in _pages(batch, model, brief):
        page = [_safe(entry, brief) for entry in entries]
        yield page, _prompt(page, files, model, brief, waiting)


def _for_a_time(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings, those for USER.md that a model calls rules though they hold until a day that they name.

    One that changes a rule stays beside it.
    """
    for finding, after in zip(findings, [*findings[1:], None], strict=False):
        rule = finding.file == "SOUL.md" and not finding.remove
        changes = after is not None and after.file == "SOUL.md" and after.remove
        if rule and not changes and cues.says("until", finding.text) and not cues.says("each", finding.text):
            yield replace(finding, file="USER.md", heading="Preferences")
        else:
            yield finding


def _ask(
    page: Sequence[Entry],
    messages: Sequence[ChatMessage],
    cursors: Sequence[int],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
) -> Analysis:
    completion = model.complete(messages)

    def read(answer: Completion) -> Analysis:
        return _without_echoes(_read(answer, cursors, brief), messages[0].content, page, files, brief)

    try:
        return read(completion)
    except AnswerUnusable as error:
        first = error
    again = [
        *messages,
        ChatMessage("assistant", _shown(completion, first)),
        ChatMessage("user", f"That cannot be used: {first}. {AGAIN}"),
    ]
    try:
        return _heeded(read(model.complete(again)), first)
    except AnswerUnusable as error:
        raise type(error)(
            f"{model.name} gave no usable analysis of {span((cursors[0], cursors[-1]))}, twice: {error}; "
            "run again later or name another phase1_model."
        ) from error


def _heeded(found: Analysis, wrong: AnswerUnusable) -> Analysis:
    """Return the second answer, unless it is [SKIP] of a model that has just read its own examples for the history."""
    if isinstance(wrong, OnlyEchoes) and not found.findings:
        raise AnswerUnusable("first it only repeats the prompt, then it finds nothing")
    return found


def _shown(completion: Completion, wrong: AnswerUnusable) -> str:
    """Return of an unusable answer what the model is shown of it: what it copied it would copy again."""
    return "(no answer)" if isinstance(wrong, OnlyEchoes) else completion.text[:1000] or "(no answer)"


def _safe(entry: Entry, brief: Brief) -> Entry:
    """Mark what looks like a secret: rows that another program wrote may hold one."""
    return replace(entry, content=redact(entry.content, brief.settings.redact_patterns)[0])


def _read(completion: Completion, cursors: Sequence[int], brief: Brief) -> Analysis:
    if completion.finish == "length":
        raise AnswerCut("the answer was cut off at its length limit")
    if completion.finish == "refusal":
        raise AnswerUnusable("the model refused")
    if completion.tool_calls:
        raise AnswerUnusable("the model called a tool instead of answering")
    return parse(redact(lines(completion.text), brief.settings.redact_patterns)[0], cursors)


def _without_echoes(
    found: Analysis, prompt: str, page: Sequence[Entry], files: Mapping[MemoryFile, str], brief: Brief
) -> Analysis:
    """Drop findings that only repeat the prompt; an answer of nothing else can't be used."""
    headers = [prompts.entry(entry, brief.zone).partition("\n")[0] for entry in page]
    data = "\n".join([*(entry.content for entry in page), *files.values()])
    repeated = echoes([one.text for one in found.findings], prompt, headers, data)
    kept = tuple(one for one, again in zip(found.findings, repeated, strict=True) if not again)
    if found.findings and not kept:
        raise OnlyEchoes("the answer only repeats the prompt")
    left = tuple(prompts.finding(one) for one, again in zip(found.findings, repeated, strict=True) if again)
    return replace(found, findings=kept, unreadable=(*found.unreadable, *left))


def _prompt(
    page: Sequence[Entry], files: Mapping[MemoryFile, str], model: Model, brief: Brief, waiting: Sequence[str]
) -> list[ChatMessage]:
    """Put what is stable first, so that a provider's prompt cache can serve it: prompt, files, then what is new."""
    system = _system(brief)
    said = sorted(page, key=lambda entry: entry.when)  # transcripts are not read in the order of the talks
    held = prompts.waiting(waiting[-WAITING:])
    owners = prompts.owners(brief.settings.owners)
    news = f"{prompts.today(brief.day)}\n{owners}{held}{prompts.history(said, brief.zone, by=bool(owners))}"
    room = min(brief.room(model, system, news), FILES_TOKENS)
    shown = shown_to_fit(files, [entry.content for entry in page], room, model.count)
    system, user = prompts.filled(system, f"{prompts.files(shown)}\n{news}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _system(brief: Brief) -> str:
    return prompts.load("phase1", brief.prompts_folder, language=prompts.language(brief.settings.language))


def _history_room(model: Model, brief: Brief) -> int:
    """Return the tokens of entries that one prompt takes beside the files."""
    room = brief.room(model, _system(brief))
    return min(brief.settings.batch_tokens, room - min(int(room * FILES_SHARE), FILES_TOKENS))


def _tokens(entry: Entry, model: Model) -> int:
    # Indentation and defusing add a little to the content; its own count may be another model's.
    return model.count(entry.content) + ENTRY_TOKENS + 2 * entry.content.count("\n")


def _pages(batch: Sequence[Entry], model: Model, brief: Brief) -> Iterator[list[Entry]]:
    room = _history_room(model, brief)
    if len(batch) > 1 or _tokens(batch[0], model) <= room:
        yield list(batch)
        return
    for part in _parts(batch[0].content, max(PAGE_TOKENS, room - ENTRY_TOKENS), model):
        yield [replace(batch[0], content=part)]


def _parts(text: str, room: int, model: Model) -> Iterator[str]:
    """Cut `text` into parts of at most `room` tokens each, at a line's end where there is one; nothing is left out."""
    start = 0
    while start < len(text):
        size = _fitting(text, start, room, model)
        line_end = text.rfind("\n", start, start + size)
        end = line_end + 1 if start + size < len(text) and line_end >= start + size // 2 else start + size
        yield text[start:end]
        start = end


def _fitting(text: str, start: int, room: int, model: Model) -> int:
    """Return how many characters from `start` fit into `room` tokens, at least one."""
    size = min(len(text) - start, 6 * room)
    while size > 1:
        piece = text[start : start + size]
        tokens = model.count(piece) + 2 * piece.count("\n")
        if tokens <= room:
            break
        size = max(1, min(size - 1, int(size * room / tokens * 0.95)))
    return size
