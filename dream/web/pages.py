"""The pages by their address, and the acts that their forms start.

A page is a template, and what a query makes it show. An act is one of the command line's, and is done only on the very
state that was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from dream.actions import forget as forgetting
from dream.actions import note as noting
from dream.actions import restore as restoring
from dream.actions import review as reviewing
from dream.actions import scopes
from dream.actions.drop import Line
from dream.actions.restore import Mode
from dream.directory import Workspace
from dream.errors import DreamError, UsageError
from dream.memory import place_of
from dream.models import MemoryFile
from dream.recall import KINDS
from dream.versions.log import KINDS as CHANGE_KINDS
from dream.web import charts, views
from dream.web.known import Past
from dream.web.views import HeldFinding
from dream.workspace import places
from dream.workspace.lock import run_lock
from dream.workspace.review_files import REJECTED

Query = Mapping[str, str]
Values = dict[str, object]
Page = Callable[[Workspace, Past, Query], tuple[str, Values]]
T = TypeVar("T")
FOUND = 20  # hits of a search
LONG = 12_000  # characters shown of one message that is opened in full
REVIEWS = ("accept", "edit", "reject", "never")
Form = Mapping[str, str]


def night(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the last night."""
    return "night.html", {"night": views.night(workspace, known), "rows": views.ROWS, **_asked(workspace)}


def _asked(workspace: Workspace) -> Values:
    """Return what a person is asked about places, and the state that an answer is bound to."""
    asked = [(name, other, places.reason(other, shared)) for name, other, shared in workspace.places().alike()]
    return {"asked": asked, "state": views.state(workspace) if asked else ""}


