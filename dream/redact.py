"""Secrets out of text (first form; the detectors grow below)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FIRST = re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")


def redact(text: str, patterns: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Replace secrets by typed marks; return the text and the kinds found."""
    changed = _FIRST.sub("[REDACTED:openai-key]", text)
    return changed, ("openai-key",) if changed != text else ()
