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

from dream.cli.entry import dream_group
from dream.eval.dialogues import SHIPPED

RECORDING = Path(__file__).with_name("large_model.jsonl")


@pytest.mark.long
def test_of_a_large_models_answers_our_own_code_loses_no_more_than_it_is_known_to(tmp_path: Path) -> None:
    for name in ("en-02-bungalow.toml", "zh-08-biaozhu-ml.toml"):
        shutil.copy(SHIPPED / name, tmp_path / name)

    arguments = ["eval", str(tmp_path), "--replay", str(RECORDING), "--json"]
    done = CliRunner().invoke(dream_group, arguments, env={"DREAM_CONTEXT_WINDOW": "128000"})

    if "have changed" in done.output:
        pytest.skip("what is asked has changed since it was recorded; record it again (CONTRIBUTING.md)")
    rows = [row for row in json.loads(done.stdout)["dialogues"] if row["text"] == "memory"]
    lost = {key: [one for row in rows for one in row[key]] for key in ("lost", "unchanged", "unruled", "no_rule")}
    # The first two wait for review: told beside an order to write somebody, and by a fact that is no wish.
    assert lost == {
        "lost": ["导师储老师"],
        "unchanged": ["卡 0 不能用 → 三张都能用"],
        "unruled": ["Don't mention Mair's gift in letters", "Only water-based paint"],
        "no_rule": [
            "- She wants it kept quiet from the rest of the family so don't mention that in any letters",
            "- wandb key ... 不要写代码里",
        ],
    }
    assert [row["got_into_soul"] for row in rows] == [[], []]
    assert sum(row["kept"] + row["changed"] + row["rules"] for row in rows) == 51
