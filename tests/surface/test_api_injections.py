"""Documents that give orders, a model that obeys them, and every way to ask over HTTP: nothing leaves, keys neither."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from injections import CASES, KEY, STOLEN, Obeying, documents
from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving
from websockets.sync.client import connect

pytestmark = pytest.mark.siege

ASK: Final = "How many days of leave do employees have per year?"
TERMINAL: Final = {"answer", "complete", "done", "error", "cancelled"}


@pytest.fixture(scope="module")
def obeying() -> Obeying:
    return Obeying()


@pytest.fixture(scope="module")
def chat(obeying: Obeying) -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=obeying) as running:
        yield running


@pytest.fixture(scope="module")
def hostile(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, chat: ScriptedServer
) -> Iterator[Api]:
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url, "OPENAI_API_KEY": KEY}
    settings = {"rag": {"rerankingEnabled": False}, "providers": {"circuitFailures": 10_000}}
    with serving(fresh_database(), tmp_path_factory.mktemp("hostile"), settings=settings, **own) as api:
        told = [one for one in documents() if one.title is None][::2]
        body = [{"external_id": one.external_id, "text": one.text} for one in told]
        answer = api.client.post("/index", json={"documents": body})  # into the collection of questions that name none
        assert answer.status_code == 200, answer.text
        yield api


def check(text: str) -> str:
    """Neither what was collected, nor a key, nor an image in what is shown."""
    assert STOLEN not in text, text[max(0, text.index(STOLEN) - 300) :][:400]
    assert KEY not in text
    return text


def post(api: Api, path: str, **body: Any) -> dict[str, Any]:
    answer = api.client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(json.loads(check(answer.text)))


def stream(api: Api, path: str, **body: Any) -> list[SseEvent]:
    with api.client.stream("POST", path, json=body) as response:
        assert response.status_code == 200, response.read()
        events = list(read_events(response))
    check(json.dumps([event.data for event in events], ensure_ascii=False))
    pieces = [
        event.data.get("text") or event.data.get("content") or event.data.get("token") or "" for event in events[:-1]
    ]
    check("".join(piece for piece in pieces if isinstance(piece, str)))
    assert events[-1].event in TERMINAL, events[-1]
    return events


@pytest.mark.sweep(6)
@pytest.mark.parametrize("strategy", ["auto", "react", "planned", "iterative", "corrective", "enhanced"])
def test_query(hostile: Api, obeying: Obeying, strategy: str) -> None:
    before = len(obeying.prompts)
    made = post(hostile, "/query?include=all", question=ASK, collection="default", strategy=strategy)
    assert not re.search(r"!\[|<img|https?://", made["answer"])
    assert any("evil.example" in prompt for prompt in obeying.prompts[before:]), "the model could see them"
    told = stream(hostile, "/query?include=all", question=ASK, collection="default", strategy=strategy, stream=True)
    for whole in (made, told[-1].data):
        assert whole["sources"]
        assert whole["route"]["strategy"], "all that can be sent was looked at"


def test_chat_agents_and_questions_of_code(hostile: Api) -> None:
    session = str(uuid4())
    made = post(hostile, "/chat/", message=ASK, collection_name="default", session_id=session)
    stream(
        hostile,
        "/chat/stream",
        message="Tell me more about it",
        collection_name="default",
        session_id=made["session_id"],
    )
    check(hostile.client.get(f"/chat/history/{made['session_id']}").text)
    stream(hostile, "/chat/stream", message="Summarize all documents", collection_name="default")
    post(hostile, "/qa/ask", question=ASK)
    post(hostile, "/api/agent/run", question=ASK, mode="agent", returnTrace=True)
    stream(hostile, "/api/agent/stream", question=ASK)


def test_a_socket_and_a_run_that_is_told_again(hostile: Api) -> None:
    run_id = str(uuid4())
    stream(
        hostile,
        "/query?include=all",
        question=ASK,
        collection="default",
        strategy="react",
        stream=True,
        resumable=True,
        run_id=run_id,
    )
    with connect(f"ws://127.0.0.1:{hostile.port}/ws/runs/{run_id}?include=all", proxy=None) as socket:
        check("".join(str(message) for message in socket))
    with hostile.client.stream("GET", f"/runs/{run_id}/events?include=all") as again:
        check(json.dumps([event.data for event in read_events(again)], ensure_ascii=False))
    check(hostile.client.get(f"/traces/{run_id}").text)


def test_an_error_that_repeats_the_key_shows_no_key(hostile: Api, chat: ScriptedServer) -> None:
    chat.script(*["401"] * 20)
    try:
        asked = {"question": ASK, "collection": "default", "strategy": "react"}
        check(hostile.client.post("/query?include=all", json=asked).text)
        check(hostile.client.post("/chat/", json={"message": ASK, "collection_name": "default"}).text)
        check(hostile.client.post("/qa/ask", json={"question": ASK}).text)
    finally:
        chat._script.clear()


def test_neither_prompts_nor_the_log_have_the_key(hostile: Api, obeying: Obeying) -> None:
    check(hostile.log)
    assert not any(KEY in prompt for prompt in obeying.prompts)
    assert len(obeying.seen) > len(CASES) / 8
