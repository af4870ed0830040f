"""What a correction takes away, and what of the old line it leaves."""

import pytest

from tests.embedded.asking import dreamt, facts, findings, said

DAY = " (8 May 2023)"


def remembered(*messages: str) -> list[str]:
    """Return every line of memory after each message was consolidated and dreamt in turn, without its day."""
    files: dict[str, str] = {}
    for message in messages:
        files = dreamt(files, "\n".join(f"- {line}" for line in said(message)))
    lines = [line for text in files.values() for line in facts(text)]
    return sorted(line.removesuffix(DAY).removesuffix("（2023年5月8日）") for line in lines)


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (
            "I live in Berlin with my wife Sara.",
            "I moved to Tokyo.",
            ["Lives with their wife Sara", "Moved to Tokyo"],
        ),
        ("I work at Siemens as a welder.", "I work at Bosch now.", ["Works as a welder", "Works at Bosch now"]),
        ("I work at Siemens as a welder.", "I now work at Bosch as a painter.", ["Now works at Bosch as a painter"]),
        ("I prefer tabs over spaces.", "I prefer spaces now, not tabs.", ["Prefers spaces now, not tabs"]),
        ("我喜欢喝绿茶。", "我现在不喝绿茶了，改喝咖啡。", ["现在不喝绿茶了，改喝咖啡"]),
        ("The API runs on port 8080.", "The API runs on port 9090 now.", ["The API runs on port 9090 now"]),
        (
            "The API runs on port 8080.",
            "The web server runs on port 9090 now.",
            ["The API runs on port 8080", "The web server runs on port 9090 now"],
        ),
        (
            "My sister Anna lives in Paris. My brother Bob lives in Rome.",
            "Bob moved to Oslo.",
            ["Bob moved to Oslo", "The user's sister Anna lives in Paris"],
        ),
        ("My wife lives in Berlin.", "I moved to Tokyo.", ["Moved to Tokyo", "The user's wife lives in Berlin"]),
    ],
)
def test_a_correction_takes_only_what_is_no_longer_true(before: str, after: str, lines: list[str]) -> None:
    assert remembered(before, after) == lines


def test_a_move_leaves_the_name_that_stood_on_the_same_line() -> None:
    files = {"USER.md": "# User\n\n- The user's name is Ada Brown and they live in Berlin (1 May 2023)\n"}
    after = dreamt(files, "- Moved to Tokyo (8 May 2023)")
    assert facts(after["USER.md"]) == ["The user's name is Ada Brown (1 May 2023)", "Moved to Tokyo (8 May 2023)"]


def test_names_of_others_leave_the_users_own_name() -> None:
    lines = remembered("My name is Ada.", "My cat is called Tom.", "My dog is called Rex.", "My boss's name is Sam.")
    assert lines == [
        "The user is called Ada",
        "The user's boss's name is Sam",
        "The user's cat is called Tom",
        "The user's dog is called Rex",
    ]


def test_the_same_preference_again_changes_nothing() -> None:
    files = {"USER.md": "# User\n\n- Prefers spaces now, not tabs (1 May 2023)\n"}
    assert findings(files, "- Prefers spaces now, not tabs (8 May 2023)") == []


def test_what_was_told_earlier_and_read_later_does_not_override_the_newer() -> None:
    files = {"USER.md": "# User\n\n## Person\n- Moved to Ghent (8 May 2023)\n"}
    assert findings(files, "- Lives in Turin (1 March 2023)") == []
    assert findings(files, "- Lives in Turin (9 May 2023)") == [
        "[USER-REMOVE] Moved to Ghent (8 May 2023) {1}",
        "[USER] Lives in Turin (9 May 2023) {1}",
    ]


@pytest.mark.parametrize(
    "entries",
    [
        ("- Lives in Turin (1 March 2023)", "- Moved to Ghent (8 May 2023)"),
        ("- Moved to Ghent (8 May 2023)", "- Lives in Turin (1 March 2023)"),
    ],
)
def test_in_one_dream_the_order_is_that_of_telling(entries: tuple[str, str]) -> None:
    (line,) = findings({}, *entries)
    assert line.startswith("[USER] Moved to Ghent (8 May 2023)")
