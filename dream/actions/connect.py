"""Connect agents' clients with a workspace: hooks and an MCP server, written into the clients' own config files.

A table says which files each client reads. A file is changed as text: one entry is added or removed, and comments,
order and layout stay as a person wrote them. The new text is parsed again before it is written: if anything but the
entry differs, nothing is written.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dream.door import contents
from dream.errors import UsageError, WorkspaceError
from dream.models import MEMORY_FILES
from dream.workspace.files import reason, replace_file

NAME = "dream"  # of the MCP server in every client's config
AT_PROMPT = ("context", "--hook")
IN_JSON = ("context", "--hook", "--json")
AT_END = ("consolidate", "--hook", "--detach")
_HOOKS = {"SessionStart": AT_PROMPT, "UserPromptSubmit": AT_PROMPT, "SessionEnd": AT_END}
_OURS = re.compile(r"\bdream['\"]? (?:context|consolidate --hook)\b.* -w ")
_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ATOM = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its program, its folder, and its config files. Paths are relative to the folder; `home`: to its parent.

    `server` is the location of the MCP server's entry: the file and the keys above it; `entry` has the values of the
    entry besides the command. `hooks` are the arguments of the command for each event.
    """

    program: str
    folder: str
    variable: str = ""  # environment variable that names the folder
    server: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    listed: bool = False  # whether the entry has command and arguments in one list
    hooks_file: str = ""
    hooks: Mapping[str, Sequence[str]] | None = None
    reads: str = ""  # the list, in the server's file, of files that each prompt begins with
    is_source: bool = True  # whether its sessions are read at night
    note: str = ""

    def gives(self) -> str:
        """Describe what works once the client is connected."""
        hooks = dict(self.hooks or {})
        begins = "each session begins with memory" if hooks or self.reads else ""
        recalls = "each prompt recalls what was said of it" if {"UserPromptSubmit", "BeforeAgent"} & set(hooks) else ""
        ends = "each finished session goes into history" if "SessionEnd" in hooks else ""
        nights = "its sessions are read at night" if self.is_source and not ends else ""
        *others, last = filter(None, (begins, recalls, ends, nights, "the agent searches and notes by itself"))
        return f"{', '.join(others)}, and {last}" if others else last


