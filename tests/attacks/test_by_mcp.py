"""What talks an agent into noting something by MCP gets no further than what is said: held, or marked as an agent's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client

from dream.directory import Workspace
from dream.mcp import calls
from tests.attacks.cases import CASES, Case
from tests.attacks.running import noted
from tests.attacks.test_attacks import FIRST, ids


def add(workspace: Workspace, texts: list[str]) -> None:
    """Note texts by the tool; a note that is refused, for nothing is left of it, is none."""

    async def run() -> None:
        async with Client(calls.server(lambda: Workspace.open(workspace.root))) as client:
            for text in texts:
                await client.call_tool("memory_add", {"text": text})

    anyio.run(run)
    assert workspace.history.last_cursor() > 0
    assert {entry.by_agent for entry in workspace.history.after(0)} == {True}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", FIRST, ids=ids)
def test_one_attack_of_each_kind_gets_nothing_into_memory_by_notes(case: Case, tmp_path: Path) -> None:
    assert noted(case, tmp_path / "ws", add, embedded=False).won == frozenset()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_no_attack_gets_anything_into_memory_by_notes(
    case: Case, tmp_path: Path, count: Callable[[str, int], None]
) -> None:
    count("attacks by MCP, each on two models", 1)
    assert noted(case, tmp_path / "obeying", add, embedded=False).won == frozenset()
    assert noted(case, tmp_path / "embedded", add, embedded=True).won == frozenset()
