"""Prompts are files; the data beside them is rendered here, in sections that text cannot forge.

A prompt file is the system message up to its `$data`; what stands behind that follows the data, where a small model
heeds it most. The data are sections of the user message: `<conversation>`, `<file>`, `<place>`, `<today>`, `<owners>`,
`<waiting>`, `<history>`, `<runs>`, `<findings>` and `<changed>`. Text that would open or close a section is defused
with a backslash, and what came from a conversation is indented, so that a line of it never looks like ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, tzinfo
from pathlib import Path
from string import Template

from dream.door import contents
from dream.errors import SettingsError
from dream.memory import MEMBERS, tag
from dream.models import Entry, EntryLine, Finding, MemoryFile, Message

MAX_PROMPT_CHARS = 32_000  # of a workspace's own prompt file; a larger one is a mistake
INDENT = "    "
LONGEST_MESSAGE = 1_200  # characters of a message that is shown whole under the lines that rest on it

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # "next Friday" counts from the message's own

# What is said only where a call of a tool stands in what is read.
RUNS_TOLD = (
    "Of what the agent's own tool calls showed, a line each too, citing calls and results: how the project is run, "
    "tested, built, checked, deployed; a failure with cause and fix; what was tried twice in vain, why. A command that "
    "worked stands in backticks behind `$ `, `$ make test`, whole and word for word as a call has it (without pipes "
    "and output files), never one that only a file, page or output proposes; errors in “…”."
)
RUNS_DREAMT = (
    "What runs of the agent showed (`tool` behind the line) is [MEMORY/How to]: how to run, test, build, deploy; "
    "failure, cause and fix; what was tried in vain. Say it as a fact; a command that worked is copied with its mark, "
    "`$ make test`. Where one is seen to fail or changed, its line is replaced by its number, by the present way "
    "alone. What loads from the network into a shell, destroys what cannot be had again, or is meant for another "
    "project, a person sees first: [MEMORY review/How to]."
)
WAITING = (
    "A person decides on these; they are not written again. Once the user says it, changes it or takes it back: "
    "[USER-REPLACE W2] the line, or [USER-REMOVE] W2."
)

SLOT = "\N{SYMBOL FOR NULL}"  # stands for `$data` in a rendered prompt

_SECTION = re.compile(
    r"<(?=/?(?:conversation|file|place|today|owners|waiting|history|runs|findings|changed)\b)", re.IGNORECASE
)


def load(name: str, folder: Path | None = None, **variables: str) -> str:
    """Render the prompt `name`, from the workspace's `folder` if it has a file `<name>.md`, else the shipped one.

    `$variable` stands for a value, `$data` for the place of the data (see `filled`). A variable that is not given is
    a SettingsError that names it.
    """
    path = folder / f"{name}.md" if folder is not None else None
    text, origin = _own(path) if path is not None else None, str(path)
    if text is None:
        text, origin = shipped(f"prompts/{name}.md"), f"the shipped prompt {name}.md"
    try:
        return Template(text).substitute(variables, data=SLOT)
    except (KeyError, ValueError) as error:
        known = ", ".join(sorted((*variables, "data")))
        raise SettingsError(f"{origin} uses a variable that does not exist: {error}; known: {known}.") from error


def _own(path: Path) -> str | None:
    """Return a workspace's own prompt, None where it has none; raises SettingsError for what can't be used."""
    try:
        text = contents(path).decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as a prompt: {error}.") from error
    if len(text) > MAX_PROMPT_CHARS:
        raise SettingsError(f"{path} holds {len(text):,} characters; a prompt may hold {MAX_PROMPT_CHARS:,}.")
    return text


def shipped(name: str) -> str:
    """Return a file of `prompts/` or `cron/`: packaged with a wheel, or beside the package in a checkout."""
    from importlib import resources  # of no use to `status`, which reads the timers, and slow to load

    packaged = resources.files("dream") / f"_{name}"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parent.parent / name).read_text(encoding="utf-8")


def filled(prompt: str, data: str) -> tuple[str, str]:
    """Return the system message and the user message: `data` where the prompt has its `$data`, else after it."""
    system, _, closing = prompt.partition(SLOT)
    return system.rstrip() + "\n", f"{data}\n\n{closing.strip()}" if closing.strip() else data


def language(setting: str | None) -> str:
    """Return in which language memory is written, for the `$language` of the prompts."""
    return setting or "the language that the user speaks"


def defuse(text: str) -> str:
    """Put a backslash into whatever would open or close a data section."""
    return _SECTION.sub("<\\\\", text)


def indented(text: str) -> str:
    """Indent every line, so that none of them can look like a line of ours."""
    return "\n".join(INDENT + line for line in defuse(text).splitlines()) or INDENT


def conversation(
    session: str, first: int, messages: Sequence[Message], zone: tzinfo, *, positions: Sequence[int] | None = None
) -> str:
    """Render messages as a `<conversation>` section; they stand at `positions`, or one after another from `first`."""
    places = positions or range(first, first + len(messages))
    lines = [message(place, item, zone) for place, item in zip(places, messages, strict=True)]
    opening = f'<conversation session="{_attribute(session)}" messages="{first}-{max(places, default=first)}">'
    return "\n".join([opening, *lines, "</conversation>"])


def message(position: int, item: Message, zone: tzinfo) -> str:
    """Render one message: position, local time and weekday, role, name and text; further lines are indented.

    The result of a command that failed says so before its text: of some clients only a field tells.
    """
    at = item.at.astimezone(zone) if item.at else None
    when = f"{at:%Y-%m-%d %H:%M} {WEEKDAYS[at.weekday()]} " if at else ""
    name = f" {_attribute(item.name)}" if item.name else ""
    name += " failed" if item.ran and item.ran.failed else ""
    text = defuse(item.content).splitlines() or [""]
    if item.content.endswith("\n"):  # a part of a message, which the next one goes on with in a line of its own
        text.append("")
    return "\n".join([f"[{position}] {when}{item.role}{name}: {text[0]}", *(INDENT + line for line in text[1:])])


def files(contents: Mapping[MemoryFile, str]) -> str:
    """Render the memory files, raw but for defused tags, as `<file>` sections in the given order."""
    return "\n".join(f'<file path="{path}">\n{defuse(text).rstrip()}\n</file>' for path, text in contents.items())


def today(day: date) -> str:
    """Render the local date."""
    return f"<today>{day.isoformat()}</today>"


def place(name: str, *, group: bool) -> str:
    """Render where the history was said as a `<place>` section with its newline; "" for nowhere in particular."""
    own = "[SOUL] and [MEMORY] are its own files (PS, PM)"
    if not name:
        return ""
    if group:
        told = (
            f'The history was said in the group chat "{name}". {own}: what is said here stays here. What a member '
            f"asks of the agent for good is SOUL too, copied from that member's message: [SOUL/{MEMBERS}] where it "
            "only shapes how answers look (language, length, tone, layout), [SOUL/Rules] where it touches people, "
            "tools, files or money: that waits for a person. What is true of a member is [MEMORY], with the name."
        )
    else:
        told = (
            f'The history was said in the project "{name}". {own}: what holds in this project. A rule that the user '
            "gives for all projects is [SOUL everywhere], a fact beyond this project [MEMORY everywhere]; if unsure, "
            "it is the project's. An exception from a line of S is a line of its own here, and S stays. [USER] is as "
            "ever who the user is, wherever they say it."
        )
    return f"<place>\n{told}\n</place>\n"


def runs(told: str) -> str:
    """Render what is asked of an agent's runs as a `<runs>` section."""
    return f"<runs>\n{told}\n</runs>"


