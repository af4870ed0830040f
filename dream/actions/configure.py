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


def set_values(root: Path, values: Mapping[str, str | int | None]) -> None:
    """Set settings in dream.toml, which is made where it is missing; None takes one out. Raises SettingsError."""
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


def opened(path: Path) -> tomlkit.TOMLDocument:
    """Read dream.toml as a document that can be changed; raises SettingsError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(read_text(path))
    except TOMLKitError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error


def write(path: Path, document: tomlkit.TOMLDocument, wanted: Mapping[str, object]) -> None:
    """Write a changed document, if it then says what is `wanted`; else raise SettingsError and change nothing."""
    text = document.as_string()
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = None
    if after != wanted:
        raise SettingsError(f"{path} could not be changed without harm; make it say {dict(wanted)} by hand.")
    replace_file(path, text.encode("utf-8"))
