"""What in an answer only repeats the prompt: small models copy its examples and our own lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.phases.similar import coverage

SHORTEST = 8  # characters of a fact that can be taken for one of our header lines
# What a prompt shows as an example: in quotation marks, or behind a [FILE] mark at a line's start.
_EXAMPLE = re.compile(r"[\"“]([^\"”\n]+)[\"”]|^\[[A-Z-]+\] ([^{\n]+?)(?: \{[\d,]+\})?$", re.MULTILINE)
SAID = 0.5  # of an example's words that the data must hold for it to be a fact of the data too


def is_echo(fact: str, prompt: str, headers: Sequence[str], data: str) -> bool:
    """Tell whether `fact` is an example or a placeholder of `prompt`, or one of our `headers` over the data.

    An example with other numbers or dates in it is one too. What the data bears out is a fact: some user is a
    vegetarian.
    """
    bare = _bare(fact)
    if len(bare) >= SHORTEST and any(bare in _bare(header) for header in headers):
        return True
    examples = {_bare(example) for pair in _EXAMPLE.findall(prompt) for example in pair}
    return _numberless(bare) in map(_numberless, examples) and coverage(fact, data) < SAID


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”.…").casefold()