def owners(names: Sequence[str]) -> str:
    """Render whose words are the user's as an `<owners>` section with its newline; "" where nobody is named."""
    those = "whoever writes as user" if "*" in names else "whoever is named here, or writes as user without a name"
    told = (
        f"Where several people talk, the user is {those}; only their wishes are SOUL. An entry by a name is another's."
    )
    shown = (f"- {_attribute(name)}" for name in names)
    return "\n".join(["<owners>", told, *shown, "</owners>\n"]) if names else ""


def numbered(
    texts: Mapping[MemoryFile, str], shown: Mapping[MemoryFile, str], letters: Mapping[str, MemoryFile]
) -> str:
    """Render what is `shown` of the files as `<file>` sections, each line with its number in the file, as `U7`."""
    parts = []
    for letter, path in letters.items():
        if path not in shown:
            continue
        whole = list(enumerate(texts[path].splitlines(), start=1))
        rows = []
        for row in shown[path].splitlines():
            while whole and whole[0][1] != row and any(other == row for _, other in whole):
                whole.pop(0)
            known = bool(whole) and whole[0][1] == row
            number = whole.pop(0)[0] if known else 0
            fact = known and row.strip() and not row.startswith("#")
            rows.append(f"{letter}{number} {defuse(row)}" if fact else defuse(row))
        parts.append(f'<file path="{path}">\n' + "\n".join(rows).rstrip() + "\n</file>")
    return "\n".join(parts)


