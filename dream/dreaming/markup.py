"""Detect text that no line of memory may contain: tracking links, forged sections, hidden text, orders. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from dream.provenance import cues
from dream.text.safe import quoted

# ruff: noqa: E501 - a pattern is not cut in two


LONGEST_HEADING = 80  # characters
LONGEST_LABEL = 40  # characters between two dots of a host
LONGEST_QUERY = 120  # characters after the `?` of an address


FlawName = Literal["link", "section", "heading", "look-alike", "encoded"]
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]+\1(?!`)")  # code spans, which are not rendered
_IMAGE = re.compile(r"!\[[^\]\n]*\]\s*[\[(]|^\s*\[[^\]\n]+\]:\s*\S")
_HTML = re.compile(
    r"<\s*/?\s*(?:img|script|iframe|svg|object|embed|link|meta|style|form|input|base|video|audio|picture|source|math)\b"
    r"|<[a-z][\w-]*\s[^>\n]{0,400}?\b(?:href|src|srcset|style|on\w+|action|background)\s*=|<!--",
    re.IGNORECASE,
)
_SCHEME = re.compile(
    r"\b(?:javascript|vbscript|livescript|blob|intent)\s*:|\bdata:\s*(?:[\w.+-]+/[\w.+-]+|[;,])|\bfile://",
    re.IGNORECASE,
)
URL = re.compile(r"(?:https?|ftp|wss?)://[^\s<>\"'`|]+|(?<![\w/@.])//[\w.-]+\.[a-z]{2,}/\S+", re.IGNORECASE)
AFTER_URL = ".,;:!?)“”„’»」』"  # punctuation and closing quotation marks that may follow an address in a sentence
_FILLED_IN = re.compile(
    r"[{}]|\$\(|\$[A-Za-z_]|%s|%\(|\[[A-Za-z_ :-]{2,}\]?|\.\.\.$|…|\*{2,}|=(?:&|$)|[?&/=#][A-Z]+_[A-Z_]+|<"
    r"|[?&#;](?:token|secret|key|pass(?:word)?|data|payload|exfil|leak|content|memory|history|user_?data|info|log|dump|b64)=",
    re.IGNORECASE,
)
_UPPER = re.compile(r"[?&/=#][A-Z]+_[A-Z_]+")
_DECEIVES = re.compile(r"://[^/\s]*@|://(?:[^/\s]*\.)?xn--|://[^/\s]*[^\x00-\x7f][^/\s]*", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]\n]*)\]\(\s*<?((?:https?:)?//[^)\s>]+)")
_SECTION = re.compile(
    r"<\\?\s*/?\s*(?:conversation|history|findings|today|system|file\s+path|dream-memory|tool_?(?:call|result|use)s?"
    r"|function_?calls?|function_results|invoke|thinking|system[-_]\w+)\b"
    r"|<\\?/\s*(?:file|user|assistant|human|tool|instructions?|memory|memories|prompt|soul)\b"
    r"|^\W*<\\?(?:user|assistant|human|tool|instructions?|memory|prompt|soul|think)\b"
    r"|<\|[^|>\n]{1,40}\|>|<\|im_|\|im_(?:start|end)\||\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<｜"
    r"|\[/?\s*(?:SYSTEM|DEVELOPER|ASSISTANT|TOOL)(?:[ _](?:PROMPT|MESSAGE|NOTE|NOTICE|OVERRIDE|RESULT|OUTPUT|UPDATE)S?)?\s*\]"
    r"|^\W*\[(?:(?:SOUL|USER|MEMORY)(?:\.md)?(?:-REMOVE)?(?:/[^\]]*)?|SKIP)\]"
    r"|^[\s>*_#-]*(?:assistant|human|developer|function|ai|system (?:prompt|message|note|notice|override|instructions?))"
    r"[*_]*\s*[:：]"
    r"|^[\s>*_#-]*(?-i:SYSTEM|TOOL)[*_]*\s*[:：]"
    r"|^\W*\[\d+\]\s+(?:\d{4}-\d\d-\d\d \d\d:\d\d (?:[A-Z][a-z]{2} )?)?(?:system|user|assistant|tool|summary|raw|note)\b"
    r"|^[\s>*+-]*#{1,6}\s*(?:instruction|response|input|system)s?\s*[:：]?\s*$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*(?:[-*+>]\s+)*#{1,6}\s*(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"^\s{0,3}(?:={2,}|-{3,})\s*$")
_ENCODED = re.compile(
    r"(?:\\x[0-9a-f]{2}){4}|(?:\\u[0-9a-f]{4}){4}|(?:%[0-9a-f]{2}){6}|(?:&#x?[0-9a-f]{1,6};){3}|(?:\b[01]{8}\b\s*){4}"
    r"|(?:\b[0-9a-f]{2}\b[\s:,]*){16}",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{40,}={0,2}(?![\w+/])")
_LETTER_SIGNS = re.compile(
    "[\U0001d400-\U0001d7ff\U0001f130-\U0001f189\u24b6-\u24e9\u249c-\u24b5]{2}|[\uff21-\uff3a\uff41-\uff5a]{4}"
)
_LATIN = re.compile(r"[A-Za-z]")
_LOOKS_LATIN = "аАвВеЕкКмМнНоОрРсСтТуУхХіІїЇјЈѕЅһԁԛԝɑɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαρυκτՕօսոհᎪᎬᏢᏚ"
_AS_LATIN = str.maketrans(
    "аАвВеЕкКмМнНоОрРсСтТуУхХіІїЇјЈѕЅһԁԛԝɑɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαρυκτ",
    "aAbBeEkKmMhHoOpPcCtTyYxXiIiIjJsShdqwagABEZHIKMNOPTYXoviapukt",
)
_FOREIGN_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d_][ .·_-]){4,}[^\W\d_](?!\w)")
_ADDRESS_SIGN = re.compile(r"://|\bwww\.|\[\.\]|[⟦⟧【】]|\{\{|\}\}|\$\{", re.IGNORECASE)
_SPEAKER = re.compile(r"^\s*(?:[-*•+]\s+)?(?:\d{4}-\d\d-\d\d:?\s+)?[\w .'-]{1,40}[:：]\s+")


class Flaw(NamedTuple):
    """What is wrong with a line: the guard's name and a reason for a person."""

    guard: FlawName
    reason: str


