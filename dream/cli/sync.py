"""`dream sync` and `dream clone`: one memory on several machines."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output
from dream.directory import Workspace
from dream.errors import Untrusted, UsageError
from dream.reports import shape

if TYPE_CHECKING:
    from dream.actions.exchange import Synced
    from dream.settings import Settings


@click.command("sync", cls=group.DreamCommand)
@click.argument("url", required=False, metavar="[URL]")
@click.option("--off", is_flag=True, help="Stop syncing; what is on the remote stays there.")
@click.option("--trust", "trusted", metavar="NAME", help="Accept this machine's rules and removals here.")
@click.option("--adopt", metavar="NAME", help="Dream here what this machine, now gone, did not dream.")
@click.option("--unsend", is_flag=True, help="With sync_messages = false: take sent messages off the other side.")
@click.option("-y", "--yes", is_flag=True, help="Agree to what is sent, without being asked.")
@group.workspace
@group.as_json
def sync_command(
    url: str | None,
    off: bool,
    trusted: str | None,
    adopt: str | None,
    unsend: bool,
    yes: bool,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Share this memory with your other machines, through your own git remote.

    URL is a private repository (ssh or https), or a folder on a network share or USB stick. You are asked
    before anything is sent, and URL is kept as the setting `sync`; later `dream sync` alone is enough, and each
    night syncs at its start and end. Every machine writes its own branch, so nothing conflicts: of two changes
    to one line a person's wins over a dream's, then the later statement wins.

    \b
    Examples:
      dream sync git@github.com:me/memory.git
      dream sync /mnt/nas/memory.git
      dream sync
      dream sync --trust laptop
      dream sync --adopt old-laptop
      dream sync --off
    """
    from dream.actions import membership, sync
    from dream.versions.branches import address

    if sum(map(bool, (url, off, trusted, adopt))) > 1:
        raise UsageError("Give a URL, --off, --trust or --adopt, one of them.")
    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=("sync",))
    if off:
        _off(workspace, settings, as_json)
        return
    if trusted or adopt:
        group.only_a_person(
            "Which machines count", f"dream sync --{'trust' if trusted else 'adopt'} {trusted or adopt}"
        )
        _trusted(workspace, trusted, as_json) if trusted else _adopted(workspace, str(adopt), as_json)
        return
    wanted = address(url) if url else settings.sync
    if unsend and settings.sync_messages:
        raise UsageError("The next sync would send them again; first set sync_messages = false in dream.toml.")
    if not wanted:
        raise UsageError("No remote is set; name a git remote of your own: dream sync git@github.com:me/memory.git")
    us = membership.member(workspace)
    if us is not None and us.url not in ("", wanted):
        output.problem(f"What this machine has written stays at {us.url}: remove it there.")
    if us is None or us.url != wanted:
        _agreed(workspace, settings, wanted, yes=yes)
        membership.begin(workspace, wanted, waits=group.somebody_answers())
        if settings.sync != wanted:
            from dream.actions.configure import set_values

            set_values(workspace.root, {"sync": wanted})
    waits = group.somebody_answers()
    done = sync.sync(workspace, wanted, settings=settings, now=group.now(), waits=waits, unsends=unsend)
    _show(workspace, done, as_json)


def _agreed(workspace: Workspace, settings: Settings, url: str, *, yes: bool) -> None:
    """Say what leaves this machine, and to whom; go on where a person agrees."""
    from dream.versions.branches import Branches

    line = f"dream sync {shlex.quote(url)}"
    group.only_a_person("Sending memory to another machine", line)
    if not workspace.is_trusted:
        raise Untrusted(f"{workspace.root} is not trusted on this machine; see what it would do: dream trust")
    branches = Branches(workspace.private, waits=True)
    remote = branches.remote(url)
    what = "history, messages" if settings.sync_messages else "history without what was said word for word"
    read_by = (
        "It is encrypted: its host sees how much it is, and when it changes"
        if settings.sync_encrypt
        else "Whoever can read that remote reads it, now and what it held before"
    )
    output.problem(
        f"To {remote.url} go SOUL.md, USER.md, memory/MEMORY.md, places, what you took back, {what}; secrets are "
        f"redacted, and dream.toml and prompts/ stay here. {read_by}."
    )
    if remote.folder is not None and remote.folder.exists() and remote.is_open:
        output.problem(f"Every user of this machine can read {remote.folder}.")
    if not settings.sync_encrypt and branches.is_public(remote):
        output.problem(f"Anybody can read {remote.url}: its host gives it to who asks, without a login.")
        if not (group.somebody_answers() and group.confirmed("Send memory to where anybody reads it?")):
            raise UsageError("Nothing was sent. Make that repository private, or set sync_encrypt: docs/sync.md.")
    if not yes and not (group.somebody_answers() and group.confirmed("Send it?")):
        raise UsageError(f"Nothing was sent. To agree: {line} --yes")


