"""Keep each memory file within its budget: what is over moves to an archive file, one line is left behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import date

from dream.dreaming.draft import added
from dream.language.likeness import ranked
from dream.language.words import MONTH, without_said_on
from dream.models import MemoryFile
from dream.settings import Settings

# Which lines of memory are the last to go when it is full: who the user is, what was decided, how things are.
#
# Told by the form of a sentence: what somebody did last week can be read up in the archive, but an agent that no
# longer has the port, the day of the release or the user's name in its prompt does not know that it should look.


LONGEST = 130  # characters of a line that states one thing; of a longer one its first clause counts
_CLAUSE = re.compile(r"[;:.。；](?:\s|$)| \(")
_DAY = rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?i:{MONTH}) \d|\d{{1,2}} (?i:{MONTH})"
_VALUE = rf"(?:\d|{_DAY}|https?://|(?:^|\s)[~.]{{0,2}}/\w|`[^`]+`)"
_THING = r"(?:The|Our|Every|Deploys|[A-Z][\w-]*(?:'s [\w -]{2,30}?)?) (?!user\b)(?:[\w'/.-]+ ){0,6}?"
_IS = (
    r"(?:is|are|runs?|listens?|lives?|goes|go|uses?|needs?|costs?|takes|lasts|starts|ends|opens|closes|has|stands"
    r"|expires|must|may)"
)
_WE_DO = r"We (?:deploy|release|meet|use|run|ship|keep|store|host|work|bill|publish|want to|plan to|aim to)"
_IDENTITY = re.compile(
    r"(?:The user is called|Is called|The user's name is|Lives in|Works (?:at|for|as))\b"
    r"|(?:Is|Has) (?:an? )?(?:allerg|diabet)\w+|Der Nutzer heißt|用户叫|ユーザーの名前は"
)
# Who somebody is, in the present: "Melanie, a friend of Vera's, has kids and a job", "Otto is from Orkney".
_WHO = r"^(?:The user|[A-Z][\w-]*(?: [A-Z][\w-]*)?(?:['’]s [\w -]{2,30}?)?)(?:, [^,]{2,40},)?"
_KIN = (
    r"(?:kids?|child(?:ren)?|sons?|daughters?|twins|brothers?|sisters?|siblings?|wife|husband|partner|dogs?|cats?|pets?"
    r"|guinea pigs?|horses?|job|degree|allerg\w+|diabetes|asthma)"
)
_STATE = re.compile(
    rf"{_WHO} (?:is (?:called|named|from|married|divorced|engaged|transgender|allergic|vegetarian|vegan)"
    rf"|has (?:[\w-]+ ){{0,2}}{_KIN}|has been .{{0,40}}\bfor \w+ years"
    r"|lives (?:in|at|on|with)|works (?:at|for|as|in)|comes from|studies|speaks|owns|volunteers|was born)\b"
    r"|^(?:The user|[A-Z][\w-]*)['’]s favou?rite\b"
)
_DECIDED = re.compile(
    r"^(?:(?:(?:We|The team|The user|Our team|They)(?:'ve| have| has)?|For [\w-]+,? we) )?"
    r"(?:decided|settled|agreed|chose)\b"
    r"|\bis (?:responsible for|in charge of|owned by)\b|entschieden|beschlossen|决定|选定|に決め|负责",
    re.I,
)
# How a thing is set: "The API timeout of Heron is 300 ms", "We deploy Heron every Monday".
_SET = re.compile(
    rf"^{_THING}{_IS}\b(?! (?:\w+ing|going|been)\b).*{_VALUE}|^{_WE_DO}\b.*{_VALUE}"
    r"|(?:是|在|为|端口|超时|预算).*\d|(?:は|が).*\d.*(?:です|ます)"
    r"|\b(?:beträgt|läuft auf|liegt unter|ist am)\b.*\d"
)
_RUN = re.compile(
    rf"^{_THING}(?:is|are) (?:run|built|deployed|started|tested|released|installed)"
    r" (?:with|by|through|via|using|from) \S"
    r"|\b(?:fixed|solved) (?:it|the|this|that)\b|\b(?:root cause|caused by)\b"
)
_PAST = re.compile(
    r"\b(?:was|were|had|went|got|came|made|took|said|told|used to|(?:has|have) (?:recently|now|already)"
    r"|\w{3,}(?<!ne)ed (?:the|a|an|my|our|their|to|for|it))\b|了（|ました"
)
_BEGINS = re.compile(r"^\s*[-*+] (?:[^:“„«「\"]{1,40}: ?(?=[“„«「\"]))?")  # the bullet, and who says it


def lasting(line: str) -> bool:
    """Return whether a line of memory states who the user is, what was decided or found out, or how a thing is set."""
    text = without_said_on(_BEGINS.sub("", line)).strip(' "“”„«»「」')
    if len(text) > LONGEST:
        text = _CLAUSE.split(text, maxsplit=1)[0][:LONGEST]
    if _IDENTITY.match(text) or _STATE.match(text) or _DECIDED.search(text) or _RUN.search(text):
        return True
    return _SET.search(text) is not None and _PAST.search(text) is None


LINE = 40  # characters that a line costs beyond its own: a file is bound in lines as well as in bytes
SMALL = 5  # lines of a section that it keeps while there are others
POINTER_LINES, POINTER_BYTES = 2, 110  # at most, of the line that is left behind, with the blank one before it
_HEADING = re.compile(r"(#{1,6})\s")
_MOVED = re.compile(r"^- (\d+) older lines are in (memory/archive/\S+\.md)(?: to \S+\.md)?\s*$")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A file that fits, and the lines that moved out of it, by archive file."""

    text: str
    moved: tuple[str, ...]
    archive: str


