"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from dream import provenance
from dream.models import Entry, Finding, MemoryFile, Rejected
from dream.phases import markup
from dream.phases.draft import Draft, Edit, added, gone
from dream.phases.instructing import instructs, normative
from dream.phases.markup import FlawName
from dream.phases.naming import Told
from dream.phases.similar import content_words, coverage, near_fact, same_fact
from dream.settings import Settings
from dream.wording import without_said_on

LATE = timedelta(days=1)  # between a talk and its entry: what is read sooner comes in the order of the talks
LONGEST_LINE = 600  # characters of a line of memory; a longer one is a text, not a fact
THEIRS = 0.6  # of a line's words that a line of others must hold
FOUNDED = 0.25  # of a line's words that its findings must hold
SUCCEEDS = 0.3  # of a kept line's words that what takes its place must hold
TAKES_PLACE = 0.5  # of a SOUL line's words that a rule in the user's words must hold to take its place
# Words of which an ordinary heading in SOUL.md is made; another one could be a rule itself.
_HEADING_WORDS = frozenset(
    """
    soul rules rule style tone manner manners behaviour behavior language communication format formatting answers
    preferences preference principles boundaries limits habits voice personality character identity values general
    code coding git tools tool working work workflow safety writing names how i the agent and of my
    灵魂 规则 风格 语气 语言 行为 偏好 沟通 格式 工作
    """.split()  # noqa: SIM905 - a list of words is read better than a list of strings
)

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
    """One edit before the guards: it turns the draft `now` into `then` to settle `findings`."""

    edit: Edit
    now: Draft
    then: Draft
    findings: tuple[Finding, ...]

    @property
    def cursors(self) -> frozenset[int]:
        """The entries that the edit rests on."""
        return frozenset(cursor for finding in self.findings for cursor in finding.entries)

    @property
    def added(self) -> list[str]:
        """The lines that the edit puts into its file."""
        return added(self.now.texts[self.edit.file], self.then.texts[self.edit.file])

    @property
    def gone(self) -> list[str]:
        """The lines that the edit takes out of its file."""
        return gone(self.now.texts[self.edit.file], self.then.texts[self.edit.file])


@dataclass(frozen=True, slots=True)
class Protected:
    """What the guards must know of the workspace.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts taken back, and lines to be kept. `said`: by cursor, the lines of its entry that are the user's
    own; `others`: those that only a tool's output or pasted text bears out; `told`: all of them, by who said
    them first. `late`: when it was said, of the entries that were written long after; `learnt` tells the same of what
    a line that stands in a file rests on.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    said: Mapping[int, Sequence[str]] = field(default_factory=dict)
    others: Mapping[int, Sequence[str]] = field(default_factory=dict)
    told: Mapping[int, Told] = field(default_factory=dict)
    late: Mapping[int, datetime] = field(default_factory=dict)
    learnt: Callable[[MemoryFile, str], datetime | None] = lambda file, line: None


Guard = Callable[[Case, Protected, Settings], Verdict | None]


def check(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge an edit; None lets it pass.

    A refusal comes before a hold: what must never be written need not wait for a person.
    """
    return next((verdict for guard in GUARDS if (verdict := guard(case, protected, settings))), None)


def late(entries: Iterable[Entry]) -> dict[int, datetime]:
    """Return, by cursor, when it was said, of the entries that were written more than LATE after that."""
    return {entry.cursor: entry.when for entry in entries if entry.at - entry.when > LATE}


