"""What takes the place of what, and where it is written: only what is sure, and plainly another value."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from dream.text.days import spelled
from tests.embedded.asking import dreamt, facts, findings, said

MONDAY = date(2026, 3, 2)


def memory(*texts: str) -> list[str]:
    """Return the lines of memory after history held each of `texts` as a fact, a week apart."""
    files: dict[str, str] = {}
    for week, text in enumerate(texts):
        files = dreamt(files, f"- [fact] “{text}” ({spelled(MONDAY + timedelta(weeks=week), 'en')})")
    return [line for text in files.values() for line in facts(text)]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("The API timeout of Heron is 300 ms.", "We raised the API timeout of Heron to 450 ms.", "300"),
        ("The staging server listens on port 8443.", "The staging server listens on port 9443 now.", "8443"),
        ("Die Miete ist 900 Euro.", "Die Miete ist jetzt 950 Euro.", "900"),
        ("灯笼的接口超时是300毫秒。", "我们把灯笼的接口超时改成1500毫秒了。", "300"),
        ("I use Emacs as my editor.", "I've switched from Emacs to Zed.", "as my"),
        (
            "Quarry is deployed on Monday.",
            "We no longer deploy Quarry on Monday; it is every Friday now.",
            "is deployed",
        ),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one(old: str, new: str, gone: str) -> None:
    (line,) = memory(old, new)

    assert gone not in line
    assert new.rstrip(".。") in line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We run Heron on Postgres.", "The train from Porto to Lisbon takes three hours."),
        ("The backup goes from Heron to Lynx.", "We moved the demo from Monday to Friday."),
        ("My sister Ines is a nurse.", "My brother Tom is a vet."),
        ("The billing module is owned by Kwame.", "The search index is owned by Aisha."),
        ("We live in Graz.", "We moved to Postgres last week."),
    ],
)
def test_what_is_told_of_something_else_stands_beside_it(one: str, other: str) -> None:
    assert len(memory(one, other)) == 2


def test_a_number_that_only_counts_is_no_new_value() -> None:
    assert len(memory("I like fruit number 1", "I like fruit number 2", "I like fruit number 3")) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Room 12 is free on Mondays.", "Room 14 is free on Mondays."),
        ("Ticket 4711 is fixed.", "Ticket 4712 is fixed."),
        ("Raum 12 ist montags frei.", "Raum 14 ist montags frei."),
    ],
)
def test_a_number_that_names_what_a_statement_is_about_is_no_new_value(one: str, other: str) -> None:
    assert len(memory(one, other)) == 2


def test_what_is_said_again_makes_no_second_line() -> None:
    assert len(memory("I'm allergic to peanuts.", "I'm allergic to peanuts!")) == 1


def test_the_sentence_under_a_title_is_nobodys_statement() -> None:
    files = {"USER.md": "# User\n\nWho I work for, and what they prefer.\n"}

    after = dreamt(files, "- [preference] “I prefer British spelling in documents” (2 March 2026)")

    assert "Who I work for, and what they prefer." in after["USER.md"]


@pytest.mark.parametrize(
    "text",
    [
        "the build takes long, maybe the cache is cold",
        "The heron server is slow again today.",
        "Маша работает в больнице на улице Пушкина.",
    ],
)
def test_what_is_not_sure_stays_in_history(text: str) -> None:
    (line,) = said(text, day=MONDAY)

    assert findings({}, f"- {line}") == []


@pytest.mark.parametrize("text", ["I live in Oslo.", "J'ai un chien.", "我对花生过敏。"])
def test_what_users_plainly_say_of_themselves_is_written(text: str) -> None:
    (line,) = said(text, day=MONDAY)

    assert text.rstrip(".。") in dreamt({}, f"- {line}")["USER.md"]


def test_a_line_marked_as_unsure_stays_in_history() -> None:
    assert findings({}, "- [fact?] “the crawler may need a third node” (2 March 2026)") == []


def test_two_values_of_one_day_stand_side_by_side() -> None:
    files = dreamt({}, "- [fact] “The staging server listens on port 8443” (2 March 2026)")
    files = dreamt(files, "- [fact] “The staging server listens on port 9443” (2 March 2026)")

    assert len(facts(files["memory/MEMORY.md"])) == 2


def test_what_another_person_says_takes_no_place() -> None:
    files = dreamt({}, "- [fact] Ann: “The staging server listens on port 8443” (2 March 2026)")
    files = dreamt(files, "- [fact] Bob: “The staging server listens on port 9443” (9 March 2026)")

    assert len(facts(files["memory/MEMORY.md"])) == 2


def test_a_line_that_an_older_version_wrote_is_replaced_with_what_it_called_earlier() -> None:
    line = '"The staging server listens on port 8443" (2 March 2026) (earlier, "it was 7001")'
    files = dreamt(
        {"memory/MEMORY.md": f"# Memory\n\n- {line}\n"},
        '- [fact] "The staging server listens on port 9443 now" (9 March 2026)',
    )

    assert facts(files["memory/MEMORY.md"]) == ['"The staging server listens on port 9443 now" (9 March 2026)']


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("Please never push to main without asking me first.", "SOUL.md"),
        ("I prefer tabs over spaces.", "USER.md"),
        ("I'm allergic to peanuts.", "USER.md"),
        ("We decided to use Postgres for Crumb.", "memory/MEMORY.md"),
    ],
)
def test_each_kind_of_fact_has_its_file(text: str, file: str) -> None:
    files = dreamt({}, "\n".join(f"- {line}" for line in said(text, day=MONDAY)))

    assert [path for path, text in files.items() if facts(text)] == [file]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("[fact] « Le serveur de préproduction est sous Debian 12 depuis hier » (2 mars 2026)", "## Faits"),
        ("[fact] «El servidor de pruebas corre con Debian 12» (2 de marzo de 2026)", "## Datos"),
    ],
)
def test_a_new_heading_is_in_the_language_of_memory(line: str, title: str) -> None:
    assert title in dreamt({}, f"- {line}")["memory/MEMORY.md"].split("\n")


@pytest.mark.parametrize(
    "line",
    [
        "„swap done, alte tabelle gedroppt“ (16. Februar 2026)",
        "„Wir wohnen jetzt in der Pension Stary Młyn“ (9. November 2026)",
        "«Invitados traigo 140» (11 de febrero de 2026)",
    ],
)
def test_a_line_too_short_to_tell_its_language_by_stays_as_it_is_spelled(line: str) -> None:
    files = dreamt({}, f"- [fact] {line}")

    assert [line] == [line for text in files.values() for line in facts(text)]


def rules(*lines: str) -> list[str]:
    """Return the rules that stand after each of `lines` of history was read by itself."""
    files: dict[str, str] = {}
    for one in lines:
        files = dreamt(files, one)
    return facts(files.get("SOUL.md", ""))


def test_a_fact_that_shares_a_word_with_a_rule_is_none() -> None:
    rule = "Emails to clients are always signed by both of us"

    assert rules(
        f"- [rule] “{rule}” (2 March 2026)", "- [fact] “My sister found new clients in Leeds now” (9 March 2026)"
    ) == [rule]


def test_rules_of_one_sitting_stand_side_by_side() -> None:
    files = dreamt(
        {},
        "- [rule] “Never give me medical terms for what the doctors found, explain it in plain words” (2 March 2026)\n"
        "- [rule] “No dose, no plan, nothing from you on pills now, in plain words: ask the doctors” (2 March 2026)",
    )

    assert len(facts(files["SOUL.md"])) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Beto pays, and the hall costs 95 mil pesos in total.", "Beto gave in, it went up to 105 mil."),
        ("We have two panels on the roof.", "There are three panels up there."),
        ("My sister lives in Graz.", "My sister-in-law moved to Linz."),
        ("My husband Anselm drives a van for Hollis.", "Anselm's brother quit Hollis and drives a taxi now."),
        ("青屿那边仓库36台车。", "车又加了，青屿60台。"),
    ],
)
def test_what_tells_more_than_another_value_of_the_same_stands_beside_it(old: str, new: str) -> None:
    files = dreamt({}, f"- [fact] “{old}” (2 March 2026)")
    files = dreamt(files, f"- [fact] “{new}” (9 March 2026)")

    assert len([one for text in files.values() for one in facts(text)]) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The crawler has 512 open tickets.", "The scheduler has 429 open tickets."),
        ("I bought a used oboe for 638 euros.", "I bought a used trombone for 753 euros."),
        ("The office got a new exporter licence for 53 people.", "The office got a new linter licence for 9 people."),
    ],
)
def test_the_same_told_of_another_thing_stands_beside_it(one: str, other: str) -> None:
    assert len(memory(one, other)) == 2
