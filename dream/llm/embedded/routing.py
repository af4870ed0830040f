"""Which file a fact belongs in, and which part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dream.llm.embedded.dates import dated
from dream.llm.embedded.directives import wanted
from dream.llm.embedded.lexicon import BELONGING
from dream.llm.embedded.salience import happened
from dream.llm.embedded.words import mostly_cjk
from dream.models import MemoryFile

_PROFILE = re.compile(
    r"\b(?:prefers?|favou?rite|likes?|loves?|hates?|dislikes?|enjoys?|allergic|vegetarian|vegan|lives? in|living in|based in|"
    r"moved to|grew up|born|from|birthday|years? old|works? (?:at|for|as|in)|job|profession|name is|is called|speaks?|native|e-?mail|phone|mobile|"
    r"time ?zone|married|single|husband|wife|partner|kids?|children|son|daughter|hobb\w+|passion\w*|is an? |learn\w*|eats?|drinks?|doesn't eat|ich heiße|heißt|wohne|arbeite als|mag|liebe|hasse|bevorzuge|geboren|allergisch|Lieblings\w+|verheiratet|degree|studie[ds]|"
    r"uses?|always|never|usually|interested in|keen on|afraid of|scared of|dream is|goal is|diagnosed|my |has an? )\b"
    r"|喜欢|偏好|讨厌|最爱|过敏|住在|家在|搬到|生日|岁|名字|叫|老家|来自|会说|时区|工作|职业|爱好|习惯|常用|素食|是一名|是个|丈夫|妻子|孩子|好き|嫌い|住んで|名前|アレルギー|趣味|働いて|飼って|私は",
    re.I,
)
_TRAIT = re.compile(
    r"(?:(?:really|always|usually|never|also|still) )?(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|lives? in|grew up|was born|works (?:at|for|as|in)|"
    r"speaks?|studie[sd]|has an? |is (?:an? |allergic|vegetarian|vegan|married|single|from|originally|passionate|keen|interested|\d)|"
    r"their (?:favou?rite|birthday|name|job|hobb\w+|dream|goal|wife|husband|partner)|moved to|wants to become)\b"
    r"|.{0,6}(?:喜欢|偏好|讨厌|最爱|过敏|住在|生日|叫|来自|会说|是一名|是个|从事)",
    re.I,
)
_EVENT = re.compile(
    r"\b(?:yesterday|today|on \d|the \w+ (?:before|after)|went|visited|attended|met|won|lost|finished|launched|released|deployed|"
    r"deadline|sprint|project|meeting|server|database|repo\w*|branch|commit\w*|build|api|code|test\w*)\b|会议|项目|部署|上线|数据库|服务器",
    re.I,
)
_BUSY = re.compile(
    r"(?:is|will|would|are)\b(?: (?:\w+ly|still|just|also|now|always|going|gonna|to))*(?! (?:learning|living|studying|working (?:as|at|for|in)))"
    r" (?:\w+ing|(?<=will )\w+|(?<=would )\w+|(?<=gonna )\w+)\b"
)  # what somebody does or will do now, not how they are
_DECIDED = re.compile(r"\b(?:[Ww]e|[Tt]he team) (?:decided|agreed|chose)\b|\bdecided to use\b|我们决定")
# What is the user's own: "Was born on 19 March", "The user's wife is a dentist", "Doesn't eat meat".
_KIN = (
    r"(?:wife|husband|partner|spouse|fiancée?|girlfriend|boyfriend|mother|mom|mum|father|dad|parents?|sisters?|brothers?|sons?|"
    r"daughters?|kids?|children|twins|family|friends?|dog|cat|pets?|birthday|name|e-?mail|phone|mobile|number|address|age|weight|"
    r"height|doctor|dentist|therapist|physio|passport|hobb\w+|job|favou?rite)"
)
_THEIRS = re.compile(
    rf"(?:The user's|Their|Our) (?:\w+ )?{_KIN}\b(?! (?:said|says|asked|told|went|came|is (?:visiting|coming)))"
    r"|(?:Is|Has|Was) (?:(?:an? )?(?:allergic|allergy|vegetarian|vegan|diabetic|married|single|divorced|born|learning|afraid|scared)|"
    rf"(?:originally |half |part )?(?:{'|'.join(map(str.title, sorted(BELONGING)))})(?=$|[ ,;(])|"
    r"an allergy|the allergy|a (?:dog|cat|son|daughter|wife|husband|partner|sister|brother|twin)|\d{1,2}(?: |$)|left-handed|from)\b"
    r"|(?:(?:Der|Die|Das) )?(?:Frau|Mann|Freundin?|Mutter|Vater|Eltern|Schwester|Bruder|Sohn|Tochter|Kinder|Hund|Katze|Geburtstag)\b"
    r"|妻|丈夫|儿子|女儿|孩子|爸|妈|父|母|(?:养|有)了?一?[只条]"
)
_LIVES = re.compile(
    r"^(?:Doesn't|Don't|Never|Always|Usually|Only|No longer )?\s*(?:eats?|drinks?|takes?|speaks?|sleeps?|plays?|smokes?|wears?|cooks?|goes|runs?|trains?|"
    r"collects?|drives?|rides?|sings?|paints?|gardens?|Loves?|Likes?|Hates?|Dislikes?|Enjoys?|Prefers?|Plays?|Speaks?|Takes?|Drinks?|Eats?|"
    r"Goes|Collects?|Drives?|Rides?|Sings?|Wears?|Studies|Teaches|Knows|Cooks?|Sleeps?|Trains?|Can train|Has switched|Uses?)\b"
    r"|^Works (?:from|until|till|between|part|full|half|remotely|nights|mornings|afternoons|evenings|weekends|shifts|\d)\b"
    r"|^(?:On|Every|In) (?:the )?\w+(?:day| mornings?| evenings?| weekends?)[\w ]*, the user \w+s\b|^(?:We )?usually\b"
    r"|^(?:Wohnt|Lebt|Arbeitet|Mag|Liebt|Hasst|Isst|Trinkt|Spricht|Lernt|Spielt|Bevorzugt|Hat (?:eine?|einen) |Ist (?:allergisch|verheiratet|Vegetarier\w*|Veganer\w*|\d))\b"
    r"|^(?:不[吃喝抽]|每[天周月]|在.{1,12}(?:当|做|工作|上班)|开始学|正在学|学了|学习|爱[吃喝]|从不|经常|不再用)"
)
_WORK = re.compile(
    r"\b(?:deadline|sprint|project|meeting|server|database|repo\w*|branch|commit\w*|builds?|api|code(?:base)?|tests?|app|function|errors?|"
    r"endpoint|schema|tables?|deploy\w*|feature|script|query|module|library|framework|frontend|backend|docker|release|bug|ticket|port|"
    r"v?\d+\.\d+\S*)\b|项目|数据库|服务器|接口|部署|代码仓库|上线",
    re.I,
)
_ADVERB = re.compile(
    r"^(?:Now|Currently|Nowadays|These days|At the moment|Also|Still|Recently|Mostly|Often|Sometimes),? (?:the user )?(?=[a-z]+s\b)"
)
_SAID_ON = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")
_HOME = re.compile(
    r"(?:Is |Has |Was |Just |Recently )?(?:.{0,20}\b(?:flat|house|home|apartment) is|(?:(?:We|We've|Have|Has) )?(?:just |recently )?(?:lives?|lived|living|based|moved|moving|relocated)(?: back)?) (?:in|to)\b|.{0,14}(?:住在|家在|搬到)",
    re.I,
)
_CALLED = re.compile(r"^(?:The user is called|用户叫|Der Nutzer heißt|ユーザーの名前は) ?(?P<name>[^\s,.。（(]{1,40})")
_LEAD = re.compile(r"^(?P<name>[^\s:：]{1,40}?)(?P<own>'s)?(?:[:：,]| (?=[a-z'])|(?='s ))")
_SPEAKS = re.compile(
    r"([A-Z][\w'-]{1,20}(?: [A-Z][\w'-]{1,20})?|[\u4e00-\u9fff]{2,4})(?::(?= )|：|, asked (?=\"|(?:wh|how|about)\w*\b))|The user is called (\S+)|(?:用户叫|ユーザーの名前は|Der Nutzer heißt )([^\s（(]+)"
)
_UNNAMED = re.compile(
    r"^(?:[A-Z][a-z]+s(?:\b|')|Is |Has |Can |No longer |Only |On \w+ \w+s, the user |Doesn't |Does |Was |Had |The user|User|Moved |Relocated |We |We'|Our |Ich |Mein|Wir |Unser|Their |(?:Wohnt|Lebt|Arbeitet|Mag|Liebt|Hasst|Isst|Trinkt|Spricht|Lernt|Spielt|Bevorzugt|Hat|Ist) |Der Nutzer|(?:Freundin?|Frau|Mann|Schwester|Bruder|Hund|Katze) |ユーザー|用户|自己)"
)


def calls(name: str) -> str:
    """Return the line that says who the user is."""
    return f"用户叫{name}" if mostly_cjk(name) else f"The user is called {name}"


def user_names(lines: list[str]) -> set[str]:
    """Return the names that lines give the user."""
    return {match["name"] for line in lines if (match := _CALLED.match(line))}


def people(lines: Iterable[str]) -> frozenset[str]:
    """Return the names that lines quote or name the user by: those whose lives a memory tells of."""
    found = {match[1] or match[2] or match[3] for line in lines if (match := _SPEAKS.match(line))}
    return frozenset(found)


def tells_of(line: str, names: frozenset[str]) -> bool:
    """Say whether a line is about one of those people: "Ann: …", "Ann went …", "On 7 May 2023, Ann …"."""
    return any(name in line for name in names) and any(re.search(rf"\b{re.escape(name)}\b", line) for name in names)


def route(line: str, names: set[str]) -> tuple[MemoryFile, str]:
    """Return the file that a fact belongs in and the text it has there."""
    wish = wanted(line)
    if wish:
        return "SOUL.md", wish
    if _CALLED.match(line):
        return "USER.md", line
    lead = _LEAD.match(line)
    if names and lead and lead["name"] in names:
        return ("USER.md" if _lasting(line, line[lead.end() :].strip()) else "memory/MEMORY.md"), line
    if _DECIDED.search(line) and not _HOME.match(line):
        return "memory/MEMORY.md", line
    told = _ADVERB.sub("", line)
    told = told[:1].upper() + told[1:]
    unnamed = _UNNAMED.match(told) is not None or (mostly_cjk(line) and "：" not in line[:12])
    if (_HOME.match(told) and (unnamed or not names)) or (unnamed and _own(_SAID_ON.sub("", told))):
        return "USER.md", line
    named = names or (lead and lead["name"][:1].isupper())
    once = dated(_SAID_ON.sub("", line)) and happened(line)
    if (
        _PROFILE.search(line)
        and not (_EVENT.search(line) or _WORK.search(line))
        and not once
        and (unnamed or not named)
    ):
        return "USER.md", line
    return "memory/MEMORY.md", line


def _own(body: str) -> bool:
    """Say whether a line without its day tells how the user lives: who they are, theirs and their habits, no work."""
    if _WORK.search(body):
        return False
    return _THEIRS.match(body) is not None or (_LIVES.search(body) is not None and not dated(body))


def _lasting(line: str, body: str) -> bool:
    """Say whether what a line tells of the user is how they are, and no event."""
    if len(body) >= 140 or _EVENT.search(body) or line[len(line) - len(body) - 2 :][:2] == ": ":
        return False
    if _TRAIT.match(body):
        return True
    return not (dated(line) or happened(body) or _BUSY.match(body))
