"""Phase 2: from findings to tool calls, and what the files are after them."""

from tests.embedded.asking import edited, facts

USER = "# User\n\n## Person\n- Lives in Osaka\n- Has a dog called Biscuit\n"


def test_a_correction_is_one_edit_in_place() -> None:
    done = edited({"USER.md": USER}, ["[USER-REMOVE] Lives in Osaka {4}", "[USER] Moved to Tokyo on 7 May 2023 {4}"])
    assert [(c.name, dict(c.arguments)) for c in done.calls] == [
        (
            "edit_file",
            {
                "path": "USER.md",
                "old_text": "- Lives in Osaka",
                "new_text": "- Moved to Tokyo on 7 May 2023",
                "findings": [1, 2],
            },
        )
    ]
    assert done.files["USER.md"] == USER.replace("Lives in Osaka", "Moved to Tokyo on 7 May 2023")
    assert done.text == "Done."


def test_an_empty_file_gets_a_title_and_a_heading() -> None:
    done = edited({}, ["[MEMORY] The staging server runs Debian 12 {1}", "[SOUL] Be brief {2}"])
    assert done.files["memory/MEMORY.md"] == "# Memory\n\n## Facts\n- The staging server runs Debian 12\n"
    assert done.files["SOUL.md"] == "# Soul\n\n## Rules\n- Be brief\n"


def test_a_heading_is_in_the_language_of_memory() -> None:
    french = "Le serveur de préproduction est sous Debian 12 depuis hier"
    assert "## Faits\n" in edited({}, [f"[MEMORY] {french} {{1}}"]).files["memory/MEMORY.md"]
    spanish = "El servidor de pruebas corre con Debian 12"
    assert "## Datos\n" in edited({}, [f"[MEMORY] {spanish} {{1}}"]).files["memory/MEMORY.md"]


def test_what_a_person_wrote_around_the_section_stays() -> None:
    mine = "# Mine\n\nA paragraph.\n\n## Person\n- Likes tea\n\n## Else\n- Keeps bees\n"
    done = edited({"USER.md": mine}, ["[USER] Speaks Norwegian and Danish {1}"])
    assert done.files["USER.md"].replace("- Speaks Norwegian and Danish\n", "") == mine


def test_a_finding_that_is_there_already_is_skipped() -> None:
    done = edited({"USER.md": USER}, ["[USER] Has a dog called Biscuit {4}"])
    assert [(c.name, dict(c.arguments)) for c in done.calls] == [
        ("skip_finding", {"finding": 1, "reason": "already present"})
    ]
    assert done.files["USER.md"] == USER


def test_a_removal_takes_the_line_out() -> None:
    done = edited({"USER.md": USER}, ["[USER-REMOVE] Has a dog called Biscuit {4}"])
    assert facts(done.files["USER.md"]) == ["Lives in Osaka"]


def test_a_removal_of_a_line_that_is_not_there_is_skipped() -> None:
    done = edited({"USER.md": USER}, ["[USER-REMOVE] Plays the violin in an orchestra {4}"])
    assert [c.name for c in done.calls] == ["skip_finding"]


def test_an_edit_that_fails_is_tried_once_more_and_then_skipped() -> None:
    once = edited({"USER.md": USER}, ["[USER] Speaks Norwegian and Danish {1}"], refuse=1)
    assert "Speaks Norwegian and Danish" in facts(once.files["USER.md"])
    never = edited({"USER.md": USER}, ["[USER] Speaks Norwegian and Danish {1}"], refuse=9)
    assert [c.name for c in never.calls] == ["edit_file", "edit_file", "skip_finding"]
    assert never.files["USER.md"] == USER


def test_every_finding_is_named_by_a_call() -> None:
    found = [f"[MEMORY] Server number {n} in rack{n} runs release {n}.0 {{1}}" for n in range(30)]
    done = edited({}, found)
    named = [n for call in done.calls for n in (call.arguments.get("findings") or [call.arguments.get("finding")])]  # type: ignore[union-attr]
    assert {n for n in named if isinstance(n, int)} == set(range(1, 31))
    assert len(named) == 30
