"""What a reader of JSON lines knows at a place in its file, so that a file that has grown is read from there."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import blake2b

import orjson

from dream.models import Message
from dream.transcripts.fields import Json
from dream.transcripts.turns import Options, Turns

MOST_SAID = 1_000  # diagnostics that are carried; a file with more of them is read whole each time
MARK_BYTES = 8  # of each message that has an id


@dataclass(slots=True)
class Carried:
    """Everything that a reader has to know of the lines before `offset` (bytes), of which there are `line`.

    `format` is empty where reading can't go on: only UTF-8 JSON lines of our own readers grow at their end. `torn`:
    the last record was read although no newline ends its line. `said` are the diagnostics so far; `over` says that
    nothing of the rest is wanted. `spoken` is the role of the first message, `heard` says that one is the user's;
    `unpaired` results of tools answer no call. What `session`, `begun`, `number` and `told` mean is each reader's own.
    """

    format: str = ""
    offset: int = 0
    line: int = 0
    records: int = 0
    torn: bool = False
    said: list[tuple[int, str]] = field(default_factory=list)
    over: bool = False
    session: str | None = None
    begun: bool = False
    spoken: str = ""
    heard: bool = False
    unpaired: int = 0
    number: int = 0
    told: set[str] = field(default_factory=set)
    turns: dict[str, Turns] = field(default_factory=dict)
    kept: dict[str, Json] = field(default_factory=dict)  # turns that nobody has asked for yet
    marks: set[int] = field(default_factory=set)

    @property
    def whole(self) -> bool:
        """Tell whether reading can go on from here, and give what a whole reading would."""
        return bool(self.format) and self.offset > 0 and not self.torn and len(self.said) <= MOST_SAID

    def turns_of(self, session: str, options: Options) -> Turns:
        """Return the turns of one session of the file."""
        if session not in self.turns:
            self.turns[session] = Turns.of_state(options, self.kept.pop(session, _FRESH))
        return self.turns[session]

    def repeats(self, key: str, message: Message) -> bool:
        """Tell whether a message with an id was read before: the same id, and the same said."""
        if message.id is None or message.id.startswith("~"):
            return False
        told = "\0".join((key, message.id, message.role, message.content))
        mark = int.from_bytes(blake2b(told.encode("utf-8", "replace"), digest_size=MARK_BYTES).digest(), "little")
        if mark in self.marks:
            return True
        self.marks.add(mark)
        return False

    def dump(self) -> bytes:
        """Return all of it as bytes: one JSON line, then the marks."""
        turns = self.kept | {session: one.state() for session, one in self.turns.items()}
        state = {name: getattr(self, name) for name in _PLAIN} | {
            "told": list(self.told),
            "turns": {session: one for session, one in turns.items() if one != _FRESH},
        }
        marks = struct.pack(f"<{len(self.marks)}Q", *self.marks)
        return orjson.dumps(state, option=orjson.OPT_APPEND_NEWLINE) + marks


_PLAIN = (
    "format",
    "offset",
    "line",
    "records",
    "said",
    "over",
    "session",
    "begun",
    "spoken",
    "heard",
    "unpaired",
    "number",
)
_FRESH: Json = {"waiting": {}, "named": 0}


def load(data: bytes) -> Carried:
    """Read what `dump` returned. Raises ValueError, KeyError or TypeError for anything else."""
    head, _, marks = data.partition(b"\n")
    state = orjson.loads(head)
    return Carried(
        **{name: state[name] for name in _PLAIN} | {"said": [(line, text) for line, text in state["said"]]},
        told=set(state["told"]),
        kept=dict(state["turns"]),
        marks={mark for (mark,) in struct.iter_unpack("<Q", marks)},
    )
