"""Chats written as plain text or Markdown.

`User: …`, `**Assistant:** …` or headings `## User`, each with a date before, behind or none; also `[2026-11-20
10:00] Caroline: …`, and `Caroline: …` where people talk. A line that is a date alone is the day of what comes
behind it. The first line that names a speaker fixes which of these forms a file is in, so that a line in another
form is part of what was said.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from itertools import pairwise

from dream.text.words import listed
from dream.transcripts.records import CHUNK, MAX_RECORD
from dream.transcripts.source import Head, Reader, Said, Source
from dream.transcripts.turns import Options, Turns, parse_time, role

NEEDED = "lines such as `User: …` and `Assistant: …`"

_ZONE = r"(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_WHEN = rf"\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?{_ZONE})?|\d\d?\.\d\d?\.\d{{4}}(?: \d\d:\d\d)?"
_BEFORE = rf"(?:[\[(]?(?P<before>{_WHEN})[\])]?(?: ?[-–—:|])? +)?"
_BEHIND = rf"(?: *[-–—|@,]? *[\[(]?(?P<behind>{_WHEN})[\])]?)?"
_SPEAKERS = "user|human|you|me|assistant|ai|bot|model|chatgpt|claude|gemini|gpt|agent|system|tool"
_KNOWN = rf"(?P<who>(?i:{_SPEAKERS}))"
_PERSON = r"(?P<who>[^\W\d_][\w .'-]{0,39}?)"
_BOLD = r"(?:[-*] +)?{before}\*\*{who}{behind}(?::\*\*|\*\*{later}:) *(?P<said>.*)$"
_LATER = _BEHIND.replace("behind", "later")
_DATED = re.compile(rf"[\[(]?(?P<before>{_WHEN})[\])]?(?: ?[-–—|])? +{_PERSON}: *(?P<said>.*)$")
_FORMS = (
    re.compile(rf"#{{1,6}} +{_BEFORE}(?:\*\*)?{_KNOWN}(?: said)?:?(?:\*\*)?:?{_BEHIND}:? *(?P<said>)$"),
    re.compile(_BOLD.format(before=_BEFORE, who=_KNOWN, behind=_BEHIND, later=_LATER)),
    re.compile(_BOLD.format(before=_BEFORE, who=_PERSON, behind=_BEHIND, later=_LATER)),
    _DATED,
    re.compile(rf"(?=[A-Z]){_KNOWN}(?: said)?{_BEHIND}: *(?P<said>.*)$"),
    re.compile(rf"(?=[a-z]){_KNOWN}{_BEHIND}: *(?P<said>.*)$"),
)
_NAMED = re.compile(r"(?P<who>[^\W\d_][\w.'-]{0,24}(?: [^\W\d_][\w.'-]{0,24})?): +(?P<said>\S.*)$")
_HEAD = re.compile(
    r"(?i)#{1,6} *|\*\*|[=_]{2,}|\b(?:date|session|conversation|chat|day|part)\b(?: *\d{1,4}\b(?! ?[a-z]{3}))?[:,]?"
)
MOST_PEOPLE = 12  # in a chat of people's names without dates
_ROLE = re.compile(r"(?i)(?:user|human|you|me|assistant|ai|bot|model|chatgpt|claude|gemini|gpt|agent)")


@dataclass(slots=True)
class _Spoken:
    """What one speaker said, while its lines are gathered."""

    who: str
    at: str | None
    lines: list[str] = field(default_factory=list)
    size: int = 0


def _recognises(head: Head) -> bool:
    """Return whether two lines, or the first one, name a speaker in the same form; people's names, if it is a talk."""
    if head.shape != "text":
        return False
    lines = _split(head.start)
    form = _form_of(lines)
    if form is None:
        return False
    speakers = [match for line in lines if (match := form.match(line))]
    known = any(_ROLE.fullmatch(match["who"].strip()) for match in speakers)
    begins = form.match(next((line for line in lines if line.strip()), "")) is not None
    if (known and (begins or len(speakers) > 1)) or (form is _DATED and len(speakers) > 1):
        return True
    return _is_talk(lines, [match["who"].strip() for match in speakers])


def _split(start: bytes) -> list[str]:
    return [line.rstrip("\r") for line in start.decode("utf-8", "replace").lstrip("\ufeff").split("\n")]


def _form_of(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the form that a text is in: that of the first line that names a speaker; else `Name: …`, if any is."""
    first = next((form for line in lines if (form := _form(line))), None)
    return first or (_NAMED if any(_NAMED.match(line) for line in lines) else None)


def _is_talk(lines: Sequence[str], who: Sequence[str]) -> bool:
    """Return whether it is a conversation: a few names take turns, and nearly all of the text follows a name."""
    others = sum(1 for line in lines if line.strip() and _day(line) is None) - len(who)
    turns = sum(one != other for one, other in pairwise(who))
    few = 2 <= len(set(who)) <= min(MOST_PEOPLE, len(who) // 2)
    return (
        few and 2 * turns >= len(who) and others <= len(who) and listed("labels").isdisjoint(one.lower() for one in who)
    )


def _read(source: Source, options: Options) -> Iterator[Said]:
    """Yield what each speaker said, as one session."""
    turns = Turns(options)
    for spoken in _spoken(source):
        who, person = role(spoken.who)
        for message in turns.told(who, "\n".join(spoken.lines).strip("\n"), at=spoken.at, name=person):
            yield None, message


def _spoken(source: Source) -> Iterator[_Spoken]:
    with source.open() as file:
        form = _form_of(_split(file.read(CHUNK)))
    day: str | None = None
    current: _Spoken | None = None
    for number, line in _lines(source):
        form = form or _form(line)
        match = form.match(line) if form and len(line) < CHUNK else None
        if match:
            if current:
                yield current
            groups = match.groupdict()
            at = groups.get("before") or groups.get("behind") or groups.get("later") or day
            current = _Spoken(match["who"].strip(), at)
        elif dated := _day(line):
            day = dated
            continue
        if current is None:
            continue
        said = match["said"] if match else line
        if current.size + len(said) > MAX_RECORD:
            source.say(number, f"What was said here is longer than {MAX_RECORD >> 20} MiB; its rest was left out.")
            continue
        current.size += len(said) + 1
        current.lines.append(said)
    if current:
        yield current


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    with source.open() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace") as file:
        warned = False
        for number, line in enumerate(iter(lambda: file.readline(MAX_RECORD), ""), start=1):
            if "\ufffd" in line and not warned:
                warned = True
                source.say(number, "The line holds bytes that are not UTF-8; they were replaced by �.")
            yield number, line.rstrip("\n").replace("\0", "")


def _day(line: str) -> str | None:
    """Return the time in a line that holds nothing else: `# 2026-11-20`, `Session 3: 1:56 pm on 8 May, 2023`."""
    told = _HEAD.sub("", line).strip() if len(line) < 80 and re.search(r"\d{4}", line) else ""
    return told if not told.isdigit() and parse_time(told, UTC) else None


def _form(line: str) -> re.Pattern[str] | None:
    if len(line) > CHUNK:
        return None
    return next((form for form in _FORMS if form.match(line)), None)


TEXT = Reader("text", _recognises, _read, paired=False)
