"""`dream log`, `why`, `restore`, `drop`, `check` and `forget`: what changed in memory, why, and undoing it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output, show
from dream.errors import UsageError

if TYPE_CHECKING:
    from dream.actions.forget import Forgotten
    from dream.actions.restore import Mode, Restored
    from dream.actions.statements import FoundStatement
    from dream.actions.why import Reason
    from dream.directory import Workspace
    from dream.settings import Settings
    from dream.versions.log import Change, Shown

    ForgetStep = Callable[[bool, Sequence[FoundStatement]], Forgotten]  # called with: is it a dry run, what is chosen

COLOURS = {"dream": None, "hand": "cyan", "restore": "yellow", "init": None, "sync": "magenta"}
HAND = {
    "hand": "written by hand",
    "init": "stood there when dream began",
    "restore": "brought back",
    "sync": "came from another machine",
}


@click.command("log", cls=group.DreamCommand)
@click.argument("sha", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show the newest N changes only.")
@group.as_of
@group.workspace
@group.as_json
def log_command(sha: str | None, limit: int | None, as_of: str | None, directory: Path | None, as_json: bool) -> None:
    """List the changes of memory, newest first, or show one.

    With SHA: that change, its findings and what became of each, its bill and its diff. A SHA has at least 4
    characters, or is HEAD for the newest change, or HEAD~2 for the second before it. The kind is `hand` for a
    person's edit, `dream` for a dream, `restore` for an undo. The command never asks and opens no pager.

    \b
    Examples:
      dream log
      dream log --limit 5
      dream log 3f9c2a71
      dream log --json
    """
    workspace = group.open_workspace(directory)
    git = workspace.git
    if sha is not None:
        shown = git.show(git.resolve(sha))
        if as_json:
            output.emit(shown)
        else:
            _show(shown)
        return
    if not as_json and as_of is None:
        from dream.actions import morning

        if news := morning.news(workspace):
            output.say(f"The last dream: {news}.", bold=True)
    listed(workspace, limit, as_json=as_json, as_of=as_of)


def listed(workspace: Workspace, limit: int | None = None, *, as_json: bool, as_of: str | None = None) -> bool:
    """List the newest changes, all of them where no `limit` is given; return whether a person was shown some."""
    git = workspace.git
    until = workspace.then(as_of).sha if as_of else "HEAD"
    changes = git.log(limit, until=until) if git.exists and until else []
    if as_json:
        output.emit(changes)
        return False
    settings = workspace.settings(using=())
    if as_of and (untold := workspace.untold(as_of)):
        output.problem(untold)
    elif not changes:
        output.say("Nothing has changed yet. `dream run` makes the first change.")
    for change in changes:
        _change_line(change)
    _spent(workspace, settings)
    return bool(changes)


def _change_line(change: Change) -> None:
    at = change.time.astimezone()
    cost = f"  [{show.price(change.usage)}]" if change.usage and change.usage.calls else ""
    line = f"{show.short(change.sha)}  {at:%Y-%m-%d %H:%M}  {change.subject}{cost}"
    output.say(line, colour=COLOURS[change.kind], fold=True)


def _spent(workspace: Workspace, settings: Settings) -> None:
    """Print the cost of the day and the month, unless all was free."""
    from dream.workspace.bills import Bills

    spent = Bills(workspace.private).spent(group.now(), settings.zone())
    if spent.month.cost_usd != 0:
        output.say(f"Cost today: {show.bill(spent.today)}. This month: {show.bill(spent.month)}.", dim=True, fold=True)


def _show(shown: Shown) -> None:
    change = shown.change
    subject, _, body = shown.body.partition("\n")
    output.say(subject, bold=True, fold=True)
    output.say(f"{change.sha}  {change.time.astimezone():%A %Y-%m-%d %H:%M %Z}", dim=True)
    if body.strip():
        output.say(body.strip("\n"), fold=True)
    if change.model:
        output.say(f"Model: {change.model}", fold=True)
    if change.usage:
        output.say(f"Cost: {show.bill(change.usage)}")
    if change.batch:
        output.say(f"Batch: {change.batch} (dream restore --batch {change.batch})", dim=True)
    output.say()
    show.diff(shown.diff)


@click.command("why", cls=group.TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="TEXT")
@group.as_of
@group.workspace
@group.as_json
def why_command(words: tuple[str, ...], as_of: str | None, directory: Path | None, as_json: bool) -> None:
    """Show where a line of memory comes from: the changes that wrote it, and the messages behind it.

    TEXT is part of the line, or some of its words. It also traces earlier versions of the line, oldest last,
    back to the history entries, their sessions and the positions of the messages.

    \b
    Examples:
      dream why Lisbon
      dream why "prefers short answers" --json
    """
    from dream.actions.why import why

    text = " ".join(words).strip()
    if not text:
        raise UsageError("Give part of the line that you ask about: dream why Lisbon.")
    workspace = group.open_workspace(directory)
    found = why(workspace, text, as_of)
    if as_json:
        output.emit(found)
        return
    for number, one in enumerate(found):
        if number:
            output.say()
        _tell_reason(one)
    if as_of and (untold := workspace.untold(as_of)):
        output.problem(untold)
    elif not found:
        _absent(workspace, text)


def _tell_reason(one: Reason) -> None:
    output.say(f"{one.origin.file}: {one.origin.line.strip().removeprefix('- ')}", bold=True, fold=True)
    for change in one.changes:
        what = HAND.get(change.kind, change.subject)
        output.say(f"  {show.short(change.sha)}  {change.time.astimezone():%Y-%m-%d %H:%M}  {what}", fold=True)
    if not one.changes:
        output.say("  It was typed after the last change and is not committed yet.")
    for evidence in one.evidence:
        show.evidence(evidence)


def _absent(workspace: Workspace, text: str) -> None:
    """Print that no line says it, and which entries that are not dreamt yet do."""
    from dream.actions.why import waiting

    output.say("No line of memory says that.")
    for entry in waiting(workspace, text):
        output.say(f"Entry {entry.cursor} says it, but has not been dreamt yet.")


@click.command("restore", cls=group.DreamCommand)
@click.argument("sha", required=False)
@click.option("--only", is_flag=True, help="Undo that one change and keep all later ones.")
@click.option(
    "--batch", metavar="ID", help="Undo all that one run, or one import, committed, and keep what came later."
)
@click.option("--at", is_flag=True, help="Restore to exactly that commit instead of just before it.")
@click.option("--forget", is_flag=True, help="Remember what is removed, so that no later dream writes it again.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be undone; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@group.workspace
@group.as_json
def restore_command(
    sha: str | None,
    only: bool,
    batch: str | None,
    at: bool,
    forget: bool,
    dry_run: bool,
    yes: bool,
    directory: Path | None,
    as_json: bool,
) -> int | None:
    """Put memory back as it was just before a change.

    The result is a new commit, so it can be undone the same way. The cursor is reset with the files: those
    entries are dreamt again. Your own uncommitted edits are committed first and stay. On a terminal the diff is
    shown and you are asked; without one nothing is asked, and the command reports what it did and how to undo
    it. Without SHA the changes are listed, newest first.

    \b
    Examples:
      dream restore 3f9c2a71               memory as it was before 3f9c2a71
      dream restore 3f9c2a71 --only        without 3f9c2a71, with all that came after it
      dream restore --batch b-7f3a91c2     without all that this run, rereading or import committed
      dream restore 3f9c2a71 --dry-run
      dream-restore 3f9c2a71 --yes --forget
    """
    from dream.actions.restore import restore, restore_batch

    if only and at:
        raise UsageError("--only and --at exclude each other.")
    if batch and (sha or only or at):
        raise UsageError("--batch names what to take back by itself: no SHA, --only or --at with it.")
    if sha is None and batch is None:
        if listed(group.open_workspace(directory), as_json=as_json):
            output.problem("Name one of these: `dream restore SHA` puts memory back as it was just before it.")
        return None
    mode: Mode = "only" if only else "at" if at else "before"
    workspace = group.open_workspace(directory)
    restoring = partial(restore, workspace, sha or "", mode=mode, forget=forget)
    if batch:
        restoring = partial(restore_batch, workspace, batch, forget=forget)
    # 1. Show what would be undone, for --dry-run or before asking a person.
    if dry_run or (group.somebody_answers() and not (yes or as_json)):
        preview = restoring(dry_run=True, now=group.now())
        _show_restored(preview, preview=True, as_json=as_json)
        if dry_run or not preview.diff.text:
            return None
        if not group.confirmed("Restore this?"):
            output.say("Nothing was changed.")
            return 1
    # 2. The restore.
    done = restoring(now=group.now())
    _show_restored(done, preview=False, as_json=as_json)
    return 3 if done.held else None


def _show_restored(restored: Restored, *, preview: bool, as_json: bool) -> None:
    if as_json:
        output.emit(_shape(restored, dry_run=preview))
    elif preview:
        _preview(restored)
    else:
        _done(restored)


def _shape(done: Restored, *, dry_run: bool) -> dict[str, object]:
    return {
        "commit": done.sha,
        "restored": done.change.sha,
        "mode": done.mode,
        "batch": done.batch,
        "dry_run": dry_run,
        "files": done.diff.files,
        "diff": done.diff.text,
        "kept": [one.sha for one in done.kept],
        "forgotten": [{"file": fact.file, "text": fact.text} for fact in done.forgotten],
        "held": done.held,
        "hand": done.hand,
        "reason": done.reason,
    }


def _preview(preview: Restored) -> None:
    output.say(preview.batch or f"{show.short(preview.change.sha)}  {preview.change.subject}", bold=True)
    if not preview.diff.text:
        output.say(preview.reason or "Nothing would change.")
        return
    output.say("Restoring would change:")
    show.diff(preview.diff.text)
    for change in preview.kept:
        output.say(f"Kept: {show.short(change.sha)}  {change.subject}", colour="cyan")
    for fact in preview.forgotten:
        output.say(f"Never again: {fact.text}", colour="yellow")


def _done(done: Restored) -> None:
    from dream.actions.restore import WHERE

    if done.hand:
        output.say(f"Your own edits were committed first: {show.short(done.hand)}")
    if done.sha is None:
        output.say(done.reason or "Nothing had to change.")
        return
    changed = show.changed(done.diff.files) or "the cursor only"
    where = f"without batch {done.batch}" if done.batch else f"{WHERE[done.mode]} {show.short(done.change.sha)}"
    output.say(f"Memory is {where}: {changed}.", bold=True)
    for fact in done.forgotten:
        output.say(f"Never again: {fact.text}", colour="yellow")
    for path in done.held:
        output.problem(f"{path} was saved at this moment and stays as you saved it.")
    output.say(f"The restore is {show.short(done.sha)}. To take it back: dream restore {show.short(done.sha)}")
    if done.mode == "before" and done.change.kind == "dream" and not done.forgotten:
        output.say("The next dream reads those entries again, and may find the same; --forget keeps it out.", fold=True)


@click.command("drop", cls=group.TextCommand)
@click.argument("what", type=group.Text(), metavar="LINE")
@click.option("-n", "--dry-run", is_flag=True, help="Show the line; change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@group.workspace
@group.as_json
def drop_command(what: str, dry_run: bool, yes: bool, directory: Path | None, as_json: bool) -> int | None:
    """Remove one line of memory for good, unless you restore it.

    LINE is its text or its citation. No later dream writes it again. `dream log` shows the change, and `dream restore`
    brings the line back. To take a text out of history and every version too, use `dream forget`.

    \b
    Examples:
      dream drop USER.md:12
      dream drop "Prefers tea" --yes
    """
    from dream.actions import drop

    workspace = group.open_workspace(directory)
    line = drop.named(workspace, what)
    asks = not as_json and group.somebody_answers()
    if not (dry_run or yes or asks):
        raise UsageError("Preview it with --dry-run, and pass --yes when there is no terminal.")
    if not as_json:
        output.say(f"{line.cite}: {line.text}", fold=True)
    if not dry_run:
        group.only_a_person("What memory loses", f"dream drop {shlex.quote(line.cite)}")
    if not (dry_run or yes) and not group.confirmed("Take it out?"):
        output.say("Nothing was changed.")
        return 1
    sha = None if dry_run else drop.drop(workspace, line, now=group.now())
    if as_json:
        output.emit({"cite": line.cite, "text": line.text, "commit": sha})
    elif sha:
        output.say(f"Dropped. To bring it back: dream restore {show.short(sha)}")
    return None


@click.command("check", cls=group.DreamCommand)
@click.option(
    "--all", "every", is_flag=True, help="Also list every line: its date, how often it was said, and its sources."
)
@group.workspace
@group.as_json
def check_command(every: bool, directory: Path | None, as_json: bool) -> None:
    """Check whether memory is still true: contradictions, duplicates, past dates, missing paths.

    No model is called, and nothing is changed unless you say so. It lists exact contradictions (the same words,
    another number or day), duplicate lines, past dates, plans without an outcome, lines whose evidence is gone,
    and paths, commands and ports of a project that its working copy does not have. On a terminal one key
    decides each: d drops the line, Enter keeps it, q quits.

    \b
    Examples:
      dream check
      dream check --all
      dream check --json
    """
    from dream.actions import check

    workspace = group.open_workspace(directory)
    checked = check.check(workspace, group.now())
    if as_json:
        output.emit(checked)
        return
    for line in checked.lines if every else ():
        output.say(f"{line.cite}  {check.when(line)}  {' '.join(line.rests_on)}".rstrip(), dim=True, fold=True)
        output.say(f"  {line.text}", fold=True)
    told = check.in_short(checked.found)
    output.say(f"{show.counted(len(checked.lines), 'line')}: {told or 'nothing doubtful'}.", bold=True, fold=True)
    dropped = list[str]()
    for found in checked.found:
        output.say(f"{found.cite}  {found.kind}: {found.reason}", colour="yellow", fold=True)
        output.say(f"  {found.text}", fold=True)
        output.say(f"  {found.settle}", dim=True)
        if group.somebody_answers() and not {found.cite, found.beside} & {*dropped}:
            key = click.prompt("d drop, Enter leave, q end", default="", show_default=False, err=True).strip().lower()
            if key == "q":
                return
            if key == "d":
                _drop(workspace, found.text)
                dropped.append(found.cite)


def _drop(workspace: Workspace, text: str) -> None:
    """Drop a line by its text: its number may have changed since it was shown."""
    from dream.actions import drop

    group.only_a_person("What memory loses", f"dream drop {shlex.quote(text)}")
    sha = drop.drop(workspace, drop.named(workspace, text), now=group.now())
    if sha:
        output.say(f"Dropped. To bring it back: dream restore {show.short(sha)}")


@click.command("forget", cls=group.TextCommand)
@click.argument("what", type=group.Text(), metavar="TEXT|CITATION|SHA", required=False)
@click.option("--text", "is_text", is_flag=True, help="Treat it as text, even if it looks like a citation or a sha.")
@click.option("--words", is_flag=True, help="Delete only the words, not the statements that contain them.")
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
    words: bool,
    dry_run: bool,
    yes: bool,
    finish: int | None,
    given_up: int | None,
    directory: Path | None,
    as_json: bool,
) -> int | None:
    """Delete a fact or a secret from files, history and every version, for good.

    Finds the statements that contain TEXT, or else its words, in memory, history, messages, the review queue, the
    run record and all commits, and deletes them whole; --words deletes only the words. A CITATION means what it
    names, a SHA the lines that this change added. First it shows the matches and similar statements; on a
    terminal you choose by their numbers, elsewhere --yes is required and takes only statements with all of the
    words. Unlike a restore, this can't be undone: commits are rewritten under new names, the old ones deleted.
    Case and signs between letters (amber_fox, Amber-Fox) do not matter; a name of two or three letters is found
    only as a separate word. To finish an interrupted one, repeat it, or use --finish N, as `dream doctor` says.

    \b
    Examples:
      dream forget "allergic to walnuts" --dry-run
      dream forget "hunter2-prod" --words --yes
      dream forget USER.md:12
      dream forget 3f9c2a71
      dream forget --finish 1 --yes
    """
    if sum(one is not None for one in (what, finish, given_up)) != 1:
        raise UsageError("Give one of these: a text or a sha, --finish N, or --give-up N.")
    workspace = group.open_workspace(directory)
    if given_up is not None:
        _give_up(workspace, given_up, as_json=as_json)
        return None
    if not (dry_run or yes or (not as_json and group.somebody_answers())):
        raise UsageError(
            "Forgetting can't be undone: preview it with --dry-run, and pass --yes when there is no terminal."
        )
    run = (
        _interrupted(workspace, finish)
        if finish is not None
        else _forgetting(workspace, what or "", is_text, words, yes)
    )
    return _forget(run, dry_run=dry_run, yes=yes, as_json=as_json)


def _give_up(workspace: Workspace, number: int, *, as_json: bool) -> None:
    """Abandon an interrupted forgetting."""
    from dream.actions import forget

    forget.give_up(workspace, number, now=group.now())
    if as_json:
        output.emit({"outcome": "given up", "number": number})
    else:
        output.say(f"Number {number} was abandoned; its text remains wherever it had not been removed yet.")


def _interrupted(workspace: Workspace, number: int) -> ForgetStep:
    """Return the function that finishes an interrupted forgetting, or in a dry run shows what it will take."""
    from dream.actions import forget

    return lambda dry_run, _: forget.finish(workspace, number, dry_run=dry_run, now=group.now())


def _forgetting(workspace: Workspace, what: str, is_text: bool, words: bool, yes: bool) -> ForgetStep:
    """Return the function that forgets `what`, or of it the chosen statements, or in a dry run shows the matches."""
    from dream.actions import forget

    return lambda dry_run, chosen: forget.forget(
        workspace,
        what,
        text=is_text,
        words=words,
        guess=not yes,
        chosen=chosen,
        dry_run=dry_run,
        now=group.now(),
    )


def _forget(run: ForgetStep, *, dry_run: bool, yes: bool, as_json: bool) -> int | None:
    """Show the matches and let a person choose among them, unless `yes`; then forget them."""
    chosen: Sequence[FoundStatement] = ()
    if dry_run or not yes:
        preview = run(True, ())
        show_forgotten(preview, as_json=as_json)
        if dry_run or not (preview.found or preview.near):
            return None
        picked = _picked(preview)
        if picked is None:
            output.say("Nothing was changed.")
            return 1
        chosen = picked
    done = run(False, chosen)
    show_forgotten(done, as_json=as_json)
    return int(yes and done.guessed)


def _picked(preview: Forgotten) -> Sequence[FoundStatement] | None:
    """Ask which of the statements shown go; return those, none for all that were found, or None to keep everything."""
    shown = [*(one for one, _ in preview.taken), *preview.near]
    if preview.found and len(shown) < 2:
        return () if group.confirmed("Forget it for good?") else None
    first = f"y for 1–{len(preview.taken)}, " if len(preview.taken) > 1 else "y for 1, " if preview.taken else ""
    question = f"Forget for good? {first}or their numbers (1,{len(shown)}); Enter keeps all"
    while True:
        typed = click.prompt(question, default="", show_default=False, err=True).strip()
        if typed.lower() in ("", "n", "no"):
            return None
        if typed.lower() in ("y", "yes") and preview.found:
            return ()
        numbers = re.split(r"[,\s]+", typed)
        if all(one.isdecimal() and 1 <= int(one) <= len(shown) for one in numbers):
            return [shown[int(one) - 1] for one in numbers]


def _headline(done: Forgotten) -> str:
    if done.dry_run:
        lacking = "These lack some of the words, and --yes takes none: give a phrase as it stands, or a citation. "
        return f"{lacking if done.guessed else ''}Found in:"
    if not done.whole:
        return "Not all of it is forgotten. It was in:"
    return "Taken out; something like it is kept, see below. It was in:" if done.near else "Forgotten. It was in:"


def show_forgotten(done: Forgotten, *, as_json: bool = False) -> None:
    """Print what was forgotten, or would be."""
    if as_json:
        output.emit(_forgotten(done))
        return
    held, total = done.versions
    if not done.found and not done.renamed:
        output.say(
            "No file or commit of dream's contains it. What memory says in other words, `dream search` may find; then "
            "`dream forget CITATION`.",
            bold=True,
            fold=True,
        )
    else:
        output.say(_headline(done), bold=True)
    show_taken(done)
    for file, count in done.places:
        output.say(f"  {file}: {count} {'time' if count == 1 else 'times'}")
    if held:
        output.say(f"  git: {held} of {total} commits")
    if done.renamed:
        output.say("These commits have new names:")
    for old, new in done.renamed:
        output.say(f"  {show.short(old)} → {show.short(new)}")
    _show_near(done)
    output.say("It may remain elsewhere:" if done.found else "It may be elsewhere:")
    for sentence in done.remains:
        output.say(f"  {sentence}", colour="yellow", fold=True)


def show_taken(done: Forgotten) -> None:
    """Print the statements that are deleted, each with what its line or message reads afterwards."""
    for number, (one, after) in enumerate(done.taken, 1):
        output.say(f"  {number}. {one.cite}: {one.text}", fold=True)
        output.say(f"     then reads: {after}" if after else "     goes as a whole", fold=True)


def _show_near(done: Forgotten) -> None:
    for number, one in enumerate(done.near, len(done.taken) + 1):
        counted = f"  {number}. " if done.dry_run else ""
        output.say(f"{counted}Also similar, and kept: {one.cite}: {one.text}", fold=True)
    if done.near and not done.dry_run:
        output.say(f"If that was meant too: dream forget {done.near[0].cite}", fold=True)


def _forgotten(done: Forgotten) -> dict[str, object]:
    outcome = "preview" if done.dry_run else "partly" if done.near else "forgotten"
    return {
        "outcome": outcome if done.found else "nothing",
        "places": [{"file": file, "count": count} for file, count in done.places],
        "versions": {"holding": done.versions[0], "all": done.versions[1]},
        "statements": [{"cite": one.cite, "text": one.text, "after": after} for one, after in done.taken],
        "near": [{"cite": one.cite, "text": one.text} for one in done.near],
        "whole": done.whole,
        "commits": [{"old": old, "new": new} for old, new in done.renamed],
        "remains": list(done.remains),
    }
