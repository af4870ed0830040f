"""The wheel holds the prompts, the demo and the files of cron/, and works where there is nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def project() -> dict[str, object]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, object] = table["project"]
    return found


def test_each_dependency_is_a_range_with_its_reason_beside_it() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index("dependencies = [")
    stated = lines[start + 1 : lines.index("]", start)]

    assert stated
    assert [line for line in stated if ">=" not in line or ",<" not in line or "  # " not in line] == []


def test_the_three_commands_are_installed() -> None:
    assert project()["scripts"] == {
        "dream": "dream.cli:main",
        "dream-log": "dream.cli:main_log",
        "dream-restore": "dream.cli:main_restore",
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "build", "-q", "--outdir", place, ROOT], check=True)
    return place


@pytest.fixture
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.mark.long
def test_the_source_holds_the_docs_and_the_wheel_does_not(built: Path, wheel: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}

    assert {*pages, "mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} - names == set()
    assert [name for name in zipfile.ZipFile(wheel).namelist() if "docs" in name] == []


@pytest.mark.long
def test_the_wheel_holds_prompts_cron_files_and_demo_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"dream/_prompts/{path.name}" for path in (ROOT / "prompts").glob("*.md")}
    cron = (path for path in (ROOT / "cron").rglob("*") if path.is_file())
    shipped |= {f"dream/_cron/{path.relative_to(ROOT / 'cron').as_posix()}" for path in cron}
    shipped |= {f"dream/demo/{path.name}" for path in (ROOT / "dream" / "demo").glob("*.jsonl")}
    web = (path for path in (ROOT / "dream" / "web").rglob("*") if path.suffix in {".html", ".css", ".js", ".svg"})
    shipped |= {path.relative_to(ROOT).as_posix() for path in web}

    assert shipped - names == set()
    assert [name for name in names if name.startswith(("tests", "prompts", "cron"))] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.long
def test_the_source_holds_the_labelled_sentences_and_the_wheel_only_what_is_learnt_of_them(
    built: Path, wheel: Path
) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    names = set(zipfile.ZipFile(wheel).namelist())
    sentences = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.tsv")}

    assert sentences and sentences - held == set()  # noqa: PT018 - one without the other says nothing
    assert [name for name in names if name.endswith(".tsv")] == []
    assert [name for name in names if name.endswith(".weights")]


@pytest.mark.long
def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    # The libraries are those of this environment; only dream itself comes from the wheel.
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from dream.cli import main; main()"

    def dream(*arguments: str) -> str:
        line = [sys.executable, "-P", "-c", code, *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "7 sessions" in dream("demo", str(tmp_path / "demo"))
    assert "nightly --workspace" in dream("cron", "show", "crontab", "-w", str(tmp_path / "demo"))


def pinned() -> set[str]:
    rows = (ROOT / "requirements-slim.txt").read_text(encoding="utf-8").splitlines()
    return {row.partition("==")[0] for row in rows if "==" in row}


def test_the_slim_list_pins_all_that_the_package_names() -> None:
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)

    named = {re.split(r"[><=!; ]", one)[0].replace(".", "-") for one in dependencies}

    assert named - pinned() == set()


@pytest.mark.slow
def test_what_the_slim_list_installs_dreams_serves_mcp_and_calls_a_provider(tmp_path: Path) -> None:
    site = tmp_path / "site"  # this environment, without what the list leaves out
    site.mkdir()
    for name in (*pinned(), "dream-memory"):
        with suppress(metadata.PackageNotFoundError):  # of another system or Python
            for file in metadata.files(name) or ():
                first = Path(file.parts[0])
                if first.name not in {"..", "__pycache__"} and not (site / first).exists():
                    (site / first).symlink_to(Path(str(metadata.distribution(name).locate_file(first))))
    assert not (site / "huggingface_hub").exists()
    code = "from dream.cli import main; main()"
    home = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": f"{site}:{ROOT}",
        "DREAM_WORKSPACE": str(tmp_path / "memory"),
    }

    def dream(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-S", "-P", "-c", code, *words]
        env = {**home, **more}
        return subprocess.run(line, cwd=tmp_path, env=env, input=stdin, capture_output=True, text=True, check=False)

    assert "7 sessions" in dream("demo", str(tmp_path / "demo")).stdout
    assert dream("init").returncode == 0
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    assert '"serverInfo"' in dream("mcp", stdin=asked + "\n").stdout
    dream("note", "I am allergic to peanuts")
    nowhere = {"DREAM_API_BASE": "http://127.0.0.1:9", "DREAM_API_KEY": "none"}
    for model in ("openai/gpt-5-mini", "anthropic/claude-haiku-4-5", "ollama/llama3"):
        assert "could not be reached at http://127.0.0.1:9" in dream("run", DREAM_MODEL=model, **nowhere).stderr


def test_on_another_system_than_a_posix_one_a_command_says_so() -> None:
    code = "import pathlib, os, dream.cli; os.name = 'nt'; dream.cli.main()"

    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert ended.returncode == 1
    assert ended.stderr == (
        "dream: Windows is not supported; run dream in WSL (`wsl --install`), where it is used as on Linux.\n"
    )
