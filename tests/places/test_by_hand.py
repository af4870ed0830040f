"""Places by hand: renamed, merged, parted, a line moved, and what is never read; each is one commit, restorable."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dream.directory import Workspace
from dream.mcp import Where
from dream.models import NewEntry
from dream.workspace.lock import run_lock
from tests.cli.commands import dream
from tests.mcp.test_server import call
from tests.sources.test_places import row
from tests.transcripts.reading import lines

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TABS, SPACES = "places/alpha/SOUL.md", "places/beta/SOUL.md"


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Workspace:
    """Two projects with a rule and a fact each, dreamt by the default model."""
    dream("init", tmp_path / "ws")
    for at, name, rule, port in (
        (10, "alpha", "Always use tabs.", 7391),
        (20, "beta", "Always use four spaces.", 8080),
    ):
        folder = home / "work" / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@host.example:lena/alpha.git\n')
        fact = f"Our staging server listens on port {port}."
        said = [row(at, rule, folder, session=name), row(at + 1, "Sure.", folder, "assistant", name)]
        said.append(row(at + 2, fact, folder, session=name))
        dream("consolidate", lines(tmp_path / f"{name}.jsonl", *said), "-w", tmp_path / "ws")
    assert dream("run", "-w", tmp_path / "ws").status == 0
    return Workspace.open(tmp_path / "ws")


def state(workspace: Workspace) -> dict[str, Any]:
    known = tomllib.loads((workspace.root / "places" / "places.toml").read_text(encoding="utf-8"))
    return {file: workspace.read_file(file) for file in workspace.files()} | {"": known}


def test_one_night_keeps_the_rules_and_facts_of_two_projects_apart(workspace: Workspace, home: Path) -> None:
    given = {
        name: dream("context", "-w", workspace.root, cwd=home / "work" / name).out for name in ("alpha", "beta")
    } | {"": dream("context", "-w", workspace.root).out}
    found = {name: [word in text for word in ("tabs", "7391", "four spaces", "8080")] for name, text in given.items()}
    assert found == {"alpha": [True, True, False, False], "beta": [False, False, True, True], "": [False] * 4}
    hits = dream("search", "staging server port", "--json", "-w", workspace.root, cwd=home / "work" / "alpha").json
    assert {hit["place"] for hit in hits} == {"alpha"}
    everywhere = dream("search", "staging server port", "--everywhere", "--json", "-w", workspace.root).json
    assert {hit["place"] for hit in everywhere} == {"alpha", "beta"}
    for widened in ("--everywhere", "--place=beta"):
        refused = dream("search", "port", widened, "-w", workspace.root, cwd=home / "work" / "alpha", CLAUDECODE="1")
        assert (refused.status, "for a person to decide" in refused.err) == (2, True)
    hook = json.dumps({"hook_event_name": "SessionStart", "cwd": str(home / "work" / "beta")})
    shown = dream("context", "--hook", "-w", workspace.root, stdin=hook).out
    assert ("four spaces" in shown, "tabs" in shown) == (True, False)
    asked = json.dumps({"prompt": "Which port does our staging server listen on?", "cwd": str(home / "work" / "beta")})
    dream("search", "warm", "-w", workspace.root)
    assert "7391" not in dream("context", "--hook", "-w", workspace.root, stdin=asked).out


@pytest.mark.parametrize("change", [("rename", "beta", "gamma"), ("merge", "beta", "alpha")])
def test_a_place_is_renamed_or_merged_and_a_restore_takes_it_back(
    workspace: Workspace, change: tuple[str, ...]
) -> None:
    before = state(workspace)
    assert "dream places merge beta alpha" in dream("places", "-w", workspace.root).out
    done = dream("places", *change, "-w", workspace.root)
    assert done.status == 0, done.err
    after = state(workspace)
    assert SPACES not in after
    assert "four spaces" in after[f"places/{change[2]}/SOUL.md"]
    entries = [entry.place for entry in workspace.history.after(0)]
    assert {place.name for key in entries if (place := workspace.places().named(key))} == {"alpha", change[2]}
    assert dream("restore", "HEAD", "--yes", "-w", workspace.root).status == 0
    assert state(workspace) == before
    assert dream("doctor", "-w", workspace.root).status == 0


def test_two_places_are_merged_though_a_person_wrote_a_block_of_code_into_one(workspace: Workspace) -> None:
    file = workspace.root / "places/beta/MEMORY.md"
    file.write_text(file.read_text(encoding="utf-8") + "\n```\nmake ship\n```\n", encoding="utf-8")
    done = dream("places", "merge", "beta", "alpha", "-w", workspace.root)
    assert done.status == 0, done.err
    merged = workspace.read_file("places/alpha/MEMORY.md")
    assert ["make ship" in merged, "7391" in merged, "8080" in merged] == [True] * 3


def test_an_agent_cannot_say_that_two_projects_are_the_same(workspace: Workspace) -> None:
    refused = dream("places", "merge", "beta", "alpha", "-w", workspace.root, CLAUDECODE="1")
    assert (refused.status, "for a person to decide" in refused.err) == (2, True)


def test_a_memory_that_mixed_projects_is_parted_in_one_commit(workspace: Workspace) -> None:
    assert dream("places", "move", f"{TABS}:4", "everywhere", "-w", workspace.root).status == 0
    assert "tabs" in workspace.read_file("SOUL.md")
    assert "tabs" not in workspace.read_file(TABS)
    shown = dream("places", "split", "--dry-run", "-w", workspace.root).out
    assert ("alpha" in shown, "tabs" in shown) == (True, True)
    assert dream("places", "split", "-w", workspace.root).status == 2
    assert dream("places", "split", "--yes", "-w", workspace.root).status == 0
    assert ("tabs" in workspace.read_file("SOUL.md"), "tabs" in workspace.read_file(TABS)) == (False, True)


def test_what_is_never_read_leaves_no_word_in_the_workspace(workspace: Workspace, home: Path, tmp_path: Path) -> None:
    secret = home / "work" / "secret"
    assert dream("places", "never", secret, "-w", workspace.root).status == 0
    said = [row(31, "We use zeppelins.", secret, session="s"), row(32, "I live in Graz.", home, session="s")]
    dream("consolidate", lines(tmp_path / "s.jsonl", *said), "-w", workspace.root)
    kept = b"".join(path.read_bytes() for path in (workspace.root / "memory").rglob("*") if path.is_file())
    assert (b"zeppelins" in kept, b"Graz" in kept) == (False, True)


def test_a_place_is_never_read_by_its_name_nor_in_a_worktree_and_no_restore_lifts_it(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    (first,) = [one.sha for one in workspace.git.log(kind="dream")][-1:]
    git, tree = home / "work" / "alpha" / ".git", home / "elsewhere"
    (git / "worktrees" / "w").mkdir(parents=True)
    (git / "worktrees" / "w" / "gitdir").write_text(f"{tree / '.git'}\n")
    (git / "worktrees" / "w" / "commondir").write_text("../..\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git / 'worktrees' / 'w'}\n")
    assert dream("places", "never", " ", "-w", workspace.root).status == 2
    assert dream("places", "never", "Alpha", "-w", workspace.root).status == 0
    assert dream("restore", first, "--yes", "-w", workspace.root).status == 0
    said = [row(31, "We use zeppelins.", git.parent, session="s"), row(32, "We use gliders.", tree, session="s")]
    dream("consolidate", lines(tmp_path / "s.jsonl", *said), "-w", workspace.root)
    kept = b"".join(path.read_bytes() for path in (workspace.root / "memory").rglob("*") if path.is_file())
    assert (b"zeppelins" in kept, b"gliders" in kept) == (False, False)
    (barring,) = [one.sha for one in workspace.git.log(kind="hand") if "never read" in one.subject]
    assert dream("restore", barring, "--yes", "-w", workspace.root).status == 0
    assert workspace.places().never() == ()


def test_a_restore_over_a_rename_leaves_no_line_for_the_next_place_of_that_name(workspace: Workspace) -> None:
    last = workspace.git.log(kind="dream")[0].sha
    assert dream("places", "rename", "alpha", "gamma", "-w", workspace.root).status == 0
    assert dream("restore", last, "--yes", "-w", workspace.root).status == 0
    assert workspace.read_file("places/gamma/SOUL.md") == ""
    assert workspace.read_file(TABS).count("tabs") == 1
    assert dream("places", "rename", "beta", "Everywhere", "-w", workspace.root).status == 2
    (workspace.root / "places" / "delta").mkdir()
    (workspace.root / "places" / "delta" / "SOUL.md").write_text("- Always use tabs.\n")
    refused = dream("places", "rename", "beta", "delta", "-w", workspace.root)
    assert (refused.status, "is not known any more" in refused.err) == (2, True)


def test_lines_of_a_place_that_was_renamed_in_the_file_are_named_and_brought_back(
    workspace: Workspace, home: Path
) -> None:
    path = workspace.root / "places" / "places.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"beta"', '"gamma"'), encoding="utf-8")
    for command in ("status", "places"):
        assert "places/beta holds memory that is given nowhere" in " ".join(
            dream(command, "-w", workspace.root).out.split()
        )
    assert dream("places", "merge", "beta", "gamma", "-w", workspace.root).status == 0
    assert "four spaces" in dream("context", "-w", workspace.root, cwd=home / "work" / "beta").out
    assert "given nowhere" not in dream("status", "-w", workspace.root).out


def test_a_place_is_not_renamed_while_a_dream_runs_and_one_that_is_noted_meanwhile_is_known(
    workspace: Workspace, home: Path
) -> None:
    with run_lock(workspace.private, "dream run", now=NOW):
        places = workspace.places()  # as a run has read them
        assert dream("places", "rename", "beta", "gamma", "-w", workspace.root).status == 4
        dream("note", "The oven runs on gas.", "-w", workspace.root, cwd=repository(home / "work" / "oven"))
        (noted,) = [entry.place for entry in workspace.history.after(0) if entry.kind == "note"]
        found = places.named(noted)
    assert (found and found.name) == "oven"
    assert dream("places", "rename", "beta", "gamma", "-w", workspace.root).status == 0


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    return folder


def test_forgetting_what_a_project_is_called_keeps_its_place_and_says_so(workspace: Workspace, home: Path) -> None:
    dream("note", "The alpha release is on Friday", "--everywhere", "-w", workspace.root)
    done = dream("forget", "alpha", "--yes", "-w", workspace.root)
    assert (done.status, "dream places rename" in done.out) == (0, True)
    assert dream("doctor", "-w", workspace.root).status == 0
    assert "tabs" in dream("context", "-w", workspace.root, cwd=home / "work" / "alpha").out
    assert dream("search", "release Friday", "--json", "--everywhere", "-w", workspace.root).json == []


def test_a_note_counts_for_the_repository_in_which_it_is_typed(workspace: Workspace, home: Path) -> None:
    dream("note", "Deploys need two reviews", "-w", workspace.root, cwd=home / "work" / "alpha")
    dream("note", "I am allergic to nuts", "--everywhere", "-w", workspace.root, cwd=home / "work" / "alpha")
    dream("note", "I like tea", "-w", workspace.root)
    names = [place.name if (place := workspace.places().named(one.place)) else "" for one in workspace.history.after(0)]
    assert names[-3:] == ["alpha", "", ""]


def test_a_group_chat_is_given_nothing_of_the_person_or_of_projects(workspace: Workspace) -> None:
    workspace.history.append([NewEntry("note", "My blood pressure pills are at 9")], now=NOW)
    (workspace.root / "USER.md").write_text("# User\n\n## Person\n- Lives in Graz\n", encoding="utf-8")
    soul = "# Soul\n\n## Rules\n- Answer in English\n\n## Private\n- Never mention my pregnancy\n"
    (workspace.root / "SOUL.md").write_text(soul, encoding="utf-8")
    given = dream("context", "--chat", "telegram:-1", "-w", workspace.root).out
    assert "Answer in English" in given
    for kept in ("pregnancy", "Graz", "pills", "tabs", "7391", "8080"):
        assert kept not in given
    for asked in ("Graz", "pills", "tabs", "pregnancy"):
        assert dream("search", asked, "--chat", "telegram:-1", "--json", "-w", workspace.root).json == []
    assert dream("mcp", "--chat", "telegram:-1", "--everywhere", "-w", workspace.root).status == 2


def test_no_call_over_mcp_reaches_beyond_the_project_or_the_group_in_which_the_server_was_started(
    workspace: Workspace, home: Path
) -> None:
    (workspace.root / "USER.md").write_text("# User\n\n## Person\n- Lives in Graz\n", encoding="utf-8")
    alpha, group = Where(str(home / "work" / "alpha")), Where("", "telegram:-1")
    theirs = [
        hit["cite"] for hit in dream("search", "8080 spaces", "--everywhere", "--json", "-w", workspace.root).json
    ]
    assert {cite.partition(":")[0] for cite in theirs} >= {SPACES, "history"}
    for where, words in ((alpha, ("8080", "four spaces")), (group, ("8080", "four spaces", "7391", "tabs", "Graz"))):
        told = [call(workspace, "memory_get", cite=cite, around=20, where=where) for cite in theirs]
        assert [wrong for _, wrong in told] == [True] * len(theirs)
        asked = [call(workspace, "memory_search", query=f"{word} staging server", where=where) for word in words]
        asked += [call(workspace, "memory_why", text=word, where=where) for word in words]
        asked.append(call(workspace, "memory_context", query="staging server spaces", where=where))
        assert not [word for word in words if any(word in text for text, _ in (*told, *asked))]
    assert "7391" in call(workspace, "memory_search", query="staging server", where=alpha)[0]
    assert "8080" in call(workspace, "memory_search", query="staging server", where=Where(everywhere=True))[0]


@pytest.mark.parametrize("rule", ["Always keep answers short here.", "Antworte hier immer auf Deutsch."])
def test_a_rule_for_here_is_the_project_s_and_where_there_is_none_a_person_says_what_is_meant(
    workspace: Workspace, home: Path, tmp_path: Path, rule: str
) -> None:
    before = workspace.read_file("SOUL.md")
    for name, folder in (("a", home / "work" / "alpha"), ("b", home)):
        folder.mkdir(parents=True, exist_ok=True)
        said = row(1, rule, folder, session=name) | {"uuid": f"{name:0>36}"}
        dream("consolidate", lines(tmp_path / f"{name}.jsonl", said), "-w", workspace.root)
    dream("run", "-w", workspace.root)
    assert rule.rstrip(".") in workspace.read_file("places/alpha/SOUL.md")
    assert workspace.read_file("SOUL.md") == before
    assert [(one.file, rule.rstrip(".") in one.new_text) for one in workspace.pending()] == [("SOUL.md", True)]
