"""The Consolidator's job: a conversation as bullets that keep what matters."""

from __future__ import annotations

from collections.abc import Sequence

from dream.llm.embedded.coverage import KEEP, ranked
from dream.llm.embedded.dates import dated
from dream.llm.embedded.elliptic import is_verbless
from dream.llm.embedded.offering import WIDTH, Line, candidates, person, split_date
from dream.llm.embedded.routing import calls
from dream.llm.embedded.sections import Said
from dream.llm.embedded.words import content

BACK = 8  # lines
BRIEF = 140  # characters of a line that is joined with the next one of its speaker


def consolidate(messages: Sequence[Said], limit: int) -> str:
    """Return the bullets of a conversation, at most `limit` characters, or `(nothing)`."""
    lines = candidates(messages)
    weighed = [(line.text, line.content, line.factor) for line in lines]
    chosen: list[int] = []
    for index in ranked(weighed, again=KEEP):
        if limit < len(lines[index].text) + 3:
            break
        limit -= len(lines[index].text) + 3
        chosen.append(index)
    texts = joined([lines[index] for index in sorted(chosen)])
    named = next((name for m in messages if m.role == "user" and (name := person(m))), "")
    if texts and named:
        texts.insert(0, calls(named))
    return "\n".join(f"- {text}" for text in texts) or "(nothing)"


def joined(lines: Sequence[Line]) -> list[str]:
    """Join two statements that a named speaker made one after the other, where both fit a line."""
    done: list[Line] = []
    for line in lines:
        place = next(
            (n for n in range(len(done) - 1, max(-1, len(done) - 1 - BACK), -1) if _follows(done[n], line)), None
        )
        if place is not None and len(done[place].text) + len(line.tail) < WIDTH:
            tail = _tail(done[place], line) + split_date(line.text)[1]
            done[place] = done[place].holds(tail, line.factor, line.place)
        else:
            done.append(line)
    return [line.text for line in done]


def _follows(last: Line, line: Line) -> bool:
    near = (last.source == line.source and 0 <= line.place - last.place <= 2) or _brief(last, line)
    return near and line.tail != "" and not last.joined and not line.joined and last.name in last.text


def _brief(last: Line, line: Line) -> bool:
    """Say whether both tell in short of one thing, on no day of its own, others speaking in between."""
    quoted = f"{line.name}: "
    form = quoted if last.text.startswith(quoted) else f"{line.name} "
    of_one_thing = last.content.keys() & line.content.keys() - content(line.name).keys()
    alike = bool(of_one_thing) and last.text.startswith(form) and line.text.startswith(form)
    if not alike or is_verbless(line.tail):
        return False
    near = 0 < line.source - last.source <= 8 and line.name == last.name and max(len(last.text), len(line.text)) < BRIEF
    days = [split_date(one.text)[1] or dated(one.text) for one in (last, line)]
    return near and (not all(days) or not any(dated(split_date(one.text)[0]) for one in (last, line)))


def _tail(last: Line, line: Line) -> str:
    """Return a statement as it follows another by the same speaker: without the name, where both tell of who bears it."""
    told = f"{line.name} "
    if not line.text.startswith(told) or last.text.startswith(f"{line.name}: "):
        return line.tail
    whole = split_date(line.text)[0]
    return whole[len(told) :] if f", {told}" in f", {last.text}" else whole