def memory(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show one memory file, line by line."""
    files = workspace.files()
    file: MemoryFile = next((one for one in files if one == query.get("file")), "USER.md")
    first = max(1, _number(query, "from", 1))
    lines, total = views.memory_lines(workspace, file, known, first)
    values: Values = {
        "file": file,
        "files": files,
        "lines": lines,
        "total": total,
        "first": first,
        "earlier": max(1, first - views.LINES) if first > 1 else 0,
    }
    return "memory.html", values | {"complete": known.complete, **_asked(workspace)}


def line(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the sources of one line, and the actions on it."""
    story = views.line_story(workspace, known, query.get("file", ""), query.get("is", ""), query.get("of", ""))
    if story is None:
        raise UsageError("That line is no longer there; the timeline may show it.")
    goals = [file for file in scopes.goals(workspace) if file != story.file]
    return "line.html", {"story": story, "state": views.state(workspace), "hands": views.HANDS, "goals": goals}


def review(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the held findings: one in full, and the list of those that match a filter."""
    held = views.items(workspace, known)
    left = views.matching(held, query)
    asked = query.get("at", "")
    nearest = min(_number(query, "place", 0), max(0, len(left) - 1))
    place = next((n for n, item in enumerate(left) if item.number == asked), nearest)
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
        "alike": views.similar_lines(workspace, one) if one else [],
        "talks": views.source_of(workspace, one) if one else (),
        "shown": views.digest(left),
        "paged": paged,
        "page": page,
        "last": last,
        "query": _kept(query, "q", "file", "guard", "source"),
        "files": workspace.files(),
        "guards": sorted({item.proposal.guard for item in held}),
        "sources": sorted({item.source for item in held if item.source}),
    }


def timeline(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """List the changes that match a filter."""
    left = views.timeline(known.steps(workspace), query)
    paged, page, last = _paged(left, query)
    return "timeline.html", {
        "changes": paged,
        "count": len(left),
        "page": page,
        "last": last,
        "complete": known.complete,
        "query": _kept(query, "q", "file", "kind"),
        "files": workspace.files(),
        "kinds": CHANGE_KINDS,
    }


def change(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show one change in full."""
    return "change.html", {"shown": views.change(workspace, workspace.git.resolve(query["sha"]))}


def restore(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show what a restore would change."""
    mode = _mode(query.get("mode", "before"))
    forget, state = bool(query.get("forget")), views.state(workspace)
    sha = workspace.git.resolve(query.get("sha", ""))
    plan = restoring.restore(workspace, sha, mode=mode, forget=forget, dry_run=True, now=datetime.now(UTC))
    files = views.read_diff(plan.diff.text)
    return "restore.html", {"plan": plan, "files": files, "state": state, "forget": forget}


def search(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the hits of a search, each opened in its place; or one citation in full, with what was said around it."""
    if cite := query.get("cite", ""):
        talk = [replace(hit, text=hit.text[:LONG]) for hit in views.opened(workspace, cite, around=3)]
        there = [(hit, talk, None) for hit in talk if hit.cite == cite]
        return "search.html", {
            "q": cite,
            "kind": "",
            "kinds": KINDS,
            "found": there,
            "whole": True,
            "as_of": "",
            "untold": "",
        }
    words, kind = query.get("q", "").strip(), query.get("kind", "")
    kinds = [one for one in KINDS if one == kind] or None
    as_of = query.get("as_of", "")
    when = as_of or None
    hits = workspace.search(words, limit=FOUND, kinds=kinds, as_of=when, everywhere=True) if words else []
    shown, found = set[str](), []
    for hit in hits:
        if hit.cite not in shown:  # else it stands beside one before it
            around = views.opened(workspace, hit.cite, around=1) if hit.kind == "message" else []
            shown |= {one.cite for one in around}
            found.append((hit, around, views.line_at(workspace, hit.cite) if hit.kind == "memory" else None))
    values = {"q": words, "kind": kind, "kinds": KINDS, "found": found, "whole": False, "as_of": as_of}
    return "search.html", values | {"untold": workspace.untold(when) if words and when else ""}


def nights(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Show the nights as charts."""
    return "nights.html", {"charts": charts.all_of(workspace, known), "complete": known.complete}


def forget(workspace: Workspace, known: Past, query: Query) -> tuple[str, Values]:
    """Ask what to forget."""
    return "forget.html", {"what": "", "text": "", "found": None, "state": ""}


PAGES: Mapping[str, Page] = {
    "/": night,
    "/memory": memory,
    "/line": line,
    "/review": review,
    "/timeline": timeline,
    "/change": change,
    "/restore": restore,
    "/search": search,
    "/nights": nights,
    "/forget": forget,
}


def _paged(found: Sequence[T], query: Query) -> tuple[Sequence[T], int, int]:
    """Return one page of results, its number, and the number of the last page."""
    last = max(1, -(-len(found) // views.PAGE))
    page = min(max(1, _number(query, "page", 1)), last)
    return found[(page - 1) * views.PAGE : page * views.PAGE], page, last


def _number(query: Query, name: str, default: int) -> int:
    given = query.get(name, "")
    return int(given) if given.isdecimal() and len(given) < 9 else default


def _kept(query: Query, *names: str) -> dict[str, str]:
    return {name: query.get(name, "") for name in names}


# What a person does on a page.


class Meanwhile(DreamError):
    """What was shown has changed since, so nothing was done; `changes` says what changed, `kept` is what was typed."""

    def __init__(self, changes: Sequence[str], kept: str = "") -> None:
        super().__init__("Something changed since this was shown, so nothing was done.")
        self.changes, self.kept = tuple(changes), kept


@dataclass(frozen=True, slots=True)
class Done:
    """What an action did, in a sentence; `sha` is the commit to revert to undo it, if there is one."""

    text: str
    sha: str | None = None
    problems: tuple[str, ...] = ()


@contextmanager
def _as_shown(workspace: Workspace, shown: str, kept: str = "") -> Iterator[datetime]:
    """Lock the workspace for an action if it is still as shown; raises Meanwhile and Busy."""
    now = datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        if views.state(workspace) != shown:
            raise Meanwhile(views.changed_since(workspace, shown), kept)
        yield now


def take_back(workspace: Workspace, form: Form) -> Done:
    """Restore as it was previewed."""
    mode, sha = _mode(form.get("mode", "")), form.get("sha", "")
    with _as_shown(workspace, form.get("state", "")) as now:
        done = restoring.restore(workspace, sha, mode=mode, forget=bool(form.get("forget")), now=now, locked=True)
    if done.sha is None:
        return Done(done.reason or "Nothing had to change.")
    problems = tuple(f"{path} was saved at this moment and stays as you saved it." for path in done.held)
    return Done(f"Memory is {restoring.WHERE[mode]} {done.change.sha[:10]}: {done.change.subject}", done.sha, problems)


def _mode(given: str) -> Mode:
    mode = next((one for one in restoring.MODES if one == given), None)
    if mode is None:
        raise UsageError("A restore goes to just before a change, to it, or takes back only that one.")
    return mode


def undo(workspace: Workspace, form: Form) -> Done:
    """Revert the commit that an action made, while it is the newest."""
    sha, now = form.get("sha", ""), datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        head = workspace.git.head()
        if head != sha:
            made = workspace.git.log(3, after=sha) if len(sha) == 40 and workspace.git.is_ancestor(sha) else []
            raise Meanwhile(
                [f"{one.sha[:10]} was made: {one.subject}" for one in made] or ["another change is the newest"]
            )
        remembered = REJECTED in workspace.git.show(sha).diff
        done = restoring.restore(workspace, sha, mode="before", now=now, locked=True)
    stays = "“Never again” stays remembered: no dream writes it, but you can accept it, or write it yourself."
    return Done(f"Undone: {done.change.subject}", done.sha, (stays,) if remembered else ())


def amend(workspace: Workspace, form: Form) -> Done:
    """Rewrite a line, remove it, or remove it for good."""
    file, number, line = _line(workspace, form)
    text, never = form.get("text", "").replace("\r\n", "\n"), form.get("act") == "never"
    if not never and form.get("act") != "edit":
        raise UsageError("A line can be edited, or removed for good.")
    with _as_shown(workspace, form.get("state", ""), "" if never else text) as now:
        sha = reviewing.amend(workspace, file, number, line, "" if never else text, never=never, now=now)
    if sha is None:
        return Done("Nothing had to change.")
    return Done("Taken out; no later dream writes it again." if never else f"{file} is as you wrote it.", sha)


def move(workspace: Workspace, form: Form) -> Done:
    """Move a line to another memory file: of a place, or for everywhere."""
    file, number, line = _line(workspace, form)
    with _as_shown(workspace, form.get("state", "")) as now:
        sha = scopes.move(workspace, Line(file, number, line), form.get("to", ""), now=now, locked=True)
    return Done(f"Moved to {form['to']}.", sha)


def same(workspace: Workspace, form: Form) -> Done:
    """Note whether two places are the same project."""
    name, other, is_same = form.get("name", ""), form.get("other", ""), form.get("act") == "same"
    if not is_same and form.get("act") != "apart":
        raise UsageError("Two places are the same project, or they are not.")
    with _as_shown(workspace, form.get("state", "")) as now:
        answer = scopes.merge if is_same else scopes.apart
        sha = answer(workspace, name, other, now=now, locked=True)
    return Done(f"{name} is {other} from now on." if is_same else f"{name} and {other} stay apart.", sha)


def note(workspace: Workspace, form: Form) -> Done:
    """Put a fact into history as the user's own note, for the place whose file was shown; a dream takes it in."""
    text = form.get("text", "").replace("\r\n", "\n")
    if not text.strip():
        raise UsageError("Write the fact that is to be noted first.")
    settings = workspace.settings(using=("redact_patterns",))
    place = workspace.places().by_name(place_of(form.get("file", "")))
    counts = place.id if place else ""
    entry = noting.note(workspace, text, settings=settings, now=datetime.now(UTC), place=counts)
    return Done(f"Noted as entry {entry.cursor} of history; the next dream takes it into memory.")


def forget_text(workspace: Workspace, form: Form, *, dry_run: bool) -> tuple[str, forgetting.Forgotten]:
    """Forget a text everywhere, or show where it occurs; returns the text too."""
    what = form.get("what", "")
    if not what.strip():
        raise UsageError("Say what to forget: a text exactly as it is written, or the sha of a change.")
    text, now = form.get("text") == "1", datetime.now(UTC)
    if dry_run:
        return what, forgetting.forget(workspace, what, text=text, dry_run=True, now=now)
    with _as_shown(workspace, form.get("state", "")) as now:
        return what, forgetting.forget(workspace, what, text=text, now=now, locked=True)


def decide(workspace: Workspace, known: Past, form: Form, chosen: Sequence[str]) -> Done:
    """Decide held findings: those named with their exact edit, or all that match a filter."""
    act = form.get("act", "")
    if act not in REVIEWS:
        raise UsageError("A held finding can be accepted, edited, rejected, or never written again.")
    now = datetime.now(UTC)
    with run_lock(workspace.private, "dream web", now=now):
        found = _decided_on(views.items(workspace, known), form, chosen)
        numbers = [item.place for item in found]
        if act == "accept":
            done = reviewing.accept(workspace, numbers, now=now, locked=True)
        elif act == "edit":
            text = form.get("text", "").replace("\r\n", "\n")
            if len(numbers) != 1 or not text.strip():
                raise UsageError("Edit one finding at a time, and leave some text; to remove it, reject it.")
            done = reviewing.accept(workspace, numbers, now=now, locked=True, instead=text)
        else:
            done = reviewing.reject(workspace, numbers, now=now, locked=True, remember=act == "never")
    count = sum(len(reviewing.findings_of(one)) or 1 for one in done.done)
    words = {
        "accept": "accepted",
        "edit": "edited and accepted",
        "reject": "rejected this time",
        "never": "put away for good",
    }
    problems = tuple(f"{one.id} stays held: {reason}." for one, reason in done.misfits)
    what = f"1 finding {words[act]}." if count == 1 else f"{count:,} findings {words[act]}."
    return Done(what, done.sha, problems)


ACTS: Mapping[str, Callable[[Workspace, Form], Done]] = {
    "/restore": take_back,
    "/undo": undo,
    "/line": amend,
    "/move": move,
    "/places": same,
    "/note": note,
}


def _decided_on(found: Sequence[HeldFinding], form: Form, chosen: Sequence[str]) -> list[HeldFinding]:
    """Return the findings that a decision is about; raises Meanwhile if any is no longer held exactly so."""
    if form.get("all"):
        left = views.matching(found, form)
        if views.digest(left) != form.get("shown"):
            raise Meanwhile(["what the filter leaves is no longer what was shown"])
        return left
    if not chosen:
        raise UsageError("Choose a finding first.")
    held = {item.name: item for item in found}
    if missing := [name.partition(":")[0] for name in chosen if name not in held]:
        numbers = {item.number for item in found}
        raise Meanwhile(
            [
                f"{number} is another edit now" if number in numbers else f"{number} is no longer held"
                for number in missing
            ],
            form.get("text", ""),
        )
    return [held[name] for name in chosen]


def _line(workspace: Workspace, form: Form) -> tuple[MemoryFile, int, str]:
    """Find the line that a form is about, by its file, number and key; raises Meanwhile if it changed."""
    file = next((one for one in workspace.files() if one == form.get("file")), None)
    number = int(form.get("number", "")) if form.get("number", "").isdecimal() else 0
    if file is None:
        raise UsageError(f"The memory files are {', '.join(workspace.files())}.")
    rows = workspace.read_file(file).splitlines()
    if not 1 <= number <= len(rows) or views.line_key(file, rows[number - 1]) != form.get("is"):
        raise Meanwhile([f"line {number} of {file} is another now"], form.get("text", ""))
    return file, number, rows[number - 1]
