"""Who may read what, asked of every operation of the OpenAPI document by three keys of the same tenant: one whose group was taken
off the access lists, one that none has ever named, and one that they name. A new route is in it by itself."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import httpx2
import pytest
from keyed import (
    COLLECTION,
    MARKER,
    SESSION,
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
OPEN = "Nora Finch moved to Bergen in 1990. Nora Finch works for Harbour Lights in Bergen."
"""What everybody may read, beside what is restricted."""
ASKED = "How heavy is what lies in the vault?"


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
        told = {"collection": COLLECTION, "documents": [{"external_id": "open.md", "text": OPEN}]}
        assert not api.client.post("/index", json=told, headers=bearer(keys.victim)).json()["failed"]
        yield api, Readers(keys.victim, *made_keys), victim, dsn


def told_of(text: str, victim: Victim, sent: str = "") -> list[str]:
    """Words of the restricted documents and ids that stand in it, but for what was sent."""
    words = (MARKER, "17 tons", "Lovelace", *(value for value in victim.ids.values() if len(value) == 36))
    return [word for word in words if word in text and word not in sent]


def tells_nothing(where: str, told: str, victim: Victim, sent: str = "") -> None:
    """No word of the restricted documents and no id, but what was sent."""
    words = told_of(told, victim, sent)
    assert not words, f"{where} told {words}: {told[:2000]}"


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


TOOLS: dict[str, dict[str, Any]] = {
    "answer_research_question": {"question": ASKED, "collection": COLLECTION},
    "agentic_research_question": {"question": ASKED, "collection": COLLECTION},
    "search_documents": {"query": "what lies in the vault", "collection": COLLECTION},
    "read_document": {"document": "secret.md", "collection": COLLECTION},
    "list_collections": {},
    "list_documents": {"collection": COLLECTION},
    "explore_graph": {"entity": "Nora Finch", "collection": COLLECTION},
    "optimize_search": {"queries": ["what lies in the vault"], "collection": COLLECTION},
    "index_document": {"text": "A stone.", "external_id": "tools.md", "collection": COLLECTION},
    "reindex_collection": {"collection": COLLECTION},
    "create_custom_index": {"topic_filter": "what lies in the vault", "collection": COLLECTION},
    "get_job": {},
}
"""Each tool with arguments that it takes, of documents that it finds; two have more of their own."""
TOOLS_THAT_SHOW_NOTHING = {
    "list_collections": "names and counts, which are looked at here",
    "explore_graph": "what is restricted is in no graph, for nobody",
    "optimize_search": "figures without texts",
    "index_document": "what was sent",
    "reindex_collection": "a job without names of documents",
    "get_job": "a job without names of documents",
}
TOOLS_THAT_REFUSE = {"read_document", "reindex_collection", "get_job"}
"""Of a restricted document, or of a collection that is not wholly the caller's to read."""
COPIES = "create_custom_index"
"""Refused whom a list names, since only who operates says who reads a copy of such a document; others copy what is open."""


