"""Open the dataset that is named: `dialogues`, `planted`, or a LoCoMo file, BEAM chat, dialogue or folder.

`dialogues:seen` and `dialogues:unseen` are the two shipped halves; each `planted:SEED` differs from `planted`.
"""

from __future__ import annotations

import json
import random
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from dream.errors import UsageError
from dream.models import Message, Role
from tests.quality import (
    ChangedFact,
    Conversation,
    Plant,
    Planted,
    PlantedFact,
    Question,
    Sitting,
    dialog,
    dialogues,
    ids,
    metric,
    shortened,
)
from tests.quality.metric import last

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
    """Yield the sessions; some samples list dates for sessions that they do not contain."""
    number = 1
    while f"session_{number}" in conversation:
        at = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(tzinfo=UTC)
        turns = conversation[f"session_{number}"]
        said = tuple(_message(turn, conversation["speaker_a"], at, place) for place, turn in enumerate(turns))
        yield Sitting(f"{name}-{number}", at, said)
        number += 1


def _message(turn: Any, first: str, at: datetime, place: int) -> Message:
    """Read a turn. A photo's caption was written by a vision model, not said by anyone: it is left out."""
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
    """Yield a question for each thing that the rubrics want stated, and for each wish to be followed."""
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
        length = sittings or PLANTING + OTHER
        found = [generate(language, seed=int(half or 1), sittings=length) for language in LANGUAGES]
        return found[:limit]
    if name == DIALOGUES and half in ("", "seen", "unseen"):
        found = dialogues.load(dialogues.SHIPPED, half)
    else:
        found = _read(Path(dataset))
    return [shortened(one, sittings) if sittings else one for one in found[:limit]]


def another(dataset: str, than: Conversation, *, sittings: int | None = None) -> Conversation:
    """Return another conversation to measure chance by: one of the same dataset, else a planted one."""
    others = (one for one in load(dataset, sittings=sittings) if one.name != than.name)
    return next(others, None) or generate(sittings=sittings or len(than.sessions))


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
        raise UsageError(f"{path} holds neither a chat.json of BEAM nor a LoCoMo JSON file.")
    data = _json(path)
    if is_locomo(data):
        return read_locomo(data)
    if is_beam(data):
        return [_beam(path)]
    raise UsageError(f"{path} is neither a LoCoMo file nor a BEAM chat; `planted` needs no file.")


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
        raise UsageError(f"{path} is not JSON: {error}.") from error


# The planted conversation: generated, seeded, any length, in English or Chinese; it needs no download.
#
# 28 facts in the first sittings; then other material, in which some of them change. Between them stand decoys (what
# might be taken for a fact and is none), noise, secrets and injections, none of which may get into memory.
#
# The sentences of a language stand in a TOML file, with slots: `{name}` is one value of the pool `name` for the whole
# conversation, `{city.2}` its second one, always another. `{n.60-180}` is a number, `{n}` the same one again; `{was}`
# is the number that a changed fact had before. `{date+40}` is the day forty days after the sitting, `{dates+40}` the
# ways to write it, as alternatives of a key.


LANGUAGES = ("en", "zh")
PLANTING = 4  # sittings in which the facts are said
OTHER = 20  # sittings over other material, unless asked otherwise
_BEGIN = datetime(2026, 3, 2, 18, tzinfo=UTC)
_OTHER_EACH = 4  # statements of other material in one sitting
_LETTERS = string.ascii_letters + string.digits
_T = TypeVar("_T")


_SLOT = re.compile(r"\{([a-z]+)(?:\.(\d+)(?:-(\d+))?|([+-]\d+))?\}")


def generate(
    language: str = "en", *, seed: int = 1, sittings: int = PLANTING + OTHER, begin: datetime = _BEGIN
) -> Conversation:
    """Generate one conversation of at least `PLANTING` sittings, the first of them at `begin`."""
    return _Author(language, _tongue(language), seed).conversation(max(PLANTING, sittings), begin)


