"""The commit message says what the diff says, whatever the model wrote."""

from __future__ import annotations

from dream.models import Finding, Outcome
from dream.reports import LineCount, Usage
from dream.text.topics import topics
from dream.versions import log
from dream.versions.rewrite import Needle

FILES = {"USER.md": LineCount(4, 0), "memory/MEMORY.md": LineCount(1, 1), "memory/.dream_cursor": LineCount(1, 1)}


def test_the_subject_counts_the_files_that_a_person_reads() -> None:
    assert log.subject("dream", FILES, (41, 60)) == "dream: 2 files, +5 −1 (entries 41–60)"
    assert log.subject("hand", {"USER.md": LineCount(1, 0)}) == "hand: 1 file, +1 −0"
    assert log.subject("dream", {"memory/.pending.jsonl": LineCount(1, 0)}, (1, 1)) == (
        "dream: no file changed (entry 1)"
    )


def test_a_dream_is_named_for_what_it_applied_rules_first_in_a_few_words() -> None:
    findings = [
        Finding("USER.md", "“I moved to Lisbon [7–8 November 2026]” (13 November 2026)", (1,)),
        Finding("SOUL.md", "Never run a migration without asking me first, whatever the tests say", (1,)),
        Finding("memory/MEMORY.md", "Lives in Porto", (1,), remove=True),
    ]
    applied = [Outcome(finding, "applied") for finding in findings]
    assert log.subject("dream", FILES, (41, 60), outcomes=applied, sessions=2) == (
        "dream: 2 lines from 2 sessions: Lisbon, … (entries 41–60)"
    )
    assert log.subject("dream", FILES, (41, 60), outcomes=applied[:1], sessions=1) == (
        "dream: 1 line from 1 session: I moved to Lisbon (entries 41–60)"
    )
    moved = Outcome(Finding("USER.md", "It was 2 March [2 March 2027], it is 3 March", (1,)), "applied")
    assert log.subject("dream", FILES, outcomes=[moved]) == "dream: 1 line: It was 2 March, it is 3 March"
    assert log.subject("dream", FILES, outcomes=applied[1:2]) == (
        "dream: 1 line: Never run a migration without asking me first…"
    )
    assert log.subject("dream", FILES, outcomes=applied[2:]) == "dream: 1 line removed: Lives in Porto"


def test_a_change_is_named_by_the_names_in_its_lines_and_by_no_day() -> None:
    lines = [
        "Crumb runs on FastAPI with SQLite",
        "Marta owns the product since Monday, 2 November",
        "Die Abnahme macht Frau Özdemir am Freitag",
        "the ticket is HS-214",
        "Prefers tea",
    ]
    assert topics(lines, 4) == ["FastAPI", "Abnahme", "HS-214", "…"]
    assert topics(["Prefers tea", "我对花生过敏"]) == []


def test_what_moved_to_the_archive_stands_in_the_body() -> None:
    moved = log.Moved("memory/MEMORY.md", "memory/archive/MEMORY-2026-11.md", ("- went swimming",))
    text = log.build("dream", FILES, moved=[moved])
    assert (
        "Moved from memory/MEMORY.md to memory/archive/MEMORY-2026-11.md, for it was over its budget:\n"
        "    - went swimming\n"
    ) in text


def test_of_a_forgotten_finding_not_even_its_beginning_stays_in_the_subject() -> None:
    outcome = Outcome(Finding("USER.md", "Has an account at Bank of Oslo, of which nobody else knows", (1,)), "applied")
    text = log.build("dream", FILES, entries=(3, 4), outcomes=[outcome, outcome], sessions=1)
    scrubbed = Needle(["Has an account at Bank of Oslo, of which nobody else knows"]).message(text)
    assert scrubbed.splitlines()[0] == "dream: 2 lines from 1 session: [forgotten] (entries 3–4)"
    assert "Oslo" not in scrubbed


def test_findings_stand_labelled_between_subject_and_trailers() -> None:
    outcome = Outcome(Finding("USER.md", "moved to Tokyo", (41, 44)), "applied")
    held = Outcome(Finding("memory/MEMORY.md", "old fact", (44,), remove=True), "held", "a person wrote the line")
    usage = Usage(2, 100, 20, 0.0123)
    text = log.build("dream", FILES, entries=(41, 60), outcomes=[outcome, held], model="m/x", usage=usage)
    assert text == (
        "dream: 1 line: moved to Tokyo (entries 41–60)\n\n"
        "Findings:\n"
        "    applied: [USER] moved to Tokyo {41,44}\n"
        "    held (a person wrote the line): [MEMORY-REMOVE] old fact {44}\n\n"
        "Dream-Kind: dream\nDream-Entries: 41-60\nDream-Model: m/x\n"
        "Dream-Usage: calls=2 input_tokens=100 output_tokens=20 cached_tokens=0 cost_usd=0.012300\n"
    )


def test_a_finding_cannot_forge_a_trailer_a_subject_or_a_line() -> None:
    nasty = "x\n\nDream-Kind: hand\r\nDream-Entries: 1-999\x00\u202e\u200b\u2028y"
    outcome = Outcome(Finding("USER.md", nasty, (1,)), "refused", "no\n\nDream-Kind: init")
    text = log.build("dream", FILES, outcomes=[outcome], model="m\nDream-Kind: hand")
    assert [line for line in text.splitlines() if line.startswith("Dream-Kind")] == ["Dream-Kind: dream"]
    assert not any(character in text for character in "\x00\r\u202e\u200b\u2028")


def test_usage_is_read_back() -> None:
    for usage in (Usage(2, 100, 20, 0.5, 7), Usage(1, 2, 3, None)):
        text = log.build("dream", FILES, usage=usage)
        line = next(line for line in text.splitlines() if line.startswith("Dream-Usage: "))
        assert log.parse_usage(line.removeprefix("Dream-Usage: ")) == usage
    assert log.parse_usage("calls=many") is None
