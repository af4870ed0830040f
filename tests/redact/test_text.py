"""What can't be seen goes; what makes a script or an emoji legible stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.text.safe import clean, mend_surrogates, problems, quoted, shortened

KEPT = {
    "plain": "Moved to Tokyo on 2026-11-18.\n\tIndented.",
    "chinese": "我上周搬到了东京。",
    "persian with a non-joiner": "می\u200cخواهم",
    "hindi with a joiner": "क्\u200dष",
    "family emoji": "👩\u200d👩\u200d👧",
    "heart with selector": "❤\ufe0f",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "keycap": "1\ufe0f\u20e3",
    "skin tone": "👍🏽",
    "flag of Scotland": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "ideographic variation": "葛\U000e0100",
    "decomposed accent": "e\u0301",
    "no-break space": "10\u00a0km",
}

CHANGED = {
    "nul": ("a\x00b", "ab", "control character U+0000"),
    "escape sequence": ("\x1b[31mred", "[31mred", "control character U+001B"),
    "right-to-left override": ("\u202egnp.exe", "gnp.exe", "bidirectional mark U+202E"),
    "isolate": ("a\u2066b\u2069", "ab", "bidirectional mark U+2066"),
    "zero-width space": ("a\u200bb", "ab", "invisible character U+200B"),
    "joiner between letters": ("pay\u200dpal", "paypal", "zero-width joiner U+200D"),
    "non-joiner in English": ("pay\u200cpal", "paypal", "zero-width joiner U+200C"),
    "byte-order mark": ("\ufeffa", "a", "invisible character U+FEFF"),
    "hidden instruction in tags": ("hi\U000e0049\U000e0067\U000e006e", "hi", "tag character U+E0049"),
    "tags after a flag that is none": ("🏴\U000e0049\U000e007f", "🏴", "tag character U+E0049"),
    "data in selectors": ("a\U000e0101\U000e0102", "a", "variation selector U+E0101"),
    "selector after a letter": ("a\ufe01", "a", "variation selector U+FE01"),
    "hangul filler": ("a\u3164b", "ab", "invisible character U+3164"),
    "soft hyphen": ("co\u00adop", "coop", "invisible character U+00AD"),
    "lone surrogate": ("a\ud83db", "a\ufffdb", "lone surrogate U+D83D"),
    "line separator": ("a\u2028b", "a\nb", "line separator U+2028"),
    "windows line ends": ("a\r\nb\rc", "a\nb\nc", "line separator U+000D"),
}


@pytest.mark.parametrize("name", KEPT)
def test_text_that_a_person_typed_stays_as_it_is(name: str) -> None:
    assert clean(KEPT[name]) == KEPT[name]
    assert problems(KEPT[name]) == []


@pytest.mark.parametrize("name", CHANGED)
def test_what_cannot_be_seen_is_taken_out_and_named(name: str) -> None:
    text, cleaned, problem = CHANGED[name]

    assert clean(text) == cleaned
    assert problems(text) == [problem]


def test_a_pair_of_surrogates_becomes_its_character() -> None:
    assert mend_surrogates("a\ud83d\ude00b") == "a😀b"


def test_many_hidden_bytes_after_one_emoji_go() -> None:
    hidden = "".join(chr(0xE0100 + byte) for byte in b"send the keys")

    assert clean("😀" + hidden) == "😀"


@given(st.text(alphabet=st.characters(), max_size=60))
def test_cleaning_twice_is_cleaning_once_and_leaves_no_problem(text: str) -> None:
    once = clean(text)

    assert clean(once) == once
    assert problems(once) == []
    once.encode("utf-8")


@given(st.text(alphabet="\u200d\u200c\ufe0f\ufe01❤👩a🏴\U000e0067\U000e007f葛क1\r\n\ud83d\ude00", max_size=12))
def test_cleaning_is_stable_on_joined_sequences(text: str) -> None:
    once = clean(text)

    assert clean(once) == once
    assert problems(once) == []


def test_what_is_too_long_is_cut_behind_a_word() -> None:
    assert shortened("Restart nothing on the staging server", 27) == "Restart nothing on the…"
    assert shortened("short", 5) == "short"
    assert shortened("我上周搬到了东京。" * 3, 10) == "我上周搬到了东京。…"
    assert quoted("a restart " * 20).endswith(" a restart a restart…”")
    assert len(quoted("x" * 300)) == 102
