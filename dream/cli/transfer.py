"""`dream import` and `dream export`: take in what other tools remember, and write memory for them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import UsageError
from dream.memory import tag
from dream.text.safe import clean
from dream.text.words import without_bullet

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.transfer.bundle import Format
    from dream.transfer.native import NativeFile
    from dream.transfer.take import FoundFile, Offer, Taken
    from dream.transfer.tools import MemorySource

KEYS = "↑↓ move   space take   → lines   a all   Enter take what is marked   q nothing"
_KEY = re.compile(r"\x1b[\[O][A-D]|.", re.DOTALL)
CHROME = 4  # rows of the screen beside the list


@click.command("import", cls=group.DreamCommand)
@click.argument("names", nargs=-1, metavar="[NAME|PATH…]", type=group.Text())
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be imported.")
@click.option("-y", "--yes", is_flag=True, help="Import all of the named paths without asking.")
@group.workspace
@group.as_json
def import_command(
    names: tuple[str, ...], dry_run: bool, yes: bool, directory: Path | None, as_json: bool
) -> int | None:
    """Import what other tools remember: Claude Code, Codex, ChatGPT, mem0 and others.

    Without a name, shows what is found on this machine. NAME is a tool's; PATH a file or directory: Markdown, a
    list, or an export in JSON. On a terminal you choose on one screen; elsewhere every line waits in `dream
    review`. Lines that memory already has are skipped, lines that contradict it are shown beside it, and of a
    file that changed since, only the changes are imported. No source is ever written to.

    \b
    Examples:
      dream import
      dream import claude-code
      dream import ~/Downloads/chatgpt-memories.txt --yes
      dream import ./mem0.json --dry-run
    """
    from dream.transfer import take

    if yes and not any(_is_path(name) for name in names):
        raise UsageError("--yes takes in a path that is named: dream import PATH --yes")
    if yes:
        group.only_a_person("What is taken in unseen", f"dream import {' '.join(names)} --yes")
    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=("redact_patterns",))
    files = take.look(workspace, _sources(workspace, names), settings, Path.home())
    asks = group.somebody_answers() and not (as_json or dry_run or yes)
    if not (asks or as_json):
        _list(files, whole=bool(names))
    accepted: list[Offer] = []
    held: list[Offer] = []
    every = [offer for one in files for offer in one.offers]
    if yes:
        accepted, held = [one for one in every if not one.alone], [one for one in every if one.alone]
    elif asks and every:
        accepted = _chosen(files)
    elif names and not dry_run:
        held = every
    done = take.take(workspace, accepted, held, settings=settings, now=group.now())
    if as_json:
        output.emit({**_shape(done), "files": [_file_shape(one) for one in files]})
    else:
        _tell(done, bool(every), named=bool(names), dry_run=dry_run)
    return 1 if all(one.problem for one in files) and files else 3 if done.held else None


def _is_path(name: str) -> bool:
    from dream.transfer.tools import NAMES

    return name not in NAMES or os.sep in name


def _sources(workspace: Workspace, names: Sequence[str]) -> list[MemorySource]:
    from dream.transfer import tools
    from dream.workspace.places import Places

    home = Path.home()
    named = [name for name in names if not _is_path(name)]
    paths = [one for name in names if _is_path(name) for one in tools.named(Path(name), home, os.environ)]
    if paths and not named:
        return paths
    places = Places(workspace.root, workspace.private, home).all()
    here = [str(folder) for folder in (Path.cwd(), *Path.cwd().parents) if (folder / ".git").exists()]
    projects = [str(Path.cwd()), *here, *(path for place in places for path in place.paths)]
    return [*paths, *tools.everywhere(home, os.environ, projects, named)]


def _list(files: Sequence[FoundFile], *, whole: bool) -> None:
    """Print the files of each tool: lines, age, and how many are new; with `whole` the new lines too."""
    from dream.transfer.take import shown

    for tool, mine in groupby(sorted(files, key=lambda one: one.source.tool), lambda one: one.source.tool):
        output.say(tool, bold=True)
        for one in mine:
            output.say(f"  {shown(one.source.path, Path.home())}")
            output.say(f"    {_about(one)}", dim=not one.offers, fold=True)
            why = {offer.alone for offer in one.offers} if whole else set()
            for reason in filter(None, why if len(why) == 1 else ()):
                output.say(f"    each of them {reason}", colour="yellow", fold=True)
            for offer in one.offers if whole else ():
                _line(offer, reason=len(why) > 1)
    if not files:
        output.say("Nothing is found on this machine; name a file: dream import PATH")


def _about(one: FoundFile) -> str:
    if one.problem:
        return one.problem
    left = [f"{count:,} {why}" if not why.startswith("left out") else why for why, count in one.left.items()]
    parts = [show.counted(one.lines, "line"), f"of {one.day}", f"{len(one.offers):,} new", *left]
    return "; ".join(parts)


def _line(offer: Offer, *, reason: bool) -> None:
    where, _, why = _where(offer).partition("; ")
    output.say(f"    {_signed(offer)}  ({where})", fold=True)
    if why and reason:
        output.say(f"      {why}", colour="yellow", fold=True)


def _where(offer: Offer) -> str:
    """Return where a line goes, and why it has to be accepted by itself, if it has."""
    place = Path(offer.folder).name if offer.folder else offer.place
    where = f"{tag(offer.file)}, in {place}" if place else tag(offer.file)
    where += f", under {offer.headings[-1].lstrip('# ')}" if offer.headings else ""
    return "; ".join(filter(None, (where, offer.alone)))


def _signed(offer: Offer) -> str:
    """Return a line behind its sign: + is added, ≠ replaces another line, - is removed."""
    return f"{'-' if not offer.text else '≠' if offer.instead else '+'} {offer.text or without_bullet(offer.instead)}"


def _tell(done: Taken, some: bool, *, named: bool, dry_run: bool) -> None:
    if done.accepted:
        commit = f" in {show.short(done.sha)}" if done.sha else ""
        output.say(f"Took in {show.counted(done.accepted, 'line')}{commit}.", bold=True)
    if done.held:
        output.say(f"Held for review: {', '.join(map(str, done.held))}. `dream review` shows and decides.", bold=True)
    if done.batch:
        output.say(f"To take all of it back: dream restore --batch {done.batch}")
    elif dry_run:
        output.say("This was a dry run: nothing was taken in.")
    elif some and not named:
        output.say("Nothing was taken in. Take one in with: dream import NAME")
    elif named:
        output.say("Nothing was taken in." if some else "There is nothing new to take in.")


def _shape(done: Taken) -> dict[str, object]:
    return {
        "batch": done.batch or None,
        "commit": done.sha,
        "entries": done.entries,
        "accepted": done.accepted,
        "held": done.held,
    }


def _file_shape(one: FoundFile) -> dict[str, object]:
    return {
        "tool": one.source.tool,
        "file": str(one.source.path),
        "day": one.day.isoformat(),
        "lines": one.lines,
        "new": [
            {
                "text": offer.text,
                "file": offer.file,
                "place": offer.folder or offer.place,
                "headings": offer.headings,
                "day": offer.day and offer.day.isoformat(),
                "instead": offer.instead,
                "alone": offer.alone,
            }
            for offer in one.offers
        ],
        "left": one.left,
        "problem": one.problem,
    }


# The screen on which a person chooses what to import: by file, by line, or all.


class _Screen:
    """The files with their new lines, the marked lines, and the cursor."""

    def __init__(self, files: Sequence[FoundFile]) -> None:
        self.files = files
        self.marked: set[tuple[int, int]] = set()
        self._opened = {0} if len(files) == 1 else set[int]()
        self._at = 0
        self._said = ""

    def press(self, key: str) -> None:
        """Handle a key."""
        rows, (file, line) = self._rows(), self._here()
        self._said = ""
        if key in ("\x1b[A", "\x1bOA", "k"):
            self._at = max(0, self._at - 1)
        elif key in ("\x1b[B", "\x1bOB", "j"):
            self._at = min(len(rows) - 1, self._at + 1)
        elif key in ("\x1b[C", "\x1bOC", "\x1b[D", "\x1bOD", "\t"):
            self._opened ^= {file}
            self._at = rows.index((file, -1))
        elif key == "a":
            self._mark(range(len(self.files)))
        elif key == " " and line < 0:
            self._mark([file])
        elif key == " ":
            self.marked ^= {(file, line)}
            self._at = min(len(rows) - 1, self._at + 1)

    def _mark(self, numbers: Iterable[int]) -> None:
        """Mark all lines of files, except those that are accepted one by one; unmark them where all are marked."""
        every = {(file, line) for file in numbers for line in range(len(self.files[file].offers))}
        alone = {one for one in every if self._offer(one).alone}
        together = every - alone
        self.marked = self.marked - together if together <= self.marked else self.marked | together
        if alone:
            self._said = f"{show.counted(len(alone), 'line')} can only be marked one by one: → shows them."

    def chosen(self) -> list[Offer]:
        """Return the marked lines, in order."""
        return [self._offer(one) for one in sorted(self.marked)]

    def _offer(self, row: tuple[int, int]) -> Offer:
        return self.files[row[0]].offers[row[1]]

    def _here(self) -> tuple[int, int]:
        return self._rows()[self._at]

    def _rows(self) -> list[tuple[int, int]]:
        """Return the rows of the list: a file, and its lines where it is opened."""
        lines = [range(-1, len(one.offers) if number in self._opened else 0) for number, one in enumerate(self.files)]
        return [(file, line) for file, some in enumerate(lines) for line in some]

    def draw(self) -> None:
        """Draw the screen anew."""
        columns, height = shutil.get_terminal_size()
        rows, here = self._rows(), self._here()
        room = max(1, height - CHROME)
        first = max(0, min(self._at - room // 2, len(rows) - room))
        total = sum(len(one.offers) for one in self.files)
        lines = [output.cut(f"{len(self.marked):,} of {show.counted(total, 'new line')} marked.  {KEYS}", columns - 1)]
        for row in rows[first : first + room]:
            text = output.cut(self._text(row), columns - 1)
            lines.append(click.style(text, reverse=True) if row == here else text)
        beside = self._said or (_where(self._offer(here)) if here[1] >= 0 else "")
        lines += ["", output.cut(clean(beside), columns - 1)]
        click.echo("\x1b[H\x1b[2J" + "\n".join(lines), nl=False)

    def _text(self, row: tuple[int, int]) -> str:
        from dream.transfer.take import shown

        one = self.files[row[0]]
        if row[1] >= 0:
            return clean(f"    [{'x' if row in self.marked else ' '}] {_signed(self._offer(row))}").replace("\n", " ")
        own = {(row[0], line) for line in range(len(one.offers))}
        box = "x" if own and own <= self.marked else "-" if own & self.marked else " "
        return clean(f"[{box}] {one.source.tool}  {shown(one.source.path, Path.home())}  {_about(one)}")


def _chosen(files: Sequence[FoundFile]) -> list[Offer]:
    """Let a person choose on one screen; return an empty list where they quit."""
    screen = _Screen([one for one in files if one.offers])
    click.echo("\x1b[?1049h", nl=False)
    try:
        while True:
            screen.draw()
            for key in _KEY.findall(click.getchar()):  # several keys typed fast come at once
                if key in ("q", "\x1b", "\x04"):
                    return []
                if key in ("\r", "\n"):
                    return screen.chosen()
                screen.press(key)
    finally:
        click.echo("\x1b[?1049l", nl=False)


@click.command("export", cls=group.DreamCommand)
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@click.option("--format", "form", type=click.Choice(["md", "json", "okf"]), default="md", show_default=True)
@click.option("--place", metavar="NAME", default="", help="Only what applies in this place.")
@group.workspace
@group.as_json
def export_command(folder: Path | None, form: Format, place: str, directory: Path | None, as_json: bool) -> None:
    """Write memory for other tools and for a copy: Markdown, JSON or OKF.

    Writes into DIR, which has to be new or empty, or else to standard output. JSON has each line with its day
    and the entries it is based on; OKF is a bundle of Markdown with front matter. `dream import` reads each of
    them, and what it reads is the same memory.

    \b
    Examples:
      dream export > memory.md
      dream export --format json > memory.json
      dream export --format okf ./memory-bundle
      dream export --place crumb
    """
    from dream.transfer import bundle

    workspace = group.open_workspace(directory)
    if form == "okf" and folder is None:
        raise UsageError("A bundle of OKF is a folder: dream export --format okf DIR")
    found = bundle.lines(workspace, place)
    changes = workspace.git.log() if workspace.git.exists and form == "okf" else []
    told = [f"{one.time.astimezone():%Y-%m-%d} {one.subject}" for one in changes]
    made = bundle.files(found, "json" if as_json else form, group.now(), told)
    if folder is None:
        output.say("\n".join(made.values()).rstrip("\n"))
        return
    bundle.write(folder, made)
    output.say(f"Wrote {show.counted(len(found), 'line')} in {show.counted(len(made), 'file')} to {folder}")


# A block of memory in a file that a client reads by itself, shown before it is written.


@dataclass(frozen=True, slots=True)
class NativeWish:
    """The options of `dream connect --native`."""

    file: Path | None
    tracked: bool
    remove: bool
    dry_run: bool
    yes: bool
    as_json: bool


def keep_native(directory: Path | None, names: Sequence[str], wish: NativeWish) -> int | None:
    """Add a block of memory to a client's file, or remove it, after showing the diff to a person."""
    from dream.transfer import native

    if len(names) != 1:
        raise UsageError("Memory is kept in one client's file: dream connect NAME --native [--file PATH] [--tracked]")
    workspace, (client,) = group.open_workspace(directory), names
    path = wish.file or native.file_of(client, Path.home(), os.environ)
    if wish.remove:
        change = native.removed(workspace, path)
    else:
        change = native.added(workspace, client, path, tracked=wish.tracked)
    write = change.before != change.after and not wish.dry_run
    if not wish.as_json:
        show.diff(_native_diff(change))
        if change.tracked:
            output.problem(f"{path} is under version control: the next push publishes what holds in this project.")
    asks = not wish.as_json and group.somebody_answers()
    write = write and (wish.yes or (asks and group.confirmed("Write this?")))
    if write:
        native.write(workspace, client, change, keep=not wish.remove)
    if wish.as_json:
        row = {"client": client, "file": str(path), "tracked": change.tracked, "diff": _native_diff(change)}
        output.emit({**row, "written": write})
    else:
        _tell_native(path, change, wish, written=write)
    if change.before == change.after or write or wish.dry_run:
        return None
    output.problem("Nothing was written: add --yes to write it.")
    return 1


def _tell_native(path: Path, change: NativeFile, wish: NativeWish, *, written: bool) -> None:
    if change.before == change.after:
        output.say(f"{path} has {'no block of memory' if wish.remove else 'it already'}: nothing to change.")
    elif written:
        output.say(f"Wrote {path}.{'' if wish.remove else ' Every night writes the block anew.'}", fold=True)
    elif wish.dry_run:
        output.say("This was a dry run: nothing was written.")


def _native_diff(change: NativeFile) -> str:
    from difflib import unified_diff

    before, after = ((text or b"").decode("utf-8", "replace").splitlines() for text in (change.before, change.after))
    return "\n".join(unified_diff(before, after, str(change.path), str(change.path), n=1, lineterm=""))
