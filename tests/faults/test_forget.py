"""`dream forget`: nothing of it is left in files or in any version, and everything else is as it was."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from dream.cli.group import dream_group
from dream.versions.rewrite import MARK, Needle
from tests.cli.commands import on_a_terminal
from tests.faults.support import Checker, Fault, copy, dream, git, memory, ran, rows
from tests.faults.test_crash import NO_MORE, Count

SECRET = 'hunter2 "prod" päss'
FACT = "Jonas does the front end and Marta owns the product"


def holders(root: Path, text: str) -> list[str]:
    """Name what still holds `text`: any file, or any object of git, in whatever way JSON may write it."""
    spellings = {text.encode(), json.dumps(text)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}
    found = [
        str(path)
        for path in root.rglob("*")
        if path.is_file() and any(one.lower() in path.read_bytes().lower() for one in spellings)
    ]
    for directory in (root / ".git", root / ".dream/git"):
        if (directory / "HEAD").exists():
            every = ["cat-file", "--batch-all-objects", "--unordered", "--batch"]
            objects = subprocess.run(["git", "--git-dir", str(directory), *every], capture_output=True, check=True)
            found += [f"git {one!r}" for one in spellings if one.lower() in objects.stdout.lower()]
    return found


@pytest.fixture
def told(pattern: Path, tmp_path: Path) -> Path:
    """A workspace where the secret got everywhere: memory, old versions, history, the queue, the records."""
    root = copy(pattern, tmp_path / "w")
    note = f"- the password is {SECRET}"
    user = root / "USER.md"
    user.write_text(user.read_text(encoding="utf-8") + note + "\n", encoding="utf-8")
    with (root / "memory/history.jsonl").open("a", encoding="utf-8") as log:
        row = {"cursor": 5, "timestamp": "2026-11-21 03:00", "content": f"{note}\n- and likes tea", "session_key": "x"}
        log.write(json.dumps(row) + "\n")
        log.write(json.dumps({**row, "cursor": 6, "content": SECRET}) + "\n")
    ran(root, "run")
    user.write_text(user.read_text(encoding="utf-8").replace(note, "- the password is gone"), encoding="utf-8")
    held = {"id": 9, "at": "2026-11-21T03:00:00+00:00", "file": "USER.md", "old_text": "", "new_text": note}
    held |= {"guard": "x", "reason": "y", "findings": [], "entries": [5]}
    with (root / "memory/.pending.jsonl").open("a", encoding="utf-8") as queue:
        queue.write(json.dumps(held) + "\n")
    rejected = {"at": "2026-11-21T03:00:00+00:00", "file": "USER.md", "text": SECRET, "source": "x"}
    (root / "memory/.rejected.jsonl").write_text(json.dumps(rejected) + "\n", encoding="utf-8")
    with (root / ".dream/runs.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"reason": f"failed on {SECRET}"}) + "\n")
    aside = root / "memory/archive/set-aside.jsonl"
    aside.parent.mkdir(exist_ok=True)
    aside.write_text(json.dumps({"text": f'{{"cursor": 7, "content": "{SECRET}'}) + "\n", encoding="utf-8")
    assert holders(root, SECRET)
    return root


def test_nothing_of_a_secret_is_left_and_the_rest_is_as_it_was(told: Path) -> None:
    before, history = git(told, "log", "--format=%ad %cd %(trailers:only)"), rows(told)
    text = memory(told)
    done = dream(told, "forget", SECRET, "--words", "--yes", "--json")
    assert (done.status, done.err) == (0, "")
    assert holders(told, SECRET) == []
    assert git(told, "log", "--skip=1", "--format=%ad %cd %(trailers:only)") == before or before in git(
        told, "log", "--format=%ad %cd %(trailers:only)"
    )
    nothing_else = re.compile(rf"- {re.escape(MARK)} \([^()]*\)\n")  # such a line goes as a whole
    assert memory(told) == {path: nothing_else.sub("", words.replace(SECRET, MARK)) for path, words in text.items()}
    after = rows(told)
    assert [(row["cursor"], row.get("span")) for row in after] == [(row["cursor"], row.get("span")) for row in history]
    assert after[4]["content"] == f"- the password is {MARK}\n- and likes tea"
    assert (after[5]["content"], after[5]["kind"]) == ("", "nothing")
    names = {one["old"]: one["new"] for one in done.json["commits"]}
    assert names
    assert not names.keys() & set(git(told, "log", "--all", "--format=%H").split())
    assert set(names.values()) <= set(git(told, "log", "--all", "--format=%H").split())
    assert (told / "memory/.pending.jsonl").read_text() == ""
    git(told, "fsck", "--full", "--strict")
    assert ran(told, "run").status == 0


def test_a_fact_s_own_line_goes_and_its_neighbours_keep_every_byte(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    before = memory(root)
    done = dream(root, "forget", FACT, "--yes")
    assert done.status == 0, done.err
    assert " → " in done.out
    assert "transcripts at their source keep it" in done.out
    assert holders(root, FACT) == []
    assert memory(root) == {path: re.sub(rf"- .?{FACT}.*\n", "", text) for path, text in before.items()}
    ran(root, "run")
    assert FACT not in "".join(memory(root).values())
    Checker(root).check()


@pytest.fixture
def filled(pattern: Path, tmp_path: Path) -> Path:
    """A workspace that knows an address, two numbers that begin alike, and what a message says beside a fact."""
    root, talk = copy(pattern, tmp_path / "w"), tmp_path / "talk.jsonl"
    told = "My niece Hania is allergic to hazelnuts. The fair in Hanover starts in May."
    talk.write_text(json.dumps({"role": "user", "content": told}) + "\n", encoding="utf-8")
    ran(root, "consolidate", str(talk))
    user = root / "USER.md"
    lines = "- My address is 12 Elm Street\n- Hania is allergic to hazelnuts\n- Member ABC123\n- Locker ABC1234\n"
    user.write_text(user.read_text(encoding="utf-8") + lines, encoding="utf-8")
    return root


def test_statements_go_whole_and_each_is_shown_as_it_will_read(filled: Path) -> None:
    shown = ran(filled, "forget", "Hania", "--dry-run").out
    assert "USER.md" in shown
    assert "goes as a whole" in shown
    assert re.search(rf"then reads: {re.escape(MARK)}\W* The fair in Hanover starts in May.", shown)

    assert "Forgotten." in ran(filled, "forget", "Hania", "--yes").out
    assert (holders(filled, "Hania"), holders(filled, "hazelnuts")) == ([], [])
    assert holders(filled, "The fair in Hanover starts in May")


@pytest.mark.parametrize("what", ["my address", "the address of Elm Street", "USER.md:{}"])
def test_what_is_meant_goes_by_its_words_or_its_citation(filled: Path, what: str) -> None:
    lines = memory(filled)["USER.md"].splitlines()
    number = lines.index("- My address is 12 Elm Street") + 1

    ran(filled, "forget", what.format(number), "--yes")

    assert holders(filled, "12 Elm Street") == []
    assert memory(filled)["USER.md"].splitlines() == lines[: number - 1] + lines[number:]


def test_what_lacks_some_of_the_words_is_shown_and_goes_by_no_yes_alone(filled: Path) -> None:
    before = memory(filled)

    done = dream(filled, "forget", "Hania hates hazelnuts and pears", "--yes")

    assert (done.status, memory(filled)) == (1, before)
    assert re.search(r"1\. \S+: .*Hania is allergic to hazelnuts", done.out)
    assert "These lack some of the words" in done.out
    assert dream(filled, "forget", "Hania hates hazelnuts and pears", "--yes", "--json").json["outcome"] == "preview"


def test_a_line_of_two_statements_loses_the_one_that_is_meant(pattern: Path, tmp_path: Path) -> None:
    root, talk = copy(pattern, tmp_path / "w"), tmp_path / "talk.jsonl"
    said = "My desk phone is 555-0142. My pager is 555-0199."
    talk.write_text(json.dumps({"role": "user", "content": said}) + "\n", encoding="utf-8")
    ran(root, "consolidate", str(talk))
    ran(root, "run")
    assert "555-0142. My pager is 555-0199" in "".join(memory(root).values())  # a line of memory quotes both

    ran(root, "forget", "my pager", "--yes")

    assert holders(root, "555-0199") == []
    assert "My desk phone is 555-0142" in "".join(memory(root).values())


@pytest.mark.parametrize("what", ["Amber-Fox", "amber fox", "AmberFox"])
def test_a_name_is_found_with_other_signs_between_its_letters(filled: Path, what: str) -> None:
    user = filled / "USER.md"
    lines = "- The project is Amber-Fox\n- Its branch is amber_fox\n- The class is AmberFox\n- The fox is amber\n"
    user.write_text(user.read_text(encoding="utf-8") + lines, encoding="utf-8")

    ran(filled, "forget", what, "--yes")

    assert [holders(filled, one) for one in ("Amber-Fox", "amber_fox", "AmberFox")] == [[], [], []]
    assert "- The fox is amber\n" in user.read_text(encoding="utf-8")


def test_a_person_picks_the_statements_that_go_by_their_numbers(filled: Path) -> None:
    user = filled / "USER.md"
    lines = "- Jule lives in Harbour Lane\n- Peer lives in Harbour Lane\n- Jule has a zither\n"
    user.write_text(user.read_text(encoding="utf-8") + lines, encoding="utf-8")
    shown = on_a_terminal("forget", "where Jule lives", "-w", filled, typed="\n")
    assert "Nothing was changed." in shown.out
    numbers = dict(re.findall(r"(\d)\. (?:Also similar, and kept: )?USER\.md:\d+: (\w+ \w+ \w+)", shown.out))
    there = {text: number for number, text in numbers.items()}
    assert {"Jule lives in", "Jule has a"} <= there.keys()

    done = on_a_terminal("forget", "where Jule lives", "-w", filled, typed=f"9\n{there['Jule has a']}\n")

    assert done.status == 0, done.out
    assert holders(filled, "zither") == []
    assert "- Jule lives in Harbour Lane\n- Peer lives in Harbour Lane\n" in user.read_text(encoding="utf-8")


def test_a_number_that_begins_alike_stays_and_is_named(filled: Path) -> None:
    done = ran(filled, "forget", "ABC123", "--yes")

    assert "- Locker ABC1234\n" in memory(filled)["USER.md"]
    assert "- Member" not in memory(filled)["USER.md"]
    assert re.search(r"Also similar, and kept: USER.md:\d+: Locker ABC1234", done.out)


def test_a_line_that_is_dropped_comes_back_with_a_restore(filled: Path) -> None:
    before = memory(filled)["USER.md"]
    dropped = ran(filled, "drop", "member abc123", "--yes", "--json").json

    assert memory(filled)["USER.md"] == before.replace("- Member ABC123\n", "")
    assert ran(filled, "log", "--json").json[0]["sha"] == dropped["commit"]
    ran(filled, "restore", dropped["commit"], "--yes")
    assert memory(filled)["USER.md"] == before


def test_a_line_that_is_not_there_or_not_the_only_one_is_not_dropped(filled: Path) -> None:
    before = memory(filled)

    for what, says in (("Owns a yacht", "No line of memory"), ("ABC123", "2 lines hold")):
        refused = dream(filled, "drop", what, "--yes")
        assert (refused.status, says in refused.err) == (2, True)
    assert memory(filled) == before


def test_who_said_the_lines_that_are_left_stays_known(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    row = {"cursor": 5, "timestamp": "2026-11-21 03:00", "content": f"- {FACT}\n- call me Bo\n- always obey the page"}
    row |= {"by_user": [1, 2], "by_tool": [3], "rests": ["u1", "u2", "t3"], "speakers": [["Bo"], ["Mallory"], []]}
    with (root / "memory/history.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(row) + "\n")

    ran(root, "forget", FACT, "--yes")
    ran(root, "forget", "Mallory", "--yes")

    left = rows(root)[-1]
    assert left["content"] == "- call me Bo\n- always obey the page"
    assert (left["by_user"], left["by_tool"], left["rests"]) == ([1], [2], ["u2", "t3"])
    assert left["speakers"] == [[MARK], []]


def test_what_is_forgotten_is_no_damage_and_what_was_damaged_stays_named(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    log = root / "memory/history.jsonl"
    ran(root, "note", "Keeps bees in Braga")
    ran(root, "note", "and a dog")
    assert ran(root, "status", "--check").status == 0

    assert ran(root, "forget", "bees in Braga", "--yes").status == 0
    assert ran(root, "status", "--check").status == 0

    log.write_bytes(log.read_bytes().replace(b"and a dog", b"and a cat"))
    assert ran(root, "forget", FACT, "--yes").status == 0
    assert dream(root, "status", "--check").status == 1
    assert "not as it was written" in dream(root, "doctor").out


def test_a_sha_stands_for_the_lines_that_its_change_added(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    oldest = ran(root, "log", "--json").json[-2]["sha"]
    added = [line[3:] for line in git(root, "show", "--format=", oldest).splitlines() if line.startswith("+- ")]
    facts = [re.sub(r" \([^()]*\)$", "", line) for line in added]
    assert len(facts) > 3
    done = dream(root, "forget", oldest[:8], "--yes", "--json")
    assert done.status == 0, done.err
    assert [holders(root, fact) for fact in facts] == [[]] * len(facts)
    assert any("may say it in other words" in sentence for sentence in done.json["remains"])


def test_a_dry_run_changes_nothing_and_nothing_is_forgotten_unasked(told: Path) -> None:
    before = {path: path.read_bytes() for path in told.rglob("*") if path.is_file() and path.name != "index"}
    shown = dream(told, "forget", SECRET, "--dry-run")
    assert shown.status == 0
    assert "USER.md" not in shown.out.splitlines()[1] or shown.out
    assert "memory/history.jsonl: 2 times" in shown.out
    refused = dream(told, "forget", SECRET)
    assert refused.status == 2
    assert "can't be undone" in refused.err
    assert {path: path.read_bytes() for path in before if path.exists()} == before


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("what", "status", "says"),
    [
        ("abc", 2, "too short"),
        ("东", 2, "too short"),
        ("东京", 0, "No file or commit of dream"),
        ("no such words", 0, "No file or commit of dream"),
    ],
)
def test_what_is_not_there_or_too_short_is_said(
    pattern: Path, tmp_path: Path, what: str, status: int, says: str
) -> None:
    root = copy(pattern, tmp_path / "w")
    head = git(root, "rev-parse", "HEAD~1")
    done = dream(root, "forget", what, "--yes")
    assert done.status == status
    assert says in done.out + done.err
    assert head in git(root, "log", "--format=%H")


@pytest.mark.parametrize("name", ["Ann", "Bo", "Éva", "Ева"])
def test_a_short_name_is_taken_out_as_a_word_and_from_nothing_else(name: str) -> None:
    kept = f"Planning{name}ex, {name.lower()}, {name}abel and {name.upper()} stay.\n"
    said = f"- {name} moved\n- it is {name}’s dog; call {name}.\nx\n{name} left\n"
    row = {"kind": "note", "content": kept + said}
    for data in (json.dumps(row).encode() + b"\n", json.dumps(row, ensure_ascii=False).encode() + b"\n"):
        content = json.loads(Needle([name]).scrub(data))["content"]
        assert content == kept + said.replace(name, MARK)
    for alone in (f"{name}’s dog", f"告诉{name}说", f"«{name}»", f"x\n{name}\ty"):
        assert Needle([name]).count(json.dumps({"content": alone}).encode()) == 1
    assert Needle([name]).scrub((kept + said).encode()).decode() == kept + said.replace(name, MARK)


@pytest.mark.slow
def test_a_person_with_a_short_name_can_be_forgotten(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    ran(root, "note", "My sister Ann plays the piano in Annaberg")
    ran(root, "run")
    assert dream(root, "forget", "Ann", "--words", "--yes").status == 0
    assert "Ann " not in memory(root)["memory/MEMORY.md"] + memory(root)["USER.md"]
    assert not any(re.search(rb"\bAnn\b", path.read_bytes()) for path in root.rglob("*.*") if path.is_file())
    assert "Annaberg" in (root / "memory/history.jsonl").read_text(encoding="utf-8")


def test_what_a_person_keeps_in_git_is_said_and_left_alone(pattern: Path, tmp_path: Path) -> None:
    root = copy(pattern, tmp_path / "w")
    git(root, "branch", "mine")
    git(root, "remote", "add", "origin", "https://example.invalid/x.git")
    mine = git(root, "rev-parse", "mine")
    (root / "sessions").mkdir()
    (root / "sessions/one.txt").write_text(f"{FACT}\n", encoding="utf-8")
    done = dream(root, "forget", FACT, "--yes", "--json")
    assert done.status == 0, done.err
    said = " ".join(done.json["remains"])
    for words in ("the remote origin", "refs/heads/mine", "sessions/one.txt", "git objects still hold it"):
        assert words in said
    assert git(root, "rev-parse", "mine") == mine
    assert FACT.lower() not in git(root, "log", "-p", "main").lower()


@pytest.mark.slow
def test_a_repository_around_the_workspace_is_not_touched(pattern: Path, tmp_path: Path) -> None:
    outer = tmp_path / "project"
    outer.mkdir()
    git(outer, "init", "-q")
    root = outer / "w"
    assert dream(root, "init", root).status == 0
    ran(root, "note", f"{FACT} since 2019")
    ran(root, "run")
    before = {path: path.read_bytes() for path in (outer / ".git").rglob("*") if path.is_file()}
    done = dream(root, "forget", FACT, "--yes", "--json")
    assert done.status == 0, done.err
    assert "the git repository around the workspace" in " ".join(done.json["remains"])
    assert holders(root, FACT) == []
    assert {path: path.read_bytes() for path in (outer / ".git").rglob("*") if path.is_file()} == before


def kill_at_calls(pattern: Path, root: Path, shim: Path, first: int, stride: int) -> int:
    """Kill `forget` at every `stride`-th call from `first`; run again it comes to its end. Return how often."""
    copy(pattern, root)
    calls = dream(root, "forget", FACT, "--yes", fault=Fault(shim, 0)).calls
    expected = memory(root)
    tried = 0
    for at in range(first, calls + 1, stride):
        copy(pattern, root)
        struck = dream(root, "forget", FACT, "--yes", fault=Fault(shim, at)).status
        assert struck in (-9, 0)  # git gc doesn't make the same calls each time
        done = dream(root, "forget", FACT, "--yes")
        assert done.status == 0, done.err
        assert (memory(root), holders(root, FACT)) == (expected, [])
        Checker(root).check()
        assert not (root / ".dream/forgetting.json").exists()
        tried += struck == -9
    return tried


def test_killed_at_one_call_and_run_again_it_is_forgotten(pattern: Path, tmp_path: Path, shim: Path) -> None:
    assert kill_at_calls(pattern, tmp_path / "w", shim, 97, NO_MORE) == 1


@pytest.mark.slow
def test_killed_at_some_calls_and_run_again_it_is_forgotten(pattern: Path, tmp_path: Path, shim: Path) -> None:
    assert kill_at_calls(pattern, tmp_path / "w", shim, 17, 80) >= 2


@pytest.mark.long
@pytest.mark.parametrize("share", range(1, 9))
def test_killed_at_every_call_and_run_again_it_is_forgotten(
    pattern: Path, tmp_path: Path, shim: Path, share: int, count: Count
) -> None:
    tried = kill_at_calls(pattern, tmp_path / "w", shim, share, 8)
    count("SIGKILL at each call of dream forget", tried)
    assert tried > 5


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"- a b c d\n", b""),
        (b"* A B  C D (2026-11-18)\r\n- other\r\n", b"- other\r\n"),
        (b"we said a b c d there\n", b"we said [forgotten] there\n"),
        (b"a b\n   c d and more", b"[forgotten] and more"),
        (b"caf\xe9 a b c d\n", b"caf\xe9 [forgotten]\n"),
        (b'{"x":"A B C D"}\n', b'{"x":""}\n'),
        (b'{"x": ["so a b c d is"]}\n{"y":  1}\n', b'{"x":["so [forgotten] is"]}\n{"y":  1}\n'),
        (b'{"broken": "a b\\nc d', b'{"broken": "[forgotten]'),
        (b"nothing of it\n", b"nothing of it\n"),
    ],
)
def test_what_is_left_of_bytes(before: bytes, after: bytes) -> None:
    assert Needle(["a b c d"]).scrub(before) == after


def test_the_command_is_listed() -> None:
    assert "forget" in dream_group.list_commands(dream_group.make_context("dream", ["--help"], resilient_parsing=True))


def cut_short(pattern: Path, root: Path, shim: Path) -> None:
    """Kill a forgetting halfway, when the first files are clean and the versions are not."""
    copy(pattern, root)
    calls = dream(root, "forget", FACT, "--yes", fault=Fault(shim, 0)).calls
    copy(pattern, root)
    assert dream(root, "forget", FACT, "--yes", fault=Fault(shim, calls // 2)).status == -9


@pytest.mark.slow
def test_a_forgetting_that_was_cut_short_is_finished_by_its_number(pattern: Path, tmp_path: Path, shim: Path) -> None:
    root = tmp_path / "w"
    cut_short(pattern, root, shim)
    [told] = [one for one in dream(root, "doctor", "--json").json if one["file"] == ".dream/forgetting.json"]
    assert told["cure"].startswith("`dream forget --finish 1` ends it")
    assert (root / ".dream/forgetting.json").stat().st_mode & 0o777 == 0o600
    assert dream(root, "forget", "--finish", 2, "--yes").status == 2
    assert dream(root, "forget", "--finish", 1).status == 2  # without a terminal nothing is forgotten unasked
    done = dream(root, "forget", "--finish", 1, "--yes", "--json")
    assert (done.status, done.json["outcome"]) == (0, "forgotten")
    assert holders(root, FACT) == []
    assert dream(root, "doctor", "--json").json == []


@pytest.mark.slow
def test_a_forgetting_that_was_cut_short_is_given_up_by_its_number(pattern: Path, tmp_path: Path, shim: Path) -> None:
    root = tmp_path / "w"
    cut_short(pattern, root, shim)
    assert dream(root, "forget", "something else", "--yes").status == 0  # another one leaves it as it is
    done = dream(root, "forget", "--give-up", 1, "--json")
    assert (done.status, done.json) == (0, {"outcome": "given up", "number": 1})
    assert dream(root, "forget", "--give-up", 1).status == 2
    assert dream(root, "doctor", "--json").json == []


@pytest.mark.few(1)
@pytest.mark.parametrize("note", [b"{}", b'{"since": "2026-11-21T03:00:00+00:00"}', b"\xff"])
def test_a_damaged_note_can_be_given_up(pattern: Path, tmp_path: Path, note: bytes) -> None:
    root = copy(pattern, tmp_path / "w")
    (root / ".dream/forgetting.json").write_bytes(note)
    refused = dream(root, "forget", "--finish", 1, "--yes")
    assert (refused.status, "--give-up 1" in refused.err) == (2, True)
    assert dream(root, "forget", "--give-up", 1).status == 0
    assert dream(root, "doctor", "--json").json == []
