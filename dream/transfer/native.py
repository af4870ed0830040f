"""Memory in a file that an agent's client reads by itself: a marked block, kept anew every night.

The block stands at the end of the file, and all else stays byte for byte. It is marked as memory, so that no transcript
and no import learns it again. A file under version control would be published with the next push: it gets what holds
in that project alone, and only where a person says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dream.directory import Workspace
from dream.door import contents
from dream.errors import DreamError, UsageError, WorkspaceError
from dream.memory import TEMPLATES, like, place_of
from dream.models import MemoryFile
from dream.recall.context import TAGS, chosen
from dream.text.tokens import estimate
from dream.versions.git import Git
from dream.workspace.files import read_note, reason, replace_file, write_note
from dream.workspace.places import Places

BUDGET = 2_000  # tokens of a block: it stands in every prompt of the client
NOTE = "native.json"  # in .dream/: the files that hold a block, by path
# The file that each client reads for the user: the variable that names its folder, the folder, the file.
CLIENTS: Mapping[str, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "CLAUDE.md"),
    "codex": ("CODEX_HOME", ".codex", "AGENTS.md"),
    "copilot-cli": ("COPILOT_HOME", ".copilot", "copilot-instructions.md"),
    "gemini-cli": ("", ".gemini", "GEMINI.md"),
    "opencode": ("OPENCODE_CONFIG_DIR", ".config/opencode", "AGENTS.md"),
    "pi": ("", ".pi/agent", "AGENTS.md"),
}
# What clients read in a project; no other file is ever touched.
NAMES = frozenset(
    ("CLAUDE.local.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md", "dream.mdc", ".cursorrules")
)
_INCLUDES = re.compile(r"(?<![\w`])(@[\w~./-]+)")  # clients open such a file, unless it is code
_TOLD = "<!-- Kept by dream, anew every night; what is changed here is lost. Taken away by: {} -->"


@dataclass(frozen=True, slots=True)
class NativeFile:
    """A client's file as it is and as it is to be; None where there is none. `tracked`: git would take it."""

    path: Path
    before: bytes | None
    after: bytes | None
    tracked: bool


def file_of(client: str, home: Path, environ: Mapping[str, str]) -> Path:
    """Return the file that a client reads for its user; raises UsageError for one that is not known."""
    if client not in CLIENTS:
        raise UsageError(f"No file of {client!r} is known that it reads by itself; there are {', '.join(CLIENTS)}.")
    variable, folder, name = CLIENTS[client]
    return Path(environ.get(variable) or home / folder).expanduser().absolute() / name


def added(workspace: Workspace, client: str, path: Path, *, tracked: bool) -> NativeFile:
    """Return a file with the block. Raises UsageError for a file of another name, or a versioned one unasked."""
    path = Path(os.path.normpath(path.expanduser().absolute()))
    if path.name not in NAMES:
        raise UsageError(f"{path} is no file that a client reads by itself; there are {', '.join(sorted(NAMES))}.")
    versioned = is_versioned(path)
    if versioned and not tracked:
        raise UsageError(
            f"{path} is under version control, and the next push publishes what stands there. Name one that git "
            "ignores, such as CLAUDE.local.md, or add --tracked: it then gets what holds in this project alone."
        )
    before = _read(path)
    if before is not None and _block(workspace).search(before) is None and b"<dream-memory" in before:
        raise UsageError(f"{path} holds the block of another workspace; take that away first.")
    block = _written(workspace, client, path, versioned=versioned)
    return NativeFile(path, before, _with(workspace, before or b"", block), versioned)


def removed(workspace: Workspace, path: Path) -> NativeFile:
    """Return a file without the block, byte for byte as it was."""
    path = Path(os.path.normpath(path.expanduser().absolute()))
    before = _read(path)
    after = None if before is None else _without(workspace, before)
    made = bool(_noted(workspace).get(str(path), {}).get("made"))
    return NativeFile(path, before, None if made and after == b"" else after, tracked=False)


def write(workspace: Workspace, client: str, change: NativeFile, *, keep: bool = True) -> None:
    """Put a file as it is to be in its place, and note it, or drop the note unless `keep`; raises WorkspaceError."""
    if _read(change.path) != change.before:
        raise WorkspaceError(f"{change.path} has changed since it was read; try again.")
    noted = {path: row for path, row in _noted(workspace).items() if path != str(change.path) or keep}
    if keep:
        made = change.before is None or bool(noted.get(str(change.path), {}).get("made"))
        noted[str(change.path)] = {"client": client, "made": made}
        write_note(workspace.private / NOTE, noted)  # first: what is written and not noted is never kept up
    _put(change)
    if not keep:
        write_note(workspace.private / NOTE, noted)


