"""Commands that an agent ran: those of a line that occur in its tool calls, and whether their results confirm it.

A line has a command in backticks, exactly as in the call. A single word in backticks may be a name or a path, which
need not have been run. A command that only an output, a page or a file proposes is in no call of the agent, so it never
counts as one that worked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dream.models import CommandRun
from dream.text.words import without_bullet

HOW_TO = "How to"  # the heading of MEMORY.md below which these lines stand
VAIN = "Tried in vain"  # so the summary's prompt has a line begin on what failed each time, in every language
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]+)\1(?!`)")
_NAME = re.compile(r"(?!.*://)[^\s;&|<>$(){}'\"\\]+")
_BEFORE, _AFTER = r"(?<![\w./:=@-])", r"(?![\w/:=@-]|\.\w)"  # where a word of a command begins and ends


def in_backticks(line: str) -> list[str]:
    """Return the texts in backticks in a line, with single blanks."""
    return [" ".join(found[2].split()) for found in _CODE.finditer(line)]


def without_backticks(line: str) -> str:
    """Return a line without the texts in backticks."""
    return _CODE.sub(" ", line)


def is_name(text: str) -> bool:
    """Return whether a text is one word without shell characters: a name or a path, not a command with arguments."""
    return _NAME.fullmatch(text) is not None


def holds(command: str, part: str) -> bool:
    """Return whether a command contains `part` as whole words."""
    inside = f"{_BEFORE}{re.escape(part)}{_AFTER}"
    return bool(part) and re.search(inside, " ".join(command.split())) is not None


def are_known(line: str, commands: Iterable[str]) -> bool:
    """Return whether a line has commands in backticks that all occur in `commands`; it may contain names too."""
    known = tuple(commands)
    told = {part: any(holds(command, part) for command in known) for part in in_backticks(line)}
    return any(told.values()) and all(found or is_name(part) for part, found in told.items())


def borne_out(line: str, runs: Sequence[CommandRun]) -> tuple[str, ...]:
    """Return the commands in a line that calls hold, given as `runs` in their order; none where no result bears it out.

    The last result of one of the commands is no error, or the last of all: a call of several commands fails where only
    its last one did, and what runs after it shows that the others worked. Of what was tried in vain no result is fine.
    """
    found = {part: [run for run in runs if holds(run.command, part)] for part in in_backticks(line)}
    last = [same[-1].failed for same in found.values() if same]
    vain = without_bullet(line).startswith(VAIN)
    shown = bool(last) and (False not in last if vain else not all([*last, runs[-1].failed]))
    return tuple(part for part, same in found.items() if same) if shown else ()
