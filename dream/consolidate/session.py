"""A live conversation, as an agent keeps it: messages are added, never rewritten; history says how far it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from dream.consolidate.cut import Item
from dream.history.entries import current
from dream.models import CommandRun, Message
from dream.text import tokens
from dream.text.safe import mend_surrogates
from dream.transcripts import clean, parts
from dream.transcripts.turns import role as known_role
from dream.workspace.live import LiveFile, LiveMessage, on_disk

if TYPE_CHECKING:
    from pathlib import Path

    from dream.history.history import History

SUMMARY_TOKENS = 2_000  # tokens of the summaries that go into the next prompt
IMAGE_TOKENS = 1_000  # tokens that providers count for an image, at the most
MARK_TOKENS = 4  # the provider's own marks round a message
STOPPED = "[no result: the agent was stopped]"
NAMED = ("role", "content", "name", "tool_call_id")  # what these cost is in the marks, or counted by itself


class Session:
    """One live conversation with `key`. Safe to use from several threads.

    `messages` are those that the agent still has, oldest first; the first of them stands at position
    `start` of the session. Left out, that is 0 if they are at least as many as history holds of this
    session, else they are taken as following on what history holds; so none is ever passed over.
    Without `messages` the session goes on where an agent of this key was stopped: what was added to it and is not in
    history yet is there again, for `add` has it on disk when it returns. Agents that run at once with one key share
    the conversation: each takes in what the others said when it next adds to it.
    What is added belongs to the project of the directory `cwd`, or to the group chat with the key `group`, as these are
    then; both may be changed.
    """

    def __init__(
        self,
        key: str,
        history: History,
        messages: Iterable[Message] = (),
        *,
        start: int | None = None,
        cwd: Path | str = "",
        group: str = "",
    ) -> None:
        self.key = key
        self.cwd, self.group = str(cwd), group
        self.consolidating = threading.Lock()
        self._history = history
        self._lock = threading.RLock()
        self._messages = list(messages)
        self._sent: list[dict[str, object]] = [_plain(message) for message in self._messages]
        self._live = LiveFile(history.private, key, durable=history.durable)
        self._tokens: dict[tuple[str, int], int] = {}
        self._summed = (0, 0, "")  # position, tokens and the message itself
        held = history.position(key)
        self._start = start if start is not None else 0 if len(self._messages) >= held else held
        self._given = start is not None or bool(self._messages)
        if not self._given:
            self._take_up(held)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages that were given or added, in order."""
        with self._lock:
            return tuple(self._messages)

    @property
    def consolidated(self) -> int:
        """The position up to which history holds this session."""
        return max(self._start, self._history.position(self.key))

    def add(
        self,
        role: str,
        content: object = "",
        *,
        name: str | None = None,
        tool_calls: Sequence[Mapping[str, object]] | None = None,
        tool_call_id: str | None = None,
        at: datetime | None = None,
        **more: object,
    ) -> Message:
        """Add a message in the chat-completions shape: `session.add(**message)`; `at` is now unless given.

        `content` is text or a list of content blocks; `more` are a provider's own fields, such as reasoning. What
        `chat` returns later is what was given here, without fields that are None.
        """
        message = _message(role, content, name, tool_calls or (), tool_call_id, at or datetime.now(UTC))
        message = replace(message, cwd=self.cwd, chat=self.group)
        given = {"role": role, "content": content, "name": name, "tool_calls": tool_calls, "tool_call_id": tool_call_id}
        given |= more
        sent = {field: value for field, value in given.items() if value is not None or field == "content"}
        with self._lock, self._live.held() as others:
            self._join(others)
            said = _live_message(self._start + len(self._messages), message, sent)
            self._live.append(said, self._unheld())
            self._messages.append(message)
            self._sent.append(sent)
        return message

    def settle(self) -> None:
        """Remove the messages that history holds by now from the session's file on disk."""
        with self._lock, self._live.held() as others:
            self._join(others)
            self._live.keep(self._unheld())

    def _join(self, others: Sequence[LiveMessage] | None) -> None:
        """Load the messages that another agent of this key has added, and the deletions of `dream forget`.

        What history holds of it by now is only counted.
        """
        if others is None:
            return
        if self._given:  # the agent keeps its messages itself
            self._given = False
            return
        for said in others:
            at = said.position - self._start
            if at >= len(self._messages):
                self._pass_over(said.position)
                self._messages.append(_of_chat(said))
                self._sent.append(said.sent)
            elif at >= 0 and said.sent != on_disk(self._sent[at]):  # something in it was forgotten
                self._messages[at], self._sent[at] = _of_chat(said), said.sent
        self._pass_over(self._history.position(self.key))

    def _pass_over(self, end: int) -> None:
        gone = end - self._start - len(self._messages)
        if gone > 0 and not self._messages:
            self._start = end
        elif gone > 0:
            self._messages += [Message("user", "")] * gone
            self._sent += [{"role": "user", "content": ""}] * gone

    def _take_up(self, held: int) -> None:
        """Continue the session of an agent that was stopped; its calls without a result get none."""
        left = [said for said in self._live.read() if said.position >= held]
        if not left:
            return
        self._start = left[0].position
        for said in left:
            self._messages.append(_of_chat(said))
            self._sent.append(said.sent)
        for identity in () if self._live.is_shared() else _unanswered(self._messages):
            self.add("tool", STOPPED, tool_call_id=identity)

    def _unheld(self) -> Iterator[LiveMessage]:
        done = self.consolidated
        for position, (message, sent) in enumerate(zip(self._messages, self._sent, strict=True), start=self._start):
            if position >= done:
                yield _live_message(position, message, sent)

    def prompt(self) -> list[Message]:
        """Return the messages not consolidated yet, after the system messages that the session begins with."""
        return [message for _, message, _ in self._kept()]

    def chat(self) -> list[dict[str, object]]:
        """Return the same messages in the chat-completions shape, as they were added: what an agent sends."""
        return [dict(sent) for _, _, sent in self._kept()]

    def waiting(self) -> list[tuple[int, Message]]:
        """Return the messages not consolidated yet, with their positions; results with the commands that were run."""
        done = self.consolidated
        with self._lock:
            told = list(_with_commands(zip(self._messages, self._sent, strict=True)))
            return [place for place in enumerate(told, start=self._start) if place[0] >= done]

    def items(self, model: str, count: Callable[[str], int]) -> tuple[int, list[Item]]:
        """Count the prompt: tokens of the opening system messages, and each message that may be given up."""
        opening, items = 0, []
        lead = self._lead()
        for position, message, sent in self._kept():
            counted = self._counted(position, sent, model, count)
            if position - self._start < lead:
                opening += counted
            else:
                items.append(Item(position, message, counted))
        return opening, items

    def summary(self, most: int = SUMMARY_TOKENS) -> str:
        """Return the latest summaries of this session for the next prompt, oldest first; empty if there are none.

        Only the newest lines, at most `most` tokens; what is older is history's business.
        """
        position = self._history.position(self.key)
        if position == 0:
            return ""
        if (position, most) != self._summed[:2]:  # searched again only after new entries
            self._summed = (position, most, self._newest_lines(most))
        return self._summed[2]

    def _newest_lines(self, most: int) -> str:
        lines: list[str] = []
        read = current(self._history.of_backwards(self.key))
        told = (entry for entry in read if entry.kind in ("summary", "raw"))
        for line in (line for entry in told for line in reversed(entry.content.splitlines())):
            most -= tokens.estimate(line) + 1
            if most < 0:
                break
            lines.append(line)
        return "\n".join(reversed(lines))

    def _kept(self) -> list[tuple[int, Message, dict[str, object]]]:
        done = self.consolidated - self._start
        lead = self._lead()
        with self._lock:
            rows = enumerate(zip(self._messages, self._sent, strict=True))
            return [(self._start + at, *row) for at, row in rows if at < lead or at >= done]

    def _lead(self) -> int:
        with self._lock:
            return sum(1 for _ in takewhile(lambda message: message.role == "system", self._messages))

    def _counted(self, position: int, sent: Mapping[str, object], model: str, count: Callable[[str], int]) -> int:
        if (model, position) not in self._tokens:
            self._tokens[model, position] = MARK_TOKENS + _size(sent, count)
        return self._tokens[model, position]


