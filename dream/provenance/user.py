"""Which words are the user's own: in a message, in a line of an entry, and whether these bear out or end a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache, lru_cache

from dream.language import cues
from dream.language.kinds import LABELS
from dream.language.sentences import TAGGED, is_supposed, own_words
from dream.language.tongue import guess, tongue
from dream.language.words import NOT, all_marks, content_words, listed, table, without_said_on, words

# What of a message is the user's own: not the code, quotations, documents and reports that they paste into it.


PASTED_CHARS = 2_000  # a longer message, code left out, holds pasted material
_FENCED = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"(?<![\w’'])['‘‚]((?:[^'’‘\n]|(?<=\w)['’](?=\w)){12,400})['’‘](?!\w)|“([^”]{0,4000})”|\"([^\"]{0,4000})\"|«([^»]{0,4000})»|「([^」]{0,4000})」|『([^』]{0,4000})』"
)
_SHORT_QUOTE = 24  # characters: a name or a word, not somebody's sentence
_WORDING = 80  # characters: what is to be written, or never to be, in a wish of the user's own
_ORDERS = re.compile(r"[:：@\n]|://|\w/\w|\w\.\w|[.!?。！？]\s*\S")  # a speaker, a host, a second sentence
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
# A line that ends so announces what follows; it is the user's only where they announce their own rules.
_ANNOUNCES = re.compile(r"[:：]\s*$")
# A line of a chat that was pasted: its time, or who wrote it; the user's own among them is theirs.
_CHAT = re.compile(
    r"^\s*(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?\s*)?(?!(?:我|me|ich|yo|moi|io|eu)\s*[:：])"
    r"([^\W\d_][\w .'’-]{0,24})[:：]\s*\S",
    re.IGNORECASE,
)
_CUT_OUT = "\ufffc"  # where somebody else's sentence stood
_SENTENCE = re.compile(  # not behind what is cut short before a name
    r"(?<=[.!?])(?<!\bMag\.)(?<!\bDr\.)(?<!\bProf\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSr\.)(?<!\bNr\.)(?<!\bSt\.)\s+"
    r"|(?<=[。！？；])|\n+"
)


@lru_cache(maxsize=4096)
def own(text: str, *, asks: bool = False) -> tuple[str, ...]:
    """Return the sentences of a user message that are the user's own, in order.

    A question is no statement of theirs; with `asks` it counts for what it tells by the way, and so do a list that a
    colon announces and what they tell of somebody's words: it is no wish of theirs, but they vouch for having heard it.
    """
    text = TAGGED.sub("\n", _FENCED.sub("\n", without_pasted(text)))
    if len(text) > PASTED_CHARS:
        return ()
    kept: list[str] = []
    text = own_words(text, tongue(guess(text) or "en"))
    for line in _own_lines(_QUOTED.sub(_short, text), asks=asks):
        sentences = [sentence for sentence in _SENTENCE.split(line) if sentence and sentence.strip()]
        kept += [mine for sentence in sentences if (mine := _own_part(sentence, asks=asks))]
    return tuple(kept)


def without_pasted(text: str) -> str:
    """Return `text` without the lines that are marked as a quotation: `> `, as what a client says was pasted is."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("> ")) if "> " in text else text


def foreign(text: str) -> str:
    """Return of a user message the sentences that are not the user's own, each quotation of a sentence with them."""
    rest = text
    for sentence in own(text, asks=True):
        rest = re.sub(r"\s*".join(map(re.escape, sentence.split())), "\n", rest, count=1)
    return "\n".join([rest, *quotations(text)])


def quotations(text: str) -> list[str]:
    """Return the quotations in `text` that are longer than a name: somebody else's sentences."""
    inside = (next(group for group in found.groups() if group is not None) for found in _QUOTED.finditer(text))
    return [words for words in inside if len(words) > _SHORT_QUOTE]


def typed(text: str) -> str:
    """Return what a user seems to have typed: all but code, markup, quotations, and documents that follow."""
    kept: list[str] = []
    for line in _QUOTED.sub(_short, TAGGED.sub("\n", _FENCED.sub("\n", text))).split("\n"):
        if _FORWARDED.match(line) or (_ANNOUNCES.search(line) and cues.says("work_on", line)):
            break
        if not line.lstrip().startswith(">"):
            kept.append(line)
    return "\n".join(kept)


def _own_lines(text: str, *, asks: bool) -> Iterator[str]:
    skipping = False
    lines = text.split("\n")
    chatting = {line for line in lines if (found := _CHAT.match(line)) and not cues.says("own_rules", found[1])}
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
            skipping = cues.says("about_a_text", line) or not (asks or cues.says("own_rules", line))
            yield from _SENTENCE.split(line)[:-1]  # the last sentence announces, those before it are as any other
            continue
        yield line


