"""The form and the measure of an edit: no markup that could mislead, nothing its findings don't say, no great loss."""

from __future__ import annotations

from dream.phases import markup
from dream.phases.draft import gone
from dream.phases.guards.case import Case, Protected, Verdict, said_for, shown
from dream.phases.similar import content_words, coverage
from dream.settings import Settings

FOUNDED = 0.25  # of a line's words that its findings must hold


def markup_flaw(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written that a reader does not see, that leads elsewhere, or that swallows what follows."""
    urls = frozenset(
        found[0].rstrip(".,;:!?)") for line in said_for(case, protected) for found in markup.URL.finditer(line)
    )
    fences = 0
    for line in case.added:
        if flaw := markup.flaw(line, urls):
            return Verdict("held", flaw.guard, flaw.reason)
        fences += line.lstrip().startswith(("```", "~~~"))
    if fences % 2:
        return Verdict("held", "section", "a code block that is opened and not closed would swallow what follows")
    return None


def unfounded(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What is written stands in the findings that it settles, or in the lines that it changes."""
    basis = " ".join([*(finding.text for finding in case.findings), *case.gone, *said_for(case, protected)])
    for line in case.added:
        if markup.heading(line) is None and content_words(line) and coverage(line, basis) < FOUNDED:
            return Verdict("refused", "unfounded", f"none of the findings named says {shown(line)}")
    return None


def loss(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """One dream takes no more of a file's earlier lines than the settings allow."""
    file = case.edit.file
    before = protected.before[file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    missing = len(gone(before, case.then.texts[file]))
    allowed = max(settings.max_loss_lines, int(earlier * settings.max_loss_ratio))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {file} would be gone, {allowed} may")
