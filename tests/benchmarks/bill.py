"""The bill: tokens a dream, against the two-phase peer, and what each way of saving them is worth.

Both dream the same entries, night by night, with the same findings: those of the embedded model, which stands for the
script, and with the same instructions, so that only what is sent, and how often, is different. Tokens are counted by
GPT-5's tokenizer over the whole prompt: messages, tool calls and the tools' descriptions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from dream import pipeline, prompts
from dream.directory import Workspace
from dream.dreaming.draft import OMITTED
from dream.dreaming.dreamer import Models
from dream.dreaming.estimate import estimate
from dream.embedded import EmbeddedModel
from dream.llm import ChatMessage, Completion, Tool
from dream.llm.spending import MESSAGE_TOKENS, Meter, prompt_tokens
from dream.models import MEMORY_FILES, Finding, MemoryFile, NewEntry
from dream.settings import Settings
from dream.text import tokens
from tests.benchmarks import editor, nanobot
from tests.benchmarks.measure import Row
from tests.benchmarks.nanobot import Nanobot
from tests.benchmarks.peer import TwoPhase
from tests.quality import Conversation, datasets

NAME = "openai/gpt-5-mini"
AIM = 0.6
ASKED_AIM = 0.35  # where phase 1 names headings, as its prompt asks, and code applies what is plain
LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo-dev.json"
SETTINGS = Settings(timezone="UTC", durable=False, model=NAME)
SMALL_TALK = "- The user said good night."
_HEADING = re.compile(r"^(\[[A-Z]+)/[^\]]*\]", re.M)  # left out, so that every finding is one for the edit agent
RESULT_TOKENS = 12  # of a tool's answer such as "ok: memory/MEMORY.md edited", with its frame


def count(text: str) -> int:
    """Count tokens as GPT-5 does."""
    return tokens.count(text, NAME)


@dataclass(frozen=True, slots=True)
class Sent:
    """One call: its messages, the answer, and the tokens of both."""

    messages: Sequence[ChatMessage]
    answer: Completion
    used: int

    @property
    def system(self) -> str:
        return self.messages[0].content

    @property
    def files(self) -> str:
        return self.messages[1].content.partition("\n<today>")[0].partition("\n<findings>")[0]

    @property
    def news(self) -> str:
        return self.messages[1].content[len(self.files) :]


@dataclass(slots=True)
class Script:
    """A model that answers as it is scripted, and notes what each call sent and received. It is a `Model`."""

    edits: bool
    skip: bool = False
    headings: bool = False
    sent: list[Sent] = field(default_factory=list)
    name: str = NAME
    window: int = 272_000
    max_output: int = 4_096

    def count(self, text: str) -> int:
        return count(text)

    def complete(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[Tool] = (), max_tokens: int | None = None
    ) -> Completion:
        answer = self._answer(messages)
        self.sent.append(Sent(tuple(messages), answer, prompt_tokens(self, messages, tools) + received(answer)))
        return answer

    def _answer(self, messages: Sequence[ChatMessage]) -> Completion:
        if self.skip:
            return Completion("[SKIP]")
        if self.edits:
            return editor.answer(messages)
        told = EmbeddedModel().complete(messages)
        return told if self.headings else replace(told, text=_HEADING.sub(r"\1]", told.text))


def received(answer: Completion) -> int:
    """Count what a model answered."""
    written = "".join(call.name + json.dumps(dict(call.arguments), ensure_ascii=False) for call in answer.tool_calls)
    return count(answer.text + written)


@dataclass(frozen=True, slots=True)
class Night:
    """What one dream sent in each phase."""

    phase1: Sequence[Sent]
    phase2: Sequence[Sent]

    @property
    def used(self) -> int:
        return sum(sent.used for sent in (*self.phase1, *self.phase2))


@dataclass(frozen=True, slots=True)
class Bill:
    """The dreams of one conversation, and what the peer used for the same: all edits in a round, or each in its own."""

    nights: Sequence[Night]
    peer: int
    peer_one_by_one: int
    nothing_new: tuple[int, int]  # of one more night: ours, the peer's
    estimated: int  # of all dreams, each said the moment before
    nanobot: tuple[int, int] | None = None  # what the real peer used for the same, and for nothing new

    @property
    def ours(self) -> int:
        return sum(night.used for night in self.nights)


class Itself:
    """The real peer, dreaming in `workspace` on the same `files`; `used` counts the tokens sent and received."""

    def __init__(self, real: Nanobot, workspace: Path, files: Mapping[MemoryFile, str]) -> None:
        self.used = 0
        self._real = real
        self._workspace = workspace
        for path, text in files.items():
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_text(text, encoding="utf-8")

    def dream(self, now: datetime, entry: str, analysis: str, found: Mapping[int, Finding]) -> int:
        """Dream one entry, of which phase 1 says `analysis`; return the tokens of it."""
        made = nanobot.edits(found, self._workspace)
        used = sum(_used(call) for call in self._real.dream(self._workspace, now, [entry], analysis, made))
        self.used += used
        return used


def _used(call: Mapping[str, Any]) -> int:
    """Count the tokens of one call of the real peer as ours are counted."""
    parts = [str(message["content"] or "") for message in call["messages"]]
    tools = [one["function"] for one in call["tools"]]
    parts += [one["name"] + one["description"] + json.dumps(one["parameters"]) for one in tools]
    asked = [one["function"] for message in call["messages"] for one in message.get("tool_calls") or ()]
    said = [one["name"] + one["arguments"] for one in asked]
    answer = call["content"] + "".join("edit_file" + json.dumps(one, ensure_ascii=False) for one in call["asked"])
    return sum(map(count, [*parts, *said, answer])) + MESSAGE_TOKENS * (len(parts) + 1)


def dreamt(conversation: Conversation, folder: Path, real: Nanobot | None = None, *, headings: bool = False) -> Bill:
    """Dream `conversation` night by night, on both sides, and with the real peer where it can."""
    workspace = Workspace.create(folder, now=conversation.sessions[0].at)
    files = {path: workspace.read_file(path) for path in MEMORY_FILES}
    nights: list[Night] = []
    estimated = 0
    peers = [TwoPhase(count, dict(files), one_by_one=each) for each in (False, True)]
    itself = Itself(real, folder.with_name(f"{folder.name}-nanobot"), files) if real and real.two_phase else None
    for sitting in conversation.sessions:
        talk = prompts.conversation(sitting.key, 0, sitting.messages, UTC)
        summary = EmbeddedModel().complete([ChatMessage("user", talk)]).text
        if summary.strip() in ("", "(nothing)"):
            continue
        now = (sitting.at + timedelta(days=1)).replace(hour=3, minute=0)
        workspace.history.append([NewEntry("summary", summary, sitting.key)], now=now)
        likely = estimate(workspace, SETTINGS, now).likely
        estimated += likely.input_tokens + likely.output_tokens
        nights.append(_night(workspace, Script(edits=False, headings=headings), now))
        analysis = "\n".join(sent.answer.text for sent in nights[-1].phase1)
        for peer in peers:
            peer.dream(now.date(), [summary], analysis, _found(analysis))
        if itself:
            itself.dream(now, summary, analysis, _found(analysis))
    used = [peer.used for peer in peers]
    workspace.history.append([NewEntry("summary", SMALL_TALK)], now=now)
    peers[0].dream(now.date(), [SMALL_TALK], "[SKIP]", {})
    nothing = _night(workspace, Script(edits=False, skip=True), now).used
    real_one = itself and (itself.used, itself.dream(now, SMALL_TALK, "[SKIP]", {}))
    return Bill(nights, used[0], used[1], (nothing, peers[0].used - used[0]), estimated, real_one)


def _night(workspace: Workspace, phase1: Script, now: datetime) -> Night:
    phase2 = Script(edits=True)
    pipeline.run(workspace, settings=SETTINGS, now=now, models=Models(phase1, phase2, Meter(SETTINGS)))
    return Night(tuple(phase1.sent), tuple(phase2.sent))


def conversations() -> Iterator[tuple[str, Conversation]]:
    """Yield what both sides dream: planted conversations, which ship with the package, and LoCoMo where it is."""
    for language in datasets.LANGUAGES:
        yield f"planted ({language})", datasets.generate(language)
    if LOCOMO.exists():
        for one in datasets.read_locomo(json.loads(LOCOMO.read_text(encoding="utf-8")))[:2]:
            yield f"LoCoMo {one.name}", one


def rows(folder: Path, *, quick: bool, real: Nanobot | None) -> Iterator[Row]:
    """Measure in `folder`: the whole, then what every saving alone is worth, by switching it off."""
    for number, (name, conversation) in enumerate(conversations()):
        if quick and number:
            return
        bill = dreamt(conversation, folder / str(number), real)
        whole = _row(f"tokens a dream, {name}, {len(bill.nights)} dreams", bill, bill.peer, AIM)
        itself, itself_idle = bill.nanobot or (None, None)
        yield replace(whole, real=itself and itself / len(bill.nights))
        yield _row(f"{name}: against the peer that edits one by one", bill, bill.peer_one_by_one, AIM)
        idle, theirs = bill.nothing_new
        yield Row(
            f"{name}: a night with nothing new, phase 2 passed by",
            idle,
            theirs,
            "tokens",
            idle / theirs,
            AIM,
            real=itself_idle,
        )
        yield Row(f"{name}: said by --estimate, against used", *_each(bill), "tokens", bill.estimated / bill.ours, 1.5)
        if not quick:
            asked = dreamt(conversation, folder / f"{number}-headings", headings=True)
            yield _row(f"{name}: where phase 1 names headings, as it is asked to", asked, asked.peer, ASKED_AIM)
        for saving, more in savings(bill).items():
            yield _row(f"{name}: against not {saving}", bill, bill.ours + more, 1.0)
        ours, other = cached(bill)
        yield Row(f"{name}: of phase 1's prompt a cache can serve", ours, other, "%", ours / other, 1, at_least=True)


def savings(bill: Bill) -> dict[str, int]:
    """Say how many tokens more all dreams would use if each way of saving alone were given up."""
    edited = [night for night in bill.nights if night.phase2]
    return {
        "leaving out of phase 2 the lines that no finding is about": sum(
            count(night.phase1[0].files) - count(sent.files)
            for night in edited
            for sent in night.phase2
            if OMITTED in sent.files  # else they are whole, and longer by what code has added since phase 1
        ),
        "giving phase 2 the findings only": sum(count(night.phase1[0].news) for night in edited for _ in night.phase2),
        "ending when every finding is settled": sum(_round(night.phase2[-1]) for night in edited),
        "making all edits in one round": sum(_one_by_one(night.phase2[0]) for night in edited),
    }


def _round(sent: Sent) -> int:
    """Count one more round after `sent`: all of it again, the answers of the tools, and a word."""
    return sent.used + RESULT_TOKENS * len(sent.answer.tool_calls) + 1


def _one_by_one(sent: Sent) -> int:
    """Count the rounds that it takes to make the calls of `sent` one at a time, but for the first."""
    calls = len(sent.answer.tool_calls)
    prompt, answer = sent.used - received(sent.answer), received(sent.answer)
    return sum(prompt + done * (answer // calls + RESULT_TOKENS) for done in range(1, calls))


def _row(name: str, bill: Bill, other: int, aim: float) -> Row:
    dreams = len(bill.nights)
    return Row(name, bill.ours / dreams, other / dreams, "tokens", bill.ours / other, aim)


def _each(bill: Bill) -> tuple[float, float]:
    return bill.estimated / len(bill.nights), bill.ours / len(bill.nights)


def cached(bill: Bill) -> tuple[float, float]:
    """Return in per cent how much of a prompt begins the one before it; and how much if what is new came first."""
    first = [night.phase1[0] for night in bill.nights]
    ours = [sent.system + sent.files + sent.news for sent in first]
    other = [sent.system + sent.news + sent.files for sent in first]
    return 100 * shared(ours), 100 * shared(other)


def shared(prompts: Iterable[str]) -> float:
    """Return the share, 0 to 1, of each prompt's characters that begin the one before it too.

    This is the most that a provider's prompt cache can serve from one dream to the next.
    """
    pairs = list(pairwise(prompts))
    return sum(_common(one, other) for one, other in pairs) / sum(len(other) for _, other in pairs)


def _common(one: str, other: str) -> int:
    """Count the characters that both begin with."""
    unlike = (place for place, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return next(unlike, min(len(one), len(other)))


def _found(analysis: str) -> dict[int, Finding]:
    lines = [line for line in analysis.splitlines() if line.startswith("[") and line != "[SKIP]"]
    return editor.findings("\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))
