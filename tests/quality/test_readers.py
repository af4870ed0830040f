"""The datasets are read as they are, with their traps."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dream.errors import UsageError
from tests.quality import datasets

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I paint."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice!", "blip_caption": "a cat"},
        ],
        "session_2_date_time": "12:09 am on 13 September, 2023",
    },
    "qa": [
        {"question": "When?", "answer": 2022, "evidence": ["D1:1; D1:2"], "category": 2},
        {"question": "What?", "answer": "paint", "evidence": ["D", "D:1:1", "D9:9"], "category": 4},
        {"question": "Never?", "adversarial_answer": "no", "evidence": ["D1:1"], "category": 5},
    ],
    "observation": {"session_1_observation": {"Ann": [["Ann paints.", "D1:1"]], "Bob": []}},
    "session_summary": {"session_1_summary": "They talk."},
    "event_summary": {"events_session_1": {"Ann": ["Ann paints"], "Bob": [], "date": "8 May, 2023"}},
}


def test_locomo_is_read_with_its_traps() -> None:
    (read,) = datasets.read_locomo([SAMPLE])
    (session,) = read.sessions  # a date without a session is none
    assert session.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [(one.role, one.name, one.content, one.id) for one in session.messages] == [
        ("user", "Ann", "I paint.", "D1:1"),
        ("assistant", "Bob", "Nice!", "D1:2"),
    ]
    asked = [(one.answer, one.category, one.evidence) for one in read.questions]
    assert asked == [("2022", "temporal", ("D1:1", "D1:2")), ("paint", "single-hop", ("D1:1",))]
    assert read.references["human event summaries"] == "Ann paints\n8 May, 2023"
    assert read.cited == {"GPT-3.5 observations": frozenset({"D1:1"})}


CHAT = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I have 45 sources. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Good."},
                {"role": "user", "id": 2, "content": "Now I have 52 sources. ->-> 1,2"},
            ]
        ],
    }
]
PROBES = {
    "knowledge_update": [
        {
            "question": "How many sources do I have?",
            "answer": "52 sources",
            "rubric": ["LLM response should state: 52 sources"],
            "source_chat_ids": {"original_info": [0], "updated_info": [2]},
            "conversation_references": ["45 sources"],
        }
    ],
    "abstention": [{"question": "?", "ideal_response": "no"}],
}


def test_beam_is_read_with_its_changes() -> None:
    read = datasets.read_beam("1", CHAT, PROBES)
    assert [one.content for one in read.sessions[0].messages] == [
        "I have 45 sources.",
        "Good.",
        "Now I have 52 sources.",
    ]
    assert read.sessions[0].at == datetime(2024, 3, 15, 9, tzinfo=UTC)
    assert [(one.new, one.old) for one in read.changes] == [("52 sources", "45 sources")]
    assert [(one.answer, one.evidence) for one in read.questions] == [("52 sources", ("0", "2"))]


def test_a_dataset_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps([SAMPLE]))
    (tmp_path / "beam" / "7").mkdir(parents=True)
    (tmp_path / "beam" / "7" / "chat.json").write_text(json.dumps(CHAT))
    (tmp_path / "beam" / "7" / "probing_questions.json").write_text(json.dumps(PROBES))
    names = [
        [one.name for one in datasets.load(str(path))]
        for path in (tmp_path / "locomo.json", tmp_path / "beam", tmp_path / "beam" / "7" / "chat.json", tmp_path)
    ]
    assert names == [["conv-1"], ["7"], ["7"], ["7"]]
    assert [one.name for one in datasets.load("planted:7", limit=1, sittings=4)] == ["planted-en-7"]


def test_the_first_sittings_are_asked_about_alone_and_another_conversation_gives_chance(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    later = SAMPLE["conversation"] | {"session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I sing."}]}
    asked = {"question": "And?", "answer": "sing", "evidence": ["D2:1"], "category": 4}
    path.write_text(json.dumps([SAMPLE | {"conversation": later, "qa": [*SAMPLE["qa"], asked]}]))
    (whole,), (first,) = datasets.load(str(path)), datasets.load(str(path), sittings=1)
    assert (len(whole.questions), len(first.questions)) == (3, 2)
    assert list(first.references) == ["whole dialog"]
    assert datasets.another(str(path), whole).name == "planted-en-1"
    assert datasets.another("planted:3", datasets.load("planted:3", limit=1)[0]).name == "planted-zh-3"


@pytest.mark.parametrize("content", ["{}", "[]", "not JSON", None])
def test_what_is_no_dataset_is_refused_in_a_sentence(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=r"x\.json"):
        datasets.load(str(path))
