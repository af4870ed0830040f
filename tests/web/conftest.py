"""A workspace with a night behind it and findings that are held, and a server that shows it."""

from __future__ import annotations

import html.parser
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import uvicorn

from dream import pipeline
from dream.directory import Workspace
from dream.dreaming.dreamer import Models
from dream.history.messages import KeptMessage
from dream.llm.spending import Meter
from dream.models import EntryLine, NewEntry
from dream.settings import Settings
from dream.web import server
from dream.web.server import Gate
from tests.scripted import ScriptedModel
from tests.workspaces import copied, fresh

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
HOLD = Settings(timezone="UTC", durable=False, review="hold")
PLAIN = Settings(timezone="UTC", durable=False)


def talk(workspace: Workspace, *facts: str, settings: Settings = PLAIN) -> None:
    """Let the user say facts, each `[FILE] text`, and dream them."""
    rows, said = [], []
    for number, fact in enumerate(facts):
        text = fact.partition("] ")[2]
        at = workspace.history.last_cursor() * 100 + number * 3
        messages = [("assistant", "Is there more?"), ("user", f"{text}."), ("assistant", "I see.")]
        said += [KeptMessage("claude-code:s1", at + n, role, words, NOW) for n, (role, words) in enumerate(messages)]
        rows.append(
            NewEntry(
                "summary",
                f"- {text}",
                session="claude-code:s1",
                span=(at, at + 3),
                said=NOW,
                lines=(EntryLine((at + 1,), "user"),),
            )
        )
    first = workspace.history.append(rows, now=NOW, said=said)[0].cursor
    answer = "\n".join(f"{fact} {{{first + number}}}" for number, fact in enumerate(facts))
    models = Models(ScriptedModel(answer), ScriptedModel("done"), Meter(settings))
    pipeline.run(workspace, settings=settings, now=NOW, models=models)


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one dream, and three findings that are held."""
    made = fresh(tmp_path_factory.mktemp("pattern") / "ws", NOW)
    talk(made, "[USER] Has a dog called Rex", "[MEMORY] The harbour opens at nine")
    talk(made, "[USER] Likes green tea", "[USER] Plays the oboe", "[MEMORY] The API runs on port 8080", settings=HOLD)
    made.history.close()
    return made.root


@pytest.fixture
def workspace(pattern: Path, tmp_path: Path) -> Workspace:
    """A copy of it, of the test's own."""
    copied(pattern, tmp_path / "ws")
    made = Workspace.open(tmp_path / "ws")
    made.trust()
    return made


@dataclass
class Browser:
    """Asks the page as a browser without JavaScript does: it keeps the cookie, and sends forms as they stand."""

    client: httpx.Client
    gate: Gate

    def get(self, path: str, status: int = 200) -> Page:
        """Open a page."""
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return Page(answer.text)

    def send(self, form: Form, status: int = 200, **typed: str) -> Page:
        """Send a form, with what is typed into it or the button that is pressed; follow to the page behind it."""
        values = {**form.values, **typed}
        origin = {"origin": str(self.client.base_url).rstrip("/")}
        if form.method == "get":
            return self.get(f"{form.action}?{httpx.QueryParams(values)}", status)
        answer = self.client.post(form.action, data=values, headers=origin, follow_redirects=True)
        assert answer.status_code == status, answer.text
        return Page(answer.text)


@dataclass
class Form:
    """A form of a page: where it goes, and what it sends as it stands. `buttons` are what can be pressed."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(html.parser.HTMLParser):
    """A page as a browser reads it: its elements with their attributes, its text, its forms and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source, self.text = text, ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[Form] = []
        self._area: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        name, value = found.get("name") or "", found.get("value") or ""
        if tag == "form":
            self.forms.append(Form(found.get("action") or "", found.get("method") or "get"))
        elif self.forms and tag == "input" and name:
            kind = found.get("type", "text")
            if kind not in ("checkbox", "radio") or "checked" in found:
                self.forms[-1].values[name] = value
        elif self.forms and tag == "button":
            self.forms[-1].buttons.append((name, value))
        elif self.forms and tag == "textarea":
            self._area = name
            self.forms[-1].values[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area is not None:
            self.forms[-1].values[self._area] += data.removeprefix("\n")

    def form(self, action: str, button: tuple[str, str] | None = None) -> Form:
        """Return the form that goes to `action`, or the one of them that has a button."""
        found = [one for one in self.forms if one.action == action and (button is None or button in one.buttons)]
        assert found, (action, button, self.source)
        if button is None:
            return found[0]
        return Form(found[0].action, found[0].method, {**found[0].values, button[0]: button[1]})

    def links(self, text: str) -> list[str]:
        """Return where the links lead whose text holds `text`."""
        found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', self.source, re.DOTALL)
        return [html.unescape(where) for where, inner in found if text in html.unescape(re.sub("<[^>]*>", "", inner))]


@contextmanager
def served(root: Path) -> Iterator[Browser]:
    """Serve a workspace, and come in with the printed address."""
    listening = server.bound(0, any_port=False)
    gate = Gate.new(listening.getsockname()[1])
    config = uvicorn.Config(server.application(root, gate), log_level="error", lifespan="off", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: running.run(sockets=[listening]), daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{gate.port}", trust_env=False, verify=False) as client:
            client.get(gate.address, follow_redirects=True)
            yield Browser(client, gate)
    finally:
        running.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def browser(workspace: Workspace) -> Iterator[Browser]:
    """A browser that has come in, at a server of `workspace`."""
    with served(workspace.root) as come_in:
        yield come_in
