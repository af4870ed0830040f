"""Every line that the model writes is what somebody said: without brackets and day, its words stand so in a message."""

from __future__ import annotations

import re
import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.asking import dreamt, facts, said, summary
from tests.quality import datasets

_AROUND = re.compile(r"\[[^\[\]]*\]|\s*[(（][^()（）]*[)）]$")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_WIDE = re.compile(r"([぀-ヿ㐀-鿿])")


def words(text: str) -> list[str]:
    return _WORD.findall(_WIDE.sub(r" \1 ", unicodedata.normalize("NFKC", text).lower()))


def in_order(line: str, message: str) -> bool:
    bare = _AROUND.sub(" ", line)
    rest = iter(words(message))
    return all(word in rest for word in words(bare))


@pytest.mark.few(1)
@pytest.mark.parametrize("language", datasets.LANGUAGES)
def test_every_line_stands_in_one_message(language: str) -> None:
    files: dict[str, str] = {}
    messages: list[str] = []
    for session in datasets.generate(language, sittings=8).sessions:
        talk = [(message.role, message.content) for message in session.messages]
        messages += [text for _, text in talk]
        bullets = summary(talk, session.at.date())
        files = dreamt(files, "\n".join(f"- {line}" for line in bullets))
        for line in [*bullets, *(line for text in files.values() for line in facts(text))]:
            assert any(in_order(line, message) for message in messages), line


@given(st.lists(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=120), max_size=4))
def test_whatever_is_said_no_line_has_other_words(texts: list[str]) -> None:
    whole = " ".join(texts)
    for line in said(*texts):
        if words(_AROUND.sub(" ", line)):
            assert any(in_order(line, text) for text in [*texts, whole]), line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "I moved to Lisbon last weekend, so I'm no longer in Porto.",
            '"I moved to Lisbon last weekend [6–7 May 2023], so I\'m no longer in Porto" (8 May 2023)',
        ),
        (
            "Gestern habe ich die Werkstatt besichtigt.",
            "„Gestern [7. Mai 2023] habe ich die Werkstatt besichtigt“ (8. Mai 2023)",
        ),
        ("我对花生过敏。", "“我对花生过敏”（2023年5月8日）"),
        ("昨日、新しい自転車を買いました。", "「昨日 [2023年5月7日]、新しい自転車を買いました」（2023年5月8日）"),
        ("Hier on a signé le bail.", "« Hier [7 mai 2023] on a signé le bail » (8 mai 2023)"),
        (
            "Ayer firmé el contrato con Carla.",
            "«Ayer [7 de mayo de 2023] firmé el contrato con Carla» (8 de mayo de 2023)",
        ),
        ("Ieri abbiamo firmato il contratto.", "«Ieri [7 maggio 2023] abbiamo firmato il contratto» (8 maggio 2023)"),
    ],
)
def test_a_line_is_a_quotation_with_its_days_in_the_language_of_the_talk(text: str, line: str) -> None:
    assert [found.partition("] ")[2] for found in said(text)] == [line]


def test_a_rule_stands_in_soul_as_a_rule() -> None:
    files = dreamt({}, "\n".join(f"- {line}" for line in said("Please always run the linter before every commit.")))

    assert facts(files["SOUL.md"]) == ["always run the linter before every commit"]


def test_the_speakers_of_a_chat_are_named() -> None:
    talk = [
        ("user Ines", "Hey Tomas! I adopted a greyhound called Pepper yesterday."),
        ("assistant Tomas", "Wow, congrats! My sister Marit opened a bakery in Trondheim two weeks ago."),
    ]

    lines = summary(talk, date(2023, 5, 8))

    assert [line.partition("] ")[2] for line in lines] == [
        'Ines: "I adopted a greyhound called Pepper yesterday [7 May 2023]" (8 May 2023)',
        'Tomas: "My sister Marit opened a bakery in Trondheim two weeks ago [24–30 April 2023]" (8 May 2023)',
    ]


def test_friends_who_talk_give_no_rules_and_what_one_says_in_a_breath_is_one_line() -> None:
    lines = summary(
        [
            ("user", "Tomas: Always be yourself! Never let anybody stop you."),
            ("assistant", "Ines: I painted a heron in oils. It hangs in the hall of the Lindgren school."),
            ("user", "Tomas: Nice!"),
            ("assistant", "Ines: Thanks! Please come to the opening on 14 May."),
        ]
    )
    assert not [line for line in lines if "[rule]" in line]
    assert [line.partition("] ")[2] for line in lines if "heron" in line] == [
        'Ines: "I painted a heron in oils. It hangs in the hall of the Lindgren school" (8 May 2023)'
    ]


def test_a_language_without_labelled_sentences_has_its_rules_told_by_its_phrases() -> None:
    bullets = said(
        "Non fare mai push su main senza chiedermelo.",
        "Mia sorella Marta abita a Torino con il gatto.",
        "Se vinco alla lotteria compro un castello in Scozia ahah",
    )
    files = dreamt({}, "\n".join(f"- {line}" for line in bullets))

    assert facts(files["SOUL.md"]) == ["Non fare mai push su main senza chiedermelo"]
    assert facts(files["USER.md"]) == ["«Mia sorella Marta abita a Torino con il gatto» (8 maggio 2023)"]
