"""Words: those of a statement that carry what it says, put into one form; names of months; headings of sections."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

# A month, as every reader of what people wrote knows it.


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (  # a pattern; the first three letters of what it finds are in MONTHS
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)


# The words of a statement that carry what it says, put into one form: no model, no network, any language.
#
# Case, inflection, spelt-out numbers, ways to write a date, and a few plain synonyms don't matter; negations,
# numbers, names and whether something is, was or may be do.


NOT = "¬"
# Most texts hold neither a day nor a time, and to look for each form of them takes most of the time.
_NUMERIC_DAY = re.compile(r"\d[-/.]\d")
_MAYBE_DAY = re.compile(r"\d(?:[-/.]\d| ?月|[\w.]{0,2} [^\W\d])")
_BEFORE_DAY = re.compile(r" \d")
_CLOCK = re.compile(r"(?<![\w:])(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?|(?<![\w:])(\d{1,2}):(\d\d)(?![\w:])")
_MAYBE_CLOCK = re.compile(r"\d(?: ?[ap]\.?m|:\d)")
_SAID_ON = re.compile(r"\s*[(（][^()（）]{0,24}?\d[^()（）]{0,24}[)）]\s*[.。]?\s*$")
_LIST_MARK = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?")
KEPT_CHARS = 500  # a line; its words are kept for the next time, those of a longer text only for a while
CJK = "぀-ヿ㐀-鿿豈-﫿가-힯"
_RANGES = tuple(zip(CJK[::3], CJK[2::3], strict=True))
_FIRST_CJK = CJK[0]  # text without this or any later character holds none, as most doesn't
_PHRASES = {"used to": "former", "no longer": "not", "not any more": "not", "not anymore": "not"}
_NO_STEM = frozenset(("note", "noted", "notes", "noting"))  # cut short they would be a negation


@cache
def _pieces(wide: bool) -> re.Pattern[str]:
    """Return the pattern of a word; with CJK it takes 20 ms, for Python marks each of its characters."""
    letter = rf"[^\W_{CJK}]" if wide else r"[^\W_]"
    alone = f"[{CJK}]|" if wide else ""
    return re.compile(rf"{alone}@[\d-]+|{letter}+(?:[.,:/@'’&+#_-]+{letter}+)*[+#%]*|%")


def _holds_cjk(text: str) -> bool:
    return not text.isascii() and max(text) >= _FIRST_CJK and any(map(is_cjk, text))


@cache
def table() -> Mapping[str, Any]:
    """Return words.toml: words that mean the same, and words that carry nothing."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def listed(name: str) -> frozenset[str]:
    """Return the words of a row of the table."""
    return frozenset(table()[name].split())


@cache
def all_marks() -> tuple[str, ...]:
    """Return what a line of memory may end with that nobody in the conversation vouches for; see `marks`."""
    return tuple(mark.strip() for known in marks().values() for mark in known.values())


def marks() -> Mapping[str, Mapping[str, str]]:
    """Return the marks of such lines, by who said them first and by language; they say nothing of the fact itself."""
    found: Mapping[str, Mapping[str, str]] = table()["marks"]
    return found


@cache
def _mark() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, all_marks())), re.IGNORECASE)


@cache
def forget() -> str:
    """Return the pattern of what takes back what its speaker has just said: "forget that"."""
    return f"(?i:{'|'.join(table()['forget'])})"


@cache
def _heads() -> Mapping[str, str]:
    """Return the word that stands for each that has another form or meaning the same."""
    heads = {word: str(number) for number, word in enumerate(table()["numbers"].split())}
    for row in re.split(r"; |\n", table()["irregular"].strip()):
        head, _, forms = row.partition(": ")
        heads |= dict.fromkeys(forms.split(), head)
    for row in table()["same"].strip().split("\n"):
        first, *others = row.split()
        head = NOT if first == "not" else _stem(first)
        heads |= {form: head for word in (first, *others) for form in (word, _stem(word))}
    return heads


@cache
def _wide_forms() -> Sequence[tuple[re.Pattern[str], str]]:
    return [(re.compile(form), head) for form, head in table()["same_wide"]]


