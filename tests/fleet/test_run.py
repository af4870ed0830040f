"""`dream fleet run`: every workspace with something new has its night, once, whatever happens."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.fleet import places
from dream.fleet.places import FOLDER, Note, Root
from dream.models import Usage
from dream.workspace.lock import run_lock
from dream.workspace.runs import Bills
from tests.cli.commands import Ended, command, environment
from tests.fleet.fleets import dreams, workspace
from tests.provider import Provider, text


def fleet(*arguments: object, **more: str) -> Ended:
    """Run `dream fleet` as a process of its own: it has a forkserver, and the tests' server is one itself."""
    line = command("fleet", *arguments)
    done = subprocess.run(line, capture_output=True, text=True, env=environment(more), timeout=120, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def test_every_workspace_with_something_new_has_its_night_and_the_next_run_finds_nothing(tmp_path: Path) -> None:
    first = workspace(tmp_path, "alice", "I live in Paris.")
    second = workspace(tmp_path, "bob/work", "I am allergic to peanuts.")
    workspace(tmp_path, "carol")

    ran = fleet("run", tmp_path, "--json")
    again = fleet("run", tmp_path)

    assert (ran.status, again.status) == (0, 0), ran.err
    assert {"workspaces": 3, "nights": 2, "outcomes": {"committed": 2}}.items() <= ran.json.items()
    assert "Paris" in first.read_file("USER.md")
    assert "peanuts" in second.read_file("USER.md")
    assert again.out.startswith("3 workspaces: nothing new;")


def test_a_workspace_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    good = workspace(tmp_path, "good", "I live in Paris.")
    bad = workspace(tmp_path, "bad", "I live in Rome.")
    (bad.root / "dream.toml").write_text("modle = 'x'\n")

    ran = fleet("run", tmp_path)
    told = fleet("status", tmp_path, "--json").json

    assert ran.status == 1
    assert "failed: bad" in ran.err
    assert "Unknown setting 'modle'" in ran.out
    assert "Paris" in good.read_file("USER.md")
    assert [(one["workspace"], one["nights"]) for one in told["failed"]] == [("bad", 1)]
    assert "modle" in told["failed"][0]["reason"]


def test_a_workspace_that_failed_three_nights_is_set_aside_until_its_settings_change(tmp_path: Path) -> None:
    bad = workspace(tmp_path, "bad", "I live in Rome.")
    (bad.root / "dream.toml").write_text("modle = 'x'\n")
    days = ("2026-11-17", "2026-11-18", "2026-11-19")
    note = Note(outcome="failed", failed=days, settings=places.settings_look(bad.root, os.environ))
    places.write(bad.root, note)

    ran = fleet("run", tmp_path)
    (bad.root / "dream.toml").write_text("model = 'embedded'\n")
    mended = fleet("run", tmp_path)

    assert ran.status == 0
    assert "set aside: bad" in ran.err
    assert mended.status == 0
    assert len(dreams(bad)) == 1
    assert (places.read(bad.root) or Note()).failed == ()


def test_a_run_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"w{number}", f"My cat is called Mimi{number}.") for number in range(5)]
    first = subprocess.Popen(command("fleet", "run", tmp_path, "-j", "2"), env=environment(), stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()  # one is done, others run
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()

    ran = fleet("run", tmp_path)

    assert ran.status == 0, ran.err
    assert [len(dreams(one)) for one in made] == [1] * 5
    assert all(one.read_file("USER.md").count("Mimi") == 1 for one in made)


@pytest.mark.long
def test_a_run_that_is_stopped_ends_between_steps_and_the_next_goes_on(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"w{number}", f"My cat is called Mimi{number}.") for number in range(4)]
    first = subprocess.Popen(command("fleet", "run", tmp_path, "-j", "1"), env=environment(), stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()
    first.terminate()
    rest = first.stdout.read().decode()
    first.stdout.close()

    assert first.wait(60) == 1
    assert "4 workspaces" in rest
    assert fleet("run", tmp_path).status == 0
    assert [len(dreams(one)) for one in made] == [1] * 4


def test_a_damaged_database_is_made_anew(tmp_path: Path) -> None:
    made = workspace(tmp_path, "alice", "I live in Paris.")
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "fleet.sqlite").write_bytes(b"no database at all" * 100)

    assert fleet("run", tmp_path).status == 0
    assert len(dreams(made)) == 1


