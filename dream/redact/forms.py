"""Secrets by how they are written: the rows of forms.toml, key blocks, passwords in addresses, numbers that check.

The same for keys that a line's end or characters that can't be seen have cut, and for what base64 hides.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Whether a value in the position of a secret is one: people mention passwords more often than they reveal one.


regex = functools.cache(re.compile)  # compiled when first needed: all of them would cost 100 ms at every start

# What forms, code and examples have in place of a secret.
_PLACEHOLDER = (
    r"(?i)^(?:\*+|x{3,}|\.{3,}|_+|-+|…+|•+|none|null|nil|true|false|undefined|required|optional|string|str|text|varchar.*|"
    r"hidden|empty|unknown|secret|password|passwort|passwd|token|bearer|basic|value|changeme|change[_-]me.*|placeholder|"
    r"redacted.*|invalid|valid|hashed|hash|plain.*|default|example.*|test|data|input|field|label|email|username|user|"
    r"1password.*|bitwarden|keepass\w*|stdin|prompt|basic|digest|forgot|reset)$"
    r"|^[a-z][a-z0-9]+(?:-[a-z]+)*:[0-9a-f]{4,}(?:-[0-9a-f]{4,})*(?:#\d+)?$"  # a session of ours: claude-code:6f1e
    r"|^\d+[^\W\d\x00-\u2fff]|^your[_-]?|^<|^--|<[a-z_ -]+>|\{\{|\$\{|^\$[A-Za-z_(]|^%\w+%$|^\[REDACTED|x{6}|\*{4}|•{3}|\.{3}|…|^@\w+$|^(?:op|vault|ssm)://"
    r"|^process\.|^os\.|environ|getenv|^self\.|^this\.|^req(?:uest)?\.|^config\b|^settings\b|^arn:aws"
)
# Words of which an example without a digit is made.
EXAMPLE = (
    r"(?i)password|passwd|passwort|your|^my|example|placeholder|dummy|sample|insert|replace|todo|here$|secret|token"
)
_CODE = (
    r"[A-Za-z_)\]][(\[]|\w\.\w+\(|^[A-Za-z_]+\.[A-Za-z_.]+$|^[{\[(]|->|=>|\]$|\)$|^https?://|^~?/(?![A-Za-z0-9+/]{39}$)"
    r"|^\.{1,2}/|^[A-Z]:\\"
)
QUOTED_CODE = r"\w\.\w+\(|\w\(\)?$|^[{\[]\w*[}\]]?$|^https?://|^~?/(?![A-Za-z0-9+/]{39}$)|^\.{1,2}/"
_CAMEL = r"[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+"  # how names in code are written
_LONG_CAMEL = r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]{3,})+"
_NAME = r"[a-z]+\d{0,4}(?:[-_./:]+(?:[a-z]{2,}\d{0,3}|v?\d{1,4}))+"  # how things are named: db-credentials-2
_DATED = r"[\d.,:/-]+\w{0,3}"
_KNOWN = (
    r"(?i)(?:sha|md|pbkdf|oauth|base|utf|aes|argon|[sb]crypt|web|http|ntlm|ipv|owasp|path|python|v)-?v?\d[\w.-]{0,12}"
)
SWITCH = r"(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])"
SWITCHES = 3  # from a letter to a digit or back: names and versions have fewer
Region = tuple[int, int]
Finder = Callable[[str], Iterator[tuple[str, Region]]]
_LEAST_KEY = 16  # characters of the shortest word that a row of keys can match
_KEY_BLOCK_CHARS = 32_768  # between BEGIN and END; an RSA key of 16,384 bits has 13 KB
_BLOCK = r"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)"
_BEGIN = rf"-----? ?BEGIN {_BLOCK} ?-----?"
_END = rf"-----? ?END {_BLOCK} ?-----?"
_KEY_BODY = r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{24,})+(?:(?:\s|\\[nr])*[A-Za-z0-9+/]{1,76}={1,2})?"
# What the base64 of private keys begins with, where BEGIN is missing: PKCS 1 and 8, EC, Ed25519, OpenSSH.
_KEY_STARTS = (
    r"(?<![A-Za-z0-9+/])(?:MII[A-Za-z0-9+/]{3}(?:IBADANBgkq|IBAAK)|MHcCAQEE|MHQCAQEE|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2Vw"
    r"|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=]{16,}" + _KEY_BODY.replace("+(?:", "*(?:", 1)
)
_BODY_LINES = r"(?:^|\n)(?P<value>(?:[ \t>]{0,8}[A-Za-z0-9+/=]{16,80}\s{1,2}){1,400})$"
_IN_URL = (
    r"(?<=:)//[^\s:@/\"'<>]{0,128}:(?P<value>[^\s/\"'<>]{1,256}|[^\s/\"'<>:]{1,64}/[^\s\"'<>:]{1,64})@(?=[\w.\[{$-])"
)
_USER_OF_URL = r"(?<=//)(?P<value>[\w-]{20,255})(?=@)"

# A payment card's number: in groups as it is printed, or beside the word for a card; the last digit must be right.
# The character before is looked at after the first digit, so that the search can skip to one.
_CARD = (
    r"[2-6](?<![A-Za-z0-9_-].)"
    r"(?:\d{3}(?:[ -]\d{4}){3}|(?<=3)[47]\d{2}[ -]\d{6}[ -]\d{5}|\d{15}|(?<=3)[47]\d{13})(?![\w-])"
)
_CARD_WORDS = r"(?i)card|karte|carte|tarjeta|visa|amex|mastercard|карт|卡|カード|카드"
_CARD_NEAR = 40  # characters before a number without groups that are searched for that word
_IBAN = r"[A-Z](?<![A-Za-z0-9_-].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])"
_HEAD = 5  # letters by which the words of a text are looked up; more may follow, as in `Alarmanlage`
_WORD = r"[^\W\d_\u2e80-\U0010ffff]+"  # scripts without spaces apart: their words are looked for everywhere
# The words of a wallet, one behind the other: none of those that make a sentence of them is among BIP 39's.
_SEED = (
    r"(?:^|(?<=[\n\"'`(:])|\b(?:lauten|sont|are|son|sono|são|is|ist|est|es))[ \t]?"
    r"(?P<value>(?:1[.)]?[ ])?[a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.):]?[ ]?)?"
    r"(?!(?:the|and|for|with|are|not|was|your|from|but|has|its|out|into|does|were|been)\b)[a-z]{3,8}){11,23})"
    r"(?=[ \t]*(?:[\n\"'`).,]|$))"
)
_SEED_WORDS = ("seed", "mnemonic", "recovery phrase", "wallet", "metamask", "ledger", "trezor")
_SEED_NEAR = 120  # characters between them and the words
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_SLIP_NEAR = 120  # characters before and behind the words that take a secret back
_CUT_LINE = (
    r"\n(?P<indent>[ \t>|│]{0,12})(?=[\w+/=.~-]{0,200}\d)(?P<rest>[\w+/=.~-]{4,400})(?=[\"'`,;)\]}\\ \t]{0,4}(?:\n|$))"
)
_CUT_HEAD = r"[\w+/=.~:$-]{4,400}"  # read backwards
_ENCODED = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_MOST_ENCODED = 65_536

# So often in so many characters no text with secrets has one word; what has is a list or made to be slow.
DENSE, DENSE_CHARS = 8, 160


def looks_secret(value: str, *, password: bool, plain: bool, quoted: bool = False, least: int = 12) -> bool:
    """Tell a secret from a word, an expression or a placeholder.

    `plain`: the value was assigned and is alone, so that a password there may even be one plain word. `least`:
    characters of a secret that is no password.
    """
    if placeholder(value) or regex(QUOTED_CODE if quoted else _CODE).search(value):
        return False
    if password:
        return len(value) >= 5 and (
            mixed(value) or _without_digits(value, plain, quoted) or (plain and value.isdigit())
        )
    if not mixed(value):
        return len(value) >= 20 and value.isalpha() and regex(_LONG_CAMEL).fullmatch(value) is None and _jumbled(value)
    return len(value) >= least and not any(regex(form).fullmatch(value) for form in (_DATED, _NAME, _KNOWN))


def _without_digits(value: str, plain: bool, quoted: bool) -> bool:
    """Return whether a value without letters and digits together may be a password."""
    if regex(EXAMPLE).search(value) or not any(map(str.isalpha, value)):
        return False
    if (
        marked(value)
        or regex(r"[A-Za-z0-9+/]{6,}={1,2}").fullmatch(value)
        or (value.isalpha() and len(value) >= 8 and _jumbled(value))
    ):
        return True
    if not plain or len(value) < 6:
        return False
    if value.isalpha():
        return quoted or regex(r"[a-z]+(?:[A-Z][a-z]+)+").fullmatch(value) is None
    words = re.split(r"[-_. ]+", value)
    return all(map(str.isalpha, words)) and (len(words) > 2 or value != value.lower()) and value != value.upper()


def strong(value: str) -> bool:
    """Return whether it looks like a password only: letters mixed with digits or marks, unlike a name."""
    if placeholder(value) or regex(_CODE).search(value) or regex(EXAMPLE).search(value):
        return False
    if regex(_KNOWN).fullmatch(value) or regex(_DATED).fullmatch(value) or ("@" in value[1:-3] and "." in value):
        return False
    return mixed(value) or marked(value)


def stark(value: str) -> bool:
    """Return whether it is strong and has capitals or marks too, so that it is one even without a word between."""
    cases = value != value.lower() and value != value.upper()
    return len(value) >= 7 and strong(value) and mixed(value) and (cases or marked(value))


def glaring(value: str) -> bool:
    """Return whether it is a password in any context: `Gl4cier.Run`, `jabuti#Veloz12`."""
    inner = value.strip("#@!?*~").partition("@")[0] if "." in value.rpartition("@")[2] else value.strip("#@!?*~")
    leet = inner != inner.lower() and regex(r"^(?=.*[._-]).*[A-Za-z]{2}[013457][a-z]{2}").search(inner)
    two = len(inner) >= 7 and regex(r"[a-z][!#$%*~^][A-Z]").search(inner)
    dotted = regex(r"[A-Z][a-z]{2,}\.[A-Z][a-z]{2,}\.\d+").fullmatch(inner)
    return ":" not in inner and bool(two or dotted or (unnamed(inner) and (leet or marked(inner))))


def drawn(value: str) -> bool:
    """Return whether a part of it was drawn by chance: a UUID, or letters and digits that change as in no name."""
    if regex(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").search(value):
        return True
    runs = regex(r"[A-Za-z0-9]{10,}").findall(value)
    return any(len(regex(SWITCH).findall(run)) >= SWITCHES or (_jumbled(run) and len(run) >= 20) for run in runs)


def unnamed(value: str) -> bool:
    """Return whether it is stark and not code, a file, a version, a ticket or a number, which look similar."""
    form = (
        r".*[\\(){}\[\]|;/=`\"'<>,].*|[$€£%].*|\d+#.*|[-+]?\d[\d.]*[Ee][-+]?\d+|.*\.[a-z]{1,5}"
        r"|[A-Za-z]+[-_ ]?v?\d+(?:\.\d+)+|[A-Za-z]+-?\d|[A-Z\d-]+"
    )
    return stark(value) and regex(form).fullmatch(value.rstrip("!?.")) is None


def random(value: str) -> bool:
    """Return whether it was drawn by chance: capitals, small letters and digits, or many hexadecimal digits."""
    if len(value) < 20 or re.search(r"[/.:\s]", value):
        return False
    return mixed(value) and (
        value not in (value.lower(), value.upper()) or bool(re.fullmatch("[0-9a-f]{32,128}", value))
    )


def mixed(value: str) -> bool:
    """Return whether it mixes letters and digits."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def marked(value: str) -> bool:
    """Return whether it mixes letters and marks, as in `s3cret!` but not in `user-name`."""
    return any(map(str.isalpha, value)) and any(mark in value for mark in "!@#$%^&*+?~")