def words(text: str) -> tuple[str, ...]:
    """Return the words of `text` that carry what it says, in their order and in one form; CJK by the character.

    A negation is `NOT`, a day of the year `@05-18`, its year `@2026`, a time of day `t15:00`.
    """
    return _line_words(text) if len(text) <= KEPT_CHARS else _words(text)


def _words(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", without_mark(text)).casefold().replace("’", "'").replace("`", " ")
    plain = _uniform(without_bullet(plain))
    found: list[str] = []
    for match in _pieces(_holds_cjk(plain)).finditer(plain):
        found += _read(match.group())
    return tuple(found)


_line_words = lru_cache(maxsize=16384)(_words)


def content_words(text: str) -> frozenset[str]:
    """Return the distinct content words of `text`; CJK text as pairs of characters."""
    return _line_content(text) if len(text) <= KEPT_CHARS else _long_content(text)


def coverage(fact: str, text: str) -> float:
    """Return the share, 0 to 1, of the content words of `fact` that stand in `text`."""
    wanted = content_words(fact)
    return len(wanted & content_words(text)) / len(wanted) if wanted else 0.0


def _content(text: str) -> frozenset[str]:
    found: set[str] = set()
    run: list[str] = []
    for word in (*words(text), ""):
        if word and is_cjk(word):
            run.append(word)
            continue
        found.update(a + b for a, b in pairwise(run))
        if len(run) == 1:
            found.add(run[0])
        run = []
        if word:
            found.add(word)
    return frozenset(found)


_line_content = lru_cache(maxsize=16384)(_content)
_long_content = lru_cache(maxsize=64)(_content)  # a file, an entry: each finding of a dream is held against them


def without_said_on(text: str) -> str:
    """Return `text` without the day in brackets at its end, which says when it was said or learnt."""
    return _SAID_ON.sub("", text)


def without_mark(text: str) -> str:
    """Return `text` without the mark that names its source."""
    return _mark().sub(" ", text) if "(" in text or "（" in text else text


def without_bullet(line: str) -> str:
    """Return a line without the bullet or the number by which it stands in a list; "12. März" is a day, and none."""
    mark = _LIST_MARK.match(line)
    rest = line[mark.end() :] if mark else line
    counted = mark is not None and mark[0].rstrip().endswith(".")
    return line.lstrip() if counted and re.split(r"\W", rest, maxsplit=1)[0].lower() in _local_months() else rest


def is_hard(word: str) -> bool:
    """Return whether a word must be met exactly: a number, a date, a negation."""
    return word == NOT or any(ch.isdigit() for ch in word)


def is_year(word: str) -> bool:
    """Return whether a word is a year."""
    return re.fullmatch(r"@?(?:19|20)\d\d", word) is not None


def is_cjk(word: str) -> bool:
    """Return whether a word is Chinese, Japanese or Korean."""
    return word[:1] >= _FIRST_CJK and any(first <= word[0] <= last for first, last in _RANGES)


def _uniform(text: str) -> str:
    if _MAYBE_DAY.search(text) or _BEFORE_DAY.search(text):
        for pattern in _day_forms(text):
            text = pattern.sub(_day, text)
    if _MAYBE_CLOCK.search(text):
        text = _CLOCK.sub(_time, text)
    if "'" in text or "cannot" in text:
        text = re.sub(r"\bcan(?:'t|not)\b|\bwon't\b|(?<=\w)n't\b", " not ", text)
        text = re.sub(r"(?<=\w)'(?:s|re|ve|ll|d|m)\b|(?<=s)'(?=\s)", " ", text)
    if "%" in text or "percent" in text:
        text = re.sub(r"(?<=\d) ?%|(?<=\d) percent\b", " percent ", text)
    if "," in text or "'" in text:
        text = re.sub(r"(?<=\d)[,'](?=\d{3}\b)", "", text)
    if any(phrase in text for phrase in ("used to", "no longer", "not any")):
        text = re.sub(r"\b(used to|no longer|not any ?more)\b", lambda found: _PHRASES[found[1]], text)
    if _holds_cjk(text):
        for pattern, new in _wide_forms():
            text = pattern.sub(new, text)
        text = text.replace(NOT, " not ")
    return text


def _day_forms(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns of days that may stand in a text."""
    if _NUMERIC_DAY.search(text):
        yield from _dates()[:2]
    if "月" in text:
        yield _dates()[2]
    if any(map(text.__contains__, _month_starts())):
        yield from _dates()[3:]


@cache
def months() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return by language the names of the months in their order, each in its spellings, the usual one first."""
    rows: Mapping[str, str] = table()["months"]
    return {code: tuple(tuple(name.split("|")) for name in row.split()) for code, row in rows.items()}


@cache
def _local_months() -> Mapping[str, int]:
    """Return the number of a month by its name in lower case, in the other languages that write one by its name."""
    named = {code: names for code, names in months().items() if code != "en" and not names[0][0][0].isdigit()}
    rows = ((number, name) for names in named.values() for number, month in enumerate(names, 1) for name in month)
    return {name.lower(): number for number, name in rows}


@cache
def _month_starts() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*MONTHS, *(name[:3] for name in _local_months()))))


