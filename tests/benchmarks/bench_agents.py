"""What a question costs in time by strategy, with a chat model that takes a fixed time for each reply: so that what is measured
is how many calls a strategy makes, how many of them side by side, and what Cairn does between them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import cairn
from cairn.providers.minilm import find_model

sys.path.append(str(Path(__file__).resolve().parents[1] / "contract"))

from agents import final, opening, search
from scripted_replies import score_passages
from scripted_server import ScriptedServer
from talking import Talking

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
REPLY_SECONDS: Final = 0.5
"""Of every call, as a small hosted model takes for a short reply."""
TOPICS: Final = (
    "retrieval cache",
    "vector index",
    "knowledge graph",
    "budget of an agent",
    "embedded PostgreSQL",
    "row security",
)
ANSWER: Final = "It is described there [1]."
FORMS: Final = "What does the guide say about the {}?"
STRATEGIES: Final = ("fast", "enhanced", "corrective", "iterative", "planned", "react")
SAID: Final[dict[str, Any]] = {
    "generate": ANSWER,
    "iterate": json.dumps({"answer": ANSWER, "missing": []}),
    "action": (search("retrieval"), opening(1), final(ANSWER)),
    "think": (
        'THOUGHT: look.\nACTION: retrieve_hybrid\nARGUMENTS: {"query": "retrieval"}',
        f"THOUGHT: enough.\nACTION: final_answer\nARGUMENTS: {json.dumps({'answer': ANSWER})}",
    ),
    "other": score_passages,
}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ScriptedServer, Talking]]:
    talking = Talking()

    def slowly(messages: list[dict[str, Any]]) -> str:
        time.sleep(REPLY_SECONDS)
        return talking(messages)

    with ScriptedServer(answer=slowly) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server, talking


async def test_a_question_by_strategy(database: str, tmp_path: Path, model: tuple[ScriptedServer, Talking]) -> None:
    if find_model(tmp_path) is None:
        pytest.skip("no embedding model")
    server, talking = model
    report: dict[str, Any] = {"reply_ms": 1000 * REPLY_SECONDS}
    for reranker in ("none", "llm"):
        settings = {
            "rag": {"rerankerProvider": reranker, "agenticRetrieval": {"enabled": True}}, "cache": {"enabled": False},
        }  # fmt: skip
        async with cairn.open(tmp_path, database_url=database, settings=settings) as rag:
            await rag.ingest(DOCS, collection="bench")
            await rag.search("warm up", collection="bench")
            for strategy in STRATEGIES if reranker == "none" else ("fast",):
                took, calls, tokens = [], [], []
                for topic in TOPICS:
                    talking.reset(**SAID)
                    before, began = len(server.requests), time.perf_counter()
                    answer = await rag.ask(FORMS.format(topic), collection="bench", strategy=strategy)
                    took.append(1000 * (time.perf_counter() - began))
                    calls.append(len(server.requests) - before)
                    tokens.append(answer.usage.get("input_tokens") or 0)
                name = strategy if reranker == "none" else f"{strategy}, reranked by the model"
                report[name] = {
                    "p50_ms": round(float(np.percentile(took, 50))), "p95_ms": round(float(np.percentile(took, 95))),
                    "calls": round(float(np.mean(calls)), 1),
                    "own_ms": round(float(np.percentile(took, 50)) - 1000 * REPLY_SECONDS * float(np.median(calls))),
                }  # fmt: skip
    print(json.dumps(report))
