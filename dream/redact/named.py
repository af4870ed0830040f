"""Secrets by the words that they follow: `password: …`, `TOKEN=…`, and passwords that are told in a sentence."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dream.redact.forms import (
    DENSE,
    DENSE_CHARS,
    EXAMPLE,
    QUOTED_CODE,
    SWITCH,
    SWITCHES,
    Region,
    glaring,
    looks_secret,
    lowered,
    mixed,
    placeholder,
    random,
    regex,
    stark,
    strong,
    table,
    unnamed,
)

_Q = r"(?:\\{1,7}[\"']|[\"'`]|&quot;|&#34;|%22|\\u0022)"
_WHICH = (
    r"(?:[_-](?:\d{1,2}|v\d|prod|production|staging|stage|dev|test|live|old|new|backup|value|plain|plaintext|raw|b64"
    r"|base64|read|write|ro|rw|main|primary|secondary|local|default))?"
)
_BESIDE = rf"(?:{_Q}|[*\])]){{0,3}}(?:[ \t]?(?:\[[^\]\n]{{0,20}}\]|\([^)\n]{{0,30}}\)))?[*_]{{0,2}}"
# How a value is given to a name, each up to the value: (name of the way, pattern).
_WAYS = (
    ("block", r"{0}[ \t]{{0,3}}:[ \t]{{0,3}}[|>][-+0-9]{{0,2}}[ \t]{{0,8}}\n"),
    (
        "typed",
        r"{0}[ \t]{{0,3}}:[ \t]{{0,3}}[&A-Za-z][\w.\[\]|& ?]{{0,30}}[ \t]{{0,3}}={{1}}[ \t]{{0,3}}(?P<open>[\"'])",
    ),
    (
        "given",
        (
            r"{0}[ \t]{{0,24}}(?P<by>=>|:=|={{1,3}}|::?|：|＝|->|→|%3[DdAa]|\\u003d|\bis\b:?|\bwas\b|\bist\b|是|は|为)"
            r"[ \t*]{{0,8}}(?P<open>{1}?)"
        ),
    ),
    (
        "pair",
        (
            r"{1}?[\s,{{]{{1,40}}(?:(?:type|description|sensitive)[ \t]*=[^\n]{{0,120}}\n\s{{0,20}}){{0,3}}"
            r"{1}?(?i:value|default){1}?[ \t]{{0,3}}[:=][ \t]{{0,3}}(?P<open>{1}?)"
        ),
    ),
    ("called", r"{1}[ \t]{{0,3}},\s{{0,20}}(?P<open>{1})"),
    ("element", r"(?:[\"']?(?:\s[^<>\n]{{0,120}})?(?:>|&gt;))"),
    (
        "cell",
        r"[ \t*`:]{{0,24}}(?:\|[ \t*`]{{0,24}}|(?:</\w{{1,8}}>:?\s{{0,20}}){{1,2}}(?:<\w{{1,8}}>){{0,2}}|\t[ \t]*)",
    ),
    ("column", r"[ \t]*(?=[|,;\t][^\n]*\n|\n[^\n|,;\t]{{1,80}}[|,;\t])"),
    ("below", r"{0}[ \t]{{0,3}}[:：][ \t]{{0,3}}\n[ \t>]{{0,8}}"),
)
_LOOSE = ("cell", "below")  # ways in which ordinary words stand too
_BARE = r"[^\s\"'`<>]{4,64}"
_HEAD_CHARS = 64  # characters of a value that are checked: enough to judge it, and keeps the time linear
_TAIL = r"(?=[\s\"'`<>])"
_MOST_QUOTED = 4000  # characters between quotes
_SENTENCE_GOES_ON = r"[，。；：、）（！？」』]"
_NEXT_PAIR = r"[;&,|][ \t]?[\w.-]{1,40}[=:]"
_UNQUOTED_CODE = r"^[&*@#\\|]"
_MOST_ROWS = 40  # of a table that are looked at
_LEAST_TOLD = 6  # characters of a password in a sentence

_JOINTS = (
    "the",
    "and",
    "for",
    "of",
    "to",
    "on",
    "is",
    "that",
    "der",
    "die",
    "und",
    "für",
    "le",
    "et",
    "pour",
    "de",
    "para",
    "per",
)
_NO_ENDING = r"pass(?!ord|wort)|pwd|pw"  # English words take none
_OPTION = r"(?:^|[\s'\"])--?[\w-]{0,30}$"
_VERB_CHARS = 40  # characters before the word, or after the value, that are searched for the verb
_VALUE = r"(?P<quote>[\"'`„“«*「『]{0,2})(?:(?<=«)[ \u00a0\u202f])?(?P<value>[^\s\"'`<>„“”«»「」『』]{6,64})"
_ADDED = rf"(?![a-z])[^.!?:;\n]{{0,40}}?,[ \t]{_VALUE}(?=[,.!?;]|[ \t]?$|\n)"  # "the server's token was, er, x7-Kd92q"
_BETWEEN = r"[ \t:,]{0,3}(?P<value>[!-~]{6,64})(?=[ \t]*[\u2e80-\u9fff])"  # its sentence goes on in another script
_GLARING = r"(?P<value>(?=\S{0,60}\w[#!$%&*@?~^+=_.-]\w)(?=\S{0,60}\d)[^\s\"'`<>,;()「」、。，]{7,64})"
_KEY_SAID = (
    r"s?(?:[ \t]+[^.!?;:=\n\"'`]{1,48}?)?(?:[ \t]*[:=–—]|[ \t](?:is|was|ist|lautet|es|est|è|é|-))?[ \t]{1,3}"
    r"[\"'`(]?(?P<value>[\w+=~-]{20,400})(?![/.])"
)
# "the bot token dt_9f3e77aa01cc"
_KEY_BESIDE = r"s?[ \t]{1,3}(?:[\u4e00-\u9fff]{1,6}[ \t]?)?[\"'`(]?(?P<value>[\w~-]{12,64})(?![\w/.=:])"


@dataclass(frozen=True, slots=True)
class _Assigned:
    """A value, the way it was given to a word, and by which sign; `plain` as `looks_secret` means it."""

    value: str
    way: str
    by: str
    plain: bool
    quoted: bool


def names(text: str) -> bool:
    """Return whether a text has a word for a password, a key or a token, whether or not it gives one away."""
    lower = lowered(text)
    return any(_words().match(lower, start) for start in _starts(lower))


def words(text: str) -> Iterator[tuple[str, Region]]:
    """Find the values that are assigned to a word for a password, a key or a token, or said to be one."""
    lower = lowered(text)
    for start in _starts(lower):
        word = _words().match(lower, start)
        if word is None or (lower[word.end() : word.end() + 1] in (":", "=") and _opens_another(lower, word.end() + 1)):
            continue
        password = word.lastgroup == "password"
        if not _meant(text, lower, word, password=password):
            continue
        span = _assigned(text, lower, word, password=password)
        if span is None:
            span = _told(text, word) if password else _told_key(text, word)
        if span is not None:
            yield ("password" if password else "secret"), span
            yield from _siblings(text, span) if password else ()


def _siblings(text: str, span: Region) -> Iterator[tuple[str, Region]]:
    """Find values of the same form as a password near it: the old and the new one, `Robin-Nest-41` and `-42`."""
    build = _build(text[slice(*span)])
    first = max(0, span[0] - 2 * _HEAD_CHARS)
    for found in regex(r"[!-~]{6,64}").finditer(text[first : span[1] + 2 * _HEAD_CHARS] if len(build) > 2 else ""):
        value = _trimmed(found[0].strip("\"'`(!?"))
        if _build(value) == build and value != text[slice(*span)] and mixed(value):
            start = first + found.start() + found[0].index(value)
            yield "password", (start, start + len(value))


def _build(value: str) -> str:
    return regex(r"\d+").sub("0", regex(r"[A-Z]?[a-z]+").sub("a", value))


def _starts(lower: str) -> list[int]:
    """Return where words may begin. Looking for each beginning by itself is quicker than one pattern for all."""
    places: set[int] = set()
    for stem in _stems(lower.isascii()):
        at = lower.find(stem)
        while at >= 0:
            places.add(at)
            at = lower.find(stem, at + 1)
    found = sorted(places)
    return [at for n, at in enumerate(found) if n < DENSE or at - found[n - DENSE] >= DENSE_CHARS]


@functools.cache
def _stems(ascii_only: bool) -> tuple[str, ...]:
    """Return the shortest beginnings of the words, as far as they are no patterns."""
    words = [word for group in ("password", "key") for word in table()["words"][group]]
    literal = {re.match(r"(?:[^\\\[({?](?!\?))+", word)[0] for word in words}  # type: ignore[index]
    shortest = (one for one in literal if not any(one != other and one.startswith(other) for other in literal))
    return tuple(one for one in shortest if one.isascii() or not ascii_only)


@functools.cache
def _words() -> re.Pattern[str]:
    named = table()["words"]
    return re.compile(f"(?P<password>{'|'.join(named['password'])})|(?P<key>{'|'.join(named['key'])})")


@functools.cache
def _before_key() -> re.Pattern[str]:
    return re.compile(table()["words"]["before_key"].replace("\n", "") + r"(?:[ _-]|'s )?$")


def _is_weak(word: str) -> bool:
    """Return whether ordinary words end in this one too."""
    return regex(table()["words"]["weak"]).fullmatch(word) is not None


def _meant(text: str, lower: str, word: re.Match[str], *, password: bool) -> bool:
    """Return whether it is that word, and not the end of another."""
    start = word.start()
    before = lower[max(0, start - 20) : start]
    if not password and word[0].startswith(("key", "schlüssel")):
        return regex(table()["words"]["other_key"]).search(before) is None
    if not _is_weak(word[0]) or not before[-1:].isalpha():
        return True
    camel = text[start].isupper() and text[start - 1].islower()
    joined = word[0] in ("pass", "pwd") and lower[word.end() : word.end() + 1] in ("=", ":", '"')
    return camel or (joined and regex(table()["words"]["own_end"]).search(before) is None)


def _assigned(text: str, lower: str, word: re.Match[str], *, password: bool) -> Region | None:
    for way, pattern in _ways(word[0].isascii()):
        head = pattern.match(text, word.end())
        if head is None or (
            way == "called"
            and not regex(r"\(\s{0,8}[\"'][\w.-]{0,60}$").search(text[max(0, word.start() - 70) : word.start()])
        ):
            continue
        if way == "column":
            span = _column(text, word) if password else None
            if span is not None:
                return span
            continue
        if way == "block":
            return _block(text, word.start(), head.end())
        span = _value(text, lower, word, head, way, password=password)
        if span is not None:
            return span
    return _flagged(text, word, password=password)


@functools.cache
def _ways(english: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    ending = _WHICH if english else r"\w{0,3}"
    return tuple((way, re.compile(ending + pattern.format(_BESIDE, _Q))) for way, pattern in _WAYS)


def _block(text: str, start: int, end: int) -> Region | None:
    """Return where a YAML block begins and ends: the lines indented deeper than the name's."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    own = len(line) - len(line.lstrip(" "))
    block = regex(r"( +)[^\n]+(?:\n\1[^\n]*){0,200}").match(text, end)
    if block is None or len(block[1]) <= own or "[REDACTED:" in block[0]:
        return None
    return end + len(block[1]), block.end()


