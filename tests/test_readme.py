"""README.md and docs/ are true: their output, commands, settings and links, and every block of them runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from dream import Workspace, settings
from dream.cli.group import COMMANDS, dream_group
from dream.transcripts import known_formats
from tests import readme
from tests.cli.commands import dream, environment
from tests.forking import MODEL, PYTHON, Server

OWN_PAGES = [readme.ROOT / name for name in ("AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
SHA = re.compile(r"\b[0-9a-f]{7,40}\b")


def without_shas(text: str) -> str:
    return SHA.sub("sha", text)


def test_the_output_shown_is_the_real_one(tmp_path: Path) -> None:
    done = dream("demo", tmp_path / "demo")
    found = readme.block("what is found")
    asked = [line.removeprefix("$ dream ") for line in found.splitlines() if line.startswith("$ ")]

    told = [f"$ dream {words}\n{dream(*words.split(), cwd=tmp_path / 'demo').out}" for words in asked]
    assert "".join(told) == found

    assert without_shas(readme.block("its output")) == without_shas(readme.excerpt(done.out)), (
        "python tests/readme.py update"
    )


def test_every_command_stands_in_the_readme_as_its_help_says() -> None:
    rows = re.findall(r"^\| `dream (\w+)[^`]*` \| (.+) \|$", readme.text("README.md"), re.MULTILINE)

    assert dict(rows) == COMMANDS


def test_every_setting_stands_in_the_docs_with_its_default() -> None:
    stated = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", readme.text("docs/configuration.md"), re.MULTILINE)

    assert [name for name, _ in stated] == [field.name for field in fields(settings.Settings)]
    for name, shown in stated:
        default = getattr(settings.Settings(), name)
        expected = "`true`" if default is True else {None: "", (): "`[]`"}.get(default, f"`{default}`")
        assert shown.replace('"', "") == expected


def test_every_format_stands_in_the_docs_with_its_place() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| (?:`~/(.+)` )?\|$", readme.text("docs/formats.md"), re.MULTILINE)

    assert {name for name, _ in rows} == set(known_formats())
    for name, shown in rows:
        found = known_formats()[name].places
        assert bool(shown) == bool(found)
        assert not found or found[0].glob(Path("/"), {}).startswith(f"/{shown}/")


def test_every_function_of_the_walk_exists() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (readme.ROOT / "dream").rglob("*.py"))
    named = set(re.findall(r"`(?:\w+\.)*(\w+)\(\)`", readme.text("docs/architecture.md")))

    assert named
    assert named - set(re.findall(r"^ *def (\w+)", code, re.MULTILINE)) == set()


def test_the_rooms_of_the_docs_are_the_packages_and_modules_there_are() -> None:
    table = re.findall(r"^\| (`.+`) \| ", readme.text("docs/architecture.md"), re.MULTILINE)
    packages = {path.parent.name for path in (readme.ROOT / "dream").glob("*/__init__.py")}
    modules = {path.stem for path in (readme.ROOT / "dream").glob("[a-z]*.py")}

    assert set(re.findall(r"`(\w+)`", " ".join(table))) == packages | modules


def commands_shown(page: Path) -> Iterator[list[str]]:
    """Yield the words of each `dream …` in a page's inline code and blocks, without what follows in the shell."""
    for line in re.findall(r"(?:`|^\$ |^)(dream [^`\n]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        yield re.split(r" {2,}| [#·>|]|\\$", line)[0].split()


@pytest.mark.parametrize("page", [*readme.pages(), *OWN_PAGES], ids=lambda page: page.name)
def test_every_command_and_option_shown_exists(page: Path) -> None:
    for words in commands_shown(page):
        command, context = dream_group, click.Context(dream_group)
        for word in words[1:]:
            if isinstance(command, click.Group) and (found := command.get_command(context, word)):
                command = found
            elif word.startswith("-"):
                known = {option for given in command.get_params(context) for option in given.opts}
                assert word in known, " ".join(words)
        assert command is not dream_group or words[1].startswith("-"), " ".join(words)


@pytest.mark.parametrize("page", [*readme.pages(), *OWN_PAGES], ids=lambda page: page.name)
def test_every_path_of_a_test_shown_exists(page: Path) -> None:
    named = re.findall(r"\btests/[\w/.]+\w", page.read_text(encoding="utf-8"))

    assert [path for path in named if not (readme.ROOT / path).exists()] == []


def anchors(page: Path) -> set[str]:
    """List the headings of a page as links name them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("page", [*readme.pages(), *OWN_PAGES], ids=lambda page: page.name)
def test_every_link_to_a_file_or_a_heading_leads_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        if "://" not in link:
            target = page.parent / name if name else page
            assert target.is_file(), link
            assert not anchor or anchor in anchors(target), link


def test_the_readme_can_be_read_in_one_sitting() -> None:
    assert len(readme.text("README.md").splitlines()) <= 270


@pytest.mark.long
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the extra `docs`")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]

    done = subprocess.run(line, cwd=readme.ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "architecture" / "index.html").is_file()


def test_the_settings_shown_can_be_used(tmp_path: Path) -> None:
    Workspace.create(tmp_path)
    for block in readme.blocks("toml"):
        (tmp_path / "dream.toml").write_text(block, encoding="utf-8")

        assert settings.load(tmp_path, environ={}) != settings.Settings()


def test_the_library_block_runs(tmp_path: Path) -> None:
    for block in readme.blocks("python"):
        # LiteLLM is there already: its import would ask the network for prices.
        program = Server.running(kind=MODEL).start([block], environment(), program=PYTHON, cwd=tmp_path)
        status, _, errors = program.wait()
        assert (status, errors) == (0, "")


def test_the_shell_blocks_run(tmp_path: Path) -> None:
    binaries, home = tmp_path / "bin", tmp_path / "home"
    binaries.mkdir()
    Server.running().install(binaries)
    sessions = home / ".claude" / "projects" / "-home-lena-crumb"
    sessions.mkdir(parents=True)
    for session in (readme.ROOT / "dream" / "demo").glob("*.jsonl"):
        shutil.copy(session, sessions)
    named = {readme.block("first line"), readme.block("test line")}  # these two are run by .ci/run
    script = "".join(block for block in readme.blocks("bash") if block not in named)

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment({"PATH": f"{binaries}:/usr/bin:/bin", "HOME": str(home)}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "dream: " in done.stdout
    assert "Works; all of history is dreamt." in done.stdout


@pytest.mark.parametrize("name", ["first line", "test line"])
def test_each_of_the_two_lines_is_one_line(name: str) -> None:
    assert readme.block(name).count("\n") == 1


def test_ci_runs_the_readme_s_own_lines() -> None:
    script = (readme.ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert 'line "test line"' in script
    assert 'line "first line"' in script
