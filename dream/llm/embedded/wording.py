"""How a statement is written down: in the third person, with absolute dates and the day that it was said on."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.dates import anchor, dated, spelled
from dream.llm.embedded.dates_de import spelled_de
from dream.llm.embedded.dates_zh import spelled_zh
from dream.llm.embedded.german import is_german
from dream.llm.embedded.japanese import name_ja
from dream.llm.embedded.lexicon import BELONGING
from dream.llm.embedded.person import third
from dream.llm.embedded.routing import calls
from dream.llm.embedded.salience import happens
from dream.llm.embedded.weekdays import with_dates
from dream.llm.embedded.words import CJK, has_cjk, has_kana, mostly_cjk
from dream.llm.embedded.years import with_years

_CALLED = re.compile(
    r"(?:(?:people|friends|everyone|everybody|they|you can|just) calls? me|my (?:full )?name(?:'s| is)|I'm called) ((?-i:[A-Z])\w+(?: (?-i:[A-Z])[\w.'-]+){0,3})$"
    r"|I'm ((?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)(?:, (?:nice|pleased|glad|happy) to meet .*)?$|(?:我叫|我的名字[是叫])([^\s，,。]{2,8})$|Ich heiße ((?-i:[A-ZÄÖÜ])[\wäöüß-]+(?: (?-i:[A-ZÄÖÜ])[\wäöüß-]+)?)$",
    re.I,
)
_CJK = re.compile(f"[{CJK}]")
_LATIN = re.compile(r"[A-Za-z]{2,}")
_BARE_WISH = re.compile(r"(?:answers?|replies|responses|explanations?) (?:of|in|under|with|at|below|within)\b")


def told(text: str, name: str, day: date | None) -> str:
    """Write a trimmed statement about its speaker, with the day that it was said on where it names none.

    `name` is empty for a user without one.
    """
    happening = happens(text)
    german = is_german(text)
    if day and not name:
        text = with_years(with_dates(text, day), day)
    text = ("" if name else _own_name(text)) or third(anchor(text, day), name)
    return re.sub(r"\s+", " ", text) + said_on(text, day, needed=not name or happening, german=german)


def _own_name(text: str) -> str:
    """Return the line for a sentence in which the user says their name, in its language; or ''."""
    if name := name_ja(text):
        return f"ユーザーの名前は{name}"
    called = _CALLED.match(text)
    if called is None or (called[2] and called[2].split()[0].lower() in BELONGING):
        return ""
    return f"Der Nutzer heißt {called[4]}" if called[4] else calls(called[1] or called[2] or called[3])


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
    to = "" if _BARE_WISH.match(wish) else "the agent to "
    return f"{name or 'User'} wants {to}{wish}"
