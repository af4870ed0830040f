"""The headings of memory's sections, in the languages that memory is written in: a section has one, whichever."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

Language = Literal["en", "de", "zh", "ja"]
# What each section is called: the English title is its name in code.
_TITLES: dict[str, dict[Language, str]] = {
    "Rules": {"de": "Regeln", "zh": "规则", "ja": "ルール"},
    "Manner": {"de": "Umgangston", "zh": "风格", "ja": "話し方"},
    "Person": {"de": "Person", "zh": "个人", "ja": "プロフィール"},
    "Preferences": {"de": "Vorlieben", "zh": "偏好", "ja": "好み"},
    "Plans": {"de": "Pläne", "zh": "计划", "ja": "予定"},
    "People": {"de": "Menschen", "zh": "人物", "ja": "人"},
    "Solutions": {"de": "Lösungen", "zh": "解决方案", "ja": "解決策"},
    "Decisions": {"de": "Entscheidungen", "zh": "决定", "ja": "決定"},
    "Events": {"de": "Ereignisse", "zh": "事件", "ja": "出来事"},
    "Environment": {"de": "Umgebung", "zh": "环境", "ja": "環境"},
    "Facts": {"de": "Fakten", "zh": "事实", "ja": "事実"},
}
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_GERMAN = re.compile(
    r"\b(?:ich|nicht|und|der|die|das|den|dem|des|ist|wird|mit|für|auf|wir|hat|bei|zum|zur|von|im|am|ein|eine|wohnt|heißt|arbeitet|mag|unser\w*)\b|[äöüß]",
    re.I,
)
GERMAN = 2  # of its small words and letters in a line that is German
SHORT = 6  # words of a line in which one is enough


def standing(lines: Iterable[str], name: str) -> str | None:
    """Return the heading that the section `name` has among `lines`, in whatever language; None where it has none."""
    titles = {f"## {title}".casefold() for title in (name, *_TITLES[name].values())}
    return next((line.strip() for line in lines if line.strip().casefold() in titles), None)


def heading(name: str, language: Language) -> str:
    """Return the heading of a section that is new to its file."""
    return f"## {_TITLES[name].get(language, name)}"


def language(lines: Sequence[str]) -> Language:
    """Return the language that most of `lines` are written in; English where none has more."""
    counted: dict[Language, int] = {"en": 0, "de": 0, "zh": 0, "ja": 0}
    for line in lines:
        counted[_of(line)] += 1
    return max(counted, key=lambda one: counted[one])


def _of(line: str) -> Language:
    letters = sum(character.isalpha() for character in line)
    if _KANA.search(line):
        return "ja"
    if 3 * len(_HAN.findall(line)) > letters:
        return "zh"
    return "de" if len(_GERMAN.findall(line)) >= (1 if len(line.split()) <= SHORT else GERMAN) else "en"
