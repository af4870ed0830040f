"""Where tools on this machine keep what they remember: a table of files, for the user and in each project.

Only the names are looked at; links that lead out of a tool's folder, or of a path that is named, are not followed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dream.errors import DreamError, UsageError
from dream.transfer.native import is_versioned

MOST_FILES = 2_000  # of a directory that is named
SUFFIXES = (".md", ".mdc", ".txt", ".json", ".jsonl", ".af")

# What a project holds for the agents that work in it: pattern, tool, and whether it is the project's own.
PROJECT: tuple[tuple[str, str, bool], ...] = (
    ("CLAUDE.local.md", "claude-code", False),
    ("CLAUDE.md", "claude-code", True),
    (".claude/CLAUDE.md", "claude-code", True),
    (".claude/rules/**/*.md", "claude-code", True),
    ("AGENTS.md", "agents", True),
    ("GEMINI.md", "gemini-cli", True),
    (".github/copilot-instructions.md", "copilot-cli", True),
    (".github/instructions/**/*.instructions.md", "copilot-cli", True),
    (".cursor/rules/**/*.mdc", "cursor", True),
    (".cursorrules", "cursor", True),
)
_STEMS = {"SOUL": "SOUL", "IDENTITY": "SOUL", "USER": "USER", "MEMORY": "MEMORY", "memory_summary": "MEMORY"}
_SKIPPED = {".git", "node_modules", ".venv", "skills"}


@dataclass(frozen=True, slots=True)
class MemorySource:
    """A file in which a tool keeps what it remembers.

    `file` is what its lines are: SOUL, USER or MEMORY; "" where they are about the user unless they say otherwise.
    `folder` is the project that they hold in, "" for everywhere; `own` tells that it is one of the project's own files,
    which others may have written.
    """

    tool: str
    path: Path
    file: str = ""
    folder: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class ToolFiles:
    """A tool: its folder below the home directory, the variable that names it, and what it keeps there."""

    name: str
    folder: str
    variable: str = ""
    files: tuple[tuple[str, str], ...] = field(default=())  # patterns, each with what the lines are


TOOLS: tuple[ToolFiles, ...] = (
    ToolFiles(
        "claude-code",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        (("CLAUDE.md", "SOUL"), ("rules/**/*.md", "SOUL"), ("projects/*/memory/**/*.md", "MEMORY")),
    ),
    ToolFiles(
        "codex",
        ".codex",
        "CODEX_HOME",
        (
            ("AGENTS.md", "SOUL"),
            ("AGENTS.override.md", "SOUL"),
            ("memories/MEMORY.md", "MEMORY"),
            ("memories/memory_summary.md", "MEMORY"),
        ),
    ),
    ToolFiles("gemini-cli", ".gemini", "", (("GEMINI.md", "SOUL"), ("tmp/*/memory/*.md", "MEMORY"))),
    ToolFiles(
        "copilot-cli",
        ".copilot",
        "COPILOT_HOME",
        (("copilot-instructions.md", "SOUL"), ("instructions/**/*.instructions.md", "SOUL")),
    ),
    ToolFiles("opencode", ".config/opencode", "OPENCODE_CONFIG_DIR", (("AGENTS.md", "SOUL"),)),
    ToolFiles(
        "hermes",
        ".hermes",
        "HERMES_HOME",
        (("SOUL.md", "SOUL"), ("memories/USER.md", "USER"), ("memories/MEMORY.md", "MEMORY")),
    ),
    ToolFiles(
        "letta",
        ".letta",
        "",
        (
            ("lc-local-backend/memfs/*/memory/system/persona.md", "SOUL"),
            ("lc-local-backend/memfs/*/memory/system/human.md", "USER"),
            ("lc-local-backend/memfs/*/memory/**/*.md", "MEMORY"),
        ),
    ),
    ToolFiles(
        "openclaw",
        ".openclaw",
        "OPENCLAW_STATE_DIR",
        (
            ("workspace/SOUL.md", "SOUL"),
            ("workspace/IDENTITY.md", "SOUL"),
            ("workspace/USER.md", "USER"),
            ("workspace/MEMORY.md", "MEMORY"),
            ("workspace/memory/*.md", "MEMORY"),
        ),
    ),
    ToolFiles(
        "nanobot",
        ".nanobot",
        "",
        (("workspace/SOUL.md", "SOUL"), ("workspace/USER.md", "USER"), ("workspace/memory/MEMORY.md", "MEMORY")),
    ),
)
NAMES = tuple(dict.fromkeys((*(tool.name for tool in TOOLS), *(tool for _, tool, _ in PROJECT))))


def everywhere(
    home: Path, environ: Mapping[str, str], projects: Iterable[str], names: Iterable[str] = ()
) -> list[MemorySource]:
    """Return what is found for the user and in `projects`, of the tools with these `names` (none: of all)."""
    wanted = set(names) or set(NAMES)
    found = [one for tool in TOOLS for one in _of_tool(tool, home, environ)]
    folders = dict.fromkeys((*projects, *_known_projects(home, environ)))
    found += [one for folder in folders if Path(folder) != home for one in of_project(Path(folder))]
    return [one for one in {one.path: one for one in reversed(found)}.values() if one.tool in wanted][::-1]


def named(path: Path, home: Path, environ: Mapping[str, str]) -> list[MemorySource]:
    """Return the files that a path stands for; raises UsageError where there is none."""
    path = Path(os.path.normpath(path.expanduser().absolute()))
    known = {one.path: one for tool in TOOLS for one in _of_tool(tool, home, environ)}
    if path.is_dir():
        below = [one for place, one in known.items() if place.is_relative_to(path)]
        own = list(of_project(path))
        found = below or (own if any(one.own for one in own) else [_described(one) for one in _walk(path)])
        if not found:
            raise UsageError(f"{path} holds no file that is read as memory: {', '.join(SUFFIXES)}.")
        return found
    if path.is_symlink() and (root := _repository(path)) and not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path} is a link that leads out of {root}; name the file that it leads to.")
    if not path.is_file():
        raise UsageError(f"{path} is no file, no directory and no tool's name; there are {', '.join(NAMES)}.")
    return [known.get(path) or _in_project(path, home) or _described(path)]


def of_project(folder: Path) -> Iterator[MemorySource]:
    """Yield what a project holds for the agents that work in it; what its git has is its own, whatever its name."""
    for pattern, tool, own in PROJECT:
        for path in _matching(folder, pattern):
            yield MemorySource(tool, path, "SOUL", str(folder), own or _is_published(path))


def _in_project(path: Path, home: Path) -> MemorySource | None:
    """Return a file as a project's, where it is one that agents read there."""
    above = (folder for folder in path.parents if folder != home and folder not in home.parents)
    return next((one for folder in above for one in of_project(folder) if one.path == path), None)


