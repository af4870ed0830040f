"""Whether a message of the user's says a rule: four questions, asked of the message itself.

Is it a wish that stands, and no order for now, joke or supposition? Does the rule bring in nothing hard that no message
of the user's names? Is its polarity the same? Do its words mostly stand there, in whatever order? A rule that strays in
words alone is `close`: then the user's own sentence may be written in its place.
"""

# ruff: noqa: E501 - a row of words in a pattern stands on one line
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Literal

from dream.language.kinds import kind
from dream.language.words import NOT, content_words, is_cjk, words
from dream.provenance import cues
from dream.provenance.user import DAY_NOTE

LITTLE = 0.2  # of a rule's telling words: a clause that has fewer is about something else
NEAR = 0.34  # of a rule's words that must stand in the message for the user's own sentence to be written in its place
JEST = 0.05  # of belief that a sentence in which somebody laughs is a joke
PASSING = 0.75  # of belief that a sentence is an order for now, a question or not meant
_PASSING = ("task", "question", "joke", "hypothesis", "chat", "quotation")
LINKED = 0.6  # or of the words of the summary's line that rests on that message
ANSWER = 40  # characters of what a user said that is no more than an answer: there the question is shown too
SAYS = 0.5  # of a rule's words: what an answer holds of them without the question that it answers
MORE = 3  # words that another wish of the user's says of a rule for it to be written beside the first; or a number
WHOLE = 7  # letters of a word that begins another to be a form of it: "refactor", "refactorizar"
OWN_CHARS = 240  # of the user's own sentences as they are shown beside a line, or written

