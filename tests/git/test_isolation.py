"""Git that isn't ours: whatever the person has configured or lies around the workspace, dreams are committed, in our
repository only, and theirs stays byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dream.actions.forget import forget
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.versions import transaction
from tests.git.support import NOW, add, fingerprint, git, make, read, type_line

HOSTILE = """[user]
[commit]
\tgpgsign = true
[gpg]
\tprogram = /bin/false
[core]
\thooksPath = {hooks}
\tautocrlf = true
\teol = crlf
\texcludesFile = {ignore}
\tattributesFile = {attributes}
[init]
\ttemplateDir = {template}
\tdefaultBranch = trunk
\tdefaultObjectFormat = sha256
[color]
\tui = always
[diff]
\tnoprefix = true
\texternal = /bin/false
\trenames = copies
[log]
\tshowSignature = true
[safe]
\tbareRepository = explicit
[filter "upper"]
\tclean = tr a-z A-Z
\tsmudge = tr a-z A-Z
[i18n]
\tlogOutputEncoding = ISO-8859-1
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose git configuration would break or change every commit."""
    hooks, template = tmp_path / "hooks", tmp_path / "template"
    for folder in (hooks, template / "hooks"):
        folder.mkdir(parents=True)
        for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-checkout"):
            (folder / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\nexit 1\n")
            (folder / hook).chmod(0o755)
    (tmp_path / "ignore").write_text("*.md\n.dream_cursor\n")
    (tmp_path / "attributes").write_text("*.md -diff filter=upper text eol=crlf\n")
    text = HOSTILE.format(
        hooks=hooks, ignore=tmp_path / "ignore", attributes=tmp_path / "attributes", template=template
    )
    home = Path(os.environ["HOME"])
    (home / ".gitconfig").write_text(text)
    (home / ".config" / "git").mkdir(parents=True)
    for name in ("config", "ignore", "attributes"):
        source = text if name == "config" else (tmp_path / name).read_text()
        (home / ".config" / "git" / name).write_text(source)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
    return tmp_path


def repository(path: Path) -> Path:
    """Somebody's repository, with a commit and something staged."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    (path / "app.py").write_text("print(1)\n")
    git(path, "add", "app.py")
    git(path, "commit", "-qm", "one")
    (path / "app.py").write_text("print(2)\n")
    (path / "new.py").write_text("staged\n")
    git(path, "add", "app.py", "new.py")
    return path


def live(workspace: Workspace) -> None:
    """Everything that writes: dreams, hand edits, a restore, packing."""
    first = add(workspace, "- one\u00e9", 1)
    type_line(workspace, "- typed")
    add(workspace, "- two", 2)
    assert restore(workspace, first[:8], now=NOW).sha
    assert [change.kind for change in workspace.git.log()][:4] == ["restore", "dream", "hand", "dream"]
    assert "typed" in (read(workspace, "USER.md") or b"").decode()
    assert "+- oneé\n" in workspace.git.show(first).diff
    workspace.git.fsck()
    workspace.git.git.run("gc", "--quiet")


def test_nothing_of_the_persons_configuration_leaks_in(hostile: Path) -> None:
    workspace = make(hostile / "w")
    live(workspace)
    assert not (hostile / "hook-ran").exists()
    assert b"\r" not in (read(workspace, "USER.md") or b"")
    assert workspace.git.read("HEAD", "USER.md") == read(workspace, "USER.md")
    assert git(workspace.root, "log", "-1", "--format=%G?%an%cn") == "Ndreamdream\n"
    assert not list((workspace.root / ".git").glob("hooks/*"))
    assert (workspace.root / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


@pytest.mark.slow
def test_no_program_that_the_workspaces_own_repository_names_is_run(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    ran = tmp_path / "ran"
    ran.write_text("")
    program = f"echo $0 >> {ran}; false"
    named = ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "diff.own.textconv", "diff.own.command")
    for name in (*named, "filter.own.clean", "filter.own.smudge", "merge.own.driver", "gpg.program"):
        git(workspace.root, "config", name, program)
    git(workspace.root, "config", "commit.gpgSign", "true")
    for attributes in (workspace.root / ".gitattributes", workspace.root / ".git" / "info" / "attributes"):
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_text("*.md filter=own diff=own merge=own\n")
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc"):
        path = workspace.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)

    live(workspace)
    assert forget(workspace, "typed", now=NOW).versions[0] > 0

    assert ran.read_text() == ""


