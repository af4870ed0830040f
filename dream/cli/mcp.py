"""`dream mcp`: memory as tools of an agent's client."""

from __future__ import annotations

import signal
import sys
from functools import partial
from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand
from dream.errors import DreamError, UsageError


@click.command("mcp", cls=DreamCommand)
@click.option("--read-only", is_flag=True, help="Offer nothing that writes: no memory_add.")
@group.workspace
def command(read_only: bool, directory: Path | None) -> None:
    """Serve memory to an agent's client over MCP, on standard input and output.

    The client starts it, and it ends when the client closes its end. Tools: memory_search, memory_get, memory_add,
    memory_why, memory_context. What an agent adds is a note of its own, which makes no rule.

    \b
    Examples:
      claude mcp add dream -- dream mcp -w ~/memory
      codex mcp add dream -- dream mcp -w ~/memory
      dream mcp --read-only
    """
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("Standard input is closed; an MCP client starts `dream mcp` and speaks to it there.")
    if sys.stdin.isatty():
        output.problem("Waiting for an MCP client on standard input; Ctrl-D ends it.")
    try:
        group.open_workspace(directory)
    except DreamError as error:  # the agent is told at each call, until it is mended
        output.problem(str(error))
    from dream import mcp

    # Clients end a server so. Python would wait first, for the thread that reads the client's next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    mcp.serve(partial(group.open_workspace, directory), read_only=read_only)
