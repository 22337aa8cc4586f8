"""Schema analyst: every column explained, hits unnested as they were traced, and logins that see their tenants only."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.document import Indexed
from cairn.domain.ids import new_id
from cairn.domain.passage import LEGS, SearchRequest, SearchResult
from cairn.domain.question import Question
from cairn.domain.trace import Spend
from cairn.evals.datasets import load
from cairn.evals.retrieval import Bench, evaluate
from cairn.jobs import vector_indexes
from cairn.service.ask import ask
from cairn.service.documents import delete_collection, delete_document, get_collection, index_now, refresh_communities
from cairn.service.runs import rate_run
from cairn.service.search import get_trace, run_search
from cairn.store import lexical
from cairn.wiring import Services
from tests.db.tenants import on_documents_of, tenant_of
from tests.documents import text_source
from tests.sharing import SHARED

DOCS = Path(__file__).resolve().parents[2] / "docs" / "analysts.md"
TEXTS = {
    "granite": "Granite is a coarse rock of quartz and feldspar. It cools slowly, deep in the earth.",
    "basalt": "Basalt is a dark rock. Lava cools quickly and becomes basalt at the surface.",
    "cairn": "A cairn is a pile of stones that marks a trail. Hikers add a stone of granite or basalt.",
    "bread": "Bread is baked from flour, water and salt. The dough rests overnight.",
}

Login = Callable[[str], Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quarry(services_of_module: Services) -> AsyncIterator[Services]:
    """The one tenant of its database; no test changes its documents."""
    async with tenant_of(services_of_module) as opened:
        await index(opened)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def stones(quarry: Services) -> AsyncIterator[Services]:
    async with on_documents_of(quarry) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner_of_stones(services_of_module: Services) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(services_of_module.owner_dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def login(database: str, owner: Any) -> AsyncIterator[Login]:
    """Opens a session of a role of that name; the roles are dropped at the end."""
    opened: list[tuple[str, Any]] = []

    async def open_session(name: str) -> Any:
        if not await owner.fetchval("SELECT to_regrole($1) IS NOT NULL", name):
            await owner.execute(f"CREATE ROLE {name} LOGIN")
        session = await asyncpg.connect(database, user=name)
        opened.append((name, session))
        return session

    yield open_session
    for _, session in opened:
        await session.close()
    for name in {name for name, _ in opened}:
        await owner.execute(f"DROP OWNED BY {name}")
        await owner.execute(f"DROP ROLE {name}")


async def index(services: Services, texts: dict[str, str] = TEXTS, collection: str = "stones") -> None:
    outcomes = await index_now(services, collection, [text_source(name, text) for name, text in texts.items()])
    assert all(isinstance(outcome, Indexed) for outcome in outcomes), outcomes


async def traced_search(services: Services, query: str = "dark rock of lava", top_k: int = 2) -> SearchResult:
    found = await run_search(services, SearchRequest(query=query, collections=("stones",), top_k=top_k))
    await services.traces.flush()
    return found


async def talk(services: Services, collection: str = "stones") -> None:
    await ask(services, Question("What is a cairn?", collection, new_id(), session_id="s1"))


async def grant_login(owner: Any, login: Login, name: str, tenant: str) -> Any:
    """A login that may read one tenant, given as docs/analysts.md says."""
    if not await owner.fetchval("SELECT to_regrole($1) IS NOT NULL", name):
        await owner.execute(f"CREATE ROLE {name} LOGIN")
    await owner.execute(f"SELECT rag.grant_analyst('{name}', '{tenant}')")
    return await login(name)


# --- what the schema says about itself --------------------------------------------------------------------------------


async def test_every_view_column_and_function_is_explained(owner: Any) -> None:
    columns = await owner.fetch("""
        SELECT format('%s.%s', c.relname, a.attname) AS name, col_description(c.oid, a.attnum) AS said
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'analyst'::regnamespace AND c.relkind IN ('v', 'm')""")
    others = await owner.fetch("""
        SELECT relname AS name, obj_description(oid, 'pg_class') AS said FROM pg_class
        WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm')
        UNION ALL
        SELECT proname, obj_description(oid, 'pg_proc') FROM pg_proc WHERE pronamespace = 'analyst'::regnamespace""")

    assert {"documents", "passages", "retrieval_runs", "retrieval_hits", "search_lexical", "similar_chunks"} <= {
        row["name"] for row in others
    }
    assert len(columns) > 60
    unexplained = [row["name"] for row in [*columns, *others] if len((row["said"] or "").split()) < 3]
    assert unexplained == []


# --- views ------------------------------------------------------------------------------------------------------------


@SHARED
async def test_hits_equal_the_trace_candidate_by_candidate(stones: Services, owner_of_stones: Any) -> None:
    found = await traced_search(stones)
    trace = await get_trace(stones, found.trace_id)
    rows = await owner_of_stones.fetch("SELECT * FROM analyst.retrieval_hits WHERE run_id = $1", found.trace_id)

    fused = next(leg for leg in trace.legs if leg.leg == "fused")
    fates = dict(zip(fused.passage_ids, fused.fates, strict=True))
    expected = {
        (leg.leg, rank, passage, chunk, score, fates[passage])
        for leg in trace.legs
        for rank, (passage, chunk, score) in enumerate(zip_longest(leg.passage_ids, leg.chunk_ids, leg.scores), start=1)
    }
    seen = {(r["leg"], r["rank"], r["passage_id"], r["chunk_id"], r["raw_score"], r["fate"]) for r in rows}
    assert {leg.leg for leg in trace.legs} == {"vector", "lexical", "fused"}
    assert seen == expected
    ordered = sorted(rows, key=lambda row: row["rank"])
    kept = [row["passage_id"] for row in ordered if row["leg"] == "fused" and row["fate"] == "kept"]
    assert kept == [passage.passage_id for passage in found.passages]
    assert {r["fate"] for r in rows} == {"kept", "below top_k"}


@SHARED
async def test_shares_of_the_legs_add_up_to_the_fused_score(stones: Services, owner_of_stones: Any) -> None:
    found = await traced_search(stones)
    rows = await owner_of_stones.fetch("SELECT * FROM analyst.retrieval_hits WHERE run_id = $1", found.trace_id)

    fused = {row["passage_id"]: row["fusion_share"] for row in rows if row["leg"] == "fused"}
    summed: dict[UUID, float] = dict.fromkeys(fused, 0.0)
    for row in rows:
        if row["leg"] != "fused":
            summed[row["passage_id"]] += row["fusion_share"]
    assert fused
    assert summed == pytest.approx(fused)
    assert all(row["rerank_score"] is None for row in rows), "no reranker is configured"


async def test_hits_survive_the_deletion_of_their_document(services: Services, owner: Any) -> None:
    await index(services)
    found = await traced_search(services)
    before = await owner.fetchval("SELECT count(*) FROM analyst.retrieval_hits")
    await owner.execute("DELETE FROM rag.documents WHERE external_id = 'basalt'")

    rows = await owner.fetch("SELECT title, fate FROM analyst.retrieval_hits WHERE run_id = $1", found.trace_id)
    assert len(rows) == before
    assert [row for row in rows if row["title"] is None and row["fate"] == "kept"]


async def test_changes_tell_of_additions_replacements_and_deletions_without_the_names_of_what_is_gone(
    services: Services, owner: Any
) -> None:
    await index(services)
    await index(services)  # the same content changes nothing
    await index(services, {"bread": "Bread is baked from rye flour now."})
    gone = await owner.fetchval("SELECT document_id FROM analyst.documents WHERE external_id = 'granite'")
    await delete_document(services, "stones", gone)
    rows = await owner.fetch("SELECT * FROM analyst.changes ORDER BY changed_at, kind")
    seen = [(row["kind"], row["external_id"], row["version"]) for row in rows]
    assert set(seen[:4]) == {
        ("added", None, 1), ("added", "basalt", 1), ("added", "bread", 1), ("added", "cairn", 1),
    }  # fmt: skip
    assert seen[4:] == [("replaced", "bread", 2), ("deleted", None, 1)]
    assert rows[-1]["document_id"] == gone
    assert {row["collection"] for row in rows} == {"stones"}
    assert all(row["passage_count"] for row in rows)

    await delete_collection(services, "stones")
    rows = await owner.fetch("SELECT document_id, version, external_id FROM analyst.changes WHERE kind = 'deleted'")
    assert len(rows) == 4
    assert {row["version"] for row in rows} == {1, 2}
    assert {row["external_id"] for row in rows} == {None}
    await owner.execute(
        "SET ROLE cairn_definer; UPDATE rag.document_changes SET changed_at = now() - interval '40 days'"
    )
    await owner.execute("RESET ROLE; SELECT rag.expire_audit(30)")
    assert await owner.fetchval("SELECT count(*) FROM analyst.changes") == 0


@SHARED
async def test_collections_are_counted(stones: Services, owner_of_stones: Any) -> None:
    row = await owner_of_stones.fetchrow("SELECT * FROM analyst.collections")
    assert (row["collection"], row["document_count"], row["failed_count"], row["waiting_count"]) == ("stones", 4, 0, 0)
    assert row["byte_count"] == sum(len(text) for text in TEXTS.values())
    assert row["embedding_model"].startswith("all-MiniLM")
    assert row["calibrated"] is False


async def test_what_a_refusal_shows_is_no_quotation_and_no_source_of_an_answer(services: Services, owner: Any) -> None:
    await index(services)
    asked = Question("How old is the oldest cairn?", "stones", new_id())
    answer = await ask(services, asked)
    assert (answer.answered, bool(answer.citations)) == ("no", True)
    await services.traces.flush()
    rows = await owner.fetch("SELECT instead FROM analyst.citations WHERE run_id = $1", asked.run_id)
    assert [row["instead"] for row in rows] == [True] * len(answer.citations)
    row = await owner.fetchrow("SELECT * FROM analyst.quotations WHERE run_id = $1", asked.run_id)
    assert (row["shown"], row["document_id"], row["passage_id"]) == (False, None, None)


async def test_citations_have_the_quoted_words_for_as_long_as_they_stand_there(services: Services, owner: Any) -> None:
    await index(services)
    asked = Question("What is a cairn?", "stones", new_id())
    answer = await ask(services, asked)
    await services.traces.flush()
    rows = await owner.fetch("SELECT * FROM analyst.citations WHERE run_id = $1 ORDER BY n", asked.run_id)
    assert [(row["n"], row["external_id"], row["quote"], row["passage_id"]) for row in rows] == [
        (one.n, one.external_id, one.quote, one.passage_id) for one in answer.citations
    ]
    assert rows
    assert not any(row["instead"] for row in rows)
    assert not any(row["source_changed"] or row["source_deleted"] for row in rows)

    await index(services, {"cairn": "A cairn is a heap of stones, and nothing else."})
    changed = await owner.fetchrow("SELECT * FROM analyst.citations WHERE run_id = $1", asked.run_id)
    assert (changed["source_changed"], changed["quote"]) == (True, None)
    await delete_document(services, "stones", changed["document_id"])
    deleted = await owner.fetchrow("SELECT * FROM analyst.citations WHERE run_id = $1", asked.run_id)
    assert (deleted["source_deleted"], deleted["quote"], deleted["title"]) == (True, None, None)


@SHARED
async def test_quotations_have_the_scores_of_the_extractor(stones: Services, owner_of_stones: Any) -> None:
    asked = [Question(text, "stones", new_id()) for text in ("What is a cairn?", "Who invented the telephone?")]
    answers = [await ask(stones, one) for one in asked]
    await stones.traces.flush()
    for question, answer in zip(asked, answers, strict=True):
        evidence = answer.evidence
        row = await owner_of_stones.fetchrow("SELECT * FROM analyst.quotations WHERE run_id = $1", question.run_id)
        assert evidence
        assert {name: row[name] for name in asdict(evidence)} == pytest.approx(asdict(evidence))
        assert (row["shown"], row["answered"]) == (answer.route["found"], answer.answered)
        run = await owner_of_stones.fetchrow("SELECT * FROM analyst.retrieval_runs WHERE run_id = $1", question.run_id)
        assert (run["found"], run["answered"]) == (answer.answered != "no", answer.answered)
    assert [answer.answered for answer in answers][1] == "no"


@SHARED
async def test_found_says_of_a_search_whether_it_returned_anything(stones: Services, owner_of_stones: Any) -> None:
    found = await traced_search(stones)
    nothing = await run_search(stones, SearchRequest(query='"no such phrase"', collections=("stones",), top_k=1))
    await stones.traces.flush()
    seen = {row["run_id"]: row["found"] for row in await owner_of_stones.fetch("SELECT * FROM analyst.retrieval_runs")}
    assert (seen[found.trace_id], seen[nothing.trace_id]) == (True, False)


# --- search functions -------------------------------------------------------------------------------------------------


@SHARED
async def test_search_lexical_ranks_and_scores_as_the_application_does(stones: Services, owner_of_stones: Any) -> None:
    query = "Which dark rock cools at the surface?"
    rows = await owner_of_stones.fetch("SELECT * FROM analyst.search_lexical('stones', $1)", query)
    async with stones.database.transaction(stones.principal) as connection:
        theirs = await connection.fetch(
            "SELECT l.passage_id, l.score FROM rag.collections AS c, "
            "rag.lexical_search(c.id, $1, 10, 2000, 20000) AS l WHERE c.name = 'stones' ORDER BY l.score DESC, 1",
            query,
        )

    assert lexical.search, "the application's leg calls rag.lexical_search"
    assert len(rows) > 1
    assert rows[0]["external_id"] == "basalt"
    assert [row["passage_id"] for row in rows] == [row["passage_id"] for row in theirs]
    assert [row["score"] for row in rows] == pytest.approx([row["score"] for row in theirs])
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))


@SHARED
async def test_search_lexical_takes_any_text(stones: Services, owner_of_stones: Any) -> None:
    for query in ("", "the of and", "-" * 60, "a & | ! ( <->", "'; DROP TABLE rag.runs; --", "xyzzy"):
        assert await owner_of_stones.fetch("SELECT * FROM analyst.search_lexical('stones', $1)", query) == [], query
    limited = await owner_of_stones.fetch("SELECT * FROM analyst.search_lexical('stones', 'rock cools', k => 1)")
    assert len(limited) == 1
    with pytest.raises(asyncpg.NoDataFoundError, match="there is no collection nowhere"):
        await owner_of_stones.fetch("SELECT * FROM analyst.search_lexical('nowhere', 'rock')")


async def test_similar_chunks_are_the_nearest_of_the_collection(services: Services, owner: Any) -> None:
    await index(services)
    await index(services, {"elsewhere": TEXTS["granite"]}, collection="other")
    origin = await owner.fetchval(
        "SELECT chunk_id FROM analyst.chunks JOIN analyst.documents USING (document_id) WHERE external_id = 'granite'"
    )
    rows = await owner.fetch("SELECT * FROM analyst.similar_chunks($1)", origin)
    expected = await owner.fetch(
        "SELECT o.chunk_id, 1 - (o.embedding <=> e.embedding) AS similarity FROM rag.embeddings AS e "
        "JOIN rag.embeddings AS o ON o.collection_id = e.collection_id AND o.chunk_id <> e.chunk_id "
        "WHERE e.chunk_id = $1 ORDER BY 2 DESC",
        origin,
    )

    assert [row["similar_chunk_id"] for row in rows] == [row["chunk_id"] for row in expected]
    assert [row["similarity"] for row in rows] == pytest.approx([row["similarity"] for row in expected])
    assert rows[-1]["external_id"] == "bread"
    assert "elsewhere" not in {row["external_id"] for row in rows}
    with pytest.raises(asyncpg.NoDataFoundError, match="there is no chunk"):
        await owner.fetch("SELECT * FROM analyst.similar_chunks($1)", new_id())


# --- who sees what ----------------------------------------------------------------------------------------------------

VIEWS = (
    "collections",
    "changes",
    "citations",
    "quotations",
    "documents",
    "passages",
    "chunks",
    "retrieval_runs",
    "retrieval_hits",
    "conversations",
    "messages",
    "feedback",
)


async def test_logins_see_the_tenants_granted_to_them_and_nothing_they_set_changes_that(
    services: Services, other_tenant: Services, owner: Any, login: Login
) -> None:
    await index(services)
    await index(other_tenant, {"secret": "The secret rock is obsidian."})
    for tenant in (services, other_tenant):
        found = await traced_search(tenant)
        await rate_run(tenant, found.trace_id, 1, "Found it.")
        await talk(tenant)
        await tenant.traces.flush()
    alice = await grant_login(owner, login, "analyst_alice", "one")
    hidden_chunk = await owner.fetchval("SELECT chunk_id FROM rag.embeddings WHERE tenant_id = $1",
                                        other_tenant.principal.tenant_id)  # fmt: skip

    spoofed_tenant = f"SET app.tenant = '{other_tenant.principal.tenant_id}'"
    for spoof in ("SELECT 1", spoofed_tenant, "SET search_path = pg_temp, rag"):
        await alice.execute(spoof)
        for view in VIEWS:
            rows = await alice.fetch(f"SELECT DISTINCT tenant FROM analyst.{view}")
            assert [row["tenant"] for row in rows] == ["one"], (view, spoof)
        found = await alice.fetch("SELECT * FROM analyst.search_lexical('stones', 'obsidian rock')")
        assert found
        assert {row["tenant"] for row in found} == {"one"}
        with pytest.raises(asyncpg.NoDataFoundError):
            await alice.fetch("SELECT * FROM analyst.similar_chunks($1)", hidden_chunk)

    await alice.execute("SET row_security = off")  # asks for an error instead of a filter
    for view in VIEWS:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await alice.fetch(f"SELECT * FROM analyst.{view}")


async def test_a_login_with_both_tenants_searches_both(
    services: Services, other_tenant: Services, owner: Any, login: Login
) -> None:
    await index(services)
    await index(other_tenant, {"secret": "The secret rock is obsidian."})
    bob = await grant_login(owner, login, "analyst_bob", "one")
    await owner.execute("SELECT rag.grant_analyst('analyst_bob', 'two')")
    found = await bob.fetch("SELECT * FROM analyst.search_lexical('stones', 'obsidian rock', 50)")
    assert {row["tenant"] for row in found} == {"one", "two"}

    await owner.execute("SELECT rag.revoke_analyst('analyst_bob', 'one')")
    found = await bob.fetch("SELECT * FROM analyst.search_lexical('stones', 'obsidian rock', 50)")
    assert {row["tenant"] for row in found} == {"two"}


async def test_an_analyst_can_read_schema_analyst_and_nothing_else(
    services: Services, owner: Any, login: Login
) -> None:
    await index(services)
    alice = await grant_login(owner, login, "analyst_alice", "one")
    for statement in (
        "SELECT * FROM rag.documents",
        "SELECT rag.lexical_search(NULL, 'x', 1, 1, 1)",
        "SELECT rag.grant_analyst('analyst_alice', 'two')",
        "INSERT INTO rag.analyst_grant (tenant_id, role_name) VALUES (2, 'analyst_alice')",
        "DELETE FROM analyst.documents",
        "UPDATE analyst.documents SET title = ''",
        "CREATE TABLE analyst.mine (x int)",
        "SET ROLE cairn_views",
        "SET ROLE cairn_app",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('/etc/passwd')",
    ):
        with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.ObjectNotInPrerequisiteStateError)):
            await alice.execute(statement)


async def test_a_member_without_a_grant_sees_nothing(services: Services, owner: Any, login: Login) -> None:
    await index(services)
    await owner.execute("CREATE ROLE analyst_eve LOGIN; GRANT cairn_analyst TO analyst_eve")
    eve = await login("analyst_eve")
    for view in VIEWS:
        assert await eve.fetch(f"SELECT * FROM analyst.{view}") == []
    with pytest.raises(asyncpg.NoDataFoundError):
        await eve.fetch("SELECT * FROM analyst.search_lexical('stones', 'rock')")


# --- the page for analysts --------------------------------------------------------------------------------------------


def examples() -> list[str]:
    """The SQL blocks under "Examples" of docs/analysts.md."""
    text = DOCS.read_text(encoding="utf-8").partition("## Examples")[2]
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


async def enhanced(services: Services, collection: str) -> None:
    """A question of two parts, each of which is searched for; its user was not content."""
    question = "What is granite and how is bread baked?"
    asked = Question(question, collection, new_id(), strategy="enhanced")
    assert await ask(services, asked)
    await rate_run(services, asked.run_id, -1, "Bread is left out.")


async def corrected(services: Services, collection: str) -> None:
    """A run of the strategy that corrects itself."""
    current = services.settings.current
    agentic = current.rag.agentic_retrieval.model_copy(update={"enabled": True})
    rag = current.rag.model_copy(update={"agentic_retrieval": agentic})
    services.settings.current = current.model_copy(update={"rag": rag})
    asked = Question("What is granite?", collection, new_id(), strategy="corrective")
    assert await ask(services, asked)
    services.settings.current = current


async def traced_agent(services: Services, collection: str) -> None:
    """The trace of an agent's run, of one step; agents themselves need a model (test_react.py)."""
    plain = Question("What is granite?", collection, new_id(), strategy="fast")
    assert await ask(services, plain)
    trace = await get_trace(services, plain.run_id)
    used = {
        "tool": "retrieve_vector",
        "arguments": {"query": "granite"},
        "success": True,
        "ms": 1.5,
        "found": [],
        "reason": "",
    }
    steps = [{"step": 1, "thought": "I look.", "tools": [{**used, "repeated": False}]}]
    services.traces.record(replace(trace, id=new_id(), legs=(), plan={**trace.plan, "agent_steps": steps}))


