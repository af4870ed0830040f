"""What is forbidden under a condition is a rule for good; what is said to comfort, or of today, is none."""

import pytest

from dream.models import Message
from dream.provenance.user import covered, said_by_user
from tests.embedded.asking import findings, said


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("When you touch the schema, don't drop columns.", "When you touch the schema, don't drop columns"),
        ("If the tests fail, do not commit.", "If the tests fail, do not commit"),
        ("Please don't rename files while you refactor.", "Don't rename files while you refactor"),
        ("In the billing module, please don't use floats.", "In the billing module, please don't use floats"),
        ("When you're in prod, never run migrations.", "When you're in prod, never run migrations"),
        ("The staging box is shared, so don't restart it.", "The staging box is shared, so don't restart it"),
        ("Don't start long jobs after 15:00.", "Don't start long jobs after 15:00"),
        ("You must not touch the vendor folder.", "You must not touch the vendor folder"),
        ("I'd rather you didn't touch the CI config.", "I'd rather you didn't touch the CI config"),
        ("Under no circumstances delete the backups.", "Under no circumstances delete the backups"),
        ("No emojis in commit messages.", "No emojis in commit messages"),
        ("Ask before you delete files.", "Ask before you delete files"),
        ("Before you merge, don't forget to run the linter.", "Before you merge, don't forget to run the linter"),
        ("Wenn du das Schema änderst, lösche keine Spalten.", "Wenn du das Schema änderst, lösche keine Spalten"),
        ("Bitte keine Emojis.", "Bitte keine Emojis"),
        ("改表结构时不要删列。", "改表结构时不要删列"),
        (
            "スキーマを変更するときは列を削除しないでください。",
            "スキーマを変更するときは列を削除しないでください",
        ),
    ],
)
def test_what_is_forbidden_under_a_condition_is_a_rule(text: str, rule: str) -> None:
    assert findings({}, "\n".join(f"- {line}" for line in said(text))) == [f"[SOUL] {rule} {{1}}"]


@pytest.mark.parametrize(
    "text",
    [
        "If it rains tomorrow, don't wait for me.",
        "When you see my mother, don't tell her.",
        "Don't worry if it fails.",
        "Don't drop this line when you edit it.",
        "If you like, don't bother with the rest.",
        "下周三演示之前，别再改数据库结构了。",
    ],
)
def test_what_passes_is_no_rule(text: str) -> None:
    assert not any(line.startswith("[SOUL]") for line in findings({}, "\n".join(f"- {line}" for line in said(text))))


def test_a_fact_that_a_rule_follows_from_is_kept_beside_it() -> None:
    assert said("I work from 8 to 16, so please don't start long jobs after 15:00.") == [
        "Works from 8 to 16 (8 May 2023)",
        "User wants: don't start long jobs after 15:00",
    ]


def test_a_rule_is_written_in_the_users_own_words() -> None:
    """The guard of SOUL.md lets in what a message of the user's says, in its order."""
    message = Message("user", "When you touch the schema, please don't drop columns.")
    (line,) = said(message.content)
    assert line == "User wants: when you touch the schema, please don't drop columns"
    assert covered(line, said_by_user([message]))
