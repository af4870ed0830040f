"""Part an edit that inserts several lines, so that a guard stops the one it means and not its neighbours. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dream.models import Finding
from dream.phases.draft import Edit
from dream.phases.similar import coverage


def parted(edit: Edit, findings: Sequence[Finding], stopped: Callable[[Edit], bool]) -> list[Edit]:
    """Return the edit without the lines that are `stopped` by themselves, then one edit for each of those.

    `findings` are all of the dream's; each that the edit names goes with the line that says most of it. An edit that
    changes or removes lines, or all of whose lines are stopped, stays whole.
    """
    kept, new = _inserted(edit)
    if len(new) < 2:
        return [edit]
    alone = {place: _only(edit, kept, new, [place]) for place in new}
    bad = [place for place in new if stopped(alone[place])]
    good = [place for place in new if place not in bad]
    if not bad or not good:
        return [edit]
    lines = edit.new_text.splitlines()
    goes_with = {number: _nearest(findings[number - 1].text, lines, new) for number in edit.findings}

    def numbers(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(number for number in edit.findings if goes_with[number] in places) or edit.findings[:1]

    return [
        replace(_only(edit, kept, new, good), findings=numbers(good)),
        *(replace(alone[place], findings=numbers([place])) for place in bad),
    ]


def _inserted(edit: Edit) -> tuple[list[int], list[int]]:
    """Return the places in `new_text` of the old lines and of the new ones; no new ones where an old one is missing."""
    old = edit.old_text.splitlines()
    kept: list[int] = []
    new: list[int] = []
    for place, line in enumerate(edit.new_text.splitlines()):
        if old and line == old[0]:
            kept.append(place)
            old.pop(0)
        elif line.strip() and not line.lstrip().startswith("#"):
            new.append(place)
    return (kept, []) if old else (kept, new)


def _only(edit: Edit, kept: Sequence[int], new: Sequence[int], places: Sequence[int]) -> Edit:
    """Return the edit with no new lines but those at `places`; headings and blank lines stay."""
    drop = {place for place in new if place not in places}
    lines = edit.new_text.splitlines(keepends=True)
    text = "".join(line for place, line in enumerate(lines) if place not in drop)
    if not edit.new_text.endswith("\n"):
        text = text.removesuffix("\n")
    return replace(edit, new_text=text)


def _nearest(fact: str, lines: Sequence[str], places: Sequence[int]) -> int:
    return max(places, key=lambda place: (coverage(fact, lines[place]), -place))