def test_a_tool_or_resource_of_mcp_tells_of_restricted_documents_whom_they_name_alone(
    place: tuple[Api, Readers, Victim, str],
) -> None:
    """Whom they name, by the same calls: each is answered without an error, and shows the document where it shows any."""
    api, readers, victim, _ = place
    ids = victim.ids

    def ask(key: str, method: str, **params: Any) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**bearer(key), "Accept": "application/json, text/event-stream"}
        answer = api.client.post("/mcp", json=call, headers=headers)
        assert answer.status_code < 500, f"{method} {params}: {answer.text}"
        if key in (readers.former, readers.outsider):
            tells_nothing(f"{method} {params.get('name', '')}", answer.text, victim, sent=json.dumps(params))
        return dict(answer.json())

    for number, key in enumerate((readers.former, readers.outsider, readers.member)):
        member = key == readers.member
        tools = {one["name"] for one in ask(key, "tools/list")["result"]["tools"]}
        assert tools == set(TOOLS), "a new tool is asked for here"
        own = {"get_job": {"job_id": ids["job_id"]}, COPIES: {"index_name": f"chosen-{number}"}}
        for name, given in TOOLS.items():
            arguments = {**given, **own.get(name, {})}
            result = ask(key, "tools/call", name=name, arguments=arguments)["result"]
            refused = bool(result.get("isError"))
            assert refused == (name == COPIES if member else name in TOOLS_THAT_REFUSE), f"{name}: {result}"
            if member and name not in {COPIES, *TOOLS_THAT_SHOW_NOTHING}:
                told = told_of(json.dumps(result), victim, sent=json.dumps(arguments))
                assert told, f"{name} shows the document to whom it names: {result}"
            if name == "list_collections":
                counts = {one["name"]: one["document_count"] for one in result["structuredContent"]["collections"]}
                assert (counts[COLLECTION] >= 4) is member, counts
        listed = ask(key, "resources/list")["result"]
        assert COLLECTION in json.dumps(listed), "the collection is everybody's"
        templates = {one["uriTemplate"] for one in ask(key, "resources/templates/list")["result"]["resourceTemplates"]}
        addresses = {
            COLLECTION_URI: {"collection": COLLECTION},
            DOCUMENT: {"collection": COLLECTION, "document_id": ids["document_id"]},
            PASSAGE: {"passage_id": ids["passage_id"]},
        }
        assert set(addresses) == templates, "a new kind of resource is asked for here"
        for template, parts in addresses.items():
            uri = template.format(**parts)
            read = ask(key, "resources/read", uri=uri)
            assert ("error" in read) is (not member and template != COLLECTION_URI), f"{uri}: {read}"
            assert not member or told_of(json.dumps(read), victim, sent=uri), f"{uri} is shown to whom it names: {read}"
    made = ask(readers.whole, "tools/call", name=COPIES, arguments={**TOOLS[COPIES], "index_name": "chosen"})["result"]
    assert "secret.md" in str(made), made

    def found(key: str) -> str:
        wanted = {"query": "what lies in the vault", "collection": "chosen"}
        return str(api.client.post("/search", json=wanted, headers=bearer(key)).text)

    api.await_until(lambda: MARKER in found(readers.member), 60)
    for key in (readers.former, readers.outsider):
        tells_nothing("a copy", found(key), victim)


def test_no_stream_and_no_socket_tells_of_restricted_documents(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    run = f"/runs/{victim.ids['run_id']}"
    streams: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", f"{run}/events", {}), ("GET", f"/jobs/{victim.ids['job_id']}/events", {}),
        ("POST", "/query", {"json": {"question": ASKED, "collection": COLLECTION, "stream": True}}),
        ("POST", "/chat/stream", {"json": {"message": ASKED, "session_id": "own", "collection_name": COLLECTION}}),
        ("POST", f"/chat/{victim.ids['chat_id']}/stream", {"json": {"message": ASKED}}),
        ("POST", "/api/agent/stream", {"json": {"question": ASKED, "collection": COLLECTION}}),
        ("POST", "/v1/chat/completions",
         {"json": {"model": COLLECTION, "stream": True, "messages": [{"role": "user", "content": ASKED}]}}),
        ("POST", "/v1/responses", {"json": {"model": COLLECTION, "stream": True, "input": ASKED}}),
    ]  # fmt: skip
    sockets = {name for name in POLICIES if name.startswith("WS ")}
    assert sockets == {"WS /ws/runs/{run_id}"}, "a new socket is asked for here"
    for key in (readers.former, readers.outsider, readers.member):
        for method, path, options in streams:
            answer = api.client.request(method, path, headers=bearer(key), **options)
            assert answer.status_code < 500, answer.text
            if key == readers.member:
                shown = told_of(answer.text, victim, sent=path) or path.startswith("/jobs/")
                assert answer.is_success, f"{path}: {answer.text}"
                assert shown, f"{path} is shown to whom it names: {answer.text}"
            else:
                tells_nothing(f"{method} {path}", answer.text, victim, sent=path)
        with connect(f"ws://127.0.0.1:{api.port}/ws{run}", proxy=None, additional_headers=bearer(key)) as socket:
            try:
                frames = [str(frame) for frame in socket]
            except ConnectionClosed as closed:
                frames = [str(closed)]
        if key == readers.member:
            assert MARKER in " ".join(frames)
            continue
        tells_nothing("WS", " ".join(frames), victim, sent=run)


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


