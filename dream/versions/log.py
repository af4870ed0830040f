"""The list of changes, one git process for all of it or for a single one; and the messages that commits carry.

A message is written from what was applied, never by the model, and read back here.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from dream.errors import UnknownRevision
from dream.memory import like, tag
from dream.reports import FLAT, LineCount, Usage
from dream.text.safe import shortened, span
from dream.versions import is_memory
from dream.versions.diff import PLAIN, parse_numstat, split
from dream.versions.git import Git

if TYPE_CHECKING:
    from dream.models import Outcome

ChangeKind = Literal["dream", "hand", "restore", "init", "sync"]
KINDS: tuple[ChangeKind, ...] = ("dream", "hand", "restore", "init", "sync")
PAGE = 64  # changes read in full at a time
SUBJECT_CHARS = 48  # characters of a finding in a subject, so that the subject fits a line of `git log --oneline`
FORGOTTEN = "[forgotten]"
TIDY = "tidy"  # the note of a dream that took in no entries, and only kept up what is there

BATCH = "Dream-Batch"  # the trailer of what one run, or one import, committed
_TRAILERS = ("Dream-Kind", "Dream-Entries", "Dream-Model", "Dream-Usage", BATCH)
_FIELDS = ["%H", "%P", "%cI", "%s", *(f"%(trailers:key={name},valueonly,separator=%x1d)" for name in _TRAILERS)]
_FORMAT = "--format=%x1e" + "%x1f".join(_FIELDS) + "%x1f"
_WHOLE = ("-z", f"{_FORMAT}%B%x1f", "--numstat", "--patch", *PLAIN)
_RECORD = re.compile(rb"\x1e(?=[0-9a-f]{40}\x1f)")
# Ours carry the trailer; those of nanobot, from before a workspace was adopted, have only their subject.
_OURS = (
    "--extended-regexp",
    f"--grep=^Dream-Kind: ({'|'.join(KINDS)})$",
    "--grep=^dream: ",
    "--grep=^revert: undo [0-9a-f]{4,40}$",
)
_UNDONE = re.compile(r"revert: undo [0-9a-f]{4,40}$", re.MULTILINE)

# Control characters but tab and newline; bidi controls; invisible and line-separating characters; surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPAN = re.compile(r"([0-9]+)-([0-9]+)")
_BRACKETS = re.compile(r"\s*\[[^\[\]]*\]")
_USER = re.compile(r"(?:the )?user (?=\w)", re.IGNORECASE)
_SHORT_OF_FINDING = re.compile(
    r"\A(dream: (?:tidy: )?(?:(?:[\d,]+ lines?(?: removed)?(?: from [\d,]+ sessions?)?): )?).*?"
    r"((?:; \+\d+ more)?(?: \((?:entries \d+–|entry )\d+\).*)?)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Change:
    """One commit that dream made.

    `files` counts lines of the files that a person reads, by path; `entries` are the first and last cursor dreamt.
    `parent` is None for the very first commit. `batch` is the id of the run or the import that made it, or,
    of a restore, of what it took back.
    """

    sha: str
    time: datetime
    kind: ChangeKind
    subject: str
    entries: tuple[int, int] | None
    files: Mapping[str, LineCount]
    parent: str | None
    model: str | None = None
    usage: Usage | None = None
    batch: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """One change in full: its message without the trailers, and its diff."""

    change: Change = field(metadata=FLAT)
    body: str
    diff: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Lines that left a memory file for an archive, because it was over its budget."""

    file: str
    archive: str
    lines: tuple[str, ...]


def new_batch() -> str:
    """Return a new id for the commits of one run, or of one import."""
    return f"b-{secrets.token_hex(4)}"


def log(
    git: Git,
    limit: int | None = None,
    after: str | None = None,
    kind: ChangeKind | None = None,
    batch: str = "",
    until: str = "HEAD",
) -> list[Change]:
    """List the changes, newest first: at most `limit`, after one commit and `until` another, of one kind or batch."""
    if limit is not None and limit <= 0:
        return []
    bound = [f"--max-count={limit}"] if limit is not None else []
    revisions = [until, *([f"^{after}"] if after else [])]
    marks = _OURS if kind is None else (f"--grep=^Dream-Kind: {kind}$",)
    marks = (f"--grep=^{BATCH}: {batch}$",) if batch else marks
    arguments = ["log", "-z", _FORMAT, "--numstat", *PLAIN, *marks, *bound, "--end-of-options", *revisions]
    changes = _changes(git.run(*arguments, "--"))
    found = [change for change in changes if change is not None and kind in (None, change.kind)]
    return [change for change in found if not batch or change.batch == batch]


def show(git: Git, sha: str) -> Shown:
    """Read one change. `sha` is a full one of a commit of ours."""
    shown = _shown(git.run("show", *_WHOLE, "--end-of-options", sha, "--"))
    if shown is None:
        raise UnknownRevision(f"{sha[:12]} was not made by dream; `dream log` lists what was.")
    return shown


