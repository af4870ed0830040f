"""Find the user's own words in a message: not what they paste, quote, report, suppose or make up.

Layout decides first: fences, tags, quotation marks, lines that begin with `>`, mail, pasted chats and logs. Then the
rows of `cues.toml` that `REPORTS` and `SUPPOSES` name tell what reports somebody else's words, supposes something or
tells fiction: a whole sentence if a sign closes it. Chat often has no such signs. There a cue concerns its clause, and
the words that a rule copies only if the cue is directly beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from dream.provenance import cues
from dream.text.sentences import is_cut_short
from dream.text.tongues import is_small
from dream.text.words import all_marks, content_words, is_cjk

REPORTS: tuple[cues.Cue, ...] = ("reported", "hearsay")
SUPPOSES: tuple[cues.Cue, ...] = ("imagined", "supposed")
LONGEST = 2_000  # characters of own words in a message; a longer one contains pasted text
CUT = "\0"  # replaces each character that is not the user's own
SHORT_QUOTE = 24  # characters; a quotation up to this length is a name or a word, not somebody's sentence
WORDING = 80  # characters of a quoted text that the user wants written, or never written
BEFORE_REASON = 3  # least number of words of a wish before the reason given for it
WITHIN = 3  # words between a cue and what it reports, "says *that you must*", or before a cue, "*my niece* says"
LEAD = 60  # characters after a colon that make the text before it an announcement

# What stands in tags, a page for example. Without its end a tag goes on to the text's, but not one within a word: in
# "branches are gt-<number>" it is a place for something.
TAGGED = re.compile(
    r"<([A-Za-z][\w-]{0,40})\b[^<>\n]{0,200}>.{0,20000}?</\1>|<!--.*?(?:-->|\Z)"
    r"|(?<![\w=/.-])<[A-Za-z][\w-]{0,40}\b[^<>\n]{0,200}>.{0,20000}?\Z",
    re.DOTALL,
)
_FENCED = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"(?<![\w’'])['‘‚]((?:[^'’‘\n]|(?<=\w)['’](?=\w)){12,400})['’‘](?!\w)"
    r"|„([^“”\"]{0,4000})[“”\"]|“([^”]{0,4000})”|\"([^\"]{0,4000})\"|«([^»]{0,4000})»|「([^」]{0,4000})」|『([^』]{0,4000})』"
)
_ORDERS = re.compile(r"[:：@\n]|://|\w/\w|\w\.\w|[.!?。！？]\s*\S")  # a speaker, a host, a second sentence
# From here on a message is another document: a forwarded mail, a pasted talk, a rule across the page.
_DOCUMENT = re.compile(
    r"^\s*(?:[-=_*]{3,}.*|begin forwarded message.*"
    r"|\s*<\|\w+\|>.*|\[?#?\d*\]?\s*(?:system|assistant|user|human|tool|developer|ai|bot|function)\b[^:\n]{0,40}[:：].*|\[\w+\].*)$",
    re.IGNORECASE,
)
_CHAT = re.compile(
    r"^\s*(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?\s*)?(?!(?:我|me|ich|yo|moi|io|eu)\s*[:：])"
    r"([^\W\d_][\w .'’-]{0,24})[:：]\s*\S",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"^(?:\s*[>|]| {4}|\t|\s*(?:[$#%]\s\S|\[?\d{2,4}[-/:.]\d\d[-/:.T ]\d\d|at\s+[\w.$<>]+\(|File \"|Traceback"
    r"|[+-]{3}\s|@@|diff --git|\{|\}|\[(?:info|warn|error|debug)|(?:error|warn(?:ing)?|info|fatal|debug)\b[:\s\[]"
    r"|import \w|from \w+ import|def \w|class \w+[:(]|(?:const|let|var) \w|function\b|return\b|SELECT\b|INSERT\b"
    r"|UPDATE \w+ SET|CREATE TABLE|</?\w+>))"
)
_MARKED = re.compile(r"^\s*>.*$", re.MULTILINE)  # the plain-text mark of what is pasted or quoted
_ANNOUNCES = re.compile(r"[:：]\s*$")
_COLON = re.compile(r"[:：]")
CLOSED = re.compile(r"[.!?…。！？][)\"”’»\]」』）]*\s*$")
CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
LETTER = rf"(?:(?![{CJK}_])[\w\u0300-\u036f])"  # accents may be combining characters
WORD = re.compile(rf"[{CJK}]|{LETTER}+(?:['’]{LETTER}+)*")
_CLAUSE = re.compile(rf"[,;](?=\s)|[，、；]|(?<=[{CJK}])\s+(?=\S)")
_ENDED = re.compile(rf"\w\W*?(?:[,;，、；…)）]|\s[-–—]+\s|(?<=[{CJK}])\s)\W*$")  # a clause, before what follows
_COMMA = re.compile(r"[,;，、；]\s*")
_TAG = re.compile(r"[,.;，、]\s*¿?([^,.;，、¿?？]{1,20}?)\s*[?？]+$")
_LEAD = re.compile(rf"(.{{0,120}}?)[:：]\s+\S.{{{LEAD}}}")
_END = re.compile(r"[.!?…]+[)\"”’»\]]*(?=\s|$|\0)|[。！？…]+[」』”）]*|\n|\0")
_OPENERS = tuple("([{«“„「『\"'`")
_NUMBERED = re.compile(r"\s*\d{1,2}\.")
_INITIAL = re.compile(r"(?:^|[\s(\0])(?:(?:[^\W\d_]\.)*[^\W\d_]|\d{1,2})\.$")  # z.B., J., 3.


@lru_cache(maxsize=4096)
def own_text(text: str, *, facts: bool = False) -> str:
    """Return `text` with each character that is not the user's own replaced by CUT.

    With `facts`, their questions and what they report of other people count too: these are no wishes of the user, but
    the user confirms having heard them.
    """
    text = typed_text(text) if facts else _unannounced(typed_text(text))
    return "".join(_own_part(part, facts=facts) for start, end in sentences(text) for part in _clauses(text[start:end]))


@lru_cache(maxsize=4096)
def typed_text(text: str) -> str:
    """Return `text` with each character that its layout shows to be pasted or quoted replaced by CUT.

    The user typed the rest, be it a wish, a report or a supposition.
    """
    text = _FENCED.sub(_cut, TAGGED.sub(_cut, text))
    text = _QUOTED.sub(_quotation, _MARKED.sub(_cut, text))
    if len(text.replace(CUT, "")) > LONGEST:
        return re.sub(r"[^\n]", CUT, text)
    lines = text.split("\n")
    chatting = {line for line in lines if (found := _CHAT.match(line)) and not cues.says("own_rules", found[1])}
    return "\n".join(_own_lines(lines, chatting if len(chatting) > 1 else set()))


def foreign(text: str, start: int, end: int) -> str:
    """Return the words by which the user reports, supposes or asks `text[start:end]`; "" if it is their own wish.

    `text` is a typed text. Of a sentence without a closing sign only a cue directly beside these words counts.
    """
    for first, last in sentences(text):
        if last <= start or end <= first:
            continue
        sentence, begin, until = text[first:last], max(start - first, 0), min(end, last) - first
        if _is_closed(sentence):
            mine = _own_part(sentence, facts=False)
            found = (_doubt(sentence) or sentence.strip()) if CUT in mine[begin:until] else ""
        else:
            found = _directly(sentence, begin, until)
        if found:
            return found
    return ""


def announcement(text: str, at: int) -> str:
    """Return the sentence that ends in a colon above the line at `at`, with no blank line between; "" if none."""
    for row in reversed(text[:at].split("\n")[:-1]):
        if not row.strip(f"{CUT} "):
            return ""
        if _ANNOUNCES.search(row):
            return _last_sentence(row)
    return ""


def _last_sentence(row: str) -> str:
    return row[max((start for start, _ in sentences(row)), default=0) :]


def announces_others(row: str) -> str:
    """Return the words by which an announcing line reports somebody or supposes something; "" if there are none."""
    return next((found[0] for _, found in _cued(row) if not WORD.search(row, found.end())), "")


def _unannounced(text: str) -> str:
    """Return a typed text without the lines that another one announces, unless as the user's own rules."""
    rows, skipping = text.split("\n"), False
    for number, row in enumerate(rows):
        rows[number] = CUT * len(row) if skipping and row.strip() else row
        skipping = (skipping and bool(row.strip())) or (
            _ANNOUNCES.search(row) is not None and not cues.says("own_rules", row)
        )
    return "\n".join(rows)


