"""Open the model that the settings name for a job. Nothing heavy is imported until it is called."""

from __future__ import annotations

from collections.abc import Mapping

from dream.llm.model import Json, Model
from dream.llm.spending import Meter, MeteredModel
from dream.settings import Job, Settings


def open_model(settings: Settings, job: Job, meter: Meter, *, schema: Mapping[str, Json] | None = None) -> Model:
    """Return the model for `job` with its fallbacks behind it; what it uses is booked on `meter`.

    By `schema`, a JSON schema, it is asked to answer where its provider knows how to hold it to one.
    """
    first = settings.model_for(job)
    names = list(dict.fromkeys((first, *settings.fallbacks)))
    return MeteredModel([_one(name, first, settings, schema) for name in names], meter, job)


def prepare(settings: Settings, job: Job) -> None:
    """Import here and now what the calls for `job` need; nothing for `embedded`.

    LiteLLM imports much of itself when it is first called, and two threads that do so at once can fail. So whoever
    lets a thread of their own call models prepares it before.
    """
    for name in {settings.model_for(job), *settings.fallbacks} - {"embedded"}:
        from dream.llm.gateway import LiteLLMModel

        LiteLLMModel(name, settings).prepare()


def _one(name: str, first: str, settings: Settings, schema: Mapping[str, Json] | None) -> Model:
    if name == "embedded":
        from dream.embedded import EmbeddedModel

        return EmbeddedModel()
    from dream.llm.gateway import LiteLLMModel

    # `api_base` and `api_key` are one provider's: another's fallback must not be sent to it, nor shown its key.
    same = name.partition("/")[0] == first.partition("/")[0]
    return LiteLLMModel(
        name,
        settings,
        api_base=settings.api_base if same else None,
        api_key=settings.api_key if same else None,
        schema=schema,
    )