def fit(
    file: MemoryFile,
    before: str,
    text: str,
    keep: frozenset[str],
    settings: Settings,
    day: date,
    recent: Callable[[], Set[str]] = frozenset,
) -> Fitted | None:
    """Move out of `text` what tells least until it fits; None when it fits as it is.

    Headings that nothing stands below go first, and nothing is moved where that is enough. Other headings and lines
    in `keep` (a person's) stay where they are. List lines go before prose, `recent` ones, of the days before, only
    where there are no others, lines that this dream wrote only where they alone are too many, and what `lasting`
    tells (who the user is, decisions, values) last.
    """
    max_lines, max_bytes = settings.limits(file)
    here = text.splitlines(keepends=True)
    if _fits(here, (max_lines, max_bytes)):
        return None
    archive = f"memory/archive/{file.removeprefix('memory/').removesuffix('.md')}-{day:%Y-%m}.md"
    here = _without_empty(here, keep)
    if _fits(here, (max_lines, max_bytes)):
        return Fitted("".join(here), (), archive)
    room = max_lines - POINTER_LINES, max_bytes - POINTER_BYTES
    last = keep | {line.rstrip() for line in here if lasting(line)}
    new = set(added(before, text))
    moved = _move(here, room, last | new | recent())
    moved += _move(here, room, last | new)
    if _fits([line for line in here if not _may_go(line, keep)], room):
        moved += _move(here, room, last)
        moved += _move(here, room, keep)
        moved += _move(here, room, keep, prose=True)
    if not moved:
        return None
    return Fitted(_with_pointer("".join(here), len(moved), archive), tuple(moved), archive)


def archived(earlier: str, fitted: Fitted, day: date) -> str:
    """Return the archive file's text with the moved lines added under the day."""
    head = earlier if earlier.strip() else "# Moved out of memory\n"
    return f"{head.rstrip()}\n\n## {day.isoformat()}\n\n" + "\n".join(fitted.moved) + "\n"


