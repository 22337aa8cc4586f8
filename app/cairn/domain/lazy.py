"""Sequences whose items are made when somebody reads them: a search finds hundreds of candidates and shows ten; the trace reads
the others after the answer has gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """Equal to every sequence of the same items."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __repr__(self) -> str:
        return repr(tuple(self))


class Rows(Lazy[T]):
    """Parallel arrays of one length, read as rows: `make(*row)` each time that one is read."""

    __slots__ = ("_make", "columns")

    def __init__(self, make: Callable[..., T], *columns: Sequence[Any]) -> None:
        self._make = make
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[T]:
        return map(self._make, *self.columns)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return list(map(self._make, *[column[at] for column in self.columns]))
        return self._make(*[column[at] for column in self.columns])


class Deferred(Lazy[T]):
    """What `make` gives, once somebody reads it."""

    __slots__ = ("_made",)

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._made: Callable[[], Sequence[T]] | Sequence[T] = make

    def _items(self) -> Sequence[T]:
        if callable(self._made):
            self._made = self._made()
        return self._made

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[T]:
        return iter(self._items())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._items()[at]


def columns_of(rows: Sequence[tuple[Any, ...]]) -> tuple[Sequence[Any], ...]:
    """The parallel arrays of at least one row."""
    return rows.columns if isinstance(rows, Rows) else cast(tuple[Sequence[Any], ...], tuple(zip(*rows, strict=True)))
