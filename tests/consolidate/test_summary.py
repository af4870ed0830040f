"""Which answers count as a summary."""

from __future__ import annotations

import pytest

from dream.consolidate.summariser import read
from dream.errors import AnswerUnusable
from dream.llm import Completion, ToolCall
from dream.text.tokens import estimate

CONVERSATION = "\n".join(
    ['<conversation session="a:b" messages="0-99">']
    + [f"[{at}] 2026-11-18 09:12 user Caroline: the {at}th thing that was said about the garden" for at in range(100)]
    + ["</conversation>"]
)


def summary(completion: Completion | str) -> str:
    completion = completion if isinstance(completion, Completion) else Completion(completion)
    return read(completion, CONVERSATION, 500, estimate)


@pytest.mark.parametrize(
    "answer",
    [
        "- One fact.",
        "* One fact.\n* Another.",
        "1. One fact.",
        "• 她搬到了东京。",
        "The user moved to Tokyo.",
        "- I can't eat nuts.",
    ],
)
def test_an_answer_in_lines_counts(answer: str) -> None:
    assert summary(answer) == answer


@pytest.mark.parametrize("answer", ["(nothing)", "- (nothing)", " (Nothing).\n", "`(nothing)`", "**(nothing)**"])
def test_nothing_is_empty(answer: str) -> None:
    assert summary(answer) == ""


def test_an_announcement_is_taken_off() -> None:
    assert summary("Here is what matters:\n\n- One fact.\n- Two.") == "- One fact.\n- Two."


def test_a_fence_and_a_stray_nothing_are_taken_off() -> None:
    assert summary("```markdown\n- One fact.\n\n(nothing)\n```") == "- One fact."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Completion("- half a fa", finish="length"), "cut off"),
        (Completion("- a fact", finish="tool_calls"), "tool"),
        (Completion("- a fact", (ToolCall("1", "edit_file"),)), "tool"),
        (Completion("- a fact", finish="refusal"), "refusal"),
        (Completion(" \n "), "empty"),
        (Completion("I'm sorry, but I can't help with that."), "refusal"),
        (Completion("I’m unable to assist with this request."), "refusal"),
        (Completion("抱歉，我无法处理这个请求。"), "refusal"),
        (Completion("Es tut mir leid, das geht nicht."), "refusal"),
        (Completion("- word\n" * 600), "tokens"),
        (Completion(CONVERSATION[:1200]), "repeats"),
    ],
)
def test_an_answer_that_is_no_summary_is_refused_with_its_reason(answer: Completion, reason: str) -> None:
    with pytest.raises(AnswerUnusable, match=reason):
        summary(answer)


def test_a_summary_longer_than_what_it_summarises_is_refused() -> None:
    with pytest.raises(AnswerUnusable, match="longer"):
        read(Completion("- invented\n" * 150), "[0] user: hello", 4_096, estimate)


def test_a_short_chunk_may_be_told_in_a_whole_sentence() -> None:
    told = "- Caroline confirmed on 2026-11-18 that she takes the flat in Kyoto from 2026-12-01."
    assert read(Completion(told), "[0] user: yes", 4_096, estimate) == told


EXAMPLE = "Rules.\n\n- The ledger service listens on port 7391\n- User wants no emoji\n"


def test_a_copied_example_of_the_prompt_is_left_out_of_a_summary() -> None:
    answer = Completion("- The ledger service listens on port 7391\n- Ada moved to Turin")
    assert read(answer, "[0] user: Ada moved to Turin", 500, estimate, prompt=EXAMPLE) == "- Ada moved to Turin"


def test_a_copied_example_with_a_number_of_this_conversation_is_one_too() -> None:
    answer = Completion("- The ledger service listens on port 8080\n- Ada moved to Turin")
    heard = "[0] user: Ada moved to Turin; use 8080"
    assert read(answer, heard, 500, estimate, prompt=EXAMPLE) == "- Ada moved to Turin"


def test_what_was_said_counts_also_where_it_is_the_prompts_example() -> None:
    said = "- The ledger service listens on port 7391"
    heard = "[0] user: our ledger service listens on port 7391"
    assert read(Completion(said), heard, 500, estimate, prompt=EXAMPLE) == said


def test_an_answer_of_nothing_but_the_example_is_no_summary() -> None:
    with pytest.raises(AnswerUnusable, match="example"):
        read(Completion("- User wants no emoji"), "[0] user: good morning", 500, estimate, prompt=EXAMPLE)
