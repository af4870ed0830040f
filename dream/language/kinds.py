"""What kind of thing a sentence states, and whether one takes the place of another: a small linear model.

Its features are the phrases of the language tables, words, pieces of words, and signs; they are hashed into `SIZE`
rows of one weight a label, which `python -m dream.language.learn` makes of the project's labelled sentences. A row is
one large number with a lane for each label, so that a sentence is scored by adding numbers up.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from dream.language.sentences import quoted_share
from dream.language.tongue import Tongue, guess, is_wide, plain, tongue

LABELS = (
    *("rule", "preference", "person", "decision", "plan", "event", "fact", "solution"),
    *("task", "chat", "question", "joke", "hypothesis", "quotation", "opinion", "mood", "retract"),
)
KEPT = LABELS[:8]
SIZE = 1 << 15
MOST = 250  # features of a sentence: more could overflow a lane of 16 bits
WEIGHTS = "kinds.weights"
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"[`/\\_{}<>=]|\w\.\w|--\w|[a-z][A-Z]|\b[A-Z]{2,}\b")
_FIRST = frozenset(
    "i im ive me my mine we our us ich mein meine meinen meiner meinem mir mich wir unser unsere unserem unseren je j mon ma"
    " mes moi nous notre nos yo mi mis nuestro nuestra nuestros".split()
)
_SECOND = frozenset(
    "you your youre u yours du dein deine deinen dir dich ihr tu toi ton tes vous votre vos te ti usted contigo".split()
)
_WIDE_FIRST, _WIDE_SECOND = ("我", "私", "僕", "俺", "うち"), ("你", "您", "あなた")
_NAMES = re.compile(r"(?<=[a-zà-ÿ,;] )[A-ZÀ-Þ][a-zà-ÿ]+")


@dataclass(frozen=True, slots=True)
class Guess:
    """What a sentence is taken for: its label, and the share of belief, 0 to 1, in each."""

    label: str
    shares: Mapping[str, float]

    @property
    def kept(self) -> float:
        """The belief that it states something that is meant and worth a line."""
        return sum(self.shares[name] for name in KEPT)

    @property
    def kind(self) -> str:
        """The likeliest of the kinds that are kept."""
        return max(KEPT, key=lambda name: self.shares[name])


def kind(text: str, context: str = "", code: str = "") -> Guess:
    """Guess what a sentence states; `context` is the message before it, `code` its language where that is known."""
    rows, scale = _weights()
    found = features(text, context, code or guess(text) or "en")
    packed = sum(rows[number] for number in found)
    bias = 128 * len(found)
    lanes = memoryview(packed.to_bytes(2 * len(LABELS), "little")).cast("H").tolist()
    pace = scale / math.sqrt(len(found))
    scores = [(lane - bias) * pace for lane in lanes]
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    whole = sum(powers)
    shares = dict(zip(LABELS, (power / whole for power in powers), strict=True))
    return Guess(LABELS[scores.index(top)], shares)


def features(text: str, context: str, code: str) -> list[int]:
    """Return the numbers of a sentence's features, none twice, `MOST` at the most."""
    known = tongue(code)
    said = plain(text)
    found = set(map(_hashed, _signs(text, said, context, known)))
    for word in _said(said, known):
        found.update(_of_word(word))
        if len(found) > MOST - 40:
            break
    if not known.wide:
        tokens = said.split()
        found.update(_hashed(f"b {one} {other}") for one, other in zip(["^", *tokens], [*tokens, "$"], strict=True))
    return sorted(found)[:MOST]


def _signs(text: str, said: str, context: str, known: Tongue) -> Iterator[str]:
    """Yield what a sentence has beside its words: phrases of the tables, signs, length, what stood before it."""
    yield "one"
    yield f"l {known.code}"
    cues = [name for name in known.cues if known.has(name, said)]
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
    tokens = said.split()
    first = not _FIRST.isdisjoint(tokens) or (known.wide and any(map(said.__contains__, _WIDE_FIRST)))
    yield f"first {first} {asks} {'once' in cues}"
    if not _SECOND.isdisjoint(tokens) or (known.wide and any(map(said.__contains__, _WIDE_SECOND))):
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


def _of_context(context: str, size: int, known: Tongue) -> Iterator[str]:
    """Yield what the message before tells: whether it asked something, and with which words."""
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
def _weights() -> tuple[list[int], float]:
    """Read the weights: a scale, then of each row one byte a label, packed into one number each."""
    data = zlib.decompress((resources.files("dream.language") / WEIGHTS).read_bytes())
    scale = float(data[:16].decode("ascii"))
    width = len(LABELS)
    spread = bytearray(2 * (len(data) - 16))
    spread[::2] = data[16:]
    rows = [int.from_bytes(spread[at : at + 2 * width], "little") for at in range(0, len(spread), 2 * width)]
    return rows, scale
