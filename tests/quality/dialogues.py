"""Dialogues with what a memory must and must not hold of them at the end, judged by patterns.

They were written by people and models who had not seen this program, in six languages, before anything was run. Half
of them, `half = "unseen"`, is only ever looked at to report. Each is one TOML file; `test_dialogues.py`
checks them.

Beside `NAME.toml` may stand `NAME.questions.jsonl`, a `{"question", "pattern"}` a line.

A pattern is a regular expression, matched without regard to case, after NFKC. All patterns of a row have to match
within one line of memory.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from dream.errors import UsageError
from dream.memory import TEMPLATES
from dream.models import Message
from dream.text.words import all_marks
from dream.versions.trace import facts
from tests.quality import Conversation, Gold, Half, Row, Sitting, dialog, matches

SHIPPED = Path(__file__).with_name("data") / "dialogues"
CONTROL = "every sentence quoted"  # the simplest memory of all: what the user said that is no question

_TURN = re.compile(r"(?m)^@(user|assistant|tool)(?:[ \t]+(.*))?$\n?")
_THEN = "earlier|früher|antes|avant|plus tôt|auparavant|以前|此前|之前"
EARLIER = re.compile(
    rf"[(（](?:{_THEN})[,，、:：].*[)）]\s*$|[(（][^()（）]*?(?:{_THEN})[^()（）]*[)）]", re.IGNORECASE
)
_JOINED = re.compile(r" [(（](?:later|später|después|depuis|后来|その後)[:：] |[;；] ")
_SENTENCE = re.compile(r"(?<=[.!?。！？…])\s+|(?<=[。！？])|\n+")
_RULE = re.compile(
    r"\b(?:always|never|please|don't|do not|from now on|immer|nie|niemals|bitte|ab jetzt|toujours|jamais|stp|siempre"
    r"|nunca|por favor)\b|以后|总是|不要|别|请|いつも|必ず|しないで|ください",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One memory of one dialogue. Each tuple names what was wrong, a sentence each; the counts are of the gold.

    `stale`: of what changed, the old value stands as true; `untold`: lines with words that no message holds in this
    order; `no_rule`: lines of SOUL.md that are none of the rules; `wanted`: lines that hold something that was to be
    kept, or a rule; `outdated`: what holds, and a line says that it no longer does; `unanswered`: questions
    whose answer is neither in the files nor among the first hits of a search for them.
    """

    name: str
    language: str
    half: Half
    text: str
    kept: int
    lost: tuple[str, ...]
    changed: int
    unchanged: tuple[str, ...]
    stale: tuple[str, ...]
    never: int
    got_in: tuple[str, ...]
    got_into_soul: tuple[str, ...]
    rules: int
    unruled: tuple[str, ...]
    soul: int
    no_rule: tuple[str, ...]
    lines: int
    wanted: int
    outdated: tuple[str, ...]
    untold: tuple[str, ...]
    asked: int
    unanswered: tuple[str, ...]


def recognises(path: Path) -> bool:
    """Return whether `path` is a dialogue or a folder of them."""
    return path.suffix == ".toml" or (path.is_dir() and any(path.glob("*.toml")))


def load(path: Path, half: str = "") -> list[Conversation]:
    """Read a dialogue or a folder of them, of one `half` where it is named. Raises UsageError."""
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    found = [read(file) for file in files]
    return [one for one in found if not half or (one.gold is not None and one.gold.half == half)]


