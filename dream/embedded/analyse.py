"""Phase 1's job: new history entries against the present files → finding lines of what is sure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dream.embedded import read
from dream.embedded.kinds import KEPT
from dream.embedded.likeness import shared, supersedes, told_already
from dream.embedded.sections import LABELS, Dreamt, bullets_of, conversation
from dream.embedded.statement import New, Pool, Statement, history_line, line, parsed
from dream.embedded.tongue import tongue
from dream.memory import MEMBERS
from dream.models import MemoryFile
from dream.provenance import cues
from dream.provenance.copied import points_at
from dream.provenance.speakers import is_owner, unnamed
from dream.text.tokens import estimate
from dream.text.tongues import main, plain
from dream.text.words import heading, standing

OWN = ("home", "job", "name", "birthday")  # attributes that are the user's own
STRONGLY = 0.5  # a later statement replaces an earlier one that shares this part of the shorter one's words
_CAPITAL = re.compile(r"(?<=[\w,;)] )[A-ZÀ-ÖØ-Þ]\w|[a-zß-öø-ÿ][A-ZÀ-ÖØ-Þ]")
_RAW_HEAD = re.compile(r"\[RAW\] \d+ messages")
_SECTIONS = {
    "person": "People",
    "preference": "Preferences",
    "plan": "Plans",
    "solution": "Solutions",
    "decision": "Decisions",
    "event": "Events",
    "fact": "Facts",
    "rule": "Rules",
}


@dataclass(frozen=True, slots=True)
class _Old:
    """A line of a file."""

    file: MemoryFile
    text: str


@dataclass(slots=True)
class _Knowledge:
    """What is known while a batch is read: the lines of the files, and what the batch added, one pool for both."""

    pool: Pool = field(default_factory=Pool)
    old: dict[int, _Old] = field(default_factory=dict)
    new: dict[int, New] = field(default_factory=dict)
    owners: Sequence[str] = ()
    within: bool = False  # whether it was said in a project or a group


def analyse(
    files: Mapping[MemoryFile, str],
    entries: Sequence[Dreamt],
    owners: Sequence[str] = (),
    *,
    within: bool = False,
    group: bool = False,
) -> str:
    """Return the finding lines of a batch, or `[SKIP]`; of several people only the `owners` change rules.

    What was said `within` a project or a group stays there, but for what surely tells of the user. A rule for "here"
    that was said in neither is for a person to place.
    """
    known = _Knowledge(owners=owners, within=within)
    talk = main([text for _, text in bullets_of(files)] + [one.text for one in entries], "en")
    stated = list(_statements(entries, talk))
    people = {*owners, *(said.speaker for _, said in stated)}
    for file, text in bullets_of(files):
        rule = file == "SOUL.md"
        said = read.of_line(parsed(unnamed(text, people) if rule else text, talk=talk), rule=rule)
        known.old[known.pool.add(said)] = _Old(file, text)
    for cursor, said in stated:
        _settle(known, said, cursor)
    out = []
    for new in known.new.values():
        name = section(new.file, new.statement)
        title = standing(files.get(new.file, "").split("\n"), name) or heading(name, talk)
        if group and new.file == "SOUL.md" and _shapes_form(new.statement, people):
            title = MEMBERS
        private = new.file == "SOUL.md" and _tells_of_a_life(new.statement)
        marks = " private" * private + " review" * (
            new.file == "SOUL.md" and not within and _points_here(new.statement)
        )
        out.append(_finding(new.file, line(new.statement), new.cursors, title.lstrip("# "), marks))
        out += [_finding(file, text, new.cursors, remove=True) for file, text in new.replaces]
    return "\n".join(out) or "[SKIP]"


def _finding(
    file: MemoryFile,
    text: str,
    cursors: Sequence[int],
    section: str = "",
    marks: str = "",
    *,
    remove: bool = False,
) -> str:
    tag = f"{LABELS[file]}-REMOVE" if remove else f"{LABELS[file]}{marks}/{section}"
    return f"[{tag}] {text} {{{','.join(map(str, cursors))}}}"


def _tells_of_a_life(said: Statement) -> bool:
    """Return whether a rule tells something of the user's own life, or of people in it: it is shown to no group."""
    known, text = tongue(said.code), plain(said.text)
    return known.has("own", text) or known.has("family", text)


def _points_here(said: Statement) -> bool:
    return tongue(said.code).points_here(plain(said.text))


def _shapes_form(said: Statement, people: Collection[str]) -> bool:
    """Return whether what a group's member asks names no number and no person: it shapes how answers look.

    German writes every noun with a capital, so that there only capitals within a word tell a name.
    """
    capitals = (found[0] for found in _CAPITAL.finditer(said.text))
    named = any(not (one[0].isupper() and said.code == "de") for one in capitals)
    return not (
        named or any(map(str.isdigit, said.text)) or any(name and points_at(name, said.text) for name in people)
    )


