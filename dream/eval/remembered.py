"""What is left of a conversation after its nights: everything that the measures look at, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dream.eval.conversation import Conversation
from dream.eval.scratch import Night, Scratch, Tell
from dream.eval.words import CHARS, cut
from dream.models import Kept, MemoryFile
from dream.trace import Origin, origins


@dataclass(frozen=True, slots=True)
class Again:
    """What a second look at the same transcripts did: all of it must be nothing."""

    calls: int
    commits: int
    entries: int
    changed: int  # files


@dataclass(frozen=True, slots=True)
class Remembered:
    """A conversation, and what memory holds of it.

    `contexts` are what an agent gets of `Workspace.context` at each size in tokens; `messages` is the id of the
    message at each (session, position).
    """

    conversation: Conversation
    contexts: Mapping[int, str]
    files: Mapping[MemoryFile, str]
    archive: Sequence[str]
    summaries: Sequence[str]
    origins: Sequence[Origin]
    messages: Mapping[tuple[str, int], str]
    nights: Sequence[Night]
    kept: Kept
    again: Again

    @property
    def memory(self) -> str:
        """USER.md, MEMORY.md and SOUL.md, one after the other."""
        return "\n".join(self.files[name] for name in ("USER.md", "memory/MEMORY.md", "SOUL.md"))


def remember(
    conversation: Conversation, scratch: Scratch, sizes: Sequence[int], *, each: int = 1, tell: Tell
) -> Remembered:
    """Feed a conversation to a fresh workspace, `each` sessions a night, and look at what is left."""
    sessions = conversation.sessions
    for start in range(0, len(sessions), each):
        tell(f"{conversation.name}: session {start + 1} of {len(sessions)}")
        scratch.night(sessions[start : start + each])
    contexts = {size: context(scratch, size) for size in sizes}
    return Remembered(
        conversation=conversation,
        contexts=contexts,
        files=scratch.files(),
        archive=scratch.archive(),
        summaries=scratch.summaries(),
        origins=origins(scratch.workspace),
        messages=dict(scratch.messages),
        nights=tuple(scratch.nights),
        kept=scratch.kept,
        again=_again(scratch),  # last: it dreams
    )


def context(scratch: Scratch, size: int) -> str:
    """Return what an agent gets of memory within `size` tokens, counted as the measures count them."""
    return scratch.workspace.context(size, count=lambda text: -(-len(text) // CHARS))


def at(summaries: Sequence[str], size: int) -> str:
    """Cut history to `size` tokens: the first lines of each entry, as much of each as its share of the whole."""
    whole = sum(map(len, summaries)) + len(summaries)
    share = min(1.0, CHARS * size / max(1, whole))
    if share == 1.0:
        return "\n".join(summaries)
    return "\n".join(cut(text, max(1, int(len(text) * share / CHARS))) for text in summaries)


def _again(scratch: Scratch) -> Again:
    """Read every transcript once more, a night later; call it after everything else was looked at."""
    before, made = scratch.files(), len(scratch.workspace.git.log())
    night = scratch.again()
    after = scratch.files()
    return Again(
        calls=len(night.asked),
        commits=len(scratch.workspace.git.log()) - made,
        entries=0 if night.consolidated.entries is None else 1,
        changed=sum(before[file] != after[file] for file in before),
    )
