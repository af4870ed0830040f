"""The draft: the memory files as edited in memory, and the lines of them that a prompt shows.

An edit replaces an exact text; if that text is missing, the error quotes the nearest lines.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo
from functools import lru_cache
from itertools import pairwise, zip_longest
from pathlib import Path

from dream.llm import Model
from dream.models import MEMORY_FILES, MemoryFile
from dream.settings import Settings
from dream.text.words import content_words, coverage

_HEADING = re.compile("#{1,6} ")
OMITTED = "[… lines left out …]"
WHOLE_TOKENS = 1_200  # of all three files together; up to this size they are always shown whole
NEAR_LINES = 5  # of a file shown for each topic: the relevant line and its near duplicates
MARGIN_TOKENS = 256  # for message framing, tool schemas and the error of a count
TOOLS_TOKENS = 512
SMALLEST_ROOM = 256  # tokens; a window with less room than this for content is used as if it had it


class EditError(Exception):
    """An edit that cannot be made; the message goes to the model, which may correct the edit."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One requested change: `old_text` occurs exactly once in the file, or is empty to append `new_text`."""

    file: MemoryFile
    old_text: str
    new_text: str
    findings: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of every memory file, and the edits made so far, in order."""

    texts: Mapping[MemoryFile, str]
    edits: tuple[Edit, ...] = field(default=())

    def edited(self, edit: Edit) -> Draft:
        """Return the draft with `edit` made, or raise EditError."""
        text = replaced(self.texts[edit.file], edit)
        return Draft({**self.texts, edit.file: text}, (*self.edits, edit))


def memory_file(path: object, files: Collection[MemoryFile] = MEMORY_FILES) -> MemoryFile:
    """Return the memory file that a model's `path` names; raises EditError if it is not one of `files`."""
    name = path.removeprefix("./") if isinstance(path, str) else ""
    found = {name, f"memory/{name}"}.intersection(files)
    if not found:
        raise EditError(f"{str(path)[:80]!r} is not a memory file; the files are {', '.join(files)}")
    return found.pop()


def replaced(text: str, edit: Edit) -> str:
    """Return `text` after `edit`, with the file's line endings even if the edit has others."""
    edit = replace(edit, old_text=_whole_end(edit.old_text), new_text=_whole_end(edit.new_text))
    if text.count("\r\n") == text.count("\n") > 0:
        plain = replace(edit, old_text=plain_ends(edit.old_text), new_text=plain_ends(edit.new_text))
        return _with_newlines(_set_apart(plain_ends(text), _replaced(plain_ends(text), plain)), "\r\n")
    return _set_apart(text, _replaced(text, edit))


def section(text: str, part: str) -> str:
    """Return the heading above `part` in a file, "" if there is none."""
    above = text[: max(text.find(part), 0)].splitlines()
    return next((row.rstrip() for row in reversed(above) if _HEADING.match(row)), "")


def end_of_section(rows: Sequence[str], title: str) -> str:
    """Return text at the end of the section with this heading that occurs once, so a line can be added after it."""
    first = rows.index(title)
    last = next((n for n in range(first + 1, len(rows)) if rows[n].startswith("#")), len(rows)) - 1
    while not rows[last].strip():
        last -= 1
    return rows[last] if rows.count(rows[last]) == 1 else "\n".join(rows[first : last + 1])


def _set_apart(before: str, after: str) -> str:
    """Put an empty line above each new heading, as above the existing ones."""
    new = {line for line in added(before, after) if _HEADING.match(line)}
    rows: list[str] = []
    fenced = False
    for row in after.split("\n") if new else ():
        fenced ^= row.lstrip().startswith(("```", "~~~"))
        if row.rstrip() in new and not fenced and rows and rows[-1].strip():
            rows.append("\r" if row.endswith("\r") else "")
        rows.append(row)
    return "\n".join(rows) if rows else after


def plain_ends(text: str) -> str:
    """Return `text` with each `\\r\\n` as `\\n`."""
    return text.replace("\r\n", "\n")


