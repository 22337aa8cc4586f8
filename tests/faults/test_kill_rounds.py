"""kill -9 in the middle of everything: what was acknowledged is there, nothing is there by half, statistics equal a recount,
and in the end all is as a fresh build would be. The embedded server is used, as a newcomer would.

    CAIRN_KILL_ROUNDS=50 CAIRN_KILL_SEED=7 python -m pytest tests/faults/test_kill_rounds.py

Each round kills one target in the middle of one scene; both are shuffled by the seed, so that 36 rounds have every pair.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from kill_rounds import COLLECTION, Library, Round, Scene, Target
from served import ServedHome

from cairn.domain.document import Source
from cairn.service.documents import delete_collection, get_collection, index_now
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests.db.graphs import contents
from tests.documents import text_source

pytestmark = [pytest.mark.fault, pytest.mark.siege]

ROUNDS = int(os.environ.get("CAIRN_KILL_ROUNDS") or 2)
SEED = int(os.environ.get("CAIRN_KILL_SEED") or 1)
SETTINGS = {
    "jobs": {"leaseSeconds": 3.0, "heartbeatSeconds": 0.3, "pollSeconds": 0.1, "retrySeconds": 0.1, "maxAttempts": 20},
    "graph": {"communities": {"inlinePassages": 0, "delaySeconds": 0, "changedShare": 0}},
}
FIRST: list[tuple[Scene, Target]] = [
    ("replace", "server"), ("reindex", "worker"), ("delete", "postmaster"), ("communities", "supervisor"),
]  # fmt: skip
"""What the suite runs each time: every kind of target but one, and what is most intertwined."""

PIECES = """
SELECT d.external_id, k.ordinal, k.char_start, k.char_end, k.content, p.content, e.content_hash,
  l.length, cardinality(l.keys)
FROM rag.chunks k JOIN rag.documents d ON d.id = k.document_id JOIN rag.passages p ON p.id = k.passage_id
JOIN rag.embeddings e ON e.chunk_id = k.id JOIN rag.lexical_index l ON l.passage_id = p.id
WHERE k.collection_id = $1 ORDER BY 1, 2
"""
COMMUNITIES = """
SELECT array_agg(e.normal ORDER BY e.normal) FROM rag.community_members m JOIN rag.entities e ON e.id = m.entity_id
JOIN rag.communities c ON c.id = m.community_id WHERE m.collection_id = $1 GROUP BY m.community_id ORDER BY 1
"""


def plan(rounds: int, seed: int) -> list[tuple[Scene, Target]]:
    pairs = list(itertools.product(get_args(Scene), get_args(Target)))
    random.Random(seed).shuffle(pairs)
    return [*FIRST, *itertools.islice(itertools.cycle(pairs), max(rounds - len(FIRST), 0))][:rounds]


@pytest.fixture
async def served(make_home: Callable[[], Path]) -> AsyncIterator[ServedHome]:
    home = make_home()
    home.parent.chmod(0o755)
    running = ServedHome(home, SETTINGS)
    running.start("--no-worker")
    running.start_worker()
    yield running
    running.end_all()


async def test_whatever_is_killed_nothing_is_lost_and_nothing_is_there_by_half(served: ServedHome) -> None:
    library = Library()
    for number, (scene, target) in enumerate(plan(ROUNDS, SEED)):
        print(f"round {number}: {target} killed during {scene}", flush=True)
        await Round(served, library, scene, target, SEED * 1000 + number).run()
    print(dict(library.done), flush=True)
    assert library.done["searched"] > ROUNDS
    served.end_all()
    variables = {"CAIRN_HOME": str(served.home), "CAIRN_SETTINGS": str(served.settings)}
    environment = read_environment(variables)
    async with open_services(environment, SettingsStore(environment.settings_path)) as services:
        await same_as_fresh(services, library)


async def same_as_fresh(services: Services, library: Library) -> None:
    """Ids of the graph hash the collection's, so the fresh build is given the id of the old one."""
    texts = {name: text for name, state in library.states.items() for text in state.may_be if text is not None}
    sources = [
        Source(name, name, text.encode(), media_type="text/plain") if name.endswith(".txt") else text_source(name, text)
        for name, text in sorted(texts.items())
    ]
    found = await get_collection(services, COLLECTION)
    await services.worker().run_until_idle()
    before = await stored(services, found.id)
    await delete_collection(services, COLLECTION)
    assert not any((await stored(services, found.id)).values())
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, $3, 1)",
            services.principal.tenant_id, found.id, COLLECTION,
        )  # fmt: skip
    await index_now(services, COLLECTION, sources)
    await services.worker().run_until_idle()
    fresh = await stored(services, found.id)
    assert len(fresh["pieces"]) >= len(texts)
    for part, rows in fresh.items():
        assert before[part] == rows, part


async def stored(services: Services, collection_id: Any) -> dict[str, list[Any]]:
    graph: dict[str, list[Any]] = dict(await contents(services, collection_id))
    async with services.database.transaction(services.principal, readonly=True) as connection:
        pieces = [tuple(row) for row in await connection.fetch(PIECES, collection_id)]
        found = [row[0] for row in await connection.fetch(COMMUNITIES, collection_id)]
    return {"pieces": pieces, "communities": found, **graph}
