"""`dream connect`: connect agents' clients with memory in one command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import DreamError
from dream.workspace import locate

if TYPE_CHECKING:
    from dream.actions.connect import ConfigFile
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
    machine are listed. Hooks give memory to each new session and each prompt, and finished sessions to history;
    over MCP the agent searches and notes by itself. All else in the clients' files stays as it is. If there is
    no workspace, one is created; it reads the client's sessions every night. On a terminal it asks which model
    reads, and whether to schedule the nights. --native writes a marked block of memory, some 2,000 tokens, into
    the file that the client reads for you, or into a FILE of a project, and updates it every night; a file that
    git would publish needs --tracked and gets only what applies in that project.

    \b
    Examples:
      dream connect claude-code
      dream connect codex gemini-cli --yes
      dream connect claude-code --native --file ./CLAUDE.local.md
    """
    if native or file or tracked:
        from dream.cli.transfer import NativeWish, keep_native

        return keep_native(directory, names, NativeWish(file, tracked, remove, dry_run, yes, as_json))
    if not names:
        _list(as_json)
        return None
    plan = _planned(names, None if remove else _root(directory))
    if not as_json:
        _show(plan, remove=remove)
    write = plan.changes_something and not dry_run and (yes or (not as_json and _agreed()))
    if write:
        _write(plan)
    if not _tell_what_was_written(plan, write=write, dry_run=dry_run, as_json=as_json):
        return 1
    if plan.root and not (as_json or dry_run):
        _tell_what_happens(plan.root, names, asks=not yes)
    return None


@dataclass(frozen=True, slots=True)
class _ConnectPlan:
    """The changes of each client's files; `missing` are the clients whose sessions the workspace does not read yet.

    `root` is the workspace, which may have to be made; None to disconnect.
    """

    root: Path | None
    found: Sequence[tuple[str, Sequence[ConfigFile]]]
    missing: Sequence[str]

    @property
    def files(self) -> list[ConfigFile]:
        """The changes of all clients."""
        return [change for _, changes in self.found for change in changes]

    @property
    def changes_something(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.files or self.missing)


def _planned(names: Sequence[str], root: Path | None) -> _ConnectPlan:
    from dream.actions import connect

    found = [(name, connect.changes(name, Path.home(), os.environ, _program(), root)) for name in names]
    return _ConnectPlan(root, found, _missing(root, names) if root else [])


def _agreed() -> bool:
    """Ask the person, who has seen the changes; without a terminal the answer is no."""
    return group.somebody_answers() and group.confirmed("Write this?")


def _write(plan: _ConnectPlan) -> None:
    from dream.actions import connect

    if plan.root:
        _prepare(plan.root, plan.missing)
    for change in plan.files:
        connect.write(change)


def _tell_what_was_written(plan: _ConnectPlan, *, write: bool, dry_run: bool, as_json: bool) -> bool:
    """Say what was written; return False if nothing was although it was asked for."""
    if as_json:
        output.emit([_row(name, change, write) for name, changes in plan.found for change in changes])
    elif write and plan.files:
        output.say(f"Wrote {', '.join(str(change.path) for change in plan.files)}.", fold=True)
    elif dry_run and plan.changes_something:
        output.say("This was a dry run: nothing was written.")
    if not plan.changes_something or write or dry_run:
        return True
    output.problem("Nothing was written. Add --yes to write it.")
    return False


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


def _list(as_json: bool) -> None:
    """List the clients on this machine, and whether each is connected."""
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


def _show(plan: _ConnectPlan, *, remove: bool) -> None:
    """Show the changes before they are written."""
    for name, changes in plan.found:
        if not changes:
            output.say(f"{name} is {'not connected' if remove else 'connected already'}: nothing to change.")
        for change in changes:
            show.diff(_diff(change))
    if plan.root and not locate.is_workspace(plan.root):
        output.say(f"Makes the workspace {plan.root}.", bold=True, fold=True)
    if plan.missing:
        names = " and ".join(plan.missing)
        output.say(f"Reads the sessions of {names} every night, those that are there too.", fold=True)


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
