"""The model inside the package: deterministic, offline, pure Python, no key and no download. It quotes, never rewrites.

It reads only what any model is sent (prompts.py renders it) and answers in the same contracts, in five stages:

read      messages and lines → sentences, each with what stood before it
state     sentence → `Statement`: what kind of thing it states, whether it is meant, what it is worth
fact      two statements → whether the one takes the place of the other
choose    statements → those that there is room for
write     `Statement` → a line: the speaker's own words, the day, and in brackets what a reader needs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dream.chat import ChatMessage, Completion, Tool
from dream.embedded import read
from dream.embedded.analyse import analyse, spoken
from dream.embedded.sections import Utterance, conversation, files, history, owners, section
from dream.embedded.statement import history_line
from dream.errors import ToolsUnsupported
from dream.memory import MEMBERS
from dream.reports import Usage
from dream.text.tokens import estimate
from dream.text.tongues import is_wide

UNKNOWN = (
    "I am the embedded model: I only consolidate conversations and find facts in history. "
    "Name a language model in the settings for anything else."
)


class EmbeddedModel:
    """The model that works with nothing configured: no network, no key, the same answer every time."""

    name = "embedded"
    window = 32_768
    max_output = 16_384  # as much as a batch is long: each statement of it may be a finding

    def count(self, text: str) -> int:
        """Estimate the tokens of a text."""
        return estimate(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer the job that the last user message holds, whatever it is.

        Raises ToolsUnsupported where it is given tools: what it would edit, code does without a model.
        """
        if tools:
            raise ToolsUnsupported("The embedded model calls no tools.")
        limit = min(max_tokens or self.max_output, self.max_output)
        data = next((m.content for m in reversed(messages) if m.role == "user"), "")
        answer = _answer(data, limit)
        spent = Usage(
            calls=1,
            input_tokens=sum(self.count(m.content) for m in messages),
            output_tokens=self.count(answer.text),
            cost_usd=0.0,
        )
        return replace(answer, usage=spent, model=self.name)


def _answer(data: str, limit: int) -> Completion:
    talk = section(data, "conversation")
    if talk is not None and not data.lstrip().startswith("<file"):
        return Completion(consolidate(conversation(talk), limit))
    log = _last_section(data, "history")
    if log is None:
        return Completion(UNKNOWN)
    place = section(data, "place")
    group = place is not None and MEMBERS in place
    findings = analyse(files(data), history(log), owners(data), within=place is not None, group=group)
    most = _characters(limit, log)
    if len(findings) > most:  # every line counts, so it says that some are cut off
        return Completion(findings[:most], finish="length")
    return Completion(findings)


def consolidate(messages: Sequence[Utterance], limit: int) -> str:
    """Return the bullets of a conversation, at most `limit` tokens, or `(nothing)`."""
    said = spoken(read.statements(messages), limit)
    return "\n".join(f"- {history_line(one)}" for one in said) or "(nothing)"


def _last_section(data: str, tag: str) -> str | None:
    start = data.find(f"\n<{tag}>")
    return section(data[max(start, 0) :], tag)


def _characters(tokens: int, sample: str) -> int:
    """Turn a bound in tokens into characters, for the script that `sample` is written in."""
    return int(tokens * (0.85 if is_wide(sample[:20_000]) else 3.2))
