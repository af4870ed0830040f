"""Second-hand: which lines of a summary a tool's output or a pasted text said first, before user or agent did.

What a page, a log or a forwarded mail states may be true or not; nobody in the conversation vouches for it, also where
the agent repeats it. Such a line becomes memory only with its source in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from dream.models import Message
from dream.provenance.line import bare, names_user
from dream.provenance.message import quotations, typed
from dream.provenance.others import MOSTLY
from dream.wording import MARKS, content_words, is_cjk, without_said_on

Source = Literal["tool", "paste"]

WINDOW = 40  # words that one passage may have: in a longer one any line would find its words
_CUT = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_JOINED = re.compile(r"[._/=:-]+")  # `staging.port=80` says what "the staging port is 80" says
# "According to the page …", "the article says …": a line that names its source needs no mark.
_NAMED = re.compile(
    r"^\W*according to (?!(?:the )?(?:user|owner|agent|assistant)\b)|^\W*(?:据|根据)(?!用户)"
    r"|\b(?:page|article|website|site|post|docs?|documentation|readme|logs?|output|tool|e-?mail|file|report|ticket"
    r"|changelog|release notes|search results?|advisory)\b"
    r"[^.]{0,40}?\b(?:says?|states?|claims?|reports?|reads?|warns?|mentions?)\b"
    r"|(?:网页|页面|文章|工具|文档|日志|邮件|帖子|公告)[^。]{0,8}(?:说|称|写道|写着|显示|声称)",
    re.IGNORECASE,
)


def sources(content: str, messages: Sequence[Message]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers, from 1, of the lines that a tool's output said first, and of those that pasted text did.

    What the user typed themselves anywhere in `messages` is theirs, whoever else says it.
    """
    texts = [part for message in messages for part in _parts(message)]
    if not any(source and text.strip() for source, text in texts):  # mostly so: no word need be read
        return (), ()
    own: set[str] = set()
    for message in messages:
        if message.role == "user":
            own |= content_words(typed(message.content))
    said = [(source, words) for source, text in texts for words in _windows(text)]
    found: dict[Source, list[int]] = {"tool": [], "paste": []}
    for number, line in enumerate(content.split("\n"), start=1):
        plain = without_said_on(line)
        told = content_words(bare(plain))
        told = told if len(told) > 1 else content_words(plain)  # what looked like a speaker may be a name: "Port: 80"
        if len(told) < 2 or len(told & own) >= MOSTLY * len(told) or names_user(line, own):
            continue
        first = next((source for source, words in said if len(told & words) >= MOSTLY * len(told)), None)
        if first is not None:
            found[first].append(number)
    return tuple(found["tool"]), tuple(found["paste"])


def names_source(line: str) -> bool:
    """Tell whether a line says itself where it comes from."""
    return any(mark in line for pair in MARKS.values() for mark in pair) or _NAMED.search(line) is not None


def marked(line: str, source: Source) -> str:
    """Return `line` with its source named at its end, before the day on which it was said."""
    plain = without_said_on(line)
    day = line[len(plain) :].strip()
    english, chinese = MARKS[source]
    mark = chinese if sum(map(is_cjk, plain)) * 4 > len(plain) else f" {english}"
    return f"{plain.rstrip(' .。')}{mark}{' ' + day if day else ''}"


def _parts(message: Message) -> Iterator[tuple[Source | None, str]]:
    """Yield who said it (None: the agent) and what; of the user only what was pasted."""
    if message.role == "user":
        kept = {line.strip() for line in typed(message.content).split("\n")}
        rest = [line for line in message.content.split("\n") if line.strip() not in kept]
        yield "paste", "\n".join([*rest, *quotations(message.content)])
    elif message.role in ("tool", "assistant"):
        yield ("tool" if message.role == "tool" else None), message.content


def _windows(text: str) -> Iterator[frozenset[str]]:
    """Yield the words of `text`, a sentence or two at a time."""
    before: frozenset[str] = frozenset()
    for sentence in filter(None, _CUT.split(text)):
        for piece in _pieces(sentence.split()):
            words = content_words(piece)
            if _JOINED.search(piece):
                words |= content_words(_JOINED.sub(" ", piece))
            if words:
                yield before | words
                before = words


def _pieces(words: Sequence[str]) -> Iterable[str]:
    return (" ".join(words[start : start + WINDOW]) for start in range(0, len(words), WINDOW))
