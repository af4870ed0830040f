"""Phase 1's answer is a parsed contract."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.dreaming.findings import parse, references
from dream.errors import AnswerCut, AnswerUnusable
from dream.models import Finding


def test_each_line_becomes_a_finding_with_its_cursors() -> None:
    answer = (
        "[USER] Lives in Tokyo since 2026-11-18 {44}\n"
        "[USER-REMOVE] Lives in Osaka {44}\n"
        "[MEMORY] API on port 8080 {41,43}"
    )
    assert parse(answer, [41, 42, 43, 44]).findings == (
        Finding("USER.md", "Lives in Tokyo since 2026-11-18", (44,)),
        Finding("USER.md", "Lives in Osaka", (44,), remove=True),
        Finding("memory/MEMORY.md", "API on port 8080", (41, 43)),
    )


def test_a_line_of_a_file_is_named_by_its_number() -> None:
    waiting = [Finding("SOUL.md", "no emoji", (1,))]
    known = references({"SOUL.md": "", "USER.md": "# User\n\n- Lives in Osaka\n", "memory/MEMORY.md": ""}, waiting)
    old, gone = "- Lives in Osaka", Finding("USER.md", "Lives in Osaka", (4,), remove=True, line="- Lives in Osaka")
    for row in ("[USER-REPLACE U3] Lives in Tokyo {4}", "[USER-REPLACE] U3 Lives in Tokyo {4}"):
        assert parse(row, [4], known).findings == (Finding("USER.md", "Lives in Tokyo", (4,), line=old), gone)
    assert parse("[USER-REMOVE] U3 {4}", [4], known).findings == (gone,)
    assert parse("[USER-REMOVE U3] I moved {4}", [4], known).findings == (replace(gone, because="I moved"),)
    assert parse("[SOUL-REMOVE] W1 {4}", [4], known).findings[0].text == "no emoji"
    assert parse("[USER-REPLACE U9] Lives in Tokyo {4}", [4], known).findings == (
        Finding("USER.md", "Lives in Tokyo", (4,)),
    )


def test_a_line_that_goes_by_its_number_is_replaced_by_no_fact_above_it() -> None:
    known = references({"SOUL.md": "", "USER.md": "", "memory/MEMORY.md": "- The road is closed until Friday\n"})
    answer = "[MEMORY/Facts] White sheets are ordered {3}\n[MEMORY-REMOVE] M1"
    fact, gone = parse(answer, [3], known).findings
    assert (fact.line, gone.line) == ("", "- The road is closed until Friday")


@pytest.mark.parametrize(
    "line",
    [
        "[user] Likes tea {7}",
        "- [USER] Likes tea {7}",
        "1. **[USER]** Likes tea {7}",
        "[USER.md] Likes tea { 7 }",
        "* [USER]: Likes tea {7}.",
    ],
)
def test_ordinary_spellings_of_a_line_are_understood(line: str) -> None:
    assert parse(line, [7]).findings == (Finding("USER.md", "Likes tea", (7,)),)


def test_a_range_of_cursors_is_understood() -> None:
    assert parse("[SOUL] Be brief {41–43}", [41, 42, 43, 44]).findings[0].entries == (41, 42, 43)


@pytest.mark.parametrize("cited", ["", " {}", " {99}", " {0}", " {x}"])
def test_a_finding_that_cites_no_entry_of_the_batch_rests_on_all_of_it(cited: str) -> None:
    assert parse(f"[SOUL] Be brief{cited}", [41, 42]).findings[0].entries == (41, 42)


def test_skip_alone_means_no_findings() -> None:
    assert parse("[SKIP]", [1]).findings == ()
    assert parse("```\n[SKIP] nothing new\n```", [1]).findings == ()


def test_findings_win_over_a_skip_beside_them() -> None:
    assert len(parse("[SKIP]\n[USER] Likes tea {1}", [1]).findings) == 1


@pytest.mark.parametrize("answer", ["", "   \n", "I found nothing new.", "[SKILL] juggling {1}", "[USER] {1}", "done"])
def test_an_answer_without_a_finding_or_skip_is_unusable_and_never_means_nothing_new(answer: str) -> None:
    with pytest.raises(AnswerUnusable):
        parse(answer, [1])


def test_prose_beside_findings_is_kept_as_unreadable() -> None:
    analysis = parse("Here is what I found:\n[USER] Likes tea {1}", [1])
    assert analysis.unreadable == ("Here is what I found:",)


def test_the_same_finding_twice_counts_once() -> None:
    assert len(parse("[USER] Likes tea {1}\n[USER] likes tea {1}", [1]).findings) == 1


def test_a_fact_that_ends_in_braces_keeps_them_unless_they_are_cursors() -> None:
    assert parse("[MEMORY] The template is {name} {1}", [1]).findings[0].text == "The template is {name}"
    assert parse("[MEMORY] The template is {name}", [1]).findings[0].text == "The template is {name}"


@given(st.text(), st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=5))
def test_no_answer_makes_the_parser_fail_in_another_way(answer: str, cursors: list[int]) -> None:
    try:
        analysis = parse(answer, cursors)
    except AnswerUnusable:
        return
    assert all(set(finding.entries) <= set(cursors) and finding.text for finding in analysis.findings)


def test_an_answer_of_more_findings_than_memory_holds_counts_as_cut_off() -> None:
    begun = time.process_time()
    with pytest.raises(AnswerCut, match="more than 1,000 findings"):
        parse("".join(f"[USER] fact {number} {{1}}\n" for number in range(20_000)), [1])
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "tail", [" " * 100_000, "{" + "1-9," * 50_000 + "}", "{1-" + "9" * 10_000 + "}", "{" * 100_000]
)
def test_a_line_made_to_be_slow_is_not(tail: str) -> None:
    begun = time.process_time()
    assert parse(f"[USER] likes tea {tail}x\n[USER] has a cat {tail}", [1, 2]).findings
    assert time.process_time() - begun < 1


def test_a_fact_may_name_its_heading() -> None:
    found = parse(
        "[MEMORY/Open  points] Ship {1}\n[user.md / Plans] Go {1}\n[USER-REMOVE/Plans] Stay {1}", [1]
    ).findings
    assert [(one.file, one.heading, one.remove) for one in found] == [
        ("memory/MEMORY.md", "Open points", False),
        ("USER.md", "Plans", False),
        ("USER.md", "", True),
    ]