def _described(path: Path) -> MemorySource:
    tool, file, root = path.stem if path.stem in NAMES else "file", _STEMS.get(path.stem, ""), _repository(path)
    if file == "SOUL" and root is not None and _is_published(path):  # others may have written such rules
        return MemorySource(tool, path, file, str(root), own=True)
    return MemorySource(tool, path, file)


def _is_published(path: Path) -> bool:
    """Return whether git has a file, or would take it; so too where that can't be known."""
    try:
        return is_versioned(path)
    except DreamError:
        return True


def _repository(path: Path) -> Path | None:
    return next((folder for folder in path.parents if (folder / ".git").exists()), None)


def _of_tool(tool: ToolFiles, home: Path, environ: Mapping[str, str]) -> Iterator[MemorySource]:
    said = environ.get(tool.variable) if tool.variable else None
    folder = Path(said).expanduser().absolute() if said else home / tool.folder
    projects = _projects_of(tool.name, folder, home)
    for pattern, file in tool.files:
        for path in _matching(folder, pattern):
            source = MemorySource(tool.name, path, file)
            parts = path.relative_to(folder).parts
            if parts[0] in ("projects", "tmp"):
                source = replace(source, folder=projects.get(parts[1], ""))
            yield source


def _projects_of(tool: str, folder: Path, home: Path) -> dict[str, str]:
    """Return which project each folder of a tool's own is about."""
    if tool == "claude-code":
        paths = _claude_projects(folder, home)
        return {re.sub(r"[^A-Za-z0-9]", "-", path): path for path in paths}
    if tool == "gemini-cli":
        noted = _json(folder / "projects.json").get("projects")
        return {str(name): str(path) for path, name in noted.items()} if isinstance(noted, dict) else {}
    return {}


def _known_projects(home: Path, environ: Mapping[str, str]) -> list[str]:
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return [path for path in _claude_projects(folder, home) if Path(path).is_dir()]


def _claude_projects(folder: Path, home: Path) -> list[str]:
    """Return the projects that Claude Code knows: of its own file, and of a transcript of each folder."""
    found: dict[str, None] = {}
    for file in (home / ".claude.json", folder / ".claude.json"):
        noted = _json(file).get("projects")
        found |= dict.fromkeys(noted if isinstance(noted, dict) else ())
    for transcript in _matching(folder, "projects/*/*.jsonl"):
        with suppress(OSError), transcript.open(encoding="utf-8", errors="replace") as lines:
            head = "".join(line for _, line in zip(range(20), lines, strict=False))
            if cwd := re.search(r'"cwd":\s*("(?:[^"\\]|\\.)*")', head):
                found[json.loads(cwd[1])] = None
    return list(found)


def _json(path: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        value = json.loads(path.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}
    return {}


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder that match, in their order; a link that leads out of it is not followed."""
    with suppress(OSError):
        root = folder.resolve()
        for path in sorted(folder.glob(pattern)):
            if (
                path.is_file()
                and path.resolve().is_relative_to(root)
                and not _SKIPPED & {*path.relative_to(folder).parts}
            ):
                yield path


def _walk(folder: Path) -> Iterator[Path]:
    count = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(here) / name
            if path.suffix.lower() in SUFFIXES and name not in ("index.md", "log.md") and not path.is_symlink():
                count += 1
                if count > MOST_FILES:
                    raise UsageError(f"{folder} holds more than {MOST_FILES:,} files; name a part of it.")
                yield path