def test_what_counts_documents_counts_those_of_the_caller(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, _, _ = place

    def kept(key: str) -> int:
        return int(api.client.get("/usage", headers=bearer(key)).json()["tenant"]["kept"]["documents"])

    for key in (readers.former, readers.outsider):
        assert kept(key) <= kept(readers.whole) - 4  # those of the victim
        refused = api.client.post(f"/collections/{COLLECTION}/reindex", json={}, headers=bearer(key))
        assert refused.status_code == 403
    mine = bearer(readers.outsider)  # counts are of what one may read: what the tests above have written
    count = api.client.get(f"/collections/{COLLECTION}", headers=mine).json()["document_count"]
    assert count == len(api.client.get(f"/collections/{COLLECTION}/documents", headers=mine).json()["items"]) < 4


def test_who_is_named_reads_them(place: tuple[Api, Readers, Victim, str]) -> None:
    api, readers, victim, _ = place
    for key in (readers.member, readers.whole):
        listed = api.client.get(f"/collections/{COLLECTION}/documents", headers=bearer(key)).json()["items"]
        assert {one["external_id"] for one in listed} >= {"a.pdf", "b.md", "secret.md"}
        body = {"query": f"{MARKER} of the vault", "collection": COLLECTION}
        assert MARKER in api.client.post("/search", json=body, headers=bearer(key)).text
        path = f"/chat/sessions/{victim.ids['session_id']}"
        assert api.client.get(path, headers=bearer(key)).status_code == 200


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


NO_GRAPH = "what is restricted is in no graph, for nobody (ADR 126)"
HINDERED: dict[str, tuple[int, str]] = {
    "POST /collections": (409, "there is a collection of this name, which is everybody's"),
    "POST /collections/{name}/enrich": (422, "it wants a chat model, which this server has none of"),
    "POST /graph/extract": (422, "it wants a chat model"),
    "GET /graph/entities/{entity_id}": (404, NO_GRAPH),
    "POST /graph/merges": (404, NO_GRAPH),
    "DELETE /graph/merges/{merge_id}": (404, NO_GRAPH),
    "POST /jobs/{job_id}/retry": (409, "the job has succeeded: of one that one may not see it is a 404"),
    "DELETE /qa/sessions/{session_id}": (404, "such a session is begun where there is a chat model"),
    "DELETE /collections/{name}": (403, "with a rule of a folder it is deleted by who reads everything"),
}
"""What whom the list names is refused, too, and how: no request can reach a document there."""
SHOWS_NOTHING: dict[str, str] = {
    **dict.fromkeys(("GET /collections", "GET /collections/{name}", "PATCH /collections/{name}", "GET /usage"), "counts"),
    **dict.fromkeys(("GET /models", "GET /v1/models", "GET /v1/models/{model}", "GET /v1/models/{owner}/{model}",
                     "POST /v1/embeddings"), "collections and models"),
    **dict.fromkeys(("GET /graph/entities", "GET /graph/neighborhood", "GET /graph/path", "GET /graph/communities",
                     "GET /graph/merges"), NO_GRAPH),
    **dict.fromkeys(("GET /collections/{name}/documents/{document_id}/file",
                     "GET /collections/{name}/documents/{document_id}/pages/{page}.png"), "a file, whose words are drawn"),
    **dict.fromkeys(("GET /collections/{name}/documents/{document_id}/pages",
                     "GET /collections/{name}/documents/{document_id}/pages/{page}/marks"), "places without words"),
    **dict.fromkeys(("GET /runs/{run_id}", "POST /runs/{run_id}/cancel", "POST /feedback", "GET /jobs/{job_id}",
                     "GET /jobs/{job_id}/events", "POST /jobs/{job_id}/cancel", "PATCH /chat/sessions/{session_id}",
                     "GET /traces/{trace_id}/passages/{passage_id}",
                     "PATCH /collections/{name}/documents/{document_id}"), "what was asked for by its id, and how it stands"),
    **dict.fromkeys(("POST /collections/{name}/documents", "POST /chat/{chat_id}/documents", "POST /index",
                     "POST /collections/{name}/urls", "POST /collections/{name}/reindex",
                     "POST /collections/{name}/reread"), "what was sent, or a job that is to come"),
    **dict.fromkeys(("DELETE /collections/{name}/documents/{document_id}", "DELETE /collections/{name}/documents",
                     "DELETE /chat/{chat_id}/documents/{document_id}", "DELETE /chat/sessions/{session_id}",
                     "DELETE /chat/history/{session_id}"), "that it is gone"),
}  # fmt: skip
"""What succeeds, and shows no words of a document and no id that was not sent, and what it shows."""
WITHHELD = {
    "POST /feedback", "POST /collections/{name}/reindex", "POST /collections/{name}/reread",
    "GET /chat/sessions/{session_id}", "GET /chat/sessions/{session_id}/messages", "PATCH /chat/sessions/{session_id}",
    "DELETE /chat/sessions/{session_id}", "DELETE /qa/sessions/{session_id}",
}  # fmt: skip
"""What is refused whom no list names though the way to it names no document, run, job or trace."""


def asking_for_what_is_there(operation: Operation, site: str) -> Operation:
    """With arguments that lead to a restricted document, or to the open one, where the examples of the schema lead nowhere."""
    names = {"collection": COLLECTION, "from": "Nora Finch", "to": "Bergen", "entity": "Nora Finch"}
    instead: dict[str, dict[str, Any]] = {
        "GET /graph/neighborhood": {"params": {name: names[name] for name in ("collection", "entity")}},
        "GET /graph/path": {"params": {name: names[name] for name in ("collection", "from", "to")}},
        "POST /collections/{name}/urls": {"json": {"urls": [f"{site}/open"]}},
        "POST /search": {"json": {"query": ASKED, "collection": COLLECTION}},
        "POST /query": {"json": {"question": ASKED, "collection": COLLECTION}},
        "POST /qa/ask": {"json": {"question": ASKED, "collection": COLLECTION}},
        "POST /api/agent/run": {"json": {"question": ASKED, "collection": COLLECTION}},
        "POST /api/agent/stream": {"json": {"question": ASKED, "collection": COLLECTION}},
        "POST /retrieval": {"json": {"knowledge_id": COLLECTION, "query": ASKED,
                                     "retrieval_setting": {"top_k": 3, "score_threshold": 0.0}}},
        "POST /v1/responses": {"json": {"model": COLLECTION, "input": ASKED}},
        "POST /v1/chat/completions": {"json": {"model": COLLECTION, "messages": [{"role": "user", "content": ASKED}]}},
        "DELETE /collections/{name}/documents": {"params": {"external_id": "secret.md"}},
    }  # fmt: skip
    for name in ("POST /chat/", "POST /chat/stream", "POST /chat/{chat_id}/stream"):
        instead[name] = {"json": {"message": ASKED, "session_id": SESSION, "collection_name": COLLECTION}}
    return replace(operation, options=instead.get(operation.name, operation.options))


def in_order(operation: Operation) -> tuple[bool, bool, bool, int]:
    """Reads first, what deletes last, and of that a conversation before the documents that it stands on, those one by one, and
    their collection in the end."""
    deletes, of_documents = operation.method == "DELETE", operation.template.startswith("/collections")
    of_documents = deletes and (of_documents or operation.template.endswith("/{document_id}"))
    return operation.method != "GET", deletes, of_documents, -len(operation.template) if of_documents else 0


def test_an_operation_tells_of_restricted_documents_whom_they_name_alone(
    place: tuple[Api, Readers, Victim, str], web: ScriptedWeb
) -> None:
    """Each is asked by a key whose right was taken away, by one that never had it, and then, in the same words, by one that has
    it: for that one it succeeds, and shows the document, so that the others were not refused for a mistake of the request.

    It is the last test here: what deletes succeeds, too."""
    api, readers, victim, _ = place
    site = f"http://127.0.0.1:{web.port}"
    every = [one for one in operations(api, victim) if one.scope not in (None, "admin")]
    wrong: list[str] = []
    for operation in sorted((asking_for_what_is_there(one, site) for one in every), key=in_order):
        name, sent = operation.name, json.dumps([operation.path, operation.options], default=str)
        withheld = name in WITHHELD or any(
            f"{{{part}}}" in operation.template for part in ("document_id", "run_id", "job_id", "trace_id")
        )
        for key in (readers.former, readers.outsider):
            answer = operation.send(api, bearer(key))
            assert answer.status_code < 500, f"{name}: {answer.text}"
            tells_nothing(name, answer.text, victim, sent)
            if withheld and answer.status_code not in (403, 404):
                wrong.append(f"{name}: {answer.status_code} for whom no list names")
        answer = operation.send(api, bearer(readers.member))
        shown = told_of(answer.text, victim, sent)
        if name == "DELETE /collections/{name}/documents":  # whoever asks, it succeeds
            assert answer.json()["deleted"] == 1, "nobody else has deleted it"
        if name in HINDERED:
            if answer.status_code != HINDERED[name][0]:
                wrong.append(f"{name}: {answer.status_code}, and may be looked at")
        elif not answer.is_success:
            wrong.append(f"{name}: {answer.status_code} {answer.text[:300]}")
        elif bool(shown) == (name in SHOWS_NOTHING):
            wrong.append(f"{name} shows {shown}: {answer.text[:300]}")
    assert not wrong, "\n".join(wrong)
    assert len(every) > 50
    assert {*HINDERED, *SHOWS_NOTHING, *WITHHELD} <= {one.name for one in every}
