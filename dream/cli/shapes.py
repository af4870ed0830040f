"""The JSON that programs read. The shapes are promised; a field may be added, none renamed. Pure."""

from __future__ import annotations

from dream.models import Diagnostic, Outcome, Usage
from dream.reports import BatchReport, ConsolidateReport, RunReport
from dream.store.gitstore import Change, Shown

Shape = dict[str, object]


def usage(used: Usage) -> Shape:
    """Shape what model calls cost; `cost_usd` is null where the price is not known."""
    return {
        "calls": used.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost_usd": used.cost_usd,
        "cached_tokens": used.cached_tokens,
    }


def outcome(settled: Outcome) -> Shape:
    """Shape one finding and what became of it."""
    finding = settled.finding
    return {
        "file": finding.file,
        "text": finding.text,
        "entries": list(finding.entries),
        "remove": finding.remove,
        "state": settled.state,
        "reason": settled.reason,
    }


def batch(report: BatchReport) -> Shape:
    """Shape one dream."""
    shape: Shape = {
        "commit": report.commit,
        "entries": list(report.entries),
        "findings": [outcome(settled) for settled in report.outcomes],
        "files": {path: {"added": added, "removed": removed} for path, (added, removed) in report.files.items()},
        "usage": usage(report.usage),
        "set_aside": report.set_aside,
        "notes": list(report.notes),
    }
    return shape | ({"diff": report.diff} if report.diff else {})


def ran(report: RunReport) -> Shape:
    """Shape a whole run."""
    return {
        "outcome": report.outcome,
        "batches": [batch(one) for one in report.batches],
        "reason": report.reason,
        "usage": usage(report.usage),
    }


def diagnostic(found: Diagnostic) -> Shape:
    """Shape something that could not be used as it stood."""
    return {"file": found.file, "line": found.line, "text": found.text}


def consolidated(report: ConsolidateReport) -> Shape:
    """Shape what was read and appended."""
    return {
        "sessions": report.sessions,
        "messages": report.messages,
        "entries": list(report.entries) if report.entries else None,
        "raw": report.raw,
        "usage": usage(report.usage),
        "diagnostics": [diagnostic(found) for found in report.diagnostics],
        "reason": report.reason,
    }


def change(made: Change) -> Shape:
    """Shape one commit of ours."""
    return {
        "sha": made.sha,
        "time": made.time.isoformat(),
        "kind": made.kind,
        "subject": made.subject,
        "entries": list(made.entries) if made.entries else None,
        "files": {path: {"added": count.added, "removed": count.removed} for path, count in made.files.items()},
        "model": made.model,
        "usage": usage(made.usage) if made.usage else None,
    }


def shown(one: Shown) -> Shape:
    """Shape one commit in full."""
    return change(one.change) | {"body": one.body, "diff": one.diff}
