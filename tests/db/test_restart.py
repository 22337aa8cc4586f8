"""Settings that wait for a restart say so, and a collection tells which embedding model serves it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn import wiring
from cairn.service.models import get_embedding, start_reindex
from cairn.service.operation import describe_service
from cairn.service.restart import READ_AT_START
from cairn.wiring import Services
from tests.db.runs import change
from tests.documents import index_texts

LOCAL = "all-MiniLM-L6-v2:int8"


def warnings(services: Services) -> list[str]:
    return [note for note in describe_service(services).warnings if "restart" in note or "next start" in note]


async def test_what_the_start_reads_says_that_it_needs_a_restart(services: Services) -> None:
    assert warnings(services) == []
    change(services, "trace", queue_size=7)
    change(services, "providers", embedding_tokens=512, embedding_seconds=5.0)
    assert warnings(services) == [
        "needs a restart: providers.embeddingTokens (512 in the settings, 0 in force)",
        "needs a restart: providers.embeddingSeconds (5.0 in the settings, 60 in force)",
        "needs a restart: trace.queueSize (7 in the settings, 1000 in force)",
    ]
    change(services, "rag", embedding_model="text-embedding-3-small")
    change(services, "vector", precision="fp32")
    assert warnings(services)[0] == (
        f"needs a restart: rag.embeddingModel ('text-embedding-3-small' in the settings, '{LOCAL[:-5]}' in force)"
    )
    assert not any("precision" in note for note in warnings(services)), "only the local model has one"
    assert warnings(services)[-1].startswith(
        "the next start would fail: the embedding model 'text-embedding-3-small' needs"
    )
    change(services, "rag", embedding_model=LOCAL[:-5])
    assert any("vector.precision ('fp32' in the settings" in note for note in warnings(services))
    assert not [*services.environment.home.rglob("*fp32*")], (
        "a model is made at the start, not by asking what it will be"
    )


async def test_a_file_that_cannot_be_used_would_fail_the_next_start(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.settings, "problem", "unknown key 'rag.topk'")
    assert warnings(services) == ["settings: unknown key 'rag.topk'; the next start would fail"]


def test_nothing_else_is_read_only_at_the_start() -> None:
    """What wiring takes of the settings of the start stands in READ_AT_START; the rest is asked for anew each time."""
    source = Path(wiring.__file__).read_text()
    opening = source[source.index("async def open_services") : source.index("def _load_tables")]
    taken = set(re.findall(r"started_with\.([a-z_.]+)", opening)) | set(
        re.findall(r"(\w+)\(started_with\)", opening)
    )  # fmt: skip
    assert taken == {
        "providers",
        "embedding_model_name",
        "judge_model_name",
        "rag.embedding_model",
        "trace.queue_size",
    }, "READ_AT_START has to follow"
    assert len(READ_AT_START) == 5
    assert set(re.findall(r"settings\.current[\w.]*", opening.replace("lambda: settings.current", ""))) == {
        "settings.current",
        "settings.current.vector",
    }, "the snapshot itself, and how the index of a new model is built"


async def test_a_collection_tells_which_model_serves_it(services: Services) -> None:
    assert await get_embedding(services, "test") == {}
    await index_texts(services, {"a": "Tin works."})
    assert (await get_embedding(services))["test"].model == LOCAL
    assert (await get_embedding(services, "test"))["test"].state == "serving"
    await start_reindex(services, "test", force=True)
    assert (await get_embedding(services, "test"))["test"].state == "reindexing"
    await services.worker().run_until_idle()
    assert (await get_embedding(services, "test"))["test"].state == "serving"
