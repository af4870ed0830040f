"""Where a session is cut: pure values in, pure values out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from dream.consolidate.cut import Item, chunks, cut, live_cut, parts, span, split
from dream.models import Message


def items(*messages: tuple[str, int] | tuple[str, int, str]) -> list[Item]:
    """Write a session: (role, tokens) or (role, tokens, ids); an assistant's ids are calls, a tool's the answer."""
    return [Item(position, message(role, *ids), tokens) for position, (role, tokens, *ids) in enumerate(messages)]


def message(role: str, ids: str = "") -> Message:
    called = tuple(ids.split()) if role == "assistant" else ()
    return Message(role, "text", calls=called, answers=ids or None if role == "tool" else None)  # type: ignore[arg-type]


def sizes(session: list[Item], budget: int) -> list[int]:
    return [len(chunk) for chunk in chunks(session, budget)]


def links(session: list[Item]) -> list[tuple[int, int]]:
    """Say which call and result belong together: the result answers the latest call with its id."""
    called: dict[str, int] = {}
    found = []
    for at, item in enumerate(session):
        if item.message.answers in called:
            found.append((called[item.message.answers], at))
        called.update(dict.fromkeys(item.message.calls, at))
    return found


@st.composite
def sessions(draw: st.DrawFn) -> list[Item]:
    ids = st.sampled_from(["", "", "a", "b", "a b", "c"])
    roles = st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"])
    made = draw(st.lists(st.tuples(roles, st.integers(1, 30), ids), max_size=40))
    return items(*made)


@given(sessions(), st.integers(1, 60))
def test_chunks_are_contiguous_cover_everything_and_fit(session: list[Item], budget: int) -> None:
    found = list(chunks(session, budget))
    assert [item for chunk in found for item in chunk] == session
    assert all(found)
    assert all(len(chunk) == 1 or sum(item.tokens for item in chunk) <= budget for chunk in found)
    spans = [span(chunk) for chunk in found]
    assert all(one[1] == other[0] for one, other in pairwise(spans))


@given(sessions(), st.integers(1, 60))
def test_a_call_stays_with_its_result_unless_these_exceed_the_budget(session: list[Item], budget: int) -> None:
    sums = [0, *accumulate(item.tokens for item in session)]
    near = [(call, result) for call, result in links(session) if sums[result + 1] - sums[call] <= budget]
    start = 0
    for chunk in list(chunks(session, budget))[:-1]:
        end = start + len(chunk)
        if any(call < end <= result for call, result in near):
            # Only where every other place in the chunk is no better: overlapping calls that together exceed it.
            others = range(start + 1, end)
            assert all(any(max(call, start) < at <= result for call, result in near if call >= start) for at in others)
        start = end


@given(sessions(), st.integers(1, 60))
def test_reading_in_a_stream_cuts_as_reading_all_at_once(session: list[Item], budget: int) -> None:
    whole, left = [], list(session)
    while left:
        size = cut(left, budget)
        whole.append(left[:size])
        left = left[size:]
    assert list(chunks(iter(session), budget)) == whole


def test_a_long_session_is_read_two_budgets_ahead_and_no_more() -> None:
    read = 0

    def stream() -> Iterator[Item]:
        nonlocal read
        for position in range(100_000):
            read += 1
            yield Item(position, Message("user", "text"), 10)

    first = next(chunks(stream(), 1_000))
    assert len(first) == 100
    assert read <= 201


def test_it_cuts_at_the_last_user_turn_that_fits() -> None:
    session = items(("user", 10), ("assistant", 10), ("user", 10), ("assistant", 10), ("user", 10), ("assistant", 30))
    assert sizes(session, 55) == [4, 2]


def test_a_turn_longer_than_the_budget_is_cut_at_a_message() -> None:
    session = items(("user", 10), *[("assistant", 10)] * 9)
    assert sizes(session, 35) == [3, 3, 3, 1]


def test_parallel_calls_stay_with_all_their_results() -> None:
    session = items(
        ("user", 10),
        ("assistant", 10),
        ("assistant", 10, "a b"),
        ("tool", 10, "a"),
        ("tool", 10, "b"),
        ("assistant", 9),
    )
    assert sizes(session, 45) == [2, 4]


def test_an_id_used_again_belongs_to_its_latest_call() -> None:
    rounds = [part for _ in range(6) for part in (("assistant", 10, "call_0"), ("tool", 10, "call_0"))]
    assert sizes(items(("user", 10), *rounds), 50) == [5, 4, 4]


def test_an_orphan_result_and_an_unanswered_call_hinder_nothing() -> None:
    session = items(("tool", 10, "gone"), ("assistant", 10, "never"), ("user", 10), ("assistant", 10), ("user", 10))
    assert sizes(session, 25) == [2, 2, 1]


def test_a_call_and_result_that_exceed_the_budget_are_cut_apart() -> None:
    assert sizes(items(("assistant", 30, "a"), ("tool", 30, "a"), ("user", 5)), 40) == [1, 2]


def test_a_message_over_the_budget_is_a_chunk_of_its_own() -> None:
    assert sizes(items(("user", 10), ("user", 500), ("user", 10)), 40) == [1, 1, 1]


def test_only_the_last_part_of_a_message_completes_it() -> None:
    item = Item(7, Message("user", "one two three four"), 18)
    found = parts(item, 6, lambda message: len(message.content))
    assert "".join(part.message.content for part in found) == "one two three four"
    assert [span([part]) for part in found] == [(7, 7)] * (len(found) - 1) + [(7, 8)]


@given(st.text(), st.integers(1, 20))
def test_pieces_fit_and_join_to_the_text(text: str, budget: int) -> None:
    pieces = split(text, budget, lambda piece: len(piece.encode("utf-8", "surrogatepass")))
    assert "".join(pieces) == text
    assert all(len(piece) <= 1 or len(piece.encode()) <= budget for piece in pieces)


def test_two_megabytes_in_one_message_are_split_quickly_at_lines() -> None:
    text = "a line of forty characters, more or less\n" * 50_000
    pieces = split(text, 8_000, lambda piece: len(piece) // 4)
    assert "".join(pieces) == text
    assert all(piece.endswith("\n") for piece in pieces)


def turns(*lengths: int) -> list[Item]:
    """Write user turns: a user message and some answers, of 10 tokens each."""
    return items(*[part for length in lengths for part in (("user", 10), *[("assistant", 10)] * (length - 1))])


def test_a_live_session_gives_up_whole_turns_until_it_is_at_the_target() -> None:
    assert live_cut(turns(4, 4, 4, 2), budget=140, target=70) == 8


def test_the_current_turn_is_left_alone_where_it_fits() -> None:
    assert live_cut(turns(2, 10), budget=120, target=60) == 2


def test_one_user_turn_with_200_tool_rounds_is_cut_within() -> None:
    rounds = [part for number in range(200) for part in (("assistant", 10, f"c{number}"), ("tool", 10, f"c{number}"))]
    session = items(("user", 10), *rounds)
    size = live_cut(session, budget=2_000, target=1_000)
    assert sum(item.tokens for item in session[size:]) <= 1_000
    assert session[size].message.role == "assistant"


def test_a_call_that_waits_for_its_result_stays_in_the_prompt() -> None:
    session = items(("user", 10), *[("assistant", 10)] * 5, ("assistant", 10, "a b"), ("tool", 10, "a"))
    assert live_cut(session, budget=50, target=10) == 6


@given(sessions(), st.integers(1, 200), st.integers(1, 100))
def test_what_a_live_session_keeps_never_starts_with_a_result(session: list[Item], budget: int, target: int) -> None:
    size = live_cut(session, budget, min(target, budget))
    assert 0 <= size < max(1, len(session))
    assert size == 0 or session[size].message.role != "tool"