def _off(workspace: Workspace, settings: Settings, as_json: bool) -> None:
    from dream.actions.configure import set_values

    set_values(workspace.root, {"sync": None})
    if as_json:
        output.emit({"sync": None})
    elif settings.sync:
        output.say(f"Not synced any more. What this machine has written stays at {settings.sync}: remove it there.")
    else:
        output.say("It was not synced.")


def _trusted(workspace: Workspace, name: str, as_json: bool) -> None:
    from dream.actions import membership

    one, us = membership.named(workspace, name), membership.member(workspace)
    key = ""
    if us is not None and not us.key and one.listed.get("seal"):
        output.problem(f"The key of this memory, as `dream sync --trust {us.name}` shows it on {one.name}:")
        typed = click.prompt("Key", hide_input=True, err=True) if group.somebody_answers() else sys.stdin.readline()
        key = re.sub(r"[\s-]", "", typed).lower()
        if not membership.KEY.fullmatch(key):
            raise UsageError("That is no key: it has 32 digits from 0 to f.")
    now, has_key = membership.accept(workspace, name, key, now=group.now())
    shown = "-".join(re.findall("....", now.key))
    if as_json:
        output.emit({"accepted": one.name, "machine": one.machine, "key": shown})
        return
    output.say(f"{one.name} counts from the next sync on.", colour="green")
    if now.key and not has_key:
        output.say(
            f"So that nobody else can write in its name, run there `dream sync --trust {now.name}`, with the key "
            "(unless you did so after its last sync)"
        )
        output.say(f"  {shown}")


def _adopted(workspace: Workspace, name: str, as_json: bool) -> None:
    from dream.actions import sync

    count = sync.adopt(workspace, name, now=group.now())
    if as_json:
        output.emit({"adopted": name, "entries": count})
    else:
        output.say(f"{count} entries of {name} are dreamt here from now on.")


@click.command("clone", cls=group.DreamCommand)
@click.argument("url")
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def clone_command(url: str, directory: Path | None, named: Path | None, as_json: bool) -> None:
    """Make a workspace from a memory that another machine has synced: on a new machine, or from a backup.

    It contains memory, history and messages, but no settings or prompts. Machines already on the remote are
    trusted, because you named it. The default for DIR is DREAM_WORKSPACE, else ~/.dream/workspace.

    \b
    Examples:
      dream clone git@github.com:me/memory.git
      dream clone /mnt/nas/memory.git ./memory
    """
    from dream.actions import membership, sync
    from dream.versions.branches import address
    from dream.workspace import locate

    group.only_a_person("Taking a memory from elsewhere", f"dream clone {shlex.quote(url)}")
    place = locate.absolute(directory or named or Workspace.default(os.environ))
    workspace, done = sync.clone(address(url), place, now=group.now(), waits=group.somebody_answers())
    _show(workspace, done, as_json, made=True)
    us = membership.member(workspace)
    if us is not None and not us.key and (one := next(iter(done.machines), None)):
        output.problem(
            "It has no key of this memory yet, so what is forgotten elsewhere stays here. After the next sync of "
            f"{one.name}: `dream sync --trust {us.name}` there, `dream sync --trust {one.name}` here, with its key."
        )


def _show(workspace: Workspace, done: Synced, as_json: bool, *, made: bool = False) -> None:
    if as_json:
        output.emit(shape(done) | ({"workspace": str(workspace.root)} if made else {}))
    else:
        if made:
            output.say(f"The workspace is {workspace.root}.", bold=True)
        output.say(sentence(done))
        for one in done.lost:
            output.say(
                f"  {one.file}: kept {one.kept.strip() or 'the removal'!r}, not {one.lost.strip() or 'the removal'!r}"
            )
        for other in done.machines:
            if other.waiting and not other.accepted:
                output.say(
                    f"  {other.waiting} lines of {other.name} wait: `dream sync --trust {other.name}` accepts it."
                )
    for told in done.problems:
        output.problem(told)


def sentence(done: Synced) -> str:
    """Say in one line what a sync did."""
    names = ", ".join(one.name for one in done.machines) or "no other machine yet"
    if done.outcome == "nothing":
        return f"Nothing new here or there ({names})."
    came = f"{done.received} changes of lines and {done.entries} entries came"
    return f"Synced with {names}: {done.sent} changes of lines sent, {came}."
