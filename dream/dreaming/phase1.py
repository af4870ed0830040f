"""Phase 1: the model reads the new entries and the current files, and answers in findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dream import prompts
from dream.dreaming.draft import Brief, shown_to_fit
from dream.dreaming.evidence import NOTHING_HEARD, BatchEvidence, Heard
from dream.dreaming.findings import Analysis, References, key, letters, parse, references
from dream.errors import AnswerCut, AnswerUnusable, PromptTooLong
from dream.history import legacy
from dream.llm import ChatMessage, Completion, Model
from dream.memory import like
from dream.models import Entry, Finding, MemoryFile
from dream.provenance.commands import HOW_TO, marked
from dream.redact import redact
from dream.settings import EMBEDDED
from dream.text.safe import span
from dream.text.words import MONTH, coverage
from dream.workspace.places import KnownPlace

# Detect lines of an answer that only repeat the prompt: small models copy its examples and header lines. Pure.


SHORTEST = 8  # characters that a fact needs to be compared with our header lines
# Examples in a prompt: in quotation marks, or after a [FILE] mark at the start of a line.
_EXAMPLE = re.compile(
    r"[\"“]([^\"”\n]+)[\"”]|^\[[A-Z-]+(?: \w+)*(?:/[^\]\n]+)?\] ([^{\n]+?)(?: \{[\d,]+\})?$", re.MULTILINE
)
_MONTH = re.compile(rf"\b{MONTH}")  # of a fact in small letters
SAID = 0.5  # share of an example's words that the data must contain for it to be a fact of the data too
ENTRY_TOKENS = 16  # for the header line of one entry
PAGE_TOKENS = 64  # least size of a page of a long entry, however small the window or the setting
FILES_SHARE = 0.5  # largest share of the room for the current files
FILES_TOKENS = 12_000  # upper bound as well: the files' budgets are below it
WAITING_SHARE = 0.25  # largest share of the room for what is pending review
WAITING_TOKENS = 1_000  # upper bound as well: every dream pays for it; the newest are shown, and how many are not
COPY = (
    "These lines cannot be written, each for the reason below it. Answer with each of them again, its number in front: "
    "a SOUL line copied word for word from one message of the user's (behind `>` in the history), a note in brackets "
    "in the talk's words; a How to line with `$ ` before nothing but whole commands that worked, as the history has "
    "them, “…” round what an output says, and no address that only an output gives. Leave out what the user did not "
    "say and the agent did not run. If none is left, answer [SKIP]:"
)
AGAIN = "Answer again: only lines that begin with [SOUL], [USER] or [MEMORY], of what the <history> tells, or [SKIP]."
_NUMBERED = re.compile(r"\s*(\d{1,3})[.)]\s+\**\[")  # a finding with the number of a question in front
_LISTED = re.compile(r"[\s*•-]*\[(?!SKIP)")  # a finding without
Hear = Callable[[Entry], Heard]
Read = Callable[[Completion], Analysis]


def echoes(facts: Sequence[str], prompt: str, headers: Sequence[str], data: str) -> list[bool]:
    """Return for each fact whether it is an example or a placeholder of `prompt`, or one of our `headers`.

    An example with other numbers or dates counts too. A fact that the data supports is no example, even if it reads
    like one: some user is a vegetarian.
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


class OnlyEchoes(AnswerUnusable):
    """The answer contains only examples of the prompt."""


def batches(entries: Iterable[Entry], model: Model, brief: Brief, hear: Hear) -> Iterator[list[Entry]]:
    """Cut entries, oldest first, into batches of one place, and of one rereading or none, that fit one phase-1 prompt.

    An entry that is too long becomes a batch of its own.

    `hear` returns the messages that are shown with an entry.
    """
    room = _history_room(model, brief)
    batch: list[Entry] = []
    used = 0
    for entry in entries:
        tokens = model.count(rendered(hear(entry), brief)) + ENTRY_TOKENS
        if batch and (used + tokens > room or _kind(entry) != _kind(batch[-1])):
            yield batch
            batch, used = [], 0
        batch.append(entry)
        used += tokens
    if batch:
        yield batch


def _kind(entry: Entry) -> tuple[str, str]:
    """Return what all entries of a batch have in common: their place, and the rereading that made them."""
    return entry.place, entry.batch


