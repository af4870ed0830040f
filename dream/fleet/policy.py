"""The operator's own file, `fleet.toml` in a root: whose a workspace is.

A tenant's agent writes what it likes into its workspace, and nothing there decides whose that is. This file lies
beside the tenants' directories; one that others may write, or that is not the user's own, is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from dream.door import contents
from dream.errors import SettingsError

FILE = "fleet.toml"
OTHERS_WRITE = 0o022  # bits of a mode: what group and others may write


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator says of a root: the tenant of a workspace, by its path under the root."""

    workspaces: Mapping[str, str] = field(default_factory=dict)


def policy(root: Path) -> Policy:
    """Read the file in `root`, once until it changes; raises SettingsError where it cannot be used."""
    path = root / FILE
    try:
        status = path.lstat()
    except FileNotFoundError:
        return Policy()
    if status.st_mode & OTHERS_WRITE:
        raise SettingsError(f"Others than you may write {path}, which decides whose a workspace is: chmod 600 {path}")
    return _read(path, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=64)
def _read(path: Path, time: int, inode: int) -> Policy:
    try:
        table = tomllib.loads(contents(path).decode())
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    unknown = sorted(set(table) - {"workspaces"})
    if unknown:
        raise SettingsError(f"{path}: {unknown[0]!r} is none of its tables; it has [workspaces].")
    workspaces = table.get("workspaces", {})
    if not isinstance(workspaces, dict) or not all(isinstance(one, str) and one for one in workspaces.values()):
        raise SettingsError(f'{path}: [workspaces] has a line for each workspace, like "bob/work" = "carol".')
    return Policy(workspaces)
