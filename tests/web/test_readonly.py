"""A workspace on a disk that can't be written to: every page shows what there is, says so, and offers no act."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from dream.actions.note import note
from dream.directory import Workspace
from dream.settings import Settings
from tests.cli.commands import ROOT, environment
from tests.web.conftest import Page
from tests.web.test_shown import PAGES

# Makes a folder read-only for what runs after it, in a mount namespace of its own: permissions don't bind root.
BOUND = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture
def readonly(workspace: Workspace, tmp_path: Path) -> Path:
    """A workspace that `inside` mounts read-only."""
    workspace.history.close()
    if not shutil.which("unshare") or subprocess.run(inside(tmp_path, "true"), check=False).returncode:
        pytest.skip("this user can't make a mount namespace here (`unshare -rm`)")
    return workspace.root


def inside(folder: Path, *command: object) -> list[str]:
    """Return the command line that runs another where `folder` is mounted read-only."""
    return ["unshare", "-rm", "sh", "-c", BOUND, str(folder), *map(str, command)]


@pytest.fixture
def client(readonly: Path) -> Iterator[httpx.Client]:
    """A browser that has come in, at its server."""
    line = inside(readonly, sys.executable, "-m", "dream", "web", "--port", "0", "--no-open", "-w", readonly)
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment()
    ) as it:
        assert it.stdout is not None
        address = it.stdout.readline().strip()
        with httpx.Client(base_url=address.partition("/?")[0], trust_env=False, verify=False, timeout=120) as client:
            client.get(address, follow_redirects=True)
            yield client
        it.send_signal(signal.SIGINT)
        _, err = it.communicate(timeout=120)
        assert err == ""


def test_a_disk_that_cannot_be_written_to_is_told_of_on_every_page(client: httpx.Client, workspace: Workspace) -> None:
    sha = workspace.git.log(1)[0].sha
    paths = [path.replace("HEAD~2", sha[:10]).replace("HEAD~1", sha[:10]) for path in PAGES]
    for path in (*paths, "/search?q=Rex", "/forget", Page(client.get("/memory").text).links("dog called Rex")[0]):
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text)
        page = Page(answer.text)
        assert "can only be read" in page.text, path
        assert [form for form in page.forms if form.method == "post"] == [], path
    assert "Has a dog called Rex" in client.get("/memory").text
    assert "Has a dog called Rex" in Page(client.get("/search?q=Rex").text).text
    assert "Likes green tea" in client.get("/review").text


def test_a_dry_run_shows_there_what_it_would_change(readonly: Path, workspace: Workspace) -> None:
    sha = next(change.sha for change in workspace.git.log() if change.kind == "dream" and change.files)
    note(workspace, "I moved to Kyoto.", settings=Settings(), now=datetime(2026, 11, 22, tzinfo=UTC))
    workspace.history.close()

    def told(*line: str) -> str:
        command = inside(readonly, sys.executable, "-m", "dream", *line, "-w", readonly)
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment(), check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    shown = told("restore", "--dry-run", sha)
    assert shown.startswith(sha[:10])
    assert "\n--- a/" in shown
    assert "\n@@ " in shown
    dreamt = told("run", "--dry-run")
    assert '+- "I moved to Kyoto."' in dreamt
    assert "This was a dry run: nothing was written." in dreamt


def test_a_dry_run_that_costs_money_wants_a_disk_on_which_its_bill_can_be_noted(readonly: Path) -> None:
    line = inside(
        readonly, sys.executable, "-m", "dream", "run", "--dry-run", "-m", "openai/gpt-5-mini", "-w", readonly
    )
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=environment(), check=False)

    assert done.returncode == 1
    assert done.stderr.endswith("run.lock cannot be opened: the file system is read-only.\n")
