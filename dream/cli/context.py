"""`dream context`: memory as an agent's system prompt takes it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream.cli import detached, group, output
from dream.cli.group import DreamCommand

if TYPE_CHECKING:
    from dream.workspace.workspace import Workspace


@click.command("context", cls=DreamCommand)
@click.option(
    "--tokens", type=click.IntRange(min=1), default=detached.TOKENS, show_default=True, metavar="N", help="At most."
)
@click.option(
    "--for", "query", metavar="TEXT", help="At the end, in a fifth of the room, also what earlier talks say of TEXT."
)
@click.option("--session", metavar="KEY", help="Of what was not dreamt yet, only this session's.")
@click.option("--hook", is_flag=True, help="Read a hook's JSON on stdin; print what its prompt brings to mind, if any.")
@click.option(
    "--guide", is_flag=True, help="Print instead what to tell an agent of its memory: when to search and note."
)
@group.workspace
@group.as_json
def command(
    tokens: int,
    query: str | None,
    session: str | None,
    hook: bool,
    guide: bool,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Print memory for an agent's prompt: the three files, then what was not dreamt yet.

    The block is marked, so that it is never learnt again from a transcript that contains it. Prints nothing when memory
    is empty. Calls no model.

    With --for, the end of it is what earlier conversations say of TEXT and the memory files don't, each line cited;
    what stands before that is the same for every TEXT, so that a provider's prompt cache holds.

    With --hook, for an agent that asks at each prompt: at most 300 tokens of what earlier conversations say of it and
    the memory files don't, cited, and mostly nothing; at the start of a session, memory. It never fails: what is wrong
    is one sentence on stderr. With --json as Gemini CLI and Copilot CLI read it.

    \b
    Examples:
      dream context
      dream context --tokens 2000
      dream context --for "which port does staging use"
      dream context --session nanobot:telegram:42 --json
      dream context --hook -w ~/memory
      dream context --guide >> AGENTS.md
    """
    if hook:
        detached.answer(directory, os.environ, as_json=as_json)
        return
    workspace = group.open_workspace(directory)
    if guide:
        _guide(workspace, named=directory is not None, as_json=as_json)
        return
    block = workspace.context(tokens, session=session, query=query)
    if as_json:
        output.emit({"context": block})
    elif block:
        output.say(block.rstrip("\n"))


def _guide(workspace: Workspace, *, named: bool, as_json: bool) -> None:
    """Print the text for an agent; where the workspace was named, it has to name it too."""
    from dream import prompts

    text = prompts.load("guide", workspace.prompts).rstrip()
    if named:
        text += f"\n- Add `-w {shlex.quote(str(workspace.root))}` to each command."
    if as_json:
        output.emit({"guide": text + "\n"})
    else:
        output.say(text)
