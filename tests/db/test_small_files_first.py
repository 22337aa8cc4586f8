"""Files are taken in the order of their arrival, but small ones before large ones; and what people call a collection."""

from __future__ import annotations

import pytest

from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.job import Job
from cairn.errors import ConflictError, InputError, NotFoundError
from cairn.service.documents import (
    LARGE_BYTES,
    MOST_AHEAD,
    create_collection,
    get_collection,
    index_later,
    list_collections,
    rename_collection,
)
from cairn.service.jobs import list_waiting_files
from cairn.store import jobs
from cairn.wiring import Services
from tests.sharing import SHARED

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
