"""How often a batch has failed, so that one poisoned entry never stops the ones after it.

A batch that failed `max_attempts` times is split from then on; an entry that fails alone as often is set
aside for a person. Only answers that could not be used count: a provider that is down proves nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from dream.store.files import replace

FILE_NAME = "attempts.json"


@dataclass(frozen=True, slots=True)
class Attempts:
    """The failures of the batch that begins with entry `first`, taken `size` entries at a time."""

    first: int = 0
    size: int = 0
    failures: int = 0

    def limit(self, first: int) -> int | None:
        """Return how many entries a batch that begins with `first` may hold; None where it has not failed."""
        return self.size if first == self.first and self.size else None

    def failed(self, first: int, size: int, max_attempts: int) -> Attempts:
        """Count a failure; after `max_attempts` of them the next try takes half."""
        failures = self.failures + 1 if (first, size) == (self.first, self.size) else 1
        if failures >= max_attempts and size > 1:
            return Attempts(first, (size + 1) // 2, 0)
        return Attempts(first, size, failures)

    def exhausted(self, max_attempts: int) -> bool:
        """Tell whether a single entry has failed so often that it is to be set aside."""
        return self.size == 1 and self.failures >= max_attempts


def read(private: Path) -> Attempts:
    """Read the failures noted in `private`; none where the note is missing or damaged."""
    try:
        noted = orjson.loads((private / FILE_NAME).read_bytes())
        return Attempts(int(noted["first"]), int(noted["size"]), int(noted["failures"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Attempts()


def write(private: Path, attempts: Attempts) -> None:
    """Note the failures; they are a hint about effort, so losing them costs calls and nothing else."""
    replace(private / FILE_NAME, orjson.dumps(asdict(attempts)))
