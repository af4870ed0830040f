"""Reading objects: one `git cat-file` process answers any number of questions about trees and blobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from dream.errors import GitError
from dream.versions.git import Git

# The files of a workspace that are versioned, beside memory/archive/*.md.
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
STATE = ("memory/.dream_cursor", "memory/.pending.jsonl", "memory/.rejected.jsonl")
ARCHIVE = "memory/archive"


def is_versioned(path: str) -> bool:
    """Tell whether `path`, relative to the workspace, is kept in git."""
    return path in FILES or path in STATE or is_archive(path)


def is_memory(path: str) -> bool:
    """Tell whether `path` is text for a person to read, rather than dream's own state."""
    return path in FILES or is_archive(path)


def is_archive(path: str) -> bool:
    """Tell whether `path` is a Markdown file directly under memory/archive/."""
    parent, _, name = path.rpartition("/")
    return parent == ARCHIVE and name.endswith(".md") and not name.startswith(".")


class Objects:
    """An open `git cat-file --batch`."""

    def __init__(self, ask: IO[bytes], answer: IO[bytes]) -> None:
        self._ask = ask
        self._answer = answer

    def get(self, name: str) -> tuple[str, str, bytes] | None:
        """Return (sha, type, content) of the object that `name` names, or None where there is none."""
        try:
            self._ask.write(name.encode() + b"\n")
            self._ask.flush()
        except BrokenPipeError as error:
            raise GitError("Git stopped while objects were read; run `dream doctor`.") from error
        words = self._answer.readline().rstrip(b"\n").rsplit(b" ", 2)
        if words[-1] in (b"missing", b"ambiguous"):
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise GitError(f"Git could not read the object {name}; run `dream doctor`.")
        content = self._answer.read(int(words[2]))
        self._answer.read(1)
        return words[0].decode(), words[1].decode(), content

    def head(self) -> str | None:
        """Return the sha of HEAD's commit, or None before the first commit."""
        found = self.get("HEAD^{commit}")
        return found[0] if found else None

    def files(self, revision: str) -> dict[str, bytes]:
        """Return the content of every versioned file in `revision`, by path."""
        root = self._tree(f"{revision}^{{tree}}")
        memory = self._tree(root.get("memory"))
        archive = self._tree(memory.get("archive"))
        names = {path: root.get(path) for path in FILES[:2]}
        names |= {path: memory.get(path.removeprefix("memory/")) for path in (FILES[2], *STATE)}
        names |= {path: sha for name, sha in archive.items() if is_archive(path := f"{ARCHIVE}/{name}")}
        found = {path: self._there(sha) for path, sha in names.items() if sha}
        return {path: content for path, (_, kind, content) in found.items() if kind == "blob"}

    def _there(self, name: str) -> tuple[str, str, bytes]:
        """Return an object that must exist: taking a damaged one for an absent file would delete that file."""
        found = self.get(name)
        if found is None:
            raise GitError(f"Git's object {name} is missing or damaged; run `dream doctor`.")
        return found

    def _tree(self, name: str | None) -> dict[str, str]:
        found = self._there(name) if name else None
        if found is None or found[1] != "tree":
            return {}
        return dict(_entries(found[2], len(found[0]) // 2))


@contextmanager
def reading(git: Git) -> Iterator[Objects]:
    """Open the objects of a repository for reading; one process, until the block ends, for blocks within it too."""
    if git.objects is not None:
        yield git.objects
        return
    with git.conversation("cat-file", "--batch") as (ask, answer):
        git.objects = Objects(ask, answer)
        try:
            yield git.objects
        finally:
            git.objects = None


def blob_name(data: bytes, sha_length: int = 40) -> str:
    """Return the name that git gives to a blob of `data`."""
    import hashlib

    algorithm = "sha256" if sha_length == 64 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def changed(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Return what turns `old` into `new`: new content by path, None where a file goes away."""
    return {path: new.get(path) for path in sorted({*old, *new}) if old.get(path) != new.get(path)}


def applied(old: Mapping[str, bytes], changes: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """Return `old` with `changes` made."""
    return {path: data for path, data in {**old, **changes}.items() if data is not None}


def _entries(tree: bytes, width: int) -> Iterator[tuple[str, str]]:
    """Yield (name, sha) of a tree object; its entries are `mode SP name NUL sha`, the sha in binary."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        name = tree[at:end].split(b" ", 1)[1].decode("utf-8", "surrogateescape")
        yield name, tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width
