"""Agent clients as models: a program that a person has installed and logged in to answers in its headless mode.

Each call is a process of its own in an empty private folder: our system prompt replaces the client's, the text comes
in on standard input, and there are no tools, hooks, MCP servers, project files and no stored session. No credential is
read: the program uses its own login. The rows were tried in November 2026 with Claude Code 2.1.330 and Codex 0.169.0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from dream import prompts
from dream.errors import (
    AnswerUnusable,
    ModelError,
    ModelInaccessible,
    ModelRejected,
    ModelUnavailable,
    ToolsUnsupported,
)
from dream.llm import NOTHING_USED, ChatMessage, Completion, Finish, Tool
from dream.llm.answers import RawAnswer, read_answer
from dream.llm.faults import quote, wait_before
from dream.llm.gateway import MAX_ANSWER_BYTES, shielded
from dream.llm.spending import prompt_tokens
from dream.reports import Usage
from dream.settings import CALLED, PREFIX, Settings
from dream.text import tokens

AT_ONCE = 2  # calls of clients in one process: each is a program of 200 MB, and a login is refreshed by one at a time
ROOM = 4  # times the answer's room is what a client may write, for one that is cut asks three times more and loses it
STATUS_SECONDS = 5.0
# Where installers put programs that cron's short PATH does not name.
PLACES = ("~/.local/bin", "~/.claude/local", "~/.npm-global/bin", "/usr/local/bin", "/opt/homebrew/bin")
_MODEL = re.compile(r"[\w.][\w.:@/-]*")
_SLOTS = threading.BoundedSemaphore(AT_ONCE)

FaultKind = Literal["", "login", "quota", "model", "old", "tool", "busy", "refused"]


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """What a client answered; `fault` is the kind of failure, and `text` then the client's own sentence.

    A usage of one call without tokens is one that the client did not count.
    """

    text: str
    usage: Usage = NOTHING_USED
    finish: Finish = "stop"
    fault: FaultKind = ""


@dataclass(frozen=True, slots=True)
class AgentClient:
    """One agent client: how it is called, and how its answer is read.

    `arguments` and `environment` get the model, the folder of the call and the most tokens of an answer. `without` are
    variables with an API key, which would pay instead of the login's plan. A line of output that `stops` matches shows
    that the client is about to call a tool. `status` exits with 0 where somebody is logged in; `asks_first` checks it
    before the first call, where a call without a login would wait for ever.
    """

    program: str
    title: str
    provider: str
    models: tuple[str, ...]
    window: int
    arguments: Callable[[str, Path], list[str]]
    environment: Callable[[Path, int], dict[str, str]]
    without: tuple[str, ...]
    status: tuple[str, ...]
    login: str
    terms: str
    read: Callable[[str, str], ClientAnswer]
    stops: re.Pattern[str] | None = None
    asks_first: bool = False


# Claude Code. `--max-turns 1` ends the loop that an invented tool call would be; `--safe-mode` leaves out hooks,
# CLAUDE.md and MCP, and keeps every kind of login; the output style would still leak without `--settings`.


def _claude_arguments(model: str, folder: Path) -> list[str]:
    return [
        *("-p", "--output-format", "json", "--model", model, "--system-prompt-file", str(folder / "system.txt")),
        *("--tools", "", "--strict-mcp-config", "--safe-mode", "--settings", '{"outputStyle":"default"}'),
        *("--disable-slash-commands", "--no-session-persistence", "--max-turns", "1"),
    ]


def _claude_environment(folder: Path, room: int) -> dict[str, str]:
    on = ("FILE_MENTIONS", "THINKING", "REFUSAL_RETRY", "REFUSAL_FALLBACK", "NONESSENTIAL_TRAFFIC")
    return {
        **{f"CLAUDE_CODE_DISABLE_{name}": "1" for name in on},  # `@path` in a text would be opened and sent
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(room),
        "DISABLE_AUTOUPDATER": "1",
    }


def _read_claude(out: str, err: str) -> ClientAnswer:
    if "unknown option" in err:
        return ClientAnswer(err, fault="old")
    try:
        said = json.loads(out)
        used, text, status = said["usage"], str(said.get("result") or ""), said.get("api_error_status")
        cached = int(used.get("cache_read_input_tokens") or 0)
        asked = int(used["input_tokens"]) + int(used.get("cache_creation_input_tokens") or 0) + cached
        usage = Usage(1, asked, int(used["output_tokens"]), None, cached)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ClientAnswer(err or out or "it ended without an answer", fault="busy")
    if said.get("subtype") == "error_max_turns":
        return ClientAnswer(text, usage, fault="tool")
    if not said.get("is_error"):  # `subtype` says "success" of errors too
        return ClientAnswer(text, usage, "refusal" if said.get("stop_reason") == "refusal" else "stop")
    if "output token maximum" in text:
        return ClientAnswer("", usage, "length")
    by_status: dict[object, FaultKind] = {401: "login", 403: "login", 404: "model", 429: "quota", 400: "refused"}
    return ClientAnswer(text, usage, fault="login" if "/login" in text else by_status.get(status, "busy"))


# Codex. What is disabled are its tools, and what it adds to a prompt; two small tools stay, so its log is watched for
# the call of one. The home is a folder with a link to the login: AGENTS.md of the real one would be sent too.


def _codex_arguments(model: str, folder: Path) -> list[str]:
    off = ("permissions_instructions", "environment_context", "apps_instructions", "collaboration_mode_instructions")
    given = [
        f"model_instructions_file={json.dumps(str(folder / 'system.txt'))}",
        *("project_doc_max_bytes=0", 'web_search="disabled"', "skills.include_instructions=false"),
        *(f"include_{name}=false" for name in off),
        "model_reasoning_effort=low",
    ]
    tools = ("hooks", "shell_tool", "unified_exec", "multi_agent", "apps", "plugins", "goals", "memories")
    pictures = ("image_generation", "view_image", "tool_suggest")
    return [
        *("exec", "--skip-git-repo-check", "--json", "--color", "never", "--ephemeral", "--ignore-user-config"),
        *("--ignore-rules", "-s", "read-only", "-m", model),
        *(word for one in given for word in ("-c", one)),
        *(word for name in (*tools, *pictures) for word in ("--disable", name)),
        "-",
    ]


def _codex_environment(folder: Path, room: int) -> dict[str, str]:
    real = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
    if not real.is_file():  # the login is in a keyring, which goes by the real home
        return {"RUST_LOG": "error"}
    (folder / "home").mkdir(mode=0o700)
    (folder / "home" / "auth.json").symlink_to(real.resolve())  # a copy would go stale: tokens are refreshed in place
    return {"CODEX_HOME": str(folder / "home"), "RUST_LOG": "error"}


def _read_codex(out: str, err: str) -> ClientAnswer:
    if "unexpected argument" in err or "unknown feature" in err.casefold():
        return ClientAnswer(err, fault="old")
    text, failed = "", ""
    usage: Usage | None = None
    for line in out.splitlines():
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            event = json.loads(line)
            if event["type"] == "item.completed" and event["item"]["type"] == "agent_message":
                text = str(event["item"]["text"])
            elif event["type"] == "turn.completed":
                used = event["usage"]
                asked, answered = int(used["input_tokens"]), int(used["output_tokens"])
                usage = Usage(1, asked, answered, None, int(used.get("cached_input_tokens") or 0))
            elif event["type"] == "turn.failed":
                failed = str(event["error"]["message"])
    if usage is not None:
        return ClientAnswer(text, usage)
    if "max_output_tokens" in failed:
        return ClientAnswer(text, Usage(1), "length")
    faults: dict[FaultKind, str] = {
        "quota": r"usage limit|rate limit|quota|\b429\b",
        "login": r"\b40[13]\b|log ?in",
        "model": r"\b404\b|model .*not (?:supported|found|exist)",
        "refused": r"\b400\b",
    }
    kinds = [name for name, pattern in faults.items() if re.search(pattern, failed, re.IGNORECASE)]
    return ClientAnswer(failed or err or "it ended without an answer", fault=kinds[0] if kinds else "busy")


CLIENTS = {
    "claude-code": AgentClient(
        program="claude",
        title="Claude Code",
        provider="Anthropic",
        models=("haiku", "sonnet", "opus"),
        window=200_000,
        arguments=_claude_arguments,
        environment=_claude_environment,
        without=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        status=("auth", "status"),
        login="start `claude` and give the command /login",
        terms=(
            "Anthropic asks developers of products to use an API key, and expects ordinary, individual use of a plan. "
            "dream runs the Claude Code that you installed and logged in to, for your own memory, a few times a night; "
            "each call counts against your plan. Whether that fits its terms is yours to decide: "
            "code.claude.com/docs/en/legal-and-compliance."
        ),
        read=_read_claude,
    ),
    "codex": AgentClient(
        program="codex",
        title="Codex",
        provider="OpenAI",
        models=("gpt-5.5",),
        window=200_000,
        arguments=_codex_arguments,
        environment=_codex_environment,
        without=("OPENAI_API_KEY", "CODEX_API_KEY"),
        status=("login", "status"),
        login="run `codex login`",
        terms=(
            "OpenAI is known to support the use of a plan's login in other tools. dream runs the Codex that you "
            "installed and logged in to, a few times a night; each call counts against your plan. Whether that fits "
            "its terms is yours to decide."
        ),
        read=_read_codex,
        stops=re.compile(
            r"\A\S+\s+ERROR codex_core::tools::"
            r'|\A\{"type":"item\.\w+","item":\{"id":"[^"]*","type":"(?!agent_message"|reasoning"|error")'
        ),
        asks_first=True,
    ),
}


class ClientModel:
    """An agent client used as a model. It is asked once for calls of tools, which it writes as JSON."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        kind, _, model = name.partition("/")
        self._client = CLIENTS[kind]
        self._model = model or self._client.models[0]
        self._settings = settings
        self.window = settings.context_window or self._client.window
        self.max_output = min(settings.max_output_tokens, max(256, self.window // 4))
        self._logged_in = not self._client.asks_first

    def count(self, text: str) -> int:
        return tokens.count(text, f"anthropic/{self._model}" if self._client.program == "claude" else self._model)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer `messages`, which are sent without secrets.

        Raises ToolsUnsupported where tools have been asked for once, ModelInaccessible where a person has to act or
        the plan's quota is used up (what is read waits then), ModelUnavailable, ModelRejected and AnswerUnusable.
        """
        if tools and any(message.role == "assistant" for message in messages):
            raise ToolsUnsupported(f"{self.name} is asked once for its edits.")
        if not _MODEL.fullmatch(self._model):
            raise ModelInaccessible(f"{self.name}: {self._model!r} is no name of a model.")
        system, text = _written(shielded(messages, self._settings.redact_patterns), tools)
        room, attempt = min(max_tokens or self.max_output, self.max_output), 1
        said = self._ask(system, text, room)
        while said.fault == "busy" and not said.usage.calls and attempt <= self._settings.retries:
            time.sleep(wait_before(attempt, None) or 0.0)
            said, attempt = self._ask(system, text, room), attempt + 1
        usage = said.usage
        if usage.calls and not usage.tokens:
            answered = 0 if said.fault else self.count(said.text)
            usage = replace(usage, input_tokens=prompt_tokens(self, messages, tools), output_tokens=answered)
        if said.fault:
            error = self._error(said)
            error.usage = usage if usage.tokens else None
            raise error
        answer = read_answer(RawAnswer(said.text, finish=said.finish), [tool.name for tool in tools])
        return Completion(answer.text, answer.tool_calls, answer.finish, usage, self.name)

    def _ask(self, system: str, text: str, room: int) -> ClientAnswer:
        program = found(self._client, os.environ)
        if program is None:
            raise ModelInaccessible(
                f"{self.name} needs the program `{self._client.program}`, which is in none of the folders of PATH "
                f"({os.environ.get('PATH', '')}); install it, or add its folder: the PATH of cron is short."
            )
        with _SLOTS, tempfile.TemporaryDirectory(prefix="dream-call-") as place:
            if not self._logged_in and not logged_in(self._client, program):
                return ClientAnswer("", fault="login")
            self._logged_in = True
            folder = Path(place).resolve()
            for name in ("cwd", "tmp"):
                (folder / name).mkdir(mode=0o700)
            (folder / "system.txt").write_text(system, encoding="utf-8", errors="replace")
            own = self._client.environment(folder, ROOM * room)
            environ = environment(self._client, program) | own | {"TMPDIR": str(folder / "tmp")}
            command = [program, *self._client.arguments(self._model, folder)]
            try:
                return _run(self._client, command, environ, folder / "cwd", text, self._settings.timeout)
            except OSError as error:
                return ClientAnswer(str(error), fault="busy")

    def _error(self, said: ClientAnswer) -> ModelError:
        title, why = self._client.title, quote(said.text.strip()) or "no reason was given"
        if said.fault == "login":
            return ModelInaccessible(f"{self.name}: nobody is logged in to {title}; {self._client.login}.")
        if said.fault == "quota":
            return ModelInaccessible(
                f"{self.name}: the plan allows no more now ({why}); what waits is read the next night."
            )
        if said.fault == "model":
            return ModelInaccessible(f"{self.name}: {title} knows no such model ({why}); name another.")
        if said.fault == "old":
            return ModelInaccessible(
                f"{self.name}: this {title} lacks an option without which its hooks could run ({why}); update it."
            )
        if said.fault == "tool":
            return AnswerUnusable(f"{self.name} asked for a tool instead of answering.")
        if said.fault == "refused":
            return ModelRejected(f"{self.name} refused the request: {why}")
        return ModelUnavailable(f"{self.name} did not answer: {why}")


def found(client: AgentClient, environ: Mapping[str, str]) -> str | None:
    """Return the path of a client's program: on PATH, else where installers put it."""
    usual = os.pathsep.join(str(Path(place).expanduser()) for place in PLACES)
    path = environ.get("PATH", os.defpath)
    return shutil.which(client.program, path=path) or shutil.which(client.program, path=usual)


def logged_in(client: AgentClient, program: str) -> bool:
    """Return whether the client reports a login; only a call proves it."""
    return status(client, program, *client.status) is not None


def status(client: AgentClient, program: str, *arguments: str) -> str | None:
    """Run a client with `arguments` that call no model; return what it printed, None where it failed."""
    try:
        done = subprocess.run(
            [program, *arguments],
            env=environment(client, program),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=STATUS_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()


def environment(client: AgentClient, program: str) -> dict[str, str]:
    """Return a client's environment: this one, without keys and settings of ours, with the mark that ends our hooks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    for name in client.without:
        kept.pop(name, None)
    path = os.pathsep.join((str(Path(program).parent), kept.get("PATH", os.defpath)))  # where its interpreter is too
    return kept | {"PATH": path, CALLED: "1"}


def _written(messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> tuple[str, str]:
    """Return the system prompt and the text of a call.

    A text that begins with a slash would be a command to Claude Code: it is marked as a message, as several are.
    """
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    asked = [message for message in messages if message.role != "system"]
    if tools:
        listed = (f"- {one.name}: {one.description} {json.dumps(dict(one.parameters))}" for one in tools)
        how, _ = prompts.filled(prompts.load("calls", tools="\n".join(listed)), "")
        system = f"{system}\n\n{how}"
    if len(asked) == 1 and not asked[0].content.lstrip().startswith("/"):
        return system, asked[0].content
    return system, "\n".join(f'<message role="{one.role}">\n{one.content}\n</message>' for one in asked)


def _run(
    client: AgentClient, command: list[str], environ: dict[str, str], folder: Path, text: str, seconds: float
) -> ClientAnswer:
    """Run a client in a folder with `text` on its standard input, and read its answer; what it started ends with it."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command,
        env=environ,
        cwd=folder,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    tool = threading.Event()
    out: list[str] = []
    err: list[str] = []

    def end() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def give(stream: IO[str]) -> None:
        with suppress(BrokenPipeError), stream:
            stream.write(text)

    def collect(stream: IO[str], into: list[str]) -> None:
        with stream:
            while line := stream.readline(MAX_ANSWER_BYTES):
                into.append(line)
                if client.stops is not None and client.stops.search(line):
                    tool.set()
                if tool.is_set() or sum(map(len, into)) >= MAX_ANSWER_BYTES:
                    end()

    jobs: list[tuple[Any, ...]] = [
        (give, process.stdin),
        (collect, process.stdout, out),
        (collect, process.stderr, err),
    ]
    threads = [threading.Thread(target=job, args=about, daemon=True) for job, *about in jobs]
    for thread in threads:
        thread.start()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return ClientAnswer(f"it took longer than {seconds:g} seconds (timeout)", Usage(1), fault="busy")
    finally:
        end()
        process.wait()
        for thread in threads:
            thread.join(1.0)
    return ClientAnswer("", Usage(1), fault="tool") if tool.is_set() else client.read("".join(out), "".join(err))
