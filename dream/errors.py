"""Every error that `dream` raises on purpose.

DreamError                      exit 1
├── UsageError                  exit 2   a flag, argument or setting that cannot be used
│   └── SettingsError                    an unknown or unusable setting
├── Busy                        exit 4   another run holds the workspace
├── Untrusted                            a workspace of others whose settings reach beyond it
├── WorkspaceError                       no workspace, or a memory file that cannot be read
│   └── HistoryError                     the history log cannot be read or written
├── NothingThere                         a citation or an address at which nothing is, or no longer
├── TranscriptError                      a transcript that cannot be read at all
│   ├── NoTranscript                     a file that is none: it is empty, or in no format that is known
│   └── ReaderMissing                    a transcript whose reader is not installed
├── GitError                             git is missing or refused
│   ├── UnknownRevision      exit 2      a sha that names no change of ours
│   └── Conflict                         both sides changed the same lines
├── ModelError                           a model call that ended without a usable answer
│   ├── ModelUnavailable                 may pass by itself: network, rate limit, server fault
│   ├── ModelRejected                    will not pass by itself: key, name, malformed request
│   │   ├── ModelInaccessible            the key, the name or the account is at fault: no call can succeed
│   │   └── ToolsUnsupported             the model cannot call tools
│   ├── PromptTooLong                    more tokens than the model's window
│   └── AnswerUnusable                   truncated, empty, refused or not in the agreed form
└── SpendingLimit                        a bound on tokens or money was reached
    └── NightOver                        no failure: the night's time is over, or a stop was asked for

Each message is one sentence for a person who can act on it.
What is not foreseen here is a bug and crashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dream.reports import Usage


class DreamError(Exception):
    """Base of all errors raised on purpose; `exit_status` is what the command line returns."""

    exit_status = 1


class UsageError(DreamError):
    """A flag, an argument or a setting cannot be used as given."""

    exit_status = 2


class SettingsError(UsageError):
    """A setting is unknown or its value cannot be used; the message names it and its origin."""


class Busy(DreamError):
    """Another process holds the workspace's run lock."""

    exit_status = 4


class Untrusted(DreamError):
    """The workspace was not made or adopted by this user on this machine, and its settings reach beyond it."""


class WorkspaceError(DreamError):
    """There is no workspace here, or one of its files cannot be read or written."""


class HistoryError(WorkspaceError):
    """The history log cannot be read or written."""


class NothingThere(DreamError):
    """Nothing is at a citation or an address, or no longer."""


class TranscriptError(DreamError):
    """A transcript cannot be read at all; broken parts of a readable one are diagnostics instead."""


class NoTranscript(TranscriptError):
    """A file is no transcript: it is empty, binary, or in no format that is known."""


class ReaderMissing(TranscriptError):
    """A transcript is in a format whose reader is not installed; `title` and `needs` say which, and what to do."""

    def __init__(self, sentence: str, title: str, needs: str) -> None:
        super().__init__(sentence)
        self.title, self.needs = title, needs


class GitError(DreamError):
    """Git is missing, refused a command, or its repository is damaged."""


class UnknownRevision(GitError):
    """A sha is malformed, too short, ambiguous, or names no commit that `dream` made."""

    exit_status = 2


class Conflict(GitError):
    """Two changes touch the same lines and neither may be lost; nothing was changed."""


class ModelError(DreamError):
    """A model call ended without a usable answer; `usage` is what it is billed for all the same, None for nothing."""

    usage: Usage | None = None


class ModelUnavailable(ModelError):
    """The provider could not be reached or was overloaded, after every retry and fallback."""


class ModelRejected(ModelError):
    """The provider refused the request for a reason that a retry cannot change."""


class ModelInaccessible(ModelRejected):
    """The key, the model's name or the account is at fault: every call would end like this until a person acts."""


class ToolsUnsupported(ModelRejected):
    """The model cannot call tools; phase 2 then applies its findings without one."""


class PromptTooLong(ModelError):
    """The prompt holds more tokens than the model's window."""


class AnswerUnusable(ModelError):
    """The model's answer was truncated, empty, a refusal, or not in the agreed form."""


class AnswerCut(AnswerUnusable):
    """The answer was cut off at its length limit: there is more to say than one answer holds."""


class SpendingLimit(DreamError):
    """A bound on tokens or money was reached before the next call was made."""


class NightOver(SpendingLimit):
    """A night's bound of time was reached, or the process was asked to stop; the next one goes on from there."""
