"""A day of the week has its date where it is clear which one is meant."""

import pytest

from tests.embedded.asking import said


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("We cooked laksa with Kwame on Saturday.", "We cooked laksa with Kwame on Saturday 6 May 2023"),
        ("Our next release is on Friday next week.", "Our next release is on Friday 19 May 2023"),
        ("I met Ines in Porto on Monday.", "Met Ines in Porto on Monday 1 May 2023"),
        ("We decided to deploy Heron on Friday.", "We decided to deploy Heron on Friday (8 May 2023)"),
        ("Heron is deployed on Monday.", "Heron is deployed on Monday (8 May 2023)"),
        ("On Wednesdays the kids have swimming.", "On Wednesdays the kids have swimming (8 May 2023)"),
    ],
)
def test_a_day_of_the_week_in_the_past_or_of_a_named_week_is_dated(text: str, line: str) -> None:
    assert said(text) == [line]
