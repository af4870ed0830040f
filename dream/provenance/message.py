"""What of a message is the user's own: not the code, quotations, documents and reports that they paste into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from dream.language import quoting
from dream.language.tongue import guess, tongue
from dream.provenance.cues import CHAT, EXAMPLE, HEARSAY

PASTED_CHARS = 2_000  # a longer message, code left out, holds pasted material
_FENCED = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]{0,40})\b[^<>\n]{0,200}>.{0,20000}?(?:</\1>|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"(?<![\w’'])['‘‚]((?:[^'’‘\n]|(?<=\w)['’](?=\w)){12,400})['’‘](?!\w)|“([^”]{0,4000})”|\"([^\"]{0,4000})\"|«([^»]{0,4000})»|「([^」]{0,4000})」|『([^』]{0,4000})』"
)
_SHORT_QUOTE = 24  # characters: a name or a word, not somebody's sentence
# From here on a message is another document: a forwarded mail, a pasted chat, a rule across the page.
_DOCUMENT = re.compile(
    r"^\s*(?:[-=_*]{3,}.*|(?:from|subject|to|date|von|betreff|发件人|主题)\s*[:：].*|begin forwarded message.*"
    r"|[>|].*|\[?#?\d*\]?\s*(?:system|assistant|user|human|tool|developer|ai|bot|function)\b[^:\n]{0,40}[:：].*|\[\w+\].*)$",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"^\s*(?:-{3,}.*|(?:from|subject|von|betreff|发件人|主题)\s*[:：].*|begin forwarded message.*"
    r"|(?:\[\d+\] .*)?(?:system|assistant|user|human)\b[^:\n]{0,40}[:：].*)$",
    re.IGNORECASE,
)
# Asks for work on the text that follows.
_WORK_ON = re.compile(
    r"\b(?:summari[sz]e|translate|proofread|rewrite|paraphrase|read this|look at this)\b|总结|翻译|改写|润色",
    re.IGNORECASE,
)
# A line that ends so announces what follows; it is the user's only where they announce their own rules.
_ANNOUNCES = re.compile(r"[:：]\s*$")
_OWN_RULES = re.compile(
    r"\b(?:my|these|some|few|house|ground) (?:\w+ ){0,2}(?:rules|preferences|wishes)\b|\bremember\b|\bfrom now on\b"
    r"|记住|以后|从现在",
    re.IGNORECASE,
)
_ABOUT_A_TEXT = re.compile(
    r"\b(?:summari[sz]e|translate|review|explain|read|check|proofread|rewrite|fix|analy[sz]e|page|article|e?-?mail|document"
    r"|file|log|output|error|message|post|comment|ticket|issue|below|following|says?|wrote|found|got)\b"
    r"|总结|翻译|解释|网页|文章|邮件|文件|日志|下面|以下",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:says?|said|saying|wrote|writes|written|told|tells|claim(?:s|ed)|states|stated|according to|reads"
    r"|quot(?:e|es|ed|ing)"
    r"|instructs|instructed|recommends|suggests|mentions|demands|insists)\b"
    r"|(?<![我再跟先要来话不会你])(?<!我刚)说(?![一话])|写道|写着|写的|根据|(?<![数证占收单票凭])据(?![说库])|声称|要求(?:你|我|助手)|提到",
    re.IGNORECASE,
)
_OWN_REPORT = re.compile(
    r"\b(?:i|i've|i have|as i) (?:just |already |also )?(?:said|told|wrote|mentioned|meant|say)\b", re.IGNORECASE
)
_CONDITION = re.compile(r"^\W*(?:(?:and|so|but) )?(?:if|when|whenever|once|as soon as)\b", re.IGNORECASE)
_CUT_OUT = "\ufffc"  # where somebody else's sentence stood
_REQUEST = re.compile(r"^(?:\w+[, ]+){0,2}?(?:can|could|would|will) you\b|请|麻烦|能不能|可以.{0,12}吗", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")


@lru_cache(maxsize=4096)
def own(text: str) -> tuple[str, ...]:
    """Return the sentences of a user message that are the user's own, in order."""
    text = _TAGGED.sub("\n", _FENCED.sub("\n", text))
    if len(text) > PASTED_CHARS:
        return ()
    kept: list[str] = []
    text = quoting.own(text, tongue(guess(text) or "en"))
    for line in _own_lines(_QUOTED.sub(_short, text)):
        sentences = [sentence for sentence in _SENTENCE.split(line) if sentence and sentence.strip()]
        kept += [sentence for sentence in sentences if _is_own(sentence)]
    return tuple(kept)


def foreign(text: str) -> str:
    """Return of a user message the sentences that are not the user's own, each quotation of a sentence with them."""
    mine = {"".join(sentence.split()) for sentence in own(text)}
    parts = (part for line in text.split("\n") for part in _SENTENCE.split(line) if part)
    return "\n".join([*(part for part in parts if "".join(part.split()) not in mine), *quotations(text)])


def quotations(text: str) -> list[str]:
    """Return the quotations in `text` that are longer than a name: somebody else's sentences."""
    inside = (next(group for group in found.groups() if group is not None) for found in _QUOTED.finditer(text))
    return [words for words in inside if len(words) > _SHORT_QUOTE]


def typed(text: str) -> str:
    """Return what a user seems to have typed: all but code, markup, quotations, and documents that follow."""
    kept: list[str] = []
    for line in _QUOTED.sub(_short, _TAGGED.sub("\n", _FENCED.sub("\n", text))).split("\n"):
        if _FORWARDED.match(line) or (_ANNOUNCES.search(line) and _WORK_ON.search(line)):
            break
        if not line.lstrip().startswith(">"):
            kept.append(line)
    return "\n".join(kept)


def _own_lines(text: str) -> Iterator[str]:
    skipping = False
    lines = text.split("\n")
    chatting = {line for line in lines if (found := CHAT.match(line)) and not _OWN_RULES.search(found[1])}
    for line in lines:
        if _DOCUMENT.match(line):
            return
        if len(chatting) > 1 and line in chatting:
            continue
        if not line.strip():
            continue
        if skipping or line.startswith(("    ", "\t")):
            continue
        if _ANNOUNCES.search(line):
            skipping = _ABOUT_A_TEXT.search(line) is not None or _OWN_RULES.search(line) is None
            continue
        yield line


def _short(found: re.Match[str]) -> str:
    inside = next(group for group in found.groups() if group is not None)
    before = found.string[max(0, found.start() - 30) : found.start()]
    named = len(inside) <= _SHORT_QUOTE or EXAMPLE.search(before) or _OWN_REPORT.search(before)
    return f" {found[0]} " if named and "\n" not in inside else f" {_CUT_OUT} "


def _is_own(sentence: str) -> bool:
    if _REPORTED.search(sentence) and not _OWN_REPORT.search(sentence) and not _CONDITION.match(sentence):
        return False
    if _CUT_OUT in sentence or quoting.is_supposed(sentence) or HEARSAY.search(sentence):
        return False
    lead = re.match(r"(.{0,120}?)[:：]\s+\S.{60}", sentence)
    if lead and _ABOUT_A_TEXT.search(lead[1]) and not _OWN_RULES.search(lead[1]):
        return False
    asks = sentence.rstrip().endswith(("?", "？"))
    return not asks or _REQUEST.search(sentence) is not None
