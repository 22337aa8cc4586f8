"""A run in this process: one log, any number of readers, and exactly one terminal event on every path."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from cairn.domain.answer import Answer, Coverage
from cairn.domain.event import TERMINAL, Answered, Cancelled, Event, Failed, Progress, RunStarted, Token
from cairn.domain.question import Question
from cairn.errors import CairnError, ConflictError, ProviderTimeoutError, StoppingError
from cairn.runs.context import Report
from cairn.runs.log import BEHIND, MemoryLog
from cairn.runs.task import Task, Work, final, held
from tests.waiting import hang_guard


def answer(question: Question) -> Answer:
    return Answer(
        "Stones.", (), (), 1.0, "yes", None, None, (), Coverage(True, 1, 1), {}, (), None, question.run_id, {"total": 1.0}
    )  # fmt: skip


async def save_nothing(end: Event) -> Event:
    return end


class Started:
    """A task, with what was told about its end."""

    def __init__(self, work: Work, save: Callable[[Event], Awaitable[Event]] = save_nothing) -> None:
        self.question = Question("What?", "stones", uuid4())
        self.ends: list[Event] = []
        self.task = Task(self.question, MemoryLog(), save, self.ends.append)
        self.task.start(work)

    async def events(self) -> list[Event]:
        """All events, checked: the first says that it began, the last alone is terminal and was told once."""
        async with hang_guard():
            events = [item.event async for item in self.task.events()]
        assert isinstance(events[0], RunStarted)
        assert [isinstance(event, TERMINAL) for event in events] == [False] * (len(events) - 1) + [True]
        assert self.ends == events[-1:]
        return events


async def waits(report: Report) -> Any:
    report(Progress("retrieve", 40))
    await asyncio.Event().wait()


# --- one end ------------------------------------------------------------------------------------------------------------


async def test_an_answer_ends_it() -> None:
    made: list[Answer] = []

    async def answers(report: Report) -> Answer:
        report(Token("Stones."))
        made.append(answer(Question("What?", "stones", uuid4())))
        return made[0]

    assert (await Started(answers).events())[1:] == [Token("Stones."), Answered(made[0])]


@pytest.mark.parametrize(
    ("error", "code"),
    [(ZeroDivisionError(), "internal"), (ProviderTimeoutError("too late"), "provider-timeout"), (SystemError(), "internal")],
)  # fmt: skip
async def test_what_it_fails_with_ends_it(error: Exception, code: str) -> None:
    async def fails(report: Report) -> Any:
        report(Token("a"))
        await asyncio.sleep(0)
        raise error

    last = (await Started(fails).events())[-1]
    assert isinstance(last, Failed)
    assert last.error.code == code


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_a_cancellation_ends_it_also_before_it_has_begun(turns: int) -> None:
    started = Started(waits)
    for _ in range(turns):
        await asyncio.sleep(0)
    started.task.cancel()
    started.task.cancel()
    assert (await started.events())[-1] == Cancelled(started.question.run_id)


async def test_asking_again_does_not_disturb_what_it_gives_back() -> None:
    given_back = []

    async def work(report: Report) -> Any:
        try:
            await waits(report)
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            given_back.append("the connection")

    started = Started(work)
    for _ in range(4):
        await asyncio.sleep(0)
        started.task.cancel()
    assert (await started.events())[-1] == Cancelled(started.task.id)
    assert given_back == ["the connection"]


async def test_a_cancellation_that_nobody_asked_for_is_a_failure() -> None:
    async def work(report: Report) -> Any:
        broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        broken.cancel()
        await broken

    end = (await Started(work).events())[-1]
    assert isinstance(end, Failed)
    assert end.error.code == CairnError("").code


async def test_a_stopping_server_ends_it_as_failed() -> None:
    started = Started(waits)
    started.task.cancel(Failed(StoppingError("the server is stopping")))
    last = (await started.events())[-1]
    assert isinstance(last, Failed)
    assert last.error.code == "stopping"


async def test_who_asked_and_leaves_ends_it() -> None:
    started = Started(waits)
    async with held(started.task) as task:
        async for item in task.events():
            if isinstance(item.event, Progress):
                break
    assert started.ends == [Cancelled(started.question.run_id)]
    await started.events()


SHORTLY = 0.05


async def test_a_deadline_of_who_asked_ends_it() -> None:
    started = Started(waits)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SHORTLY):
            await final(started.task)
    assert (await started.events())[-1] == Cancelled(started.question.run_id)


async def test_a_bug_in_saving_leaves_the_end_as_it_was() -> None:
    async def breaks(end: Event) -> Event:
        raise ZeroDivisionError

    started = Started(waits, breaks)
    started.task.cancel()
    assert (await started.events())[-1] == Cancelled(started.question.run_id)


async def test_what_is_saved_is_handed_out_and_a_late_cancellation_changes_nothing() -> None:
    saving = asyncio.Event()

    async def answers(report: Report) -> Answer:
        return answer(Question("What?", "stones", uuid4()))

    async def save(end: Event) -> Event:
        assert isinstance(end, Answered)
        saving.set()
        await asyncio.sleep(0.02)
        return Answered(end.answer, uuid4())

    started = Started(answers, save)
    await saving.wait()
    started.task.cancel()
    last = (await started.events())[-1]
    assert isinstance(last, Answered)
    assert last.message_id is not None


async def test_nothing_is_said_after_the_end() -> None:
    said: list[Report] = []

    async def fails(report: Report) -> Any:
        said.append(report)
        raise CairnError("no")

    started = Started(fails)
    before = await started.events()
    said[0](Token("late"))
    assert await started.events() == before


async def test_final_raises_what_the_run_came_to() -> None:
    async def fails(report: Report) -> Any:
        raise ProviderTimeoutError("too late")

    with pytest.raises(ProviderTimeoutError):
        await final(Started(fails).task)
    started = Started(waits)
    asyncio.get_running_loop().call_later(0.02, started.task.cancel)
    with pytest.raises(ConflictError, match="cancelled"):
        await final(started.task)


# --- many readers -------------------------------------------------------------------------------------------------------


async def test_readers_come_and_go_and_see_the_same() -> None:
    go = asyncio.Event()

    async def talks(report: Report) -> Any:
        for n in range(50):
            report(Token(f"{n} "))
            await asyncio.sleep(0)
        await go.wait()
        raise CairnError("done")

    started = Started(talks)
    async for item in started.task.events():
        if item.seq == 10:
            break
    readers = [asyncio.create_task(started.events()) for _ in range(3)]
    await asyncio.sleep(0.01)
    go.set()
    first, *others = await asyncio.gather(*readers)
    assert all(other == first for other in others)
    later = [item async for item in started.task.events(after=40)]
    assert (later[0].seq, later[-1].event) == (41, first[-1])
    assert started.task.progress is None


async def test_a_reader_far_behind_gets_larger_pieces_and_all_of_the_text() -> None:
    """Nobody's slowness holds up the run, and a log that nobody reads stays small."""
    pieces = [f"{n} " for n in range(20 * BEHIND)]

    async def talks(report: Report) -> Any:
        for piece in pieces:
            report(Token(piece))
        raise CairnError("done")

    events = await Started(talks).events()
    assert len(events) < 2 * BEHIND
    assert "".join(event.text for event in events if isinstance(event, Token)) == "".join(pieces)
