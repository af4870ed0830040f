"""`dream sources` lists, adds and removes; dream.toml keeps everything else as a person wrote it."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.actions import configure
from dream.consolidate import listing
from dream.directory import Workspace
from dream.errors import SettingsError
from dream.settings import Settings
from tests.cli.commands import dream
from tests.sources.test_incremental import write
from tests.transcripts.test_clients import local, opencode
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
LOCAL = json.dumps(local(1, "user", [{"type": "text", "text": "My tent is green."}])) + "\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def session(home: Path, name: str, *numbers: int) -> Path:
    folder = home / ".claude" / "projects" / "-home-lena"
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / f"{name}.jsonl", *numbers, session=name)


WRITTEN = """# what Lena likes
model = "embedded"   # small

sources = [  # every night
    "codex",       # at work
    '~/chats [old]/*.json',
]
timezone = "Europe/Berlin"
"""


def named_in(root: Path) -> tuple[str, ...]:
    return tuple(tomllib.loads((root / "dream.toml").read_text(encoding="utf-8")).get("sources", ()))


def test_adding_and_removing_leaves_the_rest_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "dream.toml"
    path.write_text(WRITTEN, encoding="utf-8")
    assert configure.set_source(tmp_path, "claude-code", read=True)
    assert not configure.set_source(tmp_path, "claude-code", read=True)
    assert named_in(tmp_path) == ("codex", "~/chats [old]/*.json", "claude-code")
    text = path.read_text(encoding="utf-8")
    assert [line for line in WRITTEN.splitlines() if line not in text.splitlines()] == []
    assert configure.set_source(tmp_path, "claude-code", read=False)
    assert not configure.set_source(tmp_path, "claude-code", read=False)
    assert tomllib.loads(path.read_text(encoding="utf-8")) == tomllib.loads(WRITTEN)


def test_a_missing_file_is_made_and_a_missing_list_added(tmp_path: Path) -> None:
    assert configure.set_source(tmp_path, "codex", read=True)
    assert (tmp_path / "dream.toml").read_text(encoding="utf-8") == 'sources = ["codex"]\n'
    (tmp_path / "dream.toml").write_text('model = "x"  # mine', encoding="utf-8")
    assert configure.set_source(tmp_path, "codex", read=True)
    assert (tmp_path / "dream.toml").read_text(encoding="utf-8") == 'model = "x"  # mine\nsources = ["codex"]\n'


@pytest.mark.parametrize("text", ["sources = 'codex'\n", "sources = [1]\n", "sources = [\n"])
def test_what_cannot_be_changed_safely_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / "dream.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError):
        configure.set_source(tmp_path, "codex", read=True)
    assert (tmp_path / "dream.toml").read_text(encoding="utf-8") == text


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8)


@given(st.lists(words, max_size=4, unique=True), words)
def test_any_list_of_sources_can_be_added_to_and_taken_from(
    tmp_path_factory: pytest.TempPathFactory, named: list[str], more: str
) -> None:
    root = tmp_path_factory.mktemp("ws")
    for name in named:
        assert configure.set_source(root, name, read=True)
    added = configure.set_source(root, more, read=True)
    assert named_in(root) == (*named, more) if added else tuple(named)
    assert configure.set_source(root, more, read=False)
    assert named_in(root) == tuple(name for name in named if name != more)


def test_a_zone_stands_behind_the_source() -> None:
    assert listing.split("hermes @ Asia/Tokyo") == ("hermes", ZoneInfo("Asia/Tokyo"))
    assert listing.split("~/a@b/*.json") == ("~/a@b/*.json", None)
    with pytest.raises(SettingsError, match="'Mars/Base' is not a known time zone"):
        listing.split("codex @ Mars/Base")


def test_naive_times_are_read_in_the_zone_of_their_source(workspace: Workspace, tmp_path: Path) -> None:
    from dream import pipeline

    (tmp_path / "chat.md").write_text("[2026-11-20 10:00] Ann: hi\n[2026-11-20 10:01] Bob: I moved to Rome.\n")
    asked = Settings(sources=(f"{tmp_path}/chat.md @ Asia/Tokyo",), timezone="UTC", consolidator_model="nobody/nothing")
    found = listing.paths(asked, workspace.root, home=tmp_path, environ={})
    pipeline.consolidate(workspace, found, settings=Settings(timezone="UTC"), now=NOW)
    (file,) = found
    assert file.zone == ZoneInfo("Asia/Tokyo")


def test_the_agents_of_this_machine_are_listed_with_what_is_new(workspace: Workspace, home: Path) -> None:
    session(home, "s1", 1, 2)
    session(home, "s2", 3)
    listed = dream("sources", "--json", "-w", workspace.root).json
    (found,) = listed
    assert (found["source"], found["configured"], found["files"], found["new"]) == ("claude-code", False, 2, 2)
    assert found["bytes"] > 0
    added = dream("sources", "add", "claude-code", "-w", workspace.root)
    assert (added.status, added.out) == (0, "Added claude-code: 2 files so far.\n")
    assert dream("consolidate", "-w", workspace.root).status == 0
    listed = dream("sources", "--json", "-w", workspace.root).json
    assert [(one["configured"], one["sessions"], one["new"]) for one in listed] == [(True, 2, 0)]
    assert "nothing new" in dream("sources", "-w", workspace.root).out
    assert dream("sources", "remove", "claude-code", "--json", "-w", workspace.root).json == [
        {"source": "claude-code", "removed": True}
    ]


def test_a_source_that_names_nothing_is_refused_and_dream_toml_stays(workspace: Workspace) -> None:
    done = dream("sources", "add", "claud-code", "-w", workspace.root)
    assert done.status == 2
    assert "Agents known by name: claude-code" in done.err
    assert not (workspace.root / "dream.toml").exists()


def test_a_source_that_is_gone_is_named_among_the_others(workspace: Workspace, home: Path) -> None:
    session(home, "s1", 1)
    (workspace.root / "dream.toml").write_text('sources = ["/nowhere/*.json", "claude-code"]\n')

    done = dream("sources", "-w", workspace.root)
    assert done.status == 0
    assert "✗ /nowhere/*.json  does not exist; check the path, or: dream sources remove '/nowhere/*.json'" in done.out
    assert "✓ claude-code" in done.out

    read = dream("consolidate", "-w", workspace.root)
    assert (read.status, workspace.history.last_cursor()) == (1, 1)
    assert "/nowhere/*.json does not exist" in read.err


@pytest.mark.slow
def test_a_night_that_read_the_others_tells_which_source_is_gone(workspace: Workspace, home: Path) -> None:
    os.utime(session(home, "s1", 1), (0, 0))
    (workspace.root / "dream.toml").write_text('sources = ["/nowhere/*.json", "claude-code"]\n')

    night = dream("nightly", "-w", workspace.root)
    assert "read 1 message of 1 session" in night.out
    assert "/nowhere/*.json does not exist" in night.err


def test_a_path_named_from_where_one_stands_is_found_every_night(workspace: Workspace, tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "[x] chats").mkdir(parents=True)
    (here / "[x] chats" / "a.json").write_text('[{"role": "user", "content": "I moved to Rome."}]')

    for named, stored in [
        ("[x] chats/a.json", f"{here}/[x] chats/a.json"),
        ("*/a.json @ Asia/Tokyo", f"{here}/*/a.json @ Asia/Tokyo"),
    ]:
        assert dream("sources", "add", named, "-w", workspace.root, cwd=here).err == ""
        assert named_in(workspace.root)[-1] == stored
    assert dream("sources", "add", "codex", "-w", workspace.root, cwd=here).status == 0
    assert named_in(workspace.root)[-1] == "codex"
    assert "1 new" in dream("sources", "-w", workspace.root, cwd=here).out


def test_a_database_with_a_log_is_settled_by_one_reading(workspace: Workspace, tmp_path: Path, home: Path) -> None:
    path = tmp_path / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(opencode(path))) as database:
        database.execute("PRAGMA journal_mode=WAL")
    os.utime(path, (NOW.timestamp(), NOW.timestamp()))
    dream(
        "consolidate",
        "opencode",
        "-w",
        workspace.root,
        HOME=str(tmp_path),
        XDG_STATE_HOME=str(home / ".local/state"),
        XDG_DATA_HOME="",
    )

    (row,) = dream(
        "sources",
        "--json",
        "-w",
        workspace.root,
        HOME=str(tmp_path),
        XDG_STATE_HOME=str(home / ".local/state"),
        XDG_DATA_HOME="",
    ).json
    assert (row["source"], row["sessions"], row["new"]) == ("opencode", 2, 0)


def test_an_agents_empty_file_is_none(workspace: Workspace, tmp_path: Path, home: Path) -> None:
    for name, text in (("begun", ""), ("used", LOCAL)):
        path = tmp_path / f".letta/lc-local-backend/conversations/{name}/messages.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    done = dream(
        "consolidate", "letta-code", "-w", workspace.root, HOME=str(tmp_path), XDG_STATE_HOME=str(home / ".local/state")
    )
    (row,) = dream(
        "sources", "--json", "-w", workspace.root, HOME=str(tmp_path), XDG_STATE_HOME=str(home / ".local/state")
    ).json
    assert (done.status, row["files"]) == (0, 1)
    assert "empty" not in done.err


def test_what_a_client_deletes_and_what_cannot_be_read_is_named(workspace: Workspace, home: Path) -> None:
    old, new = session(home, "old", 1), session(home, "new", 2)
    os.utime(old, (time.time() - 27.5 * 86_400,) * 2)
    os.utime(new, (time.time() - 3 * 86_400,) * 2)
    (home / ".openclaw" / "agents" / "main").mkdir(parents=True)
    at = ("-w", workspace.root)
    deletes = "Claude Code deletes 1 of these sessions within 3 days: `cleanupPeriodDays`"
    here = "OpenClaw is here; none of its sessions could be read"
    shown = dream("sources", *at).out
    assert deletes in shown
    assert here in shown
    for printed in (dream("status", *at).out, dream("nightly", *at).err):
        told = " ".join(printed.split())
        assert f"2 sessions of Claude Code are not read (`dream sources add claude-code`); {deletes}" in told
        assert here in told
    dream("sources", "add", "claude-code", *at)
    dream("nightly", *at)
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 9}')
    assert "Claude Code" not in dream("status", *at).out
    dream("sources", "remove", "claude-code", *at)
    assert "Claude Code" not in dream("status", *at).out
