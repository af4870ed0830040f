"""`dream why`: a line of memory leads back to the changes that wrote it and to what was said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from dream import pipeline
from dream.actions.why import why
from dream.cli.group import dream_group
from dream.directory import Workspace
from dream.models import NewEntry
from dream.settings import Settings
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


def told(workspace: Workspace, *facts: str, session: str = "chat:1") -> None:
    """Append an entry that says `facts`, each a bullet, and dream it."""
    at = workspace.history.last_cursor() * 10
    now = NOW + timedelta(days=at)
    said = "".join(f"- {fact}\n" for fact in facts).rstrip("\n")
    workspace.history.append([NewEntry("summary", said, session, (at, at + 10))], now=now)
    report = pipeline.run(workspace, settings=QUIET, now=now)
    assert report.outcome == "committed", report.reason


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace that knows of Ada: where she lives, twice, and what she drinks."""
    made = fresh(tmp_path / "ws", NOW)
    told(made, "The user lives in Porto", "The user drinks oolong tea")
    told(made, "The user moved to Lisbon and no longer lives in Porto", session="chat:2")
    return made


def asked(workspace: Workspace, *words: str) -> str:
    result = CliRunner().invoke(dream_group, ["why", *words, "-w", str(workspace.root)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_line_leads_to_its_change_its_entry_and_its_messages(workspace: Workspace) -> None:
    (found,) = why(workspace, "OOLONG")
    (source,) = found.evidence

    assert [change.kind for change in found.changes] == ["dream"]
    assert (source.session, source.span) == ("chat:1", (0, 10))
    assert source.said == ("- The user drinks oolong tea",)


def test_earlier_forms_of_a_line_are_followed(workspace: Workspace) -> None:
    (found,) = why(workspace, "Lisbon")

    assert len(found.changes) == 2
    assert [source.cursor for source in found.evidence] == [1, 2]
    assert found.changes[0].time >= found.changes[1].time


def test_words_in_any_order_do_where_no_line_holds_the_text(workspace: Workspace) -> None:
    assert [one.origin.line for one in why(workspace, "tea oolong")] == [
        one.origin.line for one in why(workspace, "oolong")
    ]


def test_a_line_that_a_person_typed_says_so(workspace: Workspace) -> None:
    file = workspace.root / "USER.md"
    file.write_text(file.read_text() + "- Plays the viola\n")
    assert "is not committed yet" in asked(workspace, "viola")

    told(workspace, "The user has a bicycle")

    assert "written by hand" in asked(workspace, "viola")


def test_a_restored_line_keeps_its_origin(workspace: Workspace) -> None:
    from dream.actions.restore import restore

    done = CliRunner().invoke(dream_group, ["drop", "The user drinks oolong tea", "--yes", "-w", str(workspace.root)])
    assert done.exit_code == 0, done.output
    restore(workspace, workspace.git.log(1)[0].sha, now=NOW)

    (found,) = why(workspace, "oolong")

    assert [change.kind for change in found.changes] == ["restore", "dream"]
    assert [source.cursor for source in found.evidence] == [1]


def test_what_memory_does_not_say_may_wait_in_history(workspace: Workspace) -> None:
    workspace.history.append([NewEntry("note", "I collect stamps", None, None)], now=NOW)

    assert asked(workspace, "stamps") == (
        "No line of memory says that.\nEntry 3 says it, but has not been dreamt yet.\n"
    )
    assert json.loads(asked(workspace, "stamps", "--json")) == []


def test_as_json(workspace: Workspace) -> None:
    (one,) = json.loads(asked(workspace, "oolong", "--json"))

    assert one["file"] == "USER.md"
    assert one["changes"][0]["kind"] == "dream"
    assert one["entries"] == [
        {
            "cursor": 1,
            "time": "2026-11-21T03:00:00+00:00",
            "kind": "summary",
            "session": "chat:1",
            "span": [0, 10],
            "said": ["- The user drinks oolong tea"],
            "messages": [],
            "by_agent": False,
        }
    ]


def test_every_change_in_full_is_what_the_list_and_each_change_say(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dream.versions import log

    monkeypatch.setattr(log, "PAGE", 2)

    assert list(workspace.git.each()) == [workspace.git.show(change.sha) for change in workspace.git.log()]
