"""The measures of a memory: retention, change, evidence, form, restraint and the bill."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dream.eval import metric
from dream.eval.conversation import Change, Conversation, Plant, Planted, Question
from dream.eval.metric import content, find, mean, ready, words
from dream.eval.scratch import JOBS, Asked, Remembered, shared
from dream.models import Kept, Usage
from dream.settings import Job
from dream.workspace.trace import Origin, facts

# Retention: how much of the gold answers stands in a text, by category, beside what chance gives.


ALL = "all"


@dataclass(frozen=True, slots=True)
class Share:
    """Two shares in per cent: of the answers' content words, and of the answers that stand there as a whole."""

    recall: float
    whole: float

    def __sub__(self, other: Share) -> Share:
        return Share(self.recall - other.recall, self.whole - other.whole)


@dataclass(frozen=True, slots=True)
class Retention:
    """The shares of one kind of text over all conversations. `tokens` is its mean size.

    `chance` is None where there is only one conversation.
    """

    text: str
    tokens: float
    questions: int
    own: dict[str, Share]
    chance: dict[str, Share] | None
    retained: int  # questions all of whose answer's content words are there


def retention(name: str, conversations: Sequence[Conversation], texts: Sequence[str]) -> Retention | None:
    """Ask each conversation's questions of its text, and of the next conversation's; None without a question."""
    own = [_asked(one.questions, text) for one, text in zip(conversations, texts, strict=True)]
    other = [_asked(one.questions, text) for one, text in zip(conversations, [*texts[1:], *texts[:1]], strict=True)]
    rows = [row for rows in own for row in rows]
    if not rows:
        return None
    return Retention(
        text=name,
        tokens=sum(ready(text).tokens for text in texts) / len(texts),
        questions=len(rows),
        own=_shares_told(rows),
        chance=_shares_told([row for rows in other for row in rows]) if len(texts) > 1 else None,
        retained=sum(recall == 1 for _, recall, _ in rows),
    )


_Row = tuple[str, float, bool]  # category, recall, whole


def _asked(questions: Sequence[Question], text: str) -> list[_Row]:
    known = ready(text)
    found = [(question.category, find(question.answer, known)) for question in questions]
    return [(category, one.recall, one.whole) for category, one in found]


def _shares_told(rows: Sequence[_Row]) -> dict[str, Share]:
    categories = dict.fromkeys([ALL, *(category for category, _, _ in rows)])
    shares = {}
    for name in categories:
        chosen = [(recall, whole) for category, recall, whole in rows if name in (ALL, category)]
        recall, whole = mean(recall for recall, _ in chosen), mean(whole for _, whole in chosen)
        shares[name] = Share(recall or 0.0, whole or 0.0)
    return shares


# Change: where a fact changed, the new value is in memory, and the old one is gone or told as past.


