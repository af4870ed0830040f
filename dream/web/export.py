"""The pages as files, to read and search without a server; they change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dream.directory import Workspace
from dream.errors import WorkspaceError
from dream.memory import tag
from dream.models import MemoryFile
from dream.text.safe import clean
from dream.versions.trace import Deed
from dream.web import pages, views
from dream.web.server import HERE, Site
from dream.web.views import ShownChange, ShownLine
from dream.workspace.files import explained, replace_file

MARK = ".dream-pages"  # marks a folder whose pages may be overwritten
STATIC = ("style.css", "icon.svg", "search.js")
LARGEST = 100_000  # bytes of a page; only what can't be cut in two is larger
SHARD = 400_000  # characters of one file of the search
ROWS = 200  # of a file's diff
T = TypeVar("T")


class _FileNames:
    """The file name of each page; `places` maps a change to its part of the timeline."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.parts: dict[tuple[str, int], int] = {}  # of a memory file, by its first line

    def __call__(self, path: str, **query: object) -> str:
        if path.startswith("/change/"):
            sha = path.removeprefix("/change/")
            return f"{_part('timeline', self.places[sha])}#{sha[:12]}" if sha in self.places else "timeline.html"
        if path == "/memory":
            file = str(query.get("file", "USER.md"))
            return _part(f"memory-{Path(file).stem}", self.parts.get((file, int(str(query.get("from", 1)))), 1))
        if path in ("/timeline", "/review"):
            return _part(path[1:], int(str(query.get("page", 1))))
        return path.removeprefix("/static/").removeprefix("/") if "." in path else f"{path.strip('/') or 'index'}.html"


def _part(name: str, number: int) -> str:
    return f"{name}.html" if number == 1 else f"{name}-{number}.html"


