"""Whether the later of two statements takes the place of the earlier: by signs that no grammar makes. Pure.

Their telling words, the numbers, names and codes in them and what stands beside those, negations, words of change, and
what they are about where that has one value only (home, port, deadline …). Both are quoted, and their language is known.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from dream.language import cues
from dream.language.tongue import plain, tongue
from dream.text import days
from dream.text.words import MONTH, table

WEIGHTS = "pairs.weights"
TOLD = 0.82  # share of the words of the longer of two statements that tell one thing
ONE_VALUE = 0.8  # belief where two statements differ in one number and in nothing else
STEM = 6  # letters of a word by which its forms are one
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_MONTH = re.compile(MONTH, re.IGNORECASE)
_CODE = re.compile(
    r"[\w./~-]*[\w~][./_~-]+[\w./~-]*\w|\b[A-Za-z]+\d+\w*|\b[A-Z]{2,}\b|`[^`]+`|\b[a-z]+[A-Z]\w+|(?<=[㐀-鿿])[A-Za-z][\w-]+"
)
_NAME = re.compile(r"(?<=[\wà-ÿ,;:)] )[A-ZÀ-Þ][\wà-ÿ’'-]+")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[-’'./_][\w]+)*\d*|[㐀-鿿]")
_COUNTED = re.compile(r"([^\W\d_]{3,}) (?:#|nr\.? ?|no\.? ?)?\d{1,2}(?=\s*[.!,;)]*\s*$)", re.IGNORECASE)
_NAMED = re.compile(r"\W*(?:[^\W\d_]+ )??([^\W\d_]{3,}) (?:#|nr\.? ?|no\.? ?)?\d{1,5}(?= [^\W\d_])", re.IGNORECASE)
_COUNTS = re.compile(rf"(?<![\w.,/^*=+$€£¥-])(\d[\d.,]*) (?!{MONTH})([^\W\d_]{{3,}})", re.IGNORECASE)
_WIDE_RUN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]+")
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


@lru_cache(maxsize=16384)
def telling(text: str, code: str) -> frozenset[str]:
    """Return the telling words of a text, cut to a stem's length; Chinese and Japanese by pairs of characters."""
    known = tongue(code)
    found: set[str] = set()
    grammar = set(table()["grammar_wide"])
    for word in plain(cues.pattern("the_user").sub(" ", text)).split():
        runs = _WIDE_RUN.findall(word)
        for run in runs:
            found.update(run[at : at + 2] for at in range(len(run) - 1) if not grammar.issuperset(run[at : at + 2]))
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


def tells(text: str, code: str) -> int:
    """Return how many telling words a text has that few sentences hold."""
    return len(telling(text, code) - common())


@lru_cache(maxsize=16384)
def fact(text: str, code: str) -> Fact:
    """Return what a text states."""
    known = tongue(code)
    said = plain(text)
    attribute = next((name for name, ones in known.attributes.items() if any(one in said for one in ones)), "")
    names = {name.lower() for name in _NAME.findall(text) if not _MONTH.fullmatch(name) and known.code != "de"}
    value = frozenset({*names, *_NUMBER.findall(text), *(one.strip("`").lower() for one in _CODE.findall(text))})
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    slots = set[tuple[str, str]]()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token in value or token[:1].isdigit():
            slots.update((beside, token) for beside in (f"{before} _", f"_ {after}") if _names_slot(beside))
    held = frozenset(name for name in known.cues if known.has(name, said))
    polarity, own = not cues.says("denies", text), cues.says("of_its_speaker", text)
    return Fact(telling(text, code), attribute, value, frozenset(slots), polarity, held, own)


def _names_slot(beside: str) -> bool:
    """Return whether what stands beside a value tells what it is of: a word, and no number."""
    return len(beside) > 3 and not beside.strip("_ ").isdigit()


def told_already(new: str, old: str, code: str, old_code: str) -> bool:
    """Return whether a statement may be left out because another tells it: nearly the same words, and equal values.

    This is stricter than `same_fact`, which a longer line passes too: what is left out here is lost. Where that one
    decides, LoCoMo's answers lose half a point.
    """
    first, second = fact(new, code), fact(old, old_code)
    if _flat(new) == _flat(old):
        return True
    if not first.subject or not second.subject or first.value != second.value or first.polarity != second.polarity:
        return False
    return len(first.subject & second.subject) >= TOLD * max(len(first.subject), len(second.subject))


