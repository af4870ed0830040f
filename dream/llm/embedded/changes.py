"""Say whether a new statement takes the place of an old one: another value for the same thing."""

from __future__ import annotations

import re

from dream.llm.embedded.cues import says_changed, undated
from dream.llm.embedded.ending import ends, names_old
from dream.llm.embedded.frames import other_in_frame, other_words
from dream.llm.embedded.relations import (
    one_at_a_time,
    one_home_one_job,
    other_attitude,
    other_count,
    other_holder,
    renamed,
)
from dream.llm.embedded.salience import happened
from dream.llm.embedded.slots import other_in_slot
from dream.llm.embedded.subjects import about
from dream.llm.embedded.valued import of_another, other_value, other_version, outgrown
from dream.llm.embedded.words import content, has_cjk, likeness, stem

_PARTS = re.compile(r"[;；] ?")
LEAST = 2  # words that tell something in a line that another may hold whole


def supersedes(new: str, old: str) -> bool:
    """Say whether `new`, said later, makes `old` untrue, so that one takes the other's place."""
    whole = fuller(new, old)
    new, old = undated(new), undated(old)
    if new == old or of_another(new, old) or outgrown(new, old):
        return False
    if whole or one_at_a_time(new, old) or one_home_one_job(new, old) or renamed(new, old) or other_count(new, old):
        return True
    if _other_where_said(new, old) or other_version(new, old):
        return True
    left, right = content(new), content(old)
    name = stem(about(new).lower())
    shared = [key for key in left if key in right and not key.isdigit() and left[key] >= 0.4 and key != name]
    if ends(new, old):
        return True
    if not shared:
        return False
    return (
        other_value(new, old, shared)
        or other_holder(new, old)
        or other_attitude(new, old)
        or names_old(new, old, shared)
    )


def _other_where_said(new: str, old: str) -> bool:
    """Say whether one of the statements in `new` is `old` with another value."""
    return other_in_frame(new, old) or any(other_in_slot(part, old) for part in _PARTS.split(new))


def fuller(new: str, old: str) -> bool:
    """Say whether `new` holds all that `old` tells and more: a state, or what happened as told on the same day."""
    body, was = undated(new), undated(old)
    if happened(was) and not was.startswith("Has ") and new[len(body) :] != old[len(was) :]:
        return False
    told, before = _telling(body), _telling(was)
    return len(before) >= LEAST and before < told and about(body) == about(was)


def _telling(text: str) -> set[str]:
    return {key for key, weight in content(text).items() if weight >= 0.4}


def same_fact(left: str, right: str) -> bool:
    """Say whether two lines state the same thing with the same values, or the right one that and more."""
    if says_changed(left) and _other_where_said(undated(left), undated(right)):
        return False
    if fuller(right, left):
        return True
    left, right = undated(left), undated(right)
    if left.casefold() == right.casefold():
        return True
    one, other = content(left), content(right)
    if supersedes(left, right) or (has_cjk(left) and other_words(left, right)):
        return False
    numbers = [{key for key in words if key[:1].isdigit()} for words in (one, other)]
    return numbers[0] == numbers[1] and likeness(one, other) >= 0.75
