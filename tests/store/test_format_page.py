"""docs/format.md is enough to read a workspace: what is here knows nothing of `dream` but that page."""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import readme
from tests.cli.commands import dream

CHECKSUM = b',"checksum"'
PAGE = readme.text("docs/format.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    assert dream("demo", root).status == 0
    return root


def checked(path: Path, *, chained: bool) -> Iterator[dict[str, object]]:
    """Yield the rows of a file of JSON lines whose checksums are as the page says."""
    before = "00000000"
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        own = f"{zlib.crc32(line[: line.rindex(CHECKSUM)]):08x}"
        assert row["checksum"] == f"{before if chained else '0' * 8}-{own}"
        before = own
        yield row


def test_history_and_messages_are_read_by_the_page_alone(workspace: Path) -> None:
    entries = list(checked(workspace / "memory/history.jsonl", chained=True))
    messages = [row for path in (workspace / "memory/messages").glob("*.jsonl") for row in checked(path, chained=False)]
    said = {(row["session"], row["position"]): row for row in messages}

    assert [entry["cursor"] for entry in entries] == list(range(1, len(entries) + 1))
    assert len(messages) == sum(int(str(entry["kept"])) for entry in entries) > 0
    for entry in entries:
        lines, span, ids = entry["lines"], entry["span"], str(entry["ids"])
        assert isinstance(lines, list)
        assert isinstance(span, list)
        assert len(lines) == len(str(entry["content"]).split("\n"))
        for line in lines:
            for position in line.get("cites", ()):
                message = said[entry["session"], position]
                at = 8 * (position - span[0])
                assert (message["role"], message["id"]) == (line["voice"], ids[at : at + 8])


def test_each_field_and_each_file_and_trailer_stands_on_the_page(workspace: Path) -> None:
    rows = [*checked(workspace / "memory/history.jsonl", chained=True)]
    rows += [row for path in (workspace / "memory/messages").glob("*.jsonl") for row in checked(path, chained=False)]
    tracked = subprocess.run(["git", "ls-files"], cwd=workspace, capture_output=True, text=True, check=True).stdout
    bodies = subprocess.run(["git", "log", "--format=%B"], cwd=workspace, capture_output=True, text=True, check=True)

    names = {name for row in rows for name in row} | {path.rpartition("/")[2] for path in tracked.split()}
    names |= set(re.findall(r"^(Dream-\w+):", bodies.stdout, re.MULTILINE))

    assert {name for name in names if name not in PAGE} == set()


def test_what_another_program_appends_by_the_page_is_dreamt(workspace: Path) -> None:
    memory = workspace / "memory"
    last = int((memory / ".cursor").read_text())
    row = {"cursor": last + 1, "timestamp": "2026-11-20 09:00", "content": "- The user is allergic to peanuts"}
    with (memory / "history.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")
    (memory / ".cursor").write_text(f"{last + 1}\n")

    assert dream("run", "-w", workspace).status in (0, 3)
    assert (memory / ".dream_cursor").read_text() == f"{last + 1}\n"
    assert dream("doctor", "-w", workspace).status == 0
