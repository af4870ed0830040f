"""`dream context`, `note`, `search`, `get` and `mcp`: for agents, their clients, and people."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dream import cli, trust
from dream.cli import group, output
from dream.errors import DreamError, UsageError

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.recall import Hit


@click.command("context", cls=group.DreamCommand)
@click.option(
    "--tokens", type=click.IntRange(min=1), default=cli.TOKENS, show_default=True, metavar="N", help="At most."
)
@click.option(
    "--for", "query", metavar="TEXT", help="Add, in half of the tokens, what earlier conversations say of TEXT."
)
@click.option("--session", metavar="KEY", help="Of history not dreamt yet, only this session's.")
@group.as_of
@click.option("--hook", is_flag=True, help="Read a hook's JSON on stdin; print what is relevant to its prompt, if any.")
@click.option("--guide", is_flag=True, help="Print instead an agent's instructions: when to search and note.")
@group.in_place
@group.workspace
@group.as_json
def context_command(
    tokens: int,
    query: str | None,
    session: str | None,
    as_of: str | None,
    hook: bool,
    guide: bool,
    place: str,
    cwd: Path | None,
    chat: str,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Print memory for an agent's prompt: the files, then history not dreamt yet.

    First the three files, then those of the current project, or of the place that you name. A group chat gets
    the rules that are not private and its own files: nothing of USER.md, MEMORY.md or other places. The block
    is marked, so that `dream` never learns it again from a transcript. No model is called.

    --for adds what earlier conversations say about TEXT and the memory files don't, each line cited. The part
    before it is the same for every TEXT, so that a provider's prompt cache works.

    --hook is for an agent that asks at each prompt: it prints memory at the start of a session, and later at
    most 300 tokens of what --for would add. It never fails: an error is one sentence on stderr. With --json, in
    the format of Gemini CLI and Copilot CLI.

    \b
    Examples:
      dream context --tokens 2000
      dream context --for "which port does staging use"
      dream context --session nanobot:telegram:42 --json
      dream context --hook -w ~/memory
      dream context --guide >> AGENTS.md
    """
    if hook:
        cli.answer(directory, os.environ, as_json=as_json)
        return
    workspace = group.open_workspace(directory)
    if guide:
        _guide(workspace, named=directory is not None, as_json=as_json)
        return
    scope = group.scope(workspace, place, cwd, chat)
    about = partial(workspace.context, session=session, query=query, as_of=as_of, place=scope)
    _print_block(about, tokens, workspace.untold(as_of) if as_of else "", as_json=as_json)


def _print_block(about: Callable[[int], str], tokens: int, untold: str, *, as_json: bool) -> None:
    """Print the block of memory; say on stderr what it can't tell (`untold`), or why it is empty."""
    block = about(tokens)
    if as_json:
        output.emit({"context": block})
    elif block:
        output.say(block.rstrip("\n"))
    if not block or untold:
        from dream.recall.context import why_empty

        output.problem(untold or why_empty(about))


def _guide(workspace: Workspace, *, named: bool, as_json: bool) -> None:
    """Print the instructions for an agent; they name the workspace if -w did."""
    from dream import prompts

    text = prompts.load("guide", workspace.prompts).rstrip()
    if named:
        text += f"\n- Add `-w {shlex.quote(str(workspace.root))}` to each command."
    if as_json:
        output.emit({"guide": text + "\n"})
    else:
        output.say(text)


@click.command("note", cls=group.TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="TEXT")
@click.option("--by-agent", is_flag=True, help="An agent says it by itself, not the user: it makes no rule.")
@click.option("--everywhere", is_flag=True, help="It does not belong to the current project.")
@group.workspace
@group.as_json
def note_command(
    words: tuple[str, ...], by_agent: bool, everywhere: bool, directory: Path | None, as_json: bool
) -> None:
    """Add a fact to history now.

    The next dream treats it like any message, and writes it where it belongs. With `-` as TEXT, or without TEXT
    in a pipe, standard input is read. What an agent notes by itself, with --by-agent, is marked as its own; it
    waits for your review where it would be a rule, or a fact about you. In a repository it applies to that
    project.

    \b
    Examples:
      dream note "I am allergic to peanuts"
      git log -1 --format=%B | dream note
    """
    from dream.actions import note

    piped = words == ("-",) or (not words and sys.stdin is not None and not sys.stdin.isatty())
    text = group.standard_input() if piped else " ".join(words)
    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=("redact_patterns",))
    place = "" if everywhere else workspace.places().for_note(str(Path.cwd()))
    entry = note.note(workspace, text, settings=settings, now=group.now(), by_agent=by_agent, place=place)
    if as_json:
        output.emit({"cursor": entry.cursor})
    else:
        output.say(f"Noted as entry {entry.cursor}. The next `dream run` puts it into memory.")