# Seen in the clients themselves, November 2026: Claude Code 2.1, Codex 0.169, Copilot CLI 1.0, Gemini CLI 0.61,
# OpenCode 1.18, pi 0.73, nanobot 0.2.
CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        "claude",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        ("../.claude.json", "mcpServers"),
        {"type": "stdio", "alwaysLoad": True},  # else the model has to search for the tools before it can call one
        hooks_file="settings.json",
        hooks=_HOOKS,
    ),
    "codex": Client(
        "codex",
        ".codex",
        "CODEX_HOME",
        ("config.toml", "mcp_servers"),
        hooks_file="hooks.json",
        hooks=_HOOKS,
        note="Codex asks you to trust new hooks: type /hooks in it, then t.",
    ),
    "copilot-cli": Client(
        "copilot",
        ".copilot",
        "COPILOT_HOME",
        ("mcp-config.json", "mcpServers"),
        {"type": "local", "tools": ["*"]},
        hooks_file="settings.json",
        hooks={"SessionStart": IN_JSON, "UserPromptSubmit": IN_JSON},
    ),
    "gemini-cli": Client(
        "gemini",
        ".gemini",
        "",
        ("settings.json", "mcpServers"),
        hooks_file="settings.json",
        hooks={"SessionStart": IN_JSON, "BeforeAgent": IN_JSON, "SessionEnd": AT_END},
    ),
    "opencode": Client(
        "opencode",
        ".config/opencode",
        "OPENCODE_CONFIG_DIR",
        ("opencode.json", "mcp"),
        {"type": "local", "enabled": True},
        listed=True,
        reads="instructions",
    ),
    "nanobot": Client(
        "nanobot",
        ".nanobot",
        "",
        ("config.json", "tools", "mcpServers"),
        is_source=False,
        note="nanobot has no hooks; `dream init ~/.nanobot/workspace` dreams in its own workspace.",
    ),
    "pi": Client(
        "pi",
        ".pi/agent",
        "",
        note="pi has neither MCP nor hooks, but it reads a file:"
        " dream context --guide -w {workspace} >> {folder}/AGENTS.md",
    ),
}


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The present and the new text of a config file; None means that there is no file."""

    path: Path
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ClientState:
    """A client on this machine: whether it is installed, and which of its files have our entries."""

    client: str
    installed: bool
    connected: tuple[str, ...]
    note: str


def found(home: Path, environ: Mapping[str, str]) -> Iterator[ClientState]:
    """Yield every supported client, whether it is installed, and where it is connected; nothing is changed."""
    for name, client in CLIENTS.items():
        folder = _folder(client, home, environ)
        there = _is_here(client, folder, environ)
        files = [str(path) for path in _files(client, folder) if _names_us(path)]
        yield ClientState(name, there, tuple(files), client.note.format(workspace="DIR", folder=folder))


def changes(
    name: str, home: Path, environ: Mapping[str, str], program: Sequence[str], workspace: Path | None
) -> list[ConfigFile]:
    """Return the changes that connect a client with `workspace`, or, if that is None, disconnect it.

    `program` is the command that starts `dream`. Raises UsageError for a client that can't be connected,
    WorkspaceError for a file that can't be read, understood or changed without harm.
    """
    client = CLIENTS.get(name)
    if client is None:
        raise UsageError(f"There is no client {name!r}; there are {', '.join(CLIENTS)}.")
    folder = _folder(client, home, environ)
    if not client.server:
        raise UsageError(client.note.format(workspace=shlex.quote(str(workspace or "DIR")), folder=folder))
    if workspace and not _is_here(client, folder, environ):
        raise UsageError(f"{name} is not on this machine: no {client.program} on PATH, and no {folder}.")
    texts = {path: _read(path) for path in _files(client, folder)}
    wanted = {path: text or "" for path, text in texts.items()}
    server, *above = _server(client, folder)
    entry = _entry(client, program, workspace) if workspace else None
    if client.reads:
        wanted[server] = _with_files(server, wanted[server], client.reads, (*above, NAME), workspace)
    wanted[server] = _with_server(server, wanted[server], (*above, NAME), entry)
    if client.hooks:
        path = folder / client.hooks_file
        wanted[path] = _with_hooks(path, wanted[path], client.hooks, program, workspace)
    made = [ConfigFile(path, texts[path], _left(texts[path], text)) for path, text in wanted.items()]
    return [one for one in made if one.before != one.after and (one.before or one.after)]


def _left(before: str | None, after: str) -> str | None:
    """Return the new text of a file; None if we created it and nothing is left in it."""
    was_there = before is not None and before.lstrip().startswith(("{ ", "{}"))
    return after if after.strip() not in ("", "{}") or was_there else None


def write(change: ConfigFile) -> None:
    """Replace a file by its new text; its mode stays. Raises WorkspaceError if it has changed since it was read."""
    if _read(change.path) != change.before:
        raise WorkspaceError(f"{change.path} has changed since it was read; try again.")
    if change.after is None:
        change.path.unlink()
    else:
        replace_file(change.path, change.after.encode("utf-8"))


def _is_here(client: Client, folder: Path, environ: Mapping[str, str]) -> bool:
    return folder.is_dir() or shutil.which(client.program, path=environ.get("PATH")) is not None


def _folder(client: Client, home: Path, environ: Mapping[str, str]) -> Path:
    named = environ.get(client.variable) if client.variable else None
    if named is None and client.folder.startswith(".config/") and environ.get("XDG_CONFIG_HOME"):
        return Path(environ["XDG_CONFIG_HOME"], client.folder.removeprefix(".config/"))
    return Path(named).expanduser().absolute() if named else home / client.folder


def _server(client: Client, folder: Path) -> tuple[Any, ...]:
    """Return the file that lists the MCP servers, and the keys above them."""
    file, *above = client.server
    if file.startswith("../"):  # beside Claude Code's default folder, but inside one set by its variable
        beside = folder.name == client.folder
        path = (folder.parent if beside else folder) / file.removeprefix("../")
    else:
        path = folder / file
    with_comments = path.with_suffix(".jsonc")
    return (with_comments if file == "opencode.json" and with_comments.exists() else path, *above)


def _files(client: Client, folder: Path) -> list[Path]:
    files = [_server(client, folder)[0]] if client.server else []
    return list(dict.fromkeys([*files, *([folder / client.hooks_file] if client.hooks_file else [])]))


def _names_us(path: Path) -> bool:
    try:
        text = contents(path).decode("utf-8", "replace")
    except OSError:
        return False
    in_json = re.search(rf'"{NAME}"\s*:\s*\{{[^}}]*"mcp"', text)
    return in_json is not None or f"[mcp_servers.{NAME}]" in text or _OURS.search(text) is not None


def _read(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist. Raises WorkspaceError if it can't be written."""
    try:
        if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            raise WorkspaceError(f"{path} can't be changed: its folder is read-only.")
        text = contents(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeError as fault:
        raise WorkspaceError(f"{path} is not UTF-8 text; nothing was changed.") from fault
    except OSError as fault:
        raise WorkspaceError(f"{path} can't be changed: {reason(fault)}.") from fault
    if not path.stat().st_mode & 0o200:
        raise WorkspaceError(f"{path} is read-only; nothing was changed.")
    return text


def _entry(client: Client, program: Sequence[str], workspace: Path) -> dict[str, Any]:
    line = [*program, "mcp", "-w", str(workspace)]
    started = {"command": line} if client.listed else {"command": line[0], "args": line[1:]}
    return {**(client.entry or {}), **started}


def _with_server(path: Path, text: str, keys: Sequence[str], entry: Mapping[str, Any] | None) -> str:
    toml = path.suffix == ".toml"
    there = _at(_toml(path, text) if toml else _value(path, text), keys)
    if there == entry:
        return text
    if there is not None and not _is_ours(there):
        raise WorkspaceError(f"{path} has another MCP server named {NAME}; rename it first.")
    if toml:
        return _in_toml(path, text, keys, entry)
    text = text if there is None else _checked(path, text, without_value(text, keys), keys, None)
    return text if entry is None else _checked(path, text, _put(path, text, keys, entry), keys, entry)


def _is_ours(entry: Any) -> bool:
    """Return whether an MCP entry starts `dream mcp`."""
    line = entry.get("command") if isinstance(entry, dict) else None
    words = line if isinstance(line, list) else [line, *entry.get("args", [])] if isinstance(line, str) else []
    return "mcp" in words and any(Path(str(word)).name == "dream" for word in words)


def _with_hooks(
    path: Path, text: str, hooks: Mapping[str, Sequence[str]], program: Sequence[str], workspace: Path | None
) -> str:
    for event, words in hooks.items():
        command = shlex.join([*program, *words, "-w", str(workspace)]) if workspace else None
        keys = ("hooks", event)
        groups = _at(_value(path, text), keys)
        groups = [] if groups is None else groups
        if not isinstance(groups, list):
            raise WorkspaceError(f"In {path}, hooks of {event} are no list; mend that first.")
        ours = [number for number, group in enumerate(groups) if _commands(group)]
        if [_commands(groups[number]) for number in ours] == ([[command]] if command else []):
            continue
        for number in reversed(ours):
            text = without_value(text, (*keys, number))
        if command:
            group = {"hooks": [{"type": "command", "command": command}]}
            text = _put(path, text, (*keys, len(groups) - len(ours)), group)
        _value(path, text)
    return text


def _with_files(path: Path, text: str, name: str, keys: Sequence[str], workspace: Path | None) -> str:
    """Add the memory files to the list `name`, in place of those of the workspace that was connected before."""
    there = _at(_value(path, text), (name,)) or []
    entry = _at(_value(path, text), keys)
    line = entry.get("command") if isinstance(entry, dict) else None
    was = _memory_files(Path(line[-1])) if isinstance(line, list) and line and _is_ours(entry) else []
    wanted = _memory_files(workspace) if workspace else []
    if not isinstance(there, list):
        raise WorkspaceError(f"In {path}, {name} is no list; mend that first.")
    if was == wanted and set(wanted) <= set(there):
        return text
    for number in reversed([number for number, one in enumerate(there) if one in was]):
        text = without_value(text, (name, number))
    kept = [one for one in there if one not in was]
    for number, one in enumerate([one for one in wanted if one not in kept], len(kept)):
        text = _put(path, text, (name, number), one)
    _value(path, text)
    return text


def _memory_files(workspace: Path) -> list[str]:
    return [str(workspace / file) for file in MEMORY_FILES]


def _put(path: Path, text: str, keys: Sequence[str | int], value: Any) -> str:
    try:
        return with_value(text, keys, value)
    except ValueError as fault:
        raise WorkspaceError(f"{path} is not laid out as its client reads it: {fault}; mend that first.") from fault


def _commands(group: Any) -> list[str]:
    """Return the commands of a group of hooks that are ours."""
    made = group.get("hooks", []) if isinstance(group, dict) else []
    lines = [one.get("command", "") for one in made if isinstance(one, dict)] if isinstance(made, list) else []
    return lines if lines and all(isinstance(line, str) and _OURS.search(line) for line in lines) else []


def _checked(path: Path, before: str, after: str, keys: Sequence[str], entry: Any) -> str:
    """Return `after` if it differs from `before` only in the entry. Raises WorkspaceError."""
    _check(path, _value(path, before), _value(path, after), keys, entry)
    return after


def _check(path: Path, was: Any, now: Any, keys: Sequence[str], entry: Any) -> None:
    """Raise WorkspaceError unless `now` and `was` differ only in the entry."""
    if _at(now, keys) != entry or _without(now, keys) != _without(was, keys):
        raise WorkspaceError(f"{path} could not be changed without harm; write the entry by hand: the README shows it.")


def _without(value: Any, keys: Sequence[str]) -> Any:
    """Return a value without the item at `keys`, and without the containers above it that are then empty."""
    if not keys or not isinstance(value, dict):
        return value
    rest = {name: one for name, one in value.items() if name != keys[0]}
    below = _without(value[keys[0]], keys[1:]) if len(keys) > 1 and keys[0] in value else None
    return rest | {keys[0]: below} if below else rest


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _value(path: Path, text: str) -> Any:
    try:
        value = parsed(text).value if text.strip() else {}
    except (ValueError, RecursionError) as fault:
        raise WorkspaceError(f"{path} can't be read as JSON: {fault}; nothing was changed.") from fault
    if not isinstance(value, dict):
        raise WorkspaceError(f"{path} holds no JSON object; nothing was changed.")
    return value


# TOML: a table of its own at the end of the file, which can be removed again exactly.


def _toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise WorkspaceError(f"{path} can't be read as TOML: {fault}; nothing was changed.") from fault


def _in_toml(path: Path, text: str, keys: Sequence[str], entry: Mapping[str, Any] | None) -> str:
    header = f"[{'.'.join(keys)}]"
    after = re.sub(rf"\n?^{re.escape(header)}[ \t]*\n(?:(?!\s*\[).*(?:\n|\Z))*", "", text, flags=re.MULTILINE)
    if entry is not None:
        rows = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in entry.items())
        after += ("\n" if after else "") + f"{header}\n{rows}"  # the extra line break is removed with it
    was = _toml(path, text)
    try:
        now = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        now = None
    _check(path, was, now, keys, entry)
    return after


