"""ChatGPT's export: the zip as downloaded, or the `conversations.json` in it.

Each conversation is a tree of which the branch that the person saw last is read. An export is made anew each time,
so a person who edits an earlier question moves what follows it. It begins with the newest conversation; they are
given in the order in which they ended, as far as MOST_HELD allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dream.models import Message
from dream.transcripts import parts
from dream.transcripts.parts import Json, call
from dream.transcripts.source import Head, Reader, Record, Said, Source, records_in, zipped
from dream.transcripts.turns import EPOCH, Options, Turns

MOST_HELD = 1 << 25  # characters of conversations that are put in order at a time

_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_SAID = ("text", "multimodal_text")
_SHOWN = ("execution_output", "tether_quote", "tether_browsing_display", "system_error", *_SAID)


def _recognises(head: Head) -> bool:
    """Return whether it is a zip of conversations, or holds conversations with a mapping of nodes."""
    if head.shape == "zip":
        return any(_MEMBER.fullmatch(member) for member in head.names)
    return any(isinstance(record.get("mapping"), dict) for record in (head.header, *head.records))


def _read(source: Source, options: Options) -> Iterator[Said]:
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
        # Nobody said what memory or a search recalled: of tools only shown results are kept.
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


CHATGPT = Reader("chatgpt", _recognises, _read, paired=False)
