"""What is wanted of the agent is told from what somebody wants for themselves."""

import pytest

from tests.embedded.asking import findings


@pytest.mark.parametrize("line", ["Jon wants it to be a place of support for dancers", "Ann wants it to keep going"])
def test_what_somebody_wants_of_a_thing_is_no_rule_for_the_agent(line: str) -> None:
    assert all("[SOUL]" not in finding for finding in findings({}, f"- {line}"))


def test_what_the_user_wants_of_the_agent_is() -> None:
    assert findings({}, "- User wants the agent to always answer in German") == ["[SOUL] Always answer in German {1}"]
