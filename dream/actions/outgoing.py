"""What this machine sends: its operations, history and messages, as they are added to its own branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from dream.actions.membership import SyncMember
from dream.directory import Workspace
from dream.history.checksums import FIRST
from dream.history.checksums import OWN as CHECKSUM
from dream.history.entries import encode
from dream.memory import KNOWN_PLACES as PLACES
from dream.models import Entry
from dream.settings import Settings
from dream.versions import branches as remotes
from dream.versions import shared
from dream.versions.branches import Branches
from dream.versions.fold import Op
from dream.versions.git import is_sha
from dream.versions.shared import Branch
from dream.versions.signs import Signs, rows
from dream.workspace import files


@dataclass(frozen=True, slots=True)
class FoldState:
    """What the files on the disk were folded from: of each machine the operations up to a number.

    `turn` counts the states; `obeyed` and `at` (seconds) say what was held; `head` is the version it was noted at.
    """

    turn: int = 0
    seen: Mapping[str, int] = field(default_factory=dict)
    obeyed: tuple[str, ...] = ()
    at: int = 0
    head: str = ""

    @classmethod
    def read(cls, found: object) -> FoldState:
        """Read a state as it is noted; an empty one where it is none."""
        if not isinstance(found, dict) or not isinstance(seen := found.get("seen"), dict):
            return cls()
        numbers = {str(one): shared.number(upto) for one, upto in seen.items()}
        obeyed = tuple(map(str, found.get("obeyed") or ()))
        head = found.get("head")
        turn, at = shared.number(found.get("turn")), shared.number(found.get("at"))
        return cls(turn, numbers, obeyed, at, str(head) if is_sha(head) else "")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The workspace and the branches, as of one pass of a sync.

    If it `unsends`, our branch is written anew without what was said word for word.
    """

    workspace: Workspace
    settings: Settings
    branches: Branches
    now: datetime
    unsends: bool = False

    def written(
        self, us: SyncMember, own: Branch | None, made: Sequence[Op], state: FoldState, signs: Signs
    ) -> tuple[str, int]:
        """Write what is new to our branch; return its commit, and how many rows it has more."""
        listed = {path: blob for path, blob in own.listed.items() if not self._goes(path)} if own else {}
        info = own.info if own else {}

        def part(path: str) -> bytes:
            return self.branches.read([listed[path]])[0]

        entries, reached = self.entries({} if self.unsends else info)
        sizes, messages = self._messages(own)
        changes: dict[str, bytes | None] = {**shared.grown(listed, shared.OPS, [*map(shared.op_row, made)], part)}
        changes |= shared.grown(listed, shared.HISTORY, entries, part)
        for month, some in messages.items():
            changes |= shared.grown(listed, f"messages/{month}.", some, part)
        places = files.read_bytes(self.workspace.root / PLACES)
        if places is not None and ("places.toml" not in listed or part("places.toml") != places):
            changes["places.toml"] = places
        if signs.all and (own is None or signs.all != own.signs):
            changes[shared.SIGNS] = rows(signs.all)
        is_same = own is not None and own.is_sealed == bool(us.key) and own.name == us.name
        is_for_same = own is None or shared.recipients(own) == self.settings.sync_encrypt
        if not changes and own is not None and is_same and is_for_same and not self.unsends:
            return own.sha, 0
        spoken = self.settings.sync_messages or (own is not None and not self.unsends and shared.is_spoken(own))
        if not is_for_same or self.unsends:  # who may read it has changed, or what: it is written anew
            changes = {**{path: part(path) for path in listed if path != remotes.SEAL}, **changes}
            listed, own = {}, None
        told = {
            "format": shared.FORMAT,
            **{name: getattr(us, name) for name in ("memory", "machine", "name")},
            "written": self.now.astimezone(UTC).isoformat(timespec="seconds"),
            "state": asdict(state),
            **reached,
            "dreamt": self.workspace.dream_cursor(),
            "messages": sizes,
            "spoken": spoken,
        }
        if self.settings.sync_encrypt:  # who can read this may have the key, too
            told |= {"recipients": self.settings.sync_encrypt, "key": us.key}
        changes[shared.INFO] = orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        subject = f"sync: {counted(len(made), 'line')}, {counted(len(entries), 'entry', 'entries')}"
        files.checkpoint("before our branch is written")
        message = "sync\n" if self.settings.sync_encrypt else f"{subject} from {us.name}\n"
        parent, key = own.sha if own else None, bytes.fromhex(us.key)
        sha = self.branches.write(us.machine, changes, parent, message, self.now, key=key, kept=listed)
        files.checkpoint("after our branch is written")
        return sha, len(made) + len(entries) + sum(map(len, messages.values()))

    def _goes(self, path: str) -> bool:
        """Return whether a file of our branch is not taken over when it is written anew."""
        return self.unsends and path.startswith((shared.HISTORY, "messages/"))

    def entries(self, info: Mapping[str, Any]) -> tuple[list[bytes], dict[str, object]]:
        """Return the rows of history that our branch lacks, each sealed after the one before, and how far it is."""
        cursor, before = shared.number(info.get("cursor")), str(info.get("mark", "")).encode() or FIRST
        found: list[bytes] = []
        for entry in self.workspace.history.after(cursor):
            found.append(encode(entry if self.settings.sync_messages else _kept_home(entry), before=before))
            before, cursor = found[-1][CHECKSUM], max(cursor, entry.cursor)
        return found, {"cursor": cursor, "mark": before.decode()}

    def _messages(self, own: Branch | None) -> tuple[dict[str, int], dict[str, list[bytes]]]:
        """Return how long each month's file of messages is, and the rows that our branch lacks.

        What it has is asked of the branch: a forgetting makes the file shorter.
        """
        known = own.info.get("messages") if own and not self.unsends else None
        sizes = {str(month): shared.number(size) for month, size in known.items()} if isinstance(known, dict) else {}
        found: dict[str, list[bytes]] = {}
        if not self.settings.sync_messages:
            return sizes, found
        messages = self.workspace.history.messages
        for path in messages.paths():
            month, size = path.name.removesuffix(".jsonl"), path.stat().st_size
            if size == sizes.get(month):
                continue
            there = shared.content(self.branches, own, f"messages/{month}.") if own else b""
            if some := shared.lacking(there, b"".join(line + b"\n" for _, line in messages.raw(path))):
                found[month] = some
            sizes[month] = size
        return sizes, found


def _kept_home(entry: Entry) -> Entry:
    """Return an entry without what was said word for word."""
    unquoted = tuple(replace(line, quote="") for line in entry.lines)
    if entry.kind == "raw":
        return replace(entry, kind="nothing", content="", tokens=0, lines=())
    return replace(entry, lines=unquoted)


def counted(count: int, one: str, many: str = "") -> str:
    """Say how many of something, in words."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
