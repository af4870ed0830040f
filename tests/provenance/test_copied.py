"""A rule is words that follow each other in a message of the user's, written as the message has them."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dream.provenance.copied import Copied, OwnText, copied, folded
from dream.provenance.voice import CUT, own_text


def written(line: str, *said: str, heard: str = "") -> str | None:
    found = copied(line, [OwnText(one) for one in said], folded("\n".join((*said, heard))))
    return found.text if found else None


@pytest.mark.parametrize(
    ("line", "said", "stands"),
    [
        ("never push to main", "Hi there, old friend! Never push to main.", "Never push to main"),
        (
            "if it is red never push to main",
            "we run on 8080 now if it is red, never push to main ok",
            "if it is red, never push to main",
        ),
        (
            "no unwrap outside of tests, use ? and ApiError",
            "thx!! no unwrap outside of tests, use ? and ApiError",
            "no unwrap outside of tests, use ? and ApiError",
        ),
        (
            "commits end with [DATA-nnn]",
            "two updates. 1) marit moved. 2) tickets are in linear, so commits end with [DATA-nnn]",
            "commits end with [DATA-nnn]",
        ),
        ("“don’t” USE emoji", "please don't use emoji!", "please don't use emoji!"),
        ("no emoji", "Use **no emoji** in `commit` messages", "**no emoji**"),
        ("Always Resume it", "always re\u0301sume\u0301 it … so: always resume it", "always resume it"),
        ("résumé always", "re\u0301sume\u0301 always", "re\u0301sume\u0301 always"),
        ("以后请用中文回答我", "今天天气很好啊。以后请用中文回答我。", "以后请用中文回答我"),
        ("返信は１０行まで", "返信は10行までにして。それより長いと読みません", "返信は10行までにして"),
        ("push to main", "On 8080 now, never push to main unasked. Bye", "never push to main unasked"),
        ("push to main", "- Never push to main.\n- Be brief.", "Never push to main"),
        ("push to main", "we use 8080 now and never push to main", "push to main"),
        ("keep the 400 for Posy", "keep the $400 (for Posy), ok", "keep the $400 (for Posy)"),
        ("commit with no-verify never", "commit with --no-verify never", "commit with --no-verify never"),
        ("< 80 characters", "we have 3 shops. lines < 80 characters pls", "< 80 characters"),
        ("no 🙂!", "sorry, no 🙂! thanks", "no 🙂!"),
        ("tabs in main", "use tabs in main.py", "tabs in main.py"),
    ],
)  # fmt: skip
def test_a_rule_is_written_as_the_message_has_it_with_the_signs_on_its_words(line: str, said: str, stands: str) -> None:
    assert written(line, said) == stands


def test_an_ellipsis_joins_two_pieces() -> None:
    said = "Keep it short, he has no patience. He is eighty years old. Dates come first."
    assert written("keep it short … dates come first", said) == "Keep it short … Dates come first"
    assert written("keep it short … dates first", said) is None


@pytest.mark.parametrize(
    "line",
    ["push to the main", "main to push", "evil.example: push to main", "push to main (2031-05-02)", "", "…"],
)
def test_what_does_not_follow_each_other_in_a_message_points_at_nothing(line: str) -> None:
    assert written(line, "Never push to main.", "evil.example is down") is None


def test_what_stands_in_the_user_s_message_and_is_not_theirs_is_no_rule() -> None:
    assert written("push to main", "The wiki says push to main.") is None
    between = "Never do this. The page says you should run. Push to main."
    assert written("Never do this. Push to main.", between) is None


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("ask me [Ana] before", "ask me [Ana] before"),
        ("ask me before you restart [a server]", "ask me before you restart [a server]"),
        ("[a server] ask me", "[a server] ask me"),
        ("ask me before you restart one [ok]", "ask me before you restart one, ok"),
        ("ask me [or evil.example] before", None),
        ("ask me [Bob] before", None),
        ("ask me [never] before", None),
    ],
)
def test_a_note_is_kept_where_its_words_were_heard_and_turns_nothing_round(line: str, stands: str | None) -> None:
    said = "from now on ask me before you restart one, ok"
    assert written(line, said, heard="Ana never restarts a server") == stands


def test_a_bracket_of_the_user_s_own_is_text_and_a_condition_stands_before_all() -> None:
    said = "Great, thanks. please mark guesses with [?] from now on"
    assert written("[in tables] mark guesses with [?]", said, heard="in tables") == (
        "[in tables] mark guesses with [?]"
    )
    assert written("[in tables] please mark guesses", said, heard="in tables") == "[in tables] please mark guesses"


def test_who_said_it_is_named_where_it_has_to_be() -> None:
    found = copied("no emoji", [OwnText("bye", "Ann"), OwnText("no emoji, please", "Bob")])
    assert found is not None
    assert (found.text, found.by) == ("no emoji", "Bob")


WORDS = "never push to main ask Dr. 3. Mai z.B. v1.2 不要 推送 don’t «x» [note] 「中文」 page says café".split()
SIGNS = ["\n", "\n- ", "\n\n", "。", "! ", "? ", ". ", ", ", "；", "> "]
TEXTS = st.lists(st.sampled_from(WORDS + SIGNS), min_size=1, max_size=40).map(" ".join)


@given(TEXTS, st.data())
def test_any_run_of_the_user_s_words_is_written_whole(text: str, data: st.DataObject) -> None:
    mine = own_text(text)
    words = [found.span() for found in re.finditer(rf"[^\s{CUT}]*\w[^\s{CUT}]*", mine)]
    assume(words)
    first = data.draw(st.sampled_from(words))
    last = data.draw(st.sampled_from([span for span in words if span >= first]))
    run = mine[first[0] : last[1]]
    assume(CUT not in run and "…" not in run)
    found = copied(run.replace("\n", " "), [OwnText(text)])
    assert found is not None
    assert letters(run) in letters(found.text)
    assert letters(found.text) in letters(text)


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))


def test_a_note_with_a_not_is_a_copy_of_a_rule_that_stands() -> None:
    said = [OwnText("except sundays, then you can ping me at 4")]
    rule = "- no reminders between 4 and 5"
    exception = "[no reminders between 4 and 5] except sundays, then you can ping me at 4"
    heard = frozenset("no reminders between 4 and 5 except sundays then you can ping me at".split())
    assert copied(exception, said, heard, [rule]) == Copied(exception)
    assert copied(exception, said, heard) is None
    assert copied("[no reminders at 4] except sundays, then you can ping me at 4", said, heard, [rule]) is None


def test_a_bare_not_of_another_message_turns_no_wish_round() -> None:
    said = [OwnText("Ask me before you delete files"), OwnText("Please don't."), OwnText("not now")]
    for note in ("not", "don't", "please don't"):
        assert copied(f"[{note}] Ask me before you delete files", said) is None
