"""One server over two database servers: who is served from where, what nobody reaches, and whom a server that is away costs."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from commands import Cairn
from keyed import Victim, assert_knows_nothing, bearer, furnish, operations, refusal, settled
from scripted_issuer import AUDIENCE, ScriptedIssuer, scripted_issuer
from serving import Api, serving

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.domain.key import new_secret
from cairn.domain.principal import ALL_SCOPES
from cairn.service.keys import create_key, of_tenant, revoke_key
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.standby import Postgres, one_server
from tests.waiting import patience

PASSWORD = "hunter2"
"""Stands in the URL of the other server, which asks for none: wherever it is shown, a URL was."""
MAP = """
[databases.east]
url = "{url}"

[tenants]
victim = "east"
globex = "east"
initech = "moving"
"""


@dataclass(frozen=True)
class World:
    """`home`: the default database. `keys` by tenant; of `other` and `copied` it is the default database that has the tenant."""

    home: str
    east: Postgres
    file: Path
    model: Path
    keys: dict[str, str]
    issuer: ScriptedIssuer

    @property
    def environment(self) -> dict[str, str]:
        return {
            "CAIRN_AUTH": "keys", "CAIRN_TENANT": "operator", "CAIRN_MODEL_DIR": str(self.model),
            "CAIRN_TENANT_DATABASES": str(self.file), "CAIRN_OIDC_ISSUER": self.issuer.url, "CAIRN_OIDC_AUDIENCE": AUDIENCE,
        }  # fmt: skip


def with_password(dsn: str) -> str:
    return dsn.replace("@", f":{PASSWORD}@", 1)


def make_key(dsn: str, folder: Path, tenant: str) -> str:
    async def make() -> str:
        environment = read_environment(
            {"CAIRN_DATABASE_URL": dsn, "CAIRN_HOME": str(folder), "CAIRN_TENANT": "operator"}
        )
        async with open_services(environment, SettingsStore()) as services:
            return (await create_key(await of_tenant(services, tenant, create=True), "whole", ALL_SCOPES))[1]

    return asyncio.run(make())


def ask_database(dsn: str, statement: str, *arguments: object) -> Any:
    async def ask() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(statement, *arguments)
        finally:
            await connection.close()

    return asyncio.run(ask())


def documents_in(dsn: str, tenant: str) -> int:
    statement = "SELECT count(*) FROM rag.documents AS d JOIN rag.tenants AS t ON t.id = d.tenant_id WHERE t.name = $1"
    return int(ask_database(dsn, statement, tenant))


@pytest.fixture(scope="module")
def east(server: EmbeddedServer) -> Iterator[Postgres]:
    with one_server(server.home / "postgres" / runtime.VERSION) as running:
        yield running


@pytest.fixture(scope="module")
def issuer() -> Iterator[ScriptedIssuer]:
    with scripted_issuer() as running:
        yield running


@pytest.fixture(scope="module")
def world(
    east: Postgres,
    fresh_database: Callable[[], str],
    tmp_path_factory: pytest.TempPathFactory,
    model: Path,
    issuer: ScriptedIssuer,
) -> World:
    home, folder = fresh_database(), tmp_path_factory.mktemp("world")
    file = folder / "tenants.toml"
    file.write_text(MAP.format(url=with_password(east.dsn)))
    keys = {name: make_key(east.dsn, folder, name) for name in ("victim", "globex")}
    keys |= {name: make_key(home, folder, name) for name in ("other", "initech")}
    keys["left behind"] = make_key(home, folder, "victim")
    return World(home, east, file, model, keys, issuer)


@pytest.fixture(scope="module")
def api(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(world.home, tmp_path_factory.mktemp("api"), page=True, **world.environment) as running:
        for name in ("victim", "globex", "other"):
            answer = running.client.get("/collections", headers=bearer(world.keys[name]))
            assert answer.status_code == 200, answer.text
        yield running


@pytest.fixture(scope="module")
def victim(api: Api, world: World) -> Victim:
    return furnish(api, world.keys["victim"])


def index(api: Api, key: str, collection: str, **texts: str) -> None:
    documents = [{"external_id": name, "text": text} for name, text in texts.items()]
    answer = api.client.post("/index", headers=bearer(key), json={"collection": collection, "documents": documents})
    assert answer.status_code == 200, answer.text
    assert not answer.json()["failed"]


def search(api: Api, key: str, query: str, collection: str) -> tuple[int, Any]:
    body = {"query": query, "collection": collection, "cache": False}
    answer = api.client.post("/search", headers=bearer(key), json=body)
    return answer.status_code, answer.json()


def texts(api: Api, key: str, query: str, collection: str) -> list[str]:
    status, found = search(api, key, query, collection)
    assert status == 200, found
    return [one["content"] for one in found["results"]]


def ready(api: Api, key: str) -> dict[str, Any]:
    return dict(api.client.get("/health/ready", headers=bearer(key)).json())


# --- who is served from where -----------------------------------------------------------------------------------------


def test_tenants_are_served_from_their_databases(api: Api, world: World) -> None:
    """The same collection, documents, questions and conversation on both, each with its own answer."""
    said = {"globex": "The bridge of Globex is made of basalt.", "other": "The bridge of Other is made of granite."}
    for tenant, text in said.items():
        index(api, world.keys[tenant], "bridges", a=text)
    for tenant, text in said.items():
        key, headers = world.keys[tenant], bearer(world.keys[tenant])
        assert texts(api, key, "bridge", "bridges") == [text]
        assert texts(api, key, "bridge", "bridges") == [text], "and what is kept of the first search"
        asked = {"question": "What is the bridge made of?", "collection": "bridges", "session_id": "s"}
        answer = api.client.post("/query?include=all", headers=headers, json=asked)
        assert text.split()[-1].rstrip(".") in answer.json()["answer"]
        told = api.client.get("/chat/sessions/s/messages", headers=headers)
        assert told.status_code == 200, told.text
        assert text.split()[-1].rstrip(".") in told.text
        (other,) = (name for name in ("basalt", "granite") if name not in text)
        assert other not in answer.text + told.text
        upload = api.client.post(
            "/collections/bridges/documents", headers=headers, files={"files": ("b.txt", b"Bridges are long.")}
        )
        job = upload.json()["id"]
        api.await_until(
            lambda job=job, headers=headers: (
                api.client.get(f"/jobs/{job}", headers=headers).json()["status"] == "succeeded"
            )
        )
        usage = api.client.get("/usage", headers=headers).json()["tenant"]
        assert (usage["name"], usage["kept"]["documents"]) == (tenant, 2)
    assert documents_in(world.east.dsn, "globex") == documents_in(world.home, "other") == 2
    assert ask_database(world.home, "SELECT count(*) FROM rag.tenants WHERE name = 'globex'") == 0
    assert ask_database(world.east.dsn, "SELECT count(*) FROM rag.tenants WHERE name = 'other'") == 0


@pytest.mark.siege
def test_its_own_key_reads_all_of_it(api: Api, world: World, victim: Victim) -> None:
    for operation in operations(api, victim):
        if operation.method == "GET":
            answer = operation.send(api, bearer(world.keys["victim"]))
            assert answer.status_code in (200, 204), f"{operation.name}: {answer.status_code} {answer.text}"


@pytest.mark.siege
@pytest.mark.parametrize("who", ["other", "globex"])
def test_nobody_reads_or_changes_what_is_another_tenants(api: Api, world: World, victim: Victim, who: str) -> None:
    """All operations with the ids and names of a tenant of the other server, and with a key of either server."""
    before = settled(world.east.dsn)
    assert before["rag.passages"][0] > 0
    every = operations(api, victim)
    for operation in sorted(every, key=lambda one: (one.method != "GET", one.method == "DELETE")):
        answer = operation.send(api, bearer(world.keys[who]))
        assert answer.status_code < 500 or refusal(answer)[0] not in ("internal", "500"), (
            f"{operation.name}: {answer.text}"
        )
        assert_knows_nothing(operation, answer.text, victim)
    after = settled(world.east.dsn)
    assert {table: (before[table], after[table]) for table in before if before[table] != after[table]} == {}


# --- keys ---------------------------------------------------------------------------------------------------------------


def test_keys_are_made_and_revoked_where_their_tenant_lives(api: Api, world: World) -> None:
    headers = bearer(world.keys["globex"])
    made = api.client.post("/keys", headers=headers, json={"name": "short", "scopes": ["read"]}).json()
    assert api.client.get("/collections", headers=bearer(made["key"])).status_code == 200
    assert ask_database(world.east.dsn, "SELECT count(*) FROM rag.api_keys WHERE name = 'short'") == 1
    assert ask_database(world.home, "SELECT count(*) FROM rag.api_keys WHERE name = 'short'") == 0
    assert api.client.delete(f"/keys/{made['id']}", headers=headers).status_code == 200
    assert api.client.get("/collections", headers=bearer(made["key"])).status_code == 401


def test_a_revocation_by_another_process_is_heard_from_every_database(api: Api, world: World) -> None:
    made = api.client.post(
        "/keys", headers=bearer(world.keys["globex"]), json={"name": "by hand", "scopes": ["read"]}
    ).json()
    assert api.client.get("/collections", headers=bearer(made["key"])).status_code == 200

    async def revoke() -> None:
        told = {"CAIRN_DATABASE_URL": world.east.dsn, "CAIRN_HOME": str(world.file.parent), "CAIRN_TENANT": "globex"}
        async with open_services(read_environment(told), SettingsStore()) as services:
            await revoke_key(services, UUID(made["id"]))

    asyncio.run(revoke())
    api.await_until(lambda: api.client.get("/collections", headers=bearer(made["key"])).status_code == 401)


def test_a_key_counts_only_in_the_database_where_its_tenant_lives(api: Api, world: World) -> None:
    for key in (world.keys["left behind"], new_secret()):
        answer = api.client.get("/collections", headers=bearer(key))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    moving = api.client.get("/collections", headers=bearer(world.keys["initech"]))
    assert (moving.status_code, moving.json()["code"]) == (503, "database-unavailable")
    assert moving.json()["detail"] == "tenant initech is being moved to another server; try again in some minutes"


def test_a_token_leads_to_the_database_of_its_tenant(api: Api, world: World) -> None:
    index(api, world.keys["globex"], "tokens", a="Tokens are short.")
    assert texts(api, world.issuer.token(tenant="globex"), "tokens", "tokens") == ["Tokens are short."]
    assert search(api, world.issuer.token(tenant="other"), "tokens", "tokens")[0] == 404
    for tenant in ("globex", "newcomer"):
        answer = api.client.get("/collections", headers=bearer(world.issuer.token(tenant=tenant)))
        assert answer.status_code == 200, answer.text
    assert ask_database(world.home, "SELECT count(*) FROM rag.tenants WHERE name = 'newcomer'") == 1
    assert ask_database(world.east.dsn, "SELECT count(*) FROM rag.tenants WHERE name = 'newcomer'") == 0
    moving = api.client.get("/collections", headers=bearer(world.issuer.token(tenant="initech")))
    assert (moving.status_code, "being moved" in moving.text) == (503, True)


def test_a_key_of_two_tenants_is_nobodys(api: Api, world: World, tmp_path: Path) -> None:
    """As where a tenant was copied under another name, and both are served: who answers first must not matter."""
    secret = make_key(world.east.dsn, tmp_path, "globex")
    make_key(world.home, tmp_path, "copied")
    found = "SELECT k.key_hash FROM rag.api_keys AS k WHERE k.tenant_id = (SELECT id FROM rag.tenants WHERE name = 'globex') "
    key_hash = ask_database(world.east.dsn, f"{found} ORDER BY id DESC LIMIT 1")
    ask_database(
        world.home,
        "UPDATE rag.api_keys SET key_hash = $1 WHERE tenant_id = (SELECT id FROM rag.tenants WHERE name = 'copied')", key_hash,
    )  # fmt: skip
    for _ in range(3):
        assert api.client.get("/collections", headers=bearer(secret)).status_code == 401
    assert "keys.ambiguous" in api.log


# --- health ---------------------------------------------------------------------------------------------------------------


def test_health_and_metrics_tell_each_database_and_no_address(api: Api, world: World) -> None:
    for tenant in ("other", "globex"):
        state = ready(api, world.keys[tenant])
        assert state["status"] == "ready"
        assert [(one["name"], one["problems"]) for one in state["databases"]] == [("default", []), ("east", [])]
        assert all(one["worker"]["here"] and one["revision"] for one in state["databases"])
        shown = api.client.get("/metrics", headers=bearer(world.keys[tenant])).text
        assert 'cairn_tenant_database_up{database="default"} 1.0' in shown
        assert 'cairn_tenant_database_up{database="east"} 1.0' in shown
        for text in (str(state), shown):
            assert "postgresql://" not in text
            assert str(world.east.place.root) not in text
    assert api.client.get("/health/ready").json() == {"status": "ready"}
    assert PASSWORD not in api.log


# --- a server that is away ------------------------------------------------------------------------------------------------


PAUSE = 0.03
"""Seconds between two searches, which would take a processor of their own without."""


class Searches:
    """Somebody of a tenant who searches again and again: what the answers were."""

    def __init__(self, api: Api, key: str) -> None:
        self.statuses: list[int] = []
        self._api, self._key, self._over = api, key, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            self.statuses.append(search(self._api, self._key, "stones", "stones")[0])

    def __enter__(self) -> Searches:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.siege
def test_a_server_that_is_killed_costs_its_own_tenants_alone(api: Api, world: World, tmp_path: Path) -> None:
    """And what it was asked for before goes on when it is back, without a restart."""
    globex, other = world.keys["globex"], world.keys["other"]
    for key in (globex, other):
        index(api, key, "stones", a="Stones are heavy.")
    fresh = [make_key(world.home, tmp_path, "other"), make_key(world.east.dsn, tmp_path, "globex")]
    with Searches(api, other) as undisturbed:
        world.east.stop(signal.SIGQUIT)
        try:
            api.await_until(lambda: search(api, globex, "stones", "stones")[0] == 503)
            status, problem = search(api, globex, "stones", "stones")
            assert (status, problem["code"]) == (503, "database-unavailable")
            assert "try again" in problem["detail"]
            for tenant, expected in (("globex", 503), ("other", 200)):
                token = bearer(world.issuer.token(tenant=tenant))
                assert api.client.get("/collections", headers=token).status_code == expected
            assert api.client.get("/collections", headers=bearer(fresh[0])).status_code == 200
            for unknown in (fresh[1], new_secret()):
                answer = api.client.get("/collections", headers=bearer(unknown))
                assert (answer.status_code, answer.json()["code"]) == (503, "database-unavailable"), "whose is it?"
                assert "try again" in answer.json()["detail"]
            index(api, other, "stones", b="Stones are old.")
            state = ready(api, other)
            assert state["status"] == "ready"
            assert any(one.startswith("database east: the database does not answer") for one in state["problems"])
            (away,) = [one for one in state["databases"] if one["problems"]]
            assert away["name"] == "east"
            assert str(world.east.place.root) not in str(state)
            assert api.client.get("/health/ready").status_code == 200
            shown = api.client.get("/metrics", headers=bearer(other)).text
            assert 'cairn_tenant_database_up{database="east"} 0.0' in shown
            assert 'cairn_tenant_database_up{database="default"} 1.0' in shown
            assert "cairn_database_up 1.0" in shown
        finally:
            world.east.start()
        api.await_until(lambda: search(api, globex, "stones", "stones")[0] == 200)
    assert set(undisturbed.statuses) == {200}
    assert texts(api, globex, "stones", "stones") == ["Stones are heavy."]
    assert api.client.get("/collections", headers=bearer(fresh[1])).status_code == 200
    headers = bearer(globex)
    upload = api.client.post(
        "/collections/stones/documents", headers=headers, files={"files": ("c.txt", b"Stones roll.")}
    )
    job = f"/jobs/{upload.json()['id']}"
    api.await_until(lambda: api.client.get(job, headers=headers).json()["status"] == "succeeded", 30)
    api.await_until(lambda: not ready(api, other)["problems"])


@pytest.mark.siege
def test_a_server_that_hangs_holds_up_nobody_else(api: Api, world: World, tmp_path: Path) -> None:
    """As behind a network that loses everything: more requests than are let in at once wait for it, and others pass."""
    globex, other = world.keys["globex"], world.keys["other"]
    for key in (globex, other):
        index(api, key, "stones", a="Stones are heavy.")
    fresh = make_key(world.home, tmp_path, "other")
    waiting = [threading.Thread(target=search, args=(api, globex, "stones", "stones")) for _ in range(20)]
    world.east.freeze(stopped=True)
    try:
        for thread in waiting:
            thread.start()
        with Searches(api, other) as undisturbed:
            began = time.monotonic()
            assert api.client.get("/collections", headers=bearer(fresh)).status_code == 200
            assert time.monotonic() - began < patience(1, least=1), "it does not wait for what hangs"
            state = ready(api, other)
            assert [one["name"] for one in state["databases"] if one["problems"]] == ["east"]
            assert state["status"] == "ready"
            began = time.monotonic()
            assert api.client.get("/health/ready").json() == {"status": "ready"}
            assert time.monotonic() - began < patience(0.5, least=0.5), "a balancer waits no longer for it"
    finally:
        world.east.freeze(stopped=False)
    for thread in waiting:
        thread.join()
    assert len(undisturbed.statuses) > 5
    assert set(undisturbed.statuses) == {200}
    api.await_until(lambda: search(api, globex, "stones", "stones")[0] == 200)


# --- starting and ending --------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_a_start_waits_for_no_server_that_is_away_and_opens_it_later(world: World, tmp_path: Path) -> None:
    world.east.stop()
    try:
        with serving(world.home, tmp_path / "api", **world.environment) as api:
            assert api.client.get("/collections", headers=bearer(world.keys["other"])).status_code == 200
            away = api.client.get("/collections", headers=bearer(world.keys["globex"]))
            assert (away.status_code, away.json()["code"]) == (503, "database-unavailable")
            state = ready(api, world.keys["other"])
            assert state["problems"] == [
                "database east: Database unavailable (database.not_opened in the log says why)"
            ], state  # fmt: skip
            world.east.start()
            api.await_until(
                lambda: api.client.get("/collections", headers=bearer(world.keys["globex"])).status_code == 200, 30
            )
            assert not ready(api, world.keys["other"])["problems"]
            api.terminate()
            assert api.process.returncode == 0, api.log
            assert PASSWORD not in api.log
    finally:
        if world.east._process is None:
            world.east.start()


@pytest.mark.siege
def test_a_database_of_newer_code_is_refused_and_the_others_go_on(world: World, tmp_path: Path) -> None:
    ask_database(
        world.east.dsn, "INSERT INTO rag.schema_revisions (revision, breaking) VALUES ('9999', true) RETURNING 1"
    )
    known = ask_database(world.east.dsn, "SELECT version_num FROM rag.alembic_version")
    ask_database(world.east.dsn, "UPDATE rag.alembic_version SET version_num = '9999' RETURNING 1")
    try:
        with serving(world.home, tmp_path / "api", **world.environment) as api:
            assert api.client.get("/collections", headers=bearer(world.keys["other"])).status_code == 200
            refused = api.client.get("/collections", headers=bearer(world.keys["globex"]))
            assert refused.status_code == 503
            (problem,) = ready(api, world.keys["other"])["problems"]
            assert problem.startswith("database east: Database is newer than this code")
            assert "older code cannot serve 9999" in api.log
    finally:
        ask_database(world.east.dsn, "UPDATE rag.alembic_version SET version_num = $1 RETURNING 1", known)
        ask_database(world.east.dsn, "DELETE FROM rag.schema_revisions WHERE revision = '9999' RETURNING 1")


def test_a_start_with_a_map_that_cannot_be_meant_is_one_line(world: World, tmp_path: Path) -> None:
    file = tmp_path / "tenants.toml"
    for text, more, problem in (
        ('[tenants]\nacme = "west"', {}, "tenant 'acme' is to live in 'west', which is no database of the file"),
        (world.file.read_text(), {"CAIRN_TENANT": "victim"}, "name another in CAIRN_TENANT"),
        (world.file.read_text(), {"CAIRN_AUTH": "off"}, "set CAIRN_AUTH=keys"),
    ):
        file.write_text(text)
        environment = {**world.environment, "CAIRN_TENANT_DATABASES": str(file), **more}
        with serving(world.home, tmp_path / "api", wait=False, **environment) as api:
            assert api.process.wait(patience(20)) == 1
            assert problem in api.log
            assert len(api.log.splitlines()) == 1, api.log
            assert PASSWORD not in api.log


# --- moving ---------------------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_a_tenant_moves_to_another_server_with_its_keys(
    cairn: Cairn, world: World, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/scale.md says it: nowhere, export, import, change the map, restart, delete what was left."""
    file, text = tmp_path / "tenants.toml", "Stones of the mover are blue."
    servers = f'[databases.east]\nurl = "{world.east.dsn}"\n'
    monkeypatch.setenv("CAIRN_TENANT_DATABASES", str(file))
    monkeypatch.setenv("CAIRN_TENANT", "operator")
    environment = {**world.environment, "CAIRN_TENANT_DATABASES": str(file)}

    def place(where: str) -> None:
        file.write_text(f'{servers}[tenants]\nmover = "{where}"\n')

    (tmp_path / "a.md").write_text(text)
    place("default")
    key = cairn("keys", "create", "whole", "--tenant", "mover", "--scope", "read", "--scope", "write").out.strip()
    monkeypatch.setenv("CAIRN_TENANT", "mover")
    assert cairn("ingest", "a.md", "--collection", "stones").code == 0
    monkeypatch.setenv("CAIRN_TENANT", "operator")

    place("moving")
    several = cairn("tenant", "export", "mover", "--out", "mover.cairn")
    assert (several.code, "give --database default|east" in several.err) == (2, True), several.err
    assert cairn("tenant", "export", "mover", "--out", "mover.cairn", "--database", "default").code == 0
    imported = cairn("tenant", "import", "mover.cairn", "--database", "east")
    assert imported.code == 0, imported.err
    listed = cairn("tenant", "list").out
    assert "mover in default (not served: it is moving): 1 documents" in listed
    assert "mover in east (not served: it is moving): 1 documents" in listed
    for command in (("search", "stones"), ("keys", "list")):
        monkeypatch.setenv("CAIRN_TENANT", "mover")
        refused = cairn(*command)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
        assert "tenant 'mover' is being moved" in refused.err
    monkeypatch.setenv("CAIRN_TENANT", "operator")

    place("east")
    with serving(database, tmp_path / "api", **environment) as api:
        assert texts(api, key, "stones", "stones") == [text]
        index(api, key, "stones", b="Stones of the mover are old.")
        assert (documents_in(database, "mover"), documents_in(world.east.dsn, "mover")) == (1, 2)
        assert "mover in default (not served: it lives in east): 1 documents" in cairn("tenant", "list").out
        found = {(one["tenant"], one["database"]) for one in cairn("tenant", "list", "--json").json}
        assert {("mover", "default"), ("mover", "east")} <= found
        assert cairn("tenant", "delete", "mover", "--yes", "--database", "default").code == 0
        assert len(texts(api, key, "stones", "stones")) == 2
        # the command line goes to where the tenant lives
        assert "mover in east: 2 documents" in cairn("tenant", "list").out
        assert cairn("tenant", "limit", "mover", "--documents", "2").code == 0
        monkeypatch.setenv("CAIRN_TENANT", "mover")
        assert len(cairn("search", "stones", "--collection", "stones", "--json").json["results"]) == 2
        assert "whole" in cairn("keys", "list").out
    monkeypatch.setenv("CAIRN_TENANT", "operator")
    world.east.stop()
    try:
        away = cairn("tenant", "list")
        assert away.code == 1
        assert "operator in default" in away.out
        assert away.err.startswith("database east: cannot connect to PostgreSQL")
        assert len(away.err.splitlines()) == 1
    finally:
        world.east.start()
