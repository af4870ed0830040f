"""Which lines a person wrote: what their own commits added, by file; a line that was moved keeps its author.

The result is cached in the index with the commit it was computed for, so only newer commits are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dream.models import FileLine
from dream.versions import is_memory
from dream.versions.diff import PLAIN
from dream.versions.log import kind_of
from dream.versions.store import GitStore
from dream.workspace.index import Index

AUTHORS = "authors"
_HUNK = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@")
# Commits that are not dream's own are a person's too: they may well use git in their workspace.
_OURS = "^Dream-Kind: (dream|restore|init)$"
_NOT_DREAMT = ("--extended-regexp", "--invert-grep", f"--grep={_OURS}")
_FORMAT = (
    "--format=%x1e%s%x1f%(trailers:key=Dream-Kind,valueonly,separator=%x1d)"
    "%x1f%(trailers:key=Dream-Author,valueonly,separator=%x1d)%x1f"
)


def person_lines(git: GitStore) -> dict[str, frozenset[str]]:
    """Return, for each memory file, the text of every line that a person ever added to it.

    Lines are compared without trailing white space; blank lines don't count. Templates of `dream init`, lines that a
    dream wrote and lines that an agent wrote with its own tools are excluded; lines that a workspace already had when
    it was adopted are included.
    """
    head = git.head()
    index = Index(git.private)
    known, lines = _known(index.document(AUTHORS))
    if head == known or head is None:
        return lines
    if known is not None and not git.is_ancestor(known, head):
        known, lines = None, {}
    for added, removed in reversed([*_changed(git, head, known)]):  # the oldest first: a line may be moved twice
        for path, text in added:
            moved = [other for other, gone in removed if gone == text and other != path]
            if not moved or any(text in lines.get(other, ()) for other in moved):
                lines[path] = lines.get(path, frozenset()) | {text}
    kept = {name: sorted(texts) for name, texts in sorted(lines.items())}
    index.keep(**{AUTHORS: {"head": head, "lines": kept}})
    return lines


def _changed(git: GitStore, head: str, known: str | None) -> Iterator[tuple[list[FileLine], list[FileLine]]]:
    """Yield what each of a person's commits since `known` added and removed, the newest first."""
    revisions = [head, *([f"^{known}"] if known else [])]
    arguments = ("log", _FORMAT, "--patch", "--unified=0", *PLAIN, *_NOT_DREAMT, "--end-of-options", *revisions, "--")
    for record in git.git.run(*arguments).split(b"\x1e")[1:]:
        subject, trailer, agent, patch = [*record.split(b"\x1f", 3), b"", b"", b""][:4]
        kind = kind_of(subject.decode("utf-8", "replace"), trailer.decode("utf-8", "replace"))
        if kind in (None, "hand") and not agent.strip():
            yield _rows(patch)


def _rows(patch: bytes) -> tuple[list[FileLine], list[FileLine]]:
    """Return the lines of memory that a patch adds and removes, each with its file."""
    added, removed = list[FileLine](), list[FileLine]()
    before, after, gone, new = "", "", 0, 0
    for line in patch.split(b"\n"):
        if (gone or new) and line[:1] in (b"-", b"+"):
            left = line.startswith(b"-")
            gone, new = gone - left, new - (not left)
            path, text = before if left else after, line[1:].decode("utf-8", "replace").rstrip()
            if text and is_memory(path):
                (removed if left else added).append((path, text))
        elif line.startswith((b"--- ", b"+++ ")):
            path = line[6:].rstrip(b"\t").decode("utf-8", "replace")
            before, after = (path, after) if line.startswith(b"-") else (before, path)
        elif found := _HUNK.match(line):
            gone, new = (int(number) if number is not None else 1 for number in found.groups())
    return added, removed


def _known(kept: Any) -> tuple[str | None, dict[str, frozenset[str]]]:
    try:
        return kept["head"], {name: frozenset(lines) for name, lines in kept["lines"].items()}
    except (KeyError, TypeError, AttributeError):
        return None, {}
