"""Runs that go on without their client, read and ended on any process (part C 14)."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scripted_replies import LASTING, Reply
from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving
from two_servers import QUESTION, SENTENCE, TEXT, check_whole, events, start, status, text_of, two_servers

from cairn.runs.log import MERGE_SECONDS

Psql = Callable[..., str]
DRIP, HELD = Reply("drip", text=SENTENCE), Reply("held", text=SENTENCE)


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones [1].") as running:
        yield running


@pytest.fixture(scope="module")
def both(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[tuple[Api, Api]]:
    with two_servers(fresh_database(), tmp_path_factory.mktemp("both"), model, chat) as running:
        yield running


# --- reading on ---------------------------------------------------------------------------------------------------------


def test_reader_goes_on_in_the_middle_on_the_other_process(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(HELD)
    run_id, read = start(one)
    assert status(two, run_id) == "running"
    chat.released.set()
    rest = events(two, run_id, read[-1].id)
    check_whole([*read, *rest], "answer")
    assert rest[-1].data["answer"]
    assert text_of([*read, *rest]).strip() == SENTENCE
    assert events(one, run_id) == events(two, run_id) == [*read, *rest]
    assert status(one, run_id) == status(two, run_id) == "succeeded"


@pytest.mark.siege
def test_many_readers_read_the_same(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    chat.script(DRIP)
    run_id, read = start(both[0])
    found: list[list[SseEvent]] = []

    def reader(number: int) -> None:
        after = read[number % len(read)]
        found.append([*read[: read.index(after) + 1], *events(both[number % 2], run_id, after.id)])

    threads = [threading.Thread(target=reader, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert all(one == found[0] for one in found)
    check_whole(found[0], "answer")


def test_client_that_leaves_before_a_json_answer_finds_it_later(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(Reply("ok", seconds=1.0))
    run_id, asked = str(uuid4()), len(chat.requests)
    body = json.dumps({**QUESTION, "run_id": run_id, "resumable": True}).encode()
    head = f"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", one.port)) as plain:
        plain.sendall(head.encode() + b"\r\n\r\n" + body)
        one.await_until(lambda: len(chat.requests) > asked)
    found = events(two, run_id)
    check_whole(found, "answer")
    assert found[-1].data["run_id"] == run_id
    assert one.client.get(f"/traces/{run_id}").json()["outcome"] == "ok"


def test_json_answer_of_a_resumable_run_is_the_answer(both: tuple[Api, Api]) -> None:
    answer = both[0].client.post("/query?include=all", json={**QUESTION, "resumable": True})
    assert answer.status_code == 200
    assert answer.json() == events(both[1], answer.json()["run_id"])[-1].data


def test_after_the_last_event_there_is_nothing_and_wrong_places_are_refused(both: tuple[Api, Api]) -> None:
    one, two = both
    run_id = one.client.post("/query", json={**QUESTION, "resumable": True}).json()["run_id"]
    last = two.client.get(f"/runs/{run_id}").json()["last_event_id"]
    path = f"/runs/{run_id}/events"
    assert two.client.get(path, headers={"Last-Event-ID": str(last)}).status_code == 204
    assert two.client.get(f"{path}?after={last}").status_code == 204
    assert len(events(two, run_id, str(last - 1))) == 1
    for wrong in ("x", "-1", "1.5", str(last + 1), "9" * 30):
        refused = two.client.get(path, headers={"Last-Event-ID": wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid-input"), wrong
    assert two.client.get(f"/runs/{uuid4()}/events").status_code == 404


@pytest.mark.siege
def test_chat_stream_goes_on_in_its_own_shape(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(DRIP)
    body = {"message": "What is a cairn?", "collection_name": "stones", "resumable": True, "session_id": "walker"}
    read: list[SseEvent] = []
    with one.client.stream("POST", "/chat/stream", json=body) as stream:
        run_id = stream.headers["x-run-id"]
        for event in read_events(stream):
            read.append(event)
            if len(read) == 2:
                break
    rest = events(two, run_id, read[-1].id)
    names = [event.event for event in rest]
    assert names == ["token"] * (len(rest) - 2) + ["sources", "done"]
    assert "".join(event.data["content"] for event in [*read, *rest[:-2]]).strip() == SENTENCE
    done = rest[-1].data
    assert (done["run_id"], done["session_id"]) == (run_id, "walker")
    assert done["message_id"]
    again = events(one, run_id, rest[-2].id)  # who lost the connection between the two gets both
    assert [event.event for event in again] == ["sources", "done"]
    said = one.client.get("/chat/history/walker").json()["messages"]
    assert [message["role"] for message in said] == ["user", "assistant"]


@pytest.mark.siege
def test_long_answer_costs_few_rows(both: tuple[Api, Api], chat: ScriptedServer, psql: Psql) -> None:
    words = " ".join(f"word{n}" for n in range(2_000))
    chat.script(Reply("ok", text=words))
    began = time.monotonic()
    answer = both[0].client.post("/query", json={**QUESTION, "resumable": True, "strategy": "fast"}).json()
    seconds = time.monotonic() - began
    assert "run_id" in answer, answer
    found = events(both[1], answer["run_id"])
    check_whole(found, "answer")
    assert len(text_of(found).split()) == 2_000
    assert len(found) < 50 + seconds / MERGE_SECONDS, "of 2,000 words"


# --- ending before its time ---------------------------------------------------------------------------------------------


def test_cancel_from_the_other_process(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(LASTING)
    run_id, read = start(one)
    answer = two.client.post(f"/runs/{run_id}/cancel")
    assert (answer.status_code, answer.json()["cancel_requested"]) == (200, True)
    rest = events(two, run_id, read[-1].id)
    check_whole([*read, *rest], "cancelled")
    again = two.client.post(f"/runs/{run_id}/cancel").json()
    assert again["status"] == "cancelled"
    assert len(events(one, run_id)) == len(read) + len(rest)
    assert one.client.get(f"/traces/{run_id}").json()["outcome"] == "cancelled"


def test_cancel_of_a_plain_run_ends_its_stream_with_cancelled(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(LASTING)
    run_id = str(uuid4())
    with one.client.stream("POST", "/query", json={**QUESTION, "stream": True, "run_id": run_id}) as stream:
        found = []
        for event in read_events(stream):
            found.append(event)
            if event.event == "token" and [item.event for item in found].count("token") == 1:
                assert one.client.get(f"/runs/{run_id}").json()["percent"] >= 40
                assert two.client.post(f"/runs/{run_id}/cancel").status_code == 404
                assert one.client.get(f"/runs/{run_id}/events").status_code == 409
                assert one.client.post(f"/runs/{run_id}/cancel").json()["status"] in ("running", "cancelled")
    check_whole(found, "cancelled")
    assert status(one, run_id) == "cancelled"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/query", {"run_id": "?"}),
        ("/chat/", {"run_id": "?", "collection_name": "stones"}),
        ("/qa/ask", {"run_id": "?"}),
        ("/qa/ask", {"run_id": "?", "quick_mode": True}),
        ("/api/agent/run", {"runId": "?"}),
        ("/api/agent/stream", {"runId": "?"}),
    ],
)
def test_run_of_any_surface_is_seen_while_it_runs_and_can_be_cancelled(
    both: tuple[Api, Api], chat: ScriptedServer, path: str, body: dict[str, Any]
) -> None:
    one = both[0]
    chat.script("stall")
    run_id, asked, answers = str(uuid4()), len(chat.requests), []
    question = {"message" if path == "/chat/" else "question": QUESTION["question"], "collection": "stones"}
    named = {key: run_id if value == "?" else value for key, value in (question | body).items()}
    if path == "/chat/":
        del named["collection"]
    thread = threading.Thread(target=lambda: answers.append(one.client.post(path, json=named)))
    thread.start()
    one.await_until(lambda: len(chat.requests) > asked)
    seen = one.client.get(f"/runs/{run_id}").json()
    assert (seen["status"], seen["resumable"]) == ("running", False)
    assert seen["step"]
    assert one.client.post(path, json=named).status_code == 409, "an id is used once"
    one.client.post(f"/runs/{run_id}/cancel")
    thread.join()
    if path.endswith("stream"):
        assert '"code":"conflict"' in answers[0].text.replace(" ", "")
        assert answers[0].text.count("event: error") == 1
    else:
        assert (answers[0].status_code, answers[0].json()["code"]) == (409, "conflict")
    assert status(one, run_id) == "cancelled"
    assert one.client.get(f"/traces/{run_id}").json()["outcome"] == "cancelled"


# --- ids ----------------------------------------------------------------------------------------------------------------


def test_run_id_in_use_is_a_409_that_says_where_to_read(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    one, two = both
    chat.script(HELD)
    run_id, _ = start(one)
    for api in both:
        for resumable in (True, False):
            refused = api.client.post("/query", json={**QUESTION, "run_id": run_id, "resumable": resumable})
            assert refused.status_code == 409
            assert refused.json()["events_url"] == f"/runs/{run_id}/events"
    chat.released.set()
    check_whole(events(two, run_id), "answer")
    assert two.client.post("/query", json={**QUESTION, "run_id": run_id}).status_code == 409


def test_id_of_a_plain_run_is_used_once_too(both: tuple[Api, Api]) -> None:
    one, two = both
    run_id = str(uuid4())
    assert one.client.post("/query", json={**QUESTION, "run_id": run_id}).status_code == 200
    assert one.client.post("/query", json={**QUESTION, "run_id": run_id}).status_code == 409
    assert one.client.get(f"/traces/{run_id}").status_code == 200
    assert two.client.post("/query", json={**QUESTION, "run_id": run_id, "resumable": True}).status_code == 409
    assert two.client.get(f"/runs/{run_id}").json()["status"] == "succeeded"


def test_twenty_who_send_the_same_id_at_once_get_one_run(both: tuple[Api, Api]) -> None:
    run_id, found = str(uuid4()), []

    def send(number: int) -> None:
        body = {**QUESTION, "run_id": run_id, "resumable": True}
        found.append(both[number % 2].client.post("/query", json=body).status_code)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200] + [409] * 19
    check_whole(events(both[0], run_id), "answer")


@pytest.mark.siege
def test_other_tenants_see_nothing(both: tuple[Api, Api], chat: ScriptedServer, tmp_path: Path, model: Path) -> None:
    chat.script(DRIP)
    run_id, _ = start(both[0])
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url, "CAIRN_TENANT": "other"}
    with serving(both[0].dsn, tmp_path, **own) as other:
        assert other.client.get(f"/runs/{run_id}").status_code == 404
        assert other.client.get(f"/runs/{run_id}/events").status_code == 404
        assert other.client.post(f"/runs/{run_id}/cancel").status_code == 404
        assert other.client.post("/feedback", json={"run_id": run_id, "rating": 1}).status_code == 404
        other.index("stones", a=TEXT)
        answer = other.client.post("/query", json={**QUESTION, "run_id": run_id, "resumable": True})
        assert answer.status_code == 200  # ids are a tenant's own
    check_whole(events(both[1], run_id), "answer")


# --- processes that end -------------------------------------------------------------------------------------------------


@pytest.mark.siege
@pytest.mark.fault
def test_killed_process_leaves_failed_runs_with_their_traces_to_the_other(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path, chat: ScriptedServer, psql: Psql
) -> None:
    with two_servers(fresh_database(), tmp_path, model, chat) as (one, two):
        chat.script(LASTING, LASTING)
        plain = str(uuid4())
        with one.client.stream(
            "POST", "/query", json={**QUESTION, "stream": True, "run_id": plain, "session_id": "new"}
        ) as stream:
            reading = read_events(stream)
            assert next(reading).data["run_id"] == plain
            run_id, read = start(one)
            assert two.client.get(f"/traces/{run_id}").json()["outcome"] == "running"
            two.await_until(lambda: two.client.get(f"/traces/{plain}").status_code == 200)
            told = two.client.get(f"/traces/{plain}").json()["question"]
            assert told == QUESTION["question"], "its conversation is not there yet, and not deleted either"
            two.await_until(lambda: all(_has_searched(two, one) for one in (run_id, plain)))
            assert two.client.get(f"/runs/{plain}").json()["status"] == "running"
            one.process.kill()
            one.process.wait()
        assert status(two, run_id) == "running", "its lease is not over"
        psql("UPDATE rag.resumable_runs SET lease_until = clock_timestamp() - interval '1 second'", two.database)
        rest = events(two, run_id, read[-1].id)
        check_whole([*read, *rest], "error")
        assert rest[-1].data["code"] == "run-lost"
        assert status(two, run_id) == "failed"
        assert two.client.post(f"/runs/{run_id}/cancel").json()["status"] == "failed"
        again = events(two, run_id)
        assert again[:-1] == [*read, *rest[:-1]]
        assert again[-1].data["code"] == "run-lost"
        _check_lost(two, run_id)
        later = f"UPDATE rag.runs SET plan = plan || '{{\"alive_until\": 0}}' WHERE id = '{plain}'"
        psql(later, two.database)
        _check_lost(two, plain)
        assert two.client.get(f"/traces/{plain}").json()["legs"]


def _has_searched(api: Api, run_id: str) -> bool:
    """Whether its trace says so by now."""
    trace = api.client.get(f"/traces/{run_id}").json()
    return bool(trace["legs_used"] and trace["document_ids"] and (trace["plan"] or {}).get("searches"))


def _check_lost(api: Api, run_id: str) -> None:
    """What the run had come to is traced, and that it went no further."""
    assert api.client.get(f"/runs/{run_id}").json()["status"] == "failed"
    trace = api.client.get(f"/traces/{run_id}").json()
    assert (trace["outcome"], trace["question"], trace["strategy"]) == ("error", QUESTION["question"], "fast")
    assert trace["error"].startswith("run-lost: ")
    assert trace["plan"]["searches"]
    assert trace["document_ids"]


@pytest.mark.siege
def test_stopped_process_ends_its_runs_in_time(
    fresh_database: Callable[[], str], tmp_path: Path, model: Path, chat: ScriptedServer
) -> None:
    with two_servers(fresh_database(), tmp_path, model, chat) as (one, two):
        chat.script(LASTING)
        run_id, read = start(one)
        one.terminate()
        assert one.process.returncode == 0
        assert status(two, run_id) == "failed"  # said by the process that ended, not found out when its lease was over
        rest = events(two, run_id, read[-1].id)
        check_whole([*read, *rest], "error")
        assert rest[-1].data["code"] == "stopping"
        chat._script.clear()
        check_whole(
            events(two, two.client.post("/query", json={**QUESTION, "resumable": True}).json()["run_id"]), "answer"
        )
