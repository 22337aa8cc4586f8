"""What operators see: the description of the API, health, metrics, settings, outages, logs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from database_proxy import database_proxy
from serving import REPO, Api, serving

from cairn.db.schema import SchemaSource
from cairn.errors import InputError, SettingsError, TooLargeError
from cairn.interfaces.http.authenticate import check_listen, is_loopback
from cairn.interfaces.http.bodies import check_length
from cairn.interfaces.http.browser import host_name
from cairn.interfaces.http.running import decode_cursor, encode_cursor
from cairn.settings import read_environment
from tests.waiting import patience

PROBLEM = "application/problem+json"


# --- where it listens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.1"])
def test_loopback_is_open(host: str) -> None:
    check_listen(read_environment({"CAIRN_HOST": host}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_anything_else_needs_permission(host: str) -> None:
    with pytest.raises(SettingsError, match="CAIRN_ALLOW_OPEN"):
        check_listen(read_environment({"CAIRN_HOST": host}))
    check_listen(read_environment({"CAIRN_HOST": host, "CAIRN_ALLOW_OPEN": "1"}))
    check_listen(read_environment({"CAIRN_HOST": host, "CAIRN_AUTH": "keys"}))


def test_serve_refuses_to_listen_on_the_network(tmp_path: Path) -> None:
    with serving("postgresql://127.0.0.1:1/none", tmp_path, wait=False, CAIRN_HOST="0.0.0.0") as api:
        assert api.process.wait(patience(30)) != 0
        assert "CAIRN_ALLOW_OPEN" in api.log
        assert "Traceback" not in api.log


def test_serve_without_a_database_is_one_line(tmp_path: Path) -> None:
    with serving("postgresql://127.0.0.1:1/none", tmp_path, wait=False) as api:
        assert api.process.wait(patience(60)) != 0
        assert "database-unavailable" in api.log
        assert "Traceback" not in api.log


# --- small parts --------------------------------------------------------------------------------------------------------


def test_hosts_without_their_ports() -> None:
    assert [host_name(name) for name in ("A:1", "[::1]:8", "[::1]", "b")] == ["a", "[::1]", "[::1]", "b"]
    assert is_loopback("[::1]")
    assert not is_loopback("")


def test_lengths() -> None:
    check_length(None, 10, False)
    check_length("10", 10, False)
    for large in ("11", "9" * 5000):
        with pytest.raises(TooLargeError):
            check_length(large, 10, False)
    for odd in ("-1", "x", "1e3", "٣", ""):
        with pytest.raises(InputError):
            check_length(odd, 10, False)


@pytest.mark.parametrize("key", ["a", "ä/ö 🗿", "", "x" * 512])
def test_cursors_come_back(key: str) -> None:
    assert decode_cursor(encode_cursor(key)) == key


def test_foreign_cursors_are_refused() -> None:
    for cursor in ("***", "_w", "ä", "a"):
        with pytest.raises(InputError):
            decode_cursor(cursor)


# --- the description ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def description(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.client.get("/openapi.json").json()
    return found


FOREIGN = ("/v1/", "/retrieval")
FILES = ("image/png", "*/*")


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def resolve(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def has_example(description: dict[str, Any], content: dict[str, Any]) -> bool:
    schema = resolve(description, content.get("schema", {}))
    shown = content.keys() | schema.keys()
    fields = schema.get("properties", {}).values()
    return bool({"example", "examples"} & shown) or any("examples" in json.dumps(field) for field in fields)


def test_every_body_and_answer_has_an_example(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        assert operation["summary"], name
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert has_example(description, content), f"body of {name}"
        for status, response in operation["responses"].items():
            for kind, content in response.get("content", {}).items():
                if kind in FILES:
                    continue
                assert has_example(description, content), f"{status} of {name}"


def test_every_reference_of_the_description_resolves(description: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(description)))
    assert references <= set(description["components"]["schemas"])
    assert description["openapi"].startswith("3.1")


def test_problems_are_declared_and_explained(api: Api, description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        if name.partition(" ")[2].startswith(FOREIGN):
            continue  # in the shape that their clients read: their own tests ask for that
        errors = {status: response for status, response in operation["responses"].items() if status >= "400"}
        assert {"400", "421", "500", "503"} <= set(errors), name
        assert ("415" in errors) == ("requestBody" in operation), name
        assert all(list(response["content"]) == [PROBLEM] for response in errors.values()), name
    for code in ("not-found", "invalid-input", "too-large", "unknown-host", "query-timeout", "stopping"):
        assert api.client.get(f"/problems/{code}").json()["code"] == code
    assert api.client.get("/problems/nonsense").status_code == 404


# --- health, metrics, settings ------------------------------------------------------------------------------------------


def test_ready_says_what_it_stands_on(api: Api) -> None:
    answer = api.client.get("/health/ready")
    body = answer.json()
    assert (answer.status_code, body["status"], body["problems"]) == (200, "ready", [])
    assert body["database"]["iterative_scan"] == "relaxed_order"
    assert body["database"]["revision"] == SchemaSource.installed().head
    assert body["worker"]["here"]
    assert body["models"]["embedding"].startswith("all-MiniLM-L6-v2")
    assert body["models"]["chat"] is None
    assert body["queue"]["queued"] == 0


@pytest.mark.siege
def test_ready_names_what_an_earlier_release_read_until_it_is_read_anew(api: Api, psql: Callable[..., str]) -> None:
    def told() -> list[str]:
        body = api.client.get("/health/ready").json()
        assert body["status"] == "ready"
        return [problem for problem in body["problems"] if "cairn reread" in problem]

    api.index("aged", leave="Employees have 30 days of leave.", pay="Salaries are paid on the 25th.")
    assert told() == []
    psql("UPDATE rag.documents SET loader_revision = 0 WHERE external_id = 'leave'", api.database)
    api.await_until(told)
    assert told() == [
        "collection aged: 1 document was read by an earlier release; cairn reread aged reads what can be read better"
    ]
    assert api.client.post("/collections/aged/reread").status_code == 202
    api.await_until(lambda: not told())


@pytest.mark.parametrize("broken", ["", "[]", '{"rag": {"topk": 3}}', '{"rag": ', "\x00", '{"rag": {"topK": 0}}'])
def test_broken_settings_keep_the_old_ones_and_show(api: Api, broken: str) -> None:
    before = api.revision

    def shown() -> bool:
        return api.client.get("/health/ready").json()["settings"]["problem"] is not None

    api.write_settings(broken)
    api.await_until(shown)
    body = api.client.get("/health/ready").json()
    assert (body["status"], body["settings"]["revision"]) == ("ready", before)
    assert body["problems"]
    assert "cairn_settings_reload_failed 1.0" in api.client.get("/metrics").text
    api.restore_settings()
    api.await_until(lambda: not shown())
    assert "cairn_settings_reload_failed 0.0" in api.client.get("/metrics").text


def test_settings_reload_while_running(api: Api) -> None:
    before = api.revision
    api.write_settings('{"api": {"maxQueryChars": 10}}')
    api.await_until(lambda: api.revision != before)
    long = api.client.post("/search", json={"query": "eleven char", "collection": "none"})
    assert "10" in long.json()["detail"]
    api.restore_settings()
    api.await_until(lambda: api.revision == before)
    assert api.client.post("/search", json={"query": "eleven char", "collection": "none"}).status_code == 404


def test_deeds_are_paged_newest_first(api: Api) -> None:
    names = [f"gone-{n}" for n in range(3)]
    for name in names:
        api.client.post("/collections", json={"name": name})
        assert api.client.delete(f"/collections/{name}").status_code == 204

    def page(**more: Any) -> Any:
        return api.client.get("/audit", params={"action": "collection", "limit": 2, **more}).json()

    first = page()
    assert [event["target"] for event in first["items"]] == names[:0:-1]
    assert names[0] in [event["target"] for event in page(cursor=first["next_cursor"])["items"]]
    newest = first["items"][0]
    assert (newest["caller"], newest["detail"]) == ("local", {"documents": 0, "chunks": 0})
    assert page(since=newest["occurred_at"])["items"] == [newest]
    for wrong in (
        {"cursor": encode_cursor("never")},
        {"cursor": encode_cursor("2026-01-01 x")},
        {"since": "2026-01-01"},
    ):
        refused = api.client.get("/audit", params=wrong)
        assert (refused.status_code, refused.headers["content-type"]) == (422, PROBLEM), wrong


def test_metrics_count_by_route_template(api: Api) -> None:
    for name in ("m1", "m2"):
        api.client.get(f"/collections/{name}")
    api.client.get("/no/such/route")
    api.index("measured", a="Stones.")
    api.client.post("/search", json={"query": "stones", "collection": "measured"})
    text = api.client.get("/metrics").text
    counted = re.search(
        r'cairn_http_requests_total\{method="GET",route="/collections/\{name\}",status="404"\} (\S+)', text
    )
    assert counted
    assert float(counted[1]) >= 2
    assert 'route="unmatched",status="404"' in text
    assert "m1" not in text
    for name in ('cairn_stage_seconds_count{stage="vector"}', 'cairn_stage_seconds_count{stage="lexical"}',
                 'cairn_queue_depth{state="queued"}', "cairn_queue_oldest_seconds", "cairn_tokenizer_fallback",
                 "cairn_traces_dropped", "cairn_database_up 1.0"):  # fmt: skip
        assert name in text


def test_logs_are_structured_and_hold_no_text(api: Api) -> None:
    api.index("secret", **{"marker-in-id": "The marker in the text is Xylophonquark."})
    headers = {"X-Request-ID": "find-me"}
    question = {"query": "Xylophonquark", "collection": "secret"}
    assert api.client.post("/search", json=question, headers=headers).json()["results"]
    api.client.post("/query", json={"question": "What is Xylophonquark?", "collection": "secret"})
    assert "Xylophonquark" not in api.log
    lines = [json.loads(line) for line in api.log.splitlines()]
    (line,) = [line for line in lines if line.get("request_id") == "find-me"]
    assert (line["route"], line["status"], line["level"]) == ("/search", "200", "info")


def test_what_libraries_log_has_the_same_shape(api: Api) -> None:
    before = len(api.log)
    with socket.create_connection(("127.0.0.1", api.port)) as rude:
        rude.sendall(b"never was this HTTP\r\n\r\n")
        rude.recv(1000)
    api.await_until(lambda: "Invalid HTTP request" in api.log[before:])
    lines = [json.loads(line) for line in api.log[before:].splitlines() if line]  # the end of one may be written apart
    (line,) = [line for line in lines if "Invalid HTTP request" in line["event"]]
    assert (line["level"], line["logger"]) == ("warning", "uvicorn.error")


# --- outages ------------------------------------------------------------------------------------------------------------


async def test_database_that_goes_and_comes_back(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path
) -> None:
    search = {"query": "stones", "collection": "outage"}

    def during(api: Api) -> None:
        assert api.client.get("/health/live").status_code == 200
        ready = api.client.get("/health/ready")
        assert (ready.status_code, ready.headers["content-type"]) == (503, PROBLEM)
        assert ready.json()["code"] == "not-ready"
        for path, body in (("/search", search), ("/query", {"question": "stones?", "collection": "outage"})):
            failed = api.client.post(path, json=body)
            assert (failed.status_code, failed.headers["content-type"]) == (503, PROBLEM)
            assert int(failed.headers["retry-after"]) > 0
        assert "cairn_database_up 0.0" in api.client.get("/metrics").text

    def after(api: Api) -> None:
        api.await_until(lambda: api.client.get("/health/ready").status_code == 200)
        assert [api.client.post("/search", json=search).status_code for _ in range(10)] == [200] * 10
        assert api.client.post("/collections/outage/documents", files=[("files", ("a.txt", b"x"))]).status_code == 202

    async with database_proxy(fresh_database(), tmp_path) as proxy:
        with ExitStack() as stack:
            process = serving(proxy.dsn, tmp_path / "api", CAIRN_MODEL_DIR=str(model))
            api = await asyncio.to_thread(stack.enter_context, process)
            await asyncio.to_thread(api.index, "outage", a="Stones.")
            await proxy.cut()
            await asyncio.to_thread(during, api)
            await proxy.connect()
            await asyncio.to_thread(after, api)
            await asyncio.to_thread(stack.close)  # while the proxy, which lives in this loop, still delivers


def test_slow_statement_is_a_503_that_says_so(api: Api) -> None:
    api.index("locked", a="Stones.")
    locker = subprocess.Popen(
        [sys.executable, "-c", _LOCK, api.dsn],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPO / "app")},
    )
    before = api.revision
    try:
        assert locker.stdout
        assert locker.stdout.readline() == b"locked\n"
        api.write_settings('{"retrieve": {"statementTimeoutMs": 200}}')
        api.await_until(lambda: api.revision != before)
        slow = api.client.post("/search", json={"query": "stones", "collection": "locked"})
        assert (slow.status_code, slow.headers["content-type"]) == (503, PROBLEM)
        assert slow.headers["retry-after"]
    finally:
        locker.kill()
        api.restore_settings()
        api.await_until(lambda: api.revision == before)
    assert api.client.post("/search", json={"query": "stones", "collection": "locked"}).status_code == 200


_LOCK = """
import asyncio, sys, asyncpg
async def main():
    connection = await asyncpg.connect(sys.argv[1])
    async with connection.transaction():
        await connection.execute("LOCK TABLE rag.collections IN ACCESS EXCLUSIVE MODE")
        print("locked", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
