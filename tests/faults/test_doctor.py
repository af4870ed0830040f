"""Damage on disk: the doctor names each, mends what can be mended without loss, and keeps what it takes out."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.actions.doctor import _locks, examine
from dream.directory import Workspace
from dream.settings import Settings
from dream.workspace.lock import run_lock
from tests.faults.support import Checker, called, copy, git, memory, rows
from tests.faults.test_crash import Count

LOG = "memory/history.jsonl"
CURSOR = "memory/.dream_cursor"
Harm = Callable[[Path], None]


def row(cursor: int, content: str, **more: object) -> bytes:
    return json.dumps({"cursor": cursor, "timestamp": "2026-11-21 03:00", "content": content, **more}).encode() + b"\n"


def appended(data: bytes) -> Harm:
    def harm(root: Path) -> None:
        with (root / LOG).open("ab") as log:
            log.write(data)

    return harm


def replaced(path: str, old: bytes, new: bytes) -> Harm:
    def harm(root: Path) -> None:
        data = (root / path).read_bytes()
        assert old in data
        (root / path).write_bytes(data.replace(old, new))

    return harm


def written(path: str, data: bytes) -> Harm:
    return lambda root: (root / path).write_bytes(data) and None  # type: ignore[func-returns-value]


def gone(path: str) -> Harm:
    def harm(root: Path) -> None:
        shutil.rmtree(root / path) if (root / path).is_dir() else (root / path).unlink()

    return harm


def bom(path: str) -> Harm:
    return lambda root: (root / path).write_bytes(b"\xef\xbb\xbf" + (root / path).read_bytes()) and None  # type: ignore[func-returns-value]


def a_stale_lock(root: Path) -> None:
    lock = root / ".git/index.lock"
    lock.write_bytes(b"half an index")
    os.utime(lock, (time.time() - 4000,) * 2)


def a_link(root: Path) -> None:
    (root / "SOUL.md").unlink()
    (root / "SOUL.md").symlink_to("/etc/hostname")


def a_corrupt_object(root: Path) -> None:
    """The blob of USER.md as it is now."""
    name = git(root, "rev-parse", "HEAD:USER.md").strip()
    path = root / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"rubbish")


def a_corrupt_commit(root: Path) -> None:
    name = git(root, "rev-parse", "HEAD").strip()
    path = root / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"")


def an_old_corrupt_object(root: Path) -> None:
    name = git(root, "rev-parse", "HEAD~1:USER.md").strip()
    assert name != git(root, "rev-parse", "HEAD:USER.md").strip()
    path = root / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"rubbish")


@dataclass(frozen=True)
class Case:
    """A harm, where and how it is named, whether `--repair` mends it, and what is kept of it."""

    name: str
    harm: Harm
    file: str
    says: str
    mends: bool = True
    aside: str = ""


CASES = [
    Case("torn last line", appended(b'{"cursor": 5, "content": "ha'), LOG, "cut short", aside='"content\\": \\"ha'),
    Case("bad byte", appended(row(5, "caf@").replace(b"@", b"\xe9")), LOG, "not valid", aside="base64"),
    Case("bad byte that breaks a line", appended(b"\xff\xfe\x00\n"), LOG, "not JSON", aside="base64"),
    Case("foreign JSON line", appended(b"[1, 2]\n"), LOG, "JSON object", aside="[1, 2]"),
    Case("line that is no JSON", appended(b"hello\n"), LOG, "not JSON", aside="hello"),
    Case("cursor that is text", appended(row(5, "x").replace(b"5", b'"5"', 1)), LOG, "positive whole", aside='\\"5\\"'),
    Case("no content", appended(b'{"cursor": 5}\n'), LOG, "no text", aside='{\\"cursor\\": 5}'),
    Case(
        "duplicate cursor", appended(row(4, "another fact, under a number that is taken")), LOG, "comes after entry 4"
    ),
    Case("falling cursor", appended(row(5, "five") + row(2, "said late")), LOG, "comes after entry 5"),
    Case(
        "line that stands twice",
        lambda root: appended((root / LOG).read_bytes().splitlines(True)[-1])(root),
        LOG,
        "comes",
    ),
    Case("BOM in history", bom(LOG), LOG, "strict JSON", aside="\ufeff"),
    Case("CRLF in history", replaced(LOG, b"\n", b"\r\n"), LOG, "CRLF"),
    Case("stale .cursor", written("memory/.cursor", b"1\n"), "memory/.cursor", "ends with entry 4"),
    Case("empty .cursor", written("memory/.cursor", b""), "memory/.cursor", "ends with entry 4"),
    Case("empty .dream_cursor", written(CURSOR, b""), CURSOR, "instead of the cursor"),
    Case("torn .dream_cursor", written(CURSOR, b"\x00\x00"), CURSOR, "instead of the cursor"),
    Case("future .dream_cursor", written(CURSOR, b"999\n"), CURSOR, "instead of the cursor"),
    Case("old .dream_cursor", written(CURSOR, b"1\n"), CURSOR, "the last commit"),
    Case("missing .dream_cursor", gone(CURSOR), CURSOR, "is missing"),
    Case("missing .git", gone(".git"), ".git", "no versions"),
    Case("stale index.lock", a_stale_lock, ".git/index.lock", "died"),
    Case("corrupt object", a_corrupt_object, ".git", "failed"),
    Case("corrupt commit", a_corrupt_commit, ".git", "failed", aside=".dream/git-damaged"),
    Case("corrupt older object", an_old_corrupt_object, ".git", "failed", mends=False),
    Case("CRLF in a memory file", replaced("USER.md", b"\n", b"\r\n"), "USER.md", "CRLF"),
    Case("BOM in a memory file", bom("USER.md"), "USER.md", "byte order mark"),
    Case(
        "a bad byte in a memory file",
        written("USER.md", b"caf\xe9\n"),
        "USER.md",
        "not UTF-8",
    ),
    Case("unfinished commit", written(".dream/apply.json", b"{"), ".dream/apply.json", "cut short"),
    Case(
        "half-written file",
        written("memory/.MEMORY.md.999999-ab.dream-tmp", b"ha"),
        "memory/.MEMORY.md.999999-ab.dream-tmp",
        "killed",
    ),
    Case(
        "unfinished forgetting",
        written(".dream/forgetting.json", b"{}"),
        ".dream/forgetting.json",
        "forget",
        mends=False,
    ),
    Case(
        "a link as a memory file",
        a_link,
        "SOUL.md",
        "symbolic link",
        mends=False,
    ),
]


@pytest.fixture(scope="module")
def sound(pattern: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the fault tests with nothing left to say of it."""
    root = copy(pattern, tmp_path_factory.mktemp("sound") / "w")
    found = called(root, "doctor", "--json")
    assert (found.status, found.json) == (0, []), found.err
    return root


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_damage_is_named_and_mended_without_loss(sound: Path, tmp_path: Path, case: Case, count: Count) -> None:
    count(f"kinds of damage on disk, {'mended' if case.mends else 'named'} by dream doctor", 1)
    root = copy(sound, tmp_path / "w")
    case.harm(root)
    named = called(root, "doctor", "--json")
    assert named.status == 1, named.err
    assert [one for one in named.json if one["file"] == case.file and case.says in one["text"] and one["cure"]], (
        named.out
    )
    assert not any(one["mended"] for one in named.json)

    mended = called(root, "doctor", "--repair", "--json")
    ours = [one for one in mended.json if one["file"] == case.file and case.says in one["text"]]
    assert mended.status == (0 if case.mends else 1), mended.out
    assert all(one["mended"] == case.mends for one in ours)
    if case.aside:
        kept = [*(root / ".dream").glob("git-damaged-*"), root / "memory/archive/set-aside.jsonl"]
        text = "".join([str(kept[0]), *(path.read_text(encoding="utf-8") for path in kept if path.is_file())])
        assert case.aside in text
    if not case.mends:
        return
    again = called(root, "doctor", "--json")
    assert (again.status, again.json) == (0, [])


