"""Forgetting for good: a text, or what one change wrote, leaves files, history, archive, records and every version.

Unlike a restore this can't be taken back. It goes to its end or can be run again: a crash in between leaves every
file whole, and a note in .dream/ by which it can be finished, or given up. The note holds the texts, for its owner to
read; it is the last of all that goes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dream.actions import membership, signed
from dream.actions.statements import (
    EARLIER,
    FoundStatement,
    cited,
    earlier,
    is_citation,
    meant,
    near,
    spelled,
    statements,
    wished,
)
from dream.directory import Workspace
from dream.errors import DreamError, UnknownRevision, UsageError
from dream.history.repair import Sealing
from dream.memory import KNOWN_PLACES, TEMPLATES
from dream.recall.others import machines
from dream.text.safe import span
from dream.text.sentences import sentences
from dream.transfer import native
from dream.transfer.take import imported_from
from dream.versions import UNDONE, branches, changed, is_memory, rewrite, transaction
from dream.versions.diff import by_file
from dream.versions.rewrite import SHORTEST, Names, Needle, is_long_enough, is_name, renamed
from dream.versions.signs import Signs
from dream.workspace import files, index
from dream.workspace import format as workspace_format
from dream.workspace.lock import run_lock
from dream.workspace.runs import note_forgetting

LARGEST = 10_000_000  # bytes of a file that isn't ours: above it, it isn't looked into
MOST_FILES = 10_000  # of the workspace that aren't ours are looked into

_OTHERS = {"run.lock", "history.lock", "runs.lock", UNDONE}  # nothing in them is to be scrubbed
_OTHERS |= {index.LOCK, *index.NAMES}  # and the index goes as a whole
_FOLLOWED = "signs "  # what a forgetting is of that another machine began, with the name of its signs
_RUNS = re.compile(r"runs(\.\d+)?\.jsonl")
_FINDING = re.compile(r"^    applied(?: \(.*?\))?: \[[^\]]+\] (.*) \{[\d,]+\}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, or in a dry run would be.

    `places` counts by file; `versions` are how many commits hold it, and of how many. `renamed` are the commits that
    have a new sha: (old, new), oldest first. `remains` are sentences on where it may still be. `taken` are the
    statements that go, each with what its line or message reads then, `near` those that look like them and stay.
    `whole` is false where something of what was meant can be found still. `guessed` says that the statements lack some
    of the words that were given.
    """

    places: tuple[tuple[str, int], ...]
    versions: tuple[int, int]
    renamed: tuple[tuple[str, str], ...]
    remains: tuple[str, ...]
    dry_run: bool = False
    taken: tuple[tuple[FoundStatement, str], ...] = ()
    near: tuple[FoundStatement, ...] = ()
    whole: bool = True
    guessed: bool = False

    @property
    def found(self) -> bool:
        """Return whether there is anything to forget."""
        return bool(self.places or self.versions[0])


