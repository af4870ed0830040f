"""The index is a cache: whatever becomes of it, history answers the same, and nothing of value is only there."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.actions import doctor
from dream.actions.forget import forget
from dream.settings import Settings
from dream.workspace.index import NAME, RECALL_TABLES, TABLES, VERSION, Index
from tests.forking import Program
from tests.git.support import make
from tests.store.helpers_history import NOW, fact, history
from tests.store.test_history_cost import calls

SESSIONS = 300
KNOWN = {f"s{number}": 2 for number in range(SESSIONS)}


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    with history(root) as log:
        log.append([fact("x" * 5_000, session, (0, end)) for session, end in KNOWN.items()], now=NOW)
        log.archive(SESSIONS - 10, 1, now=NOW)
        assert log.position("s7") == 2
    assert (root / ".dream" / NAME).exists()
    return root


@pytest.fixture
def root(_made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_made, tmp_path / "w"))


def index(root: Path) -> Path:
    return root / ".dream" / NAME


def asked(root: Path) -> bool:
    """Tell whether the positions of archived sessions stand in the index on disk, and are right."""
    with history(root) as log:
        assert (log.position("s7"), log.position("nobody")) == (2, 0)
        assert log.positions() == KNOWN
        return bool(log.index.rows("select * from archived")) and not log.index.refused


def run(root: Path, statement: str) -> None:
    db = sqlite3.connect(index(root))
    db.execute(statement)
    db.commit()
    db.close()


def middle_overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": lambda root: index(root).unlink(),
    "empty": lambda root: index(root).write_bytes(b""),
    "no database": lambda root: index(root).write_bytes(b"rubbish" * 1000),
    "cut short": lambda root: os.truncate(index(root), 5_000),
    "overwritten": lambda root: middle_overwritten(index(root)),
    "older": lambda root: run(root, f"pragma user_version = {VERSION + 98}"),
    "newer": lambda root: run(root, f"pragma user_version = {VERSION + 1}"),
    "another's tables": lambda root: run(root, "drop table session"),
    "another's archive": lambda root: run(root, "update archived set size = size + 1"),
    "rubbish beside it": lambda root: index(root).with_name(f"{NAME}-wal").write_bytes(b"rubbish" * 9_000),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_index_that_is_no_good_is_built_anew(root: Path, damage: Callable[[Path], object]) -> None:
    damage(root)

    asked(root)  # what is found damaged while it is written is built by the next
    assert asked(root)
    db = sqlite3.connect(index(root))
    assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    assert db.execute("pragma user_version").fetchone() == (VERSION,)
    db.close()


STRANGE = {
    "a trigger": "create trigger t after insert on session begin insert into session select randomblob(9), 1, ''"
    " from (with recursive n(x) as (select 1 union all select x + 1 from n) select x from n); end",
    "a view": "drop table session; create view session as select null as key, 1 as position, '' as prefix",
    "an index that computes": "create index i on session (printf('%.*c', 10, 'x'))",
    "a column that computes": "alter table archived add column x generated always as (printf('%.*c', 100000000, 'x'))",
    "a table of nobody's": "create table recall_other (x)",
}


@pytest.mark.parametrize("statements", STRANGE.values(), ids=STRANGE)
def test_an_index_that_holds_more_than_our_tables_is_built_anew(root: Path, statements: str) -> None:
    for statement in [statements] if "trigger" in statements else statements.split("; "):
        run(root, statement)
    with history(root) as log:
        log.append([fact("more", "s7", (2, 5))], now=NOW)
        assert log.position("s7") == 5
    db = sqlite3.connect(index(root))
    made = {sql for (sql,) in db.execute("select sql from sqlite_master where sql is not null")}
    assert made <= {*TABLES, *RECALL_TABLES}
    db.close()


@pytest.mark.parametrize("damage", [DAMAGES["gone"], DAMAGES["overwritten"]], ids=["gone", "overwritten"])
def test_an_open_log_outlives_the_loss_of_its_index(root: Path, damage: Callable[[Path], object]) -> None:
    with history(root) as log:
        assert log.position("s7") == 2
        damage(root)
        assert log.positions() == KNOWN
        log.append([fact("more", "s7", (2, 5))], now=NOW)
        log.close()
        assert (log.position("s7"), log.position("s8")) == (5, 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [NAME, f"{NAME}-shm", f"{NAME}.lock"])
def test_where_sqlite_cannot_be_used_the_log_is_read_and_the_doctor_says_so(tmp_path: Path, name: str) -> None:
    workspace = make(tmp_path / "w")
    new = [fact("x" * 5_000, session, (0, end)) for session, end in KNOWN.items()]
    workspace.history.append(new, now=NOW)
    workspace.history.archive(SESSIONS - 10, 1, now=NOW)
    workspace.history.close()
    (workspace.private / NAME).touch(0o600)
    (workspace.private / name).unlink(missing_ok=True)
    (workspace.private / name).mkdir()

    assert not asked(workspace.root)
    (said,) = [one for one in doctor.examine(workspace, Settings(), now=NOW) if NAME in one.file]
    assert "worked out from the log again, each time" in said.text


@pytest.mark.long
def test_a_file_that_another_process_keeps_locked_is_done_without(root: Path) -> None:
    holder = sqlite3.connect(index(root), isolation_level=None)
    holder.execute("pragma locking_mode = exclusive")
    holder.execute("begin exclusive")

    assert not asked(root)
    holder.close()
    assert asked(root)


def test_a_workspace_that_is_only_read_is_read_without_it(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    if os.geteuid() == 0:  # nothing is refused to root
        for path in (root, *root.rglob("*")):
            os.chown(path, 54321, 54321)
        for folder in root.parents[:-2]:
            folder.chmod(0o755)
        os.seteuid(54321)
    try:
        asked(root)
    finally:
        os.seteuid(os.getuid())
    for path in (root, *root.rglob("*")):
        path.chmod(0o700)


def test_what_sqlite_makes_is_its_owners_alone(root: Path) -> None:
    index(root).unlink()
    with history(root) as log:
        assert log.position("s7") == 2
        made = [path for path in (root / ".dream").iterdir() if path.name.startswith(NAME)]
        assert len(made) >= 3
        assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}


@pytest.mark.few(1)
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_no_link_leads_sqlite_elsewhere(root: Path, tmp_path: Path, end: str) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    path = index(root).with_name(NAME + end)
    path.unlink(missing_ok=True)
    path.symlink_to(target)

    asked(root)

    assert target.read_bytes() == b"mine"


def test_forgetting_leaves_no_byte_in_it(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    new = [fact("x" * 5_000, f"session {number} of the zebra", (0, 2)) for number in range(SESSIONS)]
    workspace.history.append(new, now=NOW)
    workspace.history.archive(SESSIONS - 10, 1, now=NOW)
    assert workspace.history.position("session 1 of the zebra") == 2
    assert b"zebra" in b"".join(path.read_bytes() for path in workspace.private.glob(f"{NAME}*"))

    forget(workspace, "zebra", now=NOW)

    assert [path for path in workspace.private.glob(f"{NAME}*") if b"zebra" in path.read_bytes()] == []
    assert workspace.history.size()[0] == 10


def test_processes_share_it_and_each_sees_what_all_have_appended(root: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from tests.store.helpers_history import NOW, fact, history
who = sys.argv[1]
log = history(Path({str(root)!r}))
for number in range(200):
    log.append([fact("y" * 6_000, f"{{who}}-{{number}}", (0, 3))], now=NOW)
    if not number % 10:
        log.archive(log.last_cursor(), 1, now=NOW)
    assert log.position(f"{{who}}-{{number}}") == 3 and log.position("s7") == 2
"""
    running = [Program(code, who) for who in "abc"]
    assert [(one.communicate(), one.returncode) for one in running] == [("", 0)] * 3

    with history(root) as log:
        assert log.positions() == KNOWN | {f"{who}-{number}": 3 for who in "abc" for number in range(200)}