def others(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that only a tool's output or pasted text bears out."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        lines = entry.content.split("\n")
        found[entry.cursor] = tuple(lines[number - 1] for number in entry.by_others if number <= len(lines))
    return found


def said(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that the user said: those found at consolidation, and all of a note."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        lines = entry.content.split("\n")
        numbers = range(1, len(lines) + 1) if entry.kind == "note" else entry.by_user
        found[entry.cursor] = tuple(lines[number - 1] for number in numbers if number <= len(lines))
    return found


def _rejected_fact(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
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
                    "held", "rejected-fact", f"much like what a person took back on {when}: {fact.text[:80]!r}"
                )
    return None


def _older(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What was said earlier neither takes away what was said later, nor adds what that corrects."""
    if not case.cursors or not case.cursors <= protected.late.keys():
        return None
    said = max(protected.late[cursor] for cursor in case.cursors)
    touched = [(case.edit.file, line) for line in case.gone if line.strip()]
    for file, line in [*touched, *_speaking_of(case.added, protected)]:
        later = protected.learnt(file, line)
        if later is not None and later > said:
            reason = f"it was said on {said:%Y-%m-%d}, and on {later:%Y-%m-%d} what stands there: {_shown(line)}"
            return Verdict("refused", "older", reason)
    return None


def _speaking_of(lines: Iterable[str], protected: Protected) -> Iterator[tuple[MemoryFile, str]]:
    """Yield the lines of the files that hold every word of one of `lines`: they say the same, or correct it."""
    for fact in (without_said_on(line) for line in lines if markup.heading(line) is None):
        for file, text in protected.before.items():
            yield from ((file, line) for line in text.splitlines() if coverage(fact, line) == 1.0)


def _kept_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person would not have removed goes only where a newer fact takes its place."""
    kept = [fact for fact in protected.rejected if fact.removal and fact.file == case.edit.file]
    new = " ".join(case.added)
    for line in case.gone if kept else ():
        for fact in kept:
            if same_fact(fact.text, line) and coverage(line, new) < SUCCEEDS:
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict("refused", "kept-line", f"a person decided on {when} to keep the line {_shown(line)}")
    return None


def _person_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    theirs = protected.person_lines.get(case.edit.file, frozenset())
    for line in case.gone:
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {_shown(line)}")
    return None


def _markup(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    urls = frozenset(
        found[0].rstrip(".,;:!?)") for line in _said(case, protected) for found in markup.URL.finditer(line)
    )
    fences = 0
    for line in case.added:
        if flaw := markup.flaw(line, urls):
            return Verdict("held", flaw.guard, flaw.reason)
        fences += line.lstrip().startswith(("```", "~~~"))
    if fences % 2:
        return Verdict("held", "section", "a code block that is opened and not closed would swallow what follows")
    return None


def _instruction(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Outside SOUL.md no line may tell an agent what to do, unless the user said it."""
    if case.edit.file == "SOUL.md":
        return None
    for line in case.added:
        if instructs(line) and not _by_user(line, case, protected):
            return Verdict(
                "held", "instruction", f"it instructs the agent, and the user did not say it: {_shown(line)}"
            )
    return None


def _third_party(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What only a tool's output or pasted text says is no fact about the user, and nothing that anybody must do."""
    if case.edit.file == "SOUL.md":
        return None
    cursors = sorted(case.cursors)
    theirs = [line for cursor in cursors for line in protected.others.get(cursor, ())]
    if case.edit.file == "USER.md":  # there it does not help that the agent repeats it
        theirs += [
            line for cursor in cursors if cursor in protected.told for line, _ in protected.told[cursor].secondhand
        ]
    for line in case.added if theirs else ():
        if not (case.edit.file == "USER.md" or normative(line)) or markup.heading(line) is not None:
            continue
        if any(coverage(line, other) >= THEIRS for other in theirs) and not _by_user(line, case, protected):
            return Verdict("held", "third-party", f"only a tool's output or pasted text says {_shown(line)}")
    return None


def _rule_source(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What becomes a rule in SOUL.md, or ends one, the user said themselves in a message of theirs."""
    if case.edit.file != "SOUL.md":
        return None
    for line in case.added:
        if not _is_plain_heading(line) and not _by_user(line, case, protected):
            return Verdict("held", "rule-source", f"no message of the user's says {_shown(line)}")
    new = " ".join(case.added)
    for line in case.gone:
        replaced = bool(case.added) and coverage(line, new) >= TAKES_PLACE
        if not replaced and not _taken_back(line, case, protected):
            return Verdict("held", "rule-source", f"no message of the user's takes back {_shown(line)}")
    return None


def _unfounded(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What is written stands in the findings that it settles, or in the lines that it changes."""
    basis = " ".join([*(finding.text for finding in case.findings), *case.gone])
    for line in case.added:
        if markup.heading(line) is None and content_words(line) and coverage(line, basis) < FOUNDED:
            return Verdict("refused", "unfounded", f"none of the findings named says {_shown(line)}")
    return None


def _loss(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    file = case.edit.file
    before = protected.before[file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    missing = len(gone(before, case.then.texts[file]))
    allowed = max(settings.max_loss_lines, int(earlier * settings.max_loss_ratio))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {file} would be gone, {allowed} may")


def _review(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None


GUARDS: tuple[Guard, ...] = (
    _rejected_fact,
    _kept_line,
    _older,
    _markup,
    _person_line,
    _rule_source,
    _instruction,
    _third_party,
    _unfounded,
    _loss,
    _review,
)


def _said(case: Case, protected: Protected) -> list[str]:
    return [line for cursor in sorted(case.cursors) for line in protected.said.get(cursor, ())]


def _by_user(line: str, case: Case, protected: Protected) -> bool:
    return provenance.covered(line, provenance.own_lines(_said(case, protected)))


def _taken_back(line: str, case: Case, protected: Protected) -> bool:
    return provenance.taken_back(line, provenance.own_lines(_said(case, protected)))


def _is_plain_heading(line: str) -> bool:
    text = markup.heading(line)
    return text is not None and set(text.casefold().replace("&", " ").split()) <= _HEADING_WORDS


def _shown(line: str) -> str:
    return repr(line.strip()[:80])
