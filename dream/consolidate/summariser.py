"""From a chunk of a session to history entries: one model call, one retry, else `[RAW]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from dream import prompts
from dream.consolidate import cut, fidelity, raw, summary
from dream.consolidate.attributed import attributed
from dream.consolidate.cut import Item
from dream.consolidate.patience import Patience
from dream.consolidate.prepare import prepare, safe, whole
from dream.errors import AnswerUnusable, ModelError, ModelInaccessible, PromptTooLong, SpendingLimit
from dream.llm.model import ChatMessage, Model
from dream.models import Diagnostic, Kept, Message, NewEntry, Report, Usage
from dream.provenance import citing
from dream.settings import Settings
from dream.store.stuck import Stuck

CHUNK_TOKENS = 8_000  # of messages in one summary, where the window allows; from more, each is told in less detail
LEAST_TOKENS = 256  # of messages in one call, however small the window
RETRY_TOKENS = 500  # of the rejected answer and what was wrong with it
TEMPLATE_TOKENS = 100  # of the section's tags and the provider's own marks between messages
WINDOW_SHARE = 0.95  # what a tokenizer that isn't the model's own may be wrong by
HALVINGS = 2  # of a chunk that turns out too long for the model


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that go into history together, what they cost, and how much of the exact was kept in them."""

    entries: tuple[NewEntry, ...]
    usage: Usage = field(default_factory=Usage)
    kept: Kept = field(default_factory=Kept)


