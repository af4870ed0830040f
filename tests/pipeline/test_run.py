"""A run of dreams: each is one commit or changes nothing, and every run says why it ended."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming import budget
from dream.dreaming.dreamer import Models
from dream.errors import Busy, ModelUnavailable
from dream.llm import ChatMessage, Completion, ToolCall
from dream.llm.spending import Meter, MeteredModel
from dream.models import NewEntry
from dream.reports import LineCount, RunReport
from dream.settings import Settings
from dream.versions import trace
from dream.workspace import runs
from dream.workspace.lock import run_lock
from tests.scripted import Answer, ScriptedModel
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
QUIET = Settings(timezone="UTC", durable=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fresh(tmp_path / "ws", NOW)


def add(workspace: Workspace, *contents: str) -> None:
    workspace.history.append([NewEntry("summary", content) for content in contents], now=NOW)


def run(workspace: Workspace, *answers: Answer, settings: Settings = QUIET, **options: object) -> RunReport:
    """Run with a scripted phase 1; phase 2 cannot call tools, so findings are applied deterministically."""
    phase1 = ScriptedModel(*answers)
    models = Models(phase1, ScriptedModel("done"), Meter(settings, now=lambda: NOW))
    return pipeline.run(workspace, settings=settings, now=NOW, models=models, **options)  # type: ignore[arg-type]


def git(workspace: Workspace, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=workspace.root, capture_output=True, text=True, check=True)
    return done.stdout


def everything(workspace: Workspace) -> dict[str, bytes]:
    paths = [path for path in workspace.root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(workspace.root)): path.read_bytes() for path in paths if ".dream" not in path.parts}


def test_a_dream_is_one_commit_of_files_and_cursor(workspace: Workspace) -> None:
    add(workspace, "- moved to Tokyo", "- has a cat")
    report = run(workspace, "[USER] Lives in Tokyo {1}\n[USER] Has a cat {2}")
    assert (report.outcome, report.exit_status) == ("committed", 0)
    assert report.batches[0].entries == (1, 2)
    assert "- Lives in Tokyo\n" in workspace.read_file("USER.md")
    assert git(workspace, "show", "HEAD:memory/.dream_cursor") == "2\n"
    assert git(workspace, "log", "-1", "--format=%s") == "dream: 2 lines: Tokyo, … (entries 1–2)\n"
    assert git(workspace, "rev-parse", "HEAD").strip() == report.batches[0].commit
    assert git(workspace, "status", "--porcelain") == ""


def test_a_dream_of_plain_findings_asks_the_edit_agent_nothing(workspace: Workspace) -> None:
    add(workspace, "- moved to Tokyo")
    editor = ScriptedModel()  # which would end the test
    models = Models(ScriptedModel("[USER/Person] Lives in Tokyo {1}"), editor, Meter(QUIET, now=lambda: NOW))

    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=models)

    assert [one.state for one in report.batches[0].outcomes] == ["applied"]
    assert "## Person\n- Lives in Tokyo\n" in workspace.read_file("USER.md")
    assert trace.written_since(workspace, NOW, "USER.md") == {"- Lives in Tokyo"}
    assert trace.written_since(workspace, NOW + timedelta(seconds=1), "USER.md") == frozenset()


def test_a_fact_above_a_removal_by_number_is_added_and_replaces_nothing(workspace: Workspace) -> None:
    (workspace.root / "memory/MEMORY.md").write_text("# Memory\n\n## Facts\n- The road is closed\n", encoding="utf-8")
    add(workspace, "- white sheets are ordered")
    report = run(workspace, "[MEMORY/Facts] White sheets are ordered {1}\n[MEMORY-REMOVE] M4")
    assert [one.state for one in report.batches[0].outcomes] == ["applied", "held"]  # a person wrote the line
    assert workspace.read_file("memory/MEMORY.md").endswith("- The road is closed\n- White sheets are ordered\n")
    assert [(one.old_text, one.new_text) for one in workspace.pending()] == [("- The road is closed", "")]


@pytest.mark.slow
def test_each_commit_of_a_long_run_carries_its_own_time(workspace: Workspace) -> None:
    add(workspace, "moved to Tokyo", "has a cat")
    hours = iter(range(24))
    models = Models(
        ScriptedModel("[USER] Lives in Tokyo {1}", "[USER] Has a cat {2}"), ScriptedModel("done"), Meter(QUIET)
    )
    settings = replace(QUIET, batch_tokens=5)

    pipeline.run(workspace, settings=settings, now=lambda: NOW.replace(hour=next(hours)), models=models)

    second, first, _ = git(workspace, "log", "--format=%cI").split()
    assert datetime.fromisoformat(first) < datetime.fromisoformat(second)


def test_nanobot_s_workspace_is_dreamt_as_it_stands_and_its_lines_are_a_person_s(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (tmp_path / "USER.md").write_text("# User\n\n- Name: Ana\n", encoding="utf-8")
    (tmp_path / "SOUL.md").write_text("# Soul\n", encoding="utf-8")
    row = '{"cursor": 2, "timestamp": "2026-04-03 00:02", "content": "- Name is Anna", "session_key": "telegram:42"}\n'
    (memory / "history.jsonl").write_text(row, encoding="utf-8")
    (memory / ".dream_cursor").write_text("1", encoding="utf-8")

    report = run(Workspace.open(tmp_path), "[USER-REMOVE] Name: Ana {2}\n[USER] Likes green tea {2}")

    assert (report.outcome, report.exit_status) == ("committed", 3)
    assert report.batches[0].entries == (2, 2)
    assert "- Name: Ana\n" in (tmp_path / "USER.md").read_text(encoding="utf-8")
    kinds = [change.kind for change in Workspace.open(tmp_path).git.log()]
    assert kinds == ["dream", "hand", "init"]


def test_a_dry_run_knows_what_a_person_typed_and_did_not_commit(workspace: Workspace) -> None:
    add(workspace, "- no more jazz")
    (workspace.root / "USER.md").write_text("# User\n\n- Likes jazz\n", encoding="utf-8")
    answer = "[USER-REMOVE] Likes jazz {1}"

    dry = run(workspace, answer, dry_run=True)
    wet = run(workspace, answer)

    assert [one.outcome for one in (dry, wet)] == ["held", "held"]
    assert dry.batches[0].outcomes == wet.batches[0].outcomes


def test_a_dry_run_of_nanobot_s_workspace_makes_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "USER.md").write_text("# User\n\n- Name: Ana\n", encoding="utf-8")
    workspace = Workspace.open(tmp_path)
    add(workspace, "- likes tea")

    report = run(workspace, "[USER] Likes green tea {1}", dry_run=True)

    assert report.batches[0].files == {"USER.md": LineCount(1, 0)}
    assert not (tmp_path / ".git").exists()
    assert not (tmp_path / ".dream" / "git").exists()


def test_a_run_that_ctrl_c_ends_is_recorded_with_what_it_has_committed(workspace: Workspace) -> None:
    def interrupted(messages: object) -> str:
        raise KeyboardInterrupt

    add(workspace, "moved to Tokyo", "has a cat")
    models = Models(ScriptedModel("[USER] Lives in Tokyo {1}", interrupted), ScriptedModel("done"), Meter(QUIET))

    with pytest.raises(KeyboardInterrupt):
        pipeline.run(workspace, settings=replace(QUIET, batch_tokens=5), now=NOW, models=models)

    (record,) = runs.last(workspace.private)
    assert (record.outcome, record.reason) == ("committed", "ended by Ctrl-C; what was done before stays")
    assert len(record.commits) == 1


def test_nothing_new_costs_no_call_and_says_why(workspace: Workspace) -> None:
    before = git(workspace, "rev-parse", "HEAD")
    report = run(workspace)
    assert (report.outcome, report.exit_status, report.batches) == ("nothing", 0, ())
    assert "history is empty" in report.reason
    add(workspace, "- x")
    run(workspace, "[SKIP]")
    assert "all of history has been dreamt" in run(workspace).reason
    assert git(workspace, "rev-parse", "HEAD") == before


def test_skip_moves_the_cursor_without_a_commit_and_the_next_commit_takes_it_along(workspace: Workspace) -> None:
    before = git(workspace, "rev-parse", "HEAD")
    add(workspace, "- small talk")
    assert run(workspace, "[SKIP]").outcome == "nothing"
    assert workspace.dream_cursor() == 1
    assert git(workspace, "rev-parse", "HEAD") == before
    add(workspace, "- likes tea")
    run(workspace, "[USER] Likes tea {2}")
    assert git(workspace, "show", "HEAD:memory/.dream_cursor") == "2\n"


def test_entries_that_say_nothing_are_passed_without_a_model_call(workspace: Workspace) -> None:
    workspace.history.append([NewEntry("nothing", "", "a:1", (0, 4))], now=NOW)
    assert run(workspace).outcome == "nothing"
    assert workspace.dream_cursor() == 1


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "answer",
    [
        "prose",
        Completion("[USER] Lives in To", finish="length"),
        Completion(""),
        Completion("I won't.", finish="refusal"),
        ModelUnavailable("the provider is down"),
    ],
)
def test_a_failed_dream_changes_nothing(workspace: Workspace, answer: Answer) -> None:
    add(workspace, "- moved to Tokyo")
    before, head = everything(workspace), git(workspace, "rev-parse", "HEAD")
    report = run(workspace, answer)
    assert (report.outcome, report.exit_status) == ("failed", 1)
    assert report.reason
    assert everything(workspace) == before
    assert git(workspace, "rev-parse", "HEAD") == head


def test_a_failure_in_phase_2_changes_nothing(workspace: Workspace) -> None:
    add(workspace, "- moved to Tokyo")
    before = everything(workspace)
    models = Models(ScriptedModel("[USER] x y {1}"), ScriptedModel(ModelUnavailable("down")), Meter(QUIET))
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=models)
    assert report.outcome == "failed"
    assert everything(workspace) == before


def test_dreams_before_a_failed_one_stay(workspace: Workspace) -> None:
    add(workspace, "word " * 300, "word " * 300)
    small = Settings(timezone="UTC", batch_tokens=400)
    report = run(workspace, "[USER] Likes tea {1}", ModelUnavailable("down"), settings=small)
    assert report.outcome == "failed"
    assert [batch.entries for batch in report.batches] == [(1, 1)]
    assert workspace.dream_cursor() == 1


def test_max_batches_bounds_a_run(workspace: Workspace) -> None:
    add(workspace, *["word " * 300] * 3)
    small = Settings(timezone="UTC", batch_tokens=400)
    report = run(workspace, "[SKIP]", settings=small, max_batches=2)
    assert [batch.entries for batch in report.batches] == [(1, 1), (2, 2)]
    assert workspace.dream_cursor() == 2


def test_a_dry_run_writes_nothing_and_shows_the_diff(workspace: Workspace) -> None:
    add(workspace, *["word " * 300] * 2)
    before, head = everything(workspace), git(workspace, "rev-parse", "HEAD")
    small = Settings(timezone="UTC", batch_tokens=400)
    report = run(workspace, "[USER] Likes tea {1}", "[USER] Has a cat {2}", settings=small, dry_run=True)
    assert [batch.commit for batch in report.batches] == [None, None]
    assert "+- Likes tea" in report.batches[0].diff
    assert "+- Has a cat" in report.batches[1].diff
    assert "+- Likes tea" not in report.batches[1].diff
    assert everything(workspace) == before
    assert git(workspace, "rev-parse", "HEAD") == head
    assert runs.last(workspace.private) == []


def test_a_second_run_is_refused_at_once(workspace: Workspace) -> None:
    with run_lock(workspace.private), pytest.raises(Busy):
        run(workspace)


def test_a_hand_edit_gets_its_own_commit_before_the_dream(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- I live in Osaka\n", encoding="utf-8")
    add(workspace, "- likes tea")
    run(workspace, "[USER] Likes tea {1}")
    assert git(workspace, "log", "-3", "--format=%s").splitlines() == [
        "dream: 1 line: Likes tea (entry 1)",
        "hand: 1 file, +1 −7",
        "init: 3 files, +27 −0",
    ]
    assert "- I live in Osaka\n" in git(workspace, "show", "HEAD~1:USER.md")


def test_a_person_s_line_is_held_and_the_run_says_so(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Lives in Osaka\n", encoding="utf-8")
    add(workspace, "- moved to Tokyo")
    report = run(workspace, "[USER] Lives in Tokyo {1}\n[USER-REMOVE] Lives in Osaka {1}")
    assert (report.outcome, report.exit_status) == ("held", 3)
    assert "- Lives in Osaka" in workspace.read_file("USER.md")
    held = workspace.pending()
    assert [(item.id, item.guard, item.old_text, item.new_text) for item in held] == [
        (1, "person-line", "- Lives in Osaka", "- Lives in Tokyo")
    ]
    assert git(workspace, "show", "HEAD:memory/.dream_cursor") == "1\n"
    assert "Tokyo" in git(workspace, "show", "HEAD:memory/.pending.jsonl")


def test_what_waits_already_is_not_queued_again(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n- Lives in Osaka\n", encoding="utf-8")
    for _ in range(2):
        add(workspace, "- moved to Tokyo")
        run(workspace, "[USER] Lives in Tokyo\n[USER-REMOVE] Lives in Osaka")
    assert len(workspace.pending()) == 1


def test_a_save_while_the_model_thinks_is_merged(workspace: Workspace) -> None:
    add(workspace, "- likes tea")

    def think(_: object) -> str:
        path = workspace.root / "USER.md"
        path.write_text("- Mine\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
        return "[USER] Likes tea {1}"

    report = run(workspace, think)
    assert report.outcome == "committed"
    text = workspace.read_file("USER.md")
    assert text.startswith("- Mine\n")
    assert "- Likes tea\n" in text
    assert git(workspace, "log", "-2", "--format=%an %s").splitlines() == [
        "dream dream: 1 line: Likes tea (entry 1)",
        "person hand: 1 file, +1 −0",
    ]


@pytest.mark.slow
def test_a_save_of_the_same_lines_wins_and_the_dream_s_edit_is_held(workspace: Workspace) -> None:
    add(workspace, "- likes tea")
    run(workspace, "[USER] Lives in Osaka {1}")
    add(workspace, "- moved")

    def think(_: object) -> str:
        path = workspace.root / "USER.md"
        path.write_text(path.read_text(encoding="utf-8").replace("Osaka", "Kyoto"), encoding="utf-8")
        return "[USER] Lives in Tokyo {2}\n[USER-REMOVE] Lives in Osaka {2}"

    report = run(workspace, think)
    assert "- Lives in Kyoto\n" in workspace.read_file("USER.md")
    assert {outcome.state for outcome in report.batches[0].outcomes} == {"held"}
    assert report.exit_status == 3
    assert [item.guard for item in workspace.pending()] == ["person-edit"]


def test_a_batch_that_fails_three_times_is_split_and_the_poison_is_set_aside(workspace: Workspace) -> None:
    add(workspace, "- a", "- b", "- POISON", "- c", "- d")

    def answer(messages: object) -> str:
        return "no idea" if "POISON" in str(messages) else "[SKIP]"

    outcomes = [run(workspace, answer).outcome for _ in range(3)]
    assert outcomes == ["failed", "failed", "held"]
    assert workspace.dream_cursor() == 5
    assert [(item.file, item.entries, item.guard) for item in workspace.pending()] == [(None, (3,), "entry")]


def test_a_batch_that_has_more_to_tell_than_an_answer_holds_is_split_at_once(workspace: Workspace) -> None:
    facts = ("Likes tea", "Has a dog", "Rows on Sundays")
    add(workspace, *(f"- {fact}" for fact in facts))

    def answer(messages: Sequence[ChatMessage]) -> Completion:
        history = messages[1].content.rpartition("\n<history>\n")[2]
        told = [f"[USER] {fact} {{{cursor}}}" for cursor, fact in enumerate(facts, 1) if fact in history]
        return Completion(told[0], finish="length" if len(told) > 1 else "stop")

    report = run(workspace, answer)

    assert report.outcome == "committed"
    assert workspace.dream_cursor() == 3
    assert all(f"- {fact}\n" in workspace.read_file("USER.md") for fact in facts)


def test_a_model_that_answers_nothing_usable_sets_nothing_aside_in_a_hurry(workspace: Workspace) -> None:
    add(workspace, "- a", "- b", "- c")
    assert [run(workspace, "prose").outcome for _ in range(4)] == ["failed"] * 4
    assert workspace.pending() == []
    assert workspace.dream_cursor() == 0


def test_every_run_leaves_a_record(workspace: Workspace) -> None:
    add(workspace, "- likes tea")
    run(workspace, "[USER] Likes tea {1}")
    record = runs.last(workspace.private)[0]
    assert (record.command, record.outcome, record.entries) == ("run", "committed", (1, 1))
    assert dict(record.findings) == {"applied": 1}
    assert len(record.commits) == 1


def test_a_dream_names_the_model_that_answered_not_the_one_that_was_down(workspace: Workspace) -> None:
    add(workspace, "- moved to Tokyo")
    meter = Meter(QUIET, now=lambda: NOW)
    down = ScriptedModel(ModelUnavailable("big is down."), name="big")
    phase1, phase2 = (
        MeteredModel([down, ScriptedModel(answer, name="small")], meter) for answer in ("[USER] Lives in Tokyo", "done")
    )
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=Models(phase1, phase2, meter))
    assert report.models == "small"
    assert workspace.git.log(1)[0].model == "small"
    assert runs.last(workspace.private, 1)[0].model == "small"


def test_what_is_over_the_budget_moves_to_the_archive(workspace: Workspace) -> None:
    facts = [f"Fact {n} about the harbour in {2000 + n}" for n in range(30)]
    add(workspace, "- many")
    tight = Settings(timezone="UTC", memory_max_lines=30)
    report = run(workspace, "\n".join(f"[MEMORY] {fact} {{1}}" for fact in facts[:15]), settings=tight)
    add(workspace, "- more")
    report = run(workspace, "\n".join(f"[MEMORY] {fact} {{2}}" for fact in facts[15:]), settings=tight)
    memory = workspace.read_file("memory/MEMORY.md")
    archive = (workspace.root / "memory/archive/MEMORY-2026-11.md").read_text(encoding="utf-8")
    assert len(memory.splitlines()) <= 30
    assert all((fact in memory) != (fact in archive) for fact in facts)
    assert "older lines are in memory/archive/MEMORY-2026-11.md" in memory
    assert "memory/archive/MEMORY-2026-11.md" in git(workspace, "show", "--stat", "--format=", "HEAD")
    assert report.batches[0].notes


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "words"), [("- ", 4), ("", 4), ("- ", 40)])
def test_a_dream_that_alone_writes_more_than_the_budget_keeps_to_it(
    workspace: Workspace, mark: str, words: int
) -> None:
    facts = [f"Fact {n} of the harbour" + " quay" * words for n in range(230)]
    text = "\n".join(f"{mark}{fact}" for fact in facts)
    add(workspace, "- very much")
    call = ToolCall("1", "edit_file", {"path": "MEMORY.md", "old_text": "", "new_text": text, "findings": [1]})
    phase1 = ScriptedModel("[MEMORY] Facts of the harbour {1}")
    models = Models(phase1, ScriptedModel(Completion("", (call,), "tool_calls")), Meter(QUIET))

    pipeline.run(workspace, settings=QUIET, now=NOW, models=models)

    memory = workspace.read_file("memory/MEMORY.md")
    archive = (workspace.root / "memory/archive/MEMORY-2026-11.md").read_text(encoding="utf-8")
    assert len(memory.splitlines()) <= 200
    assert len(memory.encode()) <= 25_000
    assert all((f"{mark}{fact}\n" in memory) != (f"{mark}{fact}\n" in archive) for fact in facts)
    assert "\n## Events\n" in memory


def test_a_list_item_moves_with_its_further_lines_and_a_person_s_lines_stay(workspace: Workspace) -> None:
    tight = Settings(timezone="UTC", memory_max_lines=12)
    text = "# Memory\n\n" + "".join(f"- Fact {n}\n  and more of {n}\n" for n in range(6))
    moved = budget.fit_budget("memory/MEMORY.md", text, text, frozenset({"- Fact 0"}), tight, NOW.date())

    assert moved is not None
    assert all(f"  and more of {line[-1]}" in moved.moved for line in moved.moved if line.startswith("- "))
    assert moved.moved
    assert "- Fact 0\n" in moved.text
    assert len(moved.text.splitlines()) <= 12


def test_what_a_person_wrote_over_the_budget_drives_out_nothing_new(workspace: Workspace) -> None:
    tight = Settings(timezone="UTC", memory_max_lines=12)
    before = "# Memory\n\n" + "".join(f"- Mine {n}\n" for n in range(20))
    mine = frozenset(before.splitlines())

    assert budget.fit_budget("memory/MEMORY.md", before, before + "- New\n", mine, tight, NOW.date()) is None


def test_a_tool_call_settles_a_finding_through_the_whole_pipeline(workspace: Workspace) -> None:
    add(workspace, "- likes tea")
    call = ToolCall(
        "1",
        "edit_file",
        {
            "path": "USER.md",
            "old_text": "## Preferences\n",
            "new_text": "## Preferences\n\n- Tea, green\n",
            "findings": [1],
        },
    )
    models = Models(
        ScriptedModel("[USER] Likes green tea {1}"),
        ScriptedModel(Completion("", (call,), "tool_calls")),
        Meter(QUIET),
    )
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=models)
    assert [outcome.state for outcome in report.batches[0].outcomes] == ["applied"]
    assert "## Preferences\n\n- Tea, green\n" in workspace.read_file("USER.md")


def test_a_memory_file_that_is_not_text_is_said_and_nothing_is_lost(workspace: Workspace) -> None:
    (workspace.root / "USER.md").write_bytes(b"caf\xe9\n")
    add(workspace, "- likes tea")
    report = run(workspace, "[USER] Likes tea {1}")
    assert report.outcome == "failed"
    assert "USER.md, line 1: byte 0xe9 is not UTF-8" in report.reason
    assert (workspace.root / "USER.md").read_bytes() == b"caf\xe9\n"


def test_a_secret_in_an_old_row_or_in_an_answer_reaches_nobody(workspace: Workspace) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
    add(workspace, f"- the key is {key}")
    phase1 = ScriptedModel(f"[MEMORY] The key of the shop is {key} {{1}}")
    phase2 = ScriptedModel("done")
    report = pipeline.run(workspace, settings=QUIET, now=NOW, models=Models(phase1, phase2, Meter(QUIET)))
    assert report.outcome == "committed"
    sent = "".join(message.content for call in (*phase1.calls, *phase2.calls) for message in call.messages)
    assert key not in sent
    assert key not in git(workspace, "log", "-p", "--all") + str(report)


def test_a_finding_for_a_file_that_memory_does_not_have_is_said(workspace: Workspace) -> None:
    add(workspace, "- juggles")
    report = run(workspace, "[USER] Likes tea {1}\n[SKILL] Juggling {1}")
    assert [note.endswith("[SKILL] Juggling {1}") for note in report.batches[0].notes] == [True]
