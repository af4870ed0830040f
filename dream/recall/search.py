"""Search: what memory, history and messages say of a query, best first.

Any of the words counts, not all. A message is judged with the turns around it and the session it stands in, for an
answer seldom repeats the words of its question; BM25 is Robertson's, by one inverse document frequency for all kinds,
so that their scores can be compared. The weights were chosen on LoCoMo's five development conversations, and looked
at on REALTALK's ten.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING

from dream.errors import ModelError, SettingsError, SpendingLimit
from dream.memory import place_of
from dream.recall import KINDS, MACHINES, Hit, HitKind, is_told, memory_lines, of_entry, of_message, spoken
from dream.recall.later import NAMES, day_of, tell_the_same
from dream.recall.search_index import (
    BY_SPEAKER,
    ENTRY,
    IN_PLACE,
    IN_SESSION,
    K1,
    MESSAGE,
    OF_ONESELF,
    OF_SOURCE,
    REREADS,
    B,
    Found,
    SearchIndex,
    caught_up,
)
from dream.recall.settled import HeldUntil, settled
from dream.recall.terms import (
    ASKS,
    CHARS,
    ENDS_ASKING,
    TELLS_WHEN,
    akin,
    asked_fact,
    holds_any,
    leaves,
    marks,
    ranges,
    terms,
)
from dream.text.safe import mend_surrogates
from dream.text.words import (
    content_words,
    is_cjk,
    is_hard,
    listed,
    table,
    without_bullet,
    without_said_on,
)
from dream.workspace.places import Scope

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.history.history import History
    from dream.history.messages import KeptMessage
    from dream.models import Entry
    from dream.recall.then import Then
    from dream.settings import Settings
    from dream.text.days import Range

# Which documents are looked at.
QUERY = 64  # terms of a query that are looked for, its rarest
MORE = 5  # more entries than hits are wanted: the best by all of its lines may not be the best by one
CANDIDATES = 250  # messages that are scored closely
NEAR = 80  # number of the best of these whose neighbours are scored too

# What a term of the query weighs.
COMMON = 0.25  # share of all documents: a term that more of them hold, and MANY, isn't worth its time where others are
MANY = 20_000
SINGLE = 12  # different characters of a CJK query; in one of more the pairs alone count: all texts hold some of so many
AKIN = 0.2  # share of a term's weight for each related term
KANA = re.compile("[ぁ-ん]+")  # a term of these alone is mostly grammar, and counts GRAMMAR of its weight
GRAMMAR = 0.3
ROLES = {"user", "assistant", "system", "tool"}  # no names: nobody is named by them

# A message's score consists of its own words, and
BY = {"assistant": 0.7, "tool": 0.5}  # weights of the words of an agent, and of its tools
AROUND = {-2: 0.3, -1: 0.3, 1: 0.33, 2: 0.2}  # weights of a neighbour's score, by its distance
ANSWERED = 0.4  # more of it where the message before asks something
SESSION = 1.0  # weight of the session: each term counts by how many of its messages, and how few sessions, have it
MEANT, MEANT_NEAR = 8.0, 0.5  # weights of the similarity of vectors, and of the session's best message
NAMED = 6.5  # for a speaker whom the query names
ASKING_TOO = -1.5  # for a message that ends with a question
TELLING = 3.0  # for one that gives a time, where the query asks for one
DATED = ((45, 13.0), (400, 5.0))  # for one of a time that the query names: of so many days at most, so much
SLACK = timedelta(days=3)  # after such a time, in which one still speaks of it
FOR_FACT = 12.0  # for a speaker who states the asked fact about himself
BESIDE = 0.4  # share of the best score that a message without any of the words needs
MEMORY = 2.0  # times as much, for a line of memory: somebody thought it worth keeping

# How the hits are put in order.
RARE, FIRST = 5, 5  # an exact word that no more than RARE documents hold is among the FIRST hits
NEWEST = 10
INSIDE = 10  # hits of a range of days that the query names, before all others
TOLD_WITHIN = timedelta(days=14)  # after such a range, in which people still tell of its days
TOLD = 400  # messages that are read for the days that they name
ORDERED = 0.6  # of the best score that a hit needs to be put in the order of days, where the query asks for one
END_DAY = date.max.toordinal()
STRONG = 0.8  # of the older one's score, and
SAME = 0.8  # of what that holds of the query's terms; or
ANSWERS, CHANGES = 0.7, 0.5  # of the terms, where the user said both to an agent; and where the newer is a change
ANSWERING = 0.3  # of the older one's score
CHANGED = 0.55  # of both, where it says that something is no longer so
MARGIN = 4  # times as many hits as are wanted, among which unlike ones are looked for

PATIENCE = 10.0  # seconds for the vector of a query


EVERYTHING = Scope(every=True)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for: the terms of a query, and the filters of hits. `since` and `until` are inclusive."""

    query: str
    kinds: Collection[HitKind] = KINDS
    since: date | None = None
    until: date | None = None
    session: str | None = None
    source: str | None = None
    speaker: str | None = None
    as_of: Then | None = None  # search memory and messages as they were at that time
    today: date | None = None  # the day from which "last week" in the query counts; None: today
    half_life_days: float = 0.0  # age at which an entry or a message counts half; 0: age does not count
    mmr: float = 1.0  # below 1, hits unlike those before them come sooner: lambda of maximal marginal relevance
    scope: Scope = EVERYTHING  # the places whose messages this search may return

    def has_session(self, key: str | None) -> bool:
        """Return whether the filter includes a session, by its key or by the agent that its key begins with."""
        if self.session is not None and key != self.session:
            return False
        return self.source is None or (key is not None and key.partition(":")[0] == self.source)


