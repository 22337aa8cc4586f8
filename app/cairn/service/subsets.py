"""A collection of its own for a topic: the documents of another one that say most about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cairn.domain.document import Source
from cairn.domain.job import Job
from cairn.domain.passage import Passage
from cairn.errors import CairnError, NotFoundError
from cairn.service.documents import (
    check_collection_name,
    create_collection,
    delete_collection,
    get_document,
    index_later,
)
from cairn.service.search import make_request, run_search
from cairn.wiring import Services

READABLE = "text/markdown"
"""What the normalised text of a PDF or an office file is read as."""
LEAST: Final = 0.005
"""Score of a document that is copied: below, it is shown as 0.00, the least of all that were looked at (a bound)."""


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """The job that fills the new collection, and the best passage of each document in it, best first."""

    job: Job
    chosen: Sequence[Passage]


async def create_custom_index(
    services: Services,
    name: str,
    topic: str,
    collection: str,
    *,
    filters: Mapping[str, Any] | None = None,
    max_documents: int,
) -> TopicSelection:
    """Copy the documents that a search for `topic` finds into a new collection, text and metadata: it lives on its own, and a
    later change of the original does not reach it. Pages of PDFs are not kept.

    Raises InputError, ForbiddenError where one is restricted and the caller may not say who reads the copy, ConflictError where
    the name is taken, NotFoundError where nothing is found, TenantFullError.
    """
    check_collection_name(name)
    request = make_request(
        services.settings.current, topic, [collection], top_k=max_documents, filters=filters, group_by="document"
    )
    found = [one for one in (await run_search(services, request)).passages if one.score >= LEAST]
    if not found:
        raise NotFoundError(f"no document of {collection} says anything about this topic; try other words")
    await create_collection(services, name)
    try:
        job = await index_later(services, name, [await _copied(services, passage) for passage in found])
    except CairnError:
        await delete_collection(services, name)
        raise
    return TopicSelection(job, found)


async def _copied(services: Services, passage: Passage) -> Source:
    document, text = await get_document(services, passage.collection, passage.document_id)
    is_text = document.media_type.startswith("text/")
    return Source(
        document.external_id, document.external_id if is_text else f"{document.external_id}.md", (text or "").encode(),
        title=document.title, media_type=document.media_type if is_text else READABLE, metadata=document.metadata,
        access=None if document.access is None else tuple(document.access),
    )  # fmt: skip
