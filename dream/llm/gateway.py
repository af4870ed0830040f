"""The door to LiteLLM: the only file that imports it, and only when a model is called."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import importlib
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dream.errors import AnswerUnusable, ModelError, ModelInaccessible, ToolsUnsupported
from dream.llm import UNKNOWN_WINDOW, ChatMessage, Completion, Tool, ToolCall, beforehand, card
from dream.llm.answers import RawAnswer, RawCall, read_answer
from dream.llm.faults import Fault, Overloaded, Pause, StreamWanted, quote, translate, wait_before, was_taken
from dream.llm.spending import prompt_tokens
from dream.redact import redact
from dream.reports import Usage
from dream.settings import Settings
from dream.text import tokens
from dream.text.safe import map_strings

if TYPE_CHECKING:
    from dream.llm.watch import Watch

_T = TypeVar("_T")

MAX_ANSWER_BYTES = 8_000_000  # of one answer: a million characters, each escaped, is the most that is read of it
MAX_ANSWER_CHARS = 1_000_000  # an answer above this is not one: no max_output_tokens in use comes near it
FAR_ABOVE = 4  # times the tokens that were allowed: tokenizers differ by less than that
LONGEST_TRYING = 120.0  # seconds of tries; a call that has taken longer is not tried again
GRACE = 1.0  # seconds after `timeout` in which LiteLLM's own time-out may still speak

# Providers whose cache has to be asked for; elsewhere it works by itself, or the mark could be refused.
_MARKED = ("anthropic/", "bedrock/", "vertex_ai/", "openrouter/")
_CACHED = {"type": "ephemeral"}  # for five minutes: the rounds of one dream, not the next night

# What LiteLLM imports at its first call otherwise: 460 modules more.
_LATER = ("openai.resources.chat", "litellm._service_logger")
_IMPORTING = threading.Lock()
_READY: list[bool] = []  # once LiteLLM is imported whole

# Read by LiteLLM when it is imported: no download of its price list, no .env of whatever directory we stand in
# (an agent's workspace could redirect calls through it), no log lines.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # "1" is ignored
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
}


class LiteLLMModel:
    """Any model that LiteLLM can call, with our own time-out and retries."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._settings = settings
        self._api_base = api_base
        self._api_key = api_key
        self._sleep = sleep
        self._card = card(name)
        self.window = settings.context_window or self._card.window or UNKNOWN_WINDOW
        # The answer's room: as set, but never more than the model can, nor than a quarter of its window.
        most = min(self._card.max_output or self.window, max(256, self.window // 4))
        self.max_output = min(settings.max_output_tokens, most)
        self._tools_refused: ToolsUnsupported | None = None
        self._streams = False
        self._pause = Pause()

    def count(self, text: str) -> int:
        return tokens.count(text, self.name)

    def prepare(self) -> None:
        """Import what a call of this model needs, before several threads call it at once."""
        try:
            self._check()
        except ModelInaccessible:  # the first real call raises it
            return
        litellm = load_litellm()
        import openai

        asked = {"model": self.name, "messages": [{"role": "user", "content": "-"}], "api_key": "-"}
        with contextlib.suppress(openai.OpenAIError, ImportError, ValueError):  # the first real call raises it
            litellm.completion(**asked, mock_response="-", max_tokens=1)

    def _check(self) -> None:
        """Raise ModelInaccessible where a call can't succeed, before anything is imported for it."""
        beforehand.check(self.name, os.environ, has_key=bool(self._api_key), has_address=bool(self._api_base))

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        """Answer `messages`, which are sent without secrets; faults that may pass are tried again `retries` times.

        Raises ToolsUnsupported for a model that can't be given tools, from the second time on without asking it.
        """
        messages = shielded(messages, self._settings.redact_patterns)
        if tools and self._tools_refused:
            raise ToolsUnsupported(str(self._tools_refused))
        room = min(max_tokens or self.max_output, self._card.max_output or self.window)
        try:
            return self._persist(messages, tools, room)
        except StreamWanted:
            self._streams = True
            return self._persist(messages, tools, room)
        except ToolsUnsupported as error:
            self._tools_refused = error
            raise

    def _persist(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], room: int) -> Completion:
        lost = Usage()  # the cost of failed tries

        def once() -> Completion:
            nonlocal lost
            try:
                done = self._once(messages, tools, room)
                return replace(done, usage=done.usage + lost) if lost.calls else done
            except ModelError as error:
                if was_taken(error):
                    lost += error.usage or self._priced(Usage(1, prompt_tokens(self, messages, tools), 0))
                error.usage = lost if lost.calls else None
                raise

        return self.patiently(once)

    def patiently(self, once: Callable[[], _T]) -> _T:
        """Try `once` until it succeeds, at most `retries` times more, while the provider is overloaded.

        Tries that have taken two minutes, such as a call that timed out, are not repeated. A wait holds for all threads
        that ask this model.
        """
        if (rest := self._pause.left(time.monotonic())) > 0:
            self._sleep(rest)
        attempt, begun = 0, time.monotonic()
        while True:
            attempt += 1
            try:
                return once()
            except Overloaded as error:
                wait = wait_before(attempt, error.wait)
                tried_long = time.monotonic() - begun >= LONGEST_TRYING
                if attempt > self._settings.retries or wait is None or tried_long:
                    raise
            self._pause.last(time.monotonic() + wait)
            self._sleep(wait)

    def _once(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], room: int) -> Completion:
        request = self._request(messages, tools, room)
        response = self.through(
            lambda litellm: _answered(litellm, request, streamed=self._streams), tools_sent=bool(tools)
        )
        usage = self._priced(_usage(response), response)
        if response is None or not response.choices:
            raise self._unusable("answered without a choice", usage)
        raw = _raw_answer(response.choices[0])
        said = [raw.content or "", *(str(call.arguments or "") for call in raw.calls)]
        if not usage.input_tokens and not usage.output_tokens:
            usage = self._counted(messages, tools, raw)
        if (size := sum(map(len, said))) > MAX_ANSWER_CHARS:
            raise self._unusable(f"answered with {size:,} characters; none so long is read", usage)
        if told := self.far_above(said, room):
            raise self._unusable(f"answered with {told:,} tokens where {room:,} were allowed", usage)
        answer = read_answer(raw, [tool.name for tool in tools])
        if answer.failed:
            raise self._unusable(f"broke its answer off ({answer.failed})", usage)
        return Completion(answer.text, answer.tool_calls, answer.finish, usage, self.name)

    def far_above(self, said: Sequence[str], room: int) -> int:
        """Count the tokens of an answer that has far more than `room` of them; 0 for any other."""
        told = sum(map(self.count, said)) if sum(map(len, said)) > room else 0
        return told if told > FAR_ABOVE * room else 0

    def _unusable(self, what: str, usage: Usage) -> AnswerUnusable:
        """Make the error for an answer that came and is billed, but can't be used."""
        error = AnswerUnusable(f"{self.name} {what}.")
        error.usage = usage if usage.input_tokens or usage.output_tokens else None
        return error

    def _request(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], room: int) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": _wire_messages(messages, self.name),
            "max_tokens": room,
            "timeout": self._settings.timeout,
            "max_retries": 0,  # LiteLLM's and the SDK's retries multiply, and repeat what can't succeed
            "num_retries": 0,
            "drop_params": True,
        }
        if tools:
            functions = (
                {"name": one.name, "description": one.description, "parameters": dict(one.parameters)} for one in tools
            )
            request["tools"] = [{"type": "function", "function": function} for function in functions]
        if self._api_base:
            request["api_base"] = self._api_base
        if self._api_key:
            request["api_key"] = self._api_key
        if self.name.startswith(("ollama/", "ollama_chat/")):
            request["num_ctx"] = self.window  # Ollama silently cuts a prompt at its own small default
        return request

    def through(self, ask: Callable[[Any], _T], *, tools_sent: bool = False, most: int = MAX_ANSWER_BYTES) -> _T:
        """Let `ask` use LiteLLM, within the time-out, and receive `most` bytes; errors are said in our own words."""
        self._check()
        litellm = load_litellm()
        import httpx
        import openai

        from dream.llm.watch import Watch

        watch = Watch(most)
        try:
            return _within(self._settings.timeout + GRACE, lambda: ask(litellm), watch)
        except concurrent.futures.TimeoutError as error:
            raise translate(Fault(self.name, "", 408, "Timeout")) from error
        except (openai.OpenAIError, httpx.HTTPError, OSError) as error:
            raise (self._ended(watch) or translate(self._fault(error), tools_sent=tools_sent)) from error
        except ImportError as error:
            raise translate(Fault(self.name, f"a Python package is missing: {error}", 400)) from error

    def _ended(self, watch: Watch) -> ModelError | None:
        """Return the error for a call that was ended from here."""
        where = f" at {self._api_base}" if self._api_base else ""
        if watch.elsewhere:
            return ModelInaccessible(
                f"{self.name}{where} redirects to {quote(watch.elsewhere)}; no prompt is sent on to another host. "
                "If it is the right one, name it as api_base."
            )
        if watch.too_large:
            return AnswerUnusable(f"{self.name}{where} answered with more than {watch.most:,} bytes; none is read.")
        return None

    def _fault(self, error: Exception) -> Fault:
        headers = getattr(error, "litellm_response_headers", None)
        if headers is None:
            headers = getattr(getattr(error, "response", None), "headers", None)
        status = getattr(error, "status_code", None)
        return Fault(
            model=self.name,
            text=str(error),
            status=status if isinstance(status, int) else None,
            kind=type(error).__name__,
            headers={str(name): str(value) for name, value in dict(headers or {}).items()},
            api_base=self._api_base,
        )

    def _priced(self, usage: Usage, response: Any = None) -> Usage:
        hidden = getattr(response, "_hidden_params", None) or {}
        told = hidden.get("response_cost")
        return replace(usage, cost_usd=float(told) if isinstance(told, int | float) else self._card.cost(usage))

    def _counted(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], raw: RawAnswer) -> Usage:
        """Count the tokens of a call where the provider reported none."""
        answered = (raw.content or "") + "".join(f"{call.name}{call.arguments}" for call in raw.calls)
        return self._priced(Usage(1, prompt_tokens(self, messages, tools), self.count(answered)))


