"""`[RAW]`: the messages themselves, where no summary can be had; in full, over as many entries as they need.

In full are the text, all arguments of a tool call and all of a tool's result. Not in it is what nobody said (system
prompts, thinking, images, blocks that an agent or a memory put in), secrets, and characters that can't be seen; a line
ends with `\\n`, however it did, and white space at a message's ends is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import chain

from dream import prompts
from dream.consolidate.attributed import attributed
from dream.consolidate.cut import Item, ids, parts, span
from dream.models import Message, NewEntry

RAW_CHARS = 16_000  # of one entry: a page that a prompt can hold beside others


def entries(
    key: str,
    items: Sequence[Item],
    zone: tzinfo,
    count: Callable[[str], int],
    whole: Callable[[Message], Message],
) -> list[NewEntry]:
    """Return entries that hold `items` in full, in the form of a prompt's conversation; their spans partition it.

    `whole` gives a message whose content is shorter than what it says with all of it as its content.
    """
    full = [replace(item, message=whole(item.message)) if item.message.whole else item for item in items]
    groups = _groups(full, zone)
    return [_attributed(_entry(key, group, zone, count), items, group) for group in groups]


def _attributed(entry: NewEntry, items: Sequence[Item], group: Sequence[Item]) -> NewEntry:
    """Name who said which line; on a page that only tools filled, nobody need be looked for."""
    if any(piece.message.role != "tool" for piece in group):
        return attributed(entry, _beside(items, group))
    numbers = tuple(range(2, entry.content.count("\n") + 2))  # all but the first line, which is ours
    return replace(entry, by_others=numbers, by_tool=numbers)


def _beside(items: Sequence[Item], group: Sequence[Item]) -> list[Message]:
    """Return what was said as those who look for the speaker of a line need it: of long results, what the page has."""
    here: dict[int, list[Message]] = {}
    for piece in group:
        here.setdefault(piece.position, []).append(piece.message)
    asked = (here.get(item.position) if item.message.whole else None for item in items)
    return [one for item, found in zip(items, asked, strict=True) for one in found or [item.message]]


def _groups(items: Sequence[Item], zone: tzinfo) -> list[list[Item]]:
    room = RAW_CHARS - len("[RAW] 1000000 messages, in part\n")
    groups: list[list[Item]] = [[]]
    used = 0
    for item in chain.from_iterable(_pieces(item, room, zone) for item in items):
        size = len(_shown(item, zone)) + 1
        if groups[-1] and used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(item)
        used += size
    return groups


def _pieces(item: Item, room: int, zone: tzinfo) -> list[Item]:
    if len(_shown(item, zone)) < room:
        return [item]
    return parts(item, room - 1, lambda message: len(prompts.message(item.position, message, zone)))


def _shown(item: Item, zone: tzinfo) -> str:
    return prompts.message(item.position, item.message, zone) if item.message.content else ""


def _entry(key: str, group: Sequence[Item], zone: tzinfo, count: Callable[[str], int]) -> NewEntry:
    shown = [text for text in (_shown(item, zone) for item in group) if text]
    partly = ", in part" if not all(item.last for item in group) else ""
    content = "\n".join([f"[RAW] {len(shown)} messages{partly}", *shown])
    return NewEntry("raw", content, key, span(group), count(content), ids=ids(group))
