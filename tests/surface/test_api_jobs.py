"""Jobs over HTTP: listing them, and trying one again whose cause is removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from scripted_server import ScriptedServer
from serving import Api, serving


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def api(fresh_database: Any, tmp_path_factory: pytest.TempPathFactory, provider: ScriptedServer) -> Iterator[Api]:
    """A serving process whose embedding model can be made to fail."""
    settings = {"rag": {"embeddingModel": "scripted"}, "jobs": {"retrySeconds": 0, "maxAttempts": 1}}
    with serving(
        fresh_database(), tmp_path_factory.mktemp("jobs"), settings=settings,
        OPENAI_BASE_URL=provider.openai_url, OPENAI_API_KEY="key",
    ) as running:  # fmt: skip
        yield running


def upload(api: Api, name: str, collection: str = "notes") -> str:
    text = f"{name}: a cairn marks the trail.".encode()
    answer = api.client.post(f"/collections/{collection}/documents", files={"files": (f"{name}.txt", text)})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def ended(api: Api, job: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def look() -> bool:
        found.update(api.client.get(f"/jobs/{job}").json())
        return found["status"] not in ("queued", "running")

    api.await_until(look, 30)
    return found


def test_a_failed_upload_is_tried_again_with_its_files(api: Api, provider: ScriptedServer) -> None:
    """The key of the provider is wrong, then right: nobody uploads the file again."""
    provider.script("401")
    job = upload(api, "rope")
    failed = ended(api, job)
    assert failed["status"] == "failed", failed
    assert failed["collection"] == "notes"
    listed = api.client.get("/jobs", params={"status": "failed"}).json()["items"]
    assert [item["id"] for item in listed] == [job]
    answer = api.client.post(f"/jobs/{job}/retry")
    assert answer.status_code == 200, answer.text
    assert answer.json()["attempts"] in (0, 1)
    done = ended(api, job)
    assert (done["status"], done["error"]) == ("succeeded", None)
    assert [item["external_id"] for item in done["result"]["uploaded"]] == ["rope.txt"]
    found = api.client.post("/search", json={"query": "rope", "collection": "notes"}).json()
    assert [item["external_id"] for item in found["results"]] == ["rope.txt"]


def test_only_parked_and_failed_jobs_are_tried_again(api: Api) -> None:
    job = upload(api, "marker")
    assert ended(api, job)["status"] == "succeeded"
    answer = api.client.post(f"/jobs/{job}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "succeeded" in answer.json()["detail"]
    unknown = api.client.post(f"/jobs/{uuid4()}/retry")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")
    assert api.client.post("/jobs/nonsense/retry").status_code == 422


def test_lists_page_newest_first(api: Api) -> None:
    made = [upload(api, f"page {number}") for number in range(5)]
    for job in made:
        assert ended(api, job)["status"] == "succeeded"
    seen: list[str] = []
    cursor = None
    while True:
        page = api.client.get("/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == sorted(set(seen), reverse=True)
    assert [job for job in seen if job in made] == made[::-1]
    only = api.client.get("/jobs", params={"status": "succeeded", "limit": 200}).json()["items"]
    assert {item["status"] for item in only} == {"succeeded"}
    assert api.client.get("/jobs", params={"status": "queued"}).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    "parameters", [{"status": "done"}, {"cursor": "aGFuZGJvb2s"}, {"cursor": "é"}, {"limit": 0}, {"limit": 201}]
)
def test_what_the_list_does_not_understand_is_refused(api: Api, parameters: dict[str, Any]) -> None:
    answer = api.client.get("/jobs", params=parameters)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
