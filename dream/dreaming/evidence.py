"""The evidence of a dream's entries: their lines with the speaker of each, and the user's own messages.

It answers three questions without understanding: which line of history shares most words with a line of memory, who
spoke that line, and which words of the user a rule copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dream.dreaming.markup import AFTER_URL, URL
from dream.history.messages import KeptMessage, Messages
from dream.memory import like, place_of
from dream.models import UNKNOWN_LINE, Entry, EntryLine, Finding, MemoryFile
from dream.provenance import commands
from dream.provenance.citations import said_words
from dream.provenance.copied import (
    LONGEST,
    Copied,
    OwnText,
    copied,
    exchanged,
    folded,
    found_words,
    notes,
    points_at,
    without_notes,
)
from dream.provenance.speakers import have_shared_rules, is_owner, unnamed, without_speaker
from dream.provenance.voice import names_source, own_text, typed_text
from dream.text.safe import quoted
from dream.text.words import NOT, content_words, without_bullet, without_said_on

REDACTED = "[REDACTED:"  # replaces a secret: words that contained one may not become a rule that every session reads
LATE = timedelta(days=1)  # between a session and its entry; entries written within it are in the order of the sessions
NO_FILES: Mapping[MemoryFile, str] = {}
Row = tuple[str, EntryLine]


@dataclass(frozen=True, slots=True)
class Heard:
    """One entry: its lines with the speaker of each, the messages that they cite, and the user's own words.

    `others` are the messages of people whose words do not count as the user's, `results` the tools' results.
    """

    entry: Entry
    rows: tuple[Row, ...] = ()
    messages: tuple[KeptMessage, ...] = ()
    said: tuple[OwnText, ...] = ()
    others: tuple[OwnText, ...] = ()
    results: tuple[KeptMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchEvidence:
    """The evidence of one dream's entries, by cursor; of several people only the `owners` count as the user.

    `words` are what the user and the agent said, case-folded; a note in brackets may use only these, or copy `rules`,
    the lines of SOUL.md. In a `group` chat a member's request may become a rule of the group.
    """

    heard: Mapping[int, Heard]
    words: frozenset[str] = frozenset()
    owners: Sequence[str] = ()
    group: bool = False
    rules: Sequence[str] = ()

    def said(self, cursors: Iterable[int]) -> list[OwnText]:
        """Return the user's own messages in these entries."""
        return [one for cursor in sorted(cursors) if cursor in self.heard for one in self.heard[cursor].said]

    def asked(self, line: str, cursors: Iterable[int]) -> Copied | None:
        """Return the words of a group member (not the user) that a rule of the group copies."""
        heard = [self.heard[cursor] for cursor in cursors if cursor in self.heard] if self.group else []
        others = [one for entry in heard for one in entry.others if one.by]
        return copied(unnamed(without_said_on(line), {one.by for one in others}), others, self.words, self.rules)

    def may_change(self, file: MemoryFile, cursors: Iterable[int]) -> bool:
        """Return whether somebody spoke in these entries who may withdraw or replace what is pending for a file.

        That is the user; where nobody says who that is, anybody; in a group, of its own files, any member.
        """
        heard = [self.heard[cursor] for cursor in cursors if cursor in self.heard]
        anybody = not self.owners or (self.group and bool(place_of(file)))
        return any(one.said or (anybody and one.others) for one in heard)

    def rule(self, line: str, cursors: Iterable[int], more: Sequence[OwnText] = ()) -> Copied | None:
        """Return the user's own words that a rule copies, from these entries or from the messages given besides."""
        return copied(without_said_on(line), [*self.said(cursors), *more], self.words, self.rules)

    def written(self, finding: Finding, files: Mapping[MemoryFile, str]) -> Copied | None:
        """Return the user's own words for a rule that phase 1 found; None if it copies none.

        A part of it may be copied from the rule that it replaces, whose words are the user's too, but not without any
        new words, nor without the "not" of that rule. It may be copied from other rules if it keeps the whole replaced
        rule. In a group a member's later words replace a member's.
        """
        heard = (self.heard[cursor] for cursor in finding.entries if cursor in self.heard)
        names = {line.by for one in heard for _, line in one.rows if line.by}
        text, rows = unnamed(finding.text, names), files.get(finding.file, "").splitlines()
        asked = self.asked(finding.text, finding.entries) if place_of(finding.file) else None
        if not finding.line or finding.line not in rows:
            return self.rule(text, finding.entries) or asked
        old = without_bullet(finding.line)
        by, named, _ = old.strip().partition(": ")
        if asked is not None and named and not is_owner(by, self.owners):
            return self.rule(text, finding.entries) or asked
        if (anew := self.rule(text, finding.entries)) is not None:
            return anew
        found = exchanged(text, old, self.said(finding.entries)) or self.rule(
            text, finding.entries, [OwnText(old, is_rule=True)]
        )
        if found is not None:
            same = points_at(without_notes(text), old) and set(notes(text)) <= set(notes(old))
            lost = NOT in content_words(old) and NOT not in content_words(found.text)
            return None if same or lost else found
        merged = self.rule(text, finding.entries, [OwnText(without_bullet(row), is_rule=True) for row in rows])
        return merged if merged and points_at(old, merged.text) else None

    def in_own_words(
        self, findings: Iterable[Finding], files: Mapping[MemoryFile, str]
    ) -> tuple[tuple[Finding, ...], frozenset[str]]:
        """Return the findings with each copied rule in the user's own words, and these rules."""
        found: list[Finding] = []
        rules: set[str] = set()
        for one in findings:
            rule = like(one.file) == "SOUL.md" and not one.remove
            words = self.written(one, files) if rule else None
            if words is not None and len(words.text) <= LONGEST and REDACTED not in words.text:
                text = self.shown(words)
                rules.add(text)
                found.append(replace(one, text=text))
            else:
                found.append(one)
        return tuple(found), frozenset(rules)

    def shown(self, rule: Copied) -> str:
        """Return a rule as it is written to the file: with its speaker's name if several people set rules."""
        named = rule.by and (have_shared_rules(self.owners) or self.is_members(rule))
        return f"{rule.by}: {rule.text}" if named else rule.text

    def is_members(self, rule: Copied) -> bool:
        """Return whether a rule was requested by a group member who is not the user."""
        return self.group and not (self.owners and is_owner(rule.by, self.owners))

    def doubt(self, line: str, cursors: Iterable[int]) -> str:
        """Explain why a rule is not a copy of the user's own words."""
        heard = [self.heard[cursor] for cursor in cursors if cursor in self.heard]
        for other in (one for entry in heard for one in entry.others):
            if points_at(without_speaker(without_notes(without_said_on(line)), other.by), other.text):
                return self.stranger(other.by)
        found = found_words(without_said_on(line), self.said(cursors), self.words, self.rules)
        if found is not None and found.doubt:
            return found.doubt
        if any(points_at(without_said_on(line), one.text) for entry in heard for one in entry.said):
            return "it is in a text that the user pasted or quotes"
        if self.rule(without_notes(line), cursors) is not None:
            return "neither the user nor the agent said what stands in the brackets"
        return "these are not the user's own words"

    def stranger(self, name: str) -> str:
        """Explain why the words of `name` do not count as the user's."""
        if self.owners:
            return f"{name or 'somebody else'} says it, who is not among the `owners`"
        return f"several people talk here, and {name or 'one'} says it; name those whose rules count in `owners`"

    def source(self, line: str, cursors: Iterable[int]) -> EntryLine:
        """Return the source of the history line most like a line of memory, preferring the user's."""
        words = content_words(line)
        rows = [row for cursor in sorted(cursors) if cursor in self.heard for row in self.heard[cursor].rows if row[0]]
        shared = [(len(words & said_words(text)), said.voice == "user", said) for text, said in rows]
        best = max(shared, key=lambda one: one[:2], default=(0, False, UNKNOWN_LINE))
        return best[2] if best[0] or all(said.voice == "user" for _, said in rows) else UNKNOWN_LINE

    def ran(self, line: str, cursors: Iterable[int]) -> bool:
        """Return whether runs of the agent's bear out a line: a command in it worked, or its source cites a failed one.

        Its source is the most similar line of history.
        """
        source = self.source(line, cursors)
        here = next((one for one in self._of(cursors) if any(said is source for _, said in one.rows)), None)
        cited = (one.ran for one in here.results if one.position in source.cites) if here else ()
        return any(run and run.failed for run in cited) or bool(self.worked(line, cursors))

    def worked(self, line: str, cursors: Iterable[int], beside: Sequence[str] = ()) -> list[str]:
        """Return the commands in a line that a call which these entries cite shows to have worked.

        What the user says themselves counts too, and what is marked in the lines `beside`, which it replaces.
        """
        runs = [one.ran for one in self.results(cursors) if one.ran]
        said = [own_text(one.text) for one in self.said(cursors)]
        before = [part for old in beside for part in commands.marked(old)]
        return [
            part
            for part in commands.in_backticks(line)
            if part in before or commands.worked(part, runs) or any(commands.holds(text, part) for text in said)
        ]

    def unrun(self, line: str, cursors: Sequence[int], beside: Sequence[str] = ()) -> str:
        """Explain why a line about what worked can't be written as it is; "" if it can.

        A marked command has to have worked, text of several words in backticks must not be an output's alone, and the
        user has to have given each address, unless it is in a command that worked.
        """
        shown = self.worked(line, cursors, beside)
        if wrong := next((part for part in commands.marked(line) if part not in shown), ""):
            if commands.is_fed(wrong):
                return f"{quoted(wrong)} feeds one command with what another writes, so a person looks at it first"
            whole = commands.around(wrong, [one.ran for one in self.results(cursors) if one.ran])
            hint = f"; a call has `{whole}`" if whole else ""  # in full, to be copied
            return (
                f"no call of the agent's that worked holds the whole of {quoted(wrong)}, nor do the user's words{hint}"
            )
        results, spoken = self.results(cursors), [one.text for each in self._of(cursors) for one in each.messages]
        given = [*(one.text for one in results), *spoken]
        own = [*(one.ran.command for one in results if one.ran), *map(typed_text, spoken)]
        for part in (one for one in commands.in_backticks(line) if " " in one and one not in shown):
            if any(commands.holds(text, part) for text in given) and not any(
                commands.holds(text, part) for text in own
            ):
                return f"only an output or a pasted text holds {quoted(part)}"
        return self.unsaid(commands.without(line, shown), cursors)

    def unsaid(self, text: str, cursors: Iterable[int]) -> str:
        """Explain which address in a text the user did not give; "" if there is none."""
        mine = [one.text for one in self.said(cursors)]
        found = (one[0].rstrip(AFTER_URL) for one in URL.finditer(text))
        wrong = next((one for one in found if not any(one in said for said in mine)), "")
        return f"the user did not give the address {quoted(wrong)}" if wrong else ""

    def results(self, cursors: Iterable[int]) -> list[KeptMessage]:
        """Return the tools' results that lines of these entries cite, in their order."""
        return [one for each in self._of(cursors) for one in each.results]

    def _of(self, cursors: Iterable[int]) -> list[Heard]:
        return [self.heard[cursor] for cursor in sorted(cursors) if cursor in self.heard]

    def knows_voices(self, cursors: Iterable[int]) -> bool:
        """Return whether any of these entries names the speakers of its lines; those of other programs do not."""
        return any(self.heard[cursor].entry.lines for cursor in cursors if cursor in self.heard)

    def said_after(self, day: datetime, cursors: Iterable[int]) -> bool:
        """Return whether the user said something of these entries after `day`."""
        entries = [self.heard[cursor] for cursor in cursors if cursor in self.heard]
        return any(one.entry.when > day and any(line.voice == "user" for _, line in one.rows) for one in entries)

    def late(self, cursors: Iterable[int]) -> datetime | None:
        """Return when the last of these entries was said, if all of them were written long after that."""
        entries = [self.heard[cursor].entry for cursor in cursors if cursor in self.heard]
        if not entries or any(entry.at - entry.when <= LATE for entry in entries):
            return None
        return max(entry.when for entry in entries)


