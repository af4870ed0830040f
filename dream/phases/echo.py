"""What in an answer only repeats the prompt: small models copy its examples and our own lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dream.phases.similar import coverage

SHORTEST = 8  # characters of a fact that can be taken for one of our header lines
# What a prompt shows as an example: in quotation marks, or behind a [FILE] mark at a line's start.
_EXAMPLE = re.compile(r"[\"“]([^\"”\n]+)[\"”]|^\[[A-Z-]+\] ([^{\n]+?)(?: \{[\d,]+\})?$", re.MULTILINE)
_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
)  # of a fact in small letters
SAID = 0.5  # of an example's words that the data must hold for it to be a fact of the data too


def echoes(facts: Sequence[str], prompt: str, headers: Sequence[str], data: str) -> list[bool]:
    """Tell of each fact whether it is an example or a placeholder of `prompt`, or one of our `headers` over the data.

    An example with other numbers or dates in it is one too. What the data bears out is a fact: some user is a
    vegetarian.
    """
    ours = "\n".join(map(_bare, headers))
    examples = {_numberless(_bare(example)) for pair in _EXAMPLE.findall(prompt) for example in pair}

    def is_echo(fact: str) -> bool:
        bare = _bare(fact)
        if len(bare) >= SHORTEST and bare in ours:
            return True
        return _numberless(bare) in examples and coverage(fact, data) < SAID

    return [is_echo(fact) for fact in facts]


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "0", _MONTH.sub("may", text))


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" \"'“”.…").casefold()