def _of_chat(said: LiveMessage) -> Message:
    known = {name: said.sent.get(name) for name in ("name", "tool_calls", "tool_call_id")}
    calls = known["tool_calls"] if isinstance(known["tool_calls"], list) else []
    name, answers = (value if isinstance(value := known[key], str) else None for key in ("name", "tool_call_id"))
    message = _message(str(said.sent.get("role")), said.sent.get("content"), name, calls, answers, said.at)
    return replace(message, cwd=said.cwd, chat=said.chat)


def _live_message(position: int, message: Message, sent: dict[str, object]) -> LiveMessage:
    return LiveMessage(position, message.at or datetime.now(UTC), sent, message.cwd, message.chat)


def _with_commands(rows: Iterable[tuple[Message, Mapping[str, object]]]) -> Iterator[Message]:
    """Yield messages, each result of a command with the command that the call before it gave a shell."""
    commands: dict[str, str] = {}
    for message, sent in rows:
        said = parts.split(sent.get("content"))
        calls = (*said.calls, *map(parts.call, parts.tables(sent, "tool_calls")))
        commands |= {call.id: call.command for call in calls if call.id}
        if message.role == "tool" and (command := commands.get(message.answers or "")):
            told = said.results[0].failed if said.results else parts.failed(sent, text=message.content)
            yield replace(message, ran=CommandRun(command, told))
        else:
            yield message


