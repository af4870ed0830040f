"""The weights come of the project's own sentences, the same each time, and tell them apart."""

from __future__ import annotations

import lzma
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dream.embedded import kinds
from dream.provenance import cues
from dream.text import days
from dream.text.days import codes
from dream.text.tongues import guess
from dream.text.words import table
from tests.quality import learn

TABLES = Path(kinds.__file__).parent / "tables"
CUES = Path(cues.__file__).with_suffix(".toml")


def test_the_weights_are_small_and_loading_is_quick() -> None:
    assert len((resources.files("dream.embedded") / kinds.WEIGHTS).read_bytes()) < 500_000
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import dream.embedded"], capture_output=True, text=True, check=True
    )
    assert "dream.embedded" in done.stderr


@pytest.mark.long
def test_the_same_sentences_give_the_same_weights() -> None:
    rows = learn.learn(learn.read(learn.SHIPPED))

    stored = (resources.files("dream.embedded") / kinds.WEIGHTS).read_bytes()
    assert lzma.decompress(learn.packed(rows)) == lzma.decompress(stored)


CHAT = """rule\t\tnever push to main
fact\tDone.\tthe shop runs on port 8080
chat\t\tthanks!

person\t\tmy sister Ines is a nurse
task\tNoted.\trename the branch
"""


def test_the_lines_of_a_chat_are_held_back_together(tmp_path: Path) -> None:
    (tmp_path / "en-w.tsv").write_text(CHAT, encoding="utf-8")
    (tmp_path / "en-a.tsv").write_text("".join(f"fact\t\tbox {n} is full\n" for n in range(30)), encoding="utf-8")

    found = learn.read(tmp_path)

    sizes = Counter(one.chat for one in found if one.natural)
    assert list(sizes.values()) == [3, 2]
    assert list(Counter(one.chat for one in found if not one.natural).values()) == [15, 15]
    assert sizes.keys().isdisjoint(one.chat for one in found if not one.natural)


def test_checking_says_what_is_kept_and_what_gets_in_by_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "en-w.tsv").write_text(CHAT, encoding="utf-8")
    weights = (resources.files("dream.embedded") / kinds.WEIGHTS).read_bytes()

    assert learn.main([str(tmp_path), "--check", "--quick"]) == 0

    told = capsys.readouterr().out
    assert told.startswith("all: 5 sentences, label ")
    assert [name for name in ("kept", "unmeant in", "tasks in", "rules found", "  rule: ") if name not in told] == []
    assert (resources.files("dream.embedded") / kinds.WEIGHTS).read_bytes() == weights


def test_where_no_sentences_are_learning_says_where_they_can_be_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert learn.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == (f"no labelled sentences in {tmp_path}: they are in tests/quality/sentences/\n")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("never push to main without asking me first", "rule"),
        ("my sister Ines is a nurse in Porto", "person"),
        ("thanks a lot!", "chat"),
        ("Bitte antworte immer auf Deutsch", "rule"),
        ("我对花生过敏", "person"),
        ("いつも日本語で答えてください", "rule"),
    ],
)
def test_a_sentence_is_told_for_what_it_is(text: str, label: str) -> None:
    assert kinds.kind(text).label == label


@pytest.mark.parametrize("code", sorted({path.stem for path in TABLES.glob("??.toml")} | set(codes())))
def test_a_language_has_every_table(code: str) -> None:
    missing = _missing(code)

    assert not missing, "\n".join(missing)


def test_what_a_new_language_lacks_is_said() -> None:
    assert _missing("xx")[:3] == [
        "embedded/tables/xx.toml is missing",
        "cues.toml has no section [xx]",
        "words.toml, [months]: no xx, with twelve names",
    ]


def _missing(code: str) -> list[str]:
    def read(name: str) -> dict[str, Any]:
        return tomllib.loads(path.read_text(encoding="utf-8")) if (path := TABLES / name).is_file() else {}

    own, model = read(f"{code}.toml"), read("en.toml")
    told = [] if own else [f"embedded/tables/{code}.toml is missing"]
    told += [] if f"\n[{code}]" in CUES.read_text(encoding="utf-8") else [f"cues.toml has no section [{code}]"]
    if len(table()["months"].get(code, "").split()) != 12:
        told.append(f"words.toml, [months]: no {code}, with twelve names")
    told += [
        f"words.toml, [titles]: {title} has no {code}"
        for title, by in table()["titles"].items()
        if code not in {*by, "en"}
    ]
    told += [f"words.toml: [marks.{name}] has no {code}" for name, by in table()["marks"].items() if code not in by]
    told += [f"{code}.toml has no {name}" for name in model if own and name not in own]
    for part in ("cues", "trim") if own else ():
        told += [
            f"{code}.toml: [{part}] has no {name}" for name in model[part] if own and name not in own.get(part, {})
        ]
    told += [] if code in table()["function"] else [f"words.toml: [function] has no {code}"]
    named = tomllib.loads(Path(days.__file__).with_name("days.toml").read_text(encoding="utf-8"))
    told += [f"days.toml: [{code}] has no {name}" for name in named["en"] if name not in named.get(code, {})]
    if code in named and len(named[code].get("weekdays", ())) != 7:
        told.append(f"days.toml: [{code}] has not seven weekdays")
    return told


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("we decided to use it for the next release", "en"),
        ("wir haben das gestern entschieden", "de"),
        ("on a décidé de partir demain", "fr"),
        ("mi hermana vive en la costa con su perro", "es"),
        ("我住在成都", "zh"),
        ("私は大阪に住んでいます", "ja"),
        ("il gatto di mia sorella è arrivato ieri", "it"),
        ("Мы переехали в Казань", ""),
    ],
)
def test_a_language_is_guessed(text: str, code: str) -> None:
    assert guess(text) == code
