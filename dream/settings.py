"""Every setting, read once: flags, then environment, then `dream.toml`, then the defaults below.

Each limit is a field with its unit and its reason. Nothing else in `dream` reads the environment.
"""

from __future__ import annotations

import os
import shlex
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from dream import trust
from dream.door import contents
from dream.errors import SettingsError, Untrusted
from dream.memory import like

if TYPE_CHECKING:
    from dream.models import MemoryFile

Job = Literal["consolidator", "phase1", "phase2"]
JOBS: tuple[Job, ...] = ("consolidator", "phase1", "phase2")

PREFIX = "DREAM_"
FILE_NAME = "dream.toml"
EMBEDDED = "embedded"  # the model inside this package
CLIENTS = ("claude-code", "codex")  # agent clients that can be a model; `llm/clients.py` has a row each
CALLED = "DREAM_CALL"  # set for a client that is asked as a model: our hooks in it end at once
SHIPPED_PROMPTS = ("consolidate", "phase1", "phase2", "dependents", "tidy", "guide")
# Environment variables of ours that are not settings: where the workspace is, shell completion, and the one above.
NOT_SETTINGS = {"DREAM_WORKSPACE", "DREAM_COMPLETE", CALLED}
NIGHTLY = "0 3 * * *"
DAY_TOKENS, CLIENT_DAY_TOKENS = 5_000_000, 300_000
# What became of settings that older versions knew; a dream.toml that still has one is refused with this sentence.
REMOVED = {
    "parallel": "sessions are summarised one after the other; remove the line",
    "batch": "answers at half the price by tomorrow are gone; remove the line, and calls are made at once",
    "structured": "phase 1 answers in lines with every model; remove the line",
    "session_completion_tokens": "an eighth of session_tokens is kept free for the agent's answer; remove the line",
    "session_safety_tokens": "a sixty-fourth of session_tokens is kept free beside the answer; remove the line",
    "session_target_ratio": "a live session is consolidated down to half of its budget; remove the line",
    "include_subagents": "sessions in which no person speaks are not read; remove the line",
    "tool_result_chars": "a tool's result is cut in its middle to 2,000 characters; remove the line",
    "keep_messages": "the messages that history rests on are always kept; `dream forget` takes one out",
    "search_half_life_days": "it is an option of each search now: dream search --half-life DAYS",
    "search_mmr": "it is an option of each search now: dream search --mmr SHARE",
    "max_steps": "phase 2 takes at most 20 rounds; remove the line",
    "max_attempts": "a batch is split after three failures; remove the line",
    "max_loss_ratio": "one dream may take at most a quarter of a file's lines; remove the line",
    "max_loss_lines": "one dream may always take up to five lines of a file; remove the line",
    "user_max_lines": "USER.md takes 120 lines; remove the line",
    "user_max_bytes": "USER.md takes 12,000 bytes; remove the line",
    "soul_max_lines": "SOUL.md takes 60 lines; remove the line",
    "soul_max_bytes": "SOUL.md takes 6,000 bytes; remove the line",
    "early_tokens": "`dream serve` dreams at the times of its schedule alone; a shorter schedule dreams sooner",
}
TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}
COMMAND_LINE = "on the command line"  # where a setting stands that a flag gives

