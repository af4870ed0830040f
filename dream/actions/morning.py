"""The news for the first session after a dream: how much it learnt, and how much is pending review."""

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

SAID = "said.json"  # in .dream/nightly/: the end of the last run that a session was informed of
LOOKED_AT = 30  # rows of the run record that are read


def news(workspace: Workspace) -> str:
    """Return the news of the last dream: "7 lines learnt, 2 wait for review"; "" if there is none."""
    last = _last(workspace)
    return _news(workspace, last) if last else ""


def news_once(workspace: Workspace) -> str:
    """Return `news` for the first session after a dream, and "" for those that follow it."""
    last = _last(workspace)
    path = workspace.private / NIGHTLY / SAID
    if last is None or _said(workspace) == last.ended:
        return ""
    with suppress(WorkspaceError, OSError):  # on a read-only disk every session is informed
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
