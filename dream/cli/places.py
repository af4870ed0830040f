"""`dream places`: the projects and group chats that have memory of their own, and changing them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.actions import drop, scopes
from dream.cli import group, output, show
from dream.errors import UsageError
from dream.workspace.places import orphaned, question

if TYPE_CHECKING:
    from dream.actions.scopes import PlaceRow


@click.group("places", cls=group.DreamGroup, invoke_without_command=True)
@group.workspace
@group.as_json
@click.pass_context
def places_command(context: click.Context, directory: Path | None, as_json: bool) -> None:
    """List the projects and group chats that have memory of their own, and change what belongs to which.

    A line of memory applies only in its place. Each change here is one commit, which `dream restore` undoes.

    \b
    Examples:
      dream places
      dream places rename crumb-2 crumb-fork
      dream places merge crumb-2 crumb
      dream places apart crumb-2 crumb
      dream places group discord:1190
      dream places move MEMORY.md:12 crumb
      dream places split --dry-run
      dream places never ~/work/secret
    """
    if context.invoked_subcommand is not None:
        return
    workspace = group.open_workspace(directory)
    found = scopes.listed(workspace)
    barred = workspace.places().never()
    if as_json:
        output.emit({"places": found, "never": barred})
        return
    for one in found:
        _show(one)
    for name in workspace.places().lost():
        output.say(orphaned(name), colour="yellow", fold=True)
    for path in barred:
        output.say(f"never read: {path}")
    if not found:
        output.say("No project or group chat is known yet; `dream consolidate` notes where something was said.")


def _show(one: PlaceRow) -> None:
    output.say(f"{one.name}  {one.kind}, {show.counted(one.lines, 'line')}", bold=True)
    for known in (*one.paths, *one.remotes, *one.chats):
        output.say(f"  {known}", dim=True)
    if one.same:
        output.say(f"  {question(one.name, *one.same)}", colour="yellow", fold=True)


@places_command.command("rename")
@click.argument("name")
@click.argument("new")
@group.workspace
@group.as_json
def rename_command(name: str, new: str, directory: Path | None, as_json: bool) -> None:
    """Give a place another name."""
    group.only_a_person("What a place is called", f"dream places rename {shlex.quote(name)} {shlex.quote(new)}")
    _said(scopes.rename(group.open_workspace(directory), name, new, now=group.now()), as_json=as_json)


@places_command.command("merge")
@click.argument("name")
@click.argument("into")
@group.workspace
@group.as_json
def merge_command(name: str, into: str, directory: Path | None, as_json: bool) -> None:
    """Merge a place into another: a moved folder, or a second clone of the same project."""
    group.only_a_person("Which projects are the same", f"dream places merge {shlex.quote(name)} {shlex.quote(into)}")
    _said(scopes.merge(group.open_workspace(directory), name, into, now=group.now()), as_json=as_json)


@places_command.command("apart")
@click.argument("name")
@click.argument("other")
@group.workspace
@group.as_json
def apart_command(name: str, other: str, directory: Path | None, as_json: bool) -> None:
    """Say that two places are not the same project, so that `dream status` does not ask again."""
    group.only_a_person("Which projects are the same", f"dream places apart {shlex.quote(name)} {shlex.quote(other)}")
    _said(scopes.apart(group.open_workspace(directory), name, other, now=group.now()), as_json=as_json)


@places_command.command("group")
@click.argument("chat", metavar="KEY")
@group.workspace
@group.as_json
def group_command(chat: str, directory: Path | None, as_json: bool) -> None:
    """Say that a chat is a group's, by its session key: several people read there, and its memory is its own."""
    group.only_a_person("Which chat is a group's", f"dream places group {shlex.quote(chat)}")
    found = scopes.group(group.open_workspace(directory), chat, now=group.now())
    if as_json:
        output.emit({"name": found.name if found else ""})
    elif found:
        output.say(f"{chat} is the group {found.name} from now on.")


@places_command.command("move")
@click.argument("line")
@click.argument("place", metavar="PLACE|everywhere|FILE")
@group.workspace
@group.as_json
def move_command(line: str, place: str, directory: Path | None, as_json: bool) -> None:
    """Move a line, by its text or citation, to another place, to `everywhere`, or to another memory file."""
    workspace = group.open_workspace(directory)
    found = drop.named(workspace, line)
    group.only_a_person("Where a line holds", f"dream places move {shlex.quote(found.cite)} {shlex.quote(place)}")
    _said(scopes.move(workspace, found, place, now=group.now()), as_json=as_json)


@places_command.command("split")
@click.argument("transcripts", nargs=-1, type=click.Path(path_type=Path))
@click.option("-n", "--dry-run", is_flag=True, help="Show which lines would move; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@group.workspace
@group.as_json
def split_command(
    transcripts: tuple[Path, ...], dry_run: bool, yes: bool, directory: Path | None, as_json: bool
) -> int | None:
    """Move each line that rests on one place's messages alone from the files for everywhere into that place.

    Where history does not know a place yet, the transcripts tell: those of `dream sources`, those that were read
    before, and TRANSCRIPTS.
    """
    from dream.actions import split

    workspace = group.open_workspace(directory)
    asks = not as_json and group.somebody_answers()
    if not (dry_run or yes or asks):
        raise UsageError("Preview it with --dry-run, and pass --yes when there is no terminal.")
    found = split.parts(workspace, transcripts)
    if not as_json:
        for part in found:
            output.say(part.name, bold=True)
            for _, line in part.lines:
                output.say(f"  {line}", fold=True)
        if not found:
            output.say("No line for everywhere is known to rest on one place's messages alone.")
            return None
    if not dry_run:
        group.only_a_person("Where lines hold", "dream places split")
    if not (dry_run or yes) and not group.confirmed("Move them?"):
        output.say("Nothing was changed.")
        return 1
    sha = split.split(workspace, found, now=group.now()) if found and not dry_run else None
    if as_json:
        output.emit({"places": {part.name: part.lines for part in found}, "commit": sha})
    elif sha:
        _said(sha, as_json=False)
    return None


@places_command.command("never")
@click.argument("what", metavar="NAME|PATH|CHAT|SESSION")
@click.option("--lift", is_flag=True, help="Read it again from now on.")
@group.workspace
@group.as_json
def never_command(what: str, lift: bool, directory: Path | None, as_json: bool) -> None:
    """Never read a project, a chat or a session from now on. What memory holds of it already stays."""
    group.only_a_person("What is read", f"dream places never {shlex.quote(what)}")
    _said(scopes.never(group.open_workspace(directory), what, lift=lift, now=group.now()), as_json=as_json)


def _said(sha: str | None, *, as_json: bool) -> None:
    if as_json:
        output.emit({"commit": sha})
    elif sha:
        output.say(f"Done. To take it back: dream restore {show.short(sha)}")
    else:
        output.say("Nothing was to be changed.")
