"""What a person decided stays so: facts taken back, lines kept, lines they wrote; and what they want to see first."""

from __future__ import annotations

from dream.phases.guards.case import Case, Protected, Verdict, shown
from dream.phases.similar import coverage, near_fact, same_fact
from dream.settings import Settings

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
                    "held", "rejected-fact", f"much like what a person took back on {when}: {fact.text[:80]!r}"
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
                return Verdict("refused", "kept-line", f"a person decided on {when} to keep the line {shown(line)}")
    return None


def person_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person wrote is not changed or removed unattended."""
    theirs = protected.person_lines.get(case.edit.file, frozenset())
    for line in case.gone:
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {shown(line)}")
    return None


def review(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written unseen where the settings say that every edit waits."""
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None