@dataclass(frozen=True, slots=True)
class _MemoryLine:
    """A line of a memory file."""

    cite: str
    text: str
    terms: Counter[str]
    row: str  # as it stands in its file


class Search:
    """One search: the index, what the query's terms weigh, and the lines of a workspace's memory as they stand.

    Without a workspace it is one of messages alone, and without its settings one by words alone. Terms that `many`
    documents hold, and a good share of all, count only where no others are. `ended` tells what no longer holds.
    """

    def __init__(
        self,
        index: SearchIndex,
        wanted: Wanted,
        workspace: Workspace | None = None,
        settings: Settings | None = None,
        *,
        many: int = MANY,
        ended: HeldUntil | None = None,
        history: History | None = None,
    ) -> None:
        self._log = workspace.history if workspace and history is None else history
        self._meaning = meaning(workspace, index, wanted.query, settings) if workspace and settings else None
        self._half_life = wanted.half_life_days
        self._mmr = wanted.mmr
        self._index = index
        self._wanted = wanted
        self._many = many
        self._ended = ended
        named = dict.fromkeys(terms(mend_surrogates(wanted.query[:CHARS])))
        if len(single := {term for term in named if len(term) == 1 and is_cjk(term)}) > SINGLE:
            named = dict.fromkeys(term for term in named if term not in single)
        self._asked = [term for term in named if term not in listed("asking")] or list(named)
        self._lines = (
            [
                _MemoryLine(place, without_bullet(line).strip(), Counter(terms(line)), line)
                for place, line in memory_lines(workspace, wanted.as_of, wanted.scope)
            ]
            if workspace and "memory" in wanted.kinds
            else []
        )
        self.unheld: frozenset[str] = frozenset()  # terms of the query that no document has
        self.rarest = 0.0  # what one of them would weigh
        self.weights, self.rare = self._weighed()
        self._fact = self._asked_fact()
        self._telling: set[str] = set()  # citations of messages that state it about their speaker
        self._all = self._with_akin()
        self._when = holds_any("asks_when", wanted.query[:CHARS])
        self._between: tuple[int | None, int | None]
        self._asked_days = None

    def _changed(self, line: str) -> date | None:
        """Return the day of a line's last change: that in brackets at its end, or the one that git knows."""
        return day_of(line) or (self._ended.changed(line) if self._ended else None)

    @cached_property
    def _named(self) -> tuple[list[list[Range]], int]:
        """The ranges of days that the query names, and whether it asks for the first or the last time."""
        then = self._wanted.as_of.at.date() if self._wanted.as_of else datetime.now(UTC).date()
        return ranges(self._wanted.query[:CHARS], self._wanted.today or then)

    @cached_property
    def _periods(self) -> list[Range]:
        return [one for spans in self._named[0] for one in spans]

    def hits(self, limit: int) -> list[Hit]:
        """Return the best hits, each thing once, those with an exact rare word among the first.

        What was said in a range of days that the query names comes before all else. What took the place of a hit that
        no longer holds stands before it.
        """
        found = self._by_days(limit)
        if self._ended is None or not self._ended.ended:
            return found
        return list(self._present_first([self._until(hit) for hit in found]))[:limit]

    def _until(self, hit: Hit) -> Hit:
        then = self._wanted.as_of
        until = self._ended.until(hit.cite, then.at.date() if then else None) if self._ended else None
        return replace(hit, until=until) if until else hit

    def _present_first(self, found: Sequence[Hit]) -> Iterator[Hit]:
        shown = set[str]()
        there = {hit.cite: hit for hit in found}
        for hit in found:
            while hit.cite not in shown:
                new = self._ended.successor(hit.cite) if hit.until and self._ended else ""
                if new and new not in shown and (better := there.get(new) or self._said(new, hit.score)):
                    shown.add(new)
                    yield better
                shown.add(hit.cite)
                yield hit

    def _said(self, cite: str, score: float) -> Hit | None:
        """Return the message of a citation."""
        session, _, position = cite.rpartition("#")
        found = self._index.between(session, int(position), int(position)) if session and position.isdigit() else []
        said = next((one for place in found if (one := self._index.said(place)) is not None), None)
        hit = of_message(said, score) if said and "message" in self._wanted.kinds and self._is_wanted(said) else None
        return hit if hit and self._has(hit) and self._wanted.scope.holds(hit.place) else None

    def _by_days(self, limit: int) -> list[Hit]:
        spans, order = self._named
        if order:
            return self._in_order(self._hits(max(limit, NEWEST)), order)[:limit]
        if not self._wanted.query.strip():
            return self._listed(limit)
        about = self._about() if spans else set()
        for self._asked_days in (one for named in spans for one in named):
            if found := self._of_days(about, min(limit, INSIDE)) if about else self._listed(limit):
                break
        else:
            found = []
        self._asked_days = None
        known = {hit.cite for hit in found}
        rest = self._hits(limit) if about or not found else []
        return [*found, *(hit for hit in rest if hit.cite not in known)][:limit]

    def _of_days(self, about: set[str], limit: int) -> list[Hit]:
        """Return hits said in the range, then told of its days soon after; of a short range also in other words."""
        told = self._told(about)
        found = self._hits(limit)
        first, last = self._asked_days or (date.min, date.max)
        if any(hit.score for hit in told):
            self._between = self._limits((first, last + TOLD_WITHIN))
            cites = {hit.cite for hit in told}
            found += [hit for hit in self._hits(limit) if hit.cite in cites]
        found = [hit for hit in found if about & set(terms(hit.text))]
        others = told if last - first <= TOLD_WITHIN else ()
        return list({hit.cite: hit for hit in (*found, *others)}.values())

    def _told(self, about: set[str]) -> list[Hit]:
        """Return what the user said that names a day of the range, in it or soon after; the best by words first."""
        days = self._asked_days
        if days is None or "message" not in self._wanted.kinds:
            return []
        first, last = days
        begins, ends = self._limits((first, last + TOLD_WITHIN))
        found: list[Hit] = []
        for said in map(self._index.said, self._index.on_days(begins or 0, ends or END_DAY, TOLD)):
            if said is None or said.role != "user" or said.at is None or not self._is_wanted(said):
                continue
            named = [spans[0] for spans in ranges(said.text[:CHARS], said.at.date(), tells=True)[0] if spans]
            if any(first <= one and other <= last for one, other in named):
                score = sum(self.weights.get(term, 0.0) for term in about.intersection(terms(said.text)))
                found.append(of_message(said, score))
        found = [hit for hit in found if self._has(hit) and self._wanted.scope.holds(hit.place)]
        return sorted(found, key=lambda hit: (-hit.score, hit.cite))

    def _about(self) -> set[str]:
        """Return what the query asks beside days."""
        from dream.text.tongues import function, guess  # a hook whose prompt names no day has no time for them

        small = function(guess(self._wanted.query) or "en") | listed("tells_when") | listed("names_day") | plain()
        return {term for term in self._asked if not term.startswith("@") and term not in small}

    def _in_order(self, found: Sequence[Hit], order: int) -> list[Hit]:
        """Put the best hits in the order of their days: the last first where `order` is 1, the first where it is -1."""
        least = ORDERED * max((hit.score for hit in found), default=0.0)
        best = [hit for hit in found if hit.when and hit.score >= least]
        best.sort(key=lambda hit: -order * _when(hit).timestamp())
        return [*best, *(hit for hit in found if hit not in best)]

    def _listed(self, limit: int) -> list[Hit]:
        """Return the messages of the days that the query asks for, the newest first."""
        if "message" not in self._wanted.kinds:
            return []
        first, last = self._bounds()
        said = (self._index.said(one) for one in self._index.on_days(first or 0, last or END_DAY, limit * 4))
        hits = [
            of_message(one) for one in said if one and self._is_wanted(one) and one.role == "user" and says(one.text)
        ]
        there = (hit for hit in hits if self._has(hit) and self._wanted.scope.holds(hit.place))
        return _once(sorted(there, key=_when, reverse=True), limit, ())

    def _has(self, hit: Hit) -> bool:
        then = self._wanted.as_of
        return then is None or then.has(hit.when)

    def _hits(self, limit: int) -> list[Hit]:
        found = [*self._memory(), *map(self._aged, self._history(limit)), *map(self._aged, self._messages(limit))]
        found.sort(key=lambda hit: -hit.score)
        found = self._newest_first(self._with_leaving(found))
        if self._mmr < 1:
            found = _unlike(found, self._mmr, limit)
        return _once(self._promoted(found), limit, self.rare)

    def _newest_first(self, found: Sequence[Hit]) -> list[Hit]:
        """Let what one says of the same in a later session come before what it takes the place of.

        What the user told an agent holds until they say otherwise; people among themselves tell many things of the
        same, so there the later has to say nearly the same of another value.
        """
        best = list(found[:NEWEST])
        held = {hit: self._all.keys() & set(terms(hit.text)) for hit in best}
        said = {hit: content_words(hit.text) for hit in best}

        def about(terms: Collection[str]) -> float:
            return sum(self._all[term] for term in terms)

        def replaces(new: Hit, old: Hit) -> bool:
            if _speaker(new) != _speaker(old) or (new.session == old.session and new.session is not None):
                return False
            if not (new.when and old.when and new.when > old.when) or marks(new.text) & ENDS_ASKING:
                return False
            if self._telling.issuperset((new.cite, old.cite)):
                return True
            if _speaker(new) == "user":
                changed = holds_any("tells_change", new.text)
                answers = about(held[new] & held[old]) >= (CHANGES if changed else ANSWERS) * about(held[old]) > 0
                answers = answers or (new.score >= CHANGES * old.score and tell_the_same(new.text, old.text, self._all))
                value = changed or any(map(is_hard, said[new] - said[old]))
                return answers and value and new.when.date() > old.when.date() and new.score >= ANSWERING * old.score
            changed = holds_any("tells_change", new.text)
            strong, same = (CHANGED, CHANGED) if changed else (STRONG, SAME)
            if new.score < strong * old.score or about(held[new]) < same * about(held[old]):
                return False
            sizes, shared = sorted((len(said[new]), len(said[old]))), len(said[new] & said[old])
            alike = 2 * shared >= sizes[1] or (3 * shared >= sizes[0] and changed)
            return alike and shared > 1

        for place in range(len(best)):
            old = best[place]
            if newer := [hit for hit in best[place + 1 :] if replaces(hit, old)]:
                new = max(newer, key=lambda hit: (hit.cite in self._telling, about(held[hit] & held[old]), _when(hit)))
                best.remove(new)
                best.insert(place, new)
        return [*best, *found[NEWEST:]]

    def _with_leaving(self, found: list[Hit]) -> list[Hit]:
        """Put a message that ends a speaker's earlier fact ("I left") before that fact, if it doesn't name the fact."""
        told = max((hit for hit in found if hit.cite in self._telling and hit.when), key=_when, default=None)
        if told is None:
            return found
        counts = self._index.counts({*terms(told.text)} - self._all.keys())
        names = {term: 1.0 for term, count in counts.items() if count <= NAMES}
        places = self._index.matches(
            names, MESSAGE, NAMES, (_when(told).toordinal(), self._bounds()[1]), self._within(), self._among
        )
        near = (one for place in places if (one := self._index.said(place)) is not None)
        said = [of_message(one, told.score) for one in near if self._wanted.scope.holds(one.place)]
        left = [
            hit
            for hit in said
            if hit.speaker == told.speaker
            and _when(hit) > _when(told)
            and any(leaves(hit.text, name) for name in names)
        ]
        if not left:
            return found
        new = max(left, key=_when)
        rest = [hit for hit in found if hit.cite != new.cite]
        rest.insert(rest.index(told), new)
        return rest

    def _aged(self, hit: Hit) -> Hit:
        """Return a hit with its score halved for each half-life that has gone by; the three files don't age."""
        if not self._half_life or hit.when is None:
            return hit
        age = (datetime.now(UTC) - hit.when).total_seconds() / 86_400
        return replace(hit, score=hit.score * 0.5 ** (max(0.0, age) / self._half_life))

    def _weighed(self) -> tuple[dict[str, float], list[str]]:
        """Weigh the query's terms by how few documents hold them, and name those that next to none does, rarest first.

        Those that too many hold count only where no others are.
        """
        counts = Counter(self._index.counts(self._asked))
        counts.update(term for line in self._lines for term in line.terms.keys() & set(self._asked))
        size = self._index.size() + len(self._lines)
        most = max(self._many, COMMON * size)
        weights = {
            term: _idf(count, size) * (GRAMMAR if KANA.fullmatch(term) else 1.0) for term, count in counts.items()
        }
        # If a longer path contains this one, it contains all its parts: the path is not unknown.
        in_parts = {term for term in self._asked if not is_cjk(term) and counts.keys() >= {*terms(term)[1:]} != set()}
        self.unheld = frozenset(self._asked) - counts.keys() - in_parts
        self.rarest = math.log(2 * size + 2)
        telling = {term: weight for term, weight in weights.items() if counts[term] <= most}
        best = sorted(telling or weights, key=lambda term: -weights[term])[:QUERY]
        return {term: weights[term] for term in best}, [term for term in best if counts[term] <= RARE]

    def _with_akin(self) -> dict[str, float]:
        """Return the weights, with those of terms related to the query's added."""
        asked = self.weights.keys() | self.unheld
        counts = self._index.counts({other for term in asked for other in akin(term)} - asked)
        size = self._index.size()
        found = {other: AKIN * _idf(count, size) for other, count in counts.items()} | self.weights
        return found | ({OF_ONESELF + self._fact: FOR_FACT} if self._fact else {})

    def _asked_fact(self) -> str:
        """Return what the query asks of the user, or of a speaker that it names; "" where it asks anything else."""
        fact, who = asked_fact(self._wanted.query) or ("", frozenset())
        return fact if len(self._index.counts(BY_SPEAKER + one for one in who)) == len(who) else ""

    def _memory(self) -> Iterator[Hit]:
        if self._wanted.session or self._wanted.speaker or self._wanted.source:
            return
        mean = sum(line.terms.total() for line in self._lines) / max(1, len(self._lines))
        for line in self._lines:
            score = self._score(line.terms, mean)
            day = self._changed(line.row) if score else None
            if score and (self._has_day(day) or (day is None and self._asked_days is None and self._wanted.as_of)):
                when = datetime.combine(day, time(), UTC) if day else None
                yield Hit("memory", line.text, when, None, None, line.cite, MEMORY * score)

    def _score(self, held: Mapping[str, int], mean: float) -> float:
        length = sum(held.values()) / max(1.0, mean)
        return sum(
            weight * held[term] * (K1 + 1) / (held[term] + K1 * (1 - B + B * length))
            for term, weight in self._all.items()
            if held.get(term)
        )

    def _history(self, limit: int) -> Iterator[Hit]:
        """Yield the best line of each entry that has some of the words."""
        if self._log is None or "history" not in self._wanted.kinds or self._wanted.speaker:
            return
        found = self._index.matches(self.weights, ENTRY, limit + MORE, self._bounds(), self._within(), self._among)
        cursors = [one.position for one in found]
        replaced = self._index.counts(f"{REREADS}{cursor}" for cursor in cursors)
        for entry in self._log.numbered(cursors):
            there = self._wanted.as_of is None or self._wanted.as_of.has(entry.when)
            if there and self._wanted.scope.holds(entry.place) and f"{REREADS}{entry.cursor}" not in replaced:
                yield from self._entry(entry)

    def _entry(self, entry: Entry) -> Iterator[Hit]:
        """Yield the best line of an entry, and each line with a rare word that no earlier one has."""
        left: set[str] | None = None
        for row, held, score in self._lines_of(entry.content):
            if left is None or left & held.keys():
                yield replace(of_entry(entry), text=row, score=score, until=self._row_until(entry, row))
                left = (set(self.rare) if left is None else left) - held.keys()

    def _row_until(self, entry: Entry, row: str) -> date | None:
        """Return the day when a line of an entry ended, because all messages it is based on have ended."""
        if self._ended is None or not self._ended.ended:
            return None
        then = self._wanted.as_of.at.date() if self._wanted.as_of else None
        cites = next((line.cites for text, line in entry.rows() if without_bullet(text) == row), ())
        days = [self._ended.until(f"{entry.session}#{at}", then) for at in cites]
        return max((day for day in days if day), default=None) if all(days) else None

    def best_line(self, content: str) -> tuple[str, float]:
        """Return the line of an entry that matches the query best, and its score."""
        row, _, score = next(self._lines_of(content))
        return row, score

    def _lines_of(self, content: str) -> Iterator[tuple[str, Counter[str], float]]:
        """Yield the lines of an entry, the best first, each with its terms and its score."""
        rows = [(row, Counter(terms(row))) for row in content.splitlines() if row.strip()]
        mean = sum(held.total() for _, held in rows) / max(1, len(rows))
        scored = [(without_bullet(row), held, self._score(held, mean)) for row, held in rows]
        yield from sorted(scored, key=lambda one: -one[2])

    def _messages(self, limit: int) -> Iterator[Hit]:
        """Yield the best messages, more than `limit`, since some may repeat earlier hits."""
        if "message" not in self._wanted.kinds:
            return
        found = self._index.matches(self._all, MESSAGE, CANDIDATES, self._bounds(), self._within(), self._among)
        own = {one.number for one in found}
        judged = sorted(self._judged(found), key=lambda one: -one[0])
        least = BESIDE * (judged[0][0] if judged else 0.0)
        meant = set(self._meaning[1]) if self._meaning else set[int]()
        needed = {next((place.number for _, place in judged if term in place.held), -1) for term in self.rare}
        left = 3 * limit
        for score, place in judged:
            if (left <= 0 and place.number not in needed) or (place.number not in own | meant and score < least):
                continue
            said = self._index.said(place)
            if said is None or not self._wanted.scope.holds(said.place):
                continue
            if place.number not in own and not (self._is_wanted(said) and says(said.text)):
                continue
            hit = of_message(said, score)
            if not self._has(hit):
                continue
            if OF_ONESELF + self._fact in place.held:
                self._telling.add(hit.cite)
            yield hit
            left -= 1

    def _judged(self, found: Sequence[Found]) -> list[tuple[float, Found]]:
        """Score messages and their neighbours by their words, their neighbours' words, their session and speaker."""
        places = {one.number: one for one in found}
        scores = {one.number: one.score for one in found}
        around = [(one.session, one.position + min(AROUND), one.position + max(AROUND)) for one in found[:NEAR]]
        for one, others in zip(found, self._index.near(around), strict=False):
            for other in others:
                if other.number != one.number and self._inside(other):
                    share = AROUND[one.position - other.position]
                    if one.marks & ASKS and one.position == other.position - 1:
                        share += ANSWERED
                    places.setdefault(other.number, other)
                    scores[other.number] = scores.get(other.number, 0.0) + share * one.score
        self._add_meaning(places, scores)
        sessions = self._sessions(found)
        named = set(re.findall(r"\w+", self._wanted.query[:CHARS].casefold())) - ROLES
        return [
            (
                BY.get(place.speaker or "", 1.0) * scores[number]
                + SESSION * sessions.get(place.session, 0.0)
                + self._beside(place, named),
                place,
            )
            for number, place in places.items()
        ]

    def _add_meaning(self, places: dict[int, Found], scores: dict[int, float]) -> None:
        """Add messages of similar meaning, and add to each message's score the similarity of it and its session."""
        if self._meaning is None:
            return
        from dream.recall.vectors import likenesses

        vector, nearest = self._meaning
        for place in self._index.numbered(set(nearest) - places.keys()):
            if self._inside(place):
                places[place.number], scores[place.number] = place, 0.0
        alike = likenesses(self._index, vector, places)
        best: dict[int | None, float] = {}
        for number, share in alike.items():
            key = places[number].session
            best[key] = max(best.get(key, 0.0), share)
        for number, place in places.items():
            scores[number] += MEANT * (alike.get(number, 0.0) + MEANT_NEAR * best.get(place.session, 0.0))

    def _sessions(self, found: Sequence[Found]) -> dict[int | None, float]:
        """Judge each session by its messages: BM25, where those that hold a term are its frequency.

        Of the sessions that are found a term counts the less, the more of them hold it.
        """
        held: dict[int | None, dict[str, int]] = {}
        for one in found:
            counts = held.setdefault(one.session, {})
            for term in one.held:
                counts[term] = counts.get(term, 0) + 1
        holding = Counter(term for counts in held.values() for term in counts)
        weights = {
            term: (1.0 if term in self.weights else AKIN) * _idf(count, len(held)) for term, count in holding.items()
        }
        return {
            key: sum(weights[term] * count * 2.2 / (count + 1.2) for term, count in counts.items())
            for key, counts in held.items()
        }

    def _beside(self, place: Found, named: Collection[str]) -> float:
        """Return a message's score for what is not its words: its speaker, its day, and whether it states or asks."""
        score = NAMED if place.speaker and place.speaker.split()[0] in named else 0.0
        score += ASKING_TOO if place.marks & ENDS_ASKING else 0.0
        score += TELLING if self._when and place.marks & TELLS_WHEN else 0.0
        day = date.fromordinal(place.day) if place.day else None
        near = [last - first for first, last in self._periods if day and first <= day <= last + SLACK]
        return score + next((more for size, more in DATED if near and min(near).days <= size), 0.0)

    @property
    def _asked_days(self) -> Range | None:
        """The range of days that the search is limited to for now; the query names it."""
        return self._days

    @_asked_days.setter
    def _asked_days(self, days: Range | None) -> None:
        self._days, self._between = days, self._limits(days)

    def _bounds(self) -> tuple[int | None, int | None]:
        return self._between

    def _limits(self, days: Range | None) -> tuple[int | None, int | None]:
        wanted, (first, last) = self._wanted, days or (None, None)
        since = max((day.toordinal() for day in (wanted.since, first) if day), default=None)
        ends = (wanted.until, last, wanted.as_of.at.date() if wanted.as_of else None)
        return since, min((day.toordinal() for day in ends if day), default=None)

    def _inside(self, found: Found) -> bool:
        return self._has_day(date.fromordinal(found.day) if found.day else None)

    def _has_day(self, day: date | None) -> bool:
        since, until = self._bounds()
        return (
            (since is None and until is None) if day is None else (since or 0) <= day.toordinal() <= (until or END_DAY)
        )

    def _within(self) -> list[str]:
        """Return the index terms that a message or an entry must have."""
        asked = self._wanted
        speaker = None if asked.speaker is None else asked.speaker.casefold()
        filed = ((IN_SESSION, asked.session), (OF_SOURCE, asked.source), (BY_SPEAKER, speaker))
        return [kind + mend_surrogates(name) for kind, name in filed if name is not None]

    @cached_property
    def _among(self) -> list[str]:
        """Return the index terms of which a document must have one: the allowed places."""
        ids = self._wanted.scope.ids
        filed = [] if ids is None else [IN_PLACE + one for one in sorted(ids)]
        # Where all of it may be given, as in a memory without places, nothing is looked up for each document.
        return [] if sum(self._index.counts(filed).values()) == self._index.size() else filed

    def _is_wanted(self, said: KeptMessage) -> bool:
        """Return whether a hit's neighbour may be a hit itself; a tool's output may not."""
        asked = self._wanted.speaker
        by = asked is None or asked.casefold() in (said.role, (said.name or "").casefold())
        by = by and self._wanted.scope.holds(said.place)
        return by and self._wanted.has_session(said.session) and said.role != "tool"

    def _promoted(self, found: list[Hit]) -> list[Hit]:
        """Move a hit for each rare exact word among the first hits, as far as there is room."""
        chosen: list[Hit] = []
        held = [(hit, set(self.rare).intersection(terms(hit.text))) for hit in found] if self.rare else []
        for term in self.rare[:QUERY]:
            best = next((hit for hit, own in held if term in own), None)
            if best is not None and best not in chosen and len(chosen) < FIRST:
                chosen.append(best)
        others = [hit for hit in found if hit not in chosen]
        first = chosen + others[: FIRST - len(chosen)]
        first.sort(key=found.index)
        return [*first, *others[FIRST - len(chosen) :]]


