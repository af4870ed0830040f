"""What is read of what a person names, and what is said of the rest."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import pytest

from dream.directory import Workspace
from tests.cli.commands import dream
from tests.sources.test_incremental import row
from tests.transcripts.reading import sample

OLD = time.time() - 86_400


def write(path: Path, text: str, at: float = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def chat(*said: str) -> str:
    return json.dumps([{"role": "user", "content": text} for text in said])


def said(root: Path) -> list[str]:
    return [entry.content for entry in Workspace.open(root).history.after(0)]


@pytest.fixture
def projects() -> Path:
    return Path.home() / ".claude" / "projects" / "-home-lena"


def test_a_first_night_says_what_waits_and_why(fresh: Path, projects: Path) -> None:
    dream("sources", "add", "claude-code", "-w", fresh)
    for name in ("one", "two"):
        write(projects / f"{name}.jsonl", row(1, name), time.time())

    waits = "2 transcripts wait, they were written to within the last 2 hours (idle_hours)"
    assert f"nothing new; {waits}" in dream("nightly", "-w", fresh).out
    assert dream("consolidate", "--json", "-w", fresh).json["reason"] == f"nothing new; {waits}"
    write(projects / "one.jsonl", row(1, "one"))
    assert "1 transcript waits, it was written" in dream("consolidate", "-w", fresh).out
    write(projects / "two.jsonl", row(1, "two"))
    assert "read 1 message" in dream("nightly", "-w", fresh).out


def test_a_session_of_a_sub_agent_is_left_out_and_said_to_be_silent(fresh: Path, projects: Path) -> None:
    side = row(1, "two").replace('"type": "user"', '"type": "user", "isSidechain": true')
    write(projects / "two.jsonl", side)

    done = dream("consolidate", projects, "-w", fresh)

    assert done.out == "Nothing new; 1 transcript holds nothing that a person and an agent said.\n"


def test_what_lies_among_transcripts_and_is_none_is_told_in_one_line(fresh: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "chats" / "chat.json", chat("I moved to Oslo.")).parent
    for number in range(5):
        write(folder / f"package{number}.json", '{"name": "x"}')

    done = dream("consolidate", folder, "-w", fresh)

    names = "package0.json, package1.json, package2.json and 2 more"
    assert done.err == f"dream: {folder}: 5 files are no transcripts: {names}\n"
    assert (done.status, len(said(fresh))) == (0, 1)


def test_a_path_that_is_not_there_is_no_fault_of_the_workspace(fresh: Path, tmp_path: Path) -> None:
    assert dream("consolidate", tmp_path / "nosuch", "-w", fresh).status == 1

    assert dream("status", "--check", "-w", fresh).status == 0


def test_an_agent_can_be_named_where_a_path_can_and_one_that_is_not_here_is_no_failure(
    fresh: Path, projects: Path
) -> None:
    write(projects / "one.jsonl", row(1, "one"), time.time())

    assert "Appended entry 1" in dream("consolidate", "claude-code", "-w", fresh).out
    done = dream("consolidate", "codex", "-w", fresh)
    assert (done.status, done.out) == (0, "No transcripts of codex on this machine; name the path of some.\n")


def test_standard_input_is_read_and_a_session_that_goes_on_there_is_known(fresh: Path) -> None:
    first, more = chat("I moved to Oslo."), chat("I moved to Oslo.", "I have a dog named Rex.")

    assert "from 1 message" in dream("consolidate", "-", "-w", fresh, stdin=first).out
    assert "from 1 message" in dream("consolidate", "-", "-w", fresh, stdin=more).out
    assert dream("consolidate", "-", "-w", fresh, stdin=more).out.startswith("Nothing new")
    assert len(said(fresh)) == 2
    assert not list((fresh / ".dream").glob("*stdin*"))


def test_standard_input_that_is_no_transcript_is_named_as_such(fresh: Path) -> None:
    done = dream("consolidate", "-", "-w", fresh, stdin="")

    assert (done.status, done.err) == (1, "dream: Standard input is empty; there is nothing to read in it.\n")
    assert dream("status", "--check", "-w", fresh).status == 0


@pytest.mark.slow
def test_a_note_comes_through_a_pipe(fresh: Path) -> None:
    assert dream("note", "-w", fresh, stdin="I like trains\n").out.startswith("Noted as entry 1")
    assert said(fresh) == ["I like trains"]
    assert dream("note", "-w", fresh, stdin="").status == 2


@pytest.mark.skipif(importlib.util.find_spec("trajectory") is not None, reason="the extra is installed")
def test_a_format_without_its_reader_is_told_when_it_is_added_and_read_when_it_is_there(fresh: Path) -> None:
    text = sample("droid").read_text(encoding="utf-8")
    folder = Path.home() / ".factory" / "sessions" / "proj"
    for name in ("a", "b"):
        write(folder / f"{name}.jsonl", text)
    needs = "agent-trajectory`"

    added = dream("sources", "add", "droid", "-w", fresh)
    assert (added.status, added.out) == (0, "Added droid: 2 files so far.\n")
    assert "droid is skipped for now" in added.err
    assert needs in added.err
    assert str(sys.executable) in added.err  # the command reaches this installation
    write(Path.home() / "chat.json", chat("I moved to Oslo."))
    for _ in range(2):  # once the reader is there, they have to be read: nobody takes them for seen
        done = dream("consolidate", folder, Path.home() / "chat.json", "-w", fresh)
        assert "Droid: 2 transcripts are passed over, which need" in done.err


def test_a_transcript_in_which_no_user_is_heard_is_told_by_the_night_and_by_status(fresh: Path) -> None:
    rows = [
        {"type": "user.prompt", "data": {"content": "of a version to come"}},
        {"type": "assistant.message", "data": {"content": "Noted."}},
    ]
    path = Path.home() / ".copilot" / "session-state" / "s1" / "events.jsonl"
    write(path, "".join(json.dumps(row) + "\n" for row in rows))
    assert dream("sources", "add", "copilot-cli", "-w", fresh).status == 0

    done = dream("nightly", "-w", fresh)

    assert "none of the user's was read" in done.err
    told = " ".join(dream("status", "-w", fresh).out.split())
    assert f"nothing of the user's was read in {path}" in told


def test_a_json_file_that_ends_in_its_middle_is_read_so_far_and_fails(tmp_path: Path) -> None:
    root, chat = tmp_path / "ws", tmp_path / "chat.json"
    dream("init", root)
    chat.write_text('{"messages": [{"role": "user", "content": "I live in Rome"}], "title": "', encoding="utf-8")

    done = dream("consolidate", chat, "-w", root)

    assert (done.status, "Appended entry 1" in done.out) == (1, True)
    assert "The file ends in the middle of its JSON" in done.err
