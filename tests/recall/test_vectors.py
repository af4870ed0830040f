"""Vectors where a person wants them: what is meant is found, once embedded, on the bill, and never in the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream.actions.forget import forget
from dream.directory import Workspace
from dream.history.messages import KeptMessage
from dream.models import NewEntry
from dream.nights.nightly import NightReport, night
from dream.recall.search_index import SearchIndex
from dream.recall.vectors import sketch
from dream.workspace.bills import Bills
from tests.faults.support import called
from tests.provider import Body, Provider, Reply, fault
from tests.recall.test_search import NOW, texts
from tests.workspaces import fresh

MODEL = "openai/text-embedding-3-small"
SENTENCES = (
    "My hound is called Bruno",
    "The bakery opens at six",
    "Our train leaves from Porto",
    "The roof leaks again",
)
MEANINGS = (("hound", "dog", "pet"), ("bakery", "bread"), ("train", "rail"), ("roof", "house"))


def meaning(body: Body) -> Reply:
    """Answer as an embedding model would that knows four things."""
    rows = []
    for number, said in enumerate(body["input"]):
        vector = [1.0 if any(word in said.lower() for word in row) else -0.1 for row in MEANINGS]
        rows.append({"object": "embedding", "index": number, "embedding": [*vector, 0.3, -0.3, 0.2, -0.2]})
    return Reply({"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    talk = [KeptMessage("s", n, "user", said) for n, said in enumerate(SENTENCES)]
    made.history.append([NewEntry("nothing", "", "s", (0, len(talk)))], now=NOW, said=talk)
    return made


@pytest.fixture
def named(workspace: Workspace, provider: Provider) -> Workspace:
    """A workspace that names the provider's model."""
    provider.script(meaning)
    text = f'embedding_model = "{MODEL}"\napi_base = "{provider.base}"\napi_key = "sk-test"\nretries = 0\n'
    (workspace.root / "dream.toml").write_text(text, encoding="utf-8")
    return workspace


def slept(workspace: Workspace, **changes: object) -> NightReport:
    settings = replace(workspace.settings(), durable=False, **changes)  # type: ignore[arg-type]
    return night(workspace, settings=settings, now=NOW, environ={})


def asked(provider: Provider) -> list[str]:
    return [said for request in provider.requests for said in request.body["input"]]


def test_what_is_meant_is_found_without_a_word_of_it(named: Workspace, provider: Provider) -> None:
    assert texts(named, "which pet has she") == []
    report = slept(named)
    assert report.problems == ()
    assert report.usage.calls == 1
    assert texts(named, "which pet has she")[0] == SENTENCES[0]
    assert texts(named, "bread")[0] == SENTENCES[1]
    assert all(request.path.endswith("/embeddings") for request in provider.requests)


def test_a_fault_that_passes_is_tried_again(
    named: Workspace, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dream.llm.faults.FIRST_WAIT", 0.01)
    provider.script(fault(503), meaning)
    assert slept(named, retries=1).problems == ()
    assert texts(named, "bread")[0] == SENTENCES[1]


def test_nothing_is_embedded_twice_and_each_call_is_on_the_bill(named: Workspace, provider: Provider) -> None:
    slept(named)
    again = [KeptMessage("t", n, "user", said) for n, said in enumerate((SENTENCES[0], "A new thing"))]
    named.history.append([NewEntry("nothing", "", "t", (0, 2))], now=NOW, said=again)
    slept(named)
    slept(named)
    assert sorted(asked(provider)) == sorted([*SENTENCES, "A new thing"])
    assert Bills(named.private).spent(datetime.now(UTC), UTC).month.input_tokens == 14


def test_a_provider_that_is_down_leaves_the_words_and_says_so_once(named: Workspace, provider: Provider) -> None:
    slept(named)
    provider.script(fault(503))
    found = called(named.root, "search", "bakery")
    assert SENTENCES[1] in found.out
    assert found.err.count("by words alone") == 1
    assert found.status == 0
    later = [KeptMessage("t", 0, "user", "A new thing")]
    named.history.append([NewEntry("nothing", "", "t", (0, 1))], now=NOW, said=later)
    report = slept(named)
    assert report.exit_status == 0
    assert "words alone" in report.problems[0]


def test_another_model_makes_the_vectors_anew(named: Workspace, provider: Provider) -> None:
    slept(named)
    slept(named, embedding_model="openai/text-embedding-3-large")
    assert sorted(asked(provider)) == sorted([*SENTENCES, *SENTENCES])
    assert SearchIndex(named.history.index, named.history.messages).model() == "openai/text-embedding-3-large"


def test_no_secret_is_sent(named: Workspace, provider: Provider) -> None:
    slept(named)
    secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    texts(named, f"what is {secret} for")
    assert secret not in str([request.body for request in provider.requests])


def test_what_is_forgotten_has_no_vector(named: Workspace) -> None:
    slept(named)
    forget(named, "Bruno", text=True, now=NOW)
    assert SearchIndex(named.history.index, named.history.messages).model() == ""
    assert not any("Bruno" in text for text in texts(named, "which pet has she"))


def test_a_bound_ends_it_before_the_call(named: Workspace, provider: Provider) -> None:
    report = slept(named, max_call_tokens=1)
    assert provider.requests == []
    assert "max_call_tokens" in report.problems[0]


def test_a_workspace_that_is_not_trusted_sends_no_query(
    named: Workspace, provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slept(named)
    before = len(provider.requests)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert texts(named, "bakery")[0] == SENTENCES[1]
    assert len(provider.requests) == before


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "answer",
    [
        lambda body: Reply({"data": []}),
        lambda body: Reply({"data": [{"index": 0, "embedding": "x"}]}),
        lambda body: Reply({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}),
        lambda body: Reply(b"<html>"),
    ],
)
def test_an_answer_that_is_no_vectors_is_told_and_nothing_is_kept(
    named: Workspace, provider: Provider, answer: Callable[[Body], Reply]
) -> None:
    provider.script(answer)
    report = slept(named)
    assert "words alone" in report.problems[0]
    assert texts(named, "bakery")[0] == SENTENCES[1]


def test_a_sketch_is_the_signs_of_a_vector() -> None:
    assert sketch(bytes([1, 255, 0, 128, 5, 200, 127, 129, 3])) == bytes([0b1, 0b01010101])
