"""What kind of thing a sentence states, and whether one takes the place of another: a small linear model.

Its features are the phrases of the language tables, words, pieces of words, and signs; they are hashed into `SIZE`
rows of one weight a label, which `python -m tests.quality.learn` makes of the project's labelled sentences. A row is
one large number with a lane for each label, so that a sentence is scored by adding numbers up.
"""

from __future__ import annotations

import lzma
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import accumulate
from typing import Literal

from dream.embedded.tongue import Tongue, tongue
from dream.text.sentences import quoted_share
from dream.text.tongues import guess, is_wide, plain
from dream.text.words import listed

LABELS = (
    *("rule", "preference", "person", "decision", "plan", "event", "fact", "solution"),
    *("task", "chat", "question", "joke", "hypothesis", "quotation", "opinion", "mood", "retract"),
)
KEPT = LABELS[:8]
UNMEANT = ("joke", "hypothesis", "quotation", "opinion", "mood", "retract")
SIZE = 1 << 20
MOST = 250  # features of a sentence that count: more could overflow a lane of 16 bits
WEIGHTS = "kinds.weights"
_DIGIT = re.compile(r"\d")
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s*|\n")
_MARKS = (*("...", "…", "!", "?", '"', "“", "「", ":", "：", ";", "(", "->", "→", "=", "%", "€", "$", "/", "`"),
          *("http", "@", "#", "~", "～", "w", "笑", "lol", "haha", ":)"))  # fmt: skip
_CODE = re.compile(r"[`/\\_{}<>=]|\w\.\w|--\w|[a-z][A-Z]|\b[A-Z]{2,}\b")
_NAMES = re.compile(r"(?<=[a-zà-ÿ,;] )[A-ZÀ-Þ][a-zà-ÿ]+")


@dataclass(frozen=True, slots=True)
class Guess:
    """What a sentence is taken for: its label, and the share of belief, 0 to 1, in each."""

    label: str
    shares: Mapping[str, float]

    @property
    def kept(self) -> float:
        """The probability that it states something serious that is worth a line."""
        return sum(self.shares[name] for name in KEPT)

    @property
    def kind(self) -> str:
        """The likeliest of the kinds that are kept."""
        return max(KEPT, key=lambda name: self.shares[name])


def kind(text: str, context: str = "", code: str = "", before: str = "", after: str = "") -> Guess:
    """Guess what a sentence states.

    `context` is the message that it begins an answer to, `before` and `after` the sentences beside it in its own
    message, and `code` its language where that is known.
    """
    rows, scale = _weights()
    numbers = features(text, context, code or guess(text) or "en", before, after)
    found = [rows[number] for number in numbers if number in rows][:MOST]
    packed = sum(found)
    bias = 128 * len(found)
    lanes = memoryview(packed.to_bytes(2 * len(LABELS), "little")).cast("H").tolist()
    pace = scale / math.sqrt(len(found) or 1)
    scores = [(lane - bias) * pace for lane in lanes]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    whole = sum(powers)
    shares = dict(zip(LABELS, (power / whole for power in powers), strict=True))
    return Guess(LABELS[scores.index(top)], shares)


def features(text: str, context: str, code: str, before: str = "", after: str = "") -> list[int]:
    """Return the numbers of a sentence's features, none twice."""
    known = tongue(code)
    said = plain(text)
    found = set(map(_hashed, _signs(text, said, context, known)))
    found.update(map(_hashed, _shape(text, said, known)))
    for word in _said(said, known):
        found.update(_of_word(word))
    found.update(map(_hashed, _runs(said, known)))
    found.update(map(_hashed, _answered(context, known)))
    found.update(map(_hashed, _beside("P", before, known)))
    found.update(map(_hashed, _beside("N", after, known)))
    return sorted(found)


def _runs(said: str, known: Tongue) -> Iterator[str]:
    """Yield two and three words on end, with the ends of the sentence; of Chinese and Japanese its ends and fours."""
    if known.wide:
        flat = _DIGIT.sub("0", said.strip())
        yield from (f"^ {flat[:size]}" for size in (1, 2, 3, 4))
        yield from (f"$ {flat[-size:]}" for size in (1, 2, 3, 4, 5))
        yield from (f"4 {flat[at : at + 4]}" for at in range(len(flat) - 3))
        return
    tokens = ["^", *said.split(), "$"]
    yield from map("b {} {}".format, tokens, tokens[1:])
    yield from map("t {} {} {}".format, tokens, tokens[1:], tokens[2:])


def _shape(text: str, said: str, known: Tongue) -> Iterator[str]:
    """Yield how a sentence looks: its length, how it begins, the signs in it."""
    yield f"size {min(12, len(text) * (2 if known.wide else 1) // 12)}"
    yield f"tokens {min(8, len(said.split()))}"
    if text[:1].isupper():
        yield "capital"
    yield f"begins {'a' if text[:1].isalnum() else text[:1]}"
    yield from (f"has {sign}" for sign in _MARKS if sign in text)


def _answered(context: str, known: Tongue) -> Iterator[str]:
    """Yield the last sentence of the message that is answered: its words, its first one, how it ends."""
    yield "answers" if context else "goes on"
    parts = [part for part in _SENTENCES.split(context.rstrip(" *_)\n")[-160:]) if part.strip()]
    if not parts:
        return
    last = parts[-1].rstrip()
    yield f"X end {last[-1:] if last[-1:] in '?？!.。' else ''}"
    said = plain(last)
    yield from (f"X {word}" for word in _said(said, known))
    yield f"X^ {said.strip()[:2] if known.wide else said.split(' ')[1]}"


