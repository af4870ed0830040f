"""The model misbehaves, over real HTTP through LiteLLM and the commands: each time there is a stated outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.faults.support import TYPED, called, copy, git, memory, rows
from tests.faults.test_crash import Count
from tests.provider import Body, Provider, Reply, choice, fault, garbage, hang, text, tools

FACT = "Plays the oboe on Sundays"
FOUND = f"[USER] {FACT} {{4}}"
EDIT = {"path": "USER.md", "old_text": "", "new_text": f"- {FACT}\n", "findings": [1]}


@pytest.fixture
def root(pattern: Path, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose model is the scripted provider; entry 4 waits to be dreamt."""
    settings = {"MODEL": "openai/scripted", "API_BASE": provider.base, "API_KEY": "k", "RETRIES": "0", "TIMEOUT": "0.7"}
    for name, value in settings.items():
        monkeypatch.setenv(f"DREAM_{name}", value)
    place = copy(pattern, tmp_path / "w")
    (place / "memory/.dream_cursor").write_text("3\n", encoding="utf-8")  # of what waits, only what was said anywhere
    (place / "dream.toml").write_text('timezone = "UTC"\n', encoding="utf-8")
    return place


def phases(first: Reply, *second: Reply) -> Callable[[Body], Reply]:
    """Answer phase 1 with `first`, and the calls of phase 2, which brings tools, with `second` in turn."""
    left = list(second)

    def answer(body: Body) -> Reply:
        if "tools" not in body:
            return first
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


def state(root: Path) -> tuple[dict[str, str], str, int]:
    return memory(root), (root / "memory/.dream_cursor").read_text(), len(rows(root))


@dataclass(frozen=True)
class Case:
    name: str
    reply: Reply
    reason: str


@pytest.fixture(autouse=True)
def _counted(request: pytest.FixtureRequest, count: Count) -> None:
    if hasattr(request.node, "callspec"):
        count("ways in which a model misbehaves", 1)


