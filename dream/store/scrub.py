"""Taking a text out of bytes: Markdown, JSON lines, commit messages, and what is none of these. Pure.

A line that says nothing else goes away as a whole; elsewhere the text is replaced by a mark. Case and white space
don't count: a fact is found again where a line was wrapped. Lines and rows that don't hold it keep every byte.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from dream.store import messages
from dream.store.history_records import estimate
from dream.wording import is_cjk

MARK = messages.FORGOTTEN
SHORTEST = 4  # letters; a shorter text stands in too many lines that mean something else

_DATE = re.compile(r"\s*[(（][^()（）\n]{1,40}[)）]\s*$")
_QUOTES = '["“”„«»「」『』]'
_GAP = r"(?:\s|\\n|\\r|\\t)+"
# A proposal or a rejected fact that holds the text in one of these fields is about nothing else.
_WHOLE_ROWS = ({"old_text", "new_text"}, {"text", "source"})
_KEPT = {"session", "checksum"}  # how far a session is consolidated hangs on its key


def is_long_enough(text: str) -> bool:
    """Return whether a text is long enough to be looked for; a Chinese or Japanese character tells as much as two."""
    return sum(2 if is_cjk(character) else 1 for character in text.strip()) >= SHORTEST


class Needle:
    """The texts to take out, as patterns that also find them escaped as in JSON."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.given = tuple(texts)
        self.texts = tuple(dict.fromkeys(stripped for text in self.given if (stripped := _bare(text))))
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
        """Count how often the texts stand in `data`, base64 within JSON rows included."""
        found = sum(1 for _ in self._anywhere.finditer(_text(data)))
        return found + (sum(map(self._hidden, data.split(b"\n"))) if b'"base64"' in data else 0)

    def scrub(self, data: bytes) -> bytes:
        """Return `data` without the texts; the very same object where it holds none."""
        if not self.count(data):
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
        """Return a commit message without the texts, nor a part of one in its subject; its lines stay.

        A finding's state is told there.
        """
        scrubbed = self._text.sub(MARK, text)
        return messages.forgotten(scrubbed) if scrubbed != text else text

    def _prose(self, data: bytes) -> bytes:
        return _bytes(self._anywhere.sub(MARK, self._line.sub("", _text(data))))

    def _words(self, text: str) -> str:
        return self._text.sub(MARK, self._line.sub("", text))

    def _row(self, line: bytes) -> bytes:
        """Scrub one JSON line; b"" where nothing is left that it would be about."""
        if not self.count(line):
            return line
        try:
            row = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            return _bytes(self._anywhere.sub(MARK, _text(line)))
        if any(fields <= row.keys() and any(self._holds(row[name]) for name in fields) for fields in _WHOLE_ROWS):
            return b""
        scrubbed = {name: value if name in _KEPT else self._value(value) for name, value in row.items()}
        return orjson.dumps(self._settled(row, scrubbed), option=orjson.OPT_APPEND_NEWLINE)

    def _settled(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        """Keep a history row what it says it is: of one that holds nothing any more, only cursor and span count."""
        if isinstance(hidden := after.get("base64"), str):
            after["base64"] = base64.b64encode(self._prose(base64.b64decode(hidden))).decode("ascii")
        content = after.get("content")
        if content != before.get("content") and isinstance(content, str) and "cursor" in after:
            if not content.strip():
                after |= {"content": "", "kind": "nothing"}
            if "tokens" in after:
                after["tokens"] = estimate(after["content"])
        return after

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._words(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {name: self._value(one) for name, one in value.items()}
        return value

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


def _bare(text: str) -> str:
    """Return what a line states: without its bullet, and without the date that stands behind it."""
    line = text.strip()
    if line.startswith(("- ", "* ", "+ ")):
        line = line[2:].strip()
    without = re.sub(rf"^{_QUOTES}|{_QUOTES}$", "", _DATE.sub("", line)).strip()
    return without if is_long_enough(without) else line


def _pattern(text: str, gap: str) -> str:
    return gap.join(re.escape(word) for word in text.split())


def _escaped(text: str) -> Iterable[str]:
    """Yield patterns of `text` as it is, and as JSON writes it with and without characters beyond ASCII."""
    yield _pattern(text, _GAP)
    for ascii_only in (True, False):
        yield _pattern(" ".join(json.dumps(word, ensure_ascii=ascii_only)[1:-1] for word in text.split()), _GAP)


def _lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.rpartition(b"\n")[2]]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
