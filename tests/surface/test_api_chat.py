"""The chat routes, field by field."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from scripted_server import Reply, ScriptedServer
from serving import Api, SseEvent, read_events, serving

TEXT = "A cairn is a pile of stones that marks a trail. Hikers add a stone when they pass."
ASK = "What is a cairn?"
RESPONSE = {
    "message_id",
    "answer",
    "sources",
    "session_id",
    "was_grounded",
    "answered",
    "confidence",
    "confidence_word",
    "processing_time_ms",
    "coverage",
    "degraded",
}
SOURCE = {"filename", "chunk_id", "relevance_score", "content_preview", "page"}
DONE = {
    "is_grounded",
    "answered",
    "confidence",
    "confidence_word",
    "iterations",
    "query_complexity",
    "is_summarization",
}

Psql = Callable[..., str]


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones [1].") as running:
        yield running


@pytest.fixture(scope="module")
def talking(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    """A serving process with a chat model; streams say something after 0.2 s of silence."""
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    settings = {"api": {"pingSeconds": 0.2}, "providers": {"circuitFailures": 10_000}}
    with serving(fresh_database(), tmp_path_factory.mktemp("talking"), settings=settings, **own) as api:
        api.index("stones", cairn=TEXT)
        yield api


@pytest.fixture(scope="module")
def stones(api: Api) -> Api:
    """Without a chat model."""
    api.index("stones", cairn=TEXT)
    return api


def send(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.client.post("/chat/", json={"message": ASK, "collection_name": "stones"} | body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def stream(api: Api, path: str = "/chat/stream", **body: Any) -> list[SseEvent]:
    with api.client.stream("POST", path, json={"message": ASK, "collection_name": "stones"} | body) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"
        return list(read_events(response))


def history(api: Api, session: str) -> list[dict[str, Any]]:
    answer = api.client.get(f"/chat/history/{session}")
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"session_id", "messages", "next_cursor"}
    return list(answer.json()["messages"])


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    return dict(answer.json())


def upload(api: Api, chat_id: str, **files: str) -> Any:
    parts = [("files", (name.replace("_", "."), text.encode())) for name, text in files.items()]
    return api.client.post(f"/chat/{chat_id}/documents", files=parts)


# --- messages -----------------------------------------------------------------------------------------------------------


def test_the_response_has_exactly_these_fields(stones: Api) -> None:
    body = send(stones)
    assert set(body) == RESPONSE
    assert {frozenset(source) for source in body["sources"]} == {frozenset(SOURCE)}
    UUID(body["message_id"])
    UUID(body["session_id"])
    source = body["sources"][0]
    UUID(source["chunk_id"])
    assert source["filename"] == "cairn"
    assert source["content_preview"] == TEXT
    assert source["page"] is None
    assert 0 < source["relevance_score"] <= 1
    assert "pile of stones" in body["answer"]
    assert body["was_grounded"] is None, "a quotation has nothing to check"
    assert body["answered"] in ("yes", "unsure")
    assert 0 < body["confidence"] <= 1
    assert body["processing_time_ms"] > 0


def test_the_stream_has_exactly_these_events(stones: Api) -> None:
    events = stream(stones)
    names = [event.event for event in events]
    assert names[0] == "token"
    assert names[-2:] == ["sources", "done"]
    assert set(names[:-2]) == {"token"}
    assert all(event.data["type"] == event.event for event in events)
    assert set(events[0].data) == {"type", "content"}
    assert {frozenset(source) for source in events[-2].data["sources"]} == {frozenset(SOURCE)}
    done = events[-1].data
    assert set(done) == DONE | {
        "type",
        "answer",
        "replaced",
        "coverage",
        "degraded",
        "message_id",
        "session_id",
        "run_id",
    }
    assert done["is_grounded"] is None
    assert done["answered"] in ("yes", "unsure")
    assert done["iterations"] == 1
    assert isinstance(done["query_complexity"], str)
    assert done["is_summarization"] is False
    assert [event.id for event in events] == [str(n) for n in range(1, len(events) + 1)]


def test_stream_and_response_say_the_same(stones: Api) -> None:
    body, events = send(stones), stream(stones)
    said = "".join(event.data["content"] for event in events if event.event == "token")
    assert (events[-1].data["answer"] or said) == body["answer"]
    assert events[-2].data["sources"] == body["sources"]


def test_tokens_stream_and_the_checked_answer_replaces_them(talking: Api, chat: ScriptedServer) -> None:
    chat.script(Reply("ok", text="A cairn is a pile of stones [1][77]."))
    events = stream(talking)
    tokens = [event.data["content"] for event in events if event.event == "token"]
    assert len(tokens) > 1
    assert events[-1].data["answer"] == "A cairn is a pile of stones [1]."
    assert history(talking, events[-1].data["session_id"])[1]["content"] == "A cairn is a pile of stones [1]."


def test_numbers_in_the_answer_are_places_in_sources(talking: Api, chat: ScriptedServer) -> None:
    talking.index("two", cairn=TEXT, moss="Moss grows on the north side of old stones, where it is damp.")
    said = "Moss grows on the north side [2]. A cairn is a pile of stones [1]."
    chat.script(Reply("ok", text="1: 9\n2: 8"), Reply("ok", text=said))  # the first one reranks
    body = send(talking, collection_name="two", message="What grows on old stones in damp places?")
    sentences = {"moss": "Moss grows on the north side", "cairn": "A cairn is a pile of stones"}
    assert sorted(source["filename"] for source in body["sources"]) == sorted(sentences)
    for n, source in enumerate(body["sources"], 1):
        cited = body["answer"].split(f" [{n}]")[0].split(". ")[-1]
        assert source["content_preview"].startswith(cited)


# --- sessions and collections ---------------------------------------------------------------------------------------------


def test_a_session_is_new_unless_named(stones: Api) -> None:
    first, second = send(stones), send(stones)
    assert first["session_id"] != second["session_id"]
    named = f"alice-{uuid4()}"
    assert send(stones, session_id=named)["session_id"] == named
    assert stream(stones, session_id=named)[-1].data["session_id"] == named
    assert len(history(stones, named)) == 4


def test_the_session_may_stand_in_a_header(stones: Api) -> None:
    named, other = str(uuid4()), str(uuid4())
    body = {"message": ASK, "collection_name": "stones"}
    answer = stones.client.post("/chat/", json=body, headers={"X-Session-ID": named})
    assert answer.json()["session_id"] == answer.headers["x-session-id"] == named
    answer = stones.client.post("/chat/", json=body | {"session_id": other}, headers={"X-Session-ID": named})
    assert answer.json()["session_id"] == other
    with stones.client.stream("POST", "/chat/stream", json=body, headers={"X-Session-ID": named}) as response:
        assert response.headers["x-session-id"] == named
        assert list(read_events(response))[-1].data["session_id"] == named


def test_the_collection_follows_from_chat_or_session(stones: Api) -> None:
    chat_id, session = f"c{uuid4()}", str(uuid4())
    assert upload(stones, chat_id, heron_md="The heron nests in reeds.").status_code == 200
    stones.index(f"chat_{session}", owl="The owl nests in hollow trees.")
    asked = {"message": "Where does it nest, the heron or the owl?"}
    with stones.client.stream("POST", f"/chat/{chat_id}/stream", json=asked) as response:
        assert list(read_events(response))[-2].data["sources"][0]["filename"] == "heron.md"
    answer = stones.client.post("/chat/", json=asked | {"session_id": session}).json()
    assert {source["filename"] for source in answer["sources"]} == {"owl"}
    events = stream(stones, f"/chat/{chat_id}/stream")  # the body names another
    assert {source["filename"] for source in events[-2].data["sources"]} == {"cairn"}


def test_a_chat_without_documents_answers_helpfully(stones: Api) -> None:
    answer = stones.client.post("/chat/", json={"message": "How many days of leave are there?"})
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == RESPONSE
    assert body["sources"] == []
    assert f"chat_{body['session_id']}" in body["answer"]
    assert len(history(stones, body["session_id"])) == 2
    events = stream(stones, f"/chat/{uuid4()}/stream", collection_name=None, message="How many days of leave?")
    assert events[-1].event == "done"
    names = [item["name"] for item in stones.client.get("/collections?limit=200").json()["items"]]
    assert f"chat_{body['session_id']}" not in names, "asking makes no collections"


def test_query_with_a_session_remembers_too(stones: Api) -> None:
    session = str(uuid4())
    body = {"question": ASK, "collection": "stones", "session_id": session}
    answer = stones.client.post("/query", json=body).json()
    user, assistant = history(stones, session)
    assert (user["content"], assistant["content"]) == (ASK, answer["answer"])
    assert assistant["run_id"] == answer["run_id"]
    assert stones.client.get(f"/traces/{answer['run_id']}").json()["session_id"] == session


# --- history --------------------------------------------------------------------------------------------------------------


def test_history_has_what_was_said_with_its_sources(stones: Api) -> None:
    session = str(uuid4())
    said = send(stones, session_id=session)
    user, assistant = history(stones, session)
    assert set(user) == set(assistant) == {"id", "role", "content", "timestamp", "run_id", "metadata"}
    assert (user["role"], user["content"], user["metadata"]) == ("user", ASK, {})
    assert (assistant["role"], assistant["content"]) == ("assistant", said["answer"])
    assert assistant["id"] == said["message_id"]
    assert assistant["metadata"]["sources"] == said["sources"]
    assert user["timestamp"] <= assistant["timestamp"]


def test_messages_have_their_sources_in_the_words_of_answers(stones: Api) -> None:
    session = str(uuid4())
    answer = stones.client.post("/query", json={"question": ASK, "collection": "stones", "session_id": session}).json()
    path = f"/chat/sessions/{session}/messages"
    user, assistant = stones.client.get(path).json()["items"]
    assert (user["role"], user["content"], user["status"], user["sources"]) == ("user", ASK, "succeeded", [])
    assert (assistant["content"], assistant["confidence"]) == (answer["answer"], answer["confidence"])
    cited = {one["n"]: one for one in assistant["sources"] if one["cited"]}
    for citation in answer["citations"]:
        same = ("kind", "document_id", "external_id", "passage_id", "title", "page", "version", "url")
        assert {name: cited[citation["n"]][name] for name in same} == {name: citation[name] for name in same}
        assert cited[citation["n"]]["quote"].startswith(citation["quote"][:100])
    first = stones.client.get(path, params={"limit": 1}).json()
    assert first["items"] == [user]
    assert stones.client.get(path, params={"cursor": first["next_cursor"]}).json()["items"] == [assistant]
    problem(stones.client.get(f"/chat/sessions/{uuid4()}/messages"), 404)


def test_history_pages(stones: Api) -> None:
    session = str(uuid4())
    for n in range(3):
        send(stones, session_id=session, message=f"What is cairn number {n}?")
    whole = history(stones, session)
    pages, cursor = [], ""
    while cursor is not None:
        page = stones.client.get(f"/chat/history/{session}?limit=4{cursor and f'&cursor={cursor}'}").json()
        pages.append(page["messages"])
        cursor = page["next_cursor"]
    assert [len(page) for page in pages] == [4, 2]
    assert [*pages[0], *pages[1]] == whole


def test_conversations_are_listed_searched_renamed_and_deleted(stones: Api) -> None:
    client = stones.client
    sessions = [send(stones, message=f"{ASK} {n}", collection_name="stones")["session_id"] for n in range(3)]
    newest = client.get("/chat/sessions?limit=2").json()
    assert [one["id"] for one in newest["items"]] == sessions[:0:-1]
    assert newest["items"][0].keys() == {
        "id",
        "title",
        "collection",
        "message_count",
        "created_at",
        "last_used_at",
    }
    older = client.get("/chat/sessions", params={"limit": 1, "cursor": newest["next_cursor"]}).json()
    assert older["items"][0]["id"] == sessions[0]
    path = f"/chat/sessions/{sessions[0]}"
    renamed = client.patch(path, json={"title": "Trail marks"}).json()
    assert renamed["title"] == "Trail marks"
    assert client.get(path).json() == renamed
    assert client.get("/chat/sessions?q=trail+MARKS").json() == {"items": [renamed], "next_cursor": None}
    assert client.delete(path).status_code == 204
    assert problem(client.get(path), 404)["detail"].endswith("see GET /chat/sessions")
    problem(client.patch(path, json={"title": "again"}), 404)
    problem(client.delete(path), 404)
    problem(client.patch(path, json={"title": "x" * 201}), 422)
    problem(client.get("/chat/sessions?cursor=eHh4"), 422)
    assert client.put(path).headers["allow"] == "DELETE, GET, HEAD, PATCH"


def test_deleting_a_history_deletes_it_in_traces_too(stones: Api) -> None:
    session = str(uuid4())
    run = stream(stones, session_id=session, message="What is a qwertzcairn?")[-1].data["run_id"]
    assert stones.client.get(f"/traces/{run}").json()["question"] == "What is a qwertzcairn?"
    assert stones.client.delete(f"/chat/history/{session}").status_code == 204
    assert history(stones, session) == []
    assert "qwertzcairn" not in stones.client.get(f"/traces/{run}").text
    assert stones.client.delete(f"/chat/history/{session}").status_code == 204


def test_the_history_of_a_deleted_document_is_blanked(stones: Api) -> None:
    chat_id, session = f"c{uuid4()}", str(uuid4())
    made = upload(stones, chat_id, heron_md="The heron nests in reeds.").json()["uploaded"][0]
    with stones.client.stream(
        "POST", f"/chat/{chat_id}/stream", json={"message": "Where does the heron nest?", "session_id": session}
    ) as response:
        assert "reeds" in "".join(e.data.get("content", "") for e in read_events(response))
    assert stones.client.delete(f"/chat/{chat_id}/documents/{made['id']}").status_code == 204
    answer = stones.client.get(f"/chat/history/{session}")
    assert "reeds" not in answer.text
    assert "heron.md" not in answer.text
    assert answer.json()["messages"][1]["metadata"]["source_deleted_at"]


# --- documents ------------------------------------------------------------------------------------------------------------


def test_documents_of_a_chat(stones: Api) -> None:
    chat_id = f"c{uuid4()}"
    assert stones.client.get(f"/chat/{chat_id}/documents").json() == {"items": [], "next_cursor": None}
    answer = upload(stones, chat_id, leave_md="# Leave\n\nThirty days.", empty_txt=" ")
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"uploaded", "failed"}
    (made,) = body["uploaded"]
    assert set(made) == {"id", "name", "chunk_count"}
    assert (made["name"], made["chunk_count"]) == ("leave.md", 1)
    assert [(item["name"], item["code"]) for item in body["failed"]] == [("empty.txt", "empty-document")]
    listed = stones.client.get(f"/chat/{chat_id}/documents").json()["items"]
    assert {item["id"] for item in listed if item["status"] == "indexed"} == {made["id"]}
    assert {item["collection"] for item in listed} == {f"chat_{chat_id}"}
    assert stones.client.delete(f"/chat/{chat_id}/documents/{made['id']}").status_code == 204
    problem(stones.client.delete(f"/chat/{chat_id}/documents/{made['id']}"), 404)
    problem(stones.client.delete(f"/chat/{uuid4()}/documents/{uuid4()}"), 404)


def test_an_upload_need_not_be_waited_for(stones: Api) -> None:
    chat_id = f"c{uuid4()}"
    files = [("files", ("leave.md", b"Thirty days."))]
    answer = stones.client.post(f"/chat/{chat_id}/documents?wait=false", files=files)
    assert answer.status_code == 202
    status = answer.headers["location"]
    stones.await_until(lambda: stones.client.get(status).json()["status"] == "succeeded", 30)
    assert len(stones.client.get(f"/chat/{chat_id}/documents").json()["items"]) == 1


def test_files_of_a_chat_come_with_their_readers_or_not_at_all(stones: Api) -> None:
    chat_id = f"c{uuid4()}"
    files = [("files", ("leave.md", b"Thirty days."))]
    refused = stones.client.post(f"/chat/{chat_id}/documents", files=files, data={"acces": "group:personnel"})
    assert "did you mean access?" in problem(refused, 422)["detail"]
    assert stones.client.get(f"/chat/{chat_id}/documents").json()["items"] == []
    sent = stones.client.post(
        f"/chat/{chat_id}/documents", files=files, data={"access": ["group:personnel", "group:law"]}
    )
    assert sent.status_code == 200, sent.text
    (made,) = sent.json()["uploaded"]
    stored = stones.client.get(f"/collections/chat_{chat_id}/documents/{made['id']}").json()
    assert sorted(stored["access"]) == ["group:law", "group:personnel"]


# --- bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/", {}),
        ("/chat/", {"message": ""}),
        ("/chat/", {"message": " \x00 "}),
        ("/chat/", {"message": None}),
        ("/chat/", {"message": 7}),
        ("/chat/", {"message": "x" * 20_001}),
        ("/chat/", {"message": ASK, "mesage": ASK}),
        ("/chat/", {"message": ASK, "session_id": ""}),
        ("/chat/", {"message": ASK, "session_id": " ", "collection_name": "stones"}),
        ("/chat/", {"message": ASK, "session_id": "a\nb", "collection_name": "stones"}),
        ("/chat/", {"message": ASK, "session_id": "a/b", "collection_name": "stones"}),
        ("/chat/", {"message": ASK, "session_id": "..", "collection_name": "stones"}),
        ("/chat/", {"message": ASK, "session_id": "x" * 129, "collection_name": "stones"}),
        ("/chat/", {"message": ASK, "session_id": "user:42"}),  # cannot name a collection
        ("/chat/", {"message": ASK, "collection_name": ""}),
        ("/chat/", {"message": ASK, "collection_name": "../etc"}),
        ("/chat/stream", {"message": ASK}),
        ("/chat/stream", {"message": ASK, "collection_name": None}),
        ("/chat/history/stream", {"message": ASK}),
        ("/chat/stream/stream", {"message": ASK}),
        ("/chat/a b/stream", {"message": ASK}),
        (f"/chat/{'x' * 124}/stream", {"message": ASK}),
        ("/query", {"question": ASK, "collection": "stones", "session_id": "x" * 129}),
    ],
)
def test_bad_messages_are_problems(stones: Api, path: str, body: dict[str, Any]) -> None:
    found = problem(stones.client.post(path, json=body), 422)
    assert found["code"] == "invalid-input"
    assert found["detail"]


def test_bad_chats_sessions_and_cursors_are_problems(stones: Api) -> None:
    client = stones.client
    files = [("files", ("a.md", b"text"))]
    for chat_id in ("history", "sessions", "stream", "a b"):
        problem(client.post(f"/chat/{chat_id}/documents", files=files), 422)
        problem(client.delete(f"/chat/{chat_id}/documents/{uuid4()}"), 422)
    problem(client.get("/chat/stream/documents"), 422)
    problem(client.get("/chat/history/%20"), 422)
    problem(client.get(f"/chat/history/{'x' * 129}"), 422)
    problem(client.get("/chat/history/s1?cursor=eHh4"), 422)
    problem(client.get("/chat/history/s1?cursor=!"), 422)
    problem(client.delete("/chat/history/%20"), 422)
    problem(client.delete("/chat/c1/documents/none"), 422)
    problem(client.post("/chat/", content=b"{", headers={"content-type": "application/json"}), 400)
    problem(client.post("/chat/", content=b"message=x"), 415)
    problem(client.post("/chat/c1/documents", json={}), 415)
    problem(client.get("/chat/"), 405)
    answer = client.post("/chat", json={"message": ASK, "collection_name": "stones"})
    assert answer.status_code == 200, "with or without the slash"


def test_session_ids_of_many_kinds(stones: Api) -> None:
    for session in (
        "user:42",
        "a@b.example",
        "x" * 128,
        "documents",
        "Zoë 🙂",
        "%2e%s",
        "?a&b#c",
    ):
        assert send(stones, session_id=session)["session_id"] == session
        assert len(history(stones, quote(session, safe=""))) == 2, session
        assert stones.client.delete(f"/chat/history/{quote(session, safe='')}").status_code == 204
        assert history(stones, quote(session, safe="")) == []
    assert send(stones, session_id="a\x00b")["session_id"] == "a\ufffdb"
    assert len(history(stones, "a%00b")) == 2


# --- how streams end ------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", ["cut", "error_chunk", "bad_chunk"])
def test_a_model_that_breaks_in_the_middle_is_replaced_by_a_quotation(
    talking: Api, chat: ScriptedServer, kind: str
) -> None:
    session = str(uuid4())
    chat.script(kind)
    events = stream(talking, session_id=session)
    assert [event.event for event in events][-2:] == ["sources", "done"]
    done = events[-1].data
    assert done["replaced"] is True
    assert done["answer"]
    assert any("generation failed" in note for note in done["degraded"])
    assert [message["content"] for message in history(talking, session)] == [ASK, done["answer"]]
    said = send(talking, session_id=session)
    assert (said["degraded"], said["coverage"]["unit"]) == ([], "passages")


def test_silence_is_filled_with_comments(talking: Api, chat: ScriptedServer) -> None:
    chat.script(Reply("ok", seconds=1.2))
    body = {"message": ASK, "collection_name": "stones"}
    with talking.client.stream("POST", "/chat/stream", json=body) as response:
        lines = list(response.iter_lines())
    assert len([line for line in lines if line.startswith(":")]) >= 3  # one each 0.2 s
    assert any(line == "event: done" for line in lines)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", ["/chat/stream", "/chat/c1/stream", "/query"])
@pytest.mark.parametrize("kind", ["stall", "stall_late"])
def test_leaving_a_stream_ends_the_model_call(
    talking: Api, chat: ScriptedServer, psql: Psql, path: str, kind: str
) -> None:
    session = str(uuid4())
    asked, left = len(chat.requests), chat.hung_up
    chat.script(kind)
    body: dict[str, Any] = {"message": ASK, "collection_name": "stones", "session_id": session}
    if path == "/query":
        body = {"question": ASK, "collection": "stones", "session_id": session, "stream": True}
    with talking.client.stream("POST", path, json=body) as response:
        assert response.status_code == 200
        talking.await_until(lambda: len(chat.requests) > asked)
    _expect_cancelled(talking, chat, psql, session, left)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", ["/chat/", "/query"])
def test_leaving_without_a_stream_ends_the_model_call(
    talking: Api, chat: ScriptedServer, psql: Psql, path: str
) -> None:
    session = str(uuid4())
    asked, left = len(chat.requests), chat.hung_up
    chat.script("stall")
    body: dict[str, Any] = {"message": ASK, "collection_name": "stones", "session_id": session}
    if path == "/query":
        body = {"question": ASK, "collection": "stones", "session_id": session}
    raw = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", talking.port)) as plain:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}"
        )
        plain.sendall(head.encode() + b"\r\n\r\n" + raw)
        talking.await_until(lambda: len(chat.requests) > asked)
    _expect_cancelled(talking, chat, psql, session, left)


def _expect_cancelled(api: Api, chat: ScriptedServer, psql: Psql, session: str, left: int) -> None:
    """The model server sees its request closed, the trace says cancelled, the question is kept."""
    api.await_until(lambda: chat.hung_up > left)
    api.await_until(lambda: len(history(api, session)) == 1)
    assert history(api, session)[0]["metadata"] == {"outcome": "cancelled"}
    outcome = f"SELECT outcome FROM rag.runs WHERE session_id = '{session}'"
    api.await_until(lambda: psql(outcome, api.database) == "cancelled")


def test_two_messages_at_once_are_two_exchanges(talking: Api, chat: ScriptedServer) -> None:
    session = str(uuid4())
    chat.script(*[Reply("ok", seconds=0.3)] * 4)
    threads = [
        threading.Thread(target=send, args=(talking,), kwargs={"session_id": session, "message": f"{ASK} Number {n}."})
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = history(talking, session)
    assert [message["role"] for message in found] == ["user", "assistant"] * 4
    assert all(user["run_id"] == said["run_id"] for user, said in zip(found[::2], found[1::2], strict=True))
