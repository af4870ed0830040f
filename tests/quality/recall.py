"""Recall: is the evidence of a question among the first things that search finds? No model is asked.

Our ranking is compared with BM25 alone, over the same messages and words, and with grep: messages ordered by how
many of the question's words they contain as written.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dream.directory import Workspace
from dream.errors import ModelError
from dream.history import messages
from dream.llm.spending import Meter
from dream.models import Diagnostic
from dream.recall import Hit, as_line, of_message, prompt
from dream.recall.search import Search, Wanted
from dream.recall.search_index import MESSAGE, caught_up
from dream.recall.terms import terms
from dream.recall.vectors import embed
from dream.settings import Settings
from tests.quality import Conversation, Question
from tests.quality.metric import cut, find, mean, ready
from tests.quality.report import Table, laid_out
from tests.quality.scratch import Scratch, Tell

FIRST = (5, 10)
ROOM = 2_000  # tokens of what is found in which the whole answer is looked for
DEEP = 200  # messages that are ranked, so that ten sessions are among them

Position = tuple[str, int]  # a session and a position in it


@dataclass(frozen=True, slots=True)
class Recalled:
    """Shares in per cent over all questions: of their evidence among the first hits, and of its sessions."""

    ranking: str
    questions: int
    messages: dict[int, float]  # by how many hits are looked at
    session: float  # the first hit is in a session of the evidence
    sessions: float  # of the evidence's sessions among the first ten
    whole: float  # the whole answer stands in the first ROOM tokens of what is found


@dataclass(frozen=True, slots=True)
class AtPrompts:
    """Shares in per cent: of questions about the memory with some evidence shown, of others with anything."""

    questions: int
    answered: float
    foreign: int
    shown: float


def recall(conversations: Sequence[Conversation], settings: Settings, *, tell: Tell) -> list[Recalled]:
    """Dream every conversation in a scratch workspace and search for its questions, by each ranking.

    Where the settings name an embedding model the messages are embedded as in a night; raises ModelError where it
    can't be reached, and SpendingLimit at a bound: otherwise figures by words alone would pass for the model's.
    """
    rows: dict[str, list[tuple[list[Position], set[Position], bool]]] = {}
    meter = Meter(settings)
    for one in conversations:
        tell(f"{one.name}: {len(one.questions)} questions")
        with tempfile.TemporaryDirectory() as folder:
            scratch = _dreamt(one, Path(folder))
            if settings.embedding_model:
                embed(scratch.workspace.history, settings, meter)
            for question, evidence in _asked(one, scratch):
                for name, found in _rankings(scratch, question, settings):
                    text = ready(cut("\n".join(as_line(hit, " ".join(hit.text.split())) for hit in found), ROOM))
                    places = [_place(hit.cite) for hit in found]
                    rows.setdefault(name, []).append((places, evidence, find(question.answer, text).whole))
    return [_shares(name, asked) for name, asked in rows.items()]


def at_prompts(conversations: Sequence[Conversation], *, tell: Tell) -> AtPrompts:
    """Send every question as a prompt to its own conversation's memory and to all the others."""
    answered: list[bool] = []
    shown: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(conversations):
            tell(f"{one.name}: prompts")
            scratch = _dreamt(one, Path(folder) / str(number))
            kept = prompt.Kept(scratch.root / "ws")
            kept.take_in(scratch.workspace)
            for question, evidence in _asked(one, scratch):
                answered.append(any(place in evidence for place in _shown(prompt.recalled(kept, question.text))))
            for other in conversations:
                if other is not one:
                    shown += [prompt.recalled(kept, question.text) != "" for question in other.questions]
            kept.index.close()
    return AtPrompts(len(answered), mean(answered) or 0.0, len(shown), mean(shown) or 0.0)


def _asked(one: Conversation, scratch: Scratch) -> Iterator[tuple[Question, set[Position]]]:
    """Yield the questions that have evidence, with where it stands."""
    places = {identity: place for place, identity in scratch.messages.items()}
    for question in one.questions:
        if evidence := {places[identity] for identity in question.evidence if identity in places}:
            yield question, evidence


