"""One dream's editing: every finding ends as applied, present, held or refused, checked against the draft.

Both the model's tool calls and the deterministic fallback edit through `Editing`; a claim about a finding
counts only if the draft confirms it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dream.dreaming.draft import Draft, Edit, EditError, gone, lines, paired, plain_ends, section
from dream.dreaming.guards import Case, Protected, Verdict, check
from dream.memory import PRIVATE, like, public
from dream.models import HANGS, Finding, MemoryFile, Outcome, State, Voice
from dream.provenance.copied import points_at
from dream.provenance.voice import names_source
from dream.redact import redact
from dream.settings import Settings
from dream.text.alike import contradicts, differs, nearest, states
from dream.text.safe import clean, problems, quoted
from dream.text.tongues import guess
from dream.text.words import content_words, coverage, marks, without_bullet, without_said_on

# Split an edit into units that are judged separately, so that a guard stops one line and not its neighbours. Pure.


WHOLE = ("loss", "review")  # guards that judge the edit as a whole, not a single line
TIED = 0.5  # share of a line's words that the other side of the edit must contain for the two to be one change
_CLAIMS_PRESENT = (
    *("already", "present", "exist", "duplicate", "known", "stands", "there", "已", "重复", "重複", "既", "すでに"),
    *("記載", "이미", "schon", "bereits", "vorhanden", "doppelt", "déjà", "già", "duplic", "ya está", "já está", "уже"),
)
_SOURCES: Mapping[Voice | None, str] = {"tool": "tool", "pasted": "paste", "agent": "agent"}  # rows of `marks`
LONGEST_LINE = 600  # characters of a line of memory; a longer one is a text, not a fact
ABOUT = 0.25  # share of a removed line's words that must occur in the findings or in its replacement
REMOVES = 0.6  # share of a removal's words that a line must contain to be the one meant
CLAIMED = 0.6  # share of a fact's words that a line must contain if a model claims that it states the fact


@dataclass(frozen=True, slots=True)
class Pairs:
    """An edit as pairs of an old and a new line, and as `units`: the indices of pairs that are accepted together.

    A line and its replacement are one unit, and so are lines that were merged or split, a list item with the lines
    indented below it, and a block of code.
    """

    edit: Edit
    rows: tuple[tuple[str | None, str | None], ...]
    units: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, edit: Edit) -> Pairs:
        """Split an edit into pairs and units."""
        rows = tuple(paired(_rows(edit.old_text), _rows(edit.new_text)))
        return cls(edit, rows, tuple(_units(rows)))

    def texts(self, unit: Collection[int]) -> tuple[str, str]:
        """Return the text that a unit removes, and the text that it adds."""
        old, new = zip(*(self.rows[place] for place in unit), strict=True)
        return _text(old), _text(new)

    def without(self, stopped: Collection[int]) -> Edit | None:
        """Return the edit without the pairs at `stopped`, None if nothing is left of it."""
        rows = self._left(stopped)
        text = _text(rows)
        ended = self.edit.new_text or self.edit.old_text
        text += "\n" if text and ended.endswith("\n") else ""
        changes = any(row != old for row, (old, _) in zip(rows, self.rows, strict=True))
        return replace(self.edit, new_text=text) if changes else None

    def alone(self, unit: Sequence[int], stopped: Collection[int], text: str) -> Edit:
        """Return an edit that makes only the change of `unit`, in the file's `text` without those at `stopped`.

        It quotes as few surrounding lines as possible, so that it still applies after the others are decided.
        """
        left = self._left(stopped)
        then = [self.rows[place][1] if place in unit else row for place, row in enumerate(left)]
        first, last = unit[0], unit[-1] + 1
        if (then[first] or "").startswith("#"):  # it stands above what is there below it
            last = next((place + 1 for place in range(last, len(left)) if left[place]), last)
        above = next((place for place in reversed(range(first)) if (self.rows[place][1] or "").strip()), first)
        if left[above] is None and (self.rows[above][1] or "").startswith("#"):  # a new heading for this line alone
            first = above
            then[first:last] = [self.rows[place][1] for place in range(first, last)]
        while (first, last) != (0, len(left)) and not _is_once(_text(left[first:last]), text):
            first, last = (first - 1, last) if first else (first, last + 1)
        return replace(self.edit, old_text=_text(left[first:last]), new_text=_text(then[first:last]))

    def numbers(self, unit: Collection[int], findings: Sequence[Finding]) -> tuple[int, ...]:
        """Return the edit's findings that these units settle: each finding belongs to the unit that says most of it."""
        said = [" ".join(self.texts(one)) for one in self.units]
        shares = {n: [coverage(findings[n - 1].text, text) for text in said] for n in self.edit.findings}
        nearest = {n: self.units[share.index(max(share))] for n, share in shares.items()}
        return tuple(n for n in self.edit.findings if nearest[n][0] in unit) or self.edit.findings[:1]

    def _left(self, stopped: Collection[int]) -> list[str | None]:
        """Return the rows without the change at `stopped`, and without new headings of empty sections."""
        rows = [old if place in stopped else new for place, (old, new) in enumerate(self.rows)]
        under = below = ""  # the row that is kept under this one, and the nearest that is not blank
        for place in reversed(range(len(rows))):
            row, is_new = rows[place] or "", self.rows[place][0] is None
            stands_alone = not below or below.startswith("#") if row.startswith("#") else not row.strip() and not under
            if is_new and stands_alone:
                rows[place] = None
            elif rows[place] is not None:
                under, below = row.strip(), row if row.strip() else below
        return rows


