"""One pass of a sync: what this one did goes to its branch, what the others did comes from theirs.

In this order, so that a run that is killed anywhere is made good by the next one:

1. What the others wrote is fetched. Nothing of it is used yet.
2. What the disk holds and the last fold did not becomes operations on this machine's own branch, with its new history
   and messages. That is one commit there, and names the version of the workspace it was read from.
3. All operations are folded into files; where they differ from the disk that is one commit of the workspace, which
   names the operations it holds (the trailer Dream-Sync).
4. The others' history is written beside ours, and this machine's branch is pushed.

Numbers of operations tell what a state was made of, so nothing that is noted elsewhere has to agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import orjson

from dream.actions import forget, shared_places, signed
from dream.actions.membership import Other, SyncMember, drawn, free, key_hint, note
from dream.actions.outgoing import FoldState, Outgoing, counted
from dream.directory import Workspace
from dream.errors import GitError, UsageError, WorkspaceError
from dream.memory import TEMPLATES, place_of
from dream.recall import MACHINES
from dream.recall.others import machines
from dream.settings import Settings
from dream.text.safe import clean
from dream.versions import is_memory, lines, log, read_memory, shared, transaction
from dream.versions.age import NotForUsError
from dream.versions.branches import FETCHED, KNOWN, Branches, Remote
from dream.versions.branches import OWN as OWN_BRANCH
from dream.versions.diff import compare
from dream.versions.fold import Author, By, Folded, Lost, Op, derive, fold, key
from dream.versions.rewrite import MARK
from dream.versions.shared import Branch
from dream.versions.signs import Signs
from dream.workspace import files, places
from dream.workspace.review_files import REJECTED

STATE = "synced.json"  # in .dream/: what the files were folded from
AHEAD = timedelta(days=1)  # a line that was said later than in so long waits: a clock has jumped


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did. `sent` and `received` count operations, `entries` those of history that came.

    `unclean` are machines whose branch on the remote still holds what was forgotten.
    """

    outcome: str
    remote: str
    machine: str
    commit: str | None = None
    sent: int = 0
    received: int = 0
    entries: int = 0
    machines: tuple[Other, ...] = ()
    lost: tuple[Lost, ...] = ()
    forgotten: int = 0
    unclean: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Exchange:
    """One pass of a sync; `run` returns None where somebody wrote to the workspace meanwhile."""

    workspace: Workspace
    settings: Settings
    member: SyncMember
    branches: Branches
    remote: Remote
    now: datetime
    takes: bool
    unsends: bool
    problems: list[str] = field(default_factory=list)
    _authors: lines.Authors = field(default_factory=lines.Authors)
    _found: dict[tuple[str, str], Branch] = field(default_factory=dict)
    _signs: Signs = field(default_factory=lambda: Signs(b""))
    _is_dirty: bool = False  # our copy of the branches holds what was forgotten

    def run(self) -> Synced | None:
        # 1. What was forgotten elsewhere is forgotten here, before anything else.
        listed, refs = self._fetched()
        refs = self._obeyed(listed, refs)
        # 2. What the others wrote, and what is known of it.
        listed, state = self._own(listed, refs)
        known = {one: self._read(one, refs[KNOWN + one]) for one in self._others(refs, KNOWN)}
        own = self._read(self.member.machine, sha) if (sha := refs.get(OWN_BRANCH + self.member.machine)) else None
        # 3. What this machine did since becomes operations on its own branch.
        texts = self._texts()
        before, base = self._base(own or state, known)
        is_untouched = not before.turn and own is None and len({*listed} - {self.member.machine}) and _is_as_made(texts)
        made = [] if is_untouched else self._derived(base, texts)
        own, sent = self._written(own, made, before)
        # 4. All that is known now is one memory.
        taken = self._taken_in(listed, known) if self.takes else known
        self._places_taken_in(taken)
        after, folded, waiting = self._folded({**taken, self.member.machine: own}, before)
        lost = sorted(folded.lost - base.lost, key=lambda one: (one.file, one.kept, one.lost))
        commit = None if self._is_settling(folded) else self._committed(texts, folded, after, (known, taken), lost)
        if commit is None:
            return None
        files.write_note(self.workspace.private / STATE, asdict(after))
        # 5. The history of the others, and our branch to the remote.
        entries = sum(self._mirrored(one, known.get(one.machine)) for one in taken.values())
        if not self._sent(own, listed.get(own.machine)):
            return None
        unclean = tuple(one.name for one in taken.values() if not self._cleaned_there(one, listed))
        self._tidied(bool(sent))
        # 6. What it did, for who asks.
        self._told_of_messages(own, taken)
        received = sum(len(one.ops) for one in taken.values()) - sum(len(one.ops) for one in known.values())
        return Synced(
            outcome="synced" if commit or sent or received > 0 or entries else "nothing",
            remote=self.remote.url,
            machine=self.member.name,
            commit=commit or None,
            sent=len(made),
            received=max(0, received),
            entries=entries,
            machines=tuple(self._other(one, waiting[name], name in listed) for name, one in sorted(taken.items())),
            forgotten=len(self._signs.all),
            unclean=unclean,
            lost=tuple(lost),
            problems=tuple(self.problems),
        )

    def _derived(self, base: Folded, texts: Mapping[str, str]) -> list[Op]:
        """Return the operations that make the files on the disk of those in `base`."""
        named = shared_places.Shared(self.workspace)
        author: Author = lambda file, text, came: self._author(named.path(file), text, came)  # noqa: E731
        return derive(base, named.shared(texts), self.member.machine, author)

    def _written(self, own: Branch | None, made: Sequence[Op], before: FoldState) -> tuple[Branch, int]:
        """Write what is new to our branch; return it, and how many rows it has more."""
        seen = {**before.seen, self.member.machine: max(_highest(made), _highest(own.ops if own else ()))}
        sends = Outgoing(self.workspace, self.settings, self.branches, self.now, self.unsends)
        sha, sent = sends.written(self.member, own, made, replace(before, seen=seen), self._signs)
        return self._read(self.member.machine, sha), sent

    def _is_settling(self, folded: Folded) -> bool:
        """Name and merge our places as the machines have them; return whether any was, so that all begins anew."""
        try:
            return shared_places.settle(self.workspace, folded, self.now)
        except UsageError as error:
            self.problems.append(f"a place keeps its name here: {error}")
            return False

    def _sent(self, own: Branch, there: str | None) -> bool:
        """Push our branch where the remote lacks it; return False where somebody else has written it meanwhile."""
        if own.sha != there:
            files.checkpoint("before push")
            try:
                self._pushed(own.machine, own.sha, there)
            except GitError:
                if self.branches.listed(self.remote).get(own.machine) == there:
                    raise
                return False  # it was written anew without what was forgotten, or another copy of us wrote it
            files.checkpoint("after push")
        self.branches.move({KNOWN + own.machine: own.sha, FETCHED + own.machine: own.sha})
        return True

    def _tidied(self, is_longer: bool) -> None:
        if self._is_dirty or self._cleaning().is_dirty:
            self._cleaning().drop_old()
        elif is_longer:
            self.branches.tidy()

    def _told_of_messages(self, own: Branch, taken: Mapping[str, Branch]) -> None:
        """Say where messages are that were sent before `sync_messages = false`."""
        if not self.settings.sync_messages and shared.is_spoken(own):
            where = ", ".join([self.remote.url, *(one.name for one in taken.values())])
            self.problems.append(
                f"What was said word for word before sync_messages = false is still on {where}: `dream sync --unsend` "
                "takes it off there."
            )

    def _other(self, one: Branch, waiting: int, is_listed: bool) -> Other:
        written, behind = str(one.info.get("written", "")), len(self._signs.all - one.signs)
        obeyed = self._is_obeyed(one)
        return Other(one.machine, one.name, obeyed, written, waiting, behind, one.is_sealed, not is_listed)

    # What the remote holds.

    def _fetched(self) -> tuple[dict[str, str], dict[str, str]]:
        listed, refs = self.branches.listed(self.remote), self.branches.refs()
        us = self.member.machine
        ours = {refs.get(kind + us) for kind in (OWN_BRANCH, KNOWN, FETCHED)}
        new = [one for one, sha in listed.items() if refs.get(FETCHED + one) != sha]
        if (self.takes and new) or (us in listed and listed[us] not in ours):
            self.branches.fetch(self.remote)
            refs = self.branches.refs()
            listed = {one: refs[FETCHED + one] for one in listed if FETCHED + one in refs}
        for one, sha in [*listed.items()]:
            if self.takes or one == us:
                try:
                    self._read(one, sha)
                except NotForUsError as error:
                    del listed[one]
                    self.problems.append(f"{one}: {error}")
        known = {*self._others(refs, KNOWN)}
        if listed and not known & listed.keys() and self.member.machine not in listed:
            if not self.takes:
                self.branches.fetch(self.remote)
            first = self._read(*next(iter(listed.items())))
            if first.info.get("memory") != self.member.memory:
                raise GitError(f"{self.remote.url} holds another memory; name the right remote with `dream sync URL`.")
        return listed, refs

    def _obeyed(self, listed: Mapping[str, str], refs: dict[str, str]) -> dict[str, str]:
        """Forget here what was forgotten on a machine that is obeyed; return our refs as they are then.

        What another machine wrote counts without it from now on, whether that machine has followed or not.
        """
        us = self.member
        own = self._read(us.machine, sha) if (sha := refs.get(OWN_BRANCH + us.machine)) else None
        there = [(one, refs[KNOWN + one]) for one in self._others(refs, KNOWN)]
        there += [(one, sha) for one, sha in listed.items() if one != us.machine and self.takes]
        followed = own.signs if own else frozenset()
        signs = {*signed.noted(self.workspace), *followed}
        for branch in (self._read(*one) for one in there):
            if branch.machine in us.accepted and (branch.is_sealed or branch.machine not in us.sealing):
                signs |= branch.signs
        if not signs:
            return refs
        if not us.key:
            hint = key_hint(us, (self._read(*one) for one in there))
            self.problems.append(
                f"{counted(len(signs), 'text was', 'texts were')} forgotten elsewhere, and this machine has no key of "
                f"the memory to recognise what to forget here: {hint}."
            )
            return refs
        self._signs = Signs(bytes.fromhex(us.key), signs)
        if new := signs - followed:
            files.checkpoint("before what was forgotten elsewhere goes")
            self.problems += forget.obey(self.workspace, Signs(bytes.fromhex(us.key), new), now=self.now)
        self._cleaning().clean_copies(self.now)
        self._found.clear()
        return self.branches.refs()

    def _cleaning(self) -> signed.Cleaning:
        return signed.Cleaning(self.workspace, self.branches, self.member, self._signs)

    def _cleaned_there(self, branch: Branch, listed: Mapping[str, str]) -> bool:
        """Write another machine's branch anew on the remote where it holds what was forgotten; return whether it is."""
        there = listed.get(branch.machine)
        if there is None or there == branch.sha or self._cleaning().known(branch.machine, there) != branch.sha:
            return True
        if not branch.is_sealed:
            self.problems.append(
                f"{self.remote.url} still holds what was forgotten, in what {branch.name} wrote: it has no key of the "
                f"memory yet; run `dream sync --trust {self.member.name}` there."
            )
            return False
        try:
            self._pushed(branch.machine, branch.sha, there)
        except GitError as error:
            where = f"{self.remote.url} still holds what was forgotten, in what {branch.name} wrote"
            self.problems.append(f"{where}: {error}")
            return False
        self.branches.move({FETCHED + branch.machine: branch.sha})
        return True

    def _pushed(self, machine: str, sha: str, expected: str | None) -> None:
        """Bring a branch to the remote; one that was written anew needs to be let through there."""
        is_anew = expected is not None and not self.branches.is_ancestor(expected, sha)
        self._is_dirty = self._is_dirty or is_anew
        try:
            self.branches.push(self.remote, machine, sha, expected)
        except GitError as error:
            if not is_anew:
                raise
            self._cleaning().drop_old()
            raise GitError(
                f"it was not let through that a branch is written anew ({error}) Allow forced pushes to dream/* there, "
                "or delete the branch; the next sync sends it again."
            ) from error

    def _own(self, listed: dict[str, str], refs: dict[str, str]) -> tuple[dict[str, str], Branch | None]:
        """Check that nobody else has written our branch; where somebody has, go on under a new one.

        Return what is listed, and the branch that the state is taken from where the new one has none.
        """
        one = self.member.machine
        there, own, pushed = listed.get(one), refs.get(OWN_BRANCH + one), refs.get(KNOWN + one)
        if there is None and pushed:
            self.problems.append(f"{self.remote.url} no longer held what this machine had written; it is sent again.")
        before = [sha for sha in (own, pushed) if sha]
        if there is None or there in before or any(self.branches.is_ancestor(there, sha) for sha in before):
            return listed, None
        if own and self._is_ours(self._read(one, own), self._read(one, there)):
            return listed, None
        if not before and self._is_all_here(self._read(one, there)):  # our copy of the branches was lost
            self.branches.move({OWN_BRANCH + one: there})
            refs[OWN_BRANCH + one] = there
            return listed, None
        state = self._read(one, pushed) if pushed else None
        name = free(self.member.name, {self.member.name, *(self._read(*row).name for row in listed.items())})
        sealing = {*self.member.sealing, *([one] if self.member.key else [])}  # a copy of us has our key
        self.member = replace(
            self.member,
            machine=drawn(),
            name=name,
            accepted=tuple(sorted({*self.member.accepted, one})),
            sealing=tuple(sorted(sealing)),
        )
        note(self.workspace, self.member)
        if pushed:
            refs[KNOWN + one] = pushed
        self.problems.append(
            "Another copy of this machine's folder has written there too (a restored backup, or a second copy): "
            f"from now on this one is {name}."
        )
        return listed, state

    def _is_ours(self, own: Branch, there: Branch) -> bool:
        """Return whether a branch holds nothing that ours lacks, but for what was forgotten."""
        ours = {op.id: op for op in own.ops}
        theirs = [signed.clean(op, self._signs) for op in there.ops]
        same = all(ours.get(op.id) == op or op.is_forgotten or MARK in (op.text or "") for op in theirs)
        return same and shared.holds(self.branches, own, there)

    def _is_all_here(self, there: Branch) -> bool:
        """Return whether a branch holds no operation and no entry that this workspace has not written."""
        state = FoldState.read(files.read_note(self.workspace.private / STATE))
        rows, _ = Outgoing(self.workspace, self.settings, self.branches, self.now).entries({})
        written = shared.names(b"".join(rows))
        named = shared.names(shared.content(self.branches, there, shared.HISTORY))
        return _highest(there.ops) <= state.seen.get(there.machine, 0) and named <= written

    def _others(self, refs: Mapping[str, str], kind: str) -> list[str]:
        names = (ref.removeprefix(kind) for ref in refs if ref.startswith(kind))
        return sorted(one for one in names if one != self.member.machine)

    def _read(self, one: str, sha: str) -> Branch:
        if (one, sha) not in self._found:
            self._found[one, sha] = shared.read(self.branches, one, sha, bytes.fromhex(self.member.key))
        return self._found[one, sha]

    def _taken_in(self, listed: Mapping[str, str], known: Mapping[str, Branch]) -> dict[str, Branch]:
        """Return every other machine's branch as it counts from now on, and note it."""
        taken = dict(known)
        cleaning = self._cleaning()
        for one, sha in listed.items():
            before = known.get(one)
            if one == self.member.machine or (before and before.sha in (sha, cleaning.known(one, sha))):
                continue
            branch = self._read(one, sha)
            if why := self._refused(branch, before):
                self.problems.append(f"{branch.name}: {why}")
            else:
                taken[one] = cleaning.clean(branch, self.now)
            if shared.recipients(branch) and not self.settings.sync_encrypt:
                self.problems.append(
                    f"{branch.name} encrypts what it sends, and this machine does not: set sync_encrypt in dream.toml."
                )
        sealing = {one for one, branch in taken.items() if branch.is_sealed}
        if sealing - {*self.member.sealing}:
            self.member = replace(self.member, sealing=tuple(sorted({*self.member.sealing, *sealing})))
            note(self.workspace, self.member)
        new = {one: branch.sha for one, branch in taken.items() if branch != known.get(one)}
        if not all(self.branches.is_ancestor(known[one].sha, sha) for one, sha in new.items() if one in known):
            cleaning.note_dirty()  # a branch was written anew, without what was forgotten
        self.branches.move({KNOWN + one: sha for one, sha in new.items()})
        files.checkpoint("after branches are taken in")
        return taken

    def _refused(self, branch: Branch, before: Branch | None) -> str:
        """Return why a branch is not taken in as it is on the remote now; what was taken in before stays."""
        if branch.info.get("memory") != self.member.memory:
            return "its branch is of another memory, and is left out."
        if shared.number(branch.info.get("format")) > shared.FORMAT:
            return "a newer dream writes there; update dream here."
        if before is not None and self.branches.is_ancestor(branch.sha, before.sha):
            return "the remote was rewound: what it wrote since is known here, and stays."
        if branch.machine in self.member.sealing and not branch.is_sealed:
            return "what was written in its name has no seal of this memory's key, and is left out."
        if before is None or self.branches.is_ancestor(before.sha, branch.sha):
            return ""
        if shared.holds(self.branches, branch, before):
            return ""  # it was written anew, without what was forgotten
        return "its branch was rewound or written anew, and lacks what is known of it here; that stays."

    def _places_taken_in(self, taken: Mapping[str, Branch]) -> None:
        """Note the places of who is obeyed that are new here, so that their files belong to them."""
        for branch in taken.values():
            if self._is_obeyed(branch) and (there := branch.listed.get("places.toml")):
                try:
                    places.take_in(self.workspace.root, self.workspace.private, self.branches.read([there])[0])
                except WorkspaceError as error:
                    self.problems.append(f"{branch.name}: its places are left out: {error}")

    # What this machine did.

    def _texts(self) -> dict[str, str]:
        root = self.workspace.root
        found = {path: files.decode(data, root / path) for path, data in read_memory(root).items()}
        rejected = files.read_bytes(root / REJECTED)
        return found | ({REJECTED: files.decode(rejected, root / REJECTED)} if rejected else {})

    def _base(self, own: Branch | None, known: Mapping[str, Branch]) -> tuple[FoldState, Folded]:
        """Return what the disk was folded from, and the files as that fold made them."""
        git = self.workspace.git
        head = git.head() or ""
        noted = [FoldState.read(own.info.get("state") if own else None)]
        noted.append(FoldState.read(files.read_note(self.workspace.private / STATE)))
        since = max(noted, key=lambda one: one.turn).head
        self._authors = lines.authors(git.git, since if since and git.is_ancestor(since, head) else None, self._said)
        noted.append(FoldState.read(self._authors.synced))
        state = max(noted, key=lambda one: one.turn)
        branches = {**known, **({own.machine: own} if own else {})}
        ops = [op for one in branches.values() for op in one.ops]
        seen = {**state.seen, **({own.machine: _highest(own.ops)} if own else {})}
        then = [op for op in ops if op.number <= seen.get(op.machine, 0)]
        base = fold(then, self._held(then, state.obeyed, state.at))
        # Only who is obeyed moves our numbers on: they have an end, which another machine could bring about.
        counting = {self.member.machine, *state.obeyed, *self.member.accepted}
        return replace(state, head=head), replace(base, highest=_highest([op for op in ops if op.machine in counting]))

    def _author(self, file: str, text: str, came: bool) -> tuple[int, By]:
        found = (self._authors.came if came else self._authors.went).get((file, text))
        return found or (int(self.now.timestamp()), "hand")

    def _said(self, cursors: list[int]) -> int:
        history = self.workspace.history
        found = history.between(*cursors) if len(cursors) == 2 else history.numbered(cursors)
        return max((int(entry.when.timestamp()) for entry in found), default=0)

    # One memory of it all.

    def _is_obeyed(self, branch: Branch) -> bool:
        """Return whether what a machine changed and took away counts here, and what it wrote of how to behave."""
        if branch.machine == self.member.machine:
            return True
        return branch.machine in self.member.accepted

    def _held(self, ops: Iterable[Op], obeyed: Sequence[str], at: int) -> Callable[[Op], bool]:
        """Return what of the operations waits. Of a machine that is not obeyed only what is new to the others counts.

        So it can neither hide a line behind one that reads alike, nor bring back one that was removed.
        """
        late = at + int(AHEAD.total_seconds())
        counting = {self.member.machine, *obeyed}
        said = {(op.file, key(op.text or "")) for op in ops if op.machine in counting and not _is_heading(op)}

        def held(op: Op) -> bool:
            if op.machine == self.member.machine:
                return False
            if op.at > late:
                return True
            is_fact = op.slot is None and not op.over and is_memory(op.file) and not op.file.endswith("SOUL.md")
            is_new = not (name := key(op.text or "")) or (op.file, name) not in said
            return op.machine not in obeyed and not (is_fact and is_new and clean(op.text or "") == op.text)

        return held

    def _folded(self, everybody: Mapping[str, Branch], before: FoldState) -> tuple[FoldState, Folded, dict[str, int]]:
        """Fold what is known; return what it was folded from, and how many lines of each machine wait."""
        obeyed = tuple(sorted(one for one, branch in everybody.items() if self._is_obeyed(branch)))
        at = int(self.now.timestamp())
        ops = [op for branch in everybody.values() for op in branch.ops]
        held = self._held(ops, obeyed, at)
        waiting = {
            one: sum(map(held, branch.ops)) + len(branch.signs - self._signs.all) for one, branch in everybody.items()
        }
        for branch in everybody.values():
            if ahead := sum(op.at > at + AHEAD.total_seconds() for op in branch.ops):
                whose = (
                    "this machine's clock" if branch.machine == self.member.machine else f"the clock of {branch.name}"
                )
                self.problems.append(
                    f"{counted(ahead, 'line')} of {branch.name} {'is' if ahead == 1 else 'are'} dated more than a day "
                    f"ahead: {whose} was wrong, or ours is; they wait on the others until that day."
                )
        seen = {one: _highest(branch.ops) for one, branch in everybody.items()}
        state = FoldState(before.turn + 1, seen, obeyed, at, before.head)
        is_new = (seen, obeyed) != (dict(before.seen), before.obeyed)
        return state if is_new else replace(before, at=at), fold(ops, held), waiting

    def _committed(
        self,
        texts: Mapping[str, str],
        folded: Folded,
        state: FoldState,
        branches: tuple[Mapping[str, Branch], Mapping[str, Branch]],
        lost: Sequence[Lost],
    ) -> str | None:
        """Bring the files to what was folded, in one commit; return its sha, "" for none, None to begin anew."""
        git = self.workspace.git
        wanted = dict.fromkeys(filter(place_of, texts), "") | shared_places.Shared(self.workspace).on_disk(folded)
        changes: dict[str, bytes | None] = {
            file: text.encode("utf-8") if text or shared_places.is_whole(file) else None
            for file, text in wanted.items()
            if text != _ended(texts.get(file, ""))
        }
        if not changes:
            return ""
        head, present = git.snapshot()
        if head is None or self._texts() != texts or {**present, **_on_disk(texts)} != present:
            return None
        known, taken = branches
        old = {file: present.get(file) for file in changes}
        counts = compare(old, changes).files
        new_to_us = [one.name for one in taken.values() if one != known.get(one.machine)]
        trailer = orjson.dumps({name: value for name, value in asdict(state).items() if name != "head"}).decode()
        note = f"from {', '.join(new_to_us)}" if new_to_us else ""
        gave_way = [f"{one.file}: {one.lost.strip() or 'its removal'}" for one in lost]
        message = log.build("sync", counts, note=note, trailers={lines.SYNC: trailer}, gave_way=gave_way)
        new = transaction.write(self.workspace, changes, message, head, self.now)
        if transaction.publish(self.workspace, head, new, old, changes, again=True) is None:
            return None
        return new

    # What the others said.

    def _mirrored(self, branch: Branch, before: Branch | None) -> int:
        """Write another machine's history and messages beside ours; return how many entries came.

        Only what is new is added, so that what was forgotten here does not come again with it.
        """
        folder = self.workspace.memory / MACHINES / branch.machine
        came = 0
        files.keep_out(self.workspace.memory / MACHINES)
        for place in (folder, folder / "messages"):
            files.sweep(place)
        told = files.read_note(folder / "machine.json")
        was_whole = before is not None and told.get("sha") == before.sha
        if branch.info.get("spoken") is False and told and told.get("spoken") is not False:
            self._unsaid(branch, folder)
        for name, prefix in (
            ("history.jsonl", shared.HISTORY),
            *((f"{one}jsonl", one) for one in shared.months(branch.listed)),
        ):
            named = shared.parts(branch.listed, prefix)
            path = folder / name
            is_same = before is not None and all(before.listed.get(part) == branch.listed[part] for part in named)
            if not named or (was_whole and is_same and path.exists()):
                continue
            there = files.read_bytes(path) or b""
            if rows := shared.lacking(there, shared.content(self.branches, branch, prefix)):
                files.replace_file(path, there + b"".join(rows))
                came += len(rows) * (prefix == shared.HISTORY)
        files.checkpoint("before a machine's history is noted as whole")
        told = {"name": branch.name, "sha": branch.sha, "spoken": branch.info.get("spoken", True)}
        files.write_note(folder / "machine.json", told, durable=False)
        return came

    def _unsaid(self, branch: Branch, folder: Path) -> None:
        """Drop what another machine has said word for word from beside ours: it has taken that back."""
        for path in sorted((folder / "messages").glob("*.jsonl")):
            with files.explained("removed", path):
                path.unlink()
        files.replace_file(folder / "history.jsonl", shared.content(self.branches, branch, shared.HISTORY))
        for other in machines(self.workspace):
            other.history.index.remove()


def _is_as_made(texts: Mapping[str, str]) -> bool:
    """Return whether the files are those that a new workspace begins with."""
    return {file: text.encode("utf-8") for file, text in texts.items()} == dict(TEMPLATES)


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _on_disk(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {file: text.encode("utf-8") for file, text in texts.items()}


def _is_heading(op: Op) -> bool:
    return (op.text or "").startswith("#")


def _highest(ops: Sequence[Op]) -> int:
    return max((op.number for op in ops), default=0)
