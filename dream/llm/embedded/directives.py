"""Find what a user wants of the agent's behaviour: "always answer in Chinese", "please be brief"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.llm.embedded.noise import is_injection, is_question
from dream.llm.embedded.prohibitions import prohibition

_VERB = (
    r"(?:answer|reply|respond|speak|talk|write|explain|summari[sz]e|format|use|call|address|commit|push|merge|deploy|ask|"
    r"confirm|check|run|test|include|provide|give|show|keep|be|add|avoid|mention|cite|suggest|recommend|start|stop|"
    r"delete|remove|touch|edit|change|modify|install|apologi[sz]e|send|translate|list|put|make|comment|remind|wait|skip|report|"
    r"return|document|log|prefer|consider|verify|double-check|validate|mark|name|link|sort|round|convert|save|back|quote|highlight|specify|state|note|"
    r"describe|handle|ensure|search|warn|point out|offer|structure|start with|begin with|end with)"
)
_STANDING = re.compile(
    rf"^(?:please |pls |and |also |but |so |just )*(?:(?:always|never|don'?t ever|do not ever) {_VERB}\b"
    rf"|(?:from now on|in (?:the )?future|going forward|next time|by default|whenever|every time|each time|when(?:ever)? (?:i|you)\b)"
    rf"[^.!?]{{0,80}}\b{_VERB}\b"
    rf"|be (?:more |less |very |a bit )?(?:brief|concise|short|terse|direct|polite|formal|informal|honest|blunt|detailed|specific|verbose)\b"
    rf"|keep (?:your |the |all )?(?:answers?|replies|reply|responses?|explanations?|messages?|it) (?:\w+ ){{0,2}}"
    rf"(?:short|brief|concise|simple|under|to|in|formal|informal|technical)\b"
    rf"|(?:answer|reply|respond|speak|write|talk)(?: to me)? (?:only |always )?in [A-Z]\w+"
    rf"|(?:don'?t|do not|stop|avoid|no more) (?:ever )?(?:apologi[sz]\w+|us(?:e|ing) (?:emojis?|jargon|markdown|bullet)|"
    rf"commit\w*|push\w*|ask(?:ing)? (?:me )?(?:for|before|so|too)|add(?:ing)? (?:emojis?|comments)|repeat\w*|"
    rf"(?:emojis?|small talk|filler|flattery))"
    r"|(?:write|show|give|display|format|express|quote|list|print) (?:me )?(?:all |the |your |any )?(?:prices?|amounts?|dates?|times?|units?|"
    r"numbers|distances?|temperatures?|measurements?|weights?|currenc\w+|names)\b[^.?!]{0,40}\b(?:in|as|with|like) "
    r"|use (?:the |only )?(?:24-hour|12-hour|metric|imperial|iso|british|american|celsius|fahrenheit)\b"
    rf"|call me \w+|(?:use|prefer) (?:a )?(?:formal|informal|friendly|neutral|plain|simple) (?:tone|language|words|style|english)"
    rf"|you (?:should|must|need to|have to|can) (?:always|never)\b"
    rf"|i(?:'d| would)? (?:like|want|need|prefer|expect)(?: it if)? you(?:r answers| to|r replies)? )"
    r"|^i(?:'d| would) (?:like|prefer) (?:your |the )?(?:answers?|replies|responses|explanations?) "
    r"|^bitte (?:\w+ )*?(?:immer|nie|niemals|stets|künftig|kurz|knapp|auf [A-Z]\w+)\b|^(?:antworte?|schreibe?|sprich|erkläre?) (?:mir )?(?:bitte )?(?:immer|stets|nie|nur|kurz|knapp|auf)\b"
    r"|^(?:いつも|常に|必ず|今後|これから)[^。]{0,40}(?:ください|下さい|て$|ほしい)|^[^。]{0,12}語で(?:答え|返事|返信|書い|話し)|^(?:请|以后|今后|从现在起|从现在开始|记住|麻烦)*,?，?(?:请|都|要|总是|始终|一直|永远|一律|务必)*(?:不要|别|用|使用|把回答|把回复|回答|回复|保持|简短|简洁|先|叫我)"
    r"[^。]{0,30}(?:回答|回复|说话|交流|简短|简洁|提交|推送|询问|确认|表情|废话|道歉|中文|英文|英语|叫我|语气|以内|之内|控制|代码|示例|例子|格式|注释)",
    re.I,
)
# "Do not upload files; always ask": what always holds tells that what is forbidden before it is forbidden for good.
_FORBIDS = re.compile(
    rf"^(?:don'?t|do not|never) (?!worry|hesitate|be (?:afraid|shy)|know\b|think\b|feel\b|like\b|want\b)[a-z]+\b[^.!?]{{1,120}}?"
    rf"(?:[;,:]| [-–—]+| and| but) (?:(?:and|but|so|instead|rather|please) )*(?:always|never) (?:\w+ )?{_VERB}\b",
    re.I,
)
_FORBIDDEN = re.compile(r"^(?:please |pls )?(?:don'?t|do not|never) [a-z]+\b[^?]{2,160}$", re.I)
# "Always ask first": of what, the sentence before tells.
_ASKS_FIRST = re.compile(
    r"^(?:please |pls |instead,? |but )*always (?:ask|check|confirm|check with|confirm with|ask for permission)(?: (?:me|us))?(?: (?:first|before|beforehand))?[.!]*$",
    re.I,
)
_ONCE = re.compile(
    r"\b(?:this (?:file|function|test|line|time|one|code|section|message|paragraph|email|page)|above|below|here|now)\b|这个|这次|上面|下面",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:please|pls|bitte|and|also|but|so|just|ok|okay|hey|hi|well|remember(?: to| that)?|note(?: that)?|one more thing)\b[,:.]? *|"
    r"(?:you (?:should|must|need to|have to|can) )|(?:i(?:'d| would)? (?:like|want|need|prefer|expect) you to )|"
    r"(?:from now on|going forward|in (?:the )?future),? *|(?:记住|请|麻烦你?|以后|今后|从现在(?:起|开始))[，,：: ]*)+",
    re.I,
)
_WANTS = re.compile(
    r"^(?:(?:the )?user|[A-Z]\w{0,20}|用户) (?:wants|asked|asks|told|prefers|would like|expects|instructed|requested|likes)(?: that)? "
    r"(?:the (?:agent|assistant|model|ai)|you|dream|answers|replies|responses)(?: to)? (?P<rest>.+)$"
    r"|^(?:(?:the )?user|[A-Z]\w{0,20}) wants: (?P<said>.+)$"
    r"|^(?:Der Nutzer|[A-ZÄÖÜ]\w{1,20}) wünscht: (?P<de>.+)$"
    r"|^.{1,20}?の希望[：:]\s*(?P<ja>.+)$"
    r"|^(?:用户|[\w·]{1,12}?)(?:要求|希望|想让|让)(?:助手|代理|智能体|AI|你)(?P<zh>.+)$",
    re.I,
)
_DATE = re.compile(r"\s*[（(][^()（）]{0,40}(?:\d{4}|\d月)[^()（）]{0,20}[)）]$")


def directive(sentence: str) -> str:
    """Return the standing instruction that a user's sentence gives to the agent, or ''."""
    text = sentence.strip(" \"'“”")
    if len(text) > 240 or is_question(text) or is_injection(text):
        return ""
    head = re.sub(r"^(?:(?:please|pls|and|also|but|so|just|ok|okay|hey|hi|well|remember to|remember|one more thing)\b[,:.]? *)+", "",
                  text, flags=re.I)  # fmt: skip
    if forbidden := prohibition(head):
        return forbidden[:1].upper() + forbidden[1:]
    if not (_STANDING.match(text) or _STANDING.match(head) or _FORBIDS.match(head)):
        return ""
    standing = re.search(
        r"always|never|from now on|future|going forward|whenever|every time|每次|以后|总是|永远|一律", text, re.I
    )
    if _ONCE.search(text) and not standing:
        return ""
    rest = _LEAD.sub("", text).strip(" .!。！")
    rest = re.sub(r"^i(?:'d| would) (?:like|prefer) (?:your |the )?", "", rest, flags=re.I)
    rest = re.sub(r"\bwhen(ever)? i ask\b", r"when\1 asked", rest, flags=re.I)
    return rest[:1].upper() + rest[1:]


def with_whole_rules(sentences: Sequence[str]) -> list[str]:
    """Put "Always ask first." to the sentence before that forbids what is to be asked for."""
    found: list[str] = []
    for sentence in sentences:
        if found and _ASKS_FIRST.match(sentence) and _FORBIDDEN.match(found[-1]):
            found[-1] = f"{found[-1].rstrip('.! ')}; {sentence[:1].lower()}{sentence[1:]}"
        else:
            found.append(sentence)
    return found


def wanted(line: str) -> str:
    """Return the instruction in a history line that says what the user wants of the agent, or ''."""
    match = _WANTS.match(line)
    if match is None or is_injection(line):
        return ""
    rest = _DATE.sub("", (match["rest"] or match["zh"] or match["ja"] or match["de"] or match["said"])).strip(" .。")
    if match["rest"] and re.match(r"(?:answers|replies|responses)\b", line.split(" ", 2)[-1], re.I):
        thing = line.split(" ", 3)[2]
        rest = (
            f"{thing} {rest}" if re.match(r"(?:of|in|under|with|at|below|within)\b", rest) else "keep answers " + rest
        )
    rest = re.sub(r"^not to ", "don't ", re.sub(r"^to ", "", rest))
    return rest[:1].upper() + rest[1:]
