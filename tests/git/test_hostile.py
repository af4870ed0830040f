"""A workspace that somebody sent: nothing that its repository names is started, whatever command reads it."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from dream.cli.group import dream_group
from dream.directory import Workspace
from dream.errors import GitError
from dream.versions.git import Git
from tests.cli.commands import dream
from tests.git.support import add, fingerprint, git, make
from tests.workspaces import copied

COMMANDS = (
    ("log",),
    ("log", "SHA"),
    ("why", "two"),
    ("status",),
    ("context",),
    ("doctor",),
    ("run",),
    ("nightly",),
    ("restore", "SHA", "--yes"),
    ("forget", "one", "--yes"),
    ("doctor", "--repair"),
    ("init",),
)


@pytest.fixture(scope="module")
def _sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with its versions under .dream/, some dreams old."""
    outer = tmp_path_factory.mktemp("sent")
    git(outer, "init", "-q", "-b", "main")
    workspace = make(outer / "w")
    for cursor, line in enumerate(("- one", "- two", "- three"), 1):
        add(workspace, line, cursor)
    return workspace.root


@pytest.fixture
def sent(_sent: Path, tmp_path: Path) -> Path:
    return copied(_sent, tmp_path / "sent")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a trace."""
    program = tmp_path / "canary"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/ran\nexit 1\n')
    program.chmod(0o755)
    return program


def lose_an_object(git_dir: Path) -> str:
    """Take away a blob of an older version, so that git asks for it elsewhere; return the commit that holds it."""
    commit = git(git_dir, "--git-dir", str(git_dir), "rev-parse", "HEAD~1").strip()
    blob = git(git_dir, "--git-dir", str(git_dir), "rev-parse", f"{commit}:USER.md").strip()
    (git_dir / "objects" / blob[:2] / blob[2:]).unlink()
    return commit


def by_uploadpack(git_dir: Path, canary: Path) -> None:
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.url", str(git_dir)),
        ("remote.evil.uploadpack", str(canary)),
        ("remote.evil.promisor", "true"),
    ):
        git(git_dir, "config", "--file", str(git_dir / "config"), name, value)


def by_ssh(git_dir: Path, canary: Path) -> None:
    for name, value in (
        ("remote.evil.url", "ssh://nowhere.invalid/x"),
        ("remote.evil.promisor", "true"),
        ("core.sshCommand", str(canary)),
        ("core.gitProxy", str(canary)),
        ("credential.helper", f"!{canary}"),
        ("core.askPass", str(canary)),
    ):
        git(git_dir, "config", "--file", str(git_dir / "config"), name, value)


def by_an_include(git_dir: Path, canary: Path) -> None:
    by_uploadpack(git_dir, canary)
    (git_dir / "config").rename(git_dir / "more")
    (git_dir / "config").write_text("[dream]\n\tversion = 1\n[include]\n\tpath = more\n")


def by_the_worktrees_configuration(git_dir: Path, canary: Path) -> None:
    by_uploadpack(git_dir, canary)
    (git_dir / "config").rename(git_dir / "config.worktree")
    text = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n[dream]\n\tversion = 1\n"
    (git_dir / "config").write_text(text)


def by_programs_for_everything(git_dir: Path, canary: Path) -> None:
    names = (
        "alias.log alias.show core.alternateRefsCommand core.editor core.fsmonitor core.pager diff.external"
        " diff.x.command diff.x.textconv filter.x.clean filter.x.process filter.x.smudge gc.recentObjectsHook"
        " gpg.program gpg.ssh.defaultKeyCommand gpg.ssh.program interactive.diffFilter merge.x.driver pager.diff"
        " pager.log pager.show sequence.editor trailer.x.cmd trailer.x.command uploadpack.packObjectsHook"
    )
    for name in names.split():
        program = f"!{canary}" if name.startswith("alias") else str(canary)
        git(git_dir, "config", "--file", str(git_dir / "config"), name, program)
    for name, value in (("diff.submodule", "log"), ("submodule.recurse", "true"), ("filter.x.required", "true")):
        git(git_dir, "config", "--file", str(git_dir / "config"), name, value)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "hooks").mkdir(exist_ok=True)
    for place in (git_dir / "info" / "attributes", git_dir.parent / ".gitattributes"):
        place.write_text("* filter=x diff=x merge=x\n")
    for hook in ("pre-auto-gc", "reference-transaction", "post-index-change", "pre-commit"):
        shutil.copy(canary, git_dir / "hooks" / hook)


WAYS = [by_uploadpack, by_ssh, by_an_include, by_the_worktrees_configuration, by_programs_for_everything]
Way = Callable[[Path, Path], None]


def at_the_root(root: Path) -> Path:
    """Make the versions those of the workspace's own .git, as an archive would bring it."""
    shutil.move(root / ".dream" / "git", root / ".git")
    return root / ".git"


