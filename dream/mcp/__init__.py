"""`dream mcp`: memory for any agent that speaks the Model Context Protocol, over standard input and output.

Here is what a client is told of it: the tools, the resources, the handshake. It is answered before the protocol's SDK
is imported, which takes a second: a client that asks one question does not wait so long for its tools. From the first
request that asks for more, the SDK serves (`calls`); a test holds these answers to the SDK's own.
"""

from __future__ import annotations

import json
import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import dream
from dream import prompts
from dream.models import MEMORY_FILES, MemoryFile

if TYPE_CHECKING:
    from dream.directory import Workspace
    from dream.workspace.places import Scope

Json = Mapping[str, Any]
Open = Callable[[], "Workspace"]  # the workspace, as it is now

KINDS = ("memory", "history", "message")  # of what is found
HITS = 50  # of one search, at most
AROUND = 20  # neighbours of a citation on each side, at most
TOKENS, MOST_TOKENS = 2_000, 20_000  # of a context: where none are asked for, and at most
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # versions that begin with `initialize`
QUIET = 0.2  # seconds without a question, after which the SDK is imported for the ones to come

TEXT: Json = {"type": "string"}
DAY: Json = {"type": "string", "description": "YYYY-MM-DD or 'last week', 'März', included"}
AS_OF: Json = {"type": "string", "description": "memory as it stood then: a day, a commit, or a message's citation"}
ABOUT: Mapping[MemoryFile, str] = {
    "SOUL.md": "how the agent behaves",
    "USER.md": "who the user is and what they prefer",
    "memory/MEMORY.md": "what is true of the work",
}
FILES: Mapping[str, MemoryFile] = {f"memory://{file.removeprefix('memory/')}": file for file in MEMORY_FILES}


@dataclass(frozen=True, slots=True)
class Where:
    """Where the server was started: the directory and the chat that it serves, with `everywhere` all places.

    No call of an agent's widens it.
    """

    cwd: str = ""
    chat: str = ""
    everywhere: bool = False

    def scope(self, workspace: Workspace) -> Scope:
        """Return what may be given there."""
        from dream.workspace.places import Scope

        return Scope(every=True) if self.everywhere else workspace.places().scope(self.cwd, self.chat)


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool: its description for an agent and its arguments. `needs` are the required ones."""

    name: str
    does: str
    takes: Json
    needs: tuple[str, ...] = ()
    writes: bool = False

    def listed(self) -> Json:
        """Return the tool as the protocol lists it."""
        schema = {"type": "object", "properties": dict(self.takes), "additionalProperties": False}
        hints = {"readOnlyHint": not self.writes, "destructiveHint": False, "openWorldHint": False}
        schema |= {"required": list(self.needs)} if self.needs else {}
        return {"name": self.name, "description": self.does, "inputSchema": schema, "annotations": hints}


TOOLS = (
    MemoryTool(
        "memory_search",
        "Search everything remembered: memory files, history, and past conversations word for word. Any of the words"
        " counts; names, numbers and paths find best. Each hit ends in a [citation] that memory_get opens.",
        {
            "query": TEXT,
            "limit": {"type": "integer", "default": 10, "maximum": HITS},
            "kinds": {"type": "array", "items": {"type": "string", "enum": list(KINDS)}, "description": "default: all"},
            "since": DAY,
            "until": DAY,
            "as_of": AS_OF,
        },
        ("query",),
    ),
    MemoryTool(
        "memory_get",
        "Open a citation, such as USER.md:12, history:42 or claude-code:6f1e#118: its full text, and what stands"
        " around it.",
        {
            "cite": TEXT,
            "around": {"type": "integer", "default": 0, "maximum": AROUND, "description": "neighbours on each side"},
        },
        ("cite",),
    ),
    MemoryTool(
        "memory_add",
        "Note one fact that must not be lost, complete in itself, without secrets. It is kept as said by you, not by"
        " the user; rules and facts about the user wait until they say so themselves or approve.",
        {"text": TEXT},
        ("text",),
        writes=True,
    ),
    MemoryTool(
        "memory_why",
        "Tell where a line of memory comes from: the changes that wrote it and what was said.",
        {"text": {"type": "string", "description": "part of the line"}, "as_of": AS_OF},
        ("text",),
    ),
    MemoryTool(
        "memory_context",
        "Read memory as it stands: rules, the user, the work, what is newest; with a query also what earlier"
        " conversations say of it.",
        {"tokens": {"type": "integer", "default": TOKENS, "maximum": MOST_TOKENS}, "query": TEXT, "as_of": AS_OF},
    ),
)


def instructions(*, read_only: bool) -> str:
    """Return what a client tells its model of the server."""
    return prompts.load("guide") + ("- Nothing can be noted here.\n" if read_only else "")


def tools(*, read_only: bool) -> dict[str, MemoryTool]:
    """Return the tools by their names; with `read_only` none that writes."""
    return {tool.name: tool for tool in TOOLS if not (read_only and tool.writes)}


def resources() -> list[Json]:
    """List the memory files as the protocol does."""
    return [
        {"uri": uri, "name": uri.partition("//")[2], "description": ABOUT[file], "mimeType": "text/markdown"}
        for uri, file in FILES.items()
    ]


@dataclass(frozen=True, slots=True)
class Begun:
    """A connection that the SDK takes over: the version agreed upon, "" for none, and the line that waits for it."""

    version: str = ""
    line: bytes = b""


def answer(*, read_only: bool = False) -> Begun | None:
    """Answer a client on standard input and output as far as that needs no SDK; None where it closed the connection."""
    # Read without a buffer, so that whatever follows is still there for the SDK.
    with open(0, "rb", buffering=0, closefd=False) as asked, open(1, "wb", closefd=False) as answers:
        return answered(asked, answers, read_only=read_only)


def answered(asked: BinaryIO, answers: BinaryIO, *, read_only: bool) -> Begun | None:
    """Answer the first requests; return where the SDK goes on, None where the client closed the connection."""
    version, was_listed = "", False
    while True:
        if was_listed and not select.select([asked], [], [], QUIET)[0]:
            return Begun(version)
        line = asked.readline()
        if not line:
            return None
        message = _message(line)
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize" and not version and isinstance(params.get("protocolVersion"), str):
            offered = params["protocolVersion"]
            version = offered if offered in HANDSHAKES else HANDSHAKES[-1]
            result: Json = _handshake(version, read_only=read_only)
        elif method == "notifications/initialized" and version:
            continue
        elif method == "tools/list" and version:
            result, was_listed = {"tools": [tool.listed() for tool in tools(read_only=read_only).values()]}, True
        elif method == "resources/list" and version:
            result = {"resources": resources()}
        else:
            return Begun(version, line)
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        answers.write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n")
        answers.flush()


def _message(line: bytes) -> dict[str, Any]:
    """Return a request; {} for what is none, or an unusual one, which is the SDK's to refuse."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    usual = isinstance(message, dict) and isinstance(message.get("params", {}), dict)
    return message if usual and message.get("jsonrpc") == "2.0" else {}


def _handshake(version: str, *, read_only: bool) -> Json:
    return {
        "protocolVersion": version,
        "capabilities": {"resources": {"listChanged": False, "subscribe": False}, "tools": {"listChanged": False}},
        "serverInfo": {"name": "dream", "version": dream.__version__},
        "instructions": instructions(read_only=read_only),
    }
