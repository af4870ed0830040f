"""The command on its own conversations: the report in both forms, and wrong usage in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import click.testing
import pytest

from dream.directory import Workspace
from tests.provider import Body, Provider, Reply, fault, text
from tests.quality.__main__ import main_command

TALK = r"""
id = "en-talk"
language = "en"

[[sittings]]
start = 2026-03-02T09:15:00Z
talk = '''
@user
We use Postgres 16 for the shop.
@assistant
Noted.
'''

[[sittings]]
start = 2026-03-04T09:15:00Z
talk = '''
@user
The shop's API runs on port 9090 now, no longer on 8080.
@assistant
Noted.
'''

[[kept]]
fact = "Postgres"
all = ['postgres', '16']

[[changed]]
fact = "API port"
new = ['9090']
old = ['8080']
"""


def answer(body: Body) -> Reply:
    """Answer each of the three jobs: as it were, a strong model."""
    asked = str(body["messages"])
    if body.get("tools"):
        return text("Done.")
    if "[SKIP]" in asked:
        return text("[MEMORY] The shop uses Postgres 16")
    return text("- The shop uses Postgres 16" if "Postgres" in asked else "- The shop's API runs on port 9090")


def invoke(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main_command, arguments, standalone_mode=False)


def test_the_report_is_one_json_value_and_the_workspace_can_be_kept(tmp_path: Path) -> None:
    asked = ("planted:2", "--limit", "1", "--sittings", "2", "--tokens", "500", "--keep", str(tmp_path / "kept"))
    report = json.loads(invoke(*asked, "--json").stdout)
    assert report["conversations"] == ["planted-en-2"]
    assert {one["text"] for one in report["retention"]} >= {"memory, 500", "history, 500", "whole dialog"}
    assert report["retention"][0]["chance"]["all"]["recall"] < report["retention"][0]["own"]["all"]["recall"]
    assert report["stability"]["again_calls"] == report["stability"]["again_commits"] == 0
    assert report["bill"]["all"]["calls"] == report["bill"]["usage"]["calls"]
    kept = Workspace(tmp_path / "kept" / "planted-en-2" / "ws")
    assert kept.read_file("USER.md").startswith("# User")
    assert len(kept.git.log()) > 1
    again = invoke(*asked)
    assert again.return_value == 2
    assert "already exists" in again.stderr


@pytest.mark.long
def test_the_facts_planted_before_are_asked_for_and_billed(tmp_path: Path) -> None:
    talk = tmp_path / "talk.toml"
    talk.write_text(TALK, encoding="utf-8")
    plain, survived = (json.loads(invoke(str(talk), "--json", *more).stdout) for more in ((), ("--survive",)))
    assert plain["survival"] == []
    assert survived["survival"][0]["planted"] == 28
    assert survived["bill"]["usage"]["calls"] == plain["bill"]["usage"]["calls"] == plain["bill"]["all"]["calls"]
    assert survived["bill"]["all"]["calls"] > plain["bill"]["all"]["calls"]


def test_recorded_calls_are_replayed_without_a_model(provider: Provider, tmp_path: Path) -> None:
    talk, calls = tmp_path / "talk.toml", tmp_path / "calls.jsonl"
    talk.write_text(TALK, encoding="utf-8")
    live = ("--model", "openai/scripted", "--set", f"api_base={provider.base}", "--set", "api_key=none", "--json")
    provider.script(answer)
    first = json.loads(invoke(str(talk), *live, "--record", str(calls)).stdout)
    asked = len(provider.requests)
    assert first["dialogues"][0]["lost"] == []
    assert asked == first["bill"]["all"]["calls"] == len(calls.read_text("utf-8").splitlines())

    replayed = json.loads(invoke(str(talk), "--replay", str(calls), "--json").stdout)
    assert len(provider.requests) == asked
    replayed["bill"]["seconds"] = first["bill"]["seconds"]
    assert replayed == first

    talk.write_text(TALK.replace("Postgres", "MariaDB"), encoding="utf-8")
    missed = invoke(str(talk), "--replay", str(calls))
    assert missed.return_value == 2
    assert "calls.jsonl has no answer to a request of consolidator" in missed.stderr


@pytest.mark.slow
def test_a_recording_is_gone_on_with_and_asks_only_what_is_not_in_it(provider: Provider, tmp_path: Path) -> None:
    talk, calls = tmp_path / "talk.toml", tmp_path / "calls.jsonl"
    talk.write_text(TALK, encoding="utf-8")
    live = ("--model", "openai/scripted", "--set", f"api_base={provider.base}", "--set", "api_key=none", "--json")
    provider.script(answer)
    first = json.loads(invoke(str(talk), *live, "--record", str(calls)).stdout)
    asked = len(provider.requests)

    resumed = json.loads(invoke(str(talk), *live, "--record", str(calls)).stdout)
    assert len(provider.requests) == asked
    resumed["bill"]["seconds"] = first["bill"]["seconds"]
    assert resumed == first

    talk.write_text(TALK.replace("Postgres", "MariaDB"), encoding="utf-8")
    invoke(str(talk), *live, "--record", str(calls))
    assert len(provider.requests) > asked
    assert len(calls.read_text("utf-8").splitlines()) == len(provider.requests)


def test_a_recorded_failure_is_replayed_as_one(provider: Provider, tmp_path: Path) -> None:
    talk, calls = tmp_path / "talk.toml", tmp_path / "calls.jsonl"
    talk.write_text(TALK, encoding="utf-8")
    provider.script(fault(401, "no such key"))
    live = ("--model", "openai/scripted", "--set", f"api_base={provider.base}", "--set", "api_key=none")
    first = invoke(str(talk), *live, "--record", str(calls))
    assert first.return_value == 1
    assert invoke(str(talk), "--replay", str(calls)).stderr == first.stderr


@pytest.mark.slow
def test_the_tables_are_plain_in_a_pipe() -> None:
    done = invoke("planted:1", "--limit", "1", "--sittings", "2", "--tokens", "2000")
    assert "| memory, 2,000 " in done.stdout
    assert "### Restraint" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere.json",),
        ("planted", "--tokens", "many"),
        ("planted", "--tokens", "0"),
        ("planted", "--replay", "nowhere.jsonl"),
        ("planted", "--replay", "pyproject.toml"),
        ("planted", "--replay", "calls.jsonl", "--record", "calls.jsonl"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments: tuple[str, ...]) -> None:
    done = invoke(*arguments)
    assert done.return_value == 2
    assert done.stderr.startswith("dream: ")