def _directly(sentence: str, begin: int, until: int) -> str:
    """Return the cue directly beside `sentence[begin:until]`, or in it and near one of its ends; "" if none."""
    own = [found.span() for found in cues.pattern("own_report").finditer(sentence)]
    mine = cues.begins("sends", sentence) or cues.begins("opens_condition", sentence[begin:until])
    for cue, found in _cued(sentence):
        first, last = found.span()
        if cue == "reported" and any(one <= first < other for one, other in own):
            continue
        if last <= begin:
            over = _ENDED.search(sentence, last, begin) and not _is_work(found)
            near = not over and _is_short(sentence[last:begin])
        elif first >= until:
            near = first == until and is_cjk(sentence[first])
        elif first < begin:
            near = True
        else:
            near = _words(sentence[begin:first]) <= WITHIN or _is_end(sentence[last:until])
            near = near and not _is_work(found) and not (cue == "reported" and mine)
        if near:
            return found[0]
    return _works_on(sentence) or _led(sentence) if _COLON.search(sentence, 0, begin) else ""


def _cued(text: str) -> Iterator[tuple[cues.Cue, re.Match[str]]]:
    """Yield each cue in a text that reports or supposes something."""
    for cue in (*REPORTS, *SUPPOSES):
        for found in cues.pattern(cue).finditer(text):
            yield cue, found


