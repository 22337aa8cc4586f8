"""The walk finds what a plain search over the relations finds, within its bounds, and its paths are proved by passages."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.graph import Neighbourhood, WalkLimits, entity_id
from cairn.graph.walk import traverse
from cairn.service.documents import ensure_collection, get_collection
from cairn.store import graph
from cairn.wiring import Services
from tests.db.graphs import NAMES, key, plain, publish, random_document, with_graph
from tests.sharing import SHARED

pytestmark = SHARED

WIDE = WalkLimits(hops=3, per_node_cap=1000, beam=1000, row_budget=10**6, time_budget_ms=60_000, top=1000)


async def walk(
    services: Services, seeds: dict[str, float], limits: WalkLimits = WIDE, name: str = "c"
) -> Neighbourhood:
    found = await get_collection(services, name)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        ids = {entity_id(found.id, key(seed)): weight for seed, weight in seeds.items()}
        return await traverse(connection, found.id, ids, limits)


async def names(services: Services) -> dict[UUID, str]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return {r["id"]: r["normal"] for r in await connection.fetch("SELECT id, normal FROM rag.entities")}


async def edges(services: Services) -> dict[UUID, dict[UUID, float]]:
    found: dict[UUID, dict[UUID, float]] = defaultdict(dict)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        for row in await connection.fetch("SELECT node_id, neighbour_id, weight FROM rag.adjacency"):
            near = found[row["node_id"]]
            near[row["neighbour_id"]] = max(near.get(row["neighbour_id"], 0), row["weight"])
    return found


def best_products(near: dict[UUID, dict[UUID, float]], seeds: dict[UUID, float], hops: int) -> dict[UUID, float]:
    """The reference: the best product of weights over all paths of so many steps that begin at a seed."""
    layer, best = dict(seeds), dict(seeds)
    for _ in range(hops):
        following: dict[UUID, float] = {}
        for node, score in layer.items():
            for other, weight in near[node].items():
                if other not in seeds:
                    following[other] = max(following.get(other, 0), score * weight)
        for node, score in following.items():
            best[node] = max(best.get(node, 0), score)
        layer = following
    return best


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(3))
async def test_scores_are_the_best_products_of_weights(services: Services, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(25):
        await publish(services, "c", random_document(f"d{number}", chance))
    known, near = await names(services), await edges(services)
    collection = await get_collection(services, "c")
    for hops in (1, 2, 3):
        seeds = {name: chance.uniform(0.2, 1) for name in chance.sample(NAMES, 2)}
        expected = best_products(near, {entity_id(collection.id, key(n)): w for n, w in seeds.items()}, hops)
        limits = WalkLimits(hops, 1000, 1000, 10**6, 60_000, 1000)
        found = await walk(services, seeds, limits)
        assert not found.truncated
        assert {r.entity_id: r.score for r in found.entities} == pytest.approx(
            {node: score for node, score in expected.items() if node in known}
        )
        scores = [r.score for r in found.entities]
        assert scores == sorted(scores, reverse=True)
        narrow = await walk(services, seeds, WalkLimits(hops, 1000, 10, 10**6, 60_000, 10))
        assert narrow.entities == found.entities[:10], "a beam of `top` loses nothing of the top"


async def test_paths_lead_from_a_seed_over_proved_relations(services: Services) -> None:
    chance = random.Random(9)
    for number in range(25):
        await publish(services, "c", random_document(f"d{number}", chance))
    near, collection = await edges(services), await get_collection(services, "c")
    seeds = {entity_id(collection.id, key(name)): 1.0 for name in NAMES[:2]}
    found = await walk(services, dict.fromkeys(NAMES[:2], 1.0))
    lengths = set()
    for reached in found.entities:
        score, at = 1.0, reached.path[0].source_id if reached.path else reached.entity_id
        assert at in seeds
        visited = [at]
        for edge in reached.path:
            assert edge.source_id == at
            score, at = score * near[at][edge.target_id], edge.target_id
            visited.append(at)
            await assert_proves(services, edge)
        assert at == reached.entity_id
        assert score == pytest.approx(reached.score)
        assert len(set(visited)) == len(visited), "no cycle"
        lengths.add(len(reached.path))
    assert {0, 1, 2} <= lengths


async def assert_proves(services: Services, edge: Any) -> None:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        row = await connection.fetchrow(
            "SELECT r.source_id, r.target_id, v.strength, (SELECT max(strength) FROM rag.evidence WHERE relation_id = r.id) "
            "AS best FROM rag.relations r JOIN rag.evidence v ON v.relation_id = r.id WHERE r.id = $1 AND v.passage_id = $2",
            edge.relation_id, edge.passage_id,
        )  # fmt: skip
    ends = (edge.source_id, edge.target_id) if edge.outgoing else (edge.target_id, edge.source_id)
    assert (row["source_id"], row["target_id"]) == ends
    assert row["strength"] == row["best"]


async def test_a_hub_costs_no_more_than_its_cap(services: Services) -> None:
    """The strongest relations of the hub are taken, and the budget of rows is kept and its use disclosed."""
    hub = ["Hub", *[f"Spoke {n:02}" for n in range(60)]]
    for first in range(1, 61, 10):
        spokes = hub[first : first + 10]
        document = plain(f"d{first}", "Hub and spokes.")
        await publish(services, "c", with_graph(document, [["Hub", *spokes]], [[("Hub", "leads", s) for s in spokes]]))
    strong = with_graph(plain("strong", "Hub and one."), [["Hub", "Spoke 42"]], [[("Hub", "leads", "Spoke 42")]])
    await publish(services, "c", strong)
    found = await walk(services, {"Hub": 1.0}, WalkLimits(hops=1, per_node_cap=7, time_budget_ms=60_000))
    known = await names(services)
    assert len(found.entities) == 8
    assert known[found.entities[1].entity_id] == "spoke 42"
    assert not found.truncated
    short = await walk(services, {"Hub": 1.0}, WalkLimits(hops=1, row_budget=5, time_budget_ms=60_000))
    assert len(short.entities) == 6
    assert short.truncated
    late = await walk(services, {"Hub": 1.0}, WalkLimits(hops=2, time_budget_ms=0))
    assert [known[r.entity_id] for r in late.entities] == ["hub"]
    assert late.truncated


async def test_what_is_not_there_is_not_walked(services: Services) -> None:
    await ensure_collection(services, "c")
    assert await walk(services, {"Nobody": 1.0}) == Neighbourhood(())
    assert await walk(services, {}) == Neighbourhood(())


async def test_tenants_walk_their_own_graph(services: Services, other_tenant: Services) -> None:
    """With the ids of another tenant's entities and collection nothing is found."""
    document = with_graph(plain("a", "Ada met Ben."), [["Ada", "Ben"]], [[("Ada", "met", "Ben")]])
    await publish(services, "c", document)
    assert len((await walk(services, {"Ada": 1.0})).entities) == 2
    found = await get_collection(services, "c")
    async with other_tenant.database.transaction(other_tenant.principal) as connection:
        seeds = {entity_id(found.id, key("Ada")): 1.0}
        assert await graph.walk(connection, found.id, seeds, WIDE) == []
        assert (
            await graph.merge(connection, found.id, *[entity_id(found.id, key(n)) for n in ("Ada", "Ben")], "x") is None
        )


async def test_seeds_that_were_merged_stand_as_one(services: Services) -> None:
    document = with_graph(
        plain("a", "Ada met Ben, Al met Cy."),
        [["Ada", "Ben", "Al", "Cy"]],
        [[("Ada", "met", "Ben"), ("Al", "met", "Cy")]],
    )
    await publish(services, "c", document)
    found = await get_collection(services, "c")
    async with services.database.transaction(services.principal) as connection:
        await graph.merge(connection, found.id, entity_id(found.id, key("Al")), entity_id(found.id, key("Ada")), "test")
    known = await names(services)
    walked = await walk(services, {"Ada": 0.4, "Al": 0.8})
    assert sorted(known[r.entity_id] for r in walked.entities) == ["ada", "ben", "cy"]
    assert walked.entities[0].score == pytest.approx(0.8)
