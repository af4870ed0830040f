"""`dream sources`: which agents there are on this machine, and which of them are read every night."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand, DreamGroup
from dream.errors import SettingsError
from dream.settings import FILE_NAME, REACHING
from dream.workspace.files import read_text, replace_file

if TYPE_CHECKING:
    import tomlkit
    from tomlkit.items import Array

    from dream.workspace.listing import FoundSource

# Change one list in dream.toml and nothing else in it: comments, order and layout stay as a person wrote them.


SOURCES = "sources"


def sources(root: Path) -> tuple[str, ...]:
    """Return the sources that dream.toml of the workspace at `root` names. Raises SettingsError."""
    return tuple(str(item) for item in _array(root / FILE_NAME, _document(root / FILE_NAME)))


def add_source(root: Path, source: str) -> bool:
    """Add a source to dream.toml, which is made where it is missing; False when it is there already."""
    path = root / FILE_NAME
    document = _document(path)
    array = _array(path, document)
    if source in [str(item) for item in array]:
        return False
    array.append(source)
    _write(path, document, [*map(str, array)])
    return True


def remove_source(root: Path, source: str) -> bool:
    """Take a source out of dream.toml; False when it is not there."""
    path = root / FILE_NAME
    document = _document(path)
    array = _array(path, document)
    named = [str(item) for item in array]
    if source not in named:
        return False
    array.pop(named.index(source))
    _write(path, document, [*map(str, array)])
    return True


def _document(path: Path) -> tomlkit.TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error


def _array(path: Path, document: tomlkit.TOMLDocument) -> Array:
    """Return the list of sources as it stands in the document; one that is missing is added before the first table."""
    import tomlkit
    from tomlkit.items import Array

    found = document.get(SOURCES)
    if found is None:
        found = tomlkit.array()
        document.append(SOURCES, found)
    if not isinstance(found, Array) or not all(isinstance(item, str) for item in found):
        raise SettingsError(f"Setting {SOURCES!r} in {path} is no list of strings; mend it by hand first.")
    return found


def _write(path: Path, document: tomlkit.TOMLDocument, wanted: list[str]) -> None:
    """Write the file, if it then says what it said before, and of the sources what is wanted."""
    before, text = tomllib.loads(read_text(path)), document.as_string()
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = None
    if after != before | {SOURCES: wanted}:
        raise SettingsError(f"{path} could not be changed without harm; write {SOURCES} = {wanted} by hand.")
    replace_file(path, text.encode("utf-8"))


_named = click.argument("names", nargs=-1, required=True, metavar="NAME|PATH|GLOB...", shell_complete=group.agents)


@click.group("sources", cls=DreamGroup, invoke_without_command=True)
@group.workspace
@group.as_json
@click.pass_context
def sources_command(context: click.Context, directory: Path | None, as_json: bool) -> None:
    """List the agents found on this machine, and choose which are read every night.

    For each: its files, their sessions, their size, and how many files have something new. No file is opened. What is
    marked is in `sources` of dream.toml, and read by `dream nightly` and by `dream consolidate` without a PATH.
    It works before there is a workspace, too.

    \b
    Examples:
      dream sources
      dream sources add claude-code
      dream sources add "~/chats/*.json" "hermes @ Asia/Tokyo"
      dream sources remove claude-code
    """
    if context.invoked_subcommand is not None:
        return
    from dream.settings import load
    from dream.workspace import listing, places

    if directory is None and places.find(Path(), os.environ) is None:  # what there is can be seen before one is made
        found = listing.survey(load(None, using=()), Path(), None, home=Path.home(), environ=os.environ)
    else:
        workspace = group.open_workspace(directory)
        settings = group.read_settings(workspace, using=())
        found = listing.survey(settings, workspace.root, workspace.history, home=Path.home(), environ=os.environ)
    if as_json:
        output.emit(found)
    else:
        _show(found)


@sources_command.command("add", cls=DreamCommand)
@_named
@group.workspace
@group.as_json
def add(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Read an agent's transcripts every night, or a path or glob.

    The rest of dream.toml stays as it is, comments included. A zone behind ` @ ` is that of times without one.

    \b
    Examples:
      dream sources add claude-code codex
      dream sources add "~/chats/*.json"
      dream sources add "hermes @ Asia/Tokyo"
    """
    from dream.workspace import listing

    workspace = group.open_workspace(directory)
    settings = group.read_settings(workspace, using=REACHING)
    if not workspace.is_trusted:  # nothing of others reaches beyond it: what is added here is the person's own
        workspace.trust()
    done = []
    for name in (_from_here(name, workspace.root) for name in names):
        files = listing.check(name, settings, workspace.root, home=Path.home(), environ=os.environ)
        added = add_source(workspace.root, name)
        done.append({"source": name, "added": added, "files": files})
        if not as_json:
            there = show.counted(files, "file")
            output.say(f"Added {name}: {there} so far." if added else f"{name} is already a source.")
        if needs := listing.needs(name):
            output.problem(f"{name} is skipped for now: reading it needs {needs}.")
    _told(done, as_json)


@sources_command.command("remove", cls=DreamCommand)
@_named
@group.workspace
@group.as_json
def remove(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Stop reading it; what is in history stays.

    \b
    Example:
      dream sources remove claude-code
    """
    workspace = group.open_workspace(directory)
    done = []
    for name in names:
        removed = remove_source(workspace.root, name)
        done.append({"source": name, "removed": removed})
        if not as_json:
            output.say(f"Removed {name}." if removed else f"{name} is not a source.")
    _told(done, as_json)


def _from_here(name: str, root: Path) -> str:
    """Make a path that is only there from where the command is given absolute: in dream.toml it counts from `root`."""
    from dream.transcripts import FORMATS
    from dream.workspace import listing

    path, _, zone = name.partition(listing.ZONE)
    if not path or path in FORMATS or Path(path).expanduser().is_absolute() or _is_there(root, path):
        return name
    if not _is_there(Path(), path):
        return name
    return f"{Path(path).absolute()}{listing.ZONE}{zone}" if zone else str(Path(path).absolute())


def _is_there(folder: Path, path: str) -> bool:
    return (folder / path).exists() or any(folder.glob(path))


def _told(done: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        output.emit(done)
    if os.environ.get("DREAM_SOURCES"):
        output.problem("DREAM_SOURCES is set in the environment and overrides dream.toml.")


def _show(found: list[FoundSource]) -> None:
    if not found:
        output.say("No agent's transcripts were found here. Name a path: dream sources add PATH")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        if one.problem:
            output.say(f"✗ {one.name:<{width}}  {_not_there(one)}", colour="red")
            continue
        mark, new = "✓" if one.configured else " ", f"{one.new:,} new" if one.new else "nothing new"
        size = f"{one.bytes / 1e6:,.1f} MB" if one.bytes >= 1e6 else f"{one.bytes / 1e3:,.0f} kB"
        row = f"{mark} {one.name:<{width}}  {show.counted(one.sessions, 'session'):>16}  {size:>10}  {new}"
        output.say(row, bold=one.configured, dim=not one.configured)
    if any(not one.configured for one in found):
        output.say("✓ is read every night; add another with: dream sources add NAME")


def _not_there(one: FoundSource) -> str:
    """Return what is wrong with a source, and how to be rid of it."""
    why = one.problem.partition(f" of your settings: {one.name} ")[2] or one.problem
    return f"{why.partition('.')[0]}, or: dream sources remove {shlex.quote(one.name)}"
