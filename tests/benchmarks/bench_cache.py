"""What an answer from the retrieval cache costs over HTTP: against an empty request and against a search."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cairn.providers.minilm import find_model

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "surface"))
from serving import serving

ROUNDS = 300
PASSAGE = "Granite cairns mark the trail across the ridge so that walkers find their way in fog. " * 22
BODY = {"query": "how do walkers find the trail?", "collection": "bench", "top_k": 10}


def test_a_hit_against_an_empty_request(database: str, tmp_path: Path) -> None:
    """Interleaved, so that all three meet the same load; results are ten passages of 1,900 characters."""
    model = find_model(tmp_path)
    if model is None:
        pytest.skip("no embedding model")
    with serving(database, tmp_path / "api", CAIRN_MODEL_DIR=str(model)) as api:
        api.index("bench", **{f"d{i}": f"{i} {PASSAGE}" for i in range(30)})

        def search(query: str) -> Any:
            return api.client.post("/search", json={**BODY, "query": query})

        search(BODY["query"])
        empty, hit, miss = [], [], []
        for turn in range(ROUNDS):
            empty.append(milliseconds(lambda: api.client.get("/health/live")))
            hit.append(milliseconds(lambda: search(BODY["query"])))
            if turn % 10 == 0:
                miss.append(milliseconds(lambda turn=turn: search(f"walkers on ridge {turn}")))
        assert search(BODY["query"]).json()["from_cache"]
        counts = api.client.get("/cache").json()
    report(empty, hit, miss, counts)


def milliseconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def report(empty: list[float], hit: list[float], miss: list[float], counts: dict[str, Any]) -> None:
    floor, cached, searched = (statistics.median(times) for times in (empty, hit, miss))
    figures = {
        "empty_ms": round(floor, 2), "hit_ms": round(cached, 2), "miss_ms": round(searched, 2),
        "hit_adds_ms": round(cached - floor, 2), "hit_to_empty": round(cached / floor, 2),
        "hit_share_of_miss": round((cached - floor) / (searched - floor), 3),
    }  # fmt: skip
    print("\n" + json.dumps({"benchmark": "cache", **figures}))
    assert counts["misses"] == 1 + ROUNDS / 10
    assert cached - floor < (searched - floor) / 2, "a hit is hardly cheaper than a search"
