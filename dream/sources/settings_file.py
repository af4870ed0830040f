"""Change one list in dream.toml and nothing else in it: comments, order and layout stay as a person wrote them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from dream.errors import SettingsError
from dream.settings import FILE_NAME
from dream.store.files import read_text, replace

if TYPE_CHECKING:
    import tomlkit
    from tomlkit.items import Array

SOURCES = "sources"


def sources(root: Path) -> tuple[str, ...]:
    """Return the sources that dream.toml of the workspace at `root` names. Raises SettingsError."""
    return tuple(str(item) for item in _array(root / FILE_NAME, _document(root / FILE_NAME)))


def add_source(root: Path, source: str) -> bool:
    """Add a source to dream.toml, which is made where it is missing; False when it is there already."""
    path = root / FILE_NAME
    document = _document(path)
    array = _array(path, document)
    if source in [str(item) for item in array]:
        return False
    array.append(source)
    _write(path, document, [*map(str, array)])
    return True


def remove_source(root: Path, source: str) -> bool:
    """Take a source out of dream.toml; False when it is not there."""
    path = root / FILE_NAME
    document = _document(path)
    array = _array(path, document)
    named = [str(item) for item in array]
    if source not in named:
        return False
    array.pop(named.index(source))
    _write(path, document, [*map(str, array)])
    return True


def _document(path: Path) -> tomlkit.TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error


def _array(path: Path, document: tomlkit.TOMLDocument) -> Array:
    """Return the list of sources as it stands in the document; one that is missing is added before the first table."""
    import tomlkit
    from tomlkit.items import Array

    found = document.get(SOURCES)
    if found is None:
        found = tomlkit.array()
        document.append(SOURCES, found)
    if not isinstance(found, Array) or not all(isinstance(item, str) for item in found):
        raise SettingsError(f"Setting {SOURCES!r} in {path} is no list of strings; mend it by hand first.")
    return found


def _write(path: Path, document: tomlkit.TOMLDocument, wanted: list[str]) -> None:
    """Write the file, if it then says what it said before, and of the sources what is wanted."""
    before, text = tomllib.loads(read_text(path)), document.as_string()
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} could not be changed without harm; write {SOURCES} = {wanted} by hand.") from error
    if after != before | {SOURCES: wanted}:
        raise SettingsError(f"{path} could not be changed without harm; write {SOURCES} = {wanted} by hand.")
    replace(path, text.encode("utf-8"))
