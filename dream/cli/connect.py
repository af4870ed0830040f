"""`dream connect`: connect agents' clients with memory in one command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import DreamError
from dream.workspace import locate

if TYPE_CHECKING:
    from dream.actions.connect import ConfigFile
    from dream.cli.transfer import NativeWish
    from dream.directory import Workspace
    from dream.settings import Settings


@click.command("connect", cls=group.DreamCommand)
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--native", is_flag=True, help="Keep memory in a file that the client reads by itself, without hooks.")
@click.option("--file", type=click.Path(path_type=Path), metavar="PATH", help="With --native: this file of a project.")
@click.option("--tracked", is_flag=True, help="With --native: also in a file that git publishes.")
@click.option("--remove", is_flag=True, help="Remove what was written, and nothing else.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@group.workspace
@group.as_json
def connect_command(
    names: tuple[str, ...],
    native: bool,
    file: Path | None,
    tracked: bool,
    remove: bool,
    dry_run: bool,
    yes: bool,
    directory: Path | None,
    as_json: bool,
) -> int | None:
    """Connect agents' clients with memory: hooks and an MCP server, shown before they are written.

    NAME is claude-code, codex, copilot-cli, gemini-cli, opencode or nanobot; without one, the clients on this
    machine are listed. Hooks give memory to each new session, recall to each prompt, and each finished session
    to history; over MCP the agent searches and notes by itself. Everything else in the clients' files stays as
    it is, comments too. If there is no workspace, one is created; it reads the client's sessions every night.
    On a terminal it asks which model reads, and whether to schedule the nights on this machine. With --native,
    a marked block of memory of some 2,000 tokens is written every night into the file that the client reads for
    you, or into a FILE of a project; a file that git would publish needs --tracked and gets only what applies
    in that project.

    \b
    Examples:
      dream connect
      dream connect claude-code
      dream connect codex gemini-cli --yes
      dream connect claude-code --remove
      dream connect gemini-cli --native
      dream connect claude-code --native --file ./CLAUDE.local.md
    """
    from dream.actions import connect

    if native or file or tracked or not names:
        from dream.cli.transfer import NativeWish

        wish = NativeWish(file, tracked, remove, dry_run, yes, as_json)
        return _instead(directory, names, wish, native=native or bool(file) or tracked)
    # 1. Work out the changes: the clients' files, and the sources of the workspace, which may have to be made.
    root = None if remove else _root(directory)
    found = [(name, connect.changes(name, Path.home(), os.environ, _program(), root)) for name in names]
    every = [change for _, changes in found for change in changes]
    missing = _missing(root, names) if root else []
    if not as_json:
        _show(found, remove=remove)
        _show_workspace(root, missing)
    # 2. Ask a person, who has seen them.
    write = bool(every or missing) and not dry_run
    write = write and (yes or (not as_json and group.somebody_answers() and group.confirmed("Write this?")))
    if write and root:
        _prepare(root, missing)
    for change in every if write else ():
        connect.write(change)
    # 3. What was done, and what happens when.
    if as_json:
        output.emit([_row(name, change, write) for name, changes in found for change in changes])
    elif write and every:
        output.say(f"Wrote {', '.join(str(change.path) for change in every)}.", fold=True)
    elif dry_run and (every or missing):
        output.say("This was a dry run: nothing was written.")
    if (every or missing) and not write and not dry_run:
        output.problem("Nothing was written. Add --yes to write it.")
        return 1
    if root and not (as_json or dry_run):
        _tell_what_happens(root, names, asks=not yes)
    return None


def _root(directory: Path | None) -> Path:
    """Return where the workspace is, or is to be made."""
    place = directory or locate.find(Path(), os.environ)
    if place is not None and locate.is_workspace(locate.absolute(place)):
        return group.open_workspace(directory).root.resolve()
    return locate.absolute(place or locate.default(os.environ)).resolve()


def _missing(root: Path, names: Sequence[str]) -> list[str]:
    """Name the clients whose sessions the workspace does not read yet."""
    from dream.actions.connect import CLIENTS
    from dream.consolidate import listing
    from dream.settings import load

    there = group.open_workspace(root).settings(using=()) if locate.is_workspace(root) else load(None, using=())
    read = {listing.split(source)[0] for source in there.sources}
    return [name for name in names if CLIENTS[name].is_source and name not in read]


def _show_workspace(root: Path | None, missing: Sequence[str]) -> None:
    if root and not locate.is_workspace(root):
        output.say(f"Makes the workspace {root}.", bold=True, fold=True)
    if missing:
        output.say(f"Reads the sessions of {' and '.join(missing)} every night, those that are there too.", fold=True)


def _prepare(root: Path, missing: Sequence[str]) -> None:
    """Make the workspace where there is none, and let it read the clients' sessions."""
    from dream.actions import configure
    from dream.directory import Workspace

    if not locate.is_workspace(root):
        Workspace.create(root, now=group.now())
    workspace = group.open_workspace(root)
    for name in missing:
        configure.set_source(root, name, read=True)
    if missing and not workspace.is_trusted:  # what is added here is the person's own
        output.problem(f"What dream.toml says counts once you accept it: dream trust -w {shlex.quote(str(root))}")


