"""From a chunk of a session to history entries: one model call, one retry, else `[RAW]`.

An answer counts as a summary where the model finished it, in lines, and shorter than what it summarises. It is held
against what the user said exactly, its lines are cited, and each entry keeps whose voice each line is.
`[RAW]` are the messages themselves, in full, over as many entries as they need: the text, all arguments of a tool call
and all of a tool's result. Not in it is what nobody said (system prompts, thinking, images, blocks that an agent or a
memory put in), secrets, and characters that can't be seen; a line ends with `\n`, and white space at a message's ends
is gone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain
from pathlib import Path

from dream import prompts
from dream.consolidate import cut, fidelity
from dream.consolidate.cut import Item, ids, parts, span
from dream.consolidate.prepare import prepare, safe, whole
from dream.errors import AnswerUnusable, ModelError, ModelInaccessible, ModelUnavailable, PromptTooLong, SpendingLimit
from dream.llm import ChatMessage, Completion, Model
from dream.models import Diagnostic, EntryLine, Message, NewEntry, Report
from dream.provenance import citations, cues
from dream.provenance.citations import without_citation
from dream.provenance.speakers import speaking
from dream.redact import repeated, secrets
from dream.reports import Fidelity, Usage
from dream.settings import EMBEDDED, Settings
from dream.text.safe import clean
from dream.text.words import coverage
from dream.workspace.files import read_note, write_note

CHUNK_TOKENS = 8_000  # tokens of the messages in one summary, where the window allows; a longer chunk loses details
LEAST_TOKENS = 256  # least tokens of messages in one call, however small the window
RETRY_TOKENS = 500  # tokens for the rejected answer and its fault, in a retry
RETRY_SENTENCE_TOKENS = 100  # of these for the sentence round it
TEMPLATE_TOKENS = 100  # tokens for the section's tags and the provider's marks between messages
WINDOW_SHARE = 0.95  # share of the window that is used: the tokenizer may not be the model's own
HALVINGS = 2  # how often a chunk is halved that is too long for the model
CALL_CHARS = 120  # characters of a command that the line of its call surely shows
COMMAND_CHARS = 600  # of a longer one that are shown with its result; a line of memory may hold no more
RAW_CHARS = 16_000  # characters of one entry, so that a prompt can hold several
SLACK_TOKENS = 200  # the summary of a very short chunk may be longer than the chunk
ECHO_SHARE = 0.5  # share of an answer's lines, from which it only repeats the prompt
SAID = 0.5  # of an example's words that the conversation must hold for it to be a fact of the conversation too
# How often a model that fails is asked again: a night with the provider down must not be spent on waiting.
PATIENCE = 6  # with calls that fail in a row
UNAVAILABLE_COST = 3  # each such call has waited through its retries already
REJECTED_COST = 1  # quick, and may be about one chunk only
RECOVERY = timedelta(minutes=10)  # after which a live agent's model is tried again

_BULLET = re.compile(r"^\s*(?:[-*+•–·]|\d{1,3}[.)、])\s*\S", re.MULTILINE)
_HEADER = re.compile(
    r"^\s*\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d (?:[A-Z][a-z]{2} )?)?(?:user|assistant|tool)\b[^:\n]*: ?"
)
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_NOTHING = re.compile(r"(?:[-*•]\s*)?[`\"'*_]*\(nothing\)[`\"'*_]*\.?", re.IGNORECASE)
_CALL = re.compile(
    r"^\s*(?:<\|?(?:tools?|tool_calls?|function_calls?|python_tag)\|?>|<function=|\[TOOL_CALLS\]|<｜tool)", re.M
)
FILE_NAME = "stuck.json"
REPEATED = 100  # secrets of a session that are looked for in its later messages; the newest count, to bound the time


def read(completion: Completion, conversation: str, most: int, count: Callable[[str], int], *, prompt: str = "") -> str:
    """Return the summary in `completion`; empty means `(nothing)`.

    `most` is the tokens that it may have. A line that only copies an example of the `prompt` is left out.
    Raises AnswerUnusable for an answer that is not finished, empty, a tool call, a refusal, an echo of the
    conversation or of the prompt, or longer than the conversation.
    """
    if completion.tool_calls or completion.finish == "tool_calls":
        raise AnswerUnusable("it calls a tool where only text was asked for")
    if completion.finish == "length":
        raise AnswerUnusable("it was cut off at the longest answer allowed")
    text = _bare(completion.text)
    if _CALL.search(text):
        raise AnswerUnusable("it calls a tool in its text where only text was asked for")
    if completion.finish == "refusal" or (not _BULLET.search(text) and cues.pattern("refuses").match(text)):
        raise AnswerUnusable("it is a refusal")
    if completion.finish != "stop":
        raise AnswerUnusable("it was not finished")
    if not text:
        raise AnswerUnusable("it is empty")
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _NOTHING.fullmatch(line.strip())]
    if len(lines) > 1 and lines[0].endswith((":", "：")) and _BULLET.match(lines[1]) and not _BULLET.match(lines[0]):
        del lines[0]  # "Here is the summary:"
    told = [line for line in lines if not _is_example(line, prompt, conversation)]
    if lines and not told:
        raise AnswerUnusable("it repeats the prompt's example")
    lines = told
    _check_size(lines, conversation, most, count)
    return "\n".join(lines)


def _bare(text: str) -> str:
    text = text.strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _is_example(line: str, prompt: str, conversation: str) -> bool:
    """Return whether `line` copies a line of the prompt, numbers aside, that the conversation does not support."""
    fact = without_citation(line)[0].strip()
    return _numberless(fact) in _examples(prompt) and coverage(fact, conversation) < SAID


@lru_cache(maxsize=16)
def _examples(prompt: str) -> frozenset[str]:
    """Return each line of the prompt, which is the same for many answers, with 0 in place of its numbers."""
    return frozenset(_numberless(without_citation(own)[0].strip()) for own in prompt.splitlines())


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _check_size(lines: list[str], conversation: str, most: int, count: Callable[[str], int]) -> None:
    if not lines:
        return
    tokens, given = count("\n".join(lines)), count(conversation)
    if tokens > most:
        raise AnswerUnusable(f"it has {tokens:,} tokens; a summary may have {most:,}")
    if tokens > given + SLACK_TOKENS:
        raise AnswerUnusable("it is longer than what it summarises")
    headers = sum(1 for line in lines if _HEADER.match(line))
    said = {line.strip() for line in conversation.splitlines()}
    copied = sum(1 for line in lines if line.strip() in said)
    if headers > ECHO_SHARE * len(lines) or (copied > ECHO_SHARE * len(lines) and 2 * tokens > given > SLACK_TOKENS):
        raise AnswerUnusable("it repeats the conversation instead of summarising it")


def raw_entries(
    key: str,
    items: Sequence[Item],
    zone: tzinfo,
    count: Callable[[str], int],
    whole: Callable[[Message], Message],
    people: frozenset[str] = frozenset(),
) -> list[NewEntry]:
    """Return entries that hold `items` in full, in the form of a prompt's conversation; their spans partition it.

    `whole` gives a message whose content is shorter than what it says with all of it as its content.
    """
    full = [replace(item, message=whole(item.message)) if item.message.whole else item for item in items]
    named = dict(zip((item.position for item in items), speaking([item.message for item in items]), strict=True))
    people |= {one.name for one in named.values() if one.role == "user" and one.name}
    return [_page(key, page, zone, count, named, people) for page in _pages(full, zone)]


def _page(
    key: str,
    page: Sequence[Item],
    zone: tzinfo,
    count: Callable[[str], int],
    named: Mapping[int, Message],
    people: frozenset[str],
) -> NewEntry:
    """Return the entry of one page of items, with the speaker of each line."""
    shown = [(piece, text) for piece in page if (text := _shown(piece, zone))]
    partly = ", in part" if not all(piece.last for piece in page) else ""
    content = "\n".join([f"[RAW] {len(shown)} messages{partly}", *(text for _, text in shown)])
    lines = [EntryLine()]  # the first line is ours
    for piece, text in shown:
        rows = [_HEADER.sub("", row) for row in text.split("\n")]
        speaker = replace(piece.message, name=named[piece.position].name)
        said = citations.of_messages(rows, piece.position, speaker, people)
        lines += map(_pasted, said) if piece.part else said
    return NewEntry("raw", content, key, span(page), count(content), ids=ids(page), lines=tuple(lines))


def _pasted(line: EntryLine) -> EntryLine:
    """Return a line of a message so long that it must have been pasted, also where a part of it is short."""
    return replace(line, voice="pasted", quote="") if line.voice in ("user", "other") else line


def _all_pasted(entry: NewEntry) -> NewEntry:
    return replace(entry, lines=tuple(map(_pasted, entry.lines)))


def _pages(items: Sequence[Item], zone: tzinfo) -> list[list[Item]]:
    room = RAW_CHARS - len("[RAW] 1000000 messages, in part\n")
    pages: list[list[Item]] = [[]]
    used = 0
    for piece in chain.from_iterable(_pieces(item, room, zone) for item in items):
        size = len(_shown(piece, zone)) + 1
        if pages[-1] and used + size > room:
            pages.append([])
            used = 0
        pages[-1].append(piece)
        used += size
    return pages


def _pieces(item: Item, room: int, zone: tzinfo) -> list[Item]:
    if len(_shown(item, zone)) < room:
        return [item]
    return parts(item, room - 1, lambda message: len(prompts.message(item.position, message, zone)))


def _shown(item: Item, zone: tzinfo) -> str:
    return prompts.message(item.position, item.message, zone) if item.message.content else ""


class Patience:
    """How much patience is left with one model. Time is the caller's `now`, which stands still in a batch run."""

    def __init__(self) -> None:
        self._left = PATIENCE
        self._failed_at: datetime | None = None

    def lost(self, now: datetime) -> bool:
        """Return whether the model should not be called at `now`."""
        return self._left <= 0 and self._failed_at is not None and now - self._failed_at < RECOVERY

    def answered(self) -> None:
        """Note that the model answered, whether the answer is usable or not."""
        self._left = PATIENCE

    def failed(self, error: ModelError, now: datetime) -> None:
        """Note that a call ended in `error`."""
        self._left -= UNAVAILABLE_COST if isinstance(error, ModelUnavailable) else REJECTED_COST
        self._failed_at = now


