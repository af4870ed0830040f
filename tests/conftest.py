"""What every test gets: a fresh home, no environment of ours or of git's, and no network but loopback."""

from __future__ import annotations

import contextlib
import gc
import io
import ipaddress
import os
import re
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import certifi
import hypothesis
import pytest

from dream.trust import AGENTS
from tests.forking import Server
from tests.provider import Provider

LOCAL_NAMES = {"localhost", "localhost.localdomain", "ip6-localhost", ""}
# A real provider's key in the developer's shell must not reach a test, nor a test a provider.
OURS = ("DREAM_", "_DREAM", "GIT_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "LITELLM_", "XDG_", "AWS_", "AZURE_", "OLLAMA_")
KEYS = ("_API_KEY", "_API_BASE", "_BASE_URL", "_proxy", "_PROXY")


def _refuse_the_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: a look-up of, or a connection to, anything but this machine is an error in a test."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else ""  # a path: a socket of this machine
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if isinstance(host, str) and not _is_local(host):
        raise RuntimeError(f"A test reached for the network: {host!r}. Use the scripted provider on loopback.")


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in LOCAL_NAMES
    return address.is_loopback or address.is_unspecified


sys.addaudithook(_refuse_the_network)


@pytest.fixture(scope="session")
def _places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give one new place after the other; pytest's own way would look through all that there are for each."""
    place = tmp_path_factory.mktemp("places")
    return (place / str(number) for number in count(1))


@pytest.fixture(scope="session")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate to trust: each of LiteLLM's clients reads four times what there is, though none speaks TLS."""
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    path = tmp_path_factory.mktemp("trusted") / "one.pem"
    path.write_text(first + end, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _own_environment(_places: Iterator[Path], _certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(OURS) or name.endswith(KEYS) or name in AGENTS:
            monkeypatch.delenv(name)
    home = next(_places)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("TZ", "UTC")
    # Processes that a test starts have no audit hook: what they send out ends at a port where nothing listens.
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost,::1")
    monkeypatch.setenv("SSL_CERT_FILE", str(_certificate))


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, _places: Iterator[Path]) -> Iterator[Path]:
    """A new directory, which stays where the test fails; pytest's own takes a millisecond to find its number."""
    failed, place = request.session.testsfailed, next(_places)
    path = place.with_name(re.sub(r"\W", "_", request.node.name)[:30] + place.name)
    path.mkdir(mode=0o700)
    yield path
    if request.session.testsfailed == failed:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    """End the servers from which tests fork `dream` processes."""
    yield
    Server.stop_all()


@dataclass(frozen=True, slots=True)
class Imported:
    """What the import of LiteLLM printed, and what it took from a `.env` where it was done."""

    printed: str
    leaked: str | None


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """Import LiteLLM once, as the gateway does: the warnings of its own import are not ours."""
    place = tmp_path_factory.mktemp("imports")
    (place / ".env").write_text("LEAKED=yes\n", encoding="utf-8")
    printed = io.StringIO()
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.chdir(place)
        patch.delattr(
            sys.modules["__main__"], "__file__", raising=False
        )  # a `.env` is looked for beside the program, if it has one
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            from dream.llm import gateway

            gateway.load_litellm()
    gc.freeze()  # its objects stay: without them each search for garbage is short
    return Imported(printed.getvalue(), os.environ.pop("LEAKED", None))


@pytest.fixture
def provider(imported: Imported) -> Iterator[Provider]:
    """A scripted provider on loopback; `provider.script(…)` says what it answers."""
    with Provider() as server:
        yield server


@pytest.fixture(name="count")
def _count(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Count what a test tried: `count("instants killed", 12)`. The sums of all tests stand at the end of the report."""
    return lambda what, number: request.node.user_properties.append(("tried", (what, number)))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, object, object]:
    """Mark as slow the cases of a test beyond the few that it names; the first and the last are among these."""
    made = yield
    cases = [item for item in made if isinstance(item, pytest.Function)] if isinstance(made, list) else []
    if cases and (few := cases[0].get_closest_marker("few")):
        (number,) = few.args
        kept = {round(place * (len(cases) - 1) / max(number - 1, 1)) for place in range(number)}
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("slow")
    return made


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each rule in the shorter runs, and let a busy machine take its time."""
    for name, number in (("long", 100), ("slow", 60), ("quick", 10)):
        hypothesis.settings.register_profile(name, deadline=None, max_examples=number)
    which = config.getoption("markexpr")
    hypothesis.settings.load_profile("quick" if "not slow" in which else "slow" if "not long" in which else "long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let thorough tests and benchmarks take what time they need."""
    for item in items:
        if item.get_closest_marker("long") or item.get_closest_marker("bench"):
            item.add_marker(pytest.mark.timeout(0))


def pytest_collection_finish() -> None:
    """Leave what was loaded out of every later search for garbage."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what all tests that passed tried, in all processes."""
    tried: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "tried":
                tried[value[0]] += value[1]
    if tried:
        terminalreporter.section("tried")
        for what, number in sorted(tried.items()):
            terminalreporter.write_line(f"{number:>6,}  {what}")


@pytest.fixture
def home() -> Path:
    """The test's own HOME."""
    return Path(os.environ["HOME"])