def placeholder(value: str) -> bool:
    """Return whether it is a placeholder, as forms, code and examples have instead of a secret."""
    return regex(_PLACEHOLDER).search(value) is not None


def _jumbled(value: str) -> bool:
    """Return whether it has capitals where neither a word nor a name in code has them, as in `XZKslCiipu`."""
    return value.isascii() and regex(_CAMEL).fullmatch(value) is None


@functools.cache
def table() -> dict[str, Any]:
    """Return forms.toml, read once when the first text is."""
    return tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=4)
def lowered(text: str) -> str:
    """Return `text` in lower case, each character at its place."""
    return text.replace("İ", "I").lower()  # the one letter that grows in lower case would shift every place


@functools.lru_cache(maxsize=4)
def _long_words(text: str) -> str:
    """Return only those words of `text` that may contain a key: a fifth of it, which is cheap to search."""
    return "\n".join([word for word in text.split() if len(word) >= _LEAST_KEY])


@functools.cache
def _key_rows() -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Return the kind, the text that every match contains, and the pattern of each row."""
    begun = [
        (kind, tuple(prefixes.split(" ")), rf"(?:{'|'.join(map(re.escape, prefixes.split(' ')))})(?:{tail})")
        for kind, prefixes, tail, _ in table()["keys"]
    ]
    formed = [(kind, tuple(inside.split(" ")), form) for kind, inside, form, _ in table()["forms"]]
    return (*begun, *formed)


@functools.cache
def _rows_by_needle() -> dict[str, list[int]]:
    """Return for each needle the numbers of the rows that contain it; "" has those whose needle is one letter."""
    places: dict[str, list[int]] = {}
    for place, (_, needles, _) in enumerate(_key_rows()):
        for needle in ("",) if len(needles[-1]) == 1 else needles:
            places.setdefault(needle, []).append(place)
    return places


def _beginnings_in(dense: str) -> set[str]:
    longest = set(_beginnings().findall(dense))
    return {word[:size] for word in longest for size in range(1, len(word) + 1)}


@functools.cache
def _beginnings() -> re.Pattern[str]:
    return re.compile(
        branches(sorted({needle for _, needles, _ in _key_rows() for needle in needles if len(needle) > 1}))
    )


def keys(text: str) -> Iterator[tuple[str, Region]]:
    """Find the keys that are recognised by a prefix or a form."""
    dense = _long_words(text)
    by_needle = _rows_by_needle()
    chosen = {row for needle in ("", *_beginnings_in(dense)) for row in by_needle.get(needle, ())}
    for kind, _, pattern in map(_key_rows().__getitem__, sorted(chosen)):
        if regex(pattern).search(dense):
            for match in regex(pattern).finditer(text):
                before = text[match.start() - 1 : match.start()]
                inside = before.isascii() and (before.isalnum() or before == "_")  # of a longer word
                picture = before in ("/", "+") and "." not in match[0] and match[0][:6].isalnum()
                inside = inside or picture
                if not inside and not _example(match[0]):
                    yield kind, match.span()


def _example(key: str) -> bool:
    """Return whether it is the placeholder of a key: `sk_test_xxxxxxxx`, `ghp_your_token_here`."""
    return re.search(r"(?i)x{6}|\*{3}|\.{3}|0{10}|1234567890abcdef$|your[_-]", key) is not None


def key_blocks(text: str) -> Iterator[tuple[str, Region]]:
    """Find private keys from BEGIN to END; one whose end or beginning is missing, as far as it looks like a key."""
    if "PRIVATE KEY" in text or "OpenVPN Static" in text:
        yield from _blocks(text)
    if any(start in text for start in ("MII", "MHcCAQEE", "MHQCAQEE", "MIGHAgEA", "MC4CAQAw", "b3BlbnNzaC1r")):
        for match in regex(_KEY_STARTS).finditer(text):
            yield "private-key", match.span()


def _blocks(text: str) -> Iterator[tuple[str, Region]]:
    ends = list(regex(_END).finditer(text))
    done = at = 0
    for begin in regex(_BEGIN).finditer(text):
        while at < len(ends) and ends[at].start() < begin.end():
            at += 1
        end = ends[at] if at < len(ends) else None
        body = regex(_KEY_BODY).match(text, begin.end())
        if end is not None and end.start() - begin.end() <= _KEY_BLOCK_CHARS:
            done = end.end()
            if end.start() - begin.end() > 3:  # not just the two lines, named side by side
                yield "private-key", (begin.start(), end.end())
        elif body:
            yield "private-key", (begin.start(), body.end())
    for end in ends:
        first = max(done, end.start() - _KEY_BLOCK_CHARS)
        lines = regex(_BODY_LINES).search(text[first : end.start()]) if end.start() >= done else None
        if lines:
            yield "private-key", (first + lines.start("value"), end.end())
        done = max(done, end.end())


# Rows of places


@functools.cache
def _places() -> tuple[dict[str, list[tuple[str, str]]], dict[str, list[str]]]:
    """Return the rows (kind, pattern) by what they begin with, and those beginnings by their first letters.

    An underscore is a space there, so that a word begins after one too. None are kept where a beginning
    may stand anywhere: it is no letters, or those of a script without spaces.
    """
    rows: dict[str, list[tuple[str, str]]] = {}
    parts: dict[str, str] = table()["parts"]
    for kind, needles, tail, _ in table()["places"]["rows"]:
        whole = functools.reduce(lambda made, part: made.replace(f"~{part}~", parts[part]), parts, tail)
        for needle in needles.split("|"):
            rows.setdefault(needle.replace("_", " "), []).append((kind, f"(?i){whole}"))
    by_word: dict[str, list[str]] = {}
    for beginning in rows:
        first = regex(_WORD).match(beginning)
        by_word.setdefault(first[0][:_HEAD] if first and first[0] < "\u0590" else "", []).append(beginning)
    return rows, by_word


def branches(words: Sequence[str]) -> str:
    """Return a pattern of `words` that looks at each letter once; the longest is taken first."""
    tails: dict[str, list[str]] = {}
    for word in words:
        if word:
            tails.setdefault(word[0], []).append(word[1:])
    several = "|".join(re.escape(first) + branches(rest) for first, rest in tails.items())
    return f"(?:{several}{'|' if several and '' in words else ''})"


def places(text: str) -> Iterator[tuple[str, Region]]:
    """Find values in the position of a secret: in a command, a header, a cookie, after `PIN` or `IBAN`."""
    rows, by_word = _places()
    spaced = lowered(text).replace("_", " ")
    anywhere = [one for one in by_word[""] if not (spaced.isascii() and not one.isascii())]
    for word in sorted(by_word.keys() & {one[:_HEAD] for one in set(regex(_WORD).findall(spaced))}):
        for begin in by_word[word]:
            yield from _behind(text, spaced, begin, rows[begin], anywhere=False)
    for begin in anywhere:
        yield from _behind(text, spaced, begin, rows[begin], anywhere=True)


def _behind(
    text: str, spaced: str, begin: str, rows: Sequence[tuple[str, str]], *, anywhere: bool
) -> Iterator[tuple[str, Region]]:
    at = spaced.find(begin)
    seen: deque[int] = deque(maxlen=DENSE)
    while at >= 0:
        crowded = len(seen) == DENSE and at - seen[0] < DENSE_CHARS
        seen.append(at)
        if crowded:
            at = spaced.find(begin, at + 1)
            continue
        if anywhere or not at or not spaced[at - 1].isalnum() or spaced[at - 1] >= "\u2e80":
            for kind, pattern in rows:
                found = regex(pattern).match(text, at + len(begin))
                if found is not None:
                    slip = "slip" in found.re.groupindex
                    if slip and len(seen) > 1 and at - seen[-2] < _SLIP_NEAR // 2:
                        continue  # in the one before's reach
                    yield from _beside(text, at, found) if slip else _placed(text, found, kind)
        at = spaced.find(begin, at + 1)


def _placed(text: str, match: re.Match[str], kind: str) -> Iterator[tuple[str, Region]]:
    groups = match.groupdict()
    for name, good in _JUDGED.items():
        value = groups.get(name)
        if value and not placeholder(value) and good(value):
            yield kind, match.span(name)


def _beside(text: str, start: int, slip: re.Match[str]) -> Iterator[tuple[str, Region]]:
    """Find the value next to words that retract it ("wrong window", "forget it"), unless it names a thing."""

    first = max(0, start - _SLIP_NEAR)
    near = text[first : slip.end() + _SLIP_NEAR]
    labelled = regex(f"(?i){table()['told']['label']}").search(near)
    for found in regex(r"[!-~]{7,400}").finditer(near):
        value = found[0].strip("\"'`.,;:!?()")
        alone = labelled or not near.isascii() or regex(r"(?:^|[,:(–—-])\s*$").search(near[: found.start()][-4:])
        if glaring(value) or (alone and unnamed(value)) or (labelled and drawn(value) and strong(value)):
            begin = first + found.start() + found[0].index(value)
            yield "password", (begin, begin + len(value))


def _like_a_key(value: str) -> bool:
    return looks_secret(value, password=False, plain=False, quoted=True)


# What has to be true of a group of that name in a row of places.
_JUDGED: dict[str, Callable[[str], bool]] = {
    "value": bool,
    "quoted": bool,
    "strong": strong,
    "stark": unnamed,
    "glaring": glaring,
    "key": _like_a_key,
    "drawn": drawn,
}


def addresses(text: str) -> Iterator[tuple[str, Region]]:
    """Find the passwords in connection strings, `scheme://user:password@host`, and keys in the user's place."""
    if "://" not in text or "@" not in text:
        return
    for match in regex(_IN_URL).finditer(text):
        value = match["value"]
        if not re.search(
            r"^[\[{%<]|^\$[A-Z_]+$|^\$[{(]|^\*+$|^x+$|^\d{2,5}/|(?i:^(?:your[_-]?)?(?:password|passwd|pwd|secret)$)",
            value,
        ):
            yield "password", match.span("value")
    for match in regex(_USER_OF_URL).finditer(text):
        if mixed(match["value"]) and not placeholder(match["value"]):
            yield "secret", match.span("value")