class _SearchFiles:
    """What can be found, in files that a page loads as scripts: a page that is a file may read no other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows, self._size = list[str](), 0
        self.shards = 0

    def add(self, where: str, when: str, title: str, text: str) -> None:
        """Add what stands at an address."""
        row = json.dumps([where, when, clean(title), clean(text)], ensure_ascii=False, separators=(",", ":"))
        self._rows.append(row)
        self._size += len(row)
        if self._size > SHARD:
            self.flush()

    def flush(self) -> None:
        """Write what was added since the last time."""
        if self._rows:
            self.shards += 1
            text = "shard([\n" + ",\n".join(self._rows) + "\n]);\n"
            path = self._folder / f"search-{self.shards}.js"
            replace_file(path, text.encode("utf-8", "replace"), durable=False)
            self._rows, self._size = [], 0


class _Export:
    """One export of a workspace into a folder."""

    def __init__(self, site: Site, workspace: Workspace, names: _FileNames, folder: Path) -> None:
        self._site, self._workspace, self._names, self._folder = site, workspace, names, folder
        self._found = _SearchFiles(folder)
        self._written = 0

    def run(self) -> int:
        """Write all pages, and return how many there are."""
        self._timeline()
        steps = self._site.known.all_steps(self._workspace)
        for file in self._workspace.files():
            self._memory(file, steps)
        self._review()
        known = self._site.known
        known.health(patience=60)
        self._page("index.html", *pages.night(self._workspace, known, {}))
        name, values = pages.nights(self._workspace, known, {})
        self._page("nights.html", name, values | {"complete": True})
        self._found.flush()
        name, values = pages.search(self._workspace, known, {})
        self._page("search.html", name, values | {"shards": self._found.shards})
        return self._written

    def _timeline(self) -> None:
        """Write the changes with their differences."""
        git = self._workspace.git
        count = len(self._workspace.git.log()) if git.exists else 0
        found = map(views.shown, git.each()) if count else ()

        def rendered(part: Sequence[ShownChange], number: int, more: bool) -> str:
            self._names.places |= {one.change.sha: number for one in part}
            values = {"shown": part, "changes": [], "count": count, "page": number, "query": {}, "complete": True}
            return self._rendered("timeline.html", values | {"last": number + more, "rows": ROWS})

        for part, number, text in _parts(found, views.PAGE, rendered):
            name = _part("timeline", number)
            self._write(name, text)
            for one in part:
                rows = (row for file in one.files for row in file.rows if row.sign in "+-")
                lines = ("".join(piece for piece, _ in row.parts) for row in rows)
                change = one.change
                self._found.add(f"{name}#{change.sha[:12]}", change.time.isoformat(), change.subject, "\n".join(lines))

    def _memory(self, file: MemoryFile, steps: Sequence[Deed]) -> None:
        """Write a memory file, with the sources of each line."""
        _, values = pages.memory(self._workspace, self._site.known, {"file": file})
        lines = views.all_lines(self._workspace, file, steps)
        values |= {"stories": views.stories(self._workspace, steps, file), "complete": True, "total": len(lines)}
        starts = dict[int, int]()  # the first line of each part

        def rendered(part: Sequence[ShownLine], number: int, more: bool) -> str:
            first = starts[number] = part[0].number if part else 1
            self._names.parts |= {(file, first): number, (file, first + len(part)): number + 1}
            return self._rendered(
                "memory.html", values | {"lines": part, "first": first, "earlier": starts.get(number - 1, 0)}
            )

        for part, number, text in _parts(lines, views.LINES, rendered):
            name = _part(f"memory-{tag(file).replace('/', '-')}", number)
            self._write(name, text)
            for line in part:
                if line.is_fact:
                    when = line.change.time.isoformat() if line.change else ""
                    self._found.add(f"{name}#l{line.number}", when, file, line.text)

    def _review(self) -> None:
        """Write what is held."""
        _, values = pages.review(self._workspace, self._site.known, {})
        held = views.items(self._workspace, self._site.known)

        def rendered(part: Sequence[views.HeldFinding], number: int, more: bool) -> str:
            return self._rendered("review.html", values | {"paged": part, "page": number, "last": number + more})

        for part, number, text in _parts(held, views.PAGE, rendered):
            name = _part("review", number)
            self._write(name, text)
            for one in part:
                title = f"held: {one.proposal.file or 'an entry'}"
                self._found.add(f"{name}#h{one.number}", one.proposal.at.isoformat(), title, one.new or one.old)

    def _page(self, path: str, name: str, values: dict[str, object]) -> None:
        self._write(path, self._rendered(name, values))

    def _rendered(self, name: str, values: dict[str, object]) -> str:
        return self._site.rendered(name, self._workspace, values)

    def _write(self, path: str, text: str) -> None:
        replace_file(self._folder / path, text.encode("utf-8", "replace"), durable=False)
        self._written += 1


def write(root: Path, folder: Path) -> int:
    """Write the pages of the workspace at `root` into `folder`, and return how many there are.

    Raises WorkspaceError for a folder that holds anything else.
    """
    _empty(folder)
    names = _FileNames()
    site = Site(root, address=names)
    try:
        with site.opened() as workspace:
            for name in STATIC:
                replace_file(folder / name, (HERE / "static" / name).read_bytes(), durable=False)
            written = _Export(site, workspace, names, folder).run()
            replace_file(folder / MARK, b"Written by `dream web --export`, which empties this folder first.\n")
            return written
    finally:
        site.known.close()


def _parts(
    found: Iterable[T], most: int, rendered: Callable[[Sequence[T], int, bool], str]
) -> Iterator[tuple[list[T], int, str]]:
    """Cut results into pages of at most `most` each, fewer where a page would be too large.

    `rendered` is given a part, its number from 1, and whether there are more. Nothing found is one empty page.
    """
    rest, held, number = iter(found), list[T](), 0
    while held or not number:
        held += islice(rest, most + 1 - len(held))
        size = min(most, len(held))
        number += 1
        while len((text := rendered(held[:size], number, len(held) > size)).encode("utf-8", "replace")) > LARGEST:
            if size == 1:
                break
            size = max(1, size * LARGEST // (len(text) + LARGEST // 4))
        yield held[:size], number, text
        held = held[size:] or list(islice(rest, 1))


def _empty(folder: Path) -> None:
    """Remove what an earlier export wrote, for it may hold what has been forgotten since."""
    with explained("written", folder):
        there = list(folder.iterdir()) if folder.exists() else []
        if there and not (folder / MARK).exists():
            raise WorkspaceError(f"{folder} holds other files; name a folder that is new or empty.")
        for path in there:
            if path.suffix == ".html" or path.name in STATIC or path.match("search-*.js"):
                path.unlink()
