"""Streams end once, on every path; a client that leaves ends its run."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scripted_replies import LASTING, Reply
from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving

from cairn.interfaces.server import EXIT_SECONDS

TERMINAL = {"answer", "error", "cancelled"}
QUESTION = {"question": "What is a cairn?", "collection": "stones"}
TEXT = "A cairn is a pile of stones that marks a trail."

Psql = Callable[..., str]


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones [1].") as running:
        yield running


@pytest.fixture
def launch(fresh_database: Callable[[], str], tmp_path: Path, model: Path, chat: ScriptedServer) -> Callable[..., Any]:
    """A process of its own, for tests that stop it."""

    def start(**more: Any) -> Any:
        return serving(fresh_database(), tmp_path, CAIRN_MODEL_DIR=str(model), OPENAI_BASE_URL=chat.openai_url, **more)

    return start


@pytest.fixture(scope="module")
def talking(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    """A serving process with a chat model that is called however often it has failed."""
    folder = tmp_path_factory.mktemp("talking")
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    patient = {"providers": {"circuitFailures": 10_000}}
    with serving(fresh_database(), folder, settings=patient, **own) as api:
        api.index("stones", a=TEXT)
        yield api


def ask(api: Api, **more: Any) -> list[SseEvent]:
    with api.client.stream("POST", "/query?include=all", json=QUESTION | {"stream": True} | more) as stream:
        assert stream.status_code == 200
        return list(read_events(stream))


def check_sequence(events: list[SseEvent], terminal: str) -> None:
    names = [event.event for event in events]
    assert names[0] == "run"
    assert names[-1] == terminal
    assert not TERMINAL & set(names[:-1])


def outcome(api: Api, psql: Psql, run_id: str) -> str:
    """What the database says about a run; empty while it says nothing."""
    return psql(f"SELECT outcome FROM rag.runs WHERE id = '{run_id}'", api.database)


def in_flight(api: Api) -> float:
    lines = api.client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("cairn_http_in_flight "))


# --- how streams end ----------------------------------------------------------------------------------------------------


def test_tokens_then_the_checked_answer(talking: Api) -> None:
    events = ask(talking)
    check_sequence(events, "answer")
    pieces = [event.data["text"] for event in events if event.event == "token"]
    assert len(pieces) > 1
    answer = events[-1].data
    assert answer["citations"][0]["quote"]
    assert answer["citations"][0]["n"] == 1


@pytest.mark.parametrize("kind", ["cut", "error_chunk", "bad_chunk"])
def test_model_that_breaks_in_the_middle_is_taken_back(talking: Api, chat: ScriptedServer, kind: str) -> None:
    chat.script(kind)
    events = ask(talking)
    check_sequence(events, "answer")
    steps = [(event.event, event.data.get("step")) for event in events if event.event != "sources"]
    assert steps.index(("progress", "retract")) > max(n for n, (event, _) in enumerate(steps) if event == "token")
    answer = events[-1].data
    assert (answer["replaced"], answer["route"]["answerer"]) == (True, "extractive")
    assert any("generation failed" in note for note in answer["degraded"])
    chat.script(kind)
    whole = talking.client.post("/query", json=QUESTION).json()
    assert (whole["answer"], whole["replaced"]) == (answer["answer"], True)


def test_model_that_fails_before_its_first_token_is_replaced_and_said_so(talking: Api, chat: ScriptedServer) -> None:
    chat.script("401")
    events = ask(talking)
    check_sequence(events, "answer")
    assert any("generation failed" in note for note in events[-1].data["degraded"])


# --- leaving ------------------------------------------------------------------------------------------------------------


def test_leaving_a_stream_cancels_the_run_within_a_second(talking: Api, chat: ScriptedServer, psql: Psql) -> None:
    chat.script(LASTING)
    run_id = str(uuid4())
    with talking.client.stream("POST", "/query", json=QUESTION | {"stream": True, "run_id": run_id}) as stream:
        events = read_events(stream)
        assert next(events).data["run_id"] == run_id
        assert any(event.event == "token" for event in events)
    talking.await_until(lambda: outcome(talking, psql, run_id))
    assert outcome(talking, psql, run_id) == "cancelled"


@pytest.mark.siege
def test_leaving_while_the_model_is_silent_cancels_too(talking: Api, chat: ScriptedServer, psql: Psql) -> None:
    chat.script("stall")
    asked = len(chat.requests)
    run_id = str(uuid4())
    with talking.client.stream(
        "POST", "/query?include=sources", json={**QUESTION, "stream": True, "run_id": run_id}
    ) as stream:
        events = read_events(stream)
        assert any(event.event == "sources" for event in events)
        talking.await_until(lambda: len(chat.requests) > asked)
    talking.await_until(lambda: outcome(talking, psql, run_id) == "cancelled")


def test_leaving_a_request_without_stream_cancels_it_too(talking: Api, chat: ScriptedServer, psql: Psql) -> None:
    chat.script("stall")
    run_id = str(uuid4())
    body = json.dumps(QUESTION | {"run_id": run_id}).encode()
    asked = len(chat.requests)
    with socket.create_connection(("127.0.0.1", talking.port)) as plain:
        head = (
            f"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        plain.sendall(head.encode() + b"\r\n\r\n" + body)
        talking.await_until(lambda: len(chat.requests) > asked)
    talking.await_until(lambda: outcome(talking, psql, run_id) == "cancelled")
    talking.await_until(lambda: in_flight(talking) == 0)


@pytest.mark.siege
def test_many_who_leave_leave_nothing_behind(talking: Api, chat: ScriptedServer, psql: Psql) -> None:
    """30 disconnects, more than there are connections in the pool, at different moments."""
    chat.script(*[LASTING] * 30)
    before = int(psql("SELECT count(*) FROM rag.runs WHERE outcome = 'cancelled'", talking.database))

    def come_and_go(number: int) -> None:
        with talking.client.stream("POST", "/query", json=QUESTION | {"stream": True}) as stream:
            events = read_events(stream)
            for _ in range(number % 7 + 1):
                next(events)

    threads = [threading.Thread(target=come_and_go, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    talking.await_until(lambda: in_flight(talking) == 0)
    chat._script.clear()
    check_sequence(ask(talking), "answer")
    cancelled = "SELECT count(*) FROM rag.runs WHERE outcome = 'cancelled'"
    talking.await_until(lambda: int(psql(cancelled, talking.database)) == before + 30)
    busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    talking.await_until(lambda: psql(busy, talking.database) == "1")  # the one that asks


# --- jobs ---------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def at_work(launch: Callable[..., Any], chat: ScriptedServer) -> Iterator[tuple[Api, str]]:
    """A server and the path of a job of its worker, which waits for vectors that never come."""
    with launch(settings={"rag": {"embeddingModel": "other-model"}}) as api:
        api.index("stones", a=TEXT)
        chat.script("stall")
        asked = len(chat.requests)
        files = [("files", ("long.txt", b"Its vectors are not there yet."))]
        job = api.client.post("/collections/long/documents", files=files).json()
        api.await_until(lambda: len(chat.requests) > asked)
        yield api, f"/jobs/{job['id']}"


@pytest.mark.siege
def test_cancelled_job_ends_its_stream_with_done(launch: Callable[..., Any], chat: ScriptedServer) -> None:
    with at_work(launch, chat) as (api, path):
        with api.client.stream("GET", f"{path}/events") as stream:
            events = read_events(stream)
            assert next(events).data["status"] == "running"
            answer = api.client.post(f"{path}/cancel")
            assert answer.json()["cancel_requested"]
            last = [*events][-1]
        assert (last.event, last.data["status"]) == ("done", "cancelled")
        assert api.client.get("/collections/long").json()["document_count"] == 0


# --- stopping -----------------------------------------------------------------------------------------------------------


def test_stopping_with_open_streams_tells_them_and_ends(launch: Callable[..., Any], chat: ScriptedServer) -> None:
    assert EXIT_SECONDS < 10, "before whoever stops it loses patience"
    with launch() as api:
        api.index("stones", a=TEXT)
        chat.script("stall", "stall")
        ends: dict[str, list[SseEvent]] = {}

        def read(name: str) -> None:
            ends[name] = ask(api)

        readers = [threading.Thread(target=read, args=(name,)) for name in ("a", "b")]
        asked = len(chat.requests)
        for reader in readers:
            reader.start()
        api.await_until(lambda: len(chat.requests) >= asked + 2)
        api.terminate()
        for reader in readers:
            reader.join()
    assert api.process.returncode == 0
    for events in ends.values():
        check_sequence(events, "error")
        assert (events[-1].data["status"], events[-1].data["code"]) == (503, "stopping")


@pytest.mark.siege
def test_stopping_lets_a_request_in_flight_finish(launch: Callable[..., Any], chat: ScriptedServer) -> None:
    with launch() as api:
        api.index("stones", a=TEXT)
        chat.script(Reply("ok", seconds=1.0))
        answers: list[int] = []
        reader = threading.Thread(target=lambda: answers.append(api.client.post("/query", json=QUESTION).status_code))
        asked = len(chat.requests)
        reader.start()
        api.await_until(lambda: len(chat.requests) > asked)
        api.terminate()
        reader.join()
    assert answers == [200]
    assert api.process.returncode == 0


@pytest.mark.siege
def test_stopping_hands_a_running_job_back(launch: Callable[..., Any], chat: ScriptedServer, psql: Psql) -> None:
    with at_work(launch, chat) as (api, path):
        assert api.client.get(path).json()["status"] == "running"
        api.terminate()
    assert api.process.returncode == 0
    # queued again, or, where its worker had to be cut off, to be taken over when the lease is over
    job = path.rpartition("/")[2]
    state = psql(f"SELECT status FROM rag.jobs WHERE id = '{job}'", api.database)
    assert state in ("queued", "running")
    assert psql(f"SELECT count(*) FROM rag.uploads WHERE job_id = '{job}'", api.database) == "1"