def numbers(text: str) -> Iterator[tuple[str, Region]]:
    """Find the numbers of payment cards and bank accounts whose check digits are right."""
    for match in regex(_CARD).finditer(text):
        digits = [int(mark) for mark in match[0] if mark.isdecimal()]
        near = text[max(0, match.start() - _CARD_NEAR) : match.start()]
        if _checks(digits) and (len(match[0]) > len(digits) or regex(_CARD_WORDS).search(near)):
            yield "payment-card", match.span()
    for match in regex(_IBAN).finditer(text):
        plain = match[0].replace(" ", "")
        if 15 <= len(plain) <= 34 and int("".join(str(int(mark, 36)) for mark in plain[4:] + plain[:4])) % 97 == 1:
            yield "iban", match.span()


def seeds(text: str) -> Iterator[tuple[str, Region]]:
    """Find the words of a wallet that the text before or after them announces."""
    lower = lowered(text)
    if any(map(lower.__contains__, _SEED_WORDS)):
        for match in regex(_SEED).finditer(text):
            start, end = match.span("value")
            near = lower[max(0, start - _SEED_NEAR) : start] + " " + lower[end : end + _SEED_NEAR]
            if any(map(near.__contains__, _SEED_WORDS)):
                yield "seed-phrase", (start, end)


