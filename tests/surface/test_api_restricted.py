"""Who may read what, asked of every operation of the OpenAPI document by a key of the same tenant whose group was taken off the
access lists, so that none names it; and of keys that they name. A new route is in it by itself."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx2
import pytest
from keyed import (
    COLLECTION,
    MARKER,
    URLS,
    Operation,
    Victim,
    bearer,
    furnish,
    make_keys,
    operations,
    settled,
)  # fmt: skip
from scripted_web import Reply, ScriptedWeb
from serving import Api, serving
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cairn.interfaces.http.authenticate import COOKIE
from cairn.interfaces.http.policy import POLICIES
from cairn.interfaces.mcp.addresses import COLLECTION as COLLECTION_URI
from cairn.interfaces.mcp.addresses import DOCUMENT, PASSAGE
from cairn.interfaces.web.frame import ROOMS
from tests.waiting import wait_until

GROUP = "vault"


@dataclass(frozen=True)
class Readers:
    """Secrets: of who operates, of members of two groups, and of a key without any."""

    whole: str
    member: str
    former: str
    outsider: str


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedWeb]:
    page = f"<html><head><title>Pay</title></head><body><p>The {MARKER} is paid on Mondays.</p></body></html>"
    with ScriptedWeb({"/pay": page, "/new": page, "/open": "<p>A page for everybody.</p>"}) as running:
        running.pages["/away"] = Reply(status=302, headers={"Location": f"http://127.0.0.1:{running.port}/moved"})
        running.pages["/moved"] = "<p>A page that was somewhere else.</p>"
        yield running


@pytest.fixture(scope="module")
def place(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Any, web: ScriptedWeb
) -> Iterator[tuple[Api, Readers, Victim, str]]:
    """A tenant that has everything, all of it restricted after it was asked about, to one group and then to another."""
    dsn = fresh_database()
    keys = make_keys(dsn, str(tmp_path_factory.mktemp("keys")))
    environment = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model)}
    hosts = {**URLS, "allowedHosts": [*URLS["allowedHosts"], f"localhost:{web.port}", f"127.0.0.1:{web.port}"]}
    settings = {"urls": hosts}
    with serving(dsn, tmp_path_factory.mktemp("restricted"), settings=settings, page=True, **environment) as api:
        victim = furnish(api, keys.victim)
        settled(dsn)
        made_keys = []
        for groups in ([GROUP], ["left"], []):
            body = {"name": "reader", "scopes": ["read", "ask", "write"], "groups": groups}
            made = api.client.post("/keys", json=body, headers=bearer(keys.victim))
            assert made.status_code == 201, made.text
            made_keys.append(made.json()["key"])
        for access in ([f"group:{GROUP}", "group:left"], [f"group:{GROUP}"]):
            for path in (f"/collections/{COLLECTION}/documents", f"/chat/{victim.ids['chat_id']}/documents"):
                for one in api.client.get(path, headers=bearer(keys.victim)).json()["items"]:
                    changed = api.client.patch(
                        f"/collections/{one['collection']}/documents/{one['id']}", json={"access": access},
                        headers=bearer(keys.victim),
                    )  # fmt: skip
                    assert changed.json()["access"] == sorted(access), changed.text
        rule = {"folder": f"{MARKER}/", "access": [f"group:{GROUP}"]}
        ruled = api.client.put(f"/collections/{COLLECTION}/access", json=rule, headers=bearer(keys.victim))
        assert ruled.status_code == 200, ruled.text
        yield api, Readers(keys.victim, *made_keys), victim, dsn


def asked_by(place: tuple[Api, Readers, Victim, str], key: str) -> Iterator[tuple[Operation, httpx2.Response]]:
    """Everything that a key without the scope admin may ask, reads first."""
    api, _, victim, _ = place
    every = [one for one in operations(api, victim) if one.scope not in (None, "admin")]
    for operation in sorted(every, key=lambda one: (one.method != "GET", one.method == "DELETE")):
        yield operation, operation.send(api, bearer(key))


def tells_nothing(where: str, told: str, victim: Victim, sent: str = "") -> None:
    """No word of the restricted documents and no id, but what was sent."""
    for word in (MARKER, "17 tons", "Lovelace", *(value for value in victim.ids.values() if len(value) == 36)):
        assert word in sent or word not in told, f"{where} told {word}: {told[:2000]}"


def test_no_view_tells_analysts_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    """Every view of schema analyst; before somebody without the group has asked a question with such words."""
    _, _, victim, dsn = place

    async def look() -> dict[str, str]:
        owner = await asyncpg.connect(dsn)
        role = f"watcher_{secrets.token_hex(4)}"
        try:
            await owner.execute(f"CREATE ROLE {role} LOGIN")
            await owner.execute("SELECT rag.grant_analyst($1, 'victim')", role)
            views = await owner.fetch(
                "SELECT viewname::text AS name FROM pg_views WHERE schemaname = 'analyst' ORDER BY 1"
            )
            session = await asyncpg.connect(dsn, user=role)
            try:
                await session.execute("SET app.principals = '*'")  # whatever they set
                return {
                    view["name"]: "\n".join(
                        row["told"]
                        for row in await session.fetch(f"SELECT v::text AS told FROM analyst.{view['name']} AS v")
                    )
                    for view in views
                }
            finally:
                await session.close()
        finally:
            await owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
            await owner.close()

    told = asyncio.run(look())
    assert len(told) >= 25
    assert "victim" in told["collections"], "it is the tenant that they read"
    for view, rows in told.items():
        # ids of keys are of no document; that of a merge stands in the log of what was done, which keeps what it has; a document
        # that became restricted has gone, as far as the log of changes knows
        log = {"audit": "merge_id", "changes": "document_id"}.get(view)
        known = " ".join(victim.ids[name] for name in ("key_id", *([log] if log else ())))
        if view == "changes":
            known += victim.ids["/chat/{chat_id}/documents/{document_id} document_id"]
        tells_nothing(f"analyst.{view}", rows, victim, sent=known)


@pytest.mark.siege
def test_no_tool_or_resource_of_mcp_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    ids = victim.ids
    given: dict[str, Any] = {
        "question": "How heavy is what lies there?", "query": "what lies in the vault", "collection": COLLECTION,
        "queries": ["what lies in the vault"], "relevant": [], "documents": [], "entities": ["Ada King"], "path": "mine.md",
        "name": "index-1", "document": ids["document_id"], "job": ids["job_id"],
        "document_id": ids["document_id"], "job_id": ids["job_id"], "text": "A stone.", "title": "Stone", "content": "A stone.",
        "external_id": "mine.md", "entity": "Ada King", "name_or_id": "Ada King", "strategy": "fast",
    }  # fmt: skip

    def ask(key: str, method: str, **params: Any) -> tuple[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**bearer(key), "Accept": "application/json, text/event-stream"}
        answer = api.client.post("/mcp", json=call, headers=headers)
        assert answer.status_code < 500, f"{method} {params}: {answer.text}"
        tells_nothing(f"{method} {params.get('name', '')}", answer.text, victim, sent=json.dumps(params))
        return answer.text, answer.json()

    for key in (readers.former, readers.outsider):
        tools = ask(key, "tools/list")[1]["result"]["tools"]
        assert len(tools) >= 12
        for tool in tools:
            schema = tool["inputSchema"]
            wanted = {
                name: given.get(name, "stone")
                for name in {*schema.get("required", ()), *({"collection"} & set(schema["properties"]))}
            }
            ask(key, "tools/call", name=tool["name"], arguments=wanted)
        listed = ask(key, "resources/list")[1]["result"]
        assert COLLECTION in json.dumps(listed), "the collection is everybody's"
        templates = {
            one["uriTemplate"] for one in ask(key, "resources/templates/list")[1]["result"]["resourceTemplates"]
        }
        addresses = {
            COLLECTION_URI: {"collection": COLLECTION},
            DOCUMENT: {"collection": COLLECTION, "document_id": ids["document_id"]},
            PASSAGE: {"passage_id": ids["document_id"]},
        }
        assert set(addresses) == templates, "a new kind of resource is asked for here"
        for template, parts in addresses.items():
            ask(key, "resources/read", uri=template.format(**parts))


@pytest.mark.siege
def test_no_stream_and_no_socket_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    run = f"/runs/{victim.ids['run_id']}"
    asked = "How heavy is what lies in the vault?"
    streams: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", f"{run}/events", {}), ("GET", f"/jobs/{victim.ids['job_id']}/events", {}),
        ("POST", "/query", {"json": {"question": asked, "collection": COLLECTION, "stream": True}}),
        ("POST", "/chat/stream", {"json": {"message": asked, "session_id": "own", "collection_name": COLLECTION}}),
        ("POST", f"/chat/{victim.ids['chat_id']}/stream", {"json": {"message": asked}}),
        ("POST", "/api/agent/stream", {"json": {"question": asked, "collection": COLLECTION}}),
        ("POST", "/v1/chat/completions",
         {"json": {"model": COLLECTION, "stream": True, "messages": [{"role": "user", "content": asked}]}}),
        ("POST", "/v1/responses", {"json": {"model": COLLECTION, "stream": True, "input": asked}}),
    ]  # fmt: skip
    sockets = {name for name in POLICIES if name.startswith("WS ")}
    assert sockets == {"WS /ws/runs/{run_id}"}, "a new socket is asked for here"
    for key in (readers.former, readers.outsider):
        for method, path, options in streams:
            answer = api.client.request(method, path, headers=bearer(key), **options)
            assert answer.status_code < 500, answer.text
            tells_nothing(f"{method} {path}", answer.text, victim, sent=path)
        with connect(f"ws://127.0.0.1:{api.port}/ws{run}", proxy=None, additional_headers=bearer(key)) as socket:
            try:
                frames = [str(frame) for frame in socket]
            except ConnectionClosed as closed:
                frames = [str(closed)]
        tells_nothing("WS", " ".join(frames), victim, sent=run)


@pytest.mark.siege
def test_no_room_of_the_page_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    """What a browser is sent for each room, of which the rows are part, and what the rooms link to."""
    api, readers, victim, _ = place
    ids = victim.ids
    paths = [f"/ui{path}" for path, _ in ROOMS.values()] + [
        f"/ui/documents?collection={COLLECTION}", f"/ui/graph?collection={COLLECTION}", f"/ui/runs?run={ids['run_id']}",
        f"/ui/?session={ids['session_id']}", f"/ui/collections/{COLLECTION}/documents/{ids['document_id']}/file",
        f"/ui/runs/{ids['run_id']}/proof",
    ]  # fmt: skip
    for key in (readers.former, readers.outsider):
        for path in paths:
            shown = api.client.get(path, headers={"Cookie": f"{COOKIE}={key}"}, follow_redirects=True)
            assert shown.status_code < 500, f"{path}: {shown.text[:500]}"
            tells_nothing(path, shown.text, victim, sent=path)


def test_a_conversation_that_is_withheld_is_deleted_no_more_than_one_that_does_not_exist(
    place: tuple[Api, Readers, Victim, str],
) -> None:
    api, readers, victim, _ = place
    session = victim.ids["session_id"]
    for key in (readers.former, readers.outsider):
        told = {one: [api.client.delete(f"/chat/{way}/{one}", headers=bearer(key)) for way in ("sessions", "history")]
                for one in (session, "nobody-began-it")}  # fmt: skip
        assert {one: [answer.status_code for answer in answers] for one, answers in told.items()} == {
            session: [404, 204], "nobody-began-it": [404, 204]
        }  # fmt: skip
        texts = {answers[0].json()["detail"].replace(one, "it") for one, answers in told.items()}
        assert len(texts) == 1
        assert (
            api.client.patch(f"/chat/sessions/{session}", json={"title": "x"}, headers=bearer(key)).status_code == 404
        )
    kept = api.client.get(f"/chat/sessions/{session}/messages", headers=bearer(readers.whole))
    assert MARKER in kept.text


def test_no_operation_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    _, readers, victim, _ = place
    asked = 0
    for operation, answer in asked_by(place, readers.former):
        assert answer.status_code < 500, f"{operation.name}: {answer.text}"
        sent = json.dumps([operation.path, operation.options], default=str)
        tells_nothing(operation.name, answer.text, victim, sent)
        asked += 1
    assert asked > 50
    api, collection = place[0], f"/collections/{COLLECTION}"

    def kept(key: str) -> int:
        return int(api.client.get("/usage", headers=bearer(key)).json()["tenant"]["kept"]["documents"])

    for key in (readers.former, readers.outsider):
        assert kept(key) <= kept(readers.whole) - 4  # those of the victim
        assert api.client.post(f"{collection}/reindex", json={}, headers=bearer(key)).status_code == 403


def test_who_is_named_reads_them(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    for key in (readers.member, readers.whole):
        listed = api.client.get(f"/collections/{COLLECTION}/documents", headers=bearer(key)).json()["items"]
        assert {one["external_id"] for one in listed} >= {"a.pdf", "b.md", "secret.md"}
        body = {"query": f"{MARKER} of the vault", "collection": COLLECTION}
        assert MARKER in api.client.post("/search", json=body, headers=bearer(key)).text
        path = f"/sessions/{victim.ids['session_id']}"
        assert api.client.get(path, headers=bearer(key)).status_code in (200, 404)
    mine = bearer(readers.outsider)  # counts are of what one may read: what the operations above have written
    count = api.client.get(f"/collections/{COLLECTION}", headers=mine).json()["document_count"]
    assert count == len(api.client.get(f"/collections/{COLLECTION}/documents", headers=mine).json()["items"]) < 4


def test_what_others_asked_is_recorded_of_whom_the_scope_admin_lets_read_it(
    place: tuple[Api, Readers, Victim, str],
) -> None:
    api, readers, victim, _ = place
    whole, run, session = bearer(readers.whole), victim.ids["run_id"], victim.ids["session_id"]
    made = api.client.post("/keys", json={"name": "auditor", "scopes": ["read", "admin"]}, headers=whole).json()
    paths = {
        "messages": f"/chat/sessions/{session}/messages", "trace": f"/traces/{run}", "events": f"/runs/{run}/events",
        "proof": f"/runs/{run}/proof",
    }  # fmt: skip
    for key in (bearer(made["key"]), whole):  # whose conversation it is leaves no record
        for path in paths.values():
            assert MARKER in api.client.get(path, headers=key).text
    wanted = {"action": "conversation.read_others"}
    lines = api.client.get("/audit", params=wanted, headers=whole).json()["items"]
    told = [(one["caller_name"], one["target"], one["detail"]["way"]) for one in reversed(lines)]
    assert told == [("auditor", session if way == "messages" else run, way) for way in paths]


def test_a_rule_restricts_a_folder_for_whoever_writes_there(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, _, _ = place
    rules, whole = f"/collections/{COLLECTION}/access", bearer(readers.whole)
    kept = {"folder": MARKER, "access": [f"group:{GROUP}"]}
    for key, known in ((readers.whole, [kept]), (readers.member, [kept]), (readers.former, [])):
        assert api.client.get(rules, headers=bearer(key)).json() == {"items": known}
    for key in (readers.member, readers.outsider):
        assert api.client.put(rules, json={"access": []}, headers=bearer(key)).status_code == 403
        assert api.client.delete(rules, headers=bearer(key)).status_code == 403

    def write(name: str, key: str, **more: Any) -> httpx2.Response:
        body = {"collection": "ruled", "documents": [{"external_id": name, "text": f"A {name}.", **more}]}
        return api.client.post("/index", json=body, headers=bearer(key))

    def seen(key: str) -> dict[str, Any]:
        listed = api.client.get("/collections/ruled/documents", headers=bearer(key)).json()["items"]
        return {one["external_id"]: (one["access"], one["access_from"]) for one in listed}

    made = api.client.put("/collections/ruled/access", json=kept | {"folder": "hr/"}, headers=whole)
    assert made.json() == {
        "items": [kept | {"folder": "hr"}],
        "changed": 0,
        "documents": 0,
        "collection_made": True,
        "job_id": None,
    }
    assert write("hr/a", readers.member).json()["counts"]["added"] == 1
    refused = write("hr/b", readers.outsider)
    assert refused.json()["indexed"] == [], refused.text
    assert "not yours to read" in refused.json()["failed"][0]["error"]
    assert write("b", readers.outsider).json()["counts"]["added"] == 1
    assert seen(readers.outsider) == {"b": (None, None)}
    assert seen(readers.member) == {"b": (None, None), "hr/a": ([f"group:{GROUP}"], "hr")}
    both = api.client.put("/collections/ruled/access", json={"access": ["group:left"]}, headers=whole).json()
    assert (both["documents"], both["collection_made"]) == (2, False)
    assert (both["items"], both["changed"]) == ([{"folder": "", "access": ["group:left"]}, kept | {"folder": "hr"}], 1)
    assert seen(readers.outsider) == {}
    gone = api.client.delete("/collections/ruled/access", params={"folder": "hr/"}, headers=whole).json()
    assert (gone["items"], gone["changed"], gone["job_id"]) == ([{"folder": "", "access": ["group:left"]}], 1, None)
    opened = api.client.delete("/collections/ruled/access", headers=whole).json()
    assert (opened["items"], opened["changed"], bool(opened["job_id"])) == ([], 2, True)
    assert seen(readers.outsider) == {"b": (None, None), "hr/a": (None, None)}
    assert api.client.delete("/collections/nowhere/access", headers=whole).status_code == 404
    assert api.client.put("/collections/ruled/access", json={"access": ["hr"]}, headers=whole).status_code == 422


def test_a_page_at_the_address_of_a_restricted_one_is_left_out_alone(
    place: tuple[Api, Readers, Victim, str], web: ScriptedWeb
) -> None:
    api, readers, _, _ = place
    here = f"http://localhost:{web.port}"
    rule = {"folder": here, "access": [f"group:{GROUP}"]}
    assert api.client.put("/collections/pages/access", json=rule, headers=bearer(readers.whole)).status_code == 200

    def fetch(key: str, *urls: str) -> dict[str, Any]:
        path = api.client.post("/collections/pages/urls", json={"urls": urls}, headers=bearer(key)).headers["location"]
        jobs: list[dict[str, Any]] = []

        def ended() -> bool:
            jobs.append(api.client.get(path, headers=bearer(key)).json())
            return jobs[-1]["finished_at"] is not None

        wait_until(ended, told=lambda: str(jobs[-1]))
        return jobs[-1]

    assert fetch(readers.member, f"{here}/pay", f"{here}/away")["result"]["counts"]["added"] == 2
    elsewhere = f"http://127.0.0.1:{web.port}/open"
    # of what is there and of what is not the same is said
    job = fetch(readers.outsider, f"{here}/pay", f"{here}/new", f"{here}/away", elsewhere)
    assert job["status"] == "succeeded", job
    assert [one["external_id"] for one in job["result"]["uploaded"]] == [elsewhere]
    failed = {one["external_id"]: (one["code"], "not yours to read" in one["error"]) for one in job["result"]["failed"]}
    assert failed == dict.fromkeys((f"{here}/pay", f"{here}/new", f"{here}/away"), ("conflict", True))
    assert not {MARKER, "Mondays", "Pay"} & set(str(job).split())
    listed = api.client.get("/collections/pages/documents", headers=bearer(readers.whole)).json()["items"]
    assert {one["external_id"]: one["access"] for one in listed} == {
        f"{here}/pay": [f"group:{GROUP}"], f"{here}/away": [f"group:{GROUP}"], elsewhere: None,
    }  # fmt: skip


def test_what_the_scope_admin_shows_is_recorded_whichever_way(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    whole, document = bearer(readers.whole), f"/collections/{COLLECTION}/documents/{victim.ids['document_id']}"

    def recorded() -> list[dict[str, Any]]:
        wanted = {"action": "document.read_restricted", "limit": 200}
        return list(api.client.get("/audit", params=wanted, headers=whole).json()["items"])

    def lines_of(path: str) -> set[str]:
        before = recorded()
        answer = api.client.get(path, headers=whole)
        assert answer.status_code == 200, answer.text
        new = [one for one in recorded() if one not in before]
        assert all(victim.ids["document_id"] in one["detail"]["documents"] for one in new)
        return {one["detail"]["way"] for one in new}

    ways = {
        "": set(), "?include=text": {"text"}, "/text": {"text"}, "/file": {"file"}, "/pages": set(), "/pages/1.png": {"file"},
    }  # fmt: skip
    assert {path: lines_of(f"{document}{path}") for path in ways} == ways
    asked = f"/traces/{victim.ids['trace_id']}/passages/{victim.ids['passage_id']}"
    told = api.client.get(asked, params={"readable_by": "group:left"}, headers=whole).json()["stages"]
    assert [one["stage"] for one in told] == ["collection", "access"]
    for key, status in ((readers.member, 403), (readers.former, 403)):
        assert api.client.get(asked, params={"readable_by": "group:x"}, headers=bearer(key)).status_code == status
    assert api.client.get(asked, headers=bearer(readers.former)).status_code == 404
