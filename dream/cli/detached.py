"""Work on in a process of its own: an agent ends its hooks soon after it has asked them, whatever they still do.

What a hook asks for is looked at first of all, and nothing that takes time is imported until the agent has its answer.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path

LOG = "hook.log"  # in .dream/: what such processes print
LOG_BYTES = 1 << 18  # of the log; a larger one is begun anew


def leave(private: Path) -> bool:
    """Go on in a process of its own, in a session of its own, that prints to the log in `private`.

    Returns True in that process, whose standard input is empty, and False in the one that was called, which has
    nothing left to do: whatever ends it, or its group, does not end the other.
    """
    from dream.door import check_folder, open_file

    check_folder(private)
    log = open_file(private / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if os.fstat(log).st_size > LOG_BYTES:
        os.ftruncate(log, 0)
    if os.fork():
        os.close(log)
        return False
    os.setsid()
    os.nice(5)  # of several that end at once, none is to slow the next one down
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, place in enumerate((nowhere, log, log)):
        os.dup2(place, number)
    os.closerange(3, 256)  # a pipe that stayed open would keep the agent waiting
    return True


def hook_left(environ: Mapping[str, str]) -> bool:
    """Leave, where this is `dream consolidate --hook --detach`, and tell whether the called process is done with it.

    The process that goes on finds what the agent said on its standard input. Where anything is not as it should be,
    nothing is done: the command itself says what is wrong.
    """
    words = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    if not {"consolidate", "--hook", "--detach"} <= set(words) or {"-h", "--help"} & set(words) or sys.stdin is None:
        return False
    from dream.errors import DreamError
    from dream.workspace import places

    try:
        named = _workspace(words)
        root = places.absolute(named) if named else places.find(Path(), environ)
        said = sys.stdin.buffer.read()
        sys.stdin = io.TextIOWrapper(io.BytesIO(said), "utf-8")
        if root is None or not places.is_workspace(root) or b'"transcript_path"' not in said:
            return False
        if not leave(root / ".dream"):
            return True
    except (DreamError, OSError):
        return False
    sys.argv.remove("--detach")
    return False


def _workspace(words: list[str]) -> str | None:
    """Find what `-w` names, in each of the forms that click takes; the last one counts."""
    named = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word in ("-w", "--workspace"):
            named = following
        elif word.startswith("--workspace="):
            named = word.partition("=")[2]
        elif word.startswith("-w"):
            named = word[2:]
    return named
