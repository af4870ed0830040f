"""A line that rests on a tool's output or pasted text only, names that as its source in memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dream.models import Entry
from dream.phases.draft import Edit, lines
from dream.phases.similar import coverage
from dream.provenance.secondhand import Source, marked, names_source
from dream.wording import MARKS, content_words

RESTS_ON = 0.5  # of a line's words that a line of history must hold for it to rest on that


@dataclass(frozen=True, slots=True)
class Told:
    """The lines of one entry: whose source nobody in the conversation vouches for, and all others."""

    secondhand: tuple[tuple[str, Source], ...] = ()
    firsthand: tuple[str, ...] = ()


def told(entries: Iterable[Entry]) -> dict[int, Told]:
    """Return, by cursor, the lines of entries by who said them first; what nobody looked into counts as first-hand."""
    found: dict[int, Told] = {}
    for entry in entries:
        source: dict[int, Source] = dict.fromkeys(entry.by_tool, "tool")
        source |= dict.fromkeys(entry.by_paste, "paste")
        numbered = [(number, line) for number, line in enumerate(entry.content.split("\n"), start=1) if line.strip()]
        found[entry.cursor] = Told(
            tuple((line, source[number]) for number, line in numbered if number in source),
            tuple(line for number, line in numbered if number not in source),
        )
    return found


def with_sources(edit: Edit, here: Sequence[str], cursors: Iterable[int], known: Mapping[int, Told]) -> str:
    """Return the new text of an edit of MEMORY.md with the source named in each new line that has to name one.

    `here` are the lines that stand in the file already; a line that replaces one with a source keeps it.
    """
    cited = [known[cursor] for cursor in cursors if cursor in known]
    replaced = [(line, source) for line in lines(edit.old_text) if (source := _mark(line))]
    secondhand = [*(pair for one in cited for pair in one.secondhand), *replaced]
    if not secondhand:
        return edit.new_text
    firsthand = [line for one in cited for line in one.firsthand]
    fenced = False
    shown = []
    for line in edit.new_text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        plain = fenced or line.lstrip().startswith(("#", "```", "~~~")) or line.rstrip() in here
        source = None if plain else _source(line, secondhand, firsthand)
        shown.append(marked(line, source) if source else line)
    return "\n".join(shown)


def _source(line: str, secondhand: Sequence[tuple[str, Source]], firsthand: Sequence[str]) -> Source | None:
    """Name the source of `line`, or None where it names one, or what it says was said first-hand as well."""
    if not content_words(line) or names_source(line):
        return None
    best, source = max(((coverage(line, other), kind) for other, kind in secondhand), key=lambda pair: pair[0])
    rests = best >= RESTS_ON or not firsthand
    return source if rests and best > max((coverage(line, other) for other in firsthand), default=-1.0) else None


def _mark(line: str) -> Source | None:
    sources: tuple[Source, ...] = ("tool", "paste")
    return next((source for source in sources if any(mark in line for mark in MARKS[source])), None)
