"""Rewrite a sentence in the first person as a statement about its speaker."""

from __future__ import annotations

import re

from dream.llm.embedded.german import is_german, third_de
from dream.llm.embedded.japanese import third_ja
from dream.llm.embedded.lexicon import PAST, THIRD, UNINFLECTED
from dream.llm.embedded.words import has_kana, mostly_cjk

# "We" of somebody's tools and tastes is how they do it themselves.
_WE_USE = re.compile(r"^[Ww]e(?= (?:also |always |usually |only )?(?:use|prefer|like|love)\b)")
_GOT = re.compile(r"^got (?=(?:an?|the|some|about|no|two|three|four|five|\d[\d.,]*%?|my|this)\b)")
_LEAD = re.compile(r"^I(?P<short>'m|'ve|'ll|'d)?\s+(?P<rest>\S.*)$", re.S)
_ADJUNCT = re.compile(
    r"^(?P<lead>(?:(?:on|in|since|at|after|before|during|for|the (?:week|weekend|day|month|year|night|morning|evening|last|next|other|\w+day)|when|while|recently|lately|back in|over)\b[^,]{3,60}?"
    r"|[^,:;]{0,20}\b\d{4}|recently|lately)),? (?P<claim>I(?:'m|'ve|'d|'ll)? [a-z].*)$",
    re.I | re.S,
)
_AFTER = re.compile(
    r"\b(?P<joint>(?:and|or|but|then),?|,) I(?P<short>'m|'ve|'d|'ll)? (?P<adverb>(?:(?:\w+ly|also|still|just|never|always|even|no longer) )?)(?P<verb>[a-z']+)"
)
_ELLIPTIC = re.compile(
    r"^(?:even |also |just |finally |recently |then |once |ever )?(?P<verb>[a-z]+)\b(?: (?P<next>[\w']+))?", re.I
)
_OBJECT = frozenset(
    "a an the my this that these those some it them him her out up down off on in into to at for with".split()
)
_NO_DEED = frozenset("set let put cut hit hurt cost shut quit held bet felt led was were had meant thought".split())
_FIRST = re.compile(
    r"\b(?P<both>[Mm]y (?P<kin>[a-z]+(?: [a-z]+)?) and I\b(?!'))|\bI(?P<short>'m|'ve|'d|'ll)\b ?|\bI (?=[a-z])|\bI\b(?!['.])"
    r"|\b(?P<my>[Mm]y)\b|\b(?P<me>me)\b|\b(?P<mine>mine)\b|\b(?P<self>myself)\b"
)
_INNER: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\bam I\b", "are they"), (r"\bwas I\b", "were they"), (r"\bI am\b|\bI'm\b", "they are"),
        (r"\bI(?P<a> \w+ly| also| just| still)? was\b", r"they\g<a> were"), (r"\bI've\b", "they have"),
        (r"\bI'd(?= (?:been|had|gone|done|\w+ed)\b)", "they had"), (r"\bI'd\b", "they would"), (r"\bI'll\b", "they will"),
        (r"\b[Ii]\b(?!['.])", "they"), (r"\bmy\b", "their"), (r"\bMy\b", "Their"), (r"\bme\b", "them"),
        (r"\bmine\b", "theirs"), (r"\bmyself\b", "themselves"),
    )
]  # fmt: skip
_HAD = re.compile(r"^(?:been|had|gone|done|\w+ed)\b")


def third(text: str, name: str) -> str:
    """Rewrite a trimmed sentence about its speaker; `name` is empty for a user without a name.

    "I went to Oslo" is "Ann went to Oslo", or "Went to Oslo" where the speaker has no name.
    """
    if mostly_cjk(text):
        return third_ja(text, name) if has_kana(text) else _third_zh(text, name)
    if is_german(text):
        return third_de(text, name)
    text = re.sub(r"^i(?=['\s])", "I", text)
    text = re.sub(r"^(?:Gonna|gonna)\b(?! be an?\b)", "I'm going to", text)
    text = re.sub(r"^Been\b", "I've been", text)
    if not name:
        text = _WE_USE.sub("I", text)
    if _elliptic(text):
        text = f"I {text[:1].lower()}{text[1:]}"
    match = _LEAD.match(text)
    begins = None if match else _ADJUNCT.match(text)
    if begins:
        lead, claim = inner(begins["lead"]), third(begins["claim"], name or "the user")
        return f"{lead[:1].upper()}{lead[1:]}, {claim}"
    if match is None:
        body = _named(text, name)
        return body[:1].upper() + body[1:]
    rest = _AFTER.sub(_again, match["rest"])
    predicate = inner(_predicate(match["short"] or "", rest))
    return f"{name} {predicate}" if name else predicate[:1].upper() + predicate[1:]


