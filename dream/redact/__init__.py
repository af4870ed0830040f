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
from collections.abc import Iterator, Sequence

from dream.errors import SettingsError
from dream.redact import formed, named
from dream.redact.finder import Finder, Span, regex
from dream.redact.shapes import SHAPES

_MARK = r"(\[REDACTED:[a-z0-9-]+\])"
_MAX_ROUNDS = 5  # a replacement can lay open what was part of a longer word before; twice is the most seen


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
    marks = regex(_MARK).finditer(text) if "[REDACTED:" in text else iter(())
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
    formed.key_blocks,
    *(functools.partial(formed.shaped, shape) for shape in SHAPES),
    formed.url_passwords,
    named.sentences,
    formed.cards,
    formed.headers,
    formed.basic_headers,
    named.assignments,
)
