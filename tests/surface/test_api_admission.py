"""What slow, large and many requests do to everybody else: nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from serving import Api, serving

from cairn.interfaces.http.bodies import RECEIVING
from tests.waiting import patience

QUESTION = {"question": "What is a cairn?", "collection": "stones"}
SEARCH = {"query": "cairn", "collection": "stones"}
SETTINGS = {
    "api": {"bodySeconds": 2, "bodyRate": 200, "headSeconds": 2, "maxJsonTokens": 5000, "maxBodyBytes": 20_000_000},
    "admission": {"answers": 2, "answersWaiting": 1, "waitSeconds": 60},
    "providers": {"circuitFailures": 10_000},
}
STALLED = 210

Psql = Callable[..., str]
Hold = Callable[[str], contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones [1].") as running:
        yield running


@pytest.fixture(scope="module")
def api(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("admission")
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    with serving(fresh_database(), folder, settings=SETTINGS, **own) as running:
        running.index("stones", a="A cairn is a pile of stones that marks a trail.")
        yield running


def head_of(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def connect(api: Api) -> socket.socket:
    return socket.create_connection(("127.0.0.1", api.port), timeout=patience(30))


def reply_of(connection: socket.socket) -> str:
    """All that comes until the server closes the connection."""
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces).decode()


# --- too many -----------------------------------------------------------------------------------------------------------


def test_questions_beyond_the_queue_are_refused_and_everything_else_goes_on(api: Api, chat: ScriptedServer) -> None:
    chat.script(*["stall"] * 3)
    body = json.dumps(QUESTION | {"strategy": "fast"}).encode()
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(api)).sendall(head_of("/query", len(body)) + body)

        api.await_until(lambda: "cairn_http_in_flight 3.0" in api.client.get("/metrics").text)
        answer = api.client.post("/query", json=QUESTION)
        assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
        assert int(answer.headers["retry-after"]) == answer.json()["retry_after"] > 0
        assert answer.headers["x-request-id"] == answer.json()["request_id"]
        assert api.client.post("/search", json=SEARCH).status_code == 200
        assert api.client.get("/health/ready").status_code == 200
        metrics = api.client.get("/metrics").text
        for line in ('refused{kind="answer"} 1.0', 'waiting{kind="answer"} 1.0', 'running{kind="answer"} 2.0'):
            assert f"cairn_admission_{line}" in metrics
    api.await_until(lambda: "cairn_http_in_flight 0.0" in api.client.get("/metrics").text)
    chat._script.clear()
    assert api.client.post("/query", json=QUESTION).status_code == 200


def test_of_questions_that_come_together_those_without_room_are_refused_before_anything_is_asked(
    api: Api, psql: Psql, hold_collections: Hold
) -> None:
    """The three that there is room for hang in the database, on their way to the queue: the fourth must not go after them."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    body = json.dumps(QUESTION | {"strategy": "fast"}).encode()
    with ExitStack() as stack:
        with hold_collections(api.database):
            coming = [stack.enter_context(connect(api)) for _ in range(3)]
            for connection in coming:
                connection.sendall(head_of("/query", len(body)) + body)
            api.await_until(lambda: int(psql(count, api.database)) >= 3)
            answer = api.client.post("/query", json=QUESTION)
        assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
        assert answer.headers["content-type"] == "application/problem+json"
        assert int(answer.headers["retry-after"]) > 0
        for connection in coming:
            assert connection.recv(12) == b"HTTP/1.1 200"


def test_questions_without_their_bodies_or_without_a_collection_keep_no_room(api: Api) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(api)).sendall(head_of("/query", 500) + b'{"question": ')
        api.await_until(lambda: "cairn_http_in_flight 3.0" in api.client.get("/metrics").text)
        for _ in range(4):
            assert api.client.post("/query", json=QUESTION | {"collection": "nowhere"}).status_code == 404
        assert api.client.post("/query", json=QUESTION).status_code == 200
    api.await_until(lambda: "cairn_http_in_flight 0.0" in api.client.get("/metrics").text)


