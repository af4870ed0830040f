"""Whether a value that stands where a secret stands is one: people talk of passwords more often than they tell one."""

from __future__ import annotations

import re

from dream.redact.finder import regex

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
_CODE = (
    r"[A-Za-z_)\]][(\[]|\w\.\w+\(|^[A-Za-z_]+\.[A-Za-z_.]+$|^[{\[(]|->|=>|\]$|\)$|^https?://|^/(?![A-Za-z0-9+/]{39}$)"
)
_CAMEL = r"[a-z]*(?:[A-Z][a-z]+)*|[A-Z]+"  # how names in code are written


def looks_secret(value: str, *, password: bool, plain: bool) -> bool:
    """Tell a secret from a word, an expression or a placeholder.

    `plain`: the value was assigned and stands alone, so that a password there may even be one plain word.
    """
    if placeholder(value) or regex(_CODE).search(value) or value.startswith("[REDACTED"):
        return False
    if not mixed(value):
        word = value.isalpha() and ((plain and len(value) >= 6) or (len(value) >= 8 and _jumbled(value)))
        return password and len(value) >= 5 and (word or _marked(value)) and regex(_EXAMPLE).search(value) is None
    if password:
        return len(value) >= 5
    return len(value) >= 12 and re.fullmatch(r"[\d.,:/-]+\w{0,3}", value) is None


def mixed(value: str) -> bool:
    """Tell whether letters and digits stand in it together."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _jumbled(value: str) -> bool:
    """Tell whether capitals stand where neither a word nor a name in code has them, as in `XZKslCiipu`."""
    return value.isascii() and regex(_CAMEL).fullmatch(value) is None


def _marked(value: str) -> bool:
    """Tell whether letters and marks stand in it together, as in `s3cret!` but not in `user-name`."""
    return any(map(str.isalpha, value)) and any(mark in value for mark in "!@#$%^&*+?~")


def placeholder(value: str) -> bool:
    """Tell whether it is what stands in forms, code and examples instead of a secret."""
    return regex(_PLACEHOLDER).search(value) is not None
