"""Places on several machines: the same place under any name; of two names the later one; merged everywhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dream.actions import scopes
from tests.sync.world import Machine, family, rounds


def project(machine: Machine, folder: Path, name: str = "app") -> str:
    """Make a project on a machine and return the name of its place there."""
    path = folder / name
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    with machine.here() as workspace:
        known = workspace.places().for_note(str(path))
        place = workspace.places().named(known)
        assert place is not None
        return place.name


def learns(machine: Machine, place: str, line: str) -> None:
    file = f"places/{place}/MEMORY.md"
    with machine.here() as workspace:
        (workspace.root / "places" / place).mkdir(exist_ok=True)
    machine.type(file, machine.text(file) + f"- {line}\n")


def renames(machine: Machine, name: str, new: str) -> None:
    with machine.here() as workspace:
        scopes.rename(workspace, name, new, now=machine.clock)


def merges(machine: Machine, name: str, into: str) -> None:
    with machine.here() as workspace:
        scopes.merge(workspace, name, into, now=machine.clock)


def places(machine: Machine) -> dict[str, str]:
    """The files of places on a machine's disk, and what the places are called."""
    with machine.here() as workspace:
        names = {place.name: place.id for place in workspace.places().all()}
    root = machine.workspace.root / "places"
    return names | {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.glob("*/*.md")}


def test_a_place_that_was_renamed_keeps_what_another_machine_learns_of_it(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    name = project(laptop, tmp_path / "one")
    learns(laptop, name, "It runs on port 80")
    rounds(laptop, server)
    renames(laptop, "app", "shop")
    learns(server, "app", "It is deployed with rsync")
    rounds(laptop, server)

    assert places(laptop) == places(server)
    assert sorted(places(laptop)["shop/MEMORY.md"].splitlines()) == [
        "- It is deployed with rsync",
        "- It runs on port 80",
    ]
    assert "app/MEMORY.md" not in places(server)
    assert laptop.sync().outcome == server.sync().outcome == "nothing"


def test_of_two_names_of_one_place_the_later_counts_on_both(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    learns(laptop, project(laptop, tmp_path / "one"), "It runs on port 80")
    rounds(laptop, server)
    renames(laptop, "app", "shop")
    laptop.sync()
    server.clock = laptop.clock
    renames(server, "app", "store")
    rounds(server, laptop)
    assert places(laptop) == places(server)
    assert "store/MEMORY.md" in places(laptop)


def test_two_projects_of_one_name_stay_two(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    learns(laptop, project(laptop, tmp_path / "one"), "It runs on port 80")
    learns(server, project(server, tmp_path / "two"), "It runs on port 90")
    rounds(laptop, server, laptop)
    assert places(laptop) == places(server)
    found = [text for name, text in places(laptop).items() if name.endswith("MEMORY.md")]
    assert sorted(found) == ["- It runs on port 80\n", "- It runs on port 90\n"]
    assert {"app", "app-2"} <= places(server).keys()


def test_a_place_that_was_merged_takes_what_another_machine_learns_of_it(tmp_path: Path) -> None:
    laptop, server = family(tmp_path)
    learns(laptop, project(laptop, tmp_path / "one"), "It runs on port 80")
    learns(laptop, project(laptop, tmp_path / "two", "copy"), "It has a staging host")
    rounds(laptop, server)
    merges(laptop, "copy", "app")
    learns(server, "copy", "It is deployed with rsync")
    rounds(laptop, server, laptop)
    assert places(laptop) == places(server)
    assert sorted(places(server)["app/MEMORY.md"].splitlines()) == [
        "- It has a staging host",
        "- It is deployed with rsync",
        "- It runs on port 80",
    ]
    assert "copy" not in places(laptop)