def refresh(workspace: Workspace) -> list[str]:
    """Write every block anew that still stands where it was put; return what went wrong, a sentence each.

    A file whose block a person took out is left alone from then on.
    """
    problems: list[str] = []
    noted = _noted(workspace)
    left = dict(noted)
    for name, row in noted.items():
        path = Path(name)
        try:
            before = _read(path) if path.name in NAMES else None
            if before is None or _block(workspace).search(before) is None:
                left.pop(name)
                continue
            block = _written(workspace, str(row.get("client", "")), path, versioned=is_versioned(path))
            _put(NativeFile(path, before, _with(workspace, before, block), tracked=False))
        except DreamError as error:
            problems.append(f"Memory in {path} could not be kept up: {error}")
    if left != noted:
        write_note(workspace.private / NOTE, left)
    return problems


def files(workspace: Workspace) -> Iterator[tuple[Path, bool]]:
    """Yield the files that hold a block, and whether git has them, or would take them."""
    for name in _noted(workspace):
        if Path(name).exists():
            yield Path(name), is_versioned(Path(name))


def is_versioned(path: Path) -> bool:
    """Return whether a file lies in a git repository that does not ignore it."""
    here = path.parent.resolve() / path.name
    root = next((folder for folder in here.parents if (folder / ".git").exists()), None)
    if root is None:
        return False
    git = Git(root, root / ".git") if (root / ".git").is_dir() else Git(root)
    return not git.run("check-ignore", "--", str(here.relative_to(root)), ok=(0, 1)).strip()


def _noted(workspace: Workspace) -> dict[str, dict[str, object]]:
    return {path: row for path, row in read_note(workspace.private / NOTE).items() if isinstance(row, dict)}


def _read(path: Path) -> bytes | None:
    try:
        return contents(path)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise WorkspaceError(f"{path} can't be used: {reason(fault)}.") from fault


def _put(change: NativeFile) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
    elif change.after != change.before:
        replace_file(change.path, change.after)


def _mark(workspace: Workspace) -> str:
    return sha256(os.fsencode(workspace.root.resolve())).hexdigest()[:8]


def _block(workspace: Workspace) -> re.Pattern[bytes]:
    mark = _mark(workspace).encode()
    return re.compile(rb"(?P<before>\A|\n)<dream-memory kept=\"" + mark + rb"\">\n.*?\n</dream-memory>\n", re.DOTALL)


def _with(workspace: Workspace, text: bytes, block: bytes) -> bytes:
    """Return a file with the block in the place of the one there, else at its end."""
    pattern = _block(workspace)
    if pattern.search(text):
        return pattern.sub(lambda found: found["before"] + block, text, count=1)
    return text + (b"\n" if text else b"") + block


def _without(workspace: Workspace, text: bytes) -> bytes:
    return _block(workspace).sub(b"", text)


def _written(workspace: Workspace, client: str, path: Path, *, versioned: bool) -> bytes:
    """Return the block: memory that holds everywhere and in the file's project; of a versioned file that alone."""
    place = Places(workspace.root, workspace.private, Path.home()).at(str(path.parent))
    name = place.name if place is not None and not place.is_group else ""
    wanted = [file for file in workspace.files() if place_of(file) == name or not (versioned or place_of(file))]
    wanted = [file for file in wanted if not versioned or name]
    texts: dict[MemoryFile, str] = {file: _stated(file, workspace.read_file(file)) for file in wanted}
    memory = TAGS.sub("&lt;", chosen(texts, lambda text: estimate(text) <= BUDGET)).rstrip()
    memory = _INCLUDES.sub(r"`\1`", memory) or "Nothing yet."
    told = _TOLD.format(f"dream connect {client} --native --remove" + _named(client, path))
    return f'<dream-memory kept="{_mark(workspace)}">\n{told}\n\n{memory}\n</dream-memory>\n'.encode()


def _stated(file: MemoryFile, text: str) -> str:
    """Return a memory file without the sentence that every one begins with."""
    began = {row for row in TEMPLATES[like(file)].decode().splitlines() if row and not row.startswith("#")}
    return "\n".join(row for row in text.splitlines() if row not in began)


def _named(client: str, path: Path) -> str:
    usual = client in CLIENTS and file_of(client, Path.home(), os.environ) == path
    return "" if usual else f" --file {path.name}"