@dataclass(frozen=True, slots=True)
class _Sought:
    """What to take out for `what`; `sources` are the entries that a named change was dreamt from."""

    what: str
    needle: Needle
    sources: tuple[int, int] | None = None
    taken: tuple[FoundStatement, ...] = ()
    near: tuple[FoundStatement, ...] = ()
    guessed: bool = False
    whole: str = ""  # of the texts the one with which every statement that holds it goes
    followed: bool = False  # another machine has forgotten it


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A forgetting that was begun and did not come to its end.

    `texts` are what it takes out; empty where the note is damaged.
    """

    number: int
    since: datetime
    texts: tuple[str, ...]
    line: bytes
    what: str = ""


def forget(  # noqa: PLR0913 - each says what is meant, by name
    workspace: Workspace,
    what: str,
    *,
    text: bool = False,
    words: bool = False,
    guess: bool = True,
    wish: Sequence[int] = (),
    chosen: Sequence[FoundStatement] = (),
    dry_run: bool = False,
    now: datetime,
    locked: bool = False,
) -> Forgotten:
    """Take `what` out of everything that is ours: the statements that are meant by it, whole.

    It is a text, a citation, or the sha of a change for the lines that it added; with `text` neither of the last two.
    With `words` only the words themselves go, where they stand as words of their own. A line or history entry that
    says nothing else goes; elsewhere a mark stays in its place. Cursors, spans, dates and trailers stay. Raises
    UsageError for a text too short to be looked for, UnknownRevision, GitError and Busy; what had been changed by then
    stays changed, and running it again goes on. Where nobody looks, pass `guess=False`: what lacks some of the words is
    then only shown, as in a dry run. `wish` are the entries in which the user asked for it: what else says it is
    sought, and the wish goes along. `chosen` are statements that a person picked of those that a dry run showed: then
    they go, wherever they are said, and nothing else.
    """

    def wanted() -> _Sought:
        if chosen:
            return _picked(workspace, what, chosen)
        return _wanted(workspace, what, text=text, words=words, wish=wish)

    done = _forget(workspace, wanted, guess=guess, dry_run=dry_run, now=now, locked=locked)
    return _everywhere(workspace, done, now=now, locked=locked)


def obey(workspace: Workspace, signs: Signs, *, now: datetime) -> tuple[str, ...]:
    """Forget what machines that are obeyed have forgotten, under the run lock; return what still holds it."""
    texts: dict[str, bool] = {}
    ours = (_read(path) for _, path in _ours(workspace))
    for data in (*ours, *rewrite.contents(workspace.git.git)):
        for text, whole in signs.found(data).items():
            texts[text] = texts.get(text, False) or whole
    begun = next((one for one in unfinished(workspace) if one.what.startswith(_FOLLOWED)), None)
    if not texts and begun is None:  # of one that was cut short the texts may be gone already, and old versions not
        return ()
    every = (one.text for one in (*statements(workspace), *earlier(workspace)))
    needle = Needle([*signed.holding(texts, every), *texts])
    name = begun.what if begun else f"{_FOLLOWED}{signs.name}"
    done = _forget(workspace, lambda: _Sought(name, needle, followed=True), dry_run=False, now=now, locked=True)
    return () if done.whole else done.remains


def finish(workspace: Workspace, number: int, *, dry_run: bool = False, now: datetime) -> Forgotten:
    """Bring the unfinished forgetting `number` to its end; raises UsageError where its text is not known any more."""
    one = _numbered(workspace, number)
    if not one.texts:
        raise UsageError(f"What number {number} was of is not noted; give its text again, or use --give-up {number}.")
    done = _forget(workspace, lambda: _Sought(one.what, Needle(one.texts)), dry_run=dry_run, now=now)
    return _everywhere(workspace, done, now=now)


def give_up(workspace: Workspace, number: int, *, now: datetime) -> None:
    """Drop the note of the unfinished forgetting `number`: what it had not reached yet stays as it is."""
    with run_lock(workspace.private, "dream forget", now=now):
        one = _numbered(workspace, number)
        _note(workspace, [other for other in unfinished(workspace) if other != one])


def unfinished(workspace: Workspace) -> list[Unfinished]:
    """Return the forgettings that were begun and did not come to their end, by number."""
    found: list[Unfinished] = []
    for line in _read(workspace.private / UNDONE).splitlines():
        number, since = 1 + max((one.number for one in found), default=0), datetime.fromtimestamp(0, UTC)
        texts: tuple[str, ...] = ()
        what = ""
        with suppress(ValueError, TypeError, KeyError):
            row = orjson.loads(line)
            since = datetime.fromisoformat(row["since"])
            number, texts = int(row["number"]), tuple(map(str, row["texts"]))
            what = str(row.get("what", ""))
        found.append(Unfinished(number, since, texts, line, what))
    return found


def _forget(
    workspace: Workspace,
    wanted: Callable[[], _Sought],
    *,
    guess: bool = True,
    dry_run: bool,
    now: datetime,
    locked: bool = False,
) -> Forgotten:
    if dry_run:
        return _preview(workspace, wanted())
    with nullcontext() if locked else run_lock(workspace.private, "dream forget", now=now):
        workspace_format.check(workspace.root)
        # 1. What a crash cut short is finished; what a person typed becomes a version, so that it is looked into.
        undone = workspace.private / UNDONE
        if undone.exists():  # git was perhaps killed with it
            workspace.git.clear_locks(undone.stat().st_mtime)
            for folder in (workspace.root, workspace.memory / "archive", workspace.history.messages.folder):
                files.sweep(folder)
        transaction.recover(workspace)
        transaction.commit_hand_edits(workspace, now)
        sought = _taken_up(workspace, wanted())
        needle = sought.needle
        if sought.guessed and not guess:
            return _preview(workspace, sought)
        workspace.history.index.remove()
        plan = _preview(workspace, sought)
        others = [one for one in unfinished(workspace) if not _is_of(one, sought)]
        if not plan.found and others == unfinished(workspace):
            return plan
        number = 1 + max((one.number for one in others), default=0)
        # With the text itself: only so can it be finished when nobody knows it any more.
        row = orjson.dumps({"number": number, "since": now.isoformat(), "what": sought.what, "texts": needle.given})
        _note(workspace, [*others, Unfinished(number, now, needle.given, row, sought.what)])
        if not sought.followed:
            signed.note(workspace, needle.texts, sought.whole)
        # 2. Files that git doesn't keep: history, its archive, the run record.
        _rewrite_files(workspace, needle, _rewrite_history(workspace, needle, now))
        # 3. Every version, and with it the files of the newest one.
        names = _rewrite_versions(workspace, needle)
        _rename_in_records(workspace, names)
        # 4. The old versions go; this is the step that can't be taken back.
        rewrite.drop_old(workspace.git.git)
        workspace.history.index.remove()
        for other in machines(workspace):  # words of what other machines heard
            other.history.index.remove()
        note_forgetting(workspace.private, now)
        _note(workspace, others)
        # 5. What clients read by themselves is written anew.
        left = (*native.refresh(workspace), *_left(workspace, needle))
        return replace(
            plan,
            renamed=tuple(names.new.items()),
            remains=(*left, *plan.remains),
            dry_run=False,
            whole=not left,
        )


def _everywhere(workspace: Workspace, done: Forgotten, *, now: datetime, locked: bool = False) -> Forgotten:
    """Carry what was forgotten to the remote at once, where the workspace is synced; the other machines follow."""
    from dream.actions import sync  # which forgets here what was forgotten elsewhere

    us = membership.member(workspace)
    if us is None or done.dry_run or not done.found:
        return done
    try:
        settings = workspace.settings(using=("sync",))
        if settings.sync != us.url:
            return done
        synced = sync.sync(workspace, us.url, settings=settings, now=now, locked=locked)
    except DreamError as error:
        left = f"{us.url} and the other machines hold it until the next `dream sync`: {error}"
        return replace(done, remains=(left, *done.remains), whole=False)
    unclean = tuple(f"{us.url} still holds it, in what {name} wrote" for name in synced.unclean)
    whole = done.whole and not unclean and us.key != ""
    return replace(done, remains=(*synced.problems, *unclean, *done.remains), whole=whole)


def _taken_up(workspace: Workspace, sought: _Sought) -> _Sought:
    """Return it with the texts of the same forgetting that was cut short: some of them are gone from where it looks."""
    begun = [text for one in unfinished(workspace) if _is_of(one, sought) for text in one.texts]
    if not begun:
        return sought
    return replace(sought, needle=Needle(dict.fromkeys((*begun, *sought.needle.given))), guessed=False)


def _is_of(one: Unfinished, sought: _Sought) -> bool:
    """Return whether the unfinished forgetting is of the same."""
    return one.texts == sought.needle.given or (bool(one.texts) and one.what != "" and one.what == sought.what)


def _numbered(workspace: Workspace, number: int) -> Unfinished:
    begun = {one.number: one for one in unfinished(workspace)}
    if number not in begun:
        there = ", ".join(map(str, begun)) or "none"
        raise UsageError(f"No unfinished forgetting has the number {number}; there is {there}.")
    return begun[number]


def _note(workspace: Workspace, begun: list[Unfinished]) -> None:
    """Write down which forgettings are under way, for the owner alone to read; no file where none is."""
    undone = workspace.private / UNDONE
    if begun:
        files.replace_file(undone, b"".join(one.line + b"\n" for one in begun))
        return
    with files.explained("removed", undone):
        undone.unlink(missing_ok=True)


def _wanted(workspace: Workspace, what: str, *, text: bool, words: bool, wish: Sequence[int] = ()) -> _Sought:
    """Return what to look for."""
    if not text and re.fullmatch(r"[0-9a-f]{4,40}", what.strip()) and (sha := _change(workspace, what)):
        shown = workspace.git.show(sha)
        lines = [row[1:] for _, rows in by_file(shown.diff) for row in rows if row.startswith("+")]
        known = {line for data in TEMPLATES.values() for line in data.decode().splitlines()}
        stated = [line for line in lines if line not in known and not line.lstrip().startswith("#")]
        needle = Needle(one for one in (*stated, *_FINDING.findall(shown.body)) if is_long_enough(one))
        if not needle.texts:
            raise UsageError(f"The change {sha[:10]} added no line that could be forgotten.")
        return _Sought(what, needle, shown.change.entries)
    if not text and not words and is_citation(what):
        taken = cited(workspace, what)
        alike = near(" ".join(one.text for one in taken), taken, statements(workspace))
        return _Sought(what, Needle(one.text for one in taken), taken=tuple(taken), near=tuple(alike))
    if not is_long_enough(what) and not is_name(what):
        raise UsageError(
            f"{what!r} is too short: it would be taken out of much else; give at least {SHORTEST} characters, "
            "or a name with its capital: dream forget Ann."
        )
    if words:
        return _Sought(what, Needle([what]))
    several = len(sentences(what)) > 1
    every = [*statements(workspace, whole=several), *earlier(workspace, whole=several)]
    own = wished(workspace, what, wish, every)
    taken, guessed = meant(what, (one for one in every if one not in own), told=bool(wish))
    itself = _itself(what, taken) if taken and not wish else [what]
    taken += own
    standing = [one for one in every if one.cite != EARLIER]
    texts = dict.fromkeys(one.text for one in taken)
    return _Sought(
        what,
        Needle([*sorted(texts, key=len, reverse=True), *itself]),
        taken=tuple(one for one in taken if one.cite != EARLIER),
        near=tuple(near(what, taken, standing)),
        guessed=guessed,
        whole=itself[0] if itself else "",
    )


def _picked(workspace: Workspace, what: str, chosen: Sequence[FoundStatement]) -> _Sought:
    needle = Needle(one.text for one in chosen)
    standing = list(statements(workspace))
    taken = [one for one in standing if needle.count(one.text.encode("utf-8", "surrogateescape"))]
    return _Sought(what, needle, taken=tuple(taken), near=tuple(near(what, taken, standing)))


def _itself(what: str, taken: Sequence[FoundStatement]) -> list[str]:
    """Return the text itself as it is spelled in what was found; none where only its words were."""
    exact = [what] if any(Needle([what]).count(one.text.encode("utf-8", "surrogateescape")) for one in taken) else []
    return list(dict.fromkeys([*exact, *(found[0] for one in taken if (found := spelled(what).search(one.text)))]))


def _change(workspace: Workspace, what: str) -> str | None:
    with suppress(UnknownRevision):
        return workspace.git.resolve(what)
    return None


def _preview(workspace: Workspace, sought: _Sought) -> Forgotten:
    needle = sought.needle
    places = [(name, found) for name, path in _ours(workspace) if (found := needle.count(_read(path)))]
    git = workspace.git.git
    head = workspace.git.head()
    versions = rewrite.versions(git, head, needle) if head else (0, 0)
    remains = tuple(_remains(workspace, needle, sought.sources))
    taken = tuple((one, one.without(needle)) for one in sought.taken)
    return Forgotten(
        tuple(places), versions, (), remains, dry_run=True, taken=taken, near=sought.near, guessed=sought.guessed
    )


def _ours(workspace: Workspace) -> Iterator[tuple[str, Path]]:
    """Yield every file of ours by its path in the workspace, but for git's own, the lock files and the note."""
    root, private = workspace.root, workspace.private
    inside = (path for folder in (workspace.memory, private) for path in sorted(folder.rglob("*")))
    hidden = (private / "git", private / "git.new", private / branches.FOLDER)
    for path in dict.fromkeys((*map(root.joinpath, workspace.files()), *root.glob("*.md.saved"), *inside)):
        ours = path.is_file() and not path.is_symlink() and path.name not in _OTHERS
        if ours and not any(path.is_relative_to(folder) for folder in hidden):
            yield str(path.relative_to(root)), path