def _column(text: str, word: re.Match[str]) -> Region | None:
    """Return where the first password is in a table (CSV, Markdown) that has the word for it as a heading."""
    first = text.rfind("\n", 0, word.start()) + 1
    before = text[max(first, word.start() - 400) : word.start()]
    mark = next(
        (one for one in "|\t;," if one in before or text[word.end() : word.end() + 20].lstrip().startswith(one)), ""
    )
    if not mark or regex(r"[:=({]").search(before):
        return None
    row, at = text.find("\n", word.end()) + 1, before.count(mark)
    if word[0] in text[row : row + 200].lower():
        return None  # a heading again
    for _ in range(_MOST_ROWS if row else 0):
        line = regex(r"[^\n]{0,2000}").match(text, row)
        cells = line[0].split(mark) if line else []
        if line is None or len(cells) <= max(at, 1):
            return None
        value = cells[at].strip(" \t\"'`\r")
        if strong(value) and " " not in value:
            start = text.index(value, row + len(mark.join(cells[:at])))
            return start, start + len(value)
        row = line.end() + 1
    return None


def _value(
    text: str, lower: str, word: re.Match[str], head: re.Match[str], way: str, *, password: bool
) -> Region | None:
    found = head.groupdict()
    start, quote, by = head.end(), found.get("open") or "", found.get("by") or ""
    if _opens_another(lower, start):
        return None
    end = _closed(text, start, quote) if quote else None
    if end is None:
        bare = regex(_BARE).match(text, start)
        if bare is None or (not quote and regex(_UNQUOTED_CODE).search(bare[0])):
            return None
        end = start + len(_trimmed(bare[0]))
        quote = ""
        if by.startswith("%"):
            end = min(
                (place for mark in ("%26", "%22", "&") if (place := text.find(mark, start, end)) >= 0), default=end
            )
    value = text[start:end]
    if way == "below" and text[end : end + 1] not in ("", "\n"):
        return None
    option = by == "=" and (
        text[word.start()].isupper() or regex(_OPTION).search(text[max(0, word.start() - 34) : word.start()])
    )
    alone = bool(quote) or bool(option) or text[end : end + 1] in ("", "\n", "\r")
    plain = alone and by not in table()["told"]["spoken"] and (way in ("given", "typed", "pair", "called", "element"))
    given = _Assigned(value, way, by, plain=plain, quoted=bool(quote))
    if not (_is_password(lower, word, given) if password else _is_key(text, lower, word, given)):
        return None
    if not quote and end - start == _HEAD_CHARS:
        tail = regex(_TAIL).search(text, end)
        end = tail.end() if tail else len(text)
    return start, end


