"""Secrets by how they are written: key blocks, what providers publish, passwords in addresses, headers, cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dream.redact.finder import Span, regex
from dream.redact.shapes import Shape
from dream.redact.values import mixed, placeholder

_KEY_BLOCK_CHARS = 32_768  # between BEGIN and END; an RSA key of 16,384 bits has 13 KB
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


def key_blocks(text: str) -> Iterator[tuple[str, Span]]:
    """Find private keys from BEGIN to END; one whose end is missing, as far as it looks like a key."""
    ends = regex(_END).finditer(text) if "PRIVATE KEY" in text else iter(())
    end = next(ends, None)
    for begin in regex(_BEGIN).finditer(text) if "PRIVATE KEY" in text else ():
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        body = regex(_KEY_BODY).match(text, begin.end())
        if end is not None and end.start() - begin.end() <= _KEY_BLOCK_CHARS:
            if end.start() - begin.end() > 3:  # not just the two lines, named side by side
                yield "private-key", (begin.start(), end.end())
        elif body:
            yield "private-key", (begin.start(), body.end())


def shaped(shape: Shape, text: str) -> Iterator[tuple[str, Span]]:
    """Find the keys of one shape."""
    if any(needle in text for needle in shape.needles):
        for match in regex(shape.pattern).finditer(text):
            yield shape.kind, match.span()


def url_passwords(text: str) -> Iterator[tuple[str, Span]]:
    """Find the passwords in connection strings, `scheme://user:password@host`."""
    for match in regex(_IN_URL).finditer(text) if "://" in text and "@" in text else ():
        value = match["value"]
        if not re.search(r"^[\[{%<]|^\$[A-Z_]+$|^\$[{(]|^\*+$|^x+$", value):
            yield "password", match.span("value")


def headers(text: str) -> Iterator[tuple[str, Span]]:
    """Find what follows `Bearer`."""
    for match in regex(_BEARER).finditer(text) if "earer" in text else ():
        if mixed(match["value"]) and not placeholder(match["value"]):
            yield "bearer-token", match.span("value")


def basic_headers(text: str) -> Iterator[tuple[str, Span]]:
    """Find what follows `Authorization: Basic`."""
    for match in regex(_BASIC).finditer(text) if "uthorization" in text else ():
        if "uthorization" in text[max(0, match.start() - 40) : match.start()]:
            yield "basic-auth", match.span("value")


def cards(text: str) -> Iterator[tuple[str, Span]]:
    """Find the numbers of payment cards."""
    for match in regex(_CARD).finditer(text):
        digits = [int(mark) for mark in match[0] if mark.isdecimal()]
        near = text[max(0, match.start() - _CARD_NEAR) : match.start()]
        if _checks(digits) and (len(match[0]) > len(digits) or regex(_CARD_WORDS).search(near)):
            yield "payment-card", match.span()


def _checks(digits: Sequence[int]) -> bool:
    """Tell whether the last digit is the one that ISO/IEC 7812 (Luhn) asks for."""
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return sum(doubled) % 10 == -sum(digits[-1::-2]) % 10
