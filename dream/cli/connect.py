"""`dream connect`: hooks and an MCP server for the agents' clients on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.cli.group import DreamCommand

if TYPE_CHECKING:
    from dream.actions.connect import Change


def _clients(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from dream.actions.connect import CLIENTS

    return [name for name in CLIENTS if name.startswith(incomplete)]


@click.command("connect", cls=DreamCommand)
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=_clients)
@click.option("--remove", is_flag=True, help="Take away what was written, and nothing else.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@group.workspace
@group.as_json
def command(
    names: tuple[str, ...], remove: bool, dry_run: bool, yes: bool, directory: Path | None, as_json: bool
) -> int | None:
    """Connect agents' clients with memory: hooks and an MCP server, shown before they are written.

    NAME is claude-code, codex, copilot-cli, gemini-cli, opencode or nanobot; without one, the clients on this machine
    are listed.
    Hooks give memory to each new session, recall to each prompt, and each finished session to history; over MCP the
    agent searches and notes by itself. Everything else in the clients' files stays as it is, comments too.

    \b
    Examples:
      dream connect
      dream connect claude-code
      dream connect codex gemini-cli --yes
      dream connect claude-code --remove
    """
    from dream.actions import connect

    if not names:
        _list(as_json)
        return None
    root = None if remove else group.open_workspace(directory).root.resolve()
    found = [(name, connect.changes(name, Path.home(), os.environ, _program(), root)) for name in names]
    if not as_json:
        _show(found, remove=remove)
    every = [change for _, changes in found for change in changes]
    write = bool(every) and not dry_run and (yes or (not as_json and group.somebody_answers() and _agreed()))
    for change in every if write else ():
        connect.write(change)
    if as_json:
        output.emit([_row(name, change, write) for name, changes in found for change in changes])
    elif write:
        output.say(f"Wrote {', '.join(str(change.path) for change in every)}.", fold=True)
        for note in [] if remove else [note for name in names if (note := connect.CLIENTS[name].note)]:
            output.say(note, fold=True)
    elif every:
        output.say("Nothing was written." if not dry_run else "This was a dry run: nothing was written.")
    if every and not write and not dry_run:
        output.problem("Add --yes to write it.")
        return 1
    return None


def _agreed() -> bool:
    return group.confirmed("Write this?")


def _row(name: str, change: Change, written: bool) -> dict[str, object]:
    return {"client": name, "file": str(change.path), "diff": _diff(change), "written": written}


def _list(as_json: bool) -> None:
    from dream.actions.connect import found

    clients = list(found(Path.home(), os.environ))
    if as_json:
        output.emit(clients)
        return
    for one in clients:
        state = "connected" if one.connected else "installed" if one.installed else "not here"
        where = f"  {', '.join(one.connected)}" if one.connected else ""
        output.say(f"{one.client:<12} {state:<10}{where}".rstrip(), dim=not one.installed, bold=bool(one.connected))
    output.say("Connect one with: dream connect NAME")


def _show(found: Sequence[tuple[str, Sequence[Change]]], *, remove: bool) -> None:
    for name, changes in found:
        if not changes:
            output.say(f"{name} is {'not connected' if remove else 'connected already'}: nothing to change.")
        for change in changes:
            show.diff(_diff(change))


def _diff(change: Change) -> str:
    from difflib import unified_diff

    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old = str(change.path) if change.before is not None else "/dev/null"
    new = str(change.path) if change.after is not None else "/dev/null"
    return "\n".join(unified_diff(before, after, old, new, n=1, lineterm=""))


def _program() -> list[str]:
    """Return what starts this `dream` from anywhere."""
    called = Path(sys.argv[0]).absolute()
    return [str(called)] if called.name == "dream" and os.access(called, os.X_OK) else [sys.executable, "-m", "dream"]
