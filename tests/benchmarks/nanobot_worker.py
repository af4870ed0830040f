"""Drive nanobot's own store and its own two-phase dream, in an interpreter in which `nanobot-ai` is installed.

Knows nothing of `dream`, which need not be there. Each line on standard input is a deed, `{"do": name, …}`; each line
on standard output is its answer. What is timed is timed here, around nanobot's own calls alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import datetime, tzinfo
from importlib.metadata import version
from pathlib import Path
from typing import Any

from loguru import logger
from nanobot.agent import memory
from nanobot.providers.base import LLMProvider, LLMResponse, ToolCallRequest
from nanobot.utils import gitstore

Edits = list[dict[str, str]]


class Scripted(LLMProvider):
    """Gives `answers` in order, each a text and edits, and keeps what each call was sent."""

    def __init__(self, answers: list[tuple[str, Edits]]) -> None:
        super().__init__()
        self.answers = answers
        self.calls: list[dict[str, Any]] = []

    async def chat(self, messages: list[dict[str, Any]], tools: Any = None, **_: object) -> LLMResponse:
        content, asked = self.answers[len(self.calls)]
        sent = {"messages": messages, "tools": tools or [], "content": content, "asked": asked}
        self.calls.append(json.loads(json.dumps(sent)))  # as it is now: the list of messages grows
        requests = [ToolCallRequest(f"call_{number}", "edit_file", one) for number, one in enumerate(asked, 1)]
        return LLMResponse(content, requests, "tool_calls" if requests else "stop")

    def get_default_model(self) -> str:
        return "scripted"


class Moment(datetime):
    """A clock that stands still."""

    at = 0.0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(cls.at, tz)


def hello() -> dict[str, Any]:
    """Say which version this is, and whether it still dreams in two phases (0.1.5 to 0.2.1 do)."""
    return {"version": version("nanobot-ai"), "two_phase": hasattr(memory, "Dream")}


def append(folder: str, text: str, times: int) -> float:
    """Time `times` appends to an open store, in seconds."""
    store = memory.MemoryStore(Path(folder))
    began = time.perf_counter()
    for _ in range(times):
        store.append_history(text)
    return time.perf_counter() - began


def after(folder: str, cursor: int, last: int) -> dict[str, Any]:
    """Time opening a store and reading the `last` entries above `cursor`, as nanobot's prompt does on every turn."""
    began = time.perf_counter()
    rows = memory.MemoryStore(Path(folder)).read_unprocessed_history(since_cursor=cursor)[-last:]
    return {"seconds": time.perf_counter() - began, "cursors": [row["cursor"] for row in rows]}


def peak() -> float:
    """Return the most memory that this process has held, in MiB."""
    return int(Path("/proc/self/status").read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024


def dream(folder: str, at: float, entries: list[str], analysis: str, edits: Edits) -> dict[str, Any]:
    """Dream `entries` at the moment `at`: the model says `analysis`, makes `edits` in one round, and is done.

    Returns the calls, the answers of edits that failed, and whether all entries were dreamt.
    """
    Moment.at = at
    time.time = lambda: at  # of its commits: their age is what a line is marked with
    memory.datetime = gitstore.datetime = Moment
    store = memory.MemoryStore(Path(folder))
    store.git.init()
    cursor = [store.append_history(entry) for entry in entries][-1]
    provider = Scripted([(analysis, []), *([("", edits)] if edits else []), ("Done.", [])])
    asyncio.run(memory.Dream(store, provider, "scripted").run())
    answers = [one["content"] for one in provider.calls[-1]["messages"] if one["role"] == "tool"]
    failed = [answer for answer in answers if "Successfully edited" not in answer]
    return {"calls": provider.calls, "failed": failed, "done": store.get_last_dream_cursor() == cursor}


def main() -> None:
    """Answer deed after deed until there is no more."""
    logger.remove()
    deeds = {deed.__name__: deed for deed in (hello, append, after, peak, dream)}
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(deeds[asked.pop("do")](**asked)), flush=True)


main()