def _is_password(lower: str, word: re.Match[str], given: _Assigned) -> bool:
    if given.way in _LOOSE:
        return strong(given.value)
    one = word[0] in ("passphrase", "psk") or given.by == "="  # of several words
    if " " in given.value and (word[0] == "pass" or not (one or strong(given.value))):
        return False  # "all tests pass: `make gen && make test`"
    weak = _is_weak(word[0]) and given.by != "=" and not (given.quoted and _joined(lower, word))
    return looks_secret(given.value, password=True, plain=given.plain and not weak, quoted=given.quoted)


def _is_key(text: str, lower: str, word: re.Match[str], given: _Assigned) -> bool:
    named = word[0] == "secret"
    before = lower[max(0, word.start() - 20) : word.start()]
    if given.way in _LOOSE or (word[0].startswith(("key", "schlüssel")) and not _before_key().search(before)):
        variable = given.by == "=" and text[word.start()].isupper()  # PAY_KEY=…
        return random(given.value) or (variable and _switches(given.value))
    if named and given.by == "=" and text[word.start()].isupper() and "/" not in given.value:
        return looks_secret(given.value, password=True, plain=given.plain, quoted=given.quoted)
    least = 8 if named and given.by in ("=", ":") and (given.quoted or given.plain) else 12
    return " " not in given.value and looks_secret(
        given.value, password=False, plain=False, quoted=given.quoted, least=least
    )


