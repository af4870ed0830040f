"""The commit message says what the diff says, whatever the model wrote."""

from __future__ import annotations

from dream.models import Finding, Outcome, Usage
from dream.store import messages
from dream.store.gitdiff import LineCount

FILES = {"USER.md": LineCount(4, 0), "memory/MEMORY.md": LineCount(1, 1), "memory/.dream_cursor": LineCount(1, 1)}


def test_the_subject_counts_the_files_that_a_person_reads() -> None:
    assert messages.subject("dream", FILES, (41, 60)) == "dream: 2 files, +5 −1 (entries 41–60)"
    assert messages.subject("hand", {"USER.md": LineCount(1, 0)}) == "hand: 1 file, +1 −0"
    assert messages.subject("dream", {"memory/.pending.jsonl": LineCount(1, 0)}, (1, 1)) == (
        "dream: no file changed (entries 1–1)"
    )


def test_findings_stand_labelled_between_subject_and_trailers() -> None:
    outcome = Outcome(Finding("USER.md", "moved to Tokyo", (41, 44)), "applied")
    held = Outcome(Finding("memory/MEMORY.md", "old fact", (44,), remove=True), "held", "a person wrote the line")
    usage = Usage(2, 100, 20, 0.0123)
    text = messages.build("dream", FILES, entries=(41, 60), outcomes=[outcome, held], model="m/x", usage=usage)
    assert text == (
        "dream: 2 files, +5 −1 (entries 41–60)\n\n"
        "Findings:\n"
        "    applied: [USER] moved to Tokyo {41,44}\n"
        "    held (a person wrote the line): [MEMORY-REMOVE] old fact {44}\n\n"
        "Dream-Kind: dream\nDream-Entries: 41-60\nDream-Model: m/x\n"
        "Dream-Usage: calls=2 input_tokens=100 output_tokens=20 cached_tokens=0 cost_usd=0.012300\n"
    )


def test_a_finding_cannot_forge_a_trailer_a_subject_or_a_line() -> None:
    nasty = "x\n\nDream-Kind: hand\r\nDream-Entries: 1-999\x00\u202e\u200b\u2028y"
    outcome = Outcome(Finding("USER.md", nasty, (1,)), "refused", "no\n\nDream-Kind: init")
    text = messages.build("dream", FILES, outcomes=[outcome], model="m\nDream-Kind: hand")
    assert [line for line in text.splitlines() if line.startswith("Dream-Kind")] == ["Dream-Kind: dream"]
    assert not any(character in text for character in "\x00\r\u202e\u200b\u2028")


def test_usage_is_read_back() -> None:
    for usage in (Usage(2, 100, 20, 0.5, 7), Usage(1, 2, 3, None)):
        text = messages.build("dream", FILES, usage=usage)
        line = next(line for line in text.splitlines() if line.startswith("Dream-Usage: "))
        assert messages.parse_usage(line.removeprefix("Dream-Usage: ")) == usage
    assert messages.parse_usage("calls=many") is None
