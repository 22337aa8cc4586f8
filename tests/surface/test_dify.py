"""Dify's external knowledge, by the requests that Dify sends: when it is registered, and when an application retrieves."""

from __future__ import annotations

from typing import Any

import pytest
from serving import Api


@pytest.fixture(scope="module")
def knowledge(api: Api) -> Api:
    documents = [
        {"external_id": "leave.md", "text": "# Leave\n\nEmployees have 30 days of leave per year.",
         "metadata": {"team": "people", "year": 2024}},
        {"external_id": "old.md", "text": "# Leave, old\n\nEmployees had 20 days of leave per year.",
         "metadata": {"team": "archive", "year": 1990, "tags": ["leave", "old"]}},
        {"external_id": "rocks.md", "text": "Basalt is a dark rock.", "metadata": {"team": "geology"}},
    ]  # fmt: skip
    answer = api.client.post("/index", json={"collection": "knowledge", "documents": documents})
    assert answer.status_code == 200, answer.text
    return api


def retrieve(
    api: Api, *conditions: dict[str, Any], operator: str = "and", threshold: float = 0.0, **changes: Any
) -> Any:
    """As Dify's ExternalDatasetService sends it."""
    body = {
        "retrieval_setting": {"top_k": 4, "score_threshold": threshold}, "query": "How many days of leave?",
        "knowledge_id": "knowledge",
        "metadata_condition": {"logical_operator": operator, "conditions": list(conditions)} if conditions else None,
    }  # fmt: skip
    return api.client.post("/retrieval", json=body | changes, headers={"Authorization": "Bearer settings"})


def paths(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [record["metadata"]["path"] for record in answer.json()["records"]]


def where(name: Any, operator: str, value: Any = None) -> dict[str, Any]:
    return {"name": name, "comparison_operator": operator, "value": value}


def test_records_are_what_dify_reads(knowledge: Api) -> None:
    records = retrieve(knowledge).json()["records"]
    assert set(records[0]) == {"content", "score", "title", "metadata"}
    assert "30 days" in records[0]["content"] or "20 days" in records[0]["content"]
    assert all(isinstance(record["metadata"], dict) and record["title"] for record in records)
    scores = [record["score"] for record in records]
    assert scores == sorted(scores, reverse=True)
    assert 1 >= scores[0] > 0.4
    assert records[0]["metadata"]["document_id"]


def test_a_threshold_leaves_out_what_is_about_something_else(knowledge: Api) -> None:
    assert "rocks.md" not in paths(retrieve(knowledge, threshold=0.4))
    assert paths(retrieve(knowledge, threshold=0.4))
    assert paths(retrieve(knowledge, threshold=1.0, query="zylophonic quux")) == []


@pytest.mark.parametrize(
    ("conditions", "operator", "found"),
    [
        ([where("team", "is", "people")], "and", {"leave.md"}),
        ([where(["team"], "is not", "people"), where("year", "<", 2000)], "and", {"old.md"}),
        ([where("year", "≥", "2000")], "and", {"leave.md"}), ([where("year", "=", 1990)], "and", {"old.md"}),
        ([where("tags", "contains", "OLD")], "and", {"old.md"}), ([where("year", "empty")], "and", {"rocks.md"}),
        ([where("team", "is", "people"), where("team", "start with", "geo")], "or", {"leave.md", "rocks.md"}),
        ([where("team", "in", ["people", "archive"])], "and", {"leave.md", "old.md"}),
    ],
)  # fmt: skip
def test_metadata_conditions_hold(knowledge: Api, conditions: list[Any], operator: str, found: set[str]) -> None:
    assert set(paths(retrieve(knowledge, *conditions, operator=operator))) == found


def test_errors_have_difys_codes(knowledge: Api) -> None:
    for answer, status, code in (
        (retrieve(knowledge, knowledge_id="nobody"), 404, 2001), (retrieve(knowledge, query=" "), 422, 422),
        (retrieve(knowledge, where("year", ">", "many")), 422, 422), (knowledge.client.get("/retrieval"), 405, 405),
        (retrieve(knowledge, where("year", "resembles", 1)), 422, 422),
    ):  # fmt: skip
        assert (answer.status_code, answer.json()["error_code"]) == (status, code), answer.text
        assert answer.json()["error_msg"]


def test_what_dify_sends_to_register_an_endpoint_is_no_refusal(knowledge: Api) -> None:
    """A POST without a body; Dify takes 403, 404 and 502 for a wrong endpoint."""
    answer = knowledge.client.post("/retrieval", headers={"Authorization": "Bearer settings"})
    assert answer.status_code not in (403, 404, 502)
