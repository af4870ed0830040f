"""With nothing configured: the embedded model, through the same door, and nothing heavy is loaded."""

from __future__ import annotations

import pytest

from dream.llm import ChatMessage
from dream.llm.spending import Meter, open_model
from dream.settings import Settings
from tests.test_layers import modules_after

TALK = """<conversation session="demo" messages="0-1">
[0] 2026-11-18 09:12 user Mei: I moved to Tokyo last week.
[1] 2026-11-18 09:13 assistant: Congratulations!
</conversation>"""


def test_the_embedded_model_is_metered_like_any_other() -> None:
    meter = Meter(Settings())
    model = open_model(Settings(), "consolidator", meter)
    completion = model.complete([ChatMessage("system", "Summarise."), ChatMessage("user", TALK)])

    assert (model.name, completion.model, completion.finish) == ("embedded", "embedded", "stop")
    assert "Tokyo" in completion.text
    assert meter.usage == completion.usage
    assert (meter.usage.calls, meter.usage.cost_usd) == (1, 0.0)


@pytest.mark.slow
def test_opening_and_using_it_imports_neither_litellm_nor_a_tokenizer() -> None:
    loaded = modules_after(
        "from dream.settings import Settings\nfrom dream.llm.spending import Meter, open_model\n"
        "from dream.llm import ChatMessage\n"
        "model = open_model(Settings(), 'phase1', Meter(Settings()))\n"
        "model.complete([ChatMessage('user', 'hello')]), model.window, model.count('hello')",
        whole=True,
    )

    assert loaded.isdisjoint({"litellm", "tiktoken", "httpx", "openai", "dream.llm.gateway"})
