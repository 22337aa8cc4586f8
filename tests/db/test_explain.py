"""analyst.explain_passage: why a passage was or was not returned, for the analysts of its tenant only."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cairn.domain.ids import new_id
from cairn.domain.passage import SearchRequest, SearchResult
from cairn.service.documents import delete_document, index_now
from cairn.service.search import run_search
from cairn.settings import Settings
from cairn.wiring import Services
from tests.db.test_analyst import TEXTS, Login, grant_login, index, login
from tests.documents import text_source

__all__ = ["login"]  # a fixture


async def explained(connection: Any, trace: UUID, passage: UUID) -> dict[str, Any]:
    """Verdict, rank and score by stage."""
    rows = await connection.fetch("SELECT * FROM analyst.explain_passage($1, $2)", trace, passage)
    assert all(row["verdict"] for row in rows), rows
    return {row["stage"]: row for row in rows}


async def passage_of(connection: Any, external_id: str, collection: str = "stones") -> UUID:
    return await connection.fetchval(
        "SELECT p.passage_id FROM analyst.passages p JOIN analyst.documents d USING (document_id) "
        "WHERE d.external_id = $1 AND d.collection = $2 ORDER BY p.passage_id LIMIT 1", external_id, collection,
    )  # fmt: skip


async def search(services: Services, query: str, **more: Any) -> SearchResult:
    found = await run_search(services, SearchRequest(query=query, collections=("stones",), **more))
    await services.traces.flush()
    return found


def change(services: Services, section: str, **values: Any) -> None:
    current: Settings = services.settings.current
    changed = getattr(current, section).model_copy(update=values)
    services.settings.current = current.model_copy(update={section: changed})


async def test_kept_and_dropped_candidates_are_told_by_number(services: Services, owner: Any, login: Login) -> None:
    await index(services)
    alice = await grant_login(owner, login, "analyst_alice", "one")
    found = await search(services, "dark rock of lava", top_k=2)
    for number, passage in enumerate(found.passages, start=1):
        told = await explained(alice, found.trace_id, passage.passage_id)
        assert told["result"]["verdict"] == f"kept as number {number} of 2"
        assert told["fusion"]["score"] == pytest.approx(passage.score)
        for leg, rank in passage.ranks.items():
            assert told[leg]["rank"] == rank
            assert told[leg]["verdict"].startswith(f"found at rank {rank} of")
    bread = await explained(alice, found.trace_id, await passage_of(alice, "bread"))
    assert bread["lexical"]["verdict"].startswith(
        "not matched: the passage (english) holds none of the words dark, lava, rock"
    )
    assert bread["lexical"]["score"] is None
    assert bread["vector"]["rank"] == 4
    assert bread["result"]["verdict"] == f"dropped: rank {bread['fusion']['rank']} after fusion, and the result holds 2"


async def test_a_match_beyond_the_depth_has_the_score_and_rank_it_would_have_had(
    services: Services, owner: Any
) -> None:
    """The number is that of a search deep enough to reach it."""
    change(services, "lexical", candidates=20)
    await index(services, {f"d{i}": f"granite {'ridge ' * (i + 1)} number{i}" for i in range(40)})
    found = await search(services, "granite summit", legs=("lexical",), top_k=5)
    deep = await search(services, "granite summit", legs=("lexical",), top_k=40)
    beyond = deep.legs[0].passage_ids[30]
    told = await explained(owner, found.trace_id, beyond)
    assert told["lexical"]["rank"] == 31
    assert told["lexical"]["score"] == pytest.approx(deep.legs[0].scores[30])
    assert "not among its 20 candidates" in told["lexical"]["verdict"]
    assert "it lacks summit" in told["lexical"]["verdict"]
    assert told["result"]["verdict"] == "not returned"
    await index(services, {"more": "granite"})
    assert "has changed since" in (await explained(owner, found.trace_id, beyond))["lexical"]["verdict"]


async def test_other_collections_later_documents_and_deletion(services: Services, owner: Any) -> None:
    await index(services)
    await index(services, {"elsewhere": TEXTS["basalt"]}, collection="other")
    found = await search(services, "dark rock of lava")
    basalt = await passage_of(owner, "basalt")
    elsewhere = await explained(owner, found.trace_id, await passage_of(owner, "elsewhere", "other"))
    assert list(elsewhere) == ["collection"]
    assert elsewhere["collection"]["verdict"] == "it is in other, which was not searched (stones was)"
    await index(services, {"late": TEXTS["basalt"]})
    assert (
        "indexed after the run"
        in (await explained(owner, found.trace_id, await passage_of(owner, "late")))["collection"]["verdict"]
    )

    document = await owner.fetchval("SELECT document_id FROM analyst.documents WHERE external_id = 'basalt'")
    await delete_document(services, "stones", document)
    gone = await explained(owner, found.trace_id, basalt)
    assert "deleted or replaced since" in gone["collection"]["verdict"]
    assert gone["result"]["verdict"].startswith("kept as number 1 of")
    never = await explained(owner, found.trace_id, new_id())
    assert never["collection"]["verdict"].startswith("there is no such passage now")
    assert never["result"]["verdict"] == "not returned"


async def test_operators_filters_and_grouping_are_named(services: Services, owner: Any) -> None:
    sources = [text_source(name, text, title=name, kind="stone") for name, text in TEXTS.items()]
    long = "Granite is found on the ridge. " * 120
    await index_now(services, "stones", [*sources, text_source("long", long, title="long", kind="ridge")])
    found = await search(services, 'rock -lava "coarse rock"')
    told = await explained(owner, found.trace_id, await passage_of(owner, "basalt"))
    assert told["conditions"]["verdict"] == 'kept out: it lacks text:"coarse rock"; it has the excluded text:"lava"'
    assert told["result"]["verdict"] == "not returned"
    assert "conditions" not in await explained(owner, found.trace_id, found.passages[0].passage_id)

    filtered = await search(services, "rock", filters={"kind": "ridge"})
    told = await explained(owner, filtered.trace_id, await passage_of(owner, "basalt"))
    assert "does not contain the filter" in told["conditions"]["verdict"]

    grouped = await search(services, "granite on the ridge", group_by="document", top_k=3)
    hits = await owner.fetch(
        "SELECT passage_id FROM analyst.retrieval_hits WHERE run_id = $1 AND leg = 'fused' AND fate = 'same document'",
        grouped.trace_id,
    )
    told = await explained(owner, grouped.trace_id, hits[0]["passage_id"])
    assert told["result"]["verdict"].startswith("dropped by grouping")


async def test_runs_without_candidates_say_why(services: Services, owner: Any) -> None:
    """trace.sampleRate keeps the run and drops its candidates; a degraded run keeps them."""
    await index(services)
    change(services, "trace", sample_rate=0.0)
    found = await search(services, "dark rock of lava")
    basalt = await passage_of(owner, "basalt")
    told = await explained(owner, found.trace_id, basalt)
    assert told["trace"]["verdict"] == "the candidates of this run were not kept (trace.sampleRate)"
    run = await owner.fetchrow("SELECT * FROM analyst.retrieval_runs WHERE run_id = $1", found.trace_id)
    assert run["outcome"] == "ok"

    await owner.execute("ALTER TABLE rag.mentions RENAME entity_id TO gone")
    degraded = await search(services, "Is Basalt Island dark rock?", legs=("vector", "lexical", "graph"), explicit=True)
    assert degraded.degraded
    told = await explained(owner, degraded.trace_id, basalt)
    assert told["graph"]["verdict"].startswith("this search failed: ")
    assert told["result"]["verdict"].startswith("kept")


async def test_analysts_of_another_tenant_learn_nothing(services: Services, owner: Any, login: Login) -> None:
    await index(services)
    found = await search(services, "dark rock of lava")
    await owner.execute("SELECT rag.ensure_tenant('two')")
    bob = await grant_login(owner, login, "analyst_bob", "two")
    for role in (bob,):
        with pytest.raises(asyncpg.NoDataFoundError, match="there is no run"):
            await explained(role, found.trace_id, found.passages[0].passage_id)
        for helper in ("rag.missing_words('a', 'english', 1, '{}')", "rag.lexical_question(1, NULL, 'x')"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await role.fetch(f"SELECT {helper}")
