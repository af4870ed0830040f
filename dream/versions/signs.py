"""Signs of forgotten texts: a machine with the memory's key recognises the text by its sign, and nobody else learns it.

A sign is a keyed digest (HMAC-SHA-256) of a text's words, with their number and one byte of the digest of the first
word, which spares a reader most of the windows. It doesn't hold the text: who has the key but not the text learns
nothing either, so signs can be kept for good. White space doesn't count, and neither does case but in short names, as
in a `Needle`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

import orjson

from dream.versions.rewrite import Needle, is_name

_TOKEN = re.compile(r"[^\W\u2e80-\U0010ffff]+|\S")  # a word, or one sign or character that is written without blanks
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST = 4096  # words of a sign: more is no statement


@dataclass(frozen=True, slots=True, order=True)
class ForgetSign:
    """The sign of one text: its digest, the byte that its first word begins with, how many words it has.

    Of a `whole` one the statements that hold the text go whole.
    """

    digest: str
    first: int
    words: int
    whole: bool = False


class Signs:
    """A set of signs under the key of a memory."""

    def __init__(self, key: bytes, signs: Iterable[ForgetSign] = ()) -> None:
        self.all = frozenset(signs)
        self._key = key
        self._byte: dict[str, int] = {}
        self._at: dict[int, dict[int, set[str]]] = {}
        for one in self.all:
            self._at.setdefault(one.first, {}).setdefault(one.words, set()).add(one.digest)

    @property
    def name(self) -> str:
        """Return a short name of this set, "" for the empty one."""
        rows = "".join(sorted(one.digest for one in self.all)).encode()
        return hashlib.sha256(rows).hexdigest()[:16] if rows else ""

    def sign(self, text: str, *, whole: bool = False) -> ForgetSign | None:
        """Return the sign of a text; None for one without any word."""
        words = _TOKEN.findall(_canonical(text))
        return ForgetSign(self._digest(words, whole), self._begins(words[0]), len(words), whole) if words else None

    def found(self, data: bytes) -> dict[str, bool]:
        """Return the signed texts in `data`, as they are written there, and whether statements go whole with them."""
        texts: dict[str, bool] = {}
        if self.all:
            for text in _texts(data):
                for one, whole in self._in(text):
                    texts[one] = texts.get(one, False) or whole
        return texts

    def scrub_line(self, line: str) -> str | None:
        """Return a line of memory without the signed texts; None where nothing is left of it."""
        found = self.found(line.encode("utf-8", "surrogatepass"))
        if not found:
            return line
        if any(found.values()):
            return None
        left = Needle(found).scrub(f"{line}\n".encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        return left.removesuffix("\n") if left.strip() else None

    def _in(self, text: str) -> Iterator[tuple[str, bool]]:
        spans = [found.span() for found in _TOKEN.finditer(text)]
        words = [text[start:end] for start, end in spans]
        for at, word in enumerate(words):
            for count, digests in self._at.get(self._begins(word), {}).items():
                if at + count <= len(words):
                    span = text[spans[at][0] : spans[at + count - 1][1]]
                    window = [span] if is_name(span) else [one.casefold() for one in words[at : at + count]]
                    for whole in (False, True):
                        if self._digest(window, whole) in digests:
                            yield span, whole

    def _digest(self, words: Iterable[str], whole: bool) -> str:
        told = "\0".join(("whole" if whole else "text", *words)).encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, told, "sha256").hex()

    def _begins(self, word: str) -> int:
        word = word.casefold()
        if word not in self._byte:
            told = f"first\0{word}".encode("utf-8", "surrogatepass")
            self._byte[word] = hmac.digest(self._key, told, "sha256")[0]
        return self._byte[word]


def rows(signs: Iterable[ForgetSign]) -> bytes:
    """Write signs as JSON lines, in one order whatever machine writes them."""
    return b"".join(orjson.dumps(asdict(one), option=orjson.OPT_APPEND_NEWLINE) for one in sorted(signs))


def parse(data: bytes) -> frozenset[ForgetSign]:
    """Read signs; what is none is left out."""
    return frozenset(one for line in data.splitlines() if (one := _parsed(line)) is not None)


def _parsed(line: bytes) -> ForgetSign | None:
    try:
        row = orjson.loads(line)
        digest, first, words, whole = (row[name] for name in ("digest", "first", "words", "whole"))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    numbers = type(first) is int and 0 <= first < 256 and type(words) is int and 0 < words <= _MOST
    sound = isinstance(digest, str) and _DIGEST.fullmatch(digest) and numbers and isinstance(whole, bool)
    return ForgetSign(digest, first, words, whole) if sound else None


def _canonical(text: str) -> str:
    return text.strip() if is_name(text) else text.casefold()


def _texts(data: bytes) -> Iterator[str]:
    """Yield what `data` says: the strings of its JSON lines, and what stands between these as one text."""
    prose: list[str] = []
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        row = _row(line)
        if row is None:
            prose.append(line)
            continue
        yield "\n".join(prose)
        prose = []
        yield from _strings(row)
        if isinstance(hidden := row.get("base64"), str):
            yield _hidden(hidden)
    yield "\n".join(prose)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def _row(line: str) -> Mapping[str, object] | None:
    bare = line.lstrip("\ufeff \t")
    if not bare.startswith("{"):
        return None
    try:
        row = orjson.loads(bare)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return None
    return row if isinstance(row, dict) else None


def _hidden(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "surrogateescape")
    except ValueError:
        return ""