_LIST_MARK = re.compile(r"^\s*(?:[-*•+>]\s+|\d{1,3}[.)]\s+)+")
_ASKED = re.compile(r"\(asked: ([^()]{1,200})\) ")
_FRAME = re.compile(
    r"^(?:the |der |die |el |la |le |l['’])?(?:user|nutzer|benutzer|usuario|utilisateur|utente|usuário|用户|ユーザー(?:は)?|사용자(?:는)?)\s*"
    r"(?:(?:wants|asks|prefers|wishes|expects|would like|asked|told|instructed)(?: that)? (?:the )?(?:agent|assistant)(?: to| should| must)?"
    r"|(?:will|möchte|wollte|wünscht(?: sich)?|bittet|verlangt|erwartet)(?: (?:vom|den|die) \w+)?(?:,? dass)?(?: (?:der|die) (?:agent|assistent)(?:in)?)?"
    r"|(?:veut|souhaite|demande|voudrait|préfère|exige)(?: qu[e'’])?(?: (?:à )?l['’](?:agent|assistant))?(?: d[e'’])?"
    r"|(?:quiere|pide|desea|prefiere)(?: que)?(?: (?:el|al) (?:agente|asistente))?(?: que)?"
    r"|(?:エージェント|アシスタント)(?:に|が|は)?"
    r"|(?:希望|要求|想让|让|请)(?:助手|代理|智能体)?)\s*",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\s*[(（](?:said |as of |since )?(?:\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}年\d{1,2}月\d{1,2}日)[)）]\s*$"
)
# The reader's note of a day, `[8 March 2026]`, `[7–8 November 2026]`, and nothing else that stands in brackets.
_ABOVE = re.compile(r"^\[([^\[\]]{1,200})\] ")  # what a quoted line answers or stands under
_KANA = re.compile(r"[ぁ-ゟー]+|[ァ-ヺー]+")
_KATAKANA = re.compile(r"[ァ-ヺ][ァ-ヺー]+")
_QUOTES = re.compile('[“”„«»‹›「」『』"]')
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|;\s+")
_CLAUSE = re.compile(
    r"[.!?。！？;；:：,，、\n()（）]+(?=\s|$|[^\x00-\x7f])|[。！？；，、：]|\s[-–—]+\s"
    r"|\s(?:and|but|und|aber|sondern|pero|sino|mais|ma|mas|e|y|et|而|但|然后)\s",
    re.IGNORECASE,
)
# Where a part of what somebody typed ends: people use commas, a new line and "and" for full stops.
_PART = re.compile(
    r"[.!?…]+[)\"”’]*(?:\s+|$)|[。！？；，、：…]+|[,;:](?:\s+|$)|\n+|\s[-–—]+\s|(?<=[⺀-鿿])\s+(?=[⺀-鿿])"
    r"|\s(?=(?:but|so(?! (?:that|much|many|far|long))|aber|sondern|drum|mais|donc|pero|así que)\s)",
)
_BEFORE: tuple[cues.Cue, ...] = ("conditional", "supposed")  # what holds for all that follows in its sentence
_SENTENCE_END = re.compile(r"(?:[.!?…][)\"”’]*\s*|[。！？；…]\s*|\n\s*)$")
_EXCEPT = re.compile(
    r"\W*(?:but|except|unless|only|apart from|other than|aber|außer|nur|es sei denn|sauf|mais|seulement|à moins|salvo|excepto"
    r"|menos|pero|solo|sólo|但|除了|除非|不过|只有|ただし|でも|以外)(?!\w)|\W*(?:但|除了|除非|不过|只有|ただし|でも)",
    re.IGNORECASE,
)
_AT_START = re.compile(
    r"^(?:[\s,;:.!?…–—-]+|(?:and|but|und|aber|et|mais|y|pero|also|ok|okay|hey|oh|ah|nice|yes|yep|yeah|thx|ja|oui|sí"
    r"|o sea que|so|drum|donc|así que|achja|ach ja|übrigens|btw|by the way|au fait|por cierto)(?:[\s,.!:]+)"
    r"|(?:不过|对了|还有|然后|哦|哎|那个|それと|あと|でさ|あ)(?:[，、,\s]+|(?=以后|以後|你|今後|これから)))+",
    re.IGNORECASE,
)
# What begins a correction of the words before it: "in English… no wait, in Spanish".
_CORRECTS = re.compile(
    r"\W*(?:no,? (?:wait|sorry|rather)|actually|scratch that|or rather|bah no|mejor|digo|no,? perdón|ach nein|nein,? doch|halt nein|quatsch"
    r"|non,? (?:en fait|plutôt|attends)|enfin|いや|やっぱ|じゃなくて|不对|呃算了|算了|不不|哦不|还是)(?!\w)|\W*(?:いや|やっぱ|不对|呃|算了)",
    re.IGNORECASE,
)
_AT_END = re.compile(r"[\s,;:，、；：–—-]+$")
_NOTE = re.compile(r"\s*\[([^\[\]]{1,40})\]")
_BLANK = re.compile(r"[\s，。、；,;（(]+")
_POINTS = (  # what points at somebody or something that a note names in its place
    r"(?<!\w)(?:me|my|i|it|its|this|that|here|there|we|us|our|he|she|they|them|their|him|her|his|mir|mich|meine?[rmns]?|ich|uns|unsere?[rmns]?"
    r"|es|das|dies|hier|dort|da|sie|er|ihm|ihr|moi|mon|ma|mes|je|nous|notre|nos|ici|ça|ce|lui|elle|mi|mí|mis|yo|nuestr[oa]s?|aquí|acá|esto"
    r"|eso|lo|le)(?!\w)|我们?|这[里儿个]?|那[里儿个]?|它|他|她|俺|私|僕|うち|これ|ここ|それ|そこ"
)
_OF_ONESELF = re.compile(  # a reason that somebody gives: "I hate it when they add it after"
    r"\W*(?:i['’]?m|i am|i hate|i love|i can['’]?t stand|ich bin|ich hass|ich mag|je suis|je déteste|j['’]aime|soy|odio|me gusta|我是|我讨厌|私は)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*(?:…|\.\.\.|;|；)\s*")  # between two of the user's phrases in one line
_TOKEN = re.compile(r"[^\W_]+(?:['’.,:/@&+#_-]+[^\W_]+)*[+#%]*")
_ELIDED = re.compile(r"(?<!\w)(n|l|d|j|qu|c|s|m|t)['’](?=\w)", re.IGNORECASE)
# What must be met exactly: an address, a host, a path, something in backticks, a number.
_HARD = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://\S+)|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])(?:[\w-]+\.)+(?:[a-z]{2,})(?::\d+)?(?![\w])"
    r"|(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*|[\w-]+(?:/[\w.*-]+)+/?|--?[a-z][\w-]+(?==|\b)(?<=\s[-\w]{3})|`[^`\n]+`|#\w+|@\w+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d[\d.,:]*")
_NAME = re.compile(r"(?<![.!?:;…\n])(?<![.!?:;…]\s)(?<=\s)[\"“'‘(]?([A-ZÀ-ÞА-Я][\w’'-]*[\w])")
_CAPITALS = 0.34  # of words: above it a language writes other words so too


