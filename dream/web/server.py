"""The server: who may ask, which page answers, and which act a form starts."""

from __future__ import annotations

import ipaddress
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import uvicorn
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dream.directory import Workspace
from dream.errors import Busy, DreamError, GitError, NothingThere, UsageError, WorkspaceError
from dream.settings import reaching
from dream.text.safe import clean
from dream.web import pages, views
from dream.web.known import Past, pulse
from dream.web.pages import Done, Meanwhile
from dream.workspace.lock import RUN_LOCK, is_free

HERE = Path(__file__).parent
LOOPBACK = "127.0.0.1"
LARGEST = 2 << 20  # bytes of a form
FIELDS = 20_000
REMEMBERED = 50  # sentences on what was done, kept for the next page
# Which page of the navigation a template belongs to.
WHERE = {"night.html": "/", "memory.html": "/memory", "line.html": "/memory", "review.html": "/review"}
WHERE |= dict.fromkeys(("timeline.html", "change.html", "restore.html"), "/timeline")
WHERE |= {"search.html": "/search", "nights.html": "/nights"}
CLOSING = 3  # seconds that an answer under way has when the server ends
HEADERS = {
    # `same-origin` and not `no-referrer`: with that a browser sends a form's Origin as `null`.
    "referrer-policy": "same-origin",
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


# Who may ask.


@dataclass(frozen=True, slots=True)
class Gate:
    """Admits requests that came with the printed address, to this very host, and from no other site.

    `token` is in the printed address, `cookie` is the browser's from then on, `form` is in each form.
    """

    port: int
    token: str
    cookie: str
    form: str

    @classmethod
    def new(cls, port: int) -> Gate:
        """Return a gate with secrets of its own."""
        return cls(port, *(secrets.token_urlsafe(32) for _ in range(3)))

    @property
    def name(self) -> str:
        """Return the cookie's name, which contains the port: browsers send cookies to every port of a host."""
        return f"dream-{self.port}"

    @property
    def address(self) -> str:
        """Return the address to print."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    def refuses(self, headers: Headers) -> str:
        """Return why a request is refused, whatever its page; "" if it is not."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return "This address is not the one that `dream web` printed."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "Another page asked for this."
        elsewhere = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")  # another port is same-site
        if elsewhere and headers.get("sec-fetch-mode") != "navigate":
            return "Another page asked for this."
        return ""

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host names this server; a name that somebody else may have pointed at us does not."""
        try:
            named = urlsplit(f"//{host}")
            name, port = named.hostname or "", named.port or 80
        except ValueError:
            return False
        with suppress(ValueError):
            return port == self.port and ipaddress.ip_address(name).is_loopback
        return port == self.port and name == "localhost"


class Guarded(BaseHTTPMiddleware):
    """Passes requests through a gate; every answer forbids the browser to load or run anything else."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        super().__init__(app)
        self._gate = gate

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer one request."""
        answer = self._answer(request) or await call_next(request)
        answer.headers.update(HEADERS)
        return answer

    def _answer(self, request: Request) -> Response | None:
        """Return the answer to a refused request or to a first visit; None if the request may go on."""
        gate, path = self._gate, request.url.path
        if said := gate.refuses(request.headers):
            return PlainTextResponse(said, 403)
        given = request.query_params.get("token")
        if given is not None and path == "/" and request.method == "GET":
            if not secrets.compare_digest(given.encode(), gate.token.encode()):
                return PlainTextResponse("This token is of another `dream web`; open the address that it printed.", 403)
            answer = RedirectResponse("/", 303)
            answer.set_cookie(gate.name, gate.cookie, httponly=True, samesite="strict")
            return answer
        held = request.cookies.get(gate.name, "")
        if path.startswith("/static/") or secrets.compare_digest(held.encode(), gate.cookie.encode()):
            return None
        return PlainTextResponse("Open the address that `dream web` printed: it ends in a token.", 403)


# The pages.


@cache  # compiling the templates takes a fifth of a second
def environment() -> Environment:
    """Return what renders the templates: all that is not a template's own is text."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    made.globals |= {
        "day": views.day,
        "well": views.well,
        "excerpt": views.excerpt,
        "coded": views.coded,
        "url": url,
    }
    for name in made.list_templates():
        made.get_template(name)
    return made


def url(path: str, **query: object) -> str:
    """Return the URL of a page, without empty parameters in its query."""
    asked = urlencode({name: value for name, value in query.items() if value not in ("", None)})
    return f"{path}?{asked}" if asked else path


