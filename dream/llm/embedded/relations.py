"""What there is one of at a time: where somebody lives and works, their favourite, who has a task, whether they like it."""

from __future__ import annotations

import re

from dream.llm.embedded.cues import OVER, found, says_changed
from dream.llm.embedded.subjects import about, same_person
from dream.llm.embedded.words import CJK, content, overlap

_HOME = r"(?:(?:a|an|the|my|our|their) (?:\w+ )?(?:flat|house|home|apartment|room|place|studio|cottage) in )?"
PLACE = re.compile(
    rf"(?:(?i:\b(?:moved|moves|moving|relocated|relocating|move)(?: (?:back|out|over|away|here|house|home|flat|recently|just|from \w+))* to)|(?i:\b(?:liv(?:es|ed|e|ing)|based|resid\w+)) in {_HOME}|\b(?:flat|house|home|apartment) is in|(?i:\b(?:wohn|leb)\w*)(?: jetzt| nun| seit \w+)? in|(?i:gezogen|umgezogen|zieht?) nach|\bnach(?= [A-ZÄÖÜ]\w+ (?:um)?gezogen)|(?:搬到|搬去|住在|家在|住|搬家到))"
    rf"\s*(?:了)?(?P<what>[A-ZÄÖÜ][\w'-]*(?: [A-Z][\w'-]*)*|[{CJK}]{{2,6}})"
)
_PLACE_JA = re.compile(
    r"(?P<what>[一-龥ァ-ヶー]{2,8})(?:に|へ)(?:住んで|引っ越し(?:た|まし)|引っ越して|移り住ん|移住し(?:た|まし))"
)
JOB = re.compile(
    r"(?:(?i:\b(?:works?|working|worked|employed|job|joined|position|hired|started))(?: \w+){0,3}? (?:at|for|by|with)|(?i:\bjoined)|(?i:\barbeitet?)(?: jetzt| nun)? (?:bei|für)|(?:入职|跳槽到|去了|就职于))"
    rf"\s*(?P<what>[A-Z][\w'&-]*(?: [A-Z][\w'&-]*)*|[{CJK}]{{2,8}})"
)
WORD = 0.9  # weight of a word that names something
_WAS = re.compile(r"worked|lived|employed|.* was\b", re.I)
_NAME = re.compile(
    r"^(?:The user is called|Is called|The user's (?:full )?name is|Their name is|(?:\w+ )?[Gg]oes by|Der Nutzer heißt|用户叫|ユーザーの名前は) ?(?P<whole>(?P<what>\w+)(?: (?!now\b|jetzt\b)\w+)*)"
)
# "… Nora now", "… Nora, not Nina"
_RENAMED = re.compile(r"(?: now| jetzt|（?现在）?)$|, (?:not|nicht) (?P<gone>\w+)$", re.I)
_FAVOURITE = re.compile(r"\bfavou?rite (?P<slot>\w+(?: \w+)?) (?:is|are|was) (?:now )?(?P<what>.{2,40})", re.I)
_STATUS = re.compile(
    r"^(?:Is|Was|Got|Has got|Has been)(?: now| happily| recently| just)* (?P<what>single|engaged|married|divorced|widowed|separated)\b"
)
_MOVED = re.compile(r"\bmoved (?:to|in(?:to)?|out|back)\b|\b(?:um|aus|ein)?gezogen\b|搬|引っ越し(?:た|まし)", re.I)
_LIVES = re.compile(r"\bliv(?:es|ing) (?:in|with|at|near|next)\b|\b(?:wohnt|lebt) (?:in|bei|mit)\b|住", re.I)
_PROMOTED = re.compile(r"\b(?:promoted to|became|now works as|is now) (?:an? |the )?(?P<job>[a-z][\w -]{3,40})", re.I)
_ROLE = re.compile(r"^(?:\w+ )?(?:is|works as|has a job as) (?:an? |the )(?P<job>[a-z][\w -]{3,40})", re.I)
# "Is down to 78 kg", "We passed 1,500 users": what was so many is now so many.
_COUNT = r"(?:about |over |only )?(?P<n>\d[\d.,]*) ?(?P<unit>[a-z%]+)$"
_CHANGED_COUNT = re.compile(
    rf"^(?P<who>We|Has|Is|The .+?|[A-Z]\w+)? ?(?:(?:have|has|is|are) )?(?:now )?(?:passed|hit|crossed|reached|surpassed|down to|up to|back to) {_COUNT}",
    re.I,
)
_HAS_COUNT = re.compile(
    rf"^(?P<who>We|The .+?|[A-Z]\w+)? ?(?:(?:have|has|is|are|at|weighs|runs|had|reached|passed|down to|up to) )+{_COUNT}",
    re.I,
)
_HOLDER = re.compile(
    r"^(?P<who>(?:[A-Z]\w+ ?)+) (?:does|leads|owns|manages|handles|runs|reviews|maintains|is (?:now )?(?:responsible for|in charge of|the|our)"
    r"|takes over|took over) (?P<task>.+?)(?: now)?$"
)
_LIKES = re.compile(
    r"^(?P<who>.{0,30}?)\s*(?:now |actually )*(?:(?P<not>hates|dislikes|(?:doesn't|does not|no longer) (?:like|likes|love|loves|enjoy|enjoys)|can't stand)|likes|loves|enjoys)"
    r" (?P<what>.+?)(?: now| any ?more)*$",
    re.I,
)


