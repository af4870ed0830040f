"""What both phases must know of a dream beside their own input."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import Path

from dream.llm.model import Model
from dream.settings import Settings

MARGIN_TOKENS = 256  # for message framing, tool schemas and the error of a count
TOOLS_TOKENS = 512
SMALLEST_ROOM = 256  # tokens; a window with less room than this for content is used as if it had it


@dataclass(frozen=True, slots=True)
class Brief:
    """Settings, the local day and zone, and the workspace's own prompts folder."""

    settings: Settings
    day: date
    zone: tzinfo
    prompts_folder: Path | None = None

    def room(self, model: Model, *texts: str) -> int:
        """Return the tokens left of the model's window beside `texts`, the answer, the tools and a margin."""
        answer = min(model.max_output, model.window // 4)
        used = sum(model.count(text) for text in texts) + answer + MARGIN_TOKENS + TOOLS_TOKENS
        return max(model.window - used, SMALLEST_ROOM)