def that_say_something(batch: Sequence[Entry]) -> list[Entry]:
    """Leave out empty entries, those that nanobot has already dreamt, and imported ones."""
    said = [entry for entry in batch if entry.kind != "nothing" and entry.content.strip()]
    return [entry for entry in said if entry.session != legacy.SESSION and not entry.imported]


def analyse(
    batch: Sequence[Entry],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
    leave_out: Callable[[str], None] | None = None,
    *,
    waiting: Sequence[tuple[Finding, str]] = (),
    evidence: BatchEvidence = NOTHING_HEARD,
    place: KnownPlace | None = None,
) -> tuple[Finding, ...]:
    """Ask for the findings of `batch`; an empty answer means `[SKIP]`.

    A long entry is read in pages, one call each, so that all of it is read. Secrets are redacted in the prompt and
    again in the answer. `leave_out` is called with each line that names an unknown file or repeats an example of the
    prompt. `waiting` are edits that a person has not decided on yet, each with the reason why. A rule that is no copy
    of the user's words goes back to the model once. `place` is where the batch was said, whose two files are among
    `files` then.
    Raises AnswerUnusable after one retry, and whatever the model's door raises.
    """
    cursors = [entry.cursor for entry in batch]
    findings: dict[tuple[object, ...], Finding] = {}
    name = place.name if place else ""
    known = references(files, [finding for finding, _ in _newest(waiting, files, model, brief, name)])
    for page, messages in requests(batch, files, model, brief, waiting=waiting, evidence=evidence, place=place):

        def read(answer: Completion, page: Sequence[Heard] = page, prompt: str = messages[0].content) -> Analysis:
            return _without_echoes(answered(answer, cursors, known, brief, name), prompt, page, files, brief)

        found = _ask(messages, cursors, model, read)
        found = _copied_again(found, evidence, files, messages, model, read, lambda one: _line(one, known, name))
        for line in found.unreadable:
            if leave_out and line.startswith("["):
                leave_out(line)
        for finding in found.findings:
            findings.setdefault(key(finding), finding)
    return tuple(findings.values())


def requests(
    batch: Sequence[Entry],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
    *,
    waiting: Sequence[tuple[Finding, str]] = (),
    evidence: BatchEvidence = NOTHING_HEARD,
    place: KnownPlace | None = None,
) -> Iterator[tuple[list[Heard], list[ChatMessage]]]:
    """Yield each page of `batch` and the prompt that asks for its findings."""
    held = _pending(waiting, files, model, brief, place.name if place else "")
    for page in _pages(batch, model, brief, evidence):
        yield page, _prompt(page, files, model, brief, held, place)


def _ask(messages: Sequence[ChatMessage], cursors: Sequence[int], model: Model, read: Read) -> Analysis:
    completion = model.complete(messages)
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
        except AnswerUnusable as second:
            raise type(second)(
                f"{model.name} gave no usable analysis of {span((cursors[0], cursors[-1]))}, twice: {second}; "
                "run again later or name another phase1_model."
            ) from second


def _copied_again(
    found: Analysis,
    evidence: BatchEvidence,
    files: Mapping[MemoryFile, str],
    messages: Sequence[ChatMessage],
    model: Model,
    read: Read,
    shown: Callable[[Finding], str],
) -> Analysis:
    """Ask once more for the rules and commands that are no copies; one that still isn't stays unchanged."""
    if model.name == EMBEDDED:
        return found
    doubts = {one: why for one in found.findings if (why := _doubt(one, evidence, files)) is not None}
    members = evidence.group and not evidence.owners
    open_ones = [one for one in doubts if not _is_rule(one) or members or evidence.said(one.entries)]
    if not open_ones:
        return found
    rows = (f"{number}. {shown(one)}\n{prompts.indented(doubts[one])}" for number, one in enumerate(open_ones, 1))
    taken = {(one.file, one.line) for one in found.findings if one.line and not one.remove}
    said = "\n".join(shown(one) for one in found.findings if not (one.remove and (one.file, one.line) in taken))
    asked = [*messages, ChatMessage("assistant", said), ChatMessage("user", f"{COPY}\n\n" + "\n".join(rows))]
    try:
        completion = model.complete(asked)
    except PromptTooLong:
        return found
    findings, known = list(found.findings), {one.text for one in found.findings}
    for old, text in _answers_to(open_ones, completion.text):
        try:
            answer = read(replace(completion, text=text)).findings
        except AnswerUnusable:
            continue
        new = [one for one in answer if not one.remove and _doubt(one, evidence, files) is None]
        new = [one for one in new if one.text not in known or (old and one.text == old.text)]
        new = [one for one in new if old is None or like(one.file) == like(old.file)]
        if old and new:
            first = replace(old, text=new[0].text, entries=new[0].entries, heading=new[0].heading or old.heading)
            findings[findings.index(old)] = first
        findings += [replace(one, line="", waits=0) for one in new[1 if old else 0 :]]
    return replace(found, findings=tuple(findings))