def _rows(text: str) -> list[str]:
    return plain_ends(text).removesuffix("\n").split("\n") if text else []


def _text(rows: Iterable[str | None]) -> str:
    return "\n".join(row for row in rows if row is not None)


def _is_once(lines: str, text: str) -> bool:
    return bool(lines.strip()) and f"\n{plain_ends(text)}\n".count(f"\n{lines}\n") == 1


def _units(rows: Sequence[tuple[str | None, str | None]]) -> list[tuple[int, ...]]:
    """Return the indices of changed pairs that belong together; blank lines belong to no unit."""
    changed = [n for n, (old, new) in enumerate(rows) if old != new and ((old or "").strip() or (new or "").strip())]
    home = {place: place for place in changed}
    fenced = False
    for place in changed:
        new = rows[place][1] or ""
        opens = new.lstrip().startswith(("```", "~~~"))
        tied = (other for other in changed if other != place and _tied(rows[place], rows[other]))
        mate = place - 1 if (fenced or new.startswith((" ", "\t"))) and place - 1 in home else next(tied, place)
        fenced ^= opens
        home = {one: home[mate] if of == home[place] else of for one, of in home.items()}
    return [tuple(place for place in changed if home[place] == one) for one in dict.fromkeys(home.values())]


def _tied(one: tuple[str | None, str | None], other: tuple[str | None, str | None]) -> bool:
    """Return whether a removed line survives in another's new line, or an added one comes from an old line."""
    if one[1] is None and other[1]:
        return coverage(one[0] or "", other[1]) >= TIED
    return one[0] is None and bool(other[0]) and coverage(one[1] or "", other[0] or "") >= TIED


@dataclass(frozen=True, slots=True)
class HeldEdit:
    """An edit that a guard held for review."""

    edit: Edit
    verdict: Verdict
    under: str = ""  # the heading of the section that it is in


