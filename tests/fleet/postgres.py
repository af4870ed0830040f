"""A real Postgres server of the test's own, on a socket in its own folder and a port of loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def program(name: str) -> str | None:
    """Find one of Postgres's programs: on the PATH, else where Debian's packages put them."""
    return shutil.which(name, path=os.pathsep.join([*map(str, PLACES), os.environ.get("PATH", "")]))


class Server:
    """A server that can be killed and started again; it refuses to run as root, so root runs it as another."""

    def __init__(self, folder: Path, user: str | None) -> None:
        self._folder = folder
        self._user = user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"postgresql://dream@127.0.0.1:{self._port}/postgres"
        line = ["initdb", "-D", f"{folder}/data", "-U", "dream", "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._run(line, check=True)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        line = ["-D", f"{self._folder}/data", "-p", str(self._port), "-k", str(self._folder), "-c", "fsync=off"]
        with (self._folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                [str(program("postgres")), *line, "-h", "127.0.0.1"],
                user=self._user,
                cwd=self._folder,
                stderr=log,
                stdout=log,
            )
        for _ in range(300):
            if self._run(["pg_isready", "-h", "127.0.0.1", "-p", str(self._port), "-t", "1"], check=False) == 0:
                break

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT waits for no client, SIGQUIT is a crash of all its processes."""
        self._running.send_signal(number)
        self._running.wait(60)

    def _run(self, line: list[str], *, check: bool) -> int:
        line = [str(program(line[0])), *line[1:]]
        return subprocess.run(
            line, check=check, user=self._user, cwd=self._folder, stdout=subprocess.DEVNULL
        ).returncode


@contextmanager
def running() -> Iterator[Server]:
    """Run a server. Its folder is beside those of pytest, which are closed to any other user."""
    folder = Path(tempfile.mkdtemp(prefix="dream-postgres-"))
    user = None
    if os.geteuid() == 0:
        user = next(name for name in ("postgres", "nobody") if any(one.pw_name == name for one in pwd.getpwall()))
        shutil.chown(folder, user)
    server = Server(folder, user)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@contextmanager
def server() -> Iterator[str]:
    """Run a server, and yield the address of its database."""
    with running() as one:
        yield one.url
