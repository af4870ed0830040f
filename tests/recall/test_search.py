"""Search finds what was said, at once, and nothing that was forgotten; what it cites can be opened."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import FrameType

import hypothesis
import hypothesis.strategies as st
import pytest

from dream import pipeline
from dream.actions import note
from dream.actions.forget import forget
from dream.directory import Workspace
from dream.errors import NothingThere, UsageError
from dream.history import messages
from dream.models import NewEntry
from dream.recall import excerpt, search_index
from dream.recall.terms import ranges
from dream.settings import Settings
from dream.workspace import index
from tests.cli.commands import dream
from tests.faults.support import called
from tests.workspaces import fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC")
TALK = (
    ("user", "Hi, I'm Ana. Staging listens on port 7391."),
    ("assistant", "Noted. Where does the parser live?"),
    ("user", "In src/app/parseHeader.ts, and the ticket is HS-214."),
    ("assistant", "Shall I open it?"),
    ("user", "我的妹妹住在里斯本，她对花生过敏。"),
)

ANSWER = ("user", "In src/app/parseHeader.ts, ticket HS-214. 我的妹妹住在里斯本。")


def said(folder: Path, rows: tuple[tuple[str, str], ...], name: str = "talk", start: datetime = NOW) -> Path:
    path = folder / f"{name}.jsonl"
    lines = [
        {"role": role, "content": text, "timestamp": (start - timedelta(days=1, minutes=-n)).isoformat()}
        for n, (role, text) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = fresh(tmp_path / "ws", NOW)
    pipeline.consolidate(made, [said(tmp_path, TALK)], settings=SETTINGS, now=NOW)
    return made


def texts(workspace: Workspace, query: str, **filters: object) -> list[str]:
    return [hit.text for hit in workspace.search(query, **filters)]  # type: ignore[arg-type]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("which port is staging on", "7391"),
        ("7391", "7391"),
        ("HS-214", "HS-214"),
        ("parseHeader", "parseHeader.ts"),
        ("header parse", "parseHeader.ts"),
        ("妹妹住在哪里", "里斯本"),
        ("花生", "花生"),
    ],
)
def test_any_of_the_words_finds_it(workspace: Workspace, query: str, found: str) -> None:
    assert found in texts(workspace, query)[0]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "query", ['"', "a OR", "NEAR(", "*", "col:x", "'; DROP TABLE doc", "(", "-", "\0", "x" * 100_000]
)
def test_no_query_is_a_syntax_error(workspace: Workspace, query: str) -> None:
    assert isinstance(workspace.search(query), list)


def test_a_note_and_a_typed_line_are_found_by_the_next_call(workspace: Workspace) -> None:
    assert texts(workspace, "zeppelin") == []
    note.note(workspace, "I own a zeppelin", settings=SETTINGS, now=NOW)
    (workspace.root / "USER.md").write_text("# User\n\n- drives a bathyscaphe (3 May 2026)\n", encoding="utf-8")

    assert "zeppelin" in texts(workspace, "zeppelin")[0]
    [hit] = workspace.search("bathyscaphe")
    assert (hit.kind, hit.cite, hit.when) == ("memory", "USER.md:3", datetime(2026, 5, 3, tzinfo=UTC))


def test_a_long_log_of_another_program_is_read_once_for_its_first_search(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    rows = (f'{{"cursor":{n},"timestamp":"2026-04-03 00:02","content":"Crane {n} passed."}}\n' for n in range(1, 5_001))
    (tmp_path / "ws" / "memory" / "history.jsonl").write_text("".join(rows))
    read: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            read[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        found = texts(workspace, "crane 4999")
    finally:
        sys.setprofile(None)

    assert found[0] == "Crane 4999 passed."
    assert read["lines_backwards"] < 3 * 5_000
    assert read["lines"] < 3 * 5_000  # seven times 5,000 where each part begins anew


def test_each_citation_opens_what_it_names(workspace: Workspace) -> None:
    for query in ("staging port", "HS-214", "过敏"):
        for hit in workspace.search(query):
            assert hit.text in workspace.get(hit.cite)[0].text
    [message] = workspace.search("HS-214", kinds=["message"], limit=1)
    near = workspace.get(message.cite, around=1)
    assert [hit.text for hit in near] == [TALK[1][1], TALK[2][1], TALK[3][1]]


@pytest.mark.parametrize("citation", ["user.md:1", " USER.md:1 ", "[USER.md:1]"])
def test_a_citation_is_opened_as_a_person_copies_or_types_it(workspace: Workspace, citation: str) -> None:
    assert workspace.get(citation) == workspace.get("USER.md:1")


@pytest.mark.few(2)
@pytest.mark.parametrize("citation", ["nonsense", "history:999", "USER.md:999", "archive/x.md:1", "talk#999", "#", ""])
def test_a_citation_of_nothing_is_told_in_a_sentence(workspace: Workspace, citation: str) -> None:
    with pytest.raises((UsageError, NothingThere)):
        workspace.get(citation)


def test_what_is_asked_for_is_all_that_comes(workspace: Workspace) -> None:
    assert {hit.kind for hit in workspace.search("staging port", kinds=["history"])} == {"history"}
    assert {hit.speaker for hit in workspace.search("parser open", speaker="assistant")} == {"assistant"}
    assert texts(workspace, "7391", since=date(2026, 11, 21)) == []
    assert texts(workspace, "7391", since=date(2026, 11, 20), until=date(2026, 11, 20))
    assert texts(workspace, "7391", session="another") == []
    assert texts(workspace, "7391", source="openai", kinds=["message"])


def test_a_long_text_is_listed_from_a_word_to_a_word() -> None:
    text = "before the harbour " * 30 + "Quillon listens there " + "behind the harbour " * 30
    shown = excerpt(text, "quillon")
    assert "Quillon listens there" in shown
    assert set(shown.strip("…").split()) <= set(text.split())
    assert excerpt("short", "quillon") == "short"


def test_what_is_told_twice_is_one_hit(workspace: Workspace) -> None:
    for _ in range(3):
        note.note(workspace, "the bakery opens at six", settings=SETTINGS, now=NOW)
    assert len(texts(workspace, "bakery")) == 1


def test_a_rare_word_is_among_the_first_five(tmp_path: Path) -> None:
    rows = [("user", f"the server in room {n} runs the server job of the server team") for n in range(60)]
    rows.insert(30, ("user", "by the way, quokka7 is what somebody far away once called the whole old thing"))
    made = fresh(tmp_path / "ws", NOW)
    pipeline.consolidate(made, [said(tmp_path, tuple(rows))], settings=SETTINGS, now=NOW)
    assert any("quokka7" in text for text in texts(made, "server room job team of the server quokka7")[:5])


def test_messages_stand_there_once_and_redacted(workspace: Workspace, tmp_path: Path) -> None:
    secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    more = (*TALK, ("user", f"the key is {secret}"))
    for _ in range(2):
        pipeline.consolidate(workspace, [said(tmp_path, more)], settings=SETTINGS, now=NOW)
    [path] = workspace.history.messages.paths()
    kept = [messages.decode(line) for _, line in messages.raw(path)]
    assert [one.position for one in kept if one] == list(range(len(more)))
    assert secret not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0


def test_no_git_around_the_workspace_sees_the_messages(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    made = fresh(tmp_path / "ws", NOW)
    pipeline.consolidate(made, [said(tmp_path, TALK)], settings=SETTINGS, now=NOW)
    shown = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=tmp_path, check=True, capture_output=True)
    assert made.history.messages.paths()
    assert b"messages" not in shown.stdout


def test_a_crash_between_messages_and_their_entry_keeps_each_once(workspace: Workspace, tmp_path: Path) -> None:
    [path] = workspace.history.messages.paths()
    left = messages.KeptMessage("openai:late", 0, "user", "The harbour master is called Odile")
    with path.open("ab") as file:
        file.write(messages.encode(left) + b"\n")
    again = Workspace.open(workspace.root)  # the process that comes after the crash

    entry = NewEntry("summary", "- Odile is the harbour master", "openai:late", (0, 1))
    again.history.append([entry], now=NOW, said=[left])

    assert path.read_bytes().count(b"Odile") == 1


@pytest.mark.slow
def test_what_is_forgotten_is_in_no_file_and_found_no_more(workspace: Workspace) -> None:
    assert texts(workspace, "HS-214")
    forget(workspace, "HS-214", text=True, now=NOW)
    for path in workspace.root.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            assert b"hs-214" not in path.read_bytes().lower(), path
    assert not any("HS-214" in text for text in texts(workspace, "HS-214"))


@pytest.mark.few(1)
@pytest.mark.parametrize("harm", ["gone", "garbage", "empty", "older", "of another log"])
def test_an_index_that_is_damaged_is_built_anew(workspace: Workspace, harm: str) -> None:
    before = texts(workspace, "HS-214")
    path = workspace.private / index.NAME
    if harm == "gone":
        path.unlink()
    elif harm in ("garbage", "empty"):
        path.write_bytes(b"garbage " * 3000 if harm == "garbage" else b"")
    elif harm == "older":
        with sqlite3.connect(path) as base:
            base.execute("PRAGMA user_version = 77")
    else:
        [talk] = workspace.history.messages.paths()
        talk.write_bytes(b"".join(reversed(talk.read_bytes().splitlines(keepends=True))))
    assert texts(workspace, "HS-214") == before


def test_a_workspace_that_may_only_be_read_is_searched(workspace: Workspace) -> None:
    folder = workspace.private
    (folder / index.NAME).unlink(missing_ok=True)
    (folder / index.NAME).mkdir()  # root may write anywhere; a directory is in its way
    assert "HS-214" in texts(workspace, "HS-214")[0]


def test_context_has_what_the_question_needs_and_its_beginning_stays(workspace: Workspace) -> None:
    pipeline.run(workspace, settings=SETTINGS, now=NOW)
    one, other = (workspace.context(160, query=query) for query in ("what about ticket HS-214?", "妹妹"))
    head, mark, tail = one.partition("\n## From earlier conversations\n")
    assert mark
    assert "parseHeader.ts" in tail
    assert "openai:" in tail
    assert other.startswith(head)
    assert one.startswith("<dream-memory>")
    assert one.endswith("</dream-memory>\n")


def test_what_stands_beside_an_answer_that_the_files_hold_is_left_out(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "ws", now=NOW)
    asked = "The log of staging says port 7391 again. And where does the parser live?"
    rows = (("user", "Have a look at the log, please."), ("assistant", asked), ANSWER)
    pipeline.consolidate(made, [said(tmp_path, rows)], settings=SETTINGS, now=NOW)
    pipeline.run(made, settings=SETTINGS, now=NOW)
    shown = made.context(1_000, query="里斯本")
    assert "里斯本" in shown
    assert "## From earlier conversations" not in shown


def test_the_command_line_asks_for_a_context_of_a_text_too(workspace: Workspace) -> None:
    query = "where does the parser live?"
    shown = called(workspace.root, "context", "--tokens", 120, "--for", query).out
    assert "## From earlier conversations" in shown
    assert shown == workspace.context(120, query=query)


def test_a_context_for_an_unrelated_text_recalls_nothing(workspace: Workspace) -> None:
    for query in ("what is the capital of Mongolia?", "write a haiku about the sea", "法国的首都是哪里"):
        assert "## From earlier conversations" not in workspace.context(1_000, query=query)


def test_a_line_of_the_template_and_mere_thanks_are_no_hits(workspace: Workspace, tmp_path: Path) -> None:
    rows = (("user", "who do I work for? I work for Hesperia Ferries"), ("assistant", "Got it."), ("user", "Thanks!"))
    pipeline.consolidate(workspace, [said(tmp_path, rows, "thanks")], settings=SETTINGS, now=NOW)
    found = texts(workspace, "who do I work for and what do they prefer")
    assert not {"Who I work for, and what they prefer.", "Got it.", "Thanks!"} & set(found)
    assert any("Hesperia" in text for text in found)


def test_an_excerpt_is_cut_where_most_of_the_question_stands() -> None:
    rest = "We talked about the port and its ships for a long while. " * 12
    shown = excerpt(f"{rest}The staging port of gangway is 10087 these days. {rest}", "staging port of gangway")
    assert "10087" in shown


def test_the_commands_print_hits_and_open_them(workspace: Workspace) -> None:
    found = called(workspace.root, "search", "HS-214", "--json").json
    assert set(found[0]) == {"kind", "text", "when", "until", "session", "speaker", "place", "cite", "score"}
    assert "HS-214" in called(workspace.root, "search", "HS-214").out
    assert called(workspace.root, "search", "zeppelin").status == 0
    opened = called(workspace.root, "get", found[0]["cite"], "--json").json
    assert "HS-214" in opened[0]["text"]


COMMON_WORDS = ("server", "room", "job", "team", "runs", "port", "deploy", "friday")
a_line = st.lists(st.sampled_from(COMMON_WORDS), min_size=1, max_size=8).map(" ".join)


@pytest.mark.slow
@hypothesis.given(
    lines=st.lists(a_line, min_size=12, max_size=60),
    rare=st.sampled_from(["quokka7", "HS-214", "src/app/parseHeader.ts", "7391", "10.0.0.7", "Ødegård", "里斯本"]),
    beside=a_line,
    query=a_line,
    at=st.integers(0, 11),
    kind=st.sampled_from(["message", "history", "memory"]),
)
def test_an_exact_rare_word_is_always_among_the_first_five(
    lines: list[str], rare: str, beside: str, query: str, at: int, kind: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = fresh(Path(folder) / "ws", NOW)
        talk = [messages.KeptMessage("s", n, "user", line) for n, line in enumerate(lines)]
        if kind == "message":
            talk[at] = replace(talk[at], text=f"{beside} {rare}")
        if kind == "memory":
            (made.root / "USER.md").write_text(f"# User\n\n- {beside} {rare}\n", encoding="utf-8")
        content = f"- {beside} {rare}\n- {query}" if kind == "history" else f"- {query}"
        made.history.append([NewEntry("summary", content, "s", (0, len(talk)))], now=NOW, said=talk)

        hits = made.search(f"{query} {rare} {query}")

        assert any(rare.casefold() in hit.text.casefold() for hit in hits[:5]), hits


def test_days_that_a_question_names_favour_what_was_said_then(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    months = [datetime(2026, month, 7, 12, tzinfo=UTC) for month in range(1, 11)]
    talk = [
        messages.KeptMessage(f"s{n}", 0, "user", f"We went camping by the lake, number {n}", at)
        for n, at in enumerate(months, 1)
    ]
    new = [NewEntry("nothing", "", one.session, (0, 1)) for one in talk]
    made.history.append(new, now=NOW, said=talk)

    for question, number in [
        ("where did we camp in May?", 5),
        ("camping in March 2026", 3),
        ("camping on 7 August 2026", 8),
        ("camping 2026年4月", 4),
    ]:
        assert f"number {number}" in texts(made, question)[0]


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("what did I say last week", date(2026, 11, 9), date(2026, 11, 15)),
        ("yesterday", date(2026, 11, 20), date(2026, 11, 20)),
        ("what did I eat this morning", date(2026, 11, 21), date(2026, 11, 21)),
        ("was aß ich vor drei Tagen", date(2026, 11, 18), date(2026, 11, 18)),
        ("in May 2023", date(2023, 5, 1), date(2023, 5, 31)),
        ("im März 2024", date(2024, 3, 1), date(2024, 3, 31)),
        ("2023年5月", date(2023, 5, 1), date(2023, 5, 31)),
        ("all of 2023", date(2023, 1, 1), date(2023, 12, 31)),
        ("上周二我说了什么", date(2026, 11, 10), date(2026, 11, 10)),
        ("三月份", date(2026, 3, 1), date(2026, 3, 31)),
        ("十月十二号", date(2026, 10, 12), date(2026, 10, 12)),
        ("先週の火曜日に", date(2026, 11, 10), date(2026, 11, 10)),
        ("before February", date(1970, 1, 1), date(2026, 1, 31)),
        ("between 3 October and 9 October", date(2026, 10, 3), date(2026, 10, 9)),
        ("a mediados de octubre", date(2026, 10, 9), date(2026, 10, 22)),
        ("the week before 16 November 2023", date(2023, 11, 9), date(2023, 11, 15)),
    ],
)
def test_a_query_names_a_time(query: str, first: date, last: date) -> None:
    assert ranges(query, NOW.date())[0][0][0] == (first, last)


def test_may_and_march_are_months_only_where_they_stand_as_one() -> None:
    assert ranges("may I march there", NOW.date()) == ([], 0)
    assert ranges("last March", NOW.date())[0][0][0] == (date(2026, 3, 1), date(2026, 3, 31))


def test_filters_find_what_many_others_would_hide(tmp_path: Path) -> None:
    made = fresh(tmp_path / "ws", NOW)
    talk = [messages.KeptMessage("claude-code:a", n, "user", f"deploy the server {n}", NOW) for n in range(600)]
    late = NOW - timedelta(days=9)
    other = messages.KeptMessage("codex:b", 0, "assistant", "the server, a long time after all the deploys", late, "Bo")
    new = [NewEntry("nothing", "", "claude-code:a", (0, 600)), NewEntry("nothing", "", "codex:b", (0, 1))]
    made.history.append(new, now=NOW, said=[*talk, other])
    for filters in ({"session": "codex:b"}, {"source": "codex"}, {"speaker": "bo"}, {"until": late.date()}):
        assert texts(made, "deploy server", **filters) == [other.text]


def test_of_the_commonest_words_only_the_best_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "POSTINGS", 25)
    made = fresh(tmp_path / "ws", NOW)
    lines = [f"{'yew ' if n % 10 == 0 else ''}{'oak' if n % 5 == 1 else 'elm'} number {n}" for n in range(100)]
    lines[50] += " oak and fir"
    talk = [messages.KeptMessage(f"s{n}", 0, "user", line) for n, line in enumerate(lines)]
    made.history.append([NewEntry("nothing", "", one.session, (0, 1)) for one in talk], now=NOW, said=talk)
    assert texts(made, "yew oak")[0] == lines[50]


def test_words_that_half_a_memory_holds_tell_what_is_meant_all_the_same(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "ws", now=NOW)
    rows = ["the API of the shop", "a response of the API", "what the API sends as response"] * 3
    rows += ["Tokyo is in Japan Standard Time", "I have no time today", "API response time fell from 800 to 250 ms"]
    talk = [messages.KeptMessage(f"s{n}", 0, "user", row) for n, row in enumerate(rows)]
    made.history.append([NewEntry("nothing", "", one.session, (0, 1)) for one in talk], now=NOW, said=talk)
    assert texts(made, "API response time")[0] == rows[-1]


def test_an_entry_is_found_in_the_archive_too(tmp_path: Path) -> None:
    workspace = fresh(tmp_path / "ws", NOW)
    for number in range(40):
        workspace.history.append([NewEntry("note", f"Ticket T-{number} waits for its owner.")], now=NOW)

    assert workspace.history.archive(30, 200, now=NOW)

    assert [one.cursor for one in workspace.history.numbered([40, 2, 41, 3])] == [40, 2, 3]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("你住在哪里？", "南京"),
        ("狗叫什么？", "豆豆"),
        ("测试服务器的端口是多少？", "8537"),
        ("谁负责支付模块？", "王磊"),
        ("どこに住んでいますか？", "京都"),
        ("犬の名前は何ですか？", "ハチ"),
        ("テストサーバーのポートは？", "8610"),
        ("会議はいつですか？", "木曜日"),
    ],
)
def test_chinese_and_japanese_questions_find_their_fact_first(cjk: Workspace, question: str, answer: str) -> None:
    assert answer in cjk.search(question, limit=1)[0].text


@pytest.fixture(scope="module")
def cjk(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("cjk")
    facts = [
        "我住南京，离地铁很近。",
        "我养了一只狗，叫豆豆。",
        "测试服务器的端口是8537。",
        "支付模块由王磊负责。",
        "今天这里晴，23度。",
        "什么时候都可以，谢谢。",
        "私は京都に住んでいます。",
        "犬を飼っていて、名前はハチです。",
        "テストサーバーのポートは8610です。",
        "会議は毎週木曜日の朝です。",
        "今日はいい天気ですね。",
        "itertools.pairwiseって何ですか？",
    ]
    workspace = fresh(folder / "ws", NOW)
    transcript = said(folder, tuple(("user", fact) for fact in facts))
    pipeline.consolidate(workspace, [transcript], settings=SETTINGS, now=NOW)
    return workspace


def _set(workspace: Workspace, line: str) -> None:
    (workspace.root / "dream.toml").write_text(line + "\n", encoding="utf-8")


def test_with_a_half_life_the_newer_of_two_is_found_first(workspace: Workspace, tmp_path: Path) -> None:
    old = said(
        tmp_path, (("user", "The harbour crane is painted red, and the harbour is deep."),), "old", NOW - timedelta(400)
    )
    new = said(tmp_path, (("user", "The crane is painted green."),), "new")
    pipeline.consolidate(workspace, [old, new], settings=SETTINGS, now=NOW)
    assert "red" in texts(workspace, "harbour crane painted")[0]

    assert "green" in texts(workspace, "harbour crane painted", half_life_days=30)[0]


def test_with_mmr_what_is_unlike_the_first_hit_comes_sooner(workspace: Workspace, tmp_path: Path) -> None:
    rows = (
        ("user", "The regatta starts at nine in Kiel harbour on Sunday, bring the spare sail."),
        ("assistant", "The regatta starts at nine in Kiel harbour on Sunday, noted with the sail bag."),
        ("assistant", "So the regatta starts at nine in Kiel harbour on Sunday, with tide tables."),
        ("user", "Who won the regatta? Ottoline did."),
    )
    pipeline.consolidate(workspace, [said(tmp_path, rows, "sail")], settings=SETTINGS, now=NOW)
    query = "when does the regatta start in Kiel harbour"
    before = [hit.text for hit in workspace.search(query, kinds=["message"])]
    after = [hit.text for hit in workspace.search(query, kinds=["message"], mmr=0.3)]
    won = rows[3][1]
    assert after.index(won) < before.index(won)
    assert set(after) == set(before)


@pytest.mark.few(1)
@pytest.mark.parametrize("option", [("--mmr", "0"), ("--mmr", "1.5"), ("--half-life", "-1")])
def test_a_share_or_an_age_that_is_none_is_refused(workspace: Workspace, option: tuple[str, str]) -> None:
    assert dream("search", "port", *option, "-w", workspace.root).status == 2
    assert dream("search", "port", option[0], "0.5", "-w", workspace.root).out


def _talks(folder: Path, *talks: tuple[tuple[str, str], ...]) -> Workspace:
    made = fresh(folder / "talks", NOW)
    paths = [
        said(folder, rows, f"talk-{n}", NOW - timedelta(days=2 * (len(talks) - n))) for n, rows in enumerate(talks)
    ]
    pipeline.consolidate(made, paths, settings=SETTINGS, now=NOW)
    return made


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("old", "new", "query"),
    [
        (
            "The API timeout of Heron is 450 ms.",
            "We raised the API timeout of Heron to 1200 ms.",
            "What is the API timeout of Heron?",
        ),
        (
            "We deploy Heron every Thursday.",
            "We no longer deploy Heron on Thursday; it is every Friday now.",
            "When does Heron deploy?",
        ),
        ("苍鹭的接口超时是439毫秒。", "更正一下：苍鹭的接口超时现在是1371毫秒。", "苍鹭的接口超时是多少？"),
    ],
)
def test_of_two_values_the_newer_is_found_first(tmp_path: Path, old: str, new: str, query: str) -> None:
    rest = tuple(("user", f"Number {n}: we talked of ferns and of the weather.") for n in range(8))
    made = _talks(tmp_path, (("user", old), *rest), rest, (*rest, ("user", new)))

    found = texts(made, query, kinds=["message"])
    assert found[0] == new
    assert old in found or "Thursday" in old  # all of which the newer tells; another number is another thing


def test_what_is_said_after_a_question_counts_as_its_answer(tmp_path: Path) -> None:
    talk = (
        ("user", "The ferry to Kiel was late."),
        ("assistant", "Which ferry did you take to Kiel in the end?"),
        ("user", "Mostly the Hesperia."),
        ("assistant", "Kiel is lovely."),
    )
    rest = tuple(("user", f"Number {n}: we talked of ferns and of the weather.") for n in range(8))
    found = texts(_talks(tmp_path, talk, rest, rest), "which ferry did I take to Kiel", kinds=["message"])

    assert found.index(talk[2][1]) < found.index(talk[3][1])


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ("What is the user's job?", "I'm a beekeeper at Tolland.", "I left Tolland, it was time for something else."),
        ("Where do I live?", "Our house is in Ghent.", "We've just moved to Porto, what a week."),
        ("Which editor do I use?", "I use Sublime as my editor.", "I've switched from Sublime to Nano."),
        ("Wo wohne ich?", "Ich wohne jetzt in Jena.", "Wir sind letzte Woche nach Celle umgezogen."),
        ("Quel est mon métier ?", "Je suis menuisier chez Delorme.", "Je travaille comme fleuriste maintenant."),
        ("¿Dónde vive el usuario?", "Vivo en Cuenca con mi hermana.", "Nos hemos mudado a Lugo."),
        ("用户做什么工作？", "我在青山小学当老师。", "我上个月入职了白鹭银行。"),
        ("用户住在哪里？", "我家在苏州。", "我们刚搬到无锡。"),
        ("ユーザーの仕事は何ですか？", "私は青葉病院で働いています。", "先月、みどり商事に転職しました。"),
    ],
)
def test_what_somebody_tells_of_himself_is_found_without_a_word_of_the_question(
    tmp_path: Path, query: str, old: str, new: str
) -> None:
    rest = tuple(("user", f"Number {n}: we talked of ferns, 天气, and of the weather.") for n in range(8))
    decoys = (
        ("user", "If I lived in Turin, my editor would work at night."),
        ("user", "如果我住在昆明，我就在船上工作。"),
        ("assistant", "I'm a language model at work, and I live in the cloud."),
    )
    first = _talks(tmp_path, (("user", old), *rest), (*rest, *decoys))
    assert texts(first, query, kinds=["message"])[0] == old

    (tmp_path / "later").mkdir()
    both = _talks(tmp_path / "later", (("user", old), *rest), (*rest, *decoys), (*rest, ("user", new)))
    assert texts(both, query, kinds=["message"])[:2] == [new, old]


def test_a_question_about_another_is_not_answered_by_what_the_user_does(tmp_path: Path) -> None:
    rest = tuple(("user", f"Number {n}: we talked of ferns and of the weather.") for n in range(8))
    made = _talks(tmp_path, (("user", "I work as a beekeeper."), ("user", "My sister's job is at the harbour."), *rest))
    assert "harbour" in texts(made, "What is my sister's job?", kinds=["message"])[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("which sport do I do?", "climbing"),
        ("do I have an allergy?", "allergic"),
        ("which language have I learnt?", "Welsh"),
    ],
)
def test_what_is_spoken_of_together_is_found(tmp_path: Path, query: str, found: str) -> None:
    talk = (
        ("user", "On Tuesdays I go climbing."),
        ("user", "I am allergic to hazelnuts."),
        ("user", "I've started to learn Welsh."),
        *(("user", f"Number {n}: the weather was fine and we went on.") for n in range(8)),
    )
    assert found in texts(_talks(tmp_path, talk), query, kinds=["message"])[0]


def test_what_a_person_says_comes_before_a_tools_output_and_an_agents_echo(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "tools.jsonl"
    call = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": '{"path": "walrus.txt"}'}}
    rows = (
        {"role": "user", "content": "Look at the walrus notes, please."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": "Read", "content": "walrus notes: the walrus pool"},
        {"role": "assistant", "content": "The walrus notes name the walrus pool."},
        {"role": "user", "content": "I read the walrus notes at the pool in Ghent."},
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pipeline.consolidate(workspace, [path], settings=SETTINGS, now=NOW)

    first = workspace.search("where did I read the walrus notes?", kinds=["message"])[0]
    assert first.text == rows[-1]["content"]
    recalled = workspace.context(1_000, query="walrus notes")
    assert "Ghent" in recalled
    assert "→" not in recalled
