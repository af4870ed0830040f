"""Two homes that meet over real ssh: a sshd of this user's own on loopback, with keys of its own."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SSHD = shutil.which("sshd") or next((path for path in ("/usr/sbin/sshd", "/sbin/sshd") if Path(path).exists()), None)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SSHD is None, reason="no sshd on this machine: apt-get install openssh-server"),
]


@dataclass(frozen=True, slots=True)
class Server:
    """A running sshd: how git reaches it, and the bare repository behind it."""

    url: str
    folder: Path
    configuration: Path
    process: subprocess.Popen[bytes]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "mine", "strange"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    shutil.copy(keys / "mine.pub", keys / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (keys / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {keys / 'host'}\n"
        f"AuthorizedKeysFile {keys / 'authorized_keys'}\nPidFile {keys / 'pid'}\n"
        "StrictModes no\nPasswordAuthentication no\n",
        encoding="utf-8",
    )
    host = (keys / "host.pub").read_text(encoding="utf-8")
    (keys / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}", encoding="utf-8")
    (keys / "ssh_config").write_text(
        f"Host *\n  IdentityFile {keys / 'mine'}\n  IdentitiesOnly yes\n  BatchMode yes\n"
        f"  UserKnownHostsFile {keys / 'known_hosts'}\n",
        encoding="utf-8",
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    assert SSHD is not None
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(keys / "sshd_config")], stderr=subprocess.DEVNULL)
    folder = tmp_path / "memory.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    try:
        _answers(port)
        yield Server(f"ssh://{getpass.getuser()}@127.0.0.1:{port}{folder}", folder, keys / "ssh_config", process)
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("sshd did not start")


class Home:
    """A home with a workspace, from which `dream` is run."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        folder.mkdir()
        self.reach_with(server.configuration)

    def reach_with(self, configuration: Path) -> None:
        ssh = f"[core]\n\tsshCommand = ssh -F {configuration}\n"
        (self.folder / ".gitconfig").write_text(ssh, encoding="utf-8")

    def dream(self, *words: str, ok: int = 0, said: str = "") -> str:
        clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        found = subprocess.run(
            [sys.executable, "-m", "dream", *words],
            env={**clean, "HOME": str(self.folder)},
            cwd=self.folder,
            input=said.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert found.returncode == ok, found.stderr.decode()
        return (found.stdout + found.stderr).decode()

    def memory(self) -> str:
        root = self.folder / ".dream" / "workspace"
        return "".join((root / name).read_text(encoding="utf-8") for name in ("USER.md", "memory/MEMORY.md"))


def test_two_homes_share_one_memory_over_ssh(tmp_path: Path, server: Server) -> None:
    laptop, desktop = Home(tmp_path / "laptop", server), Home(tmp_path / "desktop", server)
    laptop.dream("init")
    laptop.dream("note", "I am allergic to peanuts")
    laptop.dream("run")
    assert "go SOUL.md" in laptop.dream("sync", server.url, "--yes")

    desktop.dream("clone", server.url)
    assert "peanuts" in desktop.memory()
    desktop.dream("note", "I moved to Lisbon")
    desktop.dream("nightly")
    assert "Lisbon" in desktop.memory()
    laptop.dream("nightly")
    assert "Lisbon" in laptop.memory()
    assert laptop.memory() == desktop.memory()

    met = json.loads(laptop.dream("status", "--json"))["sync"]
    key = laptop.dream("sync", "--trust", met["machines"][0]["name"]).split()[-1]
    desktop.dream("sync", "--trust", met["machine"], said=f"{key}\n")
    desktop.dream("sync")
    laptop.dream("sync")
    laptop.dream("forget", "peanuts", "--yes")
    desktop.dream("sync")
    assert "peanuts" not in laptop.memory() + desktop.memory()
    told = subprocess.run(
        ["git", f"--git-dir={server.folder}", "log", "--all", "-p"], capture_output=True, check=True, text=True
    ).stdout
    assert "Lisbon" in told
    assert "peanuts" not in told


def test_a_key_that_is_refused_and_a_host_that_is_down_change_nothing(tmp_path: Path, server: Server) -> None:
    laptop = Home(tmp_path / "laptop", server)
    laptop.dream("init")
    laptop.dream("note", "I am allergic to peanuts")
    laptop.dream("run")
    laptop.dream("sync", server.url, "--yes")
    before = laptop.memory()

    strange = tmp_path / "strange_config"
    text = server.configuration.read_text(encoding="utf-8")
    strange.write_text(text.replace("keys/mine", "keys/strange"), encoding="utf-8")
    laptop.reach_with(strange)
    assert "Permission denied" in laptop.dream("sync", ok=1)
    assert "Permission denied" in laptop.dream("status")

    laptop.reach_with(server.configuration)
    server.process.terminate()
    server.process.wait()
    laptop.dream("note", "I like green tea")
    assert "Not synced: git ls-remote failed" in laptop.dream("nightly")
    assert "green tea" in laptop.memory()
    assert before.splitlines()[0] in laptop.memory()
