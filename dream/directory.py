"""The workspace: the directory with SOUL.md, USER.md and memory/, and everything in it by its name."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dream import trust
from dream.door import check_folder, contents, make_folder
from dream.errors import GitError, SettingsError, UsageError, WorkspaceError
from dream.memory import DREAM_CURSOR, MEMORY_FILES, TEMPLATES, like
from dream.settings import PROMPTS, REACHING, Settings, is_trusted, load, reaching
from dream.workspace import format as workspace_format
from dream.workspace import locate
from dream.workspace.files import (
    check_plain,
    explained,
    keep_out,
    number,
    place_files,
    read_bytes,
    readable,
    replace_file,
)

if TYPE_CHECKING:
    from dream.history.history import History
    from dream.models import MemoryFile, Proposal, Rejected, Report
    from dream.recall import Hit
    from dream.recall.context import Count
    from dream.recall.then import Then
    from dream.versions.store import GitStore
    from dream.workspace.places import Places, Scope

    Moment: TypeAlias = str | date | Then

RECALL_SHARE = 2  # one part in so many of a context is for what a query recalls


class Workspace:
    """One workspace at `root`; nothing is read before it is asked for.

    `report` is told of whatever in its files could not be used as it stands.
    """

    def __init__(self, root: Path | str, *, report: Report | None = None) -> None:
        self.root = root = Path(root)
        self.memory = root / "memory"
        self.private = root / ".dream"
        self._report = report
        self._machine_id = ""

    @classmethod
    def create(cls, directory: Path | str, *, now: datetime | None = None, report: Report | None = None) -> Workspace:
        """Make a workspace in `directory`, or adopt nanobot's, with its first commit at `now`; what is there stays.

        An older HISTORY.md is taken into history as already dreamt, OpenClaw's daily notes (memory/YYYY-MM-DD.md) as
        what is still to be dreamt, and its MEMORY.md begins ours. Doing it again changes nothing.
        From then on it is trusted, unless settings that reach beyond it lay there already: see `trust`.
        Raises GitError where git is not installed, before anything is made; Untrusted where a `.dream/` lies there
        that came from elsewhere.
        """
        workspace = cls(locate.absolute(directory), report=report)
        workspace.complete(now or datetime.now(UTC))
        if not workspace.is_trusted and not reaching(workspace.root, environ={}):
            workspace.trust()
        return workspace

    def complete(self, now: datetime) -> None:
        """Make what is missing of the workspace, its first commit too; what is there stays."""
        from dream import adoption
        from dream.versions import git

        git.check_installed()
        self._check_directories()
        trust.check_private(self.root, trust.state_directory(os.environ))
        with explained("made", self.memory):
            make_folder(self.memory)
        for file in TEMPLATES:
            check_plain(self.root / file)
        self.make_private()
        workspace_format.begin(self.root)
        if not self.git.exists:
            self.history.accept_losses(now=now)
            adoption.take_over_memory(self)
            adoption.tell_what_is_left(self)
        adoption.take_in_notes(self, now)
        self.history.archive(self.dream_cursor(), self._budget(), now=now)
        from dream.versions import transaction  # a search, a hook and the help have no use for it

        transaction.begin(self, TEMPLATES, now)

    @classmethod
    def open(cls, directory: Path | str, *, report: Report | None = None, to_trust: bool = False) -> Workspace:
        """Open the workspace in `directory`; raises WorkspaceError where there is none, or memory/ is a link.

        Raises Untrusted where its `.dream/` came from elsewhere, unless it is opened `to_trust` it.
        """
        root = locate.absolute(directory)
        if not locate.is_workspace(root):
            raise WorkspaceError(f"{root} is no workspace; make one with `dream init {root}`.")
        workspace = cls(root, report=report)
        workspace._check_directories()
        if not to_trust:
            workspace.make_private()
        return workspace

    @classmethod
    def find(
        cls, start: Path, environ: Mapping[str, str], *, report: Report | None = None, to_trust: bool = False
    ) -> Workspace:
        """Open the workspace that DREAM_WORKSPACE names, else the nearest from `start` upwards, else the default.

        Raises WorkspaceError where there is none, and Untrusted as `open` does.
        """
        found = locate.find(start, environ)
        if found is None:
            raise WorkspaceError(
                f"There is no workspace at {locate.absolute(start)} or above it; make one with `dream init`."
            )
        return cls.open(found, report=report, to_trust=to_trust)

    @staticmethod
    def default(environ: Mapping[str, str] | None = None) -> Path:
        """Return where `dream init` without a directory makes one: DREAM_WORKSPACE, else ~/.dream/workspace."""
        return locate.default(environ or {})

    @cached_property
    def history(self) -> History:
        """The log of this workspace."""
        from dream.history.history import History

        try:
            settings = self.settings(using=())
        except SettingsError as fault:  # memory is given all the same; who goes by a setting says so
            self._tell("dream.toml", f"the defaults count: {fault}")
            settings = Settings()
        return History(
            self.memory,
            private=self.private,
            durable=settings.durable,
            report=self._report,
            zone=settings.zone() if settings.timezone else None,
            committed=self._committed_cursor,
            machine=self._machine,
            group_of=self._group_of,
        )

    def _group_of(self, session: str) -> str:
        """Return the id of the group chat with this session key, its key while it has none; "" for no group's."""
        from dream.transcripts.formats.nanobot import group_of

        chat = group_of(session)
        return self.places().of_session(chat or session) or chat

    def _machine(self) -> str:
        """Return the id of this machine; where it can't be noted, none, and that is reported."""
        from dream.workspace import machine  # of no use to who only reads

        if not self._machine_id:
            try:
                self._machine_id = machine.this(trust.state_directory(os.environ)).id
            except WorkspaceError as error:
                self._tell(machine.NAME, str(error))
        return self._machine_id

    def _budget(self) -> int:
        """Return how many tokens history may hold before what was dreamt of it moves to the archive."""
        with suppress(SettingsError):
            return self.settings(using=()).history_tokens
        return Settings().history_tokens

    @cached_property
    def git(self) -> GitStore:
        """The versions of this workspace."""
        from dream.versions.store import GitStore

        return GitStore(self.root, self.private)

    @property
    def prompts(self) -> Path | None:
        """The folder whose files replace the shipped prompts; None where the workspace is not trusted."""
        folder = self.root / PROMPTS
        return folder if folder.is_dir() and self.is_trusted else None

    @property
    def is_trusted(self) -> bool:
        """Return whether this user has made, adopted or accepted the workspace on this machine."""
        return is_trusted(self.root)

    def trust(self) -> None:
        """Accept what the workspace's own files and its `.dream/` say; noted in the user's state directory.

        Raises WorkspaceError where that cannot be written.
        """
        keep_out(self.private)
        replace_file(self.root / trust.MARK, trust.note(self.root, trust.state_directory(os.environ)))

    @property
    def agent(self) -> str:
        """The agent who edits the memory files by tools of its own; empty where it is a person, or nobody can tell."""
        with suppress(SettingsError):
            return self.settings(using=()).author or ""
        return ""

    def settings(self, *, flags: Mapping[str, object] | None = None, using: Collection[str] = REACHING) -> Settings:
        """Read the settings: flags, then environment, then dream.toml, then defaults. Raises SettingsError.

        Raises Untrusted where, of what the caller goes by, a workspace that is not trusted names something itself;
        what is not in `using` is left out then.
        """
        return load(self.root, flags=flags, using=using)

    def files(self) -> tuple[MemoryFile, ...]:
        """Return the memory files: the three, and then those of each place that are there, by name."""
        return (*MEMORY_FILES, *place_files(self.root))

    def places(self) -> Places:
        """Read the projects and group chats that have memory of their own; raises WorkspaceError."""
        from dream.workspace.places import Places

        return Places(self.root, self.private, Path.home())

    def read_file(self, name: MemoryFile) -> str:
        """Return the text of a memory file as it stands; "" where it is missing.

        What is not UTF-8 in it is reported, and reads as U+FFFD: who writes the file decodes it strictly.
        Raises WorkspaceError when it is a link or a directory.
        """
        text, wrong = self._readable(name)
        if wrong:
            self._tell(name, f"{wrong} and reads as \ufffd; save the file as UTF-8, or run `dream doctor --repair`")
        return text

    def _readable(self, name: MemoryFile) -> tuple[str, str]:
        check_plain(self.root / name)
        return readable(read_bytes(self.root / name) or b"")

    def dream_cursor(self) -> int:
        """Return the last entry dreamt; 0 before the first dream.

        A file that is missing, damaged, or names an entry that there never was is reported, and what the last commit
        says counts: else the entries up to there would be passed over in silence.
        """
        data = read_bytes(self.root / DREAM_CURSOR)
        cursor = number(data or b"")
        if cursor is not None and (cursor == 0 or self._is_entry(cursor)):
            return cursor
        committed = self._committed_cursor()
        if data is not None and not data.strip() and not committed:
            return 0  # as nanobot makes the file
        if cursor != committed and (data is not None or committed):
            what = "is missing" if data is None else f"holds {data[:40]!r} instead of the cursor of an entry"
            self._tell(DREAM_CURSOR, f"{what}; taken from the last commit: {committed}")
        return committed

    def pending(self) -> list[Proposal]:
        """Return the edits that wait for a person."""
        from dream.workspace import review_files

        return review_files.parse_pending(read_bytes(self.root / review_files.PENDING) or b"", self._report)

    def rejected(self) -> list[Rejected]:
        """Return the facts that a person took back."""
        from dream.workspace import review_files

        data = read_bytes(self.root / review_files.REJECTED) or b""
        return review_files.in_force(review_files.parse_rejected(data, self._report))

    def search(  # noqa: PLR0913 - each is a filter, by name
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Collection[str] | None = None,
        since: date | None = None,
        until: date | None = None,
        as_of: Moment | None = None,
        session: str | None = None,
        source: str | None = None,
        speaker: str | None = None,
        half_life_days: float = 0.0,
        mmr: float = 1.0,
        place: str | Scope = "",
        everywhere: bool = False,
    ) -> list[Hit]:
        """Find what memory, history and messages say of `query`, best first; what is new is taken in before.

        In a `place`, by its name, that is what was said there or nowhere in particular; with `everywhere` anywhere.

        `kinds` are of memory, history and message (None: all); `since` and `until` are days, both included; `source`
        is the agent that a session's key begins with. After `half_life_days` an entry or a message counts half (0: age
        does not count); with `mmr` below 1, hits unlike those before them come sooner. Nothing found is an empty list.
        With `as_of`, a day, a commit, a message's citation or "before the last dream", it answers from memory as it
        stood then and from what was said until then. An empty query lists what people said, the newest first.
        """
        from dream.recall import KINDS
        from dream.recall.search import Wanted, search

        chosen = tuple(kind for kind in KINDS if kinds is None or kind in kinds)
        about = (session, source, speaker)
        then = self.then(as_of) if as_of else None
        wanted = Wanted(query, chosen, since, until, *about, as_of=then, half_life_days=half_life_days, mmr=mmr)
        wanted = replace(wanted, scope=self.scope(place, everywhere=everywhere))
        return search(self, wanted, limit)

    def then(self, moment: Moment) -> Then:
        """Return memory as it stood at a moment; raises UsageError where it is none, or has not come yet."""
        from dream.recall.then import Then, then

        return moment if isinstance(moment, Then) else then(self, str(moment), datetime.now(UTC))

    def untold(self, moment: Moment) -> str:
        """Say what can't be told of a moment: what lies before memory began, and was taken back since; or ""."""
        from dream.recall.then import untold

        return untold(self, self.then(moment))

    def get(self, cite: str, *, around: int = 0, place: str | Scope = "", everywhere: bool = True) -> list[Hit]:
        """Open a citation, with `around` neighbours on each side; raises UsageError where it is none, or is gone.

        Without `everywhere` it opens what may be given in that `place` alone.
        """
        from dream.recall import get

        return get(self, cite, around=around, scope=self.scope(place, everywhere=everywhere))

    def scope(self, place: str | Scope = "", *, everywhere: bool = False) -> Scope:
        """Return what may be given in the place of this name; "" is nowhere in particular.

        Raises UsageError where no place has it.
        """
        from dream.workspace.places import Scope

        if isinstance(place, Scope):
            return replace(place, every=True) if everywhere else place
        if not place or everywhere:
            return Scope(every=everywhere)
        known = self.places()
        found = known.by_name(place)
        if found is None:
            names = ", ".join(one.name for one in known.all()) or "none"
            raise UsageError(f"No place is named {place}; there is {names}: `dream places`.")
        return known.scope_of(found)

    def context(
        self,
        tokens: int,
        *,
        session: str | None = None,
        beside: str = "",
        count: Count | None = None,
        query: str | None = None,
        as_of: Moment | None = None,
        place: str | Scope = "",
    ) -> str:
        """Return memory for an agent's system prompt, at most `tokens` long by `count` (None: the estimate).

        The three files first, a line of a fact with what the user said later of the same where the small default
        dreams, and the files of the `place` that it is given in; for a group chat only the rules that
        are not private, and its own files. Then what was not dreamt yet: the newest of it, in order; at the end what
        waits for review. With `session`, only what
        was said in that session or noted directly is shown of the latter. What stands in `beside`, a text that the
        same prompt holds, as `Session.summary` gives it, is not shown twice; rules of SOUL.md always are.
        With a `query`, half of the room is for what earlier conversations say of it and memory doesn't, cited; what
        stands before that is the same for every query. With `as_of` all of it is as it was then; see `search`.
        """
        from dream.recall import context
        from dream.recall.later import with_later
        from dream.text.tokens import estimate

        then = self.then(as_of) if as_of else None
        scope = self.scope(place)
        if query is not None:
            from dream.recall.prompt import in_context

            room = tokens // RECALL_SHARE
            memory = self.context(tokens - room, session=session, beside=beside, count=count, as_of=then, place=scope)
            about = in_context(self, query, f"{memory}\n{beside}", room, count or estimate, then, scope)
            return context.with_recalled(memory, about)
        if then is not None:
            from dream.recall.then import block

            return block(self, then, tokens, count or estimate, scope)
        texts: dict[MemoryFile, str] = {}
        unread: list[str] = []
        for file in filter(scope.shows, self.files()):
            try:
                texts[file] = scope.text(file, self.read_file(file))
                unread += [f"{file}, {wrong}" for wrong in [self._readable(file)[1]] if wrong]
            except WorkspaceError as error:  # the agent wakes with the rest
                self._tell(file, str(error))
                unread.append(str(error))
        texts = {file: text for file, text in texts.items() if not _only_began(file, text)}
        if beside:
            texts |= {file: context.unsaid(text, beside) for file, text in texts.items() if like(file) != "SOUL.md"}
        texts = with_later(self, texts, scope, int(tokens * context.LATER_SHARE), count or estimate)
        undreamt = context.undreamt(self.history.backwards(), self.dream_cursor(), session, beside)
        told = (entry for entry in undreamt if scope.holds(entry.place))
        held = context.waiting(one for one in self.pending() if one.file and scope.shows(one.file))
        return context.block(texts, told, tokens, count or estimate, [] if scope.is_group else held, unread)

    def make_private(self) -> None:
        """Make the .dream directory, which no git repository takes notice of, and note that it was made here.

        Raises Untrusted where one is there that came from elsewhere.
        """
        state = trust.state_directory(os.environ)
        trust.check_private(self.root, state)
        keep_out(self.private)
        if not trust.is_own(self.root, state):
            replace_file(self.root / trust.MARK, trust.note(self.root, state, "made"))

    def _check_directories(self) -> None:
        """Refuse a link where a directory belongs, or anywhere in .dream: what is written would go elsewhere."""
        for directory in (
            self.memory,
            self.memory / "archive",
            self.root / "places",
            self.root / PROMPTS,
            self.private,
        ):
            if directory.is_symlink():
                raise WorkspaceError(
                    f"{directory} is a symbolic link; put the directory itself there, or link the whole workspace."
                )
            with explained("used", directory), suppress(FileNotFoundError, NotADirectoryError):
                check_folder(directory)
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.private) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise WorkspaceError(f"{entry.path} is a symbolic link; take it away, dream makes its own.")

    def _is_entry(self, cursor: int) -> bool:
        """Return whether history has this entry, or has none at all: what is appended then comes behind it."""
        return self.history.holds(cursor) or next(self.history.backwards(), None) is None

    def _committed_cursor(self) -> int:
        try:
            data = self.git.read("HEAD", DREAM_CURSOR) if self.git.exists else None
        except GitError as fault:
            self._tell(DREAM_CURSOR, f"could not be read from the last commit: {fault}")
            return 0
        return number(data or b"") or 0

    def _tell(self, file: str, text: str) -> None:
        if self._report is not None:
            from dream.models import Diagnostic

            self._report(Diagnostic(file, 0, text))


def _only_began(file: MemoryFile, text: str) -> bool:
    """Return whether a file says no more than it did when the workspace was made."""
    began = TEMPLATES[like(file)].decode("utf-8").splitlines()
    return all(line in began for line in text.splitlines() if line.strip())


# Memory files that are not there, or hold nothing: a dream goes on without them, and a person should know.


def absent(root: Path) -> list[str]:
    """Report each memory file at `root` that is missing or empty, and what to do; read only."""
    told = []
    for name in TEMPLATES:
        try:
            if not contents(root / name).strip():
                told.append(f"{name} is empty; where that was not meant, `dream log` shows what to restore.")
        except FileNotFoundError:
            told.append(f"{name} is missing; where that was not meant, `dream log` shows what to restore.")
        except OSError:
            continue  # whoever needs the file says why it cannot be read
    return told
