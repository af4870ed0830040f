"""What a statement tells in its words, and whether another tells the same, or another value of it. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources

from dream.embedded.tongue import tongue
from dream.provenance import cues
from dream.text import days
from dream.text.tongues import function, plain
from dream.text.words import MONTH, table

COMMON = "common.txt"
TOLD = 0.82  # share of the longer statement's words, from which two statements say the same
SCRAP = 2  # letters of what a contraction leaves
STEM = 6  # letters of a word that its forms have in common
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_MONTH = re.compile(MONTH, re.IGNORECASE)
_CODE = re.compile(
    r"[\w./~-]*[\w~][./_~-]+[\w./~-]*\w|\b[A-Za-z]+\d+\w*|\b[A-Z]{2,}\b|`[^`]+`|\b[a-z]+[A-Z]\w+|(?<=[㐀-鿿])[A-Za-z][A-Za-z\d_-]+"
)
_NAME = re.compile(r"(?<=[\wà-ÿ,;:)] )[A-ZÀ-Þ][\wà-ÿ’'-]+")
_COUNTED = re.compile(r"([^\W\d_]{3,}) (?:#|nr\.? ?|no\.? ?)?\d{1,2}(?=\s*[.!,;)]*\s*$)", re.IGNORECASE)
_NAMED = re.compile(r"\W*(?:[^\W\d_]+ )??([^\W\d_]{3,}) (?:#|nr\.? ?|no\.? ?)?\d{1,5}(?= [^\W\d_])", re.IGNORECASE)
_WIDE_RUN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]+")
_ENGLISH = "en"
_TIMES = frozenset("月日号號年時时分点點")  # a number before them is a day or an hour
_PRONOUNS = frozenset("我你您他她它")
_HIRAGANA = re.compile("[ぁ-ゟ]")
_HAN_ONLY = re.compile("[㐀-鿿]+")


@lru_cache(maxsize=16384)
def telling(text: str, code: str) -> frozenset[str]:
    """Return the content words of a text, cut to a stem's length; Chinese and Japanese by pairs of characters."""
    small = function(code) | function(_ENGLISH)
    found: set[str] = set()
    grammar = set(table()["grammar_wide"])
    for word in plain(cues.pattern("the_user").sub(" ", text)).split():
        runs = _WIDE_RUN.findall(word)
        for run in runs:
            found.update(run[at : at + 2] for at in range(len(run) - 1) if not grammar.issuperset(run[at : at + 2]))
        rest = _WIDE_RUN.sub("", word) if runs else word
        if rest and rest not in small:
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


def tells(text: str, code: str) -> int:
    """Return how many rare content words a text has."""
    return len(telling(text, code) - common())


@lru_cache(maxsize=16384)
def attribute(text: str, code: str) -> str:
    """Return the attribute a text gives, if it has one value at a time: home, port, deadline; "" if unclear."""
    said = plain(text)
    return next((name for name, ones in tongue(code).attributes.items() if any(one in said for one in ones)), "")


@lru_cache(maxsize=16384)
def _values(text: str, code: str) -> frozenset[str]:
    """Return the numbers, names and codes in a text."""
    names = {name.lower() for name in _NAME.findall(text) if not _MONTH.fullmatch(name) and code != "de"}
    return frozenset({*names, *_NUMBER.findall(text), *(one.strip("`").lower() for one in _CODE.findall(text))})


def told_already(new: str, old: str, code: str, old_code: str) -> bool:
    """Return whether a statement repeats another, so that it may be dropped: nearly the same words, and equal values.

    This is stricter than `same_fact`, which a longer line passes too: what is left out here is lost.
    """
    if _flat(new) == _flat(old):
        return True
    first, second = telling(new, code), telling(old, old_code)
    if not first or not second or cues.says("denies", new) != cues.says("denies", old):
        return False
    if _values(new, code) != _values(old, old_code):
        return False
    return len(first & second) >= TOLD * max(len(first), len(second))


