"""Reindexing: documents are cut and embedded anew from their stored text while the old index serves."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cairn.domain.document import Source
from cairn.domain.job import Job
from cairn.service import models as model_service
from cairn.service.documents import get_collection, get_document, index_now, list_documents
from cairn.service.jobs import get_job
from cairn.settings import ChunkingSettings, JobsSettings, Settings, SettingsStore
from cairn.wiring import Services
from tests.documents import find, index_texts, text_source
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

MARKDOWN = "# Guide\n\nIntroduction.\n\n" + "\n\n".join(
    f"## Chapter {i}\n\n" + f"Cairn {i} marks the trail over granite. " * 25 for i in range(6)
)
SMALLER = Settings(
    chunking=ChunkingSettings(passage_size=600, passage_overlap=50, chunk_size=200, chunk_overlap=20),
    jobs=JobsSettings(retry_seconds=0),
)


def with_settings(services: Services, settings: Settings) -> Services:
    return replace(services, settings=SettingsStore(initial=settings))


def markdown(name: str = "guide.md", text: str = MARKDOWN) -> Source:
    return Source(name, name, text.encode())


async def run(services: Services, *, force: bool = False) -> Job:
    job = await model_service.start_reindex(services, "test", force=force)
    await services.worker().run_until_idle()
    return await get_job(services, job.id)


async def pieces(services: Services, table: str) -> list[tuple[Any, ...]]:
    """All rows without their ids."""
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            f"SELECT p.ordinal, p.char_start, p.char_end, p.page, p.headings, p.content, p.token_count, d.version "
            f"FROM rag.{table} p JOIN rag.documents d ON d.id = p.document_id ORDER BY d.external_id, p.ordinal"
        )
    return [tuple(row) for row in rows]


async def test_unchanged_documents_are_left_alone(services: Services) -> None:
    await index_now(
        services, "test", [markdown(), text_source("plain", "A note."), text_source("t", "Titled.", "Title")]
    )
    before = await get_collection(services, "test")
    job = await run(services)
    assert job.result == {"redone": 0, "unchanged": 3, "overtaken": 0}
    assert (await get_collection(services, "test")).epoch == before.epoch


async def test_new_settings_give_what_a_fresh_index_would_have(services: Services) -> None:
    """Headings, spans, tokens and vectors are those of an ingestion with these settings; the version stays."""
    await index_now(services, "test", [markdown(), text_source("plain", "A note. " * 200)])
    smaller = with_settings(services, SMALLER)
    job = await run(smaller)
    assert job.result == {"redone": 2, "unchanged": 0, "overtaken": 0}
    assert {document.version for document in await list_documents(services, "test")} == {1}
    redone = {table: await pieces(services, table) for table in ("passages", "chunks")}

    await index_now(smaller, "fresh", [markdown(), text_source("plain", "A note. " * 200)])
    found = {c: await get_collection(services, c) for c in ("test", "fresh")}
    assert found["test"].chunk_count == found["fresh"].chunk_count > 20
    assert found["test"].passage_count == found["fresh"].passage_count
    from cairn.service.documents import delete_collection

    await delete_collection(services, "test")
    assert {table: await pieces(services, table) for table in ("passages", "chunks")} == redone


async def test_statistics_are_exact_afterwards(services: Services) -> None:
    """BM25 after a reindexing equals BM25 of a fresh index."""
    await index_now(services, "test", [markdown(), text_source("plain", "A note on granite. " * 50)])
    smaller = with_settings(services, SMALLER)
    await run(smaller)
    await index_now(smaller, "fresh", [markdown(), text_source("plain", "A note on granite. " * 50)])
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT c.name, sum(s.passage_count) AS n, sum(s.total_length) AS length, "
            "(SELECT sum(t.document_frequency) FROM rag.lexical_terms t WHERE t.collection_id = c.id) AS df "
            "FROM rag.collections c JOIN rag.lexical_stats s ON s.collection_id = c.id GROUP BY c.id, c.name ORDER BY 1"
        )
    assert tuple(rows[0])[1:] == tuple(rows[1])[1:]


async def test_pages_are_kept(services: Services) -> None:
    """The loaded form is not stored: page starts come from the old passages' landmarks."""
    from cairn.ingest.reindex import recover

    rows = [
        {"landmarks": [[0, 1, []], [700, 2, []]]},
        {"landmarks": [[500, 1, []], [700, 2, []], [1500, 4, []]]},
    ]
    loaded = recover("x" * 2000, "application/pdf", rows)
    assert [(page.start, page.number) for page in loaded.pages] == [(0, 1), (700, 2), (1500, 4)]
    assert loaded.markup == "markdown"
    assert recover("x", "text/x-python", []).code_language == "python"
    assert recover("x", "text/html", []).markup == "markdown"


