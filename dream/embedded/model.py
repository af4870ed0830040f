"""`EmbeddedModel`: finds its job in the sections of the prompt and answers it."""

from __future__ import annotations

from collections.abc import Sequence

from dream.embedded import choose, read
from dream.embedded.analyse import analyse
from dream.embedded.edit import edit
from dream.embedded.sections import Utterance, conversation, files, history, section
from dream.embedded.write import history_line
from dream.language.tongue import is_wide
from dream.llm.model import ChatMessage, Completion, Tool
from dream.llm.tokens import estimate
from dream.models import Usage

UNKNOWN = (
    "I am the embedded model: I only consolidate conversations, find facts in history and edit memory files. "
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
        """Answer the job that the last user message holds; never raises, whatever the messages are."""
        limit = min(max_tokens or self.max_output, self.max_output)
        data = next((m.content for m in reversed(messages) if m.role == "user"), "")
        answer = self._answer(data, messages, tools, limit)
        text = answer if isinstance(answer, Completion) else Completion(answer, model=self.name)
        spent = Usage(
            calls=1,
            input_tokens=sum(self.count(m.content) for m in messages),
            output_tokens=self.count(text.text) + sum(self.count(str(c.arguments)) for c in text.tool_calls),
            cost_usd=0.0,
        )
        return Completion(text.text, text.tool_calls, text.finish, spent, self.name)

    def _answer(
        self, data: str, messages: Sequence[ChatMessage], tools: Sequence[Tool], limit: int
    ) -> str | Completion:
        findings = section(data, "findings")
        if findings is not None:
            return edit(data, findings, messages) if tools else UNKNOWN
        talk = section(data, "conversation")
        if talk is not None and not data.lstrip().startswith("<file"):
            return consolidate(conversation(talk), limit)
        log = _last_section(data, "history")
        if log is not None:
            return _whole(analyse(files(data), history(log)), _characters(limit, log))
        return UNKNOWN


def consolidate(messages: Sequence[Utterance], limit: int) -> str:
    """Return the bullets of a conversation, at most `limit` tokens, or `(nothing)`."""
    said = choose.spoken(read.statements(messages), limit)
    return "\n".join(f"- {history_line(one)}" for one in said) or "(nothing)"


def _last_section(data: str, tag: str) -> str | None:
    start = data.find(f"\n<{tag}>")
    return section(data[max(start, 0) :], tag)


def _whole(answer: str, limit: int) -> Completion:
    """Return an answer of which every line counts: cut where it is too long, and it says so."""
    return Completion(answer) if len(answer) <= limit else Completion(answer[:limit], finish="length")


def _characters(tokens: int, sample: str) -> int:
    """Turn a bound in tokens into characters, for the script that `sample` is written in."""
    return int(tokens * (0.85 if is_wide(sample[:20_000]) else 3.2))
