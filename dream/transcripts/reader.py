"""What a reader of one agent's format is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from dream.models import Message
from dream.transcripts.places import Place
from dream.transcripts.source import Head, Source
from dream.transcripts.turns import Options

Pair = tuple[str, Message]


class Reader(Protocol):
    """One agent's format. A module with these five names is a reader.

    A reader of a broken file reports what it leaves out and goes on; it raises nothing but TranscriptError, and
    that only where nothing can be read.
    The messages of one session come in order, and an append to the file never changes or moves earlier ones.
    """

    @property
    def name(self) -> str:
        """The format's name, as in `--format` and at the front of its session keys."""

    @property
    def grows(self) -> bool:
        """Say whether its JSON lines are only ever added to: all that it knows of earlier ones is `source.carried`."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the agent keeps its transcripts; () where there is no such place."""

    def recognises(self, head: Head) -> bool:
        """Say from the content alone whether a file is in this format."""

    def read(self, source: Source, options: Options) -> Iterator[Pair]:
        """Yield (session key, message) for each message of the file."""
