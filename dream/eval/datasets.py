"""Open what `dream eval` is given: `dialogues`, `planted`, a LoCoMo file, a BEAM chat, a dialogue, a folder of a kind.

`dialogues:seen` and `dialogues:unseen` are the halves of those shipped; `planted:SEED` is other than `planted`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dream.errors import UsageError
from dream.eval import dialogues, metric, planted
from dream.eval.conversation import ChangedFact, Conversation, Question, Sitting, dialog, ids, shortened
from dream.eval.metric import last
from dream.models import Message, Role

# Read LoCoMo (Maharana et al. 2024, snap-research/LoCoMo): two people, 19 to 32 dated sessions, questions.


CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}  # 5 is adversarial: it has no answer
_DATE = "%I:%M %p on %d %B, %Y"
_TURN = re.compile(r"D:?(\d+):(\d+)")


def is_locomo(data: Any) -> bool:
    """Return whether `data` is a LoCoMo file: a list of samples with a conversation and questions."""
    return isinstance(data, list) and bool(data) and all("conversation" in one and "qa" in one for one in data)


def read_locomo(data: Any) -> list[Conversation]:
    """Read the samples, one conversation each."""
    return [_sample(one) for one in data]


def _sample(sample: Any) -> Conversation:
    sessions = tuple(_locomo_sessions(str(sample["sample_id"]), sample["conversation"]))
    known = ids(sessions)
    return Conversation(
        name=str(sample["sample_id"]),
        sessions=sessions,
        questions=tuple(_locomo_question(one, known) for one in sample["qa"] if one["category"] in CATEGORIES),
        references=_references(sample, sessions),
        cited={"GPT-3.5 observations": frozenset(_cited(sample))},
    )


def _locomo_sessions(name: str, conversation: Any) -> Iterator[Sitting]:
    """Yield the sessions; some samples give dates of sessions that are not there."""
    number = 1
    while f"session_{number}" in conversation:
        at = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(tzinfo=UTC)
        turns = conversation[f"session_{number}"]
        said = tuple(_message(turn, conversation["speaker_a"], at, place) for place, turn in enumerate(turns))
        yield Sitting(f"{name}-{number}", at, said)
        number += 1


def _message(turn: Any, first: str, at: datetime, place: int) -> Message:
    """Read a turn. The photo's caption is a vision model's, not said by anyone: it is left out, as images are."""
    role: Role = "user" if turn["speaker"] == first else "assistant"
    return Message(role, turn["text"], at + timedelta(seconds=20 * place), turn["speaker"], turn["dia_id"])


def _locomo_question(question: Any, known: set[str | None]) -> Question:
    """Read a question. Answers may be integers, and evidence ids malformed: `D8:6; D9:17`, `D`, `D:11:26`."""
    named = [f"D{day}:{turn}" for one in question["evidence"] for day, turn in _TURN.findall(one)]
    evidence = tuple(dict.fromkeys(one for one in named if one in known))
    return Question(question["question"], str(question["answer"]), CATEGORIES[question["category"]], evidence)


def _references(sample: Any, sessions: tuple[Sitting, ...]) -> dict[str, str]:
    events = (told for one in sample["event_summary"].values() for told in one.values())
    return {
        "whole dialog": dialog(sessions),
        "GPT-3.5 observations": "\n".join(str(fact[0]) for fact in _observed(sample)),
        "GPT-3.5 session summaries": "\n".join(sample["session_summary"].values()),
        "human event summaries": "\n".join(
            told if isinstance(told, str) else "\n".join(map(str, told)) for told in events if told
        ),
        "last 4k tokens of dialog": last(dialog(sessions), 4_000),
    }


def _observed(sample: Any) -> Iterator[Any]:
    """Yield the observations: each a sentence and the id, or ids, of the turns that it was made from."""
    for session in sample["observation"].values():
        for facts in session.values():
            yield from facts


def _cited(sample: Any) -> Iterator[str]:
    for fact in _observed(sample):
        yield from (f"D{day}:{turn}" for day, turn in _TURN.findall(str(fact[1])))


# Read BEAM (Tavakoli et al. 2025, mohammadtavakoli78/BEAM): long chats with an assistant, probing questions.


# Those whose answer is a fact that was said, and what they say about it; the others want counting or a refusal.
_STATED = ("information_extraction", "knowledge_update")
_WISHED = {"instruction_following": "instruction_being_tested", "preference_following": "preference_being_tested"}
_MARK = re.compile(r"\s*->->\s*[\d,N/A]*\s*$")  # the generator's own numbering at the end of a turn
_STATE = "LLM response should state: "


def is_beam(chat: Any) -> bool:
    """Return whether `chat` is a chat.json of BEAM: batches of turns of messages."""
    return isinstance(chat, list) and bool(chat) and all(isinstance(one, dict) and "turns" in one for one in chat)


def read_beam(name: str, chat: Any, probes: Any) -> Conversation:
    """Read one chat; each of its batches is a session, dated by the time anchor of its first message."""
    sessions = tuple(_beam_sessions(name, chat))
    said = {str(message.id): message.content for session in sessions for message in session.messages}
    return Conversation(
        name=name,
        sessions=sessions,
        questions=tuple(_questions(probes, said)),
        changes=tuple(_change(one, said) for one in probes.get("knowledge_update", ())),
        references={
            "whole dialog": dialog(sessions),
            "user messages": dialog(sessions, role="user"),
            "last 4k tokens of user messages": last(dialog(sessions, role="user"), 4_000),
        },
    )


def _beam_sessions(name: str, chat: Any) -> Iterator[Sitting]:
    at = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for batch in chat:
        turns = [message for turn in batch["turns"] for message in turn]
        anchor = next((one["time_anchor"] for one in turns if one.get("time_anchor")), batch.get("time_anchor"))
        at = _date(anchor) or at + timedelta(days=30)
        said = tuple(
            Message(one["role"], _MARK.sub("", one["content"]), at + timedelta(minutes=place), None, str(one["id"]))
            for place, one in enumerate(turns)
        )
        yield Sitting(f"beam-{name}-{batch['batch_number']}", at, said)


def _date(anchor: str | None) -> datetime | None:
    return datetime.strptime(anchor, "%B-%d-%Y").replace(hour=9, tzinfo=UTC) if anchor else None


def _questions(probes: Any, said: Mapping[str, str]) -> Iterator[Question]:
    """Yield what the rubrics want stated, a question each, and the wishes that were to be followed."""
    for category in _STATED:
        for one in probes.get(category, ()):
            for point in one["rubric"]:
                if str(point).startswith(_STATE):
                    yield _beam_question(one, str(point).removeprefix(_STATE), category, said)
    for category, wish in _WISHED.items():
        for one in probes.get(category, ()):
            yield _beam_question(one, str(one[wish]), category, said)


def _beam_question(probe: Any, answer: str, category: str, said: Mapping[str, str]) -> Question:
    evidence = tuple(dict.fromkeys(found for found in _ids(probe.get("source_chat_ids")) if found in said))
    return Question(probe["question"], answer, category.replace("_", " "), evidence)


def _ids(found: Any) -> Iterator[str]:
    """Yield message ids: a list, a list of lists, or an object of lists."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from _ids(one)
    elif found is not None:
        yield str(found)


