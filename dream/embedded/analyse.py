"""Phase 1's job: new history entries against the present files → finding lines, as far as there is room for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dream.embedded import read
from dream.embedded.sections import LABELS, Dreamt, bullets_of, conversation
from dream.embedded.statement import (
    CERTAIN,
    LIKELY,
    SURE,
    New,
    Pool,
    Statement,
    apart,
    covers,
    earlier,
    history_line,
    line,
    parsed,
    replaces,
)
from dream.language import cues
from dream.language.kinds import KEPT, kind
from dream.language.likeness import common, fact, ranked, recounted, shared, signs, telling, told_already
from dream.language.tokens import estimate
from dream.language.tongue import main, plain, tongue
from dream.language.words import heading, standing
from dream.models import MemoryFile
from dream.provenance.vouching import is_owner, unnamed

CAREFUL = 0.5  # of belief that a statement takes the place of another, where nothing would be left of that one
TAKEN_BACK = 0.6  # of a retraction's telling words that a line must hold to be the one that is taken back
ORDERED = 0.5  # of belief that what is told of a rule orders or decides something
MOST = 0.4  # of the words of the shorter of two, for them to say little else
COUNTED = 240  # characters of two statements of which one counts anew what the other counts: longer ones tell more
RARE = 3  # statements that may hold the rarest word that two share, for them to be about one thing
LONGEST = 560  # characters of a line with the earlier one in it
FILES: dict[str, MemoryFile] = {"rule": "SOUL.md", "preference": "USER.md", "person": "USER.md"}
_RAW_HEAD = re.compile(r"\[RAW\] \d+ messages")


@dataclass(frozen=True, slots=True)
class _Old:
    """A line of a file, and the statement that it holds."""

    file: MemoryFile
    text: str
    said: Statement


@dataclass(slots=True)
class _Knowledge:
    """What is known while a batch is read: the lines of the files, and what the batch added, one pool for both."""

    pool: Pool = field(default_factory=Pool)
    old: dict[int, _Old] = field(default_factory=dict)
    new: dict[int, New] = field(default_factory=dict)
    gone: list[tuple[_Old, tuple[int, ...]]] = field(default_factory=list)
    owners: Sequence[str] = ()

    def learn(self, file: MemoryFile, said: Statement, cursors: tuple[int, ...], places: Sequence[_Old] = ()) -> None:
        """Add a new line, which takes the places of old ones."""
        number = self.pool.add(said)
        self.new[number] = New(file, said, cursors, tuple((one.file, one.text) for one in places))

    def take_out(self, number: int) -> tuple[_Old | None, New | None]:
        """Take a line out of the pool; return what it was."""
        self.pool.drop(number)
        return self.old.pop(number, None), self.new.pop(number, None)


def analyse(files: Mapping[MemoryFile, str], entries: Sequence[Dreamt], owners: Sequence[str] = ()) -> str:
    """Return the finding lines of a batch, or `[SKIP]`; of several people only the `owners` change rules."""
    told = _Knowledge(owners=owners)
    talk = main([text for _, text in bullets_of(files)] + [one.text for one in entries], "en")
    stated = list(_statements(entries, talk))
    people = {*owners, *(said.speaker for _, said in stated)}
    for file, text in bullets_of(files):
        rule = file == "SOUL.md"
        said = read.of_line(parsed(unnamed(text, people) if rule else text, talk=talk), rule=rule)
        told.old[told.pool.add(said)] = _Old(file, text, said)
    for cursor, said in stated:
        _settle(told, said, cursor)
    out = [_finding(old.file, old.text, cursors, remove=True) for old, cursors in told.gone]
    added = fitting(files, list(told.new.values()))
    for new in added:
        name = section(new.file, new.statement)
        title = standing(files.get(new.file, "").split("\n"), name) or heading(name, talk)
        out.append(_finding(new.file, line(new.statement), new.cursors, title.lstrip("# ")))
        out += [_finding(file, text, new.cursors, remove=True) for file, text in new.replaces]
    return "\n".join(out) or "[SKIP]"


def _finding(file: MemoryFile, text: str, cursors: Sequence[int], section: str = "", *, remove: bool = False) -> str:
    tag = f"{LABELS[file]}-REMOVE" if remove else f"{LABELS[file]}/{section}"
    return f"[{tag}] {text} {{{','.join(map(str, cursors))}}}"


def _statements(entries: Sequence[Dreamt], talk: str) -> Iterator[tuple[int, Statement]]:
    """Yield what the entries state, in order; raw ones are read as conversations are."""
    for entry in entries:
        if entry.kind == "raw" or _RAW_HEAD.match(entry.text):
            for said in read.statements(conversation(entry.text)):
                yield entry.cursor, replace(said, speaker=said.speaker or entry.by)
            continue
        for text in read.lines(entry.text):
            said = read.of_line(parsed(text, entry.day, talk))
            if said.kind == "retract" or (said.kind in KEPT and said.meant):
                quoted = said.quoted or entry.kind == "note"
                yield entry.cursor, replace(said, quoted=quoted, speaker=said.speaker or entry.by)


def _settle(told: _Knowledge, said: Statement, cursor: int) -> None:
    """Bring a statement together with what is known: said already, another value for it, or new."""
    near = told.pool.near(said)
    if said.kind == "retract":
        _take_back(told, said, near, cursor)
        return
    again = [number for number in near if _is_told(said, told.pool.held[number])]
    for number in again:
        if number in told.new:
            held = told.new[number]
            told.new[number] = replace(held, cursors=tuple(sorted({*held.cursors, cursor})))
    if again:
        return
    file, cursors, places, beside = _file(said), {cursor}, list[_Old](), list[tuple[MemoryFile, Statement]]()
    for number in _outdated(said, near, told):
        other = told.pool.held[number]
        if other.kind == "rule":  # what changes one is one, however it is told
            said, file = replace(said, kind="rule"), "SOUL.md"
        changed, rests = (other, []) if other.kind == "rule" else apart(other, said)
        said = _instead(said, changed)
        old, new = told.take_out(number)
        if old:
            places.append(old)
            file = old.file if "SOUL.md" not in (file, old.file) else file
        if new:
            cursors |= set(new.cursors)
            places += [_Old(path, text, other) for path, text in new.replaces]
        beside += [(old.file if old else new.file if new else file, rest) for rest in rests]
    told.learn(file, said, tuple(sorted(cursors)), places)
    for where, rest in beside:
        told.learn(where, rest, tuple(sorted(cursors)))


def _is_told(new: Statement, old: Statement) -> bool:
    return told_already(new.text, old.text, new.code, old.code)


def _outdated(said: Statement, near: Sequence[int], told: _Knowledge) -> list[int]:
    """Return the numbers of the statements whose place `said` takes: the likeliest, and others where it is certain."""
    beliefs = [(_belief(said, told.pool.held[number], told), number) for number in near]
    best = max(beliefs, default=(0.0, -1))
    if best[0] and told.pool.held[best[1]].kind == "rule":
        return [best[1]] if _may_go(said, told, *best) else []
    return [
        number
        for belief, number in sorted(beliefs, reverse=True)
        if belief >= (LIKELY if number == best[1] else CERTAIN) and told.pool.held[number].kind != "rule"
    ]


def _may_go(said: Statement, told: _Knowledge, belief: float, number: int) -> bool:
    """Return whether nothing is lost with a rule: it stands in the file, so that the line tells both, or `said` does."""
    new = told.new.get(number)
    return new is None or (belief >= CAREFUL and not new.replaces and covers(said, new.statement))


class _Revision:
    """A statement and an older one that it may change, and what tells whether it does."""

    def __init__(self, said: Statement, other: Statement, pool: Pool) -> None:
        self.said, self.other = said, other
        self.same_day = said.day is not None and said.day == other.day
        self._pool = pool

    @cached_property
    def belief(self) -> float:
        """The belief that the statement takes the place of the older one, by their words alone."""
        return replaces(self.said, self.other)

    @cached_property
    def found(self) -> Mapping[str, float]:
        """What the two have in common and how they differ, by name."""
        return signs(self.said.text, self.other.text, self.said.code, (self.said.kind, self.other.kind))

    @cached_property
    def held(self) -> list[int]:
        """Of each rare word that the two share how many statements hold it, the fewest first."""
        words = shared(self.said.text, self.other.text, self.said.code)
        return sorted(min(self._pool.held_by(word), default=0) for word in words)

    @cached_property
    def counts(self) -> list[int]:
        """The same of each telling word, months and weekdays with them."""
        return self._pool.held_by(self.telling)

    @property
    def telling(self) -> frozenset[str]:
        """The telling words that the two share."""
        return telling(self.said.text, self.said.code) & telling(self.other.text, self.other.code)

    @property
    def changes(self) -> bool:
        """Whether the statement has a word of change."""
        return self.found["changes"] > 0

    @property
    def names_old(self) -> bool:
        """Whether the statement names the value that the older one tells."""
        return bool(self.found["old value"] or self.found["old number and another"])


def _belief(said: Statement, other: Statement, told: _Knowledge) -> float:
    """Return the belief that `said` takes the place of `other`; 0 where it can't, or where a line can't tell both."""
    if _later(other, said) or not _may_change(said, other, told.owners):
        return 0.0
    pair = _Revision(said, other, told.pool)
    if other.kind == "rule":
        return _belief_of_rule(pair)
    if said.kind == "rule":
        return 0.0
    belief = SURE if pair.belief < SURE and not pair.same_day and _counts_anew(pair) else pair.belief
    if belief < LIKELY or not _differs(pair):
        return 0.0
    both_happened = said.kind == other.kind == "event"
    if said.speaker or both_happened:
        return belief if belief >= CAREFUL else 0.0
    if belief < SURE and (pair.same_day or not _of_one_thing(pair)):
        return 0.0
    too_long = bool(said.earlier) or len(line(said)) + len(other.text) > LONGEST
    return 0.0 if too_long and not (belief >= SURE and covers(said, other)) else belief


def _belief_of_rule(pair: _Revision) -> float:
    """Return the belief that a statement changes a rule, which may be told as a fact: "We deploy on Fridays now".

    What is said for one occasion changes none, and at one sitting rules stand side by side: only what is certain takes
    the place of another there. A fact has to sound like a rule or a decision, and share words that nothing else holds.
    """
    if _is_for_once(pair.said):
        return 0.0
    if pair.said.kind != "rule":
        return max(pair.belief, LIKELY) if _changes_as_told(pair) else 0.0
    if pair.belief < LIKELY or not _differs(pair):
        return 0.0
    if pair.same_day:
        return pair.belief if pair.belief >= CERTAIN else 0.0
    valued = any(pair.found[name] for name in ("moved", "renamed", "old value", "slot"))
    changed = (
        pair.belief >= CAREFUL,
        len(pair.held) >= 2,
        pair.held == [1] and pair.changes and valued,
    )
    return pair.belief if any(changed) else 0.0


def _changes_as_told(pair: _Revision) -> bool:
    """Return whether what is told as a fact or a decision changes a rule of another sitting."""
    if pair.same_day or pair.said.kind in ("event", "person") or pair.held[:1] != [1]:
        return False
    shares = kind(pair.said.text, code=pair.said.code).shares
    ordered, found = shares["rule"] + shares["decision"], pair.found
    return any((
        pair.names_old and pair.changes and pair.belief >= CAREFUL,
        ordered >= ORDERED / 2 and pair.held[:2] == [1, 1],
        ordered >= ORDERED and found["moved"] and pair.belief >= LIKELY,
        ordered >= ORDERED and pair.changes and found["overlap"] >= MOST,
    ))  # fmt: skip


def _is_for_once(said: Statement) -> bool:
    """Return whether something is said for one occasion or for a time: "just for today", "until Friday"."""
    return cues.says("once", said.text) or cues.says("until", said.text)


def _counts_anew(pair: _Revision) -> bool:
    """Return whether a statement has another number of what the older one counts, and they are about one thing."""
    said, other = pair.said, pair.other
    if len(said.text) + len(other.text) > COUNTED:
        return False
    return recounted(said.text, other.text, said.code) and min(pair.held, default=RARE + 1) <= RARE


def _may_change(said: Statement, other: Statement, owners: Sequence[str]) -> bool:
    """Return whether who says one thing may change the other: what they said themselves, and an owner any rule."""
    if owners and other.kind == "rule":
        return is_owner(said.speaker, owners)
    return said.speaker == other.speaker


def _differs(pair: _Revision) -> bool:
    """Return whether a statement tells another value of what the older one is about; if not, both hold.

    They are about one thing where they share a word that few of this person's statements hold, or what has one value
    at a time; and it differs where a number or a word says so. What is told at one sitting is told side by side, and
    so are the things that somebody is at, "I'm trying to …", unless one plainly moves what the other says: 45 sources,
    then 52; the deadline, then the new one.
    """
    said, other, found = pair.said, pair.other, pair.found
    rule, attribute = said.kind == "rule", found["attribute"]
    if not (found["counted"] or (attribute and pair.changes and found["moved"])):
        side_by_side = pair.same_day and not pair.changes
        widely_held = bool(pair.counts) and pair.counts[0] > RARE and not attribute and not rule
        if side_by_side or widely_held or _is_at(said) or _is_at(other):
            return False
    if rule:
        return True
    if not _rests_on_more(pair) or _is_of_another(pair):
        return False
    valued = attribute or found["moved"] or found["slot"] or recounted(said.text, other.text, said.code)
    alone = pair.counts[:2] == [1, 1]  # two words or more that no other statement holds
    if said.speaker:
        return bool(valued) or (pair.changes and alone)
    return bool(valued) or pair.changes or alone or pair.belief >= CAREFUL


def _is_of_another(pair: _Revision) -> bool:
    """Return whether two statements tell the same of two things: "The crawler has 3 tickets", "The scheduler has 5"."""
    if pair.found["attribute"] or not pair.found["moved"]:
        return False
    ours, theirs = (
        {word for word in telling(one.text, one.code) if not word[:1].isdigit()} for one in (pair.said, pair.other)
    )
    both, least = len(ours & theirs), min(len(ours), len(theirs))
    return 1 <= len(ours - theirs) <= 2 and 1 <= len(theirs - ours) <= 2 and both >= least / 2


def _rests_on_more(pair: _Revision) -> bool:
    """Return whether two statements share more than a month or a weekday; at one sitting also what plainly changed."""
    named, held, found = bool(pair.found["attribute"]) or pair.names_old, pair.held, pair.found
    if not pair.same_day:
        return named or bool(held)
    of_one_thing = named or len(held) >= 2 or (held == [1] and found["moved"] > 0)
    return (pair.changes and of_one_thing) or (found["counted"] > 0 and (named or bool(held)))


def _is_at(said: Statement) -> bool:
    """Return whether a statement tells what its speaker is at: "I'm trying to …", "I'm not sure if …"."""
    text = plain(said.text)
    return tongue(said.code).without_aims(text) != text


def _of_one_thing(pair: _Revision) -> bool:
    """Return whether two statements share two telling words, or what they are about, or one names the other's value."""
    said, other = pair.said, pair.other
    about = fact(said.text, said.code).attribute
    if len(pair.telling - common()) >= 2 or (bool(about) and about == fact(other.text, other.code).attribute):
        return True
    return pair.changes and pair.names_old and pair.held[:1] == [1]


