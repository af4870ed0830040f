"""How a statement is written down: in the third person, with absolute dates and the day that it was said on."""

from __future__ import annotations

import re
from datetime import date

from dream.llm.embedded.dates import anchor, dated, spelled
from dream.llm.embedded.dates_zh import spelled_zh
from dream.llm.embedded.person import third
from dream.llm.embedded.routing import calls
from dream.llm.embedded.salience import happens
from dream.llm.embedded.words import has_kana, mostly_cjk

_CALLED = re.compile(
    r"(?:(?:people|friends|everyone|everybody|they|you can|just) calls? me|my (?:full )?name(?:'s| is)|I'm called) ((?-i:[A-Z])\w+(?: (?-i:[A-Z])[\w.'-]+){0,3})$"
    r"|I'm ((?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)(?:, (?:nice|pleased|glad|happy) to meet .*)?$|(?:我叫|我的名字[是叫])([^\s，,。]{2,8})$",
    re.I,
)
_BARE_WISH = re.compile(r"(?:answers?|replies|responses|explanations?) (?:of|in|under|with|at|below|within)\b")


def told(text: str, name: str, day: date | None) -> str:
    """Write a trimmed statement about its speaker, with the day that it was said on where it names none.

    `name` is empty for a user without one.
    """
    happening = happens(text)
    called = None if name else _CALLED.match(text)
    text = calls(called[1] or called[2] or called[3]) if called else third(anchor(text, day), name)
    return re.sub(r"\s+", " ", text) + said_on(text, day, needed=not name or happening)


def said_on(text: str, day: date | None, *, needed: bool) -> str:
    """Return the day that a line was said on as it stands at its end, '' where the line has a date or needs none."""
    if day is None or not needed or dated(text):
        return ""
    return f"（{spelled_zh(day)}）" if mostly_cjk(text) else f" ({spelled(day)})"


def wants(wish: str, name: str) -> str:
    """Write what somebody wants of the agent; directives.py reads it back."""
    if has_kana(wish):
        return f"{name or 'ユーザー'}の希望：{wish}"
    if mostly_cjk(wish):
        return f"{name or '用户'}希望助手{wish.replace('我', name or '用户')}"
    wish = wish[:1].lower() + wish[1:]
    to = "" if _BARE_WISH.match(wish) else "the agent to "
    return f"{name or 'User'} wants {to}{wish}"
