"""How alike two statements are, and whether the later takes the place of the earlier: by signs that no grammar makes.

Their telling words, the numbers, names and codes in them and what stands beside those, negations, words of change,
and what they are about where that has one value only (home, port, deadline …).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from dream.language.tongue import plain, tongue
from dream.language.words import MONTHS

WEIGHTS = "pairs.weights"
SAME = 0.82  # share of the words of the longer of two statements that say one thing
ONE_VALUE = 0.8  # belief where two statements differ in one number and in nothing else
STEM = 6  # letters of a word by which its forms are one
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CODE = re.compile(
    r"[\w./~-]*[\w~][./_~-]+[\w./~-]*\w|\b[A-Za-z]+\d+\w*|\b[A-Z]{2,}\b|`[^`]+`|\b[a-z]+[A-Z]\w+|(?<=[㐀-鿿])[A-Za-z][\w-]+"
)
_NAME = re.compile(r"(?<=[\wà-ÿ,;:)] )[A-ZÀ-Þ][\wà-ÿ’'-]+")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[-’'./_][\w]+)*\d*|[㐀-鿿]")
_NOT = re.compile(
    r"\b(?:not|no|never|nt|dont|without|stop|nicht|kein\w*|nie|ohne|pas|jamais|plus|sans|ne|sin|nunca|nada|ya no)\b"
    r"|n't\b|不|没|别|勿|ない|なし|ません",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|i'm|im|we|my|our|ich|wir|mein\w*|unser\w*|je|j|on|nous|mon|ma|mes|notre|yo|mi|mis|nuestr\w*|vivo|vivimos)\b"
    r"|我|私|うち",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"([^\W\d_]{3,}) (?:#|nr\.? ?|no\.? ?)?\d{1,2}(?=\s*[.!,;)]*\s*$)", re.IGNORECASE)
_WIDE_RUN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]+")
_GRAMMAR = frozenset(
    "的了是在着过和与也都就很把被我你您他她它们这那个一于之地得のはをがにでとてもしたますなだかられりる"
)
_ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class Fact:
    """What a statement states, where that is plain.

    `subject` are its telling words; `attribute` what it is about, where that has one value at a time; `value` the
    numbers, names and codes in it, `slots` each with the word beside it; `polarity` is false where it denies. `cues`
    name the tables of its language that have a phrase in it; `own` says whether it tells of its speaker.
    """

    subject: frozenset[str]
    attribute: str
    value: frozenset[str]
    slots: frozenset[tuple[str, str]]
    polarity: bool
    cues: frozenset[str]
    own: bool


# Whom every line of a summary is about: that two lines name them says nothing of what they say.
_USER = re.compile(
    r"\b(?:the user|der (?:be)?nutzer|die (?:be)?nutzerin|l['’]utilisat(?:eur|rice)|el usuario|la usuaria)(?:'s)?\b"
    r"|用户|使用者|ユーザー",
    re.IGNORECASE,
)


@lru_cache(maxsize=16384)
def words(text: str, code: str) -> frozenset[str]:
    """Return the telling words of a text, cut to a stem's length; Chinese and Japanese by pairs of characters."""
    known = tongue(code)
    found: set[str] = set()
    for word in plain(_USER.sub(" ", text)).split():
        runs = _WIDE_RUN.findall(word)
        for run in runs:
            found.update(run[at : at + 2] for at in range(len(run) - 1) if not _GRAMMAR.issuperset(run[at : at + 2]))
        rest = _WIDE_RUN.sub("", word) if runs else word
        if rest and rest not in known.function and rest not in tongue(_ENGLISH).function:
            found.add(
                rest
                if not rest.isalpha()
                else rest[:STEM]
                if len(rest) > STEM
                else rest.removesuffix("s")
                if len(rest) > 3
                else rest
            )
    return frozenset(found)


@lru_cache(maxsize=16384)
def fact(text: str, code: str) -> Fact:
    """Return what a text states."""
    known = tongue(code)
    said = plain(text)
    attribute = next((name for name, cues in known.attributes.items() if any(cue in said for cue in cues)), "")
    names = {name.lower() for name in _NAME.findall(text) if name[:3].lower() not in MONTHS and known.code != "de"}
    value = frozenset({*names, *_NUMBER.findall(text), *(one.strip("`").lower() for one in _CODE.findall(text))})
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    slots = {
        (beside, token)
        for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
        if token in value or token[:1].isdigit()
        for beside in (f"{before} _", f"_ {after}")
        if len(beside) > 3 and not beside.strip("_ ").isdigit()
    }
    cues = frozenset(name for name in known.cues if known.has(name, said))
    polarity, own = _NOT.search(text) is None, _OWN.search(text) is not None
    return Fact(words(text, code), attribute, value, frozenset(slots), polarity, cues, own)


def same(one: str, other: str, code: str, other_code: str = "") -> bool:
    """Return whether two texts say one thing: nearly the same words, and no other number, name or negation."""
    if flat(one) == flat(other):
        return True
    first, second = fact(one, code), fact(other, other_code or code)
    if not first.subject or not second.subject or first.value != second.value or first.polarity != second.polarity:
        return False
    return len(first.subject & second.subject) >= SAME * max(len(first.subject), len(second.subject))


