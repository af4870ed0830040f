"""The report as tables for a person and as one JSON value for a program. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dream.eval.dialogues import CONTROL, Judged
from dream.eval.measures import ALL, Retention, Share
from dream.eval.report import Report


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a sentence that says how to read it."""

    title: str
    says: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(report: Report) -> Iterator[Table]:
    """Lay out what was measured; nothing where there was nothing to measure.

    Where all of a memory is smaller than a size, the row of a larger one would say the same and is left out.
    """
    for make in (
        _dialogues,
        _retention,
        _categories,
        _evidence,
        _change,
        _stability,
        _survival,
        _restraint,
        _form,
        _bill,
        _prefix,
    ):
        table = make(report)
        if table.rows:
            yield dataclasses.replace(table, rows=tuple(_distinct(table.rows)))


def shape(report: Report) -> dict[str, object]:
    """Shape the report for `--json`: the fields of each measure, figures in per cent to one place."""
    plain = dataclasses.asdict(report)
    del plain["memories"]
    for row, measured in zip(plain["retention"], report.retention, strict=True):
        row["own_minus_chance"] = _difference(measured) if measured.chance else None
    plain["bill"]["tokens_per_fact"] = report.bill.tokens_per_fact
    return {name: _rounded(value) for name, value in plain.items()}


def _dialogues(report: Report) -> Table:
    """Add up the dialogues: all, each half and each language; the control beside all and each half."""
    judged = list(report.dialogues)
    groups = [("all", judged)]
    groups += [(half, [one for one in judged if one.half == half]) for half in ("seen", "unseen")]
    named = [(text, name, group) for text in ("memory", CONTROL) for name, group in groups]
    languages = dict.fromkeys(one.language for one in judged)
    named += [("memory", name, [one for one in judged if one.language == name]) for name in languages]
    added = ((f"{text}, {name}", [one for one in group if one.text == text]) for text, name, group in named)
    rows = [(name, *_added(group)) for name, group in added if group]
    says = (
        "Facts kept; of what changed, the new is there and the old is not told as true; of what must not be "
        "remembered, what got in (into SOUL.md); rules of the user that stand in SOUL.md; of its lines those that are "
        "no rule; lines with words that nobody said in this order. In per cent."
    )
    columns = ("text", "dialogues", "kept", "changed", "stale", "never (SOUL)", "rules", "no rule", "untold")
    return Table("Dialogues", says, columns, tuple(rows))


def _added(group: Sequence[Judged]) -> tuple[str, ...]:
    kept, changed, never = (sum(getattr(one, name) for one in group) for name in ("kept", "changed", "never"))
    rules, soul, lines = (sum(getattr(one, name) for one in group) for name in ("rules", "soul", "lines"))
    return (
        str(len(group)),
        _part(kept - sum(len(one.lost) for one in group), kept),
        _part(changed - sum(len(one.unchanged) for one in group), changed),
        _part(sum(len(one.stale) for one in group), changed),
        f"{_part(sum(len(one.got_in) for one in group), never)} ({sum(len(one.got_into_soul) for one in group)})",
        _part(rules - sum(len(one.unruled) for one in group), rules),
        _part(sum(len(one.no_rule) for one in group), soul),
        _part(sum(len(one.untold) for one in group), lines),
    )


def _part(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} of {whole}" if whole else "–"


def _retention(report: Report) -> Table:
    rows = [
        (
            one.text,
            f"{one.tokens:,.0f}",
            _share(one.own[ALL]),
            _share(one.chance[ALL]) if one.chance else "–",
            _share(one.own[ALL] - one.chance[ALL]) if one.chance else "–",
            f"{one.retained} of {one.questions}",
        )
        for one in report.retention
    ]
    says = (
        "Content words of the gold answers / whole answers that stand in the text, in per cent. Memory is what "
        "Workspace.context gives an agent at that size; of history the first lines of each entry; tokens are "
        "characters / 4."
    )
    return Table(
        "Retention", says, ("text", "tokens", "own", "chance", "own − chance", "answers with all words"), tuple(rows)
    )


def _categories(report: Report) -> Table:
    names = [name for name in report.retention[0].own if name != ALL] if report.retention else []
    rows = [
        (one.text, *(_share(one.own[name]) + _less(one, name) for name in names)) for one in report.retention if names
    ]
    says = "The same by category of question, own (− chance)."
    return Table("Retention by category", says, ("text", *names), tuple(rows))


def _evidence(report: Report) -> Table:
    rows = [
        (
            f"memory, {one.tokens:,}" if one.tokens else one.text,
            one.text if one.tokens else "named",
            _one(one.all),
            _one(one.any),
        )
        for one in report.evidence
    ]
    says = (
        "Questions whose evidence is cited by a line of memory, through finding → cursor → span; of a span the "
        "messages that the line is nearest to in its words, or all."
    )
    return Table("Evidence", says, ("text", "cited", "all", "any"), tuple(rows))


