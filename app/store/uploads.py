"""rag.uploads: files that wait for a worker. Functions take a connection inside a transaction of the tenant."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from app.db.queries import load_queries
from app.domain.document import Source
from app.domain.ids import new_id
from app.domain.job import Upload
from app.domain.principal import Principal

_SQL = load_queries("uploads")
_SOURCE = ("external_id", "name", "content", "title", "media_type", "metadata")


async def add(connection: Any, principal: Principal, *, job_id: UUID, collection_id: UUID, source: Source) -> UUID:
    """Keep the bytes for the job; in the transaction that enqueues it, so that neither exists without the other."""
    upload_id = new_id()
    texts = (source.external_id, source.name, source.title, source.media_type)
    await connection.execute(
        _SQL["add"],
        *(principal.tenant_id, upload_id, collection_id, job_id, *texts, dict(source.metadata), source.content),
    )
    return upload_id


async def get(connection: Any, principal: Principal, upload_id: UUID) -> Upload | None:
    row = await connection.fetchrow(_SQL["get"], principal.tenant_id, upload_id)
    if row is None:
        return None
    source = Source(**{name: row[name] for name in _SOURCE})
    return Upload(row["id"], row["job_id"], row["collection_id"], source)


async def of_job(connection: Any, principal: Principal, job_id: UUID) -> list[UUID]:
    """Ids of the files that the job has not done yet, in order of arrival; without their bytes."""
    return [row["id"] for row in await connection.fetch(_SQL["of_job"], principal.tenant_id, job_id)]


async def delete(connection: Any, principal: Principal, upload_id: UUID) -> bool:
    """In the transaction that stores the document: a job that is resumed goes on with the files still left."""
    return await connection.fetchval(_SQL["delete"], principal.tenant_id, upload_id) is not None
