"""Prompts are files; the data beside them is rendered here, in sections that text cannot forge.

A prompt file is the system message up to its `$data`; what stands behind that follows the data, where a small model
heeds it most. The data are sections of the user message: `<conversation>`, `<file>`, `<today>`, `<owners>`,
`<waiting>`, `<history>` and `<findings>`. Text that would open or close a section is defused with a backslash, and what
came from a conversation is indented, so that a line of it never looks like ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, tzinfo
from pathlib import Path
from string import Template

from dream.door import contents
from dream.errors import SettingsError
from dream.models import Entry, Finding, MemoryFile, Message

MAX_PROMPT_CHARS = 32_000  # of a workspace's own prompt file; a larger one is a mistake
INDENT = "    "
TAGS = {"SOUL.md": "SOUL", "USER.md": "USER", "memory/MEMORY.md": "MEMORY"}

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # "next Friday" counts from the message's own

SLOT = "\N{SYMBOL FOR NULL}"  # stands for `$data` in a rendered prompt

_SECTION = re.compile(r"<(?=/?(?:conversation|file|today|owners|waiting|history|findings)\b)", re.IGNORECASE)


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
    """Render one message: position, local time and weekday, role, name and text; further lines are indented."""
    at = item.at.astimezone(zone) if item.at else None
    when = f"{at:%Y-%m-%d %H:%M} {WEEKDAYS[at.weekday()]} " if at else ""
    name = f" {_attribute(item.name)}" if item.name else ""
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


def owners(names: Sequence[str]) -> str:
    """Render whose words are the user's as an `<owners>` section with its newline; "" where nobody is named."""
    those = "whoever writes as user" if "*" in names else "whoever is named here, or writes as user without a name"
    told = (
        f"Where several people talk, the user is {those}; only their wishes are SOUL. An entry by a name is another's."
    )
    shown = (f"- {_attribute(name)}" for name in names)
    return "\n".join(["<owners>", told, *shown, "</owners>\n"]) if names else ""


def waiting(findings: Sequence[str]) -> str:
    """Render the findings that wait for a person as a `<waiting>` section with its newline; "" where none does."""
    return "<waiting>\n" + "\n".join(map(indented, findings)) + "\n</waiting>\n" if findings else ""


def history(entries: Iterable[Entry], zone: tzinfo, *, by: bool = False) -> str:
    """Render history entries as a `<history>` section; `by` as in `entry`."""
    return "<history>\n" + "\n".join(entry(item, zone, by=by) for item in entries) + "\n</history>"


def entry(item: Entry, zone: tzinfo, *, by: bool = False) -> str:
    """Render one history entry: cursor, local time at which it was said, kind, session, and its indented content.

    With `by` its kind tells whose it is, where only people said something who are not the user.
    """
    session = f" {_attribute(item.session)}" if item.session else ""
    kind = f"{item.kind} by an agent" if item.by_agent else item.kind
    others = sorted({name for names in item.speakers for name in names})
    if by and others and not any("u" in voices for voices in item.voices):
        kind = f'{kind} by "{_attribute(", ".join(others))}"'
    return f"[{item.cursor}] {item.when.astimezone(zone):%Y-%m-%d %H:%M} {kind}{session}\n{indented(item.content)}"


def findings(items: Sequence[Finding], numbers: Sequence[int] | None = None) -> str:
    """Render findings, numbered from 1 (or as `numbers` says), one a line, as a `<findings>` section."""
    numbers = numbers or range(1, len(items) + 1)
    lines = [f"{number}. {finding(item, item.heading)}" for number, item in zip(numbers, items, strict=True)]
    return "<findings>\n" + "\n".join(lines) + "\n</findings>"


def finding(item: Finding, heading: str = "") -> str:
    """Render one finding as phase 1 wrote it: `[USER] fact {41,44}`, with a heading `[USER/Plans] fact {41,44}`."""
    tag = TAGS[item.file] + ("-REMOVE" if item.remove else "") + (f"/{_attribute(heading)}" if heading else "")
    cursors = ",".join(map(str, item.entries))
    return f"[{tag}] {defuse(' '.join(item.text.split()))} {{{cursors}}}"


def _attribute(text: str) -> str:
    """Make one word-like piece of a header line of `text`: no line breaks, quotes or brackets."""
    return re.sub(r"[\s\"<>\[\]]+", " ", text).strip()[:120]
