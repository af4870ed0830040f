"""The formats of transcripts, a file each, and those that other packages add."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from dream.errors import SettingsError
from dream.transcripts.formats.chat_text import TEXT
from dream.transcripts.formats.chatgpt import CHATGPT
from dream.transcripts.formats.claude_code import CLAUDE_CODE
from dream.transcripts.formats.codex import CODEX
from dream.transcripts.formats.copilot_cli import COPILOT_CLI
from dream.transcripts.formats.cursor import CURSOR
from dream.transcripts.formats.gemini_cli import GEMINI_CLI
from dream.transcripts.formats.hermes import HERMES
from dream.transcripts.formats.letta_code import LETTA_CODE
from dream.transcripts.formats.nanobot import NANOBOT
from dream.transcripts.formats.openai import OPENAI
from dream.transcripts.formats.openclaw import OPENCLAW
from dream.transcripts.formats.opencode import OPENCODE
from dream.transcripts.formats.pi import OMP, PI
from dream.transcripts.formats.trajectory import FOREIGN
from dream.transcripts.source import Reader

GROUP = "dream.formats"  # of the entry points by which other packages add a format

# In the order in which they are tried: from the most particular to the most general.
_AGENTS: tuple[Reader, ...] = (
    *(CLAUDE_CODE, CODEX, PI, OPENCLAW, OMP, NANOBOT, HERMES, GEMINI_CLI, LETTA_CODE, CHATGPT, COPILOT_CLI),
    *(OPENCODE, CURSOR, *FOREIGN),
)
_GENERAL: tuple[Reader, ...] = (OPENAI, TEXT)


@cache
def known_formats() -> dict[str, Reader]:
    """Return the readers of all formats by name, in the order in which they are tried.

    Those of other packages are tried after ours, but before messages and texts in general. Raises SettingsError where
    one of them can't be loaded, or has the name of another.
    """
    found = {reader.name: reader for reader in _AGENTS}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        package = point.dist.name if point.dist else point.value
        try:
            reader = point.load()
        except Exception as error:
            raise SettingsError(
                f"The format {point.name!r} of the package {package} can't be loaded ({error}); mend or remove it."
            ) from error
        if not isinstance(reader, Reader) or reader.name in found | {one.name: one for one in _GENERAL}:
            raise SettingsError(
                f"The format {point.name!r} of the package {package} is no Reader with a name of its own; remove it."
            )
        found[reader.name] = reader
    return found | {reader.name: reader for reader in _GENERAL}