# JSON with comments, changed as text: one value is added or removed, and everything else stays the same. Pure.


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a text, from `start` to `end`: that of an object has its members by name, of a list by number."""

    start: int
    end: int
    value: Any
    inside: Mapping[str | int, Node]
    begin: int  # where its key begins, for a member of an object


def parsed(text: str) -> Node:
    """Read a text; raises ValueError."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _node(text, start, start)
    if _skip(text, node.end) != len(text):
        raise ValueError(f"something follows its end, {_place(text, node.end)}")
    return node


def _skip(text: str, at: int) -> int:
    match = _SKIPPED.match(text, at)
    return match.end() if match else at


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


def _node(text: str, start: int, begin: int) -> Node:
    opening = text[start : start + 1]
    if opening not in ("{", "["):
        match = _ATOM.match(text, start)
        if match is None:
            raise ValueError(f"a value was expected, {_place(text, start)}")
        return Node(start, match.end(), json.loads(match[0]), {}, begin)
    closing, inside = {"{": "}", "[": "]"}[opening], dict[str | int, Node]()
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        name: str | int = len(inside)
        begin_of, value_at = at, at
        if opening == "{":
            key = _node(text, at, at)
            colon = _skip(text, key.end)
            if not isinstance(key.value, str) or text[colon : colon + 1] != ":" or key.value in inside:
                raise ValueError(f"a name of its own and a colon were expected, {_place(text, at)}")
            name, value_at = key.value, _skip(text, colon + 1)
        inside[name] = node = _node(text, value_at, begin_of)
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise ValueError(f"a comma was expected, {_place(text, at)}")
    values = {name: node.value for name, node in inside.items()}
    return Node(start, at + 1, values if opening == "{" else list(values.values()), inside, begin)


