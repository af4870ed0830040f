"""The JSON that programs read. The shapes are promised; a field may be added, none renamed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dream.actions.restore import Restored
    from dream.actions.status import Health
    from dream.actions.why import Reason
    from dream.demo import Played
    from dream.estimate import Estimate
    from dream.models import BatchReport, ConsolidateReport, Diagnostic, Outcome, Proposal, RunReport, Usage
    from dream.nights.nightly import NightReport
    from dream.settings import Settings
    from dream.versions.store import Change, Shown
    from dream.workspace.runs import RunRecord


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


def estimated(found: Estimate, settings: Settings) -> Shape:
    """Shape what a run would cost."""
    return {
        "model": ", ".join(dict.fromkeys((settings.model_for("phase1"), settings.model_for("phase2")))),
        "dreams": found.dreams,
        "entries": list(found.entries) if found.entries else None,
        "least": usage(found.least),
        "likely": usage(found.likely),
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


def reason(one: Reason) -> Shape:
    """Shape where a line of memory comes from."""
    return {
        "file": one.origin.file,
        "line": one.origin.line,
        "changes": [
            {"sha": made.sha, "time": made.time.isoformat(), "kind": made.kind, "subject": made.subject}
            for made in one.changes
        ],
        "findings": list(one.origin.findings),
        "entries": [
            {
                "cursor": source.entry.cursor,
                "time": source.entry.when.isoformat(),
                "kind": source.entry.kind,
                "session": source.entry.session,
                "span": list(source.entry.span) if source.entry.span else None,
                "said": list(source.said),
            }
            for source in one.sources
        ],
    }


def restored(done: Restored, *, dry_run: bool) -> Shape:
    """Shape what a restore did, or would do."""
    return {
        "commit": done.sha,
        "restored": done.change.sha,
        "mode": done.mode,
        "dry_run": dry_run,
        "files": {path: {"added": count.added, "removed": count.removed} for path, count in done.diff.files.items()},
        "diff": done.diff.text,
        "kept": [one.sha for one in done.kept],
        "forgotten": [{"file": fact.file, "text": fact.text} for fact in done.forgotten],
        "held": list(done.held),
        "hand": done.hand,
        "reason": done.reason,
    }


def proposal(waiting: Proposal) -> Shape:
    """Shape an edit that waits for a person."""
    return {
        "id": waiting.id,
        "time": waiting.at.isoformat(),
        "file": waiting.file,
        "old_text": waiting.old_text,
        "new_text": waiting.new_text,
        "guard": waiting.guard,
        "reason": waiting.reason,
        "findings": list(waiting.findings),
        "entries": list(waiting.entries),
    }


def night(report: NightReport) -> Shape:
    """Shape a whole night."""
    return ran(report.run) | {
        "consolidated": consolidated(report.consolidated) if report.consolidated else None,
        "usage": usage(report.usage),
        "problems": list(report.problems),
    }


def record(done: RunRecord) -> Shape:
    """Shape one line of the run record."""
    return {
        "started": done.started.isoformat(),
        "ended": done.ended.isoformat(),
        "command": done.command,
        "outcome": done.outcome,
        "reason": done.reason,
        "entries": list(done.entries) if done.entries else None,
        "findings": dict(done.findings),
        "usage": usage(done.usage),
        "commits": list(done.commits),
        "model": done.model,
    }


def health(found: Health, workspace: str) -> Shape:
    """Shape how a workspace stands."""
    return {
        "workspace": workspace,
        "model": found.model,
        "history": {"entries": found.entries, "tokens": found.history_tokens, "last_cursor": found.last_cursor},
        "dream_cursor": found.dream_cursor,
        "backlog": {"entries": found.backlog_entries, "tokens": found.backlog_tokens},
        "files": {
            path: {
                "lines": size.lines,
                "bytes": size.bytes,
                "tokens": size.tokens,
                "max_lines": size.max_lines,
                "max_bytes": size.max_bytes,
            }
            for path, size in found.files.items()
        },
        "pending": found.pending,
        "spent": {
            "today_tokens": found.today.input_tokens + found.today.output_tokens,
            "today_usd": found.today.cost_usd,
            "month_tokens": found.month.input_tokens + found.month.output_tokens,
            "month_usd": found.month.cost_usd,
        },
        "batches": found.batches,
        "last_run": record(found.runs[0]) if found.runs else None,
        "runs": [record(one) for one in found.runs],
        "next_run": found.next_run.isoformat() if found.next_run else None,
        "scheduled": list(found.scheduled),
        "problems": list(found.problems),
    }


def played(done: Played) -> Shape:
    """Shape what the demo did."""
    return {
        "workspace": str(done.workspace),
        "sessions": sum(one.consolidated.sessions for one in done.nights),
        "messages": sum(one.consolidated.messages for one in done.nights),
        "tokens": done.tokens,
        "nights": [
            {"time": one.at.isoformat(), "consolidated": consolidated(one.consolidated), "run": ran(one.run)}
            for one in done.nights
        ],
        "files": dict(done.files),
        "diff": done.diff,
    }
