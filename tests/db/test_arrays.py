"""Arrays in PostgreSQL's binary form are the sequences that they stand for."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from app.store.arrays import (
    FLOAT8_OID,
    TEXT_OID,
    UUID_OID,
    Joined,
    PackedIds,
    PackedNumbers,
    pack_ids,
    pack_numbers,
    pack_texts,
)
from app.wiring import Services

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


def test_lists_that_are_joined_begin_where_they_are_said_to() -> None:
    joined = Joined(UUID_OID)
    assert list(PackedIds.received(None)) == list(PackedIds.received(joined.sent())) == []
    assert [joined.add(pack_ids(ids), len(ids)) for ids in (IDS[:2], [], IDS[2:])] == [1, 3, 3]
    assert PackedIds.received(joined.sent()) == IDS
    assert pack_texts(["", "\u00e9"]) == bytes(4) + b"\0\0\0\2" + "\u00e9".encode()


async def test_the_database_reads_and_sends_them_so(services: Services) -> None:
    """Nulls too, which are not read where they stand: an element of them is shorter."""
    ids, numbers, texts = Joined(UUID_OID), Joined(FLOAT8_OID), Joined(TEXT_OID)
    ids.add(pack_ids([IDS[0], None, IDS[1]]), 3)
    numbers.add(pack_numbers(NUMBERS), len(NUMBERS))
    texts.add(pack_texts(["", "\u00e9"]), 2)
    statement = (
        "SELECT $1::rag.uuid_list::uuid[] AS ids, $2::rag.float8_list::float8[] AS numbers, $3::rag.text_list::text[] AS texts, "
        "array_send($1::rag.uuid_list::uuid[]) AS with_nulls, array_send($2::rag.float8_list::float8[]) AS without"
    )
    async with services.database.connection() as connection:
        row = await connection.fetchrow(statement, ids.sent(), numbers.sent(), texts.sent())
    assert (row["ids"], row["numbers"], row["texts"]) == ([IDS[0], None, IDS[1]], NUMBERS, ["", "\u00e9"])
    assert PackedNumbers.received(row["without"]) == NUMBERS
    with pytest.raises(ValueError, match="nulls"):
        PackedIds.received(row["with_nulls"])
