"""Sentences of a message: cut out as they stand there, trimmed at their ends, never rewritten; and whose they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from dream.language import cues
from dream.language.tongue import WIDE, Tongue, plain

LONG = 240  # characters of a sentence that is still easy to read as a line
LEAST = 16  # characters of a part that a long sentence is cut into

_END = re.compile(rf"[.!?…]+[)\"”’»\]]*(?=\s|$|[{WIDE}])|[。！？；]+[」』”）)]*|(?<=\S)\s+(?=\d{{1,2}}\)\s)|;\s|\n")
_CLOSERS = frozenset(')"”’»]')
_QUOTED = re.compile(r"“[^”\n]{0,600}”|\"[^\"\n]{0,600}\"|«[^»\n]{0,600}»|„[^“”\n]{0,600}[“”]|「[^」\n]{0,600}」|『[^』\n]{0,600}』|`[^`\n]{1,200}`")  # fmt: skip
_MARK = re.compile(
    r"\s*(?:[-*•+–]\s+|(?:\d{1,2}|[a-z])[.)、]\s+|\d{1,2}[、.](?=\D)|[(（]\d{1,2}[)）]\s*|#{1,6}\s+|>\s*)"
)
_JUNK = re.compile(r"[\s,.;:!?…，。；：！？、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+")
_BACK_JUNK = re.compile(r"[\s,.;:!…，。；：！、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+$")
_SMILEY = re.compile(r"(?:^|\s)(?:[:;=][-']?[)(DPp/|\\]|<3|\^\^|xD|XD)+\s*$")
_NAME = re.compile(r"[A-ZÀ-Þ][\w’'-]{1,24}(?: [A-ZÀ-Þ][\w’'-]{1,24})?[,!.:]\s")
_INLINE = re.compile(r"\s*\d{1,2}\)\s+")
_CLAUSE = re.compile(r"[,，、;；]\s*|\s[-–—]+\s|[.!。！]\s+|\(")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it stands in a text: `text[start:end]`, its blanks made one. `intro` is what its list is under.

    `paragraph` counts the blocks of the text between blank lines.
    """

    text: str
    start: int
    end: int
    intro: str = ""
    item: bool = False
    paragraph: int = 0


def sentences(text: str) -> list[Sentence]:
    """Cut `text` into its sentences; a quotation is not cut, and an item of a list is one of its own."""
    found: list[Sentence] = []
    intro, paragraph, offset, listed = "", 0, 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            paragraph += 1
            intro = intro if listed is False else ""
        else:
            mark = _MARK.match(line)
            listed = mark is not None
            if not listed and not bare.endswith((":", "：")):
                intro = ""
            inside = [
                Sentence(part, start + offset, end + offset, intro if listed else "", listed, paragraph)
                for part, start, end in _cut(line, mark.end() if mark else 0)
            ]
            found += inside
            if bare.endswith((":", "：")) and inside:
                intro = inside[-1].text
        offset += len(line) + 1
    return found


def _cut(line: str, begin: int) -> Iterator[tuple[str, int, int]]:
    quoted = [] if _QUOTES.isdisjoint(line) and "`" not in line else [found.span() for found in _QUOTED.finditer(line)]
    start = begin
    for end in _ENDS(line):
        if any(one < end < other for one, other in quoted) or end <= start:
            continue
        if _goes_on(line, start, end):
            continue
        yield from _parts(line, start, end)
        start = end
    if start < len(line):
        yield from _parts(line, start, len(line))


def _ENDS(line: str) -> Iterator[int]:  # noqa: N802
    for match in _END.finditer(line):
        yield match.end()


def _goes_on(line: str, start: int, end: int) -> bool:
    """Return whether a full stop belongs to an abbreviation, an ordinal or an initial."""
    said = line[start:end]
    after = line[end : end + 12].lstrip()
    if said[-1] in _CLOSERS and after[:1].islower():
        return True  # the exclamation is a part of the sentence: leave out the "Sure!" at the beginning
    if not said.endswith(".") or said.endswith(".."):
        return False
    before = said[:-1]
    if cues.ends("abbreviated", before) or re.search(r"(?:^|\s)[A-ZÀ-Þ]$", before):
        return True
    return re.search(r"(?:^|\D)\d{1,2}$", before) is not None and (after[:1].islower() or after[:3].isalpha())