# What a line says of a value that no longer holds; also that one value became another.
_PAST = re.compile(
    r"\b(?:was|were|had|used to|formerly|previous(?:ly)?|earlier|before|until|no longer|not anymore|instead of|rather"
    r" than|originally|initial(?:ly)?|old|outdated|superseded|replaced|changed from|moved from|switched from|up from"
    r"|from .{1,40} to)\b|以前|曾|原来|原先|之前|不再|改成|改为|从.{1,20}(?:改|搬|换|变|到)|~~",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Changed:
    """Shares in per cent. `there`: of all changes, the new value stands in memory. The others are of the clean ones.

    `current`: the new value is there and the old one is not told as true; `stale`: the old one still is.
    """

    text: str
    changes: int
    clean: int
    there: float
    current: float | None
    stale: float | None
    chance_there: float | None


@dataclass(frozen=True, slots=True)
class State:
    """What a text says of one change."""

    there: bool
    stale: bool


def change(name: str, changes: Sequence[Sequence[Change]], texts: Sequence[str]) -> Changed | None:
    """Judge the changes of each conversation on its text; the next conversation's text gives chance."""
    judged = [(change, judge(change, text)) for own, text in zip(changes, texts, strict=True) for change in own]
    if not judged:
        return None
    others = [*texts[1:], *texts[:1]]
    lucky = [judge(change, text).there for own, text in zip(changes, others, strict=True) for change in own]
    clean = [state for change, state in judged if change.old is not None]
    return Changed(
        text=name,
        changes=len(judged),
        clean=len(clean),
        there=mean(state.there for _, state in judged) or 0.0,
        current=mean(state.there and not state.stale for state in clean),
        stale=mean(state.stale for state in clean),
        chance_there=mean(lucky) if len(texts) > 1 else None,
    )


def judge(change: Change, text: str) -> State:
    """Look for the new and the old value, line by line."""
    lines = text.splitlines()
    there = any(metric.says(change.new, line) for line in lines)
    old = change.old
    stale = old is not None and any(_told_as_true(change, old, line) for line in lines)
    return State(there, stale)


def _told_as_true(change: Change, old: str, line: str) -> bool:
    if not metric.near(old, line, change.about) or metric.says(change.new, line):
        return False
    return _PAST.search(line) is None


# Evidence: do the lines that are still in memory lead back to the messages that answer a question?
#
# Two readings of "cited". By span: every message of a span that a line's finding rests on; a summary's span is often
# a whole sitting, so this says only that the sitting is not forgotten. By message: of those, only the one that each
# statement of the line is nearest to in its words; this compares with references that name single messages.


# Of a statement's content words that must stand in a message. Of GPT-3.5's observations, which name their turn and are
# in its own words, 99 % have such a nearest message in their session, and in 86 % it is the turn that they name.
NEAR = 0.3
_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)$")  # of a whole line: it stands in no message
_STATEMENT = re.compile(r";\s+|(?<=[.!?。！？])\s*")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Shares in per cent of the questions whose evidence is cited: all of it, any of it."""

    text: str
    tokens: int | None
    questions: int
    all: float
    any: float


def evidence(remembered: Sequence[Remembered], sizes: Sequence[int]) -> list[Evidence]:
    """Measure the memory at each size both ways, and the references that cite messages."""
    found = []
    for size in sizes:
        for name, cited in (("by message", _by_message), ("by span", _by_span)):
            pairs = [(one.conversation.questions, set(cited(one, _shown(one, size)))) for one in remembered]
            found.append(_shares(name, size, pairs))
    names = dict.fromkeys(name for one in remembered for name in one.conversation.cited)
    for name in names:
        pairs = [(one.conversation.questions, set(one.conversation.cited.get(name, ()))) for one in remembered]
        found.append(_shares(name, None, pairs))
    return [one for one in found if one is not None]


def _shares(
    name: str, size: int | None, pairs: Sequence[tuple[Sequence[Question], Collection[str]]]
) -> Evidence | None:
    rows = [
        [message in cited for message in question.evidence]
        for questions, cited in pairs
        for question in questions
        if question.evidence
    ]
    every, some = mean(all(row) for row in rows), mean(any(row) for row in rows)
    return None if every is None or some is None else Evidence(name, size, len(rows), every, some)


def _shown(one: Remembered, size: int) -> list[Origin]:
    """Return the lines that an agent gets at this size."""
    lines = set(one.contexts[size].splitlines())
    return [origin for origin in one.origins if origin.line in lines]


def _by_span(one: Remembered, origins: Sequence[Origin]) -> Iterator[str]:
    for origin in origins:
        yield from _messages(one.messages, origin)


def _by_message(one: Remembered, origins: Sequence[Origin]) -> Iterator[str]:
    said = {
        message.id: content(f"{message.name or ''} {message.content}")
        for session in one.conversation.sessions
        for message in session.messages
        if message.id
    }
    for origin in origins:
        candidates = list(dict.fromkeys(_messages(one.messages, origin)))
        for statement in _STATEMENT.split(_DATE.sub("", origin.line)):
            wanted = content(statement)
            scored = [(*_nearness(wanted, said.get(name, frozenset())), name) for name in candidates if wanted]
            best = max((score[:2] for score in scored), default=(0.0, 0.0))
            yield from (name for *score, name in scored if tuple(score) == best and best[0] >= NEAR)


def _nearness(statement: frozenset[str], message: frozenset[str]) -> tuple[float, float]:
    """Return the share of a statement's words that stand in a message; then, of as much, the shorter one is nearer."""
    shared = len(statement & message)
    return shared / len(statement), shared / max(1, len(message))


def _messages(messages: Mapping[tuple[str, int], str], origin: Origin) -> Iterator[str]:
    for session, first, end in origin.spans:
        yield from (messages[session, place] for place in range(first, end) if (session, place) in messages)


# Form: does memory read like memory? Counted by signs that a person would stumble over; no model judges style.
#
# A sign is no proof. But a memory that gains retention and signs has become a heap.


_YEAR = re.compile(r"\b(?:19|20)\d{2}\b|\d{4}年")
_MARK = re.compile(r"^\s*[-*]\s+")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")  # speaks to whoever was asked
_SPEAKER = re.compile(r"^[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?: ")
SIGNS: dict[str, re.Pattern[str]] = {
    "speaks to somebody (you, your)": re.compile(r"\b(?:you|your|you're|you've)\b|[你您]", re.IGNORECASE),
    "begins with what it refers back to (it, that, this)": re.compile(r"(?:it|that|this|those|these)\b", re.IGNORECASE),
    "begins in the middle of a sentence": re.compile(r"[a-z]|的|[,;.)]"),
    "is a quotation": re.compile(r".*[“「]"),
    "asks or exclaims": re.compile(r".*[?!？！](?:\s*\([^()]*\))?$"),
}
_ANYWHERE = "speaks to somebody (you, your)"