def _joined(lower: str, word: re.Match[str]) -> bool:
    """Return whether the word is the end of a name, as in `dbPass`."""
    return word.start() > 0 and (lower[word.start() - 1].isalnum() or lower[word.start() - 1] == "_")


def _closed(text: str, start: int, quote: str) -> int | None:
    """Return where the value in `quote` ends; None where it isn't closed on its line, or is empty."""
    closing = "\\" if quote.startswith("\\") else quote
    end = text.find(closing, start, start + _MOST_QUOTED)
    return end if end - start >= 3 and "\n" not in text[start:end] else None


def _flagged(text: str, word: re.Match[str], *, password: bool) -> Region | None:
    """Return where the value of a command line option is, as in `--db-password …`."""
    if not regex(_OPTION).search(text[max(0, word.start() - 34) : word.start()]):
        return None
    given = regex(r"[ \t]+(?P<quote>[\"']?)(?P<value>[^\s\"'`<>|;-][^\s\"'`<>|;]{3,400})").match(text, word.end())
    if given is None:
        return None
    good = (given["quote"] and len(given["value"]) > 5) or (strong(given["value"]) if password else False)
    good = good or looks_secret(given["value"], password=password, plain=False)
    return given.span("value") if good and not given["value"].startswith(("[", "$")) else None


