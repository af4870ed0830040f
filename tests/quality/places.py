"""Cases of several places: what `dream` gives in each of them, day by day through the real pipeline.

Counted are crossings (a line given where it must not be), private things given to groups, and what must be there. A
case lies in a TOML file: places, sittings with their messages, and gold with the places where it belongs, and those in
which it must never be. Run it with `python -m tests.quality.places FILE|FOLDER… [--model NAME]`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from dream import pipeline
from dream.consolidate.consolidator import Consolidator
from dream.consolidate.talk import Talk
from dream.directory import Workspace
from dream.llm.spending import open_meter, open_model
from dream.models import Message
from dream.settings import CALLING, Settings, load
from dream.workspace.bills import Bills
from dream.workspace.places import Scope

TOKENS = 100_000  # of a context: all that there is
HITS = 20
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlacesFigures:
    """What came of a case. `kept` of all gold stand in some file; of these, `there` of `wanted` stand where they must.

    `top` of `everywhere` are rules for everywhere that stand in SOUL.md. `faults` name each crossing and leak. Of the
    crossings `alone` were said in a chat with the person alone and are given in a project of theirs: what is said there
    holds everywhere but in groups.
    """

    case: str
    gold: int
    kept: int
    wanted: int
    there: int
    crossings: int
    alone: int
    leaks: int
    everywhere: int
    top: int
    faults: tuple[str, ...]


def played(case: Case, root: Path, settings: Settings) -> tuple[Workspace, dict[str, Scope]]:
    """Dream a case in a workspace below `root`; return it, and what may be given in each of its places."""
    known = {place["name"]: place for place in case["place"]}
    homes = [place["cwd"].split("/")[1:3] for place in case["place"] if place.get("cwd", "").startswith("/home/")]
    home = root.joinpath(*(homes[0] if homes else ("home", "somebody")))
    home.mkdir(parents=True)
    os.environ["HOME"] = str(home)
    for place in case["place"]:
        if "cwd" in place:
            _repository(root / place["cwd"].lstrip("/"), place.get("remote", ""))
    workspace = Workspace.create(home / "memory", now=_at(case["sitting"][0]["day"], 0))
    for number, sitting in enumerate(case["sitting"]):
        place = known[sitting["place"]]
        cwd = sitting.get("cwd", place.get("cwd", ""))
        if cwd and cwd != place.get("cwd"):
            _elsewhere(root, cwd, place)
        messages = list(_messages(sitting, str(root / cwd.lstrip("/")) if cwd else "", place.get("chat", "")))
        now = _at(sitting["day"], number) + timedelta(hours=18)
        model = open_model(settings, "consolidator", open_meter(Bills(workspace.private), settings, now, None))
        consolidator = Consolidator(workspace.history, model, settings, places=workspace.places())
        list(consolidator.sessions([Talk(f"case:{number}", messages)], now=now))
        if cwd and cwd != place.get("cwd"):
            _same(workspace, str(root / cwd.lstrip("/")), str(root / place["cwd"].lstrip("/")), now)
        report = pipeline.run(workspace, settings=settings, now=now)
        if report.outcome == "failed":
            raise RuntimeError(report.reason)
    places = workspace.places()
    folders = {name: str(root / place["cwd"].lstrip("/")) if "cwd" in place else "" for name, place in known.items()}
    return workspace, {name: places.scope(folders[name], place.get("chat", "")) for name, place in known.items()}


def figures(case: Case, workspace: Workspace, scopes: Mapping[str, Scope]) -> PlacesFigures:
    """Count what is given in each place of a case."""
    given = {name: _given(workspace, scope) for name, scope in scopes.items()}
    every = [line for file in workspace.files() for line in workspace.read_file(file).splitlines()]
    groups = {place["name"] for place in case["place"] if place["kind"] == "group"}
    kinds = {place["name"]: place["kind"] for place in case["place"]}
    faults, kept, wanted, there, crossings, alone, leaks = list[str](), 0, 0, 0, 0, 0, 0
    for gold in case["gold"]:
        for name in gold["never"]:
            if line := _holding([*given[name], *_found(workspace, scopes[name], gold["text"])], gold["words"]):
                crossings += 1
                alone += kinds[name] == "project" and {kinds.get(one) for one in gold["where"]} == {"private"}
                faults.append(f"crossing: {name} is given {line!r} ({gold['text']})")
        for name in groups if gold.get("private") else ():
            if line := _holding([*given[name], *_found(workspace, scopes[name], gold["text"])], gold["words"]):
                leaks += 1
                faults.append(f"private: {name} is given {line!r} ({gold['text']})")
        if _holding(every, gold["words"]):
            kept += 1
            where = list(given) if "everywhere" in gold["where"] else gold["where"]
            missing = [name for name in where if not _holding(given[name], gold["words"])]
            wanted, there = wanted + len(where), there + len(where) - len(missing)
            faults += [f"missing: {gold['text']} in {', '.join(missing)}"] * bool(missing)
    rules = [gold for gold in case["gold"] if "everywhere" in gold["where"] and gold["sort"] == "rule"]
    soul = workspace.read_file("SOUL.md").splitlines()
    top = sum(bool(_holding(soul, gold["words"])) for gold in rules)
    return PlacesFigures(
        case["id"], len(case["gold"]), kept, wanted, there, crossings, alone, leaks, len(rules), top, tuple(faults)
    )


def _given(workspace: Workspace, scope: Scope) -> list[str]:
    return workspace.context(TOKENS, place=scope).splitlines()


def _found(workspace: Workspace, scope: Scope, query: str) -> list[str]:
    return [row for hit in workspace.search(query, limit=HITS, place=scope) for row in hit.text.splitlines()]


def _holding(lines: Sequence[str], words: Sequence[Sequence[str]]) -> str:
    """Return the first line that holds one of each list of words."""
    folded = ((line, line.casefold()) for line in lines)
    return next((line for line, low in folded if all(any(w.casefold() in low for w in some) for some in words)), "")


def _messages(sitting: Case, cwd: str, chat: str) -> Iterator[Message]:
    for minute, row in enumerate(sitting["message"]):
        at = _at(sitting["day"], minute)
        yield Message(row["role"], row["text"], at=at, name=row.get("name"), cwd=cwd, chat=chat)


def _at(day: Any, minute: int) -> datetime:
    return datetime.combine(day, time(9), UTC) + timedelta(minutes=minute)


def _repository(folder: Path, remote: str) -> None:
    (folder / ".git").mkdir(parents=True)
    url = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
    (folder / ".git" / "config").write_text(f"[core]\n\tbare = false\n{url}", encoding="utf-8")


def _elsewhere(root: Path, cwd: str, place: Case) -> None:
    """Make the folder of a sitting that is not its place's: a worktree of it, or where it was moved to."""
    folder, main = root / cwd.lstrip("/"), root / place["cwd"].lstrip("/")
    if folder.exists():
        return
    if "worktree" not in place.get("note", ""):
        _repository(folder, place.get("remote", ""))
        return
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")
    (own / "gitdir").write_text(f"{folder / '.git'}\n", encoding="utf-8")
    (own / "commondir").write_text("../..\n", encoding="utf-8")


