"""A gate: places, a queue, and no place that gets lost."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

import pytest

from cairn.errors import OverloadedError
from cairn.runs.limits.admission import Admission, Gate
from cairn.settings import AdmissionSettings
from tests.waiting import hang_guard, until


def make_gate(places: int = 2, room: int = 2, wait_seconds: float = 60) -> Gate:
    return Gate("searches", lambda: (places, room), lambda: wait_seconds)


async def test_who_gives_up_in_the_moment_in_which_a_place_comes_loses_none() -> None:
    """It was told to give up, and the place comes before it has heard of it: nothing of the loop runs between the two."""
    gate = make_gate(places=1, room=2)
    release = await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await until(lambda: gate.waiting == 1)
    waiting.cancel()
    release()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (gate.running, gate.waiting) == (0, 0)
    (await gate.enter())()


async def test_places_are_given_in_the_order_of_coming_and_more_than_that_is_refused() -> None:
    gate, order = make_gate(), []

    async def come(number: int) -> Callable[[], None]:
        release = await gate.enter()
        order.append(number)
        return release

    first, second = await come(1), await come(2)
    third, fourth = asyncio.create_task(come(3)), asyncio.create_task(come(4))
    await asyncio.sleep(0)
    assert (gate.running, gate.waiting, gate.is_full) == (2, 2, True)
    with pytest.raises(OverloadedError) as refused:
        await gate.enter()
    assert int(refused.value.headers["Retry-After"]) >= 1
    async with hang_guard():
        second()
        (await third)()
        first()
        (await fourth)()
    assert order == [1, 2, 3, 4]
    assert (gate.running, gate.waiting) == (0, 0)


async def test_giving_back_twice_gives_back_once() -> None:
    gate = make_gate(places=1)
    release = await gate.enter()
    release()
    release()
    assert gate.running == 0


async def test_who_waits_too_long_is_refused_and_takes_no_place() -> None:
    gate = make_gate(places=1, wait_seconds=0.01)
    release = await gate.enter()
    with pytest.raises(OverloadedError):
        await gate.enter()
    release()
    assert (gate.running, gate.waiting) == (0, 0)


async def test_who_leaves_the_queue_takes_no_place_even_in_the_moment_of_the_turn() -> None:
    gate = make_gate(places=1)
    release = await gate.enter()
    left, turned = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.sleep(0)
    assert gate.waiting == 1
    release()  # the turn of the other one, which leaves before it notices
    turned.cancel()
    await asyncio.gather(left, turned, return_exceptions=True)
    assert (gate.running, gate.waiting) == (0, 0)


async def test_limits_of_the_moment_count() -> None:
    settings = AdmissionSettings(searches=1, searches_waiting=0)
    admission = Admission(lambda: settings)
    await admission.search.enter()
    assert admission.search.is_full
    assert not admission.answer.is_full
    settings = AdmissionSettings(searches=2, searches_waiting=0)
    assert not admission.search.is_full


@pytest.mark.parametrize(
    ("kind", "places", "room"),
    [
        ("search", "searches", "searches_waiting"), ("answer", "answers", "answers_waiting"),
        ("ingest", "uploads", "uploads_waiting"), ("light", "requests", "requests_waiting"),
    ],
)  # fmt: skip
async def test_each_kind_has_its_own_settings(kind: str, places: str, room: str) -> None:
    gate = Admission(lambda: AdmissionSettings(**{places: 1, room: 1, "wait_seconds": 0.01})).gates[kind]
    async with gate.admitted():
        assert not gate.is_full
        with pytest.raises(OverloadedError):
            await gate.enter()
    assert gate.running == 0


async def test_who_is_expected_has_room_and_nobody_else_takes_it() -> None:
    gate = make_gate(places=1, room=1)
    release = await gate.enter()
    with gate.expecting():
        assert gate.is_full
        with pytest.raises(OverloadedError), gate.expecting():
            pass
        entering = asyncio.create_task(gate.enter())  # a copy of this context: it is the one that is expected
        await until(lambda: gate.waiting == 1)
        assert (gate.expected, gate.is_full) == (0, True)
        release()
        (await entering)()
    assert (gate.running, gate.waiting, gate.expected) == (0, 0, 0)


async def test_who_was_not_expected_does_not_take_the_last_room_of_one_who_is() -> None:
    gate = make_gate(places=1, room=0)
    stranger = contextvars.copy_context()
    with gate.expecting():
        with pytest.raises(OverloadedError):
            await asyncio.create_task(gate.enter(), context=stranger)
        (await gate.enter())()
    (await asyncio.create_task(gate.enter(), context=stranger))()
    assert (gate.running, gate.expected) == (0, 0)


async def test_who_is_expected_and_does_not_come_is_not_counted_any_more() -> None:
    gate = make_gate(places=1, room=0)
    with gate.expecting() as coming:
        coming.over()
        assert not gate.is_full
        coming.over()
    assert gate.expected == 0
