"""Whom a line of memory is about: somebody it names, somebody's sister, or the user."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.lexicon import PAST, STOP
from dream.llm.embedded.words import CJK, has_cjk

_ABOUT = re.compile(rf"^([A-Z][a-z]+)(?=:| [a-z']|'s )|^([{CJK}]{{2,4}})：")
_KIN = re.compile(
    r"^(?P<whose>[Tt]he user's|[Tt]heir|[A-Z][a-z]+'s) (?:\w+ )?(?P<kin>sister|brother|sibling|wife|husband|partner|fiancée?|"
    r"girlfriend|boyfriend|mother|mom|mum|father|dad|parents?|son|daughter|child|kids?|baby|twin|friend|boss|manager|"
    r"colleague|coworker|neighbou?r|roommate|flatmate|cousin|aunt|uncle|niece|nephew|grandm\w+|grandpa|grandfather|"
    r"teacher|doctor|dog|cat|puppy|kitten|horse|parrot|rabbit)\b(?!'s)(?:,? (?P<name>(?!Is\b)[A-Z][a-z]+))?"
)
# A German verb in the third person; a name that ends like one has its own verb after it.
_VERB_DE = re.compile(
    r"^(?:[A-ZÄÖÜ][a-zäöüß]+t|Mag|Darf|Kann|Will|Wird|Muss) (?!(?!jetzt|seit|nicht|oft|erst)[a-zäöüß]+t\b)"
)
_KIN_CJK = re.compile(
    r"^(?:用户的|ユーザーの|[一-龥]{2,4}的)?(?P<kin>妹妹|姐姐|哥哥|弟弟|妻子|老婆|丈夫|老公|儿子|女儿|孩子|爸爸|妈妈|父亲|母亲|爷爷|奶奶|朋友|同事|老板|男朋友|女朋友"
    r"|妹(?=[はがの])|姉(?=[はがの])|兄(?=[はがの])|弟(?=[はがの])|妻(?=[はがの])|夫(?=[はがの])|父(?=[はがの])|母(?=[はがの])|息子|娘|友達|友人|同僚|上司|彼女(?=[はがの])|彼(?=[はがの])|両親|祖母|祖父)"
)
_KIN_DE = re.compile(
    r"^(?:(?:Der|Die|Das) (?:neue )?)?(?P<kin>Schwester|Bruder|Frau|Mann|Freundin|Freund|Mutter|Vater|Eltern|Sohn|Tochter|Kinder|Chefin|Chef|Oma|Opa|Tante|Onkel|Kollegin|Kollege)\b(?: des Nutzers)?(?: (?P<name>[A-ZÄÖÜ][a-zäöüß]+))?"
)
_ADVERBS = frozenset("now currently today recently just once still".split())


@lru_cache(maxsize=16384)
def about(line: str) -> str:
    """Return the name of whom a line is about, '' for the user; a verb in the third person is no name."""
    kin = _KIN.match(line)
    if kin:
        return kin["name"] or f"{kin['whose'].lower()} {kin['kin']}"
    kin = _KIN_CJK.match(line) if has_cjk(line) else _KIN_DE.match(line)
    if kin:
        return kin.groupdict().get("name") or kin["kin"]
    match = _ABOUT.match(line)
    if match is None or _VERB_DE.match(line):
        return ""
    name = match[1] or match[2]
    if name.lower() in PAST:
        return ""
    verb = name.endswith(("s", "ed", "ing")) and ":" not in line[: len(name) + 1]
    return "" if verb or name.lower() in STOP or name.lower() in _ADVERBS else name


def same_person(new: str, old: str) -> bool:
    """Say whether two lines are about one person: "Bob moved …", "The user's brother Bob lives …"."""
    if about(new) == about(old):
        return True
    left, right = _KIN.match(new), _KIN.match(old)
    if left is None or right is None or (left["name"] and right["name"]):
        return False
    return (left["whose"].lower(), left["kin"]) == (right["whose"].lower(), right["kin"])


def apart(new: str, old: str) -> bool:
    """Say whether two lines are about different people."""
    left, right = about(new), about(old)
    return left != right and not (left and left in old) and not (right and right in new) and bool(left or right)
