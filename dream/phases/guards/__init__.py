"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit.
"""

from __future__ import annotations

from dream.phases.guards import form, person, source
from dream.phases.guards.case import Case, Guard, Protected, Verdict
from dream.settings import Settings

GUARDS: tuple[Guard, ...] = (
    person.rejected_fact,
    person.kept_line,
    source.older,
    form.markup_flaw,
    person.person_line,
    source.rule_source,
    source.instruction,
    source.third_party,
    form.unfounded,
    form.loss,
    person.review,
)


def check(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge an edit; None lets it pass.

    A refusal comes before a hold: what must never be written need not wait for a person.
    """
    return next((verdict for guard in GUARDS if (verdict := guard(case, protected, settings))), None)


__all__ = ["GUARDS", "Case", "Protected", "Verdict", "check"]
