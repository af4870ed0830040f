"""`dream` processes without the half second in which Python loads it: a server that has loaded it forks one for each.

Each is a process and a session of its own, as from a shell, and can be killed with all that it starts. Where a
compiler is there, the server is started with the shim before libc, and a fault can be put into any of them.

    client                     server (dream loaded)        the `dream` process
    connect, request   ───▶    accept, fork          ───▶   runs the command
    pid, then status   ◀───    waits for it                 out and err in files

The server has done every usual thing once, so that tables are read and patterns compiled before it forks.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar

# LiteLLM and the MCP SDK take seconds, and hardly any of them needs one.
HEAVY = ("dream.llm.gateway", "dream.mcp.calls", "dream.__main__")
LIBRARIES = ("git", "tomlkit")  # which `dream` itself loads where it needs them
MODEL, MCP = "with LiteLLM", "with the MCP SDK"
PYTHON = "python"
DREAM = "from dream.cli import main; main()"
SAID = str(Path(__file__).parent.parent / "dream/demo/1-monday.jsonl")
PRACTICE = (
    *(("init",), ("note", "I live in Porto"), ("consolidate", SAID), ("run",), ("run",), ("log",), ("status",)),
    *(("search", "Porto"), ("context",), ("review",), ("doctor",), ("restore",), ("forget", "Porto", "--yes")),
)


@cache
def shim() -> Path | None:
    """Compile the library that counts, kills and refuses calls; None without a compiler or glibc."""
    if (compiler := shutil.which("gcc") or shutil.which("cc")) is None:
        return None
    folder = tempfile.mkdtemp(prefix="dream-shim-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    built, source = Path(folder, "shim.so"), Path(__file__).parent / "faults" / "shim.c"
    line = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"]
    return None if subprocess.run(line, capture_output=True, check=False).returncode else built


class Server:
    """The client's side: one server process for each kind, started when it is first needed."""

    _running: ClassVar[dict[str, Server]] = {}
    _starting = threading.RLock()

    def __init__(self, kind: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dream-fork-")
        self.path = f"{self._folder.name}/socket"
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        env |= {"LD_PRELOAD": str(compiled)} if (compiled := shim()) else {}
        self._process: Program | subprocess.Popen[str]
        if kind:  # one that has dream loaded loads the library too
            self._process = Program("import sys; from tests.forking import grow; grow(*sys.argv[1:])", self.path, kind)
        else:
            line = [sys.executable, "-m", "tests.forking", self.path]
            self._process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @classmethod
    def running(cls, kind: str = "") -> Server:
        """Return the server; of the `kind` MODEL or MCP it has that library loaded too."""
        with cls._starting:
            if kind not in cls._running:
                cls._running[kind] = cls(kind)
            return cls._running[kind]

    @classmethod
    def stop_all(cls) -> None:
        """End the servers; what they started has ended."""
        for server in reversed(cls._running.values()):  # those of a kind before the one that they come from
            server._process.communicate()
            server._folder.cleanup()
        cls._running.clear()

    def start(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        *,
        program: str = "main",
        cwd: Path | None = None,
        streams: tuple[int, int, int] | None = None,
    ) -> Forked:
        """Start `dream` with `arguments`; `program` is main, main_log or main_restore, or PYTHON to run a text.

        `streams` are descriptors for its standard ones; else it reads nothing and `wait` returns what it wrote.
        """
        request = {"program": program, "arguments": [*arguments], "env": dict(env), "cwd": str(cwd or Path.cwd())}
        return Forked(self.path, request, streams)

    def install(self, folder: Path) -> Path:
        """Put a `dream` for shells into `folder`: it asks this server for a process with its own three streams."""
        program = folder / "dream"
        if not program.exists():
            program.write_text(CLIENT.format(python=sys.executable, path=self.path), encoding="utf-8")
            program.chmod(0o755)
        return program


# What comes before anything is loaded, `--detach`, has to be a process from its start.
CLIENT = """#!{python} -IS
import json, os, socket, sys

if "--detach" in sys.argv:
    os.execv({python!r}, [{python!r}, "-c", "from dream.cli import main; main()", *sys.argv[1:]])
asked = {{"program": "main", "arguments": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
socket.send_fds(server, [b"."], [0, 1, 2])
server.sendall(json.dumps(asked).encode() + b"\\n")
os._exit(int(server.makefile("rb").readlines()[1]) & 255)
"""


class Forked:
    """A running `dream`."""

    def __init__(self, path: str, request: Mapping[str, object], streams: tuple[int, int, int] | None) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)
        self._socket.connect(path)
        self._files = [] if streams else [tempfile.TemporaryFile() for _ in "ioe"]  # noqa: SIM115 - `wait` closes them
        socket.send_fds(self._socket, [b"."], streams or [file.fileno() for file in self._files])
        self._socket.sendall(json.dumps(request).encode() + b"\n")
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
        return status, *(texts[1:] if texts else ("", ""))  # type: ignore[return-value]