def _change(probe: Any, said: Mapping[str, str]) -> ChangedFact:
    """Read a knowledge update; it is a clean case when both values can be seen in the turns that gave them."""
    new = str(probe["rubric"][0]).removeprefix(_STATE)
    sources = probe["source_chat_ids"]
    before = "\n".join(said.get(str(one), "") for one in sources["original_info"])
    after = "\n".join(said.get(str(one), "") for one in sources["updated_info"])
    hint = str(next(iter(probe.get("conversation_references", ())), ""))
    shown = metric.named(new, str(probe["answer"]))
    return ChangedFact(probe["question"], shown, metric.replaced(new, shown, before, after, hint), probe["question"])


PLANTED = "planted"
DIALOGUES = "dialogues"
_PROBES = ("probing_questions.json", "probing_questions/probing_questions.json")


def load(dataset: str, *, limit: int | None = None, sittings: int | None = None) -> list[Conversation]:
    """Read the conversations of `dataset`, at most `limit`, and of each the first `sittings` (of `planted` at least 4).

    Raises UsageError for what is no dataset.
    """
    name, _, half = dataset.partition(":")
    if name == PLANTED and (not half or half.isdigit()):
        length = sittings or planted.PLANTING + planted.OTHER
        found = [planted.read(language, seed=int(half or 1), sittings=length) for language in planted.LANGUAGES]
        return found[:limit]
    if name == DIALOGUES and half in ("", "seen", "unseen"):
        found = dialogues.load(dialogues.SHIPPED, half)
    else:
        found = _read(Path(dataset))
    return [shortened(one, sittings) if sittings else one for one in found[:limit]]


def another(dataset: str, than: Conversation, *, sittings: int | None = None) -> Conversation:
    """Return a conversation that gives chance where only one is evaluated: of the same dataset, else a planted one."""
    others = (one for one in load(dataset, sittings=sittings) if one.name != than.name)
    return next(others, None) or planted.read(sittings=sittings or len(than.sessions))


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
        found = [one for each in data if is_locomo(each) for one in read_locomo(each)]
        if found:
            return found
        raise UsageError(f"{path} holds no chat.json of BEAM and no JSON file of LoCoMo.")
    data = _json(path)
    if is_locomo(data):
        return read_locomo(data)
    if is_beam(data):
        return [_beam(path)]
    raise UsageError(f"{path} is neither a LoCoMo file nor a BEAM chat; `dream eval planted` needs no file.")


def _beam(chat: Path) -> Conversation:
    probes = next((chat.parent / name for name in _PROBES if (chat.parent / name).exists()), None)
    if probes is None:
        raise UsageError(f"{chat.parent} holds no {_PROBES[0]} beside its chat.json.")
    return read_beam(chat.parent.name, _json(chat), _json(probes))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a dataset or `planted`.") from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}.") from error
