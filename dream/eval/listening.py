"""A model that is listened to: what it was asked is noted, and nothing else is different."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dream.llm.model import ChatMessage, Completion, Model, Tool
from dream.settings import Job

JOBS: tuple[Job, ...] = ("consolidator", "phase1", "phase2")


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt as it was sent: the tools first, as providers put them, then the messages in order."""

    job: Job
    prompt: str
    first: bool  # of its conversation: it has no answer of the model in it


class Listening:
    """`model`, with every prompt appended to `heard`. It is a `dream.llm.model.Model`."""

    def __init__(self, model: Model, job: Job, heard: list[Asked]) -> None:
        self._model = model
        self._job = job
        self._heard = heard
        self.name = model.name
        self.window = model.window
        self.max_output = model.max_output

    def count(self, text: str) -> int:
        return self._model.count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        prompt = [tool.name + tool.description for tool in tools]
        prompt += [f"{message.role}\n{message.content}\n" for message in messages]
        first = all(message.role in ("system", "user") for message in messages)
        self._heard.append(Asked(self._job, "\n".join(prompt), first))
        return self._model.complete(messages, tools=tools, max_tokens=max_tokens)


def shared(prompts: Iterable[str]) -> float | None:
    """Return the share, 0 to 1, of each prompt's characters that begin the one before it too; None of fewer than two.

    This is the most that a provider's prompt cache can serve from one dream to the next.
    """
    sizes = [(_common(one, other), len(other)) for one, other in pairwise(prompts)]
    return sum(same for same, _ in sizes) / max(1, sum(size for _, size in sizes)) if sizes else None


def _common(one: str, other: str) -> int:
    """Count the characters that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
