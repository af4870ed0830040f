"""Whole files: atomic, durable, and said in a sentence when they can't be."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from dream import settings
from dream.directory import Workspace
from dream.errors import SettingsError, WorkspaceError
from dream.workspace.files import check_plain, read_bytes, read_text, replace_file, sweep
from tests.store.helpers_history import names


def test_a_replaced_file_holds_exactly_the_bytes_and_nothing_is_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "USER.md"
    replace_file(path, b"one\r\n")
    replace_file(path, b"two\r\n")

    assert path.read_bytes() == b"two\r\n"
    assert names(path.parent) == ["USER.md"]


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    path.write_text("x")
    path.chmod(0o640)

    replace_file(path, b"y")

    assert path.stat().st_mode & 0o777 == 0o640


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "USER.md")
    os.mkfifo(tmp_path / "dream.toml")

    with pytest.raises(WorkspaceError, match="not an ordinary file"):
        read_bytes(tmp_path / "USER.md")
    with pytest.raises(SettingsError, match="not an ordinary file"):
        settings.load(tmp_path)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("timezone", "Mars/Base", "'Mars/Base' is not a known time zone."),
        ("schedule", "61 3 * * *", "the schedule '61 3 * * *' cannot be used: '61' is no minute between 0 and 59."),
        ("batch_tokens", "0", "it has to be above 0."),
        ("redact_patterns", "(", "'(' is no regular expression (missing ), unterminated subpattern at position 0)."),
        ("phase2", "maybe", "'maybe' is not one of 'auto', 'always'."),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_the_place_where_it_stands(
    tmp_path: Path, name: str, value: str, why: str
) -> None:
    workspace = Workspace.create(tmp_path)
    for written, environ, flags, place in (
        (f'{name} = "{value}"\n', {}, {}, f"in {tmp_path}/dream.toml"),
        ("", {f"DREAM_{name.upper()}": value}, {}, f"in the environment (DREAM_{name.upper()})"),
        ("", {}, {name: value}, "on the command line"),
    ):
        (tmp_path / "dream.toml").write_text(written, encoding="utf-8")
        with pytest.raises(SettingsError) as raised:
            settings.load(workspace.root, environ=environ, flags=flags, using=())
        assert str(raised.value).startswith(f"Setting {name!r} {place}: {why}")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(WorkspaceError, match=r"USER\.md cannot be written: the file would grow beyond"):
            replace_file(path, b"x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["USER.md"]


def test_a_directory_or_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "USER.md").mkdir()
    (tmp_path / "memory").write_text("")

    with pytest.raises(WorkspaceError, match=r"USER\.md cannot be written: a directory stands there; move it away"):
        replace_file(tmp_path / "USER.md", b"x")
    with pytest.raises(WorkspaceError, match="a file stands where a directory should be"):
        replace_file(tmp_path / "memory" / "MEMORY.md", b"x")
    with pytest.raises(WorkspaceError, match=r"USER\.md cannot be read: a directory stands there"):
        read_text(tmp_path / "USER.md")


def test_text_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes("\ufeffa\r\nb\rc\n".encode())

    assert read_text(path) == "\ufeffa\r\nb\rc\n"
    assert (read_text(tmp_path / "missing"), read_bytes(tmp_path / "missing")) == ("", None)


def test_text_that_is_not_utf8_is_said_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "USER.md"
    path.write_bytes(b"one\ntwo \xff\n")

    with pytest.raises(WorkspaceError, match=r"USER\.md, line 2: byte 0xff is not UTF-8; save the file as UTF-8\."):
        read_text(path)


def test_links_and_special_files_are_refused(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_text("x")
    (tmp_path / "soft.md").symlink_to(real)
    check_plain(real)
    check_plain(tmp_path / "missing.md")
    os.mkfifo(tmp_path / "pipe.md")

    with pytest.raises(WorkspaceError, match=r"soft\.md is a symbolic link"):
        check_plain(tmp_path / "soft.md")
    with pytest.raises(WorkspaceError, match="is a directory"):
        check_plain(tmp_path)
    with pytest.raises(WorkspaceError, match=r"pipe\.md is not an ordinary file"):
        check_plain(tmp_path / "pipe.md")
    (tmp_path / "hard.md").hardlink_to(real)
    with pytest.raises(WorkspaceError, match=r"real\.md has a second name"):
        check_plain(real)


def test_only_what_the_dead_left_behind_is_swept(tmp_path: Path) -> None:
    orphan = tmp_path / ".USER.md.999999999-aaaa.dream-tmp"
    ours = tmp_path / f".USER.md.{os.getpid()}-aaaa.dream-tmp"
    other = tmp_path / ".USER.md.swp"
    for path in (orphan, ours, other):
        path.write_text("x")

    sweep(tmp_path)
    sweep(tmp_path / "missing")

    assert names(tmp_path) == sorted([ours.name, other.name])