def _short(found: re.Match[str]) -> str:
    inside = next(group for group in found.groups() if group is not None)
    before = found.string[max(0, found.start() - 30) : found.start()]
    named = len(inside) <= _SHORT_QUOTE or cues.says("exemplifies", before) or cues.says("own_report", before)
    if (named or _is_wording(found, inside)) and "\n" not in inside:
        return found[0]
    return f" {_CUT_OUT}. " if inside.rstrip()[-1:] in tuple(".!?…") else f" {_CUT_OUT} "


def _is_wording(found: re.Match[str], inside: str) -> bool:
    """Return whether a quotation is what a wish of the user's own wants written, or never written, and no order."""
    if len(inside) > _WORDING or _ORDERS.search(inside) or cues.says("risky", inside) or cues.says("leave", inside):
        return False
    text, start, end = found.string, found.start(), found.end()
    before, after = _SENTENCE.split(text[:start])[-1], _SENTENCE.split(text[end:])[0]
    around = f"{before} {after}"
    if _ANNOUNCES.search(before) or any(cues.says(cue, around) for cue in _OTHERS) or names_source(around):
        return False
    return cues.says("standing", around) and len(content_words(around)) > 1


BEFORE_REASON = 3  # words of a wish before the reason that somebody gives for it
_COMMA = re.compile(r"[,;，、；]\s*")
_OTHERS: tuple[cues.Cue, ...] = ("reported", "hearsay")
_TAG = re.compile(r"[,.;，、]\s*¿?([^,.;，、¿?？]{1,20}?)\s*[?？]+$")


def _own_part(sentence: str, *, asks: bool) -> str:
    """Return a sentence that is the user's own, or what of it stands before a person's reason for it, or ""."""
    if _is_own(sentence, asks=asks):
        return sentence
    for comma in _COMMA.finditer(sentence):
        found = cues.pattern("person_says").match(sentence, comma.end())
        if found and not cues.says("about_a_text", found[0]):
            mine = sentence[: comma.start()]
            return mine if len(words(mine)) >= BEFORE_REASON and _is_own(mine, asks=asks) else ""
    return ""


def _is_own(sentence: str, *, asks: bool) -> bool:
    if _CUT_OUT in sentence or is_supposed(sentence):
        return False
    if cues.says("hearsay", cues.pattern("told").sub(" ", sentence) if asks else sentence):
        return False
    if (names_source(sentence) and not cues.begins("sends", sentence)) if asks else _reports(sentence):
        return False
    lead = re.match(r"(.{0,120}?)[:：]\s+\S.{60}", sentence)
    if lead and cues.says("about_a_text", lead[1]) and not cues.says("own_rules", lead[1]):
        return False
    is_question = sentence.rstrip().endswith(("?", "？"))
    return asks or not is_question or _orders(sentence.rstrip())


def _orders(question: str) -> bool:
    """Return whether a question asks the agent for something, or ends an order: "only when we call you, ok?"."""
    tag = _TAG.search(question)
    return cues.says("requests", question) or (tag is not None and cues.pattern("tagged").fullmatch(tag[1]) is not None)


def _reports(sentence: str) -> bool:
    """Return whether a sentence tells what somebody else said; what the agent is to write them, the user says."""
    if cues.says("own_report", sentence) or cues.begins("sends", sentence) or cues.begins("opens_condition", sentence):
        return False
    return cues.says("reported", sentence)


def names_source(line: str) -> bool:
    """Return whether a line says itself where it comes from."""
    return any(mark in line for mark in all_marks()) or cues.says("names_source", line)


# A line of an entry without what a summary puts round the words that were said.

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
# Only who is known to speak is taken off a line: anything else before a colon is a part of what it says.
_SPEAKER = re.compile(
    r"^\s*(?:[-*•]\s+)?(?:(?:\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2,8} \d{4}):? )?(?:the )?(?:user|用户)[:：]\s+",
    re.IGNORECASE,
)
QUOTE = "    > "  # before the user's own sentence, under the line that rests on it
_QUOTE = re.compile(r"^\s*> (?:\(asked: [^()]{0,200}\) )?")
_MESSAGE_HEADER = re.compile(r"^\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d (?:[A-Z][a-z]{2} )?)?user(?: [^:\n]{1,120})?: ")
# The day that a reader needs, as a quoted line has it behind the user's own word for it.
DAY_NOTE = re.compile(
    r" \[(?:\d{1,2}\.?(?:–\d{1,2}\.?)? )?(?:de )?(?:[^\W\d]{3,10} (?:de )?)?(?:19|20)\d\d(?: – [\w. ]{6,28})?\]"
    r"| \[(?:19|20)\d\d年[\d月日– 年]{0,28}\]"
)


