"""Limits of keys and tenants as their users meet them, over two serving processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest
from scripted_replies import LASTING
from scripted_server import ScriptedServer
from serving import Api, serving
from two_servers import QUESTION, SENTENCE, TEXT
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from cairn.domain.key import hash_secret, new_secret
from tests.waiting import wait_until

pytestmark = pytest.mark.siege


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: SENTENCE) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(fresh_database: Callable[[], str]) -> str:
    return fresh_database()


@pytest.fixture(scope="module")
def serve(
    dsn: str, tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Callable[[str], Any]:
    """Another process, with keys."""
    settings = {"rag": {"rerankingEnabled": False}, "ground": {"enabled": False}}
    folder = tmp_path_factory.mktemp("limits")
    return lambda name: serving(
        dsn, folder / name, settings=settings, CAIRN_MODEL_DIR=str(model), CAIRN_AUTH="keys",
        OPENAI_BASE_URL=chat.openai_url, OPENAI_API_KEY="key",
    )  # fmt: skip


@pytest.fixture(scope="module")
def both(serve: Callable[[str], Any]) -> Iterator[tuple[Api, Api]]:
    with serve("one") as one, serve("two") as two:
        yield one, two


def execute(dsn: str, statement: str, *arguments: object) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(statement, *arguments)
        finally:
            await connection.close()

    return asyncio.run(run())


def key_of(dsn: str, tenant: str = "default", **limits: float) -> tuple[UUID, dict[str, str]]:
    """A new key with all scopes, as a header."""
    secret, made = new_secret(), uuid4()
    names = ", ".join(["", *limits])
    values = "".join(f", {value}" for value in limits.values())
    execute(
        dsn, "INSERT INTO rag.api_keys (tenant_id, id, name, key_hash, shown, scopes, created_by" + names + ") VALUES "
        f"(rag.ensure_tenant($1), $2, 'test', $3, $4, '{{read,ask,write,admin}}', 'test'{values})",
        tenant, made, hash_secret(secret), secret[:12],
    )  # fmt: skip
    return made, {"Authorization": f"Bearer {secret}"}


def within_a_minute(work: Callable[[], Any]) -> Any:
    """What the work comes to, done again where it took so long that what it did first counts no more."""
    while True:
        gone_at = time.monotonic() + 60
        found = work()
        if time.monotonic() < gone_at:
            return found


def test_requests_of_a_minute_over_both_processes(both: tuple[Api, Api], dsn: str) -> None:
    def flood() -> tuple[list[httpx2.Response], InvalidStatus | None]:
        _, key = key_of(dsn, requests_per_minute=30)
        with ThreadPoolExecutor(8) as pool:
            made = pool.map(lambda n: both[n % 2].client.get("/collections", headers=key), range(50))
            found = list(made)
        found += [one.client.post("/chat/stream", headers=key, json={"message": "?"}) for one in both]
        found += [one.client.post("/index", headers=key, content=b"not even JSON") for one in both]
        try:
            connect(f"ws://127.0.0.1:{both[0].port}/ws/runs/{uuid4()}", proxy=None, additional_headers=key).close()
        except InvalidStatus as refusal:
            return found, refusal
        return found, None  # where a minute has gone by meanwhile

    found, socket = within_a_minute(flood)
    assert socket is not None
    assert socket.response.status_code == 429
    assert int(socket.response.headers["Retry-After"]) >= 1
    allowed = [one for one in found if one.status_code == 200]
    refused = [one for one in found if one.status_code == 429]
    assert (len(allowed), len(refused)) == (30, 24), {one.status_code for one in found}
    for one in allowed:
        assert one.headers["RateLimit-Policy"] == '"requests";q=30;w=60'
        assert one.headers["RateLimit"].startswith('"requests";r=')
    for one in refused:
        problem = one.json()
        assert one.headers["Content-Type"] == "application/problem+json"
        assert (problem["code"], problem["policy"], problem["limit"]) == ("rate-limited", "requests", 30)
        assert 1 <= int(one.headers["Retry-After"]) == problem["retry_after"] <= 61
        assert one.headers["RateLimit"] == f'"requests";r=0;t={problem["retry_after"]}'
    assert both[0].client.get("/health/live").status_code == 200
    _, other = key_of(dsn)
    plain = both[0].client.get("/collections", headers=other)
    assert plain.status_code == 200
    assert "RateLimit" not in plain.headers
    _, never = key_of(dsn, requests_per_minute=5)
    missing = both[0].client.get("/collections/nothing", headers=never)
    assert (missing.status_code, "RateLimit" in missing.headers) == (404, True)


def test_a_run_on_one_process_counts_on_the_other_until_its_process_is_killed(
    both: tuple[Api, Api], serve: Callable[[str], Any], chat: ScriptedServer, dsn: str
) -> None:
    _, key = key_of(dsn, concurrent_runs=1)
    staying = both[1]
    with serve("dying") as dying:
        dying.client.headers.update(key)
        dying.index(QUESTION["collection"], cairns=TEXT)
        asked = len(chat.requests)
        chat.script(LASTING)
        question = {**QUESTION, "resumable": True, "stream": True}
        with dying.client.stream("POST", "/query", json=question) as begun:
            assert begun.status_code == 200
            refused = staying.client.post("/query", headers=key, json=QUESTION)
            assert (refused.status_code, refused.json()["policy"]) == (429, "runs")
            assert refused.headers["RateLimit-Policy"] == '"runs";q=1;qu="concurrent-requests"'
            assert staying.client.get("/usage", headers=key).json()["key"]["runs"] == 1
            staying.await_until(lambda: len(chat.requests) > asked)  # else the reply is for who asks next
            dying.process.kill()
            dying.process.wait()
        assert staying.client.post("/query", headers=key, json=QUESTION).status_code == 429, "its lease is not over"
        execute(dsn, "UPDATE rag.run_slots SET lease_until = clock_timestamp() - interval '1 second'")
        for _ in range(2):
            assert staying.client.post("/query", headers=key, json=QUESTION).status_code == 200


def test_tokens_of_a_day_over_both_processes(both: tuple[Api, Api], dsn: str) -> None:
    key_id, key = key_of(dsn, tokens_per_day=700)
    body = {"collection": QUESTION["collection"], "documents": [{"external_id": "cairns", "text": TEXT}]}
    assert both[0].client.post("/index", headers=key, json=body).status_code == 200
    question = {**QUESTION, "strategy": "fast"}
    answers = [both[n % 2].client.post("/query", headers=key, json=question) for n in range(20)]
    short = [
        one
        for one in answers
        if one.status_code == 200 and "tokens of its key for today" in str(one.json()["degraded"])
    ]
    refused = [one for one in answers if one.status_code == 429]
    assert short or refused
    assert all(one.json()["answer"] for one in short), "the best answer so far"
    assert all(1 <= int(one.headers["Retry-After"]) <= 24 * 3600 for one in refused)
    for one in both:  # each tells the database what it has not told yet
        one.client.get("/usage", headers=key)
    usage = [one.client.get("/usage", headers=key).json() for one in both]
    assert usage[0]["key"] == usage[1]["key"]
    assert usage[0]["limits"]["tokens_per_day"] == 700
    assert usage[0]["key"]["tokens"] <= 800, "by as much as an estimate was wrong"
    assert str(key_id) in {one["key_id"] for one in usage[0]["keys"]}


def test_documents_of_a_tenant_over_both_processes(both: tuple[Api, Api], dsn: str) -> None:
    _, key = key_of(dsn, tenant="small")
    execute(dsn, "INSERT INTO rag.tenant_limits (tenant_id, documents) VALUES (rag.ensure_tenant('small'), 5)")

    def send(number: int) -> list[dict[str, Any]]:
        documents = [{"external_id": f"{number}-{n}", "text": f"Document {n} of upload {number}."} for n in range(3)]
        body = {"collection": f"c{number % 3}", "documents": documents}
        answer = both[number % 2].client.post("/index", headers=key, json=body)
        assert answer.status_code == 200, answer.text
        failed: list[dict[str, Any]] = answer.json()["failed"]
        return failed

    with ThreadPoolExecutor(6) as pool:
        failed = [one for group in pool.map(send, range(6)) for one in group]
    assert len(failed) == 18 - 5
    assert {one["code"] for one in failed} == {"tenant-full"}
    assert "may keep 5 documents" in failed[0]["error"]
    usage = both[0].client.get("/usage", headers=key).json()
    assert (usage["tenant"]["kept"]["documents"], usage["tenant"]["limits"]["documents"]) == (5, 5)
    upload = {"files": ("late.txt", b"One more.")}
    late = both[1].client.post("/collections/c0/documents?wait=true", headers=key, files=upload)
    assert late.json()["failed"][0]["code"] == "tenant-full", late.text
    begun = both[1].client.post("/collections/c0/documents", headers=key, files=upload).json()

    def ended() -> Any:
        job = both[1].client.get(f"/jobs/{begun['id']}", headers=key).json()
        return job if job["status"] not in ("queued", "running") else None

    assert wait_until(ended, 20)["result"]["failed"][0]["code"] == "tenant-full"
