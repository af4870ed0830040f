"""What was replaced by a new value, and which lines still say it."""

from __future__ import annotations

import pytest

from tests.quality import ChangedFact, measures, metric


@pytest.mark.parametrize(
    ("new", "answer", "before", "after", "hint", "old"),
    [
        ("78%", "78%", "I want 100%, now at 65% of it", "it is 78% now", "Achieved 65% coverage", "65%"),
        ("52 sources", "52 sources", "the library has 45 sources", "added 52 sources", "", "45 sources"),
        ("12", "12 probability problems", "after 8 problems", "did 12 probability problems", "", "8 problems"),
        ("April 22 at 11 AM", "…", "on April 21 at 3 PM", "to April 22 at 11 AM", "", "April 21 at 3 PM"),
        ("250ms", "Around 250ms", "sprint 2 by April 19", "improved to 250ms", "", None),
        ("165 commits", "165 commits", "with 150 commits", "reached 165", "", None),
        ("three days", "three days", "three days", "three days", "", None),
    ],
)
def test_a_case_is_clean_when_both_values_can_be_seen(
    new: str, answer: str, before: str, after: str, hint: str, old: str | None
) -> None:
    assert metric.replaced(new, metric.named(new, answer), before, after, hint) == old


@pytest.mark.parametrize(
    ("line", "there", "stale"),
    [
        ("- The Zotero library has 52 sources", True, False),
        ("- The Zotero library has 45 sources", False, True),
        ("- The Zotero library grew from 45 to 52 sources", True, False),
        ("- The Zotero library had 45 sources before", False, False),
        ("- The report cites 45 sources", False, False),
        ("- I moved it to Notion (earlier, 2 May 2026: the Zotero library has 45 sources)", False, False),
        ("- The Zotero library has 45 sources (earlier, 2 May 2026: nothing else to read)", False, True),
    ],
)
def test_an_old_value_is_stale_where_a_line_tells_it_as_true(line: str, there: bool, stale: bool) -> None:
    changed = ChangedFact("How many sources?", "52 sources", "45 sources", "How many sources are in my Zotero library?")
    assert measures.judge(changed, line) == (there, stale)
