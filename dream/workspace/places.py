"""The places of a workspace, in places/places.toml: projects and group chats, and what each of them is known by.

A project is known by its path and its git remote together. Another repository at a known path is another project, and
so is a known remote at another path: a hostile clone has it too. A person says once whether the two are the same. A
project without a remote is known by its path; the first remote that it gets is noted. A chat in which several people
may write is known by its key. A person may edit the file; an id never changes, for history holds it.
"""

from __future__ import annotations

import os
import re
import secrets
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from dream.errors import UsageError, WorkspaceError
from dream.memory import KNOWN_PLACES, PLACE_NAME, files_of, place_of, public
from dream.workspace.files import explained, read_bytes, read_text, replace_file
from dream.workspace.lock import FileLock
from dream.workspace.projects import here_since, made_at, project_of, remotes_of

if TYPE_CHECKING:
    from dream.models import Message

LOCK = "places.lock"
_ID = re.compile(r"p-[0-9a-f]{8}")
_SLUG = re.compile(PLACE_NAME)
LISTS = ("paths", "remotes", "chats", "also", "apart")
EVERYWHERE = "everywhere"  # where a line is moved that holds in every place: no place's name
NAME_CHARS = 40  # of a name, as PLACE_NAME has it


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """A project or a group chat: its id, its name, and the paths, git remotes and chats that it is known by.

    `also` are the ids of places that were merged into it: rows of history still hold them. `apart` are the ids of
    projects that a person said it is not the same as. `since` is noted where another project was at its path before:
    from then on it surely lies there.
    """

    id: str
    name: str
    paths: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    since: datetime | None = None

    @property
    def ids(self) -> frozenset[str]:
        """The ids that rows of history hold for it, and for a group chat its keys, which other programs' rows hold."""
        return frozenset((self.id, *self.also, *self.chats))

    def may_be(self, other: KnownPlace) -> bool:
        """Return whether a person is to say if another project is the same: they share a remote or a path."""
        shared = {*self.remotes, *self.paths} & {*other.remotes, *other.paths}
        told = self.ids & {*other.apart} or other.ids & {*self.apart}
        return bool(shared) and not told

    @property
    def is_group(self) -> bool:
        """Return whether it is a chat in which several people write."""
        return bool(self.chats)

    @property
    def files(self) -> tuple[str, ...]:
        """Its two memory files."""
        return files_of(self.name)

    @property
    def called(self) -> frozenset[str]:
        """What it is called where people talk of it: its name, the last part of each path and remote, its chat."""
        return frozenset((self.name, *map(_last, (*self.paths, *self.remotes)), *self.chats))


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be given in a place, or nowhere in particular: its own and everywhere's; for a group its own alone.

    With `every` it is all there is, for a person who asks for it. With `more` a group is given what holds everywhere
    too, but for the rules that are private.
    """

    place: KnownPlace | None = None
    every: bool = False
    more: bool = False

    @property
    def is_group(self) -> bool:
        """Return whether what is given is read by several people."""
        return not self.every and self.place is not None and self.place.is_group

    @property
    def ids(self) -> frozenset[str] | None:
        """Where something must have been said: ids, "" for nowhere in particular; None for anywhere."""
        if self.every:
            return None
        own = self.place.ids if self.place else frozenset[str]()
        return own if self.is_group and not self.more else own | {""}

    def holds(self, place: str) -> bool:
        """Return whether what was said in the place with this id may be given."""
        return self.ids is None or place in self.ids

    def shows(self, file: str) -> bool:
        """Return whether lines of a file may be given: a memory file, or one of the archive, by path or as it is cited.

        A group is given SOUL.md without the rules that are private.
        """
        if self.every:
            return True
        path = PurePosixPath(file)
        name = path.name.partition(".")[0] if path.parent.name == "archive" and path.name.count(".") > 1 else ""
        if name or (name := place_of(file)):
            return self.place is not None and name == self.place.name
        return not self.is_group or self.more or file == "SOUL.md"

    def text(self, file: str, text: str) -> str:
        """Return what may be given of a memory file's text."""
        if not self.shows(file):
            return ""
        return public(text) if self.is_group and file == "SOUL.md" else text


