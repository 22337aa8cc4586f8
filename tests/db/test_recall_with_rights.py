"""What the vectors of a collection find for who may read a part of it, beside comparing all of that part: alone, under filters
and over two collections. Of real sizes `tests/benchmarks/bench_access.py` asks the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np
import pytest
import pytest_asyncio
from pgvector.asyncpg import register_vector

from cairn.domain.passage import SearchRequest
from cairn.domain.principal import Caller
from cairn.service.search import run_search
from cairn.settings import Environment, Settings, SettingsStore, VectorSettings
from cairn.wiring import Services
from tests.benchmarks.corpus import Corpus, Query
from tests.benchmarks.loading import bulk_load, settled, with_ready_vectors

CHUNKS, BESIDE = 8000, 1500
ASKED = 20
SHARES = {"all": 1, "half": 2, "tenth": 10, "hundredth": 100, "few": 400}
"""Group, and of how many documents it may read one."""
RESTRICT = """
UPDATE rag.documents d SET metadata = jsonb_build_object('even', n.place / 7 % 2 = 0, 'of_forty', n.place / 7 % 40),
  access = ARRAY(SELECT 'group:' || s.name FROM unnest($1::text[], $2::integer[]) AS s (name, nth)
    WHERE n.place % s.nth = 0)
FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM rag.documents) AS n WHERE n.id = d.id
"""
ROWS = """
SELECT p.id AS passage, c.name AS collection, d.access, d.metadata, e.embedding FROM rag.embeddings e
JOIN rag.passages p ON p.id = e.passage_id JOIN rag.documents d ON d.id = e.document_id
JOIN rag.collections c ON c.id = d.collection_id WHERE e.model_id = $1
"""


@dataclass(frozen=True)
class Filled:
    """Services that look up vectors of the questions, and all rows with their vectors, of length 1."""

    services: Services
    asked: Sequence[Query]
    rows: Sequence[Mapping[str, Any]]
    vectors: Any

    def nearest(self, question: Query, may: Any) -> set[UUID]:
        """The ten passages nearest, compared with all rows that count."""
        near = self.vectors @ (question.vector / np.linalg.norm(question.vector))
        found = dict[UUID, None]()
        for at in np.argsort(-np.where(may, near, -np.inf))[: int(may.sum())]:
            found.setdefault(self.rows[at]["passage"])
            if len(found) == 10:
                break
        return {*found}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def filled(services_of_module: Services, environment_of_module: Environment) -> Filled:
    """Two collections, of which the larger has an index of its own."""
    vector = VectorSettings(exact_below=500, dedicated_above=4000)
    services = replace(services_of_module, settings=SettingsStore(initial=Settings(vector=vector)))
    large, small = Corpus(CHUNKS, query_count=ASKED), Corpus(BESIDE, seed=23, query_count=ASKED)
    await bulk_load(services, "large", list(large.documents()))
    await bulk_load(services, "small", list(small.documents()))
    await settled(services)
    owner = await asyncpg.connect(str(environment_of_module.database_url))
    try:
        await owner.execute(RESTRICT, list(SHARES), list(SHARES.values()))
        await owner.execute("ANALYZE rag.documents")
        await register_vector(owner)
        rows = await owner.fetch(ROWS, services.search_deps.model.id)
    finally:
        await owner.close()
    vectors = np.array([row["embedding"].to_numpy() for row in rows], dtype=np.float32)
    asked = [*large.queries, *large.questions]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Filled(with_ready_vectors(services, asked), asked, rows, vectors)


def member(services: Services, group: str) -> Services:
    caller = Caller("token:reader", "reader", frozenset({"read", "ask"}), groups=frozenset({group}))
    return replace(services, principal=replace(services.principal, caller=caller))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("collections", "filters"),
    [(("large",), {}), (("large", "small"), {}), (("large", "small"), {"even": True}), (("large",), {"of_forty": 7})],
)
async def test_who_may_read_a_part_finds_what_is_nearest_in_it(
    filled: Filled, collections: tuple[str, ...], filters: Mapping[str, Any]
) -> None:
    for group in SHARES:
        caller, found, wanted = member(filled.services, group), 0, 0
        may = np.array([_counts(row, group, collections, filters) for row in filled.rows])
        for one in filled.asked:
            request = SearchRequest(one.text, collections, legs=("vector",), filters=filters, cache=False, rerank=False)
            near = filled.nearest(one, may)
            shown = {passage.passage_id for passage in (await run_search(caller, request)).passages}
            found += len(near & shown)
            wanted += len(near)
        assert found >= 0.95 * wanted, (group, found, wanted)
        assert wanted or group in ("hundredth", "few"), "nothing of it is under the filter"


def _counts(row: Mapping[str, Any], group: str, collections: tuple[str, ...], filters: Mapping[str, Any]) -> bool:
    metadata = json.loads(row["metadata"])
    fits = all(metadata[name] == value for name, value in filters.items())
    return fits and row["collection"] in collections and f"group:{group}" in row["access"]
