"""A fact stands in the section in which a person would look."""

import pytest

from dream.llm.embedded.headings import section_name
from dream.phases.guards.source import _is_plain_heading
from dream.titles import Language, heading
from tests.embedded.asking import edited, facts


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Leo is allergic to nuts (1 April 2026)", "People"),
        ("Clara does the reviews now", "People"),
        ("Vera painted a seascape on 7 May 2023", "People"),
        ("The staging server is at staging.crumb.example, port 8080", "Environment"),
        ("Deploys go through make ship", "Environment"),
        ("We moved from SQLite to Postgres 16 on 3 March 2026", "Decisions"),
        ("The slow search was caused by a missing index; adding it helped", "Solutions"),
        ("The dishwasher broke on 31 March 2026", "Events"),
        ("The budget of Lantern is 72,000 euros", "Facts"),
    ],
)
def test_what_is_true_of_the_work_has_its_section(line: str, title: str) -> None:
    assert section_name("memory/MEMORY.md", line, frozenset({"Vera"})) == title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Doesn't eat meat (4 March 2026)", "Preferences"),
        ("Mag Nussbaum lieber als Eiche", "Preferences"),
        ("不吃辣，喜欢喝美式咖啡", "Preferences"),
        ("The user's wife Paula is a dentist", "Person"),
        ("Wants to run a half marathon", "Plans"),
    ],
)
def test_who_the_user_is_has_its_section(line: str, title: str) -> None:
    assert section_name("USER.md", line) == title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Der Testserver läuft auf Port 8080 (8. Mai 2023)", "## Umgebung"),
        ("测试服务器的端口是8080（2023年5月8日）", "## 环境"),
        ("テスト用サーバーのポートは8080です（2023年5月8日）", "## 環境"),
        ("The staging server listens on port 8080 (8 May 2023)", "## Environment"),
    ],
)
def test_a_new_section_has_its_heading_in_the_language_of_memory(line: str, title: str) -> None:
    memory = edited({}, [f"[MEMORY] {line} {{1}}"]).files["memory/MEMORY.md"]
    assert title in memory.split("\n")


@pytest.mark.parametrize("title", ["## Environment", "## Umgebung", "## environment"])
def test_a_section_that_stands_keeps_its_heading_and_is_the_only_one(title: str) -> None:
    before = {"memory/MEMORY.md": f"# Memory\n\n{title}\n- Der Server steht in Bonn\n"}
    found = ["[MEMORY] Der Testserver läuft auf Port 8080 (8. Mai 2023) {1}"]
    memory = edited(before, found).files["memory/MEMORY.md"]
    assert [line for line in memory.split("\n") if line.startswith("##")] == [title]
    assert facts(memory) == ["Der Testserver läuft auf Port 8080 (8. Mai 2023)", "Der Server steht in Bonn"]


@pytest.mark.parametrize("language", ["de", "zh", "ja"])
@pytest.mark.parametrize("name", ["Rules", "Manner"])
def test_a_heading_of_soul_is_taken_for_no_rule(name: str, language: Language) -> None:
    assert _is_plain_heading(heading(name, language))
