"""Who said it: which lines of a summary the user's own messages bear out. In code, for a model can be talked round.

A line counts as the user's when one passage of one user message holds all of its words, in their order and with the
same negations. What users paste or report (code, quotations, forwarded mail, "the page says …") is not their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache

from dream.models import Message
from dream.wording import NOT, content_words, without_said_on, words

PASTED_CHARS = 2_000  # a longer message, code left out, holds pasted material
PASSAGE = 5  # clauses in a row that a line may take its words from
MOSTLY = 0.6  # of a line's words that others must have said for it to be theirs,
NOT_OURS = 0.3  # and how many more of them than user and agent
TAKEN_BACK = 0.75  # of a rule's words that a clause which ends it must hold
SHARE = 0.5  # of a passage's words that the line must hold: a half sentence may mean the opposite

# Words that end a rule. A negation does too, but so does a word against a rule that holds one.
_ENDS = frozenset(words("stop instead forget drop cancel remove delete"))

_FENCED = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]{0,40})\b[^<>\n]{0,200}>.{0,20000}?(?:</\1>|\Z)", re.DOTALL)
_QUOTED = re.compile(r"“([^”]{0,4000})”|\"([^\"]{0,4000})\"|«([^»]{0,4000})»|「([^」]{0,4000})」|『([^』]{0,4000})』")
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
    r"|(?<!我)(?<!我刚)说|写道|写着|写的|根据|据[^说]|声称|要求(?:你|我|助手)|提到",
    re.IGNORECASE,
)
_OWN_REPORT = re.compile(
    r"\b(?:i|i've|i have|as i) (?:just |already |also )?(?:said|told|wrote|mentioned|meant|say)\b", re.IGNORECASE
)
_REQUEST = re.compile(r"^(?:\w+[, ]+){0,2}?(?:can|could|would|will) you\b|请|麻烦|能不能|可以.{0,12}吗", re.IGNORECASE)
_CLAUSE = re.compile(r"[.!?。！？;；\n]+(?=\s|$|[^\x00-\x7f])|[,，、]\s*|\s[-–—]\s|(?<=[。！？；，])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")

# "The user wants the agent to …", "用户希望助手…": what a summary puts before the user's words.
_VERB = (
    r"(?:wants|asks|asked|tells|told|prefers|would like|likes|expects|instructed|requested|requests|said|says|wished)"
)
_NAME = r"[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30})?"
_LEAD = re.compile(
    rf"^\s*(?:[-*•]\s+)?(?:\d{{4}}-\d\d-\d\d:? )?(?:(?:The |the )?(?:[Uu]ser|[Oo]wner)|{_NAME}) "
    rf"(?:also )?{_VERB}(?: that)?(?:,? (?:the )?(?:agent|assistant|AI|model|bot|it|you|dream|Claude)(?=\W))?"
    rf"(?:['’]s)?(?: (?:to|should|must|will))?\b"
)
_LEAD_ZH = re.compile(
    r"^\s*(?:[-*•]\s*)?(?:用户|[\w·]{1,12}?)(?:要求|希望|想让|让|请|偏好|喜欢)(?:助手|代理|智能体|AI|你|它)?(?:能|要|应该)?"
)
_NAMES_USER = re.compile(r"^\W*(?:The user is called|The user's name is|用户叫|Der Nutzer heißt|ユーザーの名前は) ?")
_SPEAKER = re.compile(r"^\s*(?:[-*•]\s+)?(?:\d{4}-\d\d-\d\d:? )?[\w .'’-]{1,40}[:：]\s+")
_MESSAGE_HEADER = re.compile(r"^\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d )?user(?: [^:\n]{1,120})?: ")
# What makes a wish a standing one, a polite one or one to somebody: a rule says the same without it.
_SOFT = re.compile(
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|by default|at all times|every time"
    r"|each time|whenever you can"
    r"|make sure (?:to|that)|be sure to|remember (?:to|that)|(?:can|could|would|will) you"
    r"|i(?:'d| would)? (?:want|like|need|prefer|expect)"
    r"(?: it if)?(?: you)?(?: to)?|you (?:should|must|need to|have to)|let's)\b"
    r"|(?:以后|今后|从现在(?:起|开始)|记住|记得|麻烦你?|总是|始终|一律|一直|永远|务必|必须|都要|请)",
    re.IGNORECASE,
)
_SOFT_WORDS = frozenset(
    "please pls alway always agent assistant ai bot claude kindly hey hi hello thank thanks ok okay must should".split()  # noqa: SIM905
)


def by_others(content: str, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the lines that only a tool's output, or what a user pasted, bears out.

    What the agent said counts with the user's words here: most of what a tool finds is worth keeping, once the agent
    has made something of it.
    """
    by_us = [_of_ours(message) for message in messages]
    if all(own == message.content for own, message in zip(by_us, messages, strict=True)):
        return ()
    ours: set[str] = set()
    theirs: set[str] = set()
    for own, message in zip(by_us, messages, strict=True):
        said = content_words(message.content)
        theirs |= said
        ours |= said if own == message.content else content_words(own)
    if theirs == ours:
        return ()
    return tuple(
        number
        for number, line in enumerate(content.split("\n"), start=1)
        if (told := content_words(bare(without_said_on(line))))
        and len(told & theirs) >= MOSTLY * len(told)
        and len(told & theirs) - len(told & ours) >= NOT_OURS * len(told)
        and not names_user(line, ours)
    )


