"""Asking a question: a run is begun, with what it is made with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID

from cairn.domain.answer import Answer
from cairn.domain.document import check_filters
from cairn.domain.event import Event, Surface
from cairn.domain.ids import new_id
from cairn.domain.principal import Principal
from cairn.domain.question import Question, Turn
from cairn.domain.trace import RunTrace
from cairn.errors import CairnError, InputError
from cairn.providers.requests import metered_by
from cairn.retrieve.trace import sample_trace
from cairn.runs.context import Deps, Record, Report
from cairn.runs.library import Library
from cairn.runs.limits.slots import RunSlots
from cairn.runs.recall import widest, window
from cairn.runs.registry import Tracing
from cairn.runs.run import answer
from cairn.runs.searcher import Searcher
from cairn.runs.sources import sources_of
from cairn.runs.task import OnEnd, Task, final, held
from cairn.runs.trace import run_trace
from cairn.service.epochs import of_one_state
from cairn.service.runs import check_free
from cairn.settings import Settings
from cairn.store import runs
from cairn.strategies.registry import all_strategies, strategy_names
from cairn.wiring import Services

__all__ = [
    "Task", "ask", "at_temperature", "check_strategy", "deps_for", "final", "held", "sources_of", "start", "strategy_names",
    "told_before",
]  # fmt: skip

TOLD_CHARS: Final = 20_000
"""Of a message that a caller tells of; no answer of ours is longer."""


def check_strategy(name: str) -> str:
    """The name. Raises InputError that lists the strategies there are."""
    if name not in strategy_names():
        raise InputError(f"There is no strategy {name[:80]!r}. There are: {', '.join(strategy_names())}.")
    return name


def told_before(said: Iterable[tuple[Literal["user", "assistant"], str]], settings: Settings) -> tuple[Turn, ...]:
    """What was said before, as the caller tells it, for `Question.history`: as much of the end as a session would recall."""
    turns = [Turn(new_id(), role, text[:TOLD_CHARS], datetime.now(UTC)) for role, text in said]
    return window(tuple(turns), widest(settings.memory))


def at_temperature(settings: Settings, temperature: float | None) -> Settings:
    """Settings of a run whose answers are written at it."""
    if temperature is None:
        return settings
    qa = settings.rag.qa.model_copy(update={"temperature": temperature})
    return settings.model_copy(update={"rag": settings.rag.model_copy(update={"qa": qa})})


async def start(
    services: Services,
    question: Question,
    *,
    surface: Surface = "query",
    resumable: bool = False,
    named: bool = False,
    settings: Settings | None = None,
    record: Record | None = None,
    on_end: OnEnd | None = None,
) -> Task:
    """Begin to answer a question. The run leaves a trace on every path, and in a session what was said. A collection that
    does not exist is an empty one: edges that mean another check it first.

    `named`: the caller chose the run id. `settings`: of this run alone. `record` fills as it goes. `on_end` is told the
    terminal event. Raises InputError for an unknown strategy or filters that are too large, ConflictError where the
    id is in use, RateLimitedError, OverloadedError, StoppingError, DatabaseUnavailableError.
    """
    check_strategy(question.strategy)
    check_filters(question.filters or {})
    services = replace(services, principal=await _asking(services))
    if named:
        await check_free(services, question.run_id)
    chosen, filled, began = settings or services.settings.current, record or Record(question), datetime.now(UTC)
    await services.spending.check_left(services.principal)
    filled.account = services.spending.allowance(services.principal)

    async def work(report: Report) -> Answer:
        try:
            with metered_by(filled.meter(chosen)):
                return await answer(question, deps_for(services, chosen), filled, report)
        finally:
            await place.leave()

    def trace(end: Event | None) -> RunTrace:
        made = run_trace(filled, end, principal=services.principal, started_at=began, settings_revision=chosen.revision)
        return sample_trace(made, chosen.trace.sample_rate)

    def leave_trace(end: Event) -> None:
        place.leave_soon()  # of a run that was cancelled before it did anything
        if chosen.trace.enabled:
            services.traces.record(trace(end))
        if on_end:
            on_end(end)

    def note() -> None:
        services.traces.record(trace(None))

    traced = Tracing(trace(None), note) if chosen.trace.enabled else None
    place = await _take_place(services)
    try:
        with of_one_state():  # the run begins within
            return await services.runs.start(
                services.principal, question, work, leave_trace, surface=surface, resumable=resumable, traced=traced,
                give_up_model=filled.give_up_model,
            )  # fmt: skip
    except BaseException:
        await place.leave()
        raise


async def _asking(services: Services) -> Principal:
    """The caller, with the names by which it could read more than everybody when the run began. Where the database does not
    tell, all of them: then the run is for nobody else."""
    principal = services.principal
    try:
        async with services.database.primary.transaction(principal, readonly=True) as connection:
            held = await runs.asked_as(connection)
    except CairnError:
        held = principal.names
    return replace(principal, caller=replace(principal.caller, asked_as=held))


@dataclass(frozen=True, slots=True)
class _Place:
    """What a run takes from others while it runs: one of the tenant's slots, and a place at this process. Left as often as
    one likes."""

    slots: RunSlots
    slot: UUID | None
    leave_gate: Callable[[], None]

    async def leave(self) -> None:
        self.leave_gate()
        await self.slots.release(self.slot)

    def leave_soon(self) -> None:
        self.leave_gate()
        self.slots.release_soon(self.slot)


async def _take_place(services: Services) -> _Place:
    """Raises RateLimitedError, OverloadedError."""
    slot = await services.slots.take(services.principal)
    try:
        return _Place(services.slots, slot, await services.admission.answer.enter())
    except BaseException:
        await services.slots.release(slot)
        raise


async def ask(services: Services, question: Question) -> Answer:
    """The answer to a question, in one piece. Raises what the run failed with."""
    return (await final(await start(services, question))).answer


def has_model(services: Services) -> bool:
    """Whether a chat model writes answers now. Raises ProviderError, SettingsError."""
    return services.chat_for(services.settings.current) is not None


def model_name(services: Services) -> str:
    """Of the chat model that writes answers now; "" where none does. Raises ProviderError, SettingsError."""
    chat = services.chat_for(services.settings.current)
    return chat.name if chat else ""


def deps_for(services: Services, settings: Settings) -> Deps:
    """What runs are made with: one snapshot of the settings, and the caller's rows. Raises ProviderError, SettingsError."""
    return Deps(
        searcher=Searcher(services.search_deps, services.principal, settings),
        library=Library(services.database, services.principal),
        exemplars=services.exemplars,
        judge=services.search_deps.judge,
        judge_model=services.search_deps.judge_model,
        chat=services.chat_for(settings),
        settings=settings,
        strategies=all_strategies(),
        web=services.web_search(settings),
        router=services.routing_chat(settings) if settings.rag.adaptive_routing_enabled else None,
    )
