"""Git's objects, read: the newest as they lie on disk, all others by one open `git cat-file --batch`.

What a dream or a page asks for are mostly the newest commits. Until `git gc` packs it, each of their objects is a file
of its own: `type SP length NUL content`, compressed, named by its hash. To read one takes a hundredth of the time in
which a process starts. What isn't there, or isn't whole, git itself is asked for: so it is git that says what is wrong
with a repository.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from dream.door import contents
from dream.errors import GitError, WorkspaceError
from dream.versions.tracked import ARCHIVE, FILES, STATE, is_archive
from dream.workspace.files import read_bytes

SHA = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
SYMBOLIC = re.compile(r"ref:\s*(refs/[^\s\0]+)\s*")
_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_FEW = 16  # commits that are followed back one by one before git is asked

Found = tuple[str, str, bytes]  # the sha of an object, its type, its content


class Objects:
    """The objects of a repository: it answers any number of questions about commits, trees and blobs.

    `ask` starts `git cat-file --batch` and gives its stdin and its stdout; that is done once, if at all.
    """

    def __init__(self, directory: Path, ask: Callable[[], tuple[IO[bytes], IO[bytes]]]) -> None:
        self._directory = directory
        self._ask = ask
        self._process: tuple[IO[bytes], IO[bytes]] | None = None

    def get(self, name: str) -> Found | None:
        """Return (sha, type, content) of the object that `name` names, or None where there is none."""
        return self._lying(name) or self._asked(name)

    def head(self) -> str | None:
        """Return the sha of HEAD's commit, or None before the first commit."""
        found = self.get("HEAD^{commit}")
        return found[0] if found else None

    def file(self, revision: str, path: str) -> bytes | None:
        """Return the content of a file in `revision`, None where it isn't."""
        root = self.get(f"{revision}^{{tree}}")
        *folders, name = path.split("/")
        entries = _entries(root) if root else {}
        for folder in folders:
            entries = self._tree(entries.get(folder))
        found = self._there(entries[name]) if name in entries else None
        return found[2] if found and found[1] == "blob" else None

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

    def _there(self, name: str) -> Found:
        """Return an object that must exist: taking a damaged one for an absent file would delete that file."""
        found = self.get(name)
        if found is None:
            raise GitError(f"Git's object {name} is missing or damaged; run `dream doctor`.")
        return found

    def _tree(self, name: str | None) -> dict[str, str]:
        found = self._there(name) if name else None
        return _entries(found) if found is not None else {}

    def _lying(self, name: str) -> Found | None:
        """Return what `SHA`, `HEAD` or `REVISION^{type}` names, where all on the way to it lies as a file."""
        revision, _, kind = name.partition("^")
        found = head(self._directory) if revision == "HEAD" else loose(self._directory, revision)
        if found and found[1] == "commit" and kind == "{tree}":
            found = loose(self._directory, found[2].partition(b"\n")[0].decode("ascii", "replace")[len("tree ") :])
        return found if found and kind in ("", f"{{{found[1]}}}") else None

    def _asked(self, name: str) -> Found | None:
        """Return what git says of `name`."""
        if self._process is None:
            self._process = self._ask()
        ask, answer = self._process
        try:
            ask.write(name.encode() + b"\n")
            ask.flush()
        except BrokenPipeError as error:
            raise GitError("Git stopped while objects were read; run `dream doctor`.") from error
        words = answer.readline().rstrip(b"\n").rsplit(b" ", 2)
        if words[-1] in (b"missing", b"ambiguous"):
            return None
        if len(words) != 3 or not words[2].isdigit():
            raise GitError(f"Git could not read the object {name}; run `dream doctor`.")
        content = answer.read(int(words[2]))
        answer.read(1)
        return words[0].decode(), words[1].decode(), content


def loose(directory: Path, sha: str) -> Found | None:
    """Return the object that lies in a file of its own, whole; None where git has to say what there is."""
    if not SHA.fullmatch(sha):
        return None
    try:
        data = zlib.decompress(contents(directory / "objects" / sha[:2] / sha[2:]))
    except (OSError, zlib.error):
        return None
    header, _, content = data.partition(b"\0")
    kind = header.partition(b" ")[0].decode("ascii", "replace")
    return (sha, kind, content) if blob_name(content, len(sha), kind) == sha else None


def _loose_commit(directory: Path, sha: str) -> Found | None:
    found = loose(directory, sha)
    return found if found and found[1] == "commit" else None


def head(directory: Path) -> Found | None:
    """Return HEAD's commit where it lies as a file; None where git has to say what HEAD is."""
    with suppress(WorkspaceError):
        named = head_of(directory)
        if not named.startswith("refs/"):
            return _loose_commit(directory, named)
        if held := text(directory / named).strip():  # before the packed refs: git removes this file once it has those
            return _loose_commit(directory, held)
        for line in text(directory / "packed-refs").splitlines():
            sha, _, name = line.partition(" ")
            if name == named:
                return _loose_commit(directory, sha)
    return None


def head_of(directory: Path) -> str:
    """Return the ref or the sha that HEAD names; "" where it names none."""
    held = text(directory / "HEAD")
    named = SYMBOLIC.fullmatch(held)
    if named:
        return "" if ".." in named[1] else named[1]
    return held.strip() if SHA.fullmatch(held.strip()) else ""


def since(directory: Path, old: str, new: str) -> list[bytes] | None:
    """Return the commits after `old` up to `new`, newest first, where they are few, in a row and loose; else None."""
    passed: list[bytes] = []
    found = head(directory) if new == "HEAD" else _loose_commit(directory, new)
    while found is not None and len(passed) <= _FEW:
        if found[0] == old:
            return passed
        passed.append(found[2])
        parents = _PARENT.findall(found[2].partition(b"\n\n")[0])
        found = _loose_commit(directory, parents[0].decode()) if len(parents) == 1 else None
    return None


def text(path: Path) -> str:
    """Return the text of a file of the repository, "" where there is none."""
    return (read_bytes(path) or b"").decode("utf-8", "replace")


def blob_name(content: bytes, sha_length: int = 40, kind: str = "blob") -> str:
    """Return the name that git gives to an object, of which there are two lengths."""
    data = f"{kind} {len(content)}\0".encode() + content
    return hashlib.new("sha256" if sha_length == 64 else "sha1", data, usedforsecurity=False).hexdigest()


def _entries(tree: Found) -> dict[str, str]:
    """Return the sha of each entry of a tree, by name; it holds `mode SP name NUL sha`, the sha in binary."""
    sha, kind, content = tree
    width, at = len(sha) // 2, 0
    found = {}
    while kind == "tree" and at < len(content):
        end = content.index(b"\0", at)
        name = content[at:end].split(b" ", 1)[1].decode("utf-8", "surrogateescape")
        found[name] = content[end + 1 : end + 1 + width].hex()
        at = end + 1 + width
    return found