@pytest.mark.few(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at_root", [False, True])
def test_no_command_starts_what_a_repository_that_was_sent_names(
    sent: Path, canary: Path, way: Way, *, at_root: bool
) -> None:
    git_dir = at_the_root(sent) if at_root else sent / ".dream" / "git"
    sha = lose_an_object(git_dir)
    way(git_dir, canary)
    for words in COMMANDS:
        line = [sha if word == "SHA" else word for word in words]
        CliRunner().invoke(dream_group, [*line, "-w", str(sent)])
    assert not canary.with_name("ran").exists(), canary.with_name("ran").read_text()


@pytest.mark.few(1)
@pytest.mark.parametrize("way", WAYS)
def test_no_repository_that_reaches_out_is_adopted(sent: Path, canary: Path, way: Way) -> None:
    git_dir = at_the_root(sent)
    lose_an_object(git_dir)
    (git_dir / "config").write_text("[core]\n\tbare = false\n")  # without the mark
    way(git_dir, canary)
    if way is by_an_include:
        (git_dir / "config").write_text("[include]\n\tpath = more\n")
    elif way is by_the_worktrees_configuration:
        text = (git_dir / "config").read_text()
        (git_dir / "config").write_text(text.replace("[dream]", "[other]"))
    before = fingerprint(git_dir)
    for words in (("init",), ("run",), ("log",), ("doctor", "--repair")):
        CliRunner().invoke(dream_group, [*words, "-w", str(sent)])
    assert not canary.with_name("ran").exists(), canary.with_name("ran").read_text()
    if way is not by_programs_for_everything:
        assert fingerprint(git_dir) == before
        assert Workspace.open(sent).git.git.git_dir == sent / ".dream" / "git"


@pytest.mark.few(1)
@pytest.mark.parametrize("way", [by_uploadpack, by_ssh])
def test_git_itself_is_told_to_fetch_nothing(sent: Path, canary: Path, way: Way) -> None:
    git_dir = sent / ".dream" / "git"
    sha = lose_an_object(git_dir)
    way(git_dir, canary)
    for words in (("show", sha), ("fsck",), ("gc", "--prune=now"), ("rev-list", "--objects", "HEAD")):
        with suppress(GitError):
            Git(sent, git_dir).run(*words)
    assert not canary.with_name("ran").exists()


def refused(root: Path) -> str:
    with pytest.raises(GitError) as error:
        Workspace.open(root).git.log()
    return str(error.value)


def test_what_leads_git_elsewhere_is_refused_by_name(sent: Path, canary: Path) -> None:
    git_dir = at_the_root(sent)
    by_uploadpack(git_dir, canary)
    assert refused(sent).startswith(f"{git_dir}/config sets extensions.partialclone, ")
    (git_dir / "config").write_text('[dream]\n\tversion = 1\n[remote "promisor"]\n\turl = include\n')
    assert Workspace.open(sent).git.log()
    (git_dir / "objects/info").mkdir(exist_ok=True)
    (git_dir / "objects/info/alternates").write_text("/elsewhere\n")
    assert refused(sent).startswith(f"{git_dir}/objects/info/alternates leads to another repository; ")


@pytest.mark.parametrize("name", ["logs", "refs/heads", "objects/17", "packed-refs", "index"])
def test_a_link_within_the_repository_is_not_written_through(sent: Path, tmp_path: Path, name: str) -> None:
    git_dir = at_the_root(sent)
    place = git_dir / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    assert refused(sent).startswith(f"{place} is a link or no ordinary file; ")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["packed-refs", "objects/info/commit-graph", "objects/pack/multi-pack-index"])
def test_a_pipe_within_the_repository_is_not_waited_for(sent: Path, name: str) -> None:
    os.mkfifo(sent / ".dream/git" / name)
    assert f"{name} is a link or no ordinary file" in refused(sent)


def test_the_doctor_names_what_is_strange_in_our_own_repository_and_writes_it_anew(sent: Path) -> None:
    with (sent / ".dream/git/config").open("a") as config:
        config.write('[remote "evil"]\n\tpromisor = true\n')
    found = CliRunner().invoke(dream_group, ["doctor", "-w", str(sent)])
    told = """is dream's own, and '[remote "evil"]' in it is not; `dream doctor --repair` writes it anew"""
    assert told in " ".join(found.output.split())
    assert told in " ".join(CliRunner().invoke(dream_group, ["status", "-w", str(sent)]).output.split())
    assert "✗" not in CliRunner().invoke(dream_group, ["doctor", "--repair", "-w", str(sent)]).output
    assert "evil" in (sent / ".dream/git/config-set-aside").read_text()
    assert len(Workspace.open(sent).git.log()) == 4


