"""The pages as files: to look at without a server, and to change nothing."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from dream.errors import WorkspaceError
from dream.models import MEMORY_FILES
from dream.versions.store import Shown
from dream.web import diffs, pages, views
from dream.web.server import HERE, Site
from dream.web.views import ShownChange
from dream.workspace.files import explained, replace_file
from dream.workspace.workspace import Workspace

MARK = ".dream-pages"  # stands in a folder whose pages are ours to write over
STATIC = ("style.css", "icon.svg")


class _Names:
    """What each page is called as a file; `pages` tells on which part of the timeline a change stands."""

    def __init__(self) -> None:
        self.pages: dict[str, int] = {}

    def __call__(self, path: str, **query: object) -> str:
        if path.startswith("/change/"):
            sha = path.removeprefix("/change/")
            return f"{_part(self.pages[sha])}#{sha[:12]}" if sha in self.pages else "timeline.html"
        if path == "/memory":
            return f"memory-{Path(str(query.get('file', 'USER.md'))).stem}.html"
        if path == "/timeline":
            return _part(int(str(query.get("page", 1))))
        return path.removeprefix("/static/").removeprefix("/") if "." in path else f"{path.strip('/') or 'index'}.html"


def _part(number: int) -> str:
    return "timeline.html" if number == 1 else f"timeline-{number}.html"


def write(root: Path, folder: Path) -> int:
    """Write the pages of the workspace at `root` into `folder`, and return how many there are.

    Raises WorkspaceError for a folder that holds anything else.
    """
    _empty(folder)
    names = _Names()
    site = Site(root, address=names)
    try:
        with site.opened() as workspace:
            for name in STATIC:
                replace_file(folder / name, (HERE / "static" / name).read_bytes(), durable=False)
            written = _timeline(site, workspace, names, folder) + _others(site, workspace, names, folder)
            replace_file(folder / MARK, b"Written by `dream web --export`, which empties this folder first.\n")
            return written
    finally:
        site.close()


def _empty(folder: Path) -> None:
    """Take away what an earlier export wrote: what has been forgotten since stands in it."""
    with explained("written", folder):
        there = list(folder.iterdir()) if folder.exists() else []
        if there and not (folder / MARK).exists():
            raise WorkspaceError(f"{folder} holds other files; name a folder that is new or empty.")
        for path in there:
            if path.suffix == ".html" or path.name in STATIC:
                path.unlink()


def _timeline(site: Site, workspace: Workspace, names: _Names, folder: Path) -> int:
    """Write the changes with their differences, a page at a time."""
    count = len(workspace.git.log()) if workspace.git.exists else 0
    found, last = workspace.git.each() if workspace.git.exists else iter(()), max(1, -(-count // views.PAGE))
    for number in range(1, last + 1):
        shown = [_shown(one) for one in islice(found, views.PAGE)]
        names.pages |= {one.change.sha: number for one in shown}
        values = {"shown": shown, "changes": [], "count": count, "page": number, "last": last, "query": {}}
        _page(site, workspace, folder / _part(number), "timeline.html", values | {"complete": True})
    return last


def _shown(one: Shown) -> ShownChange:
    return ShownChange(one.change, one.body, tuple(diffs.read(one.diff)))


def _others(site: Site, workspace: Workspace, names: _Names, folder: Path) -> int:
    """Write the last night, memory with what each line rests on, what is held, and the nights."""
    steps = site.known.all_steps(workspace)
    name, values = pages.night(workspace, site.known, {})
    site.known.health(patience=60)
    _page(site, workspace, folder / "index.html", name, values)
    for file in MEMORY_FILES:
        stories = views.stories(workspace, steps, file)
        name, values = pages.memory(workspace, site.known, {"file": file})
        lines = views.all_lines(workspace, file, steps)
        values |= {"lines": lines, "stories": stories, "first": 1, "total": 0, "complete": True}
        _page(site, workspace, folder / names("/memory", file=file), name, values)
    name, values = pages.review(workspace, site.known, {})
    _page(site, workspace, folder / "review.html", name, values | {"paged": values["held"]})
    name, values = pages.nights(workspace, site.known, {})
    _page(site, workspace, folder / "nights.html", name, values | {"complete": True})
    return 3 + len(MEMORY_FILES)


def _page(site: Site, workspace: Workspace, path: Path, name: str, values: dict[str, object]) -> None:
    replace_file(path, site.rendered(name, workspace, values).encode("utf-8", "replace"), durable=False)
