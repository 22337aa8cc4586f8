"""Passages by their ids, for who was told one and wants to read it."""

from __future__ import annotations

from uuid import UUID

from cairn.domain.passage import Passage
from cairn.errors import NotFoundError
from cairn.store import audit, passages
from cairn.store.session import reads_contents
from cairn.wiring import Services


@reads_contents
async def get_passage(services: Services, passage_id: UUID) -> Passage:
    """Raises NotFoundError: there is none, it is another tenant's, or its document has changed since."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found = await passages.fetch(connection, services.principal, {passage_id: None})
    if passage_id not in found:
        raise NotFoundError(f"no passage {passage_id}; a document that changes gets new passages, so search again")
    document = found[passage_id].document_id
    await audit.record_restricted_reads(services.database, services.principal, "passage", [document])
    return found[passage_id]