def each(git: Git, revision: str = "HEAD") -> Iterator[Shown]:
    """Yield every change in full, newest first from `revision` on; read by the page, as far as somebody asks."""
    skip = 0
    while True:
        printed = git.run("log", *_WHOLE, f"--max-count={PAGE}", f"--skip={skip}", "--end-of-options", revision, "--")
        records = _RECORD.split(printed)[1:]
        for record in records:
            shown = _shown(record)
            if shown is not None:
                yield shown
        if len(records) < PAGE:
            return
        skip += PAGE


def patches(git: Git, path: str) -> bytes:
    """Return every change of `path` in the history of HEAD, as patches without context, newest first."""
    return git.run("log", "--format=", "--patch", "--unified=0", "-m", "--first-parent", *PLAIN, "HEAD", "--", path)


def resolve(git: Git, prefix: str) -> str:
    """Return the whole sha of the one change that `prefix` names, or raise UnknownRevision with the rule it broke."""
    wanted = prefix.strip()
    if back := re.fullmatch(r"(?:HEAD|@)(?:~(\d{1,6}))?", wanted):
        return _newest(git, int(back[1] or 0))
    if not re.fullmatch(r"[0-9a-f]+", wanted):
        raise UnknownRevision(f"{prefix!r} is not a sha: only the digits 0-9 and a-f; `dream log` lists them.")
    if not 4 <= len(wanted) <= 40:
        raise UnknownRevision(f"{wanted!r} has {len(wanted)} characters; a sha is named by at least 4, at most 40.")
    ours = [sha for sha in _commits_of_ours(git, wanted) if git.is_ancestor(sha)]
    if len(ours) > 1:
        candidates = ", ".join(sha[: len(wanted) + 4] for sha in sorted(ours))
        raise UnknownRevision(f"{wanted!r} names {len(ours)} changes ({candidates}); give more characters.")
    if not ours:
        raise UnknownRevision(f"{wanted!r} names no change that dream made; `dream log` lists those.")
    return ours[0]


def kind_of(subject: str, trailer: str) -> ChangeKind | None:
    """Return which kind of change a commit is, or None for one that is not dream's."""
    for kind in KINDS:
        if trailer == kind:
            return kind
    if trailer:
        return None
    return "dream" if subject.startswith("dream: ") else "restore" if _UNDONE.match(subject) else None


# Messages: written from what was applied, and read back.


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
    sessions: int = 0,
    gave_way: Sequence[str] = (),
) -> str:
    """Build a whole message: subject, the findings as a labelled part, what moved out of memory, trailers.

    The text of a finding is the model's: in the body it stands indented, so that it can be no trailer, and of the
    subject it is only the middle.
    """
    parts = [subject(kind, files, entries, note, outcomes, sessions)]
    if outcomes:
        parts.append("\n".join(["Findings:", *map(_finding, outcomes)]))
    for one in moved:
        head = f"Moved from {one.file} to {one.archive}, for it was over its budget:"
        parts.append("\n".join([head, *(f"    {clean_line(line)}" for line in one.lines)]))
    if gave_way:
        parts.append(
            "\n".join(
                ["Gave way to a later statement, or to a person's:", *(f"    {clean_line(line)}" for line in gave_way)]
            )
        )
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


def forgotten(text: str) -> str:
    """Return a message with scrubbed findings without the words of findings in its subject."""
    return _SHORT_OF_FINDING.sub(rf"\1{FORGOTTEN}\2", text, count=1)


def clean_line(text: str) -> str:
    """Return `text` as one line without control, bidi or invisible characters."""
    return " ".join(_UNSAFE.sub(" ", text).split())


def subject(
    kind: ChangeKind,
    files: Mapping[str, LineCount],
    entries: tuple[int, int] | None = None,
    note: str = "",
    outcomes: Sequence[Outcome] = (),
    sessions: int = 0,
) -> str:
    """Return what a commit does: `dream: 5 lines from 2 sessions: Lisbon, Dramatiq, … (entries 41–60)`.

    Counted are the findings that were applied, and named what they are about, rules of SOUL.md before all else. A
    commit without one tells the figures of its diff, `hand: 2 files, +5 −1`; of these only text that a person reads
    is counted.
    """
    applied = _applied(outcomes, sessions) or _figures(files)
    if note == TIDY:
        return f"{kind}: {TIDY}: {applied}"
    which = f" ({span(entries)})" if entries else ""
    return f"{kind}: {applied}{which}{' ' + clean_line(note) if note else ''}"


