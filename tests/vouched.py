"""What tests of guards need: an entry whose lines somebody said, and a desk on which its findings are edited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dream.dreaming.editing import Editing
from dream.dreaming.evidence import BatchEvidence, Heard, gather
from dream.dreaming.guards import Protected
from dream.models import MEMORY_FILES, Entry, EntryLine, Finding, MemoryFile, Rejected, Voice
from dream.provenance.copied import OwnText
from dream.settings import Settings

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def evidence(*user: str, cursor: int = 1, said: datetime | None = None, **others: Sequence[str]) -> BatchEvidence:
    """Return what an entry vouches for whose lines are messages of the user's, and of `tool=`, `pasted=`, `agent=`."""
    voices: list[tuple[str, Voice]] = [(text, "user") for text in user]
    voices += [(text, voice) for voice, texts in others.items() for text in texts]  # type: ignore[misc]
    rows = tuple((text, EntryLine((place,), voice)) for place, (text, voice) in enumerate(voices))
    content = "\n".join(text for text, _ in rows)
    entry = Entry("summary", content, said=said, lines=tuple(line for _, line in rows), cursor=cursor, at=NOW)
    return gather([Heard(entry, rows, (), tuple(map(OwnText, user)))])


def protected(
    files: dict[MemoryFile, str] | None = None,
    heard: BatchEvidence | None = None,
    *,
    person: dict[MemoryFile, frozenset[str]] | None = None,
    rejected: Sequence[Rejected] = (),
) -> Protected:
    """Return what the guards must know of files and evidence."""
    before: dict[MemoryFile, str] = dict.fromkeys(MEMORY_FILES, "") | (files or {})
    return Protected(before, person or {}, rejected, heard or evidence())


def desk(findings: Sequence[Finding], known: Protected, settings: Settings | None = None) -> Editing:
    """Return the desk on which findings are edited, each rule in the user's own words where it points at some."""
    written, rules = known.evidence.in_own_words(findings, known.before)
    values = (known.before, known.person_lines, known.rejected, known.evidence, rules, known.learnt)
    return Editing(written, Protected(*values), settings or Settings())