def _checks(digits: Sequence[int]) -> bool:
    """Return whether the last digit is the one that ISO/IEC 7812 (Luhn) asks for."""
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return sum(doubled) % 10 == -sum(digits[-1::-2]) % 10


# Keys that are cut or covered


def cut(text: str) -> Iterator[tuple[str, Region]]:
    """Find keys that go on in the next line: what closes one line and what fills the next are one key."""
    lines = list(regex(_CUT_LINE).finditer(text))
    for at, line in enumerate(lines):
        if at and lines[at - 1].end() == line.start():
            continue  # seen with the line before
        backwards = regex(_CUT_HEAD).match(text[max(0, line.start() - 400) : line.start()].rstrip("\\ ")[::-1])
        if backwards is None:
            continue
        head = backwards[0][::-1]
        first = text.rfind(head, 0, line.start())
        pieces = [(first, head)]
        for more in lines[at : at + 40]:
            if len(pieces) > 1 and more.start() != pieces[-1][0] + len(pieces[-1][1]):
                break
            pieces.append((more.start("rest"), more["rest"]))
        joined = "".join(piece for _, piece in pieces)
        for kind, (start, end) in keys(joined):
            if start < len(head) < end:
                yield kind, (first + start, _place(pieces, end))


def _place(pieces: Sequence[tuple[int, str]], end: int) -> int:
    """Return where in the text the `end` of the joined pieces is."""
    for start, piece in pieces:
        if end <= len(piece):
            return start + end
        end -= len(piece)
    return pieces[-1][0] + len(pieces[-1][1])


