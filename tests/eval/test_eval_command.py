"""`dream eval` on its own conversations: the report in both forms, and wrong usage in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import click.testing
import pytest

from dream.cli.eval import command


def invoke(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(command, arguments, standalone_mode=False)


def test_the_report_is_one_json_value(tmp_path: Path) -> None:
    done = invoke("planted:2", "--limit", "1", "--sittings", "6", "--tokens", "500", "--keep", str(tmp_path), "--json")
    report = json.loads(done.stdout)
    assert report["conversations"] == ["planted-en-2"]
    assert {one["text"] for one in report["retention"]} >= {"memory, 500", "history, 500", "whole dialog"}
    assert report["stability"]["again_calls"] == report["stability"]["again_commits"] == 0
    assert set(report["bill"]["prefix"]) == {"consolidator", "phase1", "phase2"}
    assert (tmp_path / "planted-en-2.txt").read_text(encoding="utf-8").startswith("# User")


def test_the_tables_are_plain_in_a_pipe() -> None:
    done = invoke("planted", "--sittings", "4", "--tokens", "2000")
    assert "| memory, 2,000 " in done.stdout
    assert "### Restraint" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "arguments", [("nowhere.json",), ("planted", "--tokens", "many"), ("planted", "--tokens", "0")]
)
def test_wrong_usage_is_told_in_a_sentence(arguments: tuple[str, ...]) -> None:
    done = invoke(*arguments)
    assert done.return_value == 2
    assert done.stderr.startswith("dream: ")
