"""What the setting `sources` names: an agent whose format we read, a path, or a glob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dream.errors import SettingsError, TranscriptError
from dream.transcripts import FORMATS, find


def paths(sources: Iterable[str], root: Path, *, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Find the transcripts that `sources` name; an agent that was never used gives none.

    A relative path is relative to `root`, the workspace: cron starts commands in any directory.
    Raises SettingsError for what is neither an agent nor a path that is there.
    """
    found: list[Path] = []
    for source in sources:
        if source in FORMATS:
            found += _of_agent(source, home, environ)
        else:
            found += _of_path(source, root)
    return list(dict.fromkeys(found))


def _of_agent(name: str, home: Path, environ: Mapping[str, str]) -> list[Path]:
    places = FORMATS[name].places
    if not places:
        raise SettingsError(f"The source {name!r} has no usual place; name the path of its files instead.")
    found: list[Path] = []
    for place in places:
        try:
            found += find(place.glob(home, environ))
        except TranscriptError:
            continue  # this agent was never used here
    return found


def _of_path(source: str, root: Path) -> list[Path]:
    path = root / Path(source).expanduser()
    try:
        return find(path)
    except TranscriptError as error:
        if path.is_dir():
            return []  # nothing there yet
        known = ", ".join(name for name, reader in FORMATS.items() if reader.places)
        raise SettingsError(
            f"The source {source!r} of your settings: {error} Agents known by name: {known}."
        ) from error
