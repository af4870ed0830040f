"""Tell what somebody was asked without speaking to them: "How long have you been married?" is how long they have been."""

from __future__ import annotations

import re

_AUX = r"(?:have|are|were|can|could|will|would|should|had|might|must)"
_SHORT = {"'ve": "have", "'re": "are", "'d": "would", "'ll": "will"}
_OPEN = re.compile(
    rf"^(?P<what>(?:what|which|who|whose|where|when|why|how)\b(?: (?!you\b|is\b|was\b|and\b|{_AUX}\b)[\w'-]+){{0,5}}?)(?:(?P<short>'ve|'re|'d|'ll)| (?P<aux>{_AUX}|do|did)) you\b(?P<rest>.*)$",
    re.I,
)
_TELL = re.compile(
    r"^(?:can|could|would|will) you (?:please )?(?:tell|explain to|share with) (?:me|us)(?: a bit)?(?: more)? (?:about )?(?P<what>\S.*)$",
    re.I,
)
_CALLED = re.compile(r", [A-Z]\w+(?=\??$)")
_CLOSED = re.compile(rf"^(?P<aux>{_AUX}|do|did) you\b(?P<rest>.*)$", re.I)
_SUBJECT = re.compile(
    r"\b(?:(?P<before>have|are|were|can|could|will|would|should|had|do|did|that|if|how|when|what|where|why|which|since|because|as|and|so|is it|than|think|like|way|things?) )?you(?P<short>'(?:re|ve|ll|d))?\b",
    re.I,
)
_OWN = ((re.compile(r"\byour\b", re.I), "their"), (re.compile(r"\byours\b", re.I), "theirs"),
        (re.compile(r"\byourself\b", re.I), "themselves"), (re.compile(r"\bya\b", re.I), "them"))  # fmt: skip


def asked(question: str) -> str:
    """Return what somebody was asked, as it follows "asked": `how long they have been married`; else in quotes, as it was."""
    quoted = f'"{question}"'
    question = _CALLED.sub("", question)
    if tell := _TELL.match(question.rstrip("?？ ")):
        return f"about {_third(tell['what'])}"
    match = _OPEN.match(question.rstrip("?？ "))
    what = match["what"][:1].lower() + match["what"][1:] if match else "whether"
    match = match or _CLOSED.match(question.rstrip("?？ "))
    if match is None or ("," in match["rest"] and what == "whether"):
        return quoted
    aux = _SHORT.get((match.groupdict().get("short") or "").lower(), (match["aux"] or "").lower())
    if aux == "did":
        return quoted
    verb = "" if aux == "do" else f" {aux}"
    return f"{what} they{verb}{_third(match['rest'])}"


def _third(text: str) -> str:
    """Write "they" for the one who is asked."""
    for pattern, word in _OWN:
        text = pattern.sub(word, text)
    return _SUBJECT.sub(_they, text)


def _they(match: re.Match[str]) -> str:
    before = f"{match['before']} " if match["before"] else ""
    if match["short"]:
        return f"{before}they{match['short']}"
    follows = re.match(r" (?:(?:\w+ly|also|ever|guys|all) )?(?P<word>[a-z']+)", match.string[match.end() :])
    subject = bool(before) and follows is not None
    first = not before and match.start() == 0
    return f"{before}they" if subject or first or (follows and follows["word"] in _VERBS) else f"{before}them"


_VERBS = frozenset(
    "have had are were can could will would should do did need want like love think feel make made get got gonna plan use used go went start started see find know enjoy play work live keep take took".split()
)