def read(file: Path) -> Conversation:
    """Read one dialogue. Raises UsageError, which names the file and what is wrong in it."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        sessions = tuple(_sessions(str(data["id"]), data["sittings"]))
        gold = Gold(
            language=str(data["language"]),
            half="unseen" if data.get("half") == "unseen" else "seen",
            kept=tuple(_rows(data.get("kept", ()), "fact", "all")),
            changed=tuple(_rows(data.get("changed", ()), "fact", "new")),
            never=tuple(_rows(data.get("never", ()), "what", "all")),
            rules=tuple(_rows(data.get("rules", ()), "rule", "all")),
            asked=tuple(_asked(file.with_suffix(".questions.jsonl"))),
        )
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        raise UsageError(f"{file} is not a dialogue: {error!r}.") from error
    return Conversation(str(data["id"]), sessions, references={"whole dialog": dialog(sessions)}, gold=gold)


def measure(
    conversations: Sequence[Conversation], memories: Sequence[tuple[str, str]], hits: Sequence[Mapping[str, str]]
) -> list[Judged]:
    """Judge each memory, (SOUL.md, the other files), and beside it the control; nothing where there is no gold.

    `hits` is what a search finds first for each question of a dialogue.
    """
    judged: list[Judged] = []
    for conversation, (soul, rest), found in zip(conversations, memories, hits, strict=True):
        if conversation.gold is not None:
            judged.append(judge(conversation, conversation.gold, "memory", soul, rest, found))
            judged.append(judge(conversation, conversation.gold, CONTROL, *control(conversation)))
    return judged


def judge(
    conversation: Conversation,
    gold: Gold,
    name: str,
    soul: str,
    rest: str,
    hits: Mapping[str, str] | None = None,
) -> Judged:
    """Look for each row of the gold in the lines of a memory."""
    rules, shown = list(_lines(soul)), hits or {}
    lines = [*rules, *_lines(rest)]
    told = [EARLIER.sub(" ", line) for line in lines]  # `(earlier, 2 November 2026: …)`
    stale = tuple(row.says for row in gold.changed if any(_stale(row, line) for line in told))
    there = {row.says for row in gold.changed if any(matches(row.patterns, line) for line in lines)}
    got_in = [(row.says, line) for row in gold.never for line in told if _stands(row, line)]
    rows_of_rules = (*gold.rules, *gold.changed)
    asked_for = (*gold.kept, *gold.rules)
    own = _normal(dialog(conversation.sessions))
    past = [found[0] for line in lines for found in EARLIER.finditer(line) if found[0] not in own]
    said = _Words(conversation)
    return Judged(
        name=conversation.name,
        language=gold.language,
        half=gold.half,
        text=name,
        kept=len(gold.kept),
        lost=tuple(row.says for row in gold.kept if not any(_stands(row, line) for line in lines)),
        changed=len(gold.changed),
        unchanged=tuple(row.says for row in gold.changed if row.says not in there or row.says in stale),
        stale=stale,
        never=len(gold.never),
        got_in=tuple(dict.fromkeys(says for says, _ in got_in)),
        got_into_soul=tuple(dict.fromkeys(says for says, line in got_in if line in rules)),
        rules=len(gold.rules),
        unruled=tuple(row.says for row in gold.rules if not any(_stands(row, line) for line in rules)),
        soul=len(rules),
        no_rule=tuple(line for line in rules if not any(_stands(row, line) for row in rows_of_rules)),
        lines=len(lines),
        wanted=sum(any(_stands(row, line) for row in asked_for) for line in told),
        outdated=tuple(row.says for row in (*asked_for, *gold.changed) if any(_stands(row, text) for text in past)),
        untold=tuple(line for line in told if not said.holds(line)),
        asked=len(gold.asked),
        unanswered=tuple(
            row.says
            for row in gold.asked
            if not any(_stands(row, line) for line in (*lines, *_normal(shown.get(row.says, "")).splitlines()))
        ),
    )


def control(conversation: Conversation) -> tuple[str, str]:
    """Return (SOUL.md, the rest) of the simplest memory: every sentence of the user's that is not a question.

    A sentence with an ordering word counts as a rule. A memory has earned only what it does better than this.
    """
    rules: list[str] = []
    rest: list[str] = []
    for session in conversation.sessions:
        for message in session.messages:
            if message.role == "user":
                for sentence in _SENTENCE.split(message.content):
                    if sentence and sentence.strip() and not re.search(r"[?？]\W*$", sentence):
                        (rules if _RULE.search(sentence) else rest).append(f"- {' '.join(sentence.split())}")
    return "\n".join(rules), "\n".join(rest)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines that state something; the sentence under a title, which every new workspace has, does not."""
    begun = {line for text in TEMPLATES.values() for line in facts(text.decode())}
    for line in facts(text):
        if line not in begun:
            yield _normal(line).strip()


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _stale(row: Row, line: str) -> bool:
    return (
        matches(row.old, line) and not matches(row.patterns, line) and not any(one.search(line) for one in row.unless)
    )


def _stands(row: Row, line: str) -> bool:
    return matches(row.patterns, line) and (bool(row.old) or not any(one.search(line) for one in row.unless))


