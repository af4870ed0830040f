"""What worked: which commands, fixes and vain attempts of coding sessions memory keeps, and what never may get in.

A case is a folder: `project.toml` (cwd, language), sessions `1.jsonl`, `2.jsonl`, … as OpenAI chat messages with a
`time` each, and `gold.toml` with `[[command]]`, `[[fix]]`, `[[vain]]` and `[[never]]`: patterns that one line of memory
must hold all of, and for `never` no line may, unless it holds one of `unless` too. Each session is written as a
transcript of Claude Code's, read and dreamt on the evening of its day by the commands' own pipeline with the model of
the settings. Run it with `python -m tests.quality.howto FOLDER [--case NAME] [--keep DIR]`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from dream import pipeline
from dream.directory import Workspace
from dream.settings import CALLING, load

SORTS = ("command", "fix", "vain")
EVENING, QUIET = time(22), timedelta(minutes=30)  # when a session is read: in the evening, and not while it goes on
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HowToFigures:
    """What came of a case: of each sort how many are kept of how many, and what got in of what never may.

    `lines` stand below "How to", `held` wait in review. `faults` name what is missing and what got in.
    """

    case: str
    half: str
    command: tuple[int, int]
    fix: tuple[int, int]
    vain: tuple[int, int]
    never: tuple[int, int]
    lines: int
    held: int
    faults: tuple[str, ...]


def played(folder: Path, root: Path) -> Workspace:
    """Read and dream the sessions of a case, evening by evening, in a home below `root`."""
    project = tomllib.loads((folder / "project.toml").read_text(encoding="utf-8"))
    home = root / "home"
    cwd = root / project["cwd"].lstrip("/")
    for made in (home, cwd / ".git"):
        made.mkdir(parents=True, exist_ok=True)
    (cwd / ".git" / "config").write_text("[core]\n\tbare = false\n", encoding="utf-8")
    os.environ |= {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    sessions = sorted(folder.glob("*.jsonl"), key=lambda path: int(path.stem))
    workspace: Workspace | None = None
    for path in sessions:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        last = max(_at(row["time"]) for row in rows)
        now = max(datetime.combine(last.date(), EVENING, UTC), last + QUIET)
        workspace = workspace or Workspace.create(home / "memory", now=now)
        session = home / ".claude" / "projects" / cwd.name / f"{folder.name}-{path.stem}.jsonl"
        session.parent.mkdir(parents=True, exist_ok=True)
        session.write_text("".join(_transcript(rows, session.stem, str(cwd), project["cwd"])), encoding="utf-8")
        settings = load(workspace.root, flags={"timezone": "UTC", "durable": False}, using=CALLING)
        read = pipeline.consolidate(workspace, [session], settings=settings, now=now)
        done = pipeline.run(workspace, settings=settings, now=now)
        if done.outcome == "failed" or read.reason:
            raise RuntimeError(f"{session}: {read.reason} {done.reason}")
    if workspace is None:
        raise RuntimeError(f"{folder} has no sessions")
    return workspace


def _transcript(rows: Sequence[Row], session: str, cwd: str, named: str) -> Iterator[str]:
    """Yield a session's messages as lines of Claude Code's, in the folder `cwd` wherever they name `named`."""
    for number, row in enumerate(rows):
        said = [{"type": "text", "text": row["content"]}] if row.get("content") else []
        if row["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": row["tool_call_id"], "content": row["content"]}
            said = [result | {"is_error": bool(row.get("is_error"))}]
        for call in row.get("tool_calls", ()):
            said.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        line = {
            "type": "assistant" if row["role"] == "assistant" else "user",
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "timestamp": _at(row["time"]).isoformat(),
            "cwd": cwd,
            "message": {"role": "assistant" if row["role"] == "assistant" else "user", "content": said},
        }
        yield json.dumps(line, ensure_ascii=False).replace(named, cwd) + "\n" if row["role"] != "system" else ""


def _at(value: object) -> datetime:
    at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def figures(folder: Path, workspace: Workspace) -> HowToFigures:
    """Hold the memory of a case against its gold."""
    gold = tomllib.loads((folder / "gold.toml").read_text(encoding="utf-8"))
    texts = [workspace.read_file(file) for file in workspace.files()]
    lines = [line for text in texts for line in text.splitlines()]
    faults: list[str] = []
    counts: dict[str, tuple[int, int]] = {}
    for sort in SORTS:
        wanted = gold.get(sort, [])
        missing = [one for one in wanted if not any(_holds(line, one["all"]) for line in lines)]
        faults += [f"missing {sort}: {one['what']}" for one in missing]
        counts[sort] = (len(wanted) - len(missing), len(wanted))
    never, entered = gold.get("never", []), 0
    for one in never:
        allowed = _list(one.get("unless", []))
        line = next((row for row in lines if _holds(row, one["all"]) and not _any(row, allowed)), "")
        entered += bool(line)
        faults += [f"got in: {line!r} ({one['what']}: {one['why']})"] * bool(line)
    below = sum(len(_below(text)) for text in texts)
    half, held = str(gold.get("half", "")), len(workspace.pending())
    return HowToFigures(
        folder.name, half, **counts, never=(entered, len(never)), lines=below, held=held, faults=(*faults,)
    )


def _below(text: str) -> list[str]:
    """Return the lines below the heading for what worked."""
    found = re.search(r"^#+ How to\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return [line for line in found[1].splitlines() if line.strip()] if found else []


def _holds(line: str, patterns: object) -> bool:
    return all(re.search(pattern, line, re.IGNORECASE) for pattern in _list(patterns))


def _any(line: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, line, re.IGNORECASE) for pattern in patterns)


def _list(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value] if isinstance(value, list) else []


def main() -> None:
    """Play the cases in the folder that is named, and print their figures and the sums by half."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--case", help="only this one")
    asked.add_argument("--keep", type=Path, help="leave each case's home and workspace in this directory")
    asked.add_argument("--quiet", action="store_true", help="no words of a case: for those that nobody may look at")
    options = asked.parse_args()
    rows = []
    for folder in sorted(path.parent for path in options.folder.glob("*/gold.toml")):
        if options.case not in (None, folder.name):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            root = (options.keep or Path(scratch)).resolve() / folder.name
            rows.append(figures(folder, played(folder, root)))
        shown = asdict(rows[-1])
        print(json.dumps({**shown, "faults": len(shown["faults"])} if options.quiet else shown, ensure_ascii=False))
    for half in sorted({row.half for row in rows}):
        mine = [row for row in rows if row.half == half]
        sums = {
            sort: " of ".join(str(sum(getattr(row, sort)[at] for row in mine)) for at in (0, 1))
            for sort in (*SORTS, "never")
        }
        print(f"{half or 'all'}, {len(mine)} cases: {json.dumps(sums)}", file=sys.stderr)


if __name__ == "__main__":
    main()
