"""Answers are read for what they are, whatever a model wraps round them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm import ToolCall
from dream.llm.answers import RawAnswer, RawCall, calls_in_text, read_answer, read_arguments, without_thinking

EDIT = ToolCall("call_1", "edit_file", {"path": "USER.md"})
CALL = '{"name": "edit_file", "arguments": {"path": "USER.md"}}'
OFFERED = ("read_file", "edit_file", "skip_finding")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>b", "b"),
        ("\n<think>\na\n</think>\n\n- b", "- b"),
        ("<thinking>a</thinking><think>b</think>c", "c"),
        ("<think>never ends", ""),
        ("<think></think>", ""),
        ("the prompt opened it\n</think>\n- b", "- b"),
        ("- Asked what <think> and </think> tags are for", "- Asked what <think> and </think> tags are for"),
        ("- a\n<think>\nb\n</think>\n- c", "- a\n<think>\nb\n</think>\n- c"),
        ("`<think>` opens a block", "`<think>` opens a block"),
        ("</think>\n\n- b", "- b"),
        ("<|channel>thought\nLet me see.\n<channel|>- b", "- b"),
        ("<|channel>thought\n<channel|>- b", "- b"),
        ("<channel|>- b", "- b"),
        ("the prompt opened it\n<channel|>- b", "- b"),
        ("<|channel>thought\nnever ends", ""),
        ("- Gemma ends its thoughts by <channel|>, says Mei", "- Gemma ends its thoughts by <channel|>, says Mei"),
        ("◁think▷a◁/think▷b", "b"),
        ("[THINK]a[/THINK]b", "b"),
        ("<seed:think>a</seed:think>b", "b"),
        ("<|START_THINKING|>a<|END_THINKING|>b", "b"),
        ("  indented text", "  indented text"),
    ],
)
def test_only_thinking_at_the_start_is_dropped(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{CALL}</tool_call>",
        f"<tool_call>\n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n[{CALL}]\n```",
        CALL,
        f"[{CALL}]",
        '{"type": "function", "function": {"name": "edit_file", "parameters": {"path": "USER.md"}}}',
        '<tool_call>{"name": "edit_file", "arguments": "{\\"path\\": \\"USER.md\\"}"}</tool_call>',
    ],
)
def test_a_call_written_into_the_text_is_a_call(text: str) -> None:
    assert calls_in_text(text, OFFERED) == ((EDIT,), "")


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}\n{CALL}</tool_call>",
        f"```json\n{CALL}\n```\nand\n```json\r\n{CALL}\r\n```",
    ],
)
def test_several_calls_in_one_text_are_several(text: str) -> None:
    calls = calls_in_text(text, OFFERED)[0]

    assert [call.arguments for call in calls] == [EDIT.arguments] * 2
    assert [call.id for call in calls] == ["call_1", "call_2"]


@given(
    st.lists(st.sampled_from([CALL, "<tool_call>", "</tool_call>", "{", "```json\n", "\n```", " x\n", '"']), max_size=6)
)
def test_no_mixture_of_forms_is_an_error_of_ours(parts: list[str]) -> None:
    calls, rest = calls_in_text("".join(parts), OFFERED)

    assert all(call.name in OFFERED for call in calls)
    assert calls or rest == "".join(parts)


def test_a_long_text_is_read_in_no_time() -> None:
    text = "edit_file(\n" * 1_000 + "<tool_call>" * 1_000 + "```json\n" * 1_000

    assert calls_in_text(text, OFFERED) == ((), text)


def test_the_words_round_a_call_stay() -> None:
    calls, rest = calls_in_text(f"I will edit.\n<tool_call>{CALL}</tool_call>\nDone.", OFFERED)

    assert (calls, rest) == ((EDIT,), "I will edit.\n\nDone.")


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "deploy", "arguments": {"to": "prod"}}\n```',
        '{"name": "Mei", "city": "Tokyo"}',
        "<tool_call>not JSON</tool_call>",
        f"```json\n[{CALL}, 7]\n```",
        f"```json\n{CALL} and more\n```",
        f"[TOOL_CALLS][{CALL}]",
        'edit_file(path="USER.md")',
        "<function=edit_file><parameter=path>USER.md</parameter></function>",
        '- The config is `{"name": "edit_file"}`',
        "```python\nprint(1)\n```",
        "",
    ],
)
def test_text_that_only_resembles_a_call_stays_text(text: str) -> None:
    assert calls_in_text(text, OFFERED) == ((), text)


def test_calls_in_text_do_not_count_where_no_tools_were_offered_or_some_came_natively() -> None:
    native = RawAnswer(CALL, calls=(RawCall("c1", "read_file", {}),), finish="tool_calls")

    assert read_answer(RawAnswer(CALL), ()).tool_calls == ()
    assert read_answer(native, OFFERED).tool_calls == (ToolCall("c1", "read_file", {}),)


def test_a_call_cut_off_by_the_length_keeps_saying_so() -> None:
    answer = read_answer(RawAnswer(None, (RawCall("c", "edit_file", '{"path": "US'),), finish="length"), OFFERED)

    assert answer.finish == "length"
    assert answer.tool_calls[0].problem


def test_a_call_without_a_name_has_a_problem() -> None:
    answer = read_answer(RawAnswer("", (RawCall(None, None, "{}"),)), OFFERED)

    assert answer.tool_calls == (ToolCall("call_1", "", {}, "the call names no tool"),)


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ([{"a": 1}], {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": "line\none"}', {"a": "line\none"}),
        ('{"a": "x, ]"}', {"a": "x, ]"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        (None, {}),
        ("  ", {}),
    ],
)
def test_arguments_are_read_from_any_ordinary_form(raw: object, arguments: dict[str, Any]) -> None:
    assert read_arguments(raw) == (arguments, None)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ([1, 2], "a list"),
        ("[1, 2]", "a list"),
        ("7", "a number"),
        ("true", "a boolean"),
        ('{"a": "cut of', "not valid JSON"),
        ('{"a": 1', "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": 1} and then some', "not valid JSON"),
        ("edit USER.md please", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("x" * 1_000_001, "1,000,001 characters long"),
        ("{'a': True, 'b': None,}", "not valid JSON"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_are_no_object_are_a_problem_and_never_completed(raw: object, problem: str) -> None:
    arguments, said = read_arguments(raw)

    assert arguments == {}
    assert problem in (said or "")


@given(st.one_of(st.text(), st.none(), st.booleans(), st.floats(), st.lists(st.text()), st.binary()))
def test_no_arguments_at_all_are_an_error_of_ours(raw: object) -> None:
    arguments, problem = read_arguments(raw)

    assert problem is None or arguments == {}


@given(
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()), max_size=4)
)
def test_every_json_object_comes_through_as_it_is(value: dict[str, Any]) -> None:
    assert read_arguments(json.dumps(value)) == (value, None)


@given(st.text(alphabet='<think>/\n {}[]"`ab', max_size=80))
def test_no_text_at_all_is_an_error_of_ours(text: str) -> None:
    answer = read_answer(RawAnswer(text), OFFERED)

    assert answer.tool_calls or answer.text in text or answer.text == ""
