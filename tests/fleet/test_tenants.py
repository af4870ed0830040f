"""What one tenant's agent writes, breaks or links in its workspace stays that tenant's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.reports import Usage
from dream.workspace.bills import Bills
from tests.cli.commands import Ended, command, dream, environment
from tests.fleet.fleets import dreams, member, workspace


def fleet(*arguments: object) -> Ended:
    return dream("fleet", *arguments)


def test_what_an_agent_notes_in_its_workspace_decides_nothing(tmp_path: Path) -> None:
    said = {"tenant": "t01", "at": "garbage", "zone": "Nope/Zone"}
    made = [workspace(tmp_path, name, "I live in Rome.") for name in ("t00/w", "t01/w")]
    assert fleet("run", tmp_path, "-q").status == 0
    known = json.loads(member(tmp_path, "t00/w").note.read_text()) | said
    (made[0].private / "nightly" / "fleet.json").write_text(json.dumps(known))

    ran = fleet("run", tmp_path)
    plans = [fleet("erase", name, tmp_path, "--dry-run", "--json").json for name in ("t00", "t01")]
    tenants = fleet("status", tmp_path, "--json").json["tenants"]

    assert (ran.status, ran.err) == (0, "")
    assert [plan["workspaces"] for plan in plans] == [["t00/w"], ["t01/w"]]
    assert sorted(one["tenant"] for one in tenants) == ["t00", "t01"]


def test_where_directory_and_setting_differ_the_operator_is_asked_before_anything_is_erased(tmp_path: Path) -> None:
    made = [workspace(tmp_path, name) for name in ("t00/w", "t01/w")]
    (made[0].root / "dream.toml").write_text("tenant = 't01'\n")

    asked = [fleet("erase", name, tmp_path) for name in ("t00", "t01")]
    (tmp_path / "fleet.toml").write_text('[workspaces]\n"t00/w" = "t00"\n')
    (tmp_path / "fleet.toml").chmod(0o600)
    decided = fleet("erase", "t01", tmp_path, "--json")

    assert [one.status for one in asked] == [2, 2]
    assert all(
        "t00/w: t00 or t01" in one.err and 'fleet.toml, under [workspaces]: "t00/w" =' in one.err for one in asked
    )
    assert decided.json["workspaces"] == ["t01/w"]
    assert (made[0].root.exists(), made[1].root.exists()) == (True, False)
    (tmp_path / "fleet.toml").chmod(0o666)
    assert "others may read or write it" in fleet("erase", "t00", tmp_path).err


def test_a_private_directory_that_is_a_link_reaches_no_other_tenant(tmp_path: Path) -> None:
    made = [workspace(tmp_path, name, "I live in Rome.") for name in ("t00/w", "t01/w")]
    Bills(made[1].private).add("openai/scripted", Usage(1, 900, 0, 0.5), datetime.now(UTC))
    made[0].private.rename(tmp_path / "t00" / "own")
    made[0].private.symlink_to(made[1].private)

    ran = fleet("run", tmp_path)
    dreamt, told = len(dreams(made[1])), fleet("status", tmp_path, "--json").json
    done = [fleet("erase", name, tmp_path, "--json") for name in ("t01", "t00")]

    assert (ran.status, dreamt) == (1, 1)
    assert "could not be looked at: t00/w" in ran.err
    assert [one["workspace"] for one in told["wrong"]] == ["t00/w"]
    assert (told["failed"], [one["tenant"] for one in told["tenants"]]) == ([], ["t01"])  # and no bill twice
    assert [one.status for one in done] == [0, 0]


def _linked(root: Path) -> None:
    (root / "w/memory").rename(root / "m")
    (root / "w/memory").symlink_to(root / "m")


SPOILED: dict[str, Callable[[Path], object]] = {
    "settings nested without end": lambda root: (root / "w/dream.toml").write_text("a=" + "[" * 100_000),
    "settings of a zone that is none": lambda root: (root / "w/dream.toml").write_text("timezone = 'Nope/Zone'"),
    "a name that is not UTF-8": lambda root: (root / "w").rename(root / os.fsdecode(b"w\xff")),
    "a name with a line end": lambda root: (root / "w").rename(root / "w\nt01  failed"),
    "a directory where bills are": lambda root: (root / f"w/.dream/bills/{datetime.now(UTC):%Y-%m}.jsonl").mkdir(
        parents=True
    ),
    "memory that is a link": _linked,
}


@pytest.mark.few(2)
@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_what_is_broken_at_one_tenant_stops_no_other(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    made = [workspace(tmp_path, f"{name}/w", "I live in Rome.") for name in ("t00", "t01", "t02")]
    spoil(tmp_path / "t00")

    ran, told = fleet("run", tmp_path, "--tenant-tokens", "900000"), fleet("status", tmp_path, "--json")

    assert [len(dreams(one)) for one in made[1:]] == [1, 1]
    assert (ran.status, told.status) == (1, 0)
    assert "t00/" in ran.err
    assert {"t01", "t02"} <= {one["tenant"] for one in told.json["tenants"]}
    assert [fleet("erase", name, tmp_path).status for name in ("t01", "t00")] == [0, 0]
    assert not list((tmp_path / "t00").glob("w*"))


def test_a_directory_that_can_t_be_read_is_named_and_the_rest_dreams(tmp_path: Path) -> None:
    made = workspace(tmp_path, "t01/w", "I live in Rome.")
    (tmp_path / "lost+found").mkdir(mode=0)
    as_anybody = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    line = [*as_anybody, *command("fleet", "run", tmp_path)]

    ran = subprocess.run(line, env=environment(), capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert "could not be looked at: lost+found" in ran.stderr
    assert len(dreams(made)) == 1


def test_a_tenant_whose_directory_is_called_dream_runs_nothing_where_the_operator_stands(tmp_path: Path) -> None:
    made = workspace(tmp_path, "dream", "I live in Rome.")
    (made.root / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    line = [str(Path(sys.executable).with_name("dream")), "fleet", "run", "."]

    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (ran.returncode, len(dreams(made))) == (0, 1), ran.stdout + ran.stderr
    assert not (tmp_path / "ran").exists()