@cache
def plain() -> frozenset[str]:
    """Return the words that are common in prompts of every kind and don't show their subject."""
    return frozenset(terms(table()["plain"]))


def says(text: str, words: int = 1) -> bool:
    """Return whether a text has at least `words` words that are not plain; "Got it." and "Thanks!" have none."""
    return len(set(terms(spoken(text))) - plain()) >= words


def search(workspace: Workspace, wanted: Wanted, limit: int = 10) -> list[Hit]:
    """Search a workspace, best hits first; indexes new messages before. No hit is an empty list.

    Statements that the user took back are left out, also in a search of the past.
    """
    rejected, ended = taken_back(workspace), settled(workspace)
    with caught_up(workspace.history) as index:
        found = Search(index, wanted, workspace, settings_of(workspace), ended=ended).hits(limit + len(rejected))
    if (workspace.memory / MACHINES).is_dir():
        from dream.recall import others

        found = others.found(workspace, wanted, limit + len(rejected), found)
    kept = [hit for hit in found if not rejected or not is_taken_back(hit.text, rejected)][:limit]
    return named(workspace, kept)


def named(workspace: Workspace, found: Sequence[Hit]) -> list[Hit]:
    """Return hits each with the name of its place."""
    places = workspace.places()
    names = [place_of(hit.cite.rpartition(":")[0]) if hit.kind == "memory" else hit.place for hit in found]
    known = {name: place.name for name in names if (place := places.named(name)) is not None}
    return [replace(hit, place=known.get(name, name)) for hit, name in zip(found, names, strict=True)]


