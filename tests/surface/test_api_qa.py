"""/qa as its clients see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from serving import Api, serving
from talking import Talking

ASK = "What is a cairn?"
TEXT = "Stones\n\nA cairn is a pile of stones that marks a trail.\n\nHikers add a stone when they pass."
LAST = "ANSWER:\nA cairn is a pile of stones that marks a trail [1].\n\nMISSING:\nNONE"
GAP = LAST.replace("NONE", "- frobnicate in app/nowhere.py")
FIELDS = {"answer", "citations", "confidence", "disclaimer", "search_quality", "cgrag", "coverage"}
CGRAG = {"passes_used", "gaps_identified", "gaps_resolved", "gaps_unresolved", "session_id", "context_from_cache"}


@pytest.fixture(scope="module")
def talking() -> Talking:
    return Talking()


@pytest.fixture(scope="module")
def qa(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, talking: Talking
) -> Iterator[Api]:
    with ScriptedServer(answer=talking) as chat:
        own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
        with serving(fresh_database(), tmp_path_factory.mktemp("qa"), **own) as api:
            api.index("default", cairn=TEXT)
            yield api


def ask(api: Api, headers: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    answer = api.client.post("/qa/ask", json={"question": ASK} | body, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_response(qa: Api, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    made = ask(qa)
    assert set(made) == FIELDS
    assert made["answer"] == "A cairn is a pile of stones that marks a trail [1]."
    assert made["citations"] == [{"path": "cairn", "title": "cairn", "lines": "3", "url": None, "instead": False}]
    assert made["confidence"] in ("high", "medium", "low")
    assert set(made["search_quality"]) == {"semantic_searched", "fts_searched", "results_found", "results_used"}
    assert made["search_quality"]["semantic_searched"] is True
    assert made["search_quality"]["fts_searched"] is True
    assert made["search_quality"]["results_found"] >= made["search_quality"]["results_used"] >= 1
    assert set(made["cgrag"]) == CGRAG


def test_gaps_are_reported(qa: Api, talking: Talking) -> None:
    talking.reset(iterate=[GAP])
    made = ask(qa)
    assert made["cgrag"]["gaps_unresolved"] == ["frobnicate in app/nowhere.py"]
    assert "Not found: frobnicate in app/nowhere.py." in made["disclaimer"]
    assert made["disclaimer"].count("frobnicate in app/nowhere.py") == 1, "each gap once"


def test_the_session_comes_in_the_body_or_a_header(qa: Api, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    assert ask(qa, session_id="body-1")["cgrag"]["session_id"] == "body-1"
    assert ask(qa, {"X-Session-ID": "head-1"})["cgrag"]["session_id"] == "head-1"
    assert ask(qa)["cgrag"]["session_id"] is None


def test_the_user_can_start_fresh(qa: Api, talking: Talking) -> None:
    talking.reset(iterate=[LAST])
    ask(qa, session_id="fresh")
    assert qa.client.delete("/qa/sessions/fresh").status_code == 204
    gone = qa.client.delete("/qa/sessions/fresh")
    assert gone.status_code == 404
    assert gone.headers["content-type"] == "application/problem+json"


def test_quick_mode_is_one_pass(qa: Api, talking: Talking) -> None:
    talking.reset(generate=["A cairn is a pile of stones that marks a trail [1]."])
    assert ask(qa, quick_mode=True)["cgrag"] is None
    assert not talking.heard["iterate"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": ""}, 422),
        ({"temperature": 9}, 422),
        ({"collection": "nowhere"}, 404),
        ({"session_id": "a/b"}, 422),
    ],
)
def test_bad_input_is_a_problem(qa: Api, body: dict[str, Any], status: int) -> None:
    answer = qa.client.post("/qa/ask", json={"question": ASK} | body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_without_a_model_it_is_answered_all_the_same(api: Api) -> None:
    api.index("default", cairn=TEXT)
    made = ask(api)
    assert "pile of stones" in made["answer"]
    assert made["cgrag"] is None
    assert "chat model" in made["disclaimer"]
