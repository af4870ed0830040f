"""`dream sources`: which agents there are on this machine, and which of them are read every night."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import options, output, show
from dream.cli.group import DreamCommand, DreamGroup
from dream.settings import REACHING

if TYPE_CHECKING:
    from dream.sources.configured import Found

_named = click.argument("names", nargs=-1, required=True, metavar="NAME|PATH|GLOB...", shell_complete=options.agents)


@click.group("sources", cls=DreamGroup, invoke_without_command=True)
@options.workspace
@options.as_json
@click.pass_context
def command(context: click.Context, directory: Path | None, as_json: bool) -> None:
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
    from dream.sources import configured
    from dream.store import places

    if directory is None and places.find(Path(), os.environ) is None:  # what there is can be seen before one is made
        found = configured.survey(load(None, using=()), Path(), None, home=Path.home(), environ=os.environ)
    else:
        workspace = options.open_workspace(directory)
        settings = options.read_settings(workspace, using=())
        found = configured.survey(settings, workspace.root, workspace.history, home=Path.home(), environ=os.environ)
    if as_json:
        output.emit([_shape(one) for one in found])
    else:
        _show(found)


@command.command("add", cls=DreamCommand)
@_named
@options.workspace
@options.as_json
def add(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Read an agent's transcripts every night, or a path or glob.

    The rest of dream.toml stays as it is, comments included. A zone behind ` @ ` is that of times without one.

    \b
    Examples:
      dream sources add claude-code codex
      dream sources add "~/chats/*.json"
      dream sources add "hermes @ Asia/Tokyo"
    """
    from dream.sources import configured, settings_file

    workspace = options.open_workspace(directory)
    settings = options.read_settings(workspace, using=REACHING)
    if not workspace.is_trusted:  # nothing of others reaches beyond it: what is added here is the person's own
        workspace.trust()
    done = []
    for name in (_from_here(name, workspace.root) for name in names):
        files = configured.check(name, settings, workspace.root, home=Path.home(), environ=os.environ)
        added = settings_file.add_source(workspace.root, name)
        done.append({"source": name, "added": added, "files": files})
        if not as_json:
            there = show.counted(files, "file")
            output.say(f"Added {name}: {there} at present." if added else f"{name} is a source already.")
        if needs := configured.needs(name):
            output.problem(f"{name} cannot be read yet and will be passed over; it needs {needs}.")
    _told(done, as_json)


@command.command("remove", cls=DreamCommand)
@_named
@options.workspace
@options.as_json
def remove(names: tuple[str, ...], directory: Path | None, as_json: bool) -> None:
    """Read it no longer; what is in history stays.

    \b
    Example:
      dream sources remove claude-code
    """
    from dream.sources import settings_file

    workspace = options.open_workspace(directory)
    done = []
    for name in names:
        removed = settings_file.remove_source(workspace.root, name)
        done.append({"source": name, "removed": removed})
        if not as_json:
            output.say(f"Removed {name}." if removed else f"{name} is no source.")
    _told(done, as_json)


def _from_here(name: str, root: Path) -> str:
    """Make a path that is only there from where the command is given absolute: in dream.toml it counts from `root`."""
    from dream.sources import configured
    from dream.transcripts import FORMATS

    path, _, zone = name.partition(configured.ZONE)
    if not path or path in FORMATS or Path(path).expanduser().is_absolute() or _is_there(root, path):
        return name
    if not _is_there(Path(), path):
        return name
    return f"{Path(path).absolute()}{configured.ZONE}{zone}" if zone else str(Path(path).absolute())


def _is_there(folder: Path, path: str) -> bool:
    return (folder / path).exists() or any(folder.glob(path))


def _told(done: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        output.emit(done)
    if os.environ.get("DREAM_SOURCES"):
        output.problem("DREAM_SOURCES is set in the environment and goes before dream.toml.")


def _shape(found: Found) -> dict[str, object]:
    return {
        "source": found.name,
        "configured": found.configured,
        "files": found.files,
        "sessions": found.sessions,
        "bytes": found.bytes,
        "new": found.new,
    }


def _show(found: list[Found]) -> None:
    if not found:
        output.say("No agent's transcripts were found here. Name a path: dream sources add PATH")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        mark, new = "✓" if one.configured else " ", f"{one.new:,} new" if one.new else "nothing new"
        size = f"{one.bytes / 1e6:,.1f} MB" if one.bytes >= 1e6 else f"{one.bytes / 1e3:,.0f} kB"
        row = f"{mark} {one.name:<{width}}  {show.counted(one.sessions, 'session'):>16}  {size:>10}  {new}"
        output.say(row, bold=one.configured, dim=not one.configured)
    if any(not one.configured for one in found):
        output.say("✓ is read every night; add another with: dream sources add NAME")
