"""What a finder of secrets is: it yields the kind of each, and where in the text it stands."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

Span = tuple[int, int]
Finder = Callable[[str], Iterator[tuple[str, Span]]]

regex = functools.cache(re.compile)  # compiled when first needed: all of them would cost 40 ms at every start
