"""Progress over a WebSocket, and feedback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scripted_server import Reply, ScriptedServer
from serving import Api
from two_servers import QUESTION, SENTENCE, events, start, two_servers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

Psql = Callable[..., str]


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones [1].") as running:
        yield running


@pytest.fixture(scope="module")
def both(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[tuple[Api, Api]]:
    with two_servers(fresh_database(), tmp_path_factory.mktemp("sockets"), model, chat) as running:
        yield running


def address(api: Api, run_id: str) -> str:
    return f"ws://127.0.0.1:{api.port}/ws/runs/{run_id}"


def watch(api: Api, run_id: str) -> list[dict[str, Any]]:
    with connect(address(api, run_id), proxy=None) as socket:
        return [json.loads(message) for message in socket]


def check_frames(frames: list[dict[str, Any]], terminal: str) -> None:
    *before, last = frames
    assert before
    assert all(frame["event"] == "progress" and 0 <= frame["percent"] <= 100 for frame in before)
    percents = [frame["percent"] for frame in before]
    assert percents == sorted(percents)
    assert last["event"] == terminal


def test_progress_of_a_resumable_run_on_either_process(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    chat.script(Reply("drip", text=SENTENCE))
    run_id, _ = start(both[0])
    frames = watch(both[1], run_id)
    check_frames(frames, "answer")
    steps = {frame["step"]: frame["percent"] for frame in frames[:-1]}
    assert steps.items() >= {"classify": 10, "retrieve": 40, "generate": 85, "complete": 100}.items()
    assert frames[-1]["data"]["run_id"] == run_id
    assert watch(both[0], run_id) == frames
    assert "sources" not in frames[-1]["data"]
    assert watch(both[0], f"{run_id}?include=sources")[-1]["data"]["sources"]


def test_progress_of_a_plain_run_that_begins_after_the_socket(both: tuple[Api, Api]) -> None:
    run_id, frames = str(uuid4()), []
    thread = threading.Thread(target=lambda: frames.extend(watch(both[0], run_id)))
    thread.start()
    answer = both[0].client.post("/query", json={**QUESTION, "run_id": run_id, "resumable": True}).json()
    thread.join()
    check_frames(frames, "answer")
    assert frames[-1]["data"] == answer


def test_watching_and_leaving_change_nothing(both: tuple[Api, Api], chat: ScriptedServer) -> None:
    chat.script(Reply("held", text=SENTENCE))
    run_id, answers = str(uuid4()), []
    asked = len(chat.requests)
    thread = threading.Thread(
        target=lambda: answers.append(both[0].client.post("/query", json={**QUESTION, "run_id": run_id}))
    )
    thread.start()
    both[0].await_until(lambda: len(chat.requests) > asked)
    with connect(address(both[0], run_id), proxy=None) as socket:
        assert json.loads(socket.recv())["step"] == "classify"
    chat.released.set()
    thread.join()
    assert answers[0].status_code == 200


@pytest.mark.siege
def test_unknown_runs_and_what_is_no_id_are_one_error(both: tuple[Api, Api]) -> None:
    for run_id, code in ((str(uuid4()), "not-found"), ("nonsense", "invalid-input")):
        (frame,) = watch(both[0], run_id)
        assert (frame["event"], frame["data"]["code"]) == ("error", code)


def test_foreign_hosts_and_pages_are_refused(both: tuple[Api, Api]) -> None:
    port, run_id = both[0].port, str(uuid4())
    with pytest.raises(InvalidStatus) as refused:
        connect(address(both[0], run_id), proxy=None, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://evil.example:{port}/ws/runs/{run_id}", proxy=None, sock=_socket(port))
    assert refused.value.response.status_code == 421
    with connect(address(both[0], run_id), proxy=None, origin=f"http://127.0.0.1:{port}"):
        pass


def _socket(port: int) -> Any:
    import socket

    return socket.create_connection(("127.0.0.1", port))


# --- feedback -----------------------------------------------------------------------------------------------------------


def test_feedback_is_kept_replaced_and_read_by_analysts(both: tuple[Api, Api], psql: Psql) -> None:
    one, two = both
    run_id = one.client.post("/query", json=QUESTION).json()["run_id"]
    body = json.dumps({"run_id": run_id, "rating": -1, "comment": "No\x00pe \ud800"})
    first = one.client.post("/feedback", content=body, headers={"Content-Type": "application/json"})
    assert first.status_code == 200
    assert first.json()["comment"] == "No\ufffdpe \ufffd"
    one.client.post("/feedback", json={"run_id": run_id, "rating": 1}).raise_for_status()
    kept = two.client.post("/feedback", json={"run_id": run_id, "rating": 1, "comment": " Fine. "}).json()
    assert (kept["rating"], kept["comment"], kept["created_at"]) == (1, "Fine.", first.json()["created_at"])
    psql("SELECT rag.grant_analyst(current_user, 'default')", one.database)
    seen = f"SELECT tenant, rating, comment FROM analyst.feedback WHERE run_id = '{run_id}'"
    assert psql(seen, one.database) == "default|1|Fine."


@pytest.mark.parametrize(
    "body",
    [{"rating": 1}, {"run_id": "x", "rating": 1}, {"run_id": str(uuid4()), "rating": 2}, {"run_id": str(uuid4())},
     {"run_id": str(uuid4()), "rating": 0.5}, {"run_id": str(uuid4()), "rating": 1, "comment": "x" * 5000},
     {"run_id": str(uuid4()), "rating": 1, "stars": 5}],
)  # fmt: skip
def test_feedback_that_makes_no_sense_is_refused(both: tuple[Api, Api], body: dict[str, Any]) -> None:
    assert both[0].client.post("/feedback", json=body).status_code == 422


def test_feedback_needs_a_run_and_goes_with_its_conversation(both: tuple[Api, Api], psql: Psql) -> None:
    one, two = both
    assert one.client.post("/feedback", json={"run_id": str(uuid4()), "rating": 1}).status_code == 404
    answer = one.client.post("/query", json={**QUESTION, "session_id": "s1", "resumable": True}).json()
    judged = two.client.post("/feedback", json={"run_id": answer["run_id"], "rating": 1, "comment": "secret words"})
    assert judged.json()["session_id"] == "s1"
    two.client.delete("/chat/history/s1").raise_for_status()
    assert psql("SELECT count(*) FROM rag.feedback WHERE session_id = 's1'", one.database) == "0"
    assert events(two, answer["run_id"])[-1].data["code"] == "text-deleted"