def _change(report: Report) -> Table:
    rows = [
        (
            one.text,
            f"{_one(one.there)} of {one.changes}",
            _one(one.chance_there),
            f"{_one(one.current)} of {one.clean}",
            _one(one.stale),
        )
        for one in report.change
    ]
    says = (
        "Changed facts: the new value is there; of the clean cases, it is there and no line tells the old one as "
        "true; some line still does. In per cent."
    )
    return Table("Change", says, ("text", "new there", "chance", "new there, old gone", "stale"), tuple(rows))


def _stability(report: Report) -> Table:
    one = report.stability
    again = (
        f"{one.again_calls} calls, {one.again_commits} commits, {one.again_entries} entries, {one.again_files} files"
    )
    rows = [
        ("the same input again", again),
        ("near-equal pairs of lines", f"{one.pairs} among {one.lines} lines"),
        ("lines lost per dream", f"{one.lost / max(1, one.dreams):.2f} ({one.lost} in {one.dreams} dreams)"),
        ("lines moved to the archive", str(one.moved)),
    ]
    return Table("Stability", "All of it should be 0.", ("what", "count"), tuple(rows))


def _survival(report: Report) -> Table:
    rows = [
        (
            one.material,
            str(one.dreams),
            f"{one.before} of {one.planted}",
            f"{one.after} of {one.planted}",
            ", ".join(one.lost),
            ", ".join(one.never),
        )
        for one in report.survival
    ]
    says = (
        "Planted facts that one line of memory holds: when they were said, and after the dreams over other material, "
        "with what changed in between."
    )
    return Table(
        "Planted facts", says, ("material", "dreams", "at first", "at last", "lost", "never held"), tuple(rows)
    )


def _restraint(report: Report) -> Table:
    rows = [
        (one.kind, str(one.planted), str(one.memory), str(one.history), " | ".join(one.lines[:3]))
        for one in report.restraint
    ]
    says = "What must not get in, and stood in a memory file after some night, or stands in history."
    return Table("Restraint", says, ("kind", "planted", "in memory", "in history", "lines"), tuple(rows))


def _form(report: Report) -> Table:
    form = report.form
    rows = [
        ("lines", f"{form.lines:,}", ""),
        ("words a line", _one(form.words), ""),
        ("with a year, per cent", _one(form.dated), ""),
        ("of three statements or more, per cent", _one(form.crowded), ""),
        *((f"{name}, per cent", _one(share), form.examples.get(name, "")) for name, share in form.signs.items()),
    ]
    return Table(
        "Form", "Does it read like memory? The last five should be near 0.", ("lines", "figure", "such as"), tuple(rows)
    )


def _bill(report: Report) -> Table:
    bill, kept = report.bill, report.kept
    each = max(1, bill.conversations)
    price = "not known" if bill.usage.cost_usd is None else f"${bill.usage.cost_usd / each:.4f}"
    per_fact = "–" if bill.tokens_per_fact is None else f"{bill.tokens_per_fact:,.0f}"
    rows = [
        ("calls per conversation", f"{bill.usage.calls / each:,.1f}"),
        (
            "tokens in / out per conversation",
            f"{bill.usage.input_tokens / each:,.0f} / {bill.usage.output_tokens / each:,.0f}",
        ),
        ("price per conversation", price),
        ("seconds per conversation", f"{bill.seconds / each:.1f}"),
        ("tokens per retained fact", per_fact),
        (
            "exact things kept by summaries",
            f"{_of(kept.before, kept.said)}, with the tail {_of(kept.after, kept.said)}",
        ),
        *(("failed nights", text) for text in bill.failures),
    ]
    return Table(
        "Bill",
        "A retained fact is a question all of whose answer's words are in memory.",
        ("what", "figure"),
        tuple(rows),
    )


def _prefix(report: Report) -> Table:
    rows = [(job, _one(share)) for job, share in report.bill.prefix.items()]
    says = "What a prompt cache can serve: the share of a night's first prompt that the night before's begins with too."
    return Table("Prompt cache", says, ("job", "per cent"), tuple(rows))


def _distinct(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Leave out a row that differs from an earlier one of the same kind only in its size: `memory, 4,500`."""
    seen = set()
    for row in rows:
        kind, comma, _ = row[0].partition(", ")
        if not comma or (kind, row[1:]) not in seen:
            yield row
        seen.add((kind, row[1:]))


def _share(share: Share) -> str:
    return f"{share.recall:.1f} / {share.whole:.1f}"


def _less(one: Retention, name: str) -> str:
    return f" (− {_share(one.chance[name])})" if one.chance else ""


def _difference(one: Retention) -> dict[str, dict[str, float]]:
    chance = one.chance or {}
    return {name: dataclasses.asdict(share - chance[name]) for name, share in one.own.items() if name in chance}


def _one(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.1f}"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 1)
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value