def test_readiness_does_not_wait_for_the_pool(api: Api, psql: Psql, hold_collections: Hold) -> None:
    """Every connection of the pool hangs on a lock; readiness has one of its own."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    searching = [threading.Thread(target=lambda: api.client.get("/collections")) for _ in range(4)]
    with hold_collections(api.database):
        for thread in searching:
            thread.start()
        api.await_until(lambda: int(psql(count, api.database)) >= 4)
        ready = api.client.get("/health/ready")
    assert ready.status_code == 200
    for thread in searching:
        thread.join()


# --- too slow -----------------------------------------------------------------------------------------------------------


def test_stalled_bodies_lock_nobody_out_and_are_ended(api: Api) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(connect(api)) for _ in range(STALLED)]
        for number, connection in enumerate(stalled):
            connection.sendall(head_of(("/search", "/index", "/query")[number % 3], 500) + b'{"query": ')
        for _ in range(5):
            assert api.client.post("/search", json=SEARCH).status_code == 200
        for connection in stalled[:6]:
            answer = reply_of(connection)
            assert answer.startswith("HTTP/1.1 408 "), answer[:200]
            assert '"request-timeout"' in answer


@pytest.mark.siege
def test_a_body_that_comes_steadily_has_its_time(api: Api) -> None:
    body = json.dumps(SEARCH).encode().ljust(3500)
    with connect(api) as connection:
        connection.sendall(head_of("/search", len(body)))
        for at in range(0, len(body), 500):
            connection.sendall(body[at : at + 500])
            time.sleep(0.4)  # longer than bodySeconds together, at more than bodyRate
        assert connection.recv(12) == b"HTTP/1.1 200"


@pytest.mark.sweep(2)
@pytest.mark.parametrize("begun", [b"", b"GET /health/live HTTP/1.1\r\nHost: loc"])
def test_a_head_that_does_not_come_is_given_up(api: Api, begun: bytes) -> None:
    with connect(api) as connection:
        connection.sendall(begun)
        assert reply_of(connection).startswith("HTTP/1.1 408 ")


@pytest.mark.siege
def test_a_second_head_that_does_not_come_is_given_up(api: Api) -> None:
    whole = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(api) as connection:
        connection.sendall(whole + whole[:20])
        answer = reply_of(connection)
    assert answer.startswith("HTTP/1.1 200 ")
    assert "HTTP/1.1 408 " in answer


def test_more_stalled_bodies_than_are_received_at_once_lock_nobody_out(api: Api) -> None:
    with ExitStack() as stack:
        for _ in range(RECEIVING + 60):
            stack.enter_context(connect(api)).sendall(head_of("/search", 100) + b"{")
        statuses = {api.client.post("/search", json=SEARCH).status_code for _ in range(5)}
        assert statuses == {200}
    assert "request.bug" not in api.log


@pytest.mark.siege
def test_an_open_connection_may_be_silent_between_requests(api: Api) -> None:
    whole = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(api) as connection:
        for _ in range(2):
            connection.sendall(whole)
            answer = b""
            while b"live" not in answer:
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ")
            time.sleep(2.5)  # longer than headSeconds, shorter than keep-alive


# --- too large ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_have_the_limit_of_their_route(api: Api, chunked: bool) -> None:
    text = "stones " * 200_000
    search: Any = json.dumps(SEARCH | {"query": text}).encode()
    index: Any = (
        json.dumps({"collection": "long", "documents": [{"external_id": "a", "text": "A stone."}]})
        .encode()
        .ljust(1_200_000)
    )
    headers = {"Content-Type": "application/json"}
    refused = api.client.post("/search", content=iter([search]) if chunked else search, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
    assert "api.maxSmallBodyBytes" in refused.json()["detail"]
    taken = api.client.post("/index", content=iter([index]) if chunked else index, headers=headers)
    assert taken.status_code == 200, taken.text
    longer: Any = index.ljust(20_000_001)
    refused = api.client.post("/index", content=iter([longer]) if chunked else longer, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
    assert "api.maxBodyBytes" in refused.json()["detail"]


def test_json_of_many_keys_is_refused_before_it_is_parsed_and_blocks_nobody(api: Api) -> None:
    pieces = (b'{"k%d": {"a": [1, 2, "x"]}, ' % number for number in range(400_000))
    body = b'{"collection": "many", "documents": ' + b"".join(pieces)
    slowest, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal slowest
        while not done.is_set():
            began = time.monotonic()
            assert api.client.get("/health/live").status_code == 200
            slowest = max(slowest, time.monotonic() - began)

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.monotonic()
    answer = api.client.post("/index", content=body, headers={"Content-Type": "application/json"})
    spent = time.monotonic() - began
    done.set()
    watching.join()
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    assert "names, values and brackets" in answer.json()["detail"]
    assert slowest < max(spent, 1.0), "others were answered meanwhile"


def test_many_mistakes_are_not_described_one_by_one(api: Api) -> None:
    wrong = {"collection": "wrong", "documents": [{f"x{number}": 1} for number in range(1500)]}
    locations = {error["location"] for error in api.client.post("/index", json=wrong).json()["errors"]}
    assert locations == {"body.documents.0.text", "body.documents.0.x0"}
    wide = {f"k{number}": 1 for number in range(4500)}
    answer = api.client.post("/collections/wide/documents", files=[("files", ("a.txt", b"A stone."))],
                             data={"metadata": json.dumps(wide | {f"l{number}": 1 for number in range(4500)})})  # fmt: skip
    assert (answer.status_code, "at most 5,000" in answer.json()["detail"]) == (422, True), answer.text


def test_the_field_metadata_is_bounded_before_it_is_parsed(api: Api) -> None:
    files = [("files", ("a.txt", b"A stone."))]
    answer = api.client.post("/collections/wide/documents", files=files, data={"metadata": "[" + "{}," * 200_000})
    assert (answer.status_code, "the field metadata has 600,001 characters" in answer.json()["detail"]) == (422, True)


def test_a_title_is_bounded(api: Api) -> None:
    documents = [
        {"external_id": "a", "text": "A stone.", "title": "stone " * 400},
        {"external_id": "b", "text": "A stone.", "title": "B"},
    ]
    answer = api.client.post("/index", json={"collection": "titles", "documents": documents}).json()
    assert [item["external_id"] for item in answer["indexed"]] == ["b"]
    assert "at most 2,000 characters" in answer["failed"][0]["error"]


@pytest.mark.siege
def test_a_long_text_full_of_quotes_is_no_large_json(api: Api) -> None:
    text = 'He said "stones", and \\ {"a": [1, 2]}.\n' * 1500
    answer = api.client.post(
        "/index", json={"collection": "long", "documents": [{"external_id": "quotes", "text": text}]}
    )
    assert answer.status_code == 200, answer.text
    assert not answer.json()["failed"]


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({f"k{n}": n for n in range(1001)}, "1,000 keys"), ({"a": {"b": ["x"] * 1001}}, "1,000 keys"),
        ({"a": "ä" * 33_000}, "64,000"),
    ],
)  # fmt: skip
def test_metadata_and_filters_are_bounded(api: Api, metadata: dict[str, Any], problem: str) -> None:
    documents = [{"external_id": "a", "text": "A stone.", "metadata": metadata}]
    failed = api.client.post("/index", json={"collection": "bounded", "documents": documents}).json()["failed"]
    assert problem in failed[0]["error"]
    files = [("files", ("a.txt", b"A stone."))]
    upload = api.client.post("/collections/bounded/documents", files=files, data={"metadata": json.dumps(metadata)})
    assert (upload.status_code, problem in upload.json()["detail"]) == (422, True)
    for path, body in (("/search", SEARCH), ("/query", QUESTION)):
        answer = api.client.post(path, json=body | {"filters": metadata})
        assert (answer.status_code, problem in answer.json()["detail"]) == (422, True), answer.text


# --- gone ---------------------------------------------------------------------------------------------------------------


def test_an_upload_whose_client_is_gone_ends(api: Api, psql: Psql) -> None:
    texts = [{"external_id": f"d{n}", "text": f"Stone {n} lies here. " * 400} for n in range(400)]
    body = json.dumps({"collection": "gone", "documents": texts}).encode()
    stored = "SELECT count(*) FROM rag.documents AS d JOIN rag.collections AS c ON c.id = d.collection_id WHERE c.name = 'gone'"
    with connect(api) as connection:
        connection.sendall(head_of("/index", len(body)) + body)
        api.await_until(lambda: int(psql(stored + " AND d.status = 'indexed'", api.database)) > 0)
    api.await_until(lambda: "cairn_http_in_flight 0.0" in api.client.get("/metrics").text)
    assert int(psql(stored + " AND d.status = 'indexed'", api.database)) < len(texts)