def shielded(messages: Sequence[ChatMessage], patterns: Sequence[str]) -> list[ChatMessage]:
    """Return `messages` with a mark instead of each secret; `patterns` are those of the settings.

    So nothing that leaves this machine holds a secret, not even a memory file, a tool's answer or a tool call.
    """

    def shield(text: str) -> str:
        return redacted(text, tuple(patterns))

    def of_call(call: ToolCall) -> ToolCall:
        return replace(call, arguments=map_strings(dict(call.arguments), shield))

    return [
        replace(message, content=shield(message.content), tool_calls=tuple(map(of_call, message.tool_calls)))
        for message in messages
    ]


@lru_cache(maxsize=64)
def redacted(text: str, patterns: tuple[str, ...]) -> str:
    """Return a text without what looks like a secret."""
    return redact(text, patterns)[0]


# Our values in the shape of chat completions, and back; `answers` interprets a provider's answer.


def _wire_messages(asked: Sequence[ChatMessage], model: str) -> list[dict[str, Any]]:
    """Return messages as they are sent to `model`, with marks on what its provider's cache shall keep.

    The system message is marked, and tools with it. The last message is from the second round on: a write costs a
    quarter more, which only a conversation that goes on pays back.
    """
    sent = [_message(one) for one in asked]
    if "claude" in model.lower() and model.lower().startswith((*_MARKED, "claude")):
        if sent and sent[0]["role"] == "system":
            sent[0] = _marked(sent[0])
        if len(sent) > 1 and any(one["role"] == "assistant" for one in sent):
            sent[-1] = _marked(sent[-1])
    return sent


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    if not message["content"]:  # an empty block is refused
        return message
    if message["role"] == "tool":  # LiteLLM reads it here, and puts it on the result's block
        return message | {"cache_control": _CACHED}
    return message | {"content": [{"type": "text", "text": message["content"], "cache_control": _CACHED}]}


