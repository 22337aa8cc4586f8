"""Arrays in PostgreSQL's binary form are the sequences that they stand for."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from app.store.arrays import PackedIds, PackedNumbers, pack_ids, pack_numbers, pack_texts, text_list, uuid_list

IDS = [uuid4() for _ in range(5)]
NUMBERS = [0.1 + 0.2, -0.0, 1e-300, float("inf"), 1e22]


@pytest.mark.parametrize(
    ("packed", "values"), [(PackedIds(pack_ids(IDS)), IDS), (PackedNumbers(pack_numbers(NUMBERS)), NUMBERS)]
)
def test_elements_are_read_where_they_stand(
    packed: PackedIds | PackedNumbers, values: list[UUID] | list[float]
) -> None:
    assert packed == values
    assert len(packed) == len(values)
    assert [packed[at] for at in range(-5, 5)] == [*values, *values]
    assert packed[1:4] == values[1:4]
    assert packed[::-2] == values[::-2]
    assert packed[7:] == []
    assert repr(packed) == repr(tuple(values))
    assert type(packed).join(packed.elements()) == values
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            packed[beyond]


def test_what_came_packed_goes_as_it_came() -> None:
    packed = PackedIds(pack_ids(IDS))
    assert pack_ids(packed) is packed.body
    assert all(isinstance(one, UUID) and {one: 1}[known] for one, known in zip(packed, IDS, strict=True))


def test_nothing_is_an_empty_list() -> None:
    assert list(PackedIds.received(None)) == list(PackedIds.received(uuid_list([], 0))) == []
    assert PackedIds.received(uuid_list([pack_ids(IDS[:2]), pack_ids(IDS[2:])], 5)) == IDS
    assert len(text_list([pack_texts(["", "é"])], 2)) == 20 + 4 + 4 + 2
