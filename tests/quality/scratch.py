"""A scratch workspace, and the nights that are dreamt in it: the same pipeline as every night, on dated sessions."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dream import errors, pipeline, transcripts
from dream.consolidate.reread import Rereading
from dream.directory import Workspace
from dream.door import make_folder, open_file
from dream.dreaming.dreamer import Models
from dream.errors import ModelError, SpendingLimit, UsageError
from dream.llm import ChatMessage, Completion, Model, Tool, ToolCall
from dream.llm.spending import FREE, Meter, Reservation, open_model
from dream.memory import like
from dream.models import Diagnostic, MemoryFile, Message
from dream.reports import ConsolidateReport, RunReport, Usage
from dream.settings import JOBS, Job, Settings
from dream.text import tokens
from dream.text.tokens import estimate
from dream.versions.log import new_batch
from dream.versions.trace import Origin, origins
from tests.quality import Conversation, Sitting
from tests.quality.metric import cut

Tell = Callable[[str], None]

FIRST = 5  # hits that a person looks at
_TOML = 'durable = false\ntimezone = "UTC"\n'  # a scratch workspace need not outlive a power cut


@dataclass(frozen=True, slots=True)
class Night:
    """One night: what was appended to history, what was dreamt, what it cost, and the memory files as it left them."""

    consolidated: ConsolidateReport
    run: RunReport
    seconds: float
    files: Mapping[MemoryFile, str]
    usage: Usage


@dataclass(slots=True)
class Scratch:
    """A workspace of its own for one conversation, in the directory `root`."""

    root: Path
    settings: Settings
    meter: Meter  # of the whole evaluation: a run's bounds are its bounds
    recording: Recording | None = None
    reader: Settings | None = None  # with them all is read again after the last night, as by `dream reread`
    nights: list[Night] = field(default_factory=list)
    messages: dict[tuple[str, int], str] = field(default_factory=dict)  # (session, position) → the message's id
    transcripts: list[Path] = field(default_factory=list)
    last: datetime | None = None
    workspace: Workspace = field(init=False)

    def __post_init__(self) -> None:
        make_folder(self.root / "ws")
        (self.root / "ws" / "dream.toml").write_text(_TOML, encoding="utf-8")
        self.workspace = Workspace(self.root / "ws")
        self.workspace.complete(datetime(2000, 1, 1, tzinfo=UTC))

    def night(self, sessions: Sequence[Sitting]) -> Night:
        """Consolidate `sessions` and dream, at three in the morning after the last of them.

        Raises SpendingLimit at a bound, and ModelError when the first dream fails; a later one that fails is noted.
        """
        paths = [self.written(session) for session in sessions]
        self.transcripts += [path for path in dict.fromkeys(paths) if path not in self.transcripts]
        self.last = _three(max(session.at for session in sessions))
        night = self._dream(paths, self.last)
        self.nights.append(night)
        return night

    def reread(self) -> None:
        """Read all kept messages again with the reader's settings, on the day after the last night, and dream it."""
        if self.reader is None or self.last is None:
            return
        self.settings, self.last = self.reader, self.last + timedelta(days=1)
        wanted = Rereading(batch=new_batch())
        consolidator, phase1, phase2 = (self._model(job) for job in JOBS)
        read = pipeline.reread(self.workspace, wanted, settings=self.settings, now=self.last, model=consolidator)
        models = Models(phase1, phase2, self.meter)
        ran = pipeline.run(self.workspace, settings=self.settings, now=self.last, models=models)
        if read.failed or ran.outcome == "failed":
            raise ModelError(read.reason or ran.reason)

    def again(self) -> Again:
        """Read all transcripts again, a day after the last night, and dream; call it after every other measure."""
        assert self.last is not None
        before, made = self.files(), len(self.workspace.git.log())
        night = self._dream(self.transcripts, self.last + timedelta(days=1))
        return Again(
            calls=night.usage.calls,
            commits=len(self.workspace.git.log()) - made,
            entries=0 if night.consolidated.entries is None else 1,
            files=sum(before.get(file) != text for file, text in night.files.items()),
        )

    def _dream(self, paths: Sequence[Path], now: datetime) -> Night:
        begun, mark = time.perf_counter(), self.meter.mark()
        consolidator, phase1, phase2 = (self._model(job) for job in JOBS)
        read = pipeline.consolidate(self.workspace, paths, settings=self.settings, now=now, model=consolidator)
        if read.failed:
            raise SpendingLimit(read.reason)
        models = Models(phase1, phase2, self.meter)
        ran = pipeline.run(self.workspace, settings=self.settings, now=now, models=models)
        if self.recording is not None and self.recording.missed is not None:
            raise self.recording.missed
        if ran.outcome == "failed" and not any(night.run.batches for night in self.nights):
            raise ModelError(ran.reason)  # the first dream: so would be all others
        return Night(read, ran, time.perf_counter() - begun, self.files(), self.meter.since(mark))

    def _model(self, job: Job) -> Model:
        if self.recording is not None:
            return self.recording.model(self.settings, job, self.meter)
        return open_model(self.settings, job, self.meter)

    def files(self) -> dict[MemoryFile, str]:
        """Return the memory files as they stand, those of a group chat too."""
        return {file: self.workspace.read_file(file) for file in self.workspace.files()}

    def context(self, size: int) -> str:
        """Return what an agent is given, in the group chat where the conversation is one."""
        return self.workspace.context(size, place=self._place())

    def _place(self) -> str:
        """Return the name of the group chat that the conversation is; "" for none."""
        return next((place.name for place in self.workspace.places().all()), "")

    def hits(self, question: str) -> str:
        """Return the first hits of a search, each on a line."""
        hits = self.workspace.search(question, limit=FIRST, place=self._place())
        return "\n".join(" ".join(hit.text.split()) for hit in hits)

    def summaries(self) -> list[str]:
        """Return the contents of history, one per entry."""
        return [entry.content for entry in self.workspace.history.after(0) if entry.content]

    def written(self, session: Sitting) -> Path:
        """Write a session as a transcript, and note the position at which each message is read back.

        A sitting of a session that has begun is appended to its transcript.
        """
        path = self.root / f"{filed(session.key)}.jsonl"
        rows = [{"session_id": session.key, **_row(message)} for message in session.messages]
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        counted: dict[str, int] = {}
        for key, message in transcripts.read(path, format="openai", zone=UTC, report=_silent):
            position = counted[key] = counted.get(key, -1) + 1
            self.messages[key, position] = message.id or ""
        return path