def with_value(text: str, keys: Sequence[str | int], value: Any) -> str:
    """Insert `value` at `keys`, as the last of its object or list; missing containers are created."""
    is_new = not text.strip()
    text = "{}\n" if is_new else text
    node, depth = parsed(text), 0
    while keys[depth] in node.inside:
        node, depth = node.inside[keys[depth]], depth + 1
    for key in reversed(keys[depth + 1 :]):
        value = [value] if isinstance(key, int) else {key: value}
    indented = re.search(r"\n([ \t]+)\S", text)
    step = indented[1] if indented else "  "
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    one_line = "\n" not in text[node.start : node.end] and bool(node.inside)
    indent = None if one_line else step
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    if isinstance(keys[depth], str) != isinstance(node.value, dict) or not isinstance(node.value, dict | list):
        raise ValueError(f"what should hold {keys[depth]!r} is something else, {_place(text, node.start)}")
    if isinstance(keys[depth], str):
        written = f"{json.dumps(keys[depth], ensure_ascii=False)}: {written}"
    if one_line:
        last = list(node.inside.values())[-1]
        return f"{text[: last.end]}, {written}{text[last.end :]}"
    if not node.inside and not is_new:  # a space tells `without_value` that the container existed before and was empty
        return f"{text[: node.start + 1]} {written.replace(chr(10), chr(10) + outer)}{text[node.start + 1 :]}"
    written = "\n" + outer + step + written.replace("\n", "\n" + outer + step)
    if not node.inside:
        return f"{text[: node.start + 1]}{written}\n{outer}{text[node.end - 1 :]}"
    last = list(node.inside.values())[-1]
    comma = _skip(text, last.end)
    trailing = text[comma] == ","
    after = comma + 1 if trailing else last.end
    tail = after + len(text[after : node.end - 1].rstrip())  # a comment after the last member stays after it
    between = text[last.end : tail] if trailing else "," + text[after:tail]
    return f"{text[: last.end]}{between}{written}{',' * trailing}{text[tail:]}"


