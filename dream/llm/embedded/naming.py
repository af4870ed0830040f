"""The line that says what the user is called, from the sentence in which they say it."""

from __future__ import annotations

import re

from dream.llm.embedded.japanese import name_ja
from dream.llm.embedded.lexicon import BELONGING
from dream.llm.embedded.routing import calls

_NAME = r"(?-i:[A-Z])\w+(?: (?-i:[A-Z])[\w.'-]+){0,3}"
_SAYS = (
    r"(?:people|friends|everyone|everybody|they|you can|just) calls? me|my (?:full )?name(?:'s| is)|I'm called|I go by"
)
_CALLED = re.compile(
    rf"(?:{_SAYS}|(?P<new>I(?:'ve)? changed my (?:first |last )?name to)) (?P<name>{_NAME})(?P<changed> now|, not (?-i:[A-Z])\w+)?$"
    r"|I'm (?P<am>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)(?:, (?:nice|pleased|glad|happy) to meet .*)?$"
    r"|(?:我叫|我的名字[是叫])(?P<zh>[^\s，,。]{2,8})$"
    r"|Ich heiße (?P<now>jetzt )?(?P<de>(?-i:[A-ZÄÖÜ])[\wäöüß-]+(?: (?-i:[A-ZÄÖÜ])[\wäöüß-]+)?)$",
    re.I,
)


def own_name(text: str) -> str:
    """Return the line for a sentence in which the user says their name, in its language; or ''."""
    if name := name_ja(text):
        return f"ユーザーの名前は{name}"
    called = _CALLED.match(text)
    if called is None or (called["am"] and called["am"].split()[0].lower() in BELONGING):
        return ""
    if called["de"]:
        return f"Der Nutzer heißt {called['now'] or ''}{called['de']}"
    changed = called["changed"] or (" now" if called["new"] else "")
    return calls(called["name"] or called["am"] or called["zh"]) + changed
