"""The shipped consolidator prompt: what other programs and the `embedded` model rely on."""

from __future__ import annotations

from dream import prompts


def test_the_prompt_names_its_answer_and_no_other_jobs_tags() -> None:
    text = prompts.load("consolidate", language="German")
    assert "(nothing)" in text
    assert "Write in German." in text
    assert not any(tag in text for tag in ("[USER]", "[SOUL]", "[MEMORY]", "[SKIP]", "-REMOVE", "edit_file"))


def test_the_prompt_is_short() -> None:
    assert len(prompts.load("consolidate", language="x")) < 3_000
