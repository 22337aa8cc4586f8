"""What stored events say goes with the document that they quote, and with the conversation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_server import Reply, ScriptedServer
from serving import Api
from two_servers import QUESTION, SENTENCE, TEXT, events, start, text_of, two_servers

Psql = Callable[..., str]


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: "A cairn is a pile of stones that marks a trail [1].") as running:
        yield running


@pytest.fixture(scope="module")
def both(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[tuple[Api, Api]]:
    with two_servers(fresh_database(), tmp_path_factory.mktemp("deletion"), model, chat) as running:
        yield running


def delete(api: Api, collection: str = "stones") -> None:
    for document in api.client.get(f"/collections/{collection}/documents").json()["items"]:
        api.client.delete(f"/collections/{collection}/documents/{document['id']}").raise_for_status()


def kept(api: Api, psql: Psql, run_id: str) -> str:
    """All that is stored of a run."""
    tables = ("resumable_runs", "run_events", "feedback")
    found = [psql(f"SELECT to_jsonb(t) FROM rag.{table} t WHERE '{run_id}' IN (to_jsonb(t) ->> 'id', to_jsonb(t) ->> 'run_id')",
                  api.database) for table in tables]  # fmt: skip
    return "\n".join(found)


def check_blank(api: Api, psql: Psql, run_id: str) -> None:
    stored = kept(api, psql, run_id)
    assert run_id in stored
    for word in ("stones", "trail", "pile", "marks"):
        assert word not in stored, word
    found = events(api, run_id)
    assert text_of(found) == ""
    assert (found[-1].event, found[-1].data["code"], found[-1].data["status"]) == ("error", "text-deleted", 410)


def test_deleting_a_document_afterwards_blanks_events_and_comment(both: tuple[Api, Api], psql: Psql) -> None:
    one, two = both
    one.index("stones", a=TEXT)
    run_id = one.client.post("/query", json={**QUESTION, "resumable": True}).json()["run_id"]
    one.client.post("/feedback", json={"run_id": run_id, "rating": 1, "comment": "Yes: stones that mark a trail."})
    assert "pile of stones" in kept(one, psql, run_id)
    delete(two)
    check_blank(one, psql, run_id)
    assert psql(f"SELECT rating, comment IS NULL FROM rag.feedback WHERE run_id = '{run_id}'", one.database) == "1|t"


def test_deleting_a_document_meanwhile_stores_no_text_from_then_on(
    both: tuple[Api, Api], chat: ScriptedServer, psql: Psql
) -> None:
    one, two = both
    one.index("stones", a=TEXT)
    chat.script(Reply("held", text=SENTENCE))
    run_id, read = start(one)
    assert text_of(read)
    delete(two)
    assert two.client.get(f"/runs/{run_id}").json()["status"] == "running"
    chat.released.set()
    one.await_until(lambda: two.client.get(f"/runs/{run_id}").json()["status"] != "running", seconds=30)
    check_blank(two, psql, run_id)
    assert two.client.get(f"/runs/{run_id}").json()["percent"] == 100


@pytest.mark.siege
def test_deleting_while_runs_begin_leaves_nothing_behind(both: tuple[Api, Api], psql: Psql) -> None:
    """Runs at every stage meet the deletion; whichever comes first, nothing of the document is left."""
    one, two = both
    one.index("stones", a=TEXT)
    found: list[str] = []

    def ask(number: int) -> None:
        body = {**QUESTION, "question": f"What is a cairn? Number {number}.", "resumable": True, "strategy": "fast"}
        answer = both[number % 2].client.post("/query", json=body)
        found.append(answer.json().get("run_id", ""))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    one.await_until(lambda: len(found) > 4, seconds=60)
    delete(two)
    for thread in threads:
        thread.join()
    left = psql("SELECT count(*) FROM rag.run_events WHERE data LIKE '%stones that marks%'", one.database)
    assert left == "0"
    running = "SELECT count(*) FROM rag.resumable_runs WHERE status = 'running'"
    assert psql(running, one.database) == "0"


def test_deleting_a_collection_blanks_too(both: tuple[Api, Api], psql: Psql) -> None:
    one, two = both
    one.index("hills", a=TEXT)
    body = {"question": "What is a cairn?", "collection": "hills", "resumable": True}
    run_id = one.client.post("/query", json=body).json()["run_id"]
    two.client.delete("/collections/hills").raise_for_status()
    check_blank(one, psql, run_id)


def test_deleting_a_conversation_blanks_its_runs(both: tuple[Api, Api], chat: ScriptedServer, psql: Psql) -> None:
    one, two = both
    one.index("stones", a=TEXT)
    answer = one.client.post("/query", json={**QUESTION, "resumable": True, "session_id": "walk"}).json()
    two.client.delete("/chat/history/walk").raise_for_status()
    check_blank(one, psql, answer["run_id"])


def test_follow_up_goes_with_what_the_conversation_stood_on(both: tuple[Api, Api], psql: Psql) -> None:
    """The answer to a follow-up can repeat words of the answer before it, whatever it cites itself."""
    one, two = both
    one.index("stones", a=TEXT)
    one.index("hills", b="Hills are high. A hill has a top.")
    one.client.post("/query", json={**QUESTION, "session_id": "tour"}).raise_for_status()
    body = {"question": "What does a hill have?", "collection": "hills", "session_id": "tour", "resumable": True}
    run_id = one.client.post("/query", json=body).json()["run_id"]
    delete(two, "stones")
    check_blank(one, psql, run_id)
