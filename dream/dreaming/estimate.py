"""What a run will cost, estimated from its prompts before a model is called: tokens times price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from dream import prompts
from dream.dreaming import draft, evidence, phase1, phase2
from dream.dreaming.draft import Brief
from dream.dreaming.dreamer import brief
from dream.dreaming.evidence import BatchEvidence
from dream.llm import ChatMessage, Model, card
from dream.llm.spending import Meter, open_model, prompt_tokens
from dream.models import MEMORY_FILES, Entry
from dream.reports import Usage
from dream.settings import Job, Settings

if TYPE_CHECKING:
    from dream.directory import Workspace

SKIP_TOKENS = 4  # of the answer [SKIP]
# The length of an answer is unknown beforehand. These ratios, findings per token of entries in phase 1 and tool calls
# per token of findings in phase 2, are about those measured in our cost benchmark.
FOUND = 1.0
EDITED = 3.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would cost with the files as they are: `least` if it finds nothing new, `likely` if it finds as usual.

    The input tokens of `least` are exact for the first dream; later ones see what the first have written.
    """

    model: str
    dreams: int = 0
    entries: tuple[int, int] | None = None
    least: Usage = field(default_factory=Usage)
    likely: Usage = field(default_factory=Usage)


def estimate(workspace: Workspace, settings: Settings, now: datetime, max_batches: int | None = None) -> Estimate:
    """Estimate the next run; calls no model and writes nothing. Raises WorkspaceError."""
    meter = Meter(settings)
    first, second = open_model(settings, "phase1", meter), open_model(settings, "phase2", meter)
    about = brief(workspace, settings, now)
    hear = partial(evidence.hear, messages=workspace.history.messages, owners=settings.owners)
    cursor, found = workspace.dream_cursor(), Estimate(settings.models_for(("phase1", "phase2")))
    while max_batches is None or found.dreams < max_batches:
        batch = next(phase1.batches(workspace.history.after(cursor), first, about, hear), [])
        if not batch:
            break
        cursor = batch[-1].cursor
        least, likely = _dream(workspace, batch, first, second, about, evidence.gather(map(hear, batch)))
        start = found.entries[0] if found.entries else batch[0].cursor
        found = Estimate(found.model, found.dreams + 1, (start, cursor), found.least + least, found.likely + likely)
    return found


def _dream(
    workspace: Workspace, batch: Sequence[Entry], first: Model, second: Model, about: Brief, said: BatchEvidence
) -> tuple[Usage, Usage]:
    told = phase1.that_say_something(batch)
    if not told:
        return Usage(), Usage()
    files = {path: workspace.read_file(path) for path in MEMORY_FILES}
    asked = [prompt_tokens(first, prompt) for _, prompt in phase1.requests(told, files, first, about, evidence=said)]
    findings = int(FOUND * sum(first.count(entry.content) for entry in told))

    def analysis(answer: int) -> Usage:
        each = min(max(answer, SKIP_TOKENS), first.max_output)
        return _priced(about.settings, "phase1", len(asked), sum(asked), len(asked) * each)

    system = prompts.load("phase2", about.prompts_folder, language=prompts.language(about.settings.language))
    shown = min(sum(second.count(text) for text in files.values()), draft.WHOLE_TOKENS + findings)
    edit = prompt_tokens(second, [ChatMessage("system", system)], phase2.TOOLS) + shown + findings
    edited = _priced(about.settings, "phase2", 1, edit, min(int(EDITED * findings), second.max_output))
    return analysis(SKIP_TOKENS), analysis(findings // len(asked)) + edited


def _priced(settings: Settings, job: Job, calls: int, asked: int, answered: int) -> Usage:
    usage = Usage(calls, asked, answered)
    return replace(usage, cost_usd=card(settings.model_for(job)).cost(usage))
