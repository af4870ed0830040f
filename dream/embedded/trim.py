"""What of a sentence carries nothing: "ok so" at its head, thanks at its end, a question that only asks for help."""

from __future__ import annotations

import re
from collections.abc import Collection

from dream.embedded.tongue import Tongue
from dream.provenance import cues
from dream.text.sentences import LEAST
from dream.text.tongues import plain

_JUNK = re.compile(r"[\s,.;:!?…，。；：！？、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+")
_BACK_JUNK = re.compile(r"[\s,.;:!…，。；：！、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+$")
_SMILEY = re.compile(r"(?:^|\s)(?:[:;=][-']?[)(DPp/|\\]|<3|\^\^|xD|XD)+\s*$")
_NAME = re.compile(r"[A-ZÀ-Þ][\w’'-]{1,24}(?: [A-ZÀ-Þ][\w’'-]{1,24})?[,!.:]\s")
_CLAUSE = re.compile(r"[,，、;；]\s*|\s[-–—]+\s|[.!。！]\s+|\(")


def trimmed(text: str, known: Tongue) -> str:
    """Return `text` without empty phrases at its ends: "ok so", greetings, thanks, a final question."""
    text = _without_request(_front(text, known), known)
    before = ""
    while text != before:
        before = text
        text = _SMILEY.sub("", text)
        if not text.endswith("?") and not text.endswith("？"):
            text = _BACK_JUNK.sub("", text)
        text = _without_end(text, known)
    return text.strip()


def without_names(text: str, names: Collection[str]) -> str:
    """Return `text` without the name of the person addressed, at its beginning or its end: "Thanks, Mel"."""
    for name in names:
        for one in {name, name[:3]} if len(name) > 4 else {name}:
            text = re.sub(rf"^{re.escape(one)}\w*[,!.:]\s+", "", text)
            text = re.sub(rf",\s+{re.escape(one)}\w*[\s!.]*$", "", text)
    return text


def _front(text: str, known: Tongue) -> str:
    before = ""
    while text != before:
        before = text
        if match := _JUNK.match(text):
            text = text[match.end() :] if match.end() < len(text) and not _tied(text, match.end()) else text
        text = _without_filler(text, known)
    return text


def _tied(text: str, at: int) -> bool:
    """Return whether the sign before `at` belongs to what follows: -v, .env, ~/x."""
    return text[at - 1] in "-.~" and not text[at].isspace() and not text[at].isupper()


def _without_filler(text: str, known: Tongue) -> str:
    low = text[:40].lower().replace("’", "'")
    for filler in filter(low.startswith, known.front):
        rest = text[len(filler) :]
        if not rest:
            return text
        if rest[0] in ",.!?:;…–，。！：；、":
            return rest[1:].lstrip()
        loose = (len(filler) <= 3 and filler != "si") or " " in filler or filler in known.loose  # "si" is "if"
        if rest[0].isspace() and loose:
            rest = rest.lstrip()
            name = _NAME.match(rest)
            return rest[name.end() :] if name and filler in known.greets else rest
        if known.wide and len(filler) >= 2 and filler in known.loose:
            return rest
    return text


def _without_end(text: str, known: Tongue) -> str:
    low = text[-40:].lower()
    for filler in filter(low.endswith, known.back):
        if len(text) > len(filler) + 3:
            before = text[: -len(filler)]
            if known.wide or before[-1] in ",.!;，。 ":
                wordlike = known.wide or before[-1] != " " or filler in known.polite
                if wordlike and not (known.wide and before[-1] not in "，。,. !！～" and len(filler) < 2):
                    return before
    return text


def _without_request(text: str, known: Tongue) -> str:
    """Cut off a question at the end that only asks for help with what the sentence states before it."""
    if not text.rstrip().endswith(("?", "？")):
        return text
    best = text
    for match in _CLAUSE.finditer(text):
        rest = plain(text[match.end() :])
        if match.start() < LEAST // (2 if known.wide else 1):
            continue
        for lead in (" and ", " so ", " but ", " also ", " und ", " et ", " y "):
            rest = rest.removeprefix(lead) if not rest.startswith(lead) else " " + rest.removeprefix(lead)
        if any(rest.startswith(one) if not known.wide else rest.strip().startswith(one) for one in known.request):
            best = text[: match.start()]
            break
    return best


def is_supposed(sentence: str) -> bool:
    """Return whether a sentence describes something imagined, dreamt or role-played."""
    return cues.says("imagined", sentence)
