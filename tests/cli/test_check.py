"""`dream check`: what is doubtful of memory, told without a model and changed by nobody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream import pipeline
from dream.actions import check
from dream.actions.note import note
from dream.settings import Settings
from tests.faults.support import called
from tests.workspaces import fresh

SETTINGS = Settings(timezone="UTC")
NOW = datetime(2026, 10, 2, 3, tzinfo=UTC)
MEMORY = """# Memory

## Facts

- Staging listens on port 7391 (1 October 2026)
- Staging listens on port 8402 (9 October 2026)
- Marek keeps the certificates in his vault (1 October 2026)
- The certificates are in Marek's vault, he keeps them (2 October 2026)
- The audit is on 12 October 2026 (1 October 2026)
- Room 12 is free on Mondays (1 October 2026)
- The kiln in Kiel runs on gas (1 October 2026)
"""
USER = "# User\n\n## Plans\n\n- Visits Adaeze in Lisbon on 20 October 2026 (1 October 2026)\n"


def test_each_kind_is_named_with_the_command_that_settles_it(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    (made.root / "memory/MEMORY.md").write_text(MEMORY, encoding="utf-8")
    (made.root / "USER.md").write_text(USER, encoding="utf-8")
    before = (made.root / "memory/MEMORY.md").read_bytes()

    found = check.check(made, NOW + timedelta(days=30))
    assert {(one.kind, one.cite, one.settle) for one in found.found} == {
        ("contradiction", "MEMORY.md:5", "dream drop MEMORY.md:5"),
        ("double", "MEMORY.md:7", "dream drop MEMORY.md:7"),
        ("day passed", "MEMORY.md:9", "dream drop MEMORY.md:9"),
        ("plan without an outcome", "USER.md:5", "dream drop USER.md:5"),
    }
    assert found.counts == {"contradiction": 1, "double": 1, "day passed": 1, "plan without an outcome": 1}
    assert (made.root / "memory/MEMORY.md").read_bytes() == before


def test_the_command_counts_by_kind_and_status_says_it_too(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    (made.root / "memory/MEMORY.md").write_text(MEMORY, encoding="utf-8")
    assert "1 contradiction" in called(made.root, "check").out
    assert called(made.root, "check", "--json").json["counts"]["contradiction"] == 1
    assert "1 contradiction" in called(made.root, "status").out


def test_a_line_tells_when_it_was_said_first_and_last_and_what_it_rests_on(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    for day in (0, 10):
        now = NOW + timedelta(days=day)
        note(made, "I live in Oslo.", settings=SETTINGS, now=now)
        pipeline.run(made, settings=SETTINGS, now=now)
    [line] = [one for one in check.check(made, NOW + timedelta(days=11)).lines if "Oslo" in one.text]
    assert line.said == NOW.date()
    assert line.again == (NOW + timedelta(days=10)).date()
    assert line.rests_on == ("history:1", "history:2")


def test_what_a_project_names_is_looked_up_in_its_working_copy(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    project = tmp_path / "crumb"
    (project / "src").mkdir(parents=True)
    (project / "src/app.py").write_text("pass\n")
    (project / "justfile").write_text("test:\n    pytest\n")
    (project / "app.toml").write_text("port = 7391\n")
    folder = made.root / "places/crumb"
    folder.mkdir(parents=True)
    (made.root / "places/places.toml").write_text(f'[p-7f3a91c2]\nname = "crumb"\npaths = ["{project}"]\n')
    facts = ("The entry is `src/app.py`", "The old one was `src/gone.py`", "Run `just test`", "Run `$ just ship`")
    ports = ("It listens on port 7391", "Metrics are on port 9100")
    (folder / "MEMORY.md").write_text("# Memory\n\n" + "".join(f"- {fact}\n" for fact in (*facts, *ports)))
    found = [one.reason.split(" is not")[0] for one in check.check(made, NOW).found if one.kind == "not there"]
    assert found == ["src/gone.py", "just ship", "port 9100"]
