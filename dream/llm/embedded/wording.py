"""How a statement is written down: in the third person, with absolute dates and the day that it was said on."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.dates import anchor, dated, spelled
from dream.llm.embedded.dates_de import spelled_de
from dream.llm.embedded.dates_zh import spelled_zh
from dream.llm.embedded.german import is_german
from dream.llm.embedded.naming import own_name
from dream.llm.embedded.person import third
from dream.llm.embedded.salience import happens
from dream.llm.embedded.weekdays import with_dates
from dream.llm.embedded.words import CJK, has_cjk, has_kana, mostly_cjk
from dream.llm.embedded.years import with_years

_CJK = re.compile(f"[{CJK}]")
_LATIN = re.compile(r"[A-Za-z]{2,}")
# A wish that is no bare imperative is told as it was said.
_AS_SAID = re.compile(
    r"(?:when\w*|if|while|before|after|unless|once|until|as long as|in|for|with|on|inside|during|outside|don't|do not|no|under|you|i|i'd|the|our|my|we|all|every)\b",
    re.I,
)
_BARE_WISH = re.compile(r"(?:answers?|replies|responses|explanations?) (?:of|in|under|with|at|below|within)\b")


def told(text: str, name: str, day: date | None) -> str:
    """Write a trimmed statement about its speaker, with the day that it was said on where it names none.

    `name` is empty for a user without one.
    """
    happening = happens(text)
    german = is_german(text)
    if day:
        text = with_years(text if name else with_dates(text, day), day)
    text = ("" if name else own_name(text)) or third(anchor(text, day), name)
    return re.sub(r"\s+", " ", text) + said_on(text, day, needed=not name or happening, german=german)


def said_on(text: str, day: date | None, *, needed: bool, german: bool = False) -> str:
    """Return the day that a line was said on as it stands at its end, '' where the line has a date or needs none."""
    if day is None or not needed or dated(text):
        return ""
    if has_cjk(text) and len(_CJK.findall(text)) >= len(_LATIN.findall(text)):
        return f"（{spelled_zh(day)}）"
    return f" ({spelled_de(day) if german else spelled(day)})"


def wants(wish: str, name: str) -> str:
    """Write what somebody wants of the agent; directives.py reads it back."""
    if has_kana(wish):
        return f"{name or 'ユーザー'}の希望：{wish}"
    if mostly_cjk(wish):
        return f"{name or '用户'}希望助手{wish.replace('我', name or '用户')}"
    if is_german(wish):
        return f"{name or 'Der Nutzer'} wünscht: {wish}"
    wish = wish[:1].lower() + wish[1:]
    if _AS_SAID.match(wish):
        return f"{name or 'User'} wants: {wish}"
    to = "" if _BARE_WISH.match(wish) else "the agent to "
    return f"{name or 'User'} wants {to}{wish}"
