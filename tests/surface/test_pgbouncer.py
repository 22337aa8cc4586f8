"""The whole API through the real PgBouncer in transaction mode, and what happens where it cannot work or goes away."""

from __future__ import annotations

import asyncio
import configparser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from graph_library import COLLECTION as LIBRARY
from graph_library import TEXTS
from keyed import COLLECTION, MARKER, bearer, furnish, make_keys, operations
from pgbouncer import BINARY, PgBouncer, can_keep_statements, pgbouncer
from serving import REPO, Api, serving

from cairn.db.embedded import EmbeddedServer
from cairn.db.pool import Database, stream
from cairn.db.roles import ensure_server_login
from cairn.domain.principal import Principal
from cairn.errors import DatabaseUnavailableError, PreparedStatementsError
from tests.waiting import patience

pytestmark = pytest.mark.skipif(BINARY is None, reason="no pgbouncer: neither on PATH nor in CAIRN_TEST_PGBOUNCER")

LOST = ("prepared statement", "Traceback", "unforeseen", "prepared-statements")


def name_of(dsn: str) -> str:
    return urlsplit(dsn).path.lstrip("/")


@pytest.fixture(scope="module")
def dsn(fresh_database: Callable[[], str]) -> str:
    made = fresh_database()
    asyncio.run(ensure_server_login(made))
    return made