def taken_back(workspace: Workspace) -> list[frozenset[str]]:
    """Return the words of each fact that a person took back."""
    return [content_words(without_said_on(one.text)) for one in workspace.rejected() if not one.removal]


def is_taken_back(text: str, rejected: Iterable[frozenset[str]]) -> bool:
    """Return whether a text only repeats a statement that a person took back."""
    said = content_words(without_said_on(text))
    return bool(said) and any(is_told(said, one) for one in rejected)


def settings_of(workspace: Workspace) -> Settings | None:
    """Return the settings of a search; None if they can't be read: then it uses the words alone."""
    with suppress(SettingsError):
        return workspace.settings(using=())
    return None


def meaning(workspace: Workspace, index: SearchIndex, query: str, settings: Settings) -> tuple[bytes, list[int]] | None:
    """Return the vector of a query and the messages that are near it; None without a model, or where it is down.

    Then it is reported in one sentence, and only the words are searched for.
    """
    if not settings.embedding_model or not query.strip():
        return None
    from dream.llm.spending import open_meter
    from dream.recall.vectors import meant, open_embedder
    from dream.workspace.bills import Bills

    quick = replace(settings, timeout=min(settings.timeout, PATIENCE))
    try:
        embedder = open_embedder(quick, open_meter(Bills(workspace.private), settings, datetime.now(UTC)), retries=0)
        if embedder is None:
            return None
        return meant(index, embedder, mend_surrogates(query[:CHARS])) if index.model() == embedder.name else None
    except SettingsError:
        return None
    except (ModelError, SpendingLimit) as error:
        workspace.history.tell("search", f"by words alone: {error}")
        return None


