"""Memory over MCP where the disk can only be read: what is asked is answered, a note is refused in a sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.cli.commands import environment
from tests.faults.support import Fault, copy, ran, rows
from tests.forking import MCP, Server


def test_a_disk_that_can_only_be_read_is_searched(pattern: Path, tmp_path: Path, shim: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    ran(root, "note", "My zeppelin lies in Narvik")
    history = rows(root)
    env = environment(Fault(shim, 1, errno.EROFS, stays=True).environment(root, tmp_path / "count"))
    program = Server.running(kind=MCP).install(tmp_path)
    line = StdioServerParameters(command=str(program), args=["mcp", "-w", str(root)], env=env)
    said: list[tuple[str, bool]] = []

    async def run() -> None:
        async with Client(line) as client:
            for tool, given in (
                ("memory_search", {"query": "zeppelin"}),
                ("memory_get", {"cite": f"history:{history[-1]['cursor']}"}),
                ("memory_context", {}),
                ("memory_why", {"text": "zeppelin"}),
                ("memory_add", {"text": "It flies on Mondays"}),
            ):
                done = await client.call_tool(tool, given)
                said.append((done.content[0].text, done.is_error))  # type: ignore[union-attr]

    anyio.run(run)

    assert "Narvik" in said[0][0]
    assert [is_error for _, is_error in said] == [False, False, False, False, True]
    assert said[-1][0].endswith("history.jsonl cannot be appended to: the file system is read-only; nothing was added.")
    assert rows(root) == history
