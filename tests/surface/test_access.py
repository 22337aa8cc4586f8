"""Who may do what: every operation of the OpenAPI document, asked by everybody who must not. A new route is in it by itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest
from keyed import (
    COLLECTION,
    MARKER,
    URLS,
    Keys,
    Operation,
    Victim,
    assert_knows_nothing,
    bearer,
    furnish,
    make_keys,
    operations,
    refusal,
    settled,
)  # fmt: skip
from serving import Api, read_events, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from cairn.domain.key import new_secret
from cairn.interfaces.http.authenticate import COOKIE
from cairn.interfaces.http.policy import PAGE_FILES, POLICIES
from cairn.service.keys import change_groups, of_tenant
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.waiting import patience, until

HIDDEN = {
    "POST /chat", "POST /session", "DELETE /session", "POST /ui/collections/{name}/documents",
    "GET /ui/collections/{name}/documents/{document_id}/file", "POST /mcp", "GET /session/oidc", "GET /session/oidc/callback",
    "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/mcp",
    "GET /ui/runs/{run_id}/proof",
}  # fmt: skip
"""Routes that the document leaves out: another address of one that is in it, the page's own, and what has a protocol of its own
(test_mcp.py asks who may what there)."""
ADMIN_ONLY = ("cache", "metrics", "keys", "audit", "models")


@pytest.fixture(scope="module")
def place(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Keys]:
    dsn = fresh_database()
    return dsn, make_keys(dsn, str(tmp_path_factory.mktemp("keys")))


@pytest.fixture(scope="module")
def secrets(place: tuple[str, Keys]) -> Keys:
    return place[1]


@pytest.fixture(scope="module")
def keyed(place: tuple[str, Keys], tmp_path_factory: pytest.TempPathFactory, model: Any) -> Iterator[Api]:
    """It listens on all addresses, which keys allow."""
    folder = tmp_path_factory.mktemp("keyed")
    environment = {"CAIRN_AUTH": "keys", "CAIRN_HOST": "0.0.0.0", "CAIRN_MODEL_DIR": str(model)}
    with serving(place[0], folder, page=True, settings={"urls": URLS}, **environment) as running:
        yield running


@pytest.fixture(scope="module")
def victim(keyed: Api, secrets: Keys) -> Victim:
    return furnish(keyed, secrets.victim)


@pytest.fixture(scope="module")
def every(keyed: Api, victim: Victim) -> list[Operation]:
    return operations(keyed, victim)


def test_the_document_has_every_route_and_says_its_scope(keyed: Api, every: list[Operation]) -> None:
    listed = {operation.name for operation in every}
    assert listed | HIDDEN | {name for name in POLICIES if name.startswith("WS ")} == set(POLICIES)
    schema = keyed.client.get("/openapi.json").json()
    for operation in every:
        described = schema["paths"][operation.template][operation.method.lower()]
        assert ("security" in described) == (POLICIES[operation.name].scope is not None), operation.name
    for name in ADMIN_ONLY:
        assert any(operation.scope == "admin" and name in operation.template for operation in every), name


def test_who_has_no_key_that_counts_gets_one_answer(keyed: Api, secrets: Keys, every: list[Operation]) -> None:
    """None, malformed, unknown, revoked, expired; a body is not looked at."""
    without = {
        "none": {}, "empty": {"Authorization": ""}, "basic": {"Authorization": "Basic YTpi"},
        "bare": {"Authorization": secrets.victim}, "long": bearer("x" * 9000), "malformed": bearer(secrets.victim[:-1]),
    }  # fmt: skip
    refused = {"unknown": bearer(new_secret()), "revoked": bearer(secrets.revoked), "expired": bearer(secrets.expired),
               "token": bearer("eyJhbGciOiJub25lIn0.eyJ0ZW5hbnQiOiJ2aWN0aW0ifQ."), "malformed": without["malformed"]}  # fmt: skip
    for operation in every:
        answers = {}
        for name, headers in (without | refused).items():
            answer = operation.send(keyed, headers)
            if operation.scope is None:
                assert answer.status_code in (200, 503), f"{operation.name} with {name}: {answer.text}"
                assert "victim" not in answer.text
                continue
            assert answer.status_code == 401, f"{operation.name} with {name}: {answer.status_code} {answer.text}"
            assert answer.headers["www-authenticate"].startswith("Bearer")
            answers[name] = (*refusal(answer), answer.headers["www-authenticate"])
        assert len({answers[name] for name in refused if name in answers}) <= 1, f"{operation.name} tells them apart"


def test_a_scope_that_is_missing_is_a_403_before_the_body_is_read(
    keyed: Api, secrets: Keys, every: list[Operation]
) -> None:
    for operation in every:
        if operation.scope is None:
            continue
        lacking = bearer(secrets.without[operation.scope])
        nonsense: dict[str, Any] = {"json": None, "files": None, "content": b"{", "headers": {"Content-Type": "x/y"}}
        for instead in ({}, nonsense if operation.method == "POST" else {}):
            answer = operation.send(keyed, lacking, **instead)
            assert answer.status_code == 403, f"{operation.name} {answer.text}"
            code, detail = refusal(answer)
            assert code in ("forbidden", "403")
            assert f"scope {operation.scope}," in detail


def test_its_own_key_reads_all_of_it(keyed: Api, secrets: Keys, every: list[Operation]) -> None:
    """Or the sweep below would prove nothing: the ids are real."""
    for operation in every:
        if operation.method == "GET":
            answer = operation.send(keyed, bearer(secrets.victim))
            assert answer.status_code in (200, 204), f"{operation.name}: {answer.status_code} {answer.text}"


def test_nobody_reads_or_changes_what_is_another_tenants(
    keyed: Api, secrets: Keys, victim: Victim, every: list[Operation], place: tuple[str, Keys]
) -> None:
    """All operations, with the ids and names of the victim and the key of somebody else, reading ones first; then once more,
    after the other tenant has made things of the same names."""
    before = settled(place[0])
    assert before["rag.passages"][0] > 0
    in_order = sorted(every, key=lambda operation: (operation.method != "GET", operation.method == "DELETE"))
    for operation in [*in_order, *in_order]:
        answer = operation.send(keyed, bearer(secrets.other))
        assert answer.status_code < 500 or refusal(answer)[0] not in ("internal", "500"), (
            f"{operation.name}: {answer.text}"
        )
        assert_knows_nothing(operation, answer.text, victim)
    after = settled(place[0])
    assert {table: (before[table], after[table]) for table in before if before[table] != after[table]} == {}


# --- sockets and streams ------------------------------------------------------------------------------------------------


def socket_of(api: Api, run_id: object, **options: Any) -> Any:
    return connect(f"ws://127.0.0.1:{api.port}/ws/runs/{run_id}", proxy=None, open_timeout=patience(20), **options)


def test_a_socket_asks_for_a_key(keyed: Api, secrets: Keys, victim: Victim) -> None:
    run_id = victim.ids["run_id"]
    for headers, status in [
        ({}, 401), (bearer(new_secret()), 401), (bearer(secrets.revoked), 401), (bearer(secrets.expired), 401),
        (bearer(secrets.without["read"]), 403),
    ]:  # fmt: skip
        with pytest.raises(InvalidStatus) as refused, socket_of(keyed, run_id, additional_headers=headers):
            pass
        assert refused.value.response.status_code == status
    for options in (
        {"additional_headers": bearer(secrets.victim)},
        {"subprotocols": ["cairn", f"cairn.bearer.{secrets.victim}"]},
    ):
        with socket_of(keyed, run_id, **options) as socket:
            assert json.loads(socket.recv(patience(20)))["event"]
            assert socket.subprotocol in (None, "cairn")


def test_a_socket_shows_no_run_of_another_tenant(keyed: Api, secrets: Keys) -> None:
    run = keyed.client.post(
        "/query", headers=bearer(secrets.victim),
        json={"question": f"How heavy is the {MARKER}?", "collection": COLLECTION, "resumable": True},
    ).json()  # fmt: skip
    with socket_of(keyed, run["run_id"], additional_headers=bearer(secrets.other)) as socket:
        frame = json.loads(socket.recv(patience(20)))
    assert (frame["event"], frame["data"]["code"]) == ("error", "not-found")
    assert MARKER not in json.dumps(frame)


def make_key(api: Api, admin: str) -> tuple[str, str]:
    made = api.client.post("/keys", headers=bearer(admin), json={"name": "short", "scopes": ["read"]})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    return made.json()["id"], made.json()["key"]


def test_revoking_ends_requests_streams_and_sockets_at_once(keyed: Api, secrets: Keys, place: tuple[str, Keys]) -> None:
    key_id, secret = make_key(keyed, secrets.victim)
    job_id = asyncio.run(waiting_job(place[0]))
    assert keyed.client.get("/collections", headers=bearer(secret)).status_code == 200
    with (
        keyed.client.stream("GET", f"/jobs/{job_id}/events", headers=bearer(secret)) as stream,
        socket_of(keyed, uuid4(), additional_headers=bearer(secret)) as socket,
    ):
        assert stream.status_code == 200
        assert keyed.client.delete(f"/keys/{key_id}", headers=bearer(secrets.victim)).json()["revoked_at"]
        assert keyed.client.get("/collections", headers=bearer(secret)).status_code == 401
        last = list(read_events(stream))[-1]
        assert (last.event, last.data["code"]) == ("error", "unauthenticated")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(patience(20))
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


def test_groups_that_a_key_is_given_or_loses_count_at_its_next_request(
    keyed: Api, secrets: Keys, place: tuple[str, Keys], tmp_path: Path
) -> None:
    """Changed by the server, or by another process, of which it hears."""
    whole = bearer(secrets.victim)
    documents = [{"external_id": "pay.md", "text": "The pay is nine.", "access": ["group:hr"]}]
    index = {"collection": "pay", "documents": documents}
    assert keyed.client.post("/index", json=index, headers=whole).status_code == 200
    key_id, secret = make_key(keyed, secrets.victim)
    text = "/collections/pay/documents/by-external-id/text?external_id=pay.md"

    def status() -> int:
        return keyed.client.get(text, headers=bearer(secret)).status_code

    async def change(groups: list[str]) -> None:
        told = {"CAIRN_DATABASE_URL": place[0], "CAIRN_HOME": str(tmp_path)}
        async with open_services(read_environment(told), SettingsStore()) as services:
            await change_groups(await of_tenant(services, "victim"), UUID(key_id), groups)

    assert status() == 404
    for groups, wanted in ((["hr", "sales", "hr"], 200), ([], 404)) * 2:
        changed = keyed.client.patch(f"/keys/{key_id}", json={"groups": groups}, headers=whole)
        assert (changed.status_code, changed.json()["groups"]) == (200, sorted(set(groups)))
        assert "key" not in changed.json()
        assert status() == wanted
    for given, wanted in ((["hr"], 200), ([], 404)):
        asyncio.run(change(given))
        keyed.await_until(lambda wanted=wanted: status() == wanted)  # type: ignore[misc]
    deeds = keyed.client.get("/audit", params={"action": "key.change", "limit": 1}, headers=whole).json()["items"]
    assert [(one["target"], one["detail"]["groups"]) for one in deeds] == [(key_id, {"before": ["hr"], "after": []})]


def test_what_cannot_be_changed_of_a_key(keyed: Api, secrets: Keys) -> None:
    key_id, _ = make_key(keyed, secrets.victim)
    for who, where, body, status in [
        (secrets.victim, key_id, {}, 422), (secrets.victim, key_id, {"groups": None}, 422),
        (secrets.victim, key_id, {"groups": [" hr"]}, 422), (secrets.victim, key_id, {"groups": ["x"] * 101}, 422),
        (secrets.victim, key_id, {"groups": [], "scopes": ["admin"]}, 422),
        (secrets.victim, key_id, {"groups": [], "person": "ada"}, 422),
        (secrets.victim, "hr", {"groups": []}, 422), (secrets.victim, str(uuid4()), {"groups": []}, 404),
        (secrets.other, key_id, {"groups": []}, 404), (secrets.without["admin"], key_id, {"groups": ["hr"]}, 403),
    ]:  # fmt: skip
        answer = keyed.client.patch(f"/keys/{where}", json=body, headers=bearer(who))
        assert answer.status_code == status, f"{body}: {answer.text}"


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def cookie(secret: str) -> dict[str, str]:
    return {"Cookie": f"{COOKIE}={secret}"}


def test_a_browser_without_a_key_that_counts_is_shown_where_to_sign_in(
    keyed: Api, secrets: Keys, victim: Victim
) -> None:
    """Also where it follows a link to a file; a program, and who may not, get the problem."""
    file = f"/ui/collections/{COLLECTION}/documents/{uuid4()}/file"
    for path in ("/ui/", "/ui/documents?collection=vault", file, f"/ui/runs/{uuid4()}/proof"):
        for headers, said in ((cookie(secrets.revoked), "Your session has ended."), ({}, "Sign in")):
            answer = keyed.client.get(path, headers=BROWSER | headers)
            assert answer.status_code == 401
            assert answer.headers["content-type"].startswith("text/html")
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert said in answer.text
    assert refusal(keyed.client.get(file, headers=cookie(secrets.revoked)))[0] == "unauthenticated"
    assert refusal(keyed.client.get(file, headers=BROWSER | cookie(secrets.without["read"])))[0] == "forbidden"
    assert refusal(keyed.client.get(file, headers=BROWSER | cookie(secrets.victim)))[0] == "not-found"


def test_a_key_that_ends_while_its_room_is_drawn_leads_to_where_to_sign_in(
    keyed: Api, secrets: Keys, place: tuple[str, Keys]
) -> None:
    key_id, secret = make_key(keyed, secrets.victim)

    async def revoke_while_it_waits(opened: Future[httpx2.Response]) -> None:
        holds, looks = await asyncpg.connect(place[0]), await asyncpg.connect(place[0])
        try:
            async with asyncio.timeout(patience(60)), holds.transaction():
                await holds.execute("LOCK TABLE rag.collections IN ACCESS EXCLUSIVE MODE")
                opening.set()
                waits = "SELECT count(*) FROM pg_locks WHERE relation = 'rag.collections'::regclass AND NOT granted"
                await until(partial(looks.fetchval, waits), 60)
                await asyncio.to_thread(keyed.client.delete, f"/keys/{key_id}", headers=bearer(secrets.victim))
                await asyncio.wrap_future(opened)
        finally:
            await holds.close()
            await looks.close()

    def opens() -> httpx2.Response:
        with httpx2.Client(base_url=keyed.url, timeout=patience(60), trust_env=False) as browser:
            assert opening.wait(patience(60))
            return browser.get("/ui/documents", headers=BROWSER | cookie(secret))

    opening = Event()
    with ThreadPoolExecutor(1) as beside:
        opened = beside.submit(opens)
        asyncio.run(revoke_while_it_waits(opened))
        answer = opened.result()
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "Your session has ended." in answer.text


def test_scripts_of_the_page_do_not_end_with_a_key(keyed: Api, secrets: Keys) -> None:
    """One that is larger than what lies between the server and a reader who does not read, while its key is revoked."""
    key_id, secret = make_key(keyed, secrets.victim)
    version = re.search(r"/ui/_nicegui/([^/]+)/", keyed.client.get("/ui/", headers=BROWSER).text)
    assert version is not None
    with keyed.client.stream("GET", f"/ui/_nicegui/{version[1]}/static/sass.dart.js", headers=cookie(secret)) as script:
        assert (script.status_code, script.headers["cache-control"]) == (200, "public, max-age=3600")
        keyed.client.delete(f"/keys/{key_id}", headers=bearer(secrets.victim))
        assert refusal(keyed.client.get("/collections", headers=bearer(secret)))[0] == "unauthenticated"
        assert len(script.read()) == int(script.headers["content-length"])


def test_what_the_page_is_made_of_is_all_that_is_nobodys() -> None:
    """What NiceGUI serves of a page's own, as files of elements, is none of it: a release that has other routes is looked at."""
    from nicegui import core

    below = f"/_nicegui/{version('nicegui')}/"
    paths = {str(getattr(route, "path", "")) for route in core.app.routes}
    found = {path.removeprefix(below).partition("/")[0] for path in paths if path.startswith(below)}
    assert found == {"static", "libraries", "components", "resources", "dynamic_resources", "esm"}
    for kind in found:
        assert PAGE_FILES.match(f"/ui{below}{kind}/x")
    for path in ("/_nicegui/auto/static/x", "/_nicegui/client/x/upload/1", "/_nicegui_ws/socket.io/", "/documents"):
        assert not PAGE_FILES.match(f"/ui{path}")