class Summariser:
    """Summarises the chunks of one session with `model`; what the model did wrong is reported, never raised.

    Only two things get through: a SpendingLimit, raised before a call, and, where the messages `can_wait` in their
    transcript, a ModelInaccessible: until a person has mended the key or the name, no session is worth less.
    """

    def __init__(  # noqa: PLR0913 - what a session's summaries need, by name
        self,
        model: Model,
        settings: Settings,
        *,
        folder: Path | None,
        report: Report | None,
        patience: Patience,
        stuck: Stuck,
        can_wait: bool,
        known: frozenset[str] = frozenset(),
        now: datetime,
    ) -> None:
        self._model = model
        self._known = known
        self._patterns = settings.redact_patterns
        self._zone = settings.zone()
        self._report = report
        self._patience = patience
        self._stuck = stuck
        self._can_wait = can_wait
        self._now = now
        self._told = False
        self._prompt = prompts.load("consolidate", folder, language=prompts.language(settings.language))
        self._answer = max(1, min(model.max_output, settings.max_output_tokens, model.window // 4))
        self.budget = self._budget(settings)

    def _budget(self, settings: Settings) -> int:
        window = int(self._model.window * WINDOW_SHARE)
        if settings.max_call_tokens:
            window = min(window, settings.max_call_tokens)
        own = self._model.count(self._prompt) + self._answer + RETRY_TOKENS + TEMPLATE_TOKENS
        return max(LEAST_TOKENS, min(CHUNK_TOKENS, window - own))

    def item(self, position: int, message: Message) -> Item:
        """Prepare the message at `position` for the model and count it; one that nobody has to read costs 1."""
        ready = prepare(message, self._patterns, self._known)
        return Item(position, ready, self._tokens(position, ready) if ready.content else 1)

    def batches(self, key: str, items: Sequence[Item]) -> Iterator[Batch]:
        """Yield what stands for `items` in history, in order; append each batch before asking for the next.

        The parts of one long message come as one batch, so that they are in history together or not at all.
        """
        said = max((item.message.at for item in items if item.message.at), default=None)
        for batch in self._batches(key, items, HALVINGS):
            yield replace(batch, entries=tuple(replace(entry, said=said) for entry in batch.entries))

    def _batches(self, key: str, items: Sequence[Item], halvings: int) -> Iterator[Batch]:
        if not any(item.message.content for item in items):
            yield Batch((NewEntry("nothing", "", key, cut.span(items), ids=cut.ids(items)),))
        elif len(items) == 1 and items[0].tokens > self.budget:
            yield self._long(key, items, halvings)
        else:
            yield from self._fitting(key, items, halvings)

    def _long(self, key: str, items: Sequence[Item], halvings: int) -> Batch:
        """Summarise one message in parts; where a spending bound stops that twice, keep it as it was said."""
        try:
            batch = self._parted(key, items, self.budget, halvings)
        except SpendingLimit as error:
            if not self._stuck.again(key, items[0].position):
                raise
            batch = self._raw(key, items, Usage(), f"it costs more than a run may: {error}")
        self._stuck.over(key)
        return batch

    def _fitting(self, key: str, items: Sequence[Item], halvings: int) -> Iterator[Batch]:
        try:
            yield self._summary(key, items)
        except PromptTooLong as error:
            if halvings:
                yield from self._halves(key, items, halvings - 1)
            else:
                yield self._raw(key, items, Usage(), str(error))

    def _halves(self, key: str, items: Sequence[Item], halvings: int) -> Iterator[Batch]:
        half = max(1, sum(item.tokens for item in items) // 2)
        if len(items) == 1:
            yield self._parted(key, items, half, halvings)
            return
        size = min(cut.cut(items, half), len(items) - 1)
        yield from self._batches(key, items[:size], halvings)
        yield from self._batches(key, items[size:], halvings)

    def _parted(self, key: str, items: Sequence[Item], budget: int, halvings: int) -> Batch:
        """Summarise one message in parts; one that says more than its content, and failed in part, is kept whole."""
        batch = _joined(self._in_parts(key, items[0], budget, halvings))
        if not items[0].message.whole or all(entry.kind != "raw" for entry in batch.entries):
            return batch
        return replace(batch, entries=tuple(replace(entry, by_user=()) for entry in self._kept(key, items)))

    def _kept(self, key: str, items: Sequence[Item]) -> list[NewEntry]:
        return raw.entries(
            key, items, self._zone, self._model.count, lambda message: whole(message, self._patterns, self._known)
        )

    def _in_parts(self, key: str, item: Item, budget: int, halvings: int) -> Iterator[Batch]:
        for part in cut.parts(item, budget, lambda message: self._tokens(item.position, message)):
            for batch in self._fitting(key, [part], halvings):
                # So long a message is pasted, also where its last part is short: none of it is the user's own saying.
                yield replace(batch, entries=tuple(replace(entry, by_user=()) for entry in batch.entries))

    def _summary(self, key: str, items: Sequence[Item]) -> Batch:
        """Ask for a summary of `items`, twice at the most; raises PromptTooLong and ModelInaccessible."""
        if self._patience.lost(self._now):
            return self._raw(key, items, Usage(), "the model failed too often in a row and was not asked")
        conversation = self._conversation(key, items)
        system, user = prompts.filled(self._prompt, conversation)
        prompt = [ChatMessage("system", system), ChatMessage("user", user)]
        usage, wrong = Usage(), AnswerUnusable("")
        for again in (False, True):
            try:
                asked = [*prompt, *_retry(wrong)] if again else prompt
                completion = self._model.complete(asked, max_tokens=self._answer)
                self._patience.answered()
                usage += completion.usage
                clean = replace(completion, text=safe(completion.text, self._patterns))
                text = summary.read(clean, conversation, self._answer, self._model.count, prompt=self._prompt)
                return self._written(key, items, text, usage, completion.model)
            except AnswerUnusable as error:
                wrong = error
            except PromptTooLong:
                raise
            except ModelError as error:
                if self._can_wait and isinstance(error, ModelInaccessible):
                    raise
                self._patience.failed(error, self._now)
                return self._raw(key, items, usage, str(error))
        return self._raw(key, items, usage, f"the model's answer did not count twice: {wrong}")

    def _written(self, key: str, items: Sequence[Item], text: str, usage: Usage, model: str) -> Batch:
        name = model or self._model.name
        if not text:
            return Batch((NewEntry("nothing", "", key, cut.span(items), 0, name, cut.ids(items)),), usage)
        messages = {item.position: item.message for item in items}
        told = citing.cited(text, messages)
        text, kept = fidelity.completed("\n".join(line.text for line in told), list(messages.values()), self._zone)
        told += (
            citing.cited("\n".join(text.split("\n")[len(told) :]), messages)
            if len(told) < len(text.split("\n"))
            else []
        )
        told = citing.with_wishes(told, messages)
        text = "\n".join(line.text for line in told)
        entry = NewEntry("summary", text, key, cut.span(items), self._model.count(text), name, cut.ids(items))
        entry = replace(entry, rests=tuple(line.rests for line in told))
        return Batch((attributed(entry, list(messages.values())),), usage, kept)

    def _raw(self, key: str, items: Sequence[Item], usage: Usage, reason: str) -> Batch:
        """Keep `items` as they were said, and report it; once a session where the model is not asked any more."""
        lost = self._patience.lost(self._now)
        if self._report and not self._told:
            first, last = items[0].position, items[-1].position
            which = f"messages {first}–{last}" + (" and all that follow" if lost else "")
            self._report(Diagnostic(key, 0, f"{which} are kept as they were said: {reason}"))
        self._told = lost
        return Batch(tuple(self._kept(key, items)), usage)

    def _conversation(self, key: str, items: Sequence[Item]) -> str:
        told = [item for item in items if item.message.content]
        places = [item.position for item in told]
        return prompts.conversation(key, places[0], [item.message for item in told], self._zone, positions=places)

    def _tokens(self, position: int, message: Message) -> int:
        return max(1, self._model.count(prompts.message(position, message, self._zone) + "\n"))


def _retry(wrong: AnswerUnusable) -> list[ChatMessage]:
    reason = f"The last answer did not count: {wrong}. Answer again, shorter, in bullet lines only, or (nothing)."
    return [ChatMessage("assistant", "(no answer)"), ChatMessage("user", reason)]


def _joined(batches: Iterator[Batch]) -> Batch:
    """Join batches into one; an entry that says nothing and completes no message is left out."""
    found = list(batches)
    entries = tuple(
        entry
        for batch in found
        for entry in batch.entries
        if entry.kind != "nothing" or entry.span is None or entry.span[0] < entry.span[1]
    )
    kept = sum((batch.kept for batch in found), Kept())
    return Batch(entries, sum((batch.usage for batch in found), Usage()), kept)