def _applied(outcomes: Sequence[Outcome], sessions: int) -> str:
    """Say how much was applied and what it is about; "" where nothing was. What was added goes before what went."""
    from dream.text.topics import topics  # its tables take as long to load as all else of a short look

    applied = [outcome.finding for outcome in outcomes if outcome.state == "applied"]
    told = [finding for finding in applied if not finding.remove] or applied
    if not told:
        return ""
    told.sort(key=lambda finding: like(finding.file) != "SOUL.md")
    plain = [_plain(finding.text) for finding in told]
    about = ", ".join(topics(plain)) if len(told) > 1 else ""
    lines = f"{len(told):,} line{'s' * (len(told) > 1)}{' removed' if told[0].remove else ''}"
    whence = f" from {sessions:,} session{'s' * (sessions > 1)}" if sessions else ""
    about = shortened(about or plain[0], SUBJECT_CHARS)
    return f"{lines}{whence}{': ' + about if about else ''}"


def _plain(text: str) -> str:
    """Return a statement without its quotation marks, brackets and day."""
    from dream.text.words import without_said_on

    plain = without_said_on(clean_line(_BRACKETS.sub("", text)))
    return _USER.sub("", " ".join(plain.split()).strip('"“”„«»「」 .;,'))


def _figures(files: Mapping[str, LineCount]) -> str:
    counts = [count for path, count in files.items() if is_memory(path)]
    added, removed = sum(count.added for count in counts), sum(count.removed for count in counts)
    return f"{len(counts)} file{'' if len(counts) == 1 else 's'}, +{added} −{removed}" if counts else "no file changed"


def _finding(outcome: Outcome) -> str:
    finding = outcome.finding
    named = tag(finding.file) + ("-REMOVE" if finding.remove else "")
    cursors = ",".join(str(cursor) for cursor in finding.entries)
    reason = f" ({clean_line(outcome.reason)})" if outcome.reason else ""
    return f"    {outcome.state}{reason}: [{named}] {clean_line(finding.text)} {{{cursors}}}"


def _usage(usage: Usage) -> str:
    cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.6f}"
    words = f"calls={usage.calls} input_tokens={usage.input_tokens} output_tokens={usage.output_tokens}"
    return f"{words} cached_tokens={usage.cached_tokens} cost_usd={cost}"


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


# What git prints, taken apart.


def _newest(git: Git, back: int) -> str:
    """Return the sha of the change that is `back` changes before the newest; raises UnknownRevision."""
    changes = log(git, back + 1)
    if len(changes) <= back:
        raise UnknownRevision(f"There are {len(changes)} changes, so none lies {back} before the newest.")
    return changes[back].sha


def _shown(printed: bytes) -> Shown | None:
    header, _, rest = printed.partition(b"\x1f\0")
    fields = header.decode("utf-8", "replace").removeprefix("\x1e").split("\x1f")
    diff = split(rest.lstrip(b"\n\0").rstrip(b"\0"))
    change = _change(fields[:-1], diff.files)
    return None if change is None else Shown(change, _without_trailers(fields[-1]), diff.text)


def _changes(printed: bytes) -> Iterator[Change | None]:
    for record in printed.split(b"\x1e")[1:]:
        header, _, numstat = record.rpartition(b"\x1f")
        yield _change(header.decode("utf-8", "replace").split("\x1f"), parse_numstat(numstat.lstrip(b"\0\n")))


def _change(fields: list[str], files: Mapping[str, LineCount]) -> Change | None:
    sha, parents, time, subject, trailer, entries, model, usage, batch = fields
    kind = kind_of(subject, trailer)
    if kind is None:
        return None
    return Change(
        sha=sha,
        time=datetime.fromisoformat(time).astimezone(UTC),
        kind=kind,
        subject=subject,
        entries=parse_entries(entries),
        files={path: count for path, count in files.items() if is_memory(path)},
        parent=parents.split(" ")[0] or None,
        model=model or None,
        usage=parse_usage(usage),
        batch=batch,
    )


def _commits_of_ours(git: Git, prefix: str) -> list[str]:
    """Return those of the objects whose name begins with `prefix` that are commits with our mark."""
    with git.reading() as objects:
        found = objects.get(f"{prefix}^{{commit}}")
        if found is not None and found[0].startswith(prefix):  # the only commit of that name; it is no branch's
            return [found[0]] if _is_ours(found[2]) else []
        ours = []
        for name in git.run("rev-parse", f"--disambiguate={prefix}").decode().split():
            found = objects.get(name)
            if found is not None and found[1] == "commit" and _is_ours(found[2]):
                ours.append(name)
        return ours


def _is_ours(commit: bytes) -> bool:
    message = commit.partition(b"\n\n")[2].decode("utf-8", "replace")
    return kind_of(message, _trailer(message, "Dream-Kind")) is not None


def _trailer(message: str, name: str) -> str:
    last = message.rstrip("\n").rpartition("\n\n")[2].split("\n")
    return next((line.removeprefix(f"{name}: ") for line in last if line.startswith(f"{name}: ")), "")


def _without_trailers(message: str) -> str:
    head, gap, last = message.rstrip("\n").rpartition("\n\n")
    return head if gap and all(line.startswith("Dream-") for line in last.split("\n")) else message.rstrip("\n")