def test_a_forked_child_opens_its_own(root: Path) -> None:
    with history(root) as log:
        assert log.position("s7") == 2
        child = os.fork()
        if child == 0:
            right = log.position("s8") == 2 and log.append([fact("z", "s8", (2, 4))], now=NOW)
            os._exit(0 if right and log.position("s8") == 4 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert (log.position("s7"), log.position("s8")) == (2, 4)


@pytest.mark.slow
def test_a_killed_process_leaves_an_index_that_is_right(root: Path) -> None:
    code = f"""
from pathlib import Path
from tests.store.helpers_history import NOW, fact, history
log = history(Path({str(root)!r}))
for number in range(100_000):
    log.append([fact("y" * 20_000, f"k-{{number}}", (0, 3))], now=NOW)
    log.archive(log.last_cursor(), 1, now=NOW)
    log.position("s7")
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    while len(list((root / "memory/archive").iterdir())) < 60:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()

    with history(root) as log:
        known = log.positions()
    index(root).unlink()
    with history(root) as log:
        assert log.positions() == known
        assert len(known) > SESSIONS + 50


def test_a_small_log_needs_no_sqlite(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from tests.store.helpers_history import NOW, fact, history
log = history(Path({str(tmp_path)!r}))
log.append([fact("y", "s", (0, 3))], now=NOW)
assert log.position("s") == 3 and "sqlite3" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_session_is_looked_up_without_reading_what_is_known_of_the_others(tmp_path: Path) -> None:
    looked = []
    for directory, sessions in ((tmp_path / "few", 100), (tmp_path / "many", 1_000)):
        with history(directory) as log:
            log.append([fact("x" * 600, f"s{number}", (0, 2)) for number in range(sessions)], now=NOW)
            log.archive(sessions, 1, now=NOW)
            assert log.position("s7") == 2
        with history(directory) as log:
            looked.append(calls(lambda log=log: log.position("s7"), {"orjson", "posix"}))  # type: ignore[misc]
    assert looked[0] == looked[1]


def test_of_two_logs_in_turns_neither_believes_the_others_index(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with history(other) as log:
        log.append([fact("x" * 5_100, "s7", (0, 9))] * SESSIONS, now=NOW)
        log.archive(SESSIONS - 10, 1, now=NOW)
    shutil.copy(index(root), other / ".dream" / NAME)
    with history(other) as log:
        assert log.positions() == {"s7": 9}


def test_an_index_keeps_values_by_name(tmp_path: Path) -> None:
    one, other = Index(tmp_path / ".dream"), Index(tmp_path / ".dream")
    assert one.document("a") is None
    one.keep(a=[1, "x"], b={})
    assert (other.document("a"), other.document("b"), other.document("c")) == ([1, "x"], {}, None)
    one.remove()
    one.remove()
    assert Index(tmp_path / ".dream").document("a") is None