def _read(path: Path) -> bytes:
    return files.read_bytes(path) or b""


def _rewrite_history(workspace: Workspace, needle: Needle, now: datetime) -> list[Path]:
    """Scrub what is written under history's lock: the messages, and the files of the log, which it returns."""
    with workspace.history.rewriting(now=now) as paths:
        sealing = Sealing()
        for path in paths:
            _rewrite(path, lambda data: sealing.sealed(data, needle.scrub(data)))
        for path in workspace.history.messages.paths():
            _rewrite(path, lambda data: Sealing().sealed(data, needle.scrub(data)))
        return paths


def _rewrite_files(workspace: Workspace, needle: Needle, logs: list[Path]) -> None:
    """Scrub what isn't memory; a person's files change with the versions. A cache is made anew by who needs it.

    What is written under history's lock is left alone: without the lock, an append meanwhile would be lost.
    """
    locked = {*logs, *workspace.history.messages.paths()}
    for name, path in _ours(workspace):
        if not is_memory(name) and path not in locked:
            _rewrite(path, needle.scrub)


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = _read(path)
    changed = change(data)
    if changed != data:
        files.replace_file(path, changed)


def _rewrite_versions(workspace: Workspace, needle: Needle) -> Names:
    head, before = workspace.git.snapshot()
    if head is None:
        return Names()
    new, names = rewrite.rewrite(workspace.git.git, head, needle)
    after = workspace.git.read_all(new)
    if new != head:
        files.checkpoint("before the new history is shown")
        visible = {path: data for path, data in changed(before, after).items() if is_memory(path)}
        transaction.replace_head(workspace, head, new, visible)
    workspace.git.refresh_index(after, new)  # git's index keeps in reach what it names
    return names


