"""`dream web`: a page to look at, question and decide."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand

PORT = 4747


@click.command("web", cls=DreamCommand)
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help=f"The port. Default: {PORT}, or a free one.")
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Listen on this address instead of loopback only.")
@click.option("--open/--no-open", "opens", default=True, help="Open a browser, where there is one. Default: open.")
@click.option("--export", type=click.Path(path_type=Path), metavar="DIR", help="Write the pages into DIR, and end.")
@group.workspace
def web_command(port: int | None, host: str, opens: bool, export: Path | None, directory: Path | None) -> None:
    """Show memory on a page: what the night changed, why, and how to take it back.

    The printed address holds a random token; whoever has it can read and change memory. Only this machine can reach it.
    Everything that `review`, `restore` and `forget` do can be done there. Ctrl-C ends it.
    With --export the pages are written as files, to look at without a server.

    \b
    Examples:
      dream web
      dream web --port 8080 --no-open
      dream web --export ./memory-pages
    """
    workspace = group.open_workspace(directory)
    if export is not None:
        from dream.web.export import write

        output.say(f"Wrote {write(workspace.root, export):,} pages; open {export / 'index.html'}")
        return
    from dream.web import server

    if not server.is_loopback(host):
        output.problem(
            f"Whoever can reach {host} and has the token can read and change memory, and all of it is sent unencrypted."
        )
    listening = server.bound(host, PORT if port is None else port, otherwise=port is None)
    gate = server.Gate.new(host, listening.getsockname()[1])
    output.say(gate.address, now=True)
    output.say("The page is there until Ctrl-C.", now=True)
    if opens and _has_browser():
        import webbrowser

        webbrowser.open(gate.address)
    server.serve(workspace.root, gate, listening)


def _has_browser() -> bool:
    """Return whether a person sits at a terminal of a machine that can show a window."""
    shows = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return shows and group.somebody_answers()
