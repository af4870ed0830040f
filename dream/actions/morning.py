"""What the morning says: how much the last night learnt, and what waits for a person."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from dream.directory import Workspace
from dream.errors import WorkspaceError
from dream.reports import RunReport
from dream.workspace import runs
from dream.workspace.files import read_note, write_note
from dream.workspace.runs import RunRecord
from dream.workspace.stamp import NIGHTLY

SAID = "said.json"  # in .dream/nightly/: when the run ended of which a session was told last
LOOKED_AT = 30  # of the run record


def news(workspace: Workspace) -> str:
    """Return what the last dream brought and what waits: "7 lines learnt, 2 wait for review"; "" for nothing."""
    last = _last(workspace)
    return _news(workspace, last) if last else ""


def news_once(workspace: Workspace) -> str:
    """Return `news` for the first session after a dream, and "" for those that follow it."""
    last = _last(workspace)
    path = workspace.private / NIGHTLY / SAID
    if last is None or _said(workspace) == last.ended:
        return ""
    with suppress(WorkspaceError, OSError):  # on a disk that can't be written to every session is told
        write_note(path, {"at": last.ended.isoformat()})
    return _news(workspace, last)


def _last(workspace: Workspace) -> RunRecord | None:
    """Return the last run that dreamt something."""
    recorded = runs.last(workspace.private, LOOKED_AT)
    return next((one for one in recorded if one.command == RunReport.command and one.findings), None)


def _said(workspace: Workspace) -> datetime | None:
    try:
        return datetime.fromisoformat(read_note(workspace.private / NIGHTLY / SAID)["at"])
    except (ValueError, TypeError, KeyError):
        return None


def _news(workspace: Workspace, last: RunRecord) -> str:
    learnt, held = last.findings.get("applied", 0), len(workspace.pending())
    parts = [f"{learnt:,} line{'s' * (learnt != 1)} learnt"] if learnt else []
    parts += [f"{held:,} wait{'s' * (held == 1)} for review"] if held else []
    return ", ".join(parts)