def _same(workspace: Workspace, new: str, old: str, now: datetime) -> None:
    """Say once that a moved folder is the project that memory knows."""
    from dream.actions import scopes

    known = workspace.places()
    here, there = known.at(new), known.at(old)
    if here is not None and there is not None and here != there:
        scopes.merge(workspace, here.name, there.name, now=now)


def main() -> None:
    """Play the cases that are named, and print their figures and the sum."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("files", nargs="+", type=Path)
    asked.add_argument("--model", default="embedded")
    asked.add_argument("--quiet", action="store_true", help="no words of a case: for those that nobody may look at")
    options = asked.parse_args()
    settings = load(None, flags={"model": options.model, "timezone": "UTC", "durable": False}, using=CALLING)
    rows = []
    for path in (one for given in options.files for one in (sorted(given.glob("*.toml")) or [given])):
        case = tomllib.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            rows.append(figures(case, *played(case, Path(folder).resolve(), settings)))
        shown = asdict(rows[-1])
        print(json.dumps({**shown, "faults": len(shown["faults"])} if options.quiet else shown, ensure_ascii=False))
    names = ("gold", "kept", "wanted", "there", "crossings", "alone", "leaks", "everywhere", "top")
    print(json.dumps({name: sum(getattr(row, name) for row in rows) for name in names}), file=sys.stderr)


if __name__ == "__main__":
    main()