def _unanswered(messages: Sequence[Message]) -> list[str]:
    """Return the calls of the last turn that no message answers: a provider takes no such conversation."""
    answered = {message.answers for message in messages}
    last = next((message for message in reversed(messages) if message.role != "tool"), None)
    return [call for call in (last.calls if last else ()) if call not in answered]


def _message(
    role: str,
    content: object,
    name: str | None,
    tool_calls: Sequence[Mapping[str, object]],
    tool_call_id: str | None,
    at: datetime,
) -> Message:
    """Make the message that is consolidated: its text, its calls as short lines, its results."""
    who, person = known_role(role)
    found = parts.split(content, parts.IMAGE if who == "user" else "")
    calls = (*found.calls, *map(parts.call, tool_calls))
    answers = tool_call_id or next((result.answers for result in found.results if result.answers), None)
    if found.results and not found.text:
        who = "tool"
    results = [result.content for result in found.results]
    text = _joined(found.text, *(call.line for call in calls), *results)
    whole = _joined(found.text, *(call.whole for call in calls), *results)
    ids = tuple(call.id for call in calls if call.id)
    return Message(who or "system", text, at, name or person, None, ids, answers, whole="" if whole == text else whole)


def _joined(*said: str) -> str:
    return mend_surrogates("\n".join(part for part in said if part))


def _plain(message: Message) -> dict[str, object]:
    """Return a message that came as a value in the chat-completions shape; of tool calls only their text is left."""
    if message.role == "tool":
        return {"role": "user", "content": f"[tool result]\n{message.content}"}
    return {"role": message.role, "content": message.content}


def _size(sent: Mapping[str, object], count: Callable[[str], int]) -> int:
    content = sent["content"]
    text = content if isinstance(content, str) else "" if content is None else json.dumps(content, default=str)
    rest = {field: value for field, value in sent.items() if field not in NAMED and value}
    more = json.dumps(rest, default=str) if rest else ""
    images = text.count("base64,") if not isinstance(content, str) else 0
    return count(clean.images(text) + more) + images * IMAGE_TOKENS
