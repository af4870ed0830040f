"""What never becomes memory: questions, pleasantries, weather, one-off errors, documentation, injections, secrets."""

from __future__ import annotations

import re

from dream.llm.embedded.words import content, has_cjk, mostly_cjk

_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,30}\b(?:previous|prior|above|earlier|all|any|system|your)\b"
    r"[^.]{0,20}\b(?:instruction|prompt|rule|direction|guideline|message)"
    r"|\b(?:soul|user|memory|agents|claude)\.md\b|\bsystem prompt\b|\bprompt injection\b|\bjailbreak|\bdeveloper mode\b"
    r"|\byou are now\b|\bact as (?:a|an|if)\b|\bfrom now on,? you are\b|\bnew instructions?\s*:"
    r"|\b(?:add|append|write|save|store|put|record|insert)\b[^.]{0,40}\b(?:to|into|in)\b (?:your |the |its |long-term )*"
    r"(?:soul|memory|memories|user file|instructions)\b"
    r"|\[(?:soul|user|memory)(?:-remove)?\]|<\\?/?(?:system|assistant|user|file|findings|history|conversation)\b"
    r"|忽略[^。]{0,12}(?:指令|指示|规则|提示|要求)|无视[^。]{0,12}(?:指令|指示|规则|提示)|系统提示|(?:写入|加入|添加到|写到|记入)[^。]{0,8}"
    r"(?:SOUL|灵魂|记忆文件|MEMORY)|你现在是",
    re.I,
)
_SECRET = re.compile(
    r"\b(?:password|passwd|passphrase|api[ _-]?key|secret(?: key)?|access[ _-]?token|auth[ _-]?token|token|pin(?: code)?|"
    r"private key|cvv|credentials?)\b[^.\n]{0,20}(?:\bis\b|\bare\b|[:=])|(?:密码|口令|密钥|令牌|验证码)[^。]{0,6}(?:是|为|[:：=])"
    r"|\b(?:sk|pk|ghp|gho|xox[bp]|AKIA|eyJ|glpat|hf)[-_A-Za-z0-9]{14,}|-----BEGIN|\[?REDACTED|\b[0-9a-fA-F]{32,}\b"
    r"|\b(?=[A-Za-z0-9+/_-]{0,60}\d)(?=[A-Za-z0-9+/_-]{0,60}[a-z])(?=[A-Za-z0-9+/_-]{0,60}[A-Z])[A-Za-z0-9+/_-]{28,}",
    re.I,
)
_GREETING = re.compile(
    r"^(?:hey|hi|hello|hiya|good (?:morning|evening|afternoon|night)|bye|goodbye|see you|talk (?:soon|later)|take care|"
    r"thanks?|thank you|thx|cheers|congrat\w*|good luck|best of luck|no worries|no problem|you'?re welcome|my pleasure|"
    r"sounds? (?:good|great|like|fun|amazing|awesome|perfect)|looking forward to (?:it|hearing|seeing)|can'?t wait|"
    r"keep (?:it up|up|going|on)|keep me (?:posted|updated)|let me know|have (?:a|fun)|enjoy (?:your|the|it)|"
    r"hope (?:you|it|that|this|all|everything)|i hope (?:you|it|that|this)|glad (?:you|to|it|that)|happy (?:for you|to)|"
    r"i'?m (?:so )?(?:glad|happy|proud|excited|thrilled|sorry) (?:for|of|to hear|you|that you)|"
    r"good to (?:see|hear|know)|great to (?:see|hear|know)|nice to|lovely to|love (?:it|that|this)\b|way to go|well done|"
    r"(?:that|this|it)(?:'s|'ll| is| was| sounds| must| would| looks| seems) (?:\w+ ){0,3}"
    r"(?:awesome|great|amazing|wonderful|cool|nice|good|fantastic|lovely|beautiful|incredible|inspiring|terrible|tough|"
    r"rough|hard|fun|perfect|sweet|right|true|exciting|interesting|adorable|cute|sad|understandable)\b(?! as an? \w)"
    r"(?! (?!to (?:see|hear|know|meet)\b)[^,;]*\b(?:my|our|i|we|me|us)\b)[^,;]{0,40}$|"
    r"got it|i (?:see|agree|understand)(?=$|[,.;!]| (?:what|how|why|where|that|your?|you\w*|it|this|completely|totally)\b)|i (?:couldn't|could not) agree more|(?:i(?:'ve)? )?(?:got|have|had) (?:some |such )?(?:great|good|big|exciting|awesome|amazing|bad|sad) news(?: to (?:share|tell))?$"
    r"|sure thing|of course|absolutely|exactly$|totally$|definitely$|agreed|same here|me too|ah ha|oof|i'?m (?:so |really |truly )?(?:sorry|grateful for you)|(?:it|that|this|life)(?:'s| is| was) (?:a |an |all |such a )?(?:wild|crazy|tough|great|real)? ?(?:ride|journey|blast|thing|adventure)$|"
    r"love (?:the|those|these|your|how|that|this)\b|(?:i'?ll|will) keep (?:you|ya) (?:posted|updated)|stay (?:safe|strong|tuned)|"
    r"(?:i )?bet (?:you|it|that)|(?:i )?(?:appreciate|love) (?:it|that|you|your|the (?:support|kind))|check (?:it|this|that|out)|"
    r"(?:that|this|those|these)(?: \w+)? (?:looks?|sounds?|seems?)|looks (?:like|so|great)|take (?:a look|it easy)|"
    r"(?:i )?can(?:'t|not) (?:wait|imagine)|sorry (?:to|about|for)|so (?:glad|happy|proud|cool|sweet|nice|true|sorry)|"
    r"here(?:'s| is| are) (?:a|an|the|some|my|our|what|how|one)\b[^,]{0,40}\b(?:pic|photo|picture|look|snap|shot|code|snippet|example|attempt|config\w*|"
    r"implementation|setup|script|draft|version|schema|file|have)|"
    r"let'?s|please|could|can|would|how|what|why|when(?! (?:i|we|my|our)\b)|who|where|which|is|are|do|does|did"
    r"|don'?t(?! (?:feel|know|think|want|get|see|believe)\b.*\b(?:i|i'm|my|me)\b)|remember to|just remember|"
    r"您?好(?![きく])|谢谢|多谢|再见|早上好|晚上好|不客气|辛苦了|好的|哈哈|嗯|收到|没问题|请问|麻烦)(?:\b|(?<=[\u4e00-\u9fff]))",
    re.I,
)
# "It was great to swim in the lake": what the speaker did.
_DONE = re.compile(
    r"^it(?:'s been| was| has been) (?:[\w-]+ ){1,3}to (?!hear|know|talk|chat|catch|(?:see|meet) you)[a-z]{2,}\b", re.I
)
_OTHER = re.compile(r"^(?:so |and |but |well,? )?(?:you(?:'re|'ve|'ll|'d|r)?|yours)\b|^(?:你|您)", re.I)
# "Run the tests please": something to do now. "Please always …" is a wish, which is looked for before.
_FAVOUR = re.compile(
    r"^(?!.*\b(?:always|never|from now on|i|i'm|we|my|our)\b)[a-z]+\b.{0,120}?,? (?:please|pls)[.!]*$", re.I
)
_QUESTION = re.compile(r"[?？]\s*[\"'”)\]]*$|吗[。.]?$|呢[。.]?$|吧[。.！!]*$")
_WEATHER = re.compile(
    r"\b(?:weather|rain(?:y|ing|s)?|sunny|snow(?:y|ing|s)?|cloudy|windy|humid|foggy|chilly|freezing|drizzl\w+|"
    r"\d+ degrees|degrees (?:outside|today)|so (?:hot|cold) (?:today|outside|here))\b|天气|毛毛雨|晴|[零下\d]+ ?度|下雨|下雪|晴天|阴天|好热|好冷|刮风",
    re.I,
)
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|stack trace|time[ds]? ?out|timeouts?|failed with|crashed|segfault|\w+Error|"
    r"status code|exit code|connection (?:refused|reset)|rate.?limit(?:ed)? (?:hit|again)|"
    r"flak(?:y|ed)|hiccup|glitch|hangs|(?:is|gets|got) stuck|(?:fails|failed|failing) (?:again|on my machine))\b|报错|超时|错误|(?<![\d.,])50[0234](?![\d.,]*\d)",
    re.I,
)
_LASTING = re.compile(
    r"\b(?:because|caused by|root cause|fix(?:ed|es)?|solved|solution|workaround|always|every time|turned out|the trick|"
    r"decided|limit is|quota|handler|handling|set to|rate)\b|\b(?:is|of|are|to) \d|\d ?(?:ms|s|seconds?|minutes?)\b|\d ?(?:毫秒|秒|分钟)|因为|原因|解决|修复|总是|每次",
    re.I,
)
_DEFINITION = re.compile(
    r"^(?:an? |the )?[A-Za-z][\w .+#/-]{0,40}? (?:is (?:\w+ly )?(?:an? |the |one of )|are )(?:(?!(?:of|for|in|on|at|to|with) )[\w-]+[, ]+){0,6}?"
    r"(?:language|framework|library|tool|protocol|platform|method|technique|concept|database|algorithm|standard|format|"
    r"command|function|module|service|system|process|approach|way to|type of|kind of|set of|collection of)\b"
    r"|是一种|是一个[^。]{0,12}(?:语言|框架|库|工具|协议|平台|算法)",
    re.I,
)
_MINE = re.compile(r"\b(?:i|i'\w+|my|mine|me|we|we'\w+|our|ours|us)\b|我|咱", re.I)
_DID = re.compile(
    r"^(?:i|we|my|our|just|got|i'm|we're|i've|we've)\b(?! (?:'ll|will|would)\b)", re.I
)  # a short line tells a deed
_LOG = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\[\w+\]|(?:INFO|WARN|ERROR|DEBUG|npm|pip|E)\b)|\S{120,}|[/\\]\w+[/\\]\w+\S*:\d+"
)


