"""What of a user's message says a line: which of its phrases, with all that bounds them or takes them back there."""

# ruff: noqa: E501 - a row of words in a pattern stands on one line
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, pairwise, takewhile

from dream.language import cues
from dream.language.words import NOT, content_words, is_cjk, words

OWN_CHARS = 240  # of the user's own sentences as they are shown beside a line, or written
WHOLE = 7  # letters of a word that begins another to be a form of it: "refactor", "refactorizar"

LIST_MARK = re.compile(r"^\s*(?:[-*•+>]\s+|\d{1,3}[.)]\s+)+")
DAY = re.compile(
    r"\s*[(（](?:said |as of |since )?(?:\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}年\d{1,2}月\d{1,2}日)[)）]\s*$"
)
_SENTENCE_END = re.compile(r"(?:[.!?…][)\"”’]*\s*|[。！？；…]\s*|\n\s*|\s/\s+)$")
_LINE_END = re.compile(r"(?<=[^\s.!?…。！？；;:：,，、])[^\S\n]*\n\s*")
_AT_END = re.compile(r"[\s,;:/，、；：–—-]+$")
_KANA = re.compile(r"[ぁ-ゟー]+|[ァ-ヺー]+")
_KATAKANA = re.compile(r"[ァ-ヺ][ァ-ヺー]+")
TOKEN = re.compile(r"[^\W_]+(?:['’.,:/@&+#_-]+[^\W_]+)*[+#%]*")
_ELIDED = re.compile(r"(?<!\w)(n|l|d|j|qu|c|s|m|t)['’](?=\w)", re.IGNORECASE)
# What must be met exactly: an address, a host, a path, something in backticks, a number.
HARD = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://\S+)|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])(?:[\w-]+\.)+(?:[a-z]{2,})(?::\d+)?(?![\w])"
    r"|(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*|[\w-]+(?:/[\w.*-]+)+/?|--?[a-z][\w-]+(?==|\b)(?<=\s[-\w]{3})|`[^`\n]+`|#\w+|@\w+",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\s*\[([^\[\]]{1,40})\]\s*")  # what a model says that "here", "it" or "me" means
_BLANK = re.compile(r"[\s，。、；,;（(]+")
_GAP = re.compile(r"\s*(?:…|\.\.\.)\s*")  # between two phrases of one message
_BESIDE = re.compile(r"\s*[;；]\s*")  # between those of two
_UNNAMED: tuple[cues.Cue, ...] = ("leave", "risky", "negating")  # what no note may bring in
_WHO_WANTS: tuple[cues.Cue, ...] = ("user_noun", "wants")
_ENDS: tuple[cues.Cue, ...] = ("jest", "once")
_OPENS: tuple[cues.Cue, ...] = ("corrects", "excepts")


@cache
def _frame() -> re.Pattern[str]:
    """Return what finds who wants something of whom at a line's beginning: "The user wants the agent to "."""
    users, wants = ("|".join(cues.rows(cue)) for cue in _WHO_WANTS)
    return re.compile(rf"^(?:{users})\s*(?:{wants})\s*", re.IGNORECASE)


@cache
def _clause_end() -> re.Pattern[str]:
    return re.compile(
        r"[.!?。！？;；:：,，、\n()（）]+(?=\s|$|[^\x00-\x7f])|[。！？；，、：]|\s(?:[-–—]+|/)\s"
        rf"|\s(?:{'|'.join(cues.rows('joins'))})\s",
        re.IGNORECASE,
    )


@cache
def _part() -> re.Pattern[str]:
    """Return where a part of what somebody typed ends: people use commas, a new line and "and" for full stops."""
    return re.compile(
        r"[.!?…]+[)\"”’]*(?:\s+|$)|[。！？；，、：…]+|[,;:](?:\s+|$)|\n+|\s(?:[-–—]+|/)\s|(?<=[⺀-鿿])\s+(?=[⺀-鿿])"
        rf"|\s(?=(?:{'|'.join(cues.rows('turns'))})\s)",
    )


