"""Chats that are no agent's own files: messages as OpenAI's API has them, ChatGPT's export, and written text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from itertools import pairwise

from dream.language.words import listed
from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Call, Json, call
from dream.transcripts.records import CHUNK, MAX_RECORD
from dream.transcripts.source import Head, Reader, Record, Said, Source, records_in, zipped
from dream.transcripts.turns import EPOCH, Options, Turns, parse_time, role

# Chat messages as OpenAI's API has them, and their kin.
#
# A JSON array of messages, `{"messages": […]}`, a list of such conversations, or JSON lines of either.
# A time may stand under `timestamp`, `created_at`, `time` or `date`; a message without one has its conversation's, or
# the day that the system prompt says it is. ShareGPT's `from`/`value` is understood.

_TIMES = ("timestamp", "created_at", "createdAt", "create_time", "time", "date", "datetime", "ts")
_SESSIONS = ("session_id", "sessionId", "conversation_id", "thread_id", "session", "conversation", "id")
_MESSAGES = ("messages", "conversation", "conversations", "chat", "turns", "items")


def _is_openai(head: Head) -> bool:
    """Return whether a record has content and says who speaks, or holds records that do."""
    if "messages" in head.lists or "conversations" in head.lists:
        return True
    return any(_is_message(record) or _conversation(record) is not None for record in head.records)


def _read_openai(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each conversation in the file."""
    header, _ = source.header()
    default = parts.key(header, *_SESSIONS) or source.default_id
    begun = parts.first(header, *_TIMES)
    state = source.carried
    for record in source.records():
        inner = _conversation(record.value)
        if inner is None:
            session = parts.key(record.value, *_SESSIONS[:-1]) or default
            turns = state.turns_of(session, options)
            turns.day = turns.day or begun
            yield from _message(record.value, session, turns)
            continue
        session = parts.key(record.value, *_SESSIONS) or (f"{default}/{state.number}" if state.number else default)
        state.number += 1
        own = Turns(options, parts.first(record.value, *_TIMES))
        for value in inner:
            yield from _message(value, session, own)


def _conversation(record: Json) -> list[Json] | None:
    """Return the messages of a record that is a whole conversation, or None."""
    for one in _MESSAGES:
        found = parts.tables(record, one)
        if any(_is_message(item) for item in found):
            return found
    return None


def _is_message(record: Json) -> bool:
    said = any(field in record for field in ("content", "text", "value", "tool_calls"))
    return said and any(isinstance(record.get(field), str) for field in ("role", "from", "speaker", "author", "sender"))


def _message(record: Json, session: str, turns: Turns) -> Iterator[Said]:
    who, person = role(parts.first(record, "role", "from", "speaker", "sender", "author"))
    if who is None:
        turns.instructed(parts.first(record, "content", "text", "value"))
        return
    for message in turns.told(
        who,
        parts.first(record, "content", "text", "value"),
        at=parts.first(record, *_TIMES),
        identity=parts.key(record, "id", "uuid", "message_id"),
        name=parts.text_of(record, "name", "speaker", "author_name") or person,
        calls=_calls(record),
        answers=parts.key(record, "tool_call_id", "call_id"),
    ):
        yield session, message


def _calls(record: Json) -> list[Call]:
    calls = [call(block) for block in parts.tables(record, "tool_calls")]
    old = parts.table(record, "function_call")
    return [*calls, call(old)] if old else calls


OPENAI = Reader("openai", _is_openai, _read_openai, paired=False)


# ChatGPT's export: the zip as downloaded, or the `conversations.json` in it.
#
# Each conversation is a tree of which the branch that the person saw last is read. An export is made anew each time,
# so a person who edits an earlier question moves what follows it. It begins with the newest conversation; they are
# given in the order in which they ended, as far as MOST_HELD allows.

MOST_HELD = 1 << 25  # characters of conversations that are put in order at a time

