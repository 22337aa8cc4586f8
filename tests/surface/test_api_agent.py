"""/api/agent as its clients see it: exact fields in camelCase, and a trace that is the run's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import final, opening, search
from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving
from talking import Talking

ASK = "What is a cairn?"
TRUE = "A cairn is a pile of stones that marks a trail [1]."
LACK = {"section": "Age", "missing": "how old cairns are", "queries_tried": ["age of cairns"]}


@pytest.fixture(scope="module")
def talking() -> Talking:
    return Talking()


@pytest.fixture(scope="module")
def agent(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, talking: Talking
) -> Iterator[Api]:
    with ScriptedServer(answer=talking) as chat:
        own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
        settings = {"planned": {"questionChars": 800}}
        with serving(fresh_database(), tmp_path_factory.mktemp("agent"), settings=settings, **own) as api:
            api.index(
                "default", cairn="A cairn is a pile of stones that marks a trail. Hikers add a stone when they pass."
            )
            yield api


@pytest.fixture(autouse=True)
def script(talking: Talking) -> None:
    lacking = final(f"{TRUE} Insufficient documentation on their age.", insufficiencies=[LACK])
    talking.reset(action=[search("cairn"), opening(1), lacking])


def run(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.client.post("/api/agent/run", json={"question": ASK, "mode": "agent"} | body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def stream(api: Api, **body: Any) -> list[SseEvent]:
    with api.client.stream("POST", "/api/agent/stream", json={"question": ASK} | body) as response:
        assert response.status_code == 200, response.read()
        return list(read_events(response))


def test_the_response(agent: Api) -> None:
    made = run(agent, returnTrace=True)
    assert set(made) == {"answer", "citations", "insufficiencies", "trace", "coverage"}
    assert made["answer"].startswith(TRUE)
    (cited,) = made["citations"]
    assert set(cited) == {"docId", "chunkId", "snippet", "filename", "instead"}
    (found,) = agent.client.post("/search", json={"query": "cairn"}).json()["results"]
    assert (cited["docId"], cited["chunkId"]) == (found["document_id"], found["chunk_id"])
    assert cited["chunkId"] not in (None, found["passage_id"])
    assert cited["filename"] == "cairn"
    assert "pile of stones" in cited["snippet"]
    assert made["insufficiencies"][0] == {
        "section": "Age", "missing": "how old cairns are", "queriesTried": ["age of cairns"],
    }  # fmt: skip
    assert [item["type"] for item in made["trace"]][:4] == ["plan", "tool_call", "tool_call", "final"]
    assert made["trace"][1]["input"] == {"query": "cairn"}
    assert made["trace"][1]["outputSummary"] == "Found 1 chunks"


def test_the_trace_comes_only_when_it_is_asked_for(agent: Api) -> None:
    assert run(agent)["trace"] == []


def test_the_stream(agent: Api) -> None:
    events = stream(agent)
    assert [event.event for event in events] == ["trace"] * 4 + ["complete"]
    assert [event.data["type"] for event in events[:-1]] == ["plan", "tool_call", "tool_call", "final"]
    assert events[0].data["steps"]
    whole = events[-1].data
    assert set(whole) == {"answer", "citations", "insufficiencies", "trace", "coverage"}
    assert whole["trace"][:4] == [event.data for event in events[:-1]]


def test_validation_errors_are_shown(agent: Api, talking: Talking) -> None:
    talking.reset(action=[final(TRUE), search("cairn"), opening(1), final(TRUE)])
    shown = [event.data for event in stream(agent)][:-1]
    assert [item["type"] for item in shown] == [
        "plan", "validation", "reprompt", "tool_call", "tool_call", "final",
    ]  # fmt: skip
    assert any("cite nothing" in error for error in shown[1]["validationErrors"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": "x" * 801}, 422),
        ({"question": " "}, 422),
        ({"mode": "chat"}, 422),
        ({"collection": "nowhere"}, 404),
        ({"unknown": 1}, 422),
    ],
)
def test_bad_input_is_a_problem(agent: Api, body: dict[str, Any], status: int) -> None:
    for path in ("run", "stream"):
        answer = agent.client.post(f"/api/agent/{path}", json={"question": ASK} | body)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


def test_without_a_model_it_says_so_in_the_trace(api: Api) -> None:
    api.index("default", cairn="A cairn is a pile of stones that marks a trail.")
    made = run(api, returnTrace=True)
    assert "pile of stones" in made["answer"]
    assert "chat model" in made["trace"][-1]["notes"]
