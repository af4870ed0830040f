"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit. A person can follow each check: whose words a line is, what a
person decided, how much would be removed. What a sentence means is decided by the model, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import takewhile
from typing import Literal

from dream.dreaming import markup
from dream.dreaming.draft import Draft, Edit, added, gone, lines, section
from dream.dreaming.evidence import NOTHING_HEARD, REDACTED, BatchEvidence
from dream.dreaming.markup import FlawName, instructs, normative
from dream.dreaming.scope import holds_path
from dream.memory import MEMBERS, PRIVATE, like, place_of
from dream.models import EntryLine, Finding, MemoryFile, Rejected
from dream.provenance.commands import HOW_TO, in_backticks, marked, without
from dream.provenance.copied import LONGEST, folded, notes, points_at
from dream.settings import Settings
from dream.text import days
from dream.text.alike import near_fact, same_fact
from dream.text.safe import quoted
from dream.text.tongues import guess
from dream.text.words import content_words, coverage, listed, without_bullet, without_mark, without_said_on

LOSS_SHARE = 0.25  # share of a file's earlier lines that one dream may remove
LOSS_LINES = 5  # lines that it may always remove
GuardName = (
    FlawName
    | Literal[
        "review",
        "person-line",
        "person-edit",
        "loss",
        "rejected-fact",
        "restored",
        "kept-line",
        "rule-source",
        "instruction",
        "third-party",
        "unfounded",
        "older",
        "members",
        "everywhere",
        "hangs",
        "reader",
        "command",
    ]
)

CORRECTED = 0.5  # share of a line's words that a new line must contain to count as its correction
ASKED = 5  # rules that one member of a group may have there; more are held for review
FOUNDED = 0.25  # share of a line's words that its findings must contain


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a guard on one edit: `held` for review, or `refused` and never written."""

    decision: Literal["held", "refused"]
    guard: GuardName
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """One edit before the guards: it turns the draft `now` into `then` to settle `findings`."""

    edit: Edit
    now: Draft
    then: Draft
    findings: tuple[Finding, ...]

    @property
    def cursors(self) -> frozenset[int]:
        """The entries that the edit's findings cite."""
        return frozenset(cursor for finding in self.findings for cursor in finding.entries)

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that the edit adds to its file."""
        return added(self.now.texts[self.edit.file], self.then.texts[self.edit.file])

    @property
    def gone(self) -> tuple[str, ...]:
        """The lines that the edit removes from its file."""
        return gone(self.now.texts[self.edit.file], self.then.texts[self.edit.file])


@dataclass(frozen=True, slots=True)
class Protected:
    """The workspace data that the guards need.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts to reject, and lines to keep. `evidence`: the evidence of the entries. `rules`: the user's own
    words that the findings copy. `learnt` returns when the source of a line was said. `day` is that of
    the dream. `restored`: facts that a restore or a person removed. `elsewhere` names the other project whose folder a
    command for a file names, if any.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    evidence: BatchEvidence = NOTHING_HEARD
    rules: frozenset[str] = frozenset()
    learnt: Callable[[MemoryFile, str], datetime | None] = lambda file, line: None
    day: date | None = None
    restored: Sequence[Rejected] = ()
    elsewhere: Callable[[MemoryFile, str], str] = lambda file, command: ""


Guard = Callable[[Case, Protected, Settings], Verdict | None]


# The guards, in the order in which they run. First what a person decided: facts to reject, lines to keep.