def _beside(side: str, text: str, known: Tongue) -> Iterator[str]:
    """Yield the features of the sentence before or after: the phrases of the tables in it, how it begins and ends."""
    yield f"{side} {'some' if text else 'none'}"
    if text:
        said = plain(text)
        yield from (f"{side} c {name}" for name in _cues(said, known.code))
        yield f"{side} end {text.rstrip()[-1:]}"
        yield from [f"{side}$ {said.strip()[-2:]}"] if known.wide else [f"{side}^ {word}" for word in said.split()[:2]]


@lru_cache(maxsize=4096)
def _cues(said: str, code: str) -> tuple[str, ...]:
    known = tongue(code)
    return tuple(name for name in known.cues if known.has(name, said))


def _signs(text: str, said: str, context: str, known: Tongue) -> Iterator[str]:
    """Yield a sentence's features besides its words: phrases of the tables, signs, length, the message before it."""
    yield "one"
    yield f"l {known.code}"
    cues = _cues(said, known.code)
    for place, one in enumerate(cues):
        yield f"c {one}"
        yield from (f"c {one} {other}" for other in cues[place + 1 :])
    yield f"n {min(len(cues), 6)}"
    lead = said[:24] if not known.wide else said[:5]
    yield from (
        f"cl {name}"
        for name in ("ask", "once", "wish", "suppose", "said", "work", "lean", "own", "standing")
        if known.has(name, lead + " ")
    )
    size = len(text) * (2 if known.wide else 1)
    yield f"s {min(6, size // 25)}"
    end = text.rstrip()[-1:]
    asks = end in "?？"
    yield f"e {end if end in '.!?…。！？:：)' else ''}"
    first = names("first", said, known)
    yield f"first {first} {asks} {'once' in cues}"
    if names("second", said, known):
        yield f"second {first} {'wish' in cues}"
    digit = _DIGIT.search(text) is not None
    if digit:
        yield f"digit {asks}"
    has = {
        "digit": digit,
        "first": first,
        "code": _CODE.search(text) is not None,
        "name": _NAMES.search(text) is not None,
        "comma": "," in text or "，" in text,
        "lower": text[:1].islower(),
        "emoji": not text.isascii() and max(text) > "\U0001f000",
    }
    yield from (name for name, there in has.items() if there)
    if quoted := quoted_share(text):
        yield f"quoted {min(4, int(quoted * 5))}"
    yield from _of_context(context, size, known)


def names(person: Literal["first", "second"], said: str, known: Tongue) -> bool:
    """Return whether a sentence made `plain` names a person, in its own or any learnt language: people mix them."""
    if not _pronouns(person, known.code, wide=False).isdisjoint(said.split()):
        return True
    return known.wide and any(map(said.__contains__, _pronouns(person, known.code, wide=True)))


@cache
def _pronouns(person: Literal["first", "second"], own: str, *, wide: bool) -> frozenset[str]:
    tables = (tongue(code) for code in {own, *listed("learnt")} if wide is (code in listed("wide")))
    return frozenset().union(*(one.first if person == "first" else one.second for one in tables))


def _of_context(context: str, size: int, known: Tongue) -> Iterator[str]:
    """Yield the features of the message before: whether it asked something, and with which words."""
    last = context.rstrip(" *_)\n")[-160:]
    if last[-1:] not in ("?", "？"):
        yield "x none"
        return
    yield "x asked"
    yield f"x asked {min(4, size // 20)}"
    said = plain(re.split(r"[.!。！\n]", last)[-1])
    yield from (f"x {name}" for name in known.cues if known.has(name, said))


def _said(text: str, known: Tongue) -> Iterator[str]:
    if not known.wide:
        yield from text.split()
        return
    for run in text.split():
        if is_wide(run):
            for size in (1, 2, 3):
                yield from (run[at : at + size] for at in range(len(run) - size + 1))
        else:
            yield run


@lru_cache(maxsize=32768)
def _of_word(word: str) -> tuple[int, ...]:
    """Return the features of one word: itself, how it begins and how it ends; of a number only its length."""
    if word[0].isdigit():
        return (_hashed(f"d {min(len(word), 5)}"),)
    if len(word) < 4 or not word.isascii():
        return (_hashed(f"w {word}"),)
    return (_hashed(f"w {word}"), _hashed(f"p {word[:4]}"), _hashed(f"q {word[-3:]}"))


@lru_cache(maxsize=32768)
def _hashed(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "replace")) % SIZE


@cache
def _weights() -> tuple[dict[int, int], float]:
    """Read the weights: their scale, the rows' numbers as steps from one to the next, then a byte for each label."""
    data = lzma.decompress((resources.files("dream.embedded") / WEIGHTS).read_bytes())
    scale, count = float(data[:16].decode("ascii")), int(data[16:24].decode("ascii"))
    steps = memoryview(data)[24 : 24 + 2 * count].cast("H")
    width = len(LABELS)
    spread = bytearray(2 * count * width)
    spread[::2] = data[24 + 2 * count :]
    values = (int.from_bytes(spread[at : at + 2 * width], "little") for at in range(0, len(spread), 2 * width))
    return dict(zip(accumulate(steps), values, strict=True)), scale
