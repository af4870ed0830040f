"""Whom a line of memory is about: somebody it names, somebody's sister, or the user."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.words import CJK

_ABOUT = re.compile(rf"^([A-Z][a-z]+)(?=:| [a-z']|'s )|^([{CJK}]{{2,4}})：")
_KIN = re.compile(
    r"^(?P<whose>[Tt]he user's|[Tt]heir|[A-Z][a-z]+'s) (?:\w+ )?(?P<kin>sister|brother|sibling|wife|husband|partner|fiancée?|"
    r"girlfriend|boyfriend|mother|mom|mum|father|dad|parents?|son|daughter|child|kids?|baby|twin|friend|boss|manager|"
    r"colleague|coworker|neighbou?r|roommate|flatmate|cousin|aunt|uncle|niece|nephew|grandm\w+|grandpa|grandfather|"
    r"teacher|doctor|dog|cat|puppy|kitten|horse|parrot|rabbit)\b(?!'s)(?:,? (?P<name>(?!Is\b)[A-Z][a-z]+))?"
)
_ADVERBS = frozenset("now currently today recently just once still".split())


@lru_cache(maxsize=16384)
def about(line: str) -> str:
    """Return the name of whom a line is about, '' for the user; a verb in the third person is no name."""
    kin = _KIN.match(line)
    if kin:
        return kin["name"] or f"{kin['whose'].lower()} {kin['kin']}"
    match = _ABOUT.match(line)
    if match is None:
        return ""
    name = match[1] or match[2]
    verb = name.endswith(("s", "ed", "ing")) and ":" not in line[: len(name) + 1]
    return "" if verb or name.lower() in STOP or name.lower() in _ADVERBS else name


def same_person(new: str, old: str) -> bool:
    """Say whether two lines are about one person: "Bob moved …", "The user's brother Bob lives …"."""
    if about(new) == about(old):
        return True
    left, right = _KIN.match(new), _KIN.match(old)
    if left is None or right is None or (left["name"] and right["name"]):
        return False
    return (left["whose"].lower(), left["kin"]) == (right["whose"].lower(), right["kin"])


def apart(new: str, old: str) -> bool:
    """Say whether two lines are about different people."""
    left, right = about(new), about(old)
    return left != right and not (left and left in old) and not (right and right in new) and bool(left or right)