def filed(name: str) -> str:
    """Return a dataset's `name` as a safe file name."""
    return re.sub(r"[^\w.-]+", "-", name).lstrip(".") or "-"


def _row(message: Message) -> dict[str, Any]:
    """Return a message as a line of a transcript has it, without the fields that it lacks."""
    row = {
        "id": message.id,
        "role": message.role,
        "timestamp": message.at.isoformat() if message.at else None,
        "content": message.content,
    }
    more = {
        "name": message.name,
        "tool_call_id": message.answers,
        "tool_calls": [_call(one) for one in message.calls],
    }
    return row | {name: value for name, value in more.items() if value}


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
    """What a second look at the same transcripts did: it must have done nothing."""

    calls: int
    commits: int
    entries: int
    files: int  # changed


@dataclass(frozen=True, slots=True)
class Remembered:
    """A conversation, and what memory holds of it.

    `contexts` are what an agent gets of `Workspace.context` at each size in tokens; `messages` is the id of the
    message at each (session, position), `hits` what a search finds first for each question of a dialogue.
    """

    conversation: Conversation
    contexts: Mapping[int, str]
    files: Mapping[MemoryFile, str]
    summaries: Sequence[str]
    origins: Sequence[Origin]
    messages: Mapping[tuple[str, int], str]
    hits: Mapping[str, str]
    nights: Sequence[Night]
    again: Again

    def text(self, name: MemoryFile) -> str:
        """Return the text of a memory file, and of that of a group chat behind it."""
        return "\n".join(text for file, text in self.files.items() if like(file) == name)

    def texts(self) -> dict[str, str]:
        """Return each kind of text by its name: what agents get first, the conversation's references last."""
        whole = "\n".join(map(self.text, ("USER.md", "memory/MEMORY.md", "SOUL.md")))
        texts = {f"memory, {size:,}": text for size, text in self.contexts.items()}
        texts |= {f"its files cut, {size:,}": cut(whole, size) for size in self.contexts}
        texts |= {f"history, {size:,}": _first_lines(self.summaries, size) for size in self.contexts}
        return texts | {"history, whole": "\n".join(self.summaries)} | dict(self.conversation.references)


def remember(conversation: Conversation, scratch: Scratch, sizes: Sequence[int], tell: Tell) -> Remembered:
    """Feed a conversation to a fresh workspace, a session a night, and look at what is left."""
    for number, session in enumerate(conversation.sessions, 1):
        tell(f"{conversation.name}: session {number} of {len(conversation.sessions)}")
        scratch.night([session])
    scratch.reread()
    return Remembered(
        conversation=conversation,
        # counted as the measures count
        contexts={size: scratch.context(size) for size in sizes},
        files=scratch.files(),
        summaries=scratch.summaries(),
        origins=origins(scratch.workspace),
        messages=dict(scratch.messages),
        hits={row.says: scratch.hits(row.says) for row in conversation.gold.asked} if conversation.gold else {},
        nights=tuple(scratch.nights),
        again=scratch.again(),  # last: it dreams
    )


def _first_lines(summaries: Sequence[str], size: int) -> str:
    """Cut history to `size` tokens: the first lines of each entry, as much of each as its share of the whole."""
    sizes = list(map(estimate, summaries))
    share = min(1.0, size / max(1, sum(sizes)))
    if share == 1.0:
        return "\n".join(summaries)
    return "\n".join(cut(text, max(1, int(own * share))) for text, own in zip(summaries, sizes, strict=True))


# Recorded model calls: asked once of a model that costs, answered from a file as often as the pipeline changes.
#
# One JSON object a line: `key`, a hash of the model, the messages and the tools; the request, for a person to read; and
# the answer, or the error that the call ended in.