def one_at_a_time(new: str, old: str) -> bool:
    """Say whether both state the same relation, of which there is one at a time, with another object."""
    if found(OVER, new) or not same_person(new, old):
        return False
    for pattern in (PLACE, _PLACE_JA, JOB, _STATUS):
        left, right = found(pattern, new), found(pattern, old)
        if (
            left
            and right
            and _WAS.match(left[0]) == _WAS.match(right[0]) is None
            and left["what"] not in right["what"]
            and right["what"] not in left["what"]
        ):
            return True
    left, right = found(_FAVOURITE, new), found(_FAVOURITE, old)
    return bool(left and right and left["slot"].lower() == right["slot"].lower() and left["what"] != right["what"])


def one_home_one_job(new: str, old: str) -> bool:
    """Say whether somebody moved away from where they live, or has another position than they had."""
    if found(OVER, new) or not same_person(new, old):
        return False
    if about(new) and found(_MOVED, new) and found(_LIVES, old):
        return True
    job, role = found(_PROMOTED, new), found(_ROLE, old)
    if job is None or role is None or job["job"].lower() == role["job"].lower():
        return False
    shared = content(job["job"]).keys() & content(role["job"]).keys()
    return any(content(role["job"])[key] >= WORD for key in shared)


def other_count(new: str, old: str) -> bool:
    """Say whether what was counted or measured is now another number of the same: "Is down to 78 kg"."""
    one, other = found(_CHANGED_COUNT, new), found(_HAS_COUNT, old)
    if one is None or other is None or one["unit"].lower() != other["unit"].lower() or one["n"] == other["n"]:
        return False
    we = [bool(re.match("We |Our ", line)) for line in (new, old)]
    return we[0] == we[1] and same_person(new, old)


def renamed(new: str, old: str) -> bool:
    """Say whether the user has another name now, or a fuller one. Another name that is merely said changes nothing."""
    left, right = found(_NAME, new), found(_NAME, old)
    if left is None or right is None:
        return False
    if left["what"] == right["what"]:
        return len(left["whole"]) > len(right["whole"]) and left["whole"].startswith(right["whole"])
    match = _RENAMED.search(new)
    return match is not None and match["gone"] in {None, right["what"]}


def other_holder(new: str, old: str) -> bool:
    """Say whether somebody else has a task now: "Clara does the reviews now" after "Ben does the reviews"."""
    one, other = found(_HOLDER, new), found(_HOLDER, old)
    if one is None or other is None or one["who"] == other["who"] or not says_changed(new):
        return False
    return overlap(content(one["task"]), content(other["task"])) >= 0.8


def other_attitude(new: str, old: str) -> bool:
    """Say whether somebody now likes what they disliked, or the other way round."""
    one, other = found(_LIKES, new), found(_LIKES, old)
    if one is None or other is None or (one["not"] is None) == (other["not"] is None):
        return False
    return one["who"].lower() == other["who"].lower() and overlap(content(one["what"]), content(other["what"])) >= 0.8