def _flat(text: str) -> str:
    """Return a text without blanks, signs and capitals."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


def supersedes(new: str, old: str, code: str, share: float) -> bool:
    """Return whether two statements share at least `share` of the shorter's content words.

    Not where they say the same of two things: "Room 12 is free", "Room 14 is free"; "the crawler has 3 tickets", "the
    scheduler has 5". Nor where the later names something that the older doesn't tell of: "my sister-in-law moved".
    """
    if not _same_frame(new, old, code):
        return False
    ours, theirs = ({word for word in telling(one, code) if not word[:1].isdigit()} for one in (new, old))
    both, least = ours & theirs, min(len(ours), len(theirs))
    instead = 1 <= len(ours - theirs) <= 2 and 1 <= len(theirs - ours) <= 2 and len(both) >= least / 2
    if (_counts(new, code) and _counts(old, code)) or (instead and _NUMBER.search(new) and _NUMBER.search(old)):
        return False
    few, more = sorted((telling(new, code) - common(), telling(old, code) - common()), key=len)
    return len(few & more) >= share * (len(few) or 1)


def _same_frame(new: str, old: str, code: str) -> bool:
    """Return whether a statement tells nothing in other words than an older one, but for values and words of change."""
    known = telling(old, code)
    values = {one for one in _values(new, code) if known.isdisjoint(telling(one, code))}
    changing = [
        cue for one in days.codes() for cue in tongue(one).cues["change"]
    ]  # few words may be taken for another's
    said = known | telling(" ".join((*changing, *values)), code)
    characters = set("".join((*filter(_WIDE_RUN.match, known), *changing)))
    new = cues.pattern("each").sub(" ", new)
    left = {word for word in telling(new, code) - said - _calendar() if not word[:1].isdigit() and not _is_scrap(word)}
    return all(_WIDE_RUN.match(word) and not characters.isdisjoint(word) for word in left)


def _is_scrap(word: str) -> bool:
    """Return whether a word is what a contraction leaves, as "I've" does a "ve"."""
    return word.isascii() and len(word) <= SCRAP


def shared(new: str, old: str, code: str) -> list[frozenset[str]]:
    """Return the rare words that two statements share, each with the forms by which `telling` knows it.

    Months, weekdays and numbers are none of them. In Chinese and Japanese a word is a run of pairs, and a long run of
    characters is more than one.
    """
    both = telling(new, code) & telling(old, code) - common() - _calendar()
    pairs = {word for word in both if len(word) == 2 and _WIDE_RUN.fullmatch(word)}
    found = [frozenset({word}) for word in both - pairs if not word.isdigit()]
    runs: list[frozenset[str]] = []
    for pair in sorted(pairs):
        if _HIRAGANA.match(pair) or pair[0] in _TIMES or not _PRONOUNS.isdisjoint(pair):
            continue
        touching = [run for run in runs if any(pair[0] == one[1] or pair[1] == one[0] for one in run)]
        runs = [*(run for run in runs if run not in touching), frozenset({pair}).union(*touching)]
    for run in runs:
        found += [run] * (max(1, (len(run) + 1) // 2) if all(map(_HAN_ONLY.fullmatch, run)) else 1)
    return found


@cache
def _calendar() -> frozenset[str]:
    """Return the names of months and weekdays as `telling` has them."""
    named = (
        (name, known.code)
        for known in map(days.names, days.codes())
        for name in (*known.months, *known.short, *known.weekdays)
    )
    return frozenset(word for name, code in named for form in (name, f"{name}s") for word in telling(form, code))


def _counts(text: str, code: str) -> bool:
    """Return whether a number says which one a statement is about: "I like box 2", "Room 12 is free on Mondays"."""
    counted = _COUNTED.search(text)
    if not counted and not attribute(text, code) and not tongue(code).has("change", plain(text)):
        counted = _NAMED.match(text)
        counted = None if counted and _MONTH.fullmatch(counted[1]) else counted
    return bool(counted and plain(counted[1]).strip() not in function(code))


@cache
def common() -> frozenset[str]:
    """Return the common words of the project's labelled sentences: two statements that share one need not be alike."""
    return frozenset((resources.files("dream.embedded") / COMMON).read_text(encoding="utf-8").splitlines())
