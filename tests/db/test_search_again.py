"""When retrievers run again: one row for each reason, and what the search finds nevertheless."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cairn.domain.passage import LEGS, Leg, SearchResult
from cairn.domain.plan import FusionWeights
from cairn.retrieve.context import Reason
from cairn.service.search import get_trace
from cairn.settings import GraphSettings, Settings, SettingsStore
from cairn.store import graph
from cairn.wiring import Services
from tests.db.test_graph_leg import FILM, NOISE, QUESTION
from tests.documents import find, index_texts

TEXT: tuple[Leg, ...] = ("vector", "lexical")


@dataclass(frozen=True)
class House:
    """A collection with a few documents, and the means to disturb a search of it."""

    services: Services
    sql: Callable[[str], Any]
    monkeypatch: pytest.MonkeyPatch

    async def search(self, services: Services | None = None, query: str = "Tim Burton", **more: Any) -> SearchResult:
        return await find(services or self.services, query, cache=False, **{"legs": TEXT, **more})

    def with_other_default_model(self) -> Services:
        """The same model by another id: its vectors are not those that serve the collection."""
        deps = self.services.search_deps
        return replace(self.services, search_deps=replace(deps, model=replace(deps.model, id=deps.model.id + 1)))


@pytest.fixture
async def house(services: Services, psql: Any, database: str, monkeypatch: pytest.MonkeyPatch) -> House:
    await index_texts(services, FILM | NOISE)
    name = database.split("/")[3].split("?")[0]
    return House(services, lambda statement: psql(statement, database=name), monkeypatch)


async def nothing_happens(house: House) -> SearchResult:
    return await house.search(legs=LEGS)


async def another_model_serves(house: House) -> SearchResult:
    return await house.search(house.with_other_default_model())


async def another_model_serves_documents(house: House) -> SearchResult:
    """Grouping goes stepwise from the beginning."""
    return await house.search(house.with_other_default_model(), group_by="document")


async def a_document_is_replaced_meanwhile(house: House) -> SearchResult:
    statement, changed = graph.find_linked_at_epoch, []

    async def late(*given: Any) -> Any:
        if not changed:
            changed.append(await index_texts(house.services, {"director": f"{FILM['director']} It rained."}))
        return await statement(*given)

    house.monkeypatch.setattr(graph, "find_linked_at_epoch", late)
    return await house.search(query=QUESTION, legs=LEGS)


async def a_retriever_fails_in_the_statement(house: House) -> SearchResult:
    house.sql("DROP FUNCTION rag.lexical_best")
    return await house.search()


async def a_retriever_fails_in_the_transaction(house: House) -> SearchResult:
    house.sql("DROP FUNCTION rag.lexical_best")
    return await house.search(group_by="document")


async def the_graph_fails_after_the_statement(house: House) -> SearchResult:
    house.sql("DROP FUNCTION rag.graph_leg_at")
    house.sql("DROP FUNCTION rag.graph_leg")
    return await house.search(query=QUESTION, legs=LEGS)


async def the_graph_alone_finds_little(house: House) -> SearchResult:
    by_type = SettingsStore(initial=Settings(graph=GraphSettings(routing="type")))
    weights = FusionWeights(0.1, 0.9, "GRAPH_ONLY")
    return await house.search(replace(house.services, settings=by_type), "who tells it?", legs=LEGS, weights=weights)


@dataclass(frozen=True)
class Case:
    """What happens, why retrievers run again, and which of them fail in the end."""

    happens: Callable[[House], Awaitable[SearchResult]]
    reasons: tuple[Reason, ...]
    failed: tuple[Leg, ...] = ()


CASES = [
    Case(nothing_happens, ()),
    Case(another_model_serves, (Reason.OTHER_MODEL, Reason.VECTORS_MISSING)),
    Case(another_model_serves_documents, (Reason.VECTORS_MISSING,)),
    Case(a_document_is_replaced_meanwhile, (Reason.COLLECTION_CHANGED,)),
    Case(a_retriever_fails_in_the_statement, (Reason.STATEMENT_FAILED,), ("lexical",)),
    Case(a_retriever_fails_in_the_transaction, (Reason.RETRIEVER_FAILED,), ("lexical",)),
    Case(the_graph_fails_after_the_statement, (Reason.STATEMENT_FAILED,), ("graph",)),
    Case(the_graph_alone_finds_little, (Reason.GRAPH_UNSURE,)),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.happens.__name__)
async def test_retrievers_run_again_for_this_reason_alone(house: House, case: Case) -> None:
    """The search answers, names what failed, and the trace tells why it went again."""
    result = await case.happens(house)
    assert result.passages
    assert result.retries == tuple(reason.value for reason in case.reasons)
    assert tuple(result.legs_failed) == case.failed
    assert [problem.split()[1] for problem in result.degraded] == list(case.failed)
    plan = (await get_trace(house.services, result.trace_id)).plan
    assert plan.get("retries", []) == list(result.retries)


def test_every_reason_is_in_the_table() -> None:
    assert {reason for case in CASES for reason in case.reasons} == set(Reason)
