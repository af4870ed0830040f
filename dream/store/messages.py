"""The message of a commit: written from the diff, and read back. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from dream.models import Outcome, Usage
from dream.store.gitdiff import LineCount
from dream.store.gitobjects import is_memory

ChangeKind = Literal["dream", "hand", "restore", "init"]
KINDS: tuple[ChangeKind, ...] = ("dream", "hand", "restore", "init")

# Control characters but tab and newline; bidi controls; invisible and line-separating characters; surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPAN = re.compile(r"([0-9]+)-([0-9]+)")


def subject(
    kind: ChangeKind, files: Mapping[str, LineCount], entries: tuple[int, int] | None = None, note: str = ""
) -> str:
    """Say what a commit does, from the figures of its diff: `dream: 2 files, +5 −1 (entries 41–60)`.

    Only text that a person reads is counted; the cursor and the review queue travel along unmentioned.
    """
    counts = [count for path, count in files.items() if is_memory(path)]
    added, removed = sum(count.added for count in counts), sum(count.removed for count in counts)
    what = f"{len(counts)} file{'' if len(counts) == 1 else 's'}, +{added} −{removed}" if counts else "no file changed"
    span = f" (entries {entries[0]}–{entries[1]})" if entries else ""
    return f"{kind}: {what}{span}{' ' + clean_line(note) if note else ''}"


def build(
    kind: ChangeKind,
    files: Mapping[str, LineCount],
    *,
    entries: tuple[int, int] | None = None,
    outcomes: Iterable[Outcome] = (),
    model: str | None = None,
    usage: Usage | None = None,
    note: str = "",
    trailers: Mapping[str, str] | None = None,
) -> str:
    """Build a whole message: subject, the findings as a labelled part, trailers.

    The text of a finding is the model's: it stands indented, so it can be neither a subject nor a trailer.
    """
    findings = [_finding(outcome) for outcome in outcomes]
    parts = [subject(kind, files, entries, note)]
    if findings:
        parts.append("\n".join(["Findings:", *findings]))
    named: dict[str, str] = {"Dream-Kind": kind}
    if entries:
        named["Dream-Entries"] = f"{entries[0]}-{entries[1]}"
    if model:
        named["Dream-Model"] = model
    if usage:
        named["Dream-Usage"] = _usage(usage)
    named |= trailers or {}
    parts.append("\n".join(f"{name}: {clean_line(value)}" for name, value in named.items()))
    return "\n\n".join(parts) + "\n"


def clean_line(text: str) -> str:
    """Return `text` as one line without control, bidi or invisible characters."""
    return " ".join(_UNSAFE.sub(" ", text).split())


def parse_entries(text: str) -> tuple[int, int] | None:
    """Read the value of a `Dream-Entries` trailer."""
    found = _SPAN.fullmatch(text.strip())
    return (int(found[1]), int(found[2])) if found else None


def parse_usage(text: str) -> Usage | None:
    """Read the value of a `Dream-Usage` trailer; None where it is not one."""
    words = dict(word.partition("=")[::2] for word in text.split())
    try:
        cost = float(words["cost_usd"]) if words.get("cost_usd", "unknown") != "unknown" else None
        numbers = (int(words["calls"]), int(words["input_tokens"]), int(words["output_tokens"]))
        return Usage(*numbers, cost, int(words.get("cached_tokens", "0")))
    except (KeyError, ValueError):
        return None


def _finding(outcome: Outcome) -> str:
    finding = outcome.finding
    tag = finding.file.removeprefix("memory/").removesuffix(".md") + ("-REMOVE" if finding.remove else "")
    cursors = ",".join(str(cursor) for cursor in finding.entries)
    reason = f" ({clean_line(outcome.reason)})" if outcome.reason else ""
    return f"    {outcome.state}{reason}: [{tag}] {clean_line(finding.text)} {{{cursors}}}"


def _usage(usage: Usage) -> str:
    cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.6f}"
    words = f"calls={usage.calls} input_tokens={usage.input_tokens} output_tokens={usage.output_tokens}"
    return f"{words} cached_tokens={usage.cached_tokens} cost_usd={cost}"
