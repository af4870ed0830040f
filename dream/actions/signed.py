"""What was forgotten, on every machine: the signs that are known here, and branches without what they are signs of.

The signs that are made here wait in .dream/signs.jsonl for the next sync; what a machine has followed stands on its
branch, which is written anew then. A branch of a machine that has not followed counts as if it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson

from dream.actions import membership
from dream.directory import Workspace
from dream.history.checksums import mark
from dream.history.repair import Sealing
from dream.text.sentences import sentences
from dream.text.words import without_bullet
from dream.versions import shared
from dream.versions.branches import FETCHED, KNOWN, SEAL, Branches
from dream.versions.branches import OWN as OWN_BRANCH
from dream.versions.fold import Op, forgotten
from dream.versions.rewrite import Needle
from dream.versions.shared import Branch
from dream.versions.signs import ForgetSign, Signs, parse, rows
from dream.workspace import files

NOTE = "signs.jsonl"  # in .dream/
DIRTY = "dirty"
LOOKED = "looked.json"  # in .dream/: of which branches it is known that they hold nothing that was forgotten


def noted(workspace: Workspace) -> frozenset[ForgetSign]:
    """Return the signs of what was forgotten here, for the others to follow."""
    return parse(files.read_bytes(workspace.private / NOTE) or b"")


def note(workspace: Workspace, texts: Iterable[str], whole: str = "") -> None:
    """Leave signs of `texts` for the other machines: on disk when it returns. Of `whole`, statements that hold it go.

    Without the key of the memory no machine would recognise them, and nothing is noted.
    """
    us = membership.member(workspace)
    if us is None or not us.key:
        return
    signs = Signs(bytes.fromhex(us.key))
    made = {one for text in texts if (one := signs.sign(text, whole=text == whole)) is not None}
    if not made <= (known := noted(workspace)):
        files.replace_file(workspace.private / NOTE, rows(known | made))


def sent(workspace: Workspace) -> None:
    """Drop the signs that were made here, once they stand on this machine's branch."""
    with files.explained("removed", workspace.private / NOTE):
        (workspace.private / NOTE).unlink(missing_ok=True)


class Cleaning:
    """Takes what was forgotten out of our copies of branches; `us` is this machine, with the key."""

    def __init__(self, workspace: Workspace, branches: Branches, us: membership.SyncMember, signs: Signs) -> None:
        self._path = workspace.private / LOOKED
        self._branches = branches
        self._us = us
        self._signs = signs
        self._looked = files.read_note(self._path)  # machine → commit, name of the signs, the commit without them

    def known(self, machine: str, sha: str) -> str | None:
        """Return which commit stands for one that was looked through for all signs already; None where none was."""
        found = self._looked.get(machine)
        if isinstance(found, list) and len(found) == 3 and found[:2] == [sha, self._signs.name]:
            return str(found[2])
        return None

    def clean(self, branch: Branch, now: datetime, *, ref: str = "") -> Branch:
        """Return a branch without what was forgotten: the same one, or one that is written anew, at `ref`.

        Of this machine's own it says, too, that it has followed.
        """
        key = bytes.fromhex(self._us.key)
        if self._signs.all <= branch.signs or (sha := self.known(branch.machine, branch.sha)) == branch.sha:
            return branch
        cleaned = _CleanBranch(self._branches, branch, self._signs)
        sha = branch.sha
        if cleaned.is_changed:
            self.note_dirty()
            files.checkpoint("before a branch is written anew")
            is_ours = branch.machine == self._us.machine
            if is_ours:
                cleaned.files[shared.SIGNS] = rows(self._signs.all)
            seals = key if branch.is_sealed or is_ours else b""
            place, message = ref or KNOWN + branch.machine, "sync: written anew without what was forgotten\n"
            writing = self._branches.encrypting(shared.recipients(branch))
            sha = writing.write(branch.machine, cleaned.files, None, message, now, ref=place, key=seals)
        self._note({**self._looked, branch.machine: [branch.sha, self._signs.name, sha]})
        return branch if sha == branch.sha else shared.read(self._branches, branch.machine, sha, key)

    @property
    def is_dirty(self) -> bool:
        """Return whether git keeps objects of branches as they were before."""
        return DIRTY in self._looked

    def note_dirty(self) -> None:
        """Note that git is about to keep objects of branches as they were before: `drop_old` deletes them."""
        self._note({**self._looked, DIRTY: True}, durable=True)

    def clean_copies(self, now: datetime) -> None:
        """Clean every branch that was taken in, and our own."""
        key, refs = bytes.fromhex(self._us.key), self._branches.refs()
        for ref, sha in refs.items():
            kind = OWN_BRANCH if ref.startswith(OWN_BRANCH) else KNOWN
            if not ref.startswith(FETCHED):
                cleaned = self.clean(shared.read(self._branches, ref.removeprefix(kind), sha, key), now, ref=ref)
                if cleaned.sha != sha:
                    self._branches.move({ref: cleaned.sha})

    def drop_old(self) -> None:
        """Drop what was fetched and is not without what was forgotten, and what git keeps of it."""
        refs = self._branches.refs()
        fetched = {ref: ref.removeprefix(FETCHED) for ref in refs if ref.startswith(FETCHED)}
        stale = {ref: None for ref, one in fetched.items() if refs.get(KNOWN + one) != refs[ref]}
        self._branches.move(stale)
        self._branches.drop_old()
        self._note({name: value for name, value in self._looked.items() if name != DIRTY})

    def _note(self, looked: dict[str, Any], *, durable: bool = False) -> None:
        self._looked = looked
        files.write_note(self._path, looked, durable=durable)