def _parts(line: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield one sentence, or the clauses of one that is too long to be read in a line."""
    said = line[start:end]
    if label := _INLINE.match(said):
        start, said = start + label.end(), said[label.end() :]
    text = " ".join(said.split())
    if not text or not any(character.isalnum() for character in text):
        return
    if len(text) <= LONG:
        yield text, start, end
        return
    begin, last = 0, -1
    for match in re.finditer(
        rf",\s|[，；]|\s[-–—]+\s|[)）]\s|(?<=[{WIDE}])\s|\s(?=(?:and|but|und|aber|et|mais|y|pero)\s)", said
    ):
        if match.end() - begin > LONG * 2 // 3 and last > begin + LEAST:
            yield " ".join(said[begin:last].split()), start + begin, start + last
            begin = last
        last = match.end()
    while len(said) - begin > 2 * LONG:
        cut = said.rfind(" ", begin + LEAST, begin + LONG)
        cut = cut if cut > 0 else begin + LONG
        yield " ".join(said[begin:cut].split()), start + begin, start + cut
        begin = cut
    if rest := " ".join(said[begin:].split()):
        yield rest, start + begin, end


_QUOTES = frozenset("“\"«„「『'‘‚")


def quoted_share(text: str) -> float:
    """Return the share of `text` that stands in quotation marks, those of names and single words left out."""
    inside = sum(len(found[0]) for found in _quotations(text) if len(found[0]) > 18)
    return inside / max(1, len(text))


_SINGLE = re.compile(r"(?<![\w’'])['‘‚](?:[^'’‘\n]|(?<=\w)['’](?=\w)){12,400}['’‘](?!\w)")


def _quotations(text: str) -> Iterator[re.Match[str]]:
    if _QUOTES.isdisjoint(text):
        return
    for found in _QUOTED.finditer(text):
        if not found[0].startswith("`"):
            yield found
    yield from _SINGLE.finditer(text)


def trimmed(text: str, known: Tongue) -> str:
    """Return `text` without what carries nothing at its ends: "ok so", greetings, thanks, a question that it ends in."""
    text = _without_request(_front(text, known), known)
    before = ""
    while text != before:
        before = text
        text = _SMILEY.sub("", text)
        if not text.endswith("?") and not text.endswith("？"):
            text = _BACK_JUNK.sub("", text)
        text = _without_end(text, known)
    return text.strip()


def without_names(text: str, names: Collection[str]) -> str:
    """Return `text` without the name of somebody who is spoken to, at its beginning or its end: "Thanks, Mel"."""
    for name in names:
        for one in {name, name[:3]} if len(name) > 4 else {name}:
            text = re.sub(rf"^{re.escape(one)}\w*[,!.:]\s+", "", text)
            text = re.sub(rf",\s+{re.escape(one)}\w*[\s!.]*$", "", text)
    return text


def _front(text: str, known: Tongue) -> str:
    before = ""
    while text != before:
        before = text
        if match := _JUNK.match(text):
            text = text[match.end() :] if match.end() < len(text) and not _tied(text, match.end()) else text
        text = _without_filler(text, known)
    return text


def _tied(text: str, at: int) -> bool:
    """Return whether the sign before `at` belongs to what follows: -v, .env, ~/x."""
    return text[at - 1] in "-.~" and not text[at].isspace() and not text[at].isupper()


def _without_filler(text: str, known: Tongue) -> str:
    low = text[:40].lower().replace("’", "'")
    for filler in filter(low.startswith, known.front):
        rest = text[len(filler) :]
        if not rest:
            return text
        if rest[0] in ",.!?:;…–，。！：；、":
            return rest[1:].lstrip()
        loose = (len(filler) <= 3 and filler != "si") or " " in filler or filler in known.loose  # "si" is "if"
        if rest[0].isspace() and loose:
            rest = rest.lstrip()
            name = _NAME.match(rest)
            return rest[name.end() :] if name and filler in known.greets else rest
        if known.wide and len(filler) >= 2 and filler in known.loose:
            return rest
    return text


def _without_end(text: str, known: Tongue) -> str:
    low = text[-40:].lower()
    for filler in filter(low.endswith, known.back):
        if len(text) > len(filler) + 3:
            before = text[: -len(filler)]
            if known.wide or before[-1] in ",.!;，。 ":
                wordlike = known.wide or before[-1] != " " or filler in known.polite
                if wordlike and not (known.wide and before[-1] not in "，。,. !！～" and len(filler) < 2):
                    return before
    return text


def _without_request(text: str, known: Tongue) -> str:
    """Cut off a question at the end that only asks for help with what the sentence states before it."""
    if not text.rstrip().endswith(("?", "？")):
        return text
    best = text
    for match in _CLAUSE.finditer(text):
        rest = plain(text[match.end() :])
        if match.start() < LEAST // (2 if known.wide else 1):
            continue
        for lead in (" and ", " so ", " but ", " also ", " und ", " et ", " y "):
            rest = rest.removeprefix(lead) if not rest.startswith(lead) else " " + rest.removeprefix(lead)
        if any(rest.startswith(one) if not known.wide else rest.strip().startswith(one) for one in known.request):
            best = text[: match.start()]
            break
    return best


# What of a message its speaker says themselves: not code, logs, mail, pages and texts that they paste or quote.

_FENCED = re.compile(r"(`{3,}|~{3,})[^\n]*\n.*?(?:\1|\Z)|(`{3,}).*?(?:\2|\Z)", re.DOTALL)
# What stands in tags, a page for example. Without its end a tag goes on to the text's, but not one within a word: in
# "branches are gt-<number>" it is a place for something.
TAGGED = re.compile(
    r"<([A-Za-z][\w-]{0,40})\b[^<>\n]{0,200}>.{0,20000}?</\1>|<!--.*?(?:-->|\Z)"
    r"|(?<![\w=/.-])<[A-Za-z][\w-]{0,40}\b[^<>\n]{0,200}>.{0,20000}?\Z",
    re.DOTALL,
)
_MACHINE = re.compile(
    r"^\s*(?:>|\||[$#%]\s\S|\[?\d{2,4}[-/:.]\d\d[-/:.T ]\d\d|at\s+[\w.$<>]+\(|File \"|Traceback|[+-]{3}\s|@@|diff --git"
    r"|\{|\}|\[(?:info|warn|error|debug)|(?:error|warn(?:ing)?|info|fatal|debug)\b[:\s\[]|import \w|from \w+ import|def \w"
    r"|class \w+[:(]|(?:const|let|var) \w|function\b|return\b|SELECT\b|INSERT\b|UPDATE \w+ SET|CREATE TABLE|</?\w+>)",
)
_SIGN = re.compile(r"[^\w\s,.!?'’\"，。！？、：:()（）-]")
_COLON = re.compile(r"[:：]\s*$")
_ENDED = re.compile(r"[.!?…]\s+|[。！？]")
_SAME_LINE = re.compile(r"[:：]\s+(?=\S)")


def own_words(text: str, known: Tongue) -> str:
    """Return `text` of the same length with blanks in place of all that is not the speaker's own words."""
    text = TAGGED.sub(_blank, _FENCED.sub(_blank, text))
    lines = text.split("\n")
    mine = list(_own_lines(lines, known))
    return "\n".join(
        line if keep == len(line) else line[:keep] + " " * (len(line) - keep)
        for line, keep in zip(lines, mine, strict=True)
    )


def is_supposed(sentence: str) -> bool:
    """Return whether a sentence tells what is only imagined, dreamt or played."""
    return cues.says("imagined", sentence)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _own_lines(lines: list[str], known: Tongue) -> Iterator[int]:
    """Yield of each line how many of its characters are the speaker's own, from its beginning."""
    skipping = ""  # until a blank line, or to the end
    blank = False
    for line in lines:
        bare = line.strip()
        if not bare:
            if skipping == "paragraph" and not blank:
                skipping = ""  # what follows is the speaker's again
            blank = True
            yield len(line)
            continue
        if skipping == "all" and blank and _returns(line, known):
            skipping = ""
        blank = False
        if skipping or _MACHINE.match(line) or _is_machine(line):
            yield 0
            continue
        if _mail().match(line):
            skipping = "all"
            yield 0
            continue
        keep, skipping = _announced(line, known)
        yield keep


@cache
def _mail() -> re.Pattern[str]:
    """Return what finds a line with which a mail begins."""
    return re.compile(
        r"^\s*(?:<\|\w+\|>.*|-{3,}.*(?:message|nachricht|mensaje|forward|weitergeleitet|transf).*|begin forwarded message.*"
        rf"|(?:{'|'.join(cues.rows('mail_field'))})\s*[:：]\s*\S.*)$",
        re.IGNORECASE,
    )


def _announced(line: str, known: Tongue) -> tuple[int, str]:
    """Return how much of a line is the speaker's own, and what of the lines below it is not."""
    said = plain(line)
    works, reports = known.has("work", said), known.has("said", said)
    if _COLON.search(line):
        return len(line), "all" if works else "paragraph" if reports else ""
    if works or reports:
        for colon in _SAME_LINE.finditer(line):
            begins = max((end.end() for end in _ENDED.finditer(line, 0, colon.start())), default=0)
            before = plain(line[begins : colon.start()])
            if known.has("work", before) or known.has("said", before):
                return begins, "all" if known.has("work", before) else ""
    return len(line), ""


def _returns(line: str, known: Tongue) -> bool:
    """Return whether a line after pasted text is the speaker's again: it begins as people go on talking."""
    first = line.strip().lower()
    return any(first.startswith(one) for one in known.front if len(one) > 1) and len(first) < 300


def _is_machine(line: str) -> bool:
    """Return whether a line is more signs than words."""
    bare = line.strip()
    return len(bare) > 12 and len(_SIGN.findall(bare)) > 0.22 * len(bare)
