"""Memory files that are not there, or hold nothing: a dream goes on without them, and a person should know."""

from __future__ import annotations

from pathlib import Path

from dream.door import contents
from dream.models import MEMORY_FILES


def absent(root: Path) -> list[str]:
    """Say of each memory file at `root` that is missing or empty that it is, and what to do; reads and never writes."""
    told = []
    for name in MEMORY_FILES:
        try:
            if not contents(root / name).strip():
                told.append(f"{name} is empty; where that was not meant, `dream log` shows what to restore.")
        except FileNotFoundError:
            told.append(f"{name} is missing; where that was not meant, `dream log` shows what to restore.")
        except OSError:
            continue  # whoever needs the file says why it cannot be read
    return told
