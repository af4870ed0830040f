"""Which lines of memory are the last to go when it is full: who the user is, what was decided, how things are.

Told by the form of a sentence: what somebody did last week can be read up in the archive, but an agent that no longer
has the port, the day of the release or the user's name in its prompt does not know that it should look.
"""

from __future__ import annotations

import re

LONGEST = 130  # characters of a line that states one thing
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY = rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?:{_MONTH}) \d|\d{{1,2}} (?:{_MONTH})"
_VALUE = rf"(?:\d|{_DAY}|https?://|(?:^|\s)[~.]{{0,2}}/\w|`[^`]+`)"
_THING = r"(?:The|Our|Every|Deploys|[A-Z][\w-]*(?:'s [\w -]{2,30}?)?) (?!user\b)(?:[\w'/.-]+ ){0,6}?"
_IS = (
    r"(?:is|are|runs?|listens?|lives?|goes|go|uses?|needs?|costs?|takes|lasts|starts|ends|opens|closes|has|stands"
    r"|expires|must|may)"
)
_WE_DO = r"We (?:deploy|release|meet|use|run|ship|keep|store|host|work|bill|publish|want to|plan to|aim to)"
_IDENTITY = re.compile(
    r"(?:The user is called|Is called|The user's name is|Lives in|Works (?:at|for|as))\b"
    r"|(?:Is|Has) (?:an? )?(?:allerg|diabet)\w+|Der Nutzer heißt|用户叫|ユーザーの名前は"
)
_DECIDED = re.compile(
    r"^(?:(?:(?:We|The team|The user|Our team|They)(?:'ve| have| has)?|For [\w-]+,? we) )?"
    r"(?:decided|settled|agreed|chose)\b"
    r"|\bis (?:responsible for|in charge of|owned by)\b|entschieden|beschlossen|决定|选定|に決め|负责",
    re.I,
)
# How a thing is set: "The API timeout of Heron is 300 ms", "We deploy Heron every Monday".
_SET = re.compile(
    rf"^{_THING}{_IS}\b(?! (?:\w+ing|going|been)\b).*{_VALUE}|^{_WE_DO}\b.*{_VALUE}"
    r"|(?:是|在|为|端口|超时|预算).*\d|(?:は|が).*\d.*(?:です|ます)"
    r"|\b(?:beträgt|läuft auf|liegt unter|ist am)\b.*\d"
)
_RUN = re.compile(
    rf"^{_THING}(?:is|are) (?:run|built|deployed|started|tested|released|installed)"
    r" (?:with|by|through|via|using|from) \S"
    r"|\b(?:fixed|solved) (?:it|the|this|that)\b|\b(?:root cause|caused by)\b"
)
_PAST = re.compile(
    r"\b(?:was|were|had|went|got|came|made|took|said|told|used to|(?:has|have) (?:recently|now|already)"
    r"|\w{3,}(?<!ne)ed (?:the|a|an|my|our|their|to|for|it))\b|了（|ました"
)
_BEGINS = re.compile(r"^\s*[-*+] (?:[^:“„«「\"]{1,40}: ?(?=[“„«「\"]))?")  # the bullet, and who says it
_SAID_ON = re.compile(r"\s*[（(][^()（）]{0,40}\d[^()（）]{0,20}[)）]\s*$")


def lasting(line: str) -> bool:
    """Say whether a line of memory states who the user is, what was decided or found out, or how a thing is set."""
    text = _SAID_ON.sub("", _BEGINS.sub("", line)).strip(' "“”„«»「」')
    if len(text) > LONGEST:
        return False
    if _IDENTITY.match(text) or _DECIDED.search(text) or _RUN.search(text):
        return True
    return _SET.search(text) is not None and _PAST.search(text) is None
