"""Which chats are groups, which of them may see more, and where a live session's words belong."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import Dream, Session
from dream.directory import Workspace
from dream.errors import UsageError
from dream.settings import Settings
from dream.transcripts.formats.nanobot import GROUPS, group_of
from tests.cli.commands import dream
from tests.places.test_scope import GROUP, Agent
from tests.transcripts.reading import lines, read
from tests.transcripts.test_clients import openclaw

NOW = datetime(2026, 11, 18, 3, tzinfo=UTC)
SOUL = "# Soul\n\n## Rules\n- Answer in English\n\n## Private\n- Never mention my pregnancy\n"


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Workspace:
    dream("init", tmp_path / "ws")
    return Workspace.open(tmp_path / "ws")


@pytest.mark.parametrize("key", [example for _, example in GROUPS.values()])
def test_the_key_of_a_nanobot_session_tells_a_group(key: str) -> None:
    assert key.startswith(group_of(key))
    assert group_of(key) != ""


@pytest.mark.parametrize("key", ["telegram:4711", "slack:D024BE91L", "whatsapp:4366@s.whatsapp.net", "cli:direct", "x"])
def test_the_key_of_one_person_s_nanobot_session_tells_none(key: str) -> None:
    assert group_of(key) == ""


def nanobot(path: Path, key: str, said: str) -> Path:
    row = {"role": "user", "content": said, "timestamp": "2026-11-17T09:00:00"}
    return lines(path, {"_type": "metadata", "key": key, "metadata": {}}, row)


def test_a_group_of_nanobot_has_memory_of_its_own_and_nobody_there_is_the_user(
    workspace: Workspace, tmp_path: Path
) -> None:
    group = nanobot(tmp_path / "a.jsonl", "telegram:-100883:topic:5", "Our staging server listens on port 7391.")
    alone = nanobot(tmp_path / "b.jsonl", "telegram:4711", "I live in Graz.")
    (pair,), _ = read(group)
    assert (pair[1].chat, pair[1].name) == ("telegram:-100883", "somebody")
    for path in (group, alone):
        dream("consolidate", path, "-w", workspace.root)
    assert dream("run", "-w", workspace.root).status == 0
    (place,) = workspace.places().all()
    assert place.chats == ("telegram:-100883",)
    assert "7391" in workspace.read_file(place.files[1])
    assert "7391" not in workspace.read_file("memory/MEMORY.md") + workspace.read_file("USER.md")
    given = dream("context", "--chat", "telegram:-100883", "-w", workspace.root).out
    assert ("7391" in given, "Graz" in given) == (True, False)


def test_what_nanobot_wrote_into_history_itself_belongs_to_its_group(workspace: Workspace) -> None:
    row = {"cursor": 1, "timestamp": "2026-11-17 09:00", "content": "- Staging listens on port 7391"}
    path = workspace.root / "memory" / "history.jsonl"
    path.write_text(json.dumps(row | {"session_key": "telegram:-100883"}) + "\n", encoding="utf-8")
    dream("run", "-w", workspace.root)
    (place,) = workspace.places().all()
    assert place.chats == ("telegram:-100883",)
    assert "7391" not in workspace.read_file("memory/MEMORY.md")


def test_a_group_of_openclaw_s_session_files_is_one(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("s-1", "s-2"):
        said = {"role": "user", "content": [{"type": "text", "text": f"Hello from {name}."}]}
        header = {"type": "session", "id": name, "timestamp": "2026-11-17T09:00:00Z", "cwd": str(folder)}
        message = {
            "type": "message",
            "id": "e1",
            "parentId": None,
            "timestamp": "2026-11-17T09:00:01Z",
            "message": said,
        }
        lines(folder / f"{name}.jsonl", header, message)
    store = {"agent:main:main": {"sessionId": "s-1"}, "agent:main:telegram:group:-17:topic:2": {"sessionId": "s-2"}}
    (folder / "sessions.json").write_text(json.dumps(store), encoding="utf-8")
    told = {name: read(folder / f"{name}.jsonl")[0][0][1] for name in ("s-1", "s-2")}
    assert [(one.chat, one.name) for one in told.values()] == [
        ("", None),
        ("agent:main:telegram:group:-17", "somebody"),
    ]


def test_a_trusted_group_is_given_what_holds_everywhere_but_no_private_rule_nor_other_places(
    workspace: Workspace, tmp_path: Path
) -> None:
    agent = Agent(workspace, tmp_path)
    agent.hears("Staging is at port 7391.", at="alpha")
    agent.dreams("[MEMORY/Facts] Staging is at port 7391 {1}")
    (workspace.root / "SOUL.md").write_text(SOUL, encoding="utf-8")
    (workspace.root / "USER.md").write_text("# User\n\n## Person\n- Lives in Graz\n", encoding="utf-8")
    assert dream("places", "group", GROUP, "-w", workspace.root).status == 0
    (name,) = [place.name for place in workspace.places().all() if place.is_group]

    def given() -> list[bool]:
        shown = dream("context", "--chat", GROUP, "-w", workspace.root).out
        hits = dream("search", "Graz pregnancy port", "--chat", GROUP, "--json", "-w", workspace.root).out
        return [word in shown + hits for word in ("English", "Graz", "pregnancy", "7391")]

    assert given() == [True, False, False, False]
    for named in (name, GROUP):
        (workspace.root / "dream.toml").write_text(f"trusted_groups = {[named]}\n", encoding="utf-8")
        assert given() == [True, True, False, False]
    (workspace.root / "dream.toml").write_text('trusted_groups = ["telegram:-1"]\n', encoding="utf-8")
    assert given() == [True, False, False, False]


def test_a_live_session_is_given_a_project_or_a_group_and_a_stopped_one_keeps_it(
    workspace: Workspace, home: Path
) -> None:
    session = Session("api:7", workspace.history, cwd=home / "work" / "crumb")
    session.add("user", "Always use tabs.")
    session.cwd, session.group = "", GROUP
    session.add("user", "Keep answers to three lines.", name="Ruiz")
    again = Session("api:7", workspace.history)
    with Dream(workspace, Settings()).consolidator() as consolidator:
        consolidator.archive(again, now=NOW + timedelta(days=1))
    places = workspace.places()
    told = [place.name if (place := places.named(one.place)) else "" for one in workspace.history.after(0)]
    assert told == ["crumb", "telegram-100883"]
    assert places.at(cwd=str(home / "work" / "crumb")) is not None


TALK = [
    ("Dov", "ok bot, ops channel. slipway listens on port 7391."),
    (None, "Noted."),
    ("Priscilla", "Always keep answers short."),
    ("Priscilla", "My sister's birthday is on 12 May."),
]


def openai(path: Path, *said: tuple[str | None, str], session: str = "ops", **more: str) -> Path:
    rows = [
        {"session_id": session, "id": f"m{at}", "role": "user" if name else "assistant", "content": text}
        | {"timestamp": f"2026-11-17T09:{at:02}:00Z"}
        | ({"name": name} if name else {})
        | more
        for at, (name, text) in enumerate(said)
    ]
    return lines(path, *rows)


def as_text(path: Path, *said: tuple[str | None, str]) -> Path:
    path.write_text("".join(f"**{name or 'Assistant'}:** {text}\n\n" for name, text in said), encoding="utf-8")
    return path


def as_one_user(path: Path, *said: tuple[str | None, str]) -> Path:
    """Write what a bot's bridge does that puts the sender before each text, and no name beside it."""
    rows = [
        {"role": "user" if name else "assistant", "content": f"{name}: {text}" if name else text} for name, text in said
    ]
    return lines(path, *rows)


