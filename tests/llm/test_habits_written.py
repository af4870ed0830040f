"""Tool calls in the text: each form that a model family is trained on, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.llm import ToolCall
from dream.llm.answers import calls_in_text

OFFERED = ("read_file", "edit_file", "skip_finding")
GIVEN = '{"path": "USER.md", "old_text": "- a (b", "new_text": "- \\"c\\"", "findings": [1, 2]}'
OBJECT = '{"name": "edit_file", "arguments": ' + GIVEN + "}"
EDIT = ToolCall(
    "call_1", "edit_file", {"path": "USER.md", "old_text": "- a (b", "new_text": '- "c"', "findings": [1, 2]}
)
PYTHON = """edit_file(path="USER.md", old_text='- a (b', new_text='- "c"', findings=[1, 2])"""
XML = (
    "<function=edit_file>\n<parameter=path>\nUSER.md\n</parameter>\n<parameter=old_text>\n- a (b\n</parameter>\n"
    '<parameter=new_text>\n- "c"\n</parameter>\n<parameter=findings>\n[1, 2]\n</parameter>\n</function>'
)
GLM = (
    "edit_file\n<arg_key>path</arg_key>\n<arg_value>USER.md</arg_value>\n<arg_key>old_text</arg_key>\n"
    "<arg_value>- a (b</arg_value>\n<arg_key>new_text</arg_key>\n"
    '<arg_value>- "c"</arg_value>\n<arg_key>findings</arg_key>\n<arg_value>[1, 2]</arg_value>'
)
FORMS = {
    "hermes": f"<tool_call>\n{OBJECT}\n</tool_call>",
    "hermes, cut before its end": f"<tool_call>\n{OBJECT}\n",
    "hermes, a list": f"<tool_call>[{OBJECT}]</tool_call>",
    "hermes, plural": f"<tool_calls>{OBJECT}</tool_calls>",
    "its own tags of the prompt": f"<tools>\n{OBJECT}\n</tools>",
    "fenced": f"```json\n{OBJECT}\n```",
    "fenced, on Windows": f"```json\n{OBJECT}\r\n```",
    "bare": OBJECT,
    "bare, other keys": OBJECT.replace("arguments", "parameters").replace('"name"', '"tool"'),
    "openai's own": '{"type": "function", "function": ' + OBJECT + "}",
    "mistral": f"[TOOL_CALLS] [{OBJECT}]",
    "mistral, new": f"[TOOL_CALLS]edit_file[ARGS]{GIVEN}",
    "mistral, with an id": f"[TOOL_CALLS]edit_file[CALL_ID]a1b2c3d4e[ARGS]{GIVEN}",
    "llama": f"<|python_tag|>{OBJECT}<|eom_id|>",
    "llama, tagged": f"<function=edit_file>{GIVEN}</function>",
    "llama, pythonic": f"[{PYTHON}]",
    "qwen coder": f"<tool_call>\n{XML}\n</tool_call>",
    "glm": f"<tool_call>{GLM}</tool_call>",
    "gemma": f"```tool_code\n{PYTHON}\n```",
    "gemma, printed": f"```tool_code\nprint({PYTHON})\n```",
    "gemma, as a method": f"```python\ndefault_api.{PYTHON}\n```",
    "granite": f"<|tool_call|>[{OBJECT}]",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>edit_file\n```json\n"
    f"{GIVEN}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.edit_file:0<|tool_call_argument_begin|>"
    f"{GIVEN}<|tool_call_end|><|tool_calls_section_end|>",
    "bare, and more after it": OBJECT + '}, "reason": "The line is old."',
    "python-like": PYTHON,
    "python-like, in prose": f"I settle the findings:\n\n1. `{PYTHON}`\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_familys_form_is_a_call(text: str) -> None:
    assert calls_in_text(text, OFFERED)[0] == (EDIT,)


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{OBJECT}\n</tool_call>\n<tool_call>\n{OBJECT}\n</tool_call>",
        f"<tool_call>\n{OBJECT}\n{OBJECT}\n</tool_call>",
        f"```json\n{OBJECT}\n```\nand\n```json\n{OBJECT}\n```",
        f"[TOOL_CALLS] [{OBJECT}, {OBJECT}]",
        f"[TOOL_CALLS]edit_file[ARGS]{GIVEN}[TOOL_CALLS]edit_file[ARGS]{GIVEN}",
        f"[{PYTHON}, {PYTHON}]",
        f"{PYTHON}\n{PYTHON}",
        f"First:\n{PYTHON}\nthen:\n{PYTHON}",
        f"<tool_call>\n{XML}\n</tool_call>\n<tool_call>\n{XML}\n</tool_call>",
    ],
)
def test_several_calls_in_one_text_are_several(text: str) -> None:
    calls = calls_in_text(text, OFFERED)[0]

    assert [call.arguments for call in calls] == [EDIT.arguments] * 2
    assert [call.id for call in calls] == ["call_1", "call_2"]


def test_a_value_of_several_lines_comes_through_as_it_is() -> None:
    text = "<function=edit_file>\n<parameter=new_text>\n- 7\n  - b\n</parameter>\n</function>"

    assert calls_in_text(text, OFFERED)[0][0].arguments == {"new_text": "- 7\n  - b"}


def test_a_text_that_is_a_number_stays_a_text_in_xml() -> None:
    text = "<function=edit_file><parameter=old_text>7</parameter><parameter=findings>7</parameter></function>"

    assert calls_in_text(text, OFFERED)[0][0].arguments == {"old_text": "7", "findings": 7}


@pytest.mark.parametrize(
    "text",
    [
        "I would call edit_file(path, old, new) here.",
        "edit_file(open('/etc/passwd').read())",
        "edit_file(path=__import__('os').getcwd())",
        "edit_file(",
        "edit_file(path='USER.md', old_text='never closed",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]edit_file",
        '<tool_call>{"name": "edit_file"}</tool_call>',
        '<tool_call>{"name": "deploy", "arguments": {}}</tool_call>',
        f"```json\n[{OBJECT}, 7]\n```",
        f"```json\n{OBJECT} and more\n```",
        "<function=rm><parameter=path>/</parameter></function>",
        "```markdown\n# User\n- edit_file is a tool\n```",
    ],
)
def test_what_only_looks_like_a_call_stays_text(text: str) -> None:
    assert calls_in_text(text, OFFERED) == ((), text)


@given(
    st.lists(
        st.sampled_from([*FORMS.values(), "<tool_call>", "{", "(", "```", "[TOOL_CALLS]", " x\n", '"']), max_size=6
    )
)
def test_no_mixture_of_them_is_an_error_of_ours(parts: list[str]) -> None:
    calls, rest = calls_in_text("".join(parts), OFFERED)

    assert all(call.name in OFFERED for call in calls)
    assert calls or rest == "".join(parts)


@pytest.mark.parametrize("times", [100, *(pytest.param(more, marks=pytest.mark.slow) for more in (300, 5_000))])
def test_a_long_text_is_read_in_no_time(times: int) -> None:
    text = "edit_file(\n" * (4 * times) + "<tool_call>" * times + "```json\n" * times

    assert calls_in_text(text, OFFERED) == ((), text)