def test_git_variables_of_a_calling_hook_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "first")  # GitPython asks git for its version when it is imported
    other = repository(tmp_path / "other")
    before = fingerprint(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    monkeypatch.setenv("GIT_COMMON_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")
    monkeypatch.setenv("GIT_PREFIX", "x/")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    workspace = make(tmp_path / "w")
    live(workspace)
    assert fingerprint(other) == before
    assert not (tmp_path / "trace").exists()
    assert "GIT_DIR" in os.environ


def nest_in_a_repository(tmp_path: Path) -> tuple[Path, Path]:
    outer = repository(tmp_path / "outer")
    return outer, outer / "notes" / "w"


def nest_in_a_worktree(tmp_path: Path) -> tuple[Path, Path]:
    main = repository(tmp_path / "outer" / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "outer" / "tree"), "-b", "side")
    return tmp_path / "outer", tmp_path / "outer" / "tree" / "w"


def root_of_a_worktree(tmp_path: Path) -> tuple[Path, Path]:
    outer, inner = nest_in_a_worktree(tmp_path)
    return outer, inner.parent


def root_of_a_submodule(tmp_path: Path) -> tuple[Path, Path]:
    outer, part = repository(tmp_path / "outer" / "main"), repository(tmp_path / "part")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    return tmp_path / "outer", outer / "part"


def root_of_a_repository(tmp_path: Path) -> tuple[Path, Path]:
    outer = repository(tmp_path / "outer")
    return outer, outer


def root_of_an_empty_repository_with_code(tmp_path: Path) -> tuple[Path, Path]:
    outer = tmp_path / "outer"
    outer.mkdir()
    (outer / "app.py").write_text("print(1)\n")
    git(outer, "init", "-q")
    return outer, outer


PLACES = [
    nest_in_a_repository,
    nest_in_a_worktree,
    root_of_a_worktree,
    root_of_a_submodule,
    root_of_a_repository,
    root_of_an_empty_repository_with_code,
]


@pytest.mark.few(1)
@pytest.mark.parametrize("place", PLACES)
def test_somebody_elses_repository_is_not_touched_by_a_byte(tmp_path: Path, place: object) -> None:
    outer, inner = place(tmp_path)  # type: ignore[operator]
    before = fingerprint(outer)
    workspace = make(inner)
    live(workspace)
    ours = {str(inner / name) for name in ("SOUL.md", "USER.md")}
    after = {
        name: value
        for name, value in fingerprint(outer).items()
        if name not in ours and not name.startswith((f"{inner}/memory/", f"{inner}/.dream/"))
    }
    assert after == before
    assert workspace.git.git.git_dir == inner / ".dream" / "git"
    assert Workspace.open(inner).git.head() == workspace.git.head()


def test_our_directory_does_not_show_in_somebody_elses_status(tmp_path: Path) -> None:
    outer, inner = nest_in_a_repository(tmp_path)
    make(inner)
    assert ".dream" not in git(outer, "status", "--porcelain", "-uall")


