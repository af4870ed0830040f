"""A scratch workspace, and the nights that are dreamt in it: the same pipeline as every night, on dated sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dream import pipeline, transcripts
from dream.dreaming.dreamer import Models
from dream.errors import ModelError, SpendingLimit
from dream.eval.conversation import Session
from dream.eval.listening import JOBS, Asked, Listening
from dream.llm.open import open_model
from dream.llm.spending import Meter
from dream.models import MEMORY_FILES, Diagnostic, Kept, MemoryFile, Usage
from dream.reports import ConsolidateReport, RunReport
from dream.settings import Settings
from dream.store.workspace import Workspace

Tell = Callable[[str], None]

_TOML = 'durable = false\ntimezone = "UTC"\n'  # a scratch workspace need not outlive a power cut


@dataclass(frozen=True, slots=True)
class Night:
    """One night: what was appended to history, what was dreamt, what the models were asked, and how long it took.

    `files` are the memory files as the night left them.
    """

    consolidated: ConsolidateReport
    run: RunReport
    asked: tuple[Asked, ...]
    seconds: float
    files: Mapping[MemoryFile, str]
    usage: Usage


@dataclass(slots=True)
class Scratch:
    """A workspace of its own for one conversation, in the directory `root`."""

    root: Path
    settings: Settings
    meter: Meter  # of the whole evaluation: a run's bounds are its bounds
    nights: list[Night] = field(default_factory=list)
    messages: dict[tuple[str, int], str] = field(default_factory=dict)  # (session, position) → the message's id
    transcripts: list[Path] = field(default_factory=list)
    last: datetime | None = None
    workspace: Workspace = field(init=False)

    def __post_init__(self) -> None:
        (self.root / "ws").mkdir(parents=True)
        (self.root / "ws" / "dream.toml").write_text(_TOML.replace("\\\n", "\n"), encoding="utf-8")
        self.workspace = Workspace(self.root / "ws")
        self.workspace.complete(datetime(2000, 1, 1, tzinfo=UTC))

    def night(self, sessions: Sequence[Session]) -> Night:
        """Consolidate `sessions` and dream, at three in the morning after the last of them.

        Raises SpendingLimit at a bound, and ModelError when the first dream fails; a later one that fails is noted.
        """
        paths = [self._written(session) for session in sessions]
        self.transcripts += paths
        self.last = _three(max(session.at for session in sessions))
        night = self._dream(paths, self.last)
        self.nights.append(night)
        return night

    def again(self) -> Night:
        """Read all transcripts again, a day after the last night, and dream."""
        assert self.last is not None
        return self._dream(self.transcripts, self.last + timedelta(days=1))

    def _dream(self, paths: Sequence[Path], now: datetime) -> Night:
        heard: list[Asked] = []
        begun = time.perf_counter()
        mark = self.meter.mark()
        consolidator, phase1, phase2 = (
            Listening(open_model(self.settings, job, self.meter), job, heard) for job in JOBS
        )
        read = pipeline.consolidate(self.workspace, paths, settings=self.settings, now=now, model=consolidator)
        if read.failed:
            raise SpendingLimit(read.reason)
        models = Models(phase1, phase2, self.meter)
        ran = pipeline.run(self.workspace, settings=self.settings, now=now, models=models)
        if ran.outcome == "failed" and not any(night.run.batches for night in self.nights):
            raise ModelError(ran.reason)  # the first dream: so would be all others
        seconds = time.perf_counter() - begun
        return Night(read, ran, tuple(heard), seconds, self.files(), self.meter.since(mark))

    def files(self) -> dict[MemoryFile, str]:
        """Return the memory files as they stand."""
        return {file: self.workspace.read_file(file) for file in MEMORY_FILES}

    def archive(self) -> list[str]:
        """Return what memory was too large for: the Markdown files of its archive."""
        return [path.read_text(encoding="utf-8") for path in sorted((self.workspace.memory / "archive").glob("*.md"))]

    def summaries(self) -> list[str]:
        """Return what stands in history, an entry each."""
        return [entry.content for entry in self.workspace.history.after(0) if entry.content]

    @property
    def kept(self) -> Kept:
        """The exact things that users said, and how many of them history has, before and after the tail."""
        return sum((night.consolidated.kept for night in self.nights), Kept())

    def _written(self, session: Session) -> Path:
        """Write a session as a transcript, and note which message stands at which position when it is read back."""
        path = self.root / f"{session.key}.jsonl"
        rows = [
            {
                "session_id": session.key,
                "id": message.id,
                "role": message.role,
                "timestamp": message.at.isoformat() if message.at else None,
                "content": message.content,
            }
            | ({"name": message.name} if message.name else {})
            | ({"tool_call_id": message.answers} if message.answers else {})
            | ({"tool_calls": [_call(one) for one in message.calls]} if message.calls else {})
            for message in session.messages
        ]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        counted: dict[str, int] = {}
        for key, message in transcripts.read(path, format="openai", zone=UTC, report=_silent):
            position = counted[key] = counted.get(key, -1) + 1
            self.messages[key, position] = message.id or ""
        return path


def _call(identity: str) -> dict[str, object]:
    return {"id": identity, "type": "function", "function": {"name": "tool", "arguments": "{}"}}


def _three(evening: datetime) -> datetime:
    night = evening.astimezone(UTC).replace(hour=3, minute=0, second=0, microsecond=0)
    return night if night > evening else night + timedelta(days=1)


def _silent(diagnostic: Diagnostic) -> None:
    """The pipeline reads the same file and tells."""
