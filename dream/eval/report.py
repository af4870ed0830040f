"""All measures of one dataset, side by side with its references."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from dream.eval import dialogues, measures, stability
from dream.eval.conversation import Conversation
from dream.eval.dialogues import Judged
from dream.eval.measures import Bill, Changed, Evidence, Form, Restraint, Retention
from dream.eval.metric import cut
from dream.eval.scratch import JOBS, Remembered, Scratch, Tell, at, remember
from dream.eval.stability import Stability, Survival
from dream.llm.spending import Meter
from dream.models import Kept
from dream.settings import Settings

SIZES = (2_000, 4_500, 6_100)


@dataclass(frozen=True, slots=True)
class Report:
    """What `dream eval` found. A list is empty where the dataset has nothing to measure that by."""

    model: str
    conversations: tuple[str, ...]
    sessions: int
    retention: tuple[Retention, ...]
    evidence: tuple[Evidence, ...]
    change: tuple[Changed, ...]
    stability: Stability
    survival: tuple[Survival, ...]
    restraint: tuple[Restraint, ...]
    dialogues: tuple[Judged, ...]
    form: Form
    bill: Bill
    kept: Kept
    memories: dict[str, str]


def evaluate(
    conversations: Sequence[Conversation],
    settings: Settings,
    *,
    sizes: Sequence[int] = SIZES,
    each: int = 1,
    survive: bool = True,
    tell: Tell,
) -> Report:
    """Dream every conversation in a scratch workspace of its own and measure what is left.

    `survive`: also plant facts before 20 of their sittings, and look for them afterwards.
    """
    sizes = sorted(sizes)
    meter = Meter(settings)
    with tempfile.TemporaryDirectory(prefix="dream-eval-") as root:
        fresh = (Scratch(Path(root) / str(number), settings, meter) for number in count())
        found = [remember(one, next(fresh), sizes, each=each, tell=tell) for one in conversations]
        survived = list(_survivals(found, next(fresh), tell)) if survive and not _golden(found) else []
    retained = tuple(_retention(found, sizes))
    memory = [one for one in retained if one.text.startswith("memory")]
    return Report(
        model=", ".join(dict.fromkeys(settings.model_for(job) for job in JOBS)),
        conversations=tuple(one.name for one in conversations),
        sessions=sum(len(one.sessions) for one in conversations),
        retention=retained,
        evidence=tuple(measures.evidence(found, sizes)),
        change=tuple(_change(found, sizes)),
        stability=stability.measure(found),
        survival=tuple(survived),
        restraint=tuple(measures.restraint(found)),
        dialogues=tuple(_dialogues(found)),
        form=measures.form(found),
        bill=measures.bill(found, memory[-1].retained if memory else None),
        kept=measures.kept(found),
        memories={one.conversation.name: one.memory for one in found},
    )


def _texts(found: Sequence[Remembered], sizes: Sequence[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of text by name, one text a conversation: what agents get first, the references last."""
    for size in sizes:
        yield f"memory, {size:,}", [one.contexts[size] for one in found]
    for size in sizes:
        yield f"its files cut, {size:,}", [cut(one.memory, size) for one in found]
    for size in sizes:
        yield f"history, {size:,}", [at(one.summaries, size) for one in found]
    yield "history, whole", ["\n".join(one.summaries) for one in found]
    for name in dict.fromkeys(name for one in found for name in one.conversation.references):
        yield name, [one.conversation.references.get(name, "") for one in found]


def _retention(found: Sequence[Remembered], sizes: Sequence[int]) -> Iterator[Retention]:
    conversations = [one.conversation for one in found]
    for name, texts in _texts(found, sizes):
        if (measured := measures.retention(name, conversations, texts)) is not None:
            yield measured


def _change(found: Sequence[Remembered], sizes: Sequence[int]) -> Iterator[Changed]:
    changes = [one.conversation.changes for one in found]
    for name, texts in _texts(found, sizes):
        if (measured := measures.change(name, changes, texts)) is not None:
            yield measured


def _golden(found: Sequence[Remembered]) -> bool:
    return any(one.conversation.gold is not None for one in found)


def _dialogues(found: Sequence[Remembered]) -> list[Judged]:
    memories = [(one.files["SOUL.md"], f"{one.files['USER.md']}\n{one.files['memory/MEMORY.md']}") for one in found]
    return dialogues.measure([one.conversation for one in found], memories)


def _survivals(found: Sequence[Remembered], scratch: Scratch, tell: Tell) -> Iterator[Survival]:
    """Those of the conversations that plant facts themselves, else facts planted before them."""
    own = [one for one in found if one.conversation.facts]
    for one in own:
        yield stability.survival(one.conversation.name, one.conversation, one.nights)
    if not own:
        yield stability.planted_before([one.conversation for one in found], scratch, tell)
