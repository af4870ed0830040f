"""Phase 2's job: numbered findings and the files as they stand → tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dream.embedded import choose, read, statement
from dream.embedded.sections import FILES, bare, facts, files, findings
from dream.embedded.write import parsed
from dream.language.likeness import words
from dream.language.tongue import main
from dream.language.words import heading, standing
from dream.llm.model import ChatMessage, Completion, Json, ToolCall
from dream.models import Finding, MemoryFile

TITLES: dict[MemoryFile, str] = {"SOUL.md": "# Soul", "USER.md": "# User", "memory/MEMORY.md": "# Memory"}
MEANT = 0.6  # of a removal's words that a line must hold to be the one meant
ALIKE = 0.3  # of a removed line's words that the one which stands for it must hold
GIVE_UP = 2  # answers with errors after which what is still open is skipped


@dataclass(slots=True)
class _Plan:
    """The calls made so far in this answer, and the draft as it will stand after them."""

    draft: dict[MemoryFile, str]
    prefix: str
    code: str = "en"
    calls: list[ToolCall] = field(default_factory=list)
    edits: list[tuple[MemoryFile, str, str, list[int]]] = field(default_factory=list)

    def edit(self, file: MemoryFile, old: str, new: str, numbers: list[int]) -> None:
        text = self.draft.get(file, "")
        if old and text.count(old) != 1:
            old, new = _widened(text, old, new)
        if old and text.count(old) != 1:
            self.skip(numbers, "the line stands more than once" if old in text else "the line is not there")
            return
        self.draft[file] = text.replace(old, new, 1) if old else _appended(text, new)
        arguments: dict[str, Json] = {"path": file, "old_text": old, "new_text": new, "findings": list(numbers)}
        self._call("edit_file", arguments)

    def skip(self, numbers: list[int], reason: str) -> None:
        for number in numbers:
            self._call("skip_finding", {"finding": number, "reason": reason})

    def _call(self, name: str, arguments: dict[str, Json]) -> None:
        self.calls.append(ToolCall(f"{self.prefix}{len(self.calls) + 1}", name, arguments))


def _widened(text: str, old: str, new: str) -> tuple[str, str]:
    """Take the end of the line along, where that makes a line's text unique."""
    for tail in ("\n",):
        if text.count(old + tail) == 1:
            return old + tail, new + tail
        if text.count("\n" + old + tail) == 1:
            return "\n" + old + tail, "\n" + new + tail
    return old, new


def _appended(text: str, new: str) -> str:
    return text + ("" if not text or text.endswith("\n") else "\n") + new


def edit(data: str, body: str, messages: Sequence[ChatMessage]) -> Completion:
    """Answer phase 2 with the calls that settle what is open, or a short text when nothing is."""
    draft = dict.fromkeys(FILES.values(), "") | files(data)
    wanted = findings(body)
    settled, failed, errors = _so_far(draft, messages)
    known = [*(bare(line) for text in draft.values() for line in facts(text)), *(f.text for f in wanted.values())]
    plan = _Plan(draft, f"call_{errors + 1}_", main(known, "en"))
    if errors >= GIVE_UP:
        plan.skip(sorted(failed), "the edit was refused")
    elif failed:
        _retry(plan, {number: wanted[number] for number in sorted(failed) if number in wanted})
    elif not settled:
        _first(plan, wanted)
    if not plan.calls:
        return Completion("Done.")
    return Completion("", tuple(plan.calls), "tool_calls")


def _so_far(draft: dict[MemoryFile, str], messages: Sequence[ChatMessage]) -> tuple[set[int], set[int], int]:
    """Replay the calls made so far on the draft: the findings settled, those failed last, rounds with errors."""
    results = {m.tool_call_id: m.content for m in messages if m.role == "tool"}
    settled: set[int] = set()
    failed: set[int] = set()
    errors = 0
    for message in messages:
        if message.role != "assistant" or not message.tool_calls:
            continue
        failed = set()
        for call in message.tool_calls:
            numbers = _numbers(call)
            if results.get(call.id, "error").lstrip().lower().startswith("error"):
                failed |= numbers
            else:
                settled |= numbers
                _replay(draft, call)
        errors += bool(failed)
        failed -= settled
    return settled | failed, failed, errors


def _numbers(call: ToolCall) -> set[int]:
    given = call.arguments.get("findings", call.arguments.get("finding"))
    return {n for n in (given if isinstance(given, list) else [given]) if isinstance(n, int)}


def _replay(draft: dict[MemoryFile, str], call: ToolCall) -> None:
    path, old, new = (call.arguments.get(key) for key in ("path", "old_text", "new_text"))
    file = next((name for name in draft if name == path), None)
    if call.name == "edit_file" and file and isinstance(old, str) and isinstance(new, str):
        draft[file] = draft[file].replace(old, new, 1) if old else _appended(draft[file], new)


def _first(plan: _Plan, wanted: Mapping[int, Finding]) -> None:
    open_ = dict(wanted)
    removals = [(number, finding) for number, finding in open_.items() if finding.remove]
    for number, finding in removals:
        line = _target(plan.draft[finding.file], finding.text)
        if line is None:
            plan.skip([number], "no such line")
        else:
            partner = _partner(open_, number, bare(line))
            _replace(plan, finding.file, line, number, partner, open_)
    for file in FILES.values():
        _insert(plan, file, [(n, f) for n, f in open_.items() if f.file == file and not f.remove])


