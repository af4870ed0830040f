"""`dream review` and `web`: held edits and the decision on them, and the page in a browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dream.cli import group, output, show
from dream.cli.changes import show_forgotten, show_taken
from dream.errors import UsageError
from dream.text.safe import span
from dream.text.words import without_bullet

if TYPE_CHECKING:
    from dream.actions.forget import Forgotten
    from dream.actions.review import Decided, Pick
    from dream.directory import Workspace
    from dream.models import Proposal

SHOWN = 3  # entries of a held edit whose messages are printed
_all = click.option("--all", "everything", is_flag=True, help="All that is held.")
PORT = 4747


class _Number(click.types.StringParamType):
    """A number from `dream review`: of an edit, `3`, or of one of its findings, `3.2`; or `all`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it; it is wrong usage where it is none."""
        whole, dot, place = str(value).partition(".")
        if str(value) == "all":
            return "all"
        if not whole.isdecimal() or (dot and not place.isdecimal()):
            self.fail(f"{value!r} is neither a number from `dream review` nor `all`.", param, ctx)
        return (int(whole), int(place)) if dot else int(whole)


_numbers = click.argument("numbers", nargs=-1, type=_Number(), metavar="N[.M]...|all")


@click.group("review", cls=group.DreamGroup, invoke_without_command=True)
@group.workspace
@group.as_json
@click.pass_context
def review_command(ctx: click.Context, directory: Path | None, as_json: bool) -> None:
    """Show what is held for review, and accept or reject it.

    A guard holds an edit that would change a line you wrote or remove too much of a file, or because of the
    setting `review = "hold"`. Requests to forget from a conversation wait here too, with what they would delete.
    Accepting applies exactly that edit in its own commit; rejecting records the fact, so that no later dream
    proposes it again.

    \b
    Examples:
      dream review
      dream review accept 2 3
      dream review accept 4.2        the second finding of edit 4; the others stay held
      dream review reject 1
      dream review accept all
    """
    if ctx.invoked_subcommand is not None:
        return
    from dream.actions import membership
    from dream.versions import transaction

    workspace = group.open_workspace(directory)
    for path, lost in transaction.lost_decisions(workspace).items():
        output.problem(f"{path} {lost.text}: `dream doctor --repair` puts them back")
    waiting = workspace.pending()
    if as_json:
        output.emit(waiting)
        return
    if not waiting:
        output.say("Nothing is held for review.")
    for other in membership.meeting(workspace).machines:
        if other.waiting and not other.accepted:
            output.say(f"{other.waiting} lines or removals of {other.name} wait: dream sync --trust {other.name}")
    for number, one in enumerate(waiting):
        if number:
            output.say()
        _show(one)
        _wished(workspace, one)
        _said(workspace, one)
        output.say(f"   {_decisions(one)}", dim=True)


@review_command.command("accept")
@_numbers
@_all
@click.option("--instead", metavar="TEXT", help="Write TEXT in place of what the one edit N would write.")
@group.workspace
@group.as_json
def accept(
    numbers: tuple[Pick | str, ...], everything: bool, instead: str | None, directory: Path | None, as_json: bool
) -> int | None:
    """Apply exactly the edits N.

    \b
    Examples:
      dream review accept 2 3
      dream review accept 4 --instead "I take the metro from Saldanha"
    """
    from dream.actions import review

    workspace = group.open_workspace(directory)
    named = " ".join(f"{one[0]}.{one[1]}" if isinstance(one, tuple) else str(one) for one in numbers) or "all"
    group.only_a_person("What waits for review", f"dream review accept {named}")

    def ask(preview: Forgotten) -> bool:
        if as_json or not group.somebody_answers():
            return preview.found and not preview.guessed
        show_forgotten(preview)
        return group.confirmed("Forget it for good?")

    chosen = _chosen(workspace, numbers, everything=everything)
    if instead is not None and (len(chosen) != 1 or not instead.strip()):
        raise UsageError("--instead needs a text, and the number of one edit.")
    text = f"- {without_bullet(instead).strip()}" if instead is not None else None
    done = review.accept(workspace, chosen, now=group.now(), instead=text, ask=ask)
    for one in done.forgotten if not as_json else ():
        show_forgotten(one)
    _tell(done, "Accepted", as_json=as_json)
    return 1 if done.misfits else None


@review_command.command("reject")
@_numbers
@_all
@group.workspace
@group.as_json
def reject(numbers: tuple[Pick | str, ...], everything: bool, directory: Path | None, as_json: bool) -> None:
    """Reject the edits N; no later dream proposes them again.

    \b
    Example:
      dream review reject 1
    """
    from dream.actions import review

    workspace = group.open_workspace(directory)
    done = review.reject(workspace, _chosen(workspace, numbers, everything=everything), now=group.now())
    _tell(done, "Rejected", as_json=as_json)


def _chosen(workspace: Workspace, numbers: tuple[Pick | str, ...], *, everything: bool) -> list[Pick]:
    everything, named = everything or "all" in numbers, [one for one in numbers if not isinstance(one, str)]
    if everything == bool(named):
        raise UsageError("Give their numbers from `dream review`, or all.")
    if not everything:
        return named
    from dream.models import ALONE, FORGET, HANGS

    waiting, own = workspace.pending(), (ALONE, FORGET, HANGS)
    if alone := [str(one.id) for one in waiting if one.guard in own]:
        what = "imported lines, wishes to forget, and questions whether a line still holds"
        output.problem(f"{', '.join(alone)} can only be decided by number: {what}.")
    return [one.id for one in waiting if one.guard not in own]


def _show(one: Proposal) -> None:
    from dream.actions import review
    from dream.models import FORGET

    entries = f", from {span((one.entries[0], one.entries[-1]))}" if one.entries else ""
    what = f"a wish to forget: {one.old_text}" if one.guard == FORGET else "an entry that could not be dreamt"
    output.say(f"{one.id}. {one.file or what}{entries}", bold=True)
    parts, rows = review.findings_of(one), review.diff(one).splitlines()
    output.say(f"   Held: {_reason(one.reason, rows)}", fold=True)
    if len(parts) < 2 and one.guard != FORGET:
        for line in rows:
            _line("  ", line)
    for number, (old, new) in enumerate(parts if len(parts) > 1 else (), 1):
        for line in filter(None, (old and f"-{old}", new and f"+{new}")):
            _line(f"{one.id}.{number}", line)


def _decisions(one: Proposal) -> str:
    """Return by which commands a person decides."""
    from dream.models import HANGS

    accept, reject = f"dream review accept {one.id}", f"dream review reject {one.id}"
    if one.guard == HANGS:
        return f"Yes, it holds: {reject} · No, drop it: {accept} · It changed: {accept} --instead TEXT"
    return f"Decide: {accept}, or {reject}"


def _reason(reason: str, rows: Sequence[str]) -> str:
    """Return why an edit is held, without the line itself if it is printed below."""
    why, colon, line = reason.partition(": “")
    return why if colon and any(line.rstrip("”…") in row for row in rows) else reason


def _wished(workspace: Workspace, one: Proposal) -> None:
    """Print what a wish to forget would delete."""
    from dream.actions import review
    from dream.models import FORGET

    if one.guard != FORGET:
        return
    try:
        show_taken(review.forgetting(workspace, one, now=group.now()))
    except UsageError as error:  # too short to be looked for
        output.problem(str(error))


def _said(workspace: Workspace, one: Proposal) -> None:
    """Print the messages that a held edit is based on, where and when."""
    from dream.actions.why import evidence

    for found in evidence(workspace, one.entries[:SHOWN], one.new_text or one.old_text) if one.file else ():
        show.evidence(found)


def _line(number: str, line: str) -> None:
    output.say(f" {number} {line[:1]} {line[1:]}", colour="green" if line.startswith("+") else "red", fold=True)


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
        commit = f" in {show.short(done.sha)}" if done.sha else ""
        output.say(f"{word}: {', '.join(str(one.id) for one in done.done)}{commit}.")
    elif not done.misfits:
        output.say("Nothing is held for review.")
    for one, reason in done.misfits:
        output.problem(f"{one.id} stays held: {reason}.")


@click.command("web", cls=group.DreamCommand)
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help=f"The port. Default: {PORT}, or a free one.")
@click.option("--open/--no-open", "opens", default=True, help="Open a browser, where there is one. Default: open.")
@group.workspace
def web_command(port: int | None, opens: bool, directory: Path | None) -> None:
    """Show memory in a browser: what the night changed, why, and how to undo it.

    The printed address holds a random token; whoever has it can read and change memory. Only this machine can reach it.
    Everything that `review`, `restore` and `forget` do can be done there. Ctrl-C ends it.

    \b
    Examples:
      dream web
      dream web --port 8080 --no-open
    """
    workspace = group.open_workspace(directory)
    from dream.web import server

    listening = server.bound(PORT if port is None else port, any_port=port is None)
    gate = server.Gate.new(listening.getsockname()[1])
    output.say(gate.address, now=True)
    output.say("The page is there until Ctrl-C.", now=True)
    if opens and _has_browser():
        import webbrowser

        webbrowser.open(gate.address)
    server.serve(workspace.root, gate, listening)


def _has_browser() -> bool:
    """Return whether a person sits at a terminal of a machine that can show a window."""
    shows = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return shows and group.somebody_answers()
