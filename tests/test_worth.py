"""What tells most for its length comes first."""

from dream.text.alike import ranked


def test_what_a_better_statement_told_counts_little() -> None:
    told = ["The ferry leaves at noon", "At noon the ferry to Hoy leaves", "Bees need water"]
    assert ranked(told, line=8)[-1] == 0


def test_what_is_told_in_any_case_counts_little() -> None:
    told = ["The ferry to Hoy leaves from Stromness", "Bees need water in June"]
    assert ranked(told, beside=["The ferry to Hoy leaves from Stromness at noon"], line=8) == [1, 0]


def test_a_day_that_is_told_of_counts_and_the_day_it_was_said_on_does_not() -> None:
    told = ["Mended the red roof (5 May 2026)", "Mended the roof on 4 May 2026"]
    assert ranked(told, line=8) == [1, 0]


def test_what_counts_for_less_comes_later() -> None:
    told = ["Bees need fresh water", "Goats want mountain hay"]
    assert ranked(told, rates=[0.5, 1.0], line=8) == [1, 0]
