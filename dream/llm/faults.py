"""Turn LiteLLM's errors into ours, with a sentence that says what to do; the only place that does.

LiteLLM's classes and status codes alone can't be trusted: a missing key, a refused connection and an answer that is
not JSON are all "500" to it, and a prompt that is too long is known by its text only. So text is looked at first.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dream.errors import (
    AnswerUnusable,
    ModelError,
    ModelInaccessible,
    ModelRejected,
    ModelUnavailable,
    PromptTooLong,
    ToolsUnsupported,
)
from dream.redact import redact
from dream.text.safe import shortened

# What is quoted of a provider's own text. LiteLLM can put the whole prompt into it.
QUOTED_CHARS = 300
FIRST_WAIT = 1.0  # seconds; doubled with each try
LONGEST_WAIT = 60.0  # seconds; who asks for more is not waited for

_OUTPUT_TOO_LONG = re.compile(
    r"max_(completion_|output_)?tokens.{0,60}(too large|at most|exceed|must be|maximum)", re.DOTALL
)
_TOO_LONG = re.compile(
    r"context.{0,12}(length|window|size|limit)|maximum (prompt|input|number of (input )?tokens)|prompt is too long"
    r"|too many (input |total )?tokens|input.{0,24}(too long|exceed)|prompt.{0,40}(exceed|longer than)"
    r"|reduce the length|request too large|exceeds? the (maximum|max).{0,30}tokens|token (count|limit).{0,30}exceed"
    r"|n_ctx|max_model_len|max_seq_len|string_above_max_length"
)
_NO_KEY = re.compile(
    r"missing credentials|missing .{0,40}api[ _]key|no api[ _]key|api_key (client option )?must be set"
    r"|unable to locate credentials|default credentials|no key is set|api key not (found|set)"
)
_NO_QUOTA = re.compile(
    r"insufficient[ _](quota|credit|balance|funds)|current quota|billing|credit balance|payment required"
)
_NO_CONNECTION = re.compile(
    r"connection error|connection refused|connect call failed|cannot connect|all connection attempts failed"
    r"|name or service not known|nodename nor servname|temporary failure in name|getaddrinfo"
    r"|server disconnected|connection reset|connection aborted|network is unreachable|no route to host|ssl"
)
_CUT_OFF = re.compile(r"server disconnected|peer closed|incomplete (chunked )?read|connection (reset|aborted)")
_NOT_JSON = re.compile(r"expecting value|received response|unable to get json|not valid json|jsondecodeerror")
_NO_TOOLS = re.compile(
    r"(does|do|did)(n't| not) support.{0,20}(tool|function)|tool(s| use| calling).{0,30}not (supported|enabled)"
    r"|(tool choice|tools).{0,30}requires --|no endpoints found that support tool|unsupported.{0,20}tools"
)
_ONLY_STREAMS = re.compile(
    r"only supports? stream|only support stream mode|stream.{0,30}(must be|set to|is required|be enabled).{0,8}(true|$)"
    r"|enable the stream|non-?stream\w* .{0,40}(not supported|unsupported|disabled)|requires? streaming"
)


class Overloaded(ModelUnavailable):
    """A fault that may pass; `wait` is the seconds that the provider asked for, if it did.

    `taken`: the provider took the prompt, and bills it, though no answer of use came.
    """

    def __init__(self, text: str, wait: float | None = None, *, taken: bool = False) -> None:
        super().__init__(text)
        self.wait = wait
        self.taken = taken


class StreamWanted(ModelRejected):
    """The provider answers this model only in a stream."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What LiteLLM raised, as plain values."""

    model: str
    text: str
    status: int | None = None
    kind: str = ""  # the name of LiteLLM's class
    headers: Mapping[str, str] | None = None
    api_base: str | None = None


def translate(fault: Fault, *, tools_sent: bool = False) -> ModelError:
    """Return our error for `fault`, with a sentence that says what to do."""
    text, status, model = fault.text.lower(), fault.status, fault.model
    quoted = quote(fault.text)
    if "stream ended before a finish_reason" in text:
        return AnswerUnusable(f"{model} broke off in the middle of its answer.")
    if "invalid response object" in text:
        return AnswerUnusable(f"{model} answered in a form that is not the chat-completions one: {_shape(fault.text)}.")
    if tools_sent and _NO_TOOLS.search(text):
        return ToolsUnsupported(f"{model} can't call tools ({quoted}).")
    if "received: 'data: {" in text or (status in (400, 422) and _ONLY_STREAMS.search(text)):
        return StreamWanted(f"{model} answers only in a stream ({quoted}).")
    if _OUTPUT_TOO_LONG.search(text) and status == 400:
        return ModelRejected(f"{model} can't answer that long ({quoted}); lower max_output_tokens.")
    if fault.kind == "ContextWindowExceededError" or status == 413 or _says_too_long(text, status):
        return PromptTooLong(
            f"The prompt is longer than the window of {model} ({quoted}); set context_window to its real size."
        )
    return _account(fault, text, quoted) or _by_status(fault, text, quoted)


