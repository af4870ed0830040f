"""Text that is safe to store, to send and to show.

What is taken out can't be seen, or breaks what holds it: lone surrogates, NUL and other control characters,
characters that turn the direction of writing, invisible ones, and the tag characters in which instructions are hidden.
What makes a script or an emoji legible stays: the zero-width joiner between emoji or in an Indic or Arabic word, the
zero-width non-joiner in a Persian or Indic word, and a variation selector after a character that takes one.
Nothing else is changed; text is not normalised, for a path or a password is its bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")
_BREAKS = re.compile("\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")

_CONTROL = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_SUSPECT = re.compile(f"[{_CONTROL}{_BIDI}{_TAGS}{_JOINERS}{_SELECTORS}{_INVISIBLE}\ud800-\udfff]")
_KINDS = (
    ("lone surrogate", "\ud800-\udfff"),
    ("control character", _CONTROL),
    ("bidirectional mark", _BIDI),
    ("tag character", _TAGS),
    ("variation selector", _SELECTORS),
    ("zero-width joiner", _JOINERS),
    ("invisible character", _INVISIBLE),
)
QUOTED = 100  # characters of a line that a reason quotes
# The flags of England, Scotland and Wales: a black flag, tag characters, and the end tag. No others are in use.
_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
# Scripts whose words need joiners: Arabic, Syriac, N'Ko, the Indic ones, Sinhala, Khmer, Mongolian.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u1780-\u17ff\u1800-\u18aa\ufb50-\ufdff\ufe70-\ufefc]")


def clean(text: str) -> str:
    """Return `text` with every line end as `\\n` and nothing in it that can't be seen; the same text if so already."""
    text = _BREAKS.sub("\n", mend_surrogates(text))
    if _SUSPECT.search(text) is None:
        return text
    pieces, done = [], 0
    for start, end, _ in _suspects(text):
        pieces.append(text[done:start])
        done = end
    return "".join(pieces) + text[done:]


def quoted(line: str) -> str:
    """Return the beginning of a line as a reason quotes it."""
    return f"“{shortened(line.strip(), QUOTED)}”"


def shortened(text: str, chars: int) -> str:
    """Return a text of at most `chars` characters; a longer one is cut behind a word and ends with an ellipsis."""
    if len(text) <= chars:
        return text
    cut = text[: chars - 1]
    whole = cut if text[chars - 1].isspace() else re.sub(r"\s+\S*$", "", cut)
    # Where no blank stands near the end, a word is cut: Chinese has none, and an address may be long.
    return (whole if len(whole) * 2 >= chars else cut).rstrip(" ,;:.") + "…"


def span(entries: tuple[int, int]) -> str:
    """Name a range of entries by its first and last cursor: `entry 4`, `entries 4–9`."""
    first, last = entries
    return f"entry {first}" if first == last else f"entries {first}–{last}"


def problems(text: str) -> list[str]:
    """Name each kind of character in `text` that `clean` would change, with its first place; empty if none is."""
    found: dict[str, str] = {}
    breaks = _BREAKS.search(text)
    if breaks:
        found["line separator"] = _named("line separator", breaks[0][0])
    for start, _, kind in _suspects(text):
        found.setdefault(kind, _named(kind, text[start]))
    return list(found.values())


def mend_surrogates(text: str) -> str:
    """Join surrogate pairs into their character and put U+FFFD for lone ones, so that the text can be encoded."""
    if text.isascii() or _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mend_json(value: object) -> Any:
    """Copy a JSON value with its lone surrogates replaced: no file and no request could hold them."""
    if isinstance(value, str):
        return mend_surrogates(value)
    if isinstance(value, Mapping):
        return {mend_surrogates(str(name)): mend_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [mend_json(item) for item in value]
    return value if isinstance(value, bool | int | float) else None


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Copy a JSON value with `change` made to each of its strings; the names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    if isinstance(value, dict):
        return {name: map_strings(item, change) for name, item in value.items()}
    return value


def _suspects(text: str) -> Iterator[tuple[int, int, str]]:
    """Find what must go: start, end and kind of each character."""
    flags = {place for flag in _FLAG.finditer(text) for place in range(flag.start(), flag.end())}
    for match in _SUSPECT.finditer(text):
        place = match.start()
        if place not in flags and not _belongs(text, place):
            yield place, match.end(), next(name for name, members in _KINDS if re.match(f"[{members}]", match[0]))


def _belongs(text: str, place: int) -> bool:
    """Return whether a joiner or variation selector does its ordinary work where it stands."""
    character = text[place]
    before = text[place - 1] if place else ""
    after = text[place + 1] if place + 1 < len(text) else ""
    if character == "\u200d" and _pictures(text, place) and after and _is_picture(after):
        return True
    if character in "\u200c\u200d":
        return bool(_JOINING.match(before)) and (character == "\u200d" or bool(_JOINING.match(after)))
    if "\ufe00" <= character <= "\ufe0f":
        return bool(before) and (_is_picture(before) or before in "0123456789#*" or _is_han(before))
    return "\U000e0100" <= character <= "\U000e01ef" and bool(before) and _is_han(before)


def _pictures(text: str, place: int) -> bool:
    """Return whether an emoji ends just before `place`: a picture, maybe with a selector after it."""
    before = text[place - 1] if place else ""
    if before == "\ufe0f" and place >= 2:
        before = text[place - 2]
    return bool(before) and _is_picture(before)


def _is_picture(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk", "Sm") or character in "\u203c\u2049\u3030\u303d\u2139"


def _is_han(character: str) -> bool:
    return (
        "\u3400" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )


def _named(kind: str, character: str) -> str:
    return f"{kind} U+{ord(character):04X}"
