"""Half price at night: submitted once, used once, paid once; a kill, a failure or a moved session costs no message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.models import NewEntry
from dream.reports import ConsolidateReport, RunReport
from dream.settings import Settings
from dream.workspace.runs import Bills
from dream.workspace.workspace import Workspace
from tests.cli.commands import dream
from tests.provider import Body, Provider, Reply, fault, text
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
DAY = timedelta(days=1)
NAME = "openai/gpt-5-mini"
PRICED = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def settings(provider: Provider, **more: object) -> Settings:
    given = {"timezone": "UTC", "durable": False, "model": NAME, "batch": True, "retries": 0, "parallel": 3} | more
    return Settings(api_base=provider.base, api_key="k", **given)  # type: ignore[arg-type]


def answer(body: Body) -> Reply:
    """Answer every job: consolidation repeats what was said, phase 1 finds it, phase 2 leaves the edits to us."""
    said = body["messages"][-1]["content"]
    if "<conversation" in said:
        facts = [line.partition("user: ")[2] for line in said.splitlines() if " user: " in line]
        return text("\n".join(f"- {fact}" for fact in facts), usage=PRICED)
    if "<history>" in said:
        lines = [line.strip() for line in said.partition("<history>")[2].splitlines() if line.startswith("    - ")]
        return text("\n".join(f"[USER] {line[2:]}" for line in lines) or "[SKIP]", usage=PRICED)
    return text("done", usage={"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11})


def transcript(folder: Path, name: str, *said: str) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [{"role": role, "content": words} for fact in said for role, words in (("user", fact), ("assistant", "Ok."))]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def consolidate(workspace: Workspace, provider: Provider, *paths: Path, now: datetime = NOW) -> ConsolidateReport:
    return pipeline.consolidate(workspace, paths, settings=settings(provider), now=now)


def run(workspace: Workspace, provider: Provider, now: datetime = NOW) -> RunReport:
    return pipeline.run(workspace, settings=settings(provider), now=now)


def history(workspace: Workspace) -> list[str]:
    return [entry.content for entry in workspace.history.after(0)]


def test_sessions_are_submitted_one_night_and_appended_the_next(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    provider.script(answer)
    paths = [transcript(tmp_path / "t", "one", "I moved to Tokyo"), transcript(tmp_path / "t", "two", "I have a cat")]

    first = consolidate(workspace, provider, *paths)
    again = consolidate(workspace, provider, *paths)

    assert first.failed is again.failed is False
    assert "2 sessions wait" in first.reason
    assert "2 sessions wait" in again.reason
    assert (history(workspace), provider.requests, len(provider.batches.submitted)) == ([], [], 1)
    assert len(provider.batches.requests()) == 2

    provider.batches.finish()
    done = consolidate(workspace, provider, *paths, now=NOW + DAY)

    assert history(workspace) == ["- I moved to Tokyo", "- I have a cat"]
    assert (done.usage.calls, len(provider.batches.submitted)) == (2, 1)
    assert [request.path for request in provider.requests] == ["/v1/batch"] * 2
    assert consolidate(workspace, provider, *paths, now=NOW + DAY).entries is None


def test_an_answer_costs_half_and_is_billed_once(workspace: Workspace, provider: Provider, tmp_path: Path) -> None:
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    consolidate(workspace, provider, path)
    assert Bills(workspace.private).spent(datetime.now(UTC), UTC).month.calls == 0
    provider.batches.finish()

    done = consolidate(workspace, provider, path)

    from dream.llm import card

    assert done.usage.cost_usd == pytest.approx((card(NAME).cost(done.usage) or 0) / 2)
    assert Bills(workspace.private).spent(datetime.now(UTC), UTC).month == done.usage


def test_phase_1_of_all_batches_is_one_provider_batch(workspace: Workspace, provider: Provider) -> None:
    provider.script(answer)
    facts = [f"- Has a boat named Vela{number}\n" + "and sails " * 300 for number in range(1, 5)]
    workspace.history.append([NewEntry("summary", fact) for fact in facts], now=NOW)
    small = settings(provider, batch_tokens=1_400)

    waiting = pipeline.run(workspace, settings=small, now=NOW)
    assert (waiting.outcome, provider.requests) == ("nothing", [])
    assert "batches of entries wait" in waiting.reason
    assert len(provider.batches.requests()) == 2

    workspace.history.append([NewEntry("summary", "- Came later")], now=NOW)
    provider.batches.finish()
    done = pipeline.run(workspace, settings=small, now=NOW + DAY)

    assert [batch.entries for batch in done.batches] == [(1, 2), (3, 4)]
    assert done.outcome == "committed"
    assert "1 batches of entries wait" in done.reason
    assert [request["messages"][1]["content"].count("<history>") for request in provider.batches.requests()] == [1]
    assert (len(provider.batches.submitted), workspace.dream_cursor()) == (2, 4)


@pytest.mark.slow
def test_a_session_that_moved_on_asks_anew_and_loses_nothing(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    consolidate(workspace, provider, path)
    provider.batches.finish()
    transcript(tmp_path / "t", "one", "I moved to Tokyo", "I have a cat")

    consolidate(workspace, provider, path)
    assert (history(workspace), len(provider.batches.submitted)) == ([], 2)
    provider.batches.finish()
    consolidate(workspace, provider, path)

    assert history(workspace) == ["- I moved to Tokyo\n- I have a cat"]


@pytest.mark.few(1)
@pytest.mark.parametrize("status", ["failed", "expired"])
def test_a_batch_that_came_to_nothing_falls_back_to_calls(
    workspace: Workspace, provider: Provider, tmp_path: Path, status: str
) -> None:
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    consolidate(workspace, provider, path)
    provider.batches.fail(status)

    done = consolidate(workspace, provider, path, now=NOW + DAY)

    assert history(workspace) == ["- I moved to Tokyo"]
    assert [request.path for request in provider.requests] == ["/v1/chat/completions"]
    assert status in done.reason


@pytest.mark.slow
def test_an_answer_of_a_batch_that_is_far_too_long_is_asked_in_a_call(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    consolidate(workspace, provider, path)
    provider.script(text("Tokyo, Tokyo. " * 10_000, usage=PRICED))
    provider.batches.finish()
    provider.script(answer)
    consolidate(workspace, provider, path, now=NOW + DAY)

    assert history(workspace) == ["- I moved to Tokyo"]


def test_what_a_batch_left_unanswered_is_asked_in_calls(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    provider.script(answer)
    paths = [transcript(tmp_path / "t", "one", "I moved to Tokyo"), transcript(tmp_path / "t", "two", "I have a cat")]
    consolidate(workspace, provider, *paths)
    provider.batches.finish(status="expired", without=1)

    consolidate(workspace, provider, *paths)

    assert history(workspace) == ["- I moved to Tokyo", "- I have a cat"]
    assert [request.path for request in provider.requests] == ["/v1/batch", "/v1/chat/completions"]


def test_a_provider_that_takes_no_batch_is_called_at_once(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    provider.script(answer)
    provider.batches.refuse = fault(404, "Not Found")

    done = consolidate(workspace, provider, transcript(tmp_path / "t", "one", "I moved to Tokyo"))

    assert history(workspace) == ["- I moved to Tokyo"]
    assert "no batch was taken" in done.reason


@pytest.mark.slow
def test_a_model_without_batches_says_so(workspace: Workspace, provider: Provider) -> None:
    provider.script(answer)
    workspace.history.append([NewEntry("summary", "- has a cat")], now=NOW)

    done = pipeline.run(workspace, settings=settings(provider, model="hosted_vllm/llama"), now=NOW)

    assert "hosted_vllm/llama has no batches here" in done.reason
    assert (done.outcome, provider.batches.submitted) == ("committed", [])


@pytest.mark.long
def test_a_kill_between_plan_and_answer_submits_nothing_twice(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    """The process dies as soon as the provider has taken the batch, before its name for it is on disk."""
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    code = f"""
import os, signal
from datetime import UTC, datetime
from pathlib import Path
from dream import pipeline
from dream.settings import Settings
from dream.workspace.runs import Batches
from dream.workspace.workspace import Workspace
Batches.submitted = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
given = Settings(model={NAME!r}, batch=True, timezone="UTC", api_base={provider.base!r}, api_key="k", retries=0)
pipeline.consolidate(Workspace.open(Path({str(workspace.root)!r})), [Path({str(path)!r})], settings=given,
                     now=datetime(2026, 11, 21, 3, tzinfo=UTC))