def _rename_in_records(workspace: Workspace, names: Names) -> None:
    """Let the run record name the commits as they are called now."""

    def told(data: bytes) -> bytes:
        return renamed(data.decode("utf-8", "surrogateescape"), names).encode("utf-8", "surrogateescape")

    for path in workspace.private.iterdir():
        if _RUNS.fullmatch(path.name):
            _rewrite(path, told)


def _left(workspace: Workspace, needle: Needle) -> Iterator[str]:
    """Look again at everything, and name what holds it still: what a person keeps in git, or saved meanwhile."""
    for name, path in _ours(workspace):
        if needle.count(_read(path)):
            yield f"{name} still holds it: somebody wrote it there meanwhile, or it names a session; run this again"
    for one in unfinished(workspace):
        if any(needle.count(text.encode("utf-8", "surrogatepass")) for text in one.texts):
            yield f"the unfinished forgetting number {one.number} is of it too: finish it, or give it up"
    objects = rewrite.holders(workspace.git.git, needle)
    if objects:
        yield f"{len(objects)} git objects still hold it, because something beside dream's own branch keeps them"


def _remains(workspace: Workspace, needle: Needle, sources: tuple[int, int] | None) -> Iterator[str]:
    git = workspace.git.git
    if names := rewrite.remotes(git):
        yield f"the remote {', '.join(names)} keeps what was pushed to it; dream pushes nothing"
    yield from _on_machines(workspace)
    if others := rewrite.foreign(git, rewrite.branch(git)):
        yield f"these refs are not dream's and stay as they are, with what they hold: {', '.join(others)}"
    if git.git_dir != workspace.root / ".git":
        yield "the git repository around the workspace is not dream's: what was committed there stays there"
    if not sources:
        yield "what says it in other words or in another language is not found by its words; `dream search` may find it"
    if sources:
        yield f"{span(sources)} may say it in other words: the line was dreamt from there"
    yield from _in_clients_files(workspace, needle)
    if needle.count(_read(workspace.root / KNOWN_PLACES)):
        yield f"{KNOWN_PLACES} holds it: a project or chat is known by it; `dream places rename` changes its name"
    for path in _others(workspace):
        if needle.count(_read(path)):
            yield f"{path} is not dream's and holds it; take it out there"
    yield "transcripts at their source keep it, as do backups, other clones, and the provider of the model that read it"


