"""What takes the place of what: the old line goes, or stands beside the new one as the earlier."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from dream.language.tongue import earlier_part
from tests.embedded.asking import dreamt, facts, findings, said

MONDAY = date(2026, 3, 2)


def told(*texts: str) -> list[str]:
    """Return the lines of memory after each of `texts` was said, a week apart."""
    files: dict[str, str] = {}
    for week, text in enumerate(texts):
        lines = said(text, day=MONDAY + timedelta(weeks=week))
        files = dreamt(files, "\n".join(f"- {line}" for line in lines) or "(nothing)")
    return [line for text in files.values() for line in facts(text)]


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("The API timeout of Heron is 300 ms.", "We raised the API timeout of Heron to 450 ms.", "300"),
        ("The staging server listens on port 8443.", "The staging server listens on port 9443 now.", "8443"),
        ("I live in Oslo.", "I moved to Ghent last week.", "Oslo"),
        ("灯笼的接口超时是300毫秒。", "我们把灯笼的接口超时改成1500毫秒了。", "300"),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one(old: str, new: str, gone: str) -> None:
    lines = told(old, new)

    assert len(lines) == 1
    assert gone not in lines[0].partition("(earlier")[0].partition("(以前")[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Crumb runs on FastAPI with SQLite.", "We decided to move Crumb from SQLite to Postgres 16."),
        ("Die Rechnungen verwaltet Kwame mit Excel.", "Wir stellen die Rechnungen jetzt von Excel auf Lexware um."),
        ("Los pedidos de Lima van por WhatsApp.", "Ahora pasamos los pedidos de WhatsApp a Telegram."),
        ("灯笼的任务用Celery跑。", "灯笼的任务我们决定从Celery换成Dramatiq。"),
    ],
)
def test_what_a_move_names_as_its_start_is_the_earlier(old: str, new: str) -> None:
    (line,) = told(old, new)

    assert earlier_part().search(line)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We run Heron on Postgres.", "The train from Porto to Lisbon takes three hours."),
        ("The backup goes from Heron to Lynx.", "We moved the demo from Monday to Friday."),
        ("My sister Ines is a nurse.", "My brother Tom is a vet."),
        ("The billing module is owned by Kwame.", "The search index is owned by Aisha."),
    ],
)
def test_what_is_told_of_something_else_stands_beside_it(one: str, other: str) -> None:
    assert len(told(one, other)) == 2


def test_a_number_that_only_counts_is_no_new_value() -> None:
    assert len(told("I like fruit number 1", "I like fruit number 2", "I like fruit number 3")) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Room 12 is free on Mondays.", "Room 14 is free on Mondays."),
        ("Ticket 4711 is fixed.", "Ticket 4712 is fixed."),
        ("Raum 12 ist montags frei.", "Raum 14 ist montags frei."),
    ],
)
def test_a_number_that_names_what_a_statement_is_about_is_no_new_value(one: str, other: str) -> None:
    assert len(told(one, other)) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("May 14 is the day of the move.", "May 16 is the day of the move."),
        ("Version 2 is on staging.", "Version 3 is on staging now."),
        ("Die Miete ist 900 Euro.", "Die Miete ist 950 Euro."),
    ],
)
def test_a_date_or_what_has_changed_still_takes_the_place_of_the_old(old: str, new: str) -> None:
    assert len(told(old, new)) == 1


def test_what_is_said_again_makes_no_second_line() -> None:
    assert len(told("I'm allergic to peanuts.", "I'm allergic to peanuts!")) == 1


def test_the_sentence_under_a_title_is_nobodys_statement() -> None:
    files = {"USER.md": "# User\n\nWho I work for, and what they prefer.\n"}

    after = dreamt(files, "- [preference] “I prefer British spelling in documents” (2 March 2026)")

    assert "Who I work for, and what they prefer." in after["USER.md"]


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


def test_what_was_told_as_the_earlier_stays_so_when_its_line_goes() -> None:
    line = '"The staging server listens on port 8443" (2 March 2026) (earlier, "it was 7001")'
    files = dreamt(
        {"memory/MEMORY.md": f"# Memory\n\n- {line}\n"},
        '- [fact] "The staging server listens on port 9443 now" (9 March 2026)',
    )

    (line,) = facts(files["memory/MEMORY.md"])
    assert "9443" in line
    assert "7001" in line.partition("(earlier")[2]


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


def test_a_line_of_memory_that_sounds_like_an_order_is_changed_as_the_fact_that_it_is() -> None:
    before = '"warn limit of 40 is fine, in case you ever look for it" (7 April 2026)'
    files = dreamt(
        {"memory/MEMORY.md": f"# Memory\n\n- {before}\n"},
        '- [fact] "i set the warn limit to 15 yesterday" (16 April 2026)',
    )

    (line,) = facts(files["memory/MEMORY.md"])
    assert "limit to 15" in line


def test_what_may_still_hold_is_told_beside_what_takes_its_place() -> None:
    files = dreamt(
        {"memory/MEMORY.md": "# Memory\n\n- „rip02 ist der rip-server für die heidelberg“ (3. Februar 2026)\n"},
        "- [event] „rip02 hat 10.20.4.71, hab mich neulich vertippt“ (20. Februar 2026)",
    )

    assert "rip-server" in files["memory/MEMORY.md"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "I'm trying to lay out my recipe gallery with CSS grid so that the cards line up on a phone",
            "I'm trying to speed up my recipe gallery by loading the pictures of the cards late",
        ),
        (
            "Ich versuche, die Messwerte der Zisterne mit Grafana zu zeichnen",
            "Ich versuche, die Messwerte der Zisterne nach Influx zu schreiben",
        ),
    ],
)
def test_what_somebody_is_at_takes_no_place(one: str, other: str) -> None:
    lines = told(one, other)

    assert len(lines) == 2
    assert not any("(earlier" in line or "(früher" in line for line in lines)


def test_what_is_counted_anew_takes_the_place_of_the_old_count_even_in_a_task() -> None:
    lines = told(
        "I'm trying to sort my wood stove manuals, my shelf holds 45 manuals",
        "I'm trying to find a better order for my wood stove manuals, my shelf holds 52 manuals now",
    )

    assert len(lines) == 1
    assert "45" not in lines[0].partition("(earlier")[0]


@pytest.mark.parametrize(
    ("old", "new", "stays"),
    [
        (
            "I write the backend of Crumb, an ordering app, and I live in Porto.",
            "I moved to Lisbon last week, so I'm no longer in Porto.",
            "I write the backend of Crumb, an ordering app",
        ),
        (
            "Der Port von Heron ist 8443, und Marta verantwortet die Rechnungen.",
            "Der Port von Heron ist jetzt 9443.",
            "Marta verantwortet die Rechnungen",
        ),
    ],
)
def test_what_was_told_beside_a_value_that_changed_still_holds(old: str, new: str, stays: str) -> None:
    lines = told(old, new)

    beside = [line for line in lines if stays in line]
    assert len(lines) == 2
    assert len(beside) == 1
    assert "(earlier" not in beside[0]
    assert "(früher" not in beside[0]


def rules(*lines: str) -> list[str]:
    """Return the rules that stand after each of `lines` of history was read by itself."""
    files: dict[str, str] = {}
    for one in lines:
        files = dreamt(files, one)
    return facts(files.get("SOUL.md", ""))


@pytest.mark.parametrize(
    ("rule", "told", "words"),
    [
        (
            "[rule] „Freitags nie deployen“ (2. März 2026)",
            "[decision] „Wir deployen jetzt doch freitags“ (9. März 2026)",
            "jetzt doch",
        ),
        (
            "[rule] « Trois hashtags, pas plus, à chaque fois » (2 mars 2026)",
            "[decision] « Instagram : plus de hashtags du tout » (9 mars 2026)",
            "du tout",
        ),
        (
            "[rule] «al final ponme una listita de pendientes, siempre, máximo cinco» (2 de marzo de 2026)",
            "[fact] «La listita de pendientes con tres basta, cinco ya me agobia» (9 de marzo de 2026)",
            "tres basta",
        ),
    ],
)
def test_a_rule_whose_change_is_told_as_a_fact_is_changed(rule: str, told: str, words: str) -> None:
    added, removed = findings(dreamt({}, f"- {rule}"), f"- {told}")

    assert words in added
    assert added.startswith("[SOUL/")
    assert removed.startswith("[SOUL-REMOVE]")


@pytest.mark.parametrize(
    ("rule", "once"),
    [
        ("Never push straight to main", "[rule] “Just for today push straight to main, no branch” (9 March 2026)"),
        ("Deploy the shop on Tuesdays only", "[decision] “We deploy the shop at 4 now, just this once” (9 March 2026)"),
    ],
)
def test_what_is_said_for_one_occasion_leaves_the_rule_as_it_is(rule: str, once: str) -> None:
    assert rule in rules(f"- [rule] “{rule}” (2 March 2026)", f"- {once}")


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
        ("青屿那边仓库36台车。", "车又加了，青屿60台。"),
    ],
)
def test_another_number_of_the_same_thing_takes_the_place_of_the_old_one(old: str, new: str) -> None:
    files = dreamt({}, f"- [fact] “{old}” (2 March 2026)")
    files = dreamt(files, f"- [fact] “{new}” (9 March 2026)")

    assert len([one for text in files.values() for one in facts(text)]) == 1


def test_that_two_things_are_in_one_month_joins_nothing() -> None:
    files = dreamt({}, "- [plan] « départ le 4 juillet » (1 mars 2026)")
    files = dreamt(files, "- [person] « Ondine a un concours de pianos le 8 juillet » (19 avril 2026)")

    assert "avant" not in "".join(files.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The crawler has 512 open tickets.", "The scheduler has 429 open tickets."),
        ("I bought a used oboe for 638 euros.", "I bought a used trombone for 753 euros."),
        ("The office got a new exporter licence for 53 people.", "The office got a new linter licence for 9 people."),
    ],
)
def test_the_same_told_of_another_thing_stands_beside_it(one: str, other: str) -> None:
    assert len(told(one, other)) == 2
