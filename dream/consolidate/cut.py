"""Where to cut a session: pure functions on messages with their token counts.

A chunk is what one summary stands for. It ends at a user turn; where a turn is longer than the budget, at
a message; never between a tool call and its result, unless these alone exceed the budget. A message that
exceeds it by itself is a chunk of its own, which `parts` splits, so that nothing is ever truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from dream.models import Message

HELD_CHARS = 16 << 20  # characters of full texts behind shortened messages that are in memory until they are summarised
BREAKS = ("\n\n", "\n", "。", ". ", " ")  # where a long text is split, the best first


@dataclass(frozen=True, slots=True)
class Item:
    """A message with its position in the session and the tokens of its rendered form.

    Empty `content` means that the model need not read it; only its position counts. `part`: it is one of several of
    a long message; `last` is False where others follow.
    """

    position: int
    message: Message
    tokens: int
    last: bool = True
    part: bool = False


def span(items: Sequence[Item]) -> tuple[int, int]:
    """Return the half-open range of positions that `items` complete.

    A part of a message other than its last completes nothing: its span is empty, `(p, p)`. So the highest
    span end passes a message only when all of it is in history.
    """
    end = items[-1]
    return items[0].position, end.position + end.last


def ids(items: Sequence[Item]) -> str:
    """Join the ids of the messages that `items` complete; empty where one has none."""
    found = [item.message.id or "" for item in items if item.last]
    return "".join(found) if all(found) else ""


def chunks(items: Iterable[Item], budget: int) -> Iterator[list[Item]]:
    """Cut `items` into consecutive chunks of at most `budget` tokens; only a single item may hold more.

    Reads ahead by one budget, which decides whether a call finds its result within reach; so memory holds two
    budgets, HELD_CHARS of what they shorten and one message, however long the session.
    """
    ahead: list[Item] = []
    tokens = held = 0
    for item in items:
        ahead.append(item)
        tokens += item.tokens
        held += len(item.message.whole)
        while tokens > 2 * budget or held > HELD_CHARS:
            size = cut(ahead, budget)
            yield ahead[:size]
            tokens -= sum(done.tokens for done in ahead[:size])
            held -= sum(len(done.message.whole) for done in ahead[:size])
            ahead = ahead[size:]
    while ahead:
        size = cut(ahead, budget)
        yield ahead[:size]
        ahead = ahead[size:]


def cut(items: Sequence[Item], budget: int) -> int:
    """Return how many of `items` make the first chunk: all that fit, or up to the best place before."""
    sums = list(accumulate(item.tokens for item in items))
    fit = sum(1 for total in sums if total <= budget)
    if fit == len(items):
        return fit
    inside = _inside(items, fit, budget)
    boundaries = [at for at in range(fit, 0, -1) if at not in inside]
    said = next((at for at, item in enumerate(items) if item.message.content), fit)
    turns = (at for at in boundaries if at > said and items[at].message.role == "user")
    return next(turns, 0) or next(iter(boundaries), 0) or max(fit, 1)


def live_cut(items: Sequence[Item], budget: int, target: int) -> int:
    """Return how many of the oldest `items` a live session gives up, to be back at `target` tokens.

    The current turn stays whole if what is kept then fits `budget`. A call that still waits for its
    result stays too. 0 if there is nothing to give up.
    """
    total = sum(item.tokens for item in items)
    kept = [total - gone for gone in accumulate((item.tokens for item in items), initial=0)]
    current = max((at for at, item in enumerate(items) if item.message.role == "user"), default=0)
    turns = [at for at in range(1, current + 1) if items[at].message.role == "user"]
    enough = [at for at in turns if kept[at] <= target] or [at for at in turns[-1:] if kept[at] < budget]
    if enough:
        return enough[0]
    inside = _inside(items, len(items) - 1, budget) | _waiting(items)
    boundaries = [at for at in range(1, len(items)) if at not in inside and items[at].message.role != "tool"]
    within = [at for at in boundaries if kept[at] <= target]
    return within[0] if within else (boundaries or [0])[-1]


def parts(item: Item, budget: int, tokens: Callable[[Message], int]) -> list[Item]:
    """Split a message into as many parts as it takes for each to fit `budget`; joined, they are its text."""
    texts = split(item.message.content, budget, lambda text: tokens(replace(item.message, content=text)))
    messages = [replace(item.message, content=text, whole="") for text in texts]
    return [
        Item(item.position, message, tokens(message), item.last and number == len(messages), part=True)
        for number, message in enumerate(messages, start=1)
    ]


def split(text: str, budget: int, count: Callable[[str], int]) -> list[str]:
    """Split `text` into pieces that `count` at most `budget` each (or are one character), at a good place."""
    pieces, start = [], 0
    size = max(1, len(text) * budget // max(1, count(text)))
    while start < len(text):
        piece = text[start : start + size]
        while len(piece) > 1 and count(piece) > budget:
            piece = piece[: max(1, len(piece) * 7 // 8)]
        if start + len(piece) < len(text):
            piece = _at_a_break(piece)
        pieces.append(piece)
        start += len(piece)
    return pieces or [""]


def _inside(items: Sequence[Item], fit: int, budget: int) -> set[int]:
    """Return the boundaries up to `fit` that lie between a call and its result, where the two fit `budget`."""
    called: dict[str, int] = {}
    inside: set[int] = set()
    before = [0, *accumulate(item.tokens for item in items)]
    for at, item in enumerate(items):
        call = called.get(item.message.answers) if item.message.answers else None
        if call is not None and before[at + 1] - before[call] <= budget:
            inside.update(range(call + 1, min(at, fit) + 1))
        called.update(dict.fromkeys(item.message.calls, at))
    return inside


def _waiting(items: Sequence[Item]) -> set[int]:
    """Return the boundaries behind a call of the current turn that has no result yet."""
    open_calls: dict[str, int] = {}
    for at, item in enumerate(items):
        if item.message.role == "user":
            open_calls.clear()
        open_calls.pop(item.message.answers or "", None)
        open_calls.update(dict.fromkeys(item.message.calls, at))
    return set(range(min(open_calls.values()) + 1, len(items))) if open_calls else set()


def _at_a_break(piece: str) -> str:
    for mark in BREAKS:
        at = piece.rfind(mark, len(piece) // 2)
        if at >= 0:
            return piece[: at + len(mark)]
    return piece