@dataclass(frozen=True, slots=True)
class RuleSource:
    """What the user said in one message, and the line of a summary that rests on it.

    `asked` is the agent's question where the text only answers it. `stands`: it is known to be a wish that holds for
    good, a note or the report of one.
    """

    text: str
    about: str = ""
    asked: str = ""
    stands: bool = False

    @property
    def agreed(self) -> str:
        """What the user said, with the question that they answered."""
        return f"{self.text} {self.asked}" if self.asked else self.text

    @property
    def shown(self) -> str:
        """What the user said as a line of memory: a mere answer with its question."""
        return f"{self.text.rstrip(' .。')} (asked: {self.asked})" if self.asked else self.text


@dataclass(frozen=True, slots=True)
class Known:
    """What a rule may name without the message naming it: the user and their projects, and words of the same talk.

    `stood` is the rule that it takes the place of, which the user said too.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    stood: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found of a rule. `own`: the user's own words for it; `reason`: why it is not written as it stands."""

    verdict: Literal["said", "close", "waits"]
    own: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Compared:
    source: RuleSource
    share: float
    turned: float
    unknown: tuple[str, ...]
    linked: float


def source(row: str, about: str = "") -> RuleSource:
    """Read what stands under a line of a summary: the user's sentence, and before it the question that it answers."""
    asked = _ASKED.match(row)
    return RuleSource(row[asked.end() :], about, asked[1]) if asked else RuleSource(row, about)


def judge(line: str, sources: Sequence[RuleSource], known: Known | None = None, *, lasting: bool = True) -> Judgement:
    """Judge a rule by what the user said; where it need not be `lasting`, a wish for a time is one too."""
    known = known or Known()
    rule = bare(line)
    if not signed(rule):
        return Judgement("waits", "", "it says nothing that could be compared")
    best = max((_compared(rule, source, known) for source in sources), key=_rank, default=None)
    if best is None or (best.share < NEAR and not (best.linked >= LINKED and best.share > 0)):
        return Judgement("waits", "", "no message of the user's says it")
    clause, sentence = (own_sentence(best.source.text, rule, whole=whole) for whole in (False, True))
    mine = clause if _share(rule, clause, known) >= SAYS else sentence
    mine = _and_the_rest(mine, rule, best.source, sources)
    answers = best.source.asked and len(best.source.text) <= ANSWER and _share(rule, mine, known) < SAYS
    own = best.source.shown if answers else mine
    if why := passing(best.source.text, mine, sentence, lasting=lasting):
        return Judgement("waits", own, why)
    verbatim = _verbatim(line, sources) or _is_clause(line, best.source.text) or _is_spans(line, sources, known)
    if not verbatim and (brought := [*_hard(rule, sources, known.stood), *_leave(rule, best.source, known)]):
        return Judgement("waits", own, f"the user did not say {', '.join(repr(one) for one in brought[:3])}")
    if lasting and not _stands(best.source):
        return Judgement("waits", own, "the user asked for it once, and did not say that it holds for good")
    if verbatim or (not best.unknown and best.turned == 0 and not _strays(rule, best, known)):
        return Judgement("said", own)
    if _share(rule, f"{own} {best.source.asked}", known) < LITTLE:
        return Judgement("waits", own, "the user said only a little of it")
    return Judgement("close", own, "the user said it in other words")


def _and_the_rest(mine: str, rule: str, best: RuleSource, sources: Sequence[RuleSource]) -> str:
    """Return the user's words, of the `best` source, with those of others beside them where a rule tells both."""
    wanted, telling = told_by(rule)
    wanted = frozenset(word for word in wanted if word not in _neutral() and len(word) > 1)
    for other in sources:
        left = [word for word in wanted if not _in(word, telling(mine))]
        more = own_sentence(other.text, rule) if left else ""
        told = [word for word in left if _in(word, telling(more))]
        enough = len(told) >= MORE or any(word.isdecimal() for word in told)
        if (
            enough
            and more not in mine
            and len(mine) + len(more) <= 2 * OWN_CHARS
            and not passing(other.text, more, more)
        ):
            mine = f"{more}; {mine}" if sources.index(other) < sources.index(best) else f"{mine}; {more}"
    return mine