# One of each thing that the doctor looks at.
TOGETHER = (
    "no content",
    "stale .cursor",
    "empty .dream_cursor",
    "stale index.lock",
    "CRLF in a memory file",
    "half-written file",
    "unfinished forgetting",
    "a link as a memory file",
)


def test_damage_of_each_kind_is_named_at_once(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    cases = [case for case in CASES if case.name in TOGETHER]
    for case in cases:
        case.harm(root)

    named = called(root, "doctor", "--json").json

    for case in cases:
        assert [one for one in named if one["file"] == case.file and case.says in one["text"]], (case.name, named)


def without_line(number: int) -> Harm:
    def harm(root: Path) -> None:
        lines = (root / LOG).read_bytes().splitlines(keepends=True)
        del lines[number]
        (root / LOG).write_bytes(b"".join(lines))

    return harm


LOSSES = {
    "the log is removed": (gone(LOG), "the entries 1–4 are missing"),
    "the log is emptied": (written(LOG, b""), "the entries 1–4 are missing"),
    "its first line is cut out": (without_line(0), "entry 1 is missing"),
    "a line is cut out": (without_line(1), "entry 2 is missing"),
    "its last line is cut out": (without_line(-1), "entry 4 is missing"),
    "a line is changed": (replaced(LOG, b'"content":"', b'"content":"not '), "not as it was written"),
    "a line holds NULs": (replaced(LOG, b'"content":"', b'"content":"\0\0\0'), "NUL bytes"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_named_by_each_command_until_it_is_accepted(sound: Path, tmp_path: Path, loss: str) -> None:
    root = copy(sound, tmp_path / "w")
    harm, says = LOSSES[loss]
    harm(root)

    assert says in called(root, "note", "we go on").err
    for command in (["doctor"], ["status", "--check"]):
        found = called(root, *command)
        assert (found.status, says in found.out) == (1, True), found.out

    assert called(root, "doctor", "--repair").status == 0
    assert (called(root, "doctor").status, called(root, "status", "--check").status) == (0, 0)


@pytest.fixture(scope="module")
def decided(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sound workspace with an edit held for review and one that was rejected."""
    root = copy(sound, tmp_path_factory.mktemp("decided") / "w")
    (root / "dream.toml").write_text('review = "hold"\n', encoding="utf-8")
    for said in ("I play the cello", "I live in Lisbon"):
        called(root, "note", said)
        called(root, "run")
    numbers = [one["id"] for one in called(root, "review", "--json").json]
    called(root, "review", "reject", numbers[0])
    assert called(root, "doctor").status == 0
    return root


def cut(path: str, lines: slice) -> Harm:
    def harm(root: Path) -> None:
        kept = (root / path).read_bytes().splitlines(keepends=True)[lines]
        (root / path).write_bytes(b"".join(kept))

    return harm


def said(root: Path) -> Path:
    return next((root / "memory/messages").glob("*.jsonl"))


def of_messages(harm: Callable[[bytes], bytes]) -> Harm:
    return lambda root: said(root).write_bytes(harm(said(root).read_bytes())) and None  # type: ignore[func-returns-value]


PENDING, REJECTED = "memory/.pending.jsonl", "memory/.rejected.jsonl"
BESIDE = {
    "the messages are removed": (gone("memory/messages"), "messages are missing"),
    "the messages are emptied": (of_messages(lambda data: b""), "messages are missing"),
    "the messages are halved": (of_messages(lambda data: data[: len(data) // 2]), "messages are missing"),
    "a message is cut out": (of_messages(lambda data: data.partition(b"\n")[2]), "1 message is missing"),
    "a message is changed": (of_messages(lambda data: data.replace(b'"text":"', b'"text":"x', 1)), "not as it was"),
    "what is held is removed": (gone(PENDING), ".pending.jsonl: lacks "),
    "what is held is emptied": (written(PENDING, b""), ".pending.jsonl: lacks "),
    "what is held is damaged": (replaced(PENDING, b'"reason":', b'"raisin":'), ".pending.jsonl: lacks "),
    "what was rejected is removed": (gone(REJECTED), "lacks 1 line"),
    "what was rejected is short of a line": (cut(REJECTED, slice(0, -1)), "lacks 1 line"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", BESIDE)
def test_a_loss_beside_the_log_is_named_once(decided: Path, tmp_path: Path, loss: str) -> None:
    root = copy(decided, tmp_path / "w")
    harm, says = BESIDE[loss]
    harm(root)

    found = called(root, "doctor")

    assert (found.status, says in found.out) == (1, True), found.out
    assert called(root, "doctor", "--repair").status == 0
    assert called(root, "doctor").status == 0
    assert [(root / path).read_bytes() for path in (PENDING, REJECTED)] == [
        (decided / path).read_bytes() for path in (PENDING, REJECTED)
    ]


def test_what_was_decided_is_put_back_by_the_next_run(decided: Path, tmp_path: Path) -> None:
    root = copy(decided, tmp_path / "w")
    for path in (PENDING, REJECTED):
        (root / path).unlink()

    assert "lacks 1 line" in called(root, "review").err
    assert "lacks 1 line" in called(root, "status", "--check").out
    called(root, "note", "I like tea")
    assert "put back" in called(root, "run").err

    for path in (PENDING, REJECTED):
        assert (decided / path).read_bytes() in (root / path).read_bytes()


def test_a_workspace_of_an_older_version_has_lost_nothing(decided: Path, tmp_path: Path) -> None:
    root = copy(decided, tmp_path / "w")
    for path in [root / LOG, *root.glob("memory/archive/history-*"), said(root)]:
        found = [json.loads(line) for line in path.read_bytes().splitlines()]
        left = [{name: value for name, value in one.items() if name not in ("kept", "checksum")} for one in found]
        path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in left))

    (root / "memory/format").unlink()

    assert called(root, "doctor").status == 0


def test_what_is_forgotten_is_no_loss(decided: Path, tmp_path: Path) -> None:
    root = copy(decided, tmp_path / "w")
    words = json.loads(said(root).read_bytes().splitlines()[0])["text"][4:19]

    assert called(root, "forget", words, "--yes").status == 0

    assert words.encode() not in said(root).read_bytes()
    assert called(root, "doctor").status == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["SOUL.md", "USER.md", "memory/MEMORY.md"])
def test_a_byte_that_is_not_utf8_hides_no_other_line(sound: Path, tmp_path: Path, name: str) -> None:
    root = copy(sound, tmp_path / "w")
    with (root / name).open("ab") as file:
        file.write(b"- Likes caf\xe9s\n- Owns a kayak\n")

    shown = called(root, "context")
    assert (shown.status, "- Owns a kayak" in shown.out) == (0, True), shown.err
    assert f"Not all of memory could be read: {name}, line" in shown.out
    assert called(root, "search", "kayak").status == called(root, "why", "Owns a kayak").status == 0

    before = (root / name).read_bytes()
    assert called(root, "run").status == 1
    assert (root / name).read_bytes() == before
    assert called(root, "doctor", "--repair").status == 0
    assert "- Likes cafés" in (root / name).read_text(encoding="utf-8")


def test_settings_that_cannot_be_read_leave_memory_readable(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    (root / "dream.toml").write_bytes(b'timezone = "caf\xe9"\n')

    shown = called(root, "context")

    assert (shown.status, called(copy(sound, tmp_path / "s"), "context").out) == (0, shown.out)
    assert "dream.toml" in shown.err


VERSIONS = {
    "HEAD holds random bytes": (written(".git/HEAD", bytes(range(128, 168))), "HEAD is damaged"),
    "HEAD is empty": (written(".git/HEAD", b""), "HEAD is damaged"),
    "HEAD is gone": (gone(".git/HEAD"), "HEAD is damaged"),
    "the branch holds random bytes": (written(".git/refs/heads/main", b"\x8f\xfe"), "refs/heads/main is damaged"),
    "the branch is gone": (gone(".git/refs/heads/main"), "refs/heads/main is gone"),
    "the index holds random bytes": (written(".git/index", bytes(range(128, 168))), ".git/index"),
    "the index is empty": (written(".git/index", b""), ".git/index"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", VERSIONS)
def test_lost_versions_are_named_by_doctor_and_status_and_brought_back(sound: Path, tmp_path: Path, loss: str) -> None:
    root = copy(sound, tmp_path / "w")
    harm, says = VERSIONS[loss]
    before = git(root, "rev-list", "HEAD"), git(root, "status", "--short"), memory(root)
    harm(root)

    for command in (["doctor"], ["status", "--check"]):
        found = called(root, *command)
        assert (found.status, says in found.out) == (1, True), found.out

    assert called(root, "doctor", "--repair").status == 0
    assert (called(root, "doctor").status, called(root, "status", "--check").status) == (0, 0)
    assert (git(root, "rev-list", "HEAD"), git(root, "status", "--short"), memory(root)) == before


@pytest.mark.slow
def test_an_append_that_was_cut_short_is_named_by_doctor_and_status(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    appended(b"\x8f\x00\xfe\x13 rubbish")(root)

    for command in (["doctor"], ["status", "--check"]):
        found = called(root, *command)
        assert (found.status, "its last 12 bytes are an append that was cut short" in found.out) == (1, True), found.out

    assert called(root, "doctor", "--repair").status == 0
    assert called(root, "status", "--check").status == 0


@pytest.mark.parametrize("case", [case for case in CASES if case.mends], ids=lambda case: case.name.replace(" ", "-"))
@pytest.mark.long
def test_work_goes_on_after_the_repair(sound: Path, tmp_path: Path, case: Case) -> None:
    root = copy(sound, tmp_path / "w")
    case.harm(root)
    called(root, "doctor", "--repair")
    called(root, "run")
    Checker(root, typed=case.name not in ("missing .git", "corrupt commit")).check()
    assert "walnuts" in "".join(memory(root).values())


def test_new_entries_are_dreamt_though_the_cursor_says_that_they_were(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    (root / CURSOR).write_text("999\n")
    called(root, "note", "My bicycle is green")
    done = called(root, "run", "--json").json
    assert done["outcome"] == "committed"
    text = "".join(memory(root).values())
    assert "walnuts" in text
    assert "bicycle" in text


def test_new_entries_are_dreamt_after_history_and_its_cursor_were_deleted(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    called(root, "run")
    for path in (root / "memory").rglob("*.jsonl"):
        path.unlink()
    (root / "memory/.cursor").unlink()
    called(root, "note", "My bicycle is green")
    assert called(root, "run", "--json").json["outcome"] == "committed"
    assert "bicycle" in "".join(memory(root).values())
    assert [one["cursor"] for one in rows(root)] == [5]


@pytest.mark.slow
def test_an_entry_that_stood_out_of_order_is_dreamt_after_the_repair(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path / "w")
    called(root, "run")
    appended(row(2, "- My bicycle is green"))(root)
    called(root, "doctor", "--repair")
    assert [one["cursor"] for one in rows(root)] == [1, 2, 3, 4, 5]
    assert called(root, "run", "--json").json["batches"][0]["entries"] == [5, 5]
    assert "bicycle" in "".join(memory(root).values())


def test_what_a_process_at_work_has_half_done_is_no_ailment(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path)
    half, lock = root / ".dream" / "apply.json", root / ".git" / "index.lock"
    half.write_bytes(b"{}")
    a_stale_lock(root)

    def end() -> None:
        time.sleep(0.1)
        half.unlink()
        lock.unlink()

    with run_lock(root / ".dream"):
        worker = threading.Thread(target=end)
        worker.start()
        found = examine(Workspace.open(root), Settings(), now=datetime.now(UTC))
        worker.join()

    assert found == []


@pytest.mark.slow
def test_a_lock_that_vanishes_under_the_doctor_is_no_error(sound: Path, tmp_path: Path) -> None:
    root = copy(sound, tmp_path)
    over = threading.Event()

    def flicker() -> None:
        lock = root / ".git" / "refs" / "heads" / "a.lock"
        while not over.is_set():
            lock.touch()
            lock.unlink()

    worker = threading.Thread(target=flicker)
    worker.start()
    try:
        assert all(not list(_locks(Workspace.open(root), repair=False)) for _ in range(50))
    finally:
        over.set()
        worker.join()
