"""The shipped consolidator prompt: what other programs and the `embedded` model rely on."""

from __future__ import annotations

from pathlib import Path

from dream import prompts
from dream.models import EntryLine, Message
from dream.provenance.citations import cited


def test_the_prompt_names_its_answer_and_no_other_jobs_tags() -> None:
    text = prompts.load("consolidate", language="German")
    assert "(nothing)" in text
    assert "Write in German." in text
    assert not any(tag in text for tag in ("[USER]", "[SOUL]", "[MEMORY]", "[SKIP]", "-REMOVE", "edit_file"))


def test_the_prompt_s_example_quotes_the_user_and_code_reads_it() -> None:
    system = prompts.load("consolidate", language="x")
    said = system.partition("user: The build hung once")[2].partition("\n")[0]
    answer = system.partition("the answer is\n\n")[2].partition("\n\n")[0]
    lines = cited(answer, {6: Message("user", f"The build hung once{said}")})
    assert lines[-1] == ("- User wants the agent to use no emoji", EntryLine((6,), "user", "And no emoji, please"))


def test_the_prompt_is_short() -> None:
    assert len(prompts.load("consolidate", language="x")) < 3_500


def test_what_stands_behind_the_datas_place_is_said_after_the_data() -> None:
    system, user = prompts.filled(prompts.load("consolidate", language="German"), "<conversation/>")
    assert user.startswith("<conversation/>\n\nNow write the bullet lines")
    assert "Write in German." in system
    assert prompts.SLOT not in system + user


def test_a_prompt_of_ones_own_may_name_no_place_for_the_data(tmp_path: Path) -> None:
    (tmp_path / "phase1.md").write_text("Be brief. $language")
    assert prompts.filled(prompts.load("phase1", tmp_path, language="German"), "DATA") == ("Be brief. German\n", "DATA")