def names_user(line: str, said: Set[str]) -> bool:
    """Tell whether a line only gives the user a name that is among the words they `said`: the rest is the summary's."""
    name, frames = _NAMES_USER.subn("", without_said_on(line))
    return frames > 0 and content_words(name) <= said


def _of_ours(message: Message) -> str:
    """Return the part of a message that the user or the agent said."""
    if message.role == "user":
        return typed(message.content)
    return message.content if message.role == "assistant" else ""


def by_user(content: str, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the lines of a summary that user `messages` bear out.

    Where several users talk, none of them is known to be the owner of the memory, and no line counts.
    """
    passages = said_by_user(messages)
    if not passages:
        return ()
    return tuple(
        number for number, line in enumerate(content.split("\n"), start=1) if line.strip() and covered(line, passages)
    )


def said_by_user(messages: Sequence[Message]) -> list[tuple[tuple[str, ...], ...]]:
    """Return what the user said of their own, by sentence, each as the words of its clauses."""
    users = [message for message in messages if message.role == "user"]
    if len({message.name for message in users if message.name}) > 1:
        return []
    return [passage for message in users for passage in passages(own(message.content))]


def own_lines(lines: Iterable[str]) -> list[tuple[tuple[str, ...], ...]]:
    """Return the passages in `lines` of entries that are the user's own."""
    return [passage for line in lines for passage in passages([bare(line)])]


def taken_back(rule: str, said: Iterable[tuple[tuple[str, ...], ...]]) -> bool:
    """Tell whether a clause of what the user said takes `rule` back: it holds most of it, and a word that ends it."""
    wanted = set(_words(bare(without_said_on(rule)))) - {NOT}
    for passage in said:
        for clause in passage:
            ends = NOT in clause or not _ENDS.isdisjoint(clause)
            if wanted and ends and len(wanted & set(clause)) >= TAKEN_BACK * len(wanted):
                return True
    return False


def covered(line: str, said: Iterable[tuple[tuple[str, ...], ...]]) -> bool:
    """Tell whether one passage of what the user said holds all that `line` says."""
    forms = _forms(line)
    return any(_borne_out(form, passage) for passage in said for form in forms)


def passages(texts: Iterable[str]) -> list[tuple[tuple[str, ...], ...]]:
    """Cut texts into passages, a few clauses of words each."""
    found = []
    for text in texts:
        clauses = tuple(tokens for clause in _CLAUSE.split(text) if (tokens := _words(clause)))
        if clauses:
            found.append(clauses)
    return found


@lru_cache(maxsize=4096)
def own(text: str) -> tuple[str, ...]:
    """Return the sentences of a user message that are the user's own, in order."""
    text = _TAGGED.sub("\n", _FENCED.sub("\n", text))
    if len(text) > PASTED_CHARS:
        return ()
    kept: list[str] = []
    for line in _own_lines(_QUOTED.sub(_short, text)):
        sentences = [sentence for sentence in _SENTENCE.split(line) if sentence and sentence.strip()]
        kept += [sentence for sentence in sentences if _is_own(sentence)]
    return tuple(kept)


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
    for line in text.split("\n"):
        if _DOCUMENT.match(line):
            return
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
    return f" {inside} " if len(inside) <= _SHORT_QUOTE and "\n" not in inside else " \u2026 "


def _is_own(sentence: str) -> bool:
    if _REPORTED.search(sentence) and not _OWN_REPORT.search(sentence):
        return False
    if "…" in sentence or re.search(r"[:：]\s+\S.{60}", sentence):
        return False  # something was quoted in it, or follows a colon
    asks = sentence.rstrip().endswith(("?", "？"))
    return not asks or _REQUEST.search(sentence) is not None


def bare(line: str) -> str:
    """Return a line of an entry without the header of a raw message, the speaker and the report."""
    line = _MESSAGE_HEADER.sub("", line)
    line = _SPEAKER.sub("", line)
    return _LEAD_ZH.sub("", _LEAD.sub("", line))


def _forms(line: str) -> list[tuple[str, ...]]:
    """Return the words of a line, as it stands and without who said it; empty ones prove nothing."""
    plain = without_said_on(line)
    forms = dict.fromkeys((_words(plain), _words(bare(plain))))
    return [form for form in forms if form]


@lru_cache(maxsize=16384)
def _words(text: str) -> tuple[str, ...]:
    found = words(_SOFT.sub(" ", without_said_on(text)))
    return tuple(word for word in found if word not in _SOFT_WORDS and not word.startswith("@"))


def _borne_out(line: tuple[str, ...], passage: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether a run of clauses holds the words of `line`, in order, with no negation left over."""
    if not set(line) <= {word for clause in passage for word in clause}:
        return False
    for start in range(len(passage)):
        said: tuple[str, ...] = ()
        for clause in passage[start : start + PASSAGE]:
            said += clause
            if len(line) >= SHARE * len(said) and line.count(NOT) == said.count(NOT) and _in_order(line, said):
                return True
    return False


def _in_order(line: Sequence[str], said: Sequence[str]) -> bool:
    if len(line) <= 2 and NOT not in line:
        return True  # "answers short" and "short answers"
    rest = iter(said)
    return all(word in rest for word in line)