def _told(text: str, word: re.Match[str]) -> Region | None:
    """Return where a sentence gives the password after or before the word for it; None where it does not."""
    item = regex(r"[,;/|·–—][ \t]*$").search(text[max(0, word.start() - 3) : word.start()])
    joined = text[max(0, word.start() - 1) : word.start()].isalnum() or text[word.end() : word.end() + 1].isalnum()
    doubtful = word[0] == "pass" or (_is_weak(word[0]) and joined)
    for pattern, usual in _tellings(word[0]):
        enough = strong if item and pattern is _direct(word[0].isascii()) else usual
        said = pattern.match(text, word.end())
        if said is None or (pattern is _changed() and not _changes(text, word.start(), said.end())):
            continue
        if doubtful and enough in (glaring, unnamed):
            continue
        span = _enough(text, said.span("value"), enough)
        if span is not None:
            return span
    first = max(0, word.start() - 2 * _HEAD_CHARS)
    before = text[first : word.start()]
    used = _as().search(before) if _link().search(before) else None
    span = _enough(text, (first + used.start("value"), first + used.end("value")), strong) if used else None
    return span or _spelled(text, word) or _phrase(text, word)


@functools.cache
def _tellings(word: str) -> tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...]:
    """Return the patterns of a password after that word, each with the test for its value; the surest first."""
    said = (_said(word),)
    return (
        *((pattern, strong) for pattern in said if pattern is not None),
        (_direct(word.isascii()), stark),
        *(((regex(_BETWEEN), strong),) if not word.isascii() else ()),
        (
            regex(_direct(word.isascii()).pattern + r"(?=[.,;!?)。，、]|[ \t]?$|\n|[ ][–—-])"),
            lambda value: strong(value) and unnamed("X" + value),
        ),
        (_changed(), strong),
        (regex(_ADDED), unnamed),
        (regex(rf"(?:[^.!?。！？\n]|[.!?](?! )){{0,120}}?[\s「(（:：、,，]{_GLARING}"), glaring),
    )


def _spelled(text: str, word: re.Match[str]) -> Region | None:
    """Return where a plain word is the password, because of quotes around it or a remark on its spelling."""
    said = _said(word[0], plain=True)
    found = said.match(text, word.end()) if said else None
    if found is None:
        return None
    value, behind, told = found["value"], text[found.end() : found.end() + 60], table()["told"]
    closed = found["quote"] and behind[:1] in "\"'”“’»」』" and behind[:1] != ""
    ends = closed or regex(r"[ \t]*(?:[.,;!)。，、\n]|です|だ|$)").match(behind)
    spelled = regex(rf"[\"'”“’»」』]?[ \t]?(?:です|だ)?[ \t]*[,;(，、。–—-]?[ \t]*(?:{told['spelling']})").match(behind)
    good = spelled or (closed and not regex(QUOTED_CODE).search(value))
    good = (
        good
        or (ends and value.isascii() and found["only"])
        or (ends and (value.isdigit() or regex(rf"(?:{told['reads']})$").search(text[: found.start("lead")][-12:])))
    )
    capital = value[:1].isupper() and value[1:].islower() and text[word.start() : word.start() + 1].islower()
    good = good or (capital and (ends or regex(r"[ \t](?:and|et|y|e)[ \t]").match(behind)))
    weak = (
        regex(rf"(?i:{told['no_value']}{'' if spelled else '|' + told['participle']})").fullmatch(value)
        or placeholder(value)
        or regex(EXAMPLE).search(value)
    )
    return found.span("value") if good and not weak else None


