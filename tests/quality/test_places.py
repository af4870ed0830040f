"""In cases of several places nothing is given where it must not be, and what memory keeps is given where it must."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dream.settings import Settings
from tests.quality import places

CASES = sorted((Path(__file__).parent / "data" / "places").glob("*.toml"))


@pytest.mark.few(2)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_line_crosses_into_a_place_where_it_must_not_be(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # and is set anew by the case
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    found = places.figures(case, *places.played(case, tmp_path.resolve(), Settings(timezone="UTC", durable=False)))
    assert (found.crossings - found.alone, found.leaks) == (0, 0), found.faults
    assert found.there >= 0.7 * found.wanted, found.faults
