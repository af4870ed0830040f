"""The measures of a memory: retention, change, evidence, stability, survival, restraint and the bill."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dream.models import MemoryFile
from dream.reports import Fidelity, Usage
from dream.text.alike import same_fact
from dream.versions.trace import Origin, facts
from tests.quality import ChangedFact, Conversation, Plant, Planted, PlantedFact, Question, metric
from tests.quality.datasets import PLANTING
from tests.quality.dialogues import EARLIER
from tests.quality.metric import Overlap, content, find, mean, ready
from tests.quality.scratch import Night, Remembered

Texts = Sequence[Mapping[str, str]]  # of each conversation, by their kinds

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

    `chance` is None where there is no other conversation.
    """

    text: str
    tokens: float
    questions: int
    own: dict[str, Share]
    chance: dict[str, Share] | None
    retained: int  # questions all of whose answer's content words are there


def retention(conversations: Sequence[Conversation], texts: Texts, others: Texts) -> Iterator[Retention]:
    """Look for the answers to each conversation's questions in each kind of its text, and in another conversation's."""
    for name in _kinds(texts) if any(one.questions for one in conversations) else ():
        own = [text.get(name, "") for text in texts]
        rows = _asked(conversations, own)
        chance = _shares_told(_asked(conversations, [text.get(name, "") for text in others])) if others else None
        tokens = sum(ready(text).tokens for text in own) / len(own)
        retained = sum(one.recall == 1 for _, one in rows)
        yield Retention(name, tokens, len(rows), _shares_told(rows), chance, retained)


def _kinds(texts: Texts) -> Iterator[str]:
    yield from dict.fromkeys(name for text in texts for name in text)


def _asked(conversations: Sequence[Conversation], texts: Sequence[str]) -> list[tuple[str, Overlap]]:
    """Look for each question's answer; return it with the question's category."""
    asked = zip(conversations, map(ready, texts), strict=True)
    return [(one.category, find(one.answer, known)) for conversation, known in asked for one in conversation.questions]


def _shares_told(rows: Sequence[tuple[str, Overlap]]) -> dict[str, Share]:
    shares = {}
    for name in dict.fromkeys([ALL, *(category for category, _ in rows)]):
        chosen = [one for category, one in rows if name in (ALL, category)]
        shares[name] = Share(mean(one.recall for one in chosen) or 0.0, mean(one.whole for one in chosen) or 0.0)
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


def change(conversations: Sequence[Conversation], texts: Texts, others: Texts) -> Iterator[Changed]:
    """Judge each conversation's changes by each kind of its text, and by another conversation's for chance."""
    changes = [one.changes for one in conversations]
    for name in _kinds(texts) if any(changes) else ():
        judged = list(_judged(name, changes, texts))
        clean = [(there, stale) for there, stale in judged if stale is not None]
        yield Changed(
            text=name,
            changes=len(judged),
            clean=len(clean),
            there=mean(there for there, _ in judged) or 0.0,
            current=mean(there and not stale for there, stale in clean),
            stale=mean(stale for _, stale in clean),
            chance_there=mean(there for there, _ in _judged(name, changes, others)) if others else None,
        )


def _judged(name: str, changes: Sequence[Sequence[ChangedFact]], texts: Texts) -> Iterator[tuple[bool, bool | None]]:
    for own, text in zip(changes, texts, strict=True):
        yield from (judge(one, text.get(name, "")) for one in own)


def judge(change: ChangedFact, text: str) -> tuple[bool, bool | None]:
    """Return whether a line has the new value, and whether one tells the old as true; None where none is known."""
    there = [metric.says(change.new, line) for line in text.splitlines()]
    if (old := change.old) is None:
        return any(there), None
    others = (EARLIER.sub(" ", line) for line, new in zip(text.splitlines(), there, strict=True) if not new)
    return any(there), any(metric.near(old, line, change.about) and not _PAST.search(line) for line in others)


# Evidence: do the lines that are still in memory lead back to the messages that answer a question? A finding's span is
# often a whole sitting: cited is, of its messages, the one that each statement of the line is nearest to in its words.
# So it compares with references that name single messages.


# Of a statement's content words that must stand in a message. Of GPT-3.5's observations, which name their turn and are
# in its own words, 99 % have such a nearest message in their session, and in 86 % it is the turn that they name.
NEAR = 0.3
_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)$")  # of a whole line: it stands in no message
_STATEMENT = re.compile(r";\s+|(?<=[.!?。！？])\s*")


@dataclass(frozen=True, slots=True)
class EvidenceShares:
    """Shares in per cent of the questions whose evidence is cited: all of it, any of it."""

    text: str
    questions: int
    all: float
    any: float


def evidence(remembered: Sequence[Remembered], sizes: Sequence[int]) -> Iterator[EvidenceShares]:
    """Measure the memory at each size, and the references that cite messages."""
    questions = [one.conversation.questions for one in remembered]
    for size in sizes:
        yield from _shares(f"memory, {size:,}", questions, [set(_cited(one, size)) for one in remembered])
    for name in dict.fromkeys(name for one in remembered for name in one.conversation.cited):
        yield from _shares(name, questions, [one.conversation.cited.get(name, frozenset()) for one in remembered])


def _shares(
    name: str, asked: Sequence[Sequence[Question]], cited: Sequence[Collection[str]]
) -> Iterator[EvidenceShares]:
    rows = [
        [message in known for message in question.evidence]
        for questions, known in zip(asked, cited, strict=True)
        for question in questions
        if question.evidence
    ]
    if rows:
        yield EvidenceShares(name, len(rows), mean(map(all, rows)) or 0.0, mean(map(any, rows)) or 0.0)


