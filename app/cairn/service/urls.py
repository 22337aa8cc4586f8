"""Pages that Cairn fetches by their addresses, once for all surfaces: checked at once, fetched and indexed by a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cairn.domain.document import check_metadata
from cairn.domain.job import Job
from cairn.errors import InputError
from cairn.jobs.urls import FETCH_URLS
from cairn.providers.fetch_pages import check_url
from cairn.service.documents import check_collection_name, ensure_collection
from cairn.store import jobs
from cairn.wiring import Services

MAX_URLS = 100
"""Of one request: the job fetches them one after another."""


def is_url(text: str) -> bool:
    """Whether it is meant as an address of a page, and not as a path."""
    return text.lower().startswith(("http://", "https://"))


async def fetch_later(
    services: Services, collection: str, urls: Sequence[str], metadata: Mapping[str, Any] | None = None
) -> Job:
    """Enqueue the job that fetches and indexes the pages. Its address, without a fragment, is the id of a page.

    Raises InputError, AddressRefusedError where one of the addresses is not allowed: then none is fetched.
    """
    if not 1 <= len(urls) <= MAX_URLS:
        raise InputError(f"name 1 to {MAX_URLS} addresses at once, not {len(urls):,}")
    check_metadata(metadata or {})
    check_collection_name(collection)
    settings = services.settings.current
    wanted = list(dict.fromkeys(check_url(url, settings.urls) for url in urls))
    target = await ensure_collection(services, collection)
    payload = {
        "collection": target.name, "collection_id": str(target.id), "urls": wanted, "metadata": dict(metadata or {}),
    }  # fmt: skip
    async with services.database.transaction(services.principal) as connection:
        return await jobs.enqueue(
            connection, services.principal, FETCH_URLS, payload, max_attempts=settings.jobs.max_attempts
        )
