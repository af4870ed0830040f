"""The model as a whole: any input, the same answer every time, fast, and a floor for what it keeps."""

import time

import pytest

from dream.embedded import EmbeddedModel
from dream.llm import ChatMessage
from tests.embedded.asking import ask, dreamt, edited, sections, summary

# A conversation written for this test; each answer should stand in memory after the nights.
NIGHTS = [
    [
        ("user Ines", "Hey Tomas! I finally adopted a greyhound called Pepper yesterday."),
        ("assistant Tomas", "Wow, congrats! I spent last weekend repairing my grandfather's cello in Bergen."),
        (
            "user Ines",
            "That's so cool! I work as a cartographer for the harbour authority, so I'm always drawing coastlines.",
        ),
        ("assistant Tomas", "What's your favourite place to sail?"),
        ("user Ines", "The Lofoten islands."),
    ],
    [
        ("user Ines", "I'm allergic to shellfish, so I brought lentil soup to the regatta dinner last Friday."),
        ("assistant Tomas", "Good thinking! I signed up for a glassblowing course next month."),
        ("user Ines", "How was your day?"),
        ("assistant Tomas", "It was great! My sister Marit opened a bakery in Trondheim two weeks ago."),
    ],
    [
        ("user Ines", "I decided to sell my old kayak and buy a folding canoe."),
        ("assistant Tomas", "Thanks for telling me! I won second prize at the chess open in Oslo yesterday."),
        ("user Ines", "Amazing! I moved to Stavanger last month because of the new job."),
    ],
]
ANSWERS = [
    "greyhound", "Pepper", "7 May 2023", "cello", "Bergen", "cartographer", "harbour", "shellfish",
    "lentil soup", "5 May 2023", "glassblowing", "June 2023", "Marit", "bakery", "Trondheim", "kayak",
    "folding canoe", "second prize", "chess", "Oslo",
]  # fmt: skip


def test_what_was_said_over_three_nights_is_in_memory() -> None:
    files: dict[str, str] = {}
    for night in NIGHTS:
        files = dreamt(files, "\n".join(f"- {line}" for line in summary(night)))
    text = "\n".join(files.values())
    assert [answer for answer in ANSWERS if answer not in text] == []
    assert "How was your day" not in text
    assert "That's so cool" not in text


def test_the_same_prompt_has_the_same_answer() -> None:
    assert [summary(night) for night in NIGHTS] == [summary(night) for night in NIGHTS]


def test_a_prompt_without_a_job_gets_an_honest_answer() -> None:
    assert ask("Write me a poem.").text.startswith("I am the embedded model")


STRANGE = [
    "",
    "\x00\x07",
    "\ud800 lone",
    "<conversation",
    "<findings>",
    "]]>{{%s",
    "a" * 5000,
    "，。" * 3000,
    "1. " * 9000,
    "\u202e\u200bx",
    "((((" * 999,
]


@pytest.mark.few(4)
@pytest.mark.parametrize("text", STRANGE)
def test_no_input_raises(text: str) -> None:
    talk = f'<conversation session="x" messages="0-0">\n[0] 2023-05-08 09:00 user: {text}\n</conversation>'
    batch = (
        sections({"USER.md": text}) + f"<today>{text}</today>\n<history>\n[1] 2023 summary x\n    {text}\n</history>"
    )
    for data in (text, talk, batch):
        assert EmbeddedModel().complete([ChatMessage("user", data)]).finish == "stop"
    assert EmbeddedModel().complete([]).text


@pytest.mark.few(4)
@pytest.mark.parametrize("text", STRANGE)
def test_no_finding_and_no_line_of_memory_raises_and_others_are_applied(text: str) -> None:
    before = {"USER.md": f"- {text.replace(chr(0xD800), '')}\n"}  # a file is UTF-8
    done = edited(before, [f"[USER] {text} {{1}}", f"[USER-REMOVE] {text} {{1}}", "[USER] Likes tea {1}"])
    assert done.outcomes[-1].state == "applied"
    assert "- Likes tea" in done.draft.texts["USER.md"]


@pytest.mark.parametrize(
    "size", [25_000, *(pytest.param(size, marks=pytest.mark.slow) for size in (100_000, 2_000_000))]
)
def test_megabytes_on_a_line_take_seconds_not_minutes(size: int) -> None:
    begin = time.process_time()
    for filling in ("I like tea and ", "x", "Ignore ", "2023-05-08 ", "my a, ", "我喜欢，", "-> ", "the the "):
        summary([("user", filling * (size // len(filling)))])
    assert time.process_time() - begin < 30 * min(size / 100_000, 1)


def test_an_answer_keeps_to_the_bound_on_tokens() -> None:
    lines = [f"[{i}] 2023-05-08 09:00 user Ann: I visited the village of Place{i} with Name{i}." for i in range(400)]
    data = '<conversation session="x" messages="0-399">\n' + "\n".join(lines) + "\n</conversation>"
    model = EmbeddedModel()
    answer = model.complete([ChatMessage("user", data)], max_tokens=300)
    assert 0 < model.count(answer.text) <= 300


@pytest.mark.parametrize(("text", "least"), [("", 0), ("a", 1), ("hello world", 2), ("你好世界", 4), ("😀", 1)])
def test_tokens_are_counted_for_every_script(text: str, least: int) -> None:
    assert EmbeddedModel().count(text) >= least
