"""Who wrote or removed each line of memory since a commit, and when what it says was said: read from the versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from dream.versions import log
from dream.versions.diff import PLAIN, by_file
from dream.versions.fold import By
from dream.versions.git import Git

SYNC = "Dream-Sync"  # the trailer of a commit of sync: which operations its files are folded from
_TRAILERS = ("Dream-Kind", "Dream-Author", "Dream-Entries", SYNC)
_FORMAT = "--format=%x1e" + "%x1f".join(
    ("%H", "%ct", "%s", *(f"%(trailers:key={name},valueonly,separator=%x1d)" for name in _TRAILERS), "%b%x1f")
)
_RECORD = re.compile(rb"\x1e(?=[0-9a-f]{40,64}\x1f)")
_FINDING = re.compile(r"^    applied(?: \(.*?\))?: \[[^\]]+\] (.*) \{([\d,]+)\}$", re.MULTILINE)
LastSaid = Callable[[list[int]], int]  # cursors of entries → when the last of them was said; 0 if unknown


@dataclass(slots=True)
class Authors:
    """The last change of each (file, line) that came or went: when it was said, and by whom.

    `synced` is what the newest commit of sync among them says, if there is one.
    """

    came: dict[tuple[str, str], tuple[int, By]] = field(default_factory=dict)
    went: dict[tuple[str, str], tuple[int, By]] = field(default_factory=dict)
    synced: Mapping[str, object] | None = None


def authors(git: Git, since: str | None, said: LastSaid) -> Authors:
    """Read the commits of HEAD after `since`, or all. What `dream init` wrote by itself was never said."""
    found = Authors()
    revisions = ["HEAD", *([f"^{since}"] if since else [])]
    arguments = ("log", "--reverse", "-m", "--first-parent", _FORMAT, "--patch", "--unified=0", *PLAIN)
    printed = git.run(*arguments, "--end-of-options", *revisions, "--", "SOUL.md", "USER.md", "memory", "places")
    for record in _RECORD.split(printed)[1:]:
        _, time, subject, kind, agent, entries, synced, body, patch = [
            *record.decode("utf-8", "replace").split("\x1f", 8),
            *[""] * 9,
        ][:9]
        if synced.strip():
            row = orjson.loads(synced)
            found.synced = row if isinstance(row, dict) else found.synced
            continue
        known = log.kind_of(subject, kind.strip())
        by: By = "dream" if known in ("dream", "init") or agent.strip() else "hand"
        when = 0 if known == "init" else int(time)
        cited = dict(_cited(body)) if known == "dream" else {}
        span = log.parse_entries(entries)
        batch = (said([*span]) if span and known == "dream" else 0) or when
        for path, rows in by_file(patch.lstrip("\n")):
            for line in rows:
                text = line[1:]
                if line.startswith("+"):
                    cursors = next((some for fact, some in cited.items() if fact in text), None)
                    found.came[path, text] = ((cursors and said(cursors)) or batch, by)
                elif line.startswith("-"):
                    found.went[path, text] = (batch, by)
    return found


def _cited(body: str) -> Iterator[tuple[str, list[int]]]:
    for fact, cursors in _FINDING.findall(body):
        yield fact, [int(cursor) for cursor in cursors.split(",") if cursor]
