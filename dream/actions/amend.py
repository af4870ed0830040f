"""A person's own change of one line of memory: written anew, taken out, or taken out and never written again."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime

from dream.errors import UsageError
from dream.language.text import clean
from dream.models import MemoryFile, Rejected
from dream.versions import log, tracked, transaction
from dream.versions.diff import Diff
from dream.workspace import files, review_files
from dream.workspace.lock import run_lock
from dream.workspace.workspace import Workspace


def amend(
    workspace: Workspace,
    file: MemoryFile,
    number: int,
    line: str,
    text: str,
    *,
    never: bool = False,
    now: datetime,
    locked: bool = False,
) -> str | None:
    """Write `text` in place of `line`, the line `number` (from 1) of `file`, as a person's commit; return its sha.

    An empty `text` takes the line out, and with `never` no later dream writes it again. What was typed before is
    committed first. Raises UsageError where that line stands there no longer, and Busy; then nothing has changed.
    """
    with nullcontext() if locked else run_lock(workspace.private, "dream web", now=now):
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        found = tracked.read_all(workspace.root)
        rows = files.decode(found.get(file, b""), workspace.root / file).splitlines(keepends=True)
        if not 1 <= number <= len(rows) or rows[number - 1].rstrip("\r\n") != line:
            raise UsageError(f"Line {number} of {file} is no longer what was shown; nothing was changed.")
        old = rows[number - 1]
        end = old[len(old.rstrip("\r\n")) :] or "\n"
        rows[number - 1] = "".join(f"{row}{end}" for row in clean(text).rstrip("\n").split("\n")) if text else ""
        changes: dict[str, bytes | None] = {file: "".join(rows).encode("utf-8")}
        if never:
            fact = Rejected(now, file, line.strip().removeprefix("- "), "by hand")
            changes[review_files.REJECTED] = review_files.grown(found.get(review_files.REJECTED, b""), [fact])

        def message(diff: Diff) -> str:
            return log.build("hand", diff.files, note="(never again)" if never else "")

        return transaction.commit(workspace, changes, expected=found, message=message, now=now).sha