async def waiting_job(dsn: str) -> str:
    """A job of the victim that nobody takes for an hour."""
    connection = await asyncpg.connect(dsn)
    try:
        return str(await connection.fetchval(
            "INSERT INTO rag.jobs (tenant_id, id, kind, run_at) SELECT id, gen_random_uuid(), 'index_uploads', "
            "now() + interval '1 hour' FROM rag.tenants WHERE name = 'victim' RETURNING id"
        ))  # fmt: skip
    finally:
        await connection.close()


# --- what is seen -------------------------------------------------------------------------------------------------------


def test_readiness_shows_strangers_its_status_alone(keyed: Api, secrets: Keys) -> None:
    for headers in ({}, bearer(secrets.without["admin"]), bearer(new_secret())):
        assert keyed.client.get("/health/ready", headers=headers).json() == {"status": "ready"}
    assert "database" in keyed.client.get("/health/ready", headers=bearer(secrets.victim)).json()


def test_metrics_name_no_other_tenant_and_nothing_of_it(keyed: Api, secrets: Keys, victim: Victim) -> None:
    text = keyed.client.get("/metrics", headers=bearer(secrets.other)).text
    assert not re.search(f"victim|{COLLECTION}|{MARKER}", text)
    assert "cairn_http_requests_total" in text


