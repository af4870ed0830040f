"""Edits on a draft are exact; what cannot be done is an answer to the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.dreaming.draft import Edit, EditError, added, gone, memory_file, replaced


def edit(text: str, old: str, new: str) -> str:
    return replaced(text, Edit("USER.md", old, new))


def test_the_one_place_is_replaced() -> None:
    assert edit("# User\n- Lives in Osaka\n", "Osaka", "Tokyo") == "# User\n- Lives in Tokyo\n"


def test_an_empty_old_text_appends_a_line_at_the_end() -> None:
    assert edit("# User", "", "- Likes tea") == "# User\n- Likes tea\n"
    assert edit("", "", "- Likes tea\n\n") == "- Likes tea\n"


def test_a_new_heading_stands_apart_from_what_is_above_it() -> None:
    assert edit("# User\n\n- a\n", "", "## Plans\n- b") == "# User\n\n- a\n\n## Plans\n- b\n"
    assert edit("- a\n- b\n", "- b", "## B\n- b\n## C\n- c") == "- a\n\n## B\n- b\n\n## C\n- c\n"
    assert edit("- a\r\n- b\r\n", "", "## B\n- c") == "- a\r\n- b\r\n\r\n## B\r\n- c\r\n"
    assert edit("- a\n", "", "```\n# a comment\n```") == "- a\n```\n# a comment\n```\n"


def test_a_removed_line_leaves_no_hole() -> None:
    assert edit("- a\n- b\n- c\n", "- b", "") == "- a\n- c\n"
    assert edit("- b\n- c\n", "- b", "") == "- c\n"
    assert edit("- a\n- b\n", "- b\n", "") == "- a\n"


def test_a_miss_names_the_nearest_line() -> None:
    with pytest.raises(EditError, match="nearest there is: - Visited Paris, France"):
        edit("- Likes tea\n- Visited Paris, France\n", "- Visited Paris France", "x")


def test_an_ambiguous_match_is_an_error() -> None:
    with pytest.raises(EditError, match="occurs 2 times"):
        edit("- tea at nine\n- tea at ten\n", "tea", "coffee")


def test_a_whole_line_is_meant_where_it_is_also_part_of_another() -> None:
    text = "- likes tea ceremonies\n- likes tea\n"
    assert edit(text, "- likes tea", "- likes mate") == "- likes tea ceremonies\n- likes mate\n"


@pytest.mark.parametrize(("old", "new"), [("- a", "- a"), ("", "- a"), ("", "  ")])
def test_an_edit_that_changes_nothing_is_an_error(old: str, new: str) -> None:
    with pytest.raises(EditError):
        edit("- a\n", old, new)


def test_line_endings_stay_as_the_file_has_them() -> None:
    assert edit("- a\r\n- b\r\n", "- a\n- b", "- c\n- d") == "- c\r\n- d\r\n"
    assert edit("- a\r\n", "", "- b") == "- a\r\n- b\r\n"


def test_one_crlf_in_a_file_does_not_spread() -> None:
    assert edit("a\r\nb\nc\nd\n", "c", "x") == "a\r\nb\nx\nd\n"


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "../USER.md",
        "/etc/passwd",
        "memory/MEMORY.md/evil",
        "user.md",
        "ＵＳＥＲ.md",
        "USER.md ",
        "memory/history.jsonl",
        "",
        None,
        3,
    ],
)
def test_only_the_three_files_can_be_named(path: object) -> None:
    with pytest.raises(EditError, match="not a memory file"):
        memory_file(path)


def test_memory_md_is_understood_without_its_folder() -> None:
    assert memory_file("MEMORY.md") == memory_file("./memory/MEMORY.md") == "memory/MEMORY.md"


def test_lines_gone_and_added_count_repeats() -> None:
    assert gone("a\na\nb\n", "a\nc\n") == ("a", "b")
    assert added("a\na\nb\n", "a\nc\n") == ("c",)


@given(
    st.text(alphabet="ab\n- ", max_size=40),
    st.text(alphabet="ab\n- ", max_size=6),
    st.text(alphabet="abc\n", max_size=6),
)
def test_an_edit_changes_only_its_place_or_fails(text: str, old: str, new: str) -> None:
    try:
        after = edit(text, old, new)
    except EditError:
        return
    if old == "":
        assert after.startswith(text)
    elif new:
        places = [at for at in range(len(text)) if text[at : at + len(old)] == old]
        assert after in [text[:at] + new + text[at + len(old) :] for at in places]


CRLF = "# User\r\n\r\n## Home\r\n- Lives in Osaka\r\n- Has two cats\r\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "- Plays the violin"),
        ("- Lives in Osaka", "- Lives in Tokyo\n- Plays the violin"),
        ("- Lives in Osaka\r", "- Lives in Tokyo\r"),
        ("## Home\r\n- Lives in Osaka", "## Home\n- Lives in Tokyo"),
        ("## Home\n", "## Home\n- Plays the violin\n"),
        ("- Lives in Osaka\r\n", ""),
        ("- Lives in Osaka", ""),
    ],
)
def test_an_edit_of_a_file_with_carriage_returns_keeps_them_everywhere(old: str, new: str) -> None:
    after = replaced(CRLF, Edit("USER.md", old, new))

    assert after != CRLF
    assert after.count("\n") == after.count("\r") == after.count("\r\n")
    assert after.replace("\r\n", "\n") == replaced(
        CRLF.replace("\r\n", "\n"), Edit("USER.md", old.replace("\r", ""), new.replace("\r", ""))
    )
