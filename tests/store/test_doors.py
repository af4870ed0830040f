"""One door for all files of a workspace: no link is followed, nothing is waited for, and what is made is private."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dream import door
from dream.cli.group import dream_group
from dream.directory import Workspace
from dream.models import NewEntry
from tests.cli.commands import dream
from tests.forking import Program
from tests.git.support import NOW, add, make
from tests.workspaces import copied

KEY = (
    "memory/history.jsonl",
    "memory/.cursor",
    "memory/.pending.jsonl",
    ".dream/run.lock",
    ".dream/bills/2026-11.jsonl",
)
# Every file and directory that dream reads or writes; what it makes by itself and what a person or a clone may bring.
FILES = (
    "SOUL.md",
    "USER.md",
    "memory/MEMORY.md",
    "dream.toml",
    "prompts/phase1.md",
    "memory/history.jsonl",
    "memory/.cursor",
    "memory/.dream_cursor",
    "memory/.pending.jsonl",
    "memory/.rejected.jsonl",
    "memory/archive/set-aside.jsonl",
    ".dream/.gitignore",
    ".dream/run.lock",
    ".dream/runs.lock",
    ".dream/history.lock",
    ".dream/runs.jsonl",
    ".dream/apply.json",
    ".dream/attempts.json",
    ".dream/forgetting.json",
    ".dream/hook.log",
    ".dream/index-behind",
    ".dream/last_proposal",
    ".dream/notes.json",
    ".dream/index.sqlite",
    ".dream/index.sqlite-wal",
    ".dream/index.sqlite-shm",
    ".dream/index.sqlite-journal",
    ".dream/index.sqlite.lock",
    ".dream/stuck.json",
    ".dream/trust",
    ".dream/nightly/last.json",
    ".dream/nightly/serving.json",
    ".dream/bills/2026-11.jsonl",
    ".git/config",
    ".git/info/exclude",
    ".git/logs/HEAD",
)
FOLDERS = (
    "memory",
    "memory/archive",
    ".dream",
    ".dream/nightly",
    ".dream/bills",
    "prompts",
    ".git",
)
ELSEWHERE = ("transcripts/", "llm/", "nights/")  # what they open lies outside of any workspace
NOT_OF_A_WORKSPACE = {
    "door.py": "the door itself",
    "actions/check.py": "a project's configuration, to see whether what memory says of it is there",
    "transfer/tools.py": "the notes of other agents on their projects",
    "actions/trial.py": "the conversations that are shipped, and a folder that is deleted",
    "trust.py": "the user's state directory, and a mark that is looked at before anything is believed",
    "prompts.py": "the prompts that are shipped",
    "workspace/projects.py": "git's files in a project in which an agent worked",
    "cli/__init__.py": "/dev/null",
    "cli/output.py": "/dev/null",
    "embedded/kinds.py": "the weights that are shipped",
    "embedded/likeness.py": "the words that are shipped",
    "text/tokens.py": "the ranks of a tokenizer that is installed",
    "embedded/tongue.py": "the tables that are shipped",
    "text/words.py": "the table that is shipped",
    "text/days.py": "the table that is shipped",
    "provenance/cues.py": "the table that is shipped",
    "redact/forms.py": "the table that is shipped",
    "fleet/nursery.py": "/dev/null",
    "versions/swap.py": "the file that was traded an instant ago",
    "workspace/files.py": "a directory, to sync it",
}
HEALTHY = "✓ Everything on disk is as it should be.\n"
COMMANDS = (
    ("note", "I moved to Lisbon"),
    ("run",),
    ("nightly",),
    ("status",),
    ("context",),
    ("review",),
    ("forget", "one", "--yes"),
    ("doctor",),
    ("doctor", "--repair"),
    ("init",),
)


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = make(tmp_path_factory.mktemp("made") / "w")
    add(workspace, "- one", 1)
    workspace.history.append([NewEntry("- I live in Porto.", "note")], now=NOW)
    with (workspace.root / "memory/history.jsonl").open("a") as log:
        log.write("{not whole\n")
    return workspace.root


@pytest.fixture
def root(_made: Path, tmp_path: Path) -> Path:
    return copied(_made, tmp_path / "w")


def every_command(root: Path) -> list[Result]:
    results = [CliRunner().invoke(dream_group, [*words, "-w", str(root)]) for words in COMMANDS]
    for result in results:  # an error is a sentence, never a traceback
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return results


def of_all(names: tuple[str, ...], key: tuple[str, ...]) -> list[object]:
    """The names as parameters of a test: the last of `key` is quick, the rest of it slow, and all others long."""

    def marks(name: str) -> object:
        return () if name == key[-1] else pytest.mark.slow if name in key else pytest.mark.long

    return [pytest.param(name, marks=marks(name)) for name in names]


def seen(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }


@pytest.mark.parametrize("name", of_all(FILES, KEY))
def test_no_command_writes_through_a_link(root: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place, target = root / name, elsewhere / "target"
    place.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(place.read_bytes() if place.exists() else b"")
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    before = seen(elsewhere)
    every_command(root)
    assert seen(elsewhere) == before


@pytest.mark.parametrize("name", of_all(FILES, KEY[1:2]))
def test_no_command_makes_what_a_link_names(root: Path, tmp_path: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(tmp_path / "nothing")
    every_command(root)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("name", of_all(FOLDERS, (".dream", ".dream/bills")))
def test_no_command_writes_into_a_linked_directory(root: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    place = root / name
    place.mkdir(exist_ok=True)
    shutil.move(place, elsewhere)
    place.symlink_to(elsewhere)
    before = seen(elsewhere)
    every_command(root)
    assert seen(elsewhere) == before


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["memory", ".dream"])
def test_neither_a_short_night_nor_a_hook_writes_into_a_linked_directory(tmp_path: Path, name: str) -> None:
    root = make(tmp_path / "w").root
    for words in (("note", "I moved to Lisbon"), ("run",), ("run",)):
        assert dream(*words, "-w", root).status == 0
    shutil.move(root / name, tmp_path / "elsewhere")
    (root / name).symlink_to(tmp_path / "elsewhere")
    before = seen(tmp_path / "elsewhere")
    told = f"{root / name} is a symbolic link"
    for words in (("run",), ("nightly",), ("run", "--json"), ("nightly", "--json")):
        done = dream(*words, "-w", root)
        assert (done.status, told in done.out + done.err) == (1, True)
    hook = json.dumps({"transcript_path": str(tmp_path / "none.jsonl")})
    dream("consolidate", "--hook", "--detach", "-w", root, stdin=hook)
    assert seen(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("name", of_all(FILES, KEY[:2]))
def test_a_named_pipe_is_not_waited_for(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    code = "import sys; from tests.store.test_doors import every_command; from pathlib import Path"
    code += "; every_command(Path(sys.argv[1]))"
    program = Program(code, str(root))
    program.communicate()
    assert program.returncode == 0


def test_what_is_made_is_its_owners_alone(root: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        workspace = make(tmp_path / "own")
        add(workspace, "- one", 1)
        for words in (("note", "I moved to Lisbon"), ("run",), ("nightly",), ("doctor", "--repair")):
            CliRunner().invoke(dream_group, [*words, "-w", str(workspace.root)])
        workspace.git.git.run("gc", "--quiet")
    finally:
        os.umask(before)
    paths = [workspace.root, *workspace.root.rglob("*")]
    assert len(paths) > 40
    assert [path for path in paths if path.stat().st_mode & door.OTHERS] == []


def test_what_a_person_opened_stays_open(root: Path) -> None:
    for name in ("USER.md", "memory/history.jsonl", "memory/.dream_cursor"):
        (root / name).chmod(0o644)
    workspace = Workspace.open(root)
    add(workspace, "- two", 2)
    workspace.history.append([NewEntry("- x", "note")], now=NOW)
    for name in ("USER.md", "memory/history.jsonl", "memory/.dream_cursor"):
        assert stat.S_IMODE((root / name).stat().st_mode) == 0o644


def test_whoever_opens_a_file_of_a_workspace_does_so_by_the_door() -> None:
    raw = re.compile(r"os\.open\(|\.read_bytes\(\)|\.(?:read|write)_text\(|\.write_bytes\(|mkdir\(|\.touch\(")
    package = Path(door.__file__).parent
    modules = {str(path.relative_to(package)): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    found = {name for name, text in modules.items() if raw.search(text) and not name.startswith(ELSEWHERE)}
    assert found - NOT_OF_A_WORKSPACE.keys() == set(), "use dream.door, or say here what else is opened"
    assert NOT_OF_A_WORKSPACE.keys() - found == set()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/null"])
def test_a_device_is_no_file_of_a_workspace(device: str) -> None:
    with pytest.raises(OSError, match="it is not an ordinary file"):
        door.contents(Path(device))


def test_another_users_file_is_not_taken_for_ours() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "theirs"
        theirs.write_text("x")
        theirs.chmod(0o666)
        os.chown(theirs, 12345, 12345)
        Path(folder).chmod(0o755)
        assert door.contents(theirs) == b"x"  # root works on everybody's
        os.seteuid(54321)
        try:
            with pytest.raises(PermissionError, match="belongs to another user"):
                door.contents(theirs)
        finally:
            os.seteuid(0)


def doctor(root: Path, *more: str) -> str:
    return CliRunner().invoke(dream_group, ["doctor", *more, "-w", str(root)], env={"COLUMNS": "200"}).output


def adopted(root: Path) -> Path:
    """A workspace as nanobot leaves it under the usual mask."""
    for folder in (root, root / "memory", root / "memory/archive"):
        folder.mkdir()
        folder.chmod(0o755)
    for name in ("SOUL.md", "USER.md", "memory/MEMORY.md", "memory/history.jsonl"):
        (root / name).write_text("")
        (root / name).chmod(0o644)
    return make(root).root


def test_the_doctor_names_and_closes_what_everybody_may_read(tmp_path: Path) -> None:
    root = adopted(tmp_path / "w")
    shown = "SOUL.md, USER.md, memory/MEMORY.md, memory and 3 more: can be read or changed by everybody on this machine"
    assert f"✗ {shown}\n" in doctor(root)
    assert f"✓ mended: {shown}\n" in doctor(root, "--repair")
    assert [path for path in root.rglob("*") if path.stat().st_mode & door.OTHERS] == []
    assert doctor(root) == HEALTHY


def test_what_is_open_to_a_group_or_closed_off_above_is_a_persons_affair(tmp_path: Path) -> None:
    root = adopted(tmp_path / "w")
    root.chmod(0o750)
    assert doctor(root) == HEALTHY


def test_an_append_opens_nothing_anew(root: Path) -> None:
    log = Workspace.open(root).history
    log.append([NewEntry("- x", "note")], now=NOW)
    opened: list[str] = []
    sys.addaudithook(lambda event, _: opened.append(event) if event == "open" else None)
    log.append([NewEntry("- y", "note")], now=NOW)
    assert opened == []