def _instead(said: Statement, other: Statement) -> Statement:
    """Return `said` as it stands in the place of `other`, which it tells beside it where it is not sure or says more."""
    if said.kind == "rule" or said.earlier:
        return said
    sure = replaces(said, other) >= CERTAIN and covers(said, other)
    told = [*([] if sure else [earlier(other)]), *filter(None, [other.earlier])]
    told = told if sum(map(len, told)) + len(said.text) <= LONGEST else told[:1]
    return replace(said, earlier="; ".join(told))


def _later(one: Statement, other: Statement) -> bool:
    return one.day is not None and other.day is not None and one.day > other.day


def _take_back(told: _Knowledge, said: Statement, near: Sequence[int], cursor: int) -> None:
    """Take out the line that a retraction names."""
    wanted = telling(said.text, said.code)
    for number in near:
        other = told.pool.held[number]
        held = telling(other.text, other.code)
        shared = wanted & held
        if other.kind == "rule" and told.owners and not is_owner(said.speaker, told.owners):
            continue
        if len(shared) >= 2 and len(shared) >= TAKEN_BACK * min(len(wanted), len(held)):
            old, _ = told.take_out(number)
            if old:
                told.gone.append((old, (cursor,)))
            return


def _file(said: Statement) -> MemoryFile:
    """Return the file that a statement belongs in; other people and what somebody is at stand in MEMORY.md."""
    file = FILES.get(said.kind, "memory/MEMORY.md")
    if file == "USER.md" and (said.speaker or not cues.says("mine", said.text) or _is_at(said)):
        return "memory/MEMORY.md"
    return file


