"""Routes and commands that change models and reindex."""

from __future__ import annotations

from typing import Any


def test_reindexing_is_a_job(api: Any) -> None:
    api.index("reindexed", a="A cairn marks the trail.", b="A bridge spans the river.")
    answer = api.client.post("/collections/reindexed/reindex", json={"force": True})
    assert answer.status_code == 202
    job = answer.headers["Location"]
    api.await_until(lambda: api.client.get(job).json()["status"] == "succeeded", seconds=30)
    assert api.client.get(job).json()["result"] == {"redone": 2, "unchanged": 0, "overtaken": 0}
    assert api.client.post("/collections/nowhere/reindex", json={}).status_code == 404


def test_reading_anew_is_a_job(api: Any) -> None:
    api.index("read-anew", a="A cairn marks the trail.")
    answer = api.client.post("/collections/read-anew/reread")
    assert answer.status_code == 202
    job = answer.headers["Location"]
    api.await_until(lambda: api.client.get(job).json()["status"] == "succeeded", seconds=30)
    nothing = {"reread": 0, "unchanged": 0, "overtaken": 0, "left": 0, "left_documents": []}
    assert api.client.get(job).json()["result"] == nothing
    assert api.client.post("/collections/nowhere/reread").status_code == 404


def test_models_are_listed_and_wrong_changes_refused(api: Any) -> None:
    api.index("modelled", a="A cairn marks the trail.")
    listed = api.client.get("/models").json()
    assert {"name": "all-MiniLM-L6-v2:int8", "dimensions": 384} in listed["models"]
    assert {(item["collection"], item["state"]) for item in listed["collections"]} >= {("modelled", "serving")}
    where = "/collections/modelled/models"
    assert api.client.post(where, json={"action": "backfill"}).status_code == 422
    assert api.client.post(where, json={"action": "rollback"}).status_code == 409
    assert api.client.post(where, json={"action": "flip", "model": "unknown"}).status_code == 409
    same = api.client.post(where, json={"action": "backfill", "model": "all-MiniLM-L6-v2"})
    assert (same.status_code, same.json()["code"]) == (409, "conflict")
    assert api.client.get("/collections/modelled").json()["recall"] is None
    assert "cairn_vector_recall" in api.client.get("/metrics").text
