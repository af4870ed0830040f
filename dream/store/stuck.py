"""Messages that a spending bound stopped midway: at the second time they are kept as they were said.

Else a message that costs more than a run may would begin anew each night, and nothing after it would ever come.
"""

from __future__ import annotations

import threading
from pathlib import Path

import orjson

from dream.door import contents
from dream.store.files import replace

FILE_NAME = "stuck.json"


class Stuck:
    """The note in `private`: session → position. Losing it costs calls and nothing else."""

    def __init__(self, private: Path) -> None:
        self._path = private / FILE_NAME
        self._lock = threading.Lock()

    def again(self, session: str, position: int) -> bool:
        """Note that the message was stopped; tell whether it had been before."""
        with self._lock:
            noted = self._read()
            if noted.get(session) == position:
                return True
            replace(self._path, orjson.dumps({**noted, session: position}), durable=False)
            return False

    def over(self, session: str) -> None:
        """Forget what was noted of the session: it has gone on."""
        with self._lock:
            noted = self._read()
            if noted.pop(session, None) is not None:
                replace(self._path, orjson.dumps(noted), durable=False)

    def _read(self) -> dict[str, int]:
        try:
            noted = orjson.loads(contents(self._path))
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}
