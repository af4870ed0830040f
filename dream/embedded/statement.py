"""The values between the stages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dream.models import MemoryFile

Label = str  # one of dream.language.kinds.LABELS


@dataclass(frozen=True, slots=True)
class Statement:
    """What one speaker said in one or two sentences, verbatim, and how it is taken.

    `kind` is a label of kinds.py; `meant` is false for what is no claim of the speaker's (a joke, a question, …).
    `asked` is what a reader needs beside it: the question that it answers, the heading of its list. `code` is its
    language, `source` the number of its message and `place` that of its last sentence there.
    """

    text: str
    day: date | None = None
    speaker: str = ""
    kind: Label = "fact"
    meant: bool = True
    weight: float = 1.0
    asked: str = ""
    code: str = "en"
    earlier: str = ""
    quoted: bool = True
    source: int = 0
    place: int = 0
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class New:
    """A line to add to a file, with the cursors that it rests on and the old lines whose place it takes."""

    file: MemoryFile
    statement: Statement
    cursors: tuple[int, ...]
    replaces: tuple[tuple[MemoryFile, str], ...] = ()