async def evaluated_and_checked(services: Services, folder: Path) -> None:
    """An evaluation run of one query, and a recall check."""
    (folder / "corpus.jsonl").write_text(json.dumps({"_id": "basalt", "text": TEXTS["basalt"]}) + "\n")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "what becomes of lava"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tbasalt\t1\n")
    bench = Bench(services.search_deps, services.principal, services.settings.current, "test")
    await evaluate(bench, load(folder), "demo", "hybrid", lambda _: None)
    found = await get_collection(services, "demo")
    async with services.database.transaction(services.principal) as connection:
        await vector_indexes.enqueue_check(connection, services.principal, found.id)
    await services.worker().run_until_idle()


async def test_everything_that_analysts_have_is_listed_and_has_an_example(owner: Any) -> None:
    rows = await owner.fetch(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'analyst'::regnamespace AND relkind IN ('v', 'm') "
        "UNION SELECT proname FROM pg_proc WHERE pronamespace = 'analyst'::regnamespace"
    )
    listed = set(re.findall(r"^\| `analyst\.(\w+)", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    shown = set(re.findall(r"analyst\.(\w+)", "\n".join(examples())))
    assert {row["name"] for row in rows} == listed
    assert listed - shown == set()


async def test_the_example_queries_of_the_documentation_run(
    services: Services, owner: Any, login: Login, tmp_path: Path
) -> None:
    await index(services, collection="demo")
    await evaluated_and_checked(services, tmp_path)
    curie = {
        "curie": "Marie Curie was born in Warsaw, met Pierre Curie in Paris and died in Passy.",
        "radium": "The Radium Institute was founded by Marie Curie.",
    }
    await index(services, curie, collection="demo")
    fees = {"fees": "# Harbour\n\n| Berth | Fee (EUR) |\n| --- | --- |\n| East | 120.50 |\n| West | 98 |\n"}
    await index(services, fees, collection="demo")
    await ask(services, Question("Which berth has the highest fee?", "demo", new_id()))
    await refresh_communities(services, "demo", force=True)
    for query in ("lava", "trail of stones", "xyzzy"):
        await run_search(services, SearchRequest(query=query, collections=("demo",), top_k=1))
    await run_search(
        services, SearchRequest(query="Where was Marie Curie born?", collections=("demo",), legs=LEGS, explicit=True)
    )
    await talk(services, "demo")
    await corrected(services, "demo")
    await enhanced(services, "demo")
    await traced_agent(services, "demo")
    assert not (await ask(services, Question("Who invented the telephone?", "demo", new_id()))).citations
    # the last example explains the last run
    await run_search(services, SearchRequest(query="stones", collections=("demo",), top_k=1))
    await services.traces.flush()
    services.spending.book(services.principal, new_id(), None, Spend(("m",), 10, 5, calls=1))
    await services.spending.flush()
    alice = await grant_login(owner, login, "analyst_alice", "one")

    assert len(examples()) >= 10
    for statement in examples():
        rows = await alice.fetch(statement)
        assert rows, statement