def _cited(one: Remembered, size: int) -> Iterator[str]:
    """Yield the messages cited by the lines that an agent gets at this size."""
    shown = set(one.contexts[size].splitlines())
    said = {
        message.id: content(f"{message.name or ''} {message.content}")
        for session in one.conversation.sessions
        for message in session.messages
        if message.id
    }
    for origin in (origin for origin in one.origins if origin.line in shown):
        candidates = list(dict.fromkeys(_messages(one.messages, origin)))
        for statement in _STATEMENT.split(_DATE.sub("", origin.line)):
            wanted = content(statement)
            scored = [(*_nearness(wanted, said.get(name, frozenset())), name) for name in candidates if wanted]
            best = max((score[:2] for score in scored), default=(0.0, 0.0))
            yield from (name for *score, name in scored if tuple(score) == best and best[0] >= NEAR)


def _nearness(statement: frozenset[str], message: frozenset[str]) -> tuple[float, float]:
    """Return a sort key: the share of a statement's words in a message, then the shorter message."""
    shared = len(statement & message)
    return shared / len(statement), shared / max(1, len(message))


def _messages(messages: Mapping[tuple[str, int], str], origin: Origin) -> Iterator[str]:
    for session, first, end in origin.spans:
        yield from (messages[session, place] for place in range(first, end) if (session, place) in messages)


# Stability: nothing happens twice, and nothing stands there twice. Survival: planted facts after other material.


@dataclass(frozen=True, slots=True)
class Stability:
    """Counts over all conversations. `again_…`: what a second look at the same input did, which must be nothing.

    `pairs` are pairs of lines that state nearly the same.
    """

    dreams: int
    again_calls: int
    again_commits: int
    again_entries: int
    again_files: int
    lines: int
    pairs: int


def stability(remembered: Sequence[Remembered]) -> Stability:
    """Count over all conversations."""
    again = [one.again for one in remembered]
    lines = [[line for text in one.files.values() for line in facts(text)] for one in remembered]
    return Stability(
        dreams=sum(_dreams(one.nights) for one in remembered),
        again_calls=sum(one.calls for one in again),
        again_commits=sum(one.commits for one in again),
        again_entries=sum(one.entries for one in again),
        again_files=sum(one.files for one in again),
        lines=sum(map(len, lines)),
        pairs=sum(same_fact(one, other) for own in lines for one, other in combinations(own, 2)),
    )


def _dreams(nights: Sequence[Night]) -> int:
    return sum(len(night.run.batches) for night in nights)


@dataclass(frozen=True, slots=True)
class Survival:
    """How many planted facts stand in memory after the sittings that planted them, and after `dreams` over others.

    `lost` were in memory at first but not at the end, or only with their first value; `never` were not at either time.
    """

    material: str
    dreams: int
    planted: int
    before: int
    after: int
    lost: tuple[str, ...]
    never: tuple[str, ...]


def survival(material: str, facts: Conversation, nights: Sequence[Night]) -> Survival:
    """Look for the planted facts after the nights that planted them, and again after the last night."""
    first, last = nights[PLANTING - 1].files, nights[-1].files
    learnt = {fact.name for fact in facts.facts_first if held(fact, first)}
    missing = [fact.name for fact in facts.facts if not held(fact, last)]
    return Survival(
        material=material,
        dreams=_dreams(nights[PLANTING:]),
        planted=len(facts.facts),
        before=len(learnt),
        after=len(facts.facts) - len(missing),
        lost=tuple(name for name in missing if name in learnt),
        never=tuple(name for name in missing if name not in learnt),
    )


def held(fact: PlantedFact, files: Mapping[MemoryFile, str]) -> bool:
    """Return whether one line of the memory files holds the fact."""
    keys = [key.casefold().split("|") for key in fact.keys]
    lines = (line.casefold() for text in files.values() for line in text.splitlines())
    return any(all(any(form in line for form in forms) for forms in keys) for line in lines)


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
    """Return whether a mark stands in a text by itself, not within a longer word or number."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(mark)}(?![A-Za-z0-9_])", text) is not None


def _planted(one: Remembered, kind: Plant) -> list[Planted]:
    return [plant for plant in one.conversation.planted if plant.kind == kind]


# The bill: what it cost to remember.


@dataclass(frozen=True, slots=True)
class Bill:
    """What the nights of all conversations cost, and `all` that was asked: planted facts and second looks too."""

    conversations: int
    usage: Usage
    all: Usage
    seconds: float
    failures: tuple[str, ...]


def bill(remembered: Sequence[Remembered], everything: Usage) -> Bill:
    """Add up the nights."""
    nights = [night for one in remembered for night in one.nights]
    failed = [night.run.reason for night in nights if night.run.outcome == "failed"]
    failed += [night.consolidated.reason for night in nights if night.consolidated.failed]
    return Bill(
        conversations=len(remembered),
        usage=sum((night.usage for night in nights), Usage()),
        all=everything,
        seconds=sum(night.seconds for night in nights),
        failures=tuple(dict.fromkeys(failed)),
    )


def kept(remembered: Sequence[Remembered]) -> Fidelity:
    """Count the exact things that users said, and how many of them the summaries hold, before and after the tail."""
    return sum((night.consolidated.kept for one in remembered for night in one.nights), Fidelity())
