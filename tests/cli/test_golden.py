"""What each command prints with `--json`, key by key, from the demo's workspace: a field may be added, none renamed.

After a change of a shape that is meant, write golden.json anew from what `golden` returns.
"""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest

from dream.cli.group import dream_group

GOLDEN = Path(__file__).with_name("golden.json")
TELLING = {
    "outcome",
    "kind",
    "state",
    "file",
    "mode",
    "command",
    "guard",
    "model",
}  # whose values are shown as they are
# Each line is a command; what it prints stands in golden.json under it. {sha} is the newest change.
COMMANDS = """
init {new}
status
log
log {sha}
log --limit 1
why Lisbon
context --tokens 500
run
run --dry-run
run --estimate
note 'I am allergic to peanuts'
note 'I moved to Kyoto on 2026-11-18'
status
run --estimate
run --dry-run
run --set review=hold
review
review accept 1.1
review reject all
consolidate {chat}
consolidate {chat}
consolidate {broken} {chat}
run
nightly
sources add {chat}
sources
nightly
sources remove {chat}
restore {sha} --dry-run
restore {sha} --only --forget
restore {sha}
restore
forget peanuts --dry-run
forget peanuts --yes
doctor
trust
cron show crontab
cron show systemd
run --max-batches 0
log ffff
restore {sha} --at --only
status
"""


def shape(value: Any, key: str = "") -> Any:
    """Leave of a JSON value its keys and the types of what stands under them; of a list each shape once."""
    if isinstance(value, dict):
        kept = {name: shape(one, name) for name, one in value.items()}
        return kept if not any(name.startswith("/") for name in kept) else {"/…": next(iter(kept.values()))}
    if isinstance(value, list):
        shapes: list[Any] = []
        for one in value:
            if (shaped := shape(one, key)) not in shapes:
                shapes.append(shaped)
        return shapes
    if isinstance(value, bool) or value is None or (key in TELLING and isinstance(value, str) and "/" not in value):
        return value
    return type(value).__name__


def called(line: str, workspace: Path) -> tuple[Any, Any]:
    """Run a command line in this process; return its exit status and the value that it printed."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        try:
            status = dream_group.main([*shlex.split(line), "--json", "-w", str(workspace)], standalone_mode=False)
        except click.UsageError as error:
            return error.exit_code, None
    return status or 0, json.loads(out.getvalue())


def played(workspace: Path, folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Run all command lines one after the other; yield each with its status and its value."""
    chat, broken = folder / "chat.json", folder / "broken.json"
    chat.write_text(json.dumps([{"role": "user", "content": "I prefer short answers, and I live in Nara."}]))
    broken.write_text("{")
    for line in COMMANDS.strip().splitlines():
        names = {"sha": "", "new": str(folder / "new"), "chat": str(chat), "broken": str(broken)}
        if "{sha}" in line:
            names["sha"] = called("log --limit 1", workspace)[1][0]["sha"]
        yield line, *called(line.format(**names), workspace)


def golden(workspace: Path, folder: Path) -> list[Any]:
    return [{"line": line, "status": status, "json": shape(value)} for line, status, value in played(workspace, folder)]


def holds(found: Any, expected: Any) -> bool:
    """Return whether `found` has all that is expected; it may have more."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(name in found and holds(found[name], one) for name, one in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return all(any(holds(one, other) for one in found) for other in expected)
    return bool(found == expected)


def test_what_programs_read_keeps_its_shape(dreamt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # in no project, whatever the name of the checkout
    found = golden(dreamt, tmp_path)

    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert [one["line"] for one in found] == [one["line"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert holds(one, other), f"{json.dumps(one, indent=1)}\n\nhas not all of\n\n{json.dumps(other, indent=1)}"
