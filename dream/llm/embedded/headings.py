"""In which section of its file a fact belongs; titles.py says what each is called."""

from __future__ import annotations

import re

from dream.llm.embedded.dates import dated
from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.routing import tells_of
from dream.models import MemoryFile

SAID_ON = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")
_RULE = re.compile(
    r"\b(?:always|never|don'?t|do not|must|only|before|whenever|every time|immer|niemals?|nie|stets)\b|不要|别|必须|总是|一直|一律|先|いつも|常に|必ず",
    re.I,
)
_PLAN = re.compile(
    r"\b(?:plans?|planning|will|going to|wants? to|goal|dream|aims?|hopes? to|möchte|will|plant)\b|计划|打算|想要|目标|准备|つもり|予定",
    re.I,
)
_LIKING = re.compile(
    r"\b(?:prefer\w*|likes?|loves?|hates?|dislikes?|enjoys?|favou?rite|uses?|always|never|usually|doesn't (?:eat|drink|like)|eats|drinks|"
    r"mag|liebt|hasst|bevorzugt|trinkt|isst|lieber)\b|喜欢|偏好|讨厌|最爱|习惯|常用|^不[吃喝抽]|好き|嫌い|苦手",
    re.I,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|chose|chosen|agreed|settled on|we use|we'll use|switched|instead of|moved? (?:\w+ )?from|entschieden|beschlossen)\b"
    r"|决定|选择|选定|改成|改用|换成|に変わりました|に決め|に移行",
    re.I,
)
_SOLUTION = re.compile(
    r"\b(?:fixed|fixes|solved|solution|workaround|works now|turned out|root cause|caused by|the trick|resolved|got it working)\b|解决|修复|原因是|直りました",
    re.I,
)
_PERSON = re.compile(
    r"^(?:Dr\. |Mr\. |Ms\. )?(?P<who>[A-Z][a-z]+)(?: [A-Z][a-z]+)?(?:'s (?:birthday|wife|husband|partner|mother|father|sister|brother|son|daughter|number|email|phone)"
    r"| (?:and [A-Z][a-z]+ )?(?:now |also )?(?:is (?:(?:allergic|married|vegan|vegetarian|diabetic|pregnant|responsible|in charge|our|my)\b|\d|on (?:\w+ )?(?:leave|holiday|vacation)\b)"
    r"|(?:likes?|loves?|hates?|plays?|lives?|left|joined|does the|leads?|gave|told|wants?|moved (?:to|in)|speaks?|studies|said|says|agreed|reviews|thinks)\b))"
    r"|^(?:The )?\w+(?: \w+)? is owned by [A-Z]"
)
_SURROUNDINGS = re.compile(
    r"\b(?:server|staging|hosted|ports? \d+|CI|wiki|repo(?:sitory)? is|docs? (?:is|are|live)|scripts? (?:is|are|live)|tests? (?:of \w+ )?(?:is|are) run|deploys? go)\b"
    r"|https?://|(?:^|\s)(?:~|\.{0,2})/[\w-]+/|liegen? unter|服务器|端口|文档在|放在|测试用|サーバー",
    re.I,
)


def section_name(file: MemoryFile, text: str, names: frozenset[str] = frozenset()) -> str:
    """Return the name of the section that a fact belongs in; what is told of people's lives, also those of `names`, stands together."""
    body = SAID_ON.sub("", text)
    if file == "SOUL.md":
        return "Rules" if _RULE.search(body) else "Manner"
    if file == "USER.md":
        return "Preferences" if _LIKING.search(body) else "Plans" if _PLAN.search(body) else "Person"
    if tells_of(body, names) or _of_somebody(body):
        return "People"
    if _SOLUTION.search(body):
        return "Solutions"
    if _DECISION.search(body):
        return "Decisions"
    if dated(body):
        return "Events"
    return "Environment" if _SURROUNDINGS.search(body) else "Facts"


def _of_somebody(body: str) -> bool:
    match = _PERSON.match(body)
    return match is not None and (match["who"] or "").lower() not in STOP
