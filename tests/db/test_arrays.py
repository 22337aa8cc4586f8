"""Arrays in PostgreSQL's binary form are the sequences that they stand for."""

from __future__ import annotations

import struct
from uuid import UUID, uuid4

import pytest

from cairn.store.arrays import PackedIds, PackedNumbers, PackedPlaces, send_ids, send_numbers, send_texts
from cairn.wiring import Services

IDS = [uuid4() for _ in range(5)]
NUMBERS = [0.1 + 0.2, -0.0, 1e-300, float("inf"), 1e22]


PLACES = [3, None, 1, 2, None]


def packed_places() -> PackedPlaces:
    head = struct.pack(">iiIii", 1, 0, 23, len(PLACES), 1)
    return PackedPlaces(head + b"".join((4).to_bytes(4) + (place or 0).to_bytes(4) for place in PLACES))


@pytest.mark.parametrize(
    ("packed", "values"),
    [(PackedIds(send_ids(IDS)), IDS), (PackedNumbers(send_numbers(NUMBERS)), NUMBERS),
     (packed_places(), PLACES)],
)  # fmt: skip
def test_elements_are_read_where_they_stand(
    packed: PackedIds | PackedNumbers | PackedPlaces, values: list[UUID] | list[float] | list[int | None]
) -> None:
    assert packed == values
    assert len(packed) == len(values)
    assert [packed[at] for at in range(-5, 5)] == [*values, *values]
    assert packed[1:4] == values[1:4]
    assert packed[::-2] == values[::-2]
    assert packed[7:] == []
    assert repr(packed) == repr(tuple(values))
    assert packed.sent.endswith(b"".join(packed.elements()))
    assert sum(map(len, packed.elements())) == len(packed.sent) - 20
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            packed[beyond]


def test_what_came_packed_goes_as_it_came() -> None:
    packed = PackedIds(send_ids(IDS))
    assert send_ids(packed) == send_ids(IDS)
    assert all(isinstance(one, UUID) and {one: 1}[known] for one, known in zip(packed, IDS, strict=True))
    assert list(PackedIds(None)) == list(PackedIds(send_ids([]))) == []


async def test_the_database_reads_and_sends_them_so(services: Services) -> None:
    """Nulls too, which are not read where they stand: an element of them is shorter. Several lists are an array."""
    ids, numbers, texts = [[IDS[0], None, IDS[1]], [], [None]], [NUMBERS, [1.5], []], [["", "\u00e9"], None, []]
    statement = (
        "SELECT l.ids::uuid[] AS ids, l.numbers::float8[] AS numbers, l.texts::text[] AS texts, "
        "array_send(l.ids::uuid[]) AS with_nulls, array_send(l.numbers::float8[]) AS without "
        "FROM unnest($1::rag.uuid_list[], $2::rag.float8_list[], $3::rag.text_list[]) AS l (ids, numbers, texts)"
    )
    sent = [None if one is None else send_texts(one) for one in texts]
    async with services.database.connection() as connection:
        rows = await connection.fetch(statement, list(map(send_ids, ids)), list(map(send_numbers, numbers)), sent)
    assert [row["ids"] for row in rows] == ids
    assert [row["numbers"] for row in rows] == numbers
    assert [row["texts"] for row in rows] == texts
    assert [PackedNumbers(row["without"]) for row in rows] == numbers
    with pytest.raises(ValueError, match="nulls"):
        PackedIds(rows[0]["with_nulls"])