NOTHING_HEARD = BatchEvidence({})


def gather(
    heard: Iterable[Heard],
    beside: Mapping[MemoryFile, str] = NO_FILES,
    owners: Sequence[str] = (),
    *,
    group: bool = False,
) -> BatchEvidence:
    """Gather the evidence of entries; words of `beside`, the memory files as shown, may be used in notes too.

    Words of a tool or a pasted text may not: an order in them could get into a rule as a note.
    """
    known = {one.entry.cursor: one for one in heard}
    texts = [row for one in known.values() for row, line in one.rows if line.voice in ("user", "agent")]
    texts += [line for text in beside.values() for line in text.splitlines() if not names_source(line)]
    texts += [one.entry.session or "" for one in known.values()]  # "here" in a chat: [on Telegram]
    texts += [own_text(said.text, facts=True) for one in known.values() for said in one.said]
    words = frozenset(word for text in texts for word in folded(text))
    rules = [line for file, text in beside.items() if like(file) == "SOUL.md" for line in text.splitlines()]
    return BatchEvidence(known, words, owners, group, rules)


def hear(entry: Entry, messages: Messages, owners: Sequence[str], *, group: bool = False) -> Heard:
    """Return the evidence of an entry, with the messages that its lines cite; only `owners` count as the user.

    An entry that keeps messages verbatim needs no others. In a `group` without owners nobody counts as the user.
    """
    rows = tuple((text, _counted(line, owners, group=group)) for text, line in entry.rows())
    places = {place for _, line in rows if line.voice in ("user", "other", "pasted", None) for place in line.cites}
    cites = {place for _, line in rows for place in line.cites}
    found = messages.of(entry.session or "", cites, entry.at, before=bool(entry.rereads)) if cites else []
    spoken = tuple(one for one in found if one.role == "user" and one.position in places)
    results = tuple(one for one in found if one.role == "tool")
    several = any(line.voice == "other" for _, line in rows)
    said: list[OwnText] = []
    others: list[OwnText] = []
    names = {place: line.by for line in entry.lines for place in line.cites if line.by}
    for one in spoken:
        name = one.name or names.get(one.position, "")
        mine = is_owner(name, owners) if owners else not (group or (several and name))
        (said if mine else others).append(OwnText(without_speaker(one.text, name), name))
    for text, line in rows:
        quote = text if entry.kind == "note" else line.quote
        if line.voice == "user" and quote:
            said.append(OwnText(quote, line.by))
        elif group and line.voice == "other" and quote and line.by:
            others.append(OwnText(quote, line.by))
    return Heard(entry, rows, spoken, tuple(said), tuple(others), results)


def _counted(line: EntryLine, owners: Sequence[str], *, group: bool) -> EntryLine:
    """Return a line with its voice adjusted for these `owners`."""
    if group and not owners and line.voice == "user":
        return replace(line, voice="other")
    if not owners or line.voice not in ("user", "other"):
        return line
    return replace(line, voice="user" if is_owner(line.by, owners) else "other")
