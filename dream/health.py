"""How a workspace stands: what `dream status` shows, read and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from dream import nightly
from dream.crontime import parse
from dream.errors import WorkspaceError
from dream.llm import tokens
from dream.models import MEMORY_FILES, MemoryFile, Usage
from dream.settings import Settings
from dream.store import runs
from dream.store.bills import Bills
from dream.store.runs import RunRecord
from dream.store.workspace import Workspace

RUNS = 5  # shown of the run record
LATE = timedelta(hours=36)  # after which a backlog that nobody dreamt is worth a word


@dataclass(frozen=True, slots=True)
class FileSize:
    """How large a memory file is, and how large it may become."""

    lines: int
    bytes: int
    tokens: int
    max_lines: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Health:
    """How a workspace stands. Token counts are estimates; `problems` are sentences, none when all is well."""

    model: str
    entries: int
    history_tokens: int
    last_cursor: int
    dream_cursor: int
    backlog_entries: int
    backlog_tokens: int
    files: Mapping[MemoryFile, FileSize]
    pending: int
    today: Usage
    month: Usage
    runs: tuple[RunRecord, ...]
    next_run: datetime | None
    scheduled: tuple[str, ...]
    problems: tuple[str, ...]


def read(workspace: Workspace, settings: Settings, now: datetime, scheduled: tuple[str, ...]) -> Health:
    """Read how `workspace` stands; `scheduled` names what starts its nights beside `dream serve`.

    A memory file that cannot be read is a problem among others, not an error.
    """
    problems: list[str] = []
    files: dict[MemoryFile, FileSize] = {}
    for name in MEMORY_FILES:
        try:
            files[name] = _size(name, workspace.read_file(name), settings)
        except WorkspaceError as error:
            problems.append(str(error))
    history, cursor = workspace.history, workspace.dream_cursor()
    backlog = [entry.tokens for entry in history.after(cursor)]
    entries, size = history.size()
    done = tuple(islice(runs.last(workspace.private, RUNS), RUNS))
    serving = nightly.served(workspace)
    spent = Bills(workspace.private).spent(now, settings.zone())
    zone = ZoneInfo(settings.timezone) if settings.timezone else None
    next_run = serving or (parse(settings.schedule).after(now, zone) if scheduled else None)
    if done and done[0].outcome == "failed":
        problems.append(f"the last run failed: {done[0].reason}")
    if backlog and done and now - done[0].ended > LATE:
        problems.append(f"nothing has run since {done[0].ended.astimezone(zone):%Y-%m-%d %H:%M}")
    return Health(
        model=", ".join(dict.fromkeys(settings.model_for(job) for job in ("consolidator", "phase1", "phase2"))),
        entries=entries,
        history_tokens=size,
        last_cursor=history.last_cursor(),
        dream_cursor=cursor,
        backlog_entries=len(backlog),
        backlog_tokens=sum(backlog),
        files=files,
        pending=len(workspace.pending()),
        today=spent.today,
        month=spent.month,
        runs=done,
        next_run=next_run,
        scheduled=("serve", *scheduled) if serving else scheduled,
        problems=tuple(problems),
    )


def _size(name: MemoryFile, text: str, settings: Settings) -> FileSize:
    bounds = {
        "SOUL.md": (settings.soul_max_lines, settings.soul_max_bytes),
        "USER.md": (settings.user_max_lines, settings.user_max_bytes),
        "memory/MEMORY.md": (settings.memory_max_lines, settings.memory_max_bytes),
    }
    return FileSize(text.count("\n"), len(text.encode("utf-8")), tokens.estimate(text), *bounds[name])
