"""The checks in code, after the model: each can refuse an edit or hold it for a person, with a named reason.

An edit is checked against the files as they were before the dream and the draft as it is now, so a loss
is counted over the whole dream and not edit by edit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from dream.dreaming import markup
from dream.dreaming.draft import Draft, Edit, added, gone
from dream.dreaming.findings import Told
from dream.dreaming.markup import FlawName, folded
from dream.language.likeness import takes_place
from dream.language.similar import content_words, coverage, near_fact, same_fact
from dream.language.tongue import guess
from dream.language.words import without_said_on, words
from dream.models import Entry, Finding, MemoryFile, Rejected
from dream.provenance import rule, user
from dream.provenance.rule import Judgement, Known, Source, source
from dream.provenance.user import QUOTE, bare, names_source, quotation
from dream.settings import Settings

# What the guards look at: an edit, the draft before and after it, and what must be known of the workspace.


EMBEDDED = "embedded"  # the model that only quotes: what it takes for a wish stands as it was said
_MARKS = " -*•"  # of a list
LATE = timedelta(days=1)  # between a talk and its entry: what is read sooner comes in the order of the talks

GuardName = (
    FlawName
    | Literal[
        "review",
        "person-line",
        "person-edit",
        "loss",
        "rejected-fact",
        "kept-line",
        "rule-source",
        "instruction",
        "third-party",
        "unfounded",
        "older",
    ]
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a guard says of one edit. `held` waits for a person; `refused` is never written."""

    decision: Literal["held", "refused"]
    guard: GuardName
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """One edit before the guards: it turns the draft `now` into `then` to settle `findings`."""

    edit: Edit
    now: Draft
    then: Draft
    findings: tuple[Finding, ...]

    @property
    def cursors(self) -> frozenset[int]:
        """The entries that the edit rests on."""
        return frozenset(cursor for finding in self.findings for cursor in finding.entries)

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that the edit puts into its file."""
        return added(self.now.texts[self.edit.file], self.then.texts[self.edit.file])

    @property
    def gone(self) -> tuple[str, ...]:
        """The lines that the edit takes out of its file."""
        return gone(self.now.texts[self.edit.file], self.then.texts[self.edit.file])


@dataclass(frozen=True, slots=True)
class Protected:
    """What the guards must know of the workspace.

    `before`: the files as the dream found them. `person_lines`: by file, the lines that a person wrote.
    `rejected`: facts taken back, and lines to be kept. `said`: by cursor, the lines of its entry that are the user's
    own; `wishes`: the same as sources of rules, each as they said it; `known`: what a rule may name
    without them. `unvouched`: the lines that somebody else than the user said.
    `others`: the lines that only a tool's output or pasted text bears out; `told`: all of them, by who said
    them first. `late`: when it was said, of the entries that were written long after; `learnt` tells the same of what
    a line that stands in a file rests on.
    """

    before: Mapping[MemoryFile, str]
    person_lines: Mapping[MemoryFile, frozenset[str]]
    rejected: Sequence[Rejected]
    said: Mapping[int, Sequence[str]] = field(default_factory=dict)
    others: Mapping[int, Sequence[str]] = field(default_factory=dict)
    told: Mapping[int, Told] = field(default_factory=dict)
    late: Mapping[int, datetime] = field(default_factory=dict)
    learnt: Callable[[MemoryFile, str], datetime | None] = lambda file, line: None
    wishes: Mapping[int, Sequence[Source]] = field(default_factory=dict)
    unvouched: Mapping[int, Sequence[str]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)


Guard = Callable[[Case, Protected, Settings], Verdict | None]


def late(entries: Iterable[Entry]) -> dict[int, datetime]:
    """Return, by cursor, when it was said, of the entries that were written more than LATE after that."""
    return {entry.cursor: entry.when for entry in entries if entry.at - entry.when > LATE}


def others(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that only a tool's output or pasted text bears out."""
    return {entry.cursor: tuple(line for line, voices in entry.lines() if "o" in voices) for entry in entries}


