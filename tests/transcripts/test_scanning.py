"""Elements of a JSON array are found in a stream, whatever they hold and however it is cut into reads."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dream.transcripts import records

odd_text = st.text(alphabet='ab"\\[]{},:\n\u00e9', max_size=6)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), odd_text),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(odd_text, st.just("messages")), inner, max_size=3),
    ),
    max_leaves=12,
)
elements = st.lists(st.dictionaries(odd_text, values, max_size=3), max_size=4)


class Dripping(io.BytesIO):
    """A file that gives only a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(3)


def found(raw: bytes) -> list[records.Piece]:
    return list(records.pieces(Dripping(raw)))


@given(elements, st.sampled_from([None, 1]))
def test_the_elements_of_an_array_are_found(array: list[Any], indent: int | None) -> None:
    pieces = found(json.dumps(array, indent=indent, ensure_ascii=False).encode())
    assert [json.loads(piece.raw) for piece in pieces] == array
    assert all(piece.whole and piece.name == "" for piece in pieces)


@given(elements, st.dictionaries(odd_text.filter(lambda name: name not in records.LISTS), values, max_size=3))
def test_the_fields_of_an_object_and_the_elements_of_its_list_are_found(array: list[Any], header: Any) -> None:
    pieces = found(json.dumps({"a b": 1} | header | {"messages": array, "last": "x"}).encode())
    assert [json.loads(piece.raw) for piece in pieces if piece.name == "messages[]"] == array
    fields = [(json.loads(f'"{piece.name}"'), json.loads(piece.raw)) for piece in pieces if piece.name != "messages[]"]
    assert dict(fields) == {"a b": 1} | header | {"last": "x"}


@given(elements, st.data())
def test_a_cut_file_gives_its_whole_elements_and_one_that_is_not(array: list[Any], data: st.DataObject) -> None:
    raw = json.dumps(array).encode()
    pieces = found(raw[: data.draw(st.integers(1, len(raw) - 1))])
    whole = [json.loads(piece.raw) for piece in pieces if piece.whole]
    assert whole == array[: len(whole)]
    assert [piece.whole for piece in pieces][-1] is False


def test_lines_are_those_on_which_the_elements_begin() -> None:
    pieces = found(b'[\n{"a": 1},\n\n  {"b":\n 2}, {"c": 3}]')
    assert [(piece.raw, piece.line) for piece in pieces] == [(b'{"a": 1}', 2), (b'{"b":\n 2}', 4), (b'{"c": 3}', 5)]


def test_what_is_too_large_is_passed_over(monkeypatch: Any) -> None:
    monkeypatch.setattr(records, "MAX_RECORD", 50)
    large = {"a": [["x" * 10]] * 10}
    pieces = found(json.dumps([{"b": 1}, large, {"c": 2}]).encode())
    assert [(piece.raw, piece.whole) for piece in pieces] == [(b'{"b": 1}', True), (b"", False), (b'{"c": 2}', True)]