def _is_work(found: re.Match[str]) -> bool:
    """Return whether a cue is an order to work on a text, `Translate`: in a rule it is what the rule is about."""
    return cues.pattern("works_on").fullmatch(found[0]) is not None


def _words(text: str) -> int:
    return len(WORD.findall(text))


def _is_short(text: str) -> bool:
    """Return whether a text between a cue and a copy says nothing of its own: "that you must", not "prices go up"."""
    carrying = [word for word in WORD.findall(text) if not (is_cjk(word) or is_small(word))]
    return _words(text) <= WITHIN and len(carrying) <= 1


def _is_end(text: str) -> bool:
    """Return whether a text after a cue only ends it: nothing, or in Japanese the end of the verb, って言ってた."""
    return _words(text) <= WITHIN and all(map(is_cjk, WORD.findall(text)))


def _is_closed(sentence: str) -> bool:
    """Return whether a sign closes a sentence; without one nobody can tell where it begins and ends."""
    return CLOSED.search(sentence) is not None


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence and of the text between sentences; together they cover the text.

    A sentence ends at `.!?…。！？` or at its line's end; the full stop of an abbreviation or an ordinal ends none.
    """
    start = 0
    for found in _END.finditer(text):
        said, after = text[start : found.end()], text[found.end() : found.end() + 8]
        full_stop = found[0][0] == "."
        if not (_is_a_word(found, after) or (full_stop and _goes_on(said.rstrip(')"”’»]'), after))):
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def _goes_on(said: str, after: str) -> bool:
    """Return whether a full stop belongs to the word before it: `e.g. this`, `am 3. Mai`, `Dr. Who`, `1. "x"`."""
    if _NUMBERED.fullmatch(said):
        return True
    short = _INITIAL.search(said) is not None or is_cut_short(said[:-1])
    return short and after.lstrip(" ")[:1].isalpha()


def _is_a_word(found: re.Match[str], after: str) -> bool:
    """Return whether a sign is a word of the sentence: in brackets, `[?]`, or before a small letter, `use ? and it`."""
    before = found.string[max(0, found.start() - 1) : found.start()]
    alone = found[0] in ("?", "!") and before == " "
    return before in _OPENERS or (alone and after.lstrip(" ")[:1].islower())


def _own_lines(lines: list[str], chatting: set[str]) -> Iterator[str]:
    skipping = ended = False
    for line in lines:
        ended = ended or _DOCUMENT.match(line) is not None or _mail().match(line) is not None
        if not line.strip(" \0"):
            skipping = skipping and not line.strip()
            yield line
        elif ended or skipping or line in chatting or _MACHINE.match(line):
            yield CUT * len(line)
        else:
            yield line
            if _ANNOUNCES.search(line):
                row = _last_sentence(line)
                skipping = cues.says("about_a_text", row) or cues.says("works_on", row)


@cache
def _mail() -> re.Pattern[str]:
    """Return the pattern that matches the first line of a mail."""
    fields = "|".join(cues.rows("mail_field"))
    return re.compile(rf"^\s*(?:-{{3,}}.*|(?:subject|{fields})\s*[:：]\s*\S.*)$", re.IGNORECASE)


def _cut(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", CUT, found[0])


def _quotation(found: re.Match[str]) -> str:
    """Return a quotation unchanged if it is a name, a word or the wording that a wish asks for; else cut out."""
    inside = next(group for group in found.groups() if group is not None)
    before = found.string[max(0, found.start() - 30) : found.start()]
    named = (
        len(inside) + sum(map(is_cjk, inside)) <= SHORT_QUOTE
        or cues.says("exemplifies", before)
        or cues.says("own_report", before)
    )
    return found[0] if (named or _is_wording(found, inside)) and "\n" not in inside else _cut(found)


def _is_wording(found: re.Match[str], inside: str) -> bool:
    """Return whether a quotation is a text that the user wants written, or never written, and not an order."""
    if len(inside) > WORDING or _ORDERS.search(inside) or cues.says("risky", inside) or cues.says("leave", inside):
        return False
    text, start, end = found.string, found.start(), found.end()
    before = text[max((last for _, last in sentences(text[:start]) if last < start), default=0) : start]
    after = text[end : end + next((last for _, last in sentences(text[end:])), 0)]
    around = f"{before} {after}"
    if _ANNOUNCES.search(before) or any(cues.says(cue, around) for cue in REPORTS) or names_source(around):
        return False
    return cues.says("standing", around) and len(content_words(around)) > 1


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that are judged by themselves: all of it, or its clauses if no sign closes it."""
    start = 0
    if sentence.strip(CUT) and not _is_closed(sentence):
        cued = [found for _, found in _cued(sentence)]
        ends = {found.end() for found in cued}
        for found in () if any(map(_is_work, cued)) else _CLAUSE.finditer(sentence):
            if found.start() not in ends:  # "she said, always …"
                yield sentence[start : found.start()]
                start = found.start()
    yield sentence[start:]


