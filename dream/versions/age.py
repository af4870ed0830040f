"""Encryption of what goes to a remote, by age (age-encryption.org): its host reads nothing of it.

This machine's identity lies in the user's state directory, one `AGE-SECRET-KEY-1…` a line; it is drawn when it is first
needed, and a person may put one of their own there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dream import trust
from dream.door import make_folder
from dream.errors import GitError, UsageError
from dream.workspace.files import explained, read_text, temporary_name, write_beside

NAME = "age.txt"  # in the state directory
HEADER = b"age-encryption.org/v1\n"
MISSING = "Encryption needs the library pyrage: pip install 'dream-memory[encrypt]'"


class NotForUsError(GitError):
    """What is on the remote is encrypted, and not for this machine."""


class Age:
    """This machine's identity, and the `recipients` that what it writes is encrypted for; none: it isn't."""

    def __init__(self, recipients: Sequence[str] = ()) -> None:
        self.recipients = tuple(recipients)

    def lock(self, data: bytes) -> bytes:
        """Encrypt for the recipients; raises UsageError for one that is none."""
        if not self.recipients:
            return data
        library = _library()
        try:
            named = [library.x25519.Recipient.from_str(one) for one in self.recipients]
        except library.RecipientError as error:
            raise UsageError(f"sync_encrypt: a recipient begins with age1 ({error}): {self.recipients}") from error
        return bytes(library.encrypt(data, named))

    def unlock(self, data: bytes) -> bytes:
        """Return what may be encrypted as it was; raises NotForUsError."""
        if not data.startswith(HEADER):
            return data
        library = _library()
        try:
            return bytes(library.decrypt(data, self._identities))
        except library.DecryptError as error:
            raise NotForUsError(
                "What is on the remote is encrypted for other machines. On one that reads it, add this recipient to "
                f"sync_encrypt in dream.toml, and run `dream sync` there: {self.recipient}"
            ) from error

    @property
    def recipient(self) -> str:
        """Return the recipient that others encrypt for, to be read here."""
        return str(self._identities[0].to_public())

    def check(self) -> None:
        """Raise UsageError where this machine could not read what it writes itself."""
        if not self.recipients:
            return
        try:
            self.unlock(self.lock(b"dream"))
        except NotForUsError as error:
            raise UsageError(f"sync_encrypt lacks this machine's own recipient; add it: {self.recipient}") from error

    @cached_property
    def _identities(self) -> list[Any]:
        state = trust.state_directory(os.environ)
        if state is None:
            raise UsageError("There is no home directory for this machine's age identity; set XDG_STATE_HOME.")
        library, path = _library(), state / NAME
        if not path.exists():
            with explained("written", path):
                make_folder(path.parent)
                drawn = f"{library.x25519.Identity.generate()}\n".encode()
                temporary = write_beside(path, drawn, temporary_name(path))
                try:
                    with suppress(FileExistsError):
                        path.hardlink_to(temporary)
                finally:
                    temporary.unlink()
        lines = [line.strip() for line in read_text(path).splitlines() if line.startswith("AGE-SECRET-KEY-1")]
        try:
            return [library.x25519.Identity.from_str(one) for one in lines] or _none(path)
        except library.IdentityError as error:
            raise UsageError(f"{path} holds no age identity: {error}.") from error


def _none(path: Path) -> list[Any]:
    raise UsageError(f"{path} holds no age identity; bring it back from a backup, or remove it to draw a new one.")


def _library() -> Any:
    try:
        import pyrage
    except ImportError as error:
        raise UsageError(MISSING) from error
    return pyrage
