"""Secrets out of text: each is replaced by a mark of its kind, such as `[REDACTED:aws-access-key]`.

Two sorts are found. Keys with a shape of their own (a provider's prefix, a JWT, a private key block), by the shapes
that the providers publish and gitleaks (MIT) collects. And values that stand where a secret stands: the password in a
connection string, what follows `password:`, `token=` or `Bearer`; there the value must also look like one, because
people talk about passwords and tokens far more often than they give one away.

No package served: detect-secrets and its fork know no OpenAI, Anthropic, GitLab or Google key and no connection
string, read line by line, need 0.8 s a megabyte for keywords and took `your_secret_key_here` for a secret 93 times in
the conversations this was measured on; credsweeper brings pandas and onnxruntime; others start a Go program or call
the provider with the key they found.

Every pattern starts at a literal and is bounded, so the time is linear in the text, whatever the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from dream.errors import SettingsError
from dream.redact.shapes import SHAPES, Shape

_MARK = r"(\[REDACTED:[a-z0-9-]+\])"
_MAX_ROUNDS = 5  # a replacement can lay open what was part of a longer word before; twice is the most seen
_KEY_BLOCK_CHARS = 32_768  # between BEGIN and END; an RSA key of 16,384 bits has 13 KB

Span = tuple[int, int]
Finder = Callable[[str], Iterator[tuple[str, Span]]]


_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BODY = r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{24,})+(?:(?:\s|\\[nr])*[A-Za-z0-9+/]{1,76}={1,2})?"

_IN_URL = r"(?<=:)//[^\s:@/\"'<>]{0,128}:(?P<value>[^\s@/\"'<>]{1,256})@"
_BEARER = r"(?<=earer)[ \t]{1,3}(?P<value>[A-Za-z0-9._~+/-]{16,4000}={0,2})"
_BASIC = r"(?<=asic)[ \t]{1,3}(?P<value>[A-Za-z0-9+/]{12,4000}={0,2})"

# A payment card's number: in groups as it is printed, or beside the word for a card; the last digit must be right.
_CARD = r"(?<![\w-])(?:[2-6]\d{3}(?:[ -]\d{4}){3}|3[47]\d{2}[ -]\d{6}[ -]\d{5}|[2-6]\d{15}|3[47]\d{13})(?![\w-])"
_CARD_WORDS = r"(?i)card|karte|carte|tarjeta|visa|amex|卡|カード"
_CARD_NEAR = 40  # characters before a number without groups in which that word stands

# Words that a secret follows, searched in lower case, with the kind of the mark.
_PASSWORDS = r"pass(?:word|wd|phrase|code)|\bpwd|密码|口令|パスワード|비밀번호|passwort|contraseña|mot de passe"
_KEYS = (
    r"api[ _-]?key|(?:secret|access|private|account|encryption|signing|auth|master|service)[ _-]?key|secret|token"
    r"|credentials?|密钥"
)
_WORDS = rf"(?P<password>{_PASSWORDS})|(?P<key>{_KEYS})"
_GIVEN = (
    r"[\"'`*\])]{0,3}[ \t]{0,3}(?P<by>=>|:=|={1,3}|:|：|\bis\b:?|\bwas\b|\bist\b|是|は|为)[ \t*]{0,4}"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>]{4,64})"
)
# The same in a sentence: "the password for the wiki is now …", "changed my password to …", "use … as the password".
_OF = (
    r"(?:[ \t]+(?:for|of|to|on|at|für|fürs|von|vom|zum|zur|beim|de|del|para|pour|du)\b[^.!?;:\n\"'`]{1,40}?"
    r"|,[^,.!?;:\n\"'`]{1,30},)?"
)
_TOLD = r"[ \t]+(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>]{6,64})"
_SAID = (
    rf"{_OF}[ \t]+(?:is|was|ist|war|lautet|heißt|es|era|est|è)"
    rf"(?:[ \t]+(?:now|still|currently|jetzt|nun|ahora|maintenant))?{_TOLD}"
)
_CHANGED = rf"{_OF}[ \t]+(?:to|auf|in|a|por|à|en){_TOLD}"
_CHANGE = r"(?i)\b(?:re)?set|chang|updat|änder|setz|cambi|modifi"
_CHANGE_BEHIND = r"ändert|gesetzt"
_VERB_CHARS = 40  # before the word, or behind the value, where the verb may stand
_LEAST_TOLD = 6  # characters of a password in a sentence
_AS = r"(?P<value>[^\s\"'`<>]{6,64})[\"'`]?[ \t]+as[ \t]+(?:[a-z-]+[ \t]+){0,3}$"
_HEAD_CHARS = 64  # of a value: enough to judge it by, and keeps the time linear
_TAIL = r"(?=[\s\"'`<>])"
# What stands there in forms, code and examples instead of a secret.
_PLACEHOLDER = (
    r"(?i)^(?:\*+|x{3,}|\.{3,}|_+|-+|…+|none|null|nil|true|false|undefined|required|optional|string|str|text|varchar.*|"
    r"hidden|empty|unknown|secret|password|passwd|token|bearer|basic|value|changeme|change[_-]me.*|placeholder|redacted.*|"
    r"invalid|valid|hashed|hash|plain.*|default|example.*|test|data|input|field|label|email|username|user)$"
    r"|^your[_-]?|<|\{\{|\$\{|^\$[A-Za-z_(]|^%\w+%$"
    r"|^process\.|^os\.|environ|getenv|^self\.|^this\.|^req(?:uest)?\.|^config\b|^settings\b"
)
# Words of which an example without a digit is made.
_EXAMPLE = r"(?i)password|passwd|your|^my|example|placeholder|dummy|sample|insert|replace|todo|here$|secret|token"
_SPOKEN = ("is", "was", "ist", "是", "は", "为")
_CODE = (
    r"[A-Za-z_)\]][(\[]|\w\.\w+\(|^[A-Za-z_]+\.[A-Za-z_.]+$|^[{\[(]|->|=>|\]$|\)$|^https?://|^/(?![A-Za-z0-9+/]{39}$)"
)
_UNQUOTED_CODE = r"^[&*@#\\|]"
_CAMEL = r"[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+"  # how names in code are written


_regex = functools.cache(re.compile)  # compiled when first needed: all of them would cost 40 ms at every start


def redact(text: str, patterns: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Replace the secrets in `text` by marks; return the new text and the kinds found, sorted.

    `patterns` are regular expressions of more secrets (setting `redact_patterns`): what they match is marked
    `custom`, or only their first group where they have one. Raises SettingsError for one that can't be compiled.
    Redacting again changes nothing.
    """
    finders: tuple[Finder, ...] = (
        *_FINDERS,
        *(functools.partial(_custom, pattern) for pattern in _compiled(tuple(patterns))),
    )
    kinds: set[str] = set()
    for _ in range(_MAX_ROUNDS):
        changed = text
        for finder in finders:
            changed = _apply(changed, finder, kinds)
        if changed == text:
            break
        text = changed
    return text, tuple(sorted(kinds))


