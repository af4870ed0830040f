"""What of a message its speaker says themselves: not code, logs, mail, pages and texts that they paste or quote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dream.language.tongue import Tongue, plain

_FENCED = re.compile(r"(`{3,}|~{3,})[^\n]*\n.*?(?:\1|\Z)|(`{3,}).*?(?:\2|\Z)", re.DOTALL)
# What stands in tags, a page for example. Without its end a tag goes on to the text's, but not one within a word: in
# "branches are gt-<number>" it is a place for something.
TAGGED = re.compile(
    r"<([A-Za-z][\w-]{0,40})\b[^<>\n]{0,200}>.{0,20000}?</\1>|<!--.*?(?:-->|\Z)"
    r"|(?<![\w=/.-])<[A-Za-z][\w-]{0,40}\b[^<>\n]{0,200}>.{0,20000}?\Z",
    re.DOTALL,
)
_MAIL = re.compile(
    r"^\s*(?:<\|\w+\|>.*|-{3,}.*(?:message|nachricht|mensaje|forward|weitergeleitet|transf).*|begin forwarded message.*"
    r"|(?:from|subject|to|von|betreff|an|de|objet|à|asunto|para|发件人|主题|收件人|差出人|件名|宛先)\s*[:：]\s*\S.*)$",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"^\s*(?:>|\||[$#%]\s\S|\[?\d{2,4}[-/:.]\d\d[-/:.T ]\d\d|at\s+[\w.$<>]+\(|File \"|Traceback|[+-]{3}\s|@@|diff --git"
    r"|\{|\}|\[(?:info|warn|error|debug)|(?:error|warn(?:ing)?|info|fatal|debug)\b[:\s\[]|import \w|from \w+ import|def \w"
    r"|class \w+[:(]|(?:const|let|var) \w|function\b|return\b|SELECT\b|INSERT\b|UPDATE \w+ SET|CREATE TABLE|</?\w+>)",
)
# What somebody only imagines, dreams or plays is nothing they claim; "if I ask, I'd like you to …" is a wish.
_SUPPOSED = re.compile(
    r"\b(?:i dream(?:t|ed)|dream(?:t|ed) (?:last night|that)|imagine|suppos(?:e|ing)|hypothetically|let'?s (?:say (?:(?:i|we|you|he|she|they|it|there|that|my|our|the)\b|,)|pretend|play)|pretend"
    r"|if i (?:were|was)"
    r"|wish i (?:was|were|had)|geträumt|stell dir vor|angenommen|ach wär|wenn ich .{0,30}wäre|imag[ií]na\w*|supongamos|si (?:yo )?fuera|supposons"
    r"|si j'étais|j'ai rêvé|soñé)\b|假如|假设|要是我|如果我是|梦见|梦到|もし私|夢を見|夢で",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[^\w\s,.!?'’\"，。！？、：:()（）-]")
_COLON = re.compile(r"[:：]\s*$")
_ENDED = re.compile(r"[.!?…]\s+|[。！？]")
_SAME_LINE = re.compile(r"[:：]\s+(?=\S)")


def own(text: str, known: Tongue) -> str:
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
    return _SUPPOSED.search(sentence) is not None


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
        if _MAIL.match(line):
            skipping = "all"
            yield 0
            continue
        keep, skipping = _announced(line, known)
        yield keep


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