def test_what_a_tenant_spent_is_the_sum_of_its_workspaces_own_bills(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"alice/w{number}", "I live in Paris.") for number in range(2)]
    other = workspace(tmp_path, "bob", "I live in Rome.")
    (other.root / "dream.toml").write_text("tenant = 'carol'\n")
    fleet("run", tmp_path)

    told = {one["tenant"]: one for one in fleet("status", tmp_path, "--json").json["tenants"]}

    now = datetime.now(UTC)
    bills = [Bills(one.private).spent(now, UTC).today for one in made]
    assert set(told) == {"alice", "carol"}
    assert told["alice"]["today"]["input_tokens"] == sum(bill.input_tokens for bill in bills) > 0
    assert told["alice"]["month"]["output_tokens"] == sum(bill.output_tokens for bill in bills) > 0
    assert told["alice"]["nights_today"] == 2


def test_nothing_that_was_said_is_in_the_database_in_another_workspace_or_on_the_screen(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"w{number}", f"My bank is called Canary{number}x.") for number in range(4)]

    ran = fleet("run", tmp_path, "-j", "4")

    database = (tmp_path / FOLDER / "fleet.sqlite").read_bytes()
    assert b'"w0"' in database  # it is readable: paths, shas, counts
    assert "Canary" not in ran.out + ran.err
    assert b"Canary" not in database
    for number, one in enumerate(made):
        held = {word for word in ("Canary0x", "Canary1x", "Canary2x", "Canary3x") if _holds(one.root, word)}
        assert held == {f"Canary{number}x"}


def test_a_tenant_is_erased_with_every_trace_and_a_receipt_stays(tmp_path: Path) -> None:
    gone = workspace(tmp_path, "zebrafish/work", "My bank is called Canary.")
    workspace(tmp_path, "bob", "I live in Rome.")
    fleet("run", tmp_path)

    with run_lock(gone.private):
        assert fleet("erase", "zebrafish", tmp_path).status == 4
    dry = fleet("erase", "zebrafish", tmp_path, "--dry-run", "--json")
    assert gone.root.is_dir()
    done = fleet("erase", "zebrafish", tmp_path, "--json")
    again = fleet("erase", "zebrafish", tmp_path)

    assert dry.json["files"] == done.json["files"] > 0
    assert (done.status, again.status) == (0, 2)
    assert not (tmp_path / "zebrafish").exists()
    assert not _holds(tmp_path, "zebrafish")
    assert not _holds(tmp_path, "Canary")
    assert len(list((tmp_path / FOLDER / "receipts").iterdir())) == 1
    with sqlite3.connect(tmp_path / FOLDER / "fleet.sqlite") as database:
        assert database.execute("SELECT count(*) FROM workflow_status").fetchone() == (1,)
    database.close()