@pytest.mark.parametrize("written", [openai, as_text, as_one_user])
def test_a_transcript_in_which_several_people_write_is_a_group_also_where_its_client_does_not_say_so(
    workspace: Workspace, tmp_path: Path, written: Callable[..., Path]
) -> None:
    path = written(tmp_path / "ops.jsonl", *TALK)
    done = dream("consolidate", path, "-w", workspace.root)
    (place,) = workspace.places().all()
    assert place.is_group
    assert f"Dov, Priscilla write here, so it is the group {place.name}" in " ".join(done.err.split())
    assert dream("run", "-w", workspace.root).status == 0
    soul = workspace.read_file(place.files[0])
    assert "## Members asked\n" in soul
    assert "Priscilla: Always keep answers short" in soul
    assert "7391" in workspace.read_file(place.files[1])
    rest = "".join(workspace.read_file(file) for file in ("SOUL.md", "USER.md", "memory/MEMORY.md"))
    assert not [word for word in ("7391", "short", "sister", "Priscilla") if word in rest]
    given = dream("context", "--chat", place.chats[0], "-w", workspace.root).out
    assert ("answers short" in given, "7391" in given) == (True, True)
    assert "7391" not in dream("context", "-w", workspace.root).out


def test_what_is_said_later_in_that_chat_is_the_group_s_too_whoever_writes(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "ops.jsonl"
    dream("consolidate", openai(path, *TALK[:2]), "-w", workspace.root)
    assert workspace.places().all() == ()  # one person and the agent
    for count in (3, 4):
        dream("consolidate", openai(path, *TALK[:count]), "-w", workspace.root)
    (place,) = workspace.places().all()
    assert [one.place for one in workspace.history.after(0)] == ["", place.id, place.id]


def test_a_chat_in_which_an_owner_writes_is_no_group_by_its_names(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "dream.toml").write_text('owners = ["dov"]\n', encoding="utf-8")
    dream("consolidate", openai(tmp_path / "ops.jsonl", *TALK), "-w", workspace.root)
    assert workspace.places().all() == ()
    (workspace.root / "dream.toml").write_text('owners = ["Lena"]\n', encoding="utf-8")
    dream("consolidate", openai(tmp_path / "other.jsonl", *TALK, session="other"), "-w", workspace.root)
    assert [place.is_group for place in workspace.places().all()] == [True]


def test_one_person_with_an_agent_or_with_programs_is_no_group(workspace: Workspace, tmp_path: Path) -> None:
    alone = [("Lena", "I live in Graz."), (None, "Hello."), ("Lena", "Answer in English.")]
    dream("consolidate", openai(tmp_path / "a.jsonl", *alone, session="a"), "-w", workspace.root)
    noted = [("user", "Note: I live in Graz."), ("user", "Todo: call Mina."), ("assistant", "Done.")]
    rows = [{"role": role, "content": text} for role, text in noted]
    dream("consolidate", lines(tmp_path / "b.jsonl", *rows), "-w", workspace.root)
    sent = [{"kind": kind} for kind in ("inter_session", "internal_system")]
    dream("consolidate", openclaw(tmp_path / "openclaw-agent.sqlite", sent), "-w", workspace.root)
    assert [place.chats for place in workspace.places().all()] == [("agent:main:chat:group:7",)]


def test_several_people_in_a_project_are_no_group(workspace: Workspace, tmp_path: Path, home: Path) -> None:
    session = Session("api:8", workspace.history, cwd=home / "work" / "crumb")
    for name, text in TALK:
        session.add("user" if name else "assistant", text, name=name)
    with Dream(workspace, Settings()).consolidator() as consolidator:
        consolidator.archive(session, now=NOW)
    assert [place.name for place in workspace.places().all()] == ["crumb"]


@pytest.mark.parametrize("key", ["telegram:-100883", "discord:1190"])
def test_a_row_of_nanobot_s_is_given_in_its_group_alone_before_it_is_dreamt_and_after(
    workspace: Workspace, key: str
) -> None:
    if key.startswith("discord"):
        dream("places", "group", key, "-w", workspace.root)
    told = {key: "Staging listens on port 7391", "telegram:4711": "The garage opens at 7 with code Bluebell"}
    rows = [
        {"cursor": cursor, "timestamp": "2026-11-17 09:00", "content": f"- {text}", "session_key": session}
        for cursor, (session, text) in enumerate(told.items(), 1)
    ]
    path = workspace.root / "memory" / "history.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")

    def given(chat: str = "") -> tuple[bool, bool]:
        shown = dream("context", *(("--chat", chat) if chat else ()), "-w", workspace.root).out
        found = workspace.search("staging port garage", place=workspace.places().scope(chat=chat))
        hits = " ".join(hit.text for hit in found)
        assert ("7391" in shown, "Bluebell" in shown) == ("7391" in hits, "Bluebell" in hits)
        return "7391" in shown, "Bluebell" in shown

    for _ in range(2):
        assert given() == (False, True)
        assert given("telegram:-100884") == (False, False)
        assert given(key) == (True, False)
        with pytest.raises(UsageError, match="of another place"):
            workspace.get("history:1", everywhere=False)
        dream("run", "-w", workspace.root)
    assert "7391" not in workspace.read_file("memory/MEMORY.md")
