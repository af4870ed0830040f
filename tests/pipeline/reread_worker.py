"""Read the kept messages of a workspace again and dream them; print the most memory that this process held, in MiB.

`python -m tests.pipeline.reread_worker ROOT`
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dream import Workspace, pipeline
from dream.consolidate.reread import Rereading
from dream.dreaming.dreamer import Models
from dream.llm import ChatMessage, Completion, Tool
from dream.llm.spending import Meter
from dream.reports import Usage
from dream.settings import Settings
from dream.text import tokens
from tests.benchmarks.measure import peak

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
SETTINGS = Settings(timezone="UTC", durable=False)


class Counting:
    """Summarises each stretch in one line and finds one fact in each batch; unlike ScriptedModel it keeps no call."""

    window = 32_768
    max_output = 4_096

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0

    def count(self, text: str) -> int:
        return tokens.estimate(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        self.calls += 1
        told = messages[-1].content
        at = re.findall(r"^\[(\d+)\] .*user:", told, re.MULTILINE)
        entries = re.findall(r"^\[(\d+)\] .* summary", told, re.MULTILINE)
        text = f"- The user keeps hives, {self.name} look {self.calls} {{{at[-1]}}}" if at else "(nothing)"
        if entries:
            text = f"[USER/Person] The user keeps hives, {self.name} look {self.calls} {{{entries[-1]}}}"
        return Completion(text, model=self.name, usage=Usage(1, self.count(told), self.count(text), None))


def main(root: Path) -> None:
    workspace, model = Workspace.open(root), Counting("better")
    wanted = Rereading(batch="b-0123abcd")
    read = pipeline.reread(workspace, wanted, settings=SETTINGS, now=NOW, model=model)
    ran = pipeline.run(workspace, settings=SETTINGS, now=NOW, models=Models(model, model, Meter(SETTINGS)))
    print(peak(), read.messages, ran.outcome)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
