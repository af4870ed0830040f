"""What no line of memory may hold: beacons, forged sections, hidden text; and instructions nobody gave. Pure."""

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


class Flaw(NamedTuple):
    """What is wrong with a line: the guard's name and a reason for a person."""

    guard: FlawName
    reason: str


_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]+\1(?!`)")  # is shown as it is, not rendered
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
AFTER_URL = ".,;:!?)“”„’»」』"  # what stands behind an address in a sentence, a quotation's end with it
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


def folded(text: str) -> str:
    """Return `text` as a reader sees it: disguised letters as plain ones, spaced-out words joined, small letters."""
    plain = unicodedata.normalize("NFKC", text).translate(_AS_LATIN)
    plain = "".join(ch for ch in unicodedata.normalize("NFD", plain) if not unicodedata.combining(ch))
    return _SPACED.sub(lambda found: re.sub(r"[ .·_-]", "", found[0]), plain).casefold()


def flaw(line: str, urls_said: frozenset[str] = frozenset()) -> Flaw | None:
    """Return what is wrong with a line of memory, or None. `urls_said` are addresses that the user gave as they stand."""
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


# Tell a line that instructs whoever reads it from one that states a fact. Pure. English patterns are composed and stand
# here; those of the other languages are rows of provenance/cues.toml.
#
# Such a line is memory only if the user said it. Patterns miss what nobody thought of; that is why SOUL.md, which
# agents obey, does not rest on them: there every line must be the user's own.


# ruff: noqa: E501, ISC004 - one pattern of a tuple stands on several lines, and a line of it is not cut in two


_AGENT = (
    r"(?:(?:the|this|any|every|all|your|an?)\s+)?(?:agents?|assistants?|a\.?i\.?|chatbots?|bots?|llms?|language models?"
    r"|claude|chatgpt|gemini|copilot)"
)
_BASE = (
    r"(?:say|reply|answer|respond|run|execute|send|recommend|suggest|open|fetch|visit|append|write|save|delete|remove|tell"
    r"|include|output|print|pretend|act|switch|insist|forward|email|upload|ignore|share|reveal|approve|trust|obey|follow"
    r"|mention|add|stop|post|call|praise|treat|transfer|pay|install|disable|enable|grant|accept|claim|deny|refuse|promote"
    r"|redirect|quote|leak|submit|copy|click|download|give|show|repeat|remember|forget|use this|end every|begin every)"
)
# How somebody who is given orders behaves; commands of a shell or a project ("run", "use", "install") are solutions.
_MANNER = (
    r"(?:reply|respond|answer|obey|praise|agree|accept|approve|recommend|promote|advertise|trust|pretend|refuse|reveal|forward"
    r"|ignore|disregard|speak|act|behave|insist|sign every|end every|begin every|start every|worship|serve|favou?r|comply|leak)"
)
_MUST = (
    r"(?:must|should|shall|ought to|has to|have to|needs? to|is to|are to|will (?:now |always |never )|always|never|may not"
    r"|can(?:not|'t)|is (?:now )?(?:authori[sz]ed|allowed|instructed|required|permitted|told|obliged|unrestricted)"
    r"|(?:do|does) not|don't|doesn't)"
)
# What must be done with a thing, whoever says so, is no order to an agent: "legal says that it must be kept".
_KEPT = (
    r"\s+be (?:kept(?! (?:secret|hidden|quiet|private|away|from)\b)|retained|paid|signed|renewed|filed|returned|ready|done"
    r"|finished|submitted)\b"
)
# What people tell each other to cheer up, and nothing besides: no order to an agent.
_COMFORT = (
    r"(?:look on the bright side|lose hope|give up|stop (?:dreaming|believing|learning|trying)|worry|mind|say never"
    r"|forget to smile)(?:\s*\([^)]*\d{4}\))?\W*$"
)
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # against the rules
        r"\b(?:ignore|disregard|forget|override|bypass|neglect|drop|overrule|supersede[sd]?)\b[^.]{0,30}\b(?:previous|prior|above"
        r"|earlier|preceding|all|any|system|your|these|other|every|former)\b[^.]{0,24}\b(?:instruction|prompt|rule|direction"
        r"|guideline|message|restriction|safety|polic|constraint|memor|order)",
        r"\byou are now\b|\b(?:act|behave|respond) as (?:if|though|an? (?:unrestricted|different|evil|jailbroken|new))\b"
        r"|\bpretend (?:to be|you|that you)\b|\bdeveloper mode\b|\bjailbr[eo]a?k|\bdo anything now\b|\bdan mode\b"
        r"|\bnew (?:system )?instructions?\b|\bsystem prompts?\b|\bprompt injection\b|\bfrom now on\b|\bunrestricted mode\b",
        # to the agent
        rf"\b{_AGENT}(?:'s)?,?\s+{_MUST}\b",
        rf"\b(?:wants?|expects?|asks?|asked|told|tells|would like|prefers?|requires?|instructs?|instructed|requests?|needs"
        rf"|authori[sz]e[sd]?|allows?|permits?|orders?|wished)\s+(?:that\s+)?(?:{_AGENT}|you|dream)\b",
        rf"\b(?:instructions?|note|message|reminder|rule|policy|task)s?\s+(?:for|to)\s+{_AGENT}\b",
        r"\byou (?:must|should|shall|have to|need to|are (?:to|required|authori[sz]ed|obliged|permitted))\b"
        r"|\byour (?:new )?(?:instructions?|rules?|task|system|memory|guidelines|safety)\b",
        rf"^\W*(?:please\s+|now\s+|first\s+)*(?:always|never|please|do not|don't|make sure to|be sure to|remember to|you)\s+{_BASE}\b",
        # without a subject, as orders are given; "always eats", "never had" tell of somebody
        rf"^\W*(?:please\s+|only\s+)*(?:always|never|do not|don't)\s+(?!{_COMFORT})(?!been\b|had\b|was\b|got\b|went\b|(?:\w+ly\s+)?\w+(?:[^s\W]s|ed|ing|en)\b)[a-z]+\b",
        rf"^\W*(?:please\s+)?(?:only\s+)?{_MANNER}\b(?!\s+(?:is|was|are|were|of|from|from the)\b|\s*:)",
        rf"^\W*(?:{_BASE}|push|merge|deploy|commit|proceed|continue)\b[^.]{{0,60}}\bwithout\s+(?:an?\s+|any\s+|the\s+)?(?:review|asking|confirm|permission|approval|consent|check|question|warning)",
        rf"\b(?:says?|said|states|reads|writes|wrote|tells?)\b[^.]{{0,24}}?[\s:,\"“'](?:(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?:always|never)|must(?!{_KEPT})|{_MANNER}|ignore|delete|send|run)\s+\w+",
        rf"^\W*{_AGENT}\s*[:,]\s*(?:please\s+)?(?:always\s+|never\s+)?{_BASE}\b",
        r"\bif you(?:'re| are)\b[^.]{0,30}\b(?:ai|llm|agent|assistant|model|bot|reading)\b|\bwhen(?:ever)? you (?:read|see|load|process)\b",
        # later, when something happens
        r"\b(?:when(?:ever)?|if|once|next time|every time|each time|as soon as|after|before|until|on the day)\s+"
        r"(?:the |a |this |any )?(?:user|owner|you|they|someone|anyone|agent|assistant|he|she|memory|file|session|conversation)\b"
        rf"[^.;:]{{0,80}}[,;:]\s*(?:please |always |then |immediately |first |silently |just |also )*{_BASE}\b",
        rf"\b(?:whenever|every time|each time|next time)\b[^.;]{{0,60}}?(?:\basked\b|\basks\b|\bmentions?\b|\bsays?\b)[^.;]{{0,60}}[,;:]?\s+"
        rf"(?:always |then |please )*{_BASE}\b",
        # behind the user's back, or out of the house
        r"\b(?:without|don't|do not|never)\s+(?:telling|tell|informing|inform|asking|ask|notifying|notify|alerting|mentioning|mention"
        r"|revealing|reveal|disclosing|disclose|showing|show|warning|warn)\b[^.]{0,24}\b(?:the )?(?:user|owner|human|anyone|anybody|them|him|her|this)\b",
        r"\b(?:secretly|silently|covertly|quietly)\b[^.]{0,20}\b(?:send|copy|forward|upload|add|include|run|post|delete|log|insert|approve)",
        rf"(?:^\W*|[,;:]\s*|\b(?:always|must|please|should|and then|then|shall)\s+){_BASE}\b[^.]{{0,80}}?(?:https?://|www\.|\S+@\S+\.\w"
        r"|\b[\w-]+\.(?:com|net|org|io|ru|cn|xyz|example|test|evil|top|info)\b)",
        # into memory
        r"\b(?:add|append|write|save|store|put|record|insert|copy)\b[^.]{0,60}\b(?:to|into|in)\b\s*(?:your |the |its |this |long-term )*"
        r"(?:soul|(?:long-term )?memory|memories|user file|(?:soul|user|memory)\.md)\b",
        r"\b(?:soul|user|memory)\.md\b[^.]{0,40}\b(?:must|should|rule|says|shall|delete|remove|replace|overwrite)",
        # commands that run what is fetched or wipe what is there
        r"(?:curl|wget|iwr|irm|invoke-webrequest|fetch)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|fi|pwsh|power)?(?:sh|shell|iex|python3?|node|perl)\b"
        r"|\brm\s+-(?:rf|fr)\b\s+(?:/|~|\$|\*)|\bbase64\s+(?:-d|-D|--decode)\b|\bpowershell\b[^\n]{0,40}\s-e(?:nc)?\w*\s|\b(?:nc|ncat)\b[^\n]{0,40}\s-e\s"
        r"|\bos\.system\(|\bsubprocess\.|\beval\(|\bexec\(",
    )
)  # fmt: skip
_SPEAKER = re.compile(r"^\s*(?:[-*•+]\s+)?(?:\d{4}-\d\d-\d\d:?\s+)?[\w .'-]{1,40}[:：]\s+")


def instructs(line: str) -> bool:
    """Return whether a line tells an agent what to do, or hides something from the user."""
    plain = folded(line).replace("’", "'")
    told = _SPEAKER.sub("", plain)
    if any(pattern.search(text) for text in {plain, told} for pattern in _PATTERNS):
        return True
    as_it_stands = unicodedata.normalize("NFKC", line)  # folding would make Latin letters of Cyrillic ones
    return any(cues.says("orders", text) for text in {plain, told, as_it_stands})


# What a statement that only a third party made may not hold: a wish, a rule, an address to send something to. Far more
# words than above, for here a false alarm costs a person a look and no more.
_ADDRESS_SIGN = re.compile(r"@|://|\bwww\.|\[\.\]|[⟦⟧【】<>|]|\{\{|\}\}|\$\{", re.IGNORECASE)


def normative(line: str) -> bool:
    """Return whether a line says what ought to be, or where to send something, rather than only what is."""
    texts = (line, folded(line))
    return any(cues.says("normative", text) or _ADDRESS_SIGN.search(text) for text in texts)