def without_report(line: str) -> str:
    """Return a line of an entry without the header of a raw message, a quotation's mark, the speaker and the report."""
    line = _MESSAGE_HEADER.sub("", _QUOTE.sub("", line))
    line = _SPEAKER.sub("", line)
    return _LEAD_ZH.sub("", _LEAD.sub("", line))


def names_user(line: str, said: Set[str]) -> bool:
    """Return whether a line only gives the user a name that is among the words they `said`."""
    plain = without_said_on(line)
    frame = cues.opening("names_user", plain)
    return frame > 0 and content_words(plain[frame:]) <= said


# What the user said: which lines of a summary, and which rules, a message of theirs bears out or takes back.
#
# A line counts as the user's when one passage of one user message holds all of its words, in their order and with the
# same negations. What users paste or report (code, quotations, forwarded mail, "the page says …") is not their own.


PASSAGE = 5  # clauses in a row that a line may take its words from
TAKEN_BACK = 0.75  # of a rule's words that a clause which ends it must hold
SHARE = 0.5  # of a passage's words that the line must hold: a half sentence may mean the opposite

_SIGNS = re.compile(r"[\W_]+")
_KIND = re.compile(rf"^(\s*(?:[-*•]\s+)?)\[(?:{'|'.join(LABELS)})\??\] ")
_BRACKET = re.compile(r"^\s*(?:[-*•]\s+)?\[([^\[\]]{1,200})\] ")
_CLAUSE = re.compile(r"[.!?。！？;；\n]+(?=\s|$|[^\x00-\x7f])|[,，、]\s*|\s[-–—]\s|(?<=[。！？；，])")

Passage = tuple[tuple[str, ...], ...]  # the words of some clauses that follow each other


def quotation(line: str, asked: str = "") -> str:
    """Return a line without what stands round the words that it quotes: its kind and days in brackets, its day.

    A bracket at its beginning goes where it stands in `asked`, what the agent said before.
    """
    text = DAY_NOTE.sub("", without_said_on(line))
    text = _KIND.sub("", text)
    found = _BRACKET.match(text)
    return text[found.end() :] if found and letters(found[1]) in asked else text


@lru_cache(maxsize=4096)
def letters(text: str) -> str:
    """Return only the letters and digits of a text, in lower case."""
    return _SIGNS.sub("", text.casefold())


def own_lines(lines: Iterable[str]) -> list[Passage]:
    """Return the passages in `lines` of entries that are the user's own."""
    return [passage for line in lines for passage in passages([without_report(quotation(line))])]


def taken_back(rule: str, said: Iterable[Passage]) -> bool:
    """Return whether a clause of what the user said takes `rule` back: it holds most of it, and a word that ends it."""
    wanted = set(_words(without_report(without_said_on(rule)))) - {NOT}
    for passage in said:
        for clause in passage:
            ends = NOT in clause or not _ending().isdisjoint(clause)
            if wanted and ends and len(wanted & set(clause)) >= TAKEN_BACK * len(wanted):
                return True
    return False


@cache
def _ending() -> frozenset[str]:
    return frozenset(words(table()["ends_rule"]))


def covered(line: str, said: Iterable[Passage]) -> bool:
    """Return whether one passage of what the user said holds all that `line` says."""
    forms = _forms(line)
    return any(_borne_out(form, passage) for passage in said for form in forms)


def passages(texts: Iterable[str]) -> list[Passage]:
    """Cut texts into passages, a few clauses of words each."""
    found = []
    for text in texts:
        said = cues.pattern("would_myself").sub("", text)
        clauses = tuple(filter(None, map(_words, _CLAUSE.split(said))))
        if clauses:
            found.append(clauses)
    return found


def _forms(line: str) -> list[tuple[str, ...]]:
    """Return the words of a line, as it stands and without who said it; empty ones prove nothing."""
    plain = quotation(line)
    forms = dict.fromkeys((_words(plain), _words(without_report(plain))))
    return [form for form in forms if form]


@lru_cache(maxsize=16384)
def _words(text: str) -> tuple[str, ...]:
    found = words(cues.pattern("soft").sub(" ", without_said_on(text)))
    soft = listed("soft")
    return tuple(word for word in found if word not in soft and not word.startswith("@"))


def _borne_out(line: tuple[str, ...], passage: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a run of clauses holds the words of `line`, in order, with no negation left over."""
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