def _apply(text: str, finder: Finder, kinds: set[str]) -> str:
    pieces, done = [], 0
    marks = _regex(_MARK).finditer(text) if "[REDACTED:" in text else iter(())
    mark = next(marks, None)
    for kind, (start, end) in finder(text):
        while mark is not None and mark.end() <= start:
            mark = next(marks, None)
        if start < done or (mark is not None and mark.start() < end):
            continue  # overlaps what is replaced already
        pieces += [text[done:start], f"[REDACTED:{kind}]"]
        done = end
        kinds.add(kind)
    return "".join(pieces) + text[done:] if done else text


def _key_blocks(text: str) -> Iterator[tuple[str, Span]]:
    """Find private keys from BEGIN to END; one whose end is missing, as far as it looks like a key."""
    ends = _regex(_END).finditer(text) if "PRIVATE KEY" in text else iter(())
    end = next(ends, None)
    for begin in _regex(_BEGIN).finditer(text) if "PRIVATE KEY" in text else ():
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        body = _regex(_KEY_BODY).match(text, begin.end())
        if end is not None and end.start() - begin.end() <= _KEY_BLOCK_CHARS:
            if end.start() - begin.end() > 3:  # not just the two lines, named side by side
                yield "private-key", (begin.start(), end.end())
        elif body:
            yield "private-key", (begin.start(), body.end())


def _shaped(shape: Shape, text: str) -> Iterator[tuple[str, Span]]:
    if any(needle in text for needle in shape.needles):
        for match in _regex(shape.pattern).finditer(text):
            yield shape.kind, match.span()


def _url_passwords(text: str) -> Iterator[tuple[str, Span]]:
    for match in _regex(_IN_URL).finditer(text) if "://" in text and "@" in text else ():
        value = match["value"]
        if not re.search(r"^[\[{%<]|^\$[A-Z_]+$|^\$[{(]|^\*+$|^x+$", value):
            yield "password", match.span("value")


def _headers(text: str) -> Iterator[tuple[str, Span]]:
    for match in _regex(_BEARER).finditer(text) if "earer" in text else ():
        if _mixed(match["value"]) and not _regex(_PLACEHOLDER).search(match["value"]):
            yield "bearer-token", match.span("value")


def _basic_headers(text: str) -> Iterator[tuple[str, Span]]:
    for match in _regex(_BASIC).finditer(text) if "uthorization" in text else ():
        if "uthorization" in text[max(0, match.start() - 40) : match.start()]:
            yield "basic-auth", match.span("value")


def _cards(text: str) -> Iterator[tuple[str, Span]]:
    for match in _regex(_CARD).finditer(text):
        digits = [int(mark) for mark in match[0] if mark.isdecimal()]
        near = text[max(0, match.start() - _CARD_NEAR) : match.start()]
        if _checks(digits) and (len(match[0]) > len(digits) or _regex(_CARD_WORDS).search(near)):
            yield "payment-card", match.span()