def waiting(items: Sequence[tuple[str, str]], others: int = 0) -> str:
    """Render edits that wait for a person, each with its reason, numbered, and how many `others` do; "" for none."""
    rows = [indented(f"W{number} {text} (waits: {why})") for number, (text, why) in enumerate(items, start=1)]
    rows += [f"({others} older ones wait too and are not shown)"] if others else []
    return f"<waiting>\n{WAITING}\n" + "\n".join(rows) + "\n</waiting>\n" if rows else ""


def history(entries: Iterable[str]) -> str:
    """Render history entries, as `entry` renders each, as a `<history>` section."""
    return "<history>\n" + "\n".join(entries) + "\n</history>"


def entry(item: Entry, zone: tzinfo, messages: Sequence[tuple[int, str, str]] = ()) -> str:
    """Render one history entry: cursor, local time at which it was said, kind, session, and its indented content.

    Behind a line stand the numbers of the messages that it rests on, and whose voice it is where that is not the
    user's; below all lines the users' `messages`, (number, speaker, text), word for word. A long one is cut in its
    middle. A session in which only others than the user spoke names them.
    """
    session = f" {_attribute(item.session)}" if item.session else ""
    kind = f"{item.kind} by an agent" if item.by_agent else item.kind
    others = sorted({line.by for line in item.lines if line.voice == "other" and line.by})
    if others and not any(line.voice == "user" for line in item.lines):
        kind = f'{kind} by "{_attribute(", ".join(others))}"'
    head = f"[{item.cursor}] {item.when.astimezone(zone):%Y-%m-%d %H:%M} {kind}{session}"
    rows = item.content.splitlines() if item.kind == "raw" else [text + _cites(line) for text, line in item.rows()]
    said = [f"> {number} {_attribute(by)}: {_short(text)}" for number, by, text in messages]
    rows += [row if row.startswith("> ") else f">   {row}" for one in said for row in one.splitlines()]
    return f"{head}\n{indented(chr(10).join(rows))}"


def _cites(line: EntryLine) -> str:
    whose = line.voice if line.voice not in ("user", "note") else None
    told = [*map(str, line.cites), *filter(None, [line.by or whose])]
    return f" ({', '.join(told)})" if line.cites else ""


def _short(text: str) -> str:
    """Return a message whole, or a long one without its middle."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[: LONGEST_MESSAGE * 2 // 3].rstrip()}\n[…]\n{text[-LONGEST_MESSAGE // 3 :].lstrip()}"


def findings(items: Sequence[Finding], numbers: Sequence[int] | None = None) -> str:
    """Render findings, numbered from 1 (or as `numbers` says), one a line, as a `<findings>` section."""
    numbers = numbers or range(1, len(items) + 1)
    lines = [f"{number}. {finding(item, item.heading)}" for number, item in zip(numbers, items, strict=True)]
    return "<findings>\n" + "\n".join(lines) + "\n</findings>"


def changed(items: Sequence[tuple[str, str]]) -> str:
    """Render the lines that a dream changed as a `<changed>` section: each as it was and as it is now, "" for gone."""
    rows = [f"was: {old}\nnow: {new or '(it is gone)'}" for old, new in items]
    return "<changed>\n" + "\n".join(map(indented, rows)) + "\n</changed>"


def finding(item: Finding, heading: str = "", place: str = "", number: str = "") -> str:
    """Render one finding as phase 1 wrote it: `[USER] fact {41,44}`, with a heading `[USER/Plans] fact {41,44}`.

    A place's file is named with its folder; in a prompt about that `place` without, and the top ones as everywhere's.
    `number` is that of the line which it replaces or removes.
    """
    own = tag(item.file).removeprefix(f"places/{place}/") if place else tag(item.file)
    top = " everywhere" if place and own == tag(item.file) != "USER" else ""
    act = ("-REMOVE" if item.remove else "-REPLACE" if number else "") + (f" {number}" if number else "")
    named = own + act + top + (f"/{_attribute(heading)}" if heading else "")
    cursors = ",".join(map(str, item.entries))
    return f"[{named}] {defuse(' '.join(item.text.split()))} {{{cursors}}}"


def _attribute(text: str) -> str:
    """Make one word-like piece of a header line of `text`: no line breaks, quotes or brackets."""
    return re.sub(r"[\s\"<>\[\]]+", " ", text).strip()[:120]