class Editing:
    """The draft of one dream, the findings it must settle, and the outcome of each.

    Finding numbers count from 1, as the prompt shows them.
    """

    def __init__(
        self, findings: Sequence[Finding], protected: Protected, settings: Settings, *, optional: bool = False
    ) -> None:
        self.findings = tuple(findings)
        self.draft = Draft(dict(protected.before))
        self.held: list[HeldEdit] = []
        self.notes: list[str] = []
        self._protected = protected
        self._settings = settings
        self._decided: dict[int, tuple[State, str]] = {}
        # Removals whose skip was questioned once; if all are `optional`, a skip is accepted at once.
        self._doubted = set(range(1, len(findings) + 1)) if optional else set[int]()
        self._seen: set[tuple[str, str, str]] = set()

    def edit(self, edit: Edit) -> str:
        """Make one edit and return the answer to the model; raises EditError if the model can correct the edit."""
        edit = replace(edit, new_text=self._screened(edit))
        self._check_findings(edit)
        self._check_private(edit)
        edit = replace(edit, new_text=self._with_sources(edit) if like(edit.file) != "SOUL.md" else self._as_said(edit))
        call = (edit.file, edit.old_text, edit.new_text)
        if call in self._seen:
            raise EditError("this very edit was asked for before")
        self._seen.add(call)
        self._check_gone(edit)
        verdict = self._verdict(edit, self.draft, self.draft.edited(edit))
        return self._made(edit) if verdict is None else self._made_in_part(edit, verdict)

    def _made(self, edit: Edit) -> str:
        then = self.draft.edited(edit)
        verdict = self._verdict(edit, self.draft, then)
        if verdict is not None:
            return self._stopped(edit, verdict)
        self.draft = then
        for number in edit.findings:
            self._decided.pop(number, None)
        return f"ok: {edit.file} edited"

    def _made_in_part(self, edit: Edit, whole: Verdict) -> str:
        """Make the permitted units of an edit and stop the others, each for its own reason."""
        parts = Pairs.of(edit)
        judged = {unit: self._alone(edit, *parts.texts(unit)) for unit in parts.units}
        stopped = {unit: verdict for unit, verdict in judged.items() if verdict is not None}
        if not stopped or len(judged) == 1:
            return self._stopped(edit, whole)
        places = {place for unit in stopped for place in unit}
        rest = parts.without(places)
        answers = []
        if rest is not None:
            fine = {place for unit in judged if unit not in stopped for place in unit}
            answers.append(self._made(replace(rest, findings=parts.numbers(fine, self.findings))))
        mistakes = []
        for unit, verdict in stopped.items():
            own = parts.alone(unit, places, self.draft.texts[edit.file])
            try:
                answers.append(self._stopped(replace(own, findings=parts.numbers(unit, self.findings)), verdict))
            except EditError as mistake:
                mistakes.append(str(mistake))
        if mistakes and rest is None:
            raise EditError("; ".join(mistakes))
        return "\n".join([*answers, *(f"left out: {mistake}" for mistake in mistakes)])

    def _alone(self, edit: Edit, old: str, new: str) -> Verdict | None:
        """Judge one unit of an edit separately."""
        now, then = (Draft({**self.draft.texts, edit.file: text}) for text in (old, new))
        verdict = self._verdict(edit, now, then)
        return None if verdict is None or verdict.guard in WHOLE else verdict

    def _verdict(self, edit: Edit, now: Draft, then: Draft) -> Verdict | None:
        findings = tuple(self._finding(number) for number in edit.findings)
        return check(Case(edit, now, then, findings), self._protected, self._settings)

    def skip(self, number: int, reason: str) -> str:
        """Settle a finding without an edit; a claim that it is already in memory is checked against the draft."""
        finding = self._finding(number)
        reason = " ".join(redact(clean(reason), self._settings.redact_patterns)[0].split())[:200] or "no reason given"
        score, line = nearest(finding.text, lines(self.draft.texts[finding.file]))
        if finding.remove:
            if line is not None and score >= 0.75 and number not in self._doubted:
                self._doubted.add(number)
                raise EditError(f"the line to remove may be {quoted(line)}; remove it, or skip it again")
            self._decided[number] = ("refused" if score >= 0.75 else "present", reason)
        elif line is not None and (states(line, finding.text) or self._like(number, score, line, reason)):
            self._decided[number] = ("present", f"already there as {quoted(line)}")
        elif _claims_present(reason):
            self._doubted.add(number)
            near = f"; the nearest line is {quoted(line)}" if line else ""
            raise EditError(f"finding {number} is not in {finding.file}{near}")
        else:
            self._decided[number] = ("refused", reason)
        return f"ok: finding {number} skipped"

    def _like(self, number: int, score: float, line: str, reason: str) -> bool:
        """Return whether to accept that `line` already says it; if it uses other words, only when claimed again."""
        if score < CLAIMED or not _claims_present(reason):
            return False
        fact = self._finding(number).text
        return not (contradicts if number in self._doubted else differs)(line, fact)

    def add(self, finding: Finding) -> None:
        """Add a finding that follows from the draft as it is now."""
        self.findings = (*self.findings, finding)

    def ask(self, number: int, question: str) -> None:
        """Hold a removal for review, unless a guard refuses it."""
        finding = self._finding(number)
        edit = Edit(finding.file, finding.line, "", (number,))
        verdict = self._verdict(edit, self.draft, self.draft.edited(edit))
        refused = verdict is not None and verdict.decision == "refused"
        self._stopped(edit, verdict if verdict and refused else Verdict("held", HANGS, question))

    def decide(self, number: int, state: State, reason: str) -> None:
        """Settle a finding without a check; for the deterministic fallback, which has checked already."""
        self._decided[number] = (state, reason)

    def unsettled(self) -> list[int]:
        """List the numbers of the findings that neither an edit in the draft nor a decision settles."""
        return [number for number, state in enumerate(self._states(), start=1) if state is None]

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcome of each finding, in order; an unsettled one is refused."""
        ended = []
        for finding, found in zip(self.findings, self._states(), strict=True):
            state, reason = found or ("refused", "no edit of it stands in the draft")
            ended.append(Outcome(finding, state, reason))
        return tuple(ended)

    def _states(self) -> list[tuple[State, str] | None]:
        """Return the outcome of each finding from the edits in the draft and the decisions, None if unsettled."""
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
        """Return whether the effect of `edit` is in the draft and concerns `finding`."""
        text = self.draft.texts[edit.file]
        if finding.remove:
            return edit.old_text != "" and bool(gone(self._protected.before[edit.file], text))
        return any(line in text for line in lines(edit.new_text)) and (
            coverage(finding.text, edit.new_text) >= 0.25 or coverage(edit.new_text, finding.text) >= 0.5
        )

    def _stopped(self, edit: Edit, verdict: Verdict) -> str:
        if verdict.guard == "unfounded":
            # No finding asks for the line, so it needs no review; its findings are still open.
            self._note(f"left out of {edit.file}: {verdict.reason}")
            raise EditError(f"{verdict.reason}; write what the finding says")
        if len(edit.findings) > 1 and verdict.decision == "refused":
            raise EditError(f"{verdict.reason}; settle each finding by an edit of its own")
        if verdict.decision == "held":
            under = section(self.draft.texts[edit.file], edit.old_text) if edit.old_text else ""
            self.held.append(HeldEdit(edit, verdict, under))
        for number in edit.findings:
            self._decided[number] = (verdict.decision, f"{verdict.guard}: {verdict.reason}")
        return f"{verdict.decision}: {verdict.reason}; leave it"

    def _check_findings(self, edit: Edit) -> None:
        if not edit.findings:
            raise EditError("name in `findings` the numbers of the findings that this edit settles")
        files: set[MemoryFile] = {self._finding(number).file for number in edit.findings}
        if edit.file not in files:
            raise EditError(f"these findings belong in {', '.join(sorted(files))}, not in {edit.file}")

    def _check_private(self, edit: Edit) -> None:
        """Refuse an edit that would show a private rule to groups: it stays below the heading for private rules."""
        if edit.file != "SOUL.md":
            return
        numbered = [self._finding(number) for number in edit.findings]
        wanted = {one.text for one in numbered if one.heading == PRIVATE and not one.remove}
        before, after = (draft.texts[edit.file] for draft in (self.draft, self.draft.edited(edit)))
        wanted |= {without_bullet(row).strip() for row in set(lines(before)) - set(lines(public(before)))}
        if shown := wanted & {without_bullet(row).strip() for row in lines(public(after))} - {f"## {PRIVATE}"}:
            raise EditError(f"{quoted(shown.pop())} is private; it belongs below the heading ## {PRIVATE}")

    def _check_gone(self, edit: Edit) -> None:
        """Refuse an edit that removes a line unrelated to its findings; for SOUL.md a guard is stricter."""
        if like(edit.file) == "SOUL.md":
            return
        found = [self._finding(number) for number in edit.findings]
        here = lines(self.draft.texts[edit.file])
        if any(one.remove and nearest(one.text, here)[0] < REMOVES for one in found):
            return  # it gives a reason instead of the line, and the line is for the model to find
        basis = " ".join([*(one.text for one in found), edit.new_text])
        for line in gone(self.draft.texts[edit.file], self.draft.edited(edit).texts[edit.file]):
            if not line.startswith("#") and content_words(line) and coverage(line, basis) < ABOUT:
                raise EditError(f"no finding named is about {quoted(line)}; give it back in new_text")

    def _finding(self, number: int) -> Finding:
        if not 1 <= number <= len(self.findings):
            raise EditError(f"there is no finding {number}; they are numbered 1 to {len(self.findings)}")
        return self.findings[number - 1]

    def _screened(self, edit: Edit) -> str:
        """Return the edit's new text without secrets and invisible characters, and add a note of what was removed."""
        given = plain_ends(edit.new_text).removesuffix("\r")  # the draft keeps the line endings of the file
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

    def _as_said(self, edit: Edit) -> str:
        """Return new rules as worded in the findings, even if the model wrote only a part of the user's words."""
        rows = edit.new_text.split("\n")
        for place, row in enumerate(rows):
            said = without_bullet(row).strip()
            new = said and not row.startswith("#") and row not in edit.old_text.split("\n")
            if new and said not in self._protected.rules:
                rules = [rule for rule in self._protected.rules if points_at(said, rule)]
                rows[place] = f"- {rules[0]}" if len(rules) == 1 else row
        return "\n".join(rows)

    def _with_sources(self, edit: Edit) -> str:
        """Name the source in each new line of MEMORY.md that no message of the user supports."""
        if like(edit.file) != "memory/MEMORY.md":
            return edit.new_text
        cursors = {cursor for number in edit.findings for cursor in self._finding(number).entries}
        here = lines(self.draft.texts[edit.file])
        fenced = False
        shown = []
        for line in edit.new_text.split("\n"):
            fenced ^= line.lstrip().startswith(("```", "~~~"))
            plain = fenced or line.lstrip().startswith(("#", "```", "~~~")) or line.rstrip() in here
            evidence = self._protected.evidence
            plain = plain or evidence.ran(line, cursors)  # the agent's own calls confirm it
            name = None if plain else _SOURCES.get(evidence.source(line, cursors).voice)
            shown.append(_marked(line, name) if name and content_words(line) and not names_source(line) else line)
        return "\n".join(shown)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _marked(line: str, source: str) -> str:
    """Return `line` with its source named at its end, before the day on which it was said."""
    plain = without_said_on(line)
    day = line[len(plain) :].strip()
    known = marks()[source]
    mark = known.get(guess(plain), known["en"])
    return f"{plain.rstrip(' .。')}{mark}{' ' + day if day else ''}"


def _claims_present(reason: str) -> bool:
    return any(word in reason.lower() for word in _CLAIMS_PRESENT)