_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_SAID = ("text", "multimodal_text")
_SHOWN = ("execution_output", "tether_quote", "tether_browsing_display", "system_error", *_SAID)


def _is_chatgpt(head: Head) -> bool:
    """Return whether it is a zip of conversations, or holds conversations with a mapping of nodes."""
    if head.shape == "zip":
        return any(_MEMBER.fullmatch(member) for member in head.names)
    return any(isinstance(record.get("mapping"), dict) for record in (head.header, *head.records))


def _read_chatgpt(source: Source, options: Options) -> Iterator[Said]:
    """Yield the messages of each conversation, the oldest first; the default id counts what has none."""
    held: list[list[Said]] = []
    size = 0
    for number, record in enumerate(_conversations(source)):
        value = record.value
        session = parts.key(value, "conversation_id", "id") or f"{source.default_id}/{number}"
        turns = Turns(options)
        pairs: list[Said] = [
            (session, message)
            for identity, said in _branch(value, source, record.line)
            for message in _messages(said, identity, turns)
        ]
        held.append(pairs)
        size += sum(len(message.content) for _, message in pairs)
        if size > MOST_HELD:
            yield from _in_order(held)
            held, size = [], 0
    yield from _in_order(held)


def _in_order(held: list[list[Said]]) -> Iterator[Said]:
    """Yield conversations in the order of their last messages; one without times goes first."""
    never = EPOCH
    for pairs in sorted(held, key=lambda pairs: max((said.at for _, said in pairs if said.at), default=never)):
        yield from pairs


def _conversations(source: Source) -> Iterator[Record]:
    if source.shape == "object":
        yield Record(1, source.header()[0])
    elif source.shape == "zip":
        yield from _members(source)
    else:
        yield from source.records()


def _members(source: Source) -> Iterator[Record]:
    """Read the conversations in a zip, member by member, as streams."""
    with zipped(source.path) as archive:
        for member in sorted(filter(_MEMBER.fullmatch, archive.namelist())):
            with archive.open(member) as file:
                yield from records_in(file, source.say)


def _branch(conversation: Json, source: Source, at_line: int) -> Iterator[tuple[str, Json]]:
    """Yield (node's id, message) from the root to the node that was seen last."""
    nodes = {key: node for key, node in parts.table(conversation, "mapping").items() if isinstance(node, dict)}
    current = conversation.get("current_node")
    if not isinstance(current, str) or current not in nodes:
        current = max(nodes, key=lambda key: (_time(nodes[key]), key), default=None)
    path: list[str] = []
    passed: set[str] = set()
    while isinstance(current, str) and current in nodes:
        if current in passed:
            source.say(at_line, "The conversation's nodes form a circle; it was read up to there.")
            break
        passed.add(current)
        path.append(current)
        current = nodes[current].get("parent")
    for key in reversed(path):
        said = nodes[key].get("message")
        if isinstance(said, dict):
            yield parts.key(said, "id") or key, said


def _time(node: Json) -> float:
    moment = parts.table(node, "message").get("create_time")
    return float(moment) if isinstance(moment, int | float) and abs(moment) < 1e15 else 0.0


def _messages(said: Json, identity: str, turns: Turns) -> Iterator[Message]:
    author, content, about = parts.table(said, "author"), parts.table(said, "content"), parts.table(said, "metadata")
    hidden = ("is_visually_hidden_from_conversation", "is_user_system_message")
    if any(about.get(mark) is True for mark in hidden):
        return
    who, kind, at = author.get("role", "user"), content.get("content_type", "text"), said.get("create_time")
    told = parts.first(content, "parts", "text", "result")
    to = said.get("recipient", "all")
    if who == "tool":
        # What memory or a search recalled is nobody's word; only what a tool showed is kept.
        if kind in _SHOWN and author.get("name") != "bio":
            yield from turns.result(told, answers=None, at=at, identity=identity, name=parts.text_of(author, "name"))
    elif who == "assistant" and isinstance(to, str) and to != "all":
        shown = told[0] if isinstance(told, list) and told else told
        asked = call({"id": identity, "name": to, "input": shown})
        yield from turns.said("assistant", "", at=at, identity=identity, calls=[asked])
    elif who in ("user", "assistant") and kind in _SAID:
        yield from turns.said(who, told, at=at, identity=identity)
    elif who == "assistant" and kind == "code":
        yield from turns.said("assistant", told, at=at, identity=identity)


