"""Evaluate conversations, and lay out what was found: as tables for a person, as one JSON value for a program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from dream.door import make_folder
from dream.errors import UsageError
from dream.llm.spending import Meter
from dream.reports import Fidelity, Usage
from dream.settings import EMBEDDED, Settings
from tests.quality import Conversation, datasets, dialogues, measures
from tests.quality.dialogues import CONTROL, Judged
from tests.quality.measures import ALL, Bill, Changed, EvidenceShares, Restraint, Retention, Share, Stability, Survival
from tests.quality.scratch import Recording, Scratch, Tell, filed, remember

SIZES = (2_000, 4_500, 6_100)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What an evaluation found. A list is empty where the dataset has nothing to measure it by."""

    model: str
    conversations: tuple[str, ...]
    sessions: int
    retention: tuple[Retention, ...]
    evidence: tuple[EvidenceShares, ...]
    change: tuple[Changed, ...]
    stability: Stability
    survival: tuple[Survival, ...]
    restraint: tuple[Restraint, ...]
    dialogues: tuple[Judged, ...]
    bill: Bill
    kept: Fidelity


def evaluate(
    conversations: Sequence[Conversation],
    settings: Settings,
    *,
    sizes: Sequence[int] = SIZES,
    other: Conversation | None = None,
    survive: bool = False,
    recording: Recording | None = None,
    keep: Path | None = None,
    reread: bool = False,
    tell: Tell,
) -> EvalReport:
    """Dream every conversation in a scratch workspace of its own and measure what is left.

    `other` gives chance where there is only one conversation; `embedded` remembers it. `survive`: also plant facts
    before 20 of the sittings, and look for them afterwards. `reread`: each night is `embedded`'s, and after the last
    all is read again with `settings`. The workspaces stay in `keep`. Raises UsageError where
    one is there already, or for a request that a replayed `recording` lacks.
    """
    sizes = sorted(sizes)
    settings = recording.settings(settings) if recording else settings
    meter = Meter(settings)
    with nullcontext(keep) if keep else tempfile.TemporaryDirectory(prefix="dream-eval-") as root:
        places = (_place(Path(root), one.name) for one in conversations)
        nights = replace(settings, model=EMBEDDED, consolidator_model=None, phase1_model=None, phase2_model=None)
        using = (nights, settings) if reread else (settings, None)
        scratches = [Scratch(place, using[0], meter, recording, reader=using[1]) for place in places]
        found = [remember(*pair, sizes, tell) for pair in zip(conversations, scratches, strict=True)]
        planting = [one for one in found if one.conversation.facts]
        survived = [measures.survival(one.conversation.name, one.conversation, one.nights) for one in planting]
        if survive and not survived:
            scratch = Scratch(_place(Path(root), "planted-before"), settings, meter, recording)
            survived = [_planted_before(conversations, scratch, tell)]
    texts = [one.texts() for one in found]
    others = [*texts[1:], *texts[:1]] if len(texts) > 1 else _texts_of(other, sizes, tell)
    memories = [(one.text("SOUL.md"), f"{one.text('USER.md')}\n{one.text('memory/MEMORY.md')}") for one in found]
    return EvalReport(
        model=settings.models_for(),
        conversations=tuple(one.name for one in conversations),
        sessions=sum(len(one.sessions) for one in conversations),
        retention=tuple(measures.retention(conversations, texts, others)),
        evidence=tuple(measures.evidence(found, sizes)),
        change=tuple(measures.change(conversations, texts, others)),
        stability=measures.stability(found),
        survival=tuple(survived),
        restraint=tuple(measures.restraint(found)),
        dialogues=tuple(dialogues.measure(conversations, memories, [one.hits for one in found])),
        bill=measures.bill(found, meter.usage),
        kept=measures.kept(found),
    )


def _place(root: Path, name: str) -> Path:
    """Make the directory of a conversation."""
    place = root / filed(name)
    try:
        if place.exists():
            raise UsageError(f"{place} already exists; name another directory with --keep.")
        make_folder(place)
    except OSError as error:
        raise UsageError(f"{place} cannot be made: {error.strerror}.") from error
    return place


def _texts_of(other: Conversation | None, sizes: Sequence[int], tell: Tell) -> list[dict[str, str]]:
    if other is None:
        return []
    settings = Settings(timezone="UTC", durable=False)
    with tempfile.TemporaryDirectory(prefix="dream-eval-") as root:
        scratch = Scratch(Path(root), settings, Meter(settings))
        return [remember(other, scratch, sizes, lambda what: tell(f"for chance, {what}")).texts()]


