"""What the model failed on is kept whole: text, tool arguments, tool results; from a transcript and from an agent."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

from dream import transcripts
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.session import Session
from dream.consolidate.talk import Talk
from dream.errors import ModelUnavailable
from dream.history.history import History
from dream.models import Entry, Message
from dream.settings import Settings
from tests.consolidate.conftest import NOW
from tests.scripted import ScriptedModel
from tests.transcripts.reading import lines

SETTINGS = Settings(timezone="UTC")
_HEADER = re.compile(r"^\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d )?\w+(?: [\w-]+)?: ")


def text(mark: str, chars: int) -> str:
    """Write a text in which every stretch is another."""
    told = "\n".join(f"{mark} line {number}: {number * number}" for number in range(chars // 16 + 1))
    return told[:chars].strip()


def failed(history: History, **how: object) -> Consolidator:
    return Consolidator(history, ScriptedModel(*[ModelUnavailable("down")] * 50), SETTINGS, **how)  # type: ignore[arg-type]


def read(path: Path) -> list[Message]:
    return [message for _, message in transcripts.read(path, zone=UTC)]


def joined(entries: list[Entry]) -> str:
    """Put the pages together again, without what each one adds."""
    pages = []
    for entry in entries:
        assert entry.kind == "raw"
        for line in entry.content.split("\n")[1:]:
            bare, begins = _HEADER.subn("", line)
            pages.append(bare if begins else "\n" + line.removeprefix("    "))
    return "".join(pages)


def chat(*calls: tuple[str, str, str]) -> Iterator[dict[str, object]]:
    yield {"role": "user", "content": "Look at\r\nthis."}
    for number, (name, arguments, result) in enumerate(calls):
        call = {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        yield {"role": "assistant", "content": "Now.", "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"call-{number}", "content": result}


def test_a_long_tool_result_and_long_arguments_are_kept_whole(tmp_path: Path, history: History) -> None:
    result, content = text("result", 5_000), text("argument", 3_000)
    arguments = json.dumps({"path": "notes.md", "content": content})
    path = lines(tmp_path / "talk.jsonl", *chat(("write", arguments, result)))
    assert max(len(message.content) for message in read(path)) <= 2_000  # what a summary is made from
    failed(history).consolidate("openai:talk", read(path), now=NOW)
    told = joined(list(history.after(0)))
    assert result in told
    assert arguments in told
    assert "Look at\nthis." in told


def test_a_result_of_many_pages_is_kept_whole_and_counts_once(tmp_path: Path, history: History) -> None:
    result = text("result", 60_000)
    path = lines(tmp_path / "talk.jsonl", *chat(("ls", "{}", result)))
    failed(history).consolidate("openai:talk", read(path), now=NOW)
    entries = list(history.after(0))
    assert len(entries) > 4
    assert result in joined(entries)
    assert [entries[0].span, entries[-1].span] == [(0, 2), (2, 3)]
    assert all(len(entry.content) <= 16_000 for entry in entries)
    last = entries[-1]
    assert {line.voice for line in last.lines[1:]} == {"tool"}


def test_a_live_session_is_kept_whole_too(history: History) -> None:
    result, content = text("result", 5_000), text("argument", 3_000)
    session = Session("shell:main", history)
    for message in chat(("write", json.dumps({"path": "a", "content": content}), result)):
        session.add(**message)  # type: ignore[arg-type]
    failed(history).archive(session, now=NOW)
    told = joined(list(history.after(0)))
    assert result in told
    assert json.dumps(content)[1:-1] in told


def test_a_secret_in_the_part_that_a_summary_never_sees_is_redacted(tmp_path: Path, history: History) -> None:
    key = "ghp_" + "a1B2" * 9
    result = text("result", 3_000) + f"\nGITHUB_TOKEN={key}\n" + text("more", 3_000)
    path = lines(tmp_path / "talk.jsonl", *chat(("env", json.dumps({"a": "b", "token": key}), result)))
    failed(history).consolidate("openai:talk", read(path), now=NOW)
    told = joined(list(history.after(0)))
    assert key not in told
    assert text("more", 3_000) in told


def test_a_message_that_failed_in_parts_is_kept_whole(tmp_path: Path, history: History) -> None:
    arguments = json.dumps({"path": "a", "content": text("argument", 3_000)})
    said = "\n\n".join(text(f"word {number}", 4_000) for number in range(20))
    call = {"id": "c", "function": {"name": "write", "arguments": arguments}}
    path = lines(tmp_path / "talk.jsonl", {"role": "assistant", "content": said, "tool_calls": [call]})
    failed(history).consolidate("openai:talk", read(path), now=NOW)
    told = joined(list(history.after(0)))
    assert told == f"{said}\n→ write({arguments})"


def test_the_memory_of_a_session_of_huge_results_stays_flat(history: History) -> None:
    result = "x" * (4 << 20)

    def messages() -> Iterator[Message]:
        for number in range(30):
            whole = f"{number} {result}"
            yield Message("tool", whole[:100], id=f"message-{number}", whole=whole)

    class Again:
        def __iter__(self) -> Iterator[Message]:
            return messages()

    consolidator = Consolidator(history, ScriptedModel(*["- a fact"] * 30), SETTINGS)
    tracemalloc.start()
    try:
        for _ in consolidator.steps(Talk("openai:talk", Again()), now=NOW):
            pass
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()
