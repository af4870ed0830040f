"""Where something was said is stamped when a transcript is read, and stays known in places/places.toml."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dream.directory import Workspace
from tests.cli.commands import dream
from tests.transcripts.reading import lines
from tests.transcripts.test_clients import openclaw


@pytest.fixture
def root(tmp_path: Path) -> Path:
    dream("init", tmp_path / "ws")
    return tmp_path / "ws"


def row(number: int, said: str, cwd: Path | str, kind: str = "user", session: str = "s1") -> dict[str, Any]:
    about = {"uuid": f"{number:08}-7c1b-4f9e-9f52-aaaaaaaaaaaa", "sessionId": session, "cwd": str(cwd)}
    return {"type": kind, "timestamp": f"2026-11-18T09:{number:02}:00Z", "message": {"content": said}} | about


def places(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "places" / "places.toml").read_text(encoding="utf-8"))


def entries(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "memory" / "history.jsonl").read_text(encoding="utf-8").splitlines()]


def git(folder: Path, *words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=folder, check=True, capture_output=True
    )


def test_an_entry_holds_the_project_and_is_cut_where_it_changes(root: Path, home: Path, tmp_path: Path) -> None:
    crumb, tree = home / "work" / "Crumb", home / "trees" / "crumb-fix"
    git(crumb, "init", "-q")
    git(crumb, "commit", "-q", "--allow-empty", "-m", "first")
    git(crumb, "remote", "add", "origin", "https://lena:hunter2@GitHub.com/lena/crumb.git")
    git(crumb, "worktree", "add", "-q", str(tree))
    (crumb / "src").mkdir()
    other = home / "other" / "crumb"
    other.mkdir(parents=True)
    said = [
        row(1, "Always use tabs.", crumb),
        row(2, "Sure.", crumb, "assistant"),
        row(3, "Staging is at port 7391.", crumb / "src"),
        row(4, "Noted.", other, "assistant"),  # the turn began in Crumb
        row(5, "Four spaces here.", other),
        row(6, "I live in Graz.", home),
        row(7, "Mend it.", tree),
    ]
    dream("consolidate", lines(tmp_path / "a.jsonl", *said), "-w", root)

    known = {place["name"]: (key, place) for key, place in places(root).items()}
    assert {name: place["paths"] for name, (_, place) in known.items()} == {
        "crumb": [str(crumb)],
        "crumb-2": [str(other)],
    }
    assert known["crumb"][1]["remotes"] == ["github.com/lena/crumb"]
    ids = {None: None} | {key: name for name, (key, _) in known.items()}
    told = [(ids[entry.get("place")], entry["span"]) for entry in entries(root)]
    assert told == [("crumb", [0, 4]), ("crumb-2", [4, 5]), (None, [5, 6]), ("crumb", [6, 7])]
    kept = (root / "memory" / "messages").glob("*.jsonl")
    said = [json.loads(line) for path in kept for line in path.read_text(encoding="utf-8").splitlines()]
    assert [ids[message.get("place")] for message in said] == [*["crumb"] * 4, "crumb-2", None, "crumb"]
    read = [entry.place for entry in Workspace.open(root).history.after(0)]
    assert read == [entry.get("place", "") for entry in entries(root)]


def test_what_only_points_at_a_project_is_not_that_project(root: Path, home: Path, tmp_path: Path) -> None:
    real, fake, gone = home / "real", home / "fake", home / "real" / "gone"
    git(real, "init", "-q")
    fake.mkdir()
    (fake / ".git").write_text(f"gitdir: {real / '.git'}\n")
    forged = home / "forged"
    (forged / "own").mkdir(parents=True)
    (forged / ".git").write_text("gitdir: own\n")
    (forged / "own" / "gitdir").write_text(f"{forged / '.git'}\n")
    (forged / "own" / "commondir").write_text(f"{real / '.git'}\n")
    said = [row(1, "I use tabs.", real), row(2, "I use spaces.", fake), row(3, "I use vim.", gone)]
    said.append(row(4, "Never use tabs.", forged))
    dream("consolidate", lines(tmp_path / "a.jsonl", *said), "-w", root)
    assert [place["paths"] for place in places(root).values()] == [[str(real)], [str(fake)], [str(forged)]]
    assert [entry["span"] for entry in entries(root)] == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert entries(root)[2]["place"] == entries(root)[0]["place"]


def test_a_group_is_a_place_and_a_talk_with_one_person_is_none(root: Path, tmp_path: Path) -> None:
    dream("consolidate", openclaw(tmp_path / "openclaw-agent.sqlite"), "-w", root)
    ((key, place),) = places(root).items()
    assert (place["name"], place["chats"]) == ("agent-main-chat-group-7", ["agent:main:chat:group:7"])
    assert {entry["session"]: entry.get("place") for entry in entries(root)} == {"pi:dm": None, "pi:group": key}


def test_the_file_may_be_edited_and_what_is_wrong_in_it_is_named(root: Path, home: Path, tmp_path: Path) -> None:
    dream("consolidate", lines(tmp_path / "a.jsonl", row(1, "I use tabs.", home / "crumb")), "-w", root)
    path = root / "places" / "places.toml"
    path.write_text("# mine\n" + path.read_text(encoding="utf-8").replace('"crumb"', '"Bakery"'), encoding="utf-8")
    dream("consolidate", lines(tmp_path / "b.jsonl", row(2, "I use vim.", home / "x", session="s2")), "-w", root)
    assert path.read_text(encoding="utf-8").startswith("# mine\n")
    assert [place["name"] for place in places(root).values()] == ["Bakery", "x"]
    path.write_text('[crumb]\nname = "../up"\n', encoding="utf-8")
    done = dream(
        "consolidate", lines(tmp_path / "c.jsonl", row(3, "I use nano.", home / "y", session="s3")), "-w", root
    )
    assert done.status == 1
    assert "places.toml: [crumb] is no place" in done.err