def covered(finders: Sequence[Finder], text: str) -> Iterator[tuple[str, Region]]:
    """Find with `finders` what is cut by characters that can't be seen."""
    if not any(map(text.__contains__, _UNSEEN)):
        return
    kept = [place for place, mark in enumerate(text) if mark not in _UNSEEN]
    plain = "".join(map(text.__getitem__, kept))
    for finder in finders:
        for kind, (start, end) in finder(plain):
            first, last = kept[start], kept[end - 1] + 1
            if last - first > end - start:
                yield kind, (first, last)


def encoded(finders: Sequence[Finder], text: str) -> Iterator[tuple[str, Region]]:
    """Find base64 that hides what `finders` find."""
    for word in regex(_ENCODED).finditer(_long_words(text)):
        hidden = _decoded(word[0])
        if hidden and any(next(finder(hidden), None) for finder in finders):
            start = text.find(word[0])
            while start >= 0:
                yield "encoded-secret", (start, start + len(word[0]))
                start = text.find(word[0], start + len(word[0]))


def _decoded(word: str) -> str | None:
    """Return the text that `word` is the base64 of; None where that is no text."""
    body = word.rstrip("=")[:_MOST_ENCODED].replace("-", "+").replace("_", "/")
    try:
        if not _is_text(base64.b64decode(body[:24])):
            return None
        hidden = base64.b64decode(body[: len(body) - (len(body) % 4 == 1)] + "=" * (-len(body) % 4))
    except binascii.Error:
        return None
    return hidden.decode("ascii") if _is_text(hidden) else None


def _is_text(data: bytes) -> bool:
    return data.isascii() and (
        data.decode("ascii").isprintable() or all(mark >= 32 or mark in (9, 10, 13) for mark in data)
    )
