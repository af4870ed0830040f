"""What of a message its speaker says themselves, and what of a sentence carries nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache

from dream.embedded.tongue import Tongue
from dream.provenance import cues
from dream.provenance.voice import TAGGED
from dream.text.sentences import LEAST
from dream.text.tongues import plain

_JUNK = re.compile(r"[\s,.;:!?…，。；：！？、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+")
_BACK_JUNK = re.compile(r"[\s,.;:!…，。；：！、~～\-–—☺-⟿⤀-⯿️\U0001f000-\U0001faff‍^]+$")
_SMILEY = re.compile(r"(?:^|\s)(?:[:;=][-']?[)(DPp/|\\]|<3|\^\^|xD|XD)+\s*$")
_NAME = re.compile(r"[A-ZÀ-Þ][\w’'-]{1,24}(?: [A-ZÀ-Þ][\w’'-]{1,24})?[,!.:]\s")
_CLAUSE = re.compile(r"[,，、;；]\s*|\s[-–—]+\s|[.!。！]\s+|\(")


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
