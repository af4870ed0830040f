"""A text taken out of bytes, and our own history written anew without it in any version or message.

A line that says nothing else goes away as a whole; elsewhere the text is replaced by a mark. Case and white space
don't count: a fact is found again where a line was wrapped. Lines and rows that don't hold it keep every byte.

`git fast-export` tells it, we change it on the way, `git fast-import` makes it again under refs/dream/next. Nothing
shows it until HEAD is moved there, and the old one goes only when `drop_old` is called.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from dream.errors import GitError
from dream.text.safe import map_strings
from dream.text.tokens import estimate
from dream.text.words import is_cjk, without_bullet
from dream.versions import log
from dream.versions.diff import PLAIN
from dream.versions.git import NEXT, Git
from dream.workspace import files

MARK = log.FORGOTTEN
SHORTEST = 4  # letters; a shorter text is found in too many lines that mean something else

_DATE = re.compile(r"\s*[(（][^()（）\n]{1,40}[)）]\s*$")
_QUOTES = '["“”„«»「」『』]'
# Whole words, and a short name in its capitals, also where JSON writes the end of a line or a letter beyond ASCII
# beside them. What is written without blanks, as Chinese is, may stand beside them.
_LETTER = r"[^\W\u2e80-\U0010ffff]"
_BEGINS = rf"(?:(?<!{_LETTER})|(?<=\\[nrt])|(?<=\\u[0-9a-f]{{4}}))(?<!\\u00[c-f][0-9a-f])(?<!\\u0[1-6][0-9a-f]{{2}})"
_ENDS = rf"(?!{_LETTER}|\\u0(?:0[c-f]|[1-6]))"
_GAP = r"(?:\s|\\n|\\r|\\t)+"
# A proposal or a rejected fact that holds the text in one of these fields is about nothing else.
_WHOLE_ROWS = ({"old_text", "new_text"}, {"text", "source"})
_BY_LINE = ("lines", "rests", "speakers")  # fields of a history row with one value for each of its lines
_NUMBERED = ("by_user", "by_others", "by_tool", "by_paste", "by_agent")  # of older rows: numbers of its lines
_KEPT = {"session", "checksum"}  # the key says how far a session is consolidated
# Files of git that may quote a message or keep an old commit reachable.
_TRACES = ("ORIG_HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "MERGE_MSG", "SQUASH_MSG")
_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_PLACE_ROW = rb'\[p-[0-9a-f]{8}\]|(?:name|paths|remotes|chats|also|never) = ["\[].*|[ \t]*["\]].*|[ \t]*(?:#.*)?'
_PLACES = re.compile(
    rb"(?:(?:" + _PLACE_ROW + rb")\r?\n)*\[p-[0-9a-f]{8}\]\r?\n(?:(?:" + _PLACE_ROW + rb")(?:\r?\n|\Z))*"
)


def is_long_enough(text: str) -> bool:
    """Return whether a text is long enough to be looked for; a Chinese or Japanese character counts as two."""
    return sum(2 if is_cjk(character) else 1 for character in text.strip()) >= SHORTEST


def is_known_places(data: bytes) -> bool:
    """Return whether it is a content of places.toml: what a project is known by stays, or nothing could be read."""
    return _PLACES.fullmatch(data) is not None


def is_name(text: str) -> bool:
    """Return whether a text of two or three letters looks like a name: it is looked for as a word, as it is written."""
    return re.fullmatch(r"[^\W\d_]{2,3}", text.strip()) is not None and text.strip().istitle()


class Needle:
    """The texts to take out, as patterns that also find them escaped as in JSON."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.given = tuple(texts)
        self.texts = tuple(dict.fromkeys(stripped for text in self.given if (stripped := bare(text))))
        plain = "|".join(_pattern(text, r"\s+") for text in self.texts) or r"(?!)"
        written = "|".join(dict.fromkeys(one for text in self.texts for one in _escaped(text))) or r"(?!)"
        self._text = re.compile(plain, re.IGNORECASE)
        self._anywhere = re.compile(written, re.IGNORECASE)
        self._line = re.compile(
            rf"^[ \t]*(?:[-*+][ \t]+)?(?:\[[^\[\]\n]{{1,200}}\][ \t]*){{0,2}}"
            rf"{_QUOTES}?[ \t]*(?:{plain})[.。]?[ \t]*{_QUOTES}?[ \t]*"
            rf"(?:[(（][^()（）\n]{{1,40}}[)）])?[ \t]*\r?(?:\n|\Z)",
            re.IGNORECASE | re.MULTILINE,
        )

    def count(self, data: bytes) -> int:
        """Count how often the texts occur in `data`, base64 within JSON rows included."""
        found = sum(1 for _ in self._anywhere.finditer(_text(data)))
        return found + (sum(map(self._hidden, data.split(b"\n"))) if b'"base64"' in data else 0)

    def scrub(self, data: bytes) -> bytes:
        """Return `data` without the texts; the very same object where it holds none."""
        if not self.count(data) or is_known_places(data):
            return data
        done: list[bytes] = []
        prose: list[bytes] = []
        for line in _lines(data):
            if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
                done += [self._prose(b"".join(prose)), self._row(line)]
                prose = []
            else:
                prose.append(line)
        return b"".join([*done, self._prose(b"".join(prose))])

    def message(self, text: str) -> str:
        """Return a commit message without the texts; its subject loses parts of them too.

        The lines stay, because they give the state of each finding.
        """
        scrubbed = self._text.sub(MARK, text)
        return log.forgotten(scrubbed) if scrubbed != text else text

    def _prose(self, data: bytes) -> bytes:
        return _bytes(self._anywhere.sub(MARK, self._line.sub("", _text(data))))

    def _words(self, text: str) -> str:
        return self._text.sub(MARK, self._line.sub("", text))

    def _row(self, line: bytes) -> bytes:
        """Scrub one JSON line; return b"" where it was about nothing else."""
        if not self.count(line):
            return line
        try:
            row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            return _bytes(self._anywhere.sub(MARK, _text(line)))
        if any(fields <= row.keys() and any(self._holds(row[name]) for name in fields) for fields in _WHOLE_ROWS):
            return b""
        scrubbed = {name: value if name in _KEPT else map_strings(value, self._words) for name, value in row.items()}
        if "speakers" in row:  # a forgotten speaker becomes the mark, not a speaker without a name
            scrubbed["speakers"] = map_strings(row["speakers"], lambda name: self._text.sub(MARK, name))
        return orjson.dumps(self._settled(row, scrubbed), option=orjson.OPT_APPEND_NEWLINE)

    def _settled(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        """Keep a history row what it says it is: of one that holds nothing any more, only cursor and span count."""
        if isinstance(hidden := after.get("base64"), str):
            after["base64"] = base64.b64encode(self._prose(base64.b64decode(hidden))).decode("ascii")
        content = after.get("content")
        if content != before.get("content") and isinstance(content, str) and "cursor" in after:
            self._renumber(before, after)
            if not content.strip():
                after |= {"content": "", "kind": "nothing"}
            if "tokens" in after:
                after["tokens"] = estimate(after["content"])
        return after

    def _renumber(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Keep in a history row the speaker of each remaining line.

        Where a removed text spanned two lines, no line keeps a speaker.
        """
        left = self._left(before["content"])
        whole = len(left) == after["content"].removesuffix("\n").count("\n") + 1
        for name in _NUMBERED:
            numbers = before.get(name)
            if isinstance(numbers, list) and (whole or name == "by_user"):
                after[name] = [left.index(number) + 1 for number in numbers if whole and number in left]
        for name in _BY_LINE:
            if isinstance(rows := after.get(name), list):
                after[name] = [row for number, row in enumerate(rows, start=1) if whole and number in left]

    def _left(self, text: str) -> list[int]:
        """Return the numbers, from 1, of the lines of a text that are not taken out as a whole."""
        gone: set[int] = set()
        for match in self._line.finditer(text):
            first = text.count("\n", 0, match.start()) + 1
            gone.update(range(first, first + match[0].count("\n") + (not match[0].endswith("\n"))))
        return [number for number in range(1, text.count("\n") + 2) if number not in gone]

    def _holds(self, value: object) -> bool:
        return isinstance(value, str) and bool(self._text.search(value))

    def _hidden(self, line: bytes) -> int:
        try:
            row = orjson.loads(line)
            data = base64.b64decode(row["base64"])
        except (ValueError, TypeError, KeyError):
            return 0
        return len(self._anywhere.findall(_text(data)))


def renamed(text: str, names: Callable[[str], str | None]) -> str:
    """Return `text` with each sha, whole or cut to at least ten digits, for which `names` knows a new one."""

    def new(found: re.Match[str]) -> str:
        known = names(found[0])
        return known[: len(found[0])] if known else found[0]

    return re.sub(r"\b[0-9a-f]{10,40}\b", new, text)


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
    """Write the history that ends in `head` again without the texts; return its new end, and each commit's new name.

    Authors, dates, trailers and the shape of the history stay; shas in messages are those of the new commits.
    HEAD stays where it is. Raises GitError.
    """
    if busy := next((name for name in _BUSY if (git.directory / name).exists()), None):
        raise GitError(f"Git is in the middle of something here ({busy}); end that first, then run this again.")
    git.run("update-ref", "-d", NEXT)
    export = ("fast-export", "--reencode=no", "--show-original-ids", "--signed-tags=strip", "--end-of-options", head)
    with (
        git.conversation("fast-import", "--quiet", "--force", "--done", "--date-format=raw") as (told, answers),
        git.conversation(*export) as (_, story),
    ):
        names, last = _Rewriting(story, told, answers, needle).run()
        told.write(b"done\n")
        told.flush()
    files.checkpoint("history rewritten")
    return last or head, names


def drop_old(git: Git) -> None:
    """Delete every version that no ref names any more: reflogs, loose objects, packs, git's own notes."""
    git.run("update-ref", "-d", NEXT)
    for trace in (*(git.directory / name for name in _TRACES), *git.directory.glob("fast_import_crash_*")):
        trace.unlink(missing_ok=True)
    files.checkpoint("before the old history goes")
    git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    git.run("gc", "--quiet", "--prune=now", "--force")  # the gc.pid of one that was killed doesn't count
    files.checkpoint("after the old history has gone")


def foreign(git: Git, branch: str) -> tuple[str, ...]:
    """Name the refs beside `branch` and our own: a person's branches, tags, stashes, and what a remote had."""
    listed = git.run("for-each-ref", "--format=%(refname)").decode("utf-8", "replace").split()
    return tuple(name for name in listed if name != branch and not name.startswith("refs/dream/"))


def remotes(git: Git) -> tuple[str, ...]:
    """Name the remotes of the repository."""
    return tuple(git.run("remote").decode("utf-8", "replace").split())


def branch(git: Git) -> str:
    """Return the name of the branch that HEAD points to; "HEAD" if it points to none."""
    return git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).decode().strip() or "HEAD"


def holders(git: Git, needle: Needle) -> list[str]:
    """Name every object that holds the texts, in reach or not; one process."""
    with git.conversation("cat-file", "--batch-all-objects", "--unordered", "--batch") as (_, answers):
        return [sha for sha, data in _objects(answers) if needle.count(data) and not is_known_places(data)]


def contents(git: Git) -> Iterator[bytes]:
    """Yield the content of every file and commit, in reach or not; one process."""
    with git.conversation("cat-file", "--batch-all-objects", "--unordered", "--batch") as (_, answers):
        for _, data in _objects(answers):
            yield data


def versions(git: Git, head: str, needle: Needle) -> tuple[int, int]:
    """Return how many commits up to `head` hold the texts in message or change, and how many there are."""
    held = total = 0
    told = ("log", "-z", "--format=%x1e%B", "--patch", *PLAIN, "--end-of-options", head, "--")
    with git.conversation(*told) as (_, answers):
        for record in _records(answers):
            total += 1
            held += bool(needle.count(record.replace(b"\n+", b"\n").replace(b"\n-", b"\n")))
    return held, total


class _Rewriting:
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
        """Note the new name of a commit: later messages may name it."""
        if not self._in_commit:
            return
        self._in_commit = False
        self._told.write(b"\nget-mark " + self._mark + b"\n")
        self._told.flush()
        self._last = self._answers.readline().decode().strip()
        if not self._last:
            raise GitError("git fast-import stopped; nothing was changed.")
        self._names.add(self._old, self._last)


def bare(text: str) -> str:
    """Return what a line states, without its bullet and the date behind it."""
    line = without_bullet(text).strip()
    without = re.sub(rf"^{_QUOTES}|{_QUOTES}$", "", _DATE.sub("", line)).strip()
    return without if is_long_enough(without) else line


def _pattern(text: str, gap: str, *, name: bool = False) -> str:
    """Return what finds `text` as words of their own: `ABC123` is no part of `ABC1234`."""
    joined = gap.join(re.escape(word) for word in text.split())
    if name or is_name(text):
        return rf"(?-i:{_BEGINS}{joined}{_ENDS})"
    begins, ends = re.match(_LETTER, text.strip()), re.search(rf"{_LETTER}\Z", text.strip())
    return f"{_BEGINS if begins else ''}{joined}{_ENDS if ends else ''}"


def _escaped(text: str) -> Iterable[str]:
    """Yield patterns of `text` as it is, and as JSON writes it with and without characters beyond ASCII."""
    yield _pattern(text, _GAP)
    for ascii_only in (True, False):
        written = " ".join(json.dumps(word, ensure_ascii=ascii_only)[1:-1] for word in text.split())
        yield _pattern(written, _GAP, name=is_name(text))


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.rpartition(b"\n")[2]]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _records(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the records between separators, without the empty one before the first."""
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