def _statements(entries: Sequence[Dreamt], talk: str) -> Iterator[tuple[int, Statement]]:
    """Yield what the entries surely state, in order; raw ones are read as conversations are."""
    for entry in entries:
        if entry.kind == "raw" or _RAW_HEAD.match(entry.text):
            stated = read.statements(conversation(entry.text))
        else:
            lines = (read.of_line(parsed(text, entry.day, talk)) for text in read.lines(entry.text))
            stated = [replace(said, quoted=said.quoted or entry.kind == "note") for said in lines]
        for said in stated:
            if said.sure and said.kind in KEPT:
                yield entry.cursor, replace(said, speaker=said.speaker or entry.by)


def _settle(known: _Knowledge, said: Statement, cursor: int) -> None:
    """Bring a statement together with what is known: there already, another value for it, or new."""
    near = known.pool.near(said)
    again = [number for number in near if _is_there(said, known.pool.held[number])]
    for number in again:
        if number in known.new:
            held = known.new[number]
            known.new[number] = replace(held, cursors=tuple(sorted({*held.cursors, cursor})))
    if again:
        return
    file, cursors, replaced = _file(said, within=known.within), {cursor}, list[tuple[MemoryFile, str]]()
    for number in [number for number in near if _replaces(said, known.pool.held[number], known)][:1]:
        known.pool.drop(number)
        if old := known.old.pop(number, None):
            file = old.file
            replaced.append((old.file, old.text))
        if new := known.new.pop(number, None):
            cursors |= set(new.cursors)
            replaced += new.replaces
    known.new[known.pool.add(said)] = New(file, said, tuple(sorted(cursors)), tuple(replaced))


def _is_there(new: Statement, old: Statement) -> bool:
    return told_already(new.text, old.text, new.code, old.code)


def _replaces(said: Statement, other: Statement, known: _Knowledge) -> bool:
    """Return whether a statement takes the place of an older one: the same speaker said it, on another day.

    They share a word that no other line holds, and most of their words, or differ in the number of something.
    """
    if (said.kind == "rule") != (other.kind == "rule") or not _may_change(said, other, known.owners):
        return False
    if said.day and other.day and said.day <= other.day:
        return False
    words = shared(said.text, other.text, said.code)
    if 1 not in (min(known.pool.held_by(word), default=0) for word in words):
        return False
    return supersedes(said.text, other.text, said.code, STRONGLY)


def _may_change(said: Statement, other: Statement, owners: Sequence[str]) -> bool:
    """Return whether who says one thing may change the other: what they said themselves, and an owner any rule."""
    if owners and other.kind == "rule":
        return is_owner(said.speaker, owners)
    return said.speaker == other.speaker


def _file(said: Statement, *, within: bool) -> MemoryFile:
    """Return the file that a statement belongs in: what users say of themselves in USER.md, of others in MEMORY.md.

    What they wish until a day that they name is no rule for good.
    """
    if said.kind == "rule":
        for_a_time = cues.says("until", said.text) and not cues.says("each", said.text)
        return "SOUL.md" if not for_a_time else "memory/MEMORY.md" if within else "USER.md"
    of_user = said.kind in read.PERSONAL and not said.speaker and cues.says("mine", said.text)
    of_user = of_user and (not within or _is_of_oneself(said))
    return "USER.md" if of_user else "memory/MEMORY.md"


def _is_of_oneself(said: Statement) -> bool:
    """Return whether a statement begins with what one says of oneself, or tells one's home, job, name or birthday."""
    known, text = tongue(said.code), plain(said.text)
    told = (one for name in OWN for one in known.attributes.get(name, ()))
    begins = (text.lstrip() if known.wide else text).startswith(known.cues["own"])
    return begins or any(one in text for one in told)


def spoken(said: Sequence[Statement], limit: int) -> list[Statement]:
    """Return the statements of a conversation, in order, that fit into `limit` tokens: what is worth least goes."""
    sizes = [estimate(f"- {history_line(one)}\n") + 1 for one in said]
    if sum(sizes) <= limit:
        return list(said)
    kept: set[int] = set()
    for number in sorted(range(len(said)), key=lambda n: (-said[n].weight, n)):
        if sizes[number] <= limit:
            kept.add(number)
            limit -= sizes[number]
    return [one for number, one in enumerate(said) if number in kept]


def section(file: MemoryFile, said: Statement) -> str:
    """Return the name of the section of its file that a statement belongs in."""
    if file == "SOUL.md":
        return "Rules"
    if file == "USER.md":
        return "Preferences" if said.kind in ("preference", "rule") else "Person"
    of_others = said.kind == "preference" and not cues.says("mine", said.text)
    return "People" if of_others else _SECTIONS.get(said.kind, "Facts")
