"""Leave out the clauses of a sentence that tell nothing: ", it was so cool", " - can't wait to see it"."""

from __future__ import annotations

import re

from dream.llm.embedded.lexicon import MONTHS, WEEKDAYS
from dream.llm.embedded.noise import is_pleasantry
from dream.llm.embedded.words import content, mostly_cjk

_CUT = re.compile(
    r"(\s+[-–—]+\s+|;\s+|…\s*|\.\.\.\s*|,\s+(?=(?:and|but|so|which|it|it's|that|that's|because|they|they're|this|"
    r"making|feeling|thanks|like this|here|especially|plus|you|you're|hope|hoping|just|really|even|though|although|as|can't|what)\b)"
    r"|(?<=[a-z])\s+(?=(?:and it|and that|so it|and they|because it|since it|but it)(?:'s| was| is| makes| made|'re| feels| felt)\b))",
    re.I,
)
_VALUE = re.compile(rf"\d|\b(?:{'|'.join((*MONTHS, *WEEKDAYS))})\b|\bnow\b.*\b[A-Z]|\b[A-Z].*\bnow\b")
_RELATIVE = re.compile(r"(?:which|who|whose|where|when|what|how|is|are|do|does|did|would|could)\b", re.I)
_SHOWS = re.compile(
    r"(?:and |but |so )*(?:like this|like so|as follows|here(?:'s| is| are)|see below|can you|could you)\b", re.I
)
SHORT = 45  # characters of a sentence that is left as it is


def pruned(text: str, least: float = 0.8) -> str:
    """Return a sentence without the later clauses that hold no content word of their own."""
    if len(text) < SHORT or mostly_cjk(text):
        return text
    parts = _CUT.split(text)
    kept = parts[0]
    seen = set(content(parts[0]))
    for cut, clause in zip(parts[1::2], parts[2::2], strict=True):
        found = content(clause)
        strong = sum(weight for key, weight in found.items() if weight >= 0.4 and key not in seen)
        if (
            (strong >= least or _VALUE.search(clause))
            and not _SHOWS.match(clause)
            and not (is_pleasantry(clause) and not _RELATIVE.match(clause))
            and (strong / len(clause) >= 0.012 or _VALUE.search(clause))
        ):
            kept += cut + clause
            seen.update(found)
    return kept
