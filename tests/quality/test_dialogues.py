"""Dialogues judged by patterns: what was kept, changed, kept out, ruled, and said by nobody."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from dream.errors import UsageError
from tests.quality import Conversation, datasets, dialogues
from tests.quality.dialogues import Judged, judge

DIALOGUE = r"""
id = "en-00"
language = "en"
style = "short"
half = "unseen"

[[sittings]]
start = 2026-03-02T09:15:00Z
talk = '''
@user
We use Postgres 16. Never push to main without asking me.
@assistant
Noted. Shall I tail the log?
@user Ann
yes. the API runs on port 8080
@tool bash
$ tail api.log
@user
I'll get a third dog. Just kidding.
'''

[[kept]]
fact = "Postgres"
all = ['postgres', '16']

[[changed]]
fact = "API port"
new = ['9090']
old = ['\b8080\b']
unless = ['no longer']

[[never]]
what = "a third dog"
why = "joke"
all = ['third dog']
unless = ['no third dog']

[[rules]]
rule = "Ask before a push"
all = ['push', 'main']
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "en-00.toml"
    path.write_text(DIALOGUE, encoding="utf-8")
    return path


def _judged(file: Path, soul: str, rest: str) -> Judged:
    conversation = dialogues.read(file)
    assert conversation.gold is not None
    return judge(conversation, conversation.gold, "memory", soul, rest)


def test_a_dialogue_is_read_with_its_tools_and_names(file: Path) -> None:
    (session,) = dialogues.read(file).sessions
    assert [(one.role, one.name) for one in session.messages] == [
        ("user", None),
        ("assistant", None),
        ("user", "Ann"),
        ("assistant", None),
        ("tool", "bash"),
        ("user", None),
    ]
    assert session.messages[3].calls == (session.messages[4].answers,)


def test_a_good_memory_has_nothing_against_it(file: Path) -> None:
    judged = _judged(
        file,
        "- Never push to main without asking me\n",
        '- "We use Postgres 16" (2 March 2026)\n- The API runs on 9090 (earlier, 2 March 2026: port 8080)\n',
    )
    assert (judged.lost, judged.unchanged, judged.stale, judged.got_in, judged.unruled, judged.no_rule) == ((),) * 6


def test_a_memory_is_judged_by_how_many_of_its_lines_were_wanted(file: Path) -> None:
    judged = _judged(
        file, "- Be funny\n", '- "We use Postgres 16" (2 March 2026)\n- It rains\n- The API runs on 9090\n'
    )
    assert (judged.wanted, judged.lines) == (1, 4)


def test_what_holds_and_is_called_outdated_is_named(file: Path) -> None:
    assert _judged(file, "", "- We use SQLite (earlier, 2 March 2026: Postgres 16)\n").outdated == ("Postgres",)


def test_a_question_is_answered_by_the_files_or_by_the_first_hits(file: Path) -> None:
    rows = ('{"question": "which db?", "pattern": "postgres"}', '{"question": "which port?", "pattern": "8080"}')
    file.with_suffix(".questions.jsonl").write_text("\n".join(rows), encoding="utf-8")
    conversation = dialogues.read(file)
    assert conversation.gold is not None
    judged = judge(conversation, conversation.gold, "memory", "", "- Postgres 16\n", {"which db?": "nothing"})
    assert (judged.asked, judged.unanswered) == (2, ("which port?",))
    judged = judge(
        conversation, conversation.gold, "memory", "", "", {"which port?": "port ８０８０", "which db?": "-"}
    )
    assert judged.unanswered == ("which db?",)


def test_each_fault_is_named(file: Path) -> None:
    judged = _judged(
        file, "- Be funny\n", "- the API runs on port 8080\n- will get a third dog\n- Deploys to Mars on 1 May 2026\n"
    )
    assert judged.lost == ("Postgres",)
    assert judged.unchanged == judged.stale == ("API port",)
    assert judged.got_in == ("a third dog",)
    assert judged.unruled == ("Ask before a push",)
    assert judged.no_rule == ("- Be funny",)
    assert judged.untold == ("- Be funny", "- will get a third dog", "- Deploys to Mars on 1 May 2026")