@click.command("mcp", cls=group.DreamCommand)
@click.option("--read-only", is_flag=True, help="Offer nothing that writes: no memory_add.")
@click.option("--chat", metavar="KEY", default="", help="Serve this group chat: what a group may be given.")
@click.option(
    "--cwd", type=click.Path(path_type=Path), metavar="DIR", help="Serve the project of DIR, not the current one."
)
@click.option("--everywhere", is_flag=True, help="Search other projects too.")
@group.workspace
def mcp_command(read_only: bool, chat: str, cwd: Path | None, everywhere: bool, directory: Path | None) -> None:
    """Serve memory to an agent's client over MCP, on standard input and output.

    The client starts it, and it ends when the client closes its end. Tools: memory_search, memory_get,
    memory_add, memory_why, memory_context. What an agent adds is a note of its own, which makes no rule. It
    serves what applies in the project in which it starts, and everywhere.

    \b
    Examples:
      claude mcp add dream -- dream mcp -w ~/memory
      codex mcp add dream -- dream mcp -w ~/memory
      dream mcp --read-only
    """
    if chat and everywhere:
        raise UsageError("A group chat is given its own alone: leave out --everywhere.")
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("Standard input is closed; an MCP client starts `dream mcp` and speaks to it there.")
    if sys.stdin.isatty():
        output.problem("Waiting for an MCP client on standard input; Ctrl-D ends it.")
    from dream import mcp

    # Clients end a server by SIGINT. Python would first wait for the thread that reads the client's next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    begun = mcp.answer(read_only=read_only)
    if begun is None:
        return
    try:
        group.open_workspace(directory)
    except DreamError as error:  # each call reports it to the agent until it is mended
        output.problem(str(error))
    from dream.mcp import calls

    where = mcp.Where(str(Path.cwd() / (cwd or "")), chat, everywhere)
    calls.serve(partial(group.open_workspace, directory), begun, read_only=read_only, where=where)


@click.command("search", cls=group.TextCommand)
@click.argument("words", nargs=-1, type=group.Text(), metavar="[QUERY…]")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="At most.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(["memory", "history", "message"]), help="Only these.")
@click.option("--session", metavar="KEY", help="Only of this session.")
@click.option("--source", metavar="NAME", help="Only of this agent's sessions, such as claude-code.")
@click.option("--speaker", metavar="NAME", help="Only messages of this speaker: a name, user or assistant.")
@click.option("--since", type=group.Span(), metavar="DAY", help="Only messages of this day or later.")
@click.option("--until", type=group.Span(last=True), metavar="DAY", help="Only messages of this day or earlier.")
@group.as_of
@click.option(
    "--half-life", "half_life_days", type=click.FloatRange(min=0), metavar="DAYS", help="Age that counts half."
)
@click.option("--mmr", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE", help="Below 1: unlike hits sooner.")
@click.option("--everywhere", is_flag=True, help="In a project: also what was said in other places.")
@group.in_place
@group.workspace
@group.as_json
def search_command(
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    since: date | None,
    until: date | None,
    everywhere: bool,
    place: str,
    cwd: Path | None,
    chat: str,
    directory: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Search the memory files, history, and the messages behind them.

    A hit needs only one of the words; the best come first, each with a citation that `dream get` opens. New
    messages are found at once. Hits from a day or span that QUERY names come first; without QUERY, the messages
    of a span are listed, newest first. DAY is 2026-11-18, or words like "last week", März, 上周. In a known
    project it searches what was written there or outside of projects; with --everywhere, everything.

    \b
    Examples:
      dream search which port does staging use
      dream search Lisbon --kind message --since 2026-11-01
      dream search "HS-214" --json
      dream search --since "last week"
      dream search "where does Lena live" --as-of 2026-06-30
    """
    query = " ".join(words).strip()
    if not query and not (since or until):
        raise UsageError("Say what to look for: dream search which port does staging use.")
    workspace = group.open_workspace(directory)
    hits = workspace.search(
        query,
        place=group.scope(workspace, place, cwd, chat, everywhere=everywhere, all_outside=True),
        kinds=kinds or None,
        since=since,
        until=until,
        **{name: value for name, value in given.items() if value is not None},
    )
    if as_json:
        output.emit(hits)
        return
    untold = workspace.untold(given["as_of"]) if given.get("as_of") else ""
    if untold:
        output.problem(untold)
    elif not hits:
        output.say("Nothing of what is kept says that.")
    for hit in hits:
        _hit(hit, query)


def _hit(hit: Hit, query: str = "") -> None:
    """Print a hit: its citation, when and by whom it was said, and its text with the words of the query marked."""
    from dream.recall import excerpt, words_of

    until = f"until {hit.until}" if hit.until else ""
    facts = [hit.cite, f"{hit.when:%Y-%m-%d}" if hit.when else "", hit.speaker or "", hit.place, until]
    output.say("  ".join(fact for fact in facts if fact), dim=True)
    text = hit.text.strip()
    text = excerpt(text, query) if query else text
    output.say("  " + text.replace("\n", "\n  "), fold=True, mark=words_of(query) if query else None)


@click.command("get", cls=group.DreamCommand)
@click.argument("citation")
@click.option(
    "--around", type=click.IntRange(min=0), default=0, metavar="N", help="Show N neighbours on each side too."
)
@group.workspace
@group.as_json
def get_command(citation: str, around: int, directory: Path | None, as_json: bool) -> None:
    """Open a citation: a line of memory, an entry of history, or a message.

    \b
    Examples:
      dream get USER.md:12
      dream get history:42
      dream get claude-code:6f1e#118 --around 3
    """
    workspace, inside = group.open_workspace(directory), bool(trust.inside_agent(os.environ))
    found = workspace.get(
        citation, around=around, place=workspace.places().scope(str(Path.cwd())), everywhere=not inside
    )
    if as_json:
        output.emit(found)
        return
    for hit in found:
        _hit(hit)
