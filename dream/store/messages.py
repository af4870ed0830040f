"""The message of a commit: written from the diff, and read back. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dream.models import Outcome, Usage
from dream.store.gitdiff import LineCount
from dream.store.gitobjects import is_memory
from dream.wording import without_said_on

ChangeKind = Literal["dream", "hand", "restore", "init"]
KINDS: tuple[ChangeKind, ...] = ("dream", "hand", "restore", "init")

# Control characters but tab and newline; bidi controls; invisible and line-separating characters; surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPAN = re.compile(r"([0-9]+)-([0-9]+)")
SUBJECT_CHARS = 48  # of a finding in a subject: with the rest of it, what `git log --oneline` shows of a line
FORGOTTEN = "[forgotten]"
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_USER = re.compile(r"(?:the )?user (?=\w)", re.IGNORECASE)
_SHORT_OF_FINDING = re.compile(r"\A(dream: ).*?((?:; \+\d+ more)?(?: \(entries \d+–\d+\).*)?)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Moved:
    """Lines that left a memory file for an archive, because it was over its budget."""

    file: str
    archive: str
    lines: tuple[str, ...]


def subject(
    kind: ChangeKind,
    files: Mapping[str, LineCount],
    entries: tuple[int, int] | None = None,
    note: str = "",
    outcomes: Sequence[Outcome] = (),
) -> str:
    """Say what a commit does: `dream: moved to Lisbon; +3 more (entries 41–60)`.

    The words are those of the first finding that was applied, rules of SOUL.md before all else. A commit without one
    tells the figures of its diff, `hand: 2 files, +5 −1`; of these only text that a person reads is counted.
    """
    span = f" (entries {entries[0]}–{entries[1]})" if entries else ""
    return f"{kind}: {_applied(outcomes) or _figures(files)}{span}{' ' + clean_line(note) if note else ''}"


def _applied(outcomes: Sequence[Outcome]) -> str:
    """Name what was applied in a few words; "" where nothing was. What was added goes before what was removed."""
    applied = [outcome.finding for outcome in outcomes if outcome.state == "applied"]
    told = [finding for finding in applied if not finding.remove] or applied
    if not told:
        return ""
    first = min(told, key=lambda finding: finding.file != "SOUL.md")  # the first of them
    words = _in_short(first.text)
    if not words:
        return ""
    more = f"; +{len(told) - 1} more" if len(told) > 1 else ""
    return f"{'removed: ' if first.remove else ''}{words}{more}"


def _in_short(text: str) -> str:
    """Return the first words of a statement, without its quotation marks, brackets and day."""
    plain = without_said_on(clean_line(_BRACKETS.sub(" ", text)))
    plain = _USER.sub("", " ".join(plain.split()).strip('"“”„«»「」 .;,'))
    if len(plain) <= SUBJECT_CHARS:
        return plain
    cut = plain[:SUBJECT_CHARS]
    return (cut.rpartition(" ")[0] if " " in cut[SUBJECT_CHARS // 2 :] else cut).rstrip(" ,;:.") + "…"


def _figures(files: Mapping[str, LineCount]) -> str:
    counts = [count for path, count in files.items() if is_memory(path)]
    added, removed = sum(count.added for count in counts), sum(count.removed for count in counts)
    return f"{len(counts)} file{'' if len(counts) == 1 else 's'}, +{added} −{removed}" if counts else "no file changed"


def forgotten(text: str) -> str:
    """Return a message whose findings were scrubbed, with no word of a finding in its subject."""
    return _SHORT_OF_FINDING.sub(rf"\1{FORGOTTEN}\2", text, count=1)


def build(  # noqa: PLR0913 - a message has as many parts
    kind: ChangeKind,
    files: Mapping[str, LineCount],
    *,
    entries: tuple[int, int] | None = None,
    outcomes: Sequence[Outcome] = (),
    model: str | None = None,
    usage: Usage | None = None,
    note: str = "",
    moved: Sequence[Moved] = (),
    trailers: Mapping[str, str] | None = None,
) -> str:
    """Build a whole message: subject, the findings as a labelled part, what moved out of memory, trailers.

    The text of a finding is the model's: in the body it stands indented, so that it can be no trailer, and of the
    subject it is only the middle.
    """
    parts = [subject(kind, files, entries, note, outcomes)]
    if outcomes:
        parts.append("\n".join(["Findings:", *map(_finding, outcomes)]))
    for one in moved:
        head = f"Moved from {one.file} to {one.archive}, for it was over its budget:"
        parts.append("\n".join([head, *(f"    {clean_line(line)}" for line in one.lines)]))
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