def folded(text: str) -> str:
    """Return `text` as a reader sees it: disguised letters as plain ones, spaced-out words joined, small letters."""
    plain = unicodedata.normalize("NFKC", text).translate(_AS_LATIN)
    plain = "".join(ch for ch in unicodedata.normalize("NFD", plain) if not unicodedata.combining(ch))
    return _SPACED.sub(lambda found: re.sub(r"[ .·_-]", "", found[0]), plain).casefold()


def flaw(line: str, urls_said: frozenset[str] = frozenset()) -> Flaw | None:
    """Return what is wrong with a line of memory, or None. `urls_said` are addresses that the user wrote themselves."""
    shown = _CODE.sub(" ", unicodedata.normalize("NFKC", line))
    whole = unicodedata.normalize("NFKC", line)
    return _disguise(line) or _beacon(shown, whole, urls_said) or _forgery(shown, whole) or _heading(whole)


def _disguise(line: str) -> Flaw | None:
    if sign := _LETTER_SIGNS.search(line):
        return Flaw("look-alike", f"{quoted(sign[0])} is written in signs that look like letters")
    for word in _FOREIGN_WORD.findall(line):
        if _LATIN.search(word) and any(ch in _LOOKS_LATIN for ch in word):
            return Flaw("look-alike", f"the word {quoted(word)} mixes alphabets whose letters look alike")
    if _ENCODED.search(line):
        return Flaw("encoded", "part of it is encoded, so that nobody can read it")
    if any(_is_encoded(found[0]) for found in _BASE64.finditer(URL.sub(" ", line))):
        return Flaw("encoded", "part of it is encoded, so that nobody can read it")
    return None