def test_the_doctor_puts_away_a_second_configuration_of_our_own_repository(sent: Path) -> None:
    (sent / ".dream/git/config.worktree").write_text("[extensions]\n\tpartialClone = evil\n")
    assert "config.worktree is dream's own" in refused(sent)
    assert "✗" not in CliRunner().invoke(dream_group, ["doctor", "--repair", "-w", str(sent)]).output
    assert "evil" in (sent / ".dream/git/config.worktree-set-aside").read_text()
    assert len(Workspace.open(sent).git.log()) == 4


def test_a_record_of_provider_batches_that_was_sent_deletes_no_file(
    sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version took the tag of a batch for a part of a path."""
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    planned = {
        "tag": str(precious.with_suffix("")),
        "job": "phase1",
        "model": "openai/m",
        "at": "2026-01-01T00:00+00:00",
    }
    rows = [planned | {"units": [["entries 1-1", ["k"], 1, 1]]}, {"tag": planned["tag"], "state": "collected"}]
    (sent / ".dream" / "batches.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    monkeypatch.setenv("DREAM_MODEL", "openai/m")
    monkeypatch.setenv("DREAM_BATCH", "1")
    refused = dream("run", "-w", sent)
    monkeypatch.delenv("DREAM_BATCH")
    assert (dream("run", "-w", sent).status, precious.exists()) == (0, True)
    assert "Setting 'batch' in the environment (DREAM_BATCH) was removed" in refused.err


# What a pull brings into a workspace that is trusted: its own state files are read, and reach nothing but memory.


def left_by_a_crash(root: Path, **row: object) -> None:
    state = {"old": None, "new": git(root / ".dream/git", "rev-parse", "HEAD").strip(), "files": [], "index": []} | row
    (root / ".dream/apply.json").write_text(json.dumps(state))


@pytest.mark.parametrize("field", ["files", "index"])
def test_an_intent_touches_no_file_but_those_of_memory(sent: Path, tmp_path: Path, field: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in (str(victim), "../victim", "memory/archive/../../../victim", "memory/archive/a\0.md", 7):
        left_by_a_crash(sent, **{field: [name]})
        assert dream("run", "-w", sent).status == 0
        assert not (sent / ".dream/apply.json").exists()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("field", ["old", "new"])
def test_what_an_intent_names_is_no_switch_of_gits(sent: Path, tmp_path: Path, field: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    before = fingerprint(sent / "memory")
    for value in (f"--output={victim}", "HEAD", "HEAD~1", "-h", "main\n--all", 7):
        left_by_a_crash(sent, **{"files": ["USER.md"], field: value})
        assert dream("run", "-w", sent).status == 0
        assert not (sent / ".dream/apply.json").exists()
    assert victim.read_text() == "mine"
    assert fingerprint(sent / "memory") == before


@pytest.mark.parametrize("value", ["0666", "world"])
def test_new_versions_are_their_owners_alone_whatever_the_repository_says(sent: Path, value: str) -> None:
    git_dir = at_the_root(sent)
    git(git_dir, "config", "--file", str(git_dir / "config"), "core.sharedRepository", value)
    before = {path for path in git_dir.rglob("*") if path.stat().st_mode & 0o077}
    dream("note", "I moved to Oslo", "-w", sent)
    assert "committed" in dream("run", "--json", "-w", sent).out
    assert {path for path in git_dir.rglob("*") if path.stat().st_mode & 0o077} <= before


def test_a_hard_link_is_not_written_through(sent: Path, tmp_path: Path) -> None:
    git_dir = at_the_root(sent)
    for name in ("memory/history.jsonl", "memory/.cursor", ".dream/run.lock", ".git/logs/HEAD"):
        victim = tmp_path / "victim"
        victim.write_text("mine\n")
        (sent / name).unlink(missing_ok=True)
        os.link(victim, sent / name)
        done = dream("note", "I moved to Oslo", "-w", sent)
        done = dream("run", "-w", sent) if done.status == 0 else done
        assert done.status == 1, name
        assert "second name (a hard link)" in done.err
        assert victim.read_text() == "mine\n"
        (sent / name).unlink()
    assert git_dir.exists()


def test_an_object_that_grows_without_end_is_a_sentence(sent: Path) -> None:
    git_dir, size = sent / ".dream/git", 1 << 27
    name = git(git_dir, "rev-parse", "HEAD:USER.md").strip()
    place = git_dir / "objects" / name[:2] / name[2:]
    place.unlink()
    place.write_bytes(zlib.compress(f"blob {size}\0".encode() + bytes(size), 1))
    refused = dream("run", "-w", sent)
    assert f"Git's object {name} holds {size:,} bytes, which no memory file does." in refused.err
