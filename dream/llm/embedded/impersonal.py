"""Say what was done where nobody in particular did it: "They rescheduled my exam" is "My exam was rescheduled"."""

from __future__ import annotations

import re

_THEY = re.compile(
    r"^They(?:'ve| have)? (?:just |now |already )?(?P<deed>moved|rescheduled|postponed|pushed|changed|raised|cancell?ed|extended|rebooked|increased|lowered|reduced|shifted|"
    r"delayed|renamed|replaced|approved|rejected|accepted|confirmed|updated|upgraded|closed|shortened) "
    r"(?P<thing>(?:my|our|the)(?: (?!to\b|from\b|until\b|by\b|on\b|in\b|for\b|with\b)[\w'-]+){1,4})(?P<rest>(?: .*)?)$"
)


def passive(text: str) -> str:
    """Return a sentence about what "they" did to the user's or to one thing as one about the thing."""
    match = _THEY.match(text)
    if match is None:
        return text
    thing = match["thing"]
    many = re.search(r"[^s]s$", thing) is not None
    return f"{thing[:1].upper()}{thing[1:]} {'were' if many else 'was'} {match['deed']}{match['rest']}"
