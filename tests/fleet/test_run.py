"""`dream fleet run`: every workspace with something new has its night, once, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dream.directory import Workspace
from dream.fleet import members
from dream.fleet.engine import Queue
from dream.fleet.members import FOLDER, Note
from dream.fleet.news import Waiting
from dream.reports import Usage
from dream.workspace.bills import Bills
from dream.workspace.lock import run_lock
from tests.cli.commands import Ended, command, dream, environment
from tests.fleet.fleets import CANARY, NOW, dreams, member, workspace
from tests.forking import DREAM, Program
from tests.provider import Provider, text


def fleet(*arguments: object, **more: str) -> Ended:
    """Run `dream fleet` as a person does."""
    return dream("fleet", *arguments, **more)


@dataclass(frozen=True, slots=True)
class Night:
    """A fleet after its first night, which began with a file that is no database; tests look, and change nothing."""

    root: Path
    home: dict[str, str]
    ran: Ended

    def workspace(self, name: str) -> Workspace:
        return Workspace(self.root / name)

    def status(self) -> Any:
        return fleet("status", self.root, "--json", **self.home).json


WORKING = {
    "alice/w0": "My bank is called Canary0000x.",
    "alice/w1": "My cat is called Canary0001x.",
    "bob": "I live in Rome.",
    "dora": "I live in Paris.",
}


@cache
def _night(folder: Path) -> Night:
    """Have the night, in the home of the test that asks first."""
    for name, fact in WORKING.items():
        workspace(folder, name, fact)
    (folder / "bob" / "dream.toml").write_text("tenant = 'carol'\n")
    (folder / "dora" / "said").mkdir()
    (folder / "dora" / "dream.toml").write_text("sources = ['said']\n")
    workspace(folder, "idle")
    for name in ("bad", "aside"):
        (workspace(folder, name, "I live in Rome.").root / "dream.toml").write_text("modle = 'x'\n")
    days = ("2026-11-17", "2026-11-18", "2026-11-19")
    known = Note(outcome="failed", failed=days, settings=members.settings_look(folder / "aside", os.environ))
    members.write(member(folder, "aside"), known)
    (folder / FOLDER / "fleet.sqlite").write_bytes(b"no database at all" * 100)
    home = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME")}
    return Night(folder, home, fleet("run", folder, "-j", "4"))


@pytest.fixture(scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@pytest.fixture
def night(_folder: Path) -> Night:
    return _night(_folder)


def test_every_workspace_with_something_new_has_its_night(night: Night) -> None:
    assert "\n7 workspaces: 4 committed, 1 failed;" in night.ran.out
    for name, fact in WORKING.items():
        memory = night.workspace(name).read_file("USER.md") + night.workspace(name).read_file("memory/MEMORY.md")
        assert fact.split()[-1] in memory


def test_a_workspace_that_fails_is_named_and_the_others_go_on(night: Night) -> None:
    told = night.status()

    assert night.ran.status == 1
    assert "failed: bad" in night.ran.err
    assert "Unknown setting 'modle'" in night.ran.out
    assert [(one["workspace"], one["nights"]) for one in told["failed"]] == [("bad", 1)]
    assert "modle" in told["failed"][0]["reason"]
    assert {one["tenant"]: one["oldest"] for one in told["tenants"]}["bad"] == NOW.isoformat()


@pytest.mark.slow
def test_a_source_that_is_missing_is_named_where_a_failure_is_told(tmp_path: Path) -> None:
    root = workspace(tmp_path / "agents", "alice", "I live in Rome.").root
    (root / "told.py").write_text("import pathlib, sys; pathlib.Path('told.json').write_text(sys.stdin.read())")
    (root / "dream.toml").write_text(f"sources = ['nowhere.json']\non_failure = '{sys.executable} told.py'\n")

    ran = fleet("run", tmp_path / "agents")

    assert ran.status == 1
    assert "nowhere.json" in json.loads((root / "told.json").read_text())["reason"]
    assert "nowhere.json" in fleet("status", tmp_path / "agents", "--json").json["failed"][0]["reason"]


def test_an_agent_client_reads_no_tenant(tmp_path: Path) -> None:
    root = workspace(tmp_path / "agents", "alice", "I live in Rome.").root
    (root / "dream.toml").write_text("model = 'claude-code/haiku'\n")

    ran = fleet("run", tmp_path / "agents")

    assert (ran.status, "claude-code/haiku is refused in a fleet" in ran.out) == (1, True)


def test_a_workspace_that_failed_three_nights_is_set_aside(night: Night) -> None:
    assert "set aside: aside" in night.ran.err
    assert [(one["workspace"], one["nights"]) for one in night.status()["set_aside"]] == [("aside", 3)]


@pytest.mark.slow
def test_a_workspace_is_taken_up_again_when_its_settings_have_changed(tmp_path: Path) -> None:
    made = workspace(tmp_path, "aside", "I live in Rome.")
    days = ("2026-11-17", "2026-11-18", "2026-11-19")
    members.write(member(tmp_path, "aside"), Note(failed=days, settings=members.settings_look(made.root, os.environ)))

    before = fleet("run", tmp_path)
    (made.root / "dream.toml").write_text("model = 'embedded'\n")
    ran = fleet("run", tmp_path)
    (tmp_path / FOLDER / "fleet.sqlite").unlink()  # the notes know
    again = fleet("run", tmp_path)

    assert (before.out.partition(";")[0], before.status) == ("1 workspace: nothing new", 3)
    assert (ran.status, len(dreams(made)), members.read(member(tmp_path, "aside")).failed) == (0, 1, ())  # type: ignore[union-attr]
    assert again.out.startswith("1 workspace: nothing new;")


def test_what_a_tenant_spent_is_the_sum_of_its_workspaces_own_bills(night: Night) -> None:
    told = {one["tenant"]: one for one in night.status()["tenants"]}

    now = datetime.now(UTC)
    bills = [Bills(night.workspace(f"alice/w{number}").private).spent(now, UTC).today for number in range(2)]
    assert set(told) == {"alice", "carol", "dora", "idle", "bad", "aside"}
    assert told["alice"]["today"]["input_tokens"] == sum(bill.input_tokens for bill in bills) > 0
    assert told["alice"]["month"]["output_tokens"] == sum(bill.output_tokens for bill in bills) > 0
    assert told["alice"]["nights_today"] == 2


def test_nothing_that_was_said_is_in_the_database_in_another_workspace_or_on_the_screen(night: Night) -> None:
    database = (night.root / FOLDER / "fleet.sqlite").read_bytes()

    assert b'"alice/w0"' in database  # it is readable: paths, shas, counts
    assert "Canary" not in night.ran.out + night.ran.err
    assert b"Canary" not in database
    for number in range(2):
        files = [path for path in (night.root / f"alice/w{number}").rglob("*") if path.is_file()]
        found = {word for path in files for word in CANARY.findall(path.read_bytes())}
        assert found == {b"Canary%04dx" % number}


def test_a_tenant_is_erased_with_every_trace_and_a_receipt_stays(night: Night, tmp_path: Path) -> None:
    root = tmp_path / "fleet"
    shutil.copytree(night.root, root)
    (root / "alice").rename(root / "zebrafish")  # a word that no other file holds
    queue = Queue(f"sqlite:///{root / FOLDER / 'fleet.sqlite'}")
    assert queue.waiting() == {"success": 5}
    held = Waiting(member(root, "zebrafish/w0"), "zebrafish", "", "x")
    queue.put([held], NOW)
    queue.close()

    with run_lock(root / "zebrafish/w1/.dream"):
        assert fleet("erase", "zebrafish", root).status == 4
    dry = fleet("erase", "zebrafish", root, "--dry-run", "--json")
    assert (root / "zebrafish/w1").is_dir()
    done, again = fleet("erase", "zebrafish", root, "--json"), fleet("erase", "zebrafish", root)

    assert (done.status, again.status) == (0, 2)
    assert dry.json["files"] == done.json["files"] > 0
    for word in ("zebrafish", "Canary0001x"):
        assert not any(word in path.name or word.encode() in _bytes(path) for path in root.rglob("*"))
    assert len(list((root / FOLDER / "receipts").iterdir())) >= 1


def test_a_run_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    made = [workspace(tmp_path, f"w{number}", f"My cat is called Mimi{number}.") for number in range(3)]
    first = Program(DREAM, "fleet", "run", str(tmp_path), "-j", "1")
    first.stdout.readline()  # one is done, others run
    first.send_signal(signal.SIGKILL)
    first.communicate()

    ran = fleet("run", tmp_path)

    assert ran.status == 0, ran.err
    assert [len(dreams(one)) for one in made] == [1] * 3
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
        members.write(
            member(tmp_path / "agents", one.root.name), Note(at="2026-11-01T00:00:00+00:00")
        )  # its last night: long ago, so one was missed
    shared = ("--root", f"all={tmp_path / 'agents'}", "--database", f"sqlite:///{tmp_path / 'fleet.sqlite'}")

    put = [fleet("schedule", *shared, "--once").out for _ in range(2)]
    worker = Program(DREAM, "fleet", "worker", *shared, "-m", "embedded")
    lines = [worker.stdout.readline() for _ in range(3)]
    worker.send_signal(signal.SIGTERM)
    worker.communicate()

    assert "3 workspaces, 3 nights put" in put[0]
    assert "3 workspaces, 0 nights put" in put[1]
    assert sorted(line.split()[3].strip(";") for line in lines) == ["committed", "committed", "nothing"]
    assert worker.returncode == 0
    assert [len(dreams(one)) for one in made] == [1, 1]


@pytest.mark.long
def test_a_tenant_that_has_spent_its_day_waits_and_the_others_dream(tmp_path: Path, provider: Provider) -> None:
    spent, other = workspace(tmp_path, "alice", "I live in Paris."), workspace(tmp_path, "bob", "I live in Rome.")
    Bills(spent.private).add("openai/scripted", Usage(1, 900_000, 0, 0.0), datetime.now(UTC))
    provider.script(text("[USER] lives in a city {1}"))
    model = ("-m", "openai/scripted", "--set", f"api_base={provider.base}", "--set", "api_key=x")

    ran = fleet("run", tmp_path, *model, "--set", "phase2_model=embedded", "--tenant-tokens", "900000", "--json")

    assert (ran.status, ran.json["outcomes"]) == (3, {"bounded": 1, "committed": 1}), ran.err
    assert "waiting for another day's budget: alice" in fleet("run", tmp_path, *model, "--tenant-tokens", "900000").err
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
    assert (members.read(member(tmp_path, "bad")) or Note()).outcome == "crashed"
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


def test_what_says_that_there_is_something_new(night: Night) -> None:
    dora = member(night.root, "dora")
    talk, memory = dora.path / "said" / "talk.txt", dora.path / "USER.md"

    def is_new() -> bool:
        return members.news(dora, members.read(dora), datetime.now(UTC), os.environ)

    assert not is_new()
    talk.write_text("User: hello\n")
    assert is_new()
    talk.unlink()
    assert not is_new()
    memory.write_text(memory.read_text() + "- edited\n")
    assert is_new()


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