CHATGPT = Reader("chatgpt", _is_chatgpt, _read_chatgpt, grows=False, paired=False)  # an export is made anew each time


# Chats written as plain text or Markdown.
#
# `User: …`, `**Assistant:** …` or headings `## User`, each with a date before, behind or none; also `[2026-11-20
# 10:00] Caroline: …`, and `Caroline: …` where people talk. A line that is a date alone is the day of what comes
# behind it. The first line that names a speaker fixes which of these forms a file is in, so that a line in another
# form is part of what was said.

NEEDED = "lines such as `User: …` and `Assistant: …`"

_ZONE = r"(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_WHEN = rf"\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?{_ZONE})?|\d\d?\.\d\d?\.\d{{4}}(?: \d\d:\d\d)?"
_BEFORE = rf"(?:[\[(]?(?P<before>{_WHEN})[\])]?(?: ?[-–—:|])? +)?"
_BEHIND = rf"(?: *[-–—|@,]? *[\[(]?(?P<behind>{_WHEN})[\])]?)?"
_SPEAKERS = "user|human|you|me|assistant|ai|bot|model|chatgpt|claude|gemini|gpt|agent|system|tool"
_KNOWN = rf"(?P<who>(?i:{_SPEAKERS}))"
_PERSON = r"(?P<who>[^\W\d_][\w .'-]{0,39}?)"
_BOLD = r"(?:[-*] +)?{before}\*\*{who}{behind}(?::\*\*|\*\*{later}:) *(?P<said>.*)$"
_LATER = _BEHIND.replace("behind", "later")
_DATED = re.compile(rf"[\[(]?(?P<before>{_WHEN})[\])]?(?: ?[-–—|])? +{_PERSON}: *(?P<said>.*)$")
_FORMS = (
    re.compile(rf"#{{1,6}} +{_BEFORE}(?:\*\*)?{_KNOWN}(?: said)?:?(?:\*\*)?:?{_BEHIND}:? *(?P<said>)$"),
    re.compile(_BOLD.format(before=_BEFORE, who=_KNOWN, behind=_BEHIND, later=_LATER)),
    re.compile(_BOLD.format(before=_BEFORE, who=_PERSON, behind=_BEHIND, later=_LATER)),
    _DATED,
    re.compile(rf"(?=[A-Z]){_KNOWN}(?: said)?{_BEHIND}: *(?P<said>.*)$"),
    re.compile(rf"(?=[a-z]){_KNOWN}{_BEHIND}: *(?P<said>.*)$"),
)
_NAMED = re.compile(r"(?P<who>[^\W\d_][\w.'-]{0,24}(?: [^\W\d_][\w.'-]{0,24})?): +(?P<said>\S.*)$")
_HEAD = re.compile(
    r"(?i)#{1,6} *|\*\*|[=_]{2,}|\b(?:date|session|conversation|chat|day|part)\b(?: *\d{1,4}\b(?! ?[a-z]{3}))?[:,]?"
)
MOST_PEOPLE = 12  # in a chat of people's names without dates
_ROLE = re.compile(r"(?i)(?:user|human|you|me|assistant|ai|bot|model|chatgpt|claude|gemini|gpt|agent)")


@dataclass(slots=True)
class _Spoken:
    """What one speaker said, while its lines are gathered."""

    who: str
    at: str | None
    lines: list[str] = field(default_factory=list)
    size: int = 0


