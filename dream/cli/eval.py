"""`dream eval` and `demo`: the whole pipeline on conversations that are shipped, measured or shown."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream import pipeline, transcripts
from dream.cli import group, output, show
from dream.errors import UsageError
from dream.language import tokens
from dream.language.text import clean, shortened
from dream.models import MEMORY_FILES, Diagnostic, MemoryFile
from dream.reports import BatchReport, ConsolidateReport, Progress, RunReport, Step, named
from dream.settings import CALLING, EMBEDDED, Settings, load
from dream.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dream.eval import Conversation
    from dream.eval.report import Table

FILE = click.Path(dir_okay=False, path_type=Path)
NUMBER = 20  # characters; a column of shorter cells is one of numbers
WIDEST = 60  # characters of a cell in a pipe; the JSON has all of it


@click.command("eval", cls=group.DreamCommand)
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
    from dream.eval.scratch import Recording

    if record and replay:
        raise UsageError("--record asks a model and --replay asks none: name one of them.")
    recording = Recording(file, ask=record is not None) if (file := record or replay) else None
    root = group.open_workspace(directory).root if directory else None
    # Flags, environment and, of a workspace that is named, dream.toml; times are in the datasets' UTC.
    settings = load(root, flags={"timezone": "UTC", "durable": False, **flags}, using=CALLING)
    sizes = _sizes(tokens) or report.SIZES
    conversations = datasets.load(dataset, limit=limit, sittings=sittings)
    if recall:
        _recall(conversations, settings, as_json=as_json)
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
            tell=_telling(shown),
        )
    if as_json:
        output.emit(report.shape(found))
        return
    measured = f"{show.counted(len(found.conversations), 'conversation')}, {show.counted(found.sessions, 'session')}"
    output.say(f"{measured}, model: {found.model}", bold=True)
    for table in report.tables(found):
        _show(table)


def _telling(shown: Progress) -> Callable[[str], None]:
    return lambda what: shown(Step(what))


def _recall(conversations: Sequence[Conversation], settings: Settings, *, as_json: bool) -> None:
    from dream.eval.recall import at_prompts, prompt_table, recall, table

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


@click.command("demo", cls=group.DreamCommand)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def demo_command(directory: Path | None, named: Path | None, as_json: bool) -> int | None:
    """Run the whole pipeline on a shipped conversation, with nothing configured.

    Twelve days of a developer and her coding assistant become history, and three dreams make memory of it: the three
    files, and one git commit a dream. The model is `embedded` whatever is configured: no key, no network. DIR has to be
    new or empty; without it a temporary directory is made.

    \b
    Examples:
      dream demo
      dream demo ./dream-demo
    """
    place = _demo_place(directory or named)
    with output.progress("dreaming", quiet=as_json) as shown:
        played = play(place, shown)
    if as_json:
        output.emit(played)
    else:
        _show_played(played)
    return max(night.run.exit_status for night in played.nights) or None


def _demo_place(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="dream-demo-"))
    place = wanted.expanduser()
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        raise UsageError(f"{wanted} is not empty; the demo makes a workspace of its own: name a new directory.")
    return place


def _show_played(played: Played) -> None:
    said = f"{show.counted(played.sessions, 'session')}, {show.counted(played.messages, 'message')}"
    said += f", {played.tokens:,} tokens"
    output.say(f"Twelve days of a developer and her coding assistant: {said}.", bold=True, fold=True)
    for night in played.nights:
        _tell_night(night.at.strftime("%a %d %b"), night.consolidated.messages, night.run.batches)
    for name, text in played.files.items():
        output.say()
        output.say(f"──── {name} ────", bold=True)
        output.say(text.rstrip("\n"), fold=True)
    output.say()
    output.say("──── what the last dream changed ────", bold=True)
    show.diff(played.diff)
    output.say()
    output.say(f"Model: {show.model_line(SETTINGS)}", fold=True)
    place, dream = shlex.quote(str(played.workspace)), _typed()
    commits = [batch.commit[:10] for night in played.nights for batch in night.run.batches if batch.commit]
    output.say(f"Try:   {dream} log -w {place}")
    for commit in commits[:1]:
        output.say(f"       {dream} log {commit} -w {place}")
        output.say(f"       {dream} restore {commit} --only --dry-run -w {place}")
    output.say(f"       git -C {place} log")
    output.say(f"Yours: {dream} init, {dream} consolidate TRANSCRIPT, {dream} run")


def _typed() -> str:
    """Name the command as this person has to type it: it may be in an environment that is not on PATH."""
    called = Path(sys.argv[0])
    return "dream" if shutil.which("dream") or called.name != "dream" else shlex.quote(str(called))


def _tell_night(day: str, messages: int, batches: tuple[BatchReport, ...]) -> None:
    for batch in batches:
        changed = show.changed(batch.files)
        commit = batch.commit[:10] if batch.commit else "no commit "
        found = show.counted(len(batch.outcomes), "finding")
        line = f"  {day}  {commit}  {show.counted(messages, 'message')} → {found} → {changed or 'nothing'}"
        output.say(line, fold=True)


# The nights of the demo's story. Its sessions lie in dream/demo/, in Claude Code's format, one file each; everything in
# them is invented, the password too.


# When they are, each with the sessions that had gone quiet by then.
NIGHTS: tuple[tuple[datetime, tuple[str, ...]], ...] = (
    (datetime(2026, 11, 5, 3, tzinfo=UTC), ("1-monday.jsonl", "2-wednesday.jsonl")),
    (datetime(2026, 11, 9, 3, tzinfo=UTC), ("3-friday.jsonl", "4-sunday.jsonl")),
    (datetime(2026, 11, 14, 3, tzinfo=UTC), ("5-wednesday.jsonl", "6-friday.jsonl")),
)
# Whatever is configured, the demo needs no key and gives the same on every machine.
SETTINGS = Settings(model=EMBEDDED, timezone="UTC")


@dataclass(frozen=True, slots=True)
class DemoNight:
    """One night of the demo."""

    at: datetime = field(metadata=named("time"))
    consolidated: ConsolidateReport
    run: RunReport


@dataclass(frozen=True, slots=True)
class Played:
    """What the demo did: how much was said in all, the nights, the files, and the diff of the last dream."""

    workspace: Path
    sessions: int
    messages: int
    tokens: int
    nights: tuple[DemoNight, ...]
    files: dict[MemoryFile, str]
    diff: str


def play(directory: Path, watch: Progress) -> Played:
    """Make a workspace in `directory`, which has to be empty or new, and have three nights in it.

    Only the door to models and the clock differ from real nights: the `embedded` model, and the nights of the story.
    """
    workspace, folder = Workspace.create(directory, now=NIGHTS[0][0]), resources.files("dream") / "demo"
    nights, said = list[DemoNight](), 0
    for at, names in NIGHTS:
        paths = [Path(str(folder / name)) for name in names]
        read = pipeline.consolidate(workspace, paths, settings=SETTINGS, now=at, progress=watch)
        nights.append(DemoNight(at, read, pipeline.run(workspace, settings=SETTINGS, now=at, progress=watch)))
        for path in paths:
            said += sum(tokens.estimate(one.content) for _, one in transcripts.read(path, zone=UTC, report=_silent))
    commits = [batch.commit for night in nights for batch in night.run.batches if batch.commit]
    return Played(
        workspace=workspace.root,
        sessions=sum(night.consolidated.sessions for night in nights),
        messages=sum(night.consolidated.messages for night in nights),
        tokens=said,
        nights=tuple(nights),
        files={name: workspace.read_file(name) for name in MEMORY_FILES},
        diff=workspace.git.show(commits[-1]).diff if commits else "",
    )


def _silent(diagnostic: Diagnostic) -> None:
    """The pipeline reads the same file and tells."""
