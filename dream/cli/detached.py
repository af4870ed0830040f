"""Work on in a process of its own: an agent ends its hooks soon after it has asked them, whatever they still do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LOG = "hook.log"  # in .dream/: what such processes print
LOG_BYTES = 1 << 18  # of the log; a larger one is begun anew


def start(arguments: Sequence[str], private: Path) -> None:
    """Start `dream` with `arguments` in a session of its own and return; it outlives this process."""
    private.mkdir(parents=True, exist_ok=True)
    log = private / LOG
    fresh = not log.exists() or log.stat().st_size > LOG_BYTES
    with log.open("wb" if fresh else "ab") as printed:
        subprocess.Popen(
            [str(Path(sys.executable).absolute()), "-P", "-m", "dream", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
