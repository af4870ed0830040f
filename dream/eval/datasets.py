"""Open what `dream eval` is given: `dialogues`, `planted`, a LoCoMo file, a BEAM chat, a dialogue, a folder of a kind.

`dialogues:seen` and `dialogues:unseen` are the halves of those shipped; `planted:SEED` is other than `planted`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dream.errors import UsageError
from dream.eval import beam, dialogues, locomo, planted
from dream.eval.conversation import Conversation

PLANTED = "planted"
DIALOGUES = "dialogues"
_PROBES = ("probing_questions.json", "probing_questions/probing_questions.json")


def load(dataset: str, *, limit: int | None, sittings: int) -> list[Conversation]:
    """Read the conversations of `dataset`, at most `limit`. Raises UsageError for what is no dataset."""
    name, _, half = dataset.partition(":")
    if name == PLANTED and (not half or half.isdigit()):
        found = [planted.read(language, seed=int(half or 1), sittings=sittings) for language in planted.LANGUAGES]
    elif name == DIALOGUES and half in ("", "seen", "unseen"):
        found = dialogues.load(dialogues.SHIPPED, half)
    else:
        found = _read(Path(dataset))
    return found[:limit]


def _read(path: Path) -> list[Conversation]:
    if dialogues.recognises(path):
        return dialogues.load(path)
    if path.is_dir():
        chats = sorted(path.rglob("chat.json"), key=lambda chat: (len(chat.parent.name), str(chat)))
        found = [_beam(chat) for chat in chats]
        if found:
            return found
        files = sorted(path.glob("*.json"))
        data = [_json(file) for file in files]
        found = [one for each in data if locomo.recognises(each) for one in locomo.read(each)]
        if found:
            return found
        raise UsageError(f"{path} holds no chat.json of BEAM and no JSON file of LoCoMo.")
    data = _json(path)
    if locomo.recognises(data):
        return locomo.read(data)
    if beam.recognises(data):
        return [_beam(path)]
    raise UsageError(f"{path} is neither a LoCoMo file nor a BEAM chat; `dream eval planted` needs no file.")


def _beam(chat: Path) -> Conversation:
    probes = next((chat.parent / name for name in _PROBES if (chat.parent / name).exists()), None)
    if probes is None:
        raise UsageError(f"{chat.parent} holds no {_PROBES[0]} beside its chat.json.")
    return beam.read(chat.parent.name, _json(chat), _json(probes))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a dataset or `planted`.") from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}.") from error
