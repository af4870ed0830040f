"""The places where a crash could hurt: each write, rename, fsync and ref update announces itself here.

Called as `faults.checkpoint("name")`, so that a crash test can put its own function in its place and kill the
process at exactly that instant. It does nothing else, and costs a call.
"""

from __future__ import annotations


def checkpoint(name: str) -> None:
    """Mark an instant between two steps that change the disk."""