"""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr

    assert "1 sessions wait" in consolidate(workspace, provider, path).reason
    provider.batches.finish()
    consolidate(workspace, provider, path)

    assert (history(workspace), len(provider.batches.submitted)) == (["- I moved to Tokyo"], 1)


@pytest.mark.long
def test_a_plan_that_never_reached_the_provider_is_submitted_anew(
    workspace: Workspace, provider: Provider, tmp_path: Path
) -> None:
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    consolidate(workspace, provider, path)
    ledger = workspace.private / "batches.jsonl"
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[0])
    provider.batches.submitted.clear()

    consolidate(workspace, provider, path)

    assert len(provider.batches.submitted) == 1
    assert ledger.read_bytes().count(b"submitted") == 1


def test_what_is_dreamt_again_is_neither_asked_nor_billed_again(workspace: Workspace, provider: Provider) -> None:
    provider.script(answer)
    workspace.history.append([NewEntry("summary", "- Has a cat")], now=NOW)
    run(workspace, provider)
    provider.batches.finish()
    first = run(workspace, provider)
    (workspace.memory / ".dream_cursor").write_text("0\n")

    again = run(workspace, provider)

    assert (first.outcome, again.batches[0].entries) == ("committed", (1, 1))
    assert len(provider.batches.submitted) == 1
    assert first.usage.input_tokens >= 1000
    assert again.usage.input_tokens < 1000  # phase 2, if anything


@pytest.mark.long
def test_an_answer_nobody_came_for_is_paid_and_dropped_after_a_week(workspace: Workspace, provider: Provider) -> None:
    provider.script(answer)
    workspace.history.append([NewEntry("summary", "- Has a cat")], now=NOW)
    run(workspace, provider)
    provider.batches.finish()
    pipeline.run(workspace, settings=settings(provider, batch=False), now=NOW)  # somebody was in a hurry
    workspace.history.append([NewEntry("summary", "- Has a dog")], now=NOW)
    run(workspace, provider)  # takes the answer, which nobody needs, and submits the next
    before = Bills(workspace.private).spent(datetime.now(UTC), UTC).month.calls
    provider.batches.finish()

    run(workspace, provider, now=NOW + 8 * DAY)

    assert Bills(workspace.private).spent(datetime.now(UTC), UTC).month.calls >= before + 2
    assert len(list((workspace.private / "batches").iterdir())) == 1
    assert workspace.dream_cursor() == 2


def test_status_says_what_is_with_the_provider(workspace: Workspace, provider: Provider) -> None:
    provider.script(answer)
    workspace.history.append([NewEntry("summary", "- Has a cat")], now=NOW)
    run(workspace, provider)

    assert "1 with the provider at half the price" in dream("status", "-w", workspace.root).out


# Where a night may die between "these requests are to be sent" and "their answers are in history": before the step
# named, in the night that submits (1) or in the one that collects (2).
DEATHS = (
    (1, "dream.llm.batch", "BatchDoor.submit"),
    (1, "dream.workspace.runs", "Batches.submitted"),
    (2, "dream.llm.batch", "BatchDoor.answers"),
    (2, "dream.workspace.runs", "Batches.collected"),
    (2, "dream.workspace.runs", "Batches.use"),
    (2, "dream.llm.spending", "Meter.record"),
    (2, "dream.history.history", "History.append"),
    (2, "dream.workspace.runs", "append"),
)
NIGHT = """
import importlib, os, signal
from datetime import datetime, UTC
from pathlib import Path
from dream import pipeline
from dream.settings import Settings
from dream.workspace.workspace import Workspace
*owner, name = {step!r}.split(".")
place = importlib.import_module({module!r})
for part in owner:
    place = getattr(place, part)