@lru_cache(maxsize=16384)
def flat(text: str) -> str:
    """Return a text without blanks, signs and capitals."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


def signs(new: str, old: str, code: str, kinds: tuple[str, str] = ("fact", "fact")) -> Mapping[str, float]:
    """Return what two statements have in common and how they differ, by name, each about 0 to 1.

    `kinds` are those of the new and of the old one.
    """
    one, other = fact(new, code), fact(old, code)
    shared = one.subject & other.subject
    rare = frozenset(word for word in shared - common() if not word.isdigit())
    least, most = sorted((len(one.subject - common()) or 1, len(other.subject - common()) or 1))
    overlap = min(1.0, len(rare) / least)
    numbers = [frozenset(_NUMBER.findall(text)) for text in (new, old)]
    names = [frozenset(name for name in found.value if not name[:1].isdigit()) for found in (one, other)]
    beside = {place for place, _ in one.slots} & {place for place, _ in other.slots}
    slot = any(
        {v for p, v in one.slots if p == place}.isdisjoint(v for p, v in other.slots if p == place) for place in beside
    )
    changes = float("change" in one.cues)
    kind, rule = kinds[0] == kinds[1], kinds == ("rule", "rule")
    attribute = bool(one.attribute) and one.attribute == other.attribute
    moved = bool(numbers[0] - numbers[1]) and bool(numbers[1] - numbers[0])
    renamed = bool(names[0] - names[1]) and bool(names[1] - names[0])
    rest, before = (found.subject - found.value - numbers[n] for n, found in enumerate((one, other)))
    apart = rest ^ before
    one_value = moved and not apart and len(numbers[0] ^ numbers[1]) == 2
    called = {name[:STEM] for name in one.value | other.value} | one.value | other.value
    only_names = bool(rare) and rare <= called
    told_both = bool(numbers[0] & numbers[1]) and bool(numbers[0] - numbers[1])
    found = {
        "one value": float(one_value),
        "only names": float(only_names),
        "only names, changes": float(only_names) * changes,
        "only names, no change": float(only_names) * (1 - changes),
        "nearly one value": float(moved and len(apart) <= 2 and len(rest & before) >= 2),
        "own words": min(4, len(one.subject - other.subject - common())) / 4,
        "its words": min(4, len(other.subject - one.subject - common())) / 4,
        "overlap": overlap,
        "alike": len(rare) / (least + most - len(rare)),
        "any": float(bool(shared)),
        "rare": float(bool(rare)),
        "two rare": float(len(rare) >= 2),
        "three rare": float(len(rare) >= 3),
        "changes": changes,
        "negates": float(not one.polarity),
        "turned": float(one.polarity != other.polarity),
        "old value": float(bool(one.value & other.value)),
        "old number and another": float(told_both),
        "moved": float(moved),
        "slot": float(slot),
        "same slot": float(bool(one.slots & other.slots)),
        "same numbers": float(bool(numbers[0] & numbers[1])),
        "attribute": float(attribute),
        "other attribute": float(bool(one.attribute and other.attribute) and not attribute),
        "attribute value": float(attribute and one.value != other.value),
        "renamed": float(renamed),
        "shared names": float(bool(names[0] & names[1])),
        "rule": float(rule),
        "kind": float(kind),
        "short": float(len(one.subject) <= 4),
        "long": float(len(one.subject) >= 14),
        "old long": float(len(other.subject) >= 14),
    }
    found |= _together(found)
    told = [f"new {name}" for name in one.cues] + [f"old {name}" for name in other.cues]
    told += [f"new is {kinds[0]}", f"old is {kinds[1]}", f"{kinds[1]}, then {kinds[0]}", f"own {one.own} {other.own}"]
    if attribute:
        told += [f"both {one.attribute}", f"attribute, own {one.own} {other.own}"]
    return found | dict.fromkeys(told, 1.0)


def _together(found: Mapping[str, float]) -> dict[str, float]:
    """Return what signs say that stand together."""
    crossed: dict[str, float] = {}
    for name in ("changes", "turned", "moved", "renamed", "slot", "rule", "old number and another", "short", "kind"):
        crossed[f"{name} × overlap"] = found[name] * found["overlap"]
        crossed[f"{name} × rare"] = found[name] * found["rare"]
    crossed["changes × moved × rare"] = found["changes"] * found["moved"] * found["rare"]
    crossed["changes × told both"] = found["changes"] * found["old number and another"]
    if found["attribute"]:
        crossed["attribute × changes"] = found["changes"]
        crossed["attribute alone"] = 1 - found["rare"]
    return crossed


def takes_place(new: str, old: str, code: str, kinds: tuple[str, str] = ("fact", "fact")) -> float:
    """Return the belief, 0 to 1, that `new` takes the place of `old`, which was said before it."""
    found = signs(new, old, code, kinds)
    if found["other attribute"]:
        return 0.0  # the budget, and the timeout
    if not (found["rare"] or found["attribute"]) or found["only names, no change"] > found["old number and another"]:
        return 0.0  # of the same project, perhaps, and of another thing
    belief = share(found, _weights())
    if not found["one value"]:
        return belief
    counted = _COUNTED.search(new)
    if counted and plain(counted[1]).strip() not in tongue(code).function and _COUNTED.search(old):
        return 0.0  # "box 1", "box 2": the number says which one is meant
    return max(belief, ONE_VALUE)


def share(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the belief that signs give by their weights."""
    score = weights.get("", 0.0) + sum(weights.get(name, 0.0) * value for name, value in found.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


@cache
def _weights() -> dict[str, float]:
    rows = (row.rpartition("\t") for row in _read().splitlines() if "\t" in row)
    return {name: float(weight) for name, _, weight in rows}


@cache
def common() -> frozenset[str]:
    """Return the words that many of the project's labelled sentences hold: that two share one tells little."""
    return frozenset(row for row in _read().splitlines() if "\t" not in row)


def _read() -> str:
    return (resources.files("dream.language") / WEIGHTS).read_text(encoding="utf-8")
