"""A remote that anybody can read is recognised, and nothing goes there unless a person says so."""

from __future__ import annotations

import functools
import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import dream
from tests.sync.world import Machine


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """An https host that gives a repository to anybody."""
    folder, key = tmp_path / "host", tmp_path / "key.pem"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "memory.git")], check=True)
    subprocess.run(["git", f"--git-dir={folder / 'memory.git'}", "update-server-info"], check=True)
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(made, check=True, capture_output=True)
    serves = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serves)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/memory.git"
    server.shutdown()
    thread.join()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_nothing_goes_to_a_remote_that_anybody_can_read(tmp_path: Path, host: str) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "remote.git").init()
    certificate = f"[http]\n\tsslCAInfo = {tmp_path / 'cert.pem'}\n"
    (laptop.folder / ".gitconfig").write_text(certificate, encoding="utf-8")
    with laptop.here() as workspace:
        done = dream("sync", host, "--yes", "-w", str(workspace.root))
    assert done.status == 2
    assert f"Anybody can read {host}" in done.err
    assert "Nothing was sent" in done.err