def _flat(text: str) -> str:
    """Return a text without blanks, signs and capitals."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


@lru_cache(maxsize=1024)  # asked for the belief, and again for what differs
def signs(new: str, old: str, code: str, kinds: tuple[str, str] = ("fact", "fact")) -> Mapping[str, float]:
    """Return what two statements have in common and how they differ, by name, each about 0 to 1.

    `kinds` are those of the new and of the old one.
    """
    one, other = fact(new, code), fact(old, code)
    rare = frozenset(word for word in (one.subject & other.subject) - common() if not word.isdigit())
    attribute = bool(one.attribute) and one.attribute == other.attribute
    changes = "change" in one.cues
    only_names = bool(rare) and rare <= {name[:STEM] for name in one.value | other.value} | one.value | other.value
    found: dict[str, bool | float] = {
        **_in_words(one, other, rare),
        **_in_values(new, old, code, one, other),
        "only names": only_names,
        "only names, changes": only_names and changes,
        "only names, no change": only_names and not changes,
        "changes": changes,
        "negates": not one.polarity,
        "turned": one.polarity != other.polarity,
        "attribute": attribute,
        "other attribute": bool(one.attribute and other.attribute) and not attribute,
        "attribute value": attribute and one.value != other.value,
        "rule": kinds == ("rule", "rule"),
        "kind": kinds[0] == kinds[1],
    }
    found |= _together(found)
    told = [f"new {name}" for name in one.cues] + [f"old {name}" for name in other.cues]
    told += [f"new is {kinds[0]}", f"old is {kinds[1]}", f"{kinds[1]}, then {kinds[0]}", f"own {one.own} {other.own}"]
    if attribute:
        told += [f"both {one.attribute}", f"attribute, own {one.own} {other.own}"]
    return {name: float(value) for name, value in found.items()} | dict.fromkeys(told, 1.0)


def _in_words(one: Fact, other: Fact, rare: frozenset[str]) -> dict[str, bool | float]:
    """Return the signs of the words of two statements, of which they share the `rare` ones."""
    least, most = sorted((len(one.subject - common()) or 1, len(other.subject - common()) or 1))
    return {
        "own words": min(4, len(one.subject - other.subject - common())) / 4,
        "its words": min(4, len(other.subject - one.subject - common())) / 4,
        "overlap": min(1.0, len(rare) / least),
        "alike": len(rare) / (least + most - len(rare)),
        "any": bool(one.subject & other.subject),
        "rare": bool(rare),
        "two rare": len(rare) >= 2,
        "three rare": len(rare) >= 3,
        "short": len(one.subject) <= 4,
        "long": len(one.subject) >= 14,
        "old long": len(other.subject) >= 14,
    }


def _in_values(new: str, old: str, code: str, one: Fact, other: Fact) -> dict[str, bool | float]:
    """Return the signs of the numbers, names and codes of two statements, and of what stands beside them."""
    ours, theirs = frozenset(_NUMBER.findall(new)), frozenset(_NUMBER.findall(old))
    names, before = (frozenset(name for name in found.value if not name[:1].isdigit()) for found in (one, other))
    rest, other_rest = one.subject - one.value - ours, other.subject - other.value - theirs
    apart = rest ^ other_rest
    moved = bool(ours - theirs) and bool(theirs - ours)
    here, there = _by_place(one.slots), _by_place(other.slots)
    counts = _counted(old, code)
    return {
        "one value": moved and not apart and len(ours ^ theirs) == 2,
        "nearly one value": moved and len(apart) <= 2 and len(rest & other_rest) >= 2,
        "old value": bool(one.value & other.value),
        "old number and another": bool(ours & theirs) and bool(ours - theirs),
        "moved": moved,
        "slot": any(here[place].isdisjoint(there[place]) for place in here.keys() & there.keys()),
        "counted": any(
            some.isdisjoint(counts[thing]) for thing, some in _counted(new, code).items() if thing in counts
        ),
        "same slot": bool(one.slots & other.slots),
        "same numbers": bool(ours & theirs),
        "renamed": bool(names - before) and bool(before - names),
        "shared names": bool(names & before),
    }


def _by_place(slots: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the values of slots by the word beside which they stand."""
    found: dict[str, set[str]] = {}
    for place, value in slots:
        found.setdefault(place, set()).add(value)
    return found


def _counted(text: str, code: str) -> dict[str, set[str]]:
    """Return the numbers of what a text counts, by its telling word: of "45 sources" 45; a share and a size is none."""
    found: dict[str, set[str]] = {}
    for match in _COUNTS.finditer(text):
        for thing in telling(match[2], code):
            found.setdefault(thing, set()).add(match[1])
    return found


# What the learnt signs don't tell, and what their weights are not of: which words two statements share, counted as a
# person would, and whether something is counted anew that numbers in words or a sign for money tell of.


