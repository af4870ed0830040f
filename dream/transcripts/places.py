"""Where agents keep their transcripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A directory, under home or where an environment variable says, and a glob pattern beneath it."""

    directory: str
    pattern: str
    variable: str | None = None
    subagents: bool = False  # only sub-agents' sessions lie here

    def glob(self, home: Path, environ: Mapping[str, str]) -> str:
        """Return the glob pattern of the transcripts; `environ` is the environment as a value."""
        own = environ.get(self.variable) if self.variable else None
        return str(Path(own).expanduser() / self.pattern if own else home / self.directory / self.pattern)
