"""Agents that write transcripts by day, in several formats, and a provider that understands them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.provider import Body, Reply, fault, text

FACT = re.compile(r"Project (\w+) ships on (\w+day)\.")
ENTRY = re.compile(r"^\[(\d+)\]")


def answer(body: Body) -> Reply:
    """Do the three jobs as a good model would that knows only about projects; it can't call tools."""
    asked = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
    if asked.startswith("<conversation"):
        told = [f"- Project {name} ships on {day}." for name, day in FACT.findall(asked)]
        return text("\n".join(dict.fromkeys(told)) or "(nothing)")
    if "<history>" in asked:
        return text(_findings(asked))
    return text("done")


def _findings(asked: str) -> str:
    files, _, history = asked.partition("<history>")
    known, found, cursor = dict(FACT.findall(files)), {}, "0"
    for line in history.splitlines():
        if match := ENTRY.match(line):
            cursor = match[1]
        for name, day in FACT.findall(line):
            found[name] = (day, cursor)
    lines = []
    for name, (day, at) in found.items():
        if known.get(name) == day:
            continue
        if name in known:
            lines.append(f"[MEMORY-REMOVE] Project {name} ships on {known[name]}. {{{at}}}")
        lines.append(f"[MEMORY] Project {name} ships on {day}. {{{at}}}")
    return "\n".join(lines) or "[SKIP]"


@dataclass
class Health:
    """The provider's: while it is down nothing is answered; `seen` is told of each request."""

    down: bool = False
    requests: int = 0
    seen: list[str] = field(default_factory=list)

    def __call__(self, body: Body) -> Reply:
        self.requests += 1
        return fault(503, "down for the night") if self.down else answer(body)


@dataclass
class Agents:
    """Four agents, each of which is told one fact a day."""

    home: Path
    openai: list[dict[str, str]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (".claude/projects/-home-lena", ".nanobot/sessions", "chats"):
            (self.home / folder).mkdir(parents=True)

    @property
    def sources(self) -> tuple[str, ...]:
        return ("claude-code", "nanobot @ Europe/Berlin", f"{self.home}/chats/*")

    def day(self, number: int, now: datetime) -> None:
        """Write a day's conversations; every third day an earlier fact is corrected."""
        days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
        write = (self._claude, self._nanobot, self._openai, self._text)
        for place, tell in enumerate(write):
            name = f"P{number // 3 * 3 if place == 0 else number}{'abcd'[place]}"
            day = days[(number + place) % 5]
            self.facts[name] = day
            tell(number, f"Project {name} ships on {day}.", now)

    def _claude(self, number: int, said: str, now: datetime) -> None:
        """One session for the week, resumed in a second file that copies the first one's rows."""
        folder = self.home / ".claude/projects/-home-lena"
        rows = [
            {
                "type": who,
                "uuid": f"6f1e0000-{number:04}-{who}",
                "sessionId": f"week-{number // 7}",
                "timestamp": now.isoformat(),
                "message": {"role": who, "content": told},
            }
            for who, told in (("user", said), ("assistant", "Noted."))
        ]
        path = folder / f"{number // 7}.jsonl"
        if number == 7:
            path.write_bytes((folder / "0.jsonl").read_bytes())
        _append(path, "".join(json.dumps(row) + "\n" for row in rows), now)

    def _nanobot(self, number: int, said: str, now: datetime) -> None:
        """One chat; after `/new` on the fifth day its file begins anew under the same key."""
        path = self.home / ".nanobot/sessions/telegram_7.jsonl"
        if number in (0, 5):
            path.write_text(json.dumps({"_type": "metadata", "key": "telegram:7"}) + "\n")
        local = now.replace(tzinfo=None).isoformat()
        rows = [{"role": "user", "content": said, "timestamp": local}]
        rows.append({"role": "assistant", "content": "Good to know.", "timestamp": local})
        _append(path, "".join(json.dumps(row) + "\n" for row in rows), now)

    def _openai(self, number: int, said: str, now: datetime) -> None:
        """One array that is written anew each day; on the ninth its first messages are dropped from it."""
        self.openai += [{"role": "user", "content": said}, {"role": "assistant", "content": f"Day {number}."}]
        if number == 9:
            del self.openai[:6]
        path = self.home / "chats" / "talk.json"
        path.write_text(json.dumps({"id": "talk", "messages": self.openai}))
        _touch(path, now)

    def _text(self, number: int, said: str, now: datetime) -> None:
        path = self.home / "chats" / "notes.md"
        _append(path, f"[{now:%Y-%m-%d %H:%M}] User: {said}\n[{now:%Y-%m-%d %H:%M}] Assistant: Fine.\n", now)


def _append(path: Path, text: str, now: datetime) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    _touch(path, now)


def _touch(path: Path, now: datetime) -> None:
    os.utime(path, (now.timestamp(), now.timestamp()))
