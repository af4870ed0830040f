"""Every message is in exactly one entry, whatever the model does and wherever the process ends."""

from __future__ import annotations

import signal
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.consolidate.consolidator import Consolidator
from dream.consolidate.talk import Talk
from dream.errors import AnswerUnusable, ModelRejected, ModelUnavailable, PromptTooLong, SpendingLimit
from dream.llm import Completion, ToolCall
from dream.models import Entry, Message
from dream.settings import Settings
from tests.consolidate.conftest import NOW, conversation, open_history
from tests.forking import Program
from tests.scripted import Answer, ScriptedModel

KEY = "openai:talk"
SETTINGS = Settings(timezone="UTC")

ANSWERS: tuple[Answer, ...] = (
    "- a fact",
    "(nothing)",
    "",
    "I'm sorry, I can't help with that.",
    Completion("- half", finish="length"),
    Completion("", (ToolCall("1", "edit_file"),), "tool_calls"),
    Completion("no", finish="refusal"),
    "- bloat\n" * 2_000,
    lambda messages: messages[1].content,  # an echo
    AnswerUnusable("it is nonsense"),
    ModelUnavailable("down"),
    ModelRejected("wrong key"),
    PromptTooLong("too long"),
    SpendingLimit("enough"),
)


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """Write a session in which the text of each message begins with its own marker."""
    kinds = st.tuples(
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.sampled_from([0, 3, 100, 400, 9_000]),  # words
        st.sampled_from(["", "a", "b"]),
    )
    messages = []
    for at, (role, words, id_) in enumerate(draw(st.lists(kinds, max_size=25))):
        text = f"«{at}» " + "wörd " * words if words else ""
        calls = (id_,) if id_ and role == "assistant" else ()
        messages.append(Message(role, text, calls=calls, answers=id_ or None if role == "tool" else None))  # type: ignore[arg-type]
    return messages


def check(entries: list[Entry], messages: list[Message]) -> None:
    spans = [entry.span for entry in entries if entry.span]
    if not messages:
        assert not spans
        return
    assert [spans[0][0], spans[-1][1]] == [0, len(messages)]
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    for entry in entries:
        assert entry.span is not None
        if entry.kind == "raw" and entry.span[0] < entry.span[1]:
            said = [at for at in range(*entry.span) if messages[at].content and messages[at].role != "system"]
            missing = [at for at in said if f"«{at}»" not in entry.content]
            assert missing in ([], said[:1])  # the first may have begun in the entry before
    raw = "".join(entry.content for entry in entries if entry.kind == "raw")
    assert all(raw.count(f"«{at}»") <= 1 for at in range(len(messages)))


@given(talks(), st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=8), st.lists(st.integers(0, 3), max_size=6))
def test_every_message_is_in_exactly_one_entry(
    messages: list[Message], answers: list[Answer], restarts: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for stop in [*restarts, None]:
            answers = [*answers[1:], *answers[:1]]
            model = ScriptedModel(*(answers if stop is not None else ["- the end"]), window=4_096)
            with open_history(Path(directory)) as history:
                steps = Consolidator(history, model, SETTINGS).steps(Talk(KEY, messages), now=NOW)
                try:
                    for number, _ in enumerate(steps):
                        if number == stop:
                            break
                except SpendingLimit:
                    pass
                steps.close()  # type: ignore[attr-defined]
        with open_history(Path(directory)) as history:
            check(list(history.after(0)), messages)


SCRIPT = """
import os, sys
from pathlib import Path
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.talk import Talk
from dream.settings import Settings
from tests.consolidate.conftest import NOW, conversation, open_history
from tests.scripted import ScriptedModel
history = open_history(Path(sys.argv[1]))
model = ScriptedModel("- a fact")
consolidator = Consolidator(history, model, Settings(timezone="UTC"))
for step in consolidator.steps(Talk("openai:talk", conversation(100, 100)), now=NOW):
    print(step.entries[-1].span, flush=True)
    sys.stdin.readline()
"""


def run_and_kill(root: Path, steps: int) -> None:
    """Run a real process, let it append `steps` chunks, and kill it before the next."""
    process = Program(SCRIPT, str(root))
    for number in range(steps):
        if not process.stdout.readline():
            break
        if number < steps - 1:
            process.stdin.write("\n")
            process.stdin.flush()
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.few(1)
@pytest.mark.parametrize("steps", [1, 2])
def test_a_process_that_is_killed_between_two_chunks_loses_and_doubles_nothing(tmp_path: Path, steps: int) -> None:
    run_and_kill(tmp_path, steps)
    with open_history(tmp_path) as history:
        before = len(list(history.after(0)))
        assert before == steps
        assert 0 < history.position(KEY) < 200
        model = ScriptedModel(ModelUnavailable("down"))
        Consolidator(history, model, SETTINGS).consolidate(KEY, conversation(100, 100), now=NOW)
        entries = list(history.after(0))
    spans = [entry.span for entry in entries if entry.span]
    assert [spans[0][0], spans[-1][1]] == [0, 200]
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    raw = "\n".join(entry.content for entry in entries if entry.kind == "raw")
    assert all((f" m{at}. " in raw) == (at >= spans[before][0]) for at in range(200))


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_processes_that_consolidate_the_same_session_at_once_share_the_work(tmp_path: Path, number: int) -> None:
    processes = [Program(SCRIPT, str(tmp_path)) for _ in range(number)]
    for process in processes:
        process.stdin.close()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    with open_history(tmp_path) as history:
        check(list(history.after(0)), conversation(100, 100))