def _verbatim(line: str, sources: Sequence[RuleSource]) -> bool:
    """Return whether a line quotes whole sentences of the user's; what stands in brackets is the reader's.

    From the middle of a sentence is no quotation: "never push to main without asking me" holds "push to main".
    """
    plain = DAY_NOTE.sub("", _DAY.sub("", _LIST_MARK.sub("", line)))
    above = _ABOVE.match(plain)
    if above and any(f"[{_flat(above[1])}]" in _flat(source.text) for source in sources):
        plain = plain[above.end() :]
    quoted = _flat(_QUOTES.sub("", plain)).strip(" .。")
    if not quoted:
        return False
    whole = re.compile(rf"(?:^|[.!?;:。！？；：])\W*{re.escape(quoted)}\s*(?:$|[.!?;。！？；)])")
    texts = (row for source in sources for row in (source.text, *source.text.split("\n")))
    return any(whole.search(_flat(_QUOTES.sub("", text))) for text in texts)


def _is_spans(line: str, sources: Sequence[RuleSource], known: Known) -> bool:
    """Return whether a line is made of what the user said: whole parts of sentences, with all that bounds them there.

    A note in square brackets may tell what their "here" or "it" means, in words of the same talk, or stand for it.
    """
    plain = _DAY.sub("", _LIST_MARK.sub("", line))
    heard = known.words | known.names
    for note in _NOTE.findall(plain):
        risky = any(cues.says(cue, note) for cue in ("leave", "risky", "negating")) or _HARD.search(note)
        if risky or not all(_in(word, heard) for word in signed(note)):
            return False
    spans = [span for span in _JOINT.split(plain) if _NOTE.sub("", span).strip()]
    return bool(spans) and all(any(_is_span(span, source.text, plain) for source in sources) for span in spans)


def _is_span(span: str, text: str, line: str) -> bool:
    words_of = signed(_NOTE.sub("", span))
    pieces = re.split(r"\s*\[[^\[\]]*\]\s*", _trimmed(span))
    wanted = re.compile(rf"[\s,]*(?:{_POINTS})?[\s,]*".join(map(re.escape, pieces)))
    if not words_of or wanted.search(_flat(text)) is None:
        return False
    ends = [0, *(match.end() for match in _PART.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends) if text[start:end].strip()]
    for first in range(len(parts)):
        for last in range(first, len(parts)):
            if wanted.fullmatch(_trimmed("".join(parts[first : last + 1]))):
                after = parts[last + 1] if last + 1 < len(parts) else ""
                bounded = after and _bounds(after, ended=_ended(parts[last])) and _trimmed(after) not in _flat(line)
                return not bounded and _bounded_from(parts, first, words_of) == first
    return False


def _trimmed(text: str) -> str:
    return _AT_END.sub("", _AT_START.sub("", _flat(text))).strip(" .。!！")


def bare(line: str) -> str:
    """Return a rule without list mark, the day at its end, and who wants it of whom."""
    return _FRAME.sub("", _DAY.sub("", _LIST_MARK.sub("", line)).strip())


def passing(text: str, own: str, sentence: str, *, lasting: bool = True) -> str:
    """Return why what a user said is no standing wish of theirs: a joke, a supposition, an order for now; else "".

    `own` is the part of the `text` that says it, within its `sentence`. A joke may be owned up to at the text's end;
    who laughs need not joke.
    """
    joking = cues.says("jest", text) or (cues.says("laughs", sentence) and kind(sentence).shares["joke"] >= JEST)
    if joking and not cues.says("in_earnest", text):
        return "the user seems to have said it in jest"
    if cues.says("supposed", own):
        return "the user only supposed it"
    return "the user asked for it once, and not for good" if lasting and cues.says("once", own) else ""


