"""Servers over a real primary and standby: what one writes the other reads, and a server whose database is the standby alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keyed import bearer, make_keys
from serving import Api, read_events, serving

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate
from cairn.errors import MigrationError
from tests.standby import Pair, primary_and_standby

pytestmark = pytest.mark.siege


@pytest.fixture(scope="module")
def pair(server: EmbeddedServer) -> Iterator[Pair]:
    with primary_and_standby(server.home / "postgres" / runtime.VERSION) as running:
        asyncio.run(migrate(running.primary.dsn))
        yield running


@pytest.fixture(scope="module")
def servers(pair: Pair, tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[tuple[Api, Api]]:
    folder, own = tmp_path_factory.mktemp("servers"), {"CAIRN_MODEL_DIR": str(model)}
    own["CAIRN_REPLICA_URL"] = pair.standby.dsn
    with (
        serving(pair.primary.dsn, folder / "one", **own) as one,
        serving(pair.primary.dsn, folder / "two", **own) as two,
    ):
        one.index("stones", a="A cairn is a pile of stones.")
        asyncio.run(pair.catch_up())
        for api in (one, two):
            api.await_until(lambda api=api: replica(api)["problem"] is None)
        yield one, two


@pytest.fixture
def paused(pair: Pair, servers: tuple[Api, Api]) -> Iterator[None]:
    """The standby replays nothing, and has all that was written before."""
    asyncio.run(pair.catch_up())
    asyncio.run(pair.standby.run("SELECT pg_wal_replay_pause()"))
    servers[0].await_until(lambda: asyncio.run(pair.standby.run("SELECT pg_get_wal_replay_pause_state() = 'paused'")))
    yield
    asyncio.run(pair.standby.run("SELECT pg_wal_replay_resume()"))


def replica(api: Api) -> dict[str, Any]:
    (found,) = api.client.get("/health/ready").json()["replicas"]
    return dict(found)


def texts(api: Api, query: str = "stones", **more: Any) -> list[str]:
    answer = api.client.post("/search", json={"query": query, "collection": "stones", "cache": False, **more})
    assert answer.status_code == 200, answer.text
    assert not answer.json()["degraded"], answer.text
    return [found["content"] for found in answer.json()["results"]]


def write(api: Api, name: str, text: str) -> int:
    answer = api.client.post(
        "/index", json={"collection": "stones", "documents": [{"external_id": name, "text": text}]}
    )
    assert answer.status_code == 200, answer.text
    return int(answer.json()["epoch"])


def test_searches_are_answered_by_the_standby(servers: tuple[Api, Api]) -> None:
    one, two = servers
    before = replica(two)["reads"]
    for _ in range(10):
        assert texts(two) == ["A cairn is a pile of stones."]
    now = replica(two)
    assert now["reads"] - before >= 10
    assert now["lag_bytes"] is not None
    shown = one.client.get("/metrics").text
    assert 'cairn_replica_up{replica="' in shown
    assert 'cairn_replica_reads{replica="primary"}' in shown
    assert "cairn_database_read_only 0.0" in shown


def test_searches_find_what_the_same_server_wrote(servers: tuple[Api, Api]) -> None:
    _, two = servers
    for number in range(30):
        write(two, "same", f"Stones were counted: {number}.")
        assert f"Stones were counted: {number}." in texts(two, mode="lexical")


@pytest.mark.usefixtures("paused")
def test_what_one_server_wrote_another_reads_by_its_epoch(servers: tuple[Api, Api]) -> None:
    one, two = servers
    epoch = write(one, "b", "Stones mark a trail.")
    assert "Stones mark a trail." in texts(one), "its own write"
    assert "Stones mark a trail." not in texts(two), "the standby has not replayed it"
    assert "Stones mark a trail." in texts(two, min_epoch=epoch)
    assert "Stones mark a trail." in texts(two, min_epoch={"stones": epoch})
    asked = {"question": "What marks a trail?", "collection": "stones", "min_epoch": epoch}
    answer = two.client.post("/query", json=asked).json()
    assert "Stones mark a trail" in answer["answer"]


def test_every_way_to_write_tells_the_epoch(servers: tuple[Api, Api]) -> None:
    one, two = servers
    epochs = [write(one, "c", "Stones roll.")]
    uploaded = one.client.post("/collections/stones/documents?wait=true", files={"files": ("d.txt", b"Stones sink.")})
    epochs.append(uploaded.json()["epoch"])
    document = uploaded.json()["uploaded"][0]["id"]
    changed = one.client.patch(f"/collections/stones/documents/{document}", json={"metadata": {"kind": "heavy"}})
    epochs.append(int(changed.headers["X-Collection-Epoch"]))
    assert texts(two, min_epoch=epochs[-1], filters={"kind": "heavy"}) == ["Stones sink."]
    gone = one.client.delete(f"/collections/stones/documents/{document}")
    assert gone.status_code == 204
    epochs.append(int(gone.headers["X-Collection-Epoch"]))
    epochs.append(one.client.delete("/collections/stones/documents?external_id=c").json()["epoch"])
    later = one.client.post("/collections/stones/documents", files={"files": ("e.txt", b"Stones last.")}).json()["id"]
    one.await_until(lambda: one.client.get(f"/jobs/{later}").json()["status"] == "succeeded", 30)
    epochs.append(one.client.get(f"/jobs/{later}").json()["result"]["epoch"])
    assert epochs == sorted(epochs)
    assert len(set(epochs)) == len(epochs), epochs
    assert "Stones last." in texts(two, min_epoch=epochs[-1])


def test_an_epoch_that_never_was_is_refused(servers: tuple[Api, Api]) -> None:
    _, two = servers
    body = {"query": "stones", "collection": "stones", "min_epoch": 10**9}
    refused = two.client.post("/search", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "epoch-not-reached")
    assert refused.json()["epochs"]["stones"] > 0
    assert (
        two.client.post("/query", json={"question": "x", "collection": "stones", "min_epoch": 10**9}).status_code == 409
    )
    several = {"query": "stones", "collections": ["stones", "others"], "min_epoch": 1}
    assert two.client.post("/search", json=several).status_code == 422
    assert two.client.post("/search", json={**body, "min_epoch": {"others": 1}}).status_code == 422


def test_a_server_on_a_standby_alone_answers_reads_and_refuses_writes(
    pair: Pair, servers: tuple[Api, Api], tmp_path: Path, model: Path
) -> None:
    asyncio.run(pair.catch_up())
    with serving(pair.standby.dsn, tmp_path, CAIRN_MODEL_DIR=str(model)) as api:
        ready = api.client.get("/health/ready")
        assert ready.status_code == 200, ready.text
        assert ready.json()["database"]["read_only"] is True
        assert any("standby" in problem for problem in ready.json()["problems"])
        assert ready.json()["worker"]["here"] is False
        for _ in range(2):
            answer = api.client.post("/search", json={"query": "stones", "collection": "stones"})
            assert answer.status_code == 200, answer.text
            assert answer.json()["results"]
            assert answer.json()["degraded"] == []
        asked = api.client.post("/query", json={"question": "What is a cairn?", "collection": "stones"})
        assert asked.status_code == 200, asked.text
        assert "pile of stones" in asked.json()["answer"]
        for path in (
            "/collections",
            "/collections/stones",
            "/collections/stones/documents",
            "/cache",
            "/jobs",
            "/chat/sessions",
        ):
            listed = api.client.get(path)
            assert listed.status_code == 200, f"{path}: {listed.text}"
        write = {"collection": "stones", "documents": [{"external_id": "x", "text": "Never."}]}
        document = api.client.get("/collections/stones/documents").json()["items"][0]["id"]
        for method, path, body in (
            ("POST", "/index", write), ("POST", "/collections", {"name": "new"}), ("DELETE", "/cache", None),
            ("DELETE", f"/collections/stones/documents/{document}", None), ("DELETE", "/collections/stones", None),
            ("PATCH", f"/collections/stones/documents/{document}", {"metadata": {"a": 1}}),
        ):  # fmt: skip
            refused = api.client.request(method, path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (503, "read-only"), (
                f"{method} {path} {refused.text}"
            )
            assert "primary" in refused.json()["detail"]
        said = {"question": "What is a cairn?", "collection": "stones", "session_id": "talk", "stream": True}
        with api.client.stream("POST", "/query", json=said) as stream:
            assert stream.status_code == 200, stream.read()
            last = list(read_events(stream))[-1]
        assert last.event == "answer", last
        (note,) = last.data["degraded"]
        assert "could not be saved (read-only" in note, "who chats is told that it will not be remembered"
        resumed = api.client.post("/query", json={**said, "session_id": None, "resumable": True})
        assert (resumed.status_code, resumed.json()["code"]) == (503, "read-only")
        assert "Traceback" not in api.log, api.log[-4000:]
        assert "cairn_database_read_only 1.0" in api.client.get("/metrics").text


def test_keys_count_on_a_standby(pair: Pair, tmp_path: Path, model: Path) -> None:
    keys = make_keys(pair.primary.dsn, str(tmp_path / "keys"))
    asyncio.run(pair.catch_up())
    with serving(pair.standby.dsn, tmp_path, CAIRN_MODEL_DIR=str(model), CAIRN_AUTH="keys") as api:
        assert api.client.get("/collections").status_code == 401
        for _ in range(2):
            answer = api.client.get("/collections", headers=bearer(keys.victim))
            assert answer.status_code == 200, answer.text
        assert "Traceback" not in api.log, api.log[-4000:]


async def test_a_standby_with_another_schema_is_refused_in_words(pair: Pair) -> None:
    await pair.primary.run("CREATE DATABASE older")
    await pair.catch_up()
    dsn = pair.standby.dsn.replace("/cairn?", "/older?")
    with pytest.raises(MigrationError, match=r"standby at revision none.*cairn migrate"):
        await migrate(dsn)