def _phrase(text: str, word: re.Match[str]) -> Region | None:
    """Return where the words of a passphrase are."""
    told = table()["told"]
    found = _phrases(re.match(_NO_ENDING, word[0]) is not None).match(text, word.end())
    if found is None:
        return None
    value = regex(rf"[ \t]+(?:{told['joins']})[ \t].*").sub("", found["value"]).rstrip()
    words = [one for one in re.split(r"[\s-]+", value) if one]
    if placeholder(value) or regex(EXAMPLE).search(value) or len(words) < (2 if found["quote"] else 3):
        return None
    about = regex(rf"(?i)(?:{told['no_value']}|{told['participle']})(?![\w-])").match(value)
    about = about or regex(told["counts"]).search(value)
    sure = found["quote"] or regex(told["reads"]).fullmatch(found["verb"] or "")
    sure = sure or (found["sign"] and text[found.end() : found.end() + 1] != "?")
    named = regex(told["phrase"]).match(word[0]) is not None
    if found["bare"] is not None and not found["quote"]:
        before = text[max(0, word.start() - 20) : word.start()]
        used = regex(r"\b(?:with|using|mit|avec|con|com)[ \t]+\w{0,8}[ \t]?$").search(before)
        named = named and used is not None and len(words) > 3 and not any(map(_JOINTS.__contains__, words))
    good = (found["quote"] and not about) or (named and (sure or not about))
    return (found.start("value"), found.start("value") + len(value)) if good else None


@functools.cache
def _phrases(whole: bool) -> re.Pattern[str]:
    told = table()["told"]
    return re.compile(
        rf"{'(?![a-z])' if whole else ''}\w{{0,6}}"
        r"(?:(?:[ \t,]+[^.!?;:=\n\"'`]{1,48}?)??[ \t]*"
        rf"(?:(?<!\w)(?P<verb>{told['tells']})(?!\w)|(?P<sign>[:：]|は|是))"
        rf"|(?P<bare>(?=[ \t])))[ \t]*(?P<quote>[\"'„“«「『]?)[ \t\u00a0]?"
        rf"(?P<value>[^\W\d_][^.,;:!?\n\"'„“”«»「」『』()\[\]]{{7,120}})"
    )


def _told_key(text: str, word: re.Match[str]) -> Region | None:
    """Return where a sentence gives a key, as in `the API key for maps: …`; only a random-looking one counts."""
    beside = regex(_KEY_BESIDE).match(text, word.end())
    if beside is not None and not word[0].startswith("secret") and _switches(beside["value"]):
        return beside.span("value")
    said = regex(_KEY_SAID).match(text, word.end())
    if said is not None and random(value := _trimmed(said["value"])):
        return said.start("value"), said.start("value") + len(value)
    added = regex(_ADDED).match(text, word.end()) if word[0].startswith("tok") else None
    return _enough(text, added.span("value"), unnamed) if added is not None else None


def _switches(value: str) -> bool:
    """Return whether letters and digits alternate as in no name or version."""
    return len(regex(SWITCH).findall(value)) >= SWITCHES


def _changes(text: str, start: int, end: int) -> bool:
    """Return whether a verb of change comes before the word, or after the value."""
    before, behind = text[max(0, start - _VERB_CHARS) : start], text[end : end + _VERB_CHARS]
    told = table()["told"]
    return bool(regex(told["changes"]).search(before) or regex(told["changed"]).search(behind))


