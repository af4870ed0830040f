"""What a model and history may see of a message: what was said, and no secret in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dream.consolidate.remembered import without_remembered
from dream.models import Message, Role
from dream.redact import redact
from dream.text import clean
from dream.transcripts.clean import said
from dream.transcripts.turns import role

NAME_CHARS = 100  # of a speaker's name, which stands before each part of what was said

_SPEAKERS: tuple[Role, ...] = ("user", "assistant", "tool")


def prepare(message: Message, patterns: Sequence[str], known: frozenset[str] = frozenset()) -> Message:
    """Return `message` as it may be summarised; its content is empty where nobody has to read it.

    System messages, recalled memory (`<dream-memory>` and the like, and passages of the lines that are `known` to
    be memory's), inline images and control characters go; secrets are replaced by their mark. A role that is none
    of ours becomes the nearest. What it says in full, where `content` is shorter, is left as it is for `whole`.
    """
    if message.role not in _SPEAKERS:
        nearest, name = role(message.role)
        if nearest is None:
            return replace(message, content="", whole="")
        message = replace(message, role=nearest, name=message.name or name)
    content = safe(without_remembered(said(message.content), known), patterns)
    return replace(message, content=content, whole=message.whole if content else "", name=_name(message.name))


def whole(message: Message, patterns: Sequence[str], known: frozenset[str] = frozenset()) -> Message:
    """Return a message that `prepare` returned with all that it says as its content, prepared likewise."""
    content = safe(without_remembered(said(message.whole), known), patterns)
    return replace(message, content=content or message.content, whole="")


def safe(text: str, patterns: Sequence[str]) -> str:
    """Return `text` free of secrets and of characters that no file of ours may hold."""
    return redact(clean(text), patterns)[0].strip()


def _name(name: str | None) -> str | None:
    return (clean(name).strip()[:NAME_CHARS].strip() or None) if name else None
