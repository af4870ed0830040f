"""A memory engine for AI agents.

The public names are few and loaded on first use, so that `import dream` costs next to nothing:

    Workspace      the directory with SOUL.md, USER.md and memory/; `context()` is the block for a prompt
    Dream          what can be done with a workspace: consolidate, note, run, restore
    Session        one live conversation, a list of messages that the agent adds to
    Consolidator   summarises a session into history when its prompt reaches the budget
    Message        one message of a conversation
    transcripts    the readers of agents' own formats
    Settings       every setting, frozen; `load_settings` reads them
    DreamError     base of all errors raised on purpose
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which takes a third of the start of a hook to import
if TYPE_CHECKING:
    from dream import transcripts
    from dream.consolidate.consolidator import Consolidator
    from dream.consolidate.session import Session
    from dream.directory import Workspace
    from dream.errors import DreamError
    from dream.library import Dream
    from dream.models import Message
    from dream.settings import Settings
    from dream.settings import load as load_settings

__version__ = "0.1.0"
__all__ = [
    "Consolidator",
    "Dream",
    "DreamError",
    "Message",
    "Session",
    "Settings",
    "Workspace",
    "__version__",
    "load_settings",
    "transcripts",
]

_WHERE = {
    "Consolidator": ("dream.consolidate.consolidator", "Consolidator"),
    "Dream": ("dream.library", "Dream"),
    "DreamError": ("dream.errors", "DreamError"),
    "Message": ("dream.models", "Message"),
    "Session": ("dream.consolidate.session", "Session"),
    "Settings": ("dream.settings", "Settings"),
    "Workspace": ("dream.directory", "Workspace"),
    "load_settings": ("dream.settings", "load"),
}


if not TYPE_CHECKING:  # a type checker would take every name to be there

    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for (PEP 562)."""
        from importlib import import_module

        if name == "transcripts":
            return import_module("dream.transcripts")
        if name not in _WHERE:
            raise AttributeError(f"module 'dream' has no attribute {name!r}")
        module, attribute = _WHERE[name]
        globals()[name] = value = getattr(import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