def _on_machines(workspace: Workspace) -> Iterator[str]:
    if (us := membership.member(workspace)) is not None and us.key:
        yield "the other machines forget it at their next sync; the host may keep it in forks, pull requests or backups"
    elif us is not None:
        yield (
            "what was synced stays on the remote and on the other machines: this machine has no key of the memory; "
            f"{membership.key_hint(us, membership.others(workspace))}, and forget it there too"
        )


def _in_clients_files(workspace: Workspace, needle: Needle) -> Iterator[str]:
    """Name what holds it of the files that clients read, and of those that lines were taken in from."""
    for path, versioned in native.files(workspace):
        if versioned and needle.count(_read(path)):
            yield f"{path} is under version control: what was committed or pushed of it stays there"
    for path in imported_from(workspace, Path.home()):
        if path.is_file() and not path.is_symlink() and needle.count(_read(path)):
            yield f"{path}, from which lines were taken in, holds it; take it out there"


def _others(workspace: Workspace) -> Iterator[Path]:
    """Yield files of the workspace that aren't ours: an agent's sessions, a project around it."""
    ours = {workspace.memory, workspace.private}
    known = {path for _, path in _ours(workspace)} | {workspace.root / KNOWN_PLACES}
    left = MOST_FILES
    for folder, folders, names in os.walk(workspace.root):
        folders[:] = sorted(name for name in folders if name != ".git" and Path(folder) / name not in ours)
        for name in sorted(names):
            path = Path(folder) / name
            left -= 1
            if left < 0:
                return
            if path not in known and path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                yield path