_DAY = re.compile(r"\s*\([^()]*\d[^()]*\)\s*$")
_NOTE = re.compile(r"\[[^\[\]]*\]")
_LABEL = re.compile(r"^\s*(?:[-*]\s+)?(?:[\w.’' -]{1,40}:\s)?")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_WIDE = re.compile(r"([぀-ヿ㐀-鿿豈-﫿가-힯])")


@cache
def _marks() -> re.Pattern[str]:
    """Return what finds the mark of a line whose source nobody vouches for."""
    return re.compile("|".join(re.escape(unicodedata.normalize("NFKC", mark)) for mark in all_marks()), re.IGNORECASE)


class _Words:
    """The words of a dialogue's messages in their order, each with the message before it."""

    def __init__(self, conversation: Conversation) -> None:
        messages = [message for session in conversation.sessions for message in session.messages]
        before = ["", *(message.content for message in messages[:-1])]
        self._texts = [_words(f"{b}\n{m.content}") for b, m in zip(before, messages, strict=True)]

    def holds(self, line: str) -> bool:
        """Return whether the words of a line, without its brackets, day and speaker, stand so in one message.

        Of a rule with what bounds it, `never push (later: on fridays you may)`, each part stands in one.
        """
        parts = [part for part in _JOINED.split(line.rstrip(")）")) if part.strip()]
        return self._has(line) or (len(parts) > 1 and all(map(self._has, parts)))

    def _has(self, line: str) -> bool:
        bare = _NOTE.sub(" ", _DAY.sub("", _marks().sub(" ", line)))
        wanted = [_words(bare), _words(_LABEL.sub("", bare, count=1))]
        return any(_in_order(words, text) for words in wanted for text in self._texts)


def _words(text: str) -> list[str]:
    return _WORD.findall(_WIDE.sub(r" \1 ", unicodedata.normalize("NFKC", text).lower()))


def _in_order(words: Iterable[str], text: Iterable[str]) -> bool:
    rest = iter(text)
    return all(word in rest for word in words)


def _sessions(name: str, sittings: Sequence[Any]) -> Iterator[Sitting]:
    """Yield the sittings; where several people write, all are one session, as those of a group chat are."""
    turns = [found for sitting in sittings for found in _TURN.findall(str(sitting["talk"]))]
    several = len({who for role, who in turns if role == "user" and who}) > 1
    for number, sitting in enumerate(sittings, 1):
        start: datetime = sitting["start"]
        at = start.astimezone(UTC)
        yield Sitting(name if several else f"{name}-{number}", at, tuple(_messages(str(sitting["talk"]), at, number)))


def _messages(talk: str, at: datetime, number: int) -> Iterator[Message]:
    """Yield the messages of a sitting, a minute apart; a tool's result is preceded by the call that it answers."""
    parts = _TURN.split(talk.lstrip("\n"))
    if parts[0].strip():
        raise ValueError(f"text before the first @: {parts[0].strip()[:40]!r}")
    turns = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))
    for place, (role, name, text) in enumerate(turns):
        identity, when = f"{number}:{place}", at + timedelta(minutes=place)
        after = turns[place + 1][0] if place + 1 < len(turns) else ""
        if role == "tool":
            if place == 0 or turns[place - 1][0] != "assistant":
                yield Message("assistant", "", when, None, f"{identity}c", calls=(identity,))
            yield Message("tool", text.strip(), when, name or "tool", identity, answers=identity)
        elif role == "assistant":
            calls = (f"{number}:{place + 1}",) if after == "tool" else ()
            yield Message("assistant", text.strip(), when, None, identity, calls=calls)
        else:
            yield Message("user", text.strip(), when, name or None, identity)


def _rows(rows: Sequence[Any], says: str, key: str) -> Iterator[Row]:
    for row in rows:
        patterns = _patterns(row[key])
        if not patterns:
            raise ValueError(f"{row[says]!r} has no pattern")
        yield Row(str(row[says]), patterns, _patterns(row.get("unless", ())), _patterns(row.get("old", ())))


def _asked(file: Path) -> Iterator[Row]:
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        row = json.loads(line)
        yield Row(str(row["question"]), _patterns([row["pattern"]]))


def _patterns(texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in texts)
