"""The lines and rows that a program prints, in whatever pieces they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.db.dump_file import Printed
from cairn.errors import BackupError

PIECES = st.lists(st.sampled_from([b"\\.", b"\n", b"\\", b".", b"a", b"\t", b"\r", b"\\.\n", b"\n\\.\n"]), max_size=30)


T = TypeVar("T")


async def reading(pieces: list[bytes], use: Callable[[Printed], Awaitable[T]]) -> T:
    """What `use` makes of text that comes in these pieces."""

    class Pipe:
        async def read(self, size: int) -> bytes:
            return left.pop(0) if left else b""

    left = [piece for piece in pieces if piece]
    return await use(Printed(Pipe(), BackupError))


async def _rows_and_rest(printed: Printed) -> tuple[bytes, list[bytes]]:
    rows = b"".join([data async for data in printed.rows()])
    rest = []
    while (line := await printed.line()) is not None:
        rest.append(line)
    return rows, rest


@given(PIECES)
def test_rows_end_at_the_first_line_that_says_so(pieces: list[bytes]) -> None:
    lines = b"".join(pieces).split(b"\n")
    end = lines[:-1].index(b"\\.") if b"\\." in lines[:-1] else None
    if end is None:
        with pytest.raises(BackupError, match="it ends amid the rows of a table"):
            asyncio.run(reading(pieces, _rows_and_rest))
        return
    rows, rest = asyncio.run(reading(pieces, _rows_and_rest))
    assert rows == b"".join(line + b"\n" for line in lines[:end])
    after = lines[end + 1 :]
    assert rest == (after if after[-1] else after[:-1])


def test_a_line_without_an_end_is_not_kept_in_memory() -> None:
    with pytest.raises(BackupError, match="longer than any of pg_dump"):
        asyncio.run(reading([b"x" * 1000] * 100, lambda printed: printed.line()))