def test_what_is_told_as_past_is_not_stale(file: Path) -> None:
    assert _judged(file, "", "- The API is no longer on 8080\n- It is on 9090\n").unchanged == ()
    assert _judged(file, "", "- The API moved from 8080 to 9090\n").unchanged == ()


def test_brackets_day_and_speaker_are_not_words_that_nobody_said(file: Path) -> None:
    lines = "- Ann: the API [of harbor-sync] runs on port 8080 (2 March 2026)\n- We use Postgres 16 [a database]\n"
    assert _judged(file, "", lines).untold == ()


def test_marks_and_what_is_told_as_earlier_are_not_words_that_nobody_said(file: Path) -> None:
    lines = (
        '- "the API runs on port 8080" (according to pasted text) (2 March 2026)\n- 「Postgres 16」（据粘贴的文本）\n'
        '- "We use Postgres 16" (2 March 2026) (earlier, 1 March 2026: "of Ann (the user): Postgres (15)")\n'
    )
    assert _judged(file, "", lines).untold == ()


def test_of_a_rule_with_what_bounds_it_each_part_was_said_and_nothing_else_counts(file: Path) -> None:
    said = "- the API runs on port 8080 (later: We use Postgres 16)\n"
    assert _judged(file, said, "").untold == ()
    assert len(_judged(file, "- the API runs on port 8080 (later: Deploys go to Mars)\n", "").untold) == 1


def test_a_folder_of_dialogues_is_a_dataset_and_a_broken_one_is_named(file: Path) -> None:
    assert [one.name for one in datasets.load(str(file.parent))] == ["en-00"]
    assert dialogues.load(file.parent, "seen") == []
    file.write_text("id = 'x'", encoding="utf-8")
    with pytest.raises(UsageError, match=r"en-00\.toml is not a dialogue"):
        datasets.load(str(file))


def test_of_the_first_sittings_only_what_was_said_in_them_is_asked_for() -> None:
    path = str(next(dialogues.SHIPPED.glob("*.toml")))
    (whole,) = datasets.load(path)
    (first,) = datasets.load(path, sittings=1)
    assert (len(first.sessions), first.sessions) == (1, whole.sessions[:1])
    assert first.gold is not None
    assert whole.gold is not None
    assert 0 < len(first.gold.kept) < len(whole.gold.kept)
    assert set(first.gold.kept) < set(whole.gold.kept)
    assert first.references["whole dialog"] in whole.references["whole dialog"]


def test_the_control_quotes_what_is_no_question(file: Path) -> None:
    soul, rest = dialogues.control(dialogues.read(file))
    assert soul == "- Never push to main without asking me."
    assert "- We use Postgres 16." in rest.splitlines()


@pytest.fixture(scope="module")
def shipped() -> list[Conversation]:
    return datasets.load("dialogues")


def test_the_shipped_dialogues_are_eight_in_each_language_half_of_them_unseen(shipped: list[Conversation]) -> None:
    found = shipped
    golds = [one.gold for one in found if one.gold is not None]
    assert len({one.name for one in found}) == len(golds) == 48
    assert Counter(gold.language for gold in golds) == dict.fromkeys(("en", "de", "fr", "es", "zh", "ja"), 8)
    assert Counter((gold.language, gold.half) for gold in golds).most_common(1)[0][1] == 4
    unseen = datasets.load("dialogues:unseen")
    assert {one.name for one in unseen} < {one.name for one in found}


@pytest.mark.slow
def test_each_pattern_of_the_shipped_dialogues_is_about_something_that_was_said(shipped: list[Conversation]) -> None:
    for one in shipped:
        said = unicodedata.normalize("NFKC", "\n".join(m.content for s in one.sessions for m in s.messages))
        assert one.gold is not None
        for row in (*one.gold.kept, *one.gold.changed, *one.gold.never, *one.gold.rules):
            missing = [pattern.pattern for pattern in (*row.patterns, *row.old) if not pattern.search(said)]
            assert not missing, (one.name, row.says)