def own_sentence(text: str, line: str, *, whole: bool = True) -> str:
    """Return what of a user's `text` says `line`, verbatim, its blanks made one.

    That is the clause which says most of it, its neighbours that say more, and what bounds these or takes them back;
    where `whole`, to the ends of their sentences, else without the other matter that stands beside them there.
    """
    wanted, telling = told_by(bare(line))
    ends = [0, *(match.end() for match in _PART.finditer(text)), len(text)]
    spans = [(start, end) for start, end in pairwise(ends) if text[start:end].strip()]
    parts = [text[start:end] for start, end in spans]
    says = [{word for word in wanted if _in(word, telling(part))} for part in parts]
    best = max(range(len(parts)), key=lambda place: (_told_about(parts, says, place), -place), default=0)
    if not parts or not says[best]:
        return " ".join(text.split())[:OWN_CHARS]
    first = last = best
    while True:
        told = set().union(*says[first : last + 1])
        near = _within_reach(parts, first, last)
        more = [
            place
            for place in near
            if len(says[place] - told) >= (2 if is_cjk(parts[place].strip()[:1]) else 1)  # one sign tells little
            and spans[max(last, place)][1] - spans[min(first, place)][0] <= OWN_CHARS
        ]
        if not more:
            break
        place = max(more, key=lambda one: (len(says[one] - told), one in (first - 1, last + 1)))
        first, last = min(first, place), max(last, place)
    first = _begins(parts, first) if whole else _bounded_from(parts, first, wanted)
    while last + 1 < len(parts) and (
        _bounds(parts[last + 1], ended=_ended(parts[last])) or (last > best and _only_corrects(parts[last]))
    ):
        last += 1
    while whole and last + 1 < len(parts) and not _ended(parts[last]):
        last += 1
    found = " ".join(text[spans[first][0] : spans[last][1]].split())
    if whole:
        return found[: 2 * OWN_CHARS]
    return _AT_END.sub("", _AT_START.sub("", found)) or found


def told_by(line: str) -> tuple[frozenset[str], Callable[[str], Iterable[str]]]:
    """Return the words of a line that tell what it says, and what finds those of another: of signs, pairs of them."""
    if is_cjk(line[:1]) or sum(map(is_cjk, line)) > len(line) // 3:
        return _signs_of(line), _signs_of
    return frozenset(signed(line)), signed


def _signs_of(text: str) -> frozenset[str]:
    """Return the pairs of signs that tell what a text says: none of hiragana alone, and katakana as whole words."""
    pairs = (word for word in content_words(text) if not _KANA.fullmatch(word))
    return frozenset([*pairs, *_KATAKANA.findall(text)])


def _told_about(parts: Sequence[str], says: Sequence[set[str]], place: int) -> float:
    """Return how much of a line a part says; what the others of its sentence say besides counts half."""
    begins, ends = _begins(parts, place), place
    while ends + 1 < len(parts) and not _ended(parts[ends]):
        ends += 1
    return len(says[place]) + 0.5 * len(set().union(*says[begins : ends + 1]) - says[place])


def _within_reach(parts: Sequence[str], first: int, last: int) -> list[int]:
    """Return the parts beside these: of their sentences all, of the others two."""
    begins, ends = _begins(parts, first), last
    while ends + 1 < len(parts) and not _ended(parts[ends]):
        ends += 1
    before = range(max(0, min(first - 2, begins)), first)
    return [*before, *range(last + 1, min(len(parts), max(last + 3, ends + 1)))]


def _begins(parts: Sequence[str], place: int) -> int:
    """Return the part that the sentence of the part at `place` begins with."""
    return next((before + 1 for before in range(place - 1, -1, -1) if _ended(parts[before])), 0)


def _bounded_from(parts: Sequence[str], first: int, wanted: Collection[str]) -> int:
    """Return the part before `first`, in its sentence, with which a condition or a negation begins that holds for it."""
    begins = first
    for place in range(first - 1, _begins(parts, first) - 1, -1):
        other = [word for word in signed(parts[place]) if not _in(word, wanted)]
        if any(cues.says(cue, parts[place]) for cue in _BEFORE) or (_negations(parts[place]) and len(other) <= 1):
            begins = place
    return begins


def _bounds(part: str, *, ended: bool) -> bool:
    """Return whether a part bounds what stands before it, or takes it back; `ended`: a sentence ends between them."""
    if (
        cues.says("jest", part)
        or cues.says("once", part)
        or _CORRECTS.match(part)
        or (_negations(part) and len(signed(part)) <= 2 and not _OF_ONESELF.match(part))
    ):
        return True
    reason = _OF_ONESELF.match(part) and not excepts(part)
    return bool(_EXCEPT.match(part)) or (not ended and cues.says("conditional", part) and not reason)


def _only_corrects(part: str) -> bool:
    """Return whether a part takes back what stands before it, and what it is instead follows: "no wait, "."""
    return _CORRECTS.match(part) is not None and len(signed(part)) <= 2


def _ended(part: str) -> bool:
    return _SENTENCE_END.search(part) is not None


