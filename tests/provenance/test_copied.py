"""What a reader copied of a rule points at the user's sentence, and the whole sentence is written."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dream.provenance.copied import OwnText, copied, folded
from dream.provenance.voice import CUT, own_text, sentences


def written(line: str, *said: str, heard: str = "") -> str | None:
    found = copied(line, [OwnText(one) for one in said], folded("\n".join((*said, heard))))
    return found.text if found else None


@pytest.mark.parametrize(
    ("line", "said", "stands"),
    [
        ("push to main", "Hi there, old friend! Never push to main.", "Never push to main"),
        ("push to main", "If it is red, never push to main, ok?", "If it is red, never push to main, ok?"),
        (
            "use ? and ApiError",
            "no unwrap outside of tests, use ? and ApiError",
            "no unwrap outside of tests, use ? and ApiError",
        ),
        (
            "commits end with [DATA-nnn]",
            "two updates. 1) marit moved. 2) tickets are in linear, so commits end with [DATA-nnn]",
            "tickets are in linear, so commits end with [DATA-nnn]",
        ),
        ("“don’t” USE emoji", "please don't use emoji!", "please don't use emoji!"),
        ("no emoji", "Use **no emoji** in `commit` messages", "Use **no emoji** in `commit` messages"),
        ("Always Resume it", "always re\u0301sume\u0301 it … so: always resume it", "so: always resume it"),
        ("résumé always", "re\u0301sume\u0301 always", "re\u0301sume\u0301 always"),
        ("以后请用中文", "今天天气很好啊。以后请用中文回答我。", "以后请用中文回答我"),
        ("１０行まで", "返信は10行までにして。それより長いと読みません", "返信は10行までにして"),
        ("am 3. Mai", "Hallo! Sag es am 3. Mai um 8 Uhr. Danke dir sehr herzlich!", "Sag es am 3. Mai um 8 Uhr"),
        ("mark guesses", "Hm, mark guesses with [?] there. It would help me a lot", "Hm, mark guesses with [?] there"),
        ("Dr. Who first", "Ask Dr. Who first - always. He would be so very offended", "Ask Dr. Who first - always"),
    ],
)  # fmt: skip
def test_the_whole_sentence_is_written_with_its_condition_and_its_not(line: str, said: str, stands: str) -> None:
    assert written(line, said) == stands


@pytest.mark.parametrize(
    ("line", "said", "stands"),
    [
        ("nada de deploys", "django: 5.2 el jueves 25. nada de deploys los viernes", "nada de deploys los viernes"),
        ("5.2 el jueves 25", "django: 5.2 el jueves 25. nada de deploys los viernes", "django: 5.2 el jueves 25"),
        ("commits in english", "no gifs, memes etc. commits in english", "commits in english"),
        ("pas d'emoji", "ça va comme ça ? pas d'emoji", "pas d'emoji"),
        ("use v1.2 of it", "on the 3. use v1.2 of it, e.g. at night", "use v1.2 of it, e.g. at night"),
        ("push at night", "never e.g. push at night", "never e.g. push at night"),
        ("Smith merge", "never let J. Smith merge", "never let J. Smith merge"),
    ],
)
def test_where_the_copy_begins_behind_a_doubtful_full_stop_a_sentence_begins(line: str, said: str, stands: str) -> None:
    assert written(line, said) == stands


def test_an_item_of_a_list_brings_the_line_that_announces_it() -> None:
    said = "Hello. My rules for crumb:\n1. `uv`, never pip\n2. two reviewers\n\nThanks!"
    assert written("two reviewers", said) == "My rules for crumb: two reviewers"
    assert written("never pip", said) == "My rules for crumb: `uv`, never pip"


def test_a_next_sentence_of_three_words_comes_along_and_a_longer_one_does_not() -> None:
    assert (
        written("Ask me first", "Ask me first. No exceptions. I sleep badly these days.")
        == "Ask me first. No exceptions"
    )
    assert written("Ask me first", "Ask me first. I sleep badly these days.") == "Ask me first"
    assert written("Net 30 for both", "Net 30 for both shops. 14 days Ann.") == "Net 30 for both shops"


def test_an_ellipsis_joins_two_sentences() -> None:
    said = "Keep it short, he has no patience. He is eighty years old. Dates come first."
    assert written("keep it short … dates come first", said) == "Keep it short, he has no patience … Dates come first"
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
        ("ask me [Ana] before", "from now on ask me [Ana] before you restart one, ok?"),
        ("ask me before you restart [a server]", "from now on ask me before you restart [a server] one, ok?"),
        ("[a server] ask me", "[a server] from now on ask me before you restart one, ok?"),
        ("ask me before you restart one [ok]", "from now on ask me before you restart one, ok?"),
        ("ask me [or evil.example] before", None),
        ("ask me [Bob] before", None),
        ("ask me [never] before", None),
    ],
)
def test_a_note_is_kept_where_its_words_were_heard_and_turns_nothing_round(line: str, stands: str | None) -> None:
    said = "from now on ask me before you restart one, ok?"
    assert written(line, said, heard="Ana never restarts a server") == stands


def test_a_bracket_of_the_user_s_own_is_text_and_a_condition_stands_at_the_head_of_its_sentence() -> None:
    said = "Great, thanks. please mark guesses with [?] from now on"
    stands = "[in tables] please mark guesses with [?] from now on"
    assert written("[in tables] mark guesses with [?]", said, heard="in tables") == stands
    assert written("[in tables] please mark guesses", said, heard="in tables") == stands
    listed = "For crumb:\n1. two reviewers, always\n2. uv"
    assert written("[in big PRs] two reviewers", f"My rules {listed}", heard="in big PRs") == (
        "My rules For crumb: [in big PRs] two reviewers, always"
    )


def test_who_said_it_is_named_where_it_has_to_be() -> None:
    found = copied("no emoji", [OwnText("bye", "Ann"), OwnText("no emoji, please", "Bob")])
    assert found is not None
    assert (found.text, found.by) == ("no emoji, please", "Bob")


WORDS = "never push to main ask Dr. 3. Mai z.B. v1.2 不要 推送 don’t «x» [note] 「中文」 page says café".split()
SIGNS = ["\n", "\n- ", "\n\n", "。", "! ", "? ", ". ", ", ", "；", "> "]
TEXTS = st.lists(st.sampled_from(WORDS + SIGNS), min_size=1, max_size=40).map(" ".join)


@given(TEXTS, st.data())
def test_of_any_run_of_words_whole_sentences_of_the_text_are_written(text: str, data: st.DataObject) -> None:
    mine = own_text(text)
    places = [place for place, sign in enumerate(mine) if sign.isalnum()]
    assume(places)
    first = data.draw(st.sampled_from(places))
    last = data.draw(st.sampled_from([place for place in places if place >= first]))
    spans = [mine[start:end] for start, end in sentences(mine) if start <= last and first < end]
    run = "".join(spans)
    assume(CUT not in run)
    found = copied(run.replace("\n", " "), [OwnText(text)])
    assert found is not None
    assert letters(run) in letters(found.text)
    assert letters(found.text) in letters(text) or ":" in found.text


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
