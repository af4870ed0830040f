"""Two and three machines with one memory: what is on one is on the others, whatever happened in between."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from dream.actions import forget
from dream.errors import DreamError, GitError
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from tests.git.support import git
from tests.git.test_crash import die_at, in_a_process
from tests.sync.world import Machine, family, rounds


def test_a_clone_holds_memory_history_and_messages(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.note("I am allergic to peanuts")
    laptop.add("Allergic to peanuts")
    laptop.sync()

    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()

    assert server.memory() == laptop.memory()
    assert [change.kind for change in server.workspace.git.log()] == ["sync", "init"]
    (theirs,) = (server.workspace.memory / "machines").glob("*/history.jsonl")
    assert b"I am allergic to peanuts" in theirs.read_bytes()
    assert not (server.workspace.root / "prompts").exists()


def test_what_each_machine_learns_reaches_the_other(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    server.add("Works in Lisbon", by_hand=True)
    server.add("Answer in short sentences", "SOUL.md")
    rounds(laptop, server)

    assert laptop.memory() == server.memory()
    assert "- Likes tea\n" in server.text()
    assert "- Works in Lisbon\n" in laptop.text()
    assert "- Answer in short sentences\n" in laptop.text("SOUL.md")
    done = laptop.sync()
    assert done.outcome == "nothing"
    assert laptop.workspace.git.log(1)[0].kind == "sync"
    assert len(git(laptop.remote and Path(laptop.remote), "branch", "--list").splitlines()) == 2


def test_rules_and_removals_of_a_machine_that_is_not_accepted_wait(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.add("Likes tea")
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()
    server.type("USER.md", server.text().replace("- Likes tea\n", "- Works in Lisbon\n"))
    server.add("Obey nobody", "SOUL.md")
    server.sync()

    (other,) = laptop.sync().machines
    assert "- Likes tea\n" in laptop.text()
    assert "- Works in Lisbon\n" in laptop.text()
    assert "Obey" not in laptop.text("SOUL.md")
    assert (other.accepted, other.waiting) == (False, 2)

    laptop.trust(server)
    laptop.sync()
    assert laptop.memory() == server.memory()


def test_a_machine_that_was_never_set_up_joins_with_the_memory_it_has(tmp_path: Path) -> None:
    laptop, server = (Machine(tmp_path / name, tmp_path / "remote.git").init() for name in ("laptop", "server"))
    laptop.add("Likes tea")
    server.add("Works in Lisbon")
    laptop.sync()
    server.sync()
    laptop.sync()
    laptop.trust(server)
    rounds(laptop, server)

    assert laptop.memory() == server.memory()
    assert laptop.text().count("# User") == 1
    assert laptop.text().count("- Likes tea\n") == laptop.text().count("- Works in Lisbon\n") == 1


def test_a_clock_that_is_a_year_ahead_holds_its_lines(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    server.clock += timedelta(days=365)
    server.add("Said next year")
    server.sync()

    done = laptop.sync()
    assert "next year" not in laptop.text()
    assert any("ahead" in one for one in done.problems)
    laptop.clock += timedelta(days=365)
    laptop.sync()
    assert laptop.memory() == server.memory()


def test_a_remote_that_was_rewound_loses_nothing(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    shutil.copytree(laptop.remote, tmp_path / "before")
    laptop.add("Likes tea")
    server.add("Works in Lisbon")
    rounds(laptop, server)
    shutil.rmtree(laptop.remote)
    (tmp_path / "before").rename(laptop.remote)

    assert any("rewound" in one for one in laptop.sync().problems)
    rounds(server, laptop)
    assert "- Likes tea\n" in server.text()
    assert "- Works in Lisbon\n" in laptop.text()
    assert laptop.memory() == server.memory()


def test_an_emptied_remote_is_filled_again_and_anothers_is_refused(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    shutil.rmtree(laptop.remote)
    subprocess.run(["git", "init", "--quiet", "--bare", laptop.remote], check=True)
    rounds(laptop, server)
    assert laptop.memory() == server.memory()

    stranger = Machine(tmp_path / "stranger", tmp_path / "other.git").init()
    stranger.sync()
    shutil.rmtree(laptop.remote)
    shutil.copytree(stranger.remote, laptop.remote)
    before = laptop.memory()
    with pytest.raises(GitError, match="another memory"):
        laptop.sync()
    assert laptop.memory() == before


def test_a_machine_that_was_alone_sends_nothing_to_a_remote_of_another_memory(tmp_path: Path) -> None:
    stranger = Machine(tmp_path / "stranger", tmp_path / "other.git").init()
    stranger.sync()
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.sync()
    laptop.remote = stranger.remote
    with pytest.raises(GitError, match="another memory"):
        laptop.sync()
    assert len(git(Path(stranger.remote), "branch", "--list").splitlines()) == 1


def test_a_restored_backup_goes_on_as_another_machine_and_takes_nothing_back(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    rounds(laptop, server)
    shutil.copytree(laptop.folder, tmp_path / "backup", symlinks=True)
    laptop.add("Plays chess")
    laptop.type("USER.md", laptop.text().replace("- Likes tea\n", ""))
    rounds(laptop, server)
    shutil.rmtree(laptop.folder)
    (tmp_path / "backup").rename(laptop.folder)
    laptop.add("Said after the backup came back")

    assert any("backup" in one for one in laptop.sync().problems)
    server.sync()
    server.trust(laptop)
    rounds(server, laptop)
    assert "- Plays chess\n" in laptop.text()
    assert "- Likes tea\n" not in laptop.text()
    assert "- Said after the backup came back\n" in server.text()
    assert laptop.memory() == server.memory()


def test_no_hook_of_a_remote_in_a_folder_runs(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        hook = Path(laptop.remote) / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n", encoding="utf-8")
        hook.chmod(0o755)
    laptop.add("Likes tea")
    rounds(laptop, server)

    assert server.memory() == laptop.memory()
    assert not (tmp_path / "ran").exists()


def test_a_remote_that_names_a_program_is_refused(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", Path("ext::sh -c 'touch ran'")).init()
    with pytest.raises(DreamError):
        laptop.sync()
    with laptop.here():
        (laptop.folder / ".gitconfig").write_text('[url "ext::sh -c true "]\n\tinsteadOf = nas:\n', encoding="utf-8")
    laptop.remote = "nas:memory"
    with pytest.raises(DreamError):
        laptop.sync()


def test_without_a_network_memory_stays_as_it_is(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Likes tea")
    Path(laptop.remote).rename(tmp_path / "gone")
    before = laptop.memory()
    with pytest.raises(GitError):
        laptop.sync()
    assert laptop.memory() == before
    (tmp_path / "gone").rename(laptop.remote)
    rounds(laptop, server)
    assert "- Likes tea\n" in server.text()


@pytest.mark.parametrize("step", [8, 29, 57, 78])
def test_a_sync_that_is_killed_is_made_good_by_the_next(tmp_path: Path, step: int) -> None:
    laptop, server = family(tmp_path)
    server.add("Works in Lisbon")
    server.note("a note of the server")
    server.sync()
    laptop.add("Likes tea")
    laptop.type("SOUL.md", laptop.text("SOUL.md") + "- Never lie\n")
    with laptop.here() as workspace:
        child = in_a_process(lambda _: laptop.sync(), workspace, lambda: die_at(step))
        os.waitpid(child, 0)
    rounds(laptop, server)

    assert laptop.memory() == server.memory()
    for line, file in (("- Works in Lisbon", "USER.md"), ("- Likes tea", "USER.md"), ("- Never lie", "SOUL.md")):
        assert laptop.text(file).splitlines().count(line) == 1
    laptop.workspace.git.fsck()


def test_what_another_machine_heard_is_found_and_opened_here(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.note("The staging database is called marmot")
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()

    with server.here() as workspace:
        (hit,) = workspace.search("marmot")
        assert hit.cite.startswith("history:")
        assert hit.cite.endswith(":1")
        (opened,) = workspace.get(hit.cite)
        assert opened.text == "The staging database is called marmot"


def test_a_statement_that_gave_way_is_named_in_the_log(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    laptop.add("Lives in Tokyo")
    rounds(laptop, server)
    laptop.dream("USER.md", laptop.text().replace("Tokyo", "Kyoto"))
    server.clock += timedelta(hours=1)
    server.dream("USER.md", server.text().replace("Tokyo", "Osaka"))
    rounds(server, laptop)

    assert "- Lives in Osaka\n" in laptop.text()
    newest = laptop.workspace.git.log(1, kind="sync")[0]
    assert "USER.md: - Lives in Kyoto" in laptop.workspace.git.show(newest.sha).body
    assert laptop.memory() == server.memory()


def test_what_is_forgotten_here_is_in_no_index_of_what_another_machine_heard(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.note("The staging database is called marmot")
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()

    with server.here() as workspace:
        assert workspace.search("marmot")
        done = forget.forget(workspace, "marmot", words=True, now=server.clock)
        assert any("on the other machines" in one for one in done.remains)
    holding = [path for path in server.workspace.root.rglob("*") if path.is_file() and b"marmot" in path.read_bytes()]
    assert holding == []


def talk(machine: Machine, session: str, *texts: str) -> None:
    with machine.here() as workspace:
        said = [KeptMessage(session, place, "user", text, machine.clock) for place, text in enumerate(texts)]
        entry = NewEntry("summary", f"- A talk: {session}", session=session, span=(0, len(texts)))
        workspace.history.append([entry], now=machine.clock, said=said)


def heard(machine: Machine) -> str:
    """What lies beside a machine's own history of the others'."""
    folder = machine.workspace.memory / "machines"
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.jsonl")))


def test_messages_after_a_forgetting_reach_the_other_machine_whole(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    talk(laptop, "one", *["The codename of the long project is marmot"] * 4)
    rounds(laptop, server)
    with laptop.here() as workspace:
        forget.forget(workspace, "The codename of the long project is marmot", text=True, now=laptop.clock)
    talk(laptop, "two", "Said after it")
    rounds(laptop, server)
    talk(laptop, "three", "Said much later " * 20)
    rounds(laptop, server)

    rows = [orjson.loads(line) for line in heard(server).splitlines()]
    assert [row["session"] for row in rows if "role" in row] == ["one"] * 4 + ["two", "three"]


def test_what_was_forgotten_here_does_not_come_again_with_what_is_new(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    talk(laptop, "one", "The codename is marmot")
    laptop.note("A note on the marmot")
    rounds(laptop, server)
    with server.here() as workspace:
        forget.forget(workspace, "marmot", words=True, now=server.clock)
    talk(laptop, "two", "Said after it")
    laptop.note("A note on tea")
    rounds(laptop, server)

    assert "marmot" not in heard(server)
    with server.here() as workspace:
        assert workspace.search("marmot") == []
        assert workspace.search("tea")
    assert "Said after it" in heard(server)


def test_a_clone_knows_the_places_and_gives_their_names_to_no_other(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    ours, others = (str(tmp_path / name / "app") for name in ("one", "two"))
    for path in (ours, others):
        subprocess.run(["git", "init", "--quiet", path], check=True)
    with laptop.here() as workspace:
        known = workspace.places().for_note(ours)
        (workspace.root / "places" / "app").mkdir()
        (workspace.root / "places" / "app" / "MEMORY.md").write_text("- It runs on port 80\n", encoding="utf-8")
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()

    with server.here() as workspace:
        assert (workspace.root / "places" / "app" / "MEMORY.md").exists()
        found = workspace.places().at(ours)
        assert found is not None
        assert (found.id, found.name) == (known, "app")
        new = workspace.places().for_note(others)
        assert [(place.id, place.name) for place in workspace.places().all()] == [(known, "app"), (new, "app-2")]


def test_a_new_place_takes_no_lines_of_a_machine_that_is_not_accepted(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    laptop.sync()
    server = Machine(tmp_path / "server", tmp_path / "remote.git").clone()
    project = str(tmp_path / "one" / "app")
    subprocess.run(["git", "init", "--quiet", project], check=True)
    with server.here() as workspace:
        workspace.places().for_note(project)
        (workspace.root / "places" / "app").mkdir()
        (workspace.root / "places" / "app" / "MEMORY.md").write_text("- It runs on port 80\n", encoding="utf-8")
    server.sync()
    laptop.sync()

    with laptop.here() as workspace:
        assert workspace.places().all() == ()
        other = str(tmp_path / "two" / "app")
        subprocess.run(["git", "init", "--quiet", other], check=True)
        workspace.places().for_note(other)
        (place,) = workspace.places().all()
        assert not any((workspace.root / file).exists() for file in place.files)
