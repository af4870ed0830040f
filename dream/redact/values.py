"""Whether a value that stands where a secret stands is one: people talk of passwords more often than they tell one."""

from __future__ import annotations

import functools
import re

regex = functools.cache(re.compile)  # compiled when first needed: all of them would cost 100 ms at every start

# What stands there in forms, code and examples instead of a secret.
_PLACEHOLDER = (
    r"(?i)^(?:\*+|x{3,}|\.{3,}|_+|-+|…+|•+|none|null|nil|true|false|undefined|required|optional|string|str|text|varchar.*|"
    r"hidden|empty|unknown|secret|password|passwort|passwd|token|bearer|basic|value|changeme|change[_-]me.*|placeholder|"
    r"redacted.*|invalid|valid|hashed|hash|plain.*|default|example.*|test|data|input|field|label|email|username|user|"
    r"1password.*|bitwarden|keepass\w*|stdin|prompt|basic|digest|forgot|reset)$"
    r"|^\d+[^\W\d\x00-\u2fff]|^your[_-]?|^<|^--|<[a-z_ -]+>|\{\{|\$\{|^\$[A-Za-z_(]|^%\w+%$|^\[REDACTED|x{6}|\*{4}|•{3}|\.{3}|…|^@\w+$|^(?:op|vault|ssm)://"
    r"|^process\.|^os\.|environ|getenv|^self\.|^this\.|^req(?:uest)?\.|^config\b|^settings\b|^arn:aws"
)
# Words of which an example without a digit is made.
_EXAMPLE = (
    r"(?i)password|passwd|passwort|your|^my|example|placeholder|dummy|sample|insert|replace|todo|here$|secret|token"
)
_CODE = (
    r"[A-Za-z_)\]][(\[]|\w\.\w+\(|^[A-Za-z_]+\.[A-Za-z_.]+$|^[{\[(]|->|=>|\]$|\)$|^https?://|^~?/(?![A-Za-z0-9+/]{39}$)"
    r"|^\.{1,2}/|^[A-Z]:\\"
)
_QUOTED_CODE = r"\w\.\w+\(|\w\(\)?$|^[{\[]\w*[}\]]?$|^https?://|^~?/(?![A-Za-z0-9+/]{39}$)|^\.{1,2}/"
_CAMEL = r"[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+"  # how names in code are written
_LONG_CAMEL = r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]{3,})+"
_NAME = r"[a-z]+\d{0,4}(?:[-_./:]+(?:[a-z]{2,}\d{0,3}|v?\d{1,4}))+"  # how things are named: db-credentials-2
_DATED = r"[\d.,:/-]+\w{0,3}"
_KNOWN = (
    r"(?i)(?:sha|md|pbkdf|oauth|base|utf|aes|argon|[sb]crypt|web|http|ntlm|ipv|owasp|path|python|v)-?v?\d[\w.-]{0,12}"
)


def looks_secret(value: str, *, password: bool, plain: bool, quoted: bool = False, least: int = 12) -> bool:
    """Tell a secret from a word, an expression or a placeholder.

    `plain`: the value was assigned and stands alone, so that a password there may even be one plain word. `least`:
    characters of a secret that is no password.
    """
    if placeholder(value) or regex(_QUOTED_CODE if quoted else _CODE).search(value):
        return False
    if password:
        return len(value) >= 5 and (
            mixed(value) or _without_digits(value, plain, quoted) or (plain and value.isdigit())
        )
    if not mixed(value):
        return len(value) >= 20 and value.isalpha() and regex(_LONG_CAMEL).fullmatch(value) is None and _jumbled(value)
    return len(value) >= least and not any(regex(form).fullmatch(value) for form in (_DATED, _NAME, _KNOWN))


def _without_digits(value: str, plain: bool, quoted: bool) -> bool:
    """Tell whether a value without letters and digits together may be a password."""
    if regex(_EXAMPLE).search(value) or not any(map(str.isalpha, value)):
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
    """Tell whether nobody would write it but as a password: letters beside digits or marks, and not as names are."""
    if placeholder(value) or regex(_CODE).search(value) or regex(_EXAMPLE).search(value):
        return False
    if regex(_KNOWN).fullmatch(value) or regex(_DATED).fullmatch(value) or ("@" in value[1:-3] and "." in value):
        return False
    return mixed(value) or marked(value)


def stark(value: str) -> bool:
    """Tell whether it is strong and has capitals or marks too, so that it is one even without a word between."""
    cases = value != value.lower() and value != value.upper()
    return len(value) >= 7 and strong(value) and mixed(value) and (cases or marked(value))


def random(value: str) -> bool:
    """Tell whether it was drawn by chance: capitals, small letters and digits, or many hexadecimal digits."""
    if len(value) < 20 or re.search(r"[/.:\s]", value):
        return False
    return mixed(value) and (
        value not in (value.lower(), value.upper()) or bool(re.fullmatch("[0-9a-f]{32,128}", value))
    )


def mixed(value: str) -> bool:
    """Tell whether letters and digits stand in it together."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def marked(value: str) -> bool:
    """Tell whether letters and marks stand in it together, as in `s3cret!` but not in `user-name`."""
    return any(map(str.isalpha, value)) and any(mark in value for mark in "!@#$%^&*+?~")


def placeholder(value: str) -> bool:
    """Tell whether it is what stands in forms, code and examples instead of a secret."""
    return regex(_PLACEHOLDER).search(value) is not None


def _jumbled(value: str) -> bool:
    """Tell whether capitals stand where neither a word nor a name in code has them, as in `XZKslCiipu`."""
    return value.isascii() and regex(_CAMEL).fullmatch(value) is None
