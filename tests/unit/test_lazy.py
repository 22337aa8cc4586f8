"""Sequences that make their items when they are read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cairn.domain.lazy import Deferred, Rows, columns_of


def pair(a: int, b: str) -> tuple[int, str]:
    return a, b


PAIRS = [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("lazy", [Rows(pair, [1, 2, 3], ["a", "b", "c"]), Deferred(lambda: PAIRS)])
def test_they_read_as_the_list_does(lazy: Sequence[tuple[int, str]]) -> None:
    assert len(lazy) == 3
    assert list(lazy) == PAIRS
    assert (lazy[0], lazy[-1], lazy[1:], lazy[:-1]) == ((1, "a"), (3, "c"), PAIRS[1:], PAIRS[:-1])
    assert lazy == PAIRS
    assert lazy != PAIRS[:2]
    assert lazy != [*PAIRS[:2], (3, "x")]
    assert (2, "b") in lazy
    assert repr(lazy) == "((1, 'a'), (2, 'b'), (3, 'c'))"
    assert list(map(tuple, columns_of(lazy))) == [(1, 2, 3), ("a", "b", "c")]
    with pytest.raises(IndexError):
        lazy[3]


def test_rows_are_made_only_where_they_are_read() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    rows = Rows(make, range(100))
    assert rows[5:8] == [5, 6, 7]
    assert rows[-1] == 99
    assert made == [5, 6, 7, 99]


def test_what_is_deferred_is_made_once() -> None:
    calls: list[int] = []

    def make() -> list[int]:
        calls.append(1)
        return [4, 5]

    deferred = Deferred(make)
    assert not calls
    assert (list(deferred), deferred[0], len(deferred), bool(deferred)) == ([4, 5], 4, 2, True)
    assert len(calls) == 1


def test_nothing_is_an_empty_sequence() -> None:
    for empty in (Rows(pair, [], []), Deferred(tuple[int, ...])):
        assert not empty
        assert empty == ()
        assert list(empty) == []