# Messages that a spending bound stopped midway: at the second time they are kept as they were said.
#
# Else a message that costs more than a run may would begin anew each night, and nothing after it would ever come.


class Stuck:
    """The note in `private`: session → position. Losing it costs calls and nothing else."""

    def __init__(self, private: Path) -> None:
        self._path = private / FILE_NAME
        self._lock = threading.Lock()

    def again(self, session: str, position: int) -> bool:
        """Note that the message was stopped; tell whether it had been before."""
        with self._lock:
            noted = read_note(self._path)
            if noted.get(session) == position:
                return True
            write_note(self._path, {**noted, session: position}, durable=False)
            return False

    def over(self, session: str) -> None:
        """Delete the session's note: it has made progress."""
        with self._lock:
            noted = read_note(self._path)
            if noted.pop(session, None) is not None:
                write_note(self._path, noted, durable=False)


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """Entries that go into history together, their cost, and how many exact details they keep."""

    entries: tuple[NewEntry, ...]
    usage: Usage = field(default_factory=Usage)
    kept: Fidelity = field(default_factory=Fidelity)


@dataclass(frozen=True, slots=True)
class _Summary:
    """A usable summary: its text, how many of the exact details it keeps, and the model that wrote it."""

    text: str
    check: fidelity.Check
    model: str

    @property
    def poor(self) -> bool:
        """Return whether it omits too many details; the embedded model only quotes, and is not checked."""
        return self.model != EMBEDDED and self.check.poor


