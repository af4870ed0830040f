"""While `dream serve` stays it asks now and then for the answers of a batch, and goes on with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream.models import NewEntry
from dream.nights.nightly import NightReport
from dream.nights.serve import Server
from dream.settings import Settings
from dream.workspace import runs
from tests.provider import Provider, text
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_an_answer_that_comes_by_day_is_dreamt_by_day(tmp_path: Path, provider: Provider) -> None:
    provider.script(text("[USER] Lives in Tokyo {1}"))
    workspace = fresh(tmp_path / "ws", NOW)
    workspace.history.append([NewEntry("summary", "- lives in Tokyo")], now=NOW)
    nights: list[NightReport] = []
    given = Settings(model="openai/m", api_base=provider.base, api_key="k", batch=True, timezone="UTC", retries=0)
    clock = [NOW]
    server = Server(
        workspace,
        lambda: given,
        environ={},
        tell=lambda line: None,
        told=nights.append,
        clock=lambda: clock[0],
    )
    runs.stamp(workspace.private, NOW - timedelta(days=1))  # the night is due: it submits

    for minutes in (0, 1, 2, 20, 21):
        clock[0] = NOW + timedelta(minutes=minutes)
        if minutes == 20:
            provider.batches.finish()
        server.beat()

    assert [night.run.outcome for night in nights] == ["nothing", "nothing", "committed"]
    assert "- Lives in Tokyo\n" in workspace.read_file("USER.md")
    assert len(provider.batches.submitted) == 1
