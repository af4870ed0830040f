"""A fact that is said directly: into history at once, into memory with the next dream."""

from __future__ import annotations

from datetime import datetime

from dream.errors import UsageError
from dream.language.text import clean
from dream.llm import tokens
from dream.models import Entry, NewEntry
from dream.redact import redact
from dream.settings import Settings
from dream.workspace.workspace import Workspace


def note(workspace: Workspace, text: str, *, settings: Settings, now: datetime) -> Entry:
    """Append `text` to history as a note and return the entry; secrets are replaced by a typed mark first.

    Raises UsageError when nothing is left of it, and HistoryError when it cannot be written.
    """
    safe, _ = redact(clean(text).strip(), settings.redact_patterns)
    if not safe:
        raise UsageError('There is nothing to note: dream note "I am allergic to peanuts".')
    return workspace.history.append([NewEntry("note", safe, tokens=tokens.estimate(safe))], now=now)[0]
