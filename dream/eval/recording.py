"""Recorded model calls: asked once of a model that costs, answered from a file as often as the pipeline changes.

One JSON object a line: `key`, a hash of the model, the messages and the tools; the request, for a person to read; and
the answer, or the error that the call ended in.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dream import errors
from dream.door import open_file
from dream.errors import ModelError, UsageError
from dream.language import tokens
from dream.llm.model import ChatMessage, Completion, Model, Tool, ToolCall
from dream.llm.spending import FREE, Meter, Reservation, open_model
from dream.models import Usage
from dream.settings import Job, Settings


@dataclass(frozen=True, slots=True)
class _Call:
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
        models = {} if self._ask else {f"{call.job}_model": call.model for call in self._firsts()}
        return replace(settings, **models)  # type: ignore[arg-type]  # the names of three settings that are texts

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

    def take(self, key: str) -> _Call | None:
        """Return the next recorded call of this request; in a replay the last one again, None where there is none."""
        with self._lock:
            calls, number = self._calls.get(key, []), self._given[key]
            self._given[key] += 1
        if number < len(calls):
            return calls[number]
        return calls[-1] if calls and not self._ask else None

    def append(self, call: _Call) -> None:
        """Append a call to the file at once: what was paid for is kept if the evaluation fails later."""
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

    def _firsts(self) -> Iterator[_Call]:
        """Yield the first call of each request."""
        yield from (calls[0] for calls in self._calls.values())

    def _read(self) -> dict[str, list[_Call]]:
        found: dict[str, list[_Call]] = {}
        try:
            for line in self._path.read_bytes().splitlines():
                call = _Call(**json.loads(line.decode("utf-8", "surrogatepass")))
                found.setdefault(call.key, []).append(call)
        except FileNotFoundError:
            if not self._ask:
                raise UsageError(f"{self._path} does not exist; make a recording with --record.") from None
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror}.") from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"{self._path} is no recording of `dream eval`: {error}.") from error
        return found


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A model whose answers are recorded or replayed. It is a `dream.llm.model.Model`."""

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
        call = _Call(key, self.job, self.name, self.window, self.max_output, said, names)
        try:
            answer = self.live.complete(messages, tools=tools, max_tokens=max_tokens)
        except ModelError as error:
            usage = error.usage and asdict(error.usage)
            failed = {"kind": type(error).__name__, "text": str(error), "usage": usage}
            self.recording.append(replace(call, error=failed))
            raise
        self.recording.append(replace(call, answer=asdict(answer)))
        return answer

    def _again(self, call: _Call) -> Completion:
        """Return the recorded answer, or raise the recorded error; the bill has what it used then."""
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
