"""What providers make of an answer, over loopback and through LiteLLM: whatever it is, phase 2 settles its findings."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from dream import pipeline
from dream.dreaming import phase1, phase2
from dream.dreaming.draft import Brief
from dream.dreaming.guards import Protected
from dream.errors import AnswerUnusable, ModelInaccessible
from dream.llm import ChatMessage, Completion
from dream.llm.gateway import LiteLLMModel
from dream.models import Finding, MemoryFile
from dream.settings import Settings
from tests.llm.test_habits_language import entry
from tests.provider import Body, Provider, Reply, Script, choice, fault, text, tools
from tests.vouched import evidence
from tests.workspaces import fresh

HELLO = [ChatMessage("system", "Be brief."), ChatMessage("user", "Hello")]
USER = "# User\n\n## Home\n- Lives in Osaka\n- Has two cats\n"
FILES: dict[MemoryFile, str] = {"SOUL.md": "", "USER.md": USER, "memory/MEMORY.md": ""}
FINDINGS = (
    Finding("USER.md", "Lives in Tokyo", (1,)),
    Finding("USER.md", "Lives in Osaka", (1,), remove=True),
    Finding("USER.md", "Is a vegetarian", (1,)),
)
BRIEF = Brief(Settings(phase2="always"), date(2026, 11, 21), UTC)  # the answers were written for all findings
MOVE = {"path": "USER.md", "old_text": "- Lives in Osaka", "new_text": "- Lives in Tokyo", "findings": [1, 2]}
EATS = {"path": "USER.md", "old_text": "", "new_text": "- Is a vegetarian", "findings": [3]}
BOTH = (("edit_file", MOVE), ("edit_file", EATS))
REWRITE = USER.replace("Osaka", "Tokyo") + "- Is a vegetarian\n"


def called(*calls: dict[str, Any], content: str | None = None, finish: str | None = "tool_calls", **more: Any) -> Reply:
    return choice({"role": "assistant", "content": content, "tool_calls": list(calls)} | more, finish=finish)


def call(arguments: object, **more: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "edit_file", "arguments": arguments}} | more


def without_id(arguments: object) -> dict[str, Any]:
    return {key: value for key, value in call(arguments).items() if key != "id"}


def old(given: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "function_call": {"name": given[0], "arguments": json.dumps(given[1])},
    }


def python(given: dict[str, Any]) -> str:
    return f"edit_file({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def settled(provider: Provider, *script: Script) -> phase2.Edited:
    provider.script(*script)
    model = LiteLLMModel("openai/scripted", Settings(retries=0), api_base=provider.base, api_key="k")
    return phase2.edit(FINDINGS, Protected(FILES, {}, (), evidence(*(one.text for one in FINDINGS))), model, BRIEF)


# By habit: the answers, and how many of them are paid for.
HABITS: dict[str, tuple[list[Script], int]] = {
    "several calls at once": ([tools(*BOTH)], 1),
    "one call a round": ([tools(BOTH[0]), tools(BOTH[1])], 2),
    "arguments as an object": ([called(call(MOVE), call(EATS, id="d"))], 1),
    "ids missing": ([called(without_id(json.dumps(MOVE)), without_id(json.dumps(EATS)))], 1),
    "ids empty": ([called(call(json.dumps(MOVE), id=""), call(json.dumps(EATS), id=""))], 1),
    "ids doubled": ([called(call(json.dumps(MOVE)), call(json.dumps(EATS)))], 1),
    "indexes and no types": ([called(call(MOVE, index=0, type=None), call(EATS, index=1, type=None, id="d"))], 1),
    "finish reason stop": ([tools(*BOTH, finish="stop")], 1),
    "finish reason null": ([tools(*BOTH, finish=None)], 1),
    "finish reason of its own": ([tools(*BOTH, finish="tool_use")], 1),
    "content beside the calls": ([tools(*BOTH, content="I make two edits.")], 1),
    "content empty": ([tools(*BOTH, content="")], 1),
    "reasoning beside the calls": ([called(call(MOVE), call(EATS, id="d"), reasoning_content="Tokyo…")], 1),
    "thinking before the calls": ([tools(*BOTH, content="<think>edit_file(</think>")], 1),
    "the old function_call": ([choice(old(BOTH[0])), choice(old(BOTH[1]))], 2),
    "calls in the text": (
        [text(f"<tool_call>{json.dumps({'name': n, 'arguments': g})}</tool_call>") for n, g in BOTH],
        2,
    ),
    "thinking, then a call in the text": (
        [text(f"<think>hm</think>\n```json\n{json.dumps([{'name': n, 'arguments': g} for n, g in BOTH])}\n```")],
        1,
    ),
    "calls in a form of its own": ([text(python(MOVE) + "\n" + python(EATS))], 2),
    "a whole-file rewrite as one edit": (
        [tools(("edit_file", {"path": "USER.md", "old_text": USER, "new_text": REWRITE, "findings": [1, 2, 3]}))],
        1,
    ),
    "a whole-file rewrite in prose": ([text(f"Here is USER.md:\n```markdown\n{REWRITE}```")], 2),
    "edits described in prose": ([text("I would replace Osaka by Tokyo, and add that they are a vegetarian.")], 2),
    "says that it is done": ([text("done")], 2),
    "nothing": ([text(None)], 2),
    "a runaway answer": ([text("Tokyo Tokyo Tokyo", finish="length")], 1),
    "a refusal": ([text(None, refusal="I can't help with that.")], 1),
    "a content filter": ([text("", finish="content_filter")], 1),
    "no tools": ([fault(400, "this model does not support tools")], 1),
    "an error half-way": ([text("oops", finish="error")], 1),
    "no choice": ([Reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []})], 1),
    "calls without a name": ([called({"id": "c", "type": "function", "function": {"name": "", "arguments": "{}"}})], 3),
    "calls of tools it invents": ([tools(("write_file", {"path": "USER.md", "content": REWRITE}))], 3),
    "arguments that are broken": ([tools(("edit_file", '{"path": "USER.md", "old_te'))], 3),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("habit", HABITS)
def test_whatever_the_habit_every_finding_is_applied_and_nothing_else_lost(provider: Provider, habit: str) -> None:
    script, paid = HABITS[habit]
    edited = settled(provider, *script)

    assert [outcome.state for outcome in edited.outcomes] == ["applied"] * 3
    lines = edited.draft.texts["USER.md"].splitlines()
    assert sorted(line for line in lines if line.startswith("- ")) == [
        "- Has two cats", "- Is a vegetarian", "- Lives in Tokyo"
    ]  # fmt: skip
    assert len(provider.requests) == paid


def test_a_line_that_no_finding_is_about_is_not_taken_out(provider: Provider) -> None:
    wrong = {"path": "USER.md", "old_text": "- Has two cats", "new_text": "- Lives in Tokyo", "findings": [1, 2]}
    edited = settled(provider, tools(("edit_file", wrong)))

    assert "no finding named is about “- Has two cats”" in provider.bodies()[1]["messages"][-1]["content"]
    assert "- Has two cats\n" in edited.draft.texts["USER.md"]
    assert "- Lives in Osaka\n" not in edited.draft.texts["USER.md"]
    assert [outcome.state for outcome in edited.outcomes] == ["applied"] * 3


def test_a_second_round_answers_each_call_by_its_own_id(provider: Provider) -> None:
    """Providers refuse a request in which a call has no answer, or two have the same id."""
    wrong = MOVE | {"old_text": "- not there"}
    settled(provider, called(call(wrong), call(json.dumps(EATS))), tools(BOTH[0]))

    turn, *answers = provider.bodies()[1]["messages"][2:]
    assert [one["id"] for one in turn["tool_calls"]] == [one["tool_call_id"] for one in answers] == ["c", "c_2"]


@pytest.mark.few(3)
@pytest.mark.parametrize("finish", ["stop", "eos", "end_turn", "STOP", "stop_sequence", None, "", "unknown"])
def test_each_word_for_a_finished_answer_is_one(provider: Provider, finish: str | None) -> None:
    assert analysed(provider, text("[USER] Lives in Tokyo {1}", finish=finish)) == ("Lives in Tokyo",)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "content",
    [
        "<think>\n[USER] Lives in Paris {1}\n</think>\n[USER] Lives in Tokyo {1}",
        "[USER] Lives in Paris?\n</think>\n[USER] Lives in Tokyo {1}",
        "```\n[USER] Lives in Tokyo {1}\n```",
        "Here are the changes:\n\n- **[USER]** Lives in Tokyo {1}\n",
        "1. [USER.md] Lives in Tokyo {1}",
        "[user]: Lives in Tokyo {1}.",
    ],
)
def test_a_finding_is_read_through_what_is_wrapped_round_it(provider: Provider, content: str) -> None:
    assert analysed(provider, text(content)) == ("Lives in Tokyo",)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "reply",
    [
        text(None),
        text("", finish="length"),
        text("<think>I never stop thinking", finish="length"),
        text("<think>I stop in the middle"),
        text(None, reasoning_content="[USER] Lives in Tokyo {1}"),
        text(None, refusal="No."),
        text("I have updated your memory!"),
        tools(("edit_file", MOVE)),
    ],
)
def test_no_answer_is_never_taken_for_nothing_new(provider: Provider, reply: Reply) -> None:
    with pytest.raises(AnswerUnusable, match="twice"):
        analysed(provider, reply)
    assert len(provider.requests) == 2


def analysed(provider: Provider, reply: Reply) -> tuple[str, ...]:
    provider.script(reply)
    model = LiteLLMModel("openai/scripted", Settings(retries=0), api_base=provider.base, api_key="k")
    return tuple(finding.text for finding in phase1.analyse([entry(1, "- Moved to Tokyo")], FILES, model, BRIEF))


ONLY_STREAMS = "This model only support stream mode, please enable the stream parameter to access the model."


def streamed(*deltas: dict[str, Any], finish: str = "stop", usage: bool = True) -> Reply:
    chunks = [{"delta": delta, "finish_reason": None} for delta in deltas] + [{"delta": {}, "finish_reason": finish}]
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    bodies = [head | {"choices": [{"index": 0} | chunk]} for chunk in chunks]
    if usage:
        bodies.append(head | {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
    lines = [f"data: {json.dumps(body)}\n\n" for body in bodies]
    return Reply("".join([*lines, "data: [DONE]\n\n"]).encode(), headers={"Content-Type": "text/event-stream"})


def only_streams(reply: Reply) -> Script:
    def answer(body: Body) -> Reply:
        return reply if body.get("stream") else fault(400, ONLY_STREAMS)

    return answer


def ask(provider: Provider) -> Completion:
    model = LiteLLMModel("openai/scripted", Settings(retries=0), api_base=provider.base, api_key="k")
    model.complete(HELLO)
    return model.complete(HELLO)


def test_a_model_that_only_streams_is_asked_in_a_stream_from_then_on(provider: Provider) -> None:
    provider.script(only_streams(streamed({"role": "assistant", "content": "Hel"}, {"content": "lo"})))
    answer = ask(provider)

    assert (answer.text, answer.finish) == ("Hello", "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)
    assert [body.get("stream", False) for body in provider.bodies()] == [False, True, True]


def test_a_stream_without_a_bill_is_counted_and_one_cut_off_says_so(provider: Provider) -> None:
    provider.script(only_streams(streamed({"content": "Hello all"}, finish="length", usage=False)))
    answer = ask(provider)

    assert answer.finish == "length"
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


def test_calls_in_a_stream_are_put_together(provider: Provider) -> None:
    given = json.dumps(MOVE)
    first = {"index": 0, "id": "c", "type": "function", "function": {"name": "edit_file", "arguments": given[:20]}}
    second = {
        "index": 1,
        "id": "d",
        "type": "function",
        "function": {"name": "edit_file", "arguments": json.dumps(EATS)},
    }
    rest = {"index": 0, "function": {"arguments": given[20:]}}
    edited = settled(
        provider,
        only_streams(
            streamed({"tool_calls": [first]}, {"tool_calls": [rest]}, {"tool_calls": [second]}, finish="tool_calls")
        ),
    )
    assert [outcome.state for outcome in edited.outcomes] == ["applied"] * 3
    assert len(provider.requests) == 2


def test_a_stream_that_breaks_off_is_no_answer(provider: Provider) -> None:
    whole = streamed({"content": "[USER] Lives in"}, {"content": " Tokyo"})
    assert isinstance(whole.body, bytes)
    provider.script(only_streams(Reply(whole.body[: whole.body.index(b" Tokyo")])))

    with pytest.raises(AnswerUnusable):
        ask(provider)


def test_a_server_that_streams_unasked_is_read(provider: Provider) -> None:
    provider.script(streamed({"content": "Hello"}))

    assert ask(provider).text == "Hello"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "reply",
    [
        text('<tool_call>\n{"name": "save_memory", "arguments": {"text": "Moved to Tokyo"}}\n</tool_call>'),
        text('I save it.\n[TOOL_CALLS]save_memory[ARGS]{"text": "Moved to Tokyo"}'),
        text("<function=save_memory><parameter=text>Moved to Tokyo</parameter></function>"),
        tools(("save_memory", {"text": "Moved to Tokyo"})),
        text(None, reasoning_content="- Moved to Tokyo"),
        text("<think>Moved to Tokyo"),
        text("- Moved to", finish="length"),
        text(None, refusal="I can't help with that."),
        text("- Moved", finish="content_filter"),
    ],
)
def test_no_summary_that_was_not_finished_as_text_counts(provider: Provider, reply: Reply, tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 3, tzinfo=UTC)
    workspace = fresh(tmp_path / "ws", now)
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "I moved to Tokyo on 18 November."}) + "\n")
    provider.script(reply)
    settings = Settings(model="openai/scripted", api_base=provider.base, api_key="k", retries=0, timezone="UTC")
    report = pipeline.consolidate(workspace, [path], settings=settings, now=now)

    assert (report.raw, report.usage.calls) == (1, 2)
    assert "I moved to Tokyo on 18 November." in workspace.history.last(1)[0].content


@pytest.mark.few(1)
@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_wrong_key_or_name_leaves_transcripts_for_the_next_time(
    provider: Provider, tmp_path: Path, status: int
) -> None:
    now = datetime(2026, 11, 21, 3, tzinfo=UTC)
    workspace = fresh(tmp_path / "ws", now)
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "I moved to Tokyo on 18 November."}) + "\n")
    provider.script(fault(status, "no"))
    settings = Settings(model="openai/scripted", api_base=provider.base, api_key="k", retries=0, timezone="UTC")
    with pytest.raises(ModelInaccessible):
        pipeline.consolidate(workspace, [path], settings=settings, now=now)
    assert workspace.history.last_cursor() == 0

    provider.script(text("- Moved to Tokyo on 2026-11-18"))
    assert pipeline.consolidate(workspace, [path], settings=settings, now=now).messages == 1


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "echo",
    [
        "[USER] The user moved to Porto on 2 May 2031 {44}",
        "[USER] The user moved to Porto on 19 November 2026 {1}",
        "[MEMORY] The ledger service listens on port 7391 {41,43}",
        "[MEMORY] The ledger service listens on port 8080 {1}",
        "[SOUL] no emoji in commit messages pls unless i use one",
        "[USER] 2026-11-20 03:00 summary",
        "[MEMORY] [1] 2026-11-20 03:00 summary {1}",
    ],
)
def test_what_only_repeats_the_prompt_is_no_finding(provider: Provider, echo: str) -> None:
    """Seen of models with 135 and 500 million parameters."""
    assert analysed(provider, text(f"{echo}\n[USER] Moved to Tokyo {{1}}")) == ("Moved to Tokyo",)
    with pytest.raises(AnswerUnusable, match="only repeats the prompt"):
        analysed(provider, text(echo))


def test_a_skip_after_a_copied_example_passes_nothing_over(provider: Provider) -> None:
    """Qwen2.5-Coder-1.5B copied the examples, was told so, and answered [SKIP] of six facts."""
    provider.script(text("[SOUL] no emoji in commit messages pls unless i use one {41}"), text("[SKIP]"))
    model = LiteLLMModel("openai/scripted", Settings(retries=0), api_base=provider.base, api_key="k")
    with pytest.raises(AnswerUnusable, match="then it finds nothing"):
        phase1.analyse([entry(1, "- Moved to Tokyo")], FILES, model, BRIEF)
    asked = provider.bodies()[-1]["messages"]
    assert asked[-2]["content"] == "(no answer)"
    assert "[FILE]" not in asked[-1]["content"]


def test_an_example_of_the_prompt_that_was_really_said_is_a_finding(provider: Provider) -> None:
    provider.script(text("[USER] Is a vegetarian {1}"))
    model = LiteLLMModel("openai/scripted", Settings(retries=0), api_base=provider.base, api_key="k")

    found = phase1.analyse([entry(1, "- The user is a vegetarian")], FILES, model, BRIEF)
    assert [one.text for one in found] == ["Is a vegetarian"]
