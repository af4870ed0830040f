"""What a model and history may see of a message: what was said, and no secret in it.

What memory said itself is not learnt again: its files pasted back, its history, dream's own prompts and answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dream import prompts
from dream.models import MEMORY_FILES, Message, Role
from dream.redact import redact
from dream.settings import SHIPPED_PROMPTS
from dream.text.safe import clean
from dream.transcripts.clean import asks_memory, said
from dream.transcripts.turns import role
from dream.workspace import files

LEAST = 2  # facts in a row, line for line as memory has them; one alone may be the user's own wording
PROMPT_LINE = 40  # characters; a user rarely types a whole prompt line of this length by chance
NO_OUTPUT = "(no output)"  # the result of a command that printed nothing
NAME_CHARS = 100  # characters of a speaker's name, which prefixes each part of the message

_SPEAKERS: tuple[Role, ...] = ("user", "assistant", "tool")
_SECTIONS = re.compile(
    r"<history>\s*\n\[\d+\].*?(?:</history>|\Z)|<findings>\s*\n\d+\. \[.*?(?:</findings>|\Z)"
    r"|<conversation session=\".*?(?:</conversation>|\Z)"
    r"|<owners>\s*\n.*?(?:</owners>|\Z)"
    r"|<file path=\"(?:SOUL|USER|memory/MEMORY|places/[\w-]+/(?:SOUL|MEMORY))\.md\">.*?(?:</file>|\Z)"
    r"|<today>[\d-]{10}</today>",
    re.DOTALL,
)
_ROW = re.compile(
    r"\s*\{\"cursor\": ?\d+, ?\"timestamp\":.*"
    r"|\s*(?:[-*] )?(?:\d+\. )?\[(?:SOUL|USER|MEMORY)(?:-REMOVE)?(?:/[^\]]*)?\] .*\{[\d, ]+\}\s*"
)
_SIGNS = re.compile(  # only then is there anything to look for
    r"<(?:history|findings|today|owners)>|<conversation |<file |\{\"cursor\""
    r"|\[(?:SOUL|USER|MEMORY)(?:-REMOVE)?(?:/[^\]]*)?\] "
)
_NUMBER = re.compile(r"^\s*\d+(?:\t|→|[|:│] ?)")  # tools that show a file number its lines


def known_lines(root: Path, prompts_folder: Path | None) -> frozenset[str]:
    """Return the lines of the memory files below `root`, and the long lines of the prompts.

    A file that is not text has none: to say so is the dream's business.
    """
    named = (*MEMORY_FILES, *files.place_files(root))
    texts = [(files.read_bytes(root / name) or b"").decode("utf-8", "replace") for name in named]
    known = {line.strip() for text in texts for line in text.splitlines()}
    for name in SHIPPED_PROMPTS:
        text = prompts.load(name, prompts_folder, language="")
        known.update(line.strip() for line in text.splitlines() if len(line) >= PROMPT_LINE)
    return frozenset(known - {""})


def without_remembered(text: str, known: frozenset[str]) -> str:
    """Return `text` without the passages that are memory's own words."""
    if _SIGNS.search(text):
        text = _SECTIONS.sub("", text)
        text = "\n".join(line for line in text.split("\n") if not _ROW.fullmatch(line))
    lines = text.split("\n")
    own = [_bare(line) in known for line in lines]
    if not any(own):
        return text
    facts = sum(1 for line, mine in zip(lines, own, strict=True) if mine and _is_fact(line))
    if facts and all(mine or not _bare(line) for line, mine in zip(lines, own, strict=True)):
        return ""
    drop = {place for run in _runs(lines, own) for place in run}
    return "\n".join(line for place, line in enumerate(lines) if place not in drop)


def _runs(lines: list[str], own: list[bool]) -> Iterator[list[int]]:
    """Yield the places of lines in a row that are memory's, blank ones between them, where they hold facts enough."""
    run: list[int] = []
    for place, line in enumerate([*lines, "end"]):
        if place < len(lines) and (own[place] or (run and not _bare(line))):
            run.append(place)
            continue
        if sum(1 for at in run if own[at] and _is_fact(lines[at])) >= LEAST:
            yield run
        run = []


def _bare(line: str) -> str:
    return _NUMBER.sub("", line).strip()


def _is_fact(line: str) -> bool:
    return not _bare(line).startswith("#")


def prepare(message: Message, patterns: Sequence[str], known: frozenset[str] = frozenset()) -> Message:
    """Return `message` as it may be summarised; its content is empty where the model need not read it.

    System messages, recalled memory (`<dream-memory>` and the like, what a tool that asks memory answers, and passages
    of the lines that are `known` to be memory's), inline images and control characters go; secrets are replaced by
    their mark; a command that printed nothing says so. A role that is none of ours becomes the nearest. What it says in
    full, where `content` is shorter, is left as it is for `whole`.
    """
    if message.role not in _SPEAKERS:
        nearest, name = role(message.role)
        if nearest is None:
            return replace(message, content="", whole="")
        message = replace(message, role=nearest, name=message.name or name)
    if message.role == "tool" and asks_memory(message.name or ""):
        return replace(message, content="", whole="", ran=None)
    content = safe(without_remembered(said(message.content), known), patterns)
    ran = message.ran and replace(message.ran, command=safe(message.ran.command, patterns))
    if ran and not content:
        content, ran = ("", None) if message.content.strip() else (NO_OUTPUT, ran)  # else it printed memory alone
    return replace(message, content=content, whole=message.whole if content else "", name=_name(message.name), ran=ran)


def whole(message: Message, patterns: Sequence[str], known: frozenset[str] = frozenset()) -> Message:
    """Return a prepared message with its full text as its content, prepared in the same way."""
    content = safe(without_remembered(said(message.whole), known), patterns)
    return replace(message, content=content or message.content, whole="")


def safe(text: str, patterns: Sequence[str]) -> str:
    """Return `text` free of secrets and of characters that no file of ours may hold."""
    return redact(clean(text), patterns)[0].strip()


def _name(name: str | None) -> str | None:
    """Return a speaker's name, marked where something in it can't be seen: else it would be another person's."""
    if not name:
        return None
    given = " ".join(name.split())[:NAME_CHARS].strip()
    seen = clean(given).strip()
    return seen if seen and seen == given else f"{seen}\ufffd"