def clauses(text: str) -> list[str]:
    """Cut a text into its clauses."""
    return _clause_end().split(text)


def bare(line: str) -> str:
    """Return a rule without list mark, the day at its end, and who wants it of whom."""
    return _frame().sub("", DAY.sub("", LIST_MARK.sub("", line)).strip())


def without_mark(line: str) -> str:
    """Return a line without its list mark."""
    return LIST_MARK.sub("", line).strip()


def own_sentence(text: str, line: str, *, whole: bool = True) -> str:
    """Return what of a user's `text` says `line`, verbatim, its blanks made one.

    That is the clause which says most of it, its neighbours that say more, and what bounds these or takes them back;
    where `whole`, to the ends of their sentences, else without the other matter that stands beside them there.
    """
    wanted, telling = told_by(bare(line))
    spans = _spans(text)
    parts = [text[start:end] for start, end in spans]
    says = [{word for word in wanted if stands_in(word, telling(part))} for part in parts]
    best = max(range(len(parts)), key=lambda place: (_told_about(parts, says, place), -place), default=0)
    if not parts or not says[best]:
        return " ".join(text.split())[:OWN_CHARS]
    first = last = best
    little = cues.words("neutral")
    while True:
        told = set().union(*says[first : last + 1])
        more = [
            place
            for place in _within_reach(parts, first, last)
            if len(says[place] - told - little)
            >= (2 if is_cjk(parts[place].strip()[:1]) else 1)  # one sign tells little
            and spans[max(last, place)][1] - spans[min(first, place)][0] <= OWN_CHARS
        ]
        if not more:
            break
        place = max(more, key=lambda one: (len(says[one] - told), one in (first - 1, last + 1)))
        first, last = min(first, place), max(last, place)
    first = _sentence(parts, first)[0] if whole else _bounded_from(parts, first, wanted)
    while last + 1 < len(parts) and (
        _bounds(parts[last + 1], ended=_ended(parts[last])) or (last > best and _only_corrects(parts[last]))
    ):
        last += 1
    last = _sentence(parts, last)[1] if whole else last
    found = in_one_line(text[spans[first][0] : spans[last][1]])
    return found[: 2 * OWN_CHARS] if whole else _AT_END.sub("", _begun(found)) or found


def in_one_line(text: str) -> str:
    """Return a text in one line; where a sentence ends with the line alone, ` / ` stands for that."""
    return " ".join(_LINE_END.sub(" / ", text.strip()).split())


def is_copied(line: str, texts: Sequence[str], heard: Collection[str], told: Collection[str] = ()) -> bool:
    """Return whether a line is made of what the user said: whole phrases of `texts`, with all that bounds them there.

    `…` stands between two of one text, in their order and with nothing between them that bounds or denies, or between
    those of two, as `;` does. A note in square brackets tells what their "here" or "it" means, or stands for it, in
    words `heard`; up to half of them may only be `told`, in a line that rests on what the user said.
    """
    plain = DAY.sub("", LIST_MARK.sub("", line))
    for note in _NOTE.findall(plain):
        risky = any(cues.says(cue, note) for cue in _UNNAMED) or HARD.search(note)
        said = [word for word in signed(note) if word not in neutral()]
        new = [word for word in said if not stands_in(word, heard)]
        if risky or 2 * len(new) > len(said) or not all(stands_in(word, told) for word in new):
            return False
    lines = [one for one in _BESIDE.split(plain) if one.strip()]
    return bool(lines) and all(
        any(_copied_from(one, text, plain) for text in texts) or _copied_apart(one, texts, plain) for one in lines
    )


def _copied_apart(line: str, texts: Sequence[str], whole: str) -> bool:
    """Return whether each phrase of a line is whole in a text, and no two of them are in one."""
    found = [{n for n, text in enumerate(texts) if _copied_from(one, text, whole)} for one in _GAP.split(line)]
    return all(found) and all(one.isdisjoint(other) for one, other in combinations(found, 2))


