"""What fails says so on stderr, exits with its status, and keeps the promised JSON."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dream.cli import output
from dream.transcripts import known_formats
from tests.cli.commands import command, dream, environment
from tests.cli.test_commands import chat
from tests.forking import Server


def test_a_run_that_failed_says_so_on_stderr_and_nothing_on_stdout(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)

    done = dream("run", "-w", fresh, DREAM_MAX_CALL_TOKENS="10")

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("dream: ")


@pytest.mark.slow
def test_a_failed_run_tells_stderr_with_json_too(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)

    done = dream("run", "--json", "-w", fresh, DREAM_MAX_CALL_TOKENS="10")

    assert done.json["outcome"] == "failed"
    assert done.json["reason"] in done.err


def test_a_failed_night_is_told_on_stderr(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)

    done = dream("nightly", "-w", fresh, DREAM_MAX_CALL_TOKENS="10")

    assert (done.status, done.out) == (1, "")
    assert "failed: " in done.err


def test_what_a_full_disk_takes_of_the_output_is_told_and_no_success(fresh: Path, tmp_path: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)
    line = shlex.join([str(Server.running().install(tmp_path)), "run", "-w", str(fresh)])

    done = subprocess.run(
        ["sh", "-c", f"{line} >/dev/full"], env=environment(), capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("dream: The output could not be written (the disk is full")
    assert len(done.stderr.splitlines()) == 1
    assert "Kyoto" in (fresh / "USER.md").read_text()


@pytest.mark.few(1)
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_command_works_with_its_output_closed(fresh: Path, closed: str) -> None:
    line = shlex.join(command("note", "I live in Kyoto", "-w", fresh))

    done = subprocess.run(
        ["sh", "-c", f"{line} {closed}"], env=environment(), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Kyoto" in (fresh / "memory" / "history.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("openai/x could not be reached", "openai/x could not be reached."),
        ("gpt-5-mini, named twice", "gpt-5-mini, named twice."),
        ("nothing new, and why", "Nothing new, and why."),
        ("history: it is empty!", "History: it is empty!"),
        ("", ""),
    ],
)
def test_a_model_s_name_keeps_its_case_at_the_start_of_a_sentence(words: str, said: str) -> None:
    assert output.sentence(words) == said


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["run", "nightly"])
def test_a_command_that_dreams_lists_its_dreams_also_where_it_could_not_begin(
    fresh: Path, tmp_path: Path, command: str
) -> None:
    from dream.workspace.lock import run_lock

    missing = dream(command, "--json", "-w", tmp_path / "none")
    unset = dream(command, "--json", "--set", "modle=x", "-w", fresh)
    with run_lock(fresh / ".dream", "a test"):
        busy = dream(command, "--json", "--set", "durable=false", "-w", fresh)

    assert [(one.status, one.json["outcome"], one.json["batches"]) for one in (missing, unset, busy)] == [
        (1, "failed", []),
        (2, "failed", []),
        (4, "failed", []),
    ]


def test_an_unknown_format_is_wrong_usage_and_the_formats_are_named(fresh: Path, tmp_path: Path) -> None:
    done = dream("consolidate", tmp_path, "--format", "nope", "-w", fresh)

    assert done.status == 2
    assert [name for name in known_formats() if f"'{name}'" not in done.err] == []


def test_the_help_of_consolidate_names_every_format() -> None:
    shown = dream("consolidate", "--help", COLUMNS="400").out

    assert [name for name in known_formats() if name not in shown] == []


def test_a_list_of_changes_is_not_begun_with_settings_that_cannot_be_read(fresh: Path) -> None:
    (fresh / "dream.toml").write_text("modle = 1\n", encoding="utf-8")

    done = dream("log", "-w", fresh)

    assert (done.status, done.out) == (2, "")


def test_init_without_git_makes_nothing(tmp_path: Path) -> None:
    done = dream("init", tmp_path / "w", PATH=str(tmp_path))

    assert (done.status, (tmp_path / "w").exists()) == (1, False)
    assert "install git" in done.err


def test_a_named_path_that_cannot_be_read_fails_the_command_and_the_rest_is_read(fresh: Path, tmp_path: Path) -> None:
    read, missing = chat(tmp_path), tmp_path / "missing.jsonl"

    told = dream("consolidate", read, missing, "-w", fresh)
    shaped = dream("consolidate", read, missing, "-w", fresh, "--json")

    assert (told.status, shaped.status) == (1, 1)
    assert told.out.startswith("Appended entry 1")
    assert told.err == f"dream: {missing}: does not exist; check the path.\n"
    assert shaped.json["diagnostics"] == [{"file": str(missing), "line": 0, "text": "does not exist; check the path."}]


def test_a_file_that_only_stands_in_a_named_directory_is_told_and_no_failure(fresh: Path, tmp_path: Path) -> None:
    chat(tmp_path)
    (tmp_path / "broken.jsonl").write_text("plain words\n", encoding="utf-8")

    done = dream("consolidate", tmp_path, "-w", fresh)

    assert done.status == 0, done.err


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["openai", "claude-code", "nanobot"])
def test_a_file_with_nothing_of_the_named_format_is_an_error(fresh: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "plain.txt").write_text("hello, plain words\n", encoding="utf-8")

    done = dream("consolidate", tmp_path / "plain.txt", "--format", name, "-w", fresh)

    assert (done.status, done.out) == (1, "")
    assert f"plain.txt holds nothing in the format {name}" in done.err


def test_a_text_without_speakers_is_told_what_it_needs(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("hello, plain words\n", encoding="utf-8")

    for more in ([], ["--format", "text"]):
        done = dream("consolidate", tmp_path / "plain.txt", *more, "-w", fresh)
        assert (done.status, done.out) == (1, "")
        assert "lines such as `User: …` and `Assistant: …`" in done.err


def test_nothing_on_standard_input_is_recorded_without_the_file_it_was_put_in(fresh: Path) -> None:
    assert "Standard input is empty" in dream("consolidate", "-", "-w", fresh, stdin="").err
    (run,) = dream("status", "--json", "-w", fresh).json["runs"]
    assert run["reason"] == "standard input is empty; there is nothing to read in it."


@pytest.mark.slow
def test_versions_that_went_away_are_told_by_status_and_made_anew_by_doctor(dreamt: Path) -> None:
    shutil.rmtree(dreamt / ".git")  # as `git clean -fdx` takes `.dream` away in another repository

    told = dream("status", "--check", "-w", dreamt)
    assert told.status == 1
    assert "there are no versions of this workspace" in told.out + told.err

    assert dream("doctor", "--repair", "-w", dreamt).status == 0
    assert dream("status", "--check", "-w", dreamt).status == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("deed", ["missing", "empty"])
def test_a_memory_file_that_went_away_is_told_by_status_and_run(dreamt: Path, deed: str) -> None:
    (dreamt / "USER.md").unlink()
    if deed == "empty":
        (dreamt / "USER.md").write_text("\n", encoding="utf-8")

    status, ran = dream("status", "-w", dreamt, "--json"), dream("run", "-w", dreamt)
    dream("note", "I live in Kyoto", "-w", dreamt)
    again = dream("run", "--dry-run", "-w", dreamt)

    (sentence,) = status.json["problems"]
    assert sentence.startswith(f"USER.md is {deed};")
    assert [one.err for one in (status, ran, again)] == [f"dream: {sentence}\n"] * 3
    assert (status.status, ran.status, again.status) == (0, 0, 0)
