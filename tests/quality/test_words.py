"""The metric says what the reference figures' own scorer says."""

from __future__ import annotations

import pytest

from tests.quality.metric import cut, find, ready


@pytest.mark.parametrize(
    ("answer", "text", "recall", "whole"),
    [
        ("7 May 2023", "Went to the group on 7 May, 2023.", 1.0, True),
        ("7 May 2023", "in May 2023, on the 7th", 2 / 3, False),
        ("The counseling and certification", "counsel certification", 1.0, False),
        ("pottery, camping", "She goes camping. Pottery too.", 1.0, False),
        ("Yes", "yes", 0.0, True),
        ("2022", "since 2022-03", 1.0, True),
        ("南京", "其实上周搬到南京了（2026年3月）", 1.0, True),
        ("9219", "端口是9219（2026年3月26日）", 1.0, True),
    ],
)
def test_an_answer_is_found_by_its_content_words_and_as_a_whole(
    answer: str, text: str, recall: float, whole: bool
) -> None:
    found = find(answer, ready(text))
    assert found.recall == pytest.approx(recall)
    assert found.whole is whole


def test_a_text_is_cut_at_a_line() -> None:
    assert cut("one\ntwo\nthree", 3) == "one\ntwo"
    assert cut("one\ntwo!", 1) == "one"
