"""Who said it, and when: rules are the user's own, and no tool, page or earlier talk speaks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dream.language.likeness import takes_place
from dream.language.tongue import guess
from dream.models import MemoryFile
from dream.phases import markup
from dream.phases.guards.case import Case, Protected, Verdict, said_for, shown
from dream.phases.instructing import instructs, normative
from dream.phases.similar import coverage
from dream.provenance import rule, user
from dream.provenance.rule import Judgement
from dream.settings import Settings
from dream.wording import without_said_on

THEIRS = 0.6  # of a line's words that a line of others must hold
SUCCEEDS = 0.6  # of belief that one rule takes the place of another
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
        takes_place(new.strip().removeprefix("- "), said, guess(new) or "en", rule=True) >= SUCCEEDS for new in added
    )


def _is_plain_heading(line: str) -> bool:
    text = markup.heading(line)
    return text is not None and set(text.casefold().replace("&", " ").split()) <= _HEADING_WORDS
