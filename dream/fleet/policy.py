"""The operator's own file, `fleet.toml` in a root: whose a workspace is, and each tenant's bounds and settings.

A tenant's agent writes what it likes into its workspace, and nothing there decides whose that is. This file lies
beside the tenants' directories; one that others may read or write, or that is not the user's own, is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from dream.door import OTHERS, contents
from dream.errors import SettingsError

FILE = "fleet.toml"
BOUNDS = {"tokens_a_day": "tokens", "usd_a_day": "usd"}
SHAPE = 'write [workspaces] with lines like "bob/work" = "carol", [tenants.NAME] with tokens_a_day, usd_a_day, settings'


@dataclass(frozen=True, slots=True)
class TenantTerms:
    """What the operator sets for a tenant: bounds a day, by "tokens" and "usd", and settings as flags would."""

    bounds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator says of a root: the tenant of a workspace, by its path under the root, and each tenant."""

    workspaces: Mapping[str, str] = field(default_factory=dict)
    tenants: Mapping[str, TenantTerms] = field(default_factory=dict)

    def of(self, tenant: str) -> TenantTerms:
        """Return what is set for a tenant."""
        return self.tenants.get(tenant, TenantTerms())


def policy(root: Path) -> Policy:
    """Read the file in `root`, once until it changes; raises SettingsError where it cannot be used."""
    path = root / FILE
    try:
        status = path.lstat()
    except FileNotFoundError:
        return Policy()
    if status.st_mode & OTHERS:
        raise SettingsError(f"{path} decides whose a workspace is, and others may read or write it: chmod 600 {path}")
    return _read(path, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=64)
def _read(path: Path, time: int, inode: int) -> Policy:
    try:
        table = tomllib.loads(contents(path).decode())
        workspaces = {str(name): _text(tenant) for name, tenant in table.pop("workspaces", {}).items()}
        tenants = {str(name): _tenant(row) for name, row in table.pop("tenants", {}).items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"{path} cannot be used ({error}): {SHAPE}.") from error
    if table:
        raise SettingsError(f"{path} cannot be used ({min(table)!r} is unknown): {SHAPE}.")
    return Policy(workspaces, tenants)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no tenant")
    return value


def _tenant(row: dict[str, object]) -> TenantTerms:
    settings = row.pop("settings", {})
    bounds = {BOUNDS[name]: value for name, value in row.items() if name in BOUNDS}
    if not isinstance(settings, dict) or len(bounds) < len(row):
        raise ValueError(f"{sorted(row)} of a tenant")
    return TenantTerms({kind: float(str(value)) for kind, value in bounds.items()}, settings)