class Site:
    """One workspace as a web site, and the messages about the last actions. `form` is the token in its forms."""

    def __init__(self, root: Path, form: str) -> None:
        self.root = root
        self.known = Past(root)
        self._form = form
        self._templates = environment()
        self._done: dict[str, Done] = {}
        self._numbers = count(1)
        self._turn = threading.Lock()  # one action at a time: it waits for our own; the lock of another run is reported

    def show(self, page: pages.Page, query: Mapping[str, str]) -> Response:
        """Answer with a page."""
        with self.opened() as workspace:
            name, values = page(workspace, self.known, query)
            done = self._done.get(query.get("done", ""))
            return HTMLResponse(self.rendered(name, workspace, {"done": done, **values}))

    def act(self, path: str, form: Mapping[str, str], chosen: list[str]) -> Response:
        """Run a form's action, and show the next page."""
        with self._turn, self.opened() as workspace:
            if path == "/forget":
                return self._forget(workspace, form)
            if path == "/review":
                done = pages.decide(workspace, self.known, form, chosen)
            else:
                done = pages.ACTS[path](workspace, form)
        number = str(next(self._numbers))
        self._done[number] = done
        for old in list(self._done)[:-REMEMBERED]:
            del self._done[old]
        return RedirectResponse(_next(path, form, number), 303)

    def _forget(self, workspace: Workspace, form: Mapping[str, str]) -> Response:
        dry_run = form.get("act") != "forget"
        what, found = pages.forget_text(workspace, form, dry_run=dry_run)
        values = {"what": what, "text": form.get("text", ""), "found": found, "state": views.state(workspace)}
        return HTMLResponse(self.rendered("forget.html", workspace, values))

    def failed(self, error: DreamError) -> Response:
        """Answer with what went wrong; nothing was done."""
        status = 409 if isinstance(error, Busy | Meanwhile) else 400 if isinstance(error, UsageError) else 404
        status = 503 if isinstance(error, WorkspaceError) or type(error) is GitError else status
        values = {"error": error, "changes": getattr(error, "changes", ()), "kept": getattr(error, "kept", "")}
        return HTMLResponse(self.rendered("error.html", None, values), status)

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        """Open the workspace for one page; raises WorkspaceError."""
        workspace = Workspace.open(self.root)
        try:
            yield workspace
        finally:
            workspace.history.close()

    def rendered(self, name: str, workspace: Workspace | None, values: Mapping[str, object]) -> str:
        """Render a page: its template, with the values that every page shows."""
        about = {**self._about(workspace), "here": WHERE.get(name, ""), "done": None}
        return self._templates.get_template(name).render({**about, **values})

    def _about(self, workspace: Workspace | None) -> dict[str, object]:
        """Return the values that every page shows: the workspace's status, and warnings."""
        warnings = []
        if workspace is not None:
            if not os.access(self.root, os.W_OK):
                warnings.append("This workspace can only be read: nothing on these pages can be changed.")
            if not workspace.git.exists:
                warnings.append(
                    "Its versions are gone: what stands in the files is shown, and nothing can be taken back."
                )
            if not workspace.is_trusted and (named := reaching(workspace.root)):
                warnings.append(
                    f"It is not trusted on this machine: its own settings ({', '.join(named)}) do not count."
                )
            with suppress(OSError):
                if not is_free(workspace.private / RUN_LOCK):
                    warnings.append("A run is under way; until it has ended, nothing can be changed here.")
        return {
            "form": self._form,
            "root": self.root,
            "pulse": pulse(self.root),
            "health": self.known.health() if workspace is not None else None,
            "waiting": len(workspace.pending()) if workspace is not None else 0,
            "warnings": warnings,
            "writable": os.access(self.root, os.W_OK) and workspace is not None and workspace.git.exists,
        }


def _next(path: str, form: Mapping[str, str], number: str) -> str:
    """Return the page that follows an act."""
    if path == "/review":
        kept = {name: form.get(name, "") for name in ("q", "file", "guard", "source", "place")}
        return url("/review", **kept, done=number)
    where = {"/restore": "/timeline", "/undo": "/review" if form.get("back") == "/review" else "/timeline"}
    return url(where.get(path, "/memory"), file=form.get("file", ""), done=number)


def application(root: Path, gate: Gate) -> Guarded:
    """Return the whole application for the workspace at `root`, behind its gate."""
    site = Site(root, gate.form)
    site.known.warm()

    async def show(request: Request) -> Response:
        page = pages.PAGES[request.url.path if "sha" not in request.path_params else "/change"]
        query = {**request.query_params, **request.path_params}
        return await run_in_threadpool(_answered, site, lambda: site.show(page, query))

    async def act(request: Request) -> Response:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST:
                return PlainTextResponse("The form is too large.", 413)
        if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
            return PlainTextResponse("A form is sent as a form.", 415)
        try:
            given = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS)
        except ValueError:
            return PlainTextResponse("The form could not be read.", 400)
        form, chosen = dict(given), [value for name, value in given if name == "item"]
        if not secrets.compare_digest(form.get("form", "").encode(), gate.form.encode()):
            return PlainTextResponse("The form is of another `dream web`; load the page again.", 403)
        return await run_in_threadpool(_answered, site, lambda: site.act(request.url.path, form, chosen))

    async def beat(request: Request) -> Response:
        return PlainTextResponse(pulse(root))

    async def absent(request: Request, error: Exception) -> Response:
        return site.failed(NothingThere("There is no such page; the links below lead on."))

    routes = [
        *(Route(path, show) for path in pages.PAGES if path != "/change"),
        Route("/change/{sha:str}", show),
        *(Route(path, act, methods=["POST"]) for path in ("/review", "/forget", *pages.ACTS)),
        Route("/pulse", beat),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    return Guarded(Starlette(routes=routes, exception_handlers={404: absent}), gate)


def _answered(site: Site, deed: Callable[[], Response]) -> Response:
    try:
        return deed()
    except DreamError as error:
        return site.failed(error)


# The process.


def bound(port: int, *, any_port: bool) -> socket.socket:
    """Listen on a port of loopback; if that is taken and `any_port` is set, on a free one. Raises DreamError."""
    for number in (port, 0) if any_port else (port,):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, number))
            listening.listen()  # a browser that opens the address at once waits for the server
        except OSError as fault:
            listening.close()
            reason = fault.strerror or str(fault)
        else:
            return listening
    raise DreamError(f"Cannot listen on {LOOPBACK}:{port} ({reason}); name another with --port.")


def serve(root: Path, gate: Gate, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; an action under way is finished first."""
    config = uvicorn.Config(
        application(root, gate),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSING,
    )
    server = uvicorn.Server(config)

    def end(number: int, frame: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)  # until uvicorn installs its own, and for the signal that it raises again
    server.run(sockets=[listening])
