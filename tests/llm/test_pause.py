"""When one thread is told to wait, all wait."""

from __future__ import annotations

import threading
import time

from dream.llm import ChatMessage
from dream.llm.gateway import LiteLLMModel
from dream.settings import Settings
from tests.provider import Provider, fault, text


def test_a_rate_limit_pauses_every_thread(provider: Provider) -> None:
    provider.script(fault(429, retry_after="2"), text("- yes"))
    model = LiteLLMModel("openai/scripted", Settings(), api_base=provider.base, api_key="sk-1")

    def ask() -> None:
        model.complete([ChatMessage("user", "hello")])

    first = threading.Thread(target=ask)
    first.start()
    while first.is_alive() and model._pause.left(time.monotonic()) == 0:
        time.sleep(0.005)
    others = [threading.Thread(target=ask) for _ in range(3)]
    for thread in others:
        thread.start()
    for thread in [first, *others]:
        thread.join()
    times = [request.at - provider.requests[0].at for request in provider.requests]
    assert len(times) == 5
    assert min(times[1:]) >= 1.9