@functools.cache
def _changed() -> re.Pattern[str]:
    """Return what finds to what a password was changed."""
    told = table()["told"]
    of = rf"(?:[ \t]+(?:{told['of']})\b[^.!?;:\n\"'`]{{1,40}}?)?"
    return re.compile(rf"\w{{0,3}}{of}(?:[ \t][^.!?;:\n\"'`]{{1,24}}?)?[ \t]+(?:{told['to']})[ \t]+{_VALUE}")


@functools.cache
def _link() -> re.Pattern[str]:
    return re.compile(rf"[ \t](?:{table()['told']['link']})[ \t]")


@functools.cache
def _as() -> re.Pattern[str]:
    """Return the pattern of a value before the word: "use hunter2 as the password"."""
    ends = rf"{_link().pattern}[ \t]*(?:[^\W\d_]{{1,14}}[ \t]+){{0,3}}$"
    return re.compile(rf"(?P<value>[^\s\"'`<>]{{6,64}})[\"'`,]{{0,2}}{ends}")


def _enough(text: str, span: Region, enough: Callable[[str], bool]) -> Region | None:
    """Return where in `span` the value is, without the sentence's own marks; None where it isn't `enough`."""
    whole = _trimmed(text[slice(*span)])
    value = whole.rstrip("!?")
    if not value.isascii():  # what is written without spaces goes on after the password: …です, 입니다
        run = regex(r"[!-~]{6,}").match(value)
        foreign = regex(r"[\u3040-\u9fff\uac00-\ud7af]").search(value)
        value = run[0] if run and foreign else value
    good = len(value) >= _LEAST_TOLD and (mixed(value) or "!" in value) and (enough(value) or enough(whole))
    return (span[0], span[0] + len(value)) if good else None


@functools.cache
def _said(word: str, *, plain: bool = False) -> re.Pattern[str] | None:
    """Return the pattern of the text between that word and the password, in the languages that have the word."""
    rows = [row for row in table()["prose"]["rows"] if re.match(row[0], word)]
    verbs = "|".join(sorted((verb for row in rows for verb in row[1].split("|")), key=len, reverse=True))
    ending = "(?![a-z])" if re.match(_NO_ENDING, word) else r"\w{0,6}"
    if not rows:
        return None
    told = table()["told"]
    lead = rf"(?<!\w)(?:{verbs})(?!\w)|{told['cjk']}" + ("" if plain else "|[:：–—]|-(?= )|->")
    now = rf"(?:[ \t]+(?:{told['now']}))?" if not plain else rf"(?P<only>(?:[ \t]*(?:{told['only']})(?![a-z])){{0,2}})"
    value = r"(?P<quote>[\"'„“«「『]?)[ \u00a0]?(?P<value>[^\W\d_][^\W\d_'-]{3,24}|\d{4,12})" if plain else _VALUE
    return re.compile(
        rf"{ending}(?:[ \t,]+[^.!?;:=\n\"'`]{{1,48}}?)??[ \t]*(?:{lead})(?P<lead>)(?:[ \t]*:)?{now}[ \t]*{value}"
        + (r"(?!\w)" if plain and word.isascii() else "")
    )


@functools.cache
def _direct(spaced: bool) -> re.Pattern[str]:
    return re.compile(rf"\w{{0,4}}[ \t:,]{{1,3}}{_VALUE}" if spaced else rf"[ \t:,]{{0,3}}{_VALUE}")


def _trimmed(value: str) -> str:
    """Cut the sentence's own marks, and the next pair, off a value that is not in quotes."""
    ends = regex(_NEXT_PAIR).search(value, 1) or regex(_SENTENCE_GOES_ON).search(value, 1)
    return (value[: ends.start()] if ends else value).rstrip(".,;:)]}，。；、）")


def _opens_another(lower: str, start: int) -> bool:
    """Return whether the value is the next word with its own value, as in `token=password=x`."""
    word = _words().match(lower, start)
    return word is not None and lower[word.end() : word.end() + 1] in (":", "=", "：")
