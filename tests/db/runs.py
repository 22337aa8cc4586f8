"""Asking in tests: a small handbook, and one run as its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cairn.domain.answer import Answer
from cairn.domain.document import Source
from cairn.domain.event import TERMINAL, Answered, Event, RunStarted
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.service.ask import start
from cairn.service.documents import index_now
from cairn.settings import Settings
from cairn.wiring import Services

HANDBOOK = {
    "leave.md": "# Leave\n\nEmployees have 30 days of leave per year. Leave must be requested two weeks before it begins. "
    "Unused leave expires at the end of March of the following year.\n\n## Parental leave\n\nParental leave lasts up to 36 "
    "months. It is unpaid, but the position is kept. Applications go to the personnel office in writing.",
    "pay.md": "# Pay\n\nSalaries are paid on the 25th of each month. A bonus of 5 percent is paid in December. Overtime is "
    "paid at 150 percent of the hourly rate.",
    "travel.md": "# Travel\n\nTravel costs are refunded within 30 days. The second class of trains is booked. Hotels may "
    "cost up to 120 euros per night in large cities.",
}
LEAVE = "How many days of leave do employees have?"
LEAVE_QUOTED = (
    "Employees have 30 days of leave per year. [1] Leave must be requested two weeks before it begins. Unused leave expires "
    "at the end of March of the following year."
)
"""The answer without a model: the quotation in its section."""


async def fill(services: Services, texts: dict[str, str] = HANDBOOK, collection: str = "handbook") -> None:
    outcomes = await index_now(
        services, collection, [Source(name, name, text.encode()) for name, text in texts.items()]
    )
    assert all(hasattr(outcome, "document_id") for outcome in outcomes), outcomes


async def read(services: Services, question: Question) -> list[Event]:
    """All events of a run."""
    return [item.event async for item in (await start(services, question)).events()]


async def events_of(services: Services, text: str, collection: str = "handbook", **more: Any) -> list[Event]:
    """The run's events; whatever happens, the first says that it began and the last alone is terminal."""
    events = await read(services, Question(text, collection, new_id(), **more))
    assert isinstance(events[0], RunStarted)
    assert [isinstance(event, TERMINAL) for event in events] == [False] * (len(events) - 1) + [True]
    return events


def answer(events: Sequence[Event]) -> Answer:
    last = events[-1]
    assert isinstance(last, Answered), last
    return last.answer


async def answered(services: Services, text: str, **more: Any) -> Answer:
    return answer(await events_of(services, text, **more))


def change(services: Services, section: str, **values: Any) -> None:
    current: Settings = services.settings.current
    changed = getattr(current, section).model_copy(update=values)
    services.settings.current = current.model_copy(update={section: changed})