def test_keys_are_never_shown_again(keyed: Api, secrets: Keys, every: list[Operation]) -> None:
    """Not in a log, an answer, an error, the audit log or a list; wherever a caller puts one."""
    key = secrets.victim
    answers = [operation.send(keyed, bearer(key)).text for operation in every if operation.method == "GET"]
    answers += [
        keyed.client.request(method, path, headers=headers).text
        for method, path, headers in [
            ("GET", f"/{key}", {}), ("GET", f"/collections/{key}", bearer(key)), ("PUT", f"/keys/{key}", bearer(key)),
            ("DELETE", f"/keys/{key}", bearer(key)), ("GET", f"/jobs?cursor={key}", bearer(key)),
            ("GET", "/collections", bearer(f"{key} {key}")), ("GET", "/nowhere", {"X-Request-ID": key}),
        ]
    ]  # fmt: skip
    answers.append(keyed.client.post("/keys", headers=bearer(key), json={"name": "x", "scopes": [key]}).text)
    answers.append(keyed.client.post("/search", headers=bearer(key), json={"query": "x", "collection": key}).text)
    for text in (*answers, keyed.log):
        for secret in secrets.all:
            assert secret not in text


def test_the_table_of_keys_is_of_the_tenant(keyed: Api, secrets: Keys) -> None:
    own = keyed.client.get("/keys", headers=bearer(secrets.other)).json()["items"]
    assert {item["name"] for item in own} >= {"whole"}
    assert not {"revoked", "expired"} & {item["name"] for item in own}


def test_nobody_makes_a_key_that_may_more(keyed: Api, secrets: Keys) -> None:
    answer = keyed.client.post(
        "/keys", headers=bearer(secrets.without["write"]), json={"name": "x", "scopes": ["write"]}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
