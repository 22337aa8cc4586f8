"""Tenants on the nodes of a real Citus cluster answer as on one server, and see their own rows only (docs/adr/0082-citus.md).

Set CAIRN_TEST_CITUS_URL to run it (tests/citus.py says what it names).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import asyncpg
import pytest

from cairn.db.migrate import migrate
from cairn.domain.document import Indexed, Rejected
from cairn.domain.passage import SearchResult
from cairn.errors import CairnError, DatabaseUnavailableError, MigrationError
from cairn.service import conversations, documents, graph, jobs
from cairn.service.documents import index_now
from cairn.service.operation import do_upkeep
from cairn.service.search import get_trace
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests.citus import URL, Cluster, open_cluster
from tests.db.runs import answered
from tests.documents import find, index_texts, text_source
from tests.migration_support import Release
from tests.waiting import until

pytestmark = [
    pytest.mark.siege,
    pytest.mark.skipif(URL is None, reason="CAIRN_TEST_CITUS_URL names no Citus coordinator"),
]

TENANTS = [f"tenant{n}" for n in range(1, 9)]
LEGS = (("vector",), ("lexical",), ("vector", "lexical"), ("vector", "lexical", "graph"))
QUERIES = ("Who discovered polonium?", "slow dough", "cables between towers", "Marie Curie and Pierre Curie in Paris")


@pytest.fixture(scope="module")
def cluster(closed_world: None) -> Iterator[Cluster]:
    with asyncio.Runner() as runner:
        opened = open_cluster()
        yield runner.run(opened.__aenter__())
        runner.run(opened.__aexit__(None, None, None))


@pytest.fixture
def serve(tmp_path: Path) -> Callable[[str, str], Any]:
    """Opens the application for a tenant of a database."""

    @asynccontextmanager
    async def opened(database: str, tenant: str) -> AsyncIterator[Services]:
        environment = read_environment(
            {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path / tenant), "CAIRN_TENANT": tenant}
        )
        async with open_services(environment, SettingsStore()) as services:
            yield services

    return opened


def texts_of(tenant: str) -> dict[str, str]:
    return {
        "curie": f"Marie Curie was born in Warsaw. Curie discovered polonium with Pierre Curie in Paris, writes {tenant}.",
        "radium": "Marie Curie founded the Radium Institute in Paris. Pierre Curie taught at the Sorbonne.",
        "bridges": f"A suspension bridge carries its deck on cables that hang between towers. {tenant} crossed it.",
        "bread": "Sourdough rises slowly because wild yeast works more slowly than baker's yeast.",
        "gone": f"The secret of {tenant} is that polonium was discovered twice.",
    }


def found(result: SearchResult) -> list[Any]:
    return [(p.external_id, p.content, round(p.score, 4), p.metadata, p.version) for p in result.passages]


async def live(services: Services, tenant: str) -> dict[str, Any]:
    """All that a tenant does, and what came of it, without ids and times."""
    said: dict[str, Any] = {}
    # under the same id on both sides: the ids of entities are made of it, and decide where nothing else does
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ($1, $2, 'test', 77)",
            services.principal.tenant_id, uuid5(NAMESPACE_URL, tenant),
        )  # fmt: skip
    await index_texts(services, texts_of(tenant))
    await index_texts(services, {"bread": f"Sourdough of {tenant}: slow dough, because wild yeast works slowly."})
    victim = await documents.find_document_id(services, "test", "gone")
    said["before"] = found(await find(services, "secret polonium", legs=("lexical",)))
    talk = await answered(services, f"What is the secret of {tenant}?", collection="test", session_id="talk")
    said["answer"] = (talk.answer, talk.grounded, [c.external_id for c in talk.citations])
    await documents.delete_document(services, "test", victim)

    waiting = await documents.index_later(
        services, "test", [text_source("later", "Lighthouses warn ships.", kind="note")]
    )
    done = await jobs.work_until_ended(services, waiting.id)
    said["job"] = (done.status, done.attempts)

    for query in QUERIES:
        for legs in LEGS:
            said[f"{query} {legs}"] = found(await find(services, query, legs=legs))
    again = await find(services, QUERIES[0], legs=LEGS[2])
    said["cached"] = (found(again), again.hit is not None)
    said["filtered"] = found(await find(services, "ships", filters={"kind": "note"}))
    said["phrase"] = found(await find(services, '"wild yeast" -bridge'))
    trace = await get_trace(services, again.trace_id)
    said["trace"] = (trace.outcome, sorted(trace.legs_used))

    said["documents"] = [
        (d.external_id, d.status, d.version, d.passage_count, d.chunk_count, d.byte_size)
        for d in await documents.list_documents(services, "test")
    ]
    home = await documents.get_collection(services, "test")
    said["collection"] = (home.document_count, home.passage_count, home.chunk_count, home.epoch)
    said["entities"] = sorted((e.name, e.kind, e.passage_count) for e in await graph.list_entities(services, "test"))
    around = await graph.get_neighborhood(services, "Marie Curie", "test")
    said["around"] = (sorted(place.entity.name for place in around.places), len(around.relations), around.truncated)
    await documents.refresh_communities(services, "test")
    said["communities"] = sorted(
        (c.level, c.size, c.title) for c in (await graph.list_communities(services, "test", limit=20))[0]
    )
    await graph.merge_entities(services, "test", "Marie Curie", "Pierre Curie", "a couple")
    said["merged"] = sorted((e.name, e.passage_count) for e in await graph.list_entities(services, "test"))

    said["history"] = [(m.turn.role, m.turn.content) for m in await conversations.get_history(services, "talk")]
    await conversations.rename_conversation(services, "talk", "Secrets")
    said["talks"] = [(c.title, c.message_count) for c in await conversations.list_conversations(services)]
    said["forgotten"] = await conversations.delete_history(services, "talk")
    await do_upkeep(services)
    return said


async def test_eight_tenants_answer_as_on_one_node(cluster: Cluster, database: str, serve: Any) -> None:
    for tenant in TENANTS:
        async with AsyncExitStack() as stack:
            spread = await stack.enter_async_context(serve(cluster.owner, tenant))
            single = await stack.enter_async_context(serve(database, tenant))
            there, here = await live(spread, tenant), await live(single, tenant)
        assert {key: there[key] for key in here if there[key] != here[key]} == {
            key: here[key] for key in here if there[key] != here[key]
        }, tenant
        assert here["answer"][0]
        assert here["cached"][1]
        assert here["around"]


async def at_home(cluster: Cluster) -> list[tuple[tuple[str, int], int]]:
    """Node and id of each tenant."""
    admin = await cluster.at()
    rows = await admin.fetch(
        """SELECT n.nodename, n.nodeport, t.id FROM rag.tenants AS t
           JOIN pg_dist_placement AS p ON p.shardid = get_shard_id_for_distribution_column('rag.collections', t.id)
           JOIN pg_dist_node AS n USING (groupid) ORDER BY t.id"""
    )
    await admin.close()
    return [((row["nodename"], row["nodeport"]), row["id"]) for row in rows]


@pytest.fixture
async def settled(cluster: Cluster) -> list[tuple[tuple[str, int], int]]:
    """Tenants with a row each in some tables, whether or not the test above ran."""
    admin = await cluster.at()
    for name in TENANTS:
        await admin.fetchval("SELECT rag.ensure_tenant($1)", name)
    await admin.close()
    homes = await at_home(cluster)
    for node, tenant in homes:
        app = await cluster.at(node, user="cairn_app")
        async with app.transaction():
            await app.execute(f"SELECT rag.enter_tenant({tenant})")
            await app.execute(
                f"INSERT INTO rag.collections (tenant_id, id, name, lex_seed) VALUES ({tenant}, gen_random_uuid(), 'own', 7) "
                "ON CONFLICT DO NOTHING"
            )
        await app.close()
    return homes


async def test_tenants_live_on_both_nodes(cluster: Cluster, settled: Any) -> None:
    assert {node for node, _ in settled} == set(cluster.workers)
    assert len(cluster.workers) > 1


async def test_row_security_holds_on_the_shards(cluster: Cluster, settled: Any) -> None:
    admin = await cluster.at()
    tables = [row[0] for row in await admin.fetch(
        "SELECT logicalrelid::regclass::text FROM pg_dist_partition JOIN pg_class AS c ON c.oid = logicalrelid "
        "WHERE partmethod = 'h' AND NOT c.relispartition ORDER BY 1")]  # fmt: skip
    await admin.close()
    assert len(tables) > 45
    for node, tenant in settled:
        app = await cluster.at(node, user="cairn_app")
        assert await app.fetchval("SELECT count(*) FROM rag.collections") == 0  # no tenant, no rows
        async with app.transaction():
            await app.execute(f"SELECT rag.enter_tenant({tenant})")
            for table in tables:
                # of this node; a statement over all nodes has no tenant at the others
                others = await app.fetchval(f"SELECT count(*) FROM {table} WHERE tenant_id <> {tenant}")
                assert others == 0, table
            assert await app.fetchval("SELECT count(*) FROM rag.collections WHERE tenant_id = $1", tenant) >= 1
        await app.close()


async def test_nobody_writes_for_another_tenant(cluster: Cluster, settled: Any) -> None:
    """By values, and by a query, which reaches shards of the same node past row security."""
    row = "gen_random_uuid(), 'theirs', 7"
    columns = "INSERT INTO rag.collections (tenant_id, id, name, lex_seed)"
    for node, tenant in settled:
        for other in (one for _, one in settled if one != tenant):
            app = await cluster.at(node, user="cairn_app")
            for rows in (f"VALUES ({other}, {row})", f"SELECT {other}, {row} FROM unnest(ARRAY[1]) AS n"):
                refused = None
                try:
                    async with app.transaction():
                        await app.execute(f"SELECT rag.enter_tenant({tenant})")
                        await app.execute(f"{columns} {rows}")
                except asyncpg.PostgresError as error:
                    refused = error
                assert refused is not None, rows
            async with app.transaction():
                await app.execute(f"SELECT rag.enter_tenant({tenant})")
                assert (
                    await app.execute(f"UPDATE rag.collections SET name = 'stolen' WHERE tenant_id = {other}")
                    == "UPDATE 0"
                )
                assert await app.execute(f"DELETE FROM rag.collections WHERE tenant_id = {other}") == "DELETE 0"
            await app.close()


async def test_a_node_without_the_tenant_does_not_answer(cluster: Cluster, settled: Any) -> None:
    node, tenant = settled[0]
    for other in (None, *(one for one in cluster.workers if one != node)):
        app = await cluster.at(other, user="cairn_app")
        with pytest.raises(asyncpg.PostgresError) as refused:
            await app.execute(f"SELECT rag.enter_tenant({tenant})")
        assert refused.value.sqlstate == "CR003"
        await app.close()


async def test_analysts_are_told_that_they_read_nothing(cluster: Cluster, settled: Any) -> None:
    for node in (None, *cluster.workers):
        analyst = await cluster.at(node, user="cairn_analyst")
        for statement in ("SELECT * FROM analyst.documents", "SELECT * FROM analyst.search_lexical('own', 'stones')"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="schema analyst"):
                await analyst.fetch(statement)
        await analyst.close()


async def crash(cluster: Cluster, node: tuple[str, int]) -> None:
    """The node's server loses all its sessions at once and recovers, as after any process of it was killed."""
    admin = await cluster.at(node)
    victim = await admin.fetchval(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1"
    )
    with suppress(asyncpg.PostgresError, OSError, asyncpg.InterfaceError):
        await admin.execute(f"COPY (SELECT 1) TO PROGRAM 'kill -9 {victim}'")
        await admin.execute("SELECT pg_sleep(5)")
    admin.terminate()