def _is_chat_text(head: Head) -> bool:
    """Return whether two lines, or the first one, name a speaker in the same form; people's names, if it is a talk."""
    if head.shape != "text":
        return False
    lines = _split(head.start)
    form = _form_of(lines)
    if form is None:
        return False
    speakers = [match for line in lines if (match := form.match(line))]
    known = any(_ROLE.fullmatch(match["who"].strip()) for match in speakers)
    begins = form.match(next((line for line in lines if line.strip()), "")) is not None
    if (known and (begins or len(speakers) > 1)) or (form is _DATED and len(speakers) > 1):
        return True
    return _is_talk(lines, [match["who"].strip() for match in speakers])


def _split(start: bytes) -> list[str]:
    return [line.rstrip("\r") for line in start.decode("utf-8", "replace").lstrip("\ufeff").split("\n")]


def _form_of(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the form that a text is in: that of the first line that names a speaker; else `Name: …`, if any is."""
    first = next((form for line in lines if (form := _form(line))), None)
    return first or (_NAMED if any(_NAMED.match(line) for line in lines) else None)


def _is_talk(lines: Sequence[str], who: Sequence[str]) -> bool:
    """Return whether people talk: a few names in turns, that nearly all of the text stands behind."""
    others = sum(1 for line in lines if line.strip() and _day(line) is None) - len(who)
    turns = sum(one != other for one, other in pairwise(who))
    few = 2 <= len(set(who)) <= min(MOST_PEOPLE, len(who) // 2)
    return (
        few and 2 * turns >= len(who) and others <= len(who) and listed("labels").isdisjoint(one.lower() for one in who)
    )


def _read_chat_text(source: Source, options: Options) -> Iterator[Said]:
    """Yield what each speaker said, as one session."""
    turns = Turns(options)
    for spoken in _spoken(source):
        who, person = role(spoken.who)
        for message in turns.told(who, "\n".join(spoken.lines).strip("\n"), at=spoken.at, name=person):
            yield None, message


def _spoken(source: Source) -> Iterator[_Spoken]:
    with source.open() as file:
        form = _form_of(_split(file.read(CHUNK)))
    day: str | None = None
    current: _Spoken | None = None
    for number, line in _lines(source):
        form = form or _form(line)
        match = form.match(line) if form and len(line) < CHUNK else None
        if match:
            if current:
                yield current
            groups = match.groupdict()
            at = groups.get("before") or groups.get("behind") or groups.get("later") or day
            current = _Spoken(match["who"].strip(), at)
        elif dated := _day(line):
            day = dated
            continue
        if current is None:
            continue
        said = match["said"] if match else line
        if current.size + len(said) > MAX_RECORD:
            source.say(number, f"What was said here is longer than {MAX_RECORD >> 20} MiB; its rest was left out.")
            continue
        current.size += len(said) + 1
        current.lines.append(said)
    if current:
        yield current


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    with source.open() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace") as file:
        warned = False
        for number, line in enumerate(iter(lambda: file.readline(MAX_RECORD), ""), start=1):
            if "\ufffd" in line and not warned:
                warned = True
                source.say(number, "The line holds bytes that are not UTF-8; they were replaced by �.")
            yield number, line.rstrip("\n").replace("\0", "")


def _day(line: str) -> str | None:
    """Return the time that a line tells and nothing else: `# 2026-11-20`, `Session 3: 1:56 pm on 8 May, 2023`."""
    told = _HEAD.sub("", line).strip() if len(line) < 80 and re.search(r"\d{4}", line) else ""
    return told if not told.isdigit() and parse_time(told, UTC) else None


def _form(line: str) -> re.Pattern[str] | None:
    if len(line) > CHUNK:
        return None
    return next((form for form in _FORMS if form.match(line)), None)


# What is added to a text may belong to its last message.
TEXT = Reader("text", _is_chat_text, _read_chat_text, grows=False, paired=False)
