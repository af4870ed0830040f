"""Measure memory: `python -m tests.quality DATASET`; tests/quality/README.md tells of the data and the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from dream.cli import group, output, show
from dream.errors import UsageError
from dream.reports import Progress, Step
from dream.settings import CALLING, Settings, load
from dream.text.safe import shortened
from tests.quality import Conversation, datasets, report
from tests.quality.recall import at_prompts, prompt_table, recall, table
from tests.quality.report import Table
from tests.quality.scratch import Recording

FILE = click.Path(dir_okay=False, path_type=Path)
WIDEST = 60  # characters of a cell; the JSON has all of it


@click.command(cls=group.DreamCommand)
@click.argument("dataset")
@group.models
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N conversations.")
@click.option("--tokens", metavar="N,N,…", help="The sizes of memory to measure. Default: 2000,4500,6100.")
@click.option(
    "--sittings", type=click.IntRange(min=1), metavar="N", help="Only the first N sittings of each; `planted`: 24."
)
@click.option("--survive", is_flag=True, help="Also look for facts planted before 20 of the sittings: up to 24 more.")
@click.option("--reread", is_flag=True, help="Let `embedded` dream the nights, and read all again with the model.")
@click.option("--record", type=FILE, metavar="FILE", help="Append each model call to FILE; what it holds isn't asked.")
@click.option("--replay", type=FILE, metavar="FILE", help="Answer model calls from FILE alone.")
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="DIR", help="Keep each conversation's workspace there."
)
@click.option("--recall", is_flag=True, help="Measure search alone: is a question's evidence among the first hits?")
@group.settings_of
@group.as_json
def main_command(
    dataset: str,
    flags: Mapping[str, object],
    limit: int | None,
    tokens: str | None,
    sittings: int | None,
    survive: bool,
    reread: bool,
    record: Path | None,
    replay: Path | None,
    keep: Path | None,
    recall: bool,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Measure what memory keeps of conversations, what it costs and what it lets in; no model judges.

    DATASET is `dialogues`: real-life conversations in six languages with what must and must not be remembered;
    `dialogues:unseen` is the half of them that nobody looked at while building. Or `planted`: conversations in English
    and Chinese that are generated here, others for each `planted:SEED`. Or a LoCoMo file, a BEAM chat, a dialogue in
    TOML, or a folder of one kind. Each is dreamt night by night in a scratch workspace, with the model that your
    settings name. Beside shares of words stands what chance gives: the memory of another conversation.

    \b
    Examples:
      python -m tests.quality dialogues
      python -m tests.quality planted --model openai/gpt-5-mini --sittings 8 --limit 1
      python -m tests.quality locomo10.json --limit 2 --sittings 5 --json
      python -m tests.quality dialogues --model openai/gpt-5-mini --record calls.jsonl
      python -m tests.quality locomo10.json --recall
    """
    if record and replay:
        raise UsageError("--record asks a model and --replay asks none: name one of them.")
    recording = Recording(file, ask=record is not None) if (file := record or replay) else None
    root = group.open_workspace(directory).root if directory else None
    # Flags, environment and, of a workspace that is named, dream.toml; times are in the datasets' UTC.
    settings = load(root, flags={"timezone": "UTC", "durable": False, **flags}, using=CALLING)
    sizes = _sizes(tokens) or report.SIZES
    conversations = datasets.load(dataset, limit=limit, sittings=sittings)
    if recall:
        _search(conversations, settings, as_json=as_json)
        return
    other = datasets.another(dataset, conversations[0], sittings=sittings) if len(conversations) == 1 else None
    with output.progress("reading", quiet=as_json) as shown:
        found = report.evaluate(
            conversations,
            settings,
            sizes=sizes,
            other=other,
            survive=survive,
            recording=recording,
            keep=keep,
            reread=reread,
            tell=_telling(shown),
        )
    if as_json:
        output.emit(report.shape(found))
        return
    measured = f"{show.counted(len(found.conversations), 'conversation')}, {show.counted(found.sessions, 'session')}"
    output.say(f"{measured}, model: {found.model}", bold=True)
    for measure in report.tables(found):
        _show(measure)


def _telling(shown: Progress) -> Callable[[str], None]:
    return lambda what: shown(Step(what))


def _search(conversations: Sequence[Conversation], settings: Settings, *, as_json: bool) -> None:
    with output.progress("reading", quiet=as_json) as shown:
        found = recall(conversations, settings, tell=_telling(shown))
        prompts = at_prompts(conversations, tell=_telling(shown))
    if as_json:
        output.emit({"recall": found, "prompts": prompts})
        return
    _show(table(found))
    _show(prompt_table(prompts))


def _sizes(tokens: str | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in (tokens or "").split(",") if size.strip())
    except ValueError:
        raise UsageError(f"--tokens {tokens!r} is not a list of whole numbers, like 2000,4500.") from None
    if any(size <= 0 for size in sizes):
        raise UsageError(f"--tokens {tokens!r}: a size must be above 0.")
    return sizes


def _show(table: Table) -> None:
    """Print a table in Markdown, which stays readable in a file."""
    output.say(f"\n### {table.title}\n\n{table.says}\n")
    rows = [[_cell(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        output.say(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |")


def _cell(text: str) -> str:
    return shortened(" ".join(text.replace("|", "/").split()), WIDEST)


if __name__ == "__main__":
    group.finish(main_command, "python -m tests.quality")