def unvouched(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that rest on what the agent, a tool or a quoted text said."""
    found: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        rows = zip(entry.content.split("\n"), entry.rests, strict=False)
        found[entry.cursor] = tuple(line for line, rests in rows if rests[:1] in ("a", "t", "p"))
    return found


def said(entries: Iterable[Entry]) -> dict[int, tuple[str, ...]]:
    """Return, by cursor, the lines of entries that the user said: those found at consolidation, and all of a note."""
    return {entry.cursor: tuple(line for line, voices in entry.lines() if "u" in voices) for entry in entries}


def wishes(entries: Iterable[Entry]) -> dict[int, tuple[Source, ...]]:
    """Return, by cursor, what the user said as sources of rules: their own sentences, or lines that say the same."""
    found: dict[int, tuple[Source, ...]] = {}
    for entry in entries:
        numbers = [number for number, (_, voices) in enumerate(entry.lines(), start=1) if "u" in voices]
        stands = entry.kind == "note" or entry.model == EMBEDDED
        found[entry.cursor] = tuple(_sources(entry.content.split("\n"), numbers, stands))
    return found


def _sources(rows: Sequence[str], numbers: Sequence[int], stands: bool) -> Iterator[Source]:
    about = ""
    for number, row in enumerate(rows, start=1):
        quotes = row.startswith(QUOTE)
        about = about if quotes else row
        if number not in numbers:
            continue
        if quotes:
            yield source(row.removeprefix(QUOTE), about)
        elif not (number < len(rows) and rows[number].startswith(QUOTE)):
            plain = quotation(row).lstrip(_MARKS)
            said = bare(plain)
            yield Source(said, stands=stands or said != plain)


def named(entries: Iterable[Entry], texts: Mapping[MemoryFile, str]) -> Known:
    """Return what a rule may say without the message that it rests on: names in memory, and the user's other words."""
    lines = [line for found in said(entries).values() for line in found]
    firsthand = [line for text in texts.values() for line in text.splitlines() if not names_source(line)]
    names = {
        word for line in (*firsthand, *lines) for name in rule.names(f"x {line.lstrip('-* ')}") for word in words(name)
    }
    return Known(frozenset(names), frozenset(word for line in lines for word in words(line)))


def said_for(case: Case, protected: Protected) -> list[str]:
    """Return the user's own lines among the entries that an edit rests on."""
    return [line for cursor in sorted(case.cursors) for line in protected.said.get(cursor, ())]


def shown(line: str) -> str:
    """Return a line as a reason quotes it: at most 80 characters."""
    return repr(line.strip()[:80])


# The form and the measure of an edit: no markup that could mislead, nothing its findings don't say, no great loss.


FOUNDED = 0.25  # of a line's words that its findings must hold


def markup_flaw(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written that a reader does not see, that leads elsewhere, or that swallows what follows."""
    urls = frozenset(
        found[0].rstrip(".,;:!?)") for line in said_for(case, protected) for found in markup.URL.finditer(line)
    )
    fences = 0
    for line in case.added:
        if flaw := markup.flaw(line, urls):
            return Verdict("held", flaw.guard, flaw.reason)
        fences += line.lstrip().startswith(("```", "~~~"))
    if fences % 2:
        return Verdict("held", "section", "a code block that is opened and not closed would swallow what follows")
    return None


def unfounded(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What is written stands in the findings that it settles, or in the lines that it changes."""
    basis = " ".join([*(finding.text for finding in case.findings), *case.gone, *said_for(case, protected)])
    for line in case.added:
        if markup.heading(line) is None and content_words(line) and coverage(line, basis) < FOUNDED:
            return Verdict("refused", "unfounded", f"none of the findings named says {shown(line)}")
    return None


def loss(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """One dream takes no more of a file's earlier lines than the settings allow."""
    file = case.edit.file
    before = protected.before[file]
    earlier = sum(1 for line in before.splitlines() if line.strip())
    missing = len(gone(before, case.then.texts[file]))
    allowed = max(settings.max_loss_lines, int(earlier * settings.max_loss_ratio))
    if missing <= allowed:
        return None
    return Verdict("held", "loss", f"{missing} of {earlier} earlier lines of {file} would be gone, {allowed} may")


# What a person decided stays so: facts taken back, lines kept, lines they wrote; and what they want to see first.


SUCCEEDS = 0.3  # of a kept line's words that what takes its place must hold


def rejected_fact(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A fact that a person took back is not written again; one much like it waits for them."""
    facts = [fact for fact in protected.rejected if not fact.removal]
    for line in case.added:
        for fact in facts:
            if same_fact(fact.text, line):
                return Verdict("refused", "rejected-fact", f"a person took this fact back on {fact.at:%Y-%m-%d}")
    for line in case.added:
        for fact in facts:
            if near_fact(fact.text, line):
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict(
                    "held", "rejected-fact", f"much like what a person took back on {when}: {fact.text[:80]!r}"
                )
    return None


def kept_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person would not have removed goes only where a newer fact takes its place."""
    kept = [fact for fact in protected.rejected if fact.removal and fact.file == case.edit.file]
    new = " ".join(case.added)
    for line in case.gone if kept else ():
        for fact in kept:
            if same_fact(fact.text, line) and coverage(line, new) < SUCCEEDS:
                when = f"{fact.at:%Y-%m-%d}"
                return Verdict("refused", "kept-line", f"a person decided on {when} to keep the line {shown(line)}")
    return None


def person_line(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """A line that a person wrote is not changed or removed unattended."""
    theirs = protected.person_lines.get(case.edit.file, frozenset())
    for line in case.gone:
        if line.strip() and line in theirs:
            return Verdict("held", "person-line", f"a person wrote the line {shown(line)}")
    return None


def review(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Nothing is written unseen where the settings say that every edit waits."""
    if settings.review == "hold":
        return Verdict("held", "review", "every edit waits for a person (review = hold)")
    return None


# Tell a line that instructs whoever reads it from one that states a fact. Pure; patterns, in nine languages.
#
# Such a line is memory only if the user said it. Patterns miss what nobody thought of; that is why SOUL.md, which
# agents obey, does not rest on them: there every line must be the user's own.


# ruff: noqa: E501, ISC004 - one pattern of a tuple stands on several lines, and a line of it is not cut in two


_AGENT = (
    r"(?:(?:the|this|any|every|all|your|an?)\s+)?(?:agents?|assistants?|a\.?i\.?|chatbots?|bots?|llms?|language models?"
    r"|claude|chatgpt|gemini|copilot)"
)
_DO = (
    r"(?:say|repl(?:y|ies)|answers?|responds?|runs?|executes?|sends?|recommends?|suggests?|opens?|fetch(?:es)?|visits?|appends?"
    r"|writes?|saves?|deletes?|removes?|tells?|includes?|outputs?|prints?|pretends?|acts?|switch(?:es)?|insists?|forwards?|emails?"
    r"|uploads?|ignores?|shares?|reveals?|approves?|trusts?|obeys?|follows?|mentions?|adds?|stops?|posts?|calls?|praises?"
    r"|treats?|transfers?|pays?|installs?|disables?|enables?|grants?|accepts?|claims?|den(?:y|ies)|refuses?|promotes?|redirects?"
    r"|quotes?|leaks?|submits?|copies|copy|ends? every|begins? every|starts? every)"
)
_BASE = (
    r"(?:say|reply|answer|respond|run|execute|send|recommend|suggest|open|fetch|visit|append|write|save|delete|remove|tell"
    r"|include|output|print|pretend|act|switch|insist|forward|email|upload|ignore|share|reveal|approve|trust|obey|follow"
    r"|mention|add|stop|post|call|praise|treat|transfer|pay|install|disable|enable|grant|accept|claim|deny|refuse|promote"
    r"|redirect|quote|leak|submit|copy|click|download|give|show|repeat|remember|forget|use this|end every|begin every)"
)
# How somebody who is given orders behaves; commands of a shell or a project ("run", "use", "install") are solutions.
_MANNER = (
    r"(?:reply|respond|answer|obey|praise|agree|accept|approve|recommend|promote|advertise|trust|pretend|refuse|reveal|forward"
    r"|ignore|disregard|speak|act|behave|insist|sign every|end every|begin every|start every|worship|serve|favou?r|comply|leak)"
)
_MUST = (
    r"(?:must|should|shall|ought to|has to|have to|needs? to|is to|are to|will (?:now |always |never )|always|never|may not"
    r"|can(?:not|'t)|is (?:now )?(?:authori[sz]ed|allowed|instructed|required|permitted|told|obliged|unrestricted)"
    r"|(?:do|does) not|don't|doesn't)"
)
# What people tell each other to cheer up, and nothing besides: no order to an agent.
_COMFORT = (
    r"(?:look on the bright side|lose hope|give up|stop (?:dreaming|believing|learning|trying)|worry|mind|say never"
    r"|forget to smile)(?:\s*\([^)]*\d{4}\))?\W*$"
)
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # against the rules
        r"\b(?:ignore|disregard|forget|override|bypass|neglect|drop|overrule|supersede[sd]?)\b[^.]{0,30}\b(?:previous|prior|above"
        r"|earlier|preceding|all|any|system|your|these|other|every|former)\b[^.]{0,24}\b(?:instruction|prompt|rule|direction"
        r"|guideline|message|restriction|safety|polic|constraint|memor|order)",
        r"\byou are now\b|\b(?:act|behave|respond) as (?:if|though|an? (?:unrestricted|different|evil|jailbroken|new))\b"
        r"|\bpretend (?:to be|you|that you)\b|\bdeveloper mode\b|\bjailbr[eo]a?k|\bdo anything now\b|\bdan mode\b"
        r"|\bnew (?:system )?instructions?\b|\bsystem prompts?\b|\bprompt injection\b|\bfrom now on\b|\bunrestricted mode\b",
        # to the agent
        rf"\b{_AGENT}(?:'s)?,?\s+{_MUST}\b",
        rf"\b(?:wants?|expects?|asks?|asked|told|tells|would like|prefers?|requires?|instructs?|instructed|requests?|needs"
        rf"|authori[sz]e[sd]?|allows?|permits?|orders?|wished)\s+(?:that\s+)?(?:{_AGENT}|you|dream)\b",
        rf"\b(?:instructions?|note|message|reminder|rule|policy|task)s?\s+(?:for|to)\s+{_AGENT}\b",
        r"\byou (?:must|should|shall|have to|need to|are (?:to|required|authori[sz]ed|obliged|permitted))\b"
        r"|\byour (?:new )?(?:instructions?|rules?|task|system|memory|guidelines|safety)\b",
        rf"^\W*(?:please\s+|now\s+|first\s+)*(?:always|never|please|do not|don't|make sure to|be sure to|remember to|you)\s+{_BASE}\b",
        # without a subject, as orders are given; "always eats", "never had" tell of somebody
        rf"^\W*(?:please\s+|only\s+)*(?:always|never|do not|don't)\s+(?!{_COMFORT})(?!been\b|had\b|was\b|got\b|went\b|(?:\w+ly\s+)?\w+(?:[^s\W]s|ed|ing|en)\b)[a-z]+\b",
        rf"^\W*(?:please\s+)?(?:only\s+)?{_MANNER}\b(?!\s+(?:is|was|are|were|of|from|from the)\b|\s*:)",
        rf"^\W*(?:{_BASE}|push|merge|deploy|commit|proceed|continue)\b[^.]{{0,60}}\bwithout\s+(?:an?\s+|any\s+|the\s+)?(?:review|asking|confirm|permission|approval|consent|check|question|warning)",
        rf"\b(?:says?|said|states|reads|writes|wrote|tells?)\b[^.]{{0,24}}?[\s:,\"“'](?:always|never|must|{_MANNER}|ignore|delete|send|run)\s+\w+",
        rf"^\W*{_AGENT}\s*[:,]\s*(?:please\s+)?(?:always\s+|never\s+)?{_BASE}\b",
        r"\bif you(?:'re| are)\b[^.]{0,30}\b(?:ai|llm|agent|assistant|model|bot|reading)\b|\bwhen(?:ever)? you (?:read|see|load|process)\b",
        # later, when something happens
        r"\b(?:when(?:ever)?|if|once|next time|every time|each time|as soon as|after|before|until|on the day)\s+"
        r"(?:the |a |this |any )?(?:user|owner|you|they|someone|anyone|agent|assistant|he|she|memory|file|session|conversation)\b"
        rf"[^.;:]{{0,80}}[,;:]\s*(?:please |always |then |immediately |first |silently |just |also )*{_BASE}\b",
        rf"\b(?:whenever|every time|each time|next time)\b[^.;]{{0,60}}?(?:\basked\b|\basks\b|\bmentions?\b|\bsays?\b)[^.;]{{0,60}}[,;:]?\s+"
        rf"(?:always |then |please )*{_BASE}\b",
        # behind the user's back, or out of the house
        r"\b(?:without|don't|do not|never)\s+(?:telling|tell|informing|inform|asking|ask|notifying|notify|alerting|mentioning|mention"
        r"|revealing|reveal|disclosing|disclose|showing|show|warning|warn)\b[^.]{0,24}\b(?:the )?(?:user|owner|human|anyone|anybody|them|him|her|this)\b",
        r"\b(?:secretly|silently|covertly|quietly)\b[^.]{0,20}\b(?:send|copy|forward|upload|add|include|run|post|delete|log|insert|approve)",
        rf"(?:^\W*|[,;:]\s*|\b(?:always|must|please|should|and then|then|shall)\s+){_BASE}\b[^.]{{0,80}}?(?:https?://|www\.|\S+@\S+\.\w"
        r"|\b[\w-]+\.(?:com|net|org|io|ru|cn|xyz|example|test|evil|top|info)\b)",
        # into memory
        r"\b(?:add|append|write|save|store|put|record|insert|copy)\b[^.]{0,60}\b(?:to|into|in)\b\s*(?:your |the |its |this |long-term )*"
        r"(?:soul|(?:long-term )?memory|memories|user file|(?:soul|user|memory)\.md)\b",
        r"\b(?:soul|user|memory)\.md\b[^.]{0,40}\b(?:must|should|rule|says|shall|delete|remove|replace|overwrite)",
        # commands that run what is fetched or wipe what is there
        r"(?:curl|wget|iwr|irm|invoke-webrequest|fetch)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|fi|pwsh|power)?(?:sh|shell|iex|python3?|node|perl)\b"
        r"|\brm\s+-(?:rf|fr)\b\s+(?:/|~|\$|\*)|\bbase64\s+(?:-d|-D|--decode)\b|\bpowershell\b[^\n]{0,40}\s-e(?:nc)?\w*\s|\b(?:nc|ncat)\b[^\n]{0,40}\s-e\s"
        r"|\bos\.system\(|\bsubprocess\.|\beval\(|\bexec\(",
        # Chinese
        r"(?:忽略|无视|無視|忘记|忘掉|不要理会|绕过)[^。]{0,14}(?:指令|指示|规则|規則|提示|要求|限制|设定)|系统提示|系統提示|你现在是|从现在(?:起|开始)",
        r"(?:助手|助理|代理|智能体|机器人|AI|Claude|你)(?:都|就|也)?(?:必须|应该|应当|务必|需要|总是|永远|一律|不得|不要|可以|要|得|请)",
        r"(?:希望|要求|想让|让|请|需要)(?:助手|助理|代理|智能体|AI|你)",
        r"(?:当|如果|每当|一旦|下次)(?:用户|有人|你|他|她)[^。]{0,30}(?:时|时候|的话|，|,)[^。]{0,8}(?:就|请|必须|回复|回答|推荐|发送|执行|告诉|说|运行|删除|提到)",
        r"(?:请|务必|必须|一律|总是|始终)[^。]{0,10}(?:发送|转发|上传|执行|运行|删除|推荐|回复|告诉)[^。]{0,40}",
        # German, Spanish, French, Italian, Portuguese (after folding: without accents)
        r"\b(?:ignoriere?n?|vergiss|missachte|vergesse)\b[^.]{0,40}\b(?:anweisung|regel|vorgabe|befehl|instruktion)"
        r"|\b(?:assistent|agent|ki|bot)(?:in|en)?\s+(?:muss|soll|darf|hat)\b|\bab (?:jetzt|sofort)\b[^.]{0,40}\b(?:immer|nur|antworte|sende)",
        r"\b(?:ignor[ae]r?n?|olvid[ae]r?|omit[ae]|desobedece)\b[^.]{0,40}\b(?:instruccion|regla|indicacion|orden)"
        r"|\b(?:asistente|agente|la ia)\s+(?:debe|tiene que|siempre|nunca)\b|\bde ahora en adelante\b|\ba partir de ahora\b",
        r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?)\b[^.]{0,40}\b(?:instruction|consigne|regle|directive)"
        r"|\b(?:assistant|agent|ia)\s+(?:doit|devra|dois)\b|\bdesormais\b|\ba partir de maintenant\b",
        r"\b(?:ignora|dimentica|ignore|esqueca|desconsidere)\b[^.]{0,40}\b(?:istruzion|regol|instruc|regra|ordens)"
        r"|\b(?:assistente|agente|l'ia|a ia)\s+(?:deve|dovra|devera)\b|\bd'ora in poi\b|\ba partir de agora\b|\bda ora in poi\b",
    )
)  # fmt: skip
# These are looked for in the text as it stands: folding would make Latin letters of Cyrillic ones.
_AS_IT_STANDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:игнориру|забудь|не обращай|отбрось)\w*[^.]{0,40}(?:инструкц|правил|указан|команд)"
        r"|(?:ассистент|агент|помощник|бот|ии)\s+(?:долж|обязан|всегда|никогда)|(?:отныне|с этого момента|теперь ты)",
        r"(?:以前|これまで|上記|前|すべて)の(?:指示|命令|ルール|プロンプト)[^。]{0,8}(?:無視|忘れ)|今後は"
        r"|(?:アシスタント|エージェント|AI|あなた)は[^。]{0,40}(?:なければ|べき|すること|してください|しろ|せよ)",
        r"(?:이전|위의|기존|모든)\s?[^.]{0,6}(?:지시|명령|규칙|프롬프트)[^.]{0,10}(?:무시|잊)|이제부터"
        r"|(?:어시스턴트|에이전트|비서|AI|당신)[는은]\s?[^.]{0,40}(?:야 한다|야 합니다|해야|하라|하세요|하십시오|보내)",
        r"(?:تجاهل|انس)[^.]{0,40}(?:التعليمات|الأوامر|القواعد)|(?:يجب على|على) (?:المساعد|الوكيل)",
    )
)


_SPEAKER = re.compile(r"^\s*(?:[-*•+]\s+)?(?:\d{4}-\d\d-\d\d:?\s+)?[\w .'-]{1,40}[:：]\s+")


def instructs(line: str) -> bool:
    """Tell whether a line tells an agent what to do, or hides something from the user."""
    plain = folded(line).replace("’", "'")
    told = _SPEAKER.sub("", plain)
    if any(pattern.search(text) for text in {plain, told} for pattern in _PATTERNS):
        return True
    return any(pattern.search(unicodedata.normalize("NFKC", line)) for pattern in _AS_IT_STANDS)


# What a statement that only a third party made may not hold: a wish, a rule, an address to send something to. Far more
# words than above, for here a false alarm costs a person a look and no more.
_NORMATIVE = re.compile(
    r"\b(?:must|should|shall|ought|needs?(?: to)?|ha(?:s|ve) to|always|never|essential|mandatory|required?|necessary|unnecessary"
    r"|rules?|polic(?:y|ies)|guidelines?|instructions?|orders?|best practice|recommend\w*|suggest\w*|remember|reminder|todo|task"
    r"|next (?:time|session|run)|future|tomorrow|from now|please|kindly|only|every|all|skip|ignore|disable|enable|purge|delete"
    r"|remove|send|upload|forward|transfer|pay|invoices?|account|bank|iban|wallet|repl(?:y|ies)|answers?|responses?|questions?"
    r"|confirm\w*|approv\w*|trust\w*|favou?r|side with|obey|comply|prais\w*|agents?|assistants?|ai|llm|bots?|claude|chatgpt|memory"
    r"|prompts?|exfil\w*|secret|password|token|credentials?|curl|wget|nc|ssh|sudo|eval|hxxps?|doubt|instead of asking|without)\b"
    r"|@|://|\bwww\.|\[\.\]|[⟦⟧【】{}<>|]|必须|应该|务必|总是|永远|请|每次|不要|禁止|规则|指令|助手|回答|回复|发送|账户|广告|推荐"
    r"|\b(?:vergiss|immer|niemals?|muss|soll|bitte|debe|siempre|nunca|toujours|jamais|doit|deve|sempre|mai)\b"
    r"|долж|всегда|никогда|нужно|べき|必ず|ください|すること|해야|하라|항상|절대",
    re.IGNORECASE,
)


def normative(line: str) -> bool:
    """Tell whether a line says what ought to be, or where to send something, rather than only what is."""
    return _NORMATIVE.search(folded(line)) is not None or _NORMATIVE.search(line) is not None


# Who said it, and when: rules are the user's own, and no tool, page or earlier talk speaks for them.


THEIRS = 0.6  # of a line's words that a line of others must hold
RULE_SUCCEEDS = 0.6  # of belief that one rule takes the place of another
TAKES_PLACE = 0.5  # of a SOUL line's words that a rule in the user's words must hold to take its place
# Words of which an ordinary heading in SOUL.md is made; another one could be a rule itself.
_HEADING_WORDS = frozenset(
    """
    soul rules rule style tone manner manners behaviour behavior language communication format formatting answers
    preferences preference principles boundaries limits habits voice personality character identity values general
    code coding git tools tool working work workflow safety writing names how i the agent and of my
    regeln umgangston ton stil ルール 話し方 灵魂 规则 风格 语气 语言 行为 偏好 沟通 格式 工作
    """.split()  # noqa: SIM905 - a list of words is read better than a list of strings
)


def rule_source(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What becomes a rule in SOUL.md, or ends one, the user said themselves in a message of theirs."""
    if case.edit.file != "SOUL.md":
        return None
    for line in case.added:
        if not _is_plain_heading(line) and (found := judged(line, case, protected)).verdict != "said":
            return Verdict("held", "rule-source", f"{found.reason}: {shown(line)}")
    new = " ".join(case.added)
    for line in case.gone:
        replaced = bool(case.added) and (coverage(line, new) >= TAKES_PLACE or _succeeds(case.added, line))
        if not replaced and not _taken_back(line, case, protected):
            return Verdict("held", "rule-source", f"no message of the user's takes back {shown(line)}")
    return None


def instruction(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Outside SOUL.md no line may tell an agent what to do, unless the user said it."""
    if case.edit.file == "SOUL.md":
        return None
    for line in case.added:
        if instructs(line) and not _by_user(line, case, protected):
            return Verdict("held", "instruction", f"it instructs the agent, and the user did not say it: {shown(line)}")
    return None


def third_party(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What only a tool's output or pasted text says is no fact about the user, and nothing that anybody must do."""
    if case.edit.file == "SOUL.md":
        return None
    cursors = sorted(case.cursors)
    theirs = [line for cursor in cursors for line in protected.others.get(cursor, ())]
    if case.edit.file == "USER.md":  # there it does not help that the agent repeats it
        theirs += [
            line for cursor in cursors if cursor in protected.told for line, _ in protected.told[cursor].secondhand
        ]
        theirs += [line for cursor in cursors for line in protected.unvouched.get(cursor, ())]
    for line in case.added if theirs else ():
        if not (case.edit.file == "USER.md" or normative(line)) or markup.heading(line) is not None:
            continue
        if any(coverage(line, other) >= THEIRS for other in theirs) and not _by_user(line, case, protected):
            return Verdict("held", "third-party", f"not the user but a tool, a text or the agent says {shown(line)}")
    return None


def older(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """What was said earlier neither takes away what was said later, nor adds what that corrects."""
    if not case.cursors or not case.cursors <= protected.late.keys():
        return None
    said = max(protected.late[cursor] for cursor in case.cursors)
    touched = [(case.edit.file, line) for line in case.gone if line.strip()]
    for file, line in [*touched, *_speaking_of(case.added, protected)]:
        later = protected.learnt(file, line)
        if later is not None and later > said:
            reason = f"it was said on {said:%Y-%m-%d}, and on {later:%Y-%m-%d} what stands there: {shown(line)}"
            return Verdict("refused", "older", reason)
    return None


def _speaking_of(lines: Iterable[str], protected: Protected) -> Iterator[tuple[MemoryFile, str]]:
    """Yield the lines of the files that hold every word of one of `lines`: they say the same, or correct it."""
    for fact in (without_said_on(line) for line in lines if markup.heading(line) is None):
        for file, text in protected.before.items():
            yield from ((file, line) for line in text.splitlines() if coverage(fact, line) == 1.0)


def judged(line: str, case: Case, protected: Protected) -> Judgement:
    """Judge a line as a rule by what the user said in the entries that the edit rests on."""
    sources = [source for cursor in sorted(case.cursors) for source in protected.wishes.get(cursor, ())]
    return rule.judge(line, sources, protected.known)


def in_own_words(case: Case, protected: Protected) -> dict[str, str]:
    """Return, of the lines that an edit adds as rules, those that stray from what the user said, with their words."""
    rules = [line for line in case.added if markup.heading(line) is None]
    rules = [line for line in rules if case.edit.file == "SOUL.md" or instructs(line)]
    found = {line: judged(line, case, protected) for line in rules}
    return {line: one.own for line, one in found.items() if one.verdict == "close"}


def _by_user(line: str, case: Case, protected: Protected) -> bool:
    return judged(line, case, protected).verdict == "said" or user.covered(
        line, user.own_lines(said_for(case, protected))
    )


def _taken_back(line: str, case: Case, protected: Protected) -> bool:
    return user.taken_back(line, user.own_lines(said_for(case, protected)))


def _succeeds(added: Iterable[str], line: str) -> bool:
    """Return whether one of the rules added, which the user said, tells what a rule now is that was told otherwise."""
    said = line.strip().removeprefix("- ")
    return any(
        takes_place(new.strip().removeprefix("- "), said, guess(new) or "en", rule=True) >= RULE_SUCCEEDS
        for new in added
    )


def _is_plain_heading(line: str) -> bool:
    text = markup.heading(line)
    return text is not None and set(text.casefold().replace("&", " ").split()) <= _HEADING_WORDS


GUARDS: tuple[Guard, ...] = (
    rejected_fact,
    kept_line,
    older,
    markup_flaw,
    person_line,
    rule_source,
    instruction,
    third_party,
    unfounded,
    loss,
    review,
)


def check(case: Case, protected: Protected, settings: Settings) -> Verdict | None:
    """Judge an edit; None lets it pass.

    A refusal comes before a hold: what must never be written need not wait for a person.
    """
    return next((verdict for guard in GUARDS if (verdict := guard(case, protected, settings))), None)


__all__ = ["GUARDS", "Case", "Protected", "Verdict", "check"]
