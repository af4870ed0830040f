"""One dream's editing: every finding ends as applied, present, held or refused, checked against the draft.

Whoever edits, a model's tool calls or the deterministic fallback, goes through `Editing`; what was said
about a finding counts only where the draft bears it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dream.dreaming.draft import Draft, Edit, EditError, gone, lines, plain_ends
from dream.dreaming.findings import with_sources
from dream.dreaming.guards import Case, Protected, Verdict, check, in_own_words
from dream.language.similar import content_words, contradicts, coverage, differs, nearest, states
from dream.language.text import clean, problems
from dream.models import Finding, MemoryFile, Outcome, State
from dream.redact import redact
from dream.settings import Settings

# Part an edit that inserts several lines, so that a guard stops the one it means and not its neighbours. Pure.


def parted(edit: Edit, findings: Sequence[Finding], stopped: Callable[[Edit], bool]) -> list[Edit]:
    """Return the edit without the lines that are `stopped` by themselves, then one edit for each of those.

    `findings` are all of the dream's; each that the edit names goes with the line that says most of it. An edit that
    changes or removes lines, or all of whose lines are stopped, stays whole.
    """
    kept, new = _inserted(edit)
    if len(new) < 2:
        return [edit]
    alone = {place: _only(edit, kept, new, [place]) for place in new}
    bad = [place for place in new if stopped(alone[place])]
    good = [place for place in new if place not in bad]
    if not bad or not good:
        return [edit]
    lines = edit.new_text.splitlines()
    goes_with = {number: _nearest(findings[number - 1].text, lines, new) for number in edit.findings}

    def numbers(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(number for number in edit.findings if goes_with[number] in places) or edit.findings[:1]

    return [
        replace(_only(edit, kept, new, good), findings=numbers(good)),
        *(replace(alone[place], findings=numbers([place])) for place in bad),
    ]


def _inserted(edit: Edit) -> tuple[list[int], list[int]]:
    """Return the places in `new_text` of the old lines and of the new ones; no new ones where an old one is missing."""
    old = edit.old_text.splitlines()
    kept: list[int] = []
    new: list[int] = []
    for place, line in enumerate(edit.new_text.splitlines()):
        if old and line == old[0]:
            kept.append(place)
            old.pop(0)
        elif line.strip() and not line.lstrip().startswith("#"):
            new.append(place)
    return (kept, []) if old else (kept, new)


def _only(edit: Edit, kept: Sequence[int], new: Sequence[int], places: Sequence[int]) -> Edit:
    """Return the edit with no new lines but those at `places`; headings and blank lines stay."""
    drop = {place for place in new if place not in places}
    lines = edit.new_text.splitlines(keepends=True)
    text = "".join(line for place, line in enumerate(lines) if place not in drop)
    if not edit.new_text.endswith("\n"):
        text = text.removesuffix("\n")
    return replace(edit, new_text=text)


def _nearest(fact: str, lines: Sequence[str], places: Sequence[int]) -> int:
    return max(places, key=lambda place: (coverage(fact, lines[place]), -place))


_CLAIMS_PRESENT = (
    *("already", "present", "exist", "duplicate", "known", "stands", "there", "已", "重复", "重複", "既", "すでに"),
    *("記載", "이미", "schon", "bereits", "vorhanden", "doppelt", "déjà", "già", "duplic", "ya está", "já está", "уже"),
)
LONGEST_LINE = 600  # characters of a line of memory; a longer one is a text, not a fact
ABOUT = 0.25  # of the words of a line that goes, which must stand in the findings or in what takes its place
REMOVES = 0.6  # of a removal's words that a line must hold to be the one meant
CLAIMED = 0.6  # of a fact's words that a line must hold where a model says that it stands there


@dataclass(frozen=True, slots=True)
class HeldEdit:
    """An edit that a guard stopped; it waits for a person."""

    edit: Edit
    verdict: Verdict


class Editing:
    """The draft of one dream, the findings it must settle, and what became of each.

    Finding numbers count from 1, as the prompt shows them.
    """

    def __init__(self, findings: Sequence[Finding], protected: Protected, settings: Settings) -> None:
        self.findings = tuple(findings)
        self.draft = Draft(dict(protected.before))
        self.held: list[HeldEdit] = []
        self.notes: list[str] = []
        self._protected = protected
        self._settings = settings
        self._decided: dict[int, tuple[State, str]] = {}
        self._doubted: set[int] = set()
        self._seen: set[tuple[str, str, str]] = set()

    def edit(self, edit: Edit) -> str:
        """Make one edit and return the answer to the model; raise EditError where the model can mend it."""
        edit = replace(edit, new_text=self._screened(edit))
        self._check_findings(edit)
        edit = replace(edit, new_text=self._with_sources(edit))
        call = (edit.file, edit.old_text, edit.new_text)
        if call in self._seen:
            raise EditError("this very edit was asked for before")
        self._seen.add(call)
        self._check_gone(edit)
        edit = self._in_own_words(edit)
        edits = parted(edit, self.findings, lambda part: self._verdict(part, self.draft.edited(part)) is not None)
        return "\n".join(self._made(part) for part in edits)

    def _made(self, edit: Edit) -> str:
        then = self.draft.edited(edit)
        verdict = self._verdict(edit, then)
        if verdict is not None:
            return self._stopped(edit, verdict)
        self.draft = then
        for number in edit.findings:
            self._decided.pop(number, None)
        return f"ok: {edit.file} edited"

    def _verdict(self, edit: Edit, then: Draft) -> Verdict | None:
        findings = tuple(self._finding(number) for number in edit.findings)
        return check(Case(edit, self.draft, then, findings), self._protected, self._settings)

    def skip(self, number: int, reason: str) -> str:
        """Settle a finding without an edit; a claim that it stands already is checked against the draft."""
        finding = self._finding(number)
        reason = " ".join(redact(clean(reason), self._settings.redact_patterns)[0].split())[:200] or "no reason given"
        score, line = nearest(finding.text, lines(self.draft.texts[finding.file]))
        if finding.remove:
            if line is not None and score >= 0.75 and number not in self._doubted:
                self._doubted.add(number)
                raise EditError(f"the line to remove may be {line.strip()[:120]!r}; remove it, or skip it again")
            self._decided[number] = ("refused" if score >= 0.75 else "present", reason)
        elif line is not None and (states(line, finding.text) or self._like(number, score, line, reason)):
            self._decided[number] = ("present", f"stands as {line.strip()[:120]!r}")
        elif _claims_present(reason):
            self._doubted.add(number)
            near = f"; the nearest line is {line.strip()[:120]!r}" if line else ""
            raise EditError(f"finding {number} does not stand in {finding.file}{near}")
        else:
            self._decided[number] = ("refused", reason)
        return f"ok: finding {number} skipped"

    def _like(self, number: int, score: float, line: str, reason: str) -> bool:
        """Tell whether a claim that `line` says it already is believed: other words, only when it is claimed again."""
        if score < CLAIMED or not _claims_present(reason):
            return False
        fact = self._finding(number).text
        return not (contradicts if number in self._doubted else differs)(line, fact)

    def decide(self, number: int, state: State, reason: str) -> None:
        """Settle a finding outright; for the deterministic fallback, which has looked itself."""
        self._decided[number] = (state, reason)

    def unsettled(self) -> list[int]:
        """List the numbers of the findings that neither an edit in the draft nor a decision settles."""
        return [number for number, state in enumerate(self._states(), start=1) if state is None]

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what became of each finding, in order; one that nothing settled is refused as undone."""
        ended = []
        for finding, found in zip(self.findings, self._states(), strict=True):
            state, reason = found or ("refused", "no edit of it stands in the draft")
            ended.append(Outcome(finding, state, reason))
        return tuple(ended)

    def _states(self) -> list[tuple[State, str] | None]:
        """Return of each finding what an edit in the draft or a decision has made of it, if any has."""
        edits: dict[int, list[Edit]] = {}
        for edit in self.draft.edits:
            for number in edit.findings:
                edits.setdefault(number, []).append(edit)
        return [
            ("applied", "")
            if any(self._stands(finding, edit) for edit in edits.get(number, ()))
            else self._decided.get(number)
            for number, finding in enumerate(self.findings, start=1)
        ]

    def _stands(self, finding: Finding, edit: Edit) -> bool:
        """Tell whether `edit`'s effect is in the draft and has to do with `finding`."""
        text = self.draft.texts[edit.file]
        if finding.remove:
            return edit.old_text != "" and bool(gone(self._protected.before[edit.file], text))
        return any(line in text for line in lines(edit.new_text)) and (
            coverage(finding.text, edit.new_text) >= 0.25 or coverage(edit.new_text, finding.text) >= 0.5
        )

    def _stopped(self, edit: Edit, verdict: Verdict) -> str:
        if verdict.guard == "unfounded":
            # Nobody asked for the line, so nobody need review it; its findings are still to be settled.
            self._note(f"left out of {edit.file}: {verdict.reason}")
            raise EditError(f"{verdict.reason}; write what the finding says")
        if len(edit.findings) > 1 and verdict.decision == "refused":
            raise EditError(f"{verdict.reason}; settle each finding by an edit of its own")
        if verdict.decision == "held":
            self.held.append(HeldEdit(edit, verdict))
        for number in edit.findings:
            self._decided[number] = (verdict.decision, f"{verdict.guard}: {verdict.reason}")
        return f"{verdict.decision}: {verdict.reason}; leave it"

    def _check_findings(self, edit: Edit) -> None:
        if not edit.findings:
            raise EditError("name in `findings` the numbers of the findings that this edit settles")
        files: set[MemoryFile] = {self._finding(number).file for number in edit.findings}
        if edit.file not in files:
            raise EditError(f"these findings belong in {', '.join(sorted(files))}, not in {edit.file}")

    def _check_gone(self, edit: Edit) -> None:
        """Refuse an edit that takes out a line which no finding named is about; for SOUL.md a guard asks more."""
        if edit.file == "SOUL.md":
            return
        found = [self._finding(number) for number in edit.findings]
        here = lines(self.draft.texts[edit.file])
        if any(one.remove and nearest(one.text, here)[0] < REMOVES for one in found):
            return  # it gives a reason instead of the line, and the line is for the model to find
        basis = " ".join([*(one.text for one in found), edit.new_text])
        for line in gone(self.draft.texts[edit.file], self.draft.edited(edit).texts[edit.file]):
            if not line.startswith("#") and content_words(line) and coverage(line, basis) < ABOUT:
                raise EditError(f"no finding named is about {line.strip()[:120]!r}; give it back in new_text")

    def _finding(self, number: int) -> Finding:
        if not 1 <= number <= len(self.findings):
            raise EditError(f"there is no finding {number}; they are numbered 1 to {len(self.findings)}")
        return self.findings[number - 1]

    def _screened(self, edit: Edit) -> str:
        """Return the edit's new text without secrets and without what cannot be seen, and note what was taken out."""
        given = plain_ends(edit.new_text).removesuffix("\r")  # of a file with such line ends, which the draft keeps
        text = clean(given)
        if hidden := problems(given):
            self._note(f"taken out of an edit of {edit.file}: {', '.join(hidden)}")
        text, secrets = redact(text, self._settings.redact_patterns)
        if secrets:
            self._note(f"taken out of an edit of {edit.file}: {', '.join(secrets)}")
        here = set(lines(self.draft.texts[edit.file]))
        longest = max((len(line) for line in lines(text) if line not in here), default=0)
        if longest > LONGEST_LINE:
            raise EditError(f"too-long: a line of memory may have {LONGEST_LINE} characters, this one has {longest:,}")
        return text

    def _with_sources(self, edit: Edit) -> str:
        """Name the source in each line of MEMORY.md that only a tool's output or pasted text vouches for."""
        if edit.file != "memory/MEMORY.md":
            return edit.new_text
        cursors = {cursor for number in edit.findings for cursor in self._finding(number).entries}
        here = lines(self.draft.texts[edit.file])
        return with_sources(edit, here, sorted(cursors), self._protected.told)

    def _in_own_words(self, edit: Edit) -> Edit:
        """Write the user's own sentence in the place of each rule that says it too freely."""
        if edit.new_text == "":
            return edit
        findings = tuple(self._finding(number) for number in edit.findings)
        case = Case(edit, self.draft, self.draft.edited(edit), findings)
        for line, own in in_own_words(case, self._protected).items():
            mark = line[: len(line) - len(line.lstrip(" -*+"))] or "- "
            edit = replace(edit, new_text=_instead(edit.new_text, line, mark + own.rstrip(".。")))
            number = max(edit.findings, key=lambda one: coverage(self._finding(one).text, line))
            self.findings = _reworded(self.findings, number, own)
            self._note(f"written in the user's own words: {line.strip()[:120]!r}")
        return edit

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _instead(text: str, line: str, other: str) -> str:
    return "\n".join(other if row.rstrip() == line else row for row in text.split("\n"))


def _reworded(findings: Sequence[Finding], number: int, text: str) -> tuple[Finding, ...]:
    """Return the findings with the words of one replaced by those that are written for it."""
    return tuple(replace(one, text=text) if at == number else one for at, one in enumerate(findings, start=1))


def _claims_present(reason: str) -> bool:
    return any(word in reason.lower() for word in _CLAIMS_PRESENT)
