"""Add a note: a fact that goes into history at once, and into memory with the next dream."""

from __future__ import annotations

import re
from datetime import datetime

from dream.directory import Workspace
from dream.errors import UsageError
from dream.models import Entry, EntryLine, NewEntry
from dream.redact import redact
from dream.settings import Settings
from dream.text import tokens
from dream.text.safe import clean
from dream.text.words import content_words

LONGEST = 2_000  # characters of an agent's note, which is one fact and not a document
_USERS_WORDS = re.compile(r"^\s*>[\s>]*")  # the mark of the user's own words, which only code may write


def note(
    workspace: Workspace, text: str, *, settings: Settings, now: datetime, by_agent: bool = False, place: str = ""
) -> Entry:
    """Append `text` to history as a note and return the entry; secrets are replaced by a typed mark first.

    `place` is the id of the place where it applies, "" for everywhere.
    It counts as the user's words, unless an agent adds it by itself: then it can't become a rule or a fact about the
    user.
    Raises UsageError when nothing is left of it, or an agent's is too long, and HistoryError when it cannot be written.
    """
    text = clean(text).strip()
    if by_agent and len(text) > LONGEST:
        raise UsageError(f"An agent's note is one fact, of at most {LONGEST:,} characters; this has {len(text):,}.")
    safe, _ = redact(_stated(text) if by_agent else text, settings.redact_patterns)
    if not safe:
        raise UsageError('There is nothing to note: dream note "I am allergic to peanuts".')
    lines = (EntryLine(voice="agent" if by_agent else "user"),) * (safe.count("\n") + 1)
    new = NewEntry("note", safe, tokens=tokens.estimate(safe), lines=lines, place=place)
    return workspace.history.append([new], now=now)[0]


def _stated(text: str) -> str:
    """Return the lines of an agent's note that have content, without the mark of the user's own words."""
    lines = (_USERS_WORDS.sub("- ", line) for line in text.split("\n"))
    return "\n".join(line for line in lines if content_words(line))
