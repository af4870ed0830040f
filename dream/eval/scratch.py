"""A scratch workspace, and the nights that are dreamt in it: the same pipeline as every night, on dated sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from dream import pipeline, transcripts
from dream.dreaming.dreamer import Models
from dream.errors import ModelError, SpendingLimit
from dream.eval.conversation import Conversation, Session
from dream.eval.metric import CHARS, cut
from dream.llm.model import ChatMessage, Completion, Model, Tool
from dream.llm.open import open_model
from dream.llm.spending import Meter
from dream.models import MEMORY_FILES, ConsolidateReport, Diagnostic, Kept, MemoryFile, RunReport, Usage
from dream.settings import Job, Settings
from dream.workspace.trace import Origin, origins
from dream.workspace.workspace import Workspace

# A model that is listened to: what it was asked is noted, and nothing else is different.


JOBS: tuple[Job, ...] = ("consolidator", "phase1", "phase2")


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt as it was sent: the tools first, as providers put them, then the messages in order."""

    job: Job
    prompt: str
    first: bool  # of its conversation: it has no answer of the model in it


class Listening:
    """`model`, with every prompt appended to `heard`. It is a `dream.llm.model.Model`."""

    def __init__(self, model: Model, job: Job, heard: list[Asked]) -> None:
        self._model = model
        self._job = job
        self._heard = heard
        self.name = model.name
        self.window = model.window
        self.max_output = model.max_output

    def count(self, text: str) -> int:
        return self._model.count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        prompt = [tool.name + tool.description for tool in tools]
        prompt += [f"{message.role}\n{message.content}\n" for message in messages]
        first = all(message.role in ("system", "user") for message in messages)
        self._heard.append(Asked(self._job, "\n".join(prompt), first))
        return self._model.complete(messages, tools=tools, max_tokens=max_tokens)


def shared(prompts: Iterable[str]) -> float | None:
    """Return the share, 0 to 1, of each prompt's characters that begin the one before it too; None of fewer than two.

    This is the most that a provider's prompt cache can serve from one dream to the next.
    """
    sizes = [(_common(one, other), len(other)) for one, other in pairwise(prompts)]
    return sum(same for same, _ in sizes) / max(1, sum(size for _, size in sizes)) if sizes else None


def _common(one: str, other: str) -> int:
    """Count the characters that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


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


# What is left of a conversation after its nights: everything that the measures look at, as values.


@dataclass(frozen=True, slots=True)
class Again:
    """What a second look at the same transcripts did: all of it must be nothing."""

    calls: int
    commits: int
    entries: int
    changed: int  # files


@dataclass(frozen=True, slots=True)
class Remembered:
    """A conversation, and what memory holds of it.

    `contexts` are what an agent gets of `Workspace.context` at each size in tokens; `messages` is the id of the
    message at each (session, position).
    """

    conversation: Conversation
    contexts: Mapping[int, str]
    files: Mapping[MemoryFile, str]
    archive: Sequence[str]
    summaries: Sequence[str]
    origins: Sequence[Origin]
    messages: Mapping[tuple[str, int], str]
    nights: Sequence[Night]
    kept: Kept
    again: Again

    @property
    def memory(self) -> str:
        """USER.md, MEMORY.md and SOUL.md, one after the other."""
        return "\n".join(self.files[name] for name in ("USER.md", "memory/MEMORY.md", "SOUL.md"))


def remember(
    conversation: Conversation, scratch: Scratch, sizes: Sequence[int], *, each: int = 1, tell: Tell
) -> Remembered:
    """Feed a conversation to a fresh workspace, `each` sessions a night, and look at what is left."""
    sessions = conversation.sessions
    for start in range(0, len(sessions), each):
        tell(f"{conversation.name}: session {start + 1} of {len(sessions)}")
        scratch.night(sessions[start : start + each])
    contexts = {size: context(scratch, size) for size in sizes}
    return Remembered(
        conversation=conversation,
        contexts=contexts,
        files=scratch.files(),
        archive=scratch.archive(),
        summaries=scratch.summaries(),
        origins=origins(scratch.workspace),
        messages=dict(scratch.messages),
        nights=tuple(scratch.nights),
        kept=scratch.kept,
        again=_again(scratch),  # last: it dreams
    )


def context(scratch: Scratch, size: int) -> str:
    """Return what an agent gets of memory within `size` tokens, counted as the measures count them."""
    return scratch.workspace.context(size, count=lambda text: -(-len(text) // CHARS))


def at(summaries: Sequence[str], size: int) -> str:
    """Cut history to `size` tokens: the first lines of each entry, as much of each as its share of the whole."""
    whole = sum(map(len, summaries)) + len(summaries)
    share = min(1.0, CHARS * size / max(1, whole))
    if share == 1.0:
        return "\n".join(summaries)
    return "\n".join(cut(text, max(1, int(len(text) * share / CHARS))) for text in summaries)


def _again(scratch: Scratch) -> Again:
    """Read every transcript once more, a night later; call it after everything else was looked at."""
    before, made = scratch.files(), len(scratch.workspace.git.log())
    night = scratch.again()
    after = scratch.files()
    return Again(
        calls=len(night.asked),
        commits=len(scratch.workspace.git.log()) - made,
        entries=0 if night.consolidated.entries is None else 1,
        changed=sum(before[file] != after[file] for file in before),
    )