@dataclass(frozen=True, slots=True)
class _RecordedCall:
    """One line of a recording; `answer` is a completion's fields, or `error` a ModelError's class, text and usage."""

    key: str
    job: Job
    model: str
    window: int
    max_output: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[str]
    answer: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


class Recording:
    """The calls in the file `path`. With `ask`, a request that it lacks is asked of the model and appended.

    A request that is made again in one evaluation gets its next answer, so that a retry is replayed as it was. The
    free `embedded` model is not recorded: it answers the same again anyway. Raises UsageError for a file that cannot
    be read, or that is no recording.
    """

    def __init__(self, path: Path, *, ask: bool) -> None:
        self._path, self._ask = path, ask
        self._lock = threading.Lock()
        self._given: Counter[str] = Counter()
        self._calls = self._read()
        self.missed: UsageError | None = None  # the first request that a replay lacked

    def settings(self, settings: Settings) -> Settings:
        """Return the settings; those of a replay name the models that answered."""
        models: dict[str, Any] = {} if self._ask else {f"{call.job}_model": call.model for call in self._firsts()}
        return replace(settings, **models)

    def model(self, settings: Settings, job: Job, meter: Meter) -> Model:
        """Open the model for `job`: the live one behind the recording, or in a replay the recording alone."""
        name = settings.model_for(job)
        if self._ask or name == FREE:
            live = open_model(settings, job, meter)
            return live if name == FREE else _Recorded(self, job, meter, name, live.window, live.max_output, live)
        for call in self._firsts():
            if call.job == job:
                return _Recorded(self, job, meter, name, call.window, call.max_output)
        raise UsageError(
            f"{self._path} holds no call of {job}; let `embedded` do that job: --set {job}_model=embedded."
        )

    def take(self, key: str) -> _RecordedCall | None:
        """Return the next recorded call of this request; in a replay the last one may repeat. None if there is none."""
        with self._lock:
            calls, number = self._calls.get(key, []), self._given[key]
            self._given[key] += 1
        if number < len(calls):
            return calls[number]
        return calls[-1] if calls and not self._ask else None

    def append(self, call: _RecordedCall) -> None:
        """Append a call to the file at once, so that what was paid for is kept if the evaluation fails later."""
        line = json.dumps(asdict(call), ensure_ascii=False).encode("utf-8", "surrogatepass")
        with self._lock, os.fdopen(open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as file:
            file.write(line + b"\n")

    def miss(self, job: Job, key: str) -> UsageError:
        """Return the error for a request that a replay lacks, and remember it."""
        self.missed = self.missed or UsageError(
            f"{self._path} has no answer to a request of {job} ({key[:12]}): prompts, data or settings have changed "
            "since it was recorded; record what is missing with --record."
        )
        return self.missed

    def _firsts(self) -> Iterator[_RecordedCall]:
        """Yield the first call of each request."""
        yield from (calls[0] for calls in self._calls.values())

    def _read(self) -> dict[str, list[_RecordedCall]]:
        found: dict[str, list[_RecordedCall]] = {}
        try:
            for line in self._path.read_bytes().splitlines():
                call = _RecordedCall(**json.loads(line.decode("utf-8", "surrogatepass")))
                found.setdefault(call.key, []).append(call)
        except FileNotFoundError:
            if not self._ask:
                raise UsageError(f"{self._path} does not exist; make a recording with --record.") from None
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror}.") from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"{self._path} is not a recording of model calls: {error}.") from error
        return found


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A model whose answers are recorded or replayed. It is a `dream.llm.Model`."""

    recording: Recording
    job: Job
    meter: Meter
    name: str
    window: int
    max_output: int
    live: Model | None = None

    def count(self, text: str) -> int:
        return tokens.count(text, self.name)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        said = [asdict(message) for message in messages]
        asked = json.dumps([self.name, said, [asdict(tool) for tool in tools]], sort_keys=True)
        key = hashlib.sha256(asked.encode()).hexdigest()
        if (call := self.recording.take(key)) is not None:
            return self._again(call)
        if self.live is None:
            raise self.recording.miss(self.job, key)
        names = [tool.name for tool in tools]
        call = _RecordedCall(key, self.job, self.name, self.window, self.max_output, said, names)
        try:
            answer = self.live.complete(messages, tools=tools, max_tokens=max_tokens)
        except ModelError as error:
            usage = error.usage and asdict(error.usage)
            failed = {"kind": type(error).__name__, "text": str(error), "usage": usage}
            self.recording.append(replace(call, error=failed))
            raise
        self.recording.append(replace(call, answer=asdict(answer)))
        return answer

    def _again(self, call: _RecordedCall) -> Completion:
        """Return the recorded answer, or raise the recorded error; the bill counts what the call used then."""
        given = dict(call.answer or call.error or {})
        used = Usage(**given["usage"]) if given["usage"] else None
        if used is not None:
            self.meter.record(Reservation(0, 0.0, self.name), used)
        if call.answer is None:
            error: ModelError = getattr(errors, given["kind"])(given["text"])
            error.usage = used
            raise error
        return Completion(
            **given | {"tool_calls": tuple(ToolCall(**one) for one in given["tool_calls"]), "usage": used}
        )
