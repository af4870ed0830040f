"""A run with nothing to dream, as most nights are: told from a few bytes, so that the pipeline is not loaded for it."""

from __future__ import annotations

from datetime import datetime

from dream.errors import DreamError
from dream.settings import Settings
from dream.store import idle
from dream.store.workspace import Workspace


def why(workspace: Workspace, settings: Settings, now: datetime) -> str | None:
    """Say why there is nothing to dream, after what every run does: a person's edits have a commit, the run a record.

    None where there may be something to do. The caller holds the lock of the workspace.
    """
    reason = idle.reason(workspace.root, locked=True)
    if reason is None or settings.batch or not workspace.git.exists:
        return None
    from dream.store import transaction

    try:
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
    except DreamError:
        return None  # the pipeline meets it too, tells of it and records it
    return reason if idle.record(workspace.root, reason, now) else None
