"""Say whether a statement of the user's stands by itself and beyond the day: not "it looks like this", not "I'm tired today"."""

from __future__ import annotations

import re

from dream.llm.embedded.german import is_german
from dream.llm.embedded.lexicon import PAST
from dream.llm.embedded.words import has_cjk

_POINTS = re.compile(
    r"\b(?:(?:something |looks? |code |set up |set |structured |defined )like (?:this|that|so|these)|as follows|the following"
    r"|(?:see|shown|code|given|implementation|snippet|error) below|(?:is|are) (?:below|here)|here(?:'s| is| are) (?:what|how|my|the|a|some|an|our))\b"
    r"|\b(?:decided|did|said|fixed|tried|settled|discussed|mentioned|did|changed|solved|asked|meant|thought of) (?:that|this)\b(?! (?:the|we|i|he|she|they|it)\b)"
    r"|\b(?:this|that|these|those) (?:error|issue|problem|code|function|line|message|warning|behaviou?r|approach|one|way|question|bug|query|snippet|output)s?\b"
    r"|\b(?:example|sample|snippet|implementation|version|set-?up|outline|draft|attempt|code|what|function|structure)\b.{0,25}\bso far$|\b(?:example|sample|snippet) of (?:what|how)\b"
    r"|\b(?:experiencing|running into|facing|having|getting|seeing|encountering|hitting) (?:\w+ ){0,3}?(?:issues?|problems?|errors?|trouble|difficulties)$"
    r"|[:：]$",
    re.I,
)
_TODAY = re.compile(
    r"\b(?:is|are|am|i'm|it's|feels?|feeling|looks?|seems?|was)\b.*\b(?:today|tonight|right now|at the moment|this (?:morning|afternoon|evening))\b"
    r"|\b(?:today|right now|at the moment)\b.*\b(?:is|are|am|i'm|it's|feels?|feeling)\b"
    r"|^heute (?:ist|bin|war|geht|fühle|hab)\b|^(?:ich bin|mir ist|mir geht) .*\b(?:heute|gerade)\b"
    r"|^今[天日].{0,8}[累困忙烦热冷饿]|^今[天日].{0,6}(?:开心|高兴|心情|天气)|^今日は.{0,12}(?:です|だ)ね?$|^今日は.{0,6}(?:疲れ|暑|寒|雨|晴|曇|雪)",
    re.I,
)
_FIRM = re.compile(r"\d|(?<=[a-z,] )(?!I\b)[A-Z]")
_DIGIT = re.compile(r"\d")
_BROKEN = re.compile(
    r"^(?:the|my|our|all|some|two|three|a few)(?: \w+)? [\w-]+ (?:(?:still |just |all |now )?(?:fails?|crash(?:es|ed)?|hangs?|break|breaks|pass|passes|passed|failed|broke)"
    r"|(?:is|are|was|were) (?:still |just |now )?(?:failing|broken|stuck|stale|down|crashing|flaky|gone|green|red))(?: again| now)?$",
    re.I,
)


# What somebody is after in this conversation, or has only heard, is over with it; a date or a number in it may last.
_AFTER = re.compile(
    r"^(?:however,? |but |and |so |also |because |since )*(?:i(?:'m| am| was| have been|'ve been)(?: also| just| still| really| not| a bit| quite)* "
    r"(?:sure (?:if|how|what|why|whether)|unsure|wondering|open to|worried|concerned|curious|ready (?:to|for)|thinking (?:about|of) (?:using|how)|hoping|confused|stuck|trying to (?:figure|understand))\b"
    r"|i(?:'d| would)(?: also| really)? (?:like|love|appreciate)(?: to (?:see|know|hear|get)| any| some| an?)\b"
    r"|i (?:also |just |really |still )?(?:want to (?:make|be) sure|need (?:help|some|to (?:make|be) sure)|don't (?:want|know|understand)|can't (?:seem|figure)|know (?:that |i ))"
    r"|i(?:'ll| will) (?:definitely |also )?(?:make sure|include|add (?:those|that|these|it)|try|give (?:it|that)|check|look|let you|keep)\b"
    r"|i can (?:give|show|send|share|provide) you\b|i haven't been able\b)",
    re.I,
)
_HEARD = re.compile(
    r"^(?:however,? |but |and )?i(?:'ve| have)?(?: also)? (?:heard|read)(?: it| that| of| about| there)\b", re.I
)
_BECAUSE = re.compile(r"^(?:because|although|though|while|whereas|so that|which)\b[^,]*$", re.I)
_SOMEBODY = re.compile(r"(?:^|[ ,;])(?:i|i'\w+|we|we'\w+)\b", re.I)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|will|would|can|could|should|must|may|might|shall|isn't|aren't|wasn't|weren't|hasn't|haven't|"
    r"doesn't|don't|didn't|won't|wouldn't|can't|cannot|couldn't)\b|'(?:s|re|ll|d|ve)\b(?! [a-z]+$)"
    r"|\b(?:listens?|costs?|takes?|starts?|ends?|needs?|lives?|goes?|go|means?|supports?|provides?|contains?|depends?|serves?|stores?|handles?|opens?|closes?|"
    r"ships?|sits?|belongs?|stands?|moves?|fails?|returns?|reads?|writes?|sends?|expires?|covers?|shows?|says?|makes?|keeps?|gets?|gives?|comes?|begins?|calls?|"
    r"allows?|requires?|expects?|runs?|uses?|works?|wants?|likes?|loves?|hates?|plays?|prefers?|speaks?|teaches|studies|owns?|leads?|manages?|reviews?|knows?|"
    r"helps?|looks?|seems?|feels?|happens?|changes?|increases?|drops?|grows?|reaches|lasts?|leaves|arrives?|departs?|meets?|rises?|(?-i:rose)|falls?|earns?|grows?|turns?|lasts?|drives?|consists?|includes?|weighs?|sells?|buys?|pays?)\b"
    rf"|\b(?!need)[a-z]{{2,}}ed\b|\b(?:{'|'.join(sorted(PAST))})\b",
    re.I,
)


def stands(text: str) -> bool:
    """Say whether a trimmed statement, as it was said, means something next month without what stood around it."""
    if _POINTS.search(text) or _BROKEN.match(text) or _HEARD.match(text) or _BECAUSE.match(text):
        return False
    if _AFTER.match(text) and not _DIGIT.search(text):
        return False
    if not (has_cjk(text) or is_german(text) or _SOMEBODY.search(text) or _FINITE.search(text)):
        return False
    firm = _DIGIT if text.lower().startswith("heute ") else _FIRM  # German writes every noun with a capital
    return _TODAY.search(text) is None or firm.search(text) is not None