_TIMES = frozenset("月日号號年時时分点點")  # what a number before them tells is a day or an hour
_PRONOUNS = frozenset("我你您他她它")
_HIRAGANA = re.compile("[ぁ-ゟ]")
_HAN_ONLY = re.compile("[㐀-鿿]+")
_MEASURED = re.compile(
    r"(?<![A-Za-zÀ-ÿ\d_.,:/-])(\d+(?:[.,]\d+)*) ?(?:([^\W\d_぀-鿿]{2,}|[%€$£])|([㐀-鿿゠-ヿ]))",
)
_HOURS = frozenset(("uhr", "am", "pm", "hs"))


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


def supersedes(new: str, old: str, code: str, share: float) -> bool:
    """Return whether two statements hold at least `share` of the shorter one's telling words, or count one thing anew.

    Not where they say the same of two things: "Room 12 is free", "Room 14 is free"; "the crawler has 3 tickets", "the
    scheduler has 5".
    """
    ours, theirs = ({word for word in telling(one, code) if not word[:1].isdigit()} for one in (new, old))
    both, least = ours & theirs, min(len(ours), len(theirs))
    instead = 1 <= len(ours - theirs) <= 2 and 1 <= len(theirs - ours) <= 2 and len(both) >= least / 2
    if (_counts(new, code) and _counts(old, code)) or (instead and _NUMBER.search(new) and _NUMBER.search(old)):
        return False
    few, more = sorted((telling(new, code) - common(), telling(old, code) - common()), key=len)
    return len(few & more) >= share * (len(few) or 1) or recounted(new, old, code)


@cache
def _calendar() -> frozenset[str]:
    """Return the names of months and weekdays as `telling` has them."""
    named = (
        (name, known.code)
        for known in map(days.names, days.codes())
        for name in (*known.months, *known.short, *known.weekdays)
    )
    return frozenset(word for name, code in named for form in (name, f"{name}s") for word in telling(form, code))


def recounted(new: str, old: str, code: str) -> bool:
    """Return whether `new` has another number of something that `old` counts or measures; days and hours are neither."""
    counts = _measured(old, code)
    if _counts(new, code) and _counts(old, code):
        return False  # "box 1", "box 2"
    return any(some.isdisjoint(counts[thing]) for thing, some in _measured(new, code).items() if thing in counts)


@lru_cache(maxsize=4096)
def _measured(text: str, code: str) -> Mapping[str, set[str]]:
    """Return the numbers of what a text counts or measures, by its telling word: of "three panels" 3, of "5 mg" 5."""
    known, said = days.names(code), text.lower()
    if not known.wide:
        for value, word in enumerate(known.numbers[1:], 2):
            said = re.sub(rf"\b{word}\b", str(value), said)
    told = [(match[2] or match[3], match[1]) for match in _MEASURED.finditer(said)]
    found: dict[str, set[str]] = {}
    for thing, number in told:
        if thing not in _TIMES and thing not in _HOURS:
            for word in (telling(thing, code) or {thing}) - _calendar():
                found.setdefault(word, set()).add(number)
    return found


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
    if not (found["rare"] or found["attribute"]):
        return 0.0
    if _moves(new, old, code):
        return ONE_VALUE
    if found["only names, no change"] > found["old number and another"]:
        return 0.0  # of the same project, perhaps, and of another thing
    belief = share(found, _weights())
    if not found["one value"]:
        return belief
    if _counts(new, code) and _counts(old, code):
        return 0.0  # "box 1", "box 2": the number says which one is meant
    return max(belief, ONE_VALUE)


def _moves(new: str, old: str, code: str) -> bool:
    """Return whether `new` names what `old` says as what it was: "we move Crumb from SQLite to Postgres"."""
    found, said = tongue(code).moves.search(plain(new)), fact(new, code)
    if not found or said.cues.isdisjoint(("change", "decide", "plan")):
        return False
    was, told = telling(found["was"], code), fact(old, code).subject
    return any(word.isalpha() for word in was) and was <= told and bool((said.subject - was - common()) & told)


def _counts(text: str, code: str) -> bool:
    """Return whether a number says which one a statement is about: "I like box 2", "Room 12 is free on Mondays"."""
    counted, said = _COUNTED.search(text), fact(text, code)
    if not counted and not said.attribute and "change" not in said.cues:
        counted = _NAMED.match(text)
        counted = None if counted and _MONTH.fullmatch(counted[1]) else counted
    return bool(counted and plain(counted[1]).strip() not in tongue(code).function)


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