async def test_a_node_that_is_killed_loses_nothing(cluster: Cluster, settled: Any, serve: Any) -> None:
    homes = dict(reversed(settled))  # node to one tenant of it
    (node, one), (_, other) = list(homes.items())[:2]
    names = dict(await cluster.tenants())
    texts = {f"note{n}": f"Note {n} says that lighthouse number {n} warns ships of rock {n}." for n in range(40)}
    told, refused = [], []
    async with serve(cluster.owner, names[one]) as hit, serve(cluster.owner, names[other]) as spared:
        await index_texts(spared, {"calm": "The harbour is calm."}, "notes")

        async def write() -> None:
            for name, text in texts.items():
                try:
                    told.extend(await index_now(hit, "notes", [text_source(name, text)]))
                except CairnError as error:
                    refused.append(error)

        writing = asyncio.create_task(write())
        await until(lambda: len(told) > 3)
        await crash(cluster, node)
        assert found(await find(spared, "calm harbour", "notes", legs=("lexical",)))
        await writing
        assert all(isinstance(error, DatabaseUnavailableError) for error in refused)
        assert refused or any(isinstance(outcome, Rejected) for outcome in told), "the node was killed in the middle"

        async def again() -> bool:
            try:
                await documents.list_documents(hit, "notes")
            except DatabaseUnavailableError:
                return False
            return True

        await until(again)
        kept = {
            one.external_id
            for one in await documents.list_documents(hit, "notes", limit=100)
            if one.status == "indexed"
        }
        assert {outcome.external_id for outcome in told if isinstance(outcome, Indexed)} <= kept
        await index_texts(hit, texts, "notes")
        home = await documents.get_collection(hit, "notes")
        assert (home.document_count, home.passage_count) == (40, 40)
        first = found(await find(hit, "lighthouse 17", "notes", legs=("lexical",)))[0]
        assert first[0] == "note17"


async def test_migrations_go_on(cluster: Cluster, tmp_path: Path) -> None:
    assert (await migrate(cluster.owner)).action == "none"
    assert (await migrate(cluster.owner, distribute=True)).action == "none"
    release = Release.copy(tmp_path / "next")
    release.add_revision(
        "next",
        "CREATE TABLE rag.novelties (tenant_id bigint NOT NULL, id uuid NOT NULL, note text, PRIMARY KEY (tenant_id, id))",
        "ALTER TABLE rag.documents ADD COLUMN novelty text",
    )
    assert (await migrate(cluster.owner, source=release.source)).action == "migrated"
    admin = await cluster.at()
    group = "SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass"
    assert await admin.fetchval(group, "rag.novelties") == await admin.fetchval(group, "rag.collections")
    assert await admin.fetchval(
        "SELECT bool_and(success AND result = 't') FROM run_command_on_placements('rag.novelties', "
        "$$SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = '%s'::regclass$$)"
    )
    await admin.execute("DROP TABLE rag.novelties")
    await admin.close()


async def test_a_database_without_citus_is_told_so(database: str) -> None:
    with pytest.raises(MigrationError, match="has no Citus"):
        await migrate(database, distribute=True)
