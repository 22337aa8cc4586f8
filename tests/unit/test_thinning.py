"""Which cases of a sweep `make test` runs, seen from within one."""

from __future__ import annotations

import pytest

from tests.thinning import ends


@pytest.mark.sweep(2)
@pytest.mark.parametrize("number", range(5))
def test_of_a_sweep_the_first_and_every_so_many_are_no_sieges(number: int, request: pytest.FixtureRequest) -> None:
    assert (request.node.get_closest_marker("siege") is not None) == (number % 2 == 1)


def test_between_the_ends_lie_sieges() -> None:
    first, between, last = ends([1, 2, 3])
    assert (first, last) == (1, 3)
    assert [mark.name for mark in between.marks] == ["siege"]
    assert ends([1]) == [1]
    assert ends([1, 2]) == [1, 2]