def _planted_before(others: Sequence[Conversation], scratch: Scratch, tell: Tell) -> Survival:
    """Plant facts in the weeks before the others, dream over 20 of their sittings by date, and look for them."""
    material = sorted((session for other in others for session in other.sessions), key=lambda one: one.at)
    material = material[: datasets.OTHER]
    facts = datasets.generate(sittings=datasets.PLANTING, begin=material[0].at - timedelta(days=30))
    for number, session in enumerate([*facts.sessions, *material], 1):
        tell(f"facts, then other material: night {number} of {datasets.PLANTING + len(material)}")
        scratch.night([session])
    return measures.survival(f"{len(others)} conversations", facts, scratch.nights)


def shape(report: EvalReport) -> dict[str, object]:
    """Shape the report for `--json`: the fields of each measure, figures in per cent to one place."""
    return {name: _rounded(value) for name, value in asdict(report).items()}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 1)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a sentence that says how to read it."""

    title: str
    says: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(report: EvalReport) -> Iterator[Table]:
    """Lay out what was measured, without tables for what could not be."""
    made = (_dialogues, _retention, _categories, _evidence, _change, _stability, _survival, _restraint, _bill)
    yield from (table for make in made if (table := make(report)).rows)


_T = TypeVar("_T")


def laid_out(title: str, says: str, values: Iterable[_T], columns: Mapping[str, Callable[[_T], str]]) -> Table:
    """Make a row of each value. A row that differs from an earlier one of the same kind only in its size, `memory,
    4,500`, is left out: all of that memory is smaller.
    """
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for value in values:
        row = tuple(cell(value) for cell in columns.values())
        kind, comma, _ = row[0].partition(", ")
        rows.setdefault((kind, *row[1:]) if comma else row, row)
    return Table(title, says, tuple(columns), tuple(rows.values()))


def _dialogues(report: EvalReport) -> Table:
    """Add up the dialogues: all of them, each half and each language, with the control beside all and each half."""
    judged = list(report.dialogues)
    groups = [("all", judged)]
    groups += [(half, [one for one in judged if one.half == half]) for half in ("seen", "unseen")]
    named = [(text, name, group) for text in ("memory", CONTROL) for name, group in groups]
    languages = dict.fromkeys(one.language for one in judged)
    named += [("memory", name, [one for one in judged if one.language == name]) for name in languages]
    added = ((f"{text}, {name}", [one for one in group if one.text == text]) for text, name, group in named)
    says = (
        "Lines that hold something to be kept, or a rule; of what must not be remembered, what got in (into SOUL.md); "
        "rules of the user that are in SOUL.md; of its lines those that are no rule; facts kept; of what changed, the "
        "new is there and the old does not stand as true; facts that hold and are called outdated (a count); lines "
        "with words that nobody said in this order; questions whose answer is in the files or among the first five "
        "hits of a search. In per cent."
    )
    columns = (
        *("text", "dialogues", "lines wanted", "got in (SOUL)", "rules", "no rule", "kept", "changed", "stale"),
        *("outdated", "untold", "answered"),
    )
    rows = [(name, *_added(group)) for name, group in added if group]
    return laid_out("Dialogues", says, rows, {name: itemgetter(place) for place, name in enumerate(columns)})


def _added(group: Sequence[Judged]) -> tuple[str, ...]:
    def total(name: str) -> int:
        values = (getattr(one, name) for one in group)
        return sum(value if isinstance(value, int) else len(value) for value in values)

    return (
        str(len(group)),
        _part(total("wanted"), total("lines")),
        f"{_part(total('got_in'), total('never'))} ({total('got_into_soul')})",
        _part(total("rules") - total("unruled"), total("rules")),
        _part(total("no_rule"), total("soul")),
        _part(total("kept") - total("lost"), total("kept")),
        _part(total("changed") - total("unchanged"), total("changed")),
        _part(total("stale"), total("changed")),
        str(total("outdated")),
        _part(total("untold"), total("lines")),
        _part(total("asked") - total("unanswered"), total("asked")),
    )


def _part(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} of {whole}" if whole else "–"


def _retention(report: EvalReport) -> Table:
    return laid_out(
        "Retention",
        "Content words of the gold answers / whole answers that stand in the text, in per cent. Memory is what "
        "Workspace.context gives an agent at that size; of history the first lines of each entry; tokens are "
        "estimated, as everywhere in dream.",
        report.retention,
        {
            "text": lambda one: one.text,
            "tokens": lambda one: f"{one.tokens:,.0f}",
            "own": lambda one: _share(one.own[ALL]),
            "chance": lambda one: _share(one.chance[ALL]) if one.chance else "–",
            "own − chance": lambda one: _share(one.own[ALL] - one.chance[ALL]) if one.chance else "–",
            "answers with all words": lambda one: f"{one.retained} of {one.questions}",
        },
    )


def _categories(report: EvalReport) -> Table:
    names = [name for name in report.retention[0].own if name != ALL] if report.retention else []
    columns = {name: lambda one, name=name: _share(one.own[name]) + _less(one, name) for name in names}
    says = "The same by category of question, own (− chance)."
    return laid_out("Retention by category", says, report.retention, {"text": lambda one: one.text} | columns)


def _evidence(report: EvalReport) -> Table:
    return laid_out(
        "Evidence",
        "Questions whose evidence is cited by a line of memory, through finding → cursor → span: of a span the "
        "messages that the line is nearest to in its words.",
        report.evidence,
        {"text": lambda one: one.text, "all": lambda one: _one(one.all), "any": lambda one: _one(one.any)},
    )


def _change(report: EvalReport) -> Table:
    return laid_out(
        "Change",
        "Changed facts: the new value is there; of the clean cases, it is there and no line tells the old one as "
        "true; some line still does. In per cent.",
        report.change,
        {
            "text": lambda one: one.text,
            "new there": lambda one: f"{_one(one.there)} of {one.changes}",
            "chance": lambda one: _one(one.chance_there),
            "new there, old gone": lambda one: f"{_one(one.current)} of {one.clean}",
            "stale": lambda one: _one(one.stale),
        },
    )


def _stability(report: EvalReport) -> Table:
    one = report.stability
    again = (
        f"{one.again_calls} calls, {one.again_commits} commits, {one.again_entries} entries, {one.again_files} files"
    )
    rows = (("the same input again", again), ("near-equal pairs of lines", f"{one.pairs} among {one.lines} lines"))
    return Table("Stability", "All of it should be 0.", ("what", "count"), rows)


def _survival(report: EvalReport) -> Table:
    return laid_out(
        "Planted facts",
        "Planted facts that one line of memory holds: when they were said, and after the dreams over other material, "
        "with what changed in between.",
        report.survival,
        {
            "material": lambda one: one.material,
            "dreams": lambda one: str(one.dreams),
            "at first": lambda one: f"{one.before} of {one.planted}",
            "at last": lambda one: f"{one.after} of {one.planted}",
            "lost": lambda one: ", ".join(one.lost),
            "never held": lambda one: ", ".join(one.never),
        },
    )


def _restraint(report: EvalReport) -> Table:
    return laid_out(
        "Restraint",
        "What must not get in, and stood in a memory file after some night, or stands in history.",
        report.restraint,
        {
            "kind": lambda one: one.kind,
            "planted": lambda one: str(one.planted),
            "in memory": lambda one: str(one.memory),
            "in history": lambda one: str(one.history),
            "lines": lambda one: " | ".join(one.lines[:3]),
        },
    )


def _bill(report: EvalReport) -> Table:
    bill, kept = report.bill, report.kept
    each = max(1, bill.conversations)
    rows = [
        ("calls per conversation", f"{bill.usage.calls / each:,.1f}"),
        ("tokens in / out per conversation", _tokens(bill.usage, each)),
        ("price per conversation", _price(bill.usage, each)),
        ("seconds per conversation", f"{bill.seconds / each:.1f}"),
        ("the whole evaluation", f"{bill.all.calls:,} calls, {_tokens(bill.all, 1)} tokens, {_price(bill.all, 1)}"),
        (
            "exact things kept by summaries",
            f"{_of(kept.before, kept.said)}, with the tail {_of(kept.after, kept.said)}",
        ),
        *(("failed nights", text) for text in bill.failures),
    ]
    return Table("Bill", "What was asked of models.", ("what", "figure"), tuple(rows))


def _tokens(usage: Usage, each: int) -> str:
    return f"{usage.input_tokens / each:,.0f} / {usage.output_tokens / each:,.0f}"


def _price(usage: Usage, each: int) -> str:
    return "price not known" if usage.cost_usd is None else f"${usage.cost_usd / each:.4f}"


def _share(share: Share) -> str:
    return f"{share.recall:.1f} / {share.whole:.1f}"


def _less(one: Retention, name: str) -> str:
    return f" (− {_share(one.chance[name])})" if one.chance else ""


def _one(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.1f}"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")
