"""Synchronisations of sources, as the worker of the product does them, and what the collection `default` has then."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from cairn.domain.connected_source import ConnectedSource
from cairn.domain.principal import Caller
from cairn.jobs.sources import SYNC_SOURCE
from cairn.service import sources
from cairn.service.documents import list_documents
from cairn.wiring import Services


async def work(services: Services) -> None:
    await services.worker(kinds={SYNC_SOURCE}).run_until_idle()


async def again(services: Services, source_id: UUID, **asked: bool) -> ConnectedSource:
    await sources.sync(services, source_id, **asked)
    await work(services)
    return await sources.get_source(services, source_id)


async def ids(services: Services) -> set[str]:
    return {one.external_id for one in await list_documents(services, "default")}


def stranger(services: Services) -> Services:
    """Somebody who reads what everybody in the tenant may read."""
    return replace(services, principal=replace(services.principal, caller=Caller("ext", "ext", frozenset({"read"}))))


async def stop_waiting(services: Services, job_id: UUID) -> None:
    """A job that let others have their turn waits for some seconds."""
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "UPDATE rag.jobs SET run_at = statement_timestamp() WHERE id = $1 AND status = 'queued'", job_id
        )
