"""Work for a client ends when the client leaves, and nobody else is cancelled for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from cairn.interfaces.http.running import until_gone


class Client:
    """Is there until `gone` is set."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.request = Request({"type": "http", "headers": []}, self._receive)

    async def _receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def forever(ended: Callable[[], None]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended()


async def test_the_result_of_the_work_and_its_errors() -> None:
    async def broken() -> None:
        raise ValueError("no")

    client = Client()
    assert await until_gone(client.request, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="no"):
        await until_gone(client.request, broken())
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1, "nobody watches any more"


async def test_a_client_that_leaves_ends_the_work_and_only_that() -> None:
    client, ends = Client(), []
    asyncio.get_running_loop().call_soon(client.gone.set)
    with pytest.raises(ClientDisconnect):
        await until_gone(client.request, forever(lambda: ends.append(1)))
    assert ends == [1]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_who_is_cancelled_by_others_is_cancelled() -> None:
    client, ends = Client(), []
    task = asyncio.create_task(until_gone(client.request, forever(lambda: ends.append(1))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ends, task.cancelled()) == ([1], True)


async def test_a_deadline_around_it_is_a_deadline() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as deadline:
            loop.call_soon(deadline.reschedule, loop.time())
            await until_gone(Client().request, forever(lambda: None))

    with pytest.raises(TimeoutError):
        await work()


async def test_leaving_as_the_work_ends_cancels_nothing_afterwards() -> None:
    for turns in range(8):
        client = Client()

        async def work(client: Client = client, turns: int = turns) -> str:
            client.gone.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            return "done"

        try:
            assert await until_gone(client.request, work()) == "done"
        except ClientDisconnect:
            assert turns, "it was done before anybody could leave"
        for _ in range(5):
            await asyncio.sleep(0)