async def test_forced_all_are_redone_and_vectors_reused(services: Services) -> None:
    await index_texts(services, {f"d{i}": f"note {i}" for i in range(5)})
    job = await run(services, force=True)
    assert job.result == {"redone": 5, "unchanged": 0, "overtaken": 0}
    assert (job.progress.done, job.progress.total) == (5, 5)
    assert len((await find(services, "note", legs=("vector",))).passages) == 5
    # a second attempt of the same job compares, and has nothing left to do
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("UPDATE rag.jobs SET status = 'queued', attempts = 0 WHERE id = $1", job.id)
    await services.worker().run_until_idle()
    assert (await get_job(services, job.id)).result == {"redone": 0, "unchanged": 5, "overtaken": 0}


async def test_what_was_begun_before_and_published_after_is_cut_anew_too(services: Services) -> None:
    """An indexing under way when the settings changed publishes what the old ones said, after the job was ordered."""
    await index_now(services, "test", [markdown("early.md")])
    changed = with_settings(services, SMALLER)
    job = await model_service.start_reindex(changed, "test", force=True)
    await index_now(services, "test", [markdown("late.md")])
    await index_now(changed, "test", [markdown("new.md")])
    await changed.worker().run_until_idle()
    assert (await get_job(services, job.id)).result == {"redone": 2, "unchanged": 1, "overtaken": 0}
    rows = await pieces(services, "passages")
    assert rows[: len(rows) // 3] == rows[len(rows) // 3 : 2 * len(rows) // 3] == rows[2 * len(rows) // 3 :]


async def test_the_old_index_serves_until_each_swap(services: Services) -> None:
    """Searches run all the while, and each finds every document exactly once."""
    texts = {f"d{i}": f"note {i} about granite. " * 60 for i in range(12)}
    await index_texts(services, texts)
    smaller = with_settings(services, SMALLER)
    await model_service.start_reindex(smaller, "test", force=False)
    working = asyncio.create_task(smaller.worker().run_until_idle())
    seen = 0
    while not working.done():
        result = await find(services, "granite", group_by="document", top_k=20)
        assert sorted(p.external_id for p in result.passages) == sorted(texts)
        seen += 1
    await working
    assert seen > 3


async def test_text_and_spans_still_agree(services: Services) -> None:
    await index_now(services, "test", [markdown()])
    await run(with_settings(services, SMALLER))
    [document] = await list_documents(services, "test")
    _, text = await get_document(services, "test", document.id)
    assert text is not None
    result = await find(services, "cairn 3 granite", top_k=5)
    assert result.passages
    for passage in result.passages:
        assert text[passage.start : passage.end] == passage.content
        assert passage.version == 1
    assert any(p.headings == ("Guide", "Chapter 3") for p in result.passages)


@pytest.mark.parametrize("force", [False, True])
async def test_a_cancelled_job_stops(services: Services, force: bool) -> None:
    from cairn.service.jobs import cancel_job

    await index_texts(services, {"a": "note"})
    job = await model_service.start_reindex(services, "test", force=force)
    await cancel_job(services, job.id)
    assert await services.worker().run_until_idle() == 0


async def test_a_title_is_told_from_a_name_by_what_was_embedded(services: Services) -> None:
    """A document without a title shows its name, which must not creep into its vectors."""
    await index_now(services, "test", [text_source("named.txt", "A note."), text_source("t", "A note.", "Heights")])
    assert (await run(services, force=True)).result == {"redone": 2, "unchanged": 0, "overtaken": 0}
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch("SELECT search_terms FROM rag.passages ORDER BY search_terms")
    assert ["named" in row["search_terms"] for row in rows] == [False, False]
    assert (await run(services)).result == {"redone": 0, "unchanged": 2, "overtaken": 0}