def is_injection(text: str) -> bool:
    """Say whether a text tries to instruct whoever reads it about itself."""
    return _INJECTION.search(text) is not None


def is_secret(text: str) -> bool:
    """Say whether a text looks like it holds a secret."""
    return _SECRET.search(text) is not None


def is_question(text: str) -> bool:
    """Say whether a sentence asks."""
    return _QUESTION.search(text) is not None


def is_pleasantry(text: str) -> bool:
    """Say whether a sentence greets, thanks, praises, asks a favour or is about the one spoken to."""
    return not _DONE.match(text) and any(pattern.match(text) for pattern in (_GREETING, _OTHER, _FAVOUR))


def is_mine(text: str) -> bool:
    """Say whether a sentence speaks of the speaker."""
    return _MINE.search(text) is not None


def is_passing(text: str) -> bool:
    """Say whether a sentence is weather, a one-off error, a log line or public documentation."""
    if _LOG.search(text):
        return True
    if _WEATHER.search(text) and (len(text) < 20 if mostly_cjk(text) else len(content(text)) <= 5):
        return True
    if _ERROR.search(text) and not _LASTING.search(text):
        return True
    return _DEFINITION.search(text) is not None and not is_mine(text)


def is_thin(text: str) -> bool:
    """Say whether a sentence has too little content to be understood alone."""
    found = content(text)
    if has_cjk(text):
        return len(text) < 5 or not found
    strong = sum(weight >= 0.4 for weight in found.values())
    least = 1.0 if _DID.match(text) else 1.4
    return strong < 1 or sum(found.values()) < least or len(text.split()) < 3
