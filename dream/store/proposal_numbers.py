"""The numbers of proposals: none is given twice while the repository lives, whatever is decided or restored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dream.errors import GitError
from dream.models import Proposal
from dream.store.files import read_bytes, replace
from dream.store.gitstore import GitStore
from dream.store.review_files import PENDING

FILE_NAME = "last_proposal"
_ID = re.compile(rb'^\+\{"id":(\d{1,15}),', re.MULTILINE)


class ProposalNumbers:
    """The highest number ever given, kept in the workspace's .dream directory beside the versions.

    It is not versioned itself, for a restore must not take it back. Where it is lost or damaged, the versions of
    the review queue say it again.
    """

    def __init__(self, git: GitStore, private: Path) -> None:
        self._git = git
        self._path = private / FILE_NAME

    def last(self, pending: Iterable[Proposal]) -> int:
        """Return the highest number that was ever given; `pending` waits now."""
        text = (read_bytes(self._path) or b"").strip()
        known = int(text) if text.isdigit() and len(text) < 16 else self._committed()
        return max([known, *(item.id for item in pending)])

    def given(self, new: Iterable[Proposal]) -> None:
        """Note the numbers of `new`, on disk before any of them is seen; raises WorkspaceError."""
        if numbers := [item.id for item in new]:
            replace(self._path, b"%d\n" % max(numbers))

    def _committed(self) -> int:
        try:
            patches = self._git.patches_of(PENDING)
        except GitError:  # nothing is committed yet
            return 0
        return max((int(found) for found in _ID.findall(patches)), default=0)
