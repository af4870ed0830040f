"""The pages by their address: each is a template, and what a query makes it show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from dream.actions import restore as restoring
from dream.errors import UnknownRevision, UsageError
from dream.models import MEMORY_FILES, MemoryFile
from dream.recall.hits import KINDS
from dream.versions.log import KINDS as CHANGE_KINDS
from dream.web import acts, charts, diffs, views
from dream.web.known import Past
from dream.workspace.workspace import Workspace

Query = Mapping[str, str]
Values = dict[str, object]
Page = Callable[[Workspace, Past, Query], tuple[str, Values]]
T = TypeVar("T")
FOUND = 20  # hits of a search
LONG = 12_000  # characters shown of one message that is opened in full


def night(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the last night."""
    return "night.html", {"night": views.night(workspace, known), "rows": views.ROWS}


def memory(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show one memory file, line by line."""
    file: MemoryFile = next((one for one in MEMORY_FILES if one == query.get("file")), "USER.md")
    first = max(1, _number(query, "from", 1))
    lines, total = views.memory_lines(workspace, file, known, first)
    values: Values = {
        "file": file,
        "files": MEMORY_FILES,
        "lines": lines,
        "total": total,
        "first": first,
        "earlier": max(1, first - views.LINES) if first > 1 else 0,
        "stories": {},
    }
    return "memory.html", values | {"complete": known.complete}


def line(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show what one line rests on, and what can be done with it."""
    told = views.told(workspace, known, query.get("file", ""), query.get("is", ""), query.get("of", ""))
    if told is None:
        raise UsageError("That line no longer stands there; the timeline may know it.")
    return "line.html", {"told": told, "state": views.state(workspace), "hands": views.HANDS}


def review(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show what is held: one finding, and the list of those that a filter leaves."""
    held = views.items(workspace, known)
    left = views.matching(held, query)
    asked = query.get("at", "")
    otherwise = min(_number(query, "place", 0), max(0, len(left) - 1))
    place = next((n for n, item in enumerate(left) if item.number == asked), otherwise)
    one = left[place] if left else None
    paged, page, last = _paged(left, query)
    return "review.html", {
        "held": held,
        "left": left,
        "one": one,
        "gone": bool(asked) and (one is None or one.number != asked),
        "place": place,
        "before": left[place - 1] if place else None,
        "after": left[place + 1] if place + 1 < len(left) else None,
        "alike": views.alike(workspace, one) if one else [],
        "talks": views.source_of(workspace, one) if one else (),
        "shown": views.digest(left),
        "paged": paged,
        "page": page,
        "last": last,
        "query": _kept(query, "q", "file", "guard", "source"),
        "files": MEMORY_FILES,
        "guards": sorted({item.proposal.guard for item in held}),
        "sources": sorted({item.source for item in held if item.source}),
    }


def timeline(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """List the changes that a filter leaves."""
    left = views.timeline(known, known.steps(workspace), workspace, query)
    paged, page, last = _paged(left, query)
    return "timeline.html", {
        "changes": paged,
        "count": len(left),
        "page": page,
        "last": last,
        "complete": known.complete,
        "query": _kept(query, "q", "file", "kind", "source"),
        "files": MEMORY_FILES,
        "kinds": CHANGE_KINDS,
    }


def change(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show one change in full."""
    return "change.html", {"shown": views.change(workspace, workspace.git.resolve(query["sha"]))}


def restore(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show what a restore would change."""
    mode = acts.MODES.get(query.get("mode", "before"))
    if mode is None:
        raise UsageError("A restore is before, at or only a change.")
    forget, state = bool(query.get("forget")), views.state(workspace)
    sha = workspace.git.resolve(query.get("sha", ""))
    plan = restoring.restore(workspace, sha, mode=mode, forget=forget, dry_run=True, now=datetime.now(UTC))
    files = diffs.read(plan.diff.text)
    return "restore.html", {"plan": plan, "files": files, "state": state, "forget": forget, "modes": acts.MODES}


def compare(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show two states side by side."""
    if not query.get("a") and not query.get("b"):
        raise UnknownRevision("Choose two changes in the timeline first.")
    left, right = (workspace.git.resolve(query[name]) if query.get(name) else "" for name in ("a", "b"))
    known_as = {step.change.sha: step.change for step in known.steps(workspace)}
    names = [(sha, known_as.get(sha)) for sha in (left, right)]
    return "compare.html", {"names": names, "files": views.sides(workspace, left, right)}


def search(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the hits of a search, each opened where it stands; or one citation in full, with what was said around it."""
    if cite := query.get("cite", ""):
        talk = [replace(hit, text=hit.text[:LONG]) for hit in views.opened(workspace, cite, around=3)]
        there = [(hit, talk, None) for hit in talk if hit.cite == cite]
        return "search.html", {"q": cite, "kind": "", "kinds": KINDS, "found": there, "whole": True}
    words, kind = query.get("q", "").strip(), query.get("kind", "")
    kinds = [one for one in KINDS if one == kind] or None
    hits = workspace.search(words, limit=FOUND, kinds=kinds) if words else []
    shown, found = set[str](), []
    for hit in hits:
        if hit.cite not in shown:  # else it stands beside one before it
            around = views.opened(workspace, hit.cite, around=1) if hit.kind == "message" else []
            shown |= {one.cite for one in around}
            found.append((hit, around, views.line_at(workspace, hit.cite) if hit.kind == "memory" else None))
    return "search.html", {"q": words, "kind": kind, "kinds": KINDS, "found": found, "whole": False}


def nights(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the nights as pictures."""
    return "nights.html", {"charts": charts.all_of(workspace, known), "complete": known.complete}


def forget(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Ask what is to be forgotten."""
    return "forget.html", {"what": "", "text": "", "found": None, "state": ""}


PAGES: Mapping[str, Page] = {
    "/": night,
    "/memory": memory,
    "/line": line,
    "/review": review,
    "/timeline": timeline,
    "/change": change,
    "/restore": restore,
    "/compare": compare,
    "/search": search,
    "/nights": nights,
    "/forget": forget,
}


def _paged(found: Sequence[T], query: Query) -> tuple[Sequence[T], int, int]:
    """Return one page of what was found, its number, and that of the last."""
    last = max(1, -(-len(found) // views.PAGE))
    page = min(max(1, _number(query, "page", 1)), last)
    return found[(page - 1) * views.PAGE : page * views.PAGE], page, last


def _number(query: Query, name: str, otherwise: int) -> int:
    given = query.get(name, "")
    return int(given) if given.isdecimal() and len(given) < 9 else otherwise


def _kept(query: Query, *names: str) -> dict[str, str]:
    return {name: query.get(name, "") for name in names}
