"""`dream review`: what waits for a person, and the decision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import options, output, shapes, show
from dream.cli.group import DreamCommand, DreamGroup
from dream.errors import UsageError

if TYPE_CHECKING:
    from dream.models import Proposal
    from dream.review import Decided
    from dream.store.workspace import Workspace

_numbers = click.argument("numbers", nargs=-1, type=int, metavar="N...")
_all = click.option("--all", "everything", is_flag=True, help="All that is held.")


@click.group("review", cls=DreamGroup, invoke_without_command=True)
@options.workspace
@options.as_json
@click.pass_context
def command(ctx: click.Context, directory: Path | None, as_json: bool) -> None:
    """Show what is held for review, and accept or reject it.

    A guard holds an edit rather than drop it: it would change a line that you wrote, take out too much of a file, or
    the settings say `review = "hold"`. Accepting applies exactly that edit in a commit of its own; rejecting remembers
    the fact, so that no later dream proposes it again.

    \b
    Examples:
      dream review
      dream review accept 2 3
      dream review reject 1
      dream review accept --all
    """
    if ctx.invoked_subcommand is not None:
        return
    workspace = options.open_workspace(directory)
    waiting = workspace.pending()
    if as_json:
        output.emit([shapes.proposal(one) for one in waiting])
        return
    if not waiting:
        output.say("Nothing is held for review.")
    for one in waiting:
        _show(one)


@command.command("accept", cls=DreamCommand)
@_numbers
@_all
@options.workspace
@options.as_json
def accept(numbers: tuple[int, ...], everything: bool, directory: Path | None, as_json: bool) -> int | None:
    """Apply exactly the edits N.

    \b
    Example:
      dream review accept 2 3
    """
    from dream import review

    workspace = options.open_workspace(directory)
    done = review.accept(workspace, _chosen(workspace, numbers, everything=everything), now=options.now())
    _tell(done, "Accepted", as_json=as_json)
    return 1 if done.misfits else None


@command.command("reject", cls=DreamCommand)
@_numbers
@_all
@options.workspace
@options.as_json
def reject(numbers: tuple[int, ...], everything: bool, directory: Path | None, as_json: bool) -> None:
    """Put the edits N away; no later dream proposes them again.

    \b
    Example:
      dream review reject 1
    """
    from dream import review

    workspace = options.open_workspace(directory)
    done = review.reject(workspace, _chosen(workspace, numbers, everything=everything), now=options.now())
    _tell(done, "Rejected", as_json=as_json)


def _chosen(workspace: Workspace, numbers: tuple[int, ...], *, everything: bool) -> list[int]:
    if everything == bool(numbers):
        raise UsageError("Say which: their numbers from `dream review`, or --all.")
    return [one.id for one in workspace.pending()] if everything else list(numbers)


def _show(one: Proposal) -> None:
    from dream import review

    entries = f", from {show.span((one.entries[0], one.entries[-1]))}" if one.entries else ""
    output.say(f"{one.id}. {one.file or 'an entry that could not be dreamt'}{entries}", bold=True)
    output.say(f"   {one.guard}: {one.reason}", fold=True)
    for line in review.diff(one).splitlines():
        output.say(f"   {line[:1]} {line[1:]}", colour="green" if line.startswith("+") else "red", fold=True)


def _tell(done: Decided, word: str, *, as_json: bool) -> None:
    if as_json:
        output.emit(
            {
                "commit": done.sha,
                "done": [one.id for one in done.done],
                "misfits": [{"id": one.id, "reason": reason} for one, reason in done.misfits],
            }
        )
        return
    if done.done:
        commit = f" in {done.sha[:10]}" if done.sha else ""
        output.say(f"{word}: {', '.join(str(one.id) for one in done.done)}{commit}.")
    elif not done.misfits:
        output.say("Nothing is held for review.")
    for one, reason in done.misfits:
        output.problem(f"{one.id} no longer fits and goes on waiting: {reason}.")
