"""Change values in dream.toml and nothing else in it: comments, order and layout stay as a person wrote them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dream.errors import SettingsError
from dream.settings import FILE_NAME
from dream.workspace.files import read_text, replace_file

if TYPE_CHECKING:
    import tomlkit
    from tomlkit.items import Array

SOURCES = "sources"


def set_values(root: Path, values: Mapping[str, str | int | None]) -> None:
    """Set settings in dream.toml, creating it if it is missing; None removes a setting. Raises SettingsError."""
    path = root / FILE_NAME
    document = opened(path)
    wanted = tomllib.loads(read_text(path))
    for name, value in values.items():
        if value is None:
            document.pop(name, None)
            wanted.pop(name, None)
        else:
            document[name] = wanted[name] = value
    write(path, document, wanted)


def set_source(root: Path, source: str, *, read: bool) -> bool:
    """Add a source to dream.toml or remove it, creating the file if it is missing; False if nothing had to change.

    The file is written only if all other settings keep their values. Raises SettingsError.
    """
    path = root / FILE_NAME
    document = opened(path)
    array = _array(path, document)
    named = [str(item) for item in array]
    if (source in named) == read:
        return False
    if read:
        array.append(source)
    else:
        array.pop(named.index(source))
    write(path, document, tomllib.loads(read_text(path)) | {SOURCES: [*map(str, array)]})
    return True


def _array(path: Path, document: tomlkit.TOMLDocument) -> Array:
    """Return the list of sources in the document; if it is missing, add it before the first table."""
    import tomlkit
    from tomlkit.items import Array

    found = document.get(SOURCES)
    if found is None:
        found = tomlkit.array()
        document.append(SOURCES, found)
    if not isinstance(found, Array) or not all(isinstance(item, str) for item in found):
        raise SettingsError(f"Setting {SOURCES!r} in {path} is no list of strings; mend it by hand first.")
    return found


def opened(path: Path) -> tomlkit.TOMLDocument:
    """Read dream.toml as a document that can be changed; raises SettingsError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error


def write(path: Path, document: tomlkit.TOMLDocument, wanted: Mapping[str, object]) -> None:
    """Write a changed document if it has the `wanted` values; else raise SettingsError and change nothing."""
    text = document.as_string()
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = None
    if after != wanted:
        raise SettingsError(f"{path} could not be changed without harm; make it say {dict(wanted)} by hand.")
    replace_file(path, text.encode("utf-8"))