@dataclass(frozen=True, slots=True)
class Form:
    """Of all lines of memory: words a line, shares in per cent with a year and with three or more statements, signs."""

    lines: int
    words: float
    dated: float
    crowded: float
    signs: dict[str, float]
    examples: dict[str, str]


def form(remembered: Sequence[Remembered]) -> Form:
    """Look at every line that stands in memory at the end."""
    lines = [_MARK.sub("", line) for one in remembered for text in one.files.values() for line in facts(text)]
    signs = {name: [line for line in lines if _shows(name, line)] for name in SIGNS}
    return Form(
        lines=len(lines),
        words=(mean(len(words(line)) for line in lines) or 0.0) / 100,
        dated=_share(lines, (_YEAR.search(line) for line in lines)),
        crowded=_share(lines, (line.count("; ") >= 2 for line in lines)),
        signs={name: _share(lines, found) for name, found in signs.items()},
        examples={name: min(found, key=len) for name, found in signs.items() if found},
    )


def _shows(name: str, line: str) -> bool:
    said = _SPEAKER.sub("", _QUOTED.sub("", line) if name == _ANYWHERE else line)
    found = SIGNS[name].search(said) if name == _ANYWHERE else SIGNS[name].match(said)
    return found is not None


def _share(lines: Sequence[str], found: Iterable[object]) -> float:
    return 100 * sum(map(bool, found)) / max(1, len(lines))


# Restraint: what must not get into memory, and did.


KINDS: tuple[Plant, ...] = ("noise", "secret", "injection")


@dataclass(frozen=True, slots=True)
class Restraint:
    """Of one kind: how many were planted, how many stand in the memory files, and in history with its archive.

    `lines` are the lines of memory that should not be there.
    """

    kind: Plant
    planted: int
    memory: int
    history: int
    lines: tuple[str, ...]


def restraint(remembered: Sequence[Remembered]) -> list[Restraint]:
    """Look for every mark, in every line that any night left in memory."""
    return [_of(kind, remembered) for kind in KINDS if any(_planted(one, kind) for one in remembered)]


def _of(kind: Plant, remembered: Sequence[Remembered]) -> Restraint:
    total = memory = history = 0
    shown: dict[str, None] = {}
    for one in remembered:
        nightly = {line for night in one.nights for text in night.files.values() for line in text.splitlines()}
        for plant in _planted(one, kind):
            got_in = sorted(line for line in nightly if stands(plant.mark, line))
            total += 1
            memory += bool(got_in)
            history += any(stands(plant.mark, text) for text in one.summaries)
            shown |= dict.fromkeys(got_in)
    return Restraint(kind, total, memory, history, tuple(shown))


def stands(mark: str, text: str) -> bool:
    """Tell whether a mark stands in a text, not within a longer word or number."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(mark)}(?![A-Za-z0-9_])", text) is not None


def _planted(one: Remembered, kind: Plant) -> list[Planted]:
    return [plant for plant in one.conversation.planted if plant.kind == kind]


# The bill: what it cost to remember, and how much of it a prompt cache can serve.


@dataclass(frozen=True, slots=True)
class Bill:
    """What all conversations cost. `prefix`: by job, the share in per cent of a prompt that begins the one before."""

    conversations: int
    usage: Usage
    seconds: float
    retained: int | None
    prefix: dict[str, float]
    failures: tuple[str, ...]

    @property
    def tokens(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def tokens_per_fact(self) -> float | None:
        """Tokens paid for each question that memory can answer."""
        return self.tokens / self.retained if self.retained else None


def bill(remembered: Sequence[Remembered], retained: int | None) -> Bill:
    """Add up the nights."""
    nights = [night for one in remembered for night in one.nights]
    failed = [night.run.reason for night in nights if night.run.outcome == "failed"]
    failed += [night.consolidated.reason for night in nights if night.consolidated.failed]
    return Bill(
        conversations=len(remembered),
        usage=sum((night.usage for night in nights), Usage()),
        seconds=sum(night.seconds for night in nights),
        retained=retained,
        prefix=dict(_prefixes(remembered)),
        failures=tuple(dict.fromkeys(failed)),
    )


def kept(remembered: Sequence[Remembered]) -> Kept:
    """Add up the exact things that users said, and how many the summaries hold, before and after the tail."""
    return sum((one.kept for one in remembered), Kept())


def _prefixes(remembered: Sequence[Remembered]) -> Iterator[tuple[str, float]]:
    """Compare, for each job, the first prompt of each night with that of the night before."""
    for job in JOBS:
        shares = [shared(_firsts(one, job)) for one in remembered]
        found = [share for share in shares if share is not None]
        if found:
            yield job, 100 * sum(found) / len(found)


def _firsts(one: Remembered, job: Job) -> Iterator[str]:
    for night in one.nights:
        first: Asked | None = next((asked for asked in night.asked if asked.job == job and asked.first), None)
        if first is not None:
            yield first.prompt
