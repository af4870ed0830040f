"""Agent clients as models: how they are called, what is read of their answers, and what is said where they fail."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dream import pipeline
from dream.errors import AnswerUnusable, DreamError, ModelInaccessible, ModelUnavailable, ToolsUnsupported
from dream.llm import ChatMessage, Tool
from dream.llm.clients import ClientModel
from dream.llm.spending import Meter
from dream.models import NewEntry
from dream.reports import Usage
from dream.settings import Settings
from tests.cli.commands import dream
from tests.llm.fakes import Fake, claude, codex, path_with
from tests.workspaces import fresh

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ASKED = [ChatMessage("system", "Read."), ChatMessage("user", f"Hallo Tokyo, 你好 {SECRET}")]
SETTINGS = Settings(retries=0, timezone="UTC")
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
EDIT = Tool("edit_file", "Edit a file.", {"type": "object"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin"))
    return tmp_path / "bin"


def ask(name: str, messages: list[ChatMessage] = ASKED, **more: Any) -> Any:
    return ClientModel(name, SETTINGS).complete(messages, **more)


def test_claude_code_is_given_the_prompt_in_files_and_nothing_else(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    monkeypatch.setenv("DREAM_API_KEY", "sk-2")
    fake = Fake("claude", place)
    fake.answer(claude("[USER] Lives in Tokyo {1}"))

    done = ask("claude-code/haiku")

    (call,) = fake.calls
    assert (call["system"], call["text"]) == ("Read.", "Hallo Tokyo, 你好 [REDACTED:github-token]")
    assert [word for word in call["arguments"] if "Tokyo" in word or "Read." in word] == []
    assert call["arguments"][call["arguments"].index("--model") + 1] == "haiku"
    assert {"--safe-mode", "--strict-mcp-config", "--no-session-persistence", "--max-turns"} <= set(call["arguments"])
    assert (call["beside"], call["environ"]["DREAM_CALL"]) == ([], "1")
    assert {"ANTHROPIC_API_KEY", "DREAM_API_KEY"}.isdisjoint(call["environ"])
    assert call["environ"]["CLAUDE_CODE_DISABLE_FILE_MENTIONS"] == "1"
    assert not Path(call["cwd"]).exists()
    assert (done.text, done.usage) == ("[USER] Lives in Tokyo {1}", Usage(1, 150, 7, None, 40))


def test_codex_is_given_the_prompt_in_files_and_the_login_by_a_link(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path.home() / ".codex"
    home.mkdir()
    (home / "auth.json").write_text("{}")
    (home / "AGENTS.md").write_text("Be rude.")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    fake = Fake("codex", place)
    fake.answer(codex("[SKIP]"))

    done = ask("codex/gpt-5.5")

    (call,) = fake.calls
    assert (call["system"], call["text"]) == ("Read.", "Hallo Tokyo, 你好 [REDACTED:github-token]")
    assert call["environ"]["CODEX_HOME"] not in (str(home), "")
    assert "OPENAI_API_KEY" not in call["environ"]
    assert (done.text, done.usage) == ("[SKIP]", Usage(1, 150, 9, None, 40))
    assert (home / "auth.json").read_text() == "{}"


def test_a_text_that_would_be_a_command_is_marked_and_several_messages_are_told_apart(place: Path) -> None:
    fake = Fake("claude", place)
    fake.answer(claude("ok"))

    ask("claude-code/haiku", [ChatMessage("user", "/cost")])
    ask("claude-code/haiku", [*ASKED, ChatMessage("assistant", "What?"), ChatMessage("user", "Again")])

    assert fake.calls[0]["text"] == '<message role="user">\n/cost\n</message>'
    assert fake.calls[1]["text"].count("<message role=") == 3


FAULTS: dict[str, tuple[str, dict[str, Any], type[DreamError], str]] = {
    "quota": (
        "claude",
        claude("You've hit your 5-hour limit · resets 6:14pm (UTC)", is_error=True, api_error_status=429),
        ModelInaccessible,
        "resets 6:14pm (UTC)); what waits is read the next night",
    ),
    "not logged in": (
        "claude",
        claude("Not logged in · Please run /login", is_error=True),
        ModelInaccessible,
        "nobody is logged in to Claude Code; start `claude`",
    ),
    "too old": (
        "claude",
        {"out": "", "err": ["error: unknown option '--safe-mode'"], "status": 1},
        ModelInaccessible,
        "lacks an option without which its hooks could run (error: unknown option '--safe-mode'); update it",
    ),
    "no such model": (
        "claude",
        claude("model: opus-99", is_error=True, api_error_status=404),
        ModelInaccessible,
        "knows no such model",
    ),
    "overloaded": ("claude", claude("Overloaded", is_error=True, api_error_status=529), ModelUnavailable, "Overloaded"),
    "a tool": (
        "claude",
        claude(None, is_error=True, subtype="error_max_turns"),
        AnswerUnusable,
        "asked for a tool instead of answering",
    ),
    "no answer": (
        "claude",
        {"out": "", "err": ["Segmentation fault"], "status": 139},
        ModelUnavailable,
        "Segmentation",
    ),
    "codex, quota": (
        "codex",
        codex("", failed="You’ve hit your usage limit. Try again at 6:26 PM."),
        ModelInaccessible,
        "Try again at 6:26 PM.); what waits is read the next night",
    ),
    "codex, too old": (
        "codex",
        {"out": "", "err": ["error: unexpected argument '--ephemeral' found"], "status": 2},
        ModelInaccessible,
        "update it",
    ),
    "codex, a key that is refused": (
        "codex",
        codex("", failed="unexpected status 401 Unauthorized"),
        ModelInaccessible,
        "run `codex login`",
    ),
    "codex, a tool in a loop": (
        "codex",
        codex("")
        | {"err": ["2026-11-23T21:11:23Z ERROR codex_core::tools::router: error=unsupported call"], "linger": 300},
        AnswerUnusable,
        "asked for a tool",
    ),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_way_to_fail_is_a_sentence_that_says_what_to_do(place: Path, fault: str) -> None:
    program, answer, error, sentence = FAULTS[fault]
    fake = Fake(program, place)
    fake.answer(answer)
    begun = time.monotonic()

    with pytest.raises(error) as raised:
        ask({"claude": "claude-code/haiku", "codex": "codex/gpt-5.5"}[program])

    assert sentence in str(raised.value)
    assert time.monotonic() - begun < 100  # one would have lingered for minutes


def test_an_answer_cut_by_its_length_says_so(place: Path) -> None:
    said = "API Error: Claude's response exceeded the 16384 output token maximum."
    Fake("claude", place).answer(claude(said, is_error=True))
    Fake("codex", place).answer(codex("[USER] a", failed="Incomplete response returned, reason: max_output_tokens"))

    assert [ask(name).finish for name in ("claude-code/haiku", "codex/gpt-5.5")] == ["length"] * 2


def test_nobody_logged_in_to_codex_is_seen_before_a_call_that_would_wait_for_ever(place: Path) -> None:
    fake = Fake("codex", place)
    fake.login(there=False)

    with pytest.raises(ModelInaccessible, match="nobody is logged in to Codex; run `codex login`"):
        ask("codex/gpt-5.5")
    assert fake.calls == []


def test_a_client_that_is_not_here_is_named_with_the_path_that_was_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(
        ModelInaccessible, match=r"needs the program `codex`.*\(/usr/bin:/bin\).* PATH of cron is short"
    ):
        ask("codex/gpt-5.5")


def test_a_client_that_takes_too_long_is_killed_with_all_it_started(place: Path) -> None:
    fake = Fake("claude", place)
    fake.answer({"out": "", "sleep": 600})

    for seconds in (3, 15, 75):  # on a busy machine it may not have begun before it is killed
        with pytest.raises(ModelUnavailable, match=f"longer than {seconds} seconds"):
            ClientModel("claude-code/haiku", replace(SETTINGS, timeout=float(seconds))).complete(ASKED)
        if fake.has_begun:
            break

    with pytest.raises(ProcessLookupError):
        os.kill(fake.process, 0)


def test_edits_are_asked_for_once_as_json_and_the_rest_is_applied_by_code(place: Path) -> None:
    fake = Fake("claude", place)
    fake.answer(claude('```json\n[{"name": "edit_file", "arguments": {"path": "USER.md"}}]\n```'))

    done = ask("claude-code/haiku", tools=[EDIT])

    assert [call.arguments for call in done.tool_calls] == [{"path": "USER.md"}]
    assert "edit_file: Edit a file." in fake.calls[0]["system"]
    with pytest.raises(ToolsUnsupported):
        ask("claude-code/haiku", [*ASKED, ChatMessage("assistant", "done")], tools=[EDIT])


def test_a_night_with_a_client_is_dreamt_and_its_tokens_are_booked(place: Path, tmp_path: Path) -> None:
    fake = Fake("claude", place)
    fake.answer(claude("[USER] Lives in Tokyo {1}"))
    workspace = fresh(tmp_path / "ws", NOW)
    workspace.history.append([NewEntry("note", "I live in Tokyo")], now=NOW)

    done = pipeline.run(workspace, settings=replace(SETTINGS, model="claude-code/haiku"), now=NOW)

    assert done.outcome == "committed"
    assert "Lives in Tokyo" in workspace.read_file("USER.md")
    assert (done.usage.input_tokens, done.usage.cost_usd) == (150 * len(fake.calls), None)


def test_what_a_plan_does_not_allow_is_read_the_next_night(place: Path, tmp_path: Path) -> None:
    limit = claude("You've hit your limit · resets 6pm", is_error=True, api_error_status=429)
    Fake("claude", place).answer(limit, claude("- Lives in Tokyo [0]"))
    workspace, settings = fresh(tmp_path / "ws", NOW), replace(SETTINGS, model="claude-code/haiku")
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "content": "I live in Tokyo."}\n{"role": "assistant", "content": "Ok."}\n')

    with pytest.raises(ModelInaccessible, match="resets 6pm"):
        pipeline.consolidate(workspace, [path], settings=settings, now=NOW)
    assert workspace.history.last_cursor() == 0
    pipeline.consolidate(workspace, [path], settings=settings, now=NOW)

    assert "Tokyo" in next(workspace.history.after(0)).content


def test_a_long_text_goes_in_whole(place: Path) -> None:
    fake = Fake("claude", place)
    fake.answer(claude("ok"))
    text = "Straße 東京\n" * 20_000

    ask("claude-code/haiku", [ChatMessage("user", text)])

    assert fake.calls[0]["text"] == text


def test_a_day_with_a_client_is_bounded_lower_unless_it_is_set() -> None:
    client, model = Settings(model="claude-code/haiku"), Settings(model="openai/gpt-5-mini")

    bounds = [Meter(one).bound("max_day_tokens", one.model) for one in (client, model)]

    assert bounds == [300_000, 5_000_000]
    assert Meter(replace(client, max_day_tokens=7)).bound("max_day_tokens", client.model) == 7


@pytest.mark.parametrize(
    "line", [("context", "--hook"), ("consolidate", "--hook", "--detach"), ("consolidate", "--hook")]
)
def test_our_hooks_end_at_once_in_a_client_that_is_asked_as_a_model(line: tuple[str, ...], tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    before = sorted(path for path in workspace.root.rglob("*"))

    done = dream(*line, "-w", workspace.root, stdin='{"prompt": "Tokyo", "transcript_path": "x"}', DREAM_CALL="1")

    assert (done.status, done.out, done.err) == (0, "", "")
    assert sorted(path for path in workspace.root.rglob("*")) == before
