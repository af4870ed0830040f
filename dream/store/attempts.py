"""How often a batch has failed, so that one poisoned entry never stops the ones after it.

A batch that failed `max_attempts` times is halved until the entry at fault stands alone; that one is set
aside for a person. Only answers that could not be used count: a provider that is down proves nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from dream.door import contents
from dream.store.files import replace

FILE_NAME = "attempts.json"


@dataclass(frozen=True, slots=True)
class Attempts:
    """The failures of the batch of entries `first` to `last` (cursors).

    `size` is how many entries are taken at a time within that range since it was split; 0 before that.
    """

    first: int = 0
    last: int = 0
    failures: int = 0
    size: int = 0

    def limit(self, cursor: int) -> int | None:
        """Return how many entries a batch that begins at `cursor` may hold; None where nothing failed."""
        return self.size if self.size and self.first <= cursor <= self.last else None

    def failed(self, first: int, last: int, size: int, max_attempts: int) -> Attempts:
        """Count a failure of the `size` entries from `first` to `last`."""
        failures = self.failures + 1 if first == self.first else 1
        if self.limit(first) is None:
            if failures >= max_attempts and size > 1:
                return Attempts(first, last, 0, (size + 1) // 2)
            return Attempts(first, last, failures)
        if size > 1:
            return Attempts(first, self.last, 0, (size + 1) // 2)
        return Attempts(first, self.last, failures, 1)


def read(private: Path) -> Attempts:
    """Read the failures noted in `private`; none where the note is missing or damaged."""
    try:
        noted = orjson.loads(contents(private / FILE_NAME))
        return Attempts(*(int(noted[name]) for name in ("first", "last", "failures", "size")))
    except (OSError, ValueError, TypeError, KeyError):
        return Attempts()


def write(private: Path, attempts: Attempts) -> None:
    """Note the failures; they are a hint about effort, so losing them costs calls and nothing else."""
    replace(private / FILE_NAME, orjson.dumps(asdict(attempts)))
