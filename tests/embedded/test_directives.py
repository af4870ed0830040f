"""What is wanted of the agent is told from what somebody wants for themselves."""

import pytest

from tests.embedded.asking import findings, said


@pytest.mark.parametrize("line", ["Jon wants it to be a place of support for dancers", "Ann wants it to keep going"])
def test_what_somebody_wants_of_a_thing_is_no_rule_for_the_agent(line: str) -> None:
    assert all("[SOUL]" not in finding for finding in findings({}, f"- {line}"))


def test_what_the_user_wants_of_the_agent_is() -> None:
    assert findings({}, "- User wants the agent to always answer in German") == ["[SOUL] Always answer in German {1}"]


@pytest.mark.parametrize(
    "rule",
    [
        "Do not upload files; always ask",
        "Don't upload files, always ask me first",
        "Do not touch the mast - never change the sails either",
        "Never open the locks and always call the harbour first",
    ],
)
def test_what_is_forbidden_stays_with_what_always_holds(rule: str) -> None:
    assert findings({}, rule, kind="note") == [f"[SOUL] {rule} {{1}}"]
    assert findings({}, *(f"- {line}" for line in said(f"Please {rule.lower()}."))) == [
        f"[SOUL] {rule.capitalize()} {{1}}"
    ]


def test_to_allay_a_worry_forbids_nothing() -> None:
    assert findings({}, "Don't worry, always ask me", kind="note") == ["[SOUL] Always ask me {1}"]


def test_to_ask_first_is_told_with_what_it_is_about() -> None:
    text = "Don't upload any files. Always ask first."
    whole = ["[SOUL] Don't upload any files; always ask first {1}"]
    assert findings({}, text, kind="note") == whole
    assert findings({}, *(f"- {line}" for line in said(f"Please {text.lower()}"))) == whole
    assert said("Our lock is new. Always ask first.")[-1] == "User wants the agent to always ask first"
