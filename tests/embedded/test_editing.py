"""What code makes of findings where the model calls no tools."""

from tests.embedded.asking import edited, facts

USER = "# User\n\n## Person\n- Lives in Osaka\n- Has a dog called Biscuit\n"


def test_a_correction_takes_the_place_of_the_old_line() -> None:
    done = edited(
        {"USER.md": USER}, ["[USER/Person] Moved to Tokyo on 7 May 2023 {1}", "[USER-REMOVE] Lives in Osaka {1}"]
    )
    assert done.draft.texts["USER.md"] == USER.replace("Lives in Osaka", "Moved to Tokyo on 7 May 2023")


def test_an_empty_file_gets_a_title_and_a_heading() -> None:
    done = edited({}, ["[MEMORY/Facts] The staging server runs Debian 12 {1}", "[SOUL/Rules] Be brief {1}"])
    assert done.draft.texts["memory/MEMORY.md"] == "# Memory\n\n## Facts\n- The staging server runs Debian 12\n"
    assert done.draft.texts["SOUL.md"] == "# Soul\n\n## Rules\n- Be brief\n"


def test_what_a_person_wrote_around_the_section_stays() -> None:
    mine = "# Mine\n\nA paragraph.\n\n## Person\n- Likes tea\n\n## Else\n- Keeps bees\n"
    done = edited({"USER.md": mine}, ["[USER/Person] Speaks Norwegian and Danish {1}"])
    assert done.draft.texts["USER.md"].replace("- Speaks Norwegian and Danish\n", "") == mine


def test_a_finding_that_is_there_already_is_present() -> None:
    done = edited({"USER.md": USER}, ["[USER/Person] Has a dog called Biscuit {1}"])
    assert [one.state for one in done.outcomes] == ["present"]
    assert done.draft.texts["USER.md"] == USER


def test_a_removal_takes_the_line_out() -> None:
    done = edited({"USER.md": USER}, ["[USER-REMOVE] Has a dog called Biscuit {1}"])
    assert facts(done.draft.texts["USER.md"]) == ["Lives in Osaka"]


def test_a_removal_of_a_line_that_is_not_there_changes_nothing() -> None:
    done = edited({"USER.md": USER}, ["[USER-REMOVE] Plays the violin in an orchestra {1}"])
    assert [one.state for one in done.outcomes] == ["present"]
    assert done.draft.texts["USER.md"] == USER


def test_every_finding_is_applied() -> None:
    done = edited({}, [f"[MEMORY] Server number {n} in rack{n} runs release {n}.0 {{1}}" for n in range(30)])
    assert [one.state for one in done.outcomes] == ["applied"] * 30
