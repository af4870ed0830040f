"""Where a line stands in a memory file: under which heading, and among its neighbours by what it tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dream.llm.embedded.coverage import ranked
from dream.llm.embedded.dates import dated
from dream.llm.embedded.routing import tells_of
from dream.llm.embedded.salience import salience
from dream.llm.embedded.sections import bare
from dream.llm.embedded.words import content
from dream.models import MemoryFile

TITLES: dict[MemoryFile, str] = {"SOUL.md": "# Soul", "USER.md": "# User", "memory/MEMORY.md": "# Memory"}
HAPPENED = 1.3  # how much more a line tells that has its own date: a quarter of what people ask is when
_BULLET = re.compile(r"^[-*+] ")
_SAID_ON = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")
_RULE = re.compile(
    r"\b(?:always|never|don'?t|do not|must|only|before|whenever|every time)\b|不要|别|必须|总是|一律|先", re.I
)
_PLAN = re.compile(
    r"\b(?:plans?|planning|will|going to|wants? to|goal|dream|aims?|hopes? to|next)\b|计划|打算|想要|目标|准备", re.I
)
_LIKING = re.compile(
    r"\b(?:prefer\w*|likes?|loves?|hates?|dislikes?|enjoys?|favou?rite|uses?|always|never|usually)\b|喜欢|偏好|讨厌|最爱|习惯|常用",
    re.I,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|chose|chosen|agreed|we use|we'll use|switched|instead of|moved? (?:\w+ )?from)\b|决定|选择|选定|改成|改用|换成",
    re.I,
)
_SOLUTION = re.compile(
    r"\b(?:fixed|fixes|solved|solution|workaround|works now|turned out|root cause|the trick|resolved|got it working)\b|解决|修复|原因是",
    re.I,
)
_HEADINGS = {
    "rule": "## Rules", "manner": "## Manner", "plan": "## Plans", "liking": "## Preferences", "person": "## Person",
    "decision": "## Decisions", "solution": "## Solutions", "event": "## Events", "fact": "## Facts",
}  # fmt: skip


def heading(file: MemoryFile, text: str, names: frozenset[str] = frozenset()) -> str:
    """Return the heading that a fact belongs under; what `names` tell of their lives stands together."""
    body = _SAID_ON.sub("", text)
    if file == "SOUL.md":
        kind = "rule" if _RULE.search(body) else "manner"
    elif file == "USER.md":
        kind = "liking" if _LIKING.search(body) else "plan" if _PLAN.search(body) else "person"
    elif tells_of(body, names):
        kind = "event"
    elif _SOLUTION.search(body):
        kind = "solution"
    elif _DECISION.search(body):
        kind = "decision"
    else:
        kind = "event" if dated(body) else "fact"
    return _HEADINGS[kind]


def is_fact(line: str) -> bool:
    """Say whether a line of a file is a bullet at its margin."""
    return _BULLET.match(line) is not None


def bullet(text: str) -> str:
    """Write a fact as a line of a memory file."""
    return f"- {text}"


def ranks(texts: Sequence[str]) -> dict[str, int]:
    """Return the place of each line when those that tell most beside the ones above them come first."""
    weighed = [(text, content(text), _factor(text)) for text in texts]
    return {texts[index]: place for place, index in enumerate(ranked(weighed))}


def _factor(text: str) -> float:
    return salience(text) * (HAPPENED if dated(_SAID_ON.sub("", text)) else 1.0)


def section_of(lines: Sequence[str], title: str) -> range:
    """Return the indices of the lines under the heading `title`; it must be there."""
    start = next(index for index, line in enumerate(lines) if line.strip() == title) + 1
    return range(start, next((n for n in range(start, len(lines)) if lines[n].startswith("#")), len(lines)))


def place(lines: Sequence[str], title: str, text: str, order: Mapping[str, int]) -> int:
    """Return the index in `lines` where a new bullet belongs under the heading `title`, by the ranks of all.

    It is the place that leaves the fewest better lines below it and weaker ones above it.
    """
    inside = section_of(lines, title)
    rows = [(n, order[text] < order.get(bare(lines[n]), 0)) for n in inside if is_fact(lines[n])]
    return _fairest(rows, inside.start)


def _fairest(rows: list[tuple[int, bool]], start: int) -> int:
    wrong = best = sum(not better for _, better in rows)
    at = rows[0][0] if rows else start
    for index, better in rows:
        wrong += 1 if better else -1
        if wrong < best:
            best, at = wrong, index + 1
    return at
