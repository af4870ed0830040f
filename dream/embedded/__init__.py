"""The model inside the package: deterministic, offline, pure Python, no key and no download. It quotes, never rewrites.

It reads only what any model is sent (prompts.py renders it) and answers in the same contracts, in five stages:

read      messages and lines → sentences, each with what stood before it
state     sentence → `Statement`: what kind of thing it states, whether it is meant, what it is worth
fact      two statements → whether the one takes the place of the other
choose    statements → those that there is room for
write     `Statement` → a line: the speaker's own words, the day, and in brackets what a reader needs
"""

from dream.embedded.model import EmbeddedModel

__all__ = ["EmbeddedModel"]
