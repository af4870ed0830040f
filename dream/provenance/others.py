"""What others said: which lines of a summary only a tool's output, or what a user pasted, bears out."""

from __future__ import annotations

from collections.abc import Sequence

from dream.models import Message
from dream.provenance.line import bare, names_user
from dream.provenance.message import typed
from dream.wording import content_words, without_said_on

MOSTLY = 0.6  # of a line's words that others must have said for it to be theirs,
NOT_OURS = 0.3  # and how many more of them than user and agent


def by_others(content: str, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the lines that only a tool's output, or what a user pasted, bears out.

    What the agent said counts with the user's words here: most of what a tool finds is worth keeping, once the agent
    has made something of it.
    """
    by_us = [_of_ours(message) for message in messages]
    if all(own == message.content for own, message in zip(by_us, messages, strict=True)):
        return ()
    ours: set[str] = set()
    theirs: set[str] = set()
    for own, message in zip(by_us, messages, strict=True):
        said = content_words(message.content)
        theirs |= said
        ours |= said if own == message.content else content_words(own)
    if theirs == ours:
        return ()
    return tuple(
        number
        for number, line in enumerate(content.split("\n"), start=1)
        if (told := content_words(bare(without_said_on(line))))
        and len(told & theirs) >= MOSTLY * len(told)
        and len(told & theirs) - len(told & ours) >= NOT_OURS * len(told)
        and not names_user(line, ours)
    )


def _of_ours(message: Message) -> str:
    """Return the part of a message that the user or the agent said."""
    if message.role == "user":
        return typed(message.content)
    return message.content if message.role == "assistant" else ""