def _checks(digits: Sequence[int]) -> bool:
    """Tell whether the last digit is the one that ISO/IEC 7812 (Luhn) asks for."""
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return sum(doubled) % 10 == -sum(digits[-1::-2]) % 10


def _assignments(text: str) -> Iterator[tuple[str, Span]]:
    lower = text.replace("İ", "I").lower()  # the one letter that grows in lower case would shift every place
    for word in _regex(_WORDS).finditer(lower):
        given = _regex(_GIVEN).match(text, word.end())
        if given is None or _opens_another(lower, given.start("value")):
            continue
        start, password = given.start("value"), word.lastgroup == "password"
        end = start + len(_trimmed(given["value"], given["quote"]))
        alone = text[end : end + 1] in ("", "\n", "\r", given["quote"] or "\n")
        if not given["quote"] and _regex(_UNQUOTED_CODE).search(given["value"]):
            continue
        if not _looks_secret(text[start:end], password=password, plain=alone and given["by"] not in _SPOKEN):
            continue
        if given.end("value") - start == _HEAD_CHARS:
            tail = _regex(_TAIL).search(text, given.end("value"))
            end = tail.end() if tail else len(text)
        yield ("password" if password else "secret"), (start, end)


def _sentences(text: str) -> Iterator[tuple[str, Span]]:
    """Find passwords that are told in a sentence; there only what holds letters and digits is taken for one."""
    lower = text.replace("İ", "I").lower()
    for word in _regex(_PASSWORDS).finditer(lower):
        span = _told(text, word.start(), word.end())
        value = _trimmed(text[slice(*span)], "").rstrip("!?")
        if len(value) >= _LEAST_TOLD and _mixed(value) and _looks_secret(value, password=True, plain=False):
            yield "password", (span[0], span[0] + len(value))


def _told(text: str, start: int, end: int) -> Span:
    """Return where the value of the word for a password at `start` to `end` is told; an empty span where it is not."""
    said = _regex(_SAID).match(text, end)
    if said is not None:
        return said.span("value")
    changed = _regex(_CHANGED).match(text, end)
    if changed is not None:
        before, behind = text[max(0, start - _VERB_CHARS) : start], text[changed.end() :][:_VERB_CHARS]
        if _regex(_CHANGE).search(before) or _regex(_CHANGE_BEHIND).search(behind):
            return changed.span("value")
    first = max(0, start - 2 * _HEAD_CHARS)
    before = text[first:start]
    used = _regex(_AS).search(before) if " as " in before else None
    return (first + used.start("value"), first + used.end("value")) if used else (0, 0)


def _trimmed(value: str, quote: str) -> str:
    """Leave the sentence's own marks out of a value that is not in quotes."""
    return value if quote else value.rstrip(".,;:)]}，。；、）")


def _opens_another(lower: str, start: int) -> bool:
    """Tell whether what stands there is the next word with its value, as in `token=password=x`."""
    word = _regex(_WORDS).match(lower, start)
    return word is not None and lower[word.end() : word.end() + 1] in (":", "=", "：")


def _looks_secret(value: str, *, password: bool, plain: bool) -> bool:
    """Tell a secret from a word, an expression or a placeholder.

    `plain`: the value was assigned and stands alone, so that a password there may even be one plain word.
    """
    if _regex(_PLACEHOLDER).search(value) or _regex(_CODE).search(value) or value.startswith("[REDACTED"):
        return False
    if not _mixed(value):
        word = value.isalpha() and ((plain and len(value) >= 6) or (len(value) >= 8 and _jumbled(value)))
        return password and len(value) >= 5 and (word or _marked(value)) and _regex(_EXAMPLE).search(value) is None
    if password:
        return len(value) >= 5
    return len(value) >= 12 and re.fullmatch(r"[\d.,:/-]+\w{0,3}", value) is None


def _mixed(value: str) -> bool:
    """Tell whether letters and digits stand in it together."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _jumbled(value: str) -> bool:
    """Tell whether capitals stand where neither a word nor a name in code has them, as in `XZKslCiipu`."""
    return value.isascii() and _regex(_CAMEL).fullmatch(value) is None


def _marked(value: str) -> bool:
    """Tell whether letters and marks stand in it together, as in `s3cret!` but not in `user-name`."""
    return any(map(str.isalpha, value)) and any(mark in value for mark in "!@#$%^&*+?~")


def _custom(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, Span]]:
    for match in pattern.finditer(text):
        span = match.span(1 if pattern.groups and match[1] is not None else 0)
        if span[0] < span[1]:
            yield "custom", span


@functools.cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise SettingsError(
                f"Setting 'redact_patterns': {pattern!r} is no regular expression ({error})."
            ) from error
    return tuple(compiled)


_FINDERS: tuple[Finder, ...] = (
    _key_blocks,
    *(functools.partial(_shaped, shape) for shape in SHAPES),
    _url_passwords,
    _sentences,
    _cards,
    _headers,
    _basic_headers,
    _assignments,
)