def _tell_what_happens(root: Path, names: Sequence[str], *, asks: bool) -> None:
    """Say what a person has of it from now on, and when; on a terminal offer what is missing to that."""
    from dream.actions.connect import CLIENTS
    from dream.cli.models import ask_once

    workspace = group.open_workspace(root)
    ask_once(workspace)
    settings = workspace.settings(using=())
    due = _next_night(workspace, settings)
    if due is None and asks and group.somebody_answers():
        try:
            due = _offer_nights(workspace, settings)
        except DreamError as error:  # no crontab, systemd or launchd: the rest is still to be said
            output.problem(str(error))
    for name in names:
        output.say(f"From its next start on, with {name}: {CLIENTS[name].gives()}.", fold=True)
        if CLIENTS[name].note:
            output.say(CLIENTS[name].note, fold=True)
    where = "" if root == locate.default(os.environ) else f" -w {shlex.quote(str(root))}"
    if due is None:
        change = f"when you say `dream nightly{where}`, or every night after `dream cron install{where}`"
    else:
        local = due.astimezone()
        change = f"{'tonight' if due - group.now() < timedelta(days=1) else f'on {local:%A}'} at {local:%H:%M}"
    output.say(f"Recall works now. SOUL.md, USER.md and MEMORY.md change {change}.", fold=True)
    if not workspace.history.last_cursor():
        output.say(f"Memory is empty so far. To read the sessions that are there now: dream nightly{where}", fold=True)


def _next_night(workspace: Workspace, settings: Settings) -> datetime | None:
    from dream.actions import status
    from dream.nights import timers

    return status.read(workspace, settings, group.now(), timers.scheduled(workspace, settings)).next_run


def _offer_nights(workspace: Workspace, settings: Settings) -> datetime | None:
    """Offer to install a timer for the nights; return when the next one is."""
    from dream.crontime import parse
    from dream.nights import timers

    cron, kind = parse(settings.schedule), timers.usual_kind()
    job = timers.job(workspace.root, cron, os.environ, settings.timezone or "")
    first = cron.after(group.now(), settings.zone() if settings.timezone else None).astimezone()
    if not group.confirmed(f"Dream every night, started by {kind}, the first time on {first:%A at %H:%M}?"):
        return None
    for sentence in timers.install(kind, job):
        output.say(sentence)
    return _next_night(workspace, settings)


def _row(name: str, change: ConfigFile, written: bool) -> dict[str, object]:
    return {"client": name, "file": str(change.path), "diff": _diff(change), "written": written}


def _instead(directory: Path | None, names: Sequence[str], wish: NativeWish, *, native: bool) -> int | None:
    """Keep memory in a client's own file, or list the clients."""
    if native:
        from dream.cli.transfer import keep_native

        return keep_native(directory, names, wish)
    _list(wish.as_json)
    return None


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


def _show(found: Sequence[tuple[str, Sequence[ConfigFile]]], *, remove: bool) -> None:
    for name, changes in found:
        if not changes:
            output.say(f"{name} is {'not connected' if remove else 'connected already'}: nothing to change.")
        for change in changes:
            show.diff(_diff(change))


def _diff(change: ConfigFile) -> str:
    from difflib import unified_diff

    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old = str(change.path) if change.before is not None else "/dev/null"
    new = str(change.path) if change.after is not None else "/dev/null"
    return "\n".join(unified_diff(before, after, old, new, n=1, lineterm=""))


def _program() -> list[str]:
    """Return the command line that starts this `dream` from any directory."""
    called = Path(sys.argv[0]).absolute()
    if called.name == "dream" and os.access(called, os.X_OK):
        return [str(called)]
    return [sys.executable, "-P", "-m", "dream"]  # -P: not the folder `dream` of wherever the agent is at work