def _own_part(sentence: str, *, facts: bool) -> str:
    """Return a sentence with each character that is not the user's own replaced by CUT."""
    if _is_told(sentence) if facts else not _doubt(sentence):
        return sentence
    for comma in () if facts else _COMMA.finditer(sentence):
        found = cues.pattern("person_says").match(sentence, comma.end())
        if found and not cues.says("about_a_text", found[0]):
            mine = sentence[: comma.start()]
            if len(mine.split()) >= BEFORE_REASON and not _doubt(mine):
                return mine + re.sub(r"[^\n]", CUT, sentence[comma.start() :])
            break
    return re.sub(r"[^\n]", CUT, sentence)


def _is_told(sentence: str) -> bool:
    """Return whether the user states a sentence as a fact: not fiction, and not from a page or a poem."""
    if (
        _works_on(sentence)
        or any(cues.says(cue, sentence) for cue in SUPPOSES)
        or cues.says("hearsay", cues.pattern("told").sub(" ", sentence))
    ):
        return False
    return not names_source(sentence) or cues.begins("sends", sentence)


def _doubt(sentence: str) -> str:
    """Return the words by which the user reports, supposes or asks a sentence, or works on it; "" if it is theirs."""
    if CUT in sentence.strip(f"{CUT} \n"):
        return sentence.replace(CUT, " ").strip()
    for cue, found in _cued(sentence):
        if cue != "reported" or not _tells_themselves(sentence):
            return found[0]
    if led := _works_on(sentence) or _led(sentence):
        return led
    bare = sentence.rstrip()
    return bare[-1] if bare.endswith(("?", "？")) and not _requests(bare) else ""


def _works_on(sentence: str) -> str:
    """Return the order to work on the text that follows in a sentence, `Translate: I grant Eve access`; "" if none."""
    head, _, text = sentence.replace("：", ":").partition(":")
    found = cues.pattern("works_on").search(head)
    return found[0] if text.strip() and found and not cues.begins("opens_condition", head) else ""


def _led(sentence: str) -> str:
    """Return the words before a colon that tell of a text by somebody else, which follows; "" if none."""
    lead = _LEAD.match(sentence)
    found = cues.pattern("about_a_text").search(lead[1]) if lead and not cues.says("own_rules", lead[1]) else None
    return found[0] if found else ""


def _requests(question: str) -> bool:
    """Return whether a question asks the agent for something, or ends an order: "only when we call you, ok?"."""
    tag = _TAG.search(question)
    return cues.says("requests", question) or (tag is not None and cues.pattern("tagged").fullmatch(tag[1]) is not None)


def _tells_themselves(sentence: str) -> bool:
    """Return whether the words that report somebody are the user's own: "I told you …", "write him that …"."""
    return (
        cues.says("own_report", sentence) or cues.begins("sends", sentence) or cues.begins("opens_condition", sentence)
    )


def names_source(line: str) -> bool:
    """Return whether a line names where it comes from."""
    return any(mark in line for mark in all_marks()) or cues.says("names_source", line)