def question(name: str, other: str, shared: str) -> str:
    """Ask whether two places are the same project, with the commands that answer it."""
    return (
        f"{name} {reason(other, shared)}. If it is the same project: `dream places merge {name} {other}`; "
        f"if not: `dream places apart {name} {other}`"
    )


def orphaned(name: str) -> str:
    """Say that a folder holds memory of no place, and what to do."""
    return (
        f"places/{name} holds memory that is given nowhere: no place in places/places.toml has that name. "
        f"`dream places merge {name} PLACE` gives it to a place"
    )


def reason(other: str, shared: str) -> str:
    """Return why a project may be the same as another."""
    return f"has the git remote of {other}" if shared == "remote" else f"lies where {other} was, with another remote"


def wanted(root: Path, committed: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Return what a commit is to hold of places.toml: what lies there, beside what is `committed`."""
    data = read_bytes(root / KNOWN_PLACES)
    return {} if data is None or data == committed.get(KNOWN_PLACES) else {KNOWN_PLACES: data}


def write(root: Path, private: Path, data: bytes) -> None:
    """Write places.toml, with every place that another process has noted meanwhile."""
    with explained("written", root / KNOWN_PLACES), FileLock(private / LOCK):
        there = read_bytes(root / KNOWN_PLACES) or b""
        if (joint := joined(data, there)) != there:
            replace_file(root / KNOWN_PLACES, joint)


def take_in(root: Path, private: Path, data: bytes) -> None:
    """Note the places in `data`, another machine's places.toml, that are new here, under names that are free.

    Where nothing is noted yet, what is never read comes along. Raises WorkspaceError where either can't be read.
    """
    with explained("written", root / KNOWN_PLACES), FileLock(private / LOCK):
        there = read_bytes(root / KNOWN_PLACES) or b""
        never = () if there else _never(tomllib.loads(data.decode("utf-8", "replace")))
        if (joint := joined(with_never("", never).encode("utf-8") if never else there, data)) != there:
            replace_file(root / KNOWN_PLACES, joint)


def joined(first: bytes, second: bytes) -> bytes:
    """Return `first`, a content of places.toml, with the places that `second` alone knows: history may hold their ids.

    Raises WorkspaceError where either can't be read.
    """
    before, after = ([*_parsed(data.decode("utf-8", "replace"), KNOWN_PLACES)] for data in (first, second))
    known = {one for place in before for one in (place.id, *place.also)}
    taken = {place.name.casefold() for place in before}
    for place in after:
        if place.id not in known:
            named = replace(place, name=_free(place.name, taken))
            taken.add(named.name.casefold())
            first += _written(named).encode("utf-8")
    return first


def named_in(data: bytes) -> dict[str, str]:
    """Return the name of each place in a content of places.toml, by its ids; raises WorkspaceError."""
    known = _parsed(data.decode("utf-8", "replace"), KNOWN_PLACES)
    return {one: place.name for place in known for one in (place.id, *place.also)}


def never_in(data: bytes) -> tuple[str, ...]:
    """Return what is never read, as a content of places.toml has it."""
    return _never(tomllib.loads(data.decode("utf-8", "replace")))


def with_never(text: str, never: Sequence[str]) -> str:
    """Return a text of places.toml with what is never read; comments stay."""
    import tomlkit

    document = tomlkit.parse(text)
    document.pop("never", None)
    text = tomlkit.dumps(document).lstrip("\n")
    return f"{tomlkit.dumps({'never': list(never)})}\n{text}" if never else text


class Places:
    """The places of the workspace at `root`; `home` is the user's, in which one is nowhere in particular.

    `private` is where its locks lie. Raises WorkspaceError where the file can't be read as what it should be.
    """

    def __init__(self, root: Path, private: Path, home: Path) -> None:
        self._path = root / KNOWN_PLACES
        self._lock = FileLock(private / LOCK)
        self._home = Path(os.path.realpath(home))
        self._root = Path(os.path.realpath(root))
        self._known = list(_read(self._path))
        self._found: dict[tuple[str, str], str] = {}
        self._barred = frozenset(self.never())

    def all(self) -> tuple[KnownPlace, ...]:
        """Return every place that is known."""
        return tuple(self._known)

    def named(self, key: str) -> KnownPlace | None:
        """Return the place with this id, or with this key of a chat; None for "".

        One that the file has lost is named by its id, and a group chat that is not noted yet by its key.
        """
        if key and not any(key in place.ids for place in self._known):  # another process may have noted it meanwhile
            self._known = list(_read(self._path))
        found = next((place for place in self._known if key in place.ids), None)
        lost = KnownPlace(key, key) if _ID.fullmatch(key) else KnownPlace(key, _slug(key), chats=(key,))
        return found or (lost if key else None)

    def lost(self) -> list[str]:
        """Return the names of folders with memory of no place: whoever renames a place in the file leaves one."""
        known = {place.name.casefold() for place in self._known}
        return sorted(name for name in self._left() if name not in known)

    def by_name(self, name: str) -> KnownPlace | None:
        """Return the place of this name, in whatever capitals."""
        return next((place for place in self._known if place.name.casefold() == name.casefold()), None)

    def of_file(self, file: str) -> KnownPlace | None:
        """Return the place that a memory file belongs to; None for one of the three."""
        return self.by_name(place_of(file)) or self.named(place_of(file))

    def never(self) -> tuple[str, ...]:
        """Return what is never read: paths of projects, and keys of chats and sessions."""
        return _never(tomllib.loads(read_text(self._path)))

    def is_never(self, message: Message, session: str = "") -> bool:
        """Return whether a message may not be read: its session, its chat, or a folder that holds where it was said."""
        if not (barred := self._barred):
            return False
        here = Path(os.path.realpath(message.cwd)) if PurePath(message.cwd).is_absolute() else None
        heres = (
            (here, Path(self._project(message.cwd) or here)) if here is not None else ()
        )  # a worktree lies elsewhere
        below = any(at.is_relative_to(one) for at in heres for one in barred if PurePath(one).is_absolute())
        return below or message.chat in barred or session in barred or session.partition(":")[2] in barred

    def check_name(self, name: str, *, but: KnownPlace) -> None:
        """Raise UsageError for a name that can't be a place's, or is another's."""
        if name.casefold() == EVERYWHERE:
            raise UsageError(f"{EVERYWHERE!r} can't be a place's name: lines are moved there for all places.")
        if not _SLUG.fullmatch(name) or name != unicodedata.normalize("NFC", name):
            raise UsageError(f"{name!r} can't be a place's name: letters, digits, - and _, at most {NAME_CHARS}.")
        if (other := self.by_name(name)) is not None and other.id != but.id:
            raise UsageError(f"Another place is named {other.name}; merge them, or choose another name.")
        if other is None and name.casefold() in self._left():
            raise UsageError(f"places/{name} holds lines of a place that is not known any more; choose another name.")

    def _left(self) -> set[str]:
        """Return the names of the folders that hold memory: whose place is not known, no other one inherits it."""
        return {path.parent.name.casefold() for path in self._path.parent.glob("*/*.md")}

    def written(self, changed: Mapping[str, KnownPlace | None], never: Sequence[str] | None = None) -> bytes:
        """Return places.toml with places `changed` by their ids, None for one that goes; comments stay."""
        import tomlkit

        text = read_text(self._path)
        document = tomlkit.parse(text if never is None else with_never(text, never))
        for key, place in changed.items():
            if place is None:
                document.pop(key, None)
                continue
            table = document[key]
            table["name"] = place.name
            for field in LISTS:
                if values := getattr(place, field):
                    table[field] = list(values)
        return tomlkit.dumps(document).encode("utf-8")

    def at(self, cwd: str = "", chat: str = "") -> KnownPlace | None:
        """Return the known place of a working directory or a chat; None for nowhere in particular, or an unknown one.

        Nothing is noted.
        """
        if chat:
            return next((place for place in self._known if chat in place.chats), None)
        project = self._project(cwd)
        return self._project_at(project, remotes_of(Path(project))) if project else None

    def key(self, cwd: str = "", chat: str = "") -> str:
        """Return what tells one place from another: its id, its chat or path while it is not known, "" for nowhere."""
        found = self.at(cwd, chat)
        return found.id if found else chat or self._project(cwd)

    def _project_at(self, path: str, remotes: Sequence[str]) -> KnownPlace | None:
        """Return the known project at a path whose repository has these remotes; None for one that is new.

        A project that had no remote yet may get one. One that has lost its remote is the same, unless several
        repositories were seen at its path.
        """
        here = [place for place in self._known if path in place.paths]
        shared = (place for place in here if set(remotes) & set(place.remotes))
        bare = (place for place in here if not place.remotes)
        only = here if len(here) == 1 and not remotes else ()
        return next(chain(shared, bare, only), None)

    def for_note(self, cwd: str, chat: str = "") -> str:
        """Return the id of where a note is typed: in a chat, a repository or a known project; else "".

        Raises WorkspaceError where a new one can't be noted.
        """
        if found := self.at(cwd, chat):
            return found.id
        project = self._project(cwd)
        if chat or (project and os.path.lexists(Path(project) / ".git")):
            return self._of_chat(chat) if chat else self._of_directory(cwd)
        return ""

    def _project(self, cwd: str) -> str:
        """Return the path of the project that holds a directory; "" for none, and for the workspace itself."""
        project = project_of(cwd, self._home, [path for place in self._known for path in place.paths])
        return "" if project and Path(project).is_relative_to(self._root) else project

    def scope(self, cwd: str = "", chat: str = "") -> Scope:
        """Return what may be given in a working directory or a chat; an unknown chat is a group all the same."""
        found = self.at(cwd, chat)
        return self.scope_of(found or (KnownPlace("unknown", "", chats=(chat,)) if chat else None))

    def scope_of(self, place: KnownPlace | None) -> Scope:
        """Return what may be given in a place; for a group that the settings name, what holds everywhere too."""
        if place is None or not place.is_group:
            return Scope(place)
        from dream.settings import load

        named = load(self._root, using=()).trusted_groups
        return Scope(place, more=not {place.name, *place.chats}.isdisjoint(named))

    def group(self, chat: str) -> str:
        """Note that a key is a chat in which several people write, and return its id.

        Sessions of that key are the group's from then on, whoever reads them; raises WorkspaceError.
        """
        return self._of_chat(chat)

    def of_name(self, name: str) -> str:
        """Return the id of the place of a name; a new one has no path, until a person merges a project into it."""

        def known() -> str:
            return found.id if (found := self.by_name(name)) else ""

        return known() or self._noted(known, name)

    def of_session(self, key: str) -> str:
        """Return the id of the group chat whose key a session has, with its agent's name before it or not; else ""."""
        keys = {key, key.partition(":")[2]} - {""}
        return next((place.id for place in self._known if not keys.isdisjoint(place.chats)), "")

    def alike(self) -> list[tuple[str, str, str]]:
        """Return what a person is asked: a project, the first older one that it may be, and what they share.

        That is "remote" or "path".
        """
        pairs = ((one, next(filter(one.may_be, self._known[:at]), None)) for at, one in enumerate(self._known))
        return [
            (one.name, other.name, "remote" if {*one.remotes} & {*other.remotes} else "path")
            for one, other in pairs
            if other is not None
        ]

    def of(self, message: Message) -> str:
        """Return the id of where a message was said, "" for nowhere in particular; a place is noted when it is new.

        Raises WorkspaceError where it can't be noted.
        """
        said = message.cwd, message.chat
        if said not in self._found:
            self._found[said] = self._of_chat(message.chat) if message.chat else self._of_directory(message.cwd)
        return self._found[said] if message.chat else self._at_its_time(self._found[said], message)

    def _at_its_time(self, key: str, message: Message) -> str:
        """Return the project that lay in a message's directory when it was said; `key` is that of the one there now.

        That is the one before where the repository that is there now had not been made yet. Where nobody can tell, it
        is a project of its own, which a person merges into the one that they know it was.
        """
        here = self.named(key)
        when = message.at or datetime.min.replace(tzinfo=UTC)
        if here is None or here.since is None or when >= here.since:
            return key
        path = self._project(message.cwd)
        others = [place for place in self._known if path in place.paths and place != here]
        if len(others) == 1 and (others[0].since or when) <= when < made_at(Path(path)):
            return others[0].id
        return self.of_name(_slug(f"{_last(path)} earlier"))

    def _of_chat(self, chat: str) -> str:
        def known() -> str:
            return next((place.id for place in self._known if chat in place.chats), "")

        return known() or self._noted(known, chat, chats=(chat,))

    def _of_directory(self, cwd: str) -> str:
        project = self._project(cwd)
        if not project:
            return ""

        remotes = remotes_of(Path(project))

        def known() -> str:
            return found.id if (found := self._project_at(project, remotes)) else ""

        taken = any(project in place.paths for place in self._known)
        since = here_since(Path(project)) if taken else None
        key = known() or self._noted(known, _last(project), since, paths=(project,), remotes=remotes[:1])
        if remotes and any(place.id == key and not place.remotes for place in self._known):
            self._note_remote(key, remotes[0])
        return key

    def _note_remote(self, key: str, remote: str) -> None:
        """Note the first git remote that a project has got."""
        with explained("written", self._path), self._lock:
            self._known = list(_read(self._path))
            grown = [replace(one, remotes=(remote,)) for one in self._known if one.id == key and not one.remotes]
            replace_file(self._path, self.written({one.id: one for one in grown}))
            self._known = list(_read(self._path))

    def _noted(self, known: Callable[[], str], named: str, since: datetime | None = None, **by: tuple[str, ...]) -> str:
        """Note a new place, unless another process has done so since the file was read."""
        with explained("written", self._path), self._lock:
            self._known = list(_read(self._path))
            if found := known():
                return found
            taken = {EVERYWHERE, *(place.name.casefold() for place in self._known), *self._left()}
            place = KnownPlace(f"p-{secrets.token_hex(4)}", _free(_slug(named), taken), since=since, **by)
            replace_file(self._path, (read_text(self._path) + _written(place)).encode("utf-8"))
            self._known.append(place)
            return place.id


def _last(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def _slug(text: str) -> str:
    """Return a name that can stand in a path and in a prompt: words of letters and digits, joined by `-`."""
    text = unicodedata.normalize("NFC", text).casefold()
    return "-".join(re.findall(r"[^\W_]+", text))[:NAME_CHARS].strip("-") or "place"


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name[: NAME_CHARS - 4]}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _read(path: Path) -> Iterator[KnownPlace]:
    yield from _parsed(read_text(path), path)


def _parsed(text: str, path: Path | str) -> Iterator[KnownPlace]:
    names: set[str] = set()
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorkspaceError(f"{path} cannot be read as TOML: {error}.") from error
    for key, row in table.items():
        if key == "never" and isinstance(row, list):
            continue
        fields = row if isinstance(row, dict) else {}
        name, lists = fields.get("name"), [fields.get(one, []) for one in LISTS]
        sound = all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists)
        if not (_ID.fullmatch(key) and isinstance(name, str) and _SLUG.fullmatch(name) and sound):
            raise WorkspaceError(
                f"{path}: [{key}] is no place; it needs an id such as p-7f3a91c2, a name of letters, digits and `-`, "
                f"and {', '.join(LISTS)} as lists of strings."
            )
        if name.casefold() in names:
            raise WorkspaceError(f"{path}: two places are named {name}; give one of them another name.")
        names.add(name.casefold())
        paths, remotes, chats, also, apart = map(tuple, lists)
        since = fields.get("since")
        since = since if isinstance(since, datetime) and since.tzinfo else None
        yield KnownPlace(key, name, paths, remotes, chats, also, apart, since)


def _never(table: Mapping[str, object]) -> tuple[str, ...]:
    found = table.get("never")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _written(place: KnownPlace) -> str:
    import tomlkit

    table = tomlkit.table()
    table.add("name", place.name)
    for field in LISTS:
        if values := getattr(place, field):
            table.add(field, list(values))
    if place.since:
        table.add("since", place.since)
    return f"\n{tomlkit.dumps(tomlkit.document().add(place.id, table))}"
