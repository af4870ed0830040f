"""`dream forget`: take a fact or a secret out of everything, git history included."""

from __future__ import annotations

from pathlib import Path

import click

from dream.actions.forget import Forgotten
from dream.cli import group, output, show
from dream.cli.group import TextCommand
from dream.errors import UsageError


@click.command("forget", cls=TextCommand)
@click.argument("what", type=group.Text(), metavar="TEXT|SHA", required=False)
@click.option("--text", "is_text", is_flag=True, help="Treat it as text, even if it looks like a sha.")
@click.option("-n", "--dry-run", is_flag=True, help="Show the matches; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--finish", type=int, metavar="N", help="Finish the interrupted forgetting N.")
@click.option(
    "--give-up",
    "given_up",
    type=int,
    metavar="N",
    help="Abandon the interrupted forgetting N.",
)
@group.workspace
@group.as_json
def forget_command(
    what: str | None,
    is_text: bool,
    dry_run: bool,
    yes: bool,
    finish: int | None,
    given_up: int | None,
    directory: Path | None,
    as_json: bool,
) -> int | None:
    """Take a fact or a secret out of files, history and every version, for good.

    Searches memory, history and its archive, the review queue, the run record and all commits for TEXT; a SHA stands
    for the lines that this change added. Unlike a restore, this can't be undone: commits are rewritten under new names,
    and the old ones are deleted. The matches are shown first; without a terminal --yes is required.
    Capitals don't count, but in a name of two or three letters, which is found only as a word of its own.
    If it was interrupted, run it again with the same text, or with the number that `dream doctor` reports.

    \b
    Examples:
      dream forget "allergic to walnuts" --dry-run
      dream forget "hunter2-prod" --yes
      dream forget 3f9c2a71
      dream forget --finish 1 --yes
    """
    from dream.actions import forget

    if sum(one is not None for one in (what, finish, given_up)) != 1:
        raise UsageError("Give one of these: a text or a sha, --finish N, or --give-up N.")
    workspace = group.open_workspace(directory)
    if given_up is not None:
        forget.give_up(workspace, given_up, now=group.now())
        _tell_given_up(given_up, as_json=as_json)
        return None

    def run(*, dry_run: bool) -> Forgotten:
        if finish is not None:
            return forget.finish(workspace, finish, dry_run=dry_run, now=group.now())
        return forget.forget(workspace, what or "", text=is_text, dry_run=dry_run, now=group.now())

    asks = not as_json and group.somebody_answers()
    if not (dry_run or yes or asks):
        raise UsageError(
            "Forgetting can't be undone: preview it with --dry-run, and pass --yes when there is no terminal."
        )
    if dry_run or (asks and not yes):
        preview = run(dry_run=True)
        _tell(preview, as_json=as_json)
        if dry_run or not preview.found:
            return None
        if not group.confirmed("Forget it for good?"):
            output.say("Nothing was changed.")
            return 1
    _tell(run(dry_run=False), as_json=as_json)
    return None


def _tell_given_up(number: int, *, as_json: bool) -> None:
    if as_json:
        output.emit({"outcome": "given up", "number": number})
    else:
        output.say(f"Number {number} was abandoned; its text remains wherever it had not been removed yet.")


def _tell(done: Forgotten, *, as_json: bool) -> None:
    if as_json:
        output.emit(_shape(done))
        return
    held, total = done.versions
    if not done.found and not done.renamed:
        output.say("No file or commit of dream's contains it.", bold=True)
    else:
        output.say("Found in:" if done.dry_run else "Forgotten. It was in:", bold=True)
    for file, count in done.places:
        output.say(f"  {file}: {count} {'time' if count == 1 else 'times'}")
    if held:
        output.say(f"  git: {held} of {total} commits")
    if done.renamed:
        output.say("These commits have new names:")
    for old, new in done.renamed:
        output.say(f"  {show.short(old)} → {show.short(new)}")
    output.say("It may remain elsewhere:" if done.found else "It may be elsewhere:")
    for sentence in done.remains:
        output.say(f"  {sentence}", colour="yellow", fold=True)


def _shape(done: Forgotten) -> dict[str, object]:
    return {
        "outcome": "preview" if done.dry_run and done.found else "forgotten" if done.found else "nothing",
        "places": [{"file": file, "count": count} for file, count in done.places],
        "versions": {"holding": done.versions[0], "all": done.versions[1]},
        "commits": [{"old": old, "new": new} for old, new in done.renamed],
        "remains": list(done.remains),
    }
