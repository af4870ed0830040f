"""The layers of the package hold, and heavy libraries stay behind their one door until they are used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.cli.group import MODULES
from tests.faults.support import called
from tests.sources.test_incremental import write
from tests.workspaces import fresh

ROOT = Path(__file__).parent.parent
HEAVY = {"litellm", "openai", "git", "apscheduler", "tiktoken", "mcp"}


def modules_after(statement: str, *, whole: bool = False) -> set[str]:
    """Run `statement` in a new process and return the top-level modules that it loaded; the `whole` list, if asked."""
    names = "sys.modules" if whole else "{name.partition('.')[0] for name in sys.modules}"
    code = f"import sys\n{statement}\nprint()\nprint(*sorted({names}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("\n")[0].rpartition("\n")[2].split())


def call(*arguments: str) -> str:
    """Write the statement that runs `dream` with `arguments` in this process."""
    return f"""
from dream.cli.group import dream_group
dream_group.main({list(arguments)!r}, prog_name="dream", standalone_mode=False)"""


def test_imports_point_down_and_each_library_has_one_door() -> None:
    linter = Path(sys.executable).parent / "lint-imports"

    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_importing_dream_loads_nothing_heavy_and_no_command_line() -> None:
    assert modules_after("import dream").isdisjoint(HEAVY | {"click", "orjson"})


def test_help_loads_no_command_and_nothing_heavy() -> None:
    assert modules_after(call("--help")).isdisjoint(HEAVY | {"orjson"})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "command", ["run", "consolidate", "nightly", "status", "log", "restore", "note", "demo", "mcp"]
)
def test_the_help_of_a_command_loads_nothing_heavy(command: str) -> None:
    assert modules_after(call(command, "--help")).isdisjoint(HEAVY)


# One word, one thing. `Json` is a JSON value in every room, in the type that suits it; `Progress` is that of
# reports.py, spelled again in cli/output.py so that the help doesn't load it.
SHARED_NAMES = {"Json", "Progress"}


# A class anywhere, a type alias at the margin; private ones like public ones.
TYPE = re.compile(r"^ *class _*(\w+)[(:]|^_*([A-Z][A-Za-z]*[a-z]) = ", re.MULTILINE)


def type_names(module: Path) -> Iterator[str]:
    """Yield the names of a module's classes and type aliases."""
    for found in TYPE.finditer(module.read_text(encoding="utf-8")):
        yield found[1] or found[2]


def test_no_two_types_share_a_name() -> None:
    times = Counter(name for module in (ROOT / "dream").rglob("*.py") for name in type_names(module))

    assert {name for name, count in times.items() if count > 1} == SHARED_NAMES


def test_no_two_modules_share_a_name_but_a_command_and_what_it_calls() -> None:
    modules = [path for path in (ROOT / "dream").rglob("*.py") if path.parent.name != "cli" and path.name[0] != "_"]

    assert [name for name, count in Counter(path.stem for path in modules).items() if count > 1] == []


# What a command that only reads must do without: reading, dreaming, and all that writes a commit.
WORK = {"dream.dreaming", "dream.consolidate.consolidator", "dream.transcripts", "dream.redact"}
AT_ONCE = [
    ["status"],
    ["status", "--json"],
    ["log"],
    ["log", "HEAD"],
    ["review"],
    ["run"],
    ["note", "I moved to Kyoto."],
]


@pytest.mark.few(2)
@pytest.mark.parametrize("arguments", AT_ONCE, ids=" ".join)
def test_what_is_quick_loads_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    workspace = fresh(tmp_path, datetime(2026, 11, 21, tzinfo=UTC))
    sha = workspace.git.head() or ""
    words = [sha if word == "HEAD" else word for word in arguments]

    loaded = modules_after(call(*words, "-w", str(tmp_path)), whole=True)

    assert f"dream.cli.{MODULES.get(words[0], words[0])}" in loaded
    # `status` says which agents on this machine nobody reads, and `dream.transcripts` knows where they keep sessions.
    wanted = {"note": {"dream.redact"}, "status": {"dream.transcripts"}}.get(words[0], set())
    assert loaded.isdisjoint((HEAVY | WORK) - wanted)


# An idle night has looked at the sources, which are transcripts; nobody has typed anything that it had to commit.
IDLE = WORK - {"dream.transcripts"} | {
    "dream.llm.spending",
    "dream.versions.transaction",
    "dream.versions.log",
    "ctypes",
}
NO_SOURCES = {"dream.transcripts"}


@pytest.mark.few(2)
@pytest.mark.parametrize("arguments", [["run"], ["nightly", "--json"], ["nightly"]], ids=" ".join)
@pytest.mark.parametrize("sources", [False, True])
def test_a_run_with_nothing_to_do_loads_no_stage(tmp_path: Path, arguments: list[str], sources: bool) -> None:
    root = tmp_path / "ws"
    fresh(root, datetime(2026, 11, 21, tzinfo=UTC))
    if sources:
        (tmp_path / "chats").mkdir()
        write(tmp_path / "chats" / "a.jsonl", 1)
        (root / "dream.toml").write_text(f'sources = ["{tmp_path}/chats"]\n', encoding="utf-8")
        called(root, "nightly")
        called(root, "run")

    loaded = modules_after(call(*arguments, "-w", str(root)), whole=True)

    assert "dream.cli.nights" in loaded
    looked = sources or arguments[0] == "nightly"  # a night says which agents on this machine nobody reads
    assert loaded.isdisjoint(HEAVY | (IDLE if looked else IDLE | NO_SOURCES))


def test_every_public_name_can_be_had() -> None:
    import dream

    assert {name: getattr(dream, name) is not None for name in dream.__all__} == dict.fromkeys(dream.__all__, True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    import dream

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dream.nonsense  # noqa: B018