@dataclass(frozen=True, slots=True)
class _Say:
    """A fact, or how the fact `name` changes: the ways to say it, what one line of memory must hold of it, and the
    question that it answers. Of a change, `old` is the answer before.
    """

    name: str
    said: Sequence[str]
    keys: Sequence[str]
    question: str
    answer: str
    old: str = ""


@dataclass(frozen=True, slots=True)
class _Phrases:
    """All sentences of one language, as they stand in its file."""

    pools: Mapping[str, Sequence[str]]
    facts: Sequence[_Say]
    changes: Sequence[_Say]
    other: Sequence[str]
    decoys: Sequence[Sequence[str]]
    noise: Sequence[Sequence[str]]
    injections: Sequence[tuple[Role, str, str]]
    secret: str
    dates: str  # how a day is written
    hello: Sequence[str]
    reply: Sequence[str]
    answers: Mapping[str, str]


def _tongue(language: str) -> _Phrases:
    table: dict[str, Any] = tomllib.loads(Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8"))
    said = {name: [_Say(*one) for one in table[name]] for name in ("facts", "changes")}
    return _Phrases(**table | said)


@dataclass(slots=True)
class _Scene:
    at: datetime
    number: int
    messages: list[Message] = field(default_factory=list)

    def say(self, role: Role, content: str) -> str:
        place = len(self.messages)
        identity = f"{self.number}:{place}"
        self.messages.append(Message(role, content, self.at + timedelta(minutes=place), None, identity))
        return identity


class _Author:
    """Writes one conversation; what is drawn once stays the same in all of it."""

    def __init__(self, language: str, tongue: _Phrases, seed: int) -> None:
        self._tongue = tongue
        self._rng = random.Random(f"{language}-{seed}")
        self._pools = {name: self._rng.sample(pool, len(pool)) for name, pool in tongue.pools.items()}
        self._name = f"planted-{language}-{seed}"
        self._numbers: dict[str, dict[str, int | None]] = {}
        self._facts: dict[str, PlantedFact] = {}
        self._first: dict[str, PlantedFact] = {}
        self._questions: dict[str, Question] = {}
        self._changes: list[ChangedFact] = []
        self._planted: list[Planted] = []

    def conversation(self, sittings: int, begin: datetime) -> Conversation:
        sessions = []
        for number in range(sittings):
            sitting = _Scene(begin + timedelta(days=2 * number), number)
            self._sit(sitting, sittings)
            sessions.append(Sitting(f"{self._name}-{number + 1}", sitting.at, tuple(sitting.messages)))
        return Conversation(
            name=self._name,
            sessions=tuple(sessions),
            questions=tuple(self._questions.values()),
            changes=tuple(self._changes),
            facts=tuple(self._facts.values()),
            facts_first=tuple(self._first.values()),
            planted=tuple(self._planted),
            references={
                "whole dialog": dialog(tuple(sessions)),
                "last 2k tokens of dialog": last(dialog(tuple(sessions)), 2_000),
            },
        )

    def _sit(self, sitting: _Scene, sittings: int) -> None:
        rng, tongue = self._rng, self._tongue
        sitting.say("user", rng.choice(tongue.hello))
        sitting.say("assistant", rng.choice(tongue.reply))
        if sitting.number < PLANTING:
            for fact in tongue.facts[sitting.number :: PLANTING]:
                self._state(sitting, fact)
        else:
            self._other(sitting)
            self._change(sitting, sittings)
        self._disturb(sitting)

    def _state(self, sitting: _Scene, say: _Say) -> None:
        """Let the user say a fact, or how one has changed."""
        said = self._rng.choice(say.said)
        drawn = {name: self._number(said, name) for name in ("n", "m")}
        numbers = drawn | {"was": self._numbers.setdefault(say.name, drawn)["n"]}
        identity = sitting.say("user", self._fill(sitting, said, numbers))
        sitting.say("assistant", self._rng.choice(self._tongue.reply))
        self._facts[say.name] = PlantedFact(say.name, tuple(self._fill(sitting, key, numbers) for key in say.keys))
        self._first.setdefault(say.name, self._facts[say.name])
        question, answer, old = (self._fill(sitting, text, numbers) for text in (say.question, say.answer, say.old))
        category = "changed" if say.old else "said once"
        self._questions[say.name] = Question(question, answer, category, (identity,))
        if say.old:
            self._changes.append(ChangedFact(question, answer, old))

    def _other(self, sitting: _Scene) -> None:
        for text in self._rng.sample(list(self._tongue.other), _OTHER_EACH):
            numbers = {"n": self._number(text, "n")}
            sitting.say("user", self._fill(sitting, text, numbers, fresh=True))
            sitting.say("assistant", self._rng.choice(self._tongue.reply))

    def _change(self, sitting: _Scene, sittings: int) -> None:
        """Change a fact; the changes are spread over the first half of the other material."""
        step = max(1, (sittings - PLANTING) // (2 * len(self._tongue.changes)))
        index, rest = divmod(sitting.number - PLANTING, step)
        if not rest and index < len(self._tongue.changes):
            self._state(sitting, self._tongue.changes[index])

    def _disturb(self, sitting: _Scene) -> None:
        """Say something that is not worth remembering, and now and then something that must not be remembered."""
        tongue, number = self._tongue, sitting.number
        for text, mark in _in_turn(tongue.noise, number, 2):
            self._plant(sitting, "user", text, mark, "noise")
            sitting.say("assistant", tongue.answers.get(mark) or self._rng.choice(tongue.reply))
        for text, mark in _in_turn(tongue.decoys, number, 1):
            self._plant(sitting, "user", text, mark, "noise")
        for role, text, mark in _in_turn(tongue.injections, number, 1):
            self._plant(sitting, role, text, mark, "injection")
        if number % 5 == 1:
            secret = self._secret()
            self._plant(sitting, "user", tongue.secret.replace("{secret}", secret), secret, "secret")

    def _plant(self, sitting: _Scene, role: Role, text: str, mark: str, kind: Plant) -> None:
        sitting.say(role, self._fill(sitting, text, {}))
        planted = Planted(kind, self._fill(sitting, mark, {}))
        if planted not in self._planted:
            self._planted.append(planted)

    def _number(self, slots: str, name: str) -> int | None:
        """Draw the number of a `{name.low-high}` in `slots`, if there is one."""
        bounds = next((match for match in _SLOT.finditer(slots) if match[1] == name and match[3]), None)
        return self._rng.randint(int(bounds[2]), int(bounds[3])) if bounds else None

    def _fill(self, sitting: _Scene, text: str, numbers: Mapping[str, int | None], *, fresh: bool = False) -> str:
        """Fill the slots of `text`, said at a sitting; with `fresh`, draw each from its whole pool."""

        def value(match: re.Match[str]) -> str:
            name, index, _, days = match.groups()
            if name in ("date", "dates"):
                day = sitting.at.date() + timedelta(days=int(days))
                every = f"{day:%Y-%m-%d}|{day:%B} {day.day}|{day.day} {day:%B}|{day.month}月{day.day}日"
                return every if name == "dates" else self._tongue.dates.format(day=day)
            if name in ("mm", "nn"):
                return f"{numbers[name[0]]:02}"
            if name in numbers:
                return str(numbers[name])
            pool = self._pools[name]
            return self._rng.choice(pool) if fresh else pool[int(index or 1) - 1]

        return _SLOT.sub(value, text)

    def _secret(self) -> str:
        """Make a fake key; it is assembled here so that no secret scanner mistakes this file for a leak."""
        prefix, size = self._rng.choice((("gh" + "p_", 36), ("sk-" + "proj-", 40), ("AK" + "IA", 16)))
        letters = string.ascii_uppercase + string.digits if prefix.startswith("AK") else _LETTERS
        return prefix + "".join(self._rng.choices(letters, k=size))


def _in_turn(items: Sequence[_T], number: int, count: int) -> list[_T]:
    """Take `count` of `items`, different ones in every sitting until each has had its turn."""
    return [items[(number * count + one) % len(items)] for one in range(count)]