# What sends, starts or reads beyond the workspace, or decides who is believed. Of a workspace's own files it counts
# only where that is trusted.
PROMPTS = "prompts/"  # not a setting, but it decides what a model is told
CALLING = (
    "model",
    "consolidator_model",
    "phase1_model",
    "phase2_model",
    "fallbacks",
    "embedding_model",
    "api_base",
    "api_key",
    "redact_patterns",  # one that is slow on purpose stops whatever reads a text
    "owners",
    "author",
    PROMPTS,
)
REACHING = (*CALLING, "trusted_groups", "sources", "on_change", "on_failure", "tenant", "sync", "sync_encrypt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one workspace. Tokens are the model's own where its tokenizer is known."""

    # Models. Any LiteLLM model string; one for all three jobs, or one each.
    model: str = EMBEDDED
    consolidator_model: str | None = None
    phase1_model: str | None = None
    phase2_model: str | None = None
    embedding_model: str | None = None  # for search by meaning too: a LiteLLM embedding model
    fallbacks: tuple[str, ...] = ()  # tried in this order when a model is unavailable
    api_base: str | None = None
    api_key: str | None = None
    timeout: float = 120.0  # seconds a call may take; LiteLLM's own default is 600
    retries: int = 2  # after the first try, with back-off, for faults that may pass
    context_window: int | None = None  # tokens; None: what LiteLLM knows, else 32,768
    max_output_tokens: int = 4096  # tokens; the answer's room, always sent

    # What memory is written like.
    language: str | None = None  # None: the language that the user speaks
    timezone: str | None = None  # the zone of naive times in transcripts; None: the machine's

    # Consolidator.
    session_tokens: int = 65_536  # a live agent's context window
    idle_hours: float = 2.0  # a transcript is finished when nothing was added for this long
    sources: tuple[str, ...] = ()  # transcripts that `nightly` reads: a format's name, a path or a glob

    # History.
    history_tokens: int = 200_000  # above this the oldest dreamt entries move to memory/archive/
    durable: bool = True  # fsync each append; off for throughput where a power cut may cost a line

    # Dream.
    batch_tokens: int = 16_000  # of entries in one dream, where the window allows
    phase2: Literal["auto", "always"] = "auto"  # auto: code applies what is plain; always: a model edits all of it

    # Guards.
    owners: tuple[
        str, ...
    ] = ()  # people whose messages count as the user's; "*": everybody's; (): those of a chat of one
    trusted_groups: tuple[str, ...] = ()  # group chats, by name or key, that get what applies everywhere too
    author: str | None = None  # who edits the memory files beside dream: an agent's name; None: a person's hand
    review: Literal["guards", "hold"] = "guards"  # hold: every edit waits for a person
    memory_max_lines: int = 200
    memory_max_bytes: int = 25_000
    redact_patterns: tuple[str, ...] = ()  # regular expressions of secrets beside the built-in ones

    # Spending. 0 is no bound. The day is the local one.
    max_call_tokens: int = 200_000
    max_run_tokens: int = 2_000_000
    max_day_tokens: int | None = None  # None: 5,000,000; with an agent client, whose plan is a person's own, 300,000
    max_run_usd: float = 0.0
    max_day_usd: float = 0.0

    # Every night.
    schedule: str = NIGHTLY
    max_minutes: float = 120.0  # of one nightly run; what is left waits for the next
    on_change: str | None = None  # a command that is run after a commit
    on_failure: str | None = None  # a command that is run after a failure
    tenant: str | None = None  # whose the workspace is in a fleet; None: the directory's under the root

    # Several machines.
    sync: str | None = None  # the git remote over which machines share this memory; `dream sync URL` sets it
    sync_messages: bool = True  # off: messages, [RAW] entries and quotes stay on this machine
    sync_encrypt: tuple[str, ...] = ()  # age recipients: then the remote's host can't read what goes there

    def model_for(self, job: Job) -> str:
        """Name the model that does `job`."""
        own = {"consolidator": self.consolidator_model, "phase1": self.phase1_model, "phase2": self.phase2_model}
        return own[job] or self.model

    def models_for(self, jobs: Iterable[Job] = JOBS) -> str:
        """Name the models that do `jobs`, each once."""
        return ", ".join(dict.fromkeys(map(self.model_for, jobs)))

    @property
    def receivers(self) -> tuple[str, ...]:
        """Name the models that may receive what is read, fallbacks too: all but `embedded`, which sends nothing."""
        named = dict.fromkeys((*map(self.model_for, JOBS), *self.fallbacks))
        return tuple(model for model in named if model != EMBEDDED)

    @property
    def clients(self) -> tuple[str, ...]:
        """Name the agent clients that are asked as models."""
        return tuple(model for model in self.receivers if is_client(model))

    @property
    def day_tokens(self) -> int:
        """Return how many tokens a day may cost; 0 is no bound."""
        if self.max_day_tokens is not None:
            return self.max_day_tokens
        return CLIENT_DAY_TOKENS if self.clients else DAY_TOKENS

    def limits(self, file: MemoryFile) -> tuple[int, int]:
        """Return how many lines and bytes a memory file may hold."""
        return {
            "SOUL.md": (60, 6_000),
            "USER.md": (120, 12_000),
            "memory/MEMORY.md": (self.memory_max_lines, self.memory_max_bytes),
        }[like(file)]

    def access(self, model: str, first: str) -> tuple[str | None, str | None]:
        """Return `api_base` and `api_key` for a call of `model`, where it is of the same provider as `first`.

        They are one provider's: another's fallback must not be sent to it, nor shown its key.
        """
        same = first == EMBEDDED or model.partition("/")[0] == first.partition("/")[0]
        return (self.api_base, self.api_key) if same else (None, None)

    def zone(self) -> tzinfo:
        """Return the zone in which naive times are read."""
        if self.timezone:
            from zoneinfo import ZoneInfo

            return ZoneInfo(self.timezone)
        return datetime.now().astimezone().tzinfo or UTC


def is_client(model: str) -> bool:
    """Return whether `model` is an agent client on this machine, and no provider's model."""
    return model.partition("/")[0] in CLIENTS


def load(
    workspace: Path | None = None,
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    using: Collection[str] = REACHING,
) -> Settings:
    """Read the settings of `workspace` and check them.

    `flags` are the command line's, by setting name; a None among them is not given. In a workspace that is not
    trusted, what of its own files reaches beyond it does not count; `using` names what the caller goes by, and where
    such a thing is among that, Untrusted is raised.
    Raises SettingsError that names the setting and where it stands.
    """
    environ = os.environ if environ is None else environ
    own = {} if workspace is None else _from_file(workspace / FILE_NAME)
    given = _from_environment(environ)
    where = dict.fromkeys(own, f"in {workspace}/{FILE_NAME}") | {name: _variable(name) for name in given}
    for name, value in (flags or {}).items():
        if value is not None:
            given[name] = _checked(name, value, COMMAND_LINE)
            where[name] = COMMAND_LINE
    if workspace is not None:
        reaching = _reaching(workspace, own, given)
        if reaching and not is_trusted(workspace, environ):
            _refuse(workspace, [name for name in reaching if name in using], environ)
            own = {name: value for name, value in own.items() if name not in reaching}
    values: dict[str, Any] = own | given
    settings = Settings(**values)
    _check_together(settings, where)
    return settings


def reaching(workspace: Path, *, environ: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return what of the workspace's own files reaches beyond it, by name; not what the environment overrules."""
    given = _from_environment(os.environ if environ is None else environ)
    return _reaching(workspace, _from_file(workspace / FILE_NAME), given)


def is_trusted(workspace: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Return whether the workspace was made, adopted or accepted by this user on this machine."""
    return trust.is_trusted(workspace, trust.state_directory(os.environ if environ is None else environ))


def _reaching(workspace: Path, own: Mapping[str, object], given: Collection[str]) -> dict[str, object]:
    found = {name: own[name] for name in REACHING if name in own and name not in given}
    found = {name: value for name, value in found.items() if value and _leaves(value)}
    files = tuple(f"{name}.md" for name in SHIPPED_PROMPTS if (workspace / PROMPTS / f"{name}.md").exists())
    return found | ({PROMPTS: files} if files else {})


def _leaves(value: object) -> bool:
    """Return whether a value names anything but the model inside this package."""
    return any(one != EMBEDDED for one in (value if isinstance(value, tuple) else (value,)))


def _refuse(workspace: Path, named: list[str], environ: Mapping[str, str]) -> None:
    if not named:
        return
    before = trust.noted_at(workspace, trust.state_directory(environ))
    moved = f" (it was at {before} when it was trusted)" if before else ""
    raise Untrusted(
        f"{workspace} is not trusted on this machine{moved}, so what its own files say of {_listed(named)} does not "
        f"count; see what it would do, and accept it: dream trust -w {shlex.quote(str(workspace))}"
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _from_file(path: Path) -> dict[str, object]:
    try:
        text = contents(path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    except RecursionError as error:
        raise SettingsError(f"{path} cannot be read as TOML: its values are nested too deep.") from error
    if bad := next((name for name, value in table.items() if "\ufffd" in f"{name}{value}"), ""):
        raise SettingsError(f"{path}: {bad} is not UTF-8; save the file as UTF-8.")
    return {name: _checked(name, value, f"in {path}") for name, value in table.items()}


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    found = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS or text == "":
            continue
        name = variable.removeprefix(PREFIX).lower()
        found[name] = _checked(name, text, _variable(name))
    return found


def _variable(name: str) -> str:
    return f"in the environment ({PREFIX}{name.upper()})"


def _checked(name: str, value: object, origin: str) -> object:
    kinds = typing.get_type_hints(Settings)
    if name in REMOVED:
        raise SettingsError(f"Setting {name!r} {origin} was removed: {REMOVED[name]}.")
    if name not in kinds:
        from difflib import get_close_matches

        near = get_close_matches(name, kinds, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise SettingsError(f"Unknown setting {name!r} {origin}{hint}")
    try:
        return _convert(value, kinds[name])
    except ValueError as error:
        raise SettingsError(f"Setting {name!r} {origin}: {error}.") from error


def _convert(value: object, kind: object) -> object:
    """Turn a TOML value or an environment string into a field's type, or raise ValueError."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is types.UnionType:
        return None if value is None else _convert(value, arguments[0])
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is not one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise ValueError(f"{value!r} is not a list of strings")
        return tuple(item for item in items if item)
    if kind is str:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string")
        return value
    if kind is not bool:
        return _number(value, whole=kind is int)
    if str(value).lower() not in TRUE | FALSE or not isinstance(value, bool | str):
        raise ValueError(f"{value!r} is not true or false")
    return str(value).lower() in TRUE


def _number(value: object, *, whole: bool) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number")
    try:
        number = int(value) if whole and not isinstance(value, float) else float(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a {'whole ' if whole else ''}number") from None
    if whole and number != int(number):
        raise ValueError(f"{value!r} is not a whole number")
    if not 0 <= number < float("inf"):
        raise ValueError(f"{value!r} is below zero or not finite")
    return int(number) if whole else number


def _check_together(settings: Settings, where: Mapping[str, str]) -> None:
    """Raise SettingsError for a value that its type allows and its job doesn't; `where` says where a setting stands."""

    def wrong(name: str, why: str) -> SettingsError:
        return SettingsError(f"Setting {name!r}{f' {where[name]}' if name in where else ''}: {why}.")

    for name in ("timeout", "max_output_tokens", "batch_tokens", "session_tokens"):
        if getattr(settings, name) <= 0:
            raise wrong(name, "it has to be above 0")
    for name, check in (("timezone", _zone), ("schedule", _cron), ("redact_patterns", _expressions)):
        try:
            check(settings)
        except ValueError as error:
            raise wrong(name, str(error)) from error


def _zone(settings: Settings) -> None:
    try:
        settings.zone()
    except (KeyError, OSError, ValueError) as error:  # no such zone, a folder of zones, and what is no name
        raise ValueError(f"{settings.timezone!r} is not a known time zone") from error


def _cron(settings: Settings) -> None:
    if settings.schedule != NIGHTLY:
        from dream.crontime import parse

        try:
            parse(settings.schedule)
        except SettingsError as error:
            raise ValueError(f"t{str(error)[1:-1]}") from error  # it begins with "The schedule"


def _expressions(settings: Settings) -> None:
    for pattern in settings.redact_patterns:
        import re

        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression ({error})") from error
