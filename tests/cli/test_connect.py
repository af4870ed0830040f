"""`dream connect` puts hooks and an MCP server into clients' own files, and takes exactly them out again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.actions.connect import parsed, with_value, without_value
from tests.cli.commands import Ended, dream, environment, on_a_terminal
from tests.recall.test_search import NOW
from tests.workspaces import fresh

CLAUDE = """{
  "numStartups": 3,
  "projects": {}
}
"""
SETTINGS = """{
  // how I like it
  "model": "opus", // the large one
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "echo hi"}]} // mine
    ],
  },
}
"""
CODEX = '# mine\nmodel = "gpt-5"  # best\n\n[mcp_servers.other]\ncommand = "npx"\n'
GEMINI = '{"theme": "dark", "mcpServers": {"other": {"command": "npx"}}}'
OPENCODE = '{\n\t"$schema": "https://opencode.ai/config.json",\n\t/* tabs */\n\t"theme": "nord"\n}'
FILES = {
    ".claude.json": CLAUDE,
    ".claude/settings.json": SETTINGS,
    ".codex/config.toml": CODEX,
    ".copilot/settings.json": '{"theme": "dim"}',
    ".gemini/settings.json": GEMINI,
    ".config/opencode/opencode.jsonc": OPENCODE,
    ".nanobot/config.json": '{\n    "agents": {}\n}\n',
}
ALL = ("claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "nanobot")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    fresh(tmp_path / "my memory", NOW)
    return tmp_path


def at_home(home: Path) -> dict[str, str]:
    """Return the environment of a user whose home this is, and to whom the workspace belongs."""
    return {"HOME": str(home), "XDG_STATE_HOME": f"{os.environ['HOME']}/.local/state"}


def connect(home: Path, *words: str, **more: str) -> Ended:
    names = (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "OPENCODE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
        "DREAM_WORKSPACE",
    )
    clear = {name: "" for name in names if name in os.environ}
    environ = {"PATH": "/usr/bin:/bin", **at_home(home), **clear, **more}
    return dream("connect", *words, cwd=home / "my memory", **environ)


def texts(home: Path) -> dict[str, str]:
    found = [path for path in home.rglob("*") if path.is_file() and "my memory" not in path.parts]
    return {str(path.relative_to(home)): path.read_text(encoding="utf-8") for path in found}


def test_what_is_put_in_is_taken_out_again_to_the_byte(home: Path) -> None:
    assert connect(home, *ALL, "--yes").status == 0
    after = texts(home)
    again = connect(home, *ALL, "--yes")
    assert again.out.count("nothing to change") == len(ALL)
    assert texts(home) == after

    assert connect(home, *ALL, "--remove", "--yes").status == 0
    assert texts(home) == FILES


def test_one_command_makes_a_workspace_that_reads_the_client_and_says_what_happens_when(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()

    def connected(*words: str) -> Ended:
        return dream("connect", "claude-code", *words, cwd=tmp_path, PATH="/usr/bin:/bin", HOME=str(tmp_path))

    refused, shown = connected(), connected("--dry-run")
    assert (refused.status, shown.status) == (1, 0)
    assert f"Makes the workspace {tmp_path}/.dream/workspace." in shown.out
    assert not (tmp_path / ".dream").exists()

    done = connected("--yes")

    assert (done.status, done.err) == (0, "")
    assert (tmp_path / ".dream/workspace/dream.toml").read_text() == 'sources = ["claude-code"]\n'
    assert "each finished session goes into history" in done.out
    assert "Recall works now. SOUL.md, USER.md and MEMORY.md change when you say `dream nightly`" in done.out
    assert "Memory is empty so far. To read the sessions that are there now: dream nightly" in done.out


BARE = {
    ".claude.json": '{"mcpServers": {}, "numStartups": 3}',
    ".claude/settings.json": '{\n  "hooks": {"SessionStart": [ ]}\n}\n',
    ".codex/config.toml": 'model = "gpt-5"',
    ".copilot/mcp-config.json": "{}\n",
    ".gemini/settings.json": '{\n  "mcpServers": {\n  },\n  "hooks": {}\n}\n',
    ".config/opencode/opencode.json": '{"instructions": [], "mcp": {}}\n',
}


def test_what_was_empty_or_ended_without_a_line_break_is_so_again(tmp_path: Path) -> None:
    for name, text in BARE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    fresh(tmp_path / "my memory", NOW)
    clients = [name for name in ALL if name != "nanobot"]

    assert connect(tmp_path, *clients, "--yes").status == 0
    assert connect(tmp_path, *clients, "--yes").out.count("nothing to change") == len(clients)
    assert connect(tmp_path, *clients, "--remove", "--yes").status == 0

    assert texts(tmp_path) == BARE


def test_opencode_begins_each_prompt_with_the_memory_files(home: Path) -> None:
    path = home / ".config/opencode/opencode.jsonc"
    path.write_text('{"instructions": ["CONTRIBUTING.md"]}', encoding="utf-8")
    fresh(home / "other", NOW)

    connect(home, "opencode", "--yes")
    connect(home, "opencode", "--yes", "-w", str(home / "other"))

    files = [str(home / "other" / file) for file in ("SOUL.md", "USER.md", "memory/MEMORY.md")]
    assert parsed(path.read_text()).value["instructions"] == ["CONTRIBUTING.md", *files]
    connect(home, "opencode", "--remove", "--yes")
    assert path.read_text() == '{"instructions": ["CONTRIBUTING.md"]}'


def test_each_client_is_told_what_it_reads(home: Path) -> None:
    connect(home, *ALL, "--yes")
    memory = str(home / "my memory")

    claude = json.loads((home / ".claude.json").read_text())["mcpServers"]["dream"]
    codex = tomllib.loads((home / ".codex/config.toml").read_text())
    gemini = json.loads((home / ".gemini/settings.json").read_text())
    opencode = parsed((home / ".config/opencode/opencode.jsonc").read_text()).value["mcp"]["dream"]
    nanobot = json.loads((home / ".nanobot/config.json").read_text())["tools"]["mcpServers"]["dream"]
    assert claude["type"] == "stdio"
    assert claude["args"][-3:] == ["mcp", "-w", memory]
    assert codex["mcp_servers"]["dream"]["args"][-3:] == ["mcp", "-w", memory]
    assert codex["mcp_servers"]["other"] == {"command": "npx"}
    assert gemini["mcpServers"].keys() == {"other", "dream"}
    assert opencode["type"] == "local"
    assert opencode["command"][-3:] == ["mcp", "-w", memory]
    assert nanobot["args"][-1] == memory
    copilot = json.loads((home / ".copilot/mcp-config.json").read_text())["mcpServers"]["dream"]
    assert (copilot["type"], copilot["tools"], copilot["args"][-1]) == ("local", ["*"], memory)
    assert json.loads((home / ".copilot/settings.json").read_text())["hooks"].keys() == {
        "SessionStart",
        "UserPromptSubmit",
    }
    hooks = parsed((home / ".claude/settings.json").read_text()).value["hooks"]
    assert [len(hooks[event]) for event in ("SessionStart", "UserPromptSubmit", "SessionEnd")] == [2, 1, 1]
    assert hooks.keys() == json.loads((home / ".codex/hooks.json").read_text())["hooks"].keys()
    assert "--json" in gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["command"]


def test_the_written_hook_runs_in_a_shell(home: Path) -> None:
    (home / "my memory/USER.md").write_text("# User\n\n- Prefers tea\n", encoding="utf-8")
    connect(home, "codex", "--yes")
    hooks = json.loads((home / ".codex/hooks.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    asked = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]

    start = '{"hook_event_name": "SessionStart"}'
    began = subprocess.run(command, shell=True, input=start, capture_output=True, text=True, cwd="/", check=True)
    silent = subprocess.run(
        asked, shell=True, input='{"prompt": "hi"}', capture_output=True, text=True, cwd="/", check=True
    )
    assert "Prefers tea" in began.stdout
    assert (silent.stdout, silent.stderr) == ("", "")


def test_comments_order_and_mode_stay(home: Path) -> None:
    (home / ".claude.json").chmod(0o640)
    connect(home, "claude-code", "opencode", "--yes")

    settings = (home / ".claude/settings.json").read_text()
    assert "// how I like it" in settings
    assert '"model": "opus", // the large one' in settings
    assert '"command": "echo hi"}]}, // mine' in settings
    assert "/* tabs */" in (home / ".config/opencode/opencode.jsonc").read_text()
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_another_workspace_takes_the_place_of_the_first(home: Path) -> None:
    connect(home, *ALL, "--yes")
    fresh(home / "other", NOW)
    connect(home, *ALL, "--yes", "-w", str(home / "other"))

    for name in FILES:
        assert "my memory" not in (home / name).read_text()
        assert str(home / "other") in (home / name).read_text()


def test_without_a_terminal_nothing_waits_and_nothing_is_written(home: Path) -> None:
    before = texts(home)
    shown = connect(home, "codex")
    tried = connect(home, "codex", "--dry-run")
    listed = connect(home)
    as_json = connect(home, "codex", "--json", "--dry-run").json

    assert (shown.status, tried.status, listed.status) == (1, 0, 0)
    assert "+[mcp_servers.dream]" in shown.out
    assert "--yes" in shown.err
    assert "dry run" in tried.out
    assert "codex        installed" in listed.out
    assert [row["written"] for row in as_json] == [False, False]
    assert texts(home) == before


def test_what_is_connected_is_listed(home: Path) -> None:
    connect(home, "codex", "--yes")
    found = {row["client"]: row for row in connect(home, "--json").json}

    assert found["codex"]["connected"] == [str(home / ".codex/config.toml"), str(home / ".codex/hooks.json")]
    assert found["claude-code"]["connected"] == []
    assert found["claude-code"]["installed"]
    assert not found["pi"]["installed"]


def test_hooks_that_a_person_wrote_by_the_readme_are_replaced(home: Path) -> None:
    by_hand = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "dream context -w ~/memory"}]}]}}
    (home / ".claude/settings.json").write_text(json.dumps(by_hand))
    connect(home, "claude-code", "--yes")

    assert len(json.loads((home / ".claude/settings.json").read_text())["hooks"]["SessionStart"]) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (".codex/config.toml", "model = ", "TOML"),
        (".codex/config.toml", '[mcp_servers.dream]\ncommand = "other"\n', "rename it first"),
        (".codex/config.toml", "mcp_servers = {}\n", "by hand"),
        (".codex/hooks.json", '{"hooks": ', "JSON"),
        (".codex/hooks.json", '{"hooks": {}, "hooks": {}}', "JSON"),
        (".codex/hooks.json", "[]", "no JSON object"),
        (".codex/hooks.json", '{"hooks": {"SessionStart": {}}}', "no list"),
        (".codex/hooks.json", '{"hooks": []}', "laid out"),
        (".codex/hooks.json", "[" * 100_000, "JSON"),
    ],
)
def test_a_file_that_is_not_understood_is_one_sentence_and_stays(home: Path, name: str, text: str, why: str) -> None:
    (home / name).write_text(text)
    before = texts(home)
    done = connect(home, "codex", "--yes")

    assert done.status == 1
    assert why in done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1
    assert texts(home) == before


def test_a_link_and_a_read_only_file_are_refused(home: Path) -> None:
    (home / "dotfiles.toml").write_text(CODEX)
    (home / ".codex/config.toml").unlink()
    (home / ".codex/config.toml").symlink_to(home / "dotfiles.toml")
    linked = connect(home, "codex", "--yes")
    (home / ".nanobot/config.json").chmod(0o444)
    read_only = connect(home, "nanobot", "--yes")

    assert (linked.status, read_only.status) == (1, 1)
    assert "symbolic link" in linked.err
    assert "read-only" in read_only.err
    assert (home / "dotfiles.toml").read_text() == CODEX
    assert not (home / ".codex/hooks.json").exists()


def test_a_client_that_is_not_here_or_takes_neither_is_told(home: Path) -> None:
    unknown, absent = connect(home, "emacs"), connect(home, "nanobot", "--yes", HOME=str(home / "my memory"))
    (home / ".pi/agent").mkdir(parents=True)
    pi = connect(home, "pi", "--yes")

    assert (unknown.status, absent.status, pi.status) == (2, 2, 2)
    assert "claude-code" in unknown.err
    assert "not on this machine" in absent.err
    assert "AGENTS.md" in pi.err


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=4), PLAIN, max_size=4),
    st.sampled_from([None, 2, 4, "\t"]),
    st.booleans(),
    st.sampled_from(["", "\n", " // end\n"]),
)
def test_what_is_added_to_any_object_is_all_that_changes(
    value: dict[str, object], indent: int | str | None, escaped: bool, end: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escaped) + end
    value.pop("new key", None)
    with_it = with_value(text, ("new key", "below"), {"a": [1]})

    assert parsed(with_it).value == value | {"new key": {"below": {"a": [1]}}}
    assert without_value(with_it, ("new key", "below")) == text


def test_a_folder_called_dream_where_the_agent_works_is_not_run(home: Path) -> None:
    line = [sys.executable, "-m", "dream", "connect", "claude-code", "--yes", "-w", str(home / "my memory")]
    subprocess.run(line, env=environment(at_home(home)), check=True, capture_output=True)
    (home / "project/dream").mkdir(parents=True)
    (home / "project/dream/__init__.py").write_text("raise SystemExit('somebody else')")
    commands = re.findall(r'"command": "(.*?-m dream .*?)"', (home / ".claude/settings.json").read_text())
    assert len(commands) > 1
    for command in commands:
        asked = {
            "input": '{"hook_event_name": "SessionStart"}',
            "cwd": home / "project",
            "env": {**os.environ, **at_home(home)},
        }
        ran = subprocess.run(
            json.loads(f'"{command}"'), shell=True, capture_output=True, text=True, check=False, **asked
        )
        assert "somebody else" not in ran.stderr


def test_without_a_timer_on_the_machine_connect_still_says_what_happens_when(tmp_path: Path) -> None:
    alone = tmp_path / "bin"
    alone.mkdir()
    (Path.home() / ".claude").mkdir()
    for program in ("git", "env"):
        (alone / program).symlink_to(shutil.which(program) or "")

    done = on_a_terminal("connect", "claude-code", typed="y\ny\n", PATH=str(alone))

    assert "Dream every night, started by" in done.out, done.out
    assert "Recall works now." in done.out
    assert "dream cron install" in done.out