setattr(place, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
given = Settings(model={model!r}, batch=True, timezone="UTC", api_base={base!r}, api_key="k", retries=0)
pipeline.consolidate(Workspace.open(Path({root!r})), [Path({path!r})], settings=given,
                     now=datetime(2026, 11, 21, 3, tzinfo=UTC))
"""


@pytest.mark.long
@pytest.mark.parametrize(("night", "module", "step"), DEATHS, ids=[step for _, _, step in DEATHS])
def test_whenever_a_night_dies_each_request_is_sent_once_and_each_answer_is_in_history_once(
    workspace: Workspace, provider: Provider, tmp_path: Path, night: int, module: str, step: str
) -> None:
    provider.script(answer)
    path = transcript(tmp_path / "t", "one", "I moved to Tokyo")
    if night == 2:
        consolidate(workspace, provider, path)
        provider.batches.finish()
    code = NIGHT.format(
        step=step, module=module, model=NAME, base=provider.base, root=str(workspace.root), path=str(path)
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    died = subprocess.run([sys.executable, "-c", code], env=environ, check=False, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr

    for _ in range(2):
        consolidate(workspace, provider, path)
        provider.batches.finish()
    consolidate(workspace, provider, path)

    assert (history(workspace), len(provider.batches.submitted)) == (["- I moved to Tokyo"], 1)
    assert {request.path for request in provider.requests} == {"/v1/batch"}
    # What was noted as used is never billed again: of a death in that very moment one answer is left out of the bill.
    assert Bills(workspace.private).spent(datetime.now(UTC), UTC).month.calls == (step != "Meter.record")
