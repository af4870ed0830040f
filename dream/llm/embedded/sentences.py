"""Cut a message into sentences, without code, markup, quoted or recalled text and trailing artefacts."""

from __future__ import annotations

import re

from dream.llm.embedded.words import CJK

MOST = 40_000  # characters read of one message; what a person says is shorter, and pasted text is not memory
ENDING = 60  # characters at a line's end where an artefact is looked for
LONGEST = 320  # characters of one sentence; longer ones are cut at a clause

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_BLOCK = re.compile(
    r"<([a-z][\w-]*(?:memor|recall|reminder|context|document|instruction|history|dream)[\w-]*"
    r"|memor(?:y|ies)[\w-]*|recalled|context|document|system|quote|blockquote|tool_result|file|findings|pasted[\w-]*)"
    r"\b[^>\n]*>.*?(?:</\1>|\Z)",
    re.I | re.S,
)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_ARTEFACT = re.compile(r"\s*(?:[-=]+>\s*)+[\d,.\s]*$")
_MARKUP = re.compile(r"\*\*|__|`(?=[^`\n]*`)|(?<=[^`\n])`")
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd\ud800-\udfff"
                  r"\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]")  # fmt: skip
_SMILEY = re.compile(
    r"(?<=\w) ?[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?(?= +[A-Z])"
)  # ends a sentence as a full stop does
_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_])|(?<=[。！？；])\s*|\s+[-–—]{1,2}\s+(?=(?:I|we|my)\b)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|e\.g|i\.e|No|approx|Inc|Ltd|a\.m|p\.m|[A-Z])|(?i:\b(?:am|vom|zum|bis|der|den|dem|seit) \d{1,2}))\.$"
)
_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:[$%]\s|at \S+[(:]|File \"|import \w+|from \S+ import|def |class \w+[(:]|const |let \w+ =|var \w+ =|\w+\(\S*$)"
)
_CODELIKE = re.compile(r"=>|==|!=|&&|\|\||\(\)|\w\.\w+\(|</|\S{60,}")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_CLAUSE = re.compile(
    rf"(?<=[,;])\s+(?=(?:and|but|so|because|which|while|although|though)\b)|(?<=[，；])(?=[{CJK}])|(?<=;)\s+"
)


def cleaned(text: str) -> str:
    """Return the prose of a message: no code, no recalled or pasted blocks, no markup, no control characters."""
    text = text[:MOST].replace("\r\n", "\n").replace("\r", "\n").replace("’", "'")
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    if "<" in text:
        text = _TAG.sub("", _BLOCK.sub("\n", text))
    text = _LINK.sub(r"\1", _ODD.sub("", _SMILEY.sub(".", text)))
    return _MARKUP.sub("", text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a message's prose, in order, each on one line."""
    found: list[str] = []
    for raw in _unwrapped(cleaned(text)):
        line = (raw[:-ENDING] + _ARTEFACT.sub("", raw[-ENDING:])).strip()
        if not line or line.startswith((">", "|", "#")) or _CODE.search(line):
            continue
        found += _split(_ITEM.sub("", line))
    return found


def _unwrapped(text: str) -> list[str]:
    """Join lines that a narrow editor broke inside a sentence."""
    lines: list[str] = []
    for line in text.split("\n"):
        joins = lines and len(lines[-1]) > 55 and re.search(r"[a-z,]$", lines[-1]) and re.match(r"[a-z]", line)
        if joins:
            lines[-1] += " " + line
        else:
            lines.append(line)
    return lines


def _split(line: str) -> list[str]:
    parts: list[str] = []
    for part in _END.split(line):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + part
        elif part.strip():
            parts.append(part.strip())
    return [piece for part in parts for piece in _shortened(part) if not _codelike(piece)]


def _codelike(sentence: str) -> bool:
    """Say whether a sentence is mostly code: a sign of it for every eight words."""
    return 8 * len(_CODELIKE.findall(sentence)) > len(sentence.split())


def _shortened(sentence: str) -> list[str]:
    """Cut a sentence that is too long at clauses; a piece that stays too long is left out."""
    if len(sentence) <= LONGEST:
        return [sentence]
    pieces: list[str] = []
    for clause in _CLAUSE.split(sentence):
        if pieces and len(pieces[-1]) + len(clause) < LONGEST:
            pieces[-1] += " " + clause
        else:
            pieces.append(clause)
    return [piece.strip(" ,;，；") for piece in pieces if len(piece) <= LONGEST]
