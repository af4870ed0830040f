"""What a person tries without reading the help works, or says what is wrong as everything else does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import command, dream, environment, on_a_terminal
from tests.sources.test_incremental import row


def test_restore_without_a_sha_lists_what_can_be_restored(dreamt: Path) -> None:
    assert dream("restore", "-w", dreamt).out == dream("log", "-w", dreamt).out.partition("\n")[2]
    assert "`dream restore SHA`" in dream("restore", "-w", dreamt).err
    assert dream("restore", "--json", "-w", dreamt).json == dream("log", "--json", "-w", dreamt).json


@pytest.mark.parametrize("name", ["cron", "fleet"])
def test_a_group_alone_tells_its_commands_in_whole_sentences(name: str) -> None:
    told = dream(name)
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"Usage: dream {name} ")
    assert "..." not in told.err.partition("Commands:")[2]
    assert told.err == dream(name, "--help").out


def test_head_is_the_newest_change_and_those_before_it_are_counted_from_there(dreamt: Path) -> None:
    changes = [one["sha"] for one in dream("log", "--json", "-w", dreamt).json]

    shown = [dream("log", name, "--json", "-w", dreamt).json["sha"] for name in ("HEAD", "@", "HEAD~2")]

    assert shown == [changes[0], changes[0], changes[2]]


@pytest.mark.few(1)
@pytest.mark.parametrize("line", ["log --nonsense", "log zzzz", "runn", "review accept x", "review accept 9"])
def test_wrong_usage_is_one_sentence_and_exits_with_2(fresh: Path, line: str) -> None:
    done = dream(*line.split(" "), cwd=fresh)

    assert re.fullmatch(r"dream: [A-Z'].*[.`]\n", done.err), done.err
    assert done.status == 2


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("log -n x", "'x' is not a whole number of at least 1."),
        ("log -n 0", "0 is not a whole number of at least 1."),
        ("web --port 99999", "99999 is not a whole number from 0 to 65535."),
        ("search tea --since soon", "'soon' is not a day like 2026-11-18, or a span like 'last week' or März."),
        ("run --set speed=1", "Unknown setting 'speed' on the command line."),
        ("run --set batch=true", "Setting 'batch' on the command line was removed: answers at half the price"),
        ("eval dialogues", "`dream eval` is not installed any more"),
        ("get", "Missing argument 'CITATION'."),
        ("cron no", "There are `dream cron install`, `dream cron remove` and `dream cron show`."),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_in_plain_words(fresh: Path, line: str, why: str) -> None:
    assert why in dream(*line.split(" "), cwd=fresh).err


@pytest.mark.slow
def test_help_whose_reader_has_gone_is_no_failure() -> None:
    line = ["bash", "-c", 'set -o pipefail; "$@" | true', "bash", *command("--help")]

    for _ in range(3):
        assert subprocess.run(line, env=environment(), check=False).returncode == 0


def test_sources_are_listed_before_there_is_a_workspace(tmp_path: Path) -> None:
    folder = Path.home() / ".claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_text(row(1, "one"))

    done = dream("sources", cwd=tmp_path)

    assert (done.status, done.err) == (0, "")
    assert re.search(r"claude-code +1 session .* 1 new", done.out)


def test_a_context_with_nothing_in_it_says_why(dreamt: Path, fresh: Path) -> None:
    few, empty = dream("context", "--tokens", 3, "-w", dreamt), dream("context", "-w", fresh)
    assert (few.status, few.out, few.err) == (
        0,
        "",
        "dream: No line of memory fits into so few tokens; ask for more.\n",
    )
    assert (empty.status, empty.out, empty.err) == (0, "", "dream: Memory says nothing yet.\n")


def test_a_workspace_that_is_there_already_is_said_to_be(fresh: Path, tmp_path: Path) -> None:
    again, new = dream("init", fresh), dream("init", tmp_path / "new")
    assert again.out.startswith(f"The workspace {fresh} was there already.\n")
    assert new.out.startswith(f"The workspace is {tmp_path / 'new'}.\n")
    (fresh / "SOUL.md").unlink()
    mended = dream("init", fresh)
    assert mended.out.startswith(f"The workspace {fresh} was there already; what it lacked was made.\n")


def test_a_text_that_is_typed_is_asked_for(fresh: Path) -> None:
    done = on_a_terminal("note", "-", "-w", fresh, typed="I like tea.\n\x04")
    assert "Type or paste the text; Ctrl-D on a line of its own ends it." in done.out
    assert "Noted as entry 1" in done.out


def test_a_night_in_a_log_begins_with_its_time(fresh: Path) -> None:
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  no sources configured; ", dream("nightly", "-w", fresh).out)


def test_the_better_model_is_named_where_it_is_asked_for(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)

    quiet = [dream(*words, "-w", fresh).out for words in (["run"], ["log"], ["log", "HEAD"])]

    assert "For a better one" not in "".join(quiet)
    assert [dream(name, "-w", fresh).out.count("For a better one") for name in ("init", "status")] == [1, 1]


@pytest.mark.slow
def test_all_that_is_held_can_be_accepted_by_that_word(fresh: Path) -> None:
    dream("note", "I live in Kyoto", "-w", fresh)
    dream("note", "I like green tea", "-w", fresh)
    dream("run", "--set", "review=hold", "-w", fresh)

    assert dream("review", "accept", "all", "-w", fresh).status == 0
    assert dream("review", "-w", fresh).out == "Nothing is held for review.\n"
    assert "Kyoto" in (fresh / "USER.md").read_text(encoding="utf-8")
