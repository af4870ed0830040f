"""What history entries claim, line by line, whoever wrote them: injections, secrets and noise left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dream.llm.embedded.directives import directive, with_whole_rules
from dream.llm.embedded.noise import is_injection, is_passing, is_pleasantry, is_question, is_secret
from dream.llm.embedded.offering import candidates
from dream.llm.embedded.said_on import latest, said_on_day
from dream.llm.embedded.sections import Dreamt, Said, bare, conversation, day
from dream.llm.embedded.sentences import sentences
from dream.llm.embedded.splitting import facts_in
from dream.llm.embedded.trimming import trimmed
from dream.llm.embedded.wording import told, wants
from dream.llm.embedded.words import content

LONGEST = 600  # characters of one line of memory

_ROLE = re.compile(
    r"^(?:\[[^\]\n]{0,40}\] )?(?:\d{4}-\d\d-\d\d[T ]\S+ )?(user|assistant|tool|system)(?: ([^:\n]{1,60}))?: ?", re.I
)
# The user's own words, which the Consolidator adds to a summary that has left out a name, a number or a path.
_OWN_WORDS = re.compile(r"^(?:(?P<day>\d{4}-\d\d-\d\d) )?(?P<who>[^:：“”]{1,60}): “(?P<said>.+)”$")
_SUBJECTLESS = re.compile(
    r"^(?:(?:Is|Was|Does|Did|Would|Could|Has|Had|Should|Do)(?:n't)?|Can(?:'t)?|Cannot|Will|Won't) (?!you\b|i\b|it\b)[^?]*$",
    re.I,
)
_QUOTED = re.compile(r'^(?:\S{1,40}, )?[Aa]sked (?:"|wh\w+ |how |about )')


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of memory that an entry offers."""

    cursor: int
    text: str


def claims(entries: Sequence[Dreamt]) -> list[Claim]:
    """Return what entries claim in the order in which it was told: an old transcript may be read after newer ones."""
    found: list[tuple[date, Claim]] = []
    for entry in entries:
        lines = _lines(entry)
        told_then = latest(lines) or entry.day or date.min
        found += [(said_on_day(text) or told_then, Claim(entry.cursor, text)) for text in lines]
    return [claim for _, claim in sorted(found, key=lambda pair: pair[0])]


def _lines(entry: Dreamt) -> list[str]:
    if entry.kind == "nothing":
        return []
    if entry.kind == "raw":
        return [line.text for line in candidates(_messages(entry.text, entry.day))]
    if entry.kind == "note":
        return _noted(entry)
    return [text for line in entry.text.split("\n") for text in _told(bare(line)) if text and _fit(text)]


def _told(line: str) -> list[str]:
    """Return what a line states: itself, or what the user's own words state that it quotes."""
    quoted = _OWN_WORDS.match(line)
    if quoted is None:
        return [line]
    who = quoted["who"].strip()
    role = "user" if who.lower() in {"user", "human"} else "assistant"
    said = Said(role, "" if who.lower() == role else who, day(quoted["day"]), quoted["said"].strip("… "))
    return [found.text for found in candidates([said])]


def _fit(text: str) -> bool:
    if text.startswith(("#", "(nothing)", "<", "```")) or len(text) > LONGEST or not content(text):
        return False
    if is_injection(text) or is_secret(text) or is_passing(text):
        return False
    if _QUOTED.match(text) or _SUBJECTLESS.match(text):
        return True
    return not (is_question(text) or is_pleasantry(text))


def _noted(entry: Dreamt) -> list[str]:
    """Return what a note states: it was said on purpose, so that each of its sentences is kept if it can be."""
    found = []
    for sentence in with_whole_rules(sentences(entry.text)) or [" ".join(entry.text.split())]:
        if is_injection(sentence) or is_secret(sentence) or is_question(sentence) or not content(sentence):
            continue
        if wish := directive(sentence):
            found.append(wants(wish, ""))
            continue
        offered = [line.text for line in candidates([Said("user", "", entry.day, sentence)])]
        found += offered or [told(fact, "", entry.day) for fact in facts_in(trimmed(sentence)) if fact]
    return found


def _messages(text: str, when: date | None) -> list[Said]:
    """Read the messages of a raw entry, rendered as in a conversation or as `role: text` lines."""
    found = conversation(text)
    if found:
        return found
    said: list[tuple[str, str, list[str]]] = []
    for line in text.split("\n"):
        header = _ROLE.match(line)
        if header:
            said.append((header[1].lower(), header[2] or "", [line[header.end() :]]))
        elif said:
            said[-1][2].append(line)
    return [Said(role, name, when, "\n".join(lines)) for role, name, lines in said]