class Summariser:
    """Summarises the chunks of the session `key` with `model`; what the model did wrong is reported, never raised.

    Only two things get through: a SpendingLimit, raised before a call, and, where the messages `can_wait` in their
    transcript, a ModelInaccessible: until a person has mended the key or the name, no session is worth less.
    """

    def __init__(  # noqa: PLR0913 - what a session's summaries need, by name
        self,
        key: str,
        model: Model,
        settings: Settings,
        *,
        folder: Path | None,
        report: Report | None,
        patience: Patience,
        stuck: Stuck,
        can_wait: bool,
        known: frozenset[str] = frozenset(),
        people: Callable[[], frozenset[str]],
        now: datetime,
    ) -> None:
        self._key = key
        self._people = people
        self._model = model
        self._known = known
        self._settings_patterns = self._patterns = settings.redact_patterns
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
        own = (
            self._model.count(self._prompt + prompts.runs(prompts.RUNS_TOLD))
            + self._answer
            + RETRY_TOKENS
            + TEMPLATE_TOKENS
        )
        return max(LEAST_TOKENS, min(CHUNK_TOKENS, window - own))

    def item(self, position: int, message: Message) -> Item:
        """Prepare the message at `position` and count its tokens; one that the model need not read costs 1."""
        ready = prepare(message, self._patterns, self._known)
        if "[REDACTED:" in ready.content:
            self._remember(message)
        return Item(position, ready, self._tokens(position, ready) if ready.content else 1)

    def _remember(self, message: Message) -> None:
        """Have the secrets that a message gives away taken out of the messages after it too."""
        new = [one for one in repeated(secrets(clean(message.content), self._patterns)) if one not in self._patterns]
        own = len(self._settings_patterns)
        self._patterns = (*self._settings_patterns, *(*self._patterns[own:], *new)[-REPEATED:])

    def batches(self, items: Sequence[Item]) -> Iterator[EntryGroup]:
        """Yield the entries for `items`, in order; the caller appends each batch before it asks for the next.

        The parts of one long message come as one batch, so that they are in history together or not at all.
        """
        said = max((item.message.at for item in items if item.message.at), default=None)
        for batch in self._batches(items, HALVINGS):
            yield replace(batch, entries=tuple(replace(entry, said=said) for entry in batch.entries))

    def _batches(self, items: Sequence[Item], halvings: int) -> Iterator[EntryGroup]:
        if not any(item.message.content for item in items):
            yield EntryGroup((NewEntry("nothing", "", self._key, cut.span(items), ids=cut.ids(items)),))
        elif len(items) == 1 and items[0].tokens > self.budget:
            yield self._long(items, halvings)
        else:
            yield from self._fitting(items, halvings)

    def _long(self, items: Sequence[Item], halvings: int) -> EntryGroup:
        """Summarise one message in parts; if a spending bound stops that twice, keep it word for word."""
        try:
            batch = self._parted(items, self.budget, halvings)
        except SpendingLimit as error:
            if not self._stuck.again(self._key, items[0].position):
                raise
            batch = self._raw(items, Usage(), f"it costs more than a run may: {error}")
        self._stuck.over(self._key)
        return batch

    def _fitting(self, items: Sequence[Item], halvings: int) -> Iterator[EntryGroup]:
        try:
            yield self._summary(items)
        except PromptTooLong as error:
            if halvings:
                yield from self._halves(items, halvings - 1)
            else:
                yield self._raw(items, Usage(), str(error))

    def _halves(self, items: Sequence[Item], halvings: int) -> Iterator[EntryGroup]:
        half = max(1, sum(item.tokens for item in items) // 2)
        if len(items) == 1:
            yield self._parted(items, half, halvings)
            return
        size = min(cut.cut(items, half), len(items) - 1)
        yield from self._batches(items[:size], halvings)
        yield from self._batches(items[size:], halvings)

    def _parted(self, items: Sequence[Item], budget: int, halvings: int) -> EntryGroup:
        """Summarise one message in parts; one that says more than its content, and failed in part, is kept whole."""
        batch = _joined(self._in_parts(items[0], budget, halvings))
        if not items[0].message.whole or all(entry.kind != "raw" for entry in batch.entries):
            return batch
        return replace(batch, entries=tuple(map(_all_pasted, self._in_full(items))))

    def _in_full(self, items: Sequence[Item]) -> list[NewEntry]:
        return raw_entries(
            self._key,
            items,
            self._zone,
            self._model.count,
            lambda message: whole(message, self._patterns, self._known),
            self._people(),
        )

    def _in_parts(self, item: Item, budget: int, halvings: int) -> Iterator[EntryGroup]:
        for part in cut.parts(item, budget, lambda message: self._tokens(item.position, message)):
            for batch in self._fitting([part], halvings):
                # So long a message is pasted, also where a part of it is short: none of it is the user's own saying.
                yield replace(batch, entries=tuple(map(_all_pasted, batch.entries)))

    def _summary(self, items: Sequence[Item]) -> EntryGroup:
        """Ask for a summary of `items`, twice at the most; raises PromptTooLong and ModelInaccessible."""
        if self._patience.lost(self._now):
            return self._raw(items, Usage(), "the model failed too often in a row and was not asked")
        conversation = self._conversation(items)
        runs = any(item.message.calls or item.message.role == "tool" for item in items)
        data = f"{conversation}\n{prompts.runs(prompts.RUNS_TOLD)}" if runs else conversation
        system, user = prompts.filled(self._prompt, data)
        prompt = [ChatMessage("system", system), ChatMessage("user", user)]
        stated = fidelity.stated({item.position: item.message for item in items if not item.part})
        usage, best, wrong = Usage(), None, ""
        for again in (False, True):
            try:
                asked = [*prompt, *_retry(wrong)] if again else prompt
                completion = self._model.complete(asked, max_tokens=self._answer)
                self._patience.answered()
                usage += completion.usage
                answer = self._read(completion, conversation, stated)
            except AnswerUnusable as error:
                wrong = f"{error}. Answer again, shorter, in bullet lines only, or (nothing)."
            except (ModelError, SpendingLimit) as error:
                if best is None:
                    return self._unanswered(items, usage, error)
                break
            else:
                best = answer if best is None else min(best, answer, key=lambda one: len(one.check.missing))
                if not answer.poor:
                    break
                wrong = f"{self._left_out(answer.check)} Answer again with that, in bullet lines only."
        if best is None:
            return self._raw(items, usage, f"the model's answer did not count twice: {wrong.partition('. ')[0]}")
        return self._written(items, best, usage)

    def _read(self, completion: Completion, conversation: str, stated: Sequence[fidelity.Stated]) -> _Summary:
        """Read an answer and compare it with the exact details of the users' messages."""
        clean = replace(completion, text=safe(completion.text, self._patterns))
        text = read(clean, conversation, self._answer, self._model.count, prompt=self._prompt)
        name = completion.model or self._model.name
        return _Summary(text, fidelity.check(text, stated if text or name != EMBEDDED else ()), name)

    def _left_out(self, check: fidelity.Check) -> str:
        """Return a sentence that names what a summary omits, as much of it as fits into the retry."""
        room = RETRY_TOKENS - RETRY_SENTENCE_TOKENS
        named: list[str] = []
        for one in check.left_out:
            named.append(f"[{one.place}] “{prompts.defuse(one.text)}”")
            room -= self._model.count(named[-1])
            if room < 0:
                break
        return f"it leaves out what the user said: {'; '.join(named[:-1] if room < 0 else named)}."

    def _unanswered(self, items: Sequence[Item], usage: Usage, error: ModelError | SpendingLimit) -> EntryGroup:
        """Keep `items` word for word if the model is at fault; raise errors that the caller must handle."""
        if isinstance(error, (SpendingLimit, PromptTooLong)) or (
            self._can_wait and isinstance(error, ModelInaccessible)
        ):
            raise error
        self._patience.failed(error, self._now)
        return self._raw(items, usage, str(error))

    def _written(self, items: Sequence[Item], answer: _Summary, usage: Usage) -> EntryGroup:
        messages = {item.position: item.message for item in items}
        spoken = dict(zip(messages, speaking(list(messages.values())), strict=True))
        lines = self._cited(answer.text, spoken)
        if answer.poor:
            lines += self._cited("\n".join(fidelity.added(answer.check, messages, self._zone)), spoken)
        if not lines:
            return EntryGroup(
                (NewEntry("nothing", "", self._key, cut.span(items), 0, answer.model, cut.ids(items)),), usage
            )
        text = "\n".join(text for text, _ in lines)
        kept = fidelity.kept(answer.check, fidelity.check(text, answer.check.said))
        entry = NewEntry(
            "summary",
            text,
            self._key,
            cut.span(items),
            self._model.count(text),
            answer.model,
            cut.ids(items),
            lines=tuple(line for _, line in lines),
        )
        return EntryGroup((entry,), usage, kept)

    def _cited(self, text: str, messages: Mapping[int, Message]) -> list[tuple[str, EntryLine]]:
        named = {message.name for message in messages.values() if message.role == "user" and message.name}
        return citations.cited(text, messages, self._people() | named) if text else []

    def _raw(self, items: Sequence[Item], usage: Usage, reason: str) -> EntryGroup:
        """Keep `items` word for word, and report it; only once a session if the model is no longer called."""
        lost = self._patience.lost(self._now)
        if self._report and not self._told:
            first, last = items[0].position, items[-1].position
            which = f"messages {first}–{last}" + (" and all that follow" if lost else "")
            self._report(Diagnostic(self._key, 0, f"{which} are kept as they were said: {reason}"))
        self._told = lost
        return EntryGroup(tuple(self._in_full(items)), usage)

    def _conversation(self, items: Sequence[Item]) -> str:
        told = [item for item in items if item.message.content]
        places = [item.position for item in told]
        said = [_with_command(item.message) for item in told]
        return prompts.conversation(self._key, places[0], said, self._zone, positions=places)

    def _tokens(self, position: int, message: Message) -> int:
        return max(1, self._model.count(prompts.message(position, _with_command(message), self._zone) + "\n"))


def _with_command(message: Message) -> Message:
    """Return a tool's result with the command above it, where the call shows only its beginning."""
    if message.ran is None or len(message.ran.command) <= CALL_CHARS:
        return message
    return replace(message, content=f"$ {message.ran.command[:COMMAND_CHARS]}\n{message.content}")


def _retry(wrong: str) -> list[ChatMessage]:
    return [ChatMessage("assistant", "(no answer)"), ChatMessage("user", f"The last answer did not count: {wrong}")]


def _joined(batches: Iterator[EntryGroup]) -> EntryGroup:
    """Join batches into one; an entry that says nothing and completes no message is left out."""
    found = list(batches)
    entries = tuple(
        entry
        for batch in found
        for entry in batch.entries
        if entry.kind != "nothing" or entry.span is None or entry.span[0] < entry.span[1]
    )
    kept = sum((batch.kept for batch in found), Fidelity())
    return EntryGroup(entries, sum((batch.usage for batch in found), Usage()), kept)