@lru_cache(maxsize=4096)
def signed(text: str) -> dict[str, frozenset[bool]]:
    """Return the words of a text that carry what it says, each with whether it is negated, or both."""
    found: dict[str, set[bool]] = {}
    for clause in _CLAUSE.split(_ELIDED.sub(r"\1 ", text.replace("`", " "))):
        for word, negated in _clause(clause or ""):
            found.setdefault(word, set()).add(negated)
    return {word: frozenset(signs) for word, signs in found.items()}


def _clause(clause: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a clause; a negation turns what follows it, or all where nothing does."""
    negated, seen = False, list[tuple[str, bool]]()
    wide = cues.wide("negating").search(clause) is not None
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", clause)):
        low = token.casefold().replace("’", "'")
        if low in cues.words("negating") or low.endswith("n't") or words(token) == (NOT,):
            negated = True
            continue
        seen += [(word, wide if is_cjk(word) else negated) for word in words(token) if word != NOT]
    turned = negated and not any(sign for _, sign in seen)
    yield from ((word, True if turned else sign) for word, sign in seen)


def _compared(rule: str, source: RuleSource, known: Known) -> _Compared:
    mine, theirs = signed(rule), signed(source.agreed)
    context = frozenset(signed(source.asked)) | known.words if source.asked else known.words
    common = [word for word in mine if _in(word, theirs)]
    telling = [word for word in common if word not in _neutral()] or common
    other = [word for word in mine if word not in common and word not in _neutral() and word not in known.names]
    unknown = tuple(word for word in other if not _in(word, context))
    turned = sum(1 for word in telling if not mine[word] & _signs(word, theirs))
    lacking = (len(other) + len(unknown)) / 2  # what is known from elsewhere in the talk lacks half
    telling_share = len(telling) / (len(telling) + lacking) if telling else 0.0
    about = signed(bare(source.about)) if source.about else {}
    linked = len([word for word in mine if _in(word, about)]) / len(mine)
    return _Compared(source, telling_share, turned / len(telling) if telling else 0.0, unknown, linked)


def _share(rule: str, text: str, known: Known) -> float:
    """Return the share of a rule's telling words that stand in a text."""
    there = signed(text)
    wanted = [word for word in signed(rule) if word not in _neutral() and (len(word) > 1 or is_cjk(word))]
    wanted = [word for word in wanted if word not in known.names or _in(word, there)]
    return len([word for word in wanted if _in(word, there)]) / len(wanted) if wanted else 1.0


def _is_clause(line: str, text: str) -> bool:
    """Return whether a line is the very clause in which the user said it, with all that bounds it there."""
    plain = DAY_NOTE.sub("", _DAY.sub("", _LIST_MARK.sub("", line)))
    clauses = (own_sentence(text, plain, whole=whole) for whole in (False, True))
    return _flat(plain).strip(" .。") in {_flat(clause).strip(" .。") for clause in clauses}


def _rank(one: _Compared) -> tuple[float, float]:
    return (one.share + 0.5 * one.linked - 0.5 * one.turned, one.share)


def _strays(rule: str, best: _Compared, known: Known) -> bool:
    """Return whether a rule is not quite the wish: a condition or a "not" lost, a name, a number or a leave gained."""
    theirs = signed(best.source.text)
    if any(not _in(word, theirs) for name in names(rule) for word in words(name) if word not in known.names):
        return True
    said = _flat(best.source.text)
    if any(not _within(number, said) for number in _NUMBER.findall(_flat(rule))):
        return True
    if any(word in cues.words("pivotal") and not _in(word, theirs) for word in _lower(rule)):
        return True
    mine = signed(rule)
    given = [one for one in cues.found("risky", rule) if any(False in mine.get(word, {False}) for word in words(one))]
    if any(not _in(word, theirs) for one in given for word in signed(one)):
        return True
    parts = [part for part in _SENTENCE.split(best.source.text) if any(_in(word, signed(part)) for word in mine)]
    if any(cues.says("conditional", part) for part in parts) and not cues.says("conditional", rule):
        return True
    if sum(map(_negations, parts)) != _negations(rule):
        return True
    inside = [signed(clause or "") for clause in _CLAUSE.split(best.source.text)]
    clauses = [[word for word in signed(clause or "") if _in(word, theirs)] for clause in _CLAUSE.split(rule)]
    return not all(any(all(_in(word, part) for word in clause) for part in inside) for clause in clauses)


def _negations(text: str) -> int:
    plain = _ELIDED.sub(r"\1 ", text)
    found = sum(low in cues.words("negating") or low.endswith("n't") for low in _lower(plain.replace("’", "'")))
    return found + len(cues.wide("negating").findall(plain))


def _hard(rule: str, sources: Sequence[RuleSource], stood: str = "") -> list[str]:
    """Return the addresses, paths, numbers and the like in a rule that stand in nothing that the user said."""
    said = " ".join([*(_flat(source.agreed) for source in sources), _flat(stood)])
    heard = {word for source in sources for word in signed(source.agreed)}
    found = []
    for match in _HARD.finditer(DAY_NOTE.sub(" ", rule)):
        thing = match[0].strip("`'\"").rstrip(".,:;/")
        plain = _flat(thing)
        if plain and not _within(plain, said) and not (match[0][0] == "`" and set(words(thing)) <= heard):
            found.append(thing)
    return found


def names(rule: str) -> list[str]:
    """Return what a rule names with a capital, where its language writes only names so."""
    plain = bare(rule)
    capital = [match[1] for match in _NAME.finditer(plain)]
    return capital if len(capital) <= _CAPITALS * len(plain.split()) else []


def _leave(rule: str, source: RuleSource, known: Known) -> list[str]:
    """Return what takes away a question or a check in a rule, where nothing in the message does."""
    if cues.says("leave", source.agreed):
        return []
    theirs = signed(source.agreed)
    found = []
    for one in cues.found("leave", rule):
        telling = [word for word in signed(one) if word not in cues.words("neutral") or word == "ask"]
        if not (telling and all(_in(word, theirs) or word in known.names for word in telling)):
            found.append(one)
    return found


def _stands(source: RuleSource) -> bool:
    """Return whether the message says that a wish holds for good, as a rule does: in a word, or by its kind."""
    if source.stands or cues.says("standing", source.text) or source.asked:
        return True
    guessed = kind(source.text, source.asked)
    return sum(guessed.shares[one] for one in _PASSING) < PASSING


def forbids(line: str) -> bool:
    """Return whether a rule forbids something, or bounds it by a negation."""
    return _negations(line) > 0


def allows(line: str) -> bool:
    """Return whether a rule forbids nothing, or takes a question away."""
    return not forbids(line) or cues.says("leave", line)


def excepts(line: str) -> bool:
    """Return whether a rule has an exception in it."""
    return any(_EXCEPT.match(line[match.start() :]) for match in _BLANK.finditer(line))


def common(one: str, other: str) -> bool:
    """Return whether two rules have a telling word in common, in whatever form."""
    theirs = [word for word in signed(other) if word not in _neutral() and (len(word) > 1 or is_cjk(word))]
    return any(_in(word, theirs) for word in signed(one) if word not in _neutral())


def _signs(word: str, there: dict[str, frozenset[bool]]) -> frozenset[bool]:
    return frozenset().union(*(signs for other, signs in there.items() if _alike(word, other)))


def _in(word: str, there: Iterable[str]) -> bool:
    return word in there or any(_alike(word, other) for other in there)


@lru_cache(maxsize=65536)
def _alike(one: str, other: str) -> bool:
    """Return whether two words are forms of one."""
    one, other = _plain(one), _plain(other)
    if one == other:
        return True
    if min(len(one), len(other)) < 4 or any(ch.isdigit() for ch in one + other):
        return False
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shared >= max(4, 0.7 * max(len(one), len(other))) or shared == min(len(one), len(other)) >= WHOLE


def _plain(word: str) -> str:
    """Return a word without accents: "ahorra", "ahórratela"."""
    if word.isascii() or is_cjk(word[:1]):
        return word
    return "".join(one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one))


@lru_cache(maxsize=1)
def _neutral() -> frozenset[str]:
    return frozenset(word for one in cues.words("neutral") for word in (one, *words(one)))


def _lower(text: str) -> list[str]:
    return [token.casefold() for token in _TOKEN.findall(text)]


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("`", "").split())


def _within(plain: str, said: str) -> bool:
    """Return whether `plain` stands in `said` as a whole."""
    edge = r"\d" if plain.isdigit() else r"\w"  # "20-22h" names 22
    return re.search(rf"(?<!{edge}){re.escape(plain)}(?!{edge})", said) is not None
