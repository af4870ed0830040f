"""Secrets out of text: each is replaced by a mark of its kind, such as `[REDACTED:aws-access-key]`.

Three sorts are found. Keys that tell themselves by a prefix or a form, and what stands in places where only a secret
does (a command's password, a cookie, behind `PIN`): both are rows of forms.toml, each with an example that is its test.
And what is given to a word for a password, a key or a token, or is told to be it, in some thirty languages; there the
value must also look like one, because people talk about passwords and tokens far more often than they give one away.

No package served, looked at again in November 2026: of 80 kinds of secrets as people paste them detect-secrets 1.5.0
takes out 16 at 0.3 MB/s, and with its entropy plug-ins also marks 44 of 45 innocent texts; credsweeper brings pandas
and onnxruntime; agentscrub, trufflehog3 and ggshield start a Go program or ask a service.

Every pattern starts at a literal or a word's beginning and is bounded, so the time is linear in the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from dream.errors import SettingsError
from dream.redact import forms, named
from dream.redact.forms import Finder, Region, regex

_MARK = r"(\[REDACTED:[a-z0-9-]+\])"
_MAX_ROUNDS = 5  # a replacement can lay open what was part of a longer word before; twice is the most seen
_PLAIN: tuple[Finder, ...] = (
    forms.key_blocks,
    forms.cut,
    forms.keys,
    forms.addresses,
    forms.numbers,
    forms.seeds,
    forms.places,
    named.words,
)
_FINDERS: tuple[Finder, ...] = (
    functools.partial(forms.covered, _PLAIN),
    *_PLAIN,
    functools.partial(forms.encoded, _PLAIN),
)


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


def secrets(text: str, patterns: Sequence[str] = ()) -> frozenset[str]:
    """Return the secrets in `text` that a person could repeat elsewhere: one word each, letters mixed with others.

    A PIN is left out: elsewhere its digits are a port or a price.
    """
    finders: list[Finder] = [*_PLAIN, *(functools.partial(_custom, one) for one in _compiled(tuple(patterns)))]
    found = (text[start:end] for finder in finders for _, (start, end) in finder(text))
    return frozenset(one for one in found if (forms.mixed(one) or forms.marked(one)) and " " not in one)


def repeated(values: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns by which `redact` finds these secrets where they stand as words of their own."""
    return tuple(rf"(?<!\w){re.escape(value)}(?!\w)" for value in sorted(values))


def names_secret(text: str) -> bool:
    """Return whether a text has a digit and a word for a password or a key, or the mark of a redacted secret."""
    return "[REDACTED" in text or (any(map(str.isdigit, text)) and named.names(text))


def _apply(text: str, finder: Finder, kinds: set[str]) -> str:
    pieces, done = [], 0
    marks = regex(_MARK).finditer(text) if "[REDACTED:" in text else iter(())
    mark = next(marks, None)
    for kind, (start, end) in sorted(finder(text), key=_from_the_left):
        while mark is not None and mark.end() <= start:
            mark = next(marks, None)
        if start < done or (mark is not None and mark.start() < end):
            continue  # overlaps what is replaced already
        pieces += [text[done:start], f"[REDACTED:{kind}]"]
        done = end
        kinds.add(kind)
    return "".join(pieces) + text[done:] if done else text


def _from_the_left(found: tuple[str, Region]) -> tuple[int, int]:
    start, end = found[1]
    return start, -end


def _custom(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, Region]]:
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