def _is_encoded(text: str) -> bool:
    if re.fullmatch(r"[0-9a-fA-F]+|[a-z-]+|[\w-]*", text) and (text.islower() or "-" in text or "_" in text):
        return False  # a digest, or words joined by hyphens
    mixed = any(map(str.isupper, text)) and any(map(str.islower, text))
    return mixed and text.count("/") <= len(text) / 12 and re.fullmatch(r"[0-9A-Fa-f]+", text) is None


def _beacon(shown: str, whole: str, urls_said: frozenset[str]) -> Flaw | None:
    if _IMAGE.search(shown):
        return Flaw("link", "an image or a link definition would be fetched by whoever shows the file")
    if _HTML.search(shown):
        return Flaw("link", "HTML in memory could fetch or run something where it is shown")
    if _SCHEME.search(shown):
        return Flaw("link", "an address that runs or carries something, not one that is looked up")
    for found in _LINK.finditer(shown):
        text, goal = found[1], found[2]
        if (named := URL.search(text)) and _host(named[0]) != _host(goal):
            return Flaw("link", f"the link shows {named[0][:60]} and leads to {goal[:60]}")
    flaws = (_address(url.rstrip(AFTER_URL), urls_said) for url in URL.findall(whole))
    return next((one for one in flaws if one), None)


def _address(url: str, urls_said: frozenset[str]) -> Flaw | None:
    if _DECEIVES.search(url):
        return Flaw("link", f"the address {url[:80]} is not the one that it looks like")
    if url in urls_said:
        return None
    if _FILLED_IN.search(url[8:]) or _UPPER.search(url):
        return Flaw("link", f"the address {url[:80]} has room for data to be sent along")
    if len(url.partition("?")[2]) > LONGEST_QUERY or any(len(part) > LONGEST_LABEL for part in _host(url).split(".")):
        return Flaw("link", f"the address {url[:80]} carries data")
    return None


def _host(url: str) -> str:
    return url.partition("//")[2].partition("/")[0].partition("?")[0].casefold().removeprefix("www.")


def _forgery(shown: str, whole: str) -> Flaw | None:
    if found := _SECTION.search(shown) or _SECTION.match(whole):
        return Flaw("section", f"{quoted(found[0])} would look like a part of a prompt")
    return None


def _heading(line: str) -> Flaw | None:
    found = _HEADING.match(line)
    if found is None:
        return None
    if cues.pattern("authority").fullmatch(folded(found[1]).strip(" *_:!.")):
        return Flaw("heading", f"the heading {quoted(found[1])} claims an authority that memory does not have")
    if len(found[1]) > LONGEST_HEADING:
        return Flaw("heading", f"a heading of {len(found[1])} characters is no heading")
    return None


def heading(line: str) -> str | None:
    """Return the text of a heading line, or None."""
    found = _HEADING.match(line)
    return found[1] if found else ("" if _UNDERLINE.match(line) else None)


# Distinguish a line that instructs its reader from one that states a fact, by the rows `orders` and `normative` of
# provenance/cues.toml. Such a line may enter memory only if the user said it. The rows are never complete; SOUL.md,
# which agents obey, therefore does not depend on them: there every line must be the user's own.


def instructs(line: str) -> bool:
    """Return whether a line tells an agent what to do, or hides something from the user."""
    plain = folded(line).replace("’", "'")
    told = _SPEAKER.sub("", plain)
    as_it_stands = unicodedata.normalize("NFKC", line)  # folding would turn Cyrillic letters into Latin ones
    return any(cues.says("orders", text) for text in {plain, told, as_it_stands})


def normative(line: str) -> bool:
    """Return whether a line says what ought to be, or where to send something, instead of stating a fact."""
    return any(cues.says("normative", text) or _ADDRESS_SIGN.search(text) for text in (line, folded(line)))