def without_value(text: str, keys: Sequence[str | int]) -> str:
    """Remove the value at `keys`, and the containers above it that are then empty, unless they were empty before."""
    nodes = [parsed(text)]
    for key in keys:
        nodes.append(nodes[-1].inside[key])
    depth = len(keys) - 1
    while depth and len(nodes[depth].inside) == 1 and not _was_empty(text, nodes[depth]):
        depth -= 1
    siblings = list(nodes[depth].inside.values())
    place = siblings.index(nodes[depth + 1])
    if len(siblings) == 1:
        after = siblings[0].end if _was_empty(text, nodes[depth]) else nodes[depth].end - 1
        return f"{text[: nodes[depth].start + 1]}{text[after:]}"
    if place == len(siblings) - 1:
        before, end = siblings[place - 1].end, siblings[place].end
        comma = _skip(text, end)
        trailing = text[comma] == ","
        rest = text[before : siblings[place].begin].rstrip()
        rest = rest if trailing else rest.replace(",", "", 1)
        return f"{text[:before]}{rest}{text[comma + 1 if trailing else end :]}"
    return f"{text[: siblings[place].begin]}{text[siblings[place + 1].begin :]}"


def _was_empty(text: str, node: Node) -> bool:
    """Return whether `with_value` put the only member into an object or list that existed and was empty."""
    return any(text[node.start + 1 : one.begin] == " " for one in node.inside.values())