def _target(text: str, wanted: str) -> str | None:
    """Return the line of a file that a removal means: the very one, else the nearest."""
    lines = facts(text)
    exact = next((line for line in lines if bare(line) == bare(wanted)), None)
    if exact is not None:
        return exact
    found = _words(wanted)
    best = max(lines, key=lambda line: len(found & _words(bare(line))), default=None)
    return best if best is not None and found and len(found & _words(bare(best))) >= MEANT * len(found) else None


def _words(text: str) -> frozenset[str]:
    said = parsed(text)
    return words(said.text, said.code)


def _partner(open_: Mapping[int, Finding], number: int, line: str) -> int | None:
    """Return the number of the finding that takes a removed line's place, if there is one.

    That is the one just behind it, the one most alike, or the only one that rests on the same entries.
    """
    removal = open_[number]
    mates = [
        n
        for n, one in open_.items()
        if not one.remove and one.file == removal.file and set(one.entries) & set(removal.entries)
    ]
    if number + 1 in mates or len(mates) == 1:
        return number + 1 if number + 1 in mates else mates[0]
    gone = _words(line)
    best = max(((len(gone & _words(open_[n].text)), n) for n in mates), default=(0, 0))
    return best[1] if gone and best[0] >= ALIKE * len(gone) else None


def _replace(
    plan: _Plan, file: MemoryFile, line: str, number: int, partner: int | None, open_: dict[int, Finding]
) -> None:
    if partner is None:
        text = plan.draft[file]
        old = line + "\n" if line + "\n" in text else line
        plan.edit(file, old, "", [number])
        return
    new = open_.pop(partner)
    lead = line[: len(line) - len(line.lstrip())]
    plan.edit(file, line, lead + _bullet(new.text), [number, partner])


def _insert(plan: _Plan, file: MemoryFile, news: Sequence[tuple[int, Finding]]) -> None:
    """Add lines under the file's heading, each where it belongs, one edit for each run of neighbours."""
    fresh: list[tuple[int, str]] = []
    for number, finding in news:
        known = [bare(line) for line in facts(plan.draft[file])] + [text for _, text in fresh]
        if any(_same(finding.text, line) for line in known):
            plan.skip([number], "already present")
        else:
            fresh.append((number, finding.text))
    if not fresh:
        return
    _weave(plan, file, fresh)


def _weave(plan: _Plan, file: MemoryFile, fresh: Sequence[tuple[int, str]]) -> None:
    """Put each new line where it belongs, in one edit for each run of new neighbours."""
    text = plan.draft[file]
    if not text.strip():
        text = f"{TITLES[file]}\n"
    lines = text.removesuffix("\n").split("\n")
    new: dict[str, list[int]] = {} if plan.draft[file].strip() else {TITLES[file]: []}
    titles: dict[str, list[tuple[int, str]]] = {}
    for number, text_ in fresh:
        titles.setdefault(choose.section(file, read.of_line(parsed(text_))), []).append((number, text_))
    for name, texts in titles.items():
        title = standing(lines, name)
        if title is None:
            title = heading(name, plan.code)
            lines += ["", title]
            new[title] = []
        for number, text_ in texts:
            lines.insert(_end(lines, title), _bullet(text_))
            new[_bullet(text_)] = [number]
    for start, end in _runs(lines, new):
        _edit_run(plan, file, lines, start, end, [n for line in lines[start:end] for n in new.get(line, [])])


def _runs(lines: Sequence[str], new: Mapping[str, list[int]]) -> list[tuple[int, int]]:
    """Return the ranges of neighbouring new lines; a blank line before a new heading belongs to it."""
    runs: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        opens = not line and index + 1 < len(lines) and lines[index + 1].startswith("#") and lines[index + 1] in new
        if line in new or opens:
            if runs and runs[-1][1] == index:
                runs[-1] = (runs[-1][0], index + 1)
            else:
                runs.append((index, index + 1))
    return runs


def _edit_run(plan: _Plan, file: MemoryFile, lines: Sequence[str], start: int, end: int, numbers: list[int]) -> None:
    if start == 0 or (end == len(lines) and not lines[start]):
        plan.edit(file, "", "\n".join(lines[start:end]) + "\n", numbers)
        return
    first = start - 1
    while first > 0 and not lines[first].strip():
        first -= 1
    anchor = "\n".join(lines[first:start])
    plan.edit(file, anchor, "\n".join([anchor, *lines[start:end]]), numbers)


def _retry(plan: _Plan, wanted: Mapping[int, Finding]) -> None:
    """Try once more in the plainest way: append what is to be added, skip what could not be removed."""
    for number, finding in wanted.items():
        line = _target(plan.draft[finding.file], finding.text) if finding.remove else None
        if finding.remove and line is None:
            plan.skip([number], "no such line")
        elif finding.remove and line is not None:
            plan.edit(finding.file, line, "", [number])
        else:
            _append(plan, number, finding)


def _append(plan: _Plan, number: int, finding: Finding) -> None:
    if any(_same(finding.text, bare(line)) for line in facts(plan.draft[finding.file])):
        plan.skip([number], "already present")
    else:
        plan.edit(finding.file, "", _bullet(finding.text) + "\n", [number])


def _same(one: str, other: str) -> bool:
    return statement.same(parsed(one), parsed(other))


def _bullet(text: str) -> str:
    return f"- {text}"


def _end(lines: Sequence[str], title: str) -> int:
    """Return where a new line goes below a heading: after the last line of its section."""
    start = next(index for index, line in enumerate(lines) if line.strip() == title) + 1
    end = next((n for n in range(start, len(lines)) if lines[n].startswith("#")), len(lines))
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end