def _message(message: ChatMessage) -> dict[str, Any]:
    # Content is "" and never null beside tool calls: templates of local servers fail on null.
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def _raw_answer(choice: Any) -> RawAnswer:
    """Return what is read of a response's choice."""
    message = choice.message
    own = getattr(message, "provider_specific_fields", None) or {}
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    content = message.content
    return RawAnswer(
        content=content if isinstance(content, str) else None,
        calls=tuple(RawCall(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()),
        refusal=own.get("refusal") or getattr(message, "refusal", None),
        finish=choice.finish_reason,
        native_finish=native if isinstance(native, str) else None,
    )


def _usage(response: Any) -> Usage:
    """Return the tokens of a response; zeros where the provider didn't say."""
    told = getattr(response, "usage", None)
    details = getattr(told, "prompt_tokens_details", None)
    return Usage(
        calls=1,
        input_tokens=_whole(getattr(told, "prompt_tokens", 0)),
        output_tokens=_whole(getattr(told, "completion_tokens", 0)),
        cached_tokens=_whole(getattr(details, "cached_tokens", 0)),
    )


def _whole(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0


# LiteLLM itself: imported once, called within a time-out.


def _answered(litellm: Any, request: dict[str, Any], *, streamed: bool) -> Any:
    """Make the request; a streamed answer is joined to a whole one, and is None where it did not end."""
    if not streamed:
        return litellm.completion(**request)
    stream = litellm.completion(**request, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    # LiteLLM ends a stream that broke off with a "stop" of its own.
    return litellm.stream_chunk_builder(chunks) if stream.received_finish_reason else None


def _within(seconds: float, work: Callable[[], _T], watch: Watch) -> _T:
    """Run `work` and wait at most `seconds` for it: a server that sends a byte now and then passes any other limit."""
    from dream.llm.watch import watched

    future: concurrent.futures.Future[_T] = concurrent.futures.Future()

    def run() -> None:
        try:
            with watched(watch):
                future.set_result(work())
        except BaseException as error:  # noqa: BLE001 — handed over to the caller's thread, which raises it
            future.set_exception(error)

    threading.Thread(target=run, name="dream-model-call", daemon=True).start()
    try:
        return future.result(timeout=seconds)
    except concurrent.futures.TimeoutError:
        watch.given_up = True
        raise


def load_litellm() -> Any:
    """Import LiteLLM, without output and without network access; one thread imports it, the others wait.

    Its 2,700 modules make so many objects that Python's search for garbage takes a quarter of the time: it pauses.
    """
    # What they warn of is about their own code, and would stand on our user's stderr. At each call: some of it they
    # only find then, and a program may have set its filters anew.
    warnings.filterwarnings("ignore", module=r"(pydantic|litellm|openai|httpx|aiohttp)(\.|$)")
    if _READY:
        return sys.modules["litellm"]
    with _IMPORTING:
        searching = gc.isenabled()
        gc.disable()
        try:
            litellm = _imported()
        finally:
            if searching:
                gc.enable()
        _READY.append(True)
    return litellm


@contextlib.contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Let pydantic build the models that are defined in the block on first use: of 2,000 a call uses a dozen."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        BaseModel.model_config.pop("defer_build")


def _imported() -> Any:
    if "litellm" not in sys.modules:
        os.environ.update(_ENVIRONMENT)
    with _models_built_when_used():
        import litellm

        from dream.llm import watch

        for name in _LATER:
            with contextlib.suppress(ImportError):  # of another version
                importlib.import_module(name)
    litellm.suppress_debug_info = True  # it prints advice on stdout otherwise
    litellm.disable_hf_tokenizer_download = True  # 24 s of retries for names such as llama-2
    watch.install()
    return litellm
