"""The scope of a finding: the place where it was said, unless the model says everywhere and the user's words allow it.

No word list decides: a rule stays in its place if the user's words name the place, or contain a path or a host. A
request of a group's member goes into the group's SOUL.md if the model files it as a style of answering; any other is
held for review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from dream.dreaming.draft import added, lines
from dream.dreaming.evidence import BatchEvidence
from dream.memory import like, place_of, public
from dream.models import Finding, MemoryFile
from dream.provenance.copied import points_at
from dream.text.alike import same_fact
from dream.text.words import without_bullet
from dream.workspace.places import KnownPlace

HEARD = 3  # number of projects in which a rule was said before it is proposed for everywhere
# What a path, a host, an address or a command is written with: slashes, backquotes, @, and a point or colon in a word.
_POINTED = re.compile(r"[\\/`@]|\w[.:]\w|(?<!\w)--?\w")
_PATH = re.compile(r"(?<![\w.~-])(?:\.\.)?/[^\s;&|()<>'\"`]+")  # from the root, or from the folder above


@dataclass(frozen=True, slots=True)
class Recurring:
    """A rule that was said in several projects, with the citations of its lines."""

    line: str
    cites: tuple[str, ...]


def given(texts: Mapping[MemoryFile, str], place: KnownPlace | None) -> dict[MemoryFile, str]:
    """Return the files that the model may see: for a batch from a group chat, only what that group may see."""
    if place is None or not place.is_group:
        return dict(texts)
    return {file: public(text) for file, text in texts.items() if file != "USER.md"}


def scoped(
    findings: Iterable[Finding], place: KnownPlace | None, evidence: BatchEvidence, files: Mapping[MemoryFile, str]
) -> tuple[Finding, ...]:
    """Return the findings of a batch that was said in `place`, each with the file of its scope.

    A finding that may not reach beyond the place is filed in it, and removes no line outside it.
    """
    if place is None:
        return tuple(findings)
    found: list[Finding] = []
    narrowed: set[str] = set()  # lines outside the place whose replacements are filed in it
    soul, memory = place.files
    for one in findings:
        if place_of(one.file) or _may_reach(one, place, evidence, files):
            if not (one.remove and one.line in narrowed):
                found.append(one)
        elif one.remove:
            continue
        else:
            narrowed.add(one.line)
            file = soul if one.file == "SOUL.md" else memory
            found.append(replace(one, file=file, line="", heading="", waits=0))
    return tuple(found)


def _may_reach(one: Finding, place: KnownPlace, evidence: BatchEvidence, files: Mapping[MemoryFile, str]) -> bool:
    """Return whether a finding from a place may change a file outside that place."""
    if one.file not in files:
        return False
    if one.file == "USER.md":
        if not place.is_group:  # a finding that names the project belongs to it, even if it says "my"
            return not any(points_at(name, one.text) for name in place.called)
        return evidence.source(one.text, one.entries).voice == "user"
    sentence = evidence.written(one, files) if one.file == "SOUL.md" and not one.remove else None
    if place.is_group and (one.file != "SOUL.md" or sentence is None):
        return False
    said = [one.text, one.because, sentence.text if sentence else ""]
    return not any(names_place(text, place) for text in said)


def names_place(text: str, place: KnownPlace) -> bool:
    """Return whether a text names a place, or contains a path or a host."""
    return holds_path(text) or any(points_at(name, text) for name in place.called)


def holds_path(text: str) -> bool:
    """Return whether a text contains a path, a host, an address or a command."""
    return _POINTED.search(text) is not None


def names_other(command: str, name: str, places: Iterable[KnownPlace]) -> str:
    """Return the name of another project whose folder a command names, by its path or as a sibling; "" if none."""
    own = [path for one in places if one.name == name for path in one.paths]
    for found in _PATH.findall(command):
        if any(_is_within(found, path) for path in own):
            continue
        for other in places:
            if other.name != name and any(_is_within(found, path) for path in other.paths):
                return other.name
            beside = PurePosixPath(found).parts[1:2] if found.startswith("../") else ()
            if other.name != name and beside and beside[0] in {PurePosixPath(path).name for path in other.paths}:
                return other.name
    return ""


def _is_within(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(folder)


def repeated(
    place: KnownPlace, before: str, after: str, texts: Mapping[MemoryFile, str], groups: Iterable[str]
) -> list[Recurring]:
    """Return the rules that a dream adds to a project and that at least HEARD projects then have.

    `before` and `after` are the text of its rules, `texts` those of all files, and `groups` the names of group chats.
    """
    soul = place.files[0]
    others = {file: text for file, text in texts.items() if place_of(file) and like(file) == "SOUL.md" and file != soul}
    others = {file: text for file, text in others.items() if place_of(file) not in set(groups)}
    found = []
    for line in added(before, after):
        cites = [cite for file, text in {soul: after, **others}.items() for cite in _cites(line, file, text)]
        known = any(same_fact(line, other) for other in lines(texts.get("SOUL.md", "")))
        if not line.startswith("#") and not known and len(cites) >= HEARD:
            found.append(Recurring(without_bullet(line).strip(), tuple(cites)))
    return found


def _cites(line: str, file: MemoryFile, text: str) -> Sequence[str]:
    """Return the citation of the first line of a file that says the same."""
    rows = enumerate(text.splitlines(), start=1)
    return [f"{file}:{number}" for number, row in rows if row.strip() and same_fact(line, row)][:1]
