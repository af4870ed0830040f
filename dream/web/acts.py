"""What a person does on the page. Each act is one of the command line's, and only on the very state that was shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from dream.actions import forget as forgetting
from dream.actions import restore as restoring
from dream.actions import review
from dream.actions.restore import Mode
from dream.errors import DreamError, UsageError
from dream.models import MEMORY_FILES, MemoryFile
from dream.web import diffs, views
from dream.web.known import Past
from dream.web.views import HeldFinding
from dream.workspace.lock import run_lock
from dream.workspace.review_files import REJECTED
from dream.workspace.workspace import Workspace

MODES: Mapping[str, Mode] = {"before": "before", "at": "at", "only": "only"}
REVIEWS = ("accept", "edit", "reject", "never")


class Meanwhile(DreamError):
    """What was shown is no longer so; `told` says what changed, and nothing was done. `kept` is what was typed."""

    def __init__(self, told: Sequence[str], kept: str = "") -> None:
        super().__init__("Something changed since this was shown, so nothing was done.")
        self.told, self.kept = tuple(told), kept


@dataclass(frozen=True, slots=True)
class Done:
    """What an act did, in a sentence; `sha` is the commit that undoes it when it is taken back, if there is one."""

    text: str
    sha: str | None = None
    problems: tuple[str, ...] = ()


Form = Mapping[str, str]


@contextmanager
def _as_shown(workspace: Workspace, shown: str, kept: str = "") -> Iterator[datetime]:
    """Hold the workspace for an act, if it is as it was shown; raises Meanwhile, and Busy."""
    now = datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        if views.state(workspace) != shown:
            raise Meanwhile(views.changed_since(workspace, shown), kept)
        yield now


def restore(workspace: Workspace, form: Form) -> Done:
    """Restore as it was previewed."""
    mode, sha = MODES.get(form.get("mode", "")), form.get("sha", "")
    if mode is None:
        raise UsageError("A restore is before, at or only a change.")
    with _as_shown(workspace, form.get("state", "")) as now:
        done = restoring.restore(workspace, sha, mode=mode, forget=bool(form.get("forget")), now=now, locked=True)
    if done.sha is None:
        return Done(done.reason or "Nothing had to change.")
    where = {"before": "as it was just before", "only": "without", "at": "as it was at"}[mode]
    problems = tuple(f"{path} was saved at this moment and stays as you saved it." for path in done.held)
    return Done(f"Memory is {where} {done.change.sha[:10]}: {done.change.subject}", done.sha, problems)


def undo(workspace: Workspace, form: Form) -> Done:
    """Take back the commit that an act made, while it is the newest."""
    sha, now = form.get("sha", ""), datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        head = workspace.git.head()
        if head != sha:
            made = workspace.git.log(3, after=sha) if len(sha) == 40 and workspace.git.is_ancestor(sha) else []
            raise Meanwhile(
                [f"{one.sha[:10]} was made: {one.subject}" for one in made] or ["another change is the newest"]
            )
        remembered = REJECTED in workspace.git.show(sha).diff
        done = restoring.restore(workspace, sha, mode="before", now=now, locked=True)
    stays = "“Never again” stays remembered: no dream writes it, but you can accept it, or write it yourself."
    return Done(f"Undone: {done.change.subject}", done.sha, (stays,) if remembered else ())


def amend(workspace: Workspace, form: Form) -> Done:
    """Write a line anew, take it out, or take it out for good."""
    file, number, line = _line(workspace, form)
    text, never = form.get("text", "").replace("\r\n", "\n"), form.get("act") == "never"
    if not never and form.get("act") != "edit":
        raise UsageError("A line is edited, or taken out for good.")
    with _as_shown(workspace, form.get("state", ""), "" if never else text) as now:
        sha = review.amend(workspace, file, number, line, "" if never else text, never=never, now=now, locked=True)
    if sha is None:
        return Done("Nothing had to change.")
    return Done("Taken out; no later dream writes it again." if never else f"{file} is as you wrote it.", sha)


def forget(workspace: Workspace, form: Form, *, dry_run: bool) -> tuple[str, forgetting.Forgotten]:
    """Take a text out of everything, or show where it stands; returns the text too."""
    what = form.get("what", "")
    if not what.strip():
        raise UsageError("Say what is to be forgotten: a text as it stands, or the sha of a change.")
    text, now = form.get("text") == "1", datetime.now(UTC)
    if dry_run:
        return what, forgetting.forget(workspace, what, text=text, dry_run=True, now=now)
    with _as_shown(workspace, form.get("state", "")) as now:
        return what, forgetting.forget(workspace, what, text=text, now=now, locked=True)


def decide(workspace: Workspace, known: Past, form: Form, chosen: Sequence[str]) -> Done:
    """Decide on held findings: those that are named with their exact edit, or all that a filter leaves."""
    act = form.get("act", "")
    if act not in REVIEWS:
        raise UsageError("A held finding is accepted, edited, rejected, or never written again.")
    now = datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        found = _as_decided(views.items(workspace, known), form, chosen)
        numbers = [item.place for item in found]
        if act == "accept":
            done = review.accept(workspace, numbers, now=now, locked=True)
        elif act == "edit":
            text = form.get("text", "").replace("\r\n", "\n")
            if len(numbers) != 1 or not text.strip():
                raise UsageError("One finding is edited at a time, and not into nothing; reject it instead.")
            done = review.accept(workspace, numbers, now=now, locked=True, instead=text)
        else:
            done = review.reject(workspace, numbers, now=now, locked=True, remember=act == "never")
    count = sum(len(review.findings_of(one)) or 1 for one in done.done)
    words = {
        "accept": "accepted",
        "edit": "edited and accepted",
        "reject": "rejected this time",
        "never": "put away for good",
    }
    problems = tuple(f"{one.id} no longer fits and stays held: {reason}." for one, reason in done.misfits)
    what = f"1 finding {words[act]}." if count == 1 else f"{count:,} findings {words[act]}."
    return Done(what, done.sha, problems)


def _as_decided(found: Sequence[HeldFinding], form: Form, chosen: Sequence[str]) -> list[HeldFinding]:
    """Return what a decision is on; raises Meanwhile where any of it is no longer held just so."""
    if form.get("all"):
        left = views.matching(found, form)
        if views.digest(left) != form.get("shown"):
            raise Meanwhile(["what the filter leaves is no longer what was shown"])
        return left
    if not chosen:
        raise UsageError("Choose a finding first.")
    held = {item.name: item for item in found}
    if missing := [name.partition(":")[0] for name in chosen if name not in held]:
        numbers = {item.number for item in found}
        raise Meanwhile(
            [
                f"{number} is another edit now" if number in numbers else f"{number} is no longer held"
                for number in missing
            ],
            form.get("text", ""),
        )
    return [held[name] for name in chosen]


def _line(workspace: Workspace, form: Form) -> tuple[MemoryFile, int, str]:
    """Find the line that a form is about, by its file, number and key; raises Meanwhile where another stands there."""
    file = next((one for one in MEMORY_FILES if one == form.get("file")), None)
    number = int(form.get("number", "")) if form.get("number", "").isdecimal() else 0
    if file is None:
        raise UsageError("There are three memory files: SOUL.md, USER.md and memory/MEMORY.md.")
    rows = workspace.read_file(file).splitlines()
    if not 1 <= number <= len(rows) or diffs.key(file, rows[number - 1]) != form.get("is"):
        raise Meanwhile([f"line {number} of {file} is another now"], form.get("text", ""))
    return file, number, rows[number - 1]
