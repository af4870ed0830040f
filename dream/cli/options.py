"""The options that many commands take, and what they open: the workspace and its settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dream.cli import output
from dream.errors import UsageError

if TYPE_CHECKING:
    from dream.models import Diagnostic
    from dream.settings import Settings
    from dream.store.workspace import Workspace

Function = TypeVar("Function", bound=Callable[..., Any])

workspace = click.option(
    "-w",
    "--workspace",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The workspace. Default: DREAM_WORKSPACE, else the nearest upwards, else ~/.dream/workspace.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON value on stdout and nothing else.")
_model = click.option("-m", "--model", metavar="MODEL", help="The model for all three jobs: any LiteLLM name.")
_set = click.option(
    "-s", "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Any setting, for this time. Can be repeated."
)


def models(function: Function) -> Function:
    """Add `--model` and `--set`."""
    return _model(_set(function))


def now() -> datetime:
    """Read the clock: the only place where the command line does."""
    return datetime.now(UTC)


def open_workspace(directory: Path | None) -> Workspace:
    """Open the workspace that is named, or find it from here; what is wrong in its files is told on stderr, once."""
    from dream.store.workspace import Workspace

    told: set[Diagnostic] = set()

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic not in told:
            told.add(diagnostic)
            output.problem(str(diagnostic))

    if directory is not None:
        return Workspace.open(directory, report=report)
    return Workspace.find(Path.cwd(), os.environ, report=report)


def read_settings(opened: Workspace, model: str | None = None, pairs: tuple[str, ...] = ()) -> Settings:
    """Read the settings of `opened`, with those of the command line before all others."""
    from dream.settings import load

    flags: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair!r} is not of the form NAME=VALUE.")
        flags[name.strip()] = value.strip()
    if model is not None:
        flags["model"] = model
    return load(opened.root, flags=flags)
