"""What a line says is over: "switched from vim to Helix", "no longer eats meat", "cancelled the Netflix subscription"."""

from __future__ import annotations

import re
from functools import lru_cache

from dream.llm.embedded.amounts import DATE
from dream.llm.embedded.cues import found, says_changed
from dream.llm.embedded.lexicon import STOP
from dream.llm.embedded.renewing import renewed
from dream.llm.embedded.salience import happened
from dream.llm.embedded.subjects import about, apart
from dream.llm.embedded.words import CJK, content, has_cjk, overlap, stem

ONE = 120  # characters of a line that still states one thing
_END = re.compile(
    r"\b(?:no longer|(?:not|n't) .{0,30}\bany ?more|(?<!n't )quit|stopped|gave up|sold|broke up|cancel\w*|ended)\b"
    r"|\b(?:nicht|kein\w*) .{0,30}\bmehr\b|\b(?:aufgehört|gekündigt|verkauft|aufgegeben)\b|不再|取消|放弃|戒了|卖了|やめ|売りました|解約",
    re.I,
)
_CLAUSE = re.compile(r"[,;，；、]|\b(?:and|but|so|because|und|aber)\b")
_DONE = re.compile(
    r"^(?:\w+ )?(?:has |have )?(?:now |just )?(?:finished|completed|got through) (?:reading |writing |watching |building )?(?P<what>[^,;]{3,60}?)(?=,|;| and |$)",
    re.I,
)
_DOING = re.compile(r"^(?:\w+ )?(?:is|are) (?:now |still |currently )?(?:\w+ing|on) (?P<what>[^,;]{3,60})$", re.I)
_WORDS_OF_END = frozenset(
    map(
        stem,
        "longer anymore more quit stopped gave sold broke cancelled canceled ended mehr nicht kein keine keinen aufgehört gekündigt verkauft aufgegeben".split(),
    )
)
_FROM = re.compile(
    r"\b(?i:from|instead of|rather than|over|no longer (?:uses?|likes?|prefers?|in|at|with|on)?|replac(?:ed|es|ing)|not|than|von|statt) "
    r"(?:using |the |a |an )?(?P<old>[\w+#.-]+(?: [A-Z][\w+#.-]*)?)",
)
_FROM_CJK = re.compile(
    rf"(?:从|把|不再?(?:喜欢)?[用喝吃玩看学养开穿抽听写做])(?P<old>[{CJK}]{{2,6}}?|[A-Za-z+#.]+)(?:换|改|搬|了|到|，|$)"
    rf"|(?P<ja>[A-Za-z+#.]+|[{CJK}]{{2,8}}?)から"
)
_STATE = re.compile(
    r"\b(?:uses?|using|prefers?|likes?|runs?|is on|works? with|drives?|plays?|is|are|decided|chose|go(?:ing)? with|switch(?:ed)? to|benutzt|nutzt|verwendet)\b|用|喜欢|偏好|[爱常]|使って|使い",
    re.I,
)
_BUILT = re.compile(
    r"\b(?:runs on|built (?:on|with)|written in|hosted|deployed|based on|backend|frontend|database|uses?|called|lives? (?:in|at|on))\b",
    re.I,
)


def names_old(new: str, old: str, shared: list[str]) -> bool:
    """Say whether `new` names what it takes the place of: "switched from vim to Helix"."""
    if not says_changed(new) or (apart(new, old) and not found(_BUILT, old)):
        return False
    if renewed(new, old):
        return True
    match = found(_FROM_CJK, new) or found(_FROM, new)
    gone = (match.groupdict().get("ja") or match["old"]) if match else ""
    if not gone or gone.lower() not in old.lower() or gone.lower() in STOP:
        return False
    kept = found(_FROM, old) or found(_FROM_CJK, old)
    if kept and gone.lower() in kept[0].lower():
        return False  # the old line had given it up as well
    if found(DATE, gone):
        return any(key not in content(gone) for key in shared)
    if not has_cjk(gone) and max(content(gone).values(), default=0.0) < 0.9:
        return False
    return found(_STATE, old) is not None or len(shared) >= 2


def ends(new: str, old: str) -> bool:
    """Say whether `new` tells that what `old` tells as it is has ended."""
    if _finished(new, old):
        return True
    if len(new) >= ONE or not found(_END, new) or found(_END, old):
        return False
    told, ended = content(old), _ended(new)
    shared = [key for key in ended if key in told]
    if overlap(ended, told) >= 0.5 and sum(ended[key] >= 0.5 for key in shared) >= 2:
        return True
    whole = ended and (ended.keys() <= told.keys() or told.keys() <= ended.keys())
    return bool(whole) and about(new) == about(old) and not happened(old) and overlap(ended, told) >= 0.5


def _finished(new: str, old: str) -> bool:
    """Say whether what somebody was doing is done: "Finished Walden" after "Is reading Walden"."""
    done, doing = found(_DONE, new), found(_DOING, old)
    if done is None or doing is None or about(new) != about(old):
        return False
    what = content(done["what"])
    return bool(what) and what.keys() <= content(doing["what"]).keys()


@lru_cache(maxsize=16384)
def _ended(line: str) -> dict[str, float]:
    """Return the content of the clause that says that something is over, without the words that say so."""
    clause = next((part for part in _CLAUSE.split(line) if _END.search(part)), line)
    return {key: weight for key, weight in content(clause).items() if key not in _WORDS_OF_END}
