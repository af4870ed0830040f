"""`dream` processes without the half second in which Python loads it: a server that has loaded it forks one for each.

Each is a process and a session of its own, as from a shell, and can be killed with all that it starts. Where the
server was started with the shim before libc, a fault can be put into any of them.

    client                     server (dream loaded)         handler (one for each client)        the `dream` process
    connect, request   ───▶    accept, fork           ───▶   fork                          ───▶   runs the command
    pid, then status   ◀──────────────────────────────────   waits for it                         out and err in files
"""

from __future__ import annotations

import ctypes
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import ClassVar

HEAVY = ("dream.llm.gateway", "dream.__main__")  # LiteLLM takes seconds, and no fault test calls it


class Server:
    """The client's side: one server process for each shim, started when it is first needed."""

    _running: ClassVar[dict[Path | None, Server]] = {}
    _starting = threading.Lock()

    def __init__(self, shim: Path | None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dream-fork-")
        self._path = f"{self._folder.name}/socket"
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
        env |= {"LD_PRELOAD": str(shim)} if shim else {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forking", self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    @classmethod
    def with_shim(cls, shim: Path | None) -> Server:
        """Return the server with this shim; without one, any that runs."""
        with cls._starting:
            if shim is None and cls._running:
                return next(iter(cls._running.values()))
            if shim not in cls._running:
                cls._running[shim] = cls(shim)
            return cls._running[shim]

    @classmethod
    def stop_all(cls) -> None:
        """End the servers; what they started has ended."""
        for server in cls._running.values():
            server._process.communicate()
            server._folder.cleanup()
        cls._running.clear()

    def start(self, arguments: Sequence[str], env: Mapping[str, str]) -> Forked:
        """Start `dream` with `arguments`."""
        return Forked(self._path, arguments, env)


class Forked:
    """A running `dream`."""

    def __init__(self, path: str, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)
        self._socket.connect(path)
        self._files = [tempfile.TemporaryFile() for _ in "oe"]  # noqa: SIM115 - `wait` closes them
        request = json.dumps({"arguments": [*arguments], "env": dict(env)}).encode() + b"\n"
        socket.send_fds(self._socket, [b"."], [file.fileno() for file in self._files])
        self._socket.sendall(request)
        self._answers = self._socket.makefile("rb")
        self.pid = int(self._answers.readline())

    def wait(self) -> tuple[int, str, str]:
        """Wait for its end: the status (negative: the signal that killed it), what it printed, and its errors."""
        status = int(self._answers.readline())
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read().decode())
            file.close()
        self._answers.close()
        self._socket.close()
        return status, texts[0], texts[1]


def serve(path: str) -> None:
    """Load dream, listen, and fork a handler for each client, until stdin ends."""
    import dream

    for module in pkgutil.walk_packages(dream.__path__, "dream."):
        if module.name not in HEAVY:
            import_module(module.name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    print("ready", flush=True)
    handlers: set[int] = set()
    while True:
        ready = select.select([listening, sys.stdin], [], [])[0]
        handlers -= {pid for pid in handlers if os.waitpid(pid, 0 if sys.stdin in ready else os.WNOHANG)[0]}
        if sys.stdin in ready:
            return
        client, _ = listening.accept()
        if (pid := os.fork()) == 0:
            listening.close()
            _handle(client)
            os._exit(0)
        handlers.add(pid)
        client.close()


def _handle(client: socket.socket) -> None:
    _, descriptors, _, _ = socket.recv_fds(client, 1, 2)
    request = json.loads(client.makefile("rb").readline())
    pid = os.fork()
    if pid == 0:
        client.close()
        _be_dream(request, descriptors)
    client.sendall(b"%d\n" % pid)
    status = os.waitpid(pid, 0)[1]
    client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _be_dream(request: dict[str, object], descriptors: Sequence[int]) -> None:
    """Become `dream`: a session of its own, its streams, its environment and, where it is asked for, its fault."""
    from dream.cli import main

    status = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for goal, descriptor in enumerate(descriptors, start=1):
            os.dup2(descriptor, goal)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(request["env"])  # type: ignore[call-overload]
        if "FAULT_AT" in os.environ:
            ctypes.CDLL(None).fault_prepare()
        sys.argv = ["dream", *request["arguments"]]  # type: ignore[misc]
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter itself does at the end of a process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