def _without_empty(here: Sequence[str], keep: Set[str]) -> list[str]:
    """Return the lines without the headings that nothing stands below, and without two blank lines in a row."""
    kept: list[str] = []  # from the last line backwards
    below = ""  # the nearest line that is not blank
    for line in reversed(here):
        level = _level(line)
        if level > 1 and line.rstrip() not in keep and (not below or 0 < _level(below) <= level):
            continue
        kept.append(line)
        below = line if line.strip() else below
    kept.reverse()
    return [line for line, before in zip(kept, ["", *kept], strict=False) if line.strip() or before.strip()]


def _level(line: str) -> int:
    """Return the level of a heading, 0 for any other line."""
    match = _HEADING.match(line)
    return len(match[1]) if match else 0


def _fits(here: Sequence[str], room: tuple[int, int]) -> bool:
    return len(here) <= room[0] and _size(here) <= room[1]


def _size(here: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8")) for line in here)


def _move(here: list[str], room: tuple[int, int], stay: Set[str], *, prose: bool = False) -> list[str]:
    """Take list items, or with `prose` any line, out of `here` until it fits, each with its indented further lines."""
    order = _last_first(here, _sections(here, stay, prose=prose))
    lines, size = len(here), _size(here)
    gone: list[range] = []
    while (lines > room[0] or size > room[1]) and order:
        gone.append(order.pop(0))
        lines, size = lines - len(gone[-1]), size - _size(here[gone[-1].start : gone[-1].stop])
    moved = [here[place].rstrip() for item in sorted(gone, key=lambda item: item.start) for place in item]
    here[:] = _without(here, gone)
    return moved


def _without(here: Sequence[str], gone: Sequence[range]) -> list[str]:
    places = {place for item in gone for place in item}
    return [line for place, line in enumerate(here) if place not in places]


def _sections(here: Sequence[str], stay: Set[str], *, prose: bool) -> list[list[range]]:
    """Return the places of what may go from each section."""
    sections: list[list[range]] = [[]]
    for place, line in enumerate(here):
        if line.startswith("#"):
            sections.append([])
        elif _may_go(line, stay, item=None if prose else True):
            sections[-1].append(range(place, _end(here, place, stay)))
    return sections


def _last_first(here: Sequence[str], sections: Sequence[Sequence[range]]) -> list[range]:
    """Return the places of what may go, what tells least first, wherever it stands; of small sections last of all."""
    large = [item for section in sections if len(section) > SMALL for item in section]
    small = [item for section in sections if len(section) <= SMALL for item in section]
    return [*_best_first(here, large)[::-1], *_best_first(here, small)[::-1]]


def _end(here: Sequence[str], place: int, stay: Set[str]) -> int:
    end = place + 1
    while end < len(here) and here[end].startswith((" ", "\t")) and _may_go(here[end], stay, item=False):
        end += 1
    return end


def _best_first(here: Sequence[str], items: Sequence[range]) -> list[range]:
    """Return the places of what tells most first; of two that tell the same the later one."""
    items = items[::-1]
    inside = {place for item in items for place in item}
    beside = [line for place, line in enumerate(here) if place not in inside]
    texts = ["".join(here[item.start : item.stop]) for item in items]
    return [items[number] for number in ranked(texts, beside=beside, line=LINE)]


def _may_go(line: str, stay: Set[str], *, item: bool | None = None) -> bool:
    """Return whether `line` may leave; with `item`, only a list item, or only what is none."""
    fixed = not line.strip() or line.startswith("#") or line.rstrip() in stay or _MOVED.match(line)
    return not fixed and item in {None, line.lstrip().startswith(("- ", "* "))}


def _with_pointer(text: str, count: int, archive: str) -> str:
    """Leave one line that says where the moved ones are; what an earlier one told of is counted in it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first = archive
    kept: list[str] = []
    for line in text.splitlines():
        if earlier := _MOVED.match(line):
            count, first = count + int(earlier[1]), min(first, earlier[2])
            if kept and not kept[-1].strip():
                kept.pop()
        else:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    until = "" if first == archive else f" to {archive.rpartition('/')[2]}"
    return newline.join([*kept, "", f"- {count} older lines are in {first}{until}", ""])