@cache
def _dates() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a day: the first two are of digits, the third of digits and signs, the others of words."""
    year = r"(?:,? (?P<year>\d{4}))?(?!\w)"
    forms = (
        r"(?<!\d)(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?:(?P<year>\d{4}) ?年 ?)?(?P<number>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?[日号號]",
        rf"(?<!\w)(?P<month>{MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:]){year}",
        rf"(?<!\w)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH}){year}",
        rf"(?<!\w)(?P<day>\d{{1,2}})(?:\.|er|º)? (?:de )?(?P<local>{'|'.join(_local_months())})(?:(?: del?)? (?P<year>\d{{4}}))?(?!\w)",
    )
    return tuple(map(re.compile, forms))


def _day(found: re.Match[str]) -> str:
    parts = found.groupdict()
    if parts.get("local"):
        month = _local_months()[parts["local"]]
    else:
        month = int(parts["number"]) if parts.get("number") else MONTHS.index(parts["month"][:3]) + 1
    year = f" @{parts['year']}" if parts.get("year") else ""
    return f" @{month:02}-{int(parts['day']):02}{year} "


def _time(found: re.Match[str]) -> str:
    if found[4]:
        return f" t{int(found[4]):02}:{int(found[5]):02} "
    hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0)
    return f" t{hour:02}:{found[2] or '00'} "


@lru_cache(maxsize=32768)
def _read(piece: str) -> tuple[str, ...]:
    if piece.startswith("@"):
        return (piece,)
    if is_cjk(piece):
        return () if piece in table()["stop_wide"] else (piece,)
    if piece in listed("stop"):
        return ()
    if "-" in piece and piece.replace("-", "").isalpha() and piece not in _heads():
        return tuple(word for part in piece.split("-") for word in _read(part))
    stem = piece if piece in _NO_STEM else _stem(piece)
    return (_heads().get(piece) or _heads().get(stem) or stem,)


def _stem(word: str) -> str:
    """Reduce an English word lightly: plural, -ing, -ed, doubled consonant, final e."""
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return word
    for suffix, least, end in (
        ("ies", 5, "y"),
        ("ing", 6, ""),
        ("ied", 5, "y"),
        ("ed", 5, ""),
        ("es", 5, ""),
        ("s", 4, ""),
    ):
        if len(word) >= least and word.endswith(suffix) and not word.endswith(("ss", "eed", "us", "is")):
            word = word[: -len(suffix)] + end
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsze":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


# The headings of memory's sections, in the languages that memory is written in: a section has one, whichever.


def standing(lines: Iterable[str], name: str) -> str | None:
    """Return the heading that the section `name` has among `lines`, in whatever language; None where it has none."""
    titles = {f"## {title}".casefold() for title in (name, *table()["titles"].get(name, {}).values())}
    return next((line.strip() for line in lines if line.strip().casefold() in titles), None)


def heading(name: str, code: str) -> str:
    """Return the heading of a section that is new to its file; in English where it has none in that language."""
    return f"## {table()['titles'][name].get(code, name)}"
