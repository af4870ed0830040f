"""The short plain facts that people tell of themselves and their plans: "I'm vegan", "I love sailing", "The launch is next Friday"."""

from __future__ import annotations

import re

from dream.llm.embedded.dates import relative
from dream.llm.embedded.lexicon import COMMON, FEELING, MONTHS, NUMBERS, STOP, WEEKDAYS
from dream.llm.embedded.words import content

PLAIN = 0.9  # the weight from which a word names something: no commonplace, no feeling
SHORT = 70  # characters of a plain statement of where something is
_NATION = (
    r"[A-Z][a-z]+(?:ish|ese|ian|ean|ican|i)|German|French|Dutch|Greek|Czech|Thai|Swiss|Jewish|Muslim|Catholic|Hindu"
)
# A state that lasts is told by the word's form, or is one of the few that have none.
_LASTS = re.compile(
    rf"(?:{_NATION})|[a-z]+-(?:handed|free|blind|intolerant|employed)|[a-z]+(?:arian|etic|exic|istic|ingual|matic|leptic)|"
    r"(?:colou?r ?blind|lactose intolerant|vegan|celiac|coeliac|blind|deaf|gay|lesbian|bisexual|trans|atheist|religious|"
    r"married|single|divorced|widowed|engaged|retired|unemployed|pregnant|halal|kosher)"
)
_AM = re.compile(r"^I(?:'m| am) (?:now |also |actually )?(?P<noun>an? )?(?P<what>[\w-]+(?: [\w-]+)?)$")
# What somebody likes, does or speaks as a habit, in few words: "I love sailing", "I play chess".
_HABIT = re.compile(
    r"^I (?:really |also |absolutely |actually |now |still |only |no longer |don't )*(?:love|like|hate|dislike|enjoy|prefer|play|speak|collect|study|teach|own|drive|use|"
    r"eat|drink|write|learn|live|work|come|grew up|have|take|run|cook|need) (?!it\b|this\b|that\b|these\b|those\b|them\b|how\b|when\b|what\b|your?\b)(?P<what>[^,;]{2,40})$"
)
# What somebody has given up: "I quit smoking", "I sold the boat".
_ENDED = re.compile(
    r"^(?:I(?:'ve| have)?|[Ww]e(?:'ve| have)?) (?:finally |also |recently |now )?(?:quit|stopped|gave up|given up|cancell?ed|sold|dropped) "
    r"(?!it\b|this\b|that\b|them\b|trying\b)(?P<what>[^,;]{4,40})$"
)
# How old somebody of the family is, or what they are called: "Our dog Mochi is three years old".
_FAMILY = re.compile(
    r"^(?:my|our) (?:\w+ )?(?:wife|husband|partner|sons?|daughters?|kids?|children|twins|sister|brother|mother|mom|mum|father|dad|parents|dog|cat|horse|parrot|rabbit)"
    r"(?:,? (?P<name>(?-i:[A-Z])\w+),?)? (?:is|are|turns?|was) (?P<what>(?:now |almost )?(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: (?:years|months|weeks) old)?|(?:called|named) .{2,30})$",
    re.I,
)
# What somebody or something that has a name is or does: "Leo is allergic to nuts", "Clara does the reviews now".
_NAMED = re.compile(
    r"^(?P<who>[A-Z][a-z]{2,})(?: [A-Z][a-z]+)? (?:is|isn't|has|does|doesn't|plays|likes|loves|hates|prefers|wants|works|lives|owns|leads|"
    r"manages|handles|reviews|speaks|studies|teaches|uses|runs|drinks|eats|needs|goes|joins|joined|left)\b (?P<what>[^?]{2,70})$"
)
# Where something is or how it goes: "Deploys go through make ship", "The docs live in /srv/docs".
_GOES = re.compile(
    r"^(?:The |Our |My )?(?P<who>[A-Z]?[\w-]+(?: [\w-]+)?) (?:go(?:es)?|runs?|lives?|is|are|happens?|works?) (?:through|in|at|on|by|via|with|under|from) (?P<what>[^?]{2,60})$",
    re.I,
)
_NOBODY = frozenset(
    "this that there here what which who everything everyone everybody nobody nothing life today it they he she we you".split()
)
_CALLED = re.compile(
    r"^(?:my (?:full )?name(?:'s| is)|I'm called|(?:people|friends|everybody|everyone|just) call me) (?-i:[A-Z])[\w' -]{1,40}$|^(?:我叫|我的名字[是叫])\S{2,8}$",
    re.I,
)
# What the value of a thing is: "The default language is French now", "Our sprint length is two weeks".
_VALUE = re.compile(
    r"^(?:[Tt]he|[Oo]ur|[Mm]y|[A-Z]\w+'s) (?P<thing>[\w' -]{2,50}?) (?:is|are|has|have|takes?|costs?|lasts?|weighs?) (?:now |about |only |called |named |still )*"
    rf"(?:(?:[A-Z#@/~$€£\d]|https?:)\S*|{'|'.join(word for word in NUMBERS if len(word) > 2)})(?: \S+){{0,4}}$"
)
_DAY = re.compile(rf"\b(?:{'|'.join((*WEEKDAYS, *MONTHS))})\b|\b\d{{4}}-\d\d-\d\d\b")
_SET = re.compile(
    r"^(?:the|our|my) (?P<thing>[\w' -]{2,50}?) (?:is|are|starts?|begins?|ends?|takes place|happens|is due|(?:was |is |has been )?(?:moved|moves|moving|shifts|slips|slipped|postponed|rescheduled) to)"
    r"(?: on| in| at| by| for| set for| scheduled for| planned for)? (?P<when>.{3,40})$",
    re.I,
)


def is_plain(text: str) -> bool:
    """Say whether a trimmed sentence, as a user said it, is short but a fact: who they are, or when something is."""
    if _CALLED.match(text) or _FAMILY.match(text):
        return True
    am = _AM.match(text)
    if am:
        words = am["what"].lower().split()
        if am["noun"]:
            return not any(word in COMMON or word in FEELING or word in STOP for word in words)
        return _LASTS.fullmatch(am["what"]) is not None
    habit = _HABIT.match(text) or _ENDED.match(text)
    if habit:
        return any(weight >= PLAIN for weight in content(habit["what"]).values())
    other = _NAMED.match(text) or (_GOES.match(text) if len(text) < SHORT else None)
    if other and other["who"].lower().split()[0] not in STOP | COMMON | FEELING | _NOBODY:
        return any(weight >= PLAIN for weight in content(other["what"]).values())
    valued = _VALUE.match(text)
    if valued and any(weight >= PLAIN for weight in content(valued["thing"]).values()):
        return True
    when = _SET.match(text)
    return when is not None and bool(content(when["thing"])) and _is_day(when["when"])


def _is_day(text: str) -> bool:
    return len(text.split()) <= 5 and (relative(text) or _DAY.search(text) is not None)