def test_without_its_extra_the_fleet_says_how_to_install_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['dbos'] = None; from dream.cli import main; main()"
    line = [sys.executable, "-c", code, "fleet", "run", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("dream: The fleet needs its extra: pip install 'dream-memory[fleet]'")


def test_a_schedule_puts_each_night_once_and_a_worker_has_it(tmp_path: Path) -> None:
    made = [workspace(tmp_path / "agents", f"w{number}", "I live in Paris.") for number in range(2)]
    idle = workspace(tmp_path / "agents", "idle")
    for one in (*made, idle):
        places.write(one.root, Note(at="2026-11-01T00:00:00+00:00"))  # its last night: long ago, so one was missed
    shared = ("--root", f"all={tmp_path / 'agents'}", "--database", f"sqlite:///{tmp_path / 'fleet.sqlite'}")

    put = [fleet("schedule", *shared, "--once").out for _ in range(2)]
    worker = subprocess.Popen(command("fleet", "worker", *shared), env=environment(), stdout=subprocess.PIPE)
    assert worker.stdout is not None
    lines = [worker.stdout.readline().decode() for _ in range(3)]
    worker.terminate()
    worker.stdout.close()

    assert "3 workspaces, 3 nights put" in put[0]
    assert "3 workspaces, 0 nights put" in put[1]
    assert sorted(line.split()[3].strip(";") for line in lines) == ["committed", "committed", "nothing"]
    assert worker.wait(60) == 0
    assert [len(dreams(one)) for one in made] == [1, 1]


@pytest.mark.long
def test_a_tenant_that_has_spent_its_day_waits_and_the_others_dream(tmp_path: Path, provider: Provider) -> None:
    spent, other = workspace(tmp_path, "alice", "I live in Paris."), workspace(tmp_path, "bob", "I live in Rome.")
    Bills(spent.private).add("openai/scripted", Usage(1, 900_000, 0, 0.0), datetime.now(UTC))
    provider.script(text("[USER] lives in a city {1}"))
    model = ("-m", "openai/scripted", "--set", f"api_base={provider.base}", "--set", "api_key=x")

    ran = fleet("run", tmp_path, *model, "--set", "phase2_model=embedded", "--tenant-tokens", "900000", "--json")

    assert (ran.status, ran.json["outcomes"]) == (0, {"bounded": 1, "committed": 1}), ran.err
    assert len(provider.requests) == 1
    assert [len(dreams(spent)), len(dreams(other))] == [0, 1]


@pytest.mark.long
def test_a_night_whose_process_dies_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    bad, good = workspace(tmp_path, "bad", "I live in Rome."), workspace(tmp_path, "good", "I live in Paris.")
    (bad.root / "dream.toml").write_text("on_change = 'sh -c \"kill -SEGV $PPID\"'\n")
    bad.trust()

    ran = fleet("run", tmp_path)

    assert ran.status == 1
    assert "bad  crashed: its process ended with -11" in ran.out
    assert (places.read(bad.root) or Note()).outcome == "crashed"
    assert len(dreams(good)) == 1


def test_a_database_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    done = fleet("status", tmp_path, "--database", "postgresql://dream:secret@127.0.0.1:9/dream", "--json")

    assert done.status == 1
    assert done.json["reason"].startswith("The fleet's database cannot be used: ")
    assert done.err.count("\n") == 1
    assert "secret" not in done.out + done.err


@pytest.mark.long
def test_two_runs_at_once_share_the_nights(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"w{number}", f"My cat is called Mimi{number}.") for number in range(4)]
    runs = [subprocess.Popen(command("fleet", "run", tmp_path, "-j", "1"), env=environment()) for _ in range(2)]
    assert [run.wait(90) for run in runs] == [0, 0]
    assert [len(dreams(one)) for one in made] == [1] * 4


def test_what_says_that_there_is_something_new(tmp_path: Path) -> None:
    made = workspace(tmp_path, "alice", "I live in Paris.")
    sources = made.root / "said"
    sources.mkdir()
    (made.root / "dream.toml").write_text("sources = ['said']\n")
    fleet("run", tmp_path)
    place = next(places.beneath(Root("r", tmp_path)))

    def is_new() -> bool:
        return places.news(place, places.read(place.path), datetime.now(UTC), os.environ)

    assert not is_new()
    (sources / "talk.txt").write_text("User: hello\n")
    assert is_new()
    (sources / "talk.txt").unlink()
    assert not is_new()
    before = (made.root / "USER.md").read_text()
    (made.root / "USER.md").write_text(before + "- edited\n")
    assert is_new()


def _holds(folder: Path, word: str) -> bool:
    """Return whether any file holds the word, or is called so; git's objects are looked into too."""
    files = list(folder.rglob("*"))
    return any(word in path.name or (path.is_file() and word.encode() in path.read_bytes()) for path in files)
