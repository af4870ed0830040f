"""The readers on this machine: agent clients with a login, local servers, keys; no model is called to find them."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dream.llm import UNKNOWN_WINDOW, card
from dream.llm.clients import CLIENTS, AgentClient, found, logged_in, status
from dream.reports import Usage
from dream.settings import EMBEDDED, Settings

SECONDS = 0.5  # a server on this machine answers sooner, and one that is not there refuses at once
MOST_BYTES = 1_000_000
MOST_MODELS = 20  # of one server
NIGHT = Usage(3, 20_000, 5_000)  # calls and tokens of a usual night; docs/models.md has those of the benchmark
KEYS = {
    "OPENAI_API_KEY": "openai/gpt-5-mini",
    "ANTHROPIC_API_KEY": "anthropic/claude-haiku-4-5",
    "GEMINI_API_KEY": "gemini/gemini-2.5-flash",
    "MISTRAL_API_KEY": "mistral/mistral-small-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
    "OPENROUTER_API_KEY": "openrouter/openai/gpt-5-mini",
}
HERE = "this machine"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One reader: `name` is what the setting `model` would be, `needs` the settings beside it, `provider` who reads.

    `ready` tells whether it can be called as it is; `about` says of which version it is and where, or what it lacks.
    `night_usd` is the price of a usual night; None where it is not known, or a plan pays.
    """

    name: str
    kind: Literal["default", "client", "server", "key"]
    provider: str
    about: str
    ready: bool = True
    window: int | None = None
    night_usd: float | None = None
    needs: Mapping[str, str | int] = field(default_factory=dict)
    chosen: bool = False


def readers(
    settings: Settings, environ: Mapping[str, str], servers: Sequence[tuple[str, Probe]] | None = None
) -> list[FoundModel]:
    """List what is here, the default first; takes about half a second, and sends nothing anywhere but to loopback."""
    default = FoundModel(
        EMBEDDED, "default", HERE, "the small default: it quotes, and does not understand", night_usd=0.0
    )
    asked = SERVERS if servers is None else servers
    with ThreadPoolExecutor(len(CLIENTS) + len(asked)) as pool:
        jobs = [pool.submit(_client, name, row, environ) for name, row in CLIENTS.items()]
        jobs += [pool.submit(lambda ask, base: list(ask(base)), ask, base) for base, ask in asked]
        listed = [default, *(one for job in jobs for one in job.result()), *_keys(environ)]
    used = settings.models_for().split(", ")
    return [_marked(one, used) for one in listed]


def _marked(reader: FoundModel, used: list[str]) -> FoundModel:
    return replace(reader, chosen=reader.name in used)


def _client(name: str, client: AgentClient, environ: Mapping[str, str]) -> list[FoundModel]:
    program = found(client, environ)
    if program is None:
        return []
    with ThreadPoolExecutor(2) as pool:
        version, login = pool.submit(status, client, program, "--version"), pool.submit(logged_in, client, program)
        number = re.search(r"\d[\w.]*", version.result() or "")
        there = login.result()
    about = f"{client.title} {number[0] if number else '(version not known)'}, "
    about += "logged in; your plan pays" if there else f"nobody is logged in: {client.login}"
    return [
        FoundModel(f"{name}/{model}", "client", client.provider, about, there, client.window) for model in client.models
    ]


def _keys(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    for variable, name in KEYS.items():
        if environ.get(variable):
            price = card(name)
            yield FoundModel(name, "key", name.partition("/")[0], variable, True, price.window, price.cost(NIGHT))


# Local servers, at the addresses at which they listen by default.


def _ollama(base: str) -> Iterator[FoundModel]:
    for model in _rows(f"{base}/api/tags", "models"):
        name = str(model.get("name") or "")
        shown = _asked(f"{base}/api/show", {"model": name}) or {}
        if "completion" not in (shown.get("capabilities") or ["completion"]):
            continue  # one that only makes vectors
        about = shown.get("model_info") or {}
        lengths = [value for key, value in about.items() if str(key).endswith(".context_length")]
        window = min([UNKNOWN_WINDOW, *filter(_is_size, lengths)])  # what is asked for takes memory, so not all of it
        yield _server(f"ollama_chat/{name}", "Ollama", base, window, {"context_window": window})


def _lm_studio(base: str) -> Iterator[FoundModel]:
    for model in _rows(f"{base}/api/v0/models", "data"):
        if model.get("type") != "embeddings":
            window = model.get("loaded_context_length") or model.get("max_context_length")
            yield _openai(str(model.get("id") or ""), "LM Studio", base, window)


def _llama_cpp(base: str) -> Iterator[FoundModel]:
    window = ((_asked(f"{base}/props") or {}).get("default_generation_settings") or {}).get("n_ctx")
    for model in _rows(f"{base}/v1/models", "data") if window else ():
        yield _openai(str(model.get("id") or ""), "llama.cpp", base, window)


def _vllm(base: str) -> Iterator[FoundModel]:
    for model in _rows(f"{base}/v1/models", "data"):
        yield _openai(str(model.get("id") or ""), "vLLM", base, model.get("max_model_len"))


Probe = Callable[[str], Iterator[FoundModel]]
SERVERS: tuple[tuple[str, Probe], ...] = (
    ("http://127.0.0.1:11434", _ollama),
    ("http://127.0.0.1:1234", _lm_studio),
    ("http://127.0.0.1:8080", _llama_cpp),
    ("http://127.0.0.1:8000", _vllm),
)


def _openai(model: str, title: str, base: str, window: object) -> FoundModel:
    size = window if isinstance(window, int) and _is_size(window) else UNKNOWN_WINDOW
    needs: dict[str, str | int] = {"api_base": f"{base}/v1", "api_key": "none", "context_window": size}
    return _server(f"openai/{model}", title, base, size, needs)


def _server(name: str, title: str, base: str, window: int, needs: Mapping[str, str | int]) -> FoundModel:
    return FoundModel(name, "server", HERE, f"{title} at {base}", True, window, 0.0, needs)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _rows(address: str, key: str) -> list[dict[str, Any]]:
    rows = (_asked(address) or {}).get(key)
    return [row for row in rows if isinstance(row, dict)][:MOST_MODELS] if isinstance(rows, list) else []


def _asked(address: str, body: Mapping[str, object] | None = None) -> dict[str, Any] | None:
    """Return the JSON object that a server on this machine answers, else None. Uses no proxy."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})  # noqa: S310 - loopback
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=SECONDS) as answer:
            said = json.loads(answer.read(MOST_BYTES))
    except (OSError, ValueError, urllib.error.HTTPError):
        return None
    return said if isinstance(said, dict) else None