class _CleanBranch:
    """The files of a branch without the texts that are signed."""

    def __init__(self, branches: Branches, branch: Branch, signs: Signs) -> None:
        paths = [path for path in branch.listed if path != SEAL]
        before = dict(zip(paths, branches.read(branch.listed[path] for path in paths), strict=True))
        self._signs = signs
        self.files: dict[str, bytes | None] = dict(before)
        self._needle = self._sought(before)
        self._ops({path: before[path] for path in shared.parts(before, shared.OPS)}, branch.machine)
        end = self._sealed(shared.parts(before, shared.HISTORY), before)
        for month in shared.months(before):
            self._sealed(shared.parts(before, month), before)
        self.is_changed = self.files != before
        if self.is_changed:
            info: dict[str, Any] = {**branch.info, **({"mark": end} if end else {})}
            self.files[shared.INFO] = orjson.dumps(info, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def _sought(self, before: Mapping[str, bytes]) -> Needle:
        """Return what is to go: the texts, and each statement of history or messages that holds one that goes whole."""
        texts: dict[str, bool] = {}
        for data in before.values():
            for text, whole in self._signs.found(data).items():
                texts[text] = texts.get(text, False) or whole
        named = [path for path in before if path.startswith((shared.HISTORY, "messages/"))]
        goes = holding(texts, (one for path in named for one in _statements(before[path])))
        return Needle([*goes, *texts])

    def _ops(self, parts: Mapping[str, bytes], machine: str) -> None:
        for path, data in parts.items():
            ops = [*shared.ops_in(machine, data)]
            if (cleaned := [clean(op, self._signs) for op in ops]) != ops:
                self.files[path] = b"".join(map(shared.op_row, cleaned))

    def _sealed(self, parts: Iterable[str], before: Mapping[str, bytes]) -> str:
        """Take the texts out of rows, whose checksums follow each other; return the mark of the last one."""
        sealing, last = Sealing(), b""
        for path in parts:
            self.files[path] = made = sealing.sealed(before[path], self._needle.scrub(before[path]))
            last = made.rstrip(b"\n").rpartition(b"\n")[2] or last
        return mark(last).decode() if last else ""


def clean(op: Op, signs: Signs) -> Op:
    """Return an operation without what was forgotten."""
    if op.text is None or (left := signs.scrub_line(op.text)) == op.text:
        return op
    return forgotten(op, left)


def holding(texts: Mapping[str, bool], statements: Iterable[str]) -> list[str]:
    """Return the statements that hold one of the texts with which a statement goes whole, the longest first."""
    whole = Needle(text for text, goes in texts.items() if goes)
    held: Callable[[str], bool] = lambda one: bool(whole.count(one.encode("utf-8", "surrogatepass")))  # noqa: E731
    found = dict.fromkeys(filter(held, statements)) if whole.given else {}
    return sorted(found, key=len, reverse=True)


def _statements(data: bytes) -> Iterable[str]:
    """Yield the lines of entries, and the sentences of messages."""
    for line in data.splitlines():
        fields = shared.row(line) or {}
        if isinstance(content := fields.get("content"), str):
            yield from (without_bullet(one).strip() for one in content.split("\n"))
        if isinstance(text := fields.get("text"), str):
            yield from (one.text for one in sentences(text))
