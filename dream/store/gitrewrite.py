"""Writing our own history anew, with a text taken out of every version and every message.

`git fast-export` tells it, we change it on the way, `git fast-import` makes it again under refs/dream/next. Nothing
shows it until HEAD is moved there, and the old one goes only when `drop_old` is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from dream.errors import GitError
from dream.store import faults
from dream.store.gitdiff import PLAIN
from dream.store.gitenv import Git
from dream.store.gitwrite import NEXT, patiently
from dream.store.scrub import Needle, renamed

# What git leaves in its directory that may quote a message or keep an old commit in reach.
_TRACES = ("ORIG_HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "MERGE_MSG", "SQUASH_MSG")
_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@dataclass(slots=True)
class Names:
    """Old sha → new sha of the commits that have become others."""

    new: dict[str, str] = field(default_factory=dict)
    _by_prefix: dict[str, str] = field(default_factory=dict)

    def add(self, old: str, new: str) -> None:
        if old != new:
            self.new[old] = new
            self._by_prefix[old[:10]] = old

    def __call__(self, sha: str) -> str | None:
        """Return the new name of a sha of at least ten digits, or None where it kept its own."""
        old = self._by_prefix.get(sha[:10])
        return self.new[old] if old and old.startswith(sha) else None


def rewrite(git: Git, head: str, needle: Needle) -> tuple[str, Names]:
    """Make the history that ends in `head` again without the texts; return its new end, and who is called what now.

    Authors, dates, trailers and the shape of the history stay; shas in messages are those of the new commits.
    HEAD stays where it is. Raises GitError.
    """
    if git.git_dir is not None and (busy := next((name for name in _BUSY if (git.git_dir / name).exists()), None)):
        raise GitError(f"Git is in the middle of something here ({busy}); end that first, then run this again.")
    git.run("update-ref", "-d", NEXT)
    export = ("fast-export", "--reencode=no", "--show-original-ids", "--signed-tags=strip", head)
    with (
        git.conversation("fast-import", "--quiet", "--force", "--done", "--date-format=raw") as (told, answers),
        git.conversation(*export) as (_, story),
    ):
        names, last = _Retelling(story, told, answers, needle).run()
        told.write(b"done\n")
        told.flush()
    faults.checkpoint("history rewritten")
    return last or head, names


def drop_old(git: Git) -> None:
    """Let go of every version that no ref names any more: reflogs, loose objects, packs, git's own notes."""
    git.run("update-ref", "-d", NEXT)
    if git.git_dir is not None:
        for name in _TRACES:
            with suppress(FileNotFoundError):
                (git.git_dir / name).unlink()
        for report in git.git_dir.glob("fast_import_crash_*"):
            report.unlink(missing_ok=True)
    faults.checkpoint("before the old history goes")
    patiently(git, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    patiently(git, "gc", "--quiet", "--prune=now", "--force")  # the gc.pid of one that was killed doesn't count
    faults.checkpoint("after the old history has gone")


def foreign(git: Git, branch: str) -> tuple[str, ...]:
    """Name the refs beside `branch` and our own: a person's branches, tags, stashes, and what a remote had."""
    listed = git.run("for-each-ref", "--format=%(refname)").decode("utf-8", "replace").split()
    return tuple(name for name in listed if name != branch and not name.startswith("refs/dream/"))


def remotes(git: Git) -> tuple[str, ...]:
    """Name the remotes of the repository."""
    return tuple(git.run("remote").decode("utf-8", "replace").split())


def branch(git: Git) -> str:
    """Name the branch that HEAD stands for; "HEAD" where it stands for none."""
    return git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).decode().strip() or "HEAD"


def holders(git: Git, needle: Needle) -> list[str]:
    """Name every object that holds the texts, in reach or not; one process."""
    with git.conversation("cat-file", "--batch-all-objects", "--unordered", "--batch") as (_, answers):
        return [sha for sha, data in _objects(answers) if needle.count(data)]


def versions(git: Git, head: str, needle: Needle) -> tuple[int, int]:
    """Return how many commits up to `head` hold the texts in message or change, and how many there are."""
    held = total = 0
    with git.conversation("log", "-z", "--format=%x1e%B", "--patch", *PLAIN, head, "--") as (_, answers):
        for record in _records(answers):
            total += 1
            held += bool(needle.count(record.replace(b"\n+", b"\n").replace(b"\n-", b"\n")))
    return held, total


def _records(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what stands between record separators; the first one, before any, is nothing."""
    rest = b""
    while chunk := stream.read(1 << 20):
        *whole, rest = (rest + chunk).split(b"\x1e")
        yield from filter(None, whole)
    if rest:
        yield rest


def _objects(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    while header := stream.readline():
        words = header.split()
        if len(words) != 3:
            continue
        data = stream.read(int(words[2]))
        stream.read(1)
        if words[1] != b"tree":
            yield words[0].decode(), data


class _Retelling:
    """One pass over the stream of `git fast-export`; its grammar is that of git-fast-import(1)."""

    def __init__(self, story: IO[bytes], told: IO[bytes], answers: IO[bytes], needle: Needle) -> None:
        self._story = story
        self._told = told
        self._answers = answers
        self._needle = needle
        self._names = Names()
        self._mark = b""
        self._old = ""
        self._in_commit = False
        self._last: str | None = None

    def run(self) -> tuple[Names, str | None]:
        while line := self._story.readline():
            self._line(line)
        self._end_commit()
        return self._names, self._last

    def _line(self, line: bytes) -> None:
        word, _, rest = line.rstrip(b"\n").partition(b" ")
        if word in (b"blob", b"commit", b"reset", b"tag", b"done", b"feature"):
            self._end_commit()
        if word in (b"", b"done", b"feature"):
            return  # a blank line ends a command, and so does the next one
        if word in (b"commit", b"reset"):
            self._in_commit = word == b"commit"
            self._told.write(word + b" " + NEXT.encode() + b"\n")
            return
        if word == b"data":
            self._data(int(rest))
            return
        if word == b"mark":
            self._mark = rest
        elif word == b"original-oid":
            self._old = rest.decode()
            return
        self._told.write(line)

    def _data(self, size: int) -> None:
        data = self._story.read(size)
        if self._in_commit:
            told = renamed(self._needle.message(data.decode("utf-8", "surrogateescape")), self._names)
            data = told.encode("utf-8", "surrogateescape")
        else:
            data = self._needle.scrub(data)
        self._told.write(b"data %d\n%s\n" % (len(data), data))

    def _end_commit(self) -> None:
        """Learn what a commit is called now: later messages may name it."""
        if not self._in_commit:
            return
        self._in_commit = False
        self._told.write(b"\nget-mark " + self._mark + b"\n")
        self._told.flush()
        self._last = self._answers.readline().decode().strip()
        if not self._last:
            raise GitError("git fast-import stopped; nothing was changed.")
        self._names.add(self._old, self._last)