def _answers_to(asked: Sequence[Finding], text: str) -> Iterator[tuple[Finding | None, str]]:
    """Yield the lines of an answer for each finding asked about: by its number, else in order if there are as many.

    One rule may come back as several. Lines for which no finding can be told come last, for None.
    """
    numbered: dict[int, list[str]] = {}
    for row in text.splitlines():
        found = _NUMBERED.match(row)
        numbered.setdefault(int(found[1]) if found else 0, []).append(row)
    plain = [row for row in numbered.pop(0, ()) if _LISTED.match(row)]
    if not numbered and len(asked) == 1:
        numbered, plain = {1: plain}, []
    elif not numbered and len(plain) == len(asked):
        numbered, plain = {number: [row] for number, row in enumerate(plain, start=1)}, []
    for number, one in enumerate(asked, start=1):
        yield one, "\n".join(numbered.pop(number, ()))
    yield None, "\n".join([*plain, *(row for rows in numbered.values() for row in rows)])


def _line(finding: Finding, known: References, place: str) -> str:
    """Render a finding as phase 1 writes it, with the number of the line that it replaces or removes."""
    return prompts.finding(finding, finding.heading, place, known.number(finding))


def _doubt(finding: Finding, evidence: BatchEvidence, files: Mapping[MemoryFile, str]) -> str | None:
    """Explain why a rule is no copy of the user's words, or a marked command none of a call's; None for all else."""
    if _is_rule(finding) and evidence.written(finding, files) is None:
        return evidence.doubt(finding.text, finding.entries)
    return evidence.unrun(finding.text, finding.entries, (finding.line,)) or None if _has_commands(finding) else None


def _has_commands(finding: Finding) -> bool:
    told = finding.heading == HOW_TO or marked(finding.text)
    return bool(told) and like(finding.file) == "memory/MEMORY.md" and not finding.remove


def _is_rule(finding: Finding) -> bool:
    return like(finding.file) == "SOUL.md" and not finding.remove


def _heeded(found: Analysis, wrong: AnswerUnusable) -> Analysis:
    """Return the second answer, unless it is [SKIP] of a model that has just read its own examples for the history."""
    if isinstance(wrong, OnlyEchoes) and not found.findings:
        raise AnswerUnusable("first it only repeats the prompt, then it finds nothing")
    return found


def _shown(completion: Completion, wrong: AnswerUnusable) -> str:
    """Return the part of an unusable answer that the model is shown; text copied from the prompt is left out."""
    return "(no answer)" if isinstance(wrong, OnlyEchoes) else completion.text[:1000] or "(no answer)"


def rendered(heard: Heard, brief: Brief) -> str:
    """Return an entry as the model sees it, secrets redacted: rows of other programs may contain some."""
    said = [(one.position, one.name or "user", one.text) for one in heard.messages if heard.entry.kind != "raw"]
    shown = prompts.entry(replace(heard.entry, lines=tuple(line for _, line in heard.rows)), brief.zone, said)
    return redact(shown, brief.settings.redact_patterns)[0]


def answered(completion: Completion, cursors: Sequence[int], known: References, brief: Brief, place: str) -> Analysis:
    """Parse a completion as findings, secrets redacted; raises AnswerUnusable, or AnswerCut if it is truncated."""
    if completion.finish == "length":
        raise AnswerCut("the answer was cut off at its length limit")
    if completion.finish == "refusal":
        raise AnswerUnusable("the model refused")
    if completion.tool_calls:
        raise AnswerUnusable("the model called a tool instead of answering")
    return parse(redact(completion.text, brief.settings.redact_patterns)[0], cursors, known, place)


