"""A moment of the past: which commit memory stood at, and until when something was said. Nothing is stored for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from dream.errors import UsageError, WorkspaceError
from dream.recall import get
from dream.versions import CURSOR, is_archive, is_memory
from dream.versions.trace import facts
from dream.workspace.files import number
from dream.workspace.runs import forgettings

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.workspace.places import Scope

LAST_DREAM = "before the last dream"
_SHA = re.compile(r"[0-9a-f]{4,40}|HEAD(?:~\d+)?")
_SAID = re.compile(r".+#\d+")


@dataclass(frozen=True, slots=True)
class Then:
    """Memory as the commit `sha` has it (None: there was none yet), and what was said until `at`."""

    sha: str | None
    at: datetime
    files: Mapping[str, bytes]  # every versioned file, by path

    def text(self, path: str) -> str:
        """Return a file as it was; "" where it was not there."""
        return self.files.get(path, b"").decode("utf-8", "replace")

    def facts(self) -> list[tuple[str, str]]:
        """Return every line of the memory files that stated something, with its file."""
        paths = [path for path in self.files if is_memory(path) and not is_archive(path)]
        return [(path, row) for path in paths for row in facts(self.text(path))]

    def restored_over(self, workspace: Workspace) -> dict[str, date]:
        """Return the lines that a restore has taken out since, with the day."""
        from dream.versions.diff import by_file

        since = workspace.git.log(after=self.sha, kind="restore") if self.sha else []
        shown = [workspace.git.show(change.sha) for change in since]
        return {
            row[1:]: one.change.time.date()
            for one in shown
            for _, rows in by_file(one.diff)
            for row in rows
            if row.startswith("-")
        }

    def cursor(self) -> int:
        """Return the last entry that was dreamt."""
        return number(self.files.get(CURSOR, b"")) or 0

    def has(self, when: datetime | None) -> bool:
        """Return whether something said at `when` had been said by then; False if its time is unknown."""
        return when is not None and when <= self.at


def then(workspace: Workspace, named: str, now: datetime) -> Then:
    """Return the moment that `named` means: a day, a commit, a message's citation, or "before the last dream".

    A day counts to its end. Raises UsageError where it is none of these, or has not come yet.
    """
    text = named.strip()
    git = workspace.git
    if text.casefold() == LAST_DREAM:
        last = next(iter(git.log(limit=1, kind="dream")), None)
        if last is None or last.parent is None:
            raise UsageError("There was no dream yet.")
        return _at(workspace, last.parent, last.time)
    if _SAID.fullmatch(text):
        said = next((hit.when for hit in get(workspace, text) if hit.when), None)
        if said is None:
            raise UsageError(f"When {text} was said is not known.")
        return _at(workspace, _last_before(workspace, said), said)
    day = last_day(text, now.date())
    if day is None and _SHA.fullmatch(text):
        sha = git.resolve(text)
        return _at(workspace, sha, git.show(sha).change.time)
    if day is None:
        raise UsageError(f"{text!r} is no moment; say a day, a commit, a message's citation, or {LAST_DREAM!r}.")
    zone = workspace.settings(using=()).zone()
    at = datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)
    return _at(workspace, _last_before(workspace, at), at)


def untold(workspace: Workspace, then: Then) -> str:
    """Say what can't be told of a moment: all before memory began, what was taken back or forgotten since; or ""."""
    if then.sha is None:
        began = workspace.git.git.run("log", "--max-parents=0", "--format=%cs", "HEAD", "--").decode().split()
        return f"What was known then can't be told: memory here begins on {min(began)}." if began else ""
    back = sum(one.at > then.at and not one.removal for one in workspace.rejected())
    facts = "a fact that you took back" if back == 1 else f"{back} facts that you took back"
    told = [f"It can't be told of {facts} since then: that is shown of no day."] if back else []
    forgotten = [at for at in forgettings(workspace.private) if at > then.at]
    if forgotten:
        days = f"on {forgotten[0]:%-d %B %Y}" if len(forgotten) == 1 else f"{len(forgotten)} times since then"
        told.append(f"`dream forget` removed something {days}: whether it was known then can't be told.")
    return " ".join(told)


def block(workspace: Workspace, then: Then, tokens: int, count: Callable[[str], int], scope: Scope) -> str:
    """Lay out memory as it was then, and the entries not dreamt yet; without what the user has taken back since.

    A line that a restore has taken out since says so.
    """
    from dream.memory import TEMPLATES
    from dream.recall import context
    from dream.recall.later import with_later
    from dream.recall.search import is_taken_back, taken_back

    rejected, over = taken_back(workspace), then.restored_over(workspace)
    began = {row for text in TEMPLATES.values() for row in text.decode("utf-8").splitlines()}

    def kept(row: str) -> str:
        return f"{row} (until {over[row]:%-d %B %Y}, restored over)" if row in over else row

    files = [path for path in then.files if is_memory(path) and not is_archive(path) and scope.shows(path)]
    given = {path: scope.text(path, then.text(path)).splitlines() for path in files}
    texts = {
        path: "\n".join(kept(row) for row in rows if not is_taken_back(row, rejected))
        for path, rows in given.items()
        if not began.issuperset(rows)
    }
    said = (entry for entry in workspace.history.backwards() if then.has(entry.when) and scope.holds(entry.place))
    texts = with_later(workspace, texts, scope, int(tokens * context.LATER_SHARE), count, then)
    return context.block(texts, context.undreamt(said, then.cursor()), tokens, count)


def last_day(text: str, today: date) -> date | None:
    """Return the last day of the first range that a text names; None where it names none."""
    span = named_range(text, today)
    return span[1] if span else None


def named_range(text: str, today: date) -> tuple[date, date] | None:
    """Return the range that a text names: a day, "last week", "März", 上周; None where it names none."""
    from dream.recall.terms import ranges

    named, _ = ranges(text, today)
    return named[0][0] if named else None


def _last_before(workspace: Workspace, at: datetime) -> str | None:
    """Return the newest commit that is older than `at`."""
    if not workspace.git.exists:
        raise WorkspaceError("There are no versions here; `dream run` makes the first.")
    found = workspace.git.git.run("rev-list", "--max-count=1", f"--before={at.isoformat()}", "HEAD", "--")
    return found.decode().strip() or None


def _at(workspace: Workspace, sha: str | None, at: datetime) -> Then:
    return Then(sha, at, workspace.git.read_all(sha) if sha else {})