# Stage four: which statements there is room for, and where each stands in its file, by what it will be worth.

PROFILE_LINES, PROFILE_BYTES = 70, 5_000  # of USER.md, so that it stands whole before MEMORY.md in any prompt
MEMORY_LINES, MEMORY_BYTES = 200, 25_000  # of MEMORY.md; what is over moves to the archive
LINE = 40  # characters that a line costs beyond its own: the file is bound in lines as well as in bytes
WEIGHT = 0.5  # how much the kind of a statement counts beside its words
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


def fitting(files: Mapping[MemoryFile, str], added: Sequence[New]) -> list[New]:
    """Return the new lines that are worth their room, those that USER.md has none for as lines of MEMORY.md."""
    profile = files.get("USER.md", "")
    lines = PROFILE_LINES - profile.count("\n")
    room = PROFILE_BYTES - len(profile.encode("utf-8", "replace"))
    fitted = []
    for new in added:
        if new.file == "USER.md" and not new.replaces:
            size = len(line(new.statement).encode("utf-8", "replace")) + 3
            lines, room = lines - 1, room - size
            if lines < 0 or room < 0:
                new = replace(new, file="memory/MEMORY.md")  # noqa: PLW2901 - the same line, elsewhere
        fitted.append(new)
    return _telling(files.get("memory/MEMORY.md", ""), fitted)