class Program:
    """A running Python program, forked where `dream` is loaded, with pipes as `subprocess.Popen` gives them."""

    def __init__(self, code: str, *arguments: str, cwd: Path | None = None, kind: str = "") -> None:
        reads, typed = os.pipe()
        printed, writes = os.pipe()
        streams = (reads, writes, 2)
        self._forked = Server.running(kind).start(
            [code, *arguments], os.environ, program=PYTHON, cwd=cwd, streams=streams
        )
        os.close(reads)
        os.close(writes)
        self.pid = self._forked.pid
        self.stdin, self.stdout = os.fdopen(typed, "w", encoding="utf-8"), os.fdopen(printed, encoding="utf-8")
        self.returncode: int | None = None

    @property
    def is_running(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self) -> str:
        """Close its stdin and wait for its end; return what it printed."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        with self.stdout:
            text = self.stdout.read()
        self.returncode = self._forked.wait()[0]
        return text


def serve(path: str) -> None:
    """Load dream, listen, and fork a `dream` for each client, until stdin ends."""
    import dream

    for module in pkgutil.walk_packages(dream.__path__, "dream."):
        if module.name not in HEAVY:
            import_module(module.name)
    for library in LIBRARIES:
        import_module(library)
    _practise()
    _listen(path)


def grow(path: str, kind: str) -> None:
    """Be a server of a kind, in a process that has dream loaded: load its library too."""
    if kind == MODEL:
        from dream.llm import gateway

        gateway.load_litellm()
    if kind == MCP:
        import_module("dream.mcp.calls")
    _listen(path)


def _listen(path: str) -> None:
    gc.freeze()  # what is loaded is not looked at, and so not copied, by each child
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    ended, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes.fileno())
    print("ready", flush=True)
    clients: dict[int, socket.socket] = {}
    stopping = False
    while clients or not stopping:
        ready = select.select([listening, ended, *([] if stopping else [sys.stdin])], [], [])[0]
        stopping = stopping or sys.stdin in ready
        if ended in ready:
            ended.recv(4096)
            _tell_the_ends(clients)
        if listening in ready:
            client, _ = listening.accept()
            pid = _forked(client, [listening, ended, wakes, *clients.values()])
            clients[pid] = client


def _practise() -> None:
    """Do in this process what most commands do, in a workspace that is thrown away."""
    from dream.cli.group import dream_group

    outside = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        os.environ |= {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            for words in PRACTICE:
                dream_group.main([*words, "-w", f"{folder}/w"], "dream", standalone_mode=False)
        os.environ.clear()
        os.environ.update(outside)
    gc.collect()  # closes what it opened


def _tell_the_ends(clients: dict[int, socket.socket]) -> None:
    """Give the status of each process that has ended to its client."""
    for pid in list(clients):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with clients.pop(pid) as client, contextlib.suppress(OSError):  # a client that has gone
                client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _forked(client: socket.socket, others: Sequence[socket.socket]) -> int:
    """Fork the process that a client asks for; tell the client its number, and return it."""
    _, descriptors, _, _ = socket.recv_fds(client, 1, 3)
    with client.makefile("rb") as asked:
        request = json.loads(asked.readline())
    if (pid := os.fork()) == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (client, *others):
            one.close()
        _be_dream(request, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    client.sendall(b"%d\n" % pid)
    return pid


def _be_dream(request: dict[str, object], descriptors: Sequence[int]) -> None:
    """Become `dream`: a session of its own, its streams, its environment and, where it is asked for, its fault."""
    import dream.cli

    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        for goal, descriptor in enumerate(descriptors):
            os.dup2(descriptor, goal)
            os.close(descriptor)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as the interpreter does
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(request["env"])  # type: ignore[call-overload]
        if "FAULT_AT" in os.environ:
            ctypes.CDLL(None).fault_prepare()
        time.tzset()
        tempfile.tempdir = None  # TMPDIR is asked anew
        os.chdir(request["cwd"])  # type: ignore[arg-type]
        sys.argv = ["dream", *request["arguments"]]  # type: ignore[misc]
        if request["program"] == PYTHON:
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            getattr(dream.cli, str(request["program"]))()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter itself does at the end of a process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(*sys.argv[1:])