def _copied_from(line: str, text: str, whole: str) -> bool:
    parts = [text[start:end] for start, end in _spans(text)]
    after = 0  # the first part behind the phrase before
    for phrase in _GAP.split(line):
        place = _place(phrase, parts, after)
        if place is None:
            return False
        first, last = place
        skipped = parts[after:first] if after else []
        rest = parts[last + 1] if last + 1 < len(parts) else ""
        if any(_bounds(part, ended=False) or (negations(part) and not _of_another(part)) for part in skipped):
            return False
        if rest and _bounds(rest, ended=_ended(parts[last])) and trimmed(rest) not in flat(whole):
            return False
        if not after and _bounded_from(parts, first, signed(_NOTE.sub(" ", phrase))) != first:
            return False
        after = last + 1
    return after > 0


def _of_another(part: str) -> bool:
    """Return whether a part tells of somebody else, as a reason does: "he has no patience"."""
    return cues.begins("of_another", part)


def _place(phrase: str, parts: Sequence[str], start: int) -> tuple[int, int] | None:
    """Return the first and the last of the parts, from `start`, that a phrase consists of, if it says anything."""
    if not any(word not in neutral() for word in signed(_NOTE.sub(" ", phrase))):
        return None  # "always" alone could be joined to anything
    pieces = re.split(r"\s*\[[^\[\]]*\]\s*", trimmed(phrase))
    named = cues.pattern("pointing").pattern
    wanted = re.compile(rf"[\s,]*(?:{named})?[\s,]*".join(map(re.escape, pieces)))
    for first in range(start, len(parts)):
        for last in range(first, len(parts)):
            if wanted.fullmatch(trimmed("".join(parts[first : last + 1]))):
                return first, last
    return None


def trimmed(text: str) -> str:
    """Return a phrase flat, without the fillers before it and the signs behind."""
    return _AT_END.sub("", _begun(flat(text))).strip(" .。!！")


