"""Packing the repository, under an intent: what a killed `git gc` leaves locked, the next command clears away."""

from __future__ import annotations

from contextlib import suppress

from dream.errors import DreamError, GitError
from dream.store import intent
from dream.store.handedits import Place


def pack(place: Place) -> bool:
    """Pack loose objects when they have become many; tells whether it did. The caller holds the run lock."""
    if not place.git.is_loose:
        return False
    intent.write(place.private, intent.Intent(None, ""))
    try:
        place.git.pack()
    except GitError:
        with suppress(DreamError):  # where the disk refuses that too, the intent stays for `recover`
            place.git.clear_locks(intent.written_at(place.private))
            intent.remove(place.private)
        raise
    intent.remove(place.private)
    return True
