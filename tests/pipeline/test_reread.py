"""Reading again: another model reads the kept messages, and its memory takes the place of the first one's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dream import Workspace, pipeline
from dream.actions.restore import restore_batch
from dream.consolidate import reread
from dream.dreaming.dreamer import Models
from dream.dreaming.evidence import hear
from dream.errors import ModelInaccessible
from dream.llm import ChatMessage
from dream.llm.spending import Meter
from dream.settings import Settings
from tests.cli.commands import dream
from tests.scripted import Answer, ScriptedModel
from tests.workspaces import copied

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC")
WANTED = reread.Rereading(batch="b-0123abcd")


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pattern") / "demo"
    assert dream("demo", root).status == 0
    return root


@pytest.fixture
def workspace(pattern: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(copied(pattern, tmp_path / "demo"))


def files(workspace: Workspace) -> dict[str, str]:
    return {name: workspace.read_file(name) for name in workspace.files()}


def summarised(messages: Sequence[ChatMessage]) -> str:
    """Answer as a model that keeps one thing of what it is given."""
    told = messages[-1].content
    if "I moved to Lisbon" in told:
        at = told[: told.index("I moved to Lisbon")].rpartition("[")[2].partition("]")[0]
        return f"- The user lives in Lisbon since 7 November 2026 {{{at}}}"
    return "(nothing)"


def found(messages: Sequence[ChatMessage]) -> str:
    rows = [row for row in messages[-1].content.splitlines() if row.startswith("[") and " summary" in row]
    cursor = rows[-1].partition("]")[0][1:] if rows else ""
    return f"[USER/Person] The user lives in Lisbon since 7 November 2026 {{{cursor}}}" if cursor else "[SKIP]"


def again(
    workspace: Workspace, answer: Answer = summarised, wanted: reread.Rereading = WANTED, name: str = "scripted"
) -> None:
    pipeline.reread(workspace, wanted, settings=SETTINGS, now=NOW, model=ScriptedModel(answer, name=name))
    one = ScriptedModel(found)
    models = Models(one, one, Meter(SETTINGS))
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=models)


def test_the_same_model_makes_the_same_memory_of_it(workspace: Workspace) -> None:
    before = {name: sorted(text.splitlines()) for name, text in files(workspace).items()}

    done = dream("reread", "--again", "--yes", "-w", workspace.root)

    assert done.status == 0, done.err
    assert {name: sorted(text.splitlines()) for name, text in files(workspace).items()} == before
    assert dream("doctor", "-w", workspace.root).status == 0


def test_what_the_model_has_read_already_it_reads_again_only_on_request(workspace: Workspace) -> None:
    done = dream("reread", "--yes", "-w", workspace.root)
    assert done.status == 0
    assert done.out.startswith("Nothing to read again: embedded has already read all of these messages.")
    assert done.out.endswith("add --again.\n")
    shown = dream("reread", "--json", "--estimate", "-w", workspace.root).json
    assert shown["places"] == []
    assert "embedded has already read" in shown["reason"]
    assert dream("reread", "--estimate", "--again", "-w", workspace.root).out.startswith("crumb: 6 sessions")


def test_whichever_job_a_model_does_it_is_named_and_no_agent_may_start_it(workspace: Workspace) -> None:
    asked = ("reread", "--again", "-s", "phase1_model=openai/other", "-w", workspace.root)
    assert "openai/other receives all of it, with secrets marked" in dream(*asked, "--estimate").out
    done = dream(*asked, "--yes", CLAUDECODE="1")
    assert done.status == 2
    assert "is for a person to decide" in done.err


def test_lines_of_the_old_reading_give_way_and_what_a_person_decided_stays(workspace: Workspace) -> None:
    soul = workspace.root / "places" / "crumb" / "SOUL.md"
    soul.write_text(soul.read_text().replace("Tests must never read", "Tests must really never read"))
    dream("note", "I am allergic to peanuts", "-w", workspace.root)
    dream("run", "-w", workspace.root)
    dream("drop", "Lena Okafor", "--yes", "-w", workspace.root)
    before = files(workspace)

    again(workspace)

    text = "".join(files(workspace).values())
    facts = [line for line in text.splitlines() if line.startswith("- ")]
    assert sorted(line for line in facts if "peanuts" not in line) == [
        "- Tests must really never read the real clock: always pass the time in as a parameter",
        "- The user lives in Lisbon since 7 November 2026",
    ]
    assert "peanuts" in text
    restore_batch(workspace, WANTED.batch, now=NOW)
    assert files(workspace) == before


def test_what_was_kept_in_an_earlier_month_is_shown_below_the_lines_that_are_read_again(workspace: Workspace) -> None:
    again(workspace)
    entry = next(entry for entry in workspace.history.after(0) if entry.rereads and entry.lines)
    shown = hear(entry, workspace.history.messages, ())
    assert {message.role for message in shown.messages} == {"user"}


def test_a_reading_that_was_stopped_goes_on_and_reads_nothing_twice(workspace: Workspace) -> None:
    held = workspace.history.last_cursor()

    def until_adaeze(messages: Sequence[ChatMessage]) -> str | ModelInaccessible:
        told = "".join(message.content for message in messages)
        return ModelInaccessible("The key is wrong.") if "Adaeze" in told else summarised(messages)

    again(workspace, until_adaeze)
    assert 0 < workspace.history.last_cursor() - held < held
    assert (workspace.private / reread.NOTE).exists()

    assert dream("nightly", "-w", workspace.root).status == 0

    assert not (workspace.private / reread.NOTE).exists()
    replaced = [cursor for entry in workspace.history.after(held) for cursor in entry.rereads]
    assert sorted(replaced) == list(range(1, held + 1))


def test_an_entry_whose_message_is_gone_stays_as_it_is(workspace: Workspace) -> None:
    (path,) = (workspace.memory / "messages").glob("*.jsonl")
    rows = path.read_bytes().splitlines(keepends=True)
    gone = json.loads(rows[-1])
    path.write_bytes(b"".join(rows[:-1]))

    again(workspace)

    replaced = {cursor for entry in workspace.history.after(0) for cursor in entry.rereads}
    left = [entry for entry in workspace.history.after(0) if not entry.rereads and entry.cursor not in replaced]
    assert [entry.session for entry in left] == [gone["session"]]


def test_what_a_restore_took_out_waits_for_a_person(workspace: Workspace) -> None:
    again(workspace)
    restore_batch(workspace, WANTED.batch, now=NOW)
    assert "lives in Lisbon" not in workspace.read_file("USER.md")
    for entry in list(workspace.history.after(0)):
        if entry.rereads and "Lisbon" in entry.content:  # as another model would read the same messages once more
            workspace.history.append([replace(entry, rereads=(entry.cursor,))], now=NOW)

    one = ScriptedModel(found)
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(one, one, Meter(SETTINGS)))

    assert "lives in Lisbon" not in workspace.read_file("USER.md")
    assert "with a restore" in workspace.pending()[-1].reason


def test_what_a_person_corrected_does_not_come_back_beside_the_correction(workspace: Workspace) -> None:
    again(workspace)
    user = workspace.root / "USER.md"
    user.write_text(user.read_text().replace("7 November 2026", "9 November 2026"))
    for entry in list(workspace.history.after(0)):
        if entry.rereads and "Lisbon" in entry.content:
            workspace.history.append([replace(entry, rereads=(entry.cursor,))], now=NOW)

    one = ScriptedModel(found)
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(one, one, Meter(SETTINGS)))

    text = workspace.read_file("USER.md")
    assert ("9 November" in text, "7 November" in text) == (True, False)
    assert "by hand" in workspace.pending()[-1].reason


def test_search_finds_the_new_entry_and_not_the_one_whose_place_it_took(workspace: Workspace) -> None:
    asked = ("search", "Lisbon", "--kind", "history", "--json", "-w", workspace.root)
    assert [hit["cite"] for hit in dream(*asked).json] == ["history:7"]

    again(workspace)

    assert [hit["text"] for hit in dream(*asked).json] == ["The user lives in Lisbon since 7 November 2026"]


def test_reading_again_names_the_run_where_entries_wait_to_be_dreamt(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    dream("init", root)
    dream("note", "I live in Rome", "-w", root)

    assert "`dream run` dreams them" in dream("reread", "--yes", "-w", root).out
    dream("run", "-w", root)
    assert "`dream run`" not in dream("reread", "--yes", "-w", root).out


# A chain of rereadings: a still better model reads once more what a better one has read.

BETTER = reread.Rereading(batch="b-4567cdef")


def better(messages: Sequence[ChatMessage]) -> str:
    """Answer as a model that understands when the move was."""
    return summarised(messages).replace("since 7 November 2026", "since 8 November 2026")


def dreamt_better(messages: Sequence[ChatMessage]) -> str:
    told = messages[-1].content
    return found(messages).replace("7 November", "8 November") if "since 8 November" in told else "[SKIP]"


def read_better(workspace: Workspace) -> None:
    pipeline.reread(workspace, BETTER, settings=SETTINGS, now=NOW, model=ScriptedModel(better, name="better"))
    one = ScriptedModel(dreamt_better)
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(one, one, Meter(SETTINGS)))


def facts(workspace: Workspace) -> list[str]:
    return [line for text in files(workspace).values() for line in text.splitlines() if line.startswith("- ")]


def test_a_better_model_reads_again_what_was_read_again_and_only_its_lines_are_left(workspace: Workspace) -> None:
    position = workspace.history.positions()
    again(workspace)
    assert facts(workspace) == ["- The user lives in Lisbon since 7 November 2026"]

    read_better(workspace)

    assert facts(workspace) == ["- The user lives in Lisbon since 8 November 2026"]
    assert workspace.history.positions() == position
    replaced = [cursor for entry in workspace.history.after(0) if entry.model == "better" for cursor in entry.rereads]
    assert sorted(set(replaced)) == [one.cursor for one in workspace.history.after(0) if one.model == "scripted"]
    asked = ("search", "Lisbon", "--kind", "history", "--json", "-w", workspace.root)
    assert [hit["text"] for hit in dream(*asked).json] == ["The user lives in Lisbon since 8 November 2026"]
    assert dream("doctor", "-w", workspace.root).status == 0


def test_restoring_the_batch_of_the_last_rereading_leaves_the_one_before(workspace: Workspace) -> None:
    first = files(workspace)
    again(workspace)
    before = files(workspace)
    read_better(workspace)

    restore_batch(workspace, BETTER.batch, now=NOW)
    assert files(workspace) == before

    restore_batch(workspace, WANTED.batch, now=NOW)
    assert files(workspace) == first


def test_lines_of_the_first_reading_that_a_restore_brought_back_are_replaced_by_a_second_rereading(
    workspace: Workspace,
) -> None:
    again(workspace)
    restore_batch(workspace, WANTED.batch, now=NOW)
    assert len(facts(workspace)) > 5

    read_better(workspace)

    assert facts(workspace) == ["- The user lives in Lisbon since 8 November 2026"]


def test_a_second_rereading_leaves_what_a_person_wrote_dropped_or_undid_as_it_is(workspace: Workspace) -> None:
    dream("note", "I am allergic to peanuts", "-w", workspace.root)
    dream("run", "-w", workspace.root)
    again(workspace)
    user = workspace.root / "USER.md"
    user.write_text(user.read_text() + "- I drink my coffee black\n")

    read_better(workspace)

    text = "".join(files(workspace).values())
    assert ("peanuts" in text, "I drink my coffee black" in text) == (True, True)
    dream("drop", "8 November 2026", "--yes", "-w", workspace.root)
    pipeline.reread(
        workspace,
        reread.Rereading(again=True, batch="b-89abcdef"),
        settings=SETTINGS,
        now=NOW,
        model=ScriptedModel(better, name="better"),
    )
    one = ScriptedModel(dreamt_better)
    pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(one, one, Meter(SETTINGS)))
    assert "Lisbon" not in "".join(files(workspace).values())


def test_a_line_that_the_new_reading_says_in_the_same_words_has_it_as_its_source(workspace: Workspace) -> None:
    again(workspace)
    again(workspace, wanted=reread.Rereading(batch="b-89abcdef"), name="other")
    assert facts(workspace) == ["- The user lives in Lisbon since 7 November 2026"]

    read_better(workspace)

    assert facts(workspace) == ["- The user lives in Lisbon since 8 November 2026"]


def test_a_message_that_was_lost_after_a_rereading_keeps_the_newest_entry_that_read_it(workspace: Workspace) -> None:
    again(workspace)
    (path,) = (workspace.memory / "messages").glob("*.jsonl")
    rows = path.read_bytes().splitlines(keepends=True)
    gone = json.loads(rows[-1])["session"]
    path.write_bytes(b"".join(rows[:-1]))

    read_better(workspace)

    newest = {entry.session: entry.model for entry in workspace.history.after(0) if entry.rereads}
    assert newest.pop(gone) == "scripted"
    assert set(newest.values()) == {"better"}


def test_old_entries_are_not_found_where_the_better_model_found_nothing_worth_keeping(workspace: Workspace) -> None:
    asked = ("search", "rsync over SSH", "--kind", "history", "--json", "-w", workspace.root)
    assert "history:2" in [hit["cite"] for hit in dream(*asked).json]

    again(workspace)

    (empty,) = [entry.rereads for entry in workspace.history.after(0) if entry.kind == "nothing"]
    assert empty == (2,)
    assert "history:2" not in [hit["cite"] for hit in dream(*asked).json]


def test_dreams_of_one_rereading_share_its_batch_and_no_other_dream_has_it(workspace: Workspace) -> None:
    pipeline.reread(workspace, WANTED, settings=SETTINGS, now=NOW, model=ScriptedModel(summarised))
    dream("note", "I am allergic to peanuts", "-w", workspace.root)
    dream("nightly", "-w", workspace.root)  # as after a kill: it dreams the new entries, and those of the day

    assert "peanuts" in workspace.read_file("USER.md")
    restore_batch(workspace, WANTED.batch, now=NOW)
    assert "peanuts" in workspace.read_file("USER.md")


def test_the_command_continues_a_rereading_that_was_stopped(workspace: Workspace) -> None:
    def until_adaeze(messages: Sequence[ChatMessage]) -> str | ModelInaccessible:
        told = "".join(message.content for message in messages)
        return ModelInaccessible("The key is wrong.") if "Adaeze" in told else summarised(messages)

    held = workspace.history.last_cursor()
    wanted = reread.Rereading(again=True, batch=WANTED.batch)
    again(workspace, until_adaeze, wanted, name="embedded")
    read = workspace.history.last_cursor()

    done = dream("reread", "--yes", "-w", workspace.root)

    assert "A rereading was stopped; this continues it." in done.out
    assert WANTED.batch in done.out
    replaced = [cursor for entry in workspace.history.after(held) for cursor in entry.rereads]
    assert sorted(replaced) == list(range(1, held + 1))
    assert workspace.history.last_cursor() > read
    assert "has already read all" in dream("reread", "--yes", "-w", workspace.root).out
