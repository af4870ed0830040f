"""What a model and history may see of a message: what was said, and no secret in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dream.models import Message, Role
from dream.redact import redact
from dream.text import clean
from dream.transcripts.clean import said
from dream.transcripts.turns import role

_SPEAKERS: tuple[Role, ...] = ("user", "assistant", "tool")


def prepare(message: Message, patterns: Sequence[str]) -> Message:
    """Return `message` as it may be summarised; its content is empty where nobody has to read it.

    System messages, recalled memory (`<dream-memory>` and the like), inline images and control characters
    go; secrets are replaced by their mark. A role that is none of ours becomes the nearest.
    """
    if message.role not in _SPEAKERS:
        known, name = role(message.role)
        if known is None:
            return replace(message, content="")
        message = replace(message, role=known, name=message.name or name)
    return replace(message, content=safe(said(message.content), patterns), name=_name(message.name))


def safe(text: str, patterns: Sequence[str]) -> str:
    """Return `text` free of secrets and of characters that no file of ours may hold."""
    return redact(clean(text), patterns)[0].strip()


def _name(name: str | None) -> str | None:
    return (clean(name).strip() or None) if name else None
