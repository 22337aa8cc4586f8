"""Messages over HTTP, with a model that streams, contradicts its sources and corrects itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving
from talking import Talking

TERMINAL = {"answer", "error", "cancelled"}
LEAVE = "How many days of leave do employees have?"
TRUE = "Employees have 30 days of leave per year [1]."
FALSE = "Employees have 45 days of leave per year and may sell them to colleagues [1]."


@pytest.fixture(scope="module")
def talking() -> Talking:
    return Talking()


@pytest.fixture(scope="module")
def office(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, talking: Talking
) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("office")
    settings = {"rag": {"rerankingEnabled": False}}
    with (
        ScriptedServer(answer=talking) as chat,
        serving(
            fresh_database(), folder, settings=settings, CAIRN_MODEL_DIR=str(model), OPENAI_BASE_URL=chat.openai_url
        ) as api,
    ):
        api.index(
            "handbook", leave="Employees have 30 days of leave per year. It expires in March.",
            pay="Salaries are paid on the 25th of each month.",
        )  # fmt: skip
        yield api


def stream(api: Api, question: str, **more: Any) -> list[SseEvent]:
    """Events of a run; one is terminal, and it is the last."""
    body = {"question": question, "collection": "handbook", "stream": True, **more}
    with api.client.stream("POST", "/query?include=all", json=body) as response:
        events = list(read_events(response))
    assert events[0].event == "run"
    assert [event.event in TERMINAL for event in events] == [False] * (len(events) - 1) + [True]
    return events


def test_a_retry_is_a_step_and_the_last_event_has_the_text(office: Api, talking: Talking) -> None:
    talking.reset(
        generate=[FALSE, TRUE],
        ground=["GROUNDED: NO\nSCORE: 0\nISSUES:\n- 45 days", "GROUNDED: YES\nSCORE: 1\nISSUES:\nnone"],
    )
    events = stream(office, LEAVE)
    streamed = "".join(event.data["text"] for event in events if event.event == "token")
    steps = [event.data["step"] for event in events if event.event == "progress"]
    made = events[-1].data
    assert streamed == FALSE
    assert "retry" in steps
    assert (made["answer"], made["grounded"], made["route"]["iterations"]) == (TRUE, True, 2)
    assert made["grounding"]["grounded"] is True
    assert made["confidence"] <= made["groundedness_score"]


@pytest.mark.parametrize(
    ("message", "strategy", "model_is_asked"),
    [
        ("Guten Morgen", "reply", False), ("Merci !", "reply", False), ("sdfghjkl", "reply", False),
        ("¿Cuántos documentos hay?", "aggregate", False), ("why?", "clarify", False), (LEAVE, "fast", True),
    ],
)  # fmt: skip
def test_only_questions_cost_a_model_call(
    office: Api, talking: Talking, message: str, strategy: str, model_is_asked: bool
) -> None:
    talking.reset(generate=[TRUE])
    made = stream(office, message)[-1].data
    assert made["route"]["strategy"] == strategy
    assert bool(talking.heard) is model_is_asked


def test_the_trace_over_http_tells_why(office: Api, talking: Talking) -> None:
    talking.reset(generate=[TRUE])
    question = "When are salaries paid and how many days of leave are there?"
    made = office.client.post(
        "/query", json={"question": question, "collection": "handbook", "strategy": "enhanced"}
    ).json()
    trace = office.client.get(f"/traces/{made['run_id']}").json()
    assert trace["strategy"] == "enhanced"
    assert trace["plan"]["reason"] == "named by the caller"
    assert [item["n"] for item in trace["plan"]["searches"]] == [1, 2, 3]
    searches = {(leg["leg"], leg["search"]) for leg in trace["legs"]}
    assert {("fused", 1), ("fused", 2), ("fused", 3), ("merged", None)} <= searches
    assert trace["usage"]["by_purpose"]


def test_chat_tells_iterations_and_complexity(office: Api, talking: Talking) -> None:
    talking.reset(generate=[TRUE])
    body = {"message": LEAVE, "collection_name": "handbook"}
    with office.client.stream("POST", "/chat/stream", json=body) as response:
        events = list(read_events(response))
    done = events[-1].data
    assert (done["iterations"], done["query_complexity"], done["is_summarization"]) == (1, "simple", False)
    assert done["is_grounded"] is True


def test_a_conversation_over_http_keeps_its_sources(office: Api, talking: Talking) -> None:
    talking.reset(generate=[TRUE, "You get 30 days off each year [1]."])
    ask = {"collection": "handbook", "session_id": "talk"}
    first = office.client.post("/query?include=all", json={"question": LEAVE, **ask}).json()
    second = office.client.post("/query?include=all", json={"question": "explain that more simply", **ask}).json()
    assert second["route"]["strategy"] == "converse"
    assert {source["passage_id"] for source in first["sources"]} <= {
        source["passage_id"] for source in second["sources"]
    }
    assert second["session_id"] == "talk"
