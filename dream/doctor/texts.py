"""The three memory files: their encoding, line ends, unseen characters, and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from dream import text as texts
from dream.doctor.ailment import REPAIR, Ailment
from dream.errors import DreamError
from dream.models import MEMORY_FILES
from dream.redact import redact
from dream.settings import Settings
from dream.store import handedits, messages, transaction
from dream.store.gitdiff import Diff
from dream.store.workspace import Workspace

_BOM = "\ufeff"


def check_files(workspace: Workspace, settings: Settings, now: datetime, *, repair: bool) -> Iterator[Ailment]:
    """Check each memory file; `repair` takes out a byte order mark and CRLF line ends, in a commit of its own."""
    mended: dict[str, bytes | None] = {}
    for name in MEMORY_FILES:
        try:
            text = workspace.read_file(name)
        except DreamError as error:
            yield Ailment(name, str(error), "mend the file in an editor")
            continue
        if not (workspace.root / name).exists():
            yield Ailment(name, "is missing", "the next dream begins it anew; `dream log` has its older versions")
        if text.startswith(_BOM):
            yield Ailment(name, "begins with a byte order mark", REPAIR, repair)
        if "\r\n" in text:
            yield Ailment(name, "has lines that end in CRLF", REPAIR, repair)
        plain = text.removeprefix(_BOM).replace("\r\n", "\n")
        if plain != text:
            mended[name] = plain.encode("utf-8")
        for problem in texts.problems(plain):
            yield Ailment(name, f"holds an unseen character: {problem}", "take it out in an editor")
        _, kinds = redact(text, settings.redact_patterns)
        for kind in kinds:
            cure = "dream forget takes it out of every version; change the secret too"
            yield Ailment(name, f"holds what looks like a secret: {kind}", cure)
    if repair and mended:
        _commit(workspace, mended, now)


def _commit(workspace: Workspace, mended: dict[str, bytes | None], now: datetime) -> None:
    """Commit what a person typed as theirs, and then the mended files as ours, so that it can be taken back."""
    transaction.commit_hand_edits(workspace, now)
    found = handedits.read(workspace.root)

    def message(difference: Diff) -> str:
        return messages.build("dream", difference.files, note="(doctor: line ends, byte order mark)")

    expected = {name: found.get(name) for name in mended}
    transaction.commit(workspace, mended, expected=expected, message=message, now=now)