def test_a_repository_of_another_user_is_no_trouble(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w")
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in (workspace.root, *workspace.root.rglob("*")):
        os.chown(path, 12345, 12345)
    live(workspace)


def nanobot(root: Path) -> Path:
    """A workspace as nanobot leaves it, with its own repository."""
    (root / "memory").mkdir(parents=True)
    (root / "skills" / "x").mkdir(parents=True)
    (root / "SOUL.md").write_text("# Soul\n")
    (root / "USER.md").write_text("# User\n- Mei\n")
    (root / "memory" / "MEMORY.md").write_text("# Memory\n")
    (root / "memory" / ".dream_cursor").write_text("7")
    (root / "skills" / "x" / "SKILL.md").write_text("x\n")
    (root / ".gitignore").write_text("/*\n!SOUL.md\n!USER.md\n!memory/\n")
    git(root, "init", "-q", "-b", "master")
    git(root, "add", "-f", "SOUL.md", "USER.md", "memory", "skills", ".gitignore")
    git(root, "commit", "-qm", "init: nanobot memory store")
    (root / "USER.md").write_text("# User\n- Mei\n- likes tea\n")
    git(root, "add", "-f", "USER.md")
    git(root, "commit", "-qm", "dream: 2026-04-03, 1 change")
    return root


def test_a_nanobot_repository_is_adopted_with_its_history(tmp_path: Path) -> None:
    root = nanobot(tmp_path / "w")
    ignore = (root / ".gitignore").read_bytes()
    old = git(root, "rev-parse", "HEAD").strip()
    workspace = make(root)
    assert workspace.git.git.git_dir == root / ".git"
    assert workspace.git.resolve(old[:8]) == old
    live(workspace)
    kinds = [(change.kind, change.subject) for change in workspace.git.log()]
    assert kinds[-1] == ("dream", "dream: 2026-04-03, 1 change")
    assert git(root, "merge-base", "--is-ancestor", old, "HEAD") == ""
    assert (root / ".gitignore").read_bytes() == ignore
    assert git(root, "status", "--porcelain") == ""


def test_what_is_found_in_an_adopted_workspace_is_committed_as_the_persons(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "memory").mkdir(parents=True)
    (root / "USER.md").write_bytes(b"# User\n- caf\xe9\n")
    workspace = make(root)
    changes = workspace.git.log()
    assert [change.kind for change in changes] == ["hand", "init"]
    assert workspace.git.read(changes[0].sha, "USER.md") == b"# User\n- caf\xe9\n"
    assert workspace.git.read(changes[1].sha, "USER.md") is None
    assert git(root, "log", "-1", "--format=%an <%ae>", changes[0].sha) == "person <person@localhost>\n"


def test_a_clone_of_a_workspace_is_a_workspace(tmp_path: Path, workspace: Workspace) -> None:
    sha = add(workspace, "- x", 1)
    git(tmp_path, "clone", "-q", str(workspace.root), str(tmp_path / "copy"))
    copy = make(tmp_path / "copy")
    assert copy.git.git.git_dir == copy.root / ".git"
    assert copy.git.resolve(sha[:10]) == sha
    add(copy, "- y", 2)


def test_a_moved_workspace_keeps_its_versions(tmp_path: Path) -> None:
    _, inner = nest_in_a_repository(tmp_path)
    sha = add(make(inner), "- x", 1)
    shutil.move(inner, tmp_path / "moved")
    Workspace(tmp_path / "moved").trust()
    moved = Workspace.open(tmp_path / "moved")
    assert moved.git.resolve(sha) == sha
    add(moved, "- y", 2)


def test_making_a_workspace_again_changes_nothing(workspace: Workspace) -> None:
    before = workspace.git.head()
    again = make(workspace.root)
    assert again.git.head() == before


def test_what_the_person_has_staged_in_our_repository_stays_staged(workspace: Workspace) -> None:
    (workspace.root / "dream.toml").write_text("model = 'embedded'\n")
    git(workspace.root, "add", "dream.toml")
    sha = add(workspace, "- x", 1)
    assert git(workspace.root, "status", "--porcelain") == "A  dream.toml\n"
    assert "dream.toml" not in git(workspace.root, "ls-tree", "-r", "--name-only", sha)


def test_a_dream_is_committed_in_the_middle_of_the_persons_merge(workspace: Workspace) -> None:
    git(workspace.root, "checkout", "-q", "-b", "side")
    (workspace.root / "SOUL.md").write_text("# Side\n")
    git(workspace.root, "commit", "-qam", "side")
    git(workspace.root, "checkout", "-q", "main")
    (workspace.root / "SOUL.md").write_text("# Main\n")
    git(workspace.root, "commit", "-qam", "main")
    git(workspace.root, "merge", "side", check=False)
    sha = add(workspace, "- x", 1)
    assert workspace.git.head() == sha
    assert (workspace.root / ".git" / "MERGE_HEAD").exists()


def test_a_crash_while_the_repository_is_made_leaves_none(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "memory").mkdir(parents=True)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from dream.workspace import files; from tests.git.support import make\n"
        "files.checkpoint = lambda name: os.kill(os.getpid(), 9) if name == 'git directory made' else None\n"
        "make(Path(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], check=False)
    assert done.returncode == -9
    assert not (root / ".git").exists()
    workspace = make(root)
    add(workspace, "- x", 1)
    assert not transaction.recover(workspace)
