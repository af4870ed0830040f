"""Each command does what its help says, in a pipe: shapes, statuses, sentences."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from dream.cli.group import COMMANDS, dream_group
from dream.directory import Workspace
from tests.cli.commands import command, dream, environment

CHAT = [
    {"role": "user", "content": "I live in Kyoto and I prefer short answers."},
    {"role": "assistant", "content": "Understood."},
]


def chat(directory: Path) -> Path:
    path = directory / "chat.json"
    path.write_text(json.dumps(CHAT), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_its_own_first_sentence_and_an_example(name: str) -> None:
    done = CliRunner().invoke(dream_group, [name, "--help"], prog_name="dream")

    assert (done.exit_code, done.stderr) == (0, "")
    assert COMMANDS[name] in " ".join(done.stdout.split())
    assert f"dream {name}" in done.stdout
    assert "Example" in done.stdout


def test_the_help_lists_every_command() -> None:
    listed = " ".join(dream("--help").out.split())

    assert [name for name, does in COMMANDS.items() if f"{name} {does}" not in listed] == []


@pytest.mark.parametrize("program", ["main_log", "main_restore"])
def test_log_and_restore_are_commands_of_their_own(program: str) -> None:
    done = dream("--help", program=program)

    assert done.status == 0
    assert done.out.startswith(f"Usage: dream-{program.removeprefix('main_')}")


def test_help_is_a_word_too() -> None:
    assert dream("help").out == dream("--help").out
    assert dream("help", "cron", "show").out == dream("cron", "show", "--help").out
    assert "Did you mean 'run'?" in dream("help", "runn").err


def test_every_command_takes_the_workspace() -> None:
    def usage(name: str) -> str:
        return CliRunner().invoke(dream_group, [name, "--help"], prog_name="dream").stdout

    assert [name for name in COMMANDS if name != "fleet" and "-w, --workspace DIR" not in usage(name)] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("line", [["-w", "{}", "log"], ["review", "-w", "{}"], ["cron", "-w", "{}", "show"]])
def test_a_workspace_named_to_a_group_holds_for_the_command_in_it(
    dreamt: Path, tmp_path: Path, line: list[str]
) -> None:
    done = dream(*(word.format(dreamt) for word in line), cwd=tmp_path)

    assert (done.status, done.err) == (0, "")


def test_what_is_said_to_a_group_holds_for_the_command_in_it(fresh: Path, tmp_path: Path) -> None:
    done = dream("sources", "-w", fresh, "--json", "add", str(chat(tmp_path)), cwd=tmp_path)

    assert done.json == [{"source": str(tmp_path / "chat.json"), "added": True, "files": 1}]
    assert "chat.json" in (fresh / "dream.toml").read_text(encoding="utf-8")


def test_the_version_is_the_package_s() -> None:
    import dream as package

    assert dream("--version").out == f"dream, version {package.__version__}\n"


def test_init_makes_a_workspace_with_a_first_commit_and_again_changes_nothing(tmp_path: Path) -> None:
    first = dream("init", tmp_path / "w", "--json")
    second = dream("init", tmp_path / "w", "--json")

    assert first.status == 0
    assert first.json == {"workspace": str(tmp_path / "w"), "commit": first.json["commit"]}
    assert second.json == first.json


def test_consolidate_says_what_was_appended_and_a_second_time_that_nothing_is_new(fresh: Path, tmp_path: Path) -> None:
    path = chat(tmp_path)

    first = dream("consolidate", path, "-w", fresh, "--json")
    second = dream("consolidate", path, "-w", fresh, "--json")

    assert (first.status, second.status) == (0, 0)
    assert {key: first.json[key] for key in ("sessions", "messages", "entries", "raw", "diagnostics")} == {
        "sessions": 1,
        "messages": 2,
        "entries": [1, 1],
        "raw": 0,
        "diagnostics": [],
    }
    assert second.json["entries"] is None


def test_run_reports_its_dreams_in_the_promised_shape(fresh: Path, tmp_path: Path) -> None:
    dream("consolidate", chat(tmp_path), "-w", fresh)

    done = dream("run", "-w", fresh, "--json")

    assert (done.status, done.json["outcome"]) == (0, "committed")
    (batch,) = done.json["batches"]
    assert len(batch["commit"]) == 40
    assert batch["entries"] == [1, 1]
    assert {"file", "text", "entries", "state", "reason"} <= batch["findings"][0].keys()
    assert all({"added", "removed"} == count.keys() for count in batch["files"].values())
    assert {"calls", "input_tokens", "output_tokens", "cost_usd"} <= batch["usage"].keys()


def test_a_run_with_nothing_to_do_says_why(fresh: Path) -> None:
    done = dream("run", "-w", fresh)

    assert done.status == 0
    assert "History is empty" in done.out


def test_a_dry_run_shows_the_diff_and_changes_nothing(fresh: Path, tmp_path: Path) -> None:
    dream("consolidate", chat(tmp_path), "-w", fresh)
    before = (fresh / "USER.md").read_bytes()

    done = dream("run", "-w", fresh, "--dry-run")

    assert done.status == 0
    assert "+- " in done.out
    assert (fresh / "USER.md").read_bytes() == before
    assert len(dream("log", "-w", fresh, "--json").json) == 1


def test_held_edits_exit_with_3_and_review_decides_on_them(fresh: Path, tmp_path: Path) -> None:
    dream("consolidate", chat(tmp_path), "-w", fresh)
    before = (fresh / "USER.md").read_text(encoding="utf-8")

    ran = dream("run", "-w", fresh, "--set", "review=hold")
    waiting = dream("review", "-w", fresh, "--json").json
    accepted = dream("review", "accept", waiting[0]["id"], "-w", fresh)
    rejected = dream("review", "reject", "--all", "-w", fresh) if len(waiting) > 1 else None

    assert ran.status == 3
    assert ran.out.splitlines()[0].endswith(f" → {len(waiting)} held for review")
    assert accepted.status == 0, accepted.err
    assert rejected is None or rejected.status == 0
    assert dream("review", "-w", fresh).out == "Nothing is held for review.\n"
    assert (fresh / waiting[0]["file"]).read_text(encoding="utf-8") != before


def test_review_of_a_number_that_nothing_waits_under_is_wrong_usage(fresh: Path) -> None:
    done = dream("review", "accept", "7", "-w", fresh)

    assert (done.status, done.err) == (2, "dream: Nothing waits under 7; `dream review` lists what does.\n")


def test_log_lists_newest_first_with_short_shas(dreamt: Path) -> None:
    changes = dream("log", "-w", dreamt, "--json").json
    news, *lines = dream("log", "-w", dreamt).out.splitlines()

    assert news.startswith("The last dream: ")
    assert [change["kind"] for change in changes] == ["dream", "dream", "dream", "dream", "init"]
    assert [line.split()[0] for line in lines] == [change["sha"][:10] for change in changes]
    assert changes[0].keys() >= {"sha", "time", "kind", "subject", "entries", "files"}


def test_log_of_one_change_shows_findings_bill_and_diff(dreamt: Path) -> None:
    sha = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    shown = dream(sha[:8], "-w", dreamt, program="main_log").out

    assert "applied: [" in shown
    assert "Cost: " in shown
    assert "Model: embedded" in shown
    assert "diff --git a/" in shown


def test_log_limits_what_it_lists(dreamt: Path) -> None:
    assert dream("log", "-n", "2", "-w", dreamt).out.count("  dream: ") == 2


def test_without_a_terminal_restore_goes_ahead_and_says_how_to_take_it_back(dreamt: Path) -> None:
    changes = dream("log", "-w", dreamt, "--json").json
    before = {name: (dreamt / name).read_bytes() for name in ("USER.md", "memory/MEMORY.md")}

    done = dream(changes[1]["sha"][:8], "-w", dreamt, program="main_restore")
    newest = dream("log", "-w", dreamt, "--json").json[0]
    undone = dream("restore", newest["sha"], "-w", dreamt)

    assert done.status == 0, done.err
    assert f"To take it back: dream restore {newest['sha'][:10]}" in done.out
    assert newest["kind"] == "restore"
    assert undone.status == 0, undone.err
    assert {name: (dreamt / name).read_bytes() for name in before} == before


def test_a_restore_says_that_the_entries_are_read_again_unless_what_they_said_is_forgotten(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    first = dream("restore", newest, "-w", dreamt)
    again = dream("restore", dream("log", "-w", dreamt, "--json").json[0]["sha"], "-w", dreamt)
    forgotten = dream("restore", newest, "--forget", "-w", dreamt)

    told = ["reads those entries again" in done.out for done in (first, again, forgotten)]
    assert told == [True, False, False]


@pytest.mark.slow
def test_a_dry_restore_shows_the_diff_and_changes_nothing(dreamt: Path) -> None:
    sha = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    done = dream("restore", sha, "--dry-run", "--json", "-w", dreamt)

    assert (done.status, done.json["commit"], done.json["dry_run"]) == (0, None, True)
    assert done.json["diff"]
    assert dream("log", "-w", dreamt, "--json").json[0]["sha"] == sha


def test_restore_takes_one_mode_at_a_time(dreamt: Path) -> None:
    assert dream("restore", "abcd", "--only", "--at", "-w", dreamt).status == 2


@pytest.mark.few(2)
@pytest.mark.parametrize("sha", ["abc", "zzzz", "deadbeef", "HEAD~9", "--output=x"])
def test_a_sha_that_names_nothing_is_one_sentence(dreamt: Path, sha: str) -> None:
    done = dream("log", "-w", dreamt, "--", sha)

    assert done.status == 2
    assert done.err.startswith("dream: ")
    assert done.err.count("\n") == 1


def test_note_gives_its_cursor_and_reads_standard_input(fresh: Path) -> None:
    named = dream("note", "I am allergic to peanuts", "-w", fresh, "--json")
    piped = dream("note", "-", "-w", fresh, "--json", stdin="Marta owns the product\n")

    assert (named.json, piped.json) == ({"cursor": 1}, {"cursor": 2})


def test_a_text_may_begin_with_a_dash_as_a_line_of_memory_does(fresh: Path) -> None:
    noted = dream("note", "- Plays the oboe", f"--workspace={fresh}", "--json")
    typo = dream("note", "--jsn", "Plays the oboe", "-w", fresh)
    forgotten = dream("forget", "- Plays the oboe", "--dry-run", "-w", fresh, "--json")

    assert noted.json == {"cursor": 1}
    assert typo.status == 2
    assert forgotten.json["outcome"] == "preview"


def test_the_log_of_a_workspace_without_versions_is_empty(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "USER.md").write_text("# User\n", encoding="utf-8")

    told, shaped = dream("log", "-w", tmp_path), dream("log", "-w", tmp_path, "--json")

    assert told.out == "Nothing has changed yet. `dream run` makes the first change.\n"
    assert (told.status, shaped.json) == (0, [])


def test_an_empty_note_is_wrong_usage(fresh: Path) -> None:
    assert dream("note", "-w", fresh).status == 2


def test_a_secret_in_a_note_is_not_written_down(fresh: Path) -> None:
    dream("note", "the db is postgres://crumb:Pf7-quenched-Mole@db.example/crumb", "-w", fresh)

    assert b"quenched" not in (fresh / "memory" / "history.jsonl").read_bytes()


def test_status_has_the_promised_shape(dreamt: Path) -> None:
    done = dream("status", "-w", dreamt, "--json")

    assert done.status == 0
    assert done.json.keys() >= {"workspace", "model", "history", "dream_cursor", "backlog", "files", "pending", "spent"}
    assert done.json["history"].keys() == {"entries", "tokens", "last_cursor"}
    assert done.json["backlog"] == {"entries": 0, "tokens": 0}
    assert done.json["files"]["USER.md"].keys() >= {"lines", "bytes", "tokens"}
    assert done.json["last_run"]["outcome"] == "committed"
    assert done.json["next_run"] is None


def test_status_says_plainly_that_the_default_model_is_small(fresh: Path) -> None:
    shown = dream("status", "-w", fresh).out

    assert "embedded: the small default" in shown
    assert "dream models" in shown


def test_status_check_fails_after_a_run_that_failed(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)
    failed = dream("run", "-w", fresh, DREAM_MAX_CALL_TOKENS="10")

    status = dream("status", "--check", "-w", fresh)

    assert failed.status == 1
    assert status.status == 1
    assert "the last run failed" in status.out


def test_doctor_is_content_with_a_sound_workspace(dreamt: Path) -> None:
    done = dream("doctor", "-w", dreamt, "--json")

    assert (done.status, done.json) == (0, [])


@pytest.mark.slow
def test_doctor_names_what_is_wrong(dreamt: Path) -> None:
    (dreamt / "USER.md").write_bytes(b"# User\n\xff\n")
    (dreamt / "SOUL.md").write_text("# Soul\n- my key is ghp_" + "a1B2" * 9 + "\n", encoding="utf-8")
    with (dreamt / "memory" / "history.jsonl").open("ab") as log:
        log.write(b"no json\n")

    done = dream("doctor", "-w", dreamt, "--json")

    assert done.status == 1
    assert {one["file"] for one in done.json} >= {"USER.md", "SOUL.md", "memory/history.jsonl"}


@pytest.mark.slow
def test_doctor_makes_versions_where_there_are_none(fresh: Path) -> None:
    subprocess.run(["rm", "-rf", fresh / ".git"], check=True)

    done = dream("doctor", "--repair", "-w", fresh)

    assert done.status == 0, done.out
    assert [change["kind"] for change in dream("log", "-w", fresh, "--json").json] == ["hand", "init"]


def test_without_a_workspace_the_sentence_says_how_to_make_one(tmp_path: Path) -> None:
    done = dream("status", cwd=tmp_path)

    assert (done.status, done.out) == (1, "")
    assert "dream init" in done.err


def test_a_failure_with_json_is_one_value_too(tmp_path: Path) -> None:
    done = dream("run", "--json", "-w", tmp_path / "none")

    assert done.status == 1
    assert done.json["outcome"] == "failed"
    assert done.json["reason"] in done.err


def test_wrong_usage_exits_with_2(fresh: Path) -> None:
    wrong = [["nonsense"], ["run", "--nonsense"], ["run", "--set", "x"], ["run", "--set", "modle=x"], ["consolidate"]]

    assert [dream(*line, DREAM_WORKSPACE=str(fresh)).status for line in wrong] == [2] * len(wrong)


@pytest.mark.parametrize(
    ("line", "more"), [(["log", "--nonsense"], {}), (["run", "--max-batches", "0"], {"batches": []}), (["runn"], {})]
)
def test_wrong_usage_with_json_is_one_value_too(fresh: Path, line: list[str], more: dict[str, object]) -> None:
    done = dream(*line, "--json", DREAM_WORKSPACE=str(fresh))

    assert done.status == 2
    assert done.json == {"outcome": "failed", **more, "reason": done.json["reason"]}
    assert done.json["reason"] in done.err


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    assert "Did you mean 'restore'?" in dream("restor").err
    assert "Did you mean 'install'?" in dream("cron", "instal").err
    assert "There are `dream review accept` and `dream review reject`." in dream("review", "3").err


def test_a_missing_transcript_is_one_sentence_that_names_it(fresh: Path) -> None:
    done = dream("consolidate", "/no/such/file.jsonl", "-w", fresh)

    assert done.status == 1
    assert "/no/such/file.jsonl" in done.err


def test_a_workspace_in_use_exits_with_4_at_once(fresh: Path) -> None:
    from dream.workspace.lock import run_lock

    with run_lock(fresh / ".dream", "a test"):
        done = dream("run", "-w", fresh, "--json")

    assert (done.status, done.json["outcome"]) == (4, "failed")
    assert "a test" in done.err


def test_a_reader_that_goes_away_is_quiet(dreamt: Path) -> None:
    line = " ".join(f"'{word}'" for word in command("log", "-w", dreamt))

    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | true"], env=environment(), capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_the_demo_wants_a_directory_of_its_own(fresh: Path) -> None:
    assert dream("demo", fresh).status == 2


@pytest.mark.slow
def test_the_demo_shows_files_source_and_diff_with_nothing_configured(tmp_path: Path) -> None:
    done = dream("demo", tmp_path / "demo", DREAM_MODEL="openai/none", DREAM_API_KEY="x")

    assert (done.status, done.err) == (0, "")
    for expected in (
        "7 sessions in two projects, 72 messages",
        "──── SOUL.md",
        "──── USER.md",
        "──── memory/MEMORY.md",
        "diff --git",
    ):
        assert expected in done.out
    assert "quenched" not in done.out
    assert len(dream("log", "-w", tmp_path / "demo", "--json").json) == 5


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_text_is_utf_8_also_where_the_locale_knows_only_ascii(fresh: Path) -> None:
    dream("note", "住在京都", "-w", fresh, **ASCII)
    dream("note", "-", "-w", fresh, stdin="喜欢茶\n", **ASCII)

    assert [entry.content for entry in Workspace.open(fresh).history.last(2)] == ["住在京都", "喜欢茶"]
    assert "history.jsonl: 1 time" in dream("forget", "住在京都", "--dry-run", "-w", fresh, **ASCII).out


def test_a_preview_of_forget_names_each_file_once(fresh: Path) -> None:
    (fresh / "memory" / "MEMORY.md").write_text("# Memory\n\n- The barn is red\n")

    shown = dream("forget", "the barn is red", "--dry-run", "-w", fresh).out

    assert shown.count("memory/MEMORY.md: 1 time") == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [["note", b"caf\xe9"], ["note", "-"]])
def test_a_text_that_is_not_utf_8_is_wrong_usage(fresh: Path, words: list[str | bytes]) -> None:
    line = [*command(), *words, "-w", str(fresh)]

    done = subprocess.run(line, input=b"caf\xe9", capture_output=True, env=environment(), check=False)

    assert done.returncode == 2
    assert b"not UTF-8 text" in done.stderr
    assert Workspace.open(fresh).history.last_cursor() == 0


def test_a_directory_that_was_removed_under_a_shell_is_one_sentence(fresh: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    line = ["sh", "-c", f'mkdir {gone}; cd {gone}; rmdir {gone}; exec "$@"', "sh", *command()]

    done = subprocess.run([*line, "run"], capture_output=True, text=True, env=environment(), check=False)
    named = subprocess.run([*line, "log", "-w", str(fresh)], capture_output=True, env=environment(), check=False)

    assert (done.returncode, done.stderr) == (
        1,
        "dream: The directory you are in has been removed; change to another.\n",
    )
    assert named.returncode == 0


def closed(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `dream` without a standard input."""
    line = ["sh", "-c", '"$@" <&-', "sh", *command(*words)]
    return subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)


def test_a_closed_standard_input_is_no_answer_and_no_text(dreamt: Path) -> None:
    newest = dream("log", "-w", dreamt, "--json").json[0]["sha"]

    note = closed("note", "-", "-w", dreamt)
    assert (note.returncode, note.stderr) == (2, "dream: Standard input is closed.\n")
    assert closed("restore", newest, "-w", dreamt).returncode == 0


@pytest.mark.slow
def test_a_closed_standard_input_is_no_hook(dreamt: Path) -> None:
    assert closed("consolidate", "--hook", "-w", dreamt).stderr == "dream: Standard input is closed.\n"