def _idf(count: float, size: float) -> float:
    """Return the weight of a term that `count` of `size` documents have."""
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _unlike(found: Sequence[Hit], share: float, limit: int) -> list[Hit]:
    """Return hits so that each is good and unlike those before it: maximal marginal relevance.

    `share` is what its score counts beside the likeness, in words, to the likest hit before it (Carbonell & Goldstein
    1998). Hits behind the first `MARGIN` × `limit` stay where they are.
    """
    rest, behind = list(found[: MARGIN * limit]), found[MARGIN * limit :]
    best = max((hit.score for hit in rest), default=0.0) or 1.0
    held = {hit: content_words(hit.text) for hit in rest}
    alike = dict.fromkeys(held, 0.0)
    chosen: list[Hit] = []
    while rest:
        one = max(rest, key=lambda hit: share * hit.score / best - (1 - share) * alike[hit])
        rest.remove(one)
        chosen.append(one)
        for hit in rest:
            both, either = held[hit] & held[one], held[hit] | held[one]
            alike[hit] = max(alike[hit], len(both) / max(1, len(either)))
    return [*chosen, *behind]


def _once(found: Iterable[Hit], limit: int, rare: Collection[str]) -> list[Hit]:
    """Return the first `limit` hits, without those that only repeat an earlier one.

    A hit with a rare word of the query is never dropped.
    """
    shown: list[Hit] = []
    told: list[frozenset[str]] = []
    known: set[str] = set()
    for hit in found:
        words, own = content_words(hit.text), set(rare) & set(terms(hit.text)) if rare else set()
        if words and own <= known and any(is_told(words, other) for other in told):
            continue
        told.append(words)
        known |= own
        shown.append(replace(hit, score=round(hit.score, 3)))
        if len(shown) == limit:
            break
    return shown


def _speaker(hit: Hit) -> str | None:
    """Return the speaker of a hit: lines of memory and of history count as the user's."""
    return hit.speaker if hit.kind == "message" else hit.speaker or "user"


def _when(hit: Hit) -> datetime:
    return hit.when or datetime.min.replace(tzinfo=UTC)
