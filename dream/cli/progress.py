"""Progress on stderr: a moving line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dream import text as texts

Progress = Callable[[str], None]


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Give a function that shows what is being done, or None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(what) as status:
        yield lambda step: status.update(escape(texts.clean(step)))