@pytest.fixture(scope="module", params=["off", "on"] if can_keep_statements() else ["off"])
def prepared(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def between(server: EmbeddedServer, prepared: str) -> Iterator[PgBouncer]:
    with pgbouncer(server, keeps_statements=prepared == "on") as running:
        yield running


@dataclass(frozen=True)
class Pair:
    """Two serving processes that share the sessions of one PgBouncer; `key` is the first tenant's."""

    one: Api
    other: Api
    key: dict[str, str]

    def ask(self, method: str, path: str, *, api: Api | None = None, **options: Any) -> Any:
        answer = (api or self.one).client.request(method, path, headers=self.key, **options)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def ended(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def over() -> bool:
            found.update(self.ask("GET", f"/jobs/{job}"))
            return found["status"] not in ("queued", "running")

        self.one.await_until(over, 30)
        return found


@pytest.fixture(scope="module")
def pair(
    dsn: str, between: PgBouncer, prepared: str, tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[Pair]:
    keys = make_keys(dsn, str(tmp_path_factory.mktemp("keys")))
    own = {
        "CAIRN_APP_DATABASE_URL": between.dsn(name_of(dsn)), "CAIRN_MODEL_DIR": str(model), "CAIRN_AUTH": "keys",
        "CAIRN_PREPARED_STATEMENTS": prepared,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("pair")
    # an idle worker that would hear of nothing would look once in ten minutes
    settings = {"jobs": {"pollSeconds": 600}}
    with (
        serving(dsn, folder / "one", settings=settings, **own) as one,
        serving(dsn, folder / "other", settings=settings, **own) as other,
    ):
        yield Pair(one, other, bearer(keys.victim))


def test_every_operation_is_served_by_processes_that_share_sessions(pair: Pair, psql: Callable[..., str]) -> None:
    """What reads, then what changes, then what deletes, by turns from either process; a refusal may be right, a failure not."""
    victim = furnish(pair.one, pair.key["Authorization"].removeprefix("Bearer "))
    order = ("HEAD", "GET", "POST", "PUT", "PATCH", "DELETE")
    every = sorted(operations(pair.one, victim), key=lambda operation: order.index(operation.method))
    answered: dict[str, int] = {}
    for turn, operation in enumerate(every * 2):
        answer = operation.send((pair.one, pair.other)[turn % 2], pair.key)
        assert answer.status_code < 500, f"{operation.name}: {answer.status_code} {answer.text}"
        answered[operation.name] = min(answer.status_code, answered.get(operation.name, 599))
    wanted = ("/search", "/query", "/collections", "/jobs", "/traces", "/cache", "/chat", "/graph", "/keys", "/runs")
    for part in wanted:
        assert any(part in name and status < 300 for name, status in answered.items()), f"nothing of {part} worked"
    for api in (pair.one, pair.other):
        assert not [word for word in LOST if word in api.log], api.log[-3000:]
        assert "database.pooled" in api.log
    seen = psql(
        "SELECT count(DISTINCT usename), min(usename) FROM pg_stat_activity "
        f"WHERE datname = '{pair.one.database}' AND application_name = 'cairn' AND usename <> 'cairn'"
    )
    assert seen == "1|cairn_server"


def test_uploads_searches_answers_and_the_graph(pair: Pair) -> None:
    documents = [{"external_id": name, "text": text, "metadata": {"kind": "life"}} for name, text in TEXTS.items()]
    pair.ask("POST", "/index", json={"collection": LIBRARY, "documents": documents})
    files = [
        ("files", (f"{n}.md", f"# Number {n}\n\nAda Lovelace wrote note {n} in London.".encode())) for n in range(12)
    ]
    job = pair.ask("POST", f"/collections/{LIBRARY}/documents", files=files)["id"]
    assert pair.ended(job)["status"] == "succeeded"
    body = {"query": "who wrote about the engine with Ada Lovelace", "collection": LIBRARY, "top_k": 5}
    for api in (pair.one, pair.other) * 3:
        whole = pair.ask("POST", "/search", api=api, json={**body, "legs": ["vector", "lexical", "graph"]})
        assert len(whole["results"]) == 5
        assert (whole["legs_used"], whole["legs_failed"]) == (["vector", "lexical", "graph"], {})
        filtered = pair.ask("POST", "/search", api=api, json={**body, "filters": {"kind": "life"}})
        assert {one["external_id"] for one in filtered["results"]} == set(TEXTS)
        answer = pair.ask("POST", "/query", api=api, json={"question": body["query"], "collection": LIBRARY})
        assert answer["answer"]
        assert pair.ask("GET", "/graph/communities", api=api, params={"collection": LIBRARY})["items"]
    for api in (pair.one, pair.other):
        assert not [word for word in LOST if word in api.log], api.log[-3000:]


def test_a_job_is_found_within_seconds_though_nobody_can_be_told(pair: Pair) -> None:
    """Its workers would else look once in ten minutes."""
    job = pair.ask("POST", f"/collections/{COLLECTION}x/documents", files=[("files", ("a.txt", MARKER.encode()))])["id"]
    assert pair.ended(job)["status"] == "succeeded"


def test_a_revoked_key_ends_at_once(pair: Pair) -> None:
    """Revocations are heard on a connection that leads past the pooler."""
    made = pair.ask("POST", "/keys", json={"name": "short", "scopes": ["read", "admin"]})
    headers = bearer(made["key"])
    assert pair.other.client.get("/collections", headers=headers).status_code == 200
    pair.ask("DELETE", f"/keys/{made['id']}")
    pair.other.await_until(lambda: pair.other.client.get("/collections", headers=headers).status_code == 401)
    for api in (pair.one, pair.other):
        assert "keys.not_listening" not in api.log


def test_killed_in_the_middle_it_is_a_503_until_it_is_back(pair: Pair, between: PgBouncer) -> None:
    def status(api: Api) -> tuple[int, str]:
        try:
            answer = api.client.post("/search", headers=pair.key, json={"query": "a stone", "collection": "rocks"})
        except httpx2.TransportError as error:
            return 0, repr(error)
        return answer.status_code, answer.text

    pair.ask("POST", "/index", json={"collection": "rocks", "documents": [{"external_id": "a", "text": "A stone."}]})
    assert status(pair.one)[0] == status(pair.other)[0] == 200
    between.kill()
    try:
        for api in (pair.one, pair.other):
            code, text = status(api)
            assert code == 503, text
            assert "database-unavailable" in text
            assert api.client.get("/health/ready").status_code == 503
    finally:
        between.start()
    for api in (pair.one, pair.other):
        api.await_until(lambda api=api: status(api)[0] == 200)  # type: ignore[misc]
        api.await_until(lambda api=api: api.client.get("/health/ready").status_code == 200)  # type: ignore[misc]


# --- prepared statements ----------------------------------------------------------------------------------------------


async def test_prepared_statements_are_left_on_only_where_they_are_kept(server: EmbeddedServer, dsn: str) -> None:
    """In session mode and by a PgBouncer that remembers them; else the start ends with the cure."""
    keeping: list[dict[str, Any]] = [{"pool_mode": "session"}]
    keeping += [{"keeps_statements": True}] if can_keep_statements() else []
    for settings in keeping:
        with pgbouncer(server, **settings) as between:
            await (await Database.open(between.dsn(name_of(dsn)), max_size=1)).close()
    for turns in (0, 1):
        refused = pytest.raises(PreparedStatementsError, match=r"CAIRN_PREPARED_STATEMENTS=off.*1\.22")
        with pgbouncer(server, server_round_robin=turns) as between, refused:
            await Database.open(between.dsn(name_of(dsn)), max_size=1)


def test_a_start_with_prepared_statements_is_refused_in_one_line(
    server: EmbeddedServer, dsn: str, tmp_path: Path
) -> None:
    with (
        pgbouncer(server) as between,
        serving(dsn, tmp_path, wait=False, CAIRN_APP_DATABASE_URL=between.dsn(name_of(dsn))) as api,
    ):
        assert api.process.wait(patience(60)) == 1
        assert "prepared-statements: " in api.log
        assert "CAIRN_PREPARED_STATEMENTS=off" in api.log
        assert "Traceback" not in api.log


async def test_statements_that_get_lost_later_are_a_problem_that_names_the_setting(
    server: EmbeddedServer, dsn: str
) -> None:
    """The pooler was put between, or changed, while the process serves."""
    with pgbouncer(server, pool_mode="session") as between:
        serving_database = await Database.open(between.dsn(name_of(dsn)), max_size=2)
        try:
            async with serving_database.transaction(Principal(1, "one")) as connection:
                await connection.fetchval("SELECT $1::int", 1)
                await connection.execute("DEALLOCATE ALL")
            with pytest.raises(PreparedStatementsError, match="CAIRN_PREPARED_STATEMENTS"):
                async with serving_database.transaction(Principal(1, "one")) as connection:
                    await connection.fetchval("SELECT $1::int", 1)
        finally:
            await serving_database.close()


async def test_the_configuration_of_the_documentation(server: EmbeddedServer, dsn: str) -> None:
    text = (REPO / "docs" / "production.md").read_text()
    block = text.partition("```ini\n# pgbouncer.ini\n")[2].partition("```")[0]
    parser = configparser.ConfigParser()
    parser.read_string(block)
    here = {"listen_addr", "listen_port", "auth_type", "auth_file"}
    here |= set() if can_keep_statements() else {"max_prepared_statements"}
    settings = {name: value for name, value in parser["pgbouncer"].items() if name not in here}
    assert settings["pool_mode"] == "transaction"
    with pgbouncer(server, **settings) as between:
        opened = await Database.open(between.dsn(name_of(dsn)), max_size=1, prepared_statements=can_keep_statements())
        async with opened.transaction(Principal(1, "one")) as connection:
            assert await connection.fetchval("SELECT $1::int", 7) == 7
        await opened.close()
        assert not [line for line in between.log.splitlines() if "ERROR" in line or "FATAL" in line]


async def test_who_waits_for_a_session_in_vain_gets_a_known_error(server: EmbeddedServer, dsn: str) -> None:
    one = Principal(1, "one")
    with pgbouncer(server, default_pool_size=1, query_wait_timeout=1) as between:
        opened = await Database.open(between.dsn(name_of(dsn)), max_size=2, prepared_statements=False)
        try:
            async with opened.transaction(one):
                with pytest.raises(DatabaseUnavailableError, match="no connection"):
                    async with opened.transaction(one):
                        pytest.fail("there is one session")
            async with opened.transaction(one) as connection:
                assert await connection.fetchval("SELECT current_user") == "cairn_app"
        finally:
            await opened.close()


async def test_cursors_leave_no_name_behind(server: EmbeddedServer, dsn: str) -> None:
    """asyncpg's own are named also without its cache."""
    with pgbouncer(server, default_pool_size=1) as between:
        opened = await Database.open(between.dsn(name_of(dsn)), max_size=1, prepared_statements=False)
        try:
            for _ in range(2):
                async with opened.transaction(Principal(1, "one"), readonly=True) as connection:
                    rows = stream(connection, "SELECT generate_series(1, $1::int)", 100, prefetch=7)
                    assert [row[0] async for row in rows] == list(range(1, 101))
                    assert (
                        await connection.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''") == 0
                    )
            assert not opened.notifies
        finally:
            await opened.close()
