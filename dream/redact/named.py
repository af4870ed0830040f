"""Secrets by the words that they follow: `password: …`, `token=…`, and passwords that are told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from dream.redact.finder import Span, regex
from dream.redact.values import looks_secret, mixed

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
_SPOKEN = ("is", "was", "ist", "是", "は", "为")
_UNQUOTED_CODE = r"^[&*@#\\|]"


def assignments(text: str) -> Iterator[tuple[str, Span]]:
    """Find what is assigned to a word for a password, a key or a token, or said to be it."""
    lower = text.replace("İ", "I").lower()  # the one letter that grows in lower case would shift every place
    for word in regex(_WORDS).finditer(lower):
        given = regex(_GIVEN).match(text, word.end())
        if given is None or _opens_another(lower, given.start("value")):
            continue
        start, password = given.start("value"), word.lastgroup == "password"
        end = start + len(_trimmed(given["value"], given["quote"]))
        alone = text[end : end + 1] in ("", "\n", "\r", given["quote"] or "\n")
        if not given["quote"] and regex(_UNQUOTED_CODE).search(given["value"]):
            continue
        if not looks_secret(text[start:end], password=password, plain=alone and given["by"] not in _SPOKEN):
            continue
        if given.end("value") - start == _HEAD_CHARS:
            tail = regex(_TAIL).search(text, given.end("value"))
            end = tail.end() if tail else len(text)
        yield ("password" if password else "secret"), (start, end)


def sentences(text: str) -> Iterator[tuple[str, Span]]:
    """Find passwords that are told in a sentence; there only what holds letters and digits is taken for one."""
    lower = text.replace("İ", "I").lower()
    for word in regex(_PASSWORDS).finditer(lower):
        span = _told(text, word.start(), word.end())
        value = _trimmed(text[slice(*span)], "").rstrip("!?")
        if len(value) >= _LEAST_TOLD and mixed(value) and looks_secret(value, password=True, plain=False):
            yield "password", (span[0], span[0] + len(value))


def _told(text: str, start: int, end: int) -> Span:
    """Return where the value of the word for a password at `start` to `end` is told; an empty span where it is not."""
    said = regex(_SAID).match(text, end)
    if said is not None:
        return said.span("value")
    changed = regex(_CHANGED).match(text, end)
    if changed is not None:
        before, behind = text[max(0, start - _VERB_CHARS) : start], text[changed.end() :][:_VERB_CHARS]
        if regex(_CHANGE).search(before) or regex(_CHANGE_BEHIND).search(behind):
            return changed.span("value")
    first = max(0, start - 2 * _HEAD_CHARS)
    before = text[first:start]
    used = regex(_AS).search(before) if " as " in before else None
    return (first + used.start("value"), first + used.end("value")) if used else (0, 0)


def _trimmed(value: str, quote: str) -> str:
    """Leave the sentence's own marks out of a value that is not in quotes."""
    return value if quote else value.rstrip(".,;:)]}，。；、）")


def _opens_another(lower: str, start: int) -> bool:
    """Tell whether what stands there is the next word with its value, as in `token=password=x`."""
    word = regex(_WORDS).match(lower, start)
    return word is not None and lower[word.end() : word.end() + 1] in (":", "=", "：")
