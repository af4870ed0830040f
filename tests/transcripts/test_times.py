"""Times as agents and people write them, and the days that a conversation is on."""

from __future__ import annotations

from datetime import UTC, date
from pathlib import Path

import pytest

from dream.errors import TranscriptError
from dream.transcripts import turns
from tests.transcripts.reading import at, document, lines, read, told


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56"),
        ("12:05 am on 1 January, 2024", "2024-01-01T00:05"),
        ("May 8, 2023", "2023-05-08"),
        ("Monday, 8 May 2023 13:56", "2023-05-08T13:56"),
        ("Sept. 3rd, 2023 at 4 pm", "2023-09-03T16:00"),
        ("2023年5月8日", "2023-05-08"),
        ("May-08-2023", "2023-05-08"),
        ("8-May-2023", "2023-05-08"),
    ],
)
def test_a_date_in_words_is_a_time(written: str, meant: str) -> None:
    assert turns.parse_time(written, UTC) == at(meant)


@pytest.mark.parametrize("written", ["8 May", "report of 8 May 2023", "31 February 2023", "May 2023", "8 May 2023 x"])
def test_what_is_no_whole_date_or_more_than_one_is_no_time(written: str) -> None:
    assert turns.parse_time(written, UTC) is None


def test_the_first_day_with_its_year_is_found_in_a_text() -> None:
    assert turns.day_in("from 8 May 2023, written on 2023-06-01") == date(2023, 5, 8)
    assert turns.day_in("in May, on the 8th") is None


TALK = [{"role": "user", "content": "I moved yesterday"}, {"role": "assistant", "content": "Where to?"}]


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a helpful assistant. Knowledge cutoff: October 2022. Current date: 2023-05-08.",
        "Today is Monday, May 8, 2023. Answer in short.",
        "Conversation on 08 May 2023",
        "今天是2023年5月8日。",
    ],
)
def test_messages_without_times_are_of_the_day_that_the_system_prompt_tells(tmp_path: Path, prompt: str) -> None:
    chat = [{"role": "system", "content": prompt}, *TALK]
    for path in (document(tmp_path / "a.json", chat), lines(tmp_path / "b.jsonl", *chat)):
        assert [message.at for _, message in read(path)[0]] == [at("2023-05-08")] * 2


def test_a_message_without_a_time_has_the_last_one_told(tmp_path: Path) -> None:
    dated = TALK[0] | {"timestamp": "2024-01-02"}
    chat = [{"role": "system", "content": "Today is 8 May 2023."}, TALK[0], dated, TALK[1]]
    assert [message.at for _, message in read(document(tmp_path / "a.json", chat))[0]] == [
        at("2023-05-08"),
        at("2024-01-02"),
        at("2024-01-02"),
    ]


def test_a_date_that_is_not_said_to_be_todays_is_none(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "The library was released on 8 May 2023."}, *TALK]
    assert [message.at for _, message in read(document(tmp_path / "a.json", chat))[0]] == [None, None]


def test_messages_without_times_have_their_conversations(tmp_path: Path) -> None:
    whole = {"messages": TALK, "created_at": "2023-05-08T10:00:00Z"}
    for path in (
        document(tmp_path / "a.json", whole),
        document(tmp_path / "b.json", [whole]),
        lines(tmp_path / "c.jsonl", whole),
    ):
        assert [message.at for _, message in read(path)[0]] == [at("2023-05-08T10:00:00")] * 2


def test_the_day_of_a_message_stays_when_its_file_grows(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Today is 8 May 2023."}, *TALK]
    before = [message.id for _, message in read(lines(tmp_path / "a.jsonl", *chat))[0]]
    after = [message.id for _, message in read(lines(tmp_path / "a.jsonl", *chat, *TALK))[0]]
    assert after[:2] == before


TALKS = {
    "a date above": "8 May 2023\n\nInes: I moved to Braga.\nTom: When?\nInes: Last week.\nTom: Nice!\n",
    "a heading": "# Session 1: 1:56 pm on 8 May, 2023\n\nInes: I moved to Braga.\nTom: When?\n"
    "Ines: Last week.\nTom: Nice!\n",
    "bold": "## 2023-05-08\n\n**Ines**: I moved to Braga.\n\n"
    "**Tom**: When?\n\n**Ines**: Last week.\n\n**Tom**: Nice!\n",
}


@pytest.mark.parametrize("form", TALKS)
def test_people_who_talk_are_read_with_their_names_and_their_day(tmp_path: Path, form: str) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(TALKS[form], encoding="utf-8")
    found = [(message.name, message.content, f"{message.at:%Y-%m-%d}") for _, message in read(path)[0]]
    assert found == [
        ("Ines", "I moved to Braga.", "2023-05-08"),
        ("Tom", "When?", "2023-05-08"),
        ("Ines", "Last week.", "2023-05-08"),
        ("Tom", "Nice!", "2023-05-08"),
    ]


NO_TALKS = {
    "a log": "Info: started\nError: no disk\nInfo: stopped\nError: no disk\n",
    "mail": "From: ann@example.org\nTo: bob@example.org\nFrom: x\nTo: y\n",
    "prose": "Lisbon: a city of hills.\nIt was rebuilt.\n"
    "Trams climb.\nPorto: a city of bridges.\nWine is kept there.\n"
    "And sold.\nLisbon: once more.\nPorto: once more.\nThe end\nof it\nall.\n",
}


@pytest.mark.parametrize("form", NO_TALKS)
def test_what_has_colons_is_not_yet_a_talk(tmp_path: Path, form: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(NO_TALKS[form], encoding="utf-8")
    with pytest.raises(TranscriptError, match="in no format that is known"):
        read(path)


def test_a_date_in_what_is_said_is_said(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("User: when was it?\nAssistant: it was\non 8 May 2023 I think\n", encoding="utf-8")
    assert told(path) == [("user", "when was it?"), ("assistant", "it was\non 8 May 2023 I think")]
