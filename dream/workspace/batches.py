"""What is with a provider for half the price: .dream/batches.jsonl, and the answers in .dream/batches/.

The file says what happened to each batch, a line each time: planned (on disk before the provider is asked, so that
none is ever forgotten), submitted, collected, or given up. It decides nothing about progress: how far a session or a
dream is, history and the cursor alone say. An answer that nobody asks for any more is simply left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import orjson

from dream.workspace import files
from dream.workspace.files import Records
from dream.workspace.lock import FileLock

FILE_NAME, FOLDER = "batches.jsonl", "batches"
KEPT = timedelta(days=7)  # after which answers that nobody asked for are deleted

State = Literal["planned", "submitted", "collected", "given up"]
Known = Literal["waiting", "answered", "given up"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What belongs together: a session's requests, or those of the entries `first` to `last`."""

    what: str
    requests: tuple[str, ...]
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class ProviderBatch:
    """One batch; `tag` is our name for it, `id` the provider's."""

    tag: str
    job: str
    model: str
    units: tuple[Unit, ...]
    at: datetime
    state: State = "planned"
    id: str = ""
    used: frozenset[str] = field(default_factory=frozenset)


class Batches:
    """The batches of one workspace. To be used by one process at a time: hold `lock`."""

    def __init__(self, private: Path) -> None:
        self._records = Records(private / FILE_NAME)
        self._folder = private / FOLDER
        self.lock = FileLock(private / "batches.lock")
        self._batches: dict[str, ProviderBatch] = {}
        self._tags: dict[str, list[str]] = {}  # of the batches that a request was part of
        self._answers: dict[str, dict[str, Any]] = {}  # by tag, read when first asked for

    def read(self) -> None:
        """Read how the batches stand; lines that are torn or none of ours are passed over. Raises WorkspaceError."""
        self._batches, self._tags, self._answers = {}, {}, {}
        for row in self._records:
            with suppress(ValueError, TypeError, KeyError):
                self._apply(row)

    def open(self) -> list[ProviderBatch]:
        """List the batches that are not over."""
        return [batch for batch in self._batches.values() if batch.state in ("planned", "submitted")]

    def known(self, request: str) -> Known | None:
        """Return how a request stands; None where it was never sent, or its batch came back without an answer."""
        if self.answer(request) is not None:
            return "answered"
        states = [batch.state for batch in self._with(request)]
        waiting = "planned" in states or "submitted" in states
        return "waiting" if waiting else "given up" if states else None

    def unit_from(self, job: str, first: int) -> Unit | None:
        """Return the newest unit of `job` that begins with entry `first`."""
        units = [unit for batch in self._batches.values() if batch.job == job for unit in batch.units]
        return next((unit for unit in reversed(units) if unit.first == first), None)

    def answer(self, request: str) -> dict[str, Any] | None:
        """Return what was answered to a request."""
        found = (self._of(batch).get(request) for batch in self._with(request) if batch.state == "collected")
        return next((answer for answer in found if isinstance(answer, dict)), None)

    def plan(self, job: str, model: str, units: Sequence[Unit], at: datetime) -> ProviderBatch:
        """Note what is about to be submitted."""
        import hashlib

        keys = "".join(key for unit in units for key in unit.requests)
        tag = hashlib.sha256(f"{at.isoformat()} {keys}".encode()).hexdigest()[:16]
        rows = [[unit.what, list(unit.requests), unit.first, unit.last] for unit in units]
        self._note({"tag": tag, "job": job, "model": model, "at": at.astimezone(UTC).isoformat(), "units": rows})
        return self._batches[tag]

    def submitted(self, batch: ProviderBatch, identity: str) -> None:
        """Note what the provider calls it."""
        self._note({"tag": batch.tag, "state": "submitted", "id": identity})

    def collected(self, batch: ProviderBatch, answers: Mapping[str, object]) -> None:
        """Keep the answers, by request."""
        files.replace_file(self._folder / f"{batch.tag}.json", orjson.dumps(answers))
        self._note({"tag": batch.tag, "state": "collected"})

    def given_up(self, batch: ProviderBatch, reason: str) -> None:
        """Note that no answers will come; what it held is asked for in ordinary calls."""
        self._note({"tag": batch.tag, "state": "given up", "reason": reason})

    def forgotten(self, batch: ProviderBatch) -> None:
        """Note that it never got to the provider; what it held may be submitted anew."""
        self._keep(other for other in self._batches.values() if other.tag != batch.tag)

    def use(self, request: str) -> bool:
        """Note that an answer was used; tell whether for the first time."""
        for batch in self._with(request):
            if batch.state == "collected" and request in self._of(batch):
                if request in batch.used:
                    return False
                self._note({"tag": batch.tag, "used": request})
                return True
        return False

    def unused(self, now: datetime) -> list[tuple[str, dict[str, Any]]]:
        """Drop batches that were over long ago; return the model and the answer of each request nobody came for."""
        old = [batch for batch in self._batches.values() if batch not in self.open() and now - batch.at > KEPT]
        left = [
            (batch.model, answer)
            for batch in old
            if batch.state == "collected"
            for key, answer in self._of(batch).items()
            if key not in batch.used
        ]
        if old:
            tags = {batch.tag for batch in old}
            self._keep(batch for batch in self._batches.values() if batch.tag not in tags)
            for tag in tags:
                (self._folder / f"{tag}.json").unlink(missing_ok=True)
        return left

    def _with(self, request: str) -> list[ProviderBatch]:
        return [self._batches[tag] for tag in self._tags.get(request, ())]

    def _of(self, batch: ProviderBatch) -> dict[str, Any]:
        if batch.tag not in self._answers:
            data = files.read_bytes(self._folder / f"{batch.tag}.json") or b"{}"
            self._answers[batch.tag] = orjson.loads(data)
        return self._answers[batch.tag]

    def _note(self, row: dict[str, Any]) -> None:
        """Add a record, on disk when this returns."""
        self._records.add(row)
        self._apply(row)

    def _apply(self, row: dict[str, Any]) -> None:
        tag = row["tag"]
        if "units" in row:
            units = tuple(Unit(what, tuple(keys), first, last) for what, keys, first, last in row["units"])
            at = datetime.fromisoformat(row["at"])
            self._batches[tag] = ProviderBatch(tag, row["job"], row["model"], units, at)
            for unit in units:
                for request in unit.requests:
                    self._tags.setdefault(request, []).append(tag)
        elif "used" in row:
            batch = self._batches[tag]
            self._batches[tag] = replace(batch, used=batch.used | {row["used"]})
        else:
            self._batches[tag] = replace(self._batches[tag], state=row["state"], id=row.get("id", ""))

    def _keep(self, kept: Iterable[ProviderBatch]) -> None:
        """Leave the records of these only."""
        tags = {batch.tag for batch in kept}
        self._records.keep(lambda row: row.get("tag") in tags)
        self.read()
