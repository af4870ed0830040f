"""A line of an entry without what a summary puts round the words that were said."""

from __future__ import annotations

import re
from collections.abc import Set

from dream.wording import content_words, without_said_on

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


def bare(line: str) -> str:
    """Return a line of an entry without the header of a raw message, a quotation's mark, the speaker and the report."""
    line = _MESSAGE_HEADER.sub("", _QUOTE.sub("", line))
    line = _SPEAKER.sub("", line)
    return _LEAD_ZH.sub("", _LEAD.sub("", line))


def names_user(line: str, said: Set[str]) -> bool:
    """Tell whether a line only gives the user a name that is among the words they `said`: the rest is the summary's."""
    name, frames = _NAMES_USER.subn("", without_said_on(line))
    return frames > 0 and content_words(name) <= said