def was_taken(error: ModelError) -> bool:
    """Return whether the provider took the prompt before the call failed: it is billed then."""
    return isinstance(error, AnswerUnusable) or (isinstance(error, Overloaded) and error.taken)


def quote(text: str) -> str:
    """Cut a provider's text to a short line that holds no secret."""
    line = text.partition("\n")[0]
    line = re.sub(r"^(litellm\.)?(\w+(Error|Exception)(: | - |$))+", "", line[:2_000].removeprefix("litellm."))
    line = re.sub(r"^(litellm\.\w+: )|^(\w+Exception - )", "", line).strip()
    line, _ = redact(line)
    return shortened(line, QUOTED_CHARS)


class Pause:
    """When an overloaded model may be called again, for all threads.

    Moments are monotonic seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end = 0.0

    def last(self, until: float) -> None:
        """Extend the pause to `until`."""
        with self._lock:
            self._end = max(self._end, until)

    def left(self, now: float) -> float:
        """Return the seconds until the pause is over."""
        with self._lock:
            return max(0.0, self._end - now)


def wait_before(attempt: int, asked: float | None) -> float | None:
    """Return the seconds to wait after failed try number `attempt` (from 1), or None: not worth waiting for.

    `asked` is the provider's Retry-After. The waits only ever grow.
    """
    own = min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT)
    if asked is None:
        return own
    return max(own, asked) if asked <= LONGEST_WAIT else None


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read a Retry-After header (seconds or an HTTP date) in seconds, or None where there is no usable one."""
    lower = {name.lower(): value for name, value in headers.items()}
    if "retry-after-ms" in lower:
        milliseconds = _seconds(lower["retry-after-ms"])
        return None if milliseconds is None else milliseconds / 1000
    if (value := lower.get("retry-after")) is None:
        return None
    seconds = _seconds(value)
    return _until(value, now) if seconds is None else seconds


def _account(fault: Fault, text: str, quoted: str) -> ModelError | None:
    """Return the error where the key, the name or the account is at fault."""
    model = fault.model
    if _NO_KEY.search(text):
        return ModelInaccessible(f"{model} needs a key: set DREAM_API_KEY or {_variable(fault)} in the environment.")
    if "provider not provided" in text:
        return ModelInaccessible(
            f"The model name {model!r} names no provider: write provider/name, such as openai/gpt-5-mini "
            "or ollama_chat/qwen3."
        )
    if fault.status in (401, 403):
        return ModelInaccessible(
            f"{model} refused the key ({fault.status}: {quoted}); check DREAM_API_KEY or {_variable(fault)}."
        )
    if fault.status == 402 or _NO_QUOTA.search(text):
        return ModelInaccessible(f"The account for {model} has no credit or quota left ({quoted}).")
    return None


def _by_status(fault: Fault, text: str, quoted: str) -> ModelError:
    status, model = fault.status, fault.model
    where = f" at {fault.api_base}" if fault.api_base else ""
    wait = retry_after(fault.headers or {})
    if fault.kind == "Timeout" or status == 408:
        return Overloaded(f"{model} did not answer in time; raise timeout, or try again later.", wait, taken=True)
    if _NO_CONNECTION.search(text) and status in (500, None):
        sentence = f"{model} could not be reached{where} ({quoted}); check api_base and the network."
        return Overloaded(sentence, wait, taken=_CUT_OFF.search(text) is not None)
    if _NOT_JSON.search(text):
        return Overloaded(
            f"What answers{where} for {model} is no model server: its answer is not JSON; check api_base.",
            wait,
            taken=True,
        )
    if status == 429:
        return Overloaded(f"{model} limits the rate of calls ({quoted}){_asks(wait)}; try again later.", wait)
    if status in (409, 425) or (status or 0) >= 500:
        return Overloaded(f"{model} failed with status {status} ({quoted}){_asks(wait)}; try again later.", wait)
    if status == 404:
        return ModelInaccessible(f"There is no model {model}{where} ({quoted}); check model and api_base.")
    return ModelRejected(f"{model} refused the request ({status or fault.kind}: {quoted}).")


def _says_too_long(text: str, status: int | None) -> bool:
    if status == 429:  # a limit on tokens a minute is no limit of the window, but one that a single prompt passes is
        return "request too large" in text
    return status in (400, 422, 500, None) and _TOO_LONG.search(text) is not None


def _asks(wait: float | None) -> str:
    return "" if wait is None else f" and asks to wait {wait:.0f} s"


def _variable(fault: Fault) -> str:
    named = re.search(r"\b[A-Z][A-Z0-9_]*_(API_KEY|KEY|TOKEN)\b", fault.text)
    if named:
        return named[0]
    provider = fault.model.partition("/")[0] if "/" in fault.model else "openai"
    return re.sub(r"\W", "_", provider).upper() + "_API_KEY"


def _shape(text: str) -> str:
    """Find the field that was wrong, as pydantic names it: `Function.arguments`."""
    found = re.search(r"validation errors? for (\w+)\n([\w.]+)", text)
    return f"{found[1]}.{found[2]} is of the wrong type" if found else "it could not be read"


def _seconds(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(value: str, now: datetime | None) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