def flat(text: str) -> str:
    """Return a text in small letters, its blanks made one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("`", "").split())


def told_by(line: str) -> tuple[frozenset[str], Callable[[str], Iterable[str]]]:
    """Return the words of a line that tell what it says, and what finds those of another: of signs, pairs of them."""
    if is_cjk(line[:1]) or sum(map(is_cjk, line)) > len(line) // 3:
        return _signs_of(line), _signs_of
    return frozenset(signed(line)), signed


def _signs_of(text: str) -> frozenset[str]:
    """Return the pairs of signs that tell what a text says: none of hiragana alone, and katakana as whole words."""
    pairs = (word for word in content_words(text) if not _KANA.fullmatch(word))
    return frozenset([*pairs, *_KATAKANA.findall(text)])


# The parts of a message, and what bounds them.


def _spans(text: str) -> list[tuple[int, int]]:
    ends = [0, *(match.end() for match in _part().finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(ends) if text[start:end].strip()]


def _begun(text: str) -> str:
    """Return a text without what people say before they say something: "ok, and "."""
    while True:
        rest = text.lstrip(" \t\n,;:.!?…–—-，、。")
        filler = cues.pattern("filler").match(rest)
        if filler is None or not rest[filler.end() :].strip():
            return rest
        text = rest[filler.end() :]


def _ended(part: str) -> bool:
    return _SENTENCE_END.search(part) is not None


def _sentence(parts: Sequence[str], place: int) -> tuple[int, int]:
    """Return the first and the last part of the sentence of the part at `place`."""
    first = next((before + 1 for before in range(place - 1, -1, -1) if _ended(parts[before])), 0)
    return first, next((after for after in range(place, len(parts)) if _ended(parts[after])), len(parts) - 1)


def _told_about(parts: Sequence[str], says: Sequence[set[str]], place: int) -> float:
    """Return how much of a line a part says; what the others of its sentence say besides counts half."""
    first, last = _sentence(parts, place)
    return len(says[place]) + 0.5 * len(set().union(*says[first : last + 1]) - says[place])


def _within_reach(parts: Sequence[str], first: int, last: int) -> list[int]:
    """Return the parts beside these: of their sentences all, of the others two."""
    begins, ends = max(0, min(first, _sentence(parts, first)[0]) - 2), max(last, _sentence(parts, last)[1]) + 2
    return [*range(begins, first), *range(last + 1, min(len(parts), ends + 1))]


def _bounded_from(parts: Sequence[str], first: int, wanted: Collection[str]) -> int:
    """Return the part before `first`, in its sentence, with which a condition or a negation begins that holds for it."""
    begins = first
    for place in range(first - 1, _sentence(parts, first)[0] - 1, -1):
        if parts[place].rstrip().endswith((":", "：")):
            continue  # it only announces: "but first: "
        other = [word for word in signed(parts[place]) if not stands_in(word, wanted)]
        if _conditions(parts[place]) or (negations(parts[place]) and len(other) <= 1):
            begins = place
    return begins


def _conditions(part: str) -> bool:
    """Return whether what follows a part in its sentence holds under a condition that it names, or is only supposed."""
    if cues.says("supposed", part):
        return True
    return cues.says("conditional", part) if is_cjk(part.strip()[:1]) else cues.begins("conditional", _begun(part))


def _bounds(part: str, *, ended: bool) -> bool:
    """Return whether a part bounds what stands before it, or takes it back; `ended`: a sentence ends between them."""
    if any(cues.says(cue, part) for cue in _ENDS) or any(cues.begins(cue, part) for cue in _OPENS):
        return True
    if (cues.begins("of_oneself", part) or _of_another(part)) and not excepts(part):
        return False  # a reason
    return (negations(part) > 0 and len(signed(part)) <= 2) or (not ended and cues.says("conditional", part))


def _only_corrects(part: str) -> bool:
    """Return whether a part takes back what stands before it, and what it is instead follows: "no wait, "."""
    return cues.begins("corrects", part) and len(signed(part)) <= 2


def excepts(line: str) -> bool:
    """Return whether a rule has an exception in it."""
    return any(cues.begins("excepts", line[blank.end() :]) for blank in _BLANK.finditer(line))


@lru_cache(maxsize=1)
def neutral() -> frozenset[str]:
    """Return the words that bring nothing into a rule, as they are written and as they are compared."""
    return frozenset(word for one in cues.words("neutral") for word in (one, *words(one)))


def negations(text: str) -> int:
    """Count what negates in a text."""
    tokens = (token.casefold() for token in TOKEN.findall(_ELIDED.sub(r"\1 ", text).replace("’", "'")))
    found = sum(1 for low in tokens if low in cues.words("negating") or low.endswith("n't"))
    return found + len(cues.wide("negating").findall(_ELIDED.sub(r"\1 ", text)))


# The words of a line, and whether two are forms of one.


@lru_cache(maxsize=4096)
def signed(text: str) -> dict[str, frozenset[bool]]:
    """Return the words of a text that carry what it says, each with whether it is negated, or both."""
    found: dict[str, set[bool]] = {}
    for clause in clauses(_ELIDED.sub(r"\1 ", text.replace("`", " "))):
        for word, negated in _clause(clause):
            found.setdefault(word, set()).add(negated)
    return {word: frozenset(signs) for word, signs in found.items()}


def _clause(clause: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a clause; a negation turns what follows it, or all where nothing does."""
    negated, seen = False, list[tuple[str, bool]]()
    wide = cues.wide("negating").search(clause) is not None
    for token in TOKEN.findall(unicodedata.normalize("NFKC", clause)):
        low = token.casefold().replace("’", "'")
        if low in cues.words("negating") or low.endswith("n't") or words(token) == (NOT,):
            negated = True
            continue
        seen += [(word, wide if is_cjk(word) else negated) for word in words(token) if word != NOT]
    turned = negated and not any(sign for _, sign in seen)
    yield from ((word, True if turned else sign) for word, sign in seen)


def stands_in(word: str, there: Iterable[str]) -> bool:
    """Return whether a word stands among others, in whatever form."""
    return word in there or any(alike(word, other) for other in there)


@lru_cache(maxsize=65536)
def alike(one: str, other: str) -> bool:
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