def _without_echoes(
    found: Analysis, prompt: str, page: Sequence[Heard], files: Mapping[MemoryFile, str], brief: Brief
) -> Analysis:
    """Drop findings that only repeat the prompt; raises OnlyEchoes if no other finding is left."""
    shown = [rendered(heard, brief) for heard in page]
    headers = [one.partition("\n")[0] for one in shown]
    data = "\n".join([*(one.partition("\n")[2] for one in shown), *files.values()])
    repeated = echoes([one.text for one in found.findings], prompt, headers, data)
    kept = tuple(one for one, again in zip(found.findings, repeated, strict=True) if not again)
    if found.findings and not kept:
        raise OnlyEchoes("the answer only repeats the prompt")
    left = tuple(prompts.finding(one) for one, again in zip(found.findings, repeated, strict=True) if again)
    return replace(found, findings=kept, unreadable=(*found.unreadable, *left))


def _prompt(
    page: Sequence[Heard],
    files: Mapping[MemoryFile, str],
    model: Model,
    brief: Brief,
    held: str,
    place: KnownPlace | None,
) -> list[ChatMessage]:
    """Build the messages with the stable part first, for the provider's prompt cache: prompt, files, new entries."""
    system = _system(brief)
    name = place.name if place else ""
    said = sorted(page, key=lambda one: one.entry.when)  # transcripts are not read in the order of their sessions
    rows = prompts.history(rendered(one, brief) for one in said)
    runs = any(one.results or one.entry.kind == "raw" or "tool" in {line.voice for _, line in one.rows} for one in page)
    rows = f"{rows}\n{prompts.runs(prompts.RUNS_DREAMT)}" if runs else rows
    where = prompts.place(name, group=bool(place and place.is_group))
    news = f"{prompts.today(brief.day)}\n{where}{prompts.owners(brief.settings.owners)}{held}{rows}"
    room = min(brief.room(model, system, news), FILES_TOKENS)
    shown = shown_to_fit(files, [one.entry.content for one in page], room, model.count)
    system, user = prompts.filled(system, f"{prompts.numbered(files, shown, letters(files))}\n{news}")
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _system(brief: Brief) -> str:
    return prompts.load("phase1", brief.prompts_folder, language=prompts.language(brief.settings.language))


def _pending(
    waiting: Sequence[tuple[Finding, str]], files: Mapping[MemoryFile, str], model: Model, brief: Brief, place: str
) -> str:
    """Render what is pending review: the newest edits that fit, and how many others there are."""
    shown = _newest(waiting, files, model, brief, place)
    return prompts.waiting([_edit(one, why, files, place) for one, why in shown], len(waiting) - len(shown))


def _newest(
    waiting: Sequence[tuple[Finding, str]], files: Mapping[MemoryFile, str], model: Model, brief: Brief, place: str
) -> Sequence[tuple[Finding, str]]:
    room = min(WAITING_TOKENS, int(brief.room(model, _system(brief)) * WAITING_SHARE)) if waiting else 0
    first = len(waiting)
    while first and (room := room - model.count(" ".join(_edit(*waiting[first - 1], files, place)))) >= 0:
        first -= 1
    return waiting[first:]


def _edit(one: Finding, why: str, files: Mapping[MemoryFile, str], place: str) -> tuple[str, str]:
    """Render a pending edit, with the number of the line that it would replace or remove, and its reason."""
    number = references(files).number(replace(one, waits=0))
    return prompts.finding(one, place=place, number=number).rpartition(" {")[0], why


def _history_room(model: Model, brief: Brief) -> int:
    """Return how many tokens of entries fit into one prompt beside the files."""
    room = brief.room(model, _system(brief))
    return min(brief.settings.batch_tokens, room - min(int(room * FILES_SHARE), FILES_TOKENS))


def _pages(batch: Sequence[Entry], model: Model, brief: Brief, evidence: BatchEvidence) -> Iterator[list[Heard]]:
    room = _history_room(model, brief)
    heard = [evidence.heard.get(entry.cursor, Heard(entry)) for entry in batch]
    if len(batch) > 1 or model.count(rendered(heard[0], brief)) + ENTRY_TOKENS <= room:
        yield heard
        return
    for part in _parts(batch[0].content, max(PAGE_TOKENS, room - ENTRY_TOKENS), model):
        yield [Heard(replace(batch[0], content=part, lines=()))]


def _parts(text: str, room: int, model: Model) -> Iterator[str]:
    """Cut `text` into parts of at most `room` tokens each, if possible at the end of a line; nothing is left out."""
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