def _elliptic(text: str) -> bool:
    """Say whether a sentence leaves out its "I": "Went to Oslo", "Loved this place"."""
    match = _ELLIPTIC.match(text)
    if match is None:
        return False
    verb, after = match["verb"].lower(), (match["next"] or "").lower()
    if verb in PAST:
        return verb not in _NO_DEED
    return verb.endswith("ed") and not verb.endswith("eed") and after in _OBJECT


def _again(match: re.Match[str]) -> str:
    """Take the second "I" of a sentence off: "and I work" after "Ann lives" is "and works"."""
    if match["short"]:
        return f"{match['joint']} {_predicate(match['short'], match['adverb'] + match['verb'])}"
    return f"{match['joint']} {match['adverb']}{_inflected(match['verb'])}"


def _named(text: str, name: str) -> str:
    """Put the speaker's name where a sentence first speaks of them; before it where it doesn't."""
    match = _FIRST.search(text)
    before, after = (text[: match.start()], text[match.end() :]) if match else ("", text)
    if match is None or match["self"] or match["mine"]:
        told = inner(text)
        return f"{name}: {told[:1].upper()}{told[1:]}" if name else told
    who = name or ("the user" if before else "The user")
    if match["both"]:
        said = f"{who} and their {match['kin']}"
    elif match["my"]:
        said = f"{who}'s"
    elif match["me"]:
        said = who
    else:
        return f"{before}{who} {inner(_predicate(match['short'] or '', after.lstrip()))}".rstrip()
    return before + said + inner(after)


def inner(text: str) -> str:
    """Write "they" for the speaker, in a sentence that does not begin with them."""
    for pattern, new in _INNER:
        text = pattern.sub(new, text)
    return text


def _predicate(short: str, rest: str) -> str:
    if short:
        rest = _GOT.sub("", rest) if short == "'ve" else rest
        word = "had" if short == "'d" and _HAD.match(rest) else THIRD[short] if short != "'d" else "would"
        return f"{word} {_and_also(rest) if word == 'is' else rest}"
    words = rest.split(" ")
    at = 2 if rest.startswith("no longer ") and len(words) > 2 else 0
    while at < len(words) - 1 and _is_adverb(words[at]):
        at += 1
    before, words[at] = words[at], _inflected(words[at])
    text = " ".join(words)
    return text if words[at] == before else _and_also(text)


def _is_adverb(word: str) -> bool:
    return (word.endswith("ly") and word not in _LY_VERBS) or word in _ADVERBS


def _and_also(predicate: str) -> str:
    """Inflect the later verbs of the same subject: "and haven't run", "and love their job"."""
    told = _AUXILIARY.sub(lambda match: match[1] + THIRD[match[2]], predicate)
    return told if " to " in predicate else _ALSO.sub(lambda match: match[1] + _inflected(match[2]), told)


_ADVERBS = frozenset(
    "never always just also already really finally recently actually still only even usually often sometimes once currently "
    "definitely totally truly absolutely probably not soon then now first".split()
)
_LY_VERBS = frozenset("fly apply reply rely supply comply imply multiply ally rally tally bully".split())
_AUXILIARY = re.compile(r"(\b(?:and|but) (?:also |still |just )?)(haven't|don't|have|am)\b(?= [a-z])")
_ALSO = re.compile(
    r"(\b(?:and|but) (?:also |still |really )?)(work|live|love|like|have|want|need|use|prefer|enjoy|hate|play|study|speak|own|run|go|teach)\b"
)
_ES = re.compile(r"(?:s|x|z|ch|sh|o)$")


def _inflected(verb: str) -> str:
    """Put a verb that follows "I" into the third person; a past or modal form stays."""
    core = verb.rstrip(",.;:")
    lower = core.lower()
    if lower in THIRD:
        return THIRD[lower] + verb[len(core) :]
    if (
        lower in UNINFLECTED
        or lower.removeprefix("re") in PAST
        or re.search(r"[^e]ed$|n't$|^[^a-z]", lower)
        or not lower.replace("-", "").isalpha()
    ):
        return verb
    if lower.endswith("eed") and lower not in {"need", "feed", "succeed", "proceed", "exceed"}:
        return verb
    if re.search(r"[^aeiou]y$", lower):
        return core[:-1] + "ies" + verb[len(core) :]
    return core + ("es" if _ES.search(lower) else "s") + verb[len(core) :]


def _third_zh(text: str, name: str) -> str:
    text = re.sub(r"^我的(?=\S)", f"{name or '用户'}的", text)
    text = re.sub(r"^我(?!们)", "", text)
    text = re.sub(r"^(\d{4}年[^我，,]{0,20}?)我(?!们)", rf"\1{name or '用户'}", text)
    text = (
        re.sub(r"我(?!们)", "自己", text)
        if name == ""
        else text.replace("我们", "\0").replace("我", name).replace("\0", "我们")
    )
    return f"{name}：{text}" if name and not text.startswith(name) else text