def _shown(block: str) -> Iterator[Position]:
    """Yield the messages that a block cites."""
    session = ""
    for line in block.splitlines():
        if match := re.match(r"- #(\d+) ", line):
            yield session, int(match[1])
        else:
            session = line.rpartition(", ")[2]


def table(found: Sequence[Recalled]) -> Table:
    """Lay out what was found."""
    first = {f"messages, first {size}": lambda one, size=size: f"{one.messages[size]:.1f}" for size in FIRST}
    return laid_out(
        "Recall",
        "Of a question's evidence, how much is among the first messages found, and among their sessions; "
        f"and of the answers, how many stand as a whole in the first {ROOM:,} tokens found. In per cent.",
        found,
        {
            "ranking": lambda one: one.ranking,
            "questions": lambda one: str(one.questions),
            **first,
            "first session": lambda one: f"{one.session:.1f}",
            "sessions, first 10": lambda one: f"{one.sessions:.1f}",
            f"whole answers, {ROOM:,} tokens": lambda one: f"{one.whole:.1f}",
        },
    )


def prompt_table(found: AtPrompts) -> Table:
    """Lay out what prompts were shown."""
    columns = ("prompts", "asked", "share")
    rows = (
        ("about the memory: some evidence is shown", str(found.questions), f"{found.answered:.1f}"),
        ("about another conversation: anything is shown", str(found.foreign), f"{found.shown:.1f}"),
    )
    says = f"What `dream context --hook` shows, in at most {prompt.TOKENS} tokens. In per cent."
    return Table("At each prompt", says, columns, rows)


def _dreamt(one: Conversation, folder: Path) -> Scratch:
    """Dream a conversation, a session a night: where users are."""
    scratch = Scratch(folder, Settings(timezone="UTC", durable=False), Meter(Settings()))
    for session in one.sessions:
        scratch.night([session])
    return scratch


def _rankings(scratch: Scratch, question: Question, settings: Settings) -> Iterator[tuple[str, list[Hit]]]:
    workspace = Workspace(scratch.workspace.root, report=_fail)
    with caught_up(workspace.history) as index:
        wanted = Wanted(question.text, kinds=["message"])
        yield "dream search", Search(index, wanted, workspace, settings).hits(DEEP)
        counts, size = index.counts(dict.fromkeys(terms(question.text))), index.size()
        weights = {term: math.log(1 + (size - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
        alone = index.matches(weights, MESSAGE, DEEP)
        yield "BM25 alone", [of_message(one) for found in alone if (one := index.said(found))]
    words = set(re.findall(r"\w+", question.text.casefold()))
    lines = (line for path in workspace.history.messages.paths() for _, line in messages.raw(path))
    kept = [one for line in lines if (one := messages.decode(line))]
    kept.sort(key=lambda one: -len(words & set(re.findall(r"\w+", one.text.casefold()))))
    yield "grep", [of_message(one) for one in kept[:DEEP]]


def _fail(diagnostic: Diagnostic) -> None:
    """Raise what a search says of its embedding model, instead of falling back to words alone."""
    if diagnostic.file == "search":
        raise ModelError(f"Search went {diagnostic.text}")


def _place(cite: str) -> Position:
    session, _, position = cite.rpartition("#")
    return session, int(position)


def _shares(name: str, asked: Sequence[tuple[list[Position], set[Position], bool]]) -> Recalled:
    sessions = [
        (list(dict.fromkeys(session for session, _ in found)), {session for session, _ in gold})
        for found, gold, _ in asked
    ]
    return Recalled(
        name,
        len(asked),
        {size: mean(len(set(found[:size]) & gold) / len(gold) for found, gold, _ in asked) or 0.0 for size in FIRST},
        mean(found[:1] != [] and found[0] in gold for found, gold in sessions) or 0.0,
        mean(len(set(found[:10]) & gold) / len(gold) for found, gold in sessions) or 0.0,
        mean(whole for _, _, whole in asked) or 0.0,
    )