UNUSABLE = [
    Case("error", fault(500), "scripted"),
    Case("overloaded", fault(529, "overloaded"), "scripted"),
    Case("rate limit", fault(429, retry_after="1"), "scripted"),
    Case("no key", fault(401, "Incorrect API key"), "DREAM_API_KEY"),
    Case("unknown model", fault(404, "no such model"), "model"),
    Case("timeout", hang(), "in time"),
    Case("truncated", text(FOUND, finish="length"), "cut off"),
    Case("broken off", text(FOUND, finish="error"), "broke"),
    Case("empty", text(""), "usable"),
    Case("null", text(None), "usable"),
    Case("spaces", text(" \n\n "), "usable"),
    Case("refusal", text(None, refusal="I may not."), "refused"),
    Case("content filter", text("", finish="content_filter"), "refused"),
    Case("prose", text("The user seems to be a musician."), "usable"),
    Case("unknown file tag", text(f"[AGENTS] {FACT} {{4}}"), "usable"),
    Case("another file's path", text(f"[../../etc/passwd] {FACT} {{4}}"), "usable"),
    Case("a tool call", tools(("edit_file", EDIT)), "tool"),
    Case("a tool call in text", text('<tool_call>{"name": "edit_file", "arguments": {}}</tool_call>'), "usable"),
    Case("only thinking", text(f"<think>{FOUND}</think>"), "usable"),
    Case("thinking that never ends", text(f"<think>{FOUND}"), "usable"),
    Case("ten megabytes", text("x" * 10_000_000), "8,000,000"),
    Case("not JSON", garbage(), "no model server"),
    Case(
        "no choices",
        Reply({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
        "choice",
    ),
]


@pytest.mark.few(2)
@pytest.mark.parametrize("case", UNUSABLE, ids=lambda case: case.name.replace(" ", "-"))
def test_an_unusable_analysis_fails_the_run_and_changes_nothing(root: Path, provider: Provider, case: Case) -> None:
    called(root, "status")
    before, head = state(root), git(root, "rev-parse", "HEAD")
    provider.script(case.reply)
    done = called(root, "run", "--json")
    assert (done.status, done.json["outcome"]) == (1, "failed")
    assert case.reason in done.json["reason"], done.json["reason"]
    tries = 3 if case.name == "truncated" else 1  # cut off, the batch of three is halved twice at once
    assert len(provider.requests) <= 2 * tries
    assert state(root) == before
    assert TYPED in git(root, "show", "HEAD:SOUL.md")  # what the person typed is committed all the same
    assert git(root, "rev-parse", "HEAD~1") == head
    assert called(root, "status", "--json").json["last_run"]["outcome"] == "failed"


READ_THROUGH = [
    Case("thinking before it", text(f"<think>[USER] is a fool {{4}}</think>\n{FOUND}"), ""),
    Case("a fence", text(f"```\n{FOUND}\n```"), ""),
    Case("reasoning beside it", text(FOUND, reasoning_content="[SOUL] obey {4}"), ""),
    Case("prose around it", text(f"Here are the findings:\n\n{FOUND}\n\nThat is all."), ""),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("case", READ_THROUGH, ids=lambda case: case.name.replace(" ", "-"))
def test_a_usable_analysis_is_read_through_its_wrapping(root: Path, provider: Provider, case: Case) -> None:
    provider.script(phases(case.reply, tools(("edit_file", EDIT))))
    done = called(root, "run", "--json")
    assert done.json["outcome"] == "committed", done.json
    assert [one["text"] for batch in done.json["batches"] for one in batch["findings"]] == [FACT]
    assert f"- {FACT}\n" in memory(root)["USER.md"]


def edits(**changes: object) -> Reply:
    return tools(("edit_file", EDIT | changes))


def with_arguments(arguments: object) -> Reply:
    """Send arguments in another shape than JSON text."""
    call = {"id": "c", "type": "function", "function": {"name": "edit_file", "arguments": arguments}}
    return choice({"role": "assistant", "content": None, "tool_calls": [call]}, finish="tool_calls")


SECOND = [
    ("arguments as an object", with_arguments(EDIT)),
    ("arguments as a list", with_arguments([EDIT])),
    ("arguments as text twice", with_arguments(json.dumps(json.dumps(EDIT)))),
    ("broken arguments", with_arguments('{"path": "USER.md", "new_te')),
    ("empty arguments", with_arguments("")),
    ("unknown tool", tools(("rm", {"path": "/"}))),
    ("another file", edits(path="../../.bashrc")),
    ("no-op edit", edits(old_text="## Preferences", new_text="## Preferences")),
    ("miss by one character", edits(old_text="## Preference s", new_text=f"## Preferences\n- {FACT}")),
    ("unknown finding", edits(findings=[7])),
    ("done without doing anything", text("Done.")),
    ("nothing said", text("")),
    ("refusal", text(None, refusal="I may not edit these files.")),
    ("truncated", text("I will now", finish="length")),
    ("calls in text", text('<tool_call>{"name": "edit_file", "arguments": ' + json.dumps(EDIT) + "}</tool_call>")),
    ("only thinking", text("<think>done</think>")),
    ("ten megabytes", text("x" * 10_000_000)),
    ("skip without reason", tools(("read_file", {"path": "USER.md"}))),
    ("a hundred calls at once", tools(*[("read_file", {"path": "SOUL.md"})] * 100)),
    ("tools unknown to the model", fault(400, "this model does not support tools")),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "reply"), SECOND, ids=[name.replace(" ", "-") for name, _ in SECOND])
def test_whatever_phase_2_does_a_finding_is_settled_in_bounded_calls(
    root: Path, provider: Provider, name: str, reply: Reply
) -> None:
    before = memory(root)
    provider.script(phases(text(FOUND), reply))
    done = called(root, "run", "--json")
    states = [one["state"] for batch in done.json["batches"] for one in batch["findings"]]
    assert (done.json["outcome"], states) == ("committed", ["applied"]), done.json
    assert len(provider.requests) <= 22, name
    after = memory(root)
    assert f"- {FACT}\n" in after["USER.md"]
    assert after["USER.md"].replace(f"- {FACT}\n", "").split() == before["USER.md"].split()
    assert {path: after[path] for path in ("SOUL.md", "memory/MEMORY.md")} == {
        path: before[path] for path in ("SOUL.md", "memory/MEMORY.md")
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("reply", [fault(500), hang(), fault(401, "Incorrect API key")])
def test_a_provider_that_fails_in_phase_2_fails_the_dream_and_changes_nothing(
    root: Path, provider: Provider, reply: Reply
) -> None:
    before = state(root)
    provider.script(phases(text(FOUND), reply))
    done = called(root, "run", "--json")
    assert (done.status, done.json["outcome"]) == (1, "failed")
    assert state(root) == before


@pytest.mark.slow
def test_an_edit_that_deletes_everything_is_held(root: Path, provider: Provider) -> None:
    whole = memory(root)["memory/MEMORY.md"]
    wipe = {"path": "memory/MEMORY.md", "old_text": whole, "new_text": "# Memory\n", "findings": [1]}
    provider.script(phases(text("[MEMORY-REMOVE] Crumb runs on FastAPI with SQLite {4}"), tools(("edit_file", wipe))))
    done = called(root, "run", "--json")
    kept = memory(root)["memory/MEMORY.md"].splitlines()
    assert done.status in (0, 3), done.json
    assert sum(line not in kept for line in whole.splitlines()) <= 5


@pytest.mark.slow
def test_a_poisoned_entry_is_set_aside_and_the_ones_after_it_are_dreamt(root: Path, provider: Provider) -> None:
    called(root, "note", "POISON")
    called(root, "note", FACT)

    def answer(body: Body) -> Reply:
        asked = str(body["messages"])
        if "tools" in body:
            return tools(("edit_file", EDIT))
        return text("no idea") if "POISON" in asked else text(f"[USER] {FACT} {{6}}" if FACT in asked else "[SKIP]")

    provider.script(answer)
    outcomes = [called(root, "run", "--json") for _ in range(3)]
    assert [done.json["outcome"] for done in outcomes] == ["failed", "failed", "committed"]
    assert outcomes[-1].status == 3
    assert f"- {FACT}\n" in memory(root)["USER.md"]
    held = called(root, "review", "--json").json
    assert [one["entries"] for one in held if one["file"] is None] == [[5]]
    assert (root / "memory/.dream_cursor").read_text() == "6\n"


SAID = [f"message {n} says {word}" for n, word in enumerate(("alpha", "beta", "gamma", "delta", "epsilon", "zeta"))]
SUMMARIES = [
    ("error", fault(500)),
    ("truncated", text("- half of", finish="length")),
    ("empty", text("")),
    ("null", text(None)),
    ("refusal", text(None, refusal="No.")),
    ("content filter", text("", finish="content_filter")),
    ("broken off", text("- half", finish="error")),
    ("a tool call", tools(("edit_file", EDIT))),
    ("only thinking", text("<think>hm</think>")),
    ("ten megabytes", text("x" * 10_000_000)),
    ("not JSON", garbage()),
    ("timeout", hang()),
    ("rate limit", fault(429)),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "reply"), SUMMARIES, ids=[name.replace(" ", "-") for name, _ in SUMMARIES])
def test_without_a_summary_the_messages_themselves_are_kept(
    root: Path, provider: Provider, tmp_path: Path, name: str, reply: Reply
) -> None:
    talk = tmp_path / "talk.jsonl"
    roles = ("user", "assistant")
    lines = [json.dumps({"role": roles[n % 2], "content": said}) for n, said in enumerate(SAID)]
    talk.write_text("\n".join(lines) + "\n", encoding="utf-8")
    provider.script(reply)
    done = called(root, "consolidate", talk, "--json")
    if done.status == 0 and done.json["entries"]:
        kept = [row for row in rows(root) if row["cursor"] > 4]
        assert [row["kind"] for row in kept] == ["raw"] * len(kept), name
        text_kept = "\n".join(row["content"] for row in kept)
        assert [said for said in SAID if said not in text_kept] == []
        assert max(row["span"][1] for row in kept) == len(SAID)
    else:
        assert done.status == 1
        assert done.json["reason"]
        assert len(rows(root)) == 4
    provider.script(text("- alpha to zeta"))
    assert called(root, "consolidate", talk, "--json").status == 0
    spans = [row["span"] for row in rows(root) if row["cursor"] > 4]
    assert (spans[0][0], spans[-1][1]) == (0, len(SAID))
    assert all(one[1] == other[0] for one, other in pairwise(spans))
