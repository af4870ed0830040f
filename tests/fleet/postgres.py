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


@contextmanager
def server() -> Iterator[str]:
    """Run a server, and yield the address of its database. It refuses to run as root, so root runs it as another.

    Its folder is beside those of pytest, which are closed to any other user.
    """
    folder = Path(tempfile.mkdtemp(prefix="dream-postgres-"))
    user = None
    if os.geteuid() == 0:
        user = next(name for name in ("postgres", "nobody") if any(one.pw_name == name for one in pwd.getpwall()))
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    subprocess.run(
        [str(program("initdb")), "-D", str(data), "-U", "dream", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True,
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    line = [str(program("postgres")), "-D", str(data), "-p", str(port), "-k", str(folder), "-c", "fsync=off"]
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([*line, "-h", "127.0.0.1"], user=user, cwd=folder, stderr=log, stdout=log)
    try:
        ready = [str(program("pg_isready")), "-h", "127.0.0.1", "-p", str(port), "-t", "1"]
        for _ in range(300):
            if subprocess.run(ready, check=False, stdout=subprocess.DEVNULL).returncode == 0:
                break
        yield f"postgresql://dream@127.0.0.1:{port}/postgres"
    finally:
        running.send_signal(signal.SIGINT)  # fast: it waits for no client
        running.wait(60)
        shutil.rmtree(folder)
