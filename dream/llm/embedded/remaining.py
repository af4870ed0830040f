"""What of an old line stays true beside the new one that takes its place."""

from __future__ import annotations

import re

from dream.llm.embedded.changes import supersedes
from dream.llm.embedded.cues import SUFFIX, undated
from dream.llm.embedded.referring import leans
from dream.llm.embedded.relations import JOB, PLACE
from dream.llm.embedded.renewing import renewed
from dream.llm.embedded.subjects import about
from dream.llm.embedded.words import content

_PARTS = re.compile(r"([;；，]\s*|,? and (?=(?:(?:they|he|she) )?(?:also |still )?(?:[a-z]+s|live|work)\b))")
_HOLDS = re.compile(r"[Ll]iv|[Bb]ased|[Rr]esid|[Ww]ork|[Ee]mployed|[Jj]ob|[Pp]osition")  # not: moved, joined, hired
_REST = re.compile(r",? (?:(?:together )?with|as|alone|in (?:the|their)|on the|and (?:their|has|is|was)|near their)\b")
_ROLE = re.compile(r"\bas (?:an? |the )?[a-z]")


def remainder(new: str, old: str) -> str:
    """Return what of `old` stays true beside `new`: its other parts, '' where there is none."""
    body = undated(old)
    suffix = old[len(body) :] if SUFFIX.search(old) else ""
    if again := renewed(undated(new), body):
        return again + (new[len(undated(new)) :] if suffix else "")
    parts = _PARTS.split(body)
    lead = re.match(r"[A-Z]\w*:? |[^：]{1,6}：", body) if about(body) else None
    name = lead[0] if lead else ""
    kept: list[str] = []
    for index, piece in enumerate(parts[::2]):
        told = piece if index == 0 else _alone(piece, name)
        if not supersedes(new, told):
            kept.append(piece)
        elif rest := _uncut(new, told):
            kept.append(rest if index == 0 else rest.removeprefix(name))
    if len(kept) == len(parts[::2]) and len(kept) > 1:
        return ""
    while kept and not body.startswith(kept[0][:8]) and leans(kept[0].removeprefix(name)):
        del kept[0]  # what it leaned on is gone
    joint = "，" if "，" in body else "; " if ";" in body else " and "
    text = joint.join(kept)
    if kept and not body.startswith(kept[0][:8]):
        text = name + text if name else text[:1].upper() + text[1:]
    return text + suffix if content(text) else ""


def _alone(piece: str, name: str) -> str:
    """Return a later part of a line as it would stand alone."""
    said = re.sub(r"^(?:they|he|she) (live|work)\b", r"\1s", piece)
    return name + said if name else said[:1].upper() + said[1:]


def _uncut(new: str, old: str) -> str:
    """Return a statement without the place or the firm that is no longer true: with whom, or as what, stays."""
    for pattern in (PLACE, JOB):
        match = pattern.search(old)
        if match is None or pattern.search(new) is None or not _HOLDS.search(match[0]):
            continue
        rest = old[match.end() :]
        if not _REST.match(rest) or (_ROLE.search(rest) and _ROLE.search(new)):
            return ""
        before = re.sub(r" (?:in|at|for|by|with)\s*$", "", old[: match.start("what")])
        return before + rest
    return ""