def _telling(text: str, added: Sequence[New]) -> list[New]:
    """Return `added` without the lines that a full MEMORY.md would be worth no more with.

    All that it holds and all that is new is weighed together; what would be the first to go gets no place.
    """
    number = {at: line(new.statement) for at, new in enumerate(added) if _may_wait(new)}
    old = [row for row in text.split("\n") if row.startswith("- ")]
    lines = MEMORY_LINES - text.count("\n") + len(old)
    room = MEMORY_BYTES - _bytes(text) + sum(map(_bytes, old))
    texts = [*number.values(), *old]
    if len(texts) <= lines and sum(map(_bytes, texts)) <= room:
        return list(added)
    rates = [added[at].statement.weight ** WEIGHT for at in number] + [
        read.of_line(parsed(row[2:])).weight ** WEIGHT for row in old
    ]
    kept = set()
    for place in ranked(texts, rates=rates, line=LINE):
        lines, room = lines - 1, room - _bytes(texts[place])
        if lines < 0 or room < 0:
            break
        kept.add(place)
    left = {at for place, at in enumerate(number) if place not in kept}
    return [new for at, new in enumerate(added) if at not in left]


def _may_wait(new: New) -> bool:
    return new.file == "memory/MEMORY.md" and not new.replaces


def _bytes(row: str) -> int:
    return len(row.encode("utf-8", "replace")) + 1


def section(file: MemoryFile, said: Statement) -> str:
    """Return the name of the section of its file that a statement belongs in."""
    if file == "SOUL.md":
        return "Rules"
    if file == "USER.md":
        return "Preferences" if said.kind == "preference" else "Person"
    return "People" if said.kind == "preference" else _SECTIONS.get(said.kind, "Facts")
