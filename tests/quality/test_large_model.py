"""What our own code makes of a large model's answers: a recording of two dialogues of the unseen half, replayed.

It is made by whoever has a model, and made again where prompts or guards change what is asked (CONTRIBUTING.md says
how): a replay that lacks a request is no failure of the code, so the test then says so and is skipped.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from dream.cli.group import dream_group
from tests.quality.dialogues import SHIPPED

RECORDING = Path(__file__).with_name("large_model.jsonl")


@pytest.mark.long
def test_of_a_large_models_answers_our_own_code_loses_nothing(tmp_path: Path) -> None:
    for name in ("en-02-bungalow.toml", "zh-08-biaozhu-ml.toml"):
        shutil.copy(SHIPPED / name, tmp_path / name)

    arguments = ["eval", str(tmp_path), "--replay", str(RECORDING), "--json"]
    done = CliRunner().invoke(dream_group, arguments, env={"DREAM_CONTEXT_WINDOW": "128000"})

    if "have changed" in done.output:
        pytest.skip("what is asked has changed since it was recorded; record it again (CONTRIBUTING.md)")
    rows = [row for row in json.loads(done.stdout)["dialogues"] if row["text"] == "memory"]
    lost = {key: [one for row in rows for one in row[key]] for key in ("lost", "unchanged", "unruled", "no_rule")}
    assert lost == {"lost": [], "unchanged": [], "unruled": [], "no_rule": []}
    assert [row["got_into_soul"] for row in rows] == [[], []]
    assert sum(row["kept"] + row["changed"] + row["rules"] for row in rows) == 51