def _replaced(text: str, edit: Edit) -> str:
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    new = _with_newlines(edit.new_text, newline)
    if edit.old_text == "":
        return _appended(text, new, newline, edit.file)
    old = edit.old_text if edit.old_text in text else _with_newlines(edit.old_text, newline)
    start = _only_place(text, old, edit.file)
    if old == new:
        raise EditError("old_text and new_text are the same; nothing would change")
    fresh = [line for line in lines(new) if line not in lines(old)]
    if fresh and new.startswith(old) and set(fresh) <= set(lines(text)):
        raise EditError(f"every line that would be added is already in {edit.file}; use skip_finding")
    after = text[:start] + new + text[start + len(old) :]
    return _without_hole(after, start, newline) if new == "" else after


@lru_cache(maxsize=32)  # a dozen guards call it with the same two texts
def gone(before: str, after: str) -> tuple[str, ...]:
    """List the lines of `before` (not blank) that are not in `after`, counting repeats."""
    left = Counter(lines(after))
    missing = []
    for line in lines(before):
        if left[line] > 0:
            left[line] -= 1
        else:
            missing.append(line)
    return tuple(missing)


def added(before: str, after: str) -> tuple[str, ...]:
    """List the lines of `after` (not blank) that were not in `before`, counting repeats."""
    return gone(after, before)


@lru_cache(maxsize=32)
def lines(text: str) -> tuple[str, ...]:
    """List the lines of `text` that are not blank, without trailing white space."""
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())


def paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Pair the lines of two texts in order, each changed line with the most similar one; None means no counterpart."""
    found: list[tuple[str | None, str | None]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if last - first > end - start:
            found += [(before, after) for after, before in _aligned(new[start:end], old[first:last])]
        else:
            found += _aligned(old[first:last], new[start:end])
    return found


def _aligned(few: Sequence[str], many: Sequence[str]) -> list[tuple[str | None, str]]:
    """Pair each of `few` lines with one of `many`, in order, so that the pairs have most words in common."""
    if len(few) in {0, len(many)}:
        return list(zip_longest(few, many))
    # best[i]: the score of the first i of `few` among the lines of `many` so far, and their places.
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ()), *[(-1.0, ())] * len(few)]
    for place, line in enumerate(many):
        for count in range(min(place + 1, len(few)), 0, -1):
            score, places = best[count - 1]
            if score >= 0 and score + (more := coverage(few[count - 1], line)) > best[count][0]:
                best[count] = (score + more, (*places, place))
    pairs = dict(zip(best[-1][1], few, strict=True))
    return [(pairs.get(place), line) for place, line in enumerate(many)]


def _appended(text: str, new: str, newline: str, file: MemoryFile) -> str:
    if not new.strip():
        raise EditError("new_text is empty; there is nothing to append")
    here = set(lines(text))
    if all(line in here or line.startswith("#") for line in lines(new)):
        raise EditError(f"every line of new_text is already in {file}; use skip_finding")
    head = text if text == "" or text.endswith(("\n", "\r\n")) else text + newline
    return head + new.rstrip("\r\n") + newline


def _only_place(text: str, old: str, file: MemoryFile) -> int:
    places = _places(text, old)
    if not places:
        near = nearest_block(text, old)
        hint = f"; the nearest there is: {near}" if near else "; the file holds nothing like it"
        raise EditError(f"old_text does not occur in {file}{hint}")
    if len(places) == 1:
        return places[0]
    # `- likes tea` is also a part of `- likes tea ceremonies`: a whole line is meant where only one is.
    whole = [place for place in places if _is_whole_lines(text, place, len(old))]
    if len(whole) == 1:
        return whole[0]
    raise EditError(f"old_text occurs {len(places)} times in {file}; give more of the line, or lines around it")


def _places(text: str, old: str) -> list[int]:
    places: list[int] = []
    start = text.find(old)
    while start != -1 and len(places) < 100:
        places.append(start)
        start = text.find(old, start + 1)
    return places


def _is_whole_lines(text: str, start: int, length: int) -> bool:
    end = start + length
    return (start == 0 or text[start - 1] == "\n") and (
        end == len(text) or text[end] in "\r\n" or text[end - 1] == "\n"
    )


def nearest_block(text: str, old: str) -> str:
    """Return the lines of `text` most like `old`, as many as it has; empty when nothing is like it."""
    wanted = [line.strip() for line in old.strip().splitlines()] or [""]
    here = text.splitlines()
    best, block = 0.5, ""
    for start in range(max(1, len(here) - len(wanted) + 1)):
        window = here[start : start + len(wanted)]
        matcher = difflib.SequenceMatcher(None, "\n".join(line.strip() for line in window), "\n".join(wanted))
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, block = matcher.ratio(), "\n".join(window)
    return block


def _without_hole(text: str, place: int, newline: str) -> str:
    """Take out the empty line that a removed one leaves behind."""
    before, after = text[:place], text[place:]
    if (before == "" or before.endswith(newline)) and after.startswith(newline):
        return before + after.removeprefix(newline)
    return text


def _with_newlines(text: str, newline: str) -> str:
    return plain_ends(text).replace("\n", newline)


def _whole_end(text: str) -> str:
    """Leave out the half of a line end that is left where a line was cut off before its `\\n`."""
    return text.removesuffix("\r") if text != "\r" else text


# What a prompt shows of files that are too large for it, or dearer than they are worth: the lines that matter. Every
# line that is shown is shown whole, so that it can be copied into an edit.


def shown_to_fit(
    texts: Mapping[MemoryFile, str], topics: Sequence[str], room: int, count: Callable[[str], int]
) -> dict[MemoryFile, str]:
    """Return the files whole where they fit into `room` tokens, else an excerpt of each for `topics`.

    An excerpt keeps every heading, then the lines that share most words with the topics, in file order.
    """
    sizes = {path: count(text) for path, text in texts.items()}
    total = sum(sizes.values())
    if total <= room:
        return dict(texts)
    wanted = frozenset().union(*(content_words(topic) for topic in topics)) if topics else frozenset[str]()
    return {path: _excerpt(text, wanted, room * sizes[path] // max(total, 1), count) for path, text in texts.items()}


def shown_near(
    texts: Mapping[MemoryFile, str], topics: Mapping[MemoryFile, Sequence[str]], count: Callable[[str], int]
) -> dict[MemoryFile, str]:
    """Return the files whole where they are small, else of each its headings and the lines nearest to its topics.

    The last list line of each section is shown too: whoever adds a line there needs it for a neighbour.
    """
    if sum(count(text) for text in texts.values()) <= WHOLE_TOKENS:
        return dict(texts)
    return {path: _near(text, topics.get(path, ())) for path, text in texts.items()}


def _near(text: str, topics: Sequence[str]) -> str:
    here = text.splitlines()
    listed = [number for number, line in enumerate(here) if line.strip() and not line.startswith("#")]
    kept = {number for number, line in enumerate(here) if line.startswith("#")}
    if topics:
        headings = [*sorted(kept), len(here)]
        ends = (max((n for n in listed if start < n < end), default=None) for start, end in pairwise(headings))
        kept.update(number for number in ends if number is not None)
    for topic in topics:
        wanted = content_words(topic)
        weights = {number: _weight(here[number], wanted) for number in listed}
        kept.update(sorted((n for n in listed if weights[n]), key=lambda n: (-weights[n], n))[:NEAR_LINES])
    return _shown(here, kept)


def _excerpt(text: str, wanted: frozenset[str], room: int, count: Callable[[str], int]) -> str:
    here = text.splitlines()
    ranked = sorted(range(len(here)), key=lambda number: (-_weight(here[number], wanted), number))
    kept: set[int] = set()
    for number in ranked:
        cost = count(here[number]) + 2
        if cost > room:
            continue
        room -= cost
        kept.add(number)
    return _shown(here, kept)


def _shown(here: Sequence[str], kept: Set[int]) -> str:
    shown: list[str] = []
    for number, line in enumerate(here):
        if number in kept:
            shown.append(line)
        elif line.strip() and (not shown or shown[-1] != OMITTED):
            shown.append(OMITTED)
    return "\n".join(shown)


def _weight(line: str, wanted: frozenset[str]) -> float:
    if line.startswith("#"):
        return float("inf")
    words = content_words(line)
    return len(words & wanted) / len(words) ** 0.5 if words else 0.0


# What both phases must know of a dream beside their own input.


@dataclass(frozen=True, slots=True)
class Brief:
    """Settings, the local day and zone, and the workspace's own prompts folder."""

    settings: Settings
    day: date
    zone: tzinfo
    prompts_folder: Path | None = None

    def room(self, model: Model, *texts: str) -> int:
        """Return the tokens left of the model's window beside `texts`, the answer, the tools and a margin."""
        answer = min(model.max_output, model.window // 4)
        used = sum(model.count(text) for text in texts) + answer + MARGIN_TOKENS + TOOLS_TOKENS
        return max(model.window - used, SMALLEST_ROOM)
