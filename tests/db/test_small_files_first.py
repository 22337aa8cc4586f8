"""Files are taken in the order of their arrival, but small ones before large ones; and what people call a collection."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.job import Job, WaitingFile
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.ingest.embed import GROUP_CHUNKS
from cairn.jobs import context
from cairn.jobs.context import JobContext
from cairn.jobs.documents import INDEX_UPLOADS, index_uploads
from cairn.providers.protocols import Embedder, Vectors
from cairn.service.documents import (
    LARGE_BYTES,
    MOST_AHEAD,
    create_collection,
    get_collection,
    index_later,
    list_collections,
    rename_collection,
)
from cairn.service.jobs import get_job, list_waiting_files
from cairn.store import jobs
from cairn.wiring import Services
from tests.sharing import ALONE, SHARED

pytestmark = SHARED
LARGE = b"a report\n" * (LARGE_BYTES // 9 + 1)


def _source(name: str, content: bytes) -> Source:
    return Source(name, name, content)


async def _queued(services: Services, *order: Job) -> list[Job]:
    """Those jobs in the order in which a worker takes them."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        listed = await jobs.list_(connection, services.principal)
    known = {job.id for job in order}
    return sorted((job for job in listed if job.id in known), key=lambda job: (job.run_at, job.id))


async def test_small_files_overtake_large_ones_and_each_has_its_place(services: Services) -> None:
    large = await index_later(services, "reports", [_source("ten-k.txt", LARGE)])
    small = await index_later(services, "reports", [_source("long.txt", b"b" * 2000), _source("short.txt", b"b")])
    assert [job.id for job in await _queued(services, large, small)] == [small.id, large.id]
    told = await list_waiting_files(services, [large.id, small.id])
    assert [(one.external_id, one.ahead, one.place, one.running, one.status) for one in told] == [
        ("short.txt", 0, 1, False, "pending"),
        ("long.txt", 0, 2, False, "pending"),
        ("ten-k.txt", 2, 1, False, "pending"),
    ]
    assert [one.byte_size for one in told] == [1, 2000, len(LARGE)]
    assert await list_waiting_files(services, [new_id()]) == []
    async with services.database.connection() as connection:
        waiting = (await jobs.queue_state(connection)).oldest_runnable_seconds
    assert waiting is not None
    assert waiting < MOST_AHEAD.total_seconds() / 2, "a head start is no wait"


class Watched:
    """An embedding model, all of whose texts are alike; how far files are is looked at before each of its calls."""

    def __init__(self, model: Embedder, look: Callable[[], Awaitable[list[WaitingFile]]]) -> None:
        self._model, self._look = model, look
        self.seen: list[float | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        [waiting] = await self._look()
        self.seen.append(waiting.share)
        return np.full((len(texts), self._model.dimensions), self._model.dimensions**-0.5, dtype=np.float32)


@pytest.mark.siege
@ALONE
async def test_how_far_a_large_file_is_can_be_seen(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "PROGRESS_SECONDS", 0.0)  # each report is written
    text = "\n\n".join(f"Stone {n} lies on ridge {n * 7} beside the cairn of {n * 13} walkers." for n in range(1800))
    ordered = await index_later(services, "reports", [_source("ten-k.txt", text.encode())])
    lease = timedelta(minutes=10)
    async with services.database.connection() as connection:
        claimed = await jobs.claim(connection, "me", [INDEX_UPLOADS], lease)
    assert claimed is not None
    principal, job = claimed
    target = services.target(principal, UUID(job.payload["collection_id"]))
    model = Watched(target.embedder, lambda: list_waiting_files(services, [ordered.id]))
    handle = index_uploads(services.database, lambda context, collection_id: replace(target, embedder=model))
    result = await handle(JobContext(services.database, principal, job, lease, time.monotonic()))
    chunks = result["uploaded"][0]["chunk_count"]
    assert chunks > 2 * GROUP_CHUNKS
    assert model.seen == [None, *(pytest.approx(made / chunks) for made in range(GROUP_CHUNKS, chunks, GROUP_CHUNKS))]
    assert (await get_job(services, job.id)).progress.shares == {}


async def test_a_newer_file_of_a_document_never_overtakes_the_older(services: Services) -> None:
    older = await index_later(services, "reports", [_source("a.txt", LARGE)])
    newer = await index_later(services, "reports", [_source("a.txt", b"now short")])
    other = await index_later(services, "others", [_source("a.txt", b"of another collection")])
    assert [job.id for job in await _queued(services, older, newer, other)] == [other.id, older.id, newer.id]


# --- what people call a collection ----------------------------------------------------------------------------------------


async def test_a_collection_is_called_as_people_call_it(services: Services) -> None:
    made = await create_collection(services, None, display_name="  Personnel \n 2024 ")
    assert (made.name, made.display_name, made.shown_name) == ("Personnel-2024", "Personnel 2024", "Personnel 2024")
    assert (await get_collection(services, "Personnel-2024")).display_name == "Personnel 2024"
    with pytest.raises(ConflictError, match="Personnel-2024"):
        await create_collection(services, None, display_name="Personnel, 2024")
    plain = await create_collection(services, "plain", display_name="plain")
    assert (plain.display_name, plain.shown_name) == (None, "plain")
    assert (await rename_collection(services, "plain", "Plain things")).shown_name == "Plain things"
    assert {one.name: one.shown_name for one in await list_collections(services)}["plain"] == "Plain things"
    assert (await rename_collection(services, "plain", None)).display_name is None
    for wrong in ("", " \u200b ", "x" * 201):
        with pytest.raises(InputError, match="display name"):
            await rename_collection(services, "plain", wrong)
    with pytest.raises(NotFoundError, match="missing"):
        await rename_collection(services, "missing", "Words")
