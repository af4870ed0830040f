"""`dream eval`: is memory any good? Measured without a model that judges."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand
from dream.cli.output import progress
from dream.errors import UsageError
from dream.language.text import clean, shortened
from dream.models import Progress, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dream.eval.conversation import Conversation
    from dream.eval.report import Table
    from dream.settings import Settings

FILE = click.Path(dir_okay=False, path_type=Path)
NUMBER = 20  # characters; a column of shorter cells is one of numbers
WIDEST = 60  # characters of a cell in a pipe; the JSON has all of it


@click.command("eval", cls=DreamCommand)
@click.argument("dataset")
@group.models
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N conversations.")
@click.option("--tokens", metavar="N,N,…", help="The sizes of memory to measure. Default: 2000,4500,6100.")
@click.option(
    "--sittings", type=click.IntRange(min=1), metavar="N", help="Only the first N sittings of each; `planted`: 24."
)
@click.option("--survive", is_flag=True, help="Also look for facts planted before 20 of the sittings: up to 24 more.")
@click.option("--record", type=FILE, metavar="FILE", help="Append each model call to FILE; what it holds isn't asked.")
@click.option("--replay", type=FILE, metavar="FILE", help="Answer model calls from FILE alone.")
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="DIR", help="Keep each conversation's workspace there."
)
@click.option("--recall", is_flag=True, help="Measure search alone: is a question's evidence among the first hits?")
@group.settings_of
@group.as_json
def eval_command(
    dataset: str,
    flags: Mapping[str, object],
    limit: int | None,
    tokens: str | None,
    sittings: int | None,
    survive: bool,
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
      dream eval dialogues
      dream eval planted --model openai/gpt-5-mini --sittings 8 --limit 1
      dream eval locomo10.json --limit 2 --sittings 5 --json
      dream eval dialogues --model openai/gpt-5-mini --record calls.jsonl
      dream eval locomo10.json --recall
    """
    from dream.eval import datasets, report
    from dream.eval.recording import Recording

    if record and replay:
        raise UsageError("--record asks a model and --replay asks none: name one of them.")
    recording = Recording(file, ask=record is not None) if (file := record or replay) else None
    settings = _settings(directory, flags)
    sizes = _sizes(tokens) or report.SIZES
    conversations = datasets.load(dataset, limit=limit, sittings=sittings)
    if recall:
        _recall(conversations, settings, as_json=as_json)
        return
    other = datasets.another(dataset, conversations[0], sittings=sittings) if len(conversations) == 1 else None
    with progress("reading", quiet=as_json) as shown:
        found = report.evaluate(
            conversations,
            settings,
            sizes=sizes,
            other=other,
            survive=survive,
            recording=recording,
            keep=keep,
            tell=_telling(shown),
        )
    if as_json:
        output.emit(report.shape(found))
        return
    measured = f"{show.counted(len(found.conversations), 'conversation')}, {show.counted(found.sessions, 'session')}"
    output.say(f"{measured}, model: {found.model}", bold=True)
    for table in report.tables(found):
        _show(table)


def _telling(shown: Progress | None) -> Callable[[str], None]:
    return (lambda what: shown(Step(what))) if shown else (lambda what: None)


def _recall(conversations: Sequence[Conversation], settings: Settings, *, as_json: bool) -> None:
    from dream.eval.recall import at_prompts, prompt_table, recall, table

    with progress("reading", quiet=as_json) as shown:
        found = recall(conversations, settings, tell=_telling(shown))
        prompts = at_prompts(conversations, tell=_telling(shown))
    if as_json:
        output.emit({"recall": found, "prompts": prompts})
        return
    _show(table(found))
    _show(prompt_table(prompts))


def _settings(directory: Path | None, flags: Mapping[str, object]) -> Settings:
    """Read the settings: flags, environment and, of a workspace that is named, dream.toml; times are in the datasets'
    UTC."""
    from dream.settings import CALLING, load

    root = group.open_workspace(directory).root if directory else None
    return load(root, flags={"timezone": "UTC", "durable": False, **flags}, using=CALLING)


def _sizes(tokens: str | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in (tokens or "").split(",") if size.strip())
    except ValueError:
        raise UsageError(f"--tokens {tokens!r} is not a list of whole numbers, like 2000,4500.") from None
    if any(size <= 0 for size in sizes):
        raise UsageError(f"--tokens {tokens!r}: a size must be above 0.")
    return sizes


def _show(table: Table) -> None:
    if not output.colours(sys.stdout):
        _plain(table)
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    output.say(f"\n{table.title}", bold=True)
    output.say(table.says, dim=True)
    shown = RichTable(box=box.SIMPLE)
    for number, column in enumerate(table.columns):
        numbers = number > 0 and all(len(row[number]) < NUMBER for row in table.rows)
        shown.add_column(column, justify="right" if numbers else "left")
    for row in table.rows:
        shown.add_row(*(escape(clean(cell)) for cell in row))
    Console().print(shown)


def _plain(table: Table) -> None:
    """Print a table in Markdown, which stays readable in a file."""
    output.say()
    output.say(f"### {table.title}")
    output.say()
    output.say(table.says)
    output.say()
    rows = [[_cell(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        output.say(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |")


def _cell(text: str) -> str:
    return shortened(" ".join(text.replace("|", "/").split()), WIDEST)
