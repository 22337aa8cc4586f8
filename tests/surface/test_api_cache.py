"""GET and DELETE /cache, and `cache` and `from_cache` of searches, over HTTP and between two processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Api, serving


@pytest.fixture(scope="module")
def pair(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Iterator[tuple[Api, Api]]:
    """Two serving processes on one database."""
    dsn, folder = fresh_database(), tmp_path_factory.mktemp("pair")
    with (
        serving(dsn, folder / "a", CAIRN_MODEL_DIR=str(model)) as one,
        serving(dsn, folder / "b", CAIRN_MODEL_DIR=str(model)) as two,
    ):
        yield one, two


@pytest.fixture
def api(pair: tuple[Api, Api]) -> Api:
    """The first process, with two documents and an empty cache."""
    one, _ = pair
    one.index("stones", cairn="A cairn of granite marks the trail.", bread="Sourdough rises slowly.")
    assert one.client.delete("/cache").status_code == 200
    return one


def search(api: Api, query: str = "what marks the trail?", **more: Any) -> dict[str, Any]:
    answer = api.client.post("/search", json={"query": query, "collection": "stones", **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def stats(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.client.get("/cache").json()
    return found


def test_a_repeated_search_is_answered_from_the_cache(api: Api) -> None:
    """Same results under another trace id, and the trace says so."""
    first, again = search(api), search(api, "What  marks the trail ?!")
    assert (first["from_cache"], again["from_cache"]) == (False, True)
    same = ("results", "legs_used", "legs_failed", "exact", "confidence", "degraded")
    assert [again[name] for name in same] == [first[name] for name in same]
    trace = api.client.get(f"/traces/{again['trace_id']}").json()
    assert trace["plan"]["cached_run"] == first["trace_id"]
    assert api.client.get(f"/traces/{first['trace_id']}").json()["legs"]


def test_statistics(api: Api) -> None:
    """Size, hits, misses and hit rate."""
    before = stats(api)
    search(api)
    search(api)
    search(api, filters={"year": 1999})
    search(api, cache=False)
    after = stats(api)
    assert [after[name] - before[name] for name in ("hits", "misses", "bypassed", "size")] == [1, 1, 2, 1]
    assert (after["capacity"], after["ttl_seconds"], after["enabled"], after["semantic"]) == (50, 300, True, False)
    assert after["hit_rate"] == pytest.approx(after["hits"] / (after["hits"] + after["misses"]), abs=1e-4)


def test_c3_a_change_through_one_process_is_seen_by_the_other(pair: tuple[Api, Api], api: Api) -> None:
    _, other = pair
    first = search(api)
    assert search(other)["from_cache"]
    for turn in range(6):
        text = f"A cairn of marble number {turn} marks the trail."
        api.index("stones", cairn=text)
        found = search(other)
        assert (found["from_cache"], found["results"][0]["content"]) == (False, text)
        assert search(api)["results"][0]["content"] == text
    document = first["results"][0]["document_id"]
    assert search(other)["from_cache"]
    assert api.client.delete(f"/collections/stones/documents/{document}").status_code in (200, 204)
    assert "marble" not in str(search(other)["results"])


def test_emptying_it_by_collection(api: Api) -> None:
    api.index("other", a="Rivers carry stones.")
    search(api)
    search(api, collection="other")
    assert api.client.delete("/cache", params={"collection": "other"}).json() == {"deleted": 1}
    assert search(api)["from_cache"]
    assert not search(api, collection="other")["from_cache"]
    answer = api.client.delete("/cache", params={"collection": "unknown"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert api.client.delete("/cache").json() == {"deleted": 2}
    assert stats(api)["size"] == 0


def test_a_question_says_that_its_passages_came_from_the_cache(api: Api) -> None:
    body = {"question": "what marks the trail?", "collection": "stones"}
    first, again = (api.client.post("/query?include=route", json=body).json() for _ in range(2))
    assert (first["route"]["from_cache"], again["route"]["from_cache"]) == (False, True)
    assert again["answer"] == first["answer"]


@pytest.mark.siege
def test_new_settings_are_another_key(api: Api) -> None:
    search(api)
    old = api.revision
    api.write_settings('{"rag": {"hybridSearchWeight": 0.3}}')
    api.await_until(lambda: api.revision != old)
    assert not search(api)["from_cache"]
    api.restore_settings()
    api.await_until(lambda: api.revision == old)
    assert search(api)["from_cache"]
