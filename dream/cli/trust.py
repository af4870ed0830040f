"""`dream trust`: what an untrusted workspace's settings would do, and the decision to accept them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand

if TYPE_CHECKING:
    from dream.workspace.workspace import Workspace

_MODEL = "sends what it reads of history and memory to this model's provider"
# What each thing that reaches beyond the workspace does, once it counts.
EFFECTS = {
    "model": _MODEL,
    "consolidator_model": _MODEL,
    "phase1_model": _MODEL,
    "phase2_model": _MODEL,
    "fallbacks": "sends the same to these models' providers when the first is unavailable",
    "api_base": "sends every prompt, and your API key with it, to this address",
    "api_key": "pays and is answered with this key instead of yours",
    "redact_patterns": "runs these expressions on every text; a bad one can take for ever",
    "prompts/": "tells the models what to do, in place of the shipped prompts",
    "sources": "reads these transcripts of yours every night",
    "on_change": "runs this command on your machine after each change of memory",
    "on_failure": "runs this command on your machine after a failure",
}
_SECRET = ("api_key",)


@click.command("trust", cls=DreamCommand)
@click.option("-y", "--yes", is_flag=True, help="Accept them without asking.")
@group.workspace
@group.as_json
def command(yes: bool, directory: Path | None, as_json: bool) -> None:
    """Show what an untrusted workspace's settings would do, and accept it.

    A workspace that you make or adopt is trusted on this machine. In any other, such as a clone or a copy, settings
    that would send, start or read anything beyond it are ignored until you accept them here: the models, addresses,
    sources and commands in dream.toml, and the files in prompts/. From then on they count, later changes too.
    Without a terminal and without --yes, nothing is accepted.

    \b
    Examples:
      dream trust
      dream trust --yes -w ~/shared/memory
    """
    workspace = group.open_workspace(directory)
    before = workspace.is_trusted
    settings = _reaching(workspace)
    if not as_json:
        _show(workspace, settings, trusted=before)
    if not before and (yes or (not as_json and group.somebody_answers() and group.confirmed("Trust it?"))):
        workspace.trust()
    trusted = workspace.is_trusted
    if as_json:
        output.emit({"workspace": str(workspace.root), "trusted": trusted, "settings": settings})
    elif trusted != before:
        output.say("It is trusted on this machine from now on.", colour="green")
    elif not trusted:
        output.say("Nothing was accepted. To accept it: dream trust --yes")


def _reaching(workspace: Workspace) -> list[dict[str, object]]:
    """List what of the workspace's own files reaches beyond it; a key is not shown."""
    from dream.settings import reaching

    found = reaching(workspace.root, environ={})
    return [
        {
            "name": name,
            "value": "…" if name in _SECRET else list(value) if isinstance(value, tuple) else value,
            "effect": EFFECTS[name],
        }
        for name, value in found.items()
    ]


def _show(workspace: Workspace, settings: list[dict[str, object]], *, trusted: bool) -> None:
    if trusted:
        output.say(f"{workspace.root} is trusted on this machine.", bold=True)
    else:
        output.say(f"{workspace.root} is not trusted: it was not made or adopted by you on this machine.", bold=True)
    if not settings:
        output.say("Its own files name nothing that sends, starts or reads beyond it.")
        return
    output.say("Its own files:" if trusted else "Its own files would do this:")
    for one in settings:
        value = one["value"]
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        output.say(f"  {one['name']} = {shown}", bold=True)
        output.say(f"    {one['effect']}")
