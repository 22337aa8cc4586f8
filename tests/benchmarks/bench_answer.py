"""What a question without a chat model costs, against a search: processor time of the process, PostgreSQL not counted."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

import cairn
from cairn.providers.minilm import find_model

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
ROUNDS: Final = 3
TOPICS: Final = (
    "retrieval cache", "conversation", "embedded PostgreSQL", "vector index", "chunk of a passage", "knowledge graph", "trace",
    "reranking with Cohere", "resumable run", "row security", "community", "tenant", "migration", "budget of an agent",
)  # fmt: skip
FORMS: Final = ("What is the {} for?", "When is the {} refreshed?", "How many bytes does the {} take?")


async def test_a_question_against_a_search(database: str, tmp_path: Path) -> None:
    """Each text is new to the caches, in both; turns alternate, so that both meet the same load."""
    if find_model(tmp_path) is None:
        pytest.skip("no embedding model")
    searching, asking = 0.0, 0.0
    async with cairn.open(tmp_path, database_url=database) as rag:
        await rag.ingest(DOCS, collection="bench")
        await rag.ask("What warms the models up?", collection="bench")
        texts = [form.format(topic) for topic in TOPICS for form in FORMS][: ROUNDS * len(TOPICS)]
        for text in texts:
            searching += await _processor_seconds(lambda text=text: rag.search(f"{text} searched", collection="bench"))
            asking += await _processor_seconds(lambda text=text: rag.ask(text, collection="bench", strategy="fast"))
    print(json.dumps(_figures(texts, searching, asking)))


def _figures(texts: Sequence[str], searching: float, asking: float) -> dict[str, Any]:
    return {
        "questions": len(texts),
        "search_cpu_ms": round(1000 * searching / len(texts), 1),
        "question_cpu_ms": round(1000 * asking / len(texts), 1),
        "question_to_search": round(asking / searching, 2),
    }


async def _processor_seconds(work: Callable[[], Awaitable[Any]]) -> float:
    before = time.process_time()
    await work()
    return time.process_time() - before
