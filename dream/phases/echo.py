"""What in an answer only repeats the prompt: small models copy its examples and our own lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dream.phases.similar import coverage

SAID = 0.5  # of an example's words that the data must hold for it to be a fact of the data too


def is_echo(fact: str, prompt: str, headers: Sequence[str], data: str) -> bool:
    """Tell whether `fact` is an example or a placeholder of `prompt`, or one of our `headers` over the data.

    An example that the data bears out is a fact: some user is a vegetarian.
    """
    bare = " ".join(fact.split()).strip(" \"'“”.…").casefold()
    if any(bare in " ".join(header.split()).casefold() for header in headers):
        return True
    return bare in prompt.casefold() and coverage(fact, data) < SAID
