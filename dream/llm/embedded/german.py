"""German: a statement in the first person as one about the user; its facts one by one."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = frozenset(
    "gegen wohnt wohnen beginnt endet um uhr kostet ich und ist nicht der die das am mein meine meinen meinem meiner wir habe haben hat für mit ein eine einen auf von zu im gestern heute letzten "
    "nächsten nächste letzte wohne heiße mag als lieber wird wurde sind bei uns unter dem den des war unser unsere immer bitte "
    "arbeite jetzt beim zum zur aus nach seit kein keine".split()
)
# Words that no English sentence has.
_SURE = frozenset("ich wir mein meine meinen meinem meiner unser unsere nicht und".split())
_ENGLISH = frozenset("the of and is are to my i it we they with for this that in at on was has have".split())
_WORD = re.compile(r"[A-Za-zÄÖÜäöüß]+")
_IRREGULAR = {
    "bin": "ist", "habe": "hat", "werde": "wird", "fahre": "fährt", "esse": "isst", "lese": "liest", "spreche": "spricht",
    "nehme": "nimmt", "sehe": "sieht", "gebe": "gibt", "trage": "trägt", "schlafe": "schläft", "treffe": "trifft",
    "laufe": "läuft", "helfe": "hilft", "vergesse": "vergisst", "halte": "hält", "rate": "rät", "lasse": "lässt",
    "wasche": "wäscht", "empfehle": "empfiehlt", "werfe": "wirft", "falle": "fällt", "gehe": "geht", "ziehe": "zieht",
}  # fmt: skip
_PRESENT_IN_TE = frozenset(
    "arbeite warte miete biete leite reite bereite vermiete bearbeite berichte unterrichte rechte verwalte starte teste".split()
)
_NOT_VERBS = frozenset(
    "die eine meine seine ihre keine alle viele beide diese jede welche solche andere möchte hätte wäre könnte würde sollte".split()
)
_NEUTER = re.compile(
    r"(?:chen|lein|ment|um|zeug|rad|haus|tier|zimmer|Kind|Auto|Team|Büro|Handy|Projekt|Geld|Leben|Buch|Boot|Pferd|Baby|Hobby|Ziel|Konto|"
    r"Gehalt|essen|getränk|Lieblings\w*(?:essen|buch|spiel|lied))$"
)
_MY = re.compile(
    r"\b(?P<cap>[Mm])ein(?P<end>e[nmrs]?|) (?P<adj>[a-zäöüß]+e[nmrs]? )?(?P<noun>[A-ZÄÖÜ][\wäöüß-]+)(?P<name> [A-ZÄÖÜ][a-zäöüß]+\b)?"
)
_ARTICLES = {"e": "die", "en": "den", "em": "dem", "er": "der", "es": "des"}
_STARTS = re.compile(r"^Ich (?P<verb>[a-zäöüß]+)\b(?P<rest>.*)$", re.S | re.I)
_INVERTED = re.compile(r"\b(?P<verb>[a-zäöüß]+) ich\b")
_LEFT = re.compile(r"\b(?:ich|mir|mich|mein\w*)\b", re.I)
_PARTS = re.compile(r"(?:,? und|,) (?=(?P<verb>[a-zäöüß]+) )|, (?=(?:ich|wir) [a-zäöüß]+ )")


@lru_cache(maxsize=16384)
def is_german(text: str) -> bool:
    """Say whether a text is German: by its small words."""
    told = {word.lower() for word in _WORD.findall(text)}
    found, other = told & _WORDS, told & _ENGLISH
    if found & _SURE:
        return True
    return len(found) >= 2 > len(other) or (len(found) == 1 and re.search("[äöüß]", text) is not None)


def third_de(text: str, name: str) -> str:
    """Rewrite a German sentence in the first person about its speaker; one that can't be is left as it was said."""
    told = text
    match = _STARTS.match(told)
    if match:
        verb = _he(match["verb"].lower())
        if verb == "heißt":
            name = name or "Der Nutzer"
        told = (f"{name} {verb}" if name else verb[:1].upper() + verb[1:]) + match["rest"]
    told = _INVERTED.sub(lambda found: f"{_he(found['verb'])} {name or 'der Nutzer'}", told)
    told = _MY.sub(lambda found: _theirs(found, name), told)
    return text if _LEFT.search(told) else told


def _theirs(match: re.Match[str], name: str) -> str:
    """Write whose it is where a sentence begins with it, else an article for "my"; somebody's name needs none."""
    noun, who = match["noun"], match["name"] or ""
    neuter = not match["end"] and _NEUTER.search(noun)
    article = "das" if neuter else _ARTICLES.get(match["end"], "der")
    noun = re.sub("e[rs] $", "e ", match["adj"] or "") + noun
    if match.start() or match["cap"] == "m":
        return f"{article} {noun}{who}"
    return (
        f"{noun}{who}"
        if who and not match["adj"]
        else f"{article.capitalize()} {noun} {'von ' + name if name else 'des Nutzers'}"
    )


def _he(verb: str) -> str:
    """Put a verb that follows "ich" into the third person; past and modal forms are the same in both."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if not verb.endswith("e") or (verb.endswith("te") and verb not in _PRESENT_IN_TE) or verb in _NOT_VERBS:
        return verb
    stem = verb[:-1]
    if re.search(r"[^aeiouäöülr]l$", stem):
        return stem[:-1] + "elt"
    return stem + ("et" if re.search(r"(?:[td]|[^aeiouäöülrhmn][mn])$", stem) else "t")


def facts_in_de(sentence: str) -> list[str]:
    """Return the statements of a German sentence about the user: "Ich heiße Jonas und wohne in Leipzig" is two."""
    if not sentence.startswith("Ich "):
        return [sentence]
    parts, at = [], 0
    for joint in _PARTS.finditer(sentence):
        verb = joint["verb"]
        if verb and not (verb in _IRREGULAR or (verb.endswith("e") and verb not in _NOT_VERBS) or verb == "mag"):
            continue
        parts.append(sentence[at : joint.start()])
        at = joint.end()
    found = [*parts, sentence[at:]]
    return [
        found[0],
        *(part[:1].upper() + part[1:] if re.match("(?:ich|wir) ", part) else f"Ich {part}" for part in found[1:]),
    ]
