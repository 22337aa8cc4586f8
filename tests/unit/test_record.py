"""Searches of one run, side by side: how many at a time, and in what order they are told."""

from __future__ import annotations

import asyncio

from cairn.domain.ids import new_id
from cairn.domain.passage import SearchResult
from cairn.domain.question import Question
from cairn.errors import DatabaseUnavailableError
from cairn.runs.context import AT_ONCE, Record

NOTHING = SearchResult((), new_id(), ("lexical",), {}, True, (), {}, {}, {}, 0)


async def test_searches_run_two_at_a_time_and_are_told_in_the_order_they_were_asked_for() -> None:
    record, under_way, most = Record(Question("q", "c", new_id())), 0, 0

    async def search(turns: int, fails: bool) -> SearchResult:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(turns):
            await asyncio.sleep(0)
        under_way -= 1
        if fails:
            raise DatabaseUnavailableError("gone")
        return NOTHING

    asked = [("a", 9, False), ("b", 1, False), ("c", 1, True), ("d", 5, False), ("e", 0, False)]
    ended = await asyncio.gather(
        *(record.searched("tool", name, lambda t=turns, f=fails: search(t, f)) for name, turns, fails in asked),
        return_exceptions=True,
    )
    assert most == AT_ONCE == 2
    assert [done.query for done in record.searches] == ["a", "b", "d", "e"]
    assert [isinstance(one, DatabaseUnavailableError) for one in ended] == [False, False, True, False, False]
    assert record.timings_ms["retrieve"] >= 0
    assert record.graph is None
