"""A POST that makes something, sent again under its Idempotency-Key, makes it once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Api, serving

from cairn.interfaces.http.idempotency import HEADER, REPLAYED
from cairn.service.idempotency import LEASE_SECONDS
from tests.waiting import wait_until

Psql = Callable[..., str]
BODY = b"Cairns mark the trail where no path can be seen."


@pytest.fixture(scope="module")
def two(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[tuple[Api, Api]]:
    """Two processes on one database."""
    dsn, folder = fresh_database(), tmp_path_factory.mktemp("once")
    with (
        serving(dsn, folder / "a", settings={"api": {"idempotencyHours": 48}}, CAIRN_MODEL_DIR=str(model)) as a,
        serving(dsn, folder / "b", CAIRN_MODEL_DIR=str(model)) as b,
    ):
        yield a, b


def post(api: Api, path: str, key: str, **sent: Any) -> Any:
    return api.client.post(path, headers={HEADER: key}, **sent)


def test_the_same_request_gets_the_same_answer_in_either_process(two: tuple[Api, Api]) -> None:
    first = post(two[0], "/collections", "c-1", json={"name": "once"})
    assert (first.status_code, first.headers["location"]) == (201, "/collections/once")
    assert REPLAYED not in first.headers
    for api in two:
        again = post(api, "/collections", "c-1", json={"name": "once"})
        assert (again.status_code, again.content) == (201, first.content)
        assert (again.headers[REPLAYED], again.headers["location"]) == ("true", "/collections/once")
        assert again.headers["content-type"] == first.headers["content-type"]
    assert two[0].client.post("/collections", json={"name": "once"}).status_code == 409  # without the key


def test_another_request_under_the_key_is_refused(two: tuple[Api, Api]) -> None:
    assert post(two[0], "/collections", "c-2", json={"name": "one"}).status_code == 201
    for path, body in (("/collections", {"name": "two"}), ("/index", {"documents": [{"text": "x"}]})):
        refused = post(two[1], path, "c-2", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-key-reused")
    assert two[0].client.get("/collections/two").status_code == 404


def test_what_failed_frees_the_key(two: tuple[Api, Api]) -> None:
    assert post(two[0], "/collections", "c-3", json={"name": "-"}).status_code == 422
    assert post(two[0], "/collections", "c-3", json={"nome": "good"}).status_code == 422
    assert post(two[0], "/collections", "c-3", json={"name": "good"}).status_code == 201


@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "sch\u00f6n"])
def test_keys_that_are_none(two: tuple[Api, Api], key: str) -> None:
    refused = two[0].client.post("/collections", json={"name": "no-key"}, headers={HEADER: key.encode("latin-1")})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-input")
    assert two[0].client.get("/collections/no-key").status_code == 404


def test_an_upload_makes_one_job_though_its_parts_are_separated_otherwise(two: tuple[Api, Api]) -> None:
    def send(boundary: str, content: bytes = BODY) -> Any:
        part = b'Content-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
        body = b"--" + boundary.encode() + b"\r\n" + part + content + b"\r\n--" + boundary.encode() + b"--\r\n"
        headers = {HEADER: "u-1", "Content-Type": f"multipart/form-data; boundary={boundary}"}
        return two[0].client.post("/collections/uploads/documents", content=body, headers=headers)

    first, again = send("one"), send("another")
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["location"] == first.headers["location"]
    assert send("one", b"Other.").json()["code"] == "idempotency-key-reused"
    jobs = two[1].client.get("/jobs").json()["items"]
    assert len([job for job in jobs if job["collection"] == "uploads"]) == 1


def test_of_ten_at_once_one_is_carried_out(two: tuple[Api, Api]) -> None:
    answers: list[Any] = []
    document = {
        "collection": "race",
        "documents": [{"external_id": f"d{n}", "text": f"{n} stones in a cairn."} for n in range(20)],
    }

    def send(api: Api) -> None:
        answers.append(post(api, "/index", "race-1", json=document))

    threads = [threading.Thread(target=send, args=(two[n % 2],)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [answer for answer in answers if answer.status_code == 200]
    assert len([answer for answer in done if REPLAYED not in answer.headers]) == 1
    for answer in answers:
        if answer.status_code != 200:
            assert (answer.status_code, answer.json()["code"]) == (409, "idempotency-key-in-flight")
            assert answer.headers["retry-after"]
    again = post(two[1], "/index", "race-1", json=document)
    assert again.content == done[0].content
    assert not any(item["duplicate"] for item in again.json()["indexed"])


def test_a_key_whose_process_died_is_free_after_its_lease(two: tuple[Api, Api], psql: Psql) -> None:
    assert post(two[0], "/collections", "dead", json={"name": "left"}).status_code == 201
    database, where = two[0].database, "WHERE key = 'dead'"
    ahead = f"claimed_until = now() + interval '{LEASE_SECONDS} s'"
    psql(f"UPDATE rag.idempotency_keys SET status = NULL, body = NULL, {ahead} {where}", database)
    assert post(two[1], "/collections", "dead", json={"name": "left"}).json()["code"] == "idempotency-key-in-flight"
    psql(f"UPDATE rag.idempotency_keys SET claimed_until = now() - interval '1 s' {where}", database)
    assert post(two[1], "/collections", "dead", json={"name": "other"}).json()["code"] == "idempotency-key-reused"
    assert post(two[1], "/collections", "dead", json={"name": "left"}).json()["code"] == "conflict"  # its deed answers


def test_keys_are_forgotten_after_their_time(two: tuple[Api, Api], psql: Psql) -> None:
    def age(hours: int) -> None:
        psql(
            f"UPDATE rag.idempotency_keys SET created_at = now() - interval '{hours} hours' WHERE key = 'old'",
            two[0].database,
        )

    assert post(two[0], "/collections", "old", json={"name": "old-1"}).status_code == 201
    age(47)
    assert post(two[0], "/collections", "old", json={"name": "old-1"}).headers[REPLAYED] == "true"
    age(49)
    assert post(two[0], "/collections", "old", json={"name": "old-2"}).status_code == 201
    age(25)
    assert post(two[1], "/collections", "old", json={"name": "old-3"}).status_code == 201, "another setting"


def test_a_request_that_is_given_up_frees_its_key(two: tuple[Api, Api], psql: Psql) -> None:
    body = b'{"name": "given-up"'
    with socket.create_connection(("127.0.0.1", two[0].port)) as plain:
        plain.sendall(
            b"POST /collections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: gone\r\n"
            b"Content-Length: 100\r\n\r\n" + body
        )

    def free() -> bool:
        return post(two[0], "/collections", "gone", json={"name": "given-up"}).status_code == 201

    wait_until(free, 10)


def test_routes_that_make_nothing_take_no_notice(two: tuple[Api, Api]) -> None:
    for query in ("trail", "path"):
        found = post(two[0], "/search", "s-1", json={"query": query, "collection": "once"})
        assert found.status_code == 200
        assert REPLAYED not in found.headers


def test_the_header_is_declared(two: tuple[Api, Api]) -> None:
    paths = two[0].client.get("/openapi.json").json()["paths"]
    named = {path for path, item in paths.items() for operation in item.values()
             if any(parameter["name"] == HEADER for parameter in operation.get("parameters", []))}  # fmt: skip
    assert named >= {"/collections", "/index", "/collections/{name}/documents", "/graph/merges"}
    assert not named & {"/search", "/query", "/keys"}
