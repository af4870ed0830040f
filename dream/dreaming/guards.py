"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Literal

from dream.dreaming import markup
from dream.dreaming.draft import Draft, Edit, added, gone
from dream.dreaming.findings import Told
from dream.dreaming.markup import FlawName, instructs, normative
from dream.language.likeness import near_fact, same_fact, takes_place
from dream.language.text import quoted
from dream.language.tongue import earlier_part, guess
from dream.language.words import content_words, coverage, listed, without_bullet, without_mark, without_said_on, words
from dream.models import Entry, Finding, MemoryFile, Rejected
from dream.provenance import phrases, rule, user
from dream.provenance.rule import Judgement, Known, RuleSource, source
from dream.provenance.user import QUOTE, names_source, quotation, without_report
from dream.provenance.vouching import have_shared_rules, is_owner, unnamed, without_speaker
from dream.settings import EMBEDDED, Settings

GuardName = (
    FlawName
    | Literal[
        "review",
        "person-line",
        "person-edit",
        "loss",
        "rejected-fact",
        "kept-line",
        "rule-source",
        "instruction",
        "third-party",
        "unfounded",
        "older",
    ]
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of one edit. `held` waits for a person; `refused` is never written."""

    decision: Literal["held", "refused"]
    guard: GuardName
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """One edit before the guards: it turns the draft `now` into `then` to settle `findings`.

    `quoted`: the lines that code has written in the user's own words, as `in_own_words` gives them.
    """

    edit: Edit
    now: Draft
    then: Draft
    findings: tuple[Finding, ...]
    quoted: frozenset[str] = frozenset()

    @property
    def cursors(self) -> frozenset[int]:
        """The entries that the edit rests on."""
        return frozenset(cursor for finding in self.findings for cursor in finding.entries)

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that the edit puts into its file."""
        return added(self.now.texts[self.edit.file], self.then.texts[self.edit.file])

    @property
    def gone(self) -> tuple[str, ...]:
        """The lines that the edit takes out of its file."""
        return gone(self.now.texts[self.edit.file], self.then.texts[self.edit.file])


@dataclass(frozen=True, slots=True)
class Protected:
    """What the guards must know of the workspace.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts taken back, and lines to be kept. `said`: by cursor, the lines of its entry that are the user's
    own; `wishes`: the same as sources of rules, each as they said it; `known`: what a rule may name
    without them. `unvouched`: the lines that somebody else than the user said.
    `others`: the lines that only a tool's output, pasted text or an agent's note bears out; `told`: all of them, by
    who said them first. `late`: when it was said, of the entries that were written long after; `learnt` tells the same
    of what a line that stands in a file rests on. `uncounted`: what others said than those whose words count as the
    user's, as sources of rules; `people`: all by their names.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    said: Mapping[int, Sequence[str]] = field(default_factory=dict)
    others: Mapping[int, Sequence[str]] = field(default_factory=dict)
    told: Mapping[int, Told] = field(default_factory=dict)
    late: Mapping[int, datetime] = field(default_factory=dict)
    learnt: Callable[[MemoryFile, str], datetime | None] = lambda file, line: None
    wishes: Mapping[int, Sequence[RuleSource]] = field(default_factory=dict)
    unvouched: Mapping[int, Sequence[str]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    uncounted: Mapping[int, Sequence[RuleSource]] = field(default_factory=dict)
    people: frozenset[str] = frozenset()


Guard = Callable[[Case, Protected, Settings], Verdict | None]


# What the entries of a dream vouch for: who said each of their lines, and when.


LATE = timedelta(days=1)  # between a talk and its entry: what is read sooner comes in the order of the talks


def counted(entries: Iterable[Entry], owners: Sequence[str]) -> list[Entry]:
    """Return entries with those lines as the user's that one of the `owners` said, if any are named; else as they are.

    A line that only a user without a name said is the user's.
    """
    return [_counted(entry, owners) if owners and entry.speakers else entry for entry in entries]


def _counted(entry: Entry, owners: Sequence[str]) -> Entry:
    others = [code.replace("u", "") for code in entry.voices] or [""] * len(entry.speakers)
    mine = ("u" if any(is_owner(name, owners) for name in names) else "" for names in entry.speakers)
    return replace(entry, voices=tuple(code + own for code, own in zip_longest(others, mine, fillvalue="")))


def people(entries: Iterable[Entry], owners: Sequence[str]) -> frozenset[str]:
    """Return the names of those who have a say ("*": everybody), and of those who said something in `entries`."""
    said = {name for entry in entries for names in entry.speakers for name in names}
    return frozenset({*said, *owners} - {""})


def late(entries: Iterable[Entry]) -> dict[int, datetime]:
    """Return, by cursor, when it was said, of the entries that were written more than LATE after that."""
    return {entry.cursor: entry.when for entry in entries if entry.at - entry.when > LATE}


def said(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that the user said: found at consolidation, and all of their notes."""
    return {entry.cursor: tuple(line for line, voices in entry.lines() if "u" in voices) for entry in entries}


def others(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that only a tool's output, pasted text or an agent's note bears out."""
    return {entry.cursor: tuple(line for line, voices in entry.lines() if {*voices} & {*"oa"}) for entry in entries}


def unvouched(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that rest on what the agent, a tool or a quoted text said."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        rows = zip(entry.content.split("\n"), entry.rests, strict=False)
        found[entry.cursor] = tuple(line for line, rests in rows if rests[:1] in ("a", "t", "p"))
    return found


def wishes(entries: Iterable[Entry], owners: Sequence[str] = ()) -> dict[int, tuple[RuleSource, ...]]:
    """Return, by cursor, what the user said as sources of rules: their own sentences, or lines that say the same.

    Where several `owners` have a say, each source tells which of them said it.
    """
    found: dict[int, tuple[RuleSource, ...]] = {}
    for entry in entries:
        by: dict[int, str] = {}
        for number, ((_, voices), names) in enumerate(zip_longest(entry.lines(), entry.speakers), start=1):
            if "u" in voices:
                theirs = [name for name in names or () if have_shared_rules(owners) and is_owner(name, owners)]
                by[number] = theirs[-1] if theirs else ""
        found[entry.cursor] = tuple(_sources(entry, by))
    return found


def uncounted(entries: Iterable[Entry]) -> dict[int, tuple[RuleSource, ...]]:
    """Return, by cursor, what users said whose words don't count, as sources of rules that tell who said it."""
    found: dict[int, tuple[RuleSource, ...]] = {}
    for entry in entries:
        rows = enumerate(zip_longest(entry.speakers, entry.voices, fillvalue=""), start=1)
        found[entry.cursor] = tuple(
            _sources(entry, {n: names[-1] for n, (names, code) in rows if names and "u" not in code})
        )
    return found


_QUOTED = re.compile(r"\A\s*[“„«「\"]([^“”„«»「」\"]+)[”“»」\"]\s*\Z")  # as the small model writes what was said


def _sources(entry: Entry, by: Mapping[int, str]) -> Iterator[RuleSource]:
    """Yield the sources in the lines whose numbers `by` names, with who said them."""
    stands = entry.kind == "note" or entry.model == EMBEDDED  # which only quotes
    rows, about = entry.content.split("\n"), ""
    for number, row in enumerate(rows, start=1):
        quotes = row.startswith(QUOTE)
        about = about if quotes else row
        if number not in by:
            continue
        if quotes:
            yield replace(source(row.removeprefix(QUOTE), about), by=by[number])
        elif not (number < len(rows) and rows[number].startswith(QUOTE)):
            plain = without_bullet(quotation(row))
            for name in entry.speakers[number - 1] if number <= len(entry.speakers) else ():
                plain = without_speaker(plain, name)
            said = without_report(plain)
            yield RuleSource(_QUOTED.sub(r"\1", said), stands=stands or said != plain, by=by[number])


def named(entries: Iterable[Entry], texts: Mapping[MemoryFile, str]) -> Known:
    """Return what a rule may say without the message that it rests on: names in memory, and the user's other words."""
    entries = list(entries)
    lines = [line for found in said(entries).values() for line in found]
    firsthand = [line for text in texts.values() for line in text.splitlines() if not names_source(line)]
    names = {
        word
        for line in (*firsthand, *lines)
        for name in rule.names(f"x {without_bullet(line)}")
        for word in words(name)
    }
    resting = [
        line
        for one in entries
        for line, rests in zip(one.content.split("\n"), one.rests, strict=False)
        if rests[:1] == "u"
    ]
    told = frozenset(word for line in resting for word in phrases.signed(line))
    return Known(frozenset(names), frozenset(word for line in lines for word in words(line)), told=told)


# The guards, in the order in which they are asked. First what a person decided: facts taken back, lines kept.


SUCCEEDS = 0.3  # of a kept line's words that what takes its place must hold


def rejected_fact(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A fact that a person took back is not written again; one much like it waits for them."""
    facts = [fact for fact in protected.rejected if not fact.removal]
    for line in case.added:
        for fact in facts:
            if same_fact(fact.text, line):
                return Verdict("refused", "rejected-fact", f"a person took this fact back on {fact.at:%Y-%m-%d}")
    for line in case.added:
        for fact in facts:
            if near_fact(fact.text, line):
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict(
                    "held", "rejected-fact", f"much like what a person took back on {when}: {quoted(fact.text)}"
                )
    return None


def kept_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person would not have removed goes only where a newer fact takes its place."""
    kept = [fact for fact in protected.rejected if fact.removal and fact.file == case.edit.file]
    new = " ".join(case.added)
    for line in case.gone if kept else ():
        for fact in kept:
            if same_fact(fact.text, line) and coverage(line, new) < SUCCEEDS:
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict("refused", "kept-line", f"a person decided on {when} to keep the line {quoted(line)}")
    return None


def older(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What was said earlier neither takes away what was said later, nor adds what that corrects."""
    if not case.cursors or not case.cursors <= protected.late.keys():
        return None
    said = max(protected.late[cursor] for cursor in case.cursors)
    touched = [(case.edit.file, line) for line in case.gone if line.strip()]
    for file, line in [*touched, *_speaking_of(case.added, protected)]:
        later = protected.learnt(file, line)
        if later is not None and later > said:
            reason = f"it was said on {said:%Y-%m-%d}, and on {later:%Y-%m-%d} what stands there: {quoted(line)}"
            return Verdict("refused", "older", reason)
    return None


def _speaking_of(lines: Iterable[str], protected: Protected) -> Iterator[tuple[MemoryFile, str]]:
    """Yield the lines of the files that hold every word of one of `lines`: they say the same, or correct it."""
    for fact in (without_said_on(line) for line in lines if markup.heading(line) is None):
        for file, text in protected.before.items():
            yield from ((file, line) for line in text.splitlines() if coverage(fact, line) == 1.0)


# Then what an edit looks like, and whose lines it touches.


def markup_flaw(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written that a reader does not see, that leads elsewhere, or that swallows what follows."""
    urls = frozenset(
        found[0].rstrip(markup.AFTER_URL) for line in said_for(case, protected) for found in markup.URL.finditer(line)
    )
    fences = 0
    for line in case.added:
        if flaw := markup.flaw(line, urls) or markup.flaw(_fact(line), urls):
            return Verdict("held", flaw.guard, flaw.reason)
        fences += line.lstrip().startswith(("```", "~~~"))
    if fences % 2:
        return Verdict("held", "section", "a code block that is opened and not closed would swallow what follows")
    return None


def person_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person wrote is not changed or removed unattended."""
    theirs = protected.person_lines.get(case.edit.file, frozenset())
    for line in case.gone:
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {quoted(line)}")
    return None


# Then who said it: rules are the user's own, and no tool, page or earlier talk speaks for them.


THEIRS = 0.6  # of a line's words that a line of others must hold
_CLAUSES = re.compile(r"([;；]\s*)")
RULE_SUCCEEDS = 0.6  # of belief that one rule takes the place of another
# Words of which an ordinary heading in SOUL.md is made; another one could be a rule itself.


def rule_source(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What becomes a rule in SOUL.md, or ends one, the user said themselves in a message of theirs."""
    if case.edit.file != "SOUL.md":
        return None
    for line in case.added:
        said = rule.without_changed(line, case.gone)
        if line in case.quoted or _is_plain_heading(line):
            continue
        if (found := judged(said, case, protected)).verdict != "said":
            why = _not_an_owner(said, case, protected, settings) or found.reason
            return Verdict("held", "rule-source", f"{why}: {quoted(line)}")
    new = " ".join(case.added)
    for line in case.gone:
        old = unnamed(line, protected.people)
        said_now = [unnamed(one, protected.people) for one in case.added]
        replaced = bool(case.added) and (coverage(old, new) >= rule.TAKES_PLACE or _succeeds(said_now, old))
        if not replaced and not _said_again(old, case) and not _taken_back(old, case, protected):
            return Verdict("held", "rule-source", f"no message of the user's takes back {quoted(line)}")
    return None


def instruction(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Outside SOUL.md no line may tell an agent what to do, unless the user said it."""
    if case.edit.file == "SOUL.md":
        return None
    for line in case.added:
        if instructs(line) and not _by_user(line, case, protected):
            why = _not_an_owner(line, case, protected, settings) or "the user did not say it"
            return Verdict("held", "instruction", f"it instructs the agent, and {why}: {quoted(line)}")
    return None


def third_party(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What only a tool, pasted text or an agent's note says is no fact about the user, and nothing to be obeyed."""
    if case.edit.file == "SOUL.md":
        return None
    cursors = sorted(case.cursors)
    if case.edit.file == "USER.md" and _nobody_vouches(cursors, protected):
        for line in (line for line in case.gone if not case.added and line.strip()):
            return Verdict("held", "third-party", f"a tool, a text or the agent ends it, not the user: {quoted(line)}")
    theirs = [line for cursor in cursors for line in protected.others.get(cursor, ())]
    if case.edit.file == "USER.md":  # there it does not help that the agent repeats it
        theirs += [
            line for cursor in cursors if cursor in protected.told for line, _ in protected.told[cursor].secondhand
        ]
        theirs += [line for cursor in cursors for line in protected.unvouched.get(cursor, ())]
    for line in case.added if theirs else ():
        fact = _fact(line)
        if not (case.edit.file == "USER.md" or normative(fact)) or markup.heading(line) is not None:
            continue
        said = (fact, _fact(earlier_part().sub("", line)))  # also without what it tells as the earlier
        told = any(coverage(one, other) >= THEIRS for one in said for other in theirs)
        if told and not _by_user(line, case, protected):
            return Verdict("held", "third-party", f"a tool, a text or the agent says it, not the user: {quoted(line)}")
    return None


def _nobody_vouches(cursors: Sequence[int], protected: Protected) -> bool:
    """Return whether each line of these entries was said by a tool, a pasted text or an agent's note first."""
    told = [protected.told[cursor] for cursor in cursors if cursor in protected.told]
    return any(one.secondhand for one in told) and not any(one.firsthand for one in told)


def sources_of(cursors: Iterable[int], protected: Protected) -> list[RuleSource]:
    """Return what the user said in these entries, as sources of rules."""
    return [source for cursor in sorted(cursors) for source in protected.wishes.get(cursor, ())]


def _not_an_owner(line: str, case: Case, protected: Protected, settings: Settings) -> str:
    """Return why what somebody said is no rule: their words don't count as the user's; "" where that is not the reason.

    Where nobody is named whose words do, it tells of the setting.
    """
    found = _of_others(unnamed(line, protected.people), case, protected)
    if found.verdict == "waits":
        return ""
    if settings.owners:
        return f"{found.by} says it, who is not among the `owners`"
    return f"several people talk here, and {found.by or 'one'} says it; name those whose rules count in `owners`"


def _of_others(line: str, case: Case, protected: Protected) -> Judgement:
    """Judge a line as a rule by what those said whose words don't count."""
    sources = [source for cursor in sorted(case.cursors) for source in protected.uncounted.get(cursor, ())]
    return rule.judge(line, sources, protected.known, lasting=case.edit.file == "SOUL.md")


def judged(line: str, case: Case, protected: Protected) -> Judgement:
    """Judge a line as a rule by what the user said in the entries that the edit rests on."""
    sources = sources_of(case.cursors, protected)
    line = unnamed(line, protected.people)
    mine = phrases.signed(line)
    stood = {  # what it takes the place of is the user's too
        word for gone in case.gone for word, signs in phrases.signed(gone).items() if mine.get(word, signs) & signs
    }
    changed = " ".join(case.gone) if case.edit.file == "SOUL.md" else ""
    known = replace(protected.known, names=protected.known.names | stood, stood=changed)
    if case.edit.file == "SOUL.md" and any(rule.common(gone, one.text) for gone in case.gone for one in sources):
        sources = [replace(one, stands=True) for one in sources]  # what changes a rule that stands is one too
    found = rule.judge(line, sources, known, lasting=case.edit.file == "SOUL.md")
    if found.verdict == "close" and _of_others(line, case, protected).verdict == "said":
        return Judgement("waits", found.own, "no message of the user's says it")
    new, telling = phrases.told_by(line)
    new = new.difference(telling(changed))
    if changed and found.verdict == "close" and new and new.isdisjoint(telling(found.own)):
        return Judgement("waits", found.own, "no message of the user's says what changes")
    return found


def in_own_words(case: Case, protected: Protected) -> dict[str, str]:
    """Return, of the lines that an edit adds as rules, those that stray from what the user said, with their words."""
    gone = case.gone if case.edit.file == "SOUL.md" and len(case.added) == 1 else ()
    rules = [line for line in case.added if markup.heading(line) is None]
    rules = [line for line in rules if case.edit.file == "SOUL.md" or instructs(line)]
    own: dict[str, str] = {}
    for line in rules:
        if case.edit.file != "SOUL.md" and (text := _orders_in_own_words(line, case, protected)):
            own[line] = text
            continue
        new = rule.without_changed(line, gone)
        one = judged(new, case, protected)
        said = one.own if one.verdict == "close" else phrases.without_mark(unnamed(new, protected.people))
        if one.verdict == "close" and case.edit.file != "SOUL.md":
            if coverage(phrases.bare(line), said) < rule.SAYS:
                continue  # too little of it to stand for a fact: then it waits as it is
            said = rule.with_days(said, line)
        text = _with_changed(line, said, gone, one.by) if one.verdict != "waits" else said
        if one.verdict != "waits" and text != phrases.without_mark(line):
            own[line] = text
    return own


def _with_changed(line: str, said: str, gone: Sequence[str], by: str) -> str:
    """Return the words of a rule with what it changes, and whose words they are where that has to be told."""
    theirs = [without_speaker(one, by) for one in gone]
    if any(one == other for one, other in zip(gone, theirs, strict=True)):  # it was another's
        return rule.with_changed(line, _of(by, said), gone)
    return _of(by, rule.with_changed(line, said, theirs))


def _of(name: str, said: str) -> str:
    return said if not name or re.match(rf"{re.escape(name)}\b", said, re.IGNORECASE) else f"{name}: {said}"


def _orders_in_own_words(line: str, case: Case, protected: Protected) -> str:
    """Return a line of facts and orders with each order in the user's words, and its facts as they stand; or "".

    Each of its clauses is judged as it would be on a line of its own.
    """
    clauses = _CLAUSES.split(phrases.without_mark(line))
    orders = [place for place, clause in enumerate(clauses) if instructs(clause)]
    if not orders or instructs("; ".join(clause for at, clause in enumerate(clauses) if at not in orders)):
        return ""
    for place in orders:
        one = judged(clauses[place], case, protected)
        if one.verdict == "waits" or coverage(phrases.bare(clauses[place]), one.own) < rule.SAYS:
            return ""
        if one.verdict == "close":
            clauses[place] = rule.with_days(one.own, clauses[place]).rstrip(" .。")
    return "".join(clauses) if len(orders) < len(clauses[::2]) else ""


def _by_user(line: str, case: Case, protected: Protected) -> bool:
    return (
        line in case.quoted
        or judged(line, case, protected).verdict == "said"
        or user.covered(line, user.own_lines(said_for(case, protected)))
    )


def _said_again(line: str, case: Case) -> bool:
    """Return whether another rule that stays says all of a line, in its words and the same sense."""
    mine = phrases.signed(phrases.bare(line))
    stays = (phrases.signed(one) for one in case.then.texts["SOUL.md"].splitlines() if markup.heading(one) is None)
    return bool(mine) and any(all(word in one and signs <= one[word] for word, signs in mine.items()) for one in stays)


def _taken_back(line: str, case: Case, protected: Protected) -> bool:
    return user.taken_back(line, user.own_lines(said_for(case, protected)))


def _succeeds(added: Iterable[str], line: str) -> bool:
    """Return whether one of the rules added, which the user said, tells what a rule now is that was told otherwise."""
    said = without_bullet(line).strip()
    return any(
        takes_place(without_bullet(new).strip(), said, guess(new) or "en", ("rule", "rule")) >= RULE_SUCCEEDS
        for new in added
    )


def _is_plain_heading(line: str) -> bool:
    text = markup.heading(line)
    return text is not None and set(text.casefold().replace("&", " ").split()) <= listed("rule_headings")


# Last how much an edit does: nothing that its findings don't say, no great loss, nothing at all unseen.


CORRECTED = 0.5  # of a line's words that a new one holds which corrects it
FOUNDED = 0.25  # of a line's words that its findings must hold


def unfounded(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What is written stands in the findings that it settles, or in the lines that it changes."""
    basis = " ".join([*(finding.text for finding in case.findings), *case.gone, *said_for(case, protected)])
    for line in case.added:
        if markup.heading(line) is None and content_words(line) and coverage(line, basis) < FOUNDED:
            return Verdict("refused", "unfounded", f"no finding that the edit names says {quoted(line)}")
    return None


def loss(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """One dream takes no more of a file's earlier lines than the settings allow.

    One that is quoted on stays, and one that is corrected counts half.
    """
    file = case.edit.file
    before = protected.before[file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    after = case.then.texts[file]
    new = added(before, after)
    lines = [line for line in gone(before, after) if _stated(line) not in after]
    corrected = sum(any(coverage(line, other) >= CORRECTED for other in new) for line in lines)
    missing = len(lines) - corrected // 2  # which of two may still be a line that is gone
    allowed = max(settings.max_loss_lines, int(earlier * settings.max_loss_ratio))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {file} would go; at most {allowed} may")


def _stated(line: str) -> str:
    """Return what a line states, without its bullet and its day."""
    return without_said_on(without_bullet(line).strip()).strip()


def review(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written unseen where the settings say that every edit waits."""
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None


# And what they share.


def said_for(case: Case, protected: Protected) -> list[str]:
    """Return the user's own lines among the entries that an edit rests on."""
    return [line for cursor in sorted(case.cursors) for line in protected.said.get(cursor, ())]


def _fact(line: str) -> str:
    """Return a line without what was put behind it: its source and its day."""
    return without_mark(without_said_on(line)).rstrip()


GUARDS: tuple[Guard, ...] = (
    rejected_fact,
    kept_line,
    older,
    markup_flaw,
    person_line,
    rule_source,
    instruction,
    third_party,
    unfounded,
    loss,
    review,
)


def check(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge an edit; None lets it pass.

    A refusal comes before a hold: what must never be written need not wait for a person.
    """
    return next((verdict for guard in GUARDS if (verdict := guard(case, protected, settings))), None)
