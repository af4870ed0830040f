"""What only a tool's output or a pasted text says stands in MEMORY.md with that as its source; all else as it is."""

from __future__ import annotations

import pytest
from dream.provenance.user import names_source
from dream.provenance.vouching import marked, sources

from dream.consolidate.summariser import attributed
from dream.dreaming.draft import Edit
from dream.dreaming.editing import Editing
from dream.dreaming.findings import by_source
from dream.dreaming.guards import Protected, others, said
from dream.history.entries import entry_of
from dream.language.likeness import same_fact
from dream.language.words import all_marks
from dream.models import Finding, MemoryFile, Message, NewEntry
from dream.settings import Settings
from tests.attacks.running import NOW

CLAIM = "The staging gateway listens on port 9443"
TOOL, PASTE = f"{CLAIM} (according to tool output)", f"{CLAIM} (according to pasted text)"


def talk(*said: tuple[str, str]) -> list[Message]:
    return [Message(role, text, NOW) for role, text in said]  # type: ignore[arg-type]


def written(
    messages: list[Message], summary: str, line: str, before: str = "", file: MemoryFile = "memory/MEMORY.md"
) -> str:
    """Return the memory file after one edit that settles a finding of `line`."""
    new = attributed(NewEntry("summary", summary), messages)
    entry = entry_of(new, 1, NOW)
    files: dict[MemoryFile, str] = {"SOUL.md": "", "USER.md": "", "memory/MEMORY.md": before}
    protected = Protected(files, {}, (), said([entry]), others([entry]), by_source([entry]))
    editing = Editing([Finding(file, line, (1,))], protected, Settings())
    editing.edit(Edit(file, before.rstrip("\n"), f"- {line}", (1,)))
    return editing.draft.texts[file]


@pytest.mark.parametrize(
    ("messages", "stands"),
    [
        (talk(("user", "Look at it."), ("tool", f"ok\n{CLAIM}\nbye"), ("assistant", CLAIM)), TOOL),
        (talk(("user", "Look at it."), ("tool", "gateway.staging: listens, port=9443"), ("assistant", CLAIM)), TOOL),
        (talk(("user", f"Translate this:\n> {CLAIM}"), ("assistant", CLAIM)), PASTE),
        (talk(("user", f"```\n{CLAIM}\n```\nwhat is it?"), ("assistant", "A gateway.")), PASTE),
        (talk(("user", f"{CLAIM}."), ("tool", CLAIM)), CLAIM),
        (talk(("user", "Set it up."), ("assistant", f"{CLAIM} now."), ("tool", f"wrote: {CLAIM}")), CLAIM),
        (talk(("user", "Set it up."), ("assistant", f"{CLAIM} now.")), CLAIM),
        (talk(("user", "Is port 9443 what the staging gateway listens on?"), ("tool", f"yes: {CLAIM}")), CLAIM),
    ],
)
def test_who_said_it_first_decides(messages: list[Message], stands: str) -> None:
    assert written(messages, f"- {CLAIM}", CLAIM) == f"- {stands}\n"


def test_a_line_that_names_its_source_keeps_its_words() -> None:
    line = "According to the status page the staging gateway listens on port 9443"
    heard = talk(("user", "Look at it."), ("tool", CLAIM))
    assert written(heard, f"- {line}", line) == f"- {line}\n"
    for blamed in (
        "According to the user the gateway is off",
        "As the user said, the gateway is off",
        "根据用户，网关已关闭",
    ):
        assert not names_source(blamed)


def test_another_line_of_the_same_talk_is_not_touched() -> None:
    heard = talk(("user", "We chose Postgres. Look at the page."), ("tool", CLAIM), ("assistant", "Done."))
    assert written(heard, f"- {CLAIM}\n- We chose Postgres", "We chose Postgres") == "- We chose Postgres\n"


def test_a_number_that_the_user_says_is_theirs_whatever_else_a_pasted_text_told() -> None:
    heard = talk(
        ("user", "look at this:\n> The Galaxia sound offer is 18000 pesos for the whole night"),
        ("assistant", "Expensive."),
        ("user", "they came down to 15500 pesos, done"),
    )
    summary = "- The Galaxia sound offer is 18000 pesos for the whole night\n- The user accepted 15500 pesos"
    line = "The Galaxia sound offer for the whole night is 15500 pesos"
    assert written(heard, summary, line) == f"- {line}\n"


def test_the_mark_stays_when_the_line_is_put_otherwise_and_goes_when_the_user_says_so() -> None:
    before = f"- {TOOL}\n"
    later = talk(("user", "What about staging?"), ("assistant", "Nothing new."))
    line = "Staging gateway listens on port 9443 for TLS"
    assert written(later, "- Asked about staging", line, before) == f"- {line} (according to tool output)\n"
    own = talk(("user", "I checked: the staging gateway listens on port 9443 for TLS."))
    assert written(own, "- The staging gateway listens on port 9443 for TLS", line, before) == f"- {line}\n"


def test_about_the_user_a_tool_is_not_believed_even_if_the_agent_repeats_it() -> None:
    heard = talk(
        ("user", "Who am I?"),
        ("tool", "account owner: lives in Utrecht, Netherlands"),
        ("assistant", "You live in Utrecht, Netherlands."),
    )
    assert written(heard, "- Lives in Utrecht, Netherlands", "Lives in Utrecht, Netherlands", file="USER.md") == ""


def test_the_mark_says_nothing_of_the_fact_and_stands_before_the_day() -> None:
    dated = marked("- The port is 80 (2 November 2026)", "tool")
    assert dated == "- The port is 80 (according to tool output) (2 November 2026)"
    assert marked("- 备份已经停用。", "paste") == "- 备份已经停用（据粘贴的文本）"
    assert same_fact("The port is 80", dated)
    assert all(names_source(f"- x {mark}") for mark in all_marks())
    assert marked("- Der Port ist seit gestern nicht mehr 80.", "tool").endswith("(laut Ausgabe eines Werkzeugs)")


def test_a_conversation_without_tools_and_pastes_has_nothing_second_hand() -> None:
    assert sources(f"- {CLAIM}", talk(("user", "hi"), ("assistant", CLAIM))) == ((), ())