def rejected_fact(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Refuse a fact that a person rejected, until the user says it again; hold one that is similar."""
    facts = [fact for fact in protected.rejected if not fact.removal]
    facts = [fact for fact in facts if not protected.evidence.said_after(fact.at, case.cursors)]
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


def restored(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Hold a line that a restore or a person removed, if it comes from the same messages again."""
    for line in case.added:
        for fact in protected.restored:
            if same_fact(fact.text, line) or near_fact(fact.text, line):
                how = "with a restore" if fact.source.startswith("restore") else "by hand"
                reason = f"you took it out on {fact.at:%Y-%m-%d} {how}: {quoted(fact.text)}"
                return Verdict("held", "restored", reason)
    return None


def kept_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Allow the removal of a line that a person chose to keep only if a newer fact replaces it by its number."""
    kept = [fact for fact in protected.rejected if fact.removal and fact.file == case.edit.file]
    replaced = {one.line for one in case.findings if not one.remove} if case.added else set()
    for line in case.gone if kept else ():
        for fact in kept:
            if same_fact(fact.text, line) and line not in replaced:
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict("refused", "kept-line", f"a person decided on {when} to keep the line {quoted(line)}")
    return None


def older(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Keep an earlier statement from removing or repeating a later one."""
    said = protected.evidence.late(case.cursors)
    touched = [(case.edit.file, line) for line in case.gone if line.strip()]
    for file, line in [*touched, *_saying(case.added, protected)] if said else ():
        later = protected.learnt(file, line)
        if said and later is not None and later > said:
            reason = f"it was said on {said:%Y-%m-%d}, and on {later:%Y-%m-%d} what stands there: {quoted(line)}"
            return Verdict("refused", "older", reason)
    return None


def _saying(lines: Sequence[str], protected: Protected) -> Iterator[tuple[MemoryFile, str]]:
    """Yield the lines of the files that contain every word of one of `lines`."""
    for fact in (without_said_on(line) for line in lines if markup.heading(line) is None):
        for file, text in protected.before.items():
            yield from ((file, line) for line in text.splitlines() if coverage(fact, line) == 1.0)


# Then what an edit looks like, and whose lines it touches.


def markup_flaw(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Stop hidden text, suspicious links, and unclosed blocks that would swallow the lines after them."""
    said = (one.text for one in protected.evidence.said(case.cursors))
    urls = frozenset(found[0].rstrip(markup.AFTER_URL) for text in said for found in markup.URL.finditer(text))
    fences = 0
    for line in case.added:
        if flaw := markup.flaw(line, urls) or markup.flaw(_fact(line), urls):
            return Verdict("held", flaw.guard, flaw.reason)
        fences += line.lstrip().startswith(("```", "~~~"))
    if fences % 2:
        return Verdict("held", "section", "a code block that is opened and not closed would swallow what follows")
    return None


def person_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Hold an edit that changes or removes a line which a person wrote."""
    theirs = protected.person_lines.get(case.edit.file, frozenset())
    for line in case.gone:
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {quoted(line)}")
    return None


# Then who said it: rules are the user's own, and no tool, page or earlier talk speaks for them.


def rule_source(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Require that a new SOUL.md rule copies the user's own words, and that a removed one is replaced or ended."""
    if like(case.edit.file) != "SOUL.md":
        return None
    for line in case.added:
        if not (_is_plain_heading(line) or without_bullet(line).strip() in protected.rules):
            return Verdict("held", "rule-source", f"{_no_rule(line, case, protected)}: {quoted(line)}")
        if verdict := _of_member(line, case, protected):
            return verdict
    for line in case.gone:
        if not (_is_plain_heading(line) or _may_go(line, case, protected)):
            return Verdict("held", "rule-source", f"{_no_end(line, case)} {quoted(line)}")
    return None


def _of_member(line: str, case: Case, protected: Protected) -> Verdict | None:
    """Hold a group member's request if it is about more than style, or if the member has too many rules."""
    evidence = protected.evidence
    fact = without_bullet(line).strip()
    asked = evidence.asked(fact, case.cursors)
    if asked is None or not fact.startswith(f"{asked.by}: "):
        return None
    own = [one for one in case.findings if one.text == fact]
    asked_before = _below(MEMBERS, case.now.texts[case.edit.file])  # what takes the place of one is of its kind
    shapes_form = any(one.heading == MEMBERS or (one.line and one.line in asked_before) for one in own)
    if not shapes_form or holds_path(asked.text):
        reason = f"{asked.by} asks it, a member of the group, and it touches more than how answers look"
        return Verdict("held", "members", f"{reason}: {quoted(line)}")
    rows = [without_bullet(row).strip() for row in case.then.texts[case.edit.file].split("\n")]
    if sum(row.startswith(f"{asked.by}: ") for row in rows) > ASKED:
        return Verdict("held", "members", f"{asked.by} has {ASKED} rules in this group: {quoted(line)}")
    return None


def _below(heading: str, text: str) -> list[str]:
    """Return the lines below a heading of a text."""
    rows = text.split("\n")
    begun = rows.index(f"## {heading}") + 1 if f"## {heading}" in rows else len(rows)
    return list(takewhile(lambda row: not row.startswith("#"), rows[begun:]))


def _no_rule(line: str, case: Case, protected: Protected) -> str:
    """Explain why a line is not a rule of the user."""
    fact = without_bullet(line).strip()
    copy = protected.evidence.rule(fact, case.cursors)
    if copy is not None and REDACTED in copy.text:
        return "the user's words hold a secret"
    if copy is not None and len(copy.text) > LONGEST:
        return f"the rule has {len(copy.text)} characters, and a rule may have {LONGEST}"
    return protected.evidence.doubt(fact, case.cursors)


def _may_go(line: str, case: Case, protected: Protected) -> bool:
    """Return whether a rule may be removed: it is replaced, contained in another, expired, or ended by the user."""
    about = [one for one in case.findings if one.line == line.rstrip()]
    rules = [without_bullet(one).strip() for one in case.then.texts[case.edit.file].split("\n")]
    if any(not one.remove and (case.added or one.text in rules) for one in about):
        return True
    rule, then = without_bullet(line), lines(case.then.texts[case.edit.file])
    if any(points_at(rule, without_bullet(one)) for one in then) or _is_over(rule, protected.day):
        return True
    evidence, ended = protected.evidence, [one for one in about if one.because]
    if any(place_of(one.file) and evidence.asked(one.because, one.entries) for one in ended):
        return True
    return any(evidence.rule(one.because, one.entries) for one in ended)


def _is_over(rule: str, day: date | None) -> bool:
    """Return whether the last day has passed that a note names before a rule: `[until 3 May 2031] …`."""
    code = guess(rule) or "en"
    named = [one.last for note in notes(rule) for one in days.found(note, None, code) if one.whole]
    return day is not None and bool(named) and max(named) < day


def _no_end(line: str, case: Case) -> str:
    """Explain why a rule may not be removed without review."""
    rules = {without_bullet(one).strip() for one in lines(case.then.texts[case.edit.file])}
    others = (one.because for one in case.findings if one.line == line.rstrip() and one.because in rules)
    other = next(others, None)
    if other is not None:
        return f"only a person can tell that {quoted(other)} says in other words what would go:"
    return "no message of the user's takes back"


def third_party(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Require the user's own messages for USER.md; elsewhere, hold orders to the agent that the user did not give."""
    file, evidence = case.edit.file, protected.evidence
    if like(file) == "SOUL.md":
        return None
    if file == "USER.md" and evidence.knows_voices(case.cursors):
        lines = case.added or tuple(line for line in case.gone if line.strip())
        why = {one.line: one.because for one in case.findings if one.remove and one.because}
        for line in lines:
            source = evidence.source(why.get(line.rstrip()) or _fact(line), case.cursors)
            if markup.heading(line) is None and source.voice != "user":
                return Verdict("held", "third-party", f"{_whose(source, evidence)}: {quoted(line)}")
    for line in case.added:
        fact = _fact(line)
        source = evidence.source(fact, case.cursors)
        if like(case.edit.file) == "memory/MEMORY.md":
            fact = without(fact, marked(fact))  # `command` judges these
        told = ("user", None, "other", "agent") if evidence.group else ("user", None)  # a group tells of itself
        if _is_how_to(line, case, protected) and evidence.ran(_fact(line), case.cursors):
            fact = without(
                fact, evidence.worked(_fact(line), case.cursors)
            )  # only the words around what worked are judged
        elif source.voice not in told and normative(fact):
            reason = f"it says what ought to be, and {_whose(source, evidence)}"
            return Verdict("held", "third-party", f"{reason}: {quoted(line)}")
        if instructs(fact) and not _is_said(without_bullet(fact), case, protected):
            return Verdict(
                "held", "instruction", f"it gives the agent an order, not in the user's words: {quoted(line)}"
            )
    return None


def command(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Require that a marked command worked as a whole in a call of the agent's, or is in the user's words.

    Below "How to" no text of several words in backticks may be an output's alone either.
    """
    file = case.edit.file
    for line in case.added if like(file) == "memory/MEMORY.md" else ():
        if not marked(line) and not _is_how_to(line, case, protected):
            continue
        if reason := protected.evidence.unrun(line, sorted(case.cursors), case.gone):
            return Verdict("held", "command", reason)
        for part in in_backticks(line):
            if REDACTED in part:
                return Verdict("held", "command", f"the command {quoted(part)} holds a secret")
            if other := protected.elsewhere(file, part):
                return Verdict("held", "command", f"the command {quoted(part)} names the project {other}")
    return None


def _is_how_to(line: str, case: Case, protected: Protected) -> bool:
    """Return whether a line is added below the heading for what worked, or replaces one that stood there."""
    file, heading = case.edit.file, f"## {HOW_TO}"
    if like(file) != "memory/MEMORY.md":
        return False
    about = (section(case.then.texts[file], line), *(section(protected.before[file], old) for old in case.gone))
    return heading in about or any(one.heading == HOW_TO for one in case.findings)


def reader(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Hold a finding that the model marks for review."""
    wanted = [one.text for one in case.findings if one.review]
    for line in case.added if wanted else ():
        if any(coverage(text, line) == 1.0 for text in wanted):
            return Verdict("held", "reader", f"the reader wants you to look at it first: {quoted(line)}")
    return None


def _is_said(fact: str, case: Case, protected: Protected) -> bool:
    """Return whether a line consists of the user's own words."""
    copy = protected.evidence.rule(fact, case.cursors)
    return copy is not None and folded(copy.text) == folded(fact)


def _whose(source: EntryLine, evidence: BatchEvidence) -> str:
    """Explain whose words a line of history is if they are not the user's."""
    said = {
        "tool": "a tool's output says it, not the user",
        "pasted": "a text that the user pasted says it, not the user",
        "agent": "the agent says it, not the user",
        "other": evidence.stranger(source.by),
    }
    nobody = "the user only supposes it, or tells what others say" if source.cites else ""
    return said.get(source.voice or "", nobody or "no message of the user's is cited for it")


def _is_plain_heading(line: str) -> bool:
    text = markup.heading(line)
    if text in (PRIVATE, MEMBERS):
        return True
    return text is not None and set(text.casefold().replace("&", " ").split()) <= listed("rule_headings")


# Last how much an edit does: nothing that its findings don't say, no great loss, nothing at all unseen.


def unfounded(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Refuse a line that neither the edit's findings nor the lines that it changes support."""
    basis = " ".join([*(finding.text for finding in case.findings), *case.gone, *protected.rules])
    for line in case.added:
        if markup.heading(line) is None and content_words(line) and coverage(line, basis) < FOUNDED:
            return Verdict("refused", "unfounded", f"no finding that the edit names says {quoted(line)}")
    return None


def loss(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Hold an edit if the dream would remove more of a file's earlier lines than the settings allow.

    A line that is still quoted does not count, and one that is corrected counts half.
    """
    file = case.edit.file
    before = protected.before[file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    after = case.then.texts[file]
    new = added(before, after)
    lines = [line for line in gone(before, after) if _stated(line) not in after]
    corrected = sum(any(coverage(line, other) >= CORRECTED for other in new) for line in lines)
    missing = len(lines) - corrected // 2  # which of two may still be a line that is gone
    allowed = max(LOSS_LINES, int(earlier * LOSS_SHARE))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {file} would go; at most {allowed} may")


def _stated(line: str) -> str:
    """Return the statement of a line, without its bullet and its date."""
    return without_said_on(without_bullet(line).strip()).strip()


def review(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Hold every edit if the settings say so (review = hold)."""
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None


# Helpers of several guards.


def _fact(line: str) -> str:
    """Return a line without the source and the date at its end."""
    return without_mark(without_said_on(line)).rstrip()


GUARDS: tuple[Guard, ...] = (
    rejected_fact,
    restored,
    kept_line,
    older,
    markup_flaw,
    person_line,
    rule_source,
    third_party,
    command,
    reader,
    unfounded,
    loss,
    review,
)


def check(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge an edit; None lets it pass.

    A refusal comes before a hold: an edit that must never be written needs no review.
    """
    return next((verdict for guard in GUARDS if (verdict := guard(case, protected, settings))), None)
