"""What an operator, a probe and a program with a queue of its own are told, and get."""

from __future__ import annotations

import json
import tarfile
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from dream.fleet import engine, limits, members
from dream.fleet.engine import Queue
from dream.fleet.members import FOLDER, Note
from dream.fleet.news import Waiting
from dream.workspace.lock import run_lock
from tests.cli.commands import Ended, dream
from tests.fleet.fleets import NOW, agent, canary, dreams, member, say, workspace
from tests.nights.world import answer
from tests.provider import Body, Provider, Reply, fault


def fleet(*arguments: object) -> Ended:
    return dream("fleet", *arguments)


def test_a_root_without_workspaces_is_a_mistake_that_is_named(tmp_path: Path) -> None:
    ran = fleet("run", tmp_path)

    assert ran.status == 1
    assert "no workspace was found up to 3 directories below" in ran.err


def test_a_night_that_cannot_be_noted_fails_each_time(tmp_path: Path) -> None:
    workspace(tmp_path, "w", "I live in Rome.")
    (tmp_path / FOLDER).mkdir(mode=0o700)
    (tmp_path / FOLDER / "notes").write_text("in the way")

    ran = [fleet("run", tmp_path) for _ in range(2)]

    assert [one.status for one in ran] == [1, 1]
    assert all("w  failed" in one.out and "notes" in one.out for one in ran)


def test_a_night_that_takes_its_worker_down_each_time_counts_as_failed(tmp_path: Path) -> None:
    bad, good = workspace(tmp_path, "bad", "I live in Rome."), workspace(tmp_path, "good", "I live in Rome.")
    members.write(member(tmp_path, "bad"), Note(tries=5))

    ran = fleet("run", tmp_path)

    assert (ran.status, len(dreams(bad)), len(dreams(good))) == (1, 0, 1)
    assert "bad  crashed: its worker died 5 times" in ran.out
    assert fleet("run", tmp_path).status == 0  # the day after, say


def test_nights_of_an_older_version_and_those_that_the_queue_has_lost_are_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [workspace(tmp_path, name, "I live in Rome.") for name in ("old", "lost")]
    nights = [Waiting(member(tmp_path, name), name, "", f"{NOW:%Y%m%d}") for name in ("old", "lost")]
    queue = Queue(f"sqlite:///{tmp_path / FOLDER / 'fleet.sqlite'}")
    with monkeypatch.context() as older:
        older.setattr(engine, "VERSION", "0")
        assert queue.put(nights, NOW) == 2
    with queue.ledger.engine.begin() as connection:
        lost = "UPDATE workflow_status SET status = 'ERROR' WHERE workflow_uuid = :id"
        connection.execute(sa.text(lost), {"id": nights[1].id})

    assert queue.put(nights, NOW) == 1  # the lost one is put again, by its name
    queue.close()
    ran = fleet("run", tmp_path)

    assert (ran.status, [len(dreams(one)) for one in made]) == (0, [1, 1]), ran.out + ran.err


def test_what_is_free_is_erased_with_a_receipt_and_what_is_held_stays(tmp_path: Path) -> None:
    root, other = tmp_path / "agents", f"sqlite:///{tmp_path / 'elsewhere.sqlite'}"
    for name in ("alice/w0", "alice/w1"):
        workspace(root, name, "I live in Rome.")
    assert fleet("run", f"all={root}", "-q", "--database", other).status == 0

    with run_lock(root / "alice/w1/.dream"):
        first = fleet("erase", "alice", root, "--json")
    second = fleet("erase", "alice", root, "--json")

    assert (first.status, first.json["workspaces"], first.json["busy"]) == (4, ["alice/w0"], ["alice/w1"])
    assert (second.status, second.json["workspaces"]) == (0, ["alice/w1"])
    receipt = Path(first.json["receipt"]).read_text()
    told = json.loads(receipt)
    assert (told["not_erased"]["busy"], len(told["workspaces"])) == (1, 1)
    assert "alice" not in receipt
    queue = Queue(other)  # which neither erasure was told of
    assert queue.waiting() == {}
    queue.close()


def test_all_of_a_tenant_s_is_exported(tmp_path: Path) -> None:
    made = workspace(tmp_path, "alice/w", "I live in Rome.")
    workspace(tmp_path, "bob", "I live in Oslo.")
    assert fleet("run", tmp_path, "-q").status == 0

    done = fleet("export", "alice", tmp_path, "-o", tmp_path / "alice.tar.gz")

    with tarfile.open(tmp_path / "alice.tar.gz") as tar:
        tar.extractall(tmp_path / "out", filter="data")
    assert done.status == 0
    assert (tmp_path / "out/alice/w/USER.md").read_bytes() == (made.root / "USER.md").read_bytes()
    assert json.loads((tmp_path / "out/export.json").read_text())["workspaces"] == ["alice/w"]
    assert not (tmp_path / "out/bob").exists()
    assert (tmp_path / "alice.tar.gz").stat().st_mode & 0o077 == 0


def test_numbers_that_nobody_changes_any_more_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(f"sqlite:///{tmp_path / 'fleet.sqlite'}")
    queue.ledger.set({f"{name}x": 1.0 for name in ("spent:", "known:", "turn:", "bound:")})
    monkeypatch.setattr(limits, "KEPT", 0.0)
    time.sleep(0.01)
    queue.tidy(NOW)

    assert set(queue.ledger.get("")) == {"bound:x"}
    queue.close()


@pytest.mark.long
def test_a_provider_s_outage_costs_no_workspace_anything_and_ends_by_itself(tmp_path: Path, provider: Provider) -> None:
    made = agent(tmp_path, "t/w")
    say(made, canary(1))
    failing = 3  # a call and its two tries

    def outage(body: Body) -> Reply:
        return fault(500) if len(provider.requests) <= failing else answer(body)

    provider.script(outage)
    pairs = (f"api_base={provider.base}", "api_key=x", "phase2_model=embedded")
    ran = fleet("run", tmp_path, "-m", "openai/scripted", *(word for pair in pairs for word in ("--set", pair)))

    assert (ran.status, len(dreams(made))) == (0, 1), ran.out + ran.err
    assert "t/w  unavailable: the provider does not answer" in ran.out
    assert (members.read(member(tmp_path, "t/w")) or Note()).failed == ()
    assert not any(entry.content.startswith("[RAW]") for entry in made.history.after(0))


@pytest.mark.long
def test_a_tenant_has_the_model_and_the_bounds_that_the_operator_sets(tmp_path: Path, provider: Provider) -> None:
    made = [agent(tmp_path, f"{name}/w") for name in ("alice", "bob", "carol")]
    for number, one in enumerate(made):
        say(one, canary(number))
    provider.script(answer)
    model = "model = 'openai/scripted', phase2_model = 'embedded'"
    settings = f"settings = {{{model}, api_base = '{provider.base}', api_key = 'x'}}"
    (tmp_path / "fleet.toml").write_text(f"[tenants.alice]\n{settings}\n[tenants.bob]\ntokens_a_day = 1\n{settings}\n")
    (tmp_path / "fleet.toml").chmod(0o600)

    ran = fleet("run", tmp_path)

    assert (ran.status, [len(dreams(one)) for one in made]) == (3, [1, 0, 1]), ran.out + ran.err
    assert "waiting for another day's budget: bob/w" in ran.err
    assert len(provider.requests) == 2
