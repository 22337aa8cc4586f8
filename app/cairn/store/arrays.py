"""Lists of candidates in the form in which PostgreSQL sends arrays.

A search finds a hundred candidates, shows ten, and writes all of them into its trace. So the lists of its statement come as
bytes (`array_send` in sql/queries/search.sql), of which an element is made when somebody reads it, and go back as they came, as
the domains rag.uuid_list, rag.float8_list and rag.text_list (cairn/db/pool.py), of which there are arrays as of any type: making
and writing elements one by one took a quarter of what Python takes for a search.

An array in binary: number of dimensions, whether there are nulls, type of the elements; for each dimension its length and where
it begins to count; then each element with its length before it, -1 for null. All numbers have 4 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeVar, overload
from uuid import UUID

from asyncpg.pgproto.pgproto import UUID as FastUUID

from cairn.domain.lazy import Lazy

T = TypeVar("T")

_UUID, _FLOAT8, _INTEGER, _TEXT = 2950, 701, 23, 25  # oids of types of elements, the same in every database
_EMPTY, _HEAD = struct.Struct(">iiI"), struct.Struct(">iiIii")
_HAS_NULLS, _NULL = struct.pack(">i", 1), struct.pack(">i", -1)
_UUID_LENGTH, _FLOAT8_ELEMENT = struct.pack(">i", 16), struct.Struct(">id")


class Packed(Lazy[T]):
    """An array of one dimension without nulls, as it was `sent`. Elements have one `width`, with their length before them."""

    __slots__ = ("sent",)
    element: ClassVar[int]
    width: ClassVar[int]

    def __init__(self, sent: bytes | None) -> None:
        """`sent`: what `array_send` made of an array; None: of none at all, which is read as an empty one. Raises ValueError
        where nulls are in it."""
        self.sent = sent or _array(self.element, 0, b"")
        if self.sent[4:8] == _HAS_NULLS:
            raise ValueError("an array with nulls cannot be read in place")

    def _places(self) -> range:
        return range(_HEAD.size, len(self.sent), self.width)

    def elements(self) -> Iterator[bytes]:
        """Each as it stands in the array."""
        sent, width = self.sent, self.width
        return (sent[at : at + width] for at in self._places())

    def _make(self, at: int) -> T:
        """The element that begins at this byte."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._places())

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._places())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        places = self._places()[at]
        return self._make(places) if isinstance(places, int) else list(map(self._make, places))


class PackedIds(Packed[UUID]):
    __slots__ = ()
    element, width = _UUID, 20

    def _make(self, at: int) -> UUID:
        made: UUID = FastUUID(self.sent[at + 4 : at + 20])  # a UUID like any other, that is made in a third of the time
        return made


class PackedNumbers(Packed[float]):
    __slots__ = ()
    element, width = _FLOAT8, 12

    def _make(self, at: int) -> float:
        return float(_FLOAT8_ELEMENT.unpack_from(self.sent, at)[1])


class PackedPlaces(Packed[int | None]):
    """Places counted from 1, and None for 0, which is nowhere."""

    __slots__ = ()
    element, width = _INTEGER, 8

    def _make(self, at: int) -> int | None:
        return int.from_bytes(self.sent[at + 4 : at + 8]) or None


def pack_id(value: UUID) -> bytes:
    """As it stands in an array."""
    return _UUID_LENGTH + value.bytes


def send_ids(values: Sequence[UUID | None]) -> bytes:
    """A uuid[], for an argument of rag.uuid_list."""
    if isinstance(values, PackedIds):
        return values.sent
    return _array(_UUID, len(values), b"".join([_NULL if value is None else pack_id(value) for value in values]))


def send_numbers(values: Sequence[float]) -> bytes:
    """A float8[], for an argument of rag.float8_list."""
    if isinstance(values, PackedNumbers):
        return values.sent
    return _array(_FLOAT8, len(values), b"".join([_FLOAT8_ELEMENT.pack(8, value) for value in values]))


def send_texts(values: Sequence[str]) -> bytes:
    """A text[], for an argument of rag.text_list."""
    made = {value: struct.pack(">i", len(text := value.encode())) + text for value in set(values)}
    return _array(_TEXT, len(values), b"".join([made[value] for value in values]))


def _array(element: int, size: int, body: bytes) -> bytes:
    if not size:
        return _EMPTY.pack(0, 0, element)
    # that there are no nulls is not taken on trust: the server looks for itself
    return _HEAD.pack(1, 0, element, size, 1) + body
