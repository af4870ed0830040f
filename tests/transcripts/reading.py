"""Read a transcript in a test: everything at once, with what was reported."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dream import transcripts
from dream.models import Diagnostic, Message

_PLACES = [parent / "shared" / "data" / "transcripts" for parent in Path(__file__).resolve().parents[3:]]
SAMPLES = next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def read(path: Path, **options: Any) -> tuple[list[tuple[str, Message]], list[Diagnostic]]:
    found: list[Diagnostic] = []
    pairs = list(transcripts.read(path, **{"zone": UTC, "report": found.append} | options))
    return pairs, found


def told(path: Path, **options: Any) -> list[tuple[str, str]]:
    """Only who said what."""
    return [(message.role, message.content) for _, message in read(path, **options)[0]]


def sample(name: str) -> Path:
    folder = SAMPLES / name
    found = sorted(folder.glob("input.*")) if folder.is_dir() else []
    if not found:
        pytest.skip("the samples are not on this machine")
    return found[0]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def lines(path: Path, *rows: object) -> Path:
    """Write JSON lines; a string is written as it stands."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def document(path: Path, value: object, **how: Any) -> Path:
    path.write_text(json.dumps(value, **how), "utf-8")
    return path
