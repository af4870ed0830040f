"""Nothing that is sent to a provider holds a secret."""

from __future__ import annotations

from dream import prompts
from dream.llm import ChatMessage, ToolCall
from dream.llm.gateway import shielded
from dream.redact import redact

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_secret_goes_from_texts_and_from_the_arguments_of_calls() -> None:
    call = ToolCall(
        "1", "edit_file", {"old_text": f"- {SECRET}", "findings": [1, f"x {SECRET}"], "more": {"a": SECRET}}
    )
    sent = shielded([ChatMessage("tool", f"nearest: {SECRET} and ticket-77", (call,), "1")], ["ticket-[0-9]+"])
    assert sent[0].content == "nearest: [REDACTED:github-token] and [REDACTED:custom]"
    assert SECRET not in str(sent)
    assert sent[0].tool_calls[0].arguments["findings"] == [1, "x [REDACTED:github-token]"]
    assert shielded(sent, ["ticket-[0-9]+"]) == sent


def test_our_own_prompts_are_sent_as_they_are() -> None:
    for name in ("consolidate", "phase1", "phase2"):
        text = prompts.shipped(f"prompts/{name}.md")
        assert redact(text)[0] == text
