"""The model inside the package: deterministic, offline, pure Python, no key and no download.

It reads only what any model is sent (prompts.py renders it) and answers in the same contracts:

consolidate   sentences → what tells → dates, person, what it leans on → coverage → bullets
phase 1       bullets → routing, changes, duplicates → `[FILE] fact {cursors}` lines
phase 2       findings and files → layout → edit_file and skip_finding calls
"""

from dream.llm.embedded.model import EmbeddedModel

__all__ = ["EmbeddedModel"]
