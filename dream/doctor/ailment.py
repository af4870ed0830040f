"""What the doctor says."""

from __future__ import annotations

from dataclasses import dataclass

REPAIR = "dream doctor --repair"


@dataclass(frozen=True, slots=True)
class Ailment:
    """One thing that is wrong. `mended` tells whether it was put right; `cure` is what a person can do."""

    file: str
    text: str
    cure: str = ""
    mended: bool = False
