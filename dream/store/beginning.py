"""The first commits of a workspace, made or adopted: dream's state and templates, then what a person had there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from dream.errors import GitError
from dream.store import handedits, messages, transaction
from dream.store.gitobjects import STATE
from dream.store.handedits import Place


def begin(place: Place, templates: Mapping[str, bytes], now: datetime) -> str:
    """Give a workspace its repository and its first commit, and return HEAD.

    First a commit of kind `init`: dream's own state as it lies there, the cursor of an adopted workspace too, so that
    a restore knows it, and `templates` for the files that are missing. Then what is found there is the person's, a
    commit of kind `hand`.
    """
    place.git.ensure()
    transaction.recover(place)
    for _ in range(transaction.ATTEMPTS):
        head, present = place.git.snapshot()
        there = {**handedits.read(place.root), **handedits.read_state(place.root)}
        wanted = {path: data for path, data in templates.items() if path not in present and path not in there}
        wanted |= {path: data for path, data in there.items() if path in STATE and present.get(path) != data}
        if head is None or wanted:
            _init(place, head, present, wanted, now)
        elif handedits.commit(place, now).hand is None:
            return head
    raise GitError(transaction.BUSY)


def _init(
    place: Place, head: str | None, present: Mapping[str, bytes], wanted: Mapping[str, bytes], now: datetime
) -> None:
    """Commit `wanted`, which may be nothing, as kind `init`; does nothing where HEAD has moved."""
    diff = place.git.compare({path: present[path] for path in wanted if path in present}, wanted)
    new = handedits.written(place, wanted, messages.build("init", diff.files), head, now)
    old = {path: data if path in STATE else None for path, data in wanted.items()}
    transaction.publish(place, head, new, old, wanted)
