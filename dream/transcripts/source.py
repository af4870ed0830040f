"""A transcript on disk: what shape it has, how it begins, and its records one after the other."""

from __future__ import annotations

import codecs
import io
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, Protocol

import orjson

from dream.models import Diagnostic, Message, Report
from dream.transcripts import records as parsing
from dream.transcripts import records as scanning
from dream.transcripts.parts import Json
from dream.transcripts.records import MAX_RECORD
from dream.transcripts.turns import Options, Turns

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

# What a reader of JSON lines knows at a place in its file, so that a file that has grown is read from there.


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


Shape = Literal["lines", "array", "object", "text", "zip", "sqlite"]

HEAD_BYTES = 1 << 16  # of a file that are looked at to tell its shape
RESTARTS = 20  # after elements of an array that are broken beyond their end
HEAD_RECORDS = 40  # records that are looked at to tell its format


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a transcript and the line that it begins on."""

    line: int
    value: Json


@dataclass(frozen=True, slots=True)
class Head:
    """What tells a transcript's format: its shape, its first bytes, its first records, its header.

    `header` is the fields of an object beside its list of messages; `lists` are the names of its lists; `names` are
    the members of a zip file or the tables of a database.
    """

    shape: Shape
    start: bytes
    records: tuple[Json, ...] = ()
    header: Json = field(default_factory=dict)
    lists: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript's file. Every method opens it anew and reads it as a stream.

    `default_id` is the id of a session whose format has none: `session`, else the file's stem and 8 hex digits of its
    absolute path.
    `carried` is what is known of the lines before those that are read, and goes along while they are.
    """

    path: Path
    shape: Shape
    encoding: str
    skip: int  # bytes of the byte order mark
    report: Report
    carried: Carried = field(default_factory=Carried, repr=False, compare=False)
    session: str = ""
    _header: list[tuple[Json, frozenset[str]]] = field(default_factory=list, repr=False, compare=False)  # once read

    @property
    def default_id(self) -> str:
        """Return an id that is the same as long as the file stays where it is."""
        if self.session:
            return self.session
        digest = sha256(str(self.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        stem = str(self.path.stem).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return f"{stem}-{digest}"

    def say(self, line: int, text: str) -> None:
        """Report something about a line of this file."""
        if len(self.carried.said) <= MOST_SAID:
            self.carried.said.append((line, text))
        self.report(Diagnostic(str(self.path), line, text))

    def open(self) -> IO[bytes]:
        """Open the file as a stream of UTF-8 bytes, whatever its encoding is."""
        file = self.path.open("rb")
        file.seek(self.skip)
        if self.encoding == "utf-8":
            return file
        return io.BufferedReader(_Recoded(file, self.encoding), scanning.CHUNK)

    def lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """Yield (number, line, whether a newline ends it) from where `carried` is. To be called once.

        A line over MAX_RECORD is reported and passed over.
        """
        at = self.carried
        with self.open() as file:
            if at.offset:
                file.seek(at.offset)
            else:
                at.offset = self.skip
            while raw := file.readline(MAX_RECORD):
                if len(raw) == MAX_RECORD and not raw.endswith(b"\n"):
                    self.say(at.line + 1, f"The line is longer than {MAX_RECORD >> 20} MiB and was left out.")
                    rest = b""
                    at.offset += len(raw)
                    while not rest.endswith(b"\n") and (rest := file.readline(MAX_RECORD)):
                        at.offset += len(rest)
                    at.line += 1
                    at.torn = not rest
                    continue
                if ended := raw.endswith(b"\n"):
                    at.offset += len(raw)
                    at.line += 1
                yield at.line + (not ended), raw, ended

    def records(self) -> Iterator[Record]:
        """Yield the records: JSON lines, the elements of an array, or of an object's lists.

        A broken one is reported with its line and left out; so is a torn end, which is read when it is complete.
        """
        if self.shape == "lines":
            yield from self._line_records()
        elif self.shape in ("array", "object"):
            with self.open() as file:
                yield from records_in(file, self.say)

    def header(self) -> tuple[Json, frozenset[str]]:
        """Return the fields of an object that are no streamed list, and the names of those that are.

        They may stand behind the list, so the first call passes the whole file; later ones remember.
        """
        if self.shape == "object" and not self._header:
            self._header.append(self._read_header())
        return self._header[0] if self._header else ({}, frozenset())

    def _read_header(self) -> tuple[Json, frozenset[str]]:
        found: Json = {}
        lists = set()
        with self.open() as file:
            for piece in scanning.pieces(file):
                if piece.name.endswith("[]"):
                    lists.add(piece.name[:-2])
                elif piece.whole:
                    try:
                        found[piece.name] = parsing.value(piece.raw)[0]
                    except parsing.Broken as broken:
                        self.say(piece.line, f"The field {piece.name!r} {broken}; it was left out.")
        return found, frozenset(lists)

    def _line_records(self) -> Iterator[Record]:
        for number, raw, ended in self.lines():
            if not raw.strip():
                continue
            try:
                value, mended = parsing.record(raw)
            except parsing.Broken as broken:
                if ended:
                    self.say(number, f"The line {broken}; it was left out.")
                else:
                    torn = "The line is not complete yet and will be read when it is."
                    self.report(Diagnostic(str(self.path), number, torn))  # of this moment: it is not carried along
                continue
            self.carried.torn = not ended
            self.carried.records += 1
            if mended:
                self.say(number, f"The line {mended}.")
            yield Record(number, value)


def records_in(file: IO[bytes], say: Callable[[int, str], None], restarts: int = RESTARTS) -> Iterator[Record]:
    """Yield the elements of the JSON array in `file`, or of the object's lists, and `say` which are broken.

    An element that lacks a bracket takes those after it along; they are looked for again where a line begins with
    the same indent, up to `restarts` times.
    """
    for piece in scanning.pieces(file):
        if piece.name and not piece.name.endswith("[]"):
            continue
        try:
            value, mended = parsing.record(piece.raw) if piece.whole else parsing.incomplete()
        except parsing.Broken as broken:
            say(piece.line, f"The record {broken}; it was left out.")
            if restarts:
                yield from _after(piece, say, restarts - 1)
            continue
        if mended:
            say(piece.line, f"The record {mended}.")
        yield Record(piece.line, value)


def _after(broken: scanning.Piece, say: Callable[[int, str], None], restarts: int) -> Iterator[Record]:
    """Yield the elements that a broken one took along."""
    found = broken.raw.find(b"\n" + broken.indent + b"{")
    if found < 0:
        return
    passed = broken.line - 1 + broken.raw.count(b"\n", 0, found + 1)
    rest = io.BytesIO(b"[" + broken.raw[found + 1 :])
    for record in records_in(rest, lambda line, text: say(passed + line, text), restarts):
        yield Record(passed + record.line, record.value)


class _Recoded(io.RawIOBase):
    """A file in another encoding as a stream of UTF-8; what can't be decoded becomes �."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self.file = file
        self.decoder = codecs.getincrementaldecoder(encoding)("replace")
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        while not self.rest:
            raw = self.file.read(len(view))
            self.rest = self.decoder.decode(raw, final=not raw).encode("utf-8", "replace")
            if not raw:
                break
        taken = self.rest[: len(view)]
        self.rest = self.rest[len(taken) :]
        view[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self.file.close()
        super().close()


# Where agents keep their transcripts.


@dataclass(frozen=True, slots=True)
class Place:
    """A directory, under home or where an environment variable says, and a glob pattern beneath it."""

    directory: str
    pattern: str
    variable: str | None = None
    subagents: bool = False  # only sub-agents' sessions lie here

    def glob(self, home: Path, environ: Mapping[str, str]) -> str:
        """Return the glob pattern of the transcripts; `environ` is the environment as a value."""
        own = environ.get(self.variable) if self.variable else None
        return str(Path(own).expanduser() / self.pattern if own else home / self.directory / self.pattern)


# What a reader of one agent's format is.


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
