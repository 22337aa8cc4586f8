"""The graph leg after a search in one statement: no transaction, one state of the collection (ADR 15, 24)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cairn.domain.passage import SearchRequest
from cairn.retrieve.context import Reason
from cairn.settings import RetrieveSettings, Settings, SettingsStore
from cairn.store import graph
from cairn.store import search as store_search
from cairn.wiring import Services
from tests.db.test_graph_leg import ALL, FILM, NOISE, QUESTION, places
from tests.db.test_single_statement import queries_of
from tests.documents import find, index_texts


async def test_following_a_name_takes_no_transaction(services: Services) -> None:
    """ADR 15: the search, the leg, and the passages that the leg brought; nothing around them. Symbols of code need more
    statements than one, which must see the same."""
    await index_texts(services, FILM | NOISE)
    named = SearchRequest(QUESTION, ("test",), top_k=5, legs=ALL, cache=False)
    code = SearchRequest("`Client.send` in `client.py`", ("test",), top_k=5, legs=ALL, cache=False)
    await queries_of(services, named, code)  # the embeddings are known from now on
    sent, (result,) = await queries_of(services, named)
    assert "director" in places(result)
    asked = [name for one in sent for name in re.findall(r"rag\.(\w+)", one)]
    assert asked == ["search_collection", "graph_leg_at", "passages_at"]
    assert len(sent) == 3
    async with services.database.connection() as connection:
        assert not await connection.fetchval("SELECT current_setting('app.tenant', true)")
        assert await connection.fetchval("SELECT count(*) FROM rag.mentions") == 0, "the tenant is gone"
    sent, _ = await queries_of(services, code)
    assert sent[0].startswith("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")


@pytest.mark.parametrize("before", ["find_linked_at_epoch", "passages_at"])
async def test_a_collection_that_changes_meanwhile_is_searched_in_one_snapshot(
    services: Services, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """A document is replaced between the statements of one search: it goes the long way, which sees all of the new state."""
    await index_texts(services, FILM | NOISE)
    room: Any = graph if before == "find_linked_at_epoch" else store_search
    statement, changed = getattr(room, before), []

    async def late(*given: Any) -> Any:
        if not changed:
            changed.append(await index_texts(services, {"director": f"{FILM['director']} It rained."}))
        return await statement(*given)

    first = await find(services, QUESTION, legs=ALL, top_k=5, cache=False)
    monkeypatch.setattr(room, before, late)
    result = await find(services, QUESTION, legs=ALL, top_k=5, cache=False)
    assert changed
    assert result.epochs["test"] > first.epochs["test"]
    assert next(p for p in result.passages if p.external_id == "director").content.endswith("It rained.")
    assert not result.degraded
    assert result.retries == (Reason.COLLECTION_CHANGED.value,)
    assert result.legs_used == ALL
    monkeypatch.undo()
    again = await find(services, QUESTION, legs=ALL, top_k=5, cache=False)
    assert [(p.passage_id, p.ranks) for p in again.passages] == [(p.passage_id, p.ranks) for p in result.passages]


async def test_a_graph_that_takes_too_long_leaves_the_other_legs(services: Services, psql: Any, database: str) -> None:
    """The client's time limit of the short way, then the statement's of the long one."""
    await index_texts(services, FILM)
    slow = (
        "CREATE OR REPLACE FUNCTION rag.question_words(collection uuid, query text, OUT configs text[], "
        "OUT lexemes text[], OUT codes integer[], OUT places integer[], OUT idfs float8[]) "
        "LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); END'"
    )
    psql(slow, database=database.split("/")[3].split("?")[0])
    hasty = replace(
        services, settings=SettingsStore(initial=Settings(retrieve=RetrieveSettings(statement_timeout_ms=400)))
    )
    result = await find(hasty, QUESTION, legs=ALL, cache=False)
    assert result.legs_used == ("vector", "lexical")
    assert "QueryCanceledError" in result.legs_failed["graph"]
