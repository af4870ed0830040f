"""Print results for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dream.cli import output
from dream.text.safe import shortened, span
from dream.versions import STATE

if TYPE_CHECKING:
    from dream.actions.why import Evidence
    from dream.dreaming.estimate import Estimate
    from dream.models import Diagnostic, Outcome
    from dream.nights.nightly import NightReport
    from dream.reports import BatchReport, ConsolidateReport, LineCount, RunReport, Usage
    from dream.settings import Settings

SMALL = "embedded: the small default, which needs no key. For a better one: dream models"
QUOTED = 300  # characters of a message that something rests on
MOST_DIAGNOSTICS = 20  # shown of one command; the rest is counted
MARKS = {"applied": ("+", "green"), "present": ("=", None), "held": ("?", "yellow"), "refused": ("!", "red")}

# What an added and a removed row of a state file mean for a person.
MOVED = {
    "memory/.pending.jsonl": ("came to review", "left it"),
    "memory/.rejected.jsonl": ("will not be written again", "may be written again"),
}


def counted(number: int, what: str) -> str:
    """Write a number with its noun: `1 entry`, `2,000 entries`."""
    if number == 1:
        return f"1 {what}"
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {plural}"


def short(sha: str) -> str:
    """Return the first ten digits of a sha, unique far beyond 10,000 changes."""
    return sha[:10]


def changed(files: Mapping[str, LineCount]) -> str:
    """Write how many lines of which files changed: `USER.md +2 −1, SOUL.md +1 −0`."""
    return ", ".join(f"{path} +{count.added} −{count.removed}" for path, count in files.items())


def bill(used: Usage) -> str:
    """Write what calls cost, in one line."""
    if not used.calls:
        return "nothing"
    tokens = f"{used.input_tokens:,} tokens in, {used.output_tokens:,} out"
    return f"{counted(used.calls, 'call')}, {tokens}, {_money(used)}"


def price(used: Usage) -> str:
    """Write what calls cost in few words, for a list."""
    return f"{used.tokens:,} tokens, {_money(used)}"


def _money(used: Usage) -> str:
    return "price not known" if used.cost_usd is None else f"${used.cost_usd:.4f}" if used.cost_usd else "free"


def model_line(settings: Settings) -> str:
    """Return the names of the models; for the small default, that it is one, and the command for a better model."""
    names = settings.models_for()
    return SMALL if names == "embedded" else names


def consolidated(report: ConsolidateReport, *, quiet: bool = False) -> None:
    """Show what was read and appended; with `quiet`, only what is wrong."""
    diagnostics(report)
    if quiet:
        if report.failed:
            output.problem(report.reason)
        return
    if report.entries is None:
        _why(report if report.reason else replace(report, reason="nothing new: history holds all of it already"))
        return
    read = f"{counted(report.messages, 'message')} of {counted(report.sessions, 'session')}"
    output.say(f"Appended {span(report.entries)} to history from {read}.")
    if report.raw:
        said = "is kept as it was said" if report.raw == 1 else "are kept as they were said"
        output.say(f"{counted(report.raw, 'entry')} {said}: the model gave no usable summary.", colour="yellow")
    if report.usage.calls:
        output.say(f"Cost: {bill(report.usage)}.", dim=True)
    _why(report)


def _why(report: ConsolidateReport) -> None:
    """Print why it ended; a failure goes to stderr."""
    if report.failed:
        output.problem(report.reason)
    elif report.reason:
        output.say(output.sentence(report.reason))


def diagnostics(report: ConsolidateReport) -> None:
    """Print diagnostics of transcripts on stderr."""
    for found in report.diagnostics[:MOST_DIAGNOSTICS]:
        output.problem(_sentence(found))
    if len(report.diagnostics) > MOST_DIAGNOSTICS:
        output.problem(f"… and {len(report.diagnostics) - MOST_DIAGNOSTICS:,} more; --json lists all of them.")


def _sentence(found: Diagnostic) -> str:
    """Return a diagnostic as a sentence; one about messages names their session."""
    if not found.line and found.text.startswith("messages "):
        return f"in the session {found.file} {found.text}"
    return str(found)


def ran(report: RunReport, *, dry_run: bool = False) -> None:
    """Print why a run ended, and its cost; its dreams were printed before."""
    if report.reason:
        output.say(output.sentence(report.reason), bold=True, fold=True)
    if dry_run:
        files = dict.fromkeys(path for one in report.batches for path in one.files)
        would = f"would change {', '.join(files) if files else 'nothing'}"
        output.say(f"A run {would}. This was a dry run: nothing was written.", bold=True, fold=True)
    if report.usage.calls:
        output.say(f"Cost: {bill(report.usage)}. Model: {report.models}", dim=True, fold=True)


def estimated(found: Estimate) -> None:
    """Show what a run would cost."""
    if found.entries is None:
        output.say("Nothing: all of history has been dreamt.")
        return
    what = f"{counted(found.dreams, 'dream')} of {span(found.entries)}"
    output.say(f"{what} with {found.model}", bold=True, fold=True)
    output.say(f"at least  {bill(found.least)}: if they hold nothing new", fold=True)
    output.say(f"likely    {bill(found.likely)}: if memory changes as it usually does", fold=True)
    output.say("No model was called and nothing was changed.", dim=True)


def batch(report: BatchReport, *, dry_run: bool = False, verbose: bool = True) -> None:
    """Show one dream in a line, its commit and what it changed or would change; with `verbose` each finding too."""
    name = report.commit[:8] if report.commit else "dry run" if dry_run else "no commit"
    did = [changed(report.files), f"{report.held} held for review" if report.held else ""]
    found = f"{counted(len(report.outcomes), 'finding')} → " if report.outcomes else ""
    line = f"{name}  {span(report.entries)}  {found}{', '.join(filter(None, did)) or 'nothing to change'}"
    output.say(line, bold=verbose, fold=True, now=True)
    for settled in report.outcomes if verbose else ():
        finding(settled)
    for note in report.notes:
        output.say(f"  {note}", colour="yellow", fold=True)
    if report.diff:
        diff(report.diff)


def finding(settled: Outcome) -> None:
    """Show one finding and what became of it."""
    mark, colour = MARKS[settled.state]
    name = settled.finding.file.removeprefix("memory/").removesuffix(".md")
    if settled.finding.remove and settled.state == "applied":
        mark, colour = "−", "red"
    elif settled.finding.remove:
        name += " −"
    reason = f"  ({settled.reason})" if settled.reason else ""
    output.say(f"  {mark} [{name}] {settled.finding.text}{reason}", colour=colour, fold=True)


def diff(text: str) -> None:
    """Print a diff of memory; changes of state files are summed up in words."""
    for part in re.split(r"(?m)^(?=diff --git )", text):
        path = part.partition("\n")[0].rpartition(" b/")[2] if part.startswith("diff --git ") else ""
        if path in STATE:
            _state(path, part)
        else:
            _lines(part)


def _lines(part: str) -> None:
    for line in part.splitlines():
        head = line.startswith(("+++", "---", "diff ", "index ", "@@"))
        colour = "cyan" if head else {"+": "green", "-": "red"}.get(line[:1])
        output.say(line, colour=colour, fold=True)


def _state(path: str, part: str) -> None:
    """Print how many edits a change added to review, or how many facts to the rejected ones, and removed."""
    rows = part.partition("\n@@")[2].splitlines()
    for sign, what in zip("+-", MOVED.get(path, ()), strict=False):
        if count := sum(row.startswith(sign) for row in rows):
            output.say(f"{counted(count, 'edit' if 'pending' in path else 'line')} {what}", dim=True)


def night_line(report: NightReport) -> str:
    """Sum a night up in one line."""
    read, dreamt = report.consolidated, report.run
    parts = []
    if read is None:
        parts.append("no sources configured")
    elif read.entries:
        parts.append(f"read {counted(read.messages, 'message')} of {counted(read.sessions, 'session')}")
    else:
        parts.append(read.reason or "nothing new to read")
    commits = [batch for batch in dreamt.batches if batch.commit]
    if commits:
        added = sum(count.added for batch in commits for count in batch.files.values())
        removed = sum(count.removed for batch in commits for count in batch.files.values())
        parts.append(f"{counted(len(commits), 'dream')}, +{added} −{removed} lines")
    if dreamt.reason:
        parts.append(("failed: " if dreamt.outcome == "failed" else "") + dreamt.reason)
    parts.append(bill(report.usage) if report.usage.calls else "no model was called")
    return "; ".join(part.rstrip(".") for part in parts) + "."


def night(report: NightReport, *, quiet: bool = False) -> None:
    """Print a night in one line, and problems and failed nights on stderr; with `quiet`, only these."""
    if report.consolidated:
        diagnostics(report.consolidated)
    for problem in report.problems:
        output.problem(problem)
    if report.consolidated and report.consolidated.failed and report.consolidated.entries:
        output.problem(report.consolidated.reason)  # the line says what was read
    if report.run.outcome == "failed":
        output.problem(night_line(report))
    elif not quiet:
        output.say(night_line(report), fold=True)


def evidence(said: Evidence) -> None:
    """Print what was said, then where; `--json` has the positions of the messages."""
    from dream.models import IMPORT

    for row in said.said:
        output.say(f"    {row}", fold=True)
    note = "noted by an agent" if said.by_agent else "noted directly"
    if (said.session or "").startswith(f"{IMPORT}:"):
        note = f"imported from {(said.session or '').split(':', 2)[2]}"
    told = note if said.kind == "note" else f"said in {said.session.partition(':')[0]}" if said.session else "said"
    output.say(f"      {told}, {said.time.astimezone():%Y-%m-%d %H:%M} (history:{said.cursor})", dim=True)
    for one in said.messages:
        shown = shortened(" ".join(one.text.split()), QUOTED)
        cite = f"  [{one.cite}]" if one.rests else ""  # its neighbours are found by `dream get CITE --around 1`
        output.say(f"      {'▸' if one.rests else ' '} {one.speaker}: {shown}{cite}", fold=True, dim=not one.rests)
