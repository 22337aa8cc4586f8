"""The job that fetches pages by their addresses and indexes them. Run again it meets what is stored as duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

from cairn.domain.document import Rejected, Source, upload_result
from cairn.errors import FetchError, InputError, TooLargeError
from cairn.graph.refresh import follow
from cairn.ingest.pipeline import Target, ingest
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.documents import epoch_of
from cairn.providers.fetch_pages import FetchedPage, PageFetcher
from cairn.store import documents
from cairn.store.session import Database

FETCH_URLS = "fetch_urls"
PAGE_ERRORS = (FetchError, InputError, TooLargeError)
"""Failures of one page; the others go on."""


def fetch_urls(
    database: Database, target_for: Callable[[JobContext, UUID], Target], fetcher: Callable[[], PageFetcher]
) -> Handler:
    """The handler. Payload: collection_id, urls, metadata. Its result is that of an upload."""

    async def handle(context: JobContext) -> dict[str, Any]:
        payload = context.job.payload
        urls, metadata = payload["urls"], payload["metadata"]
        target, pages, failed = target_for(context, UUID(payload["collection_id"])), fetcher(), list[Rejected]()
        read = set[str]()

        async def sources() -> AsyncIterator[Source]:
            for number, url in enumerate(urls):
                await context.progress(number, len(urls), url)
                try:
                    page = await pages.fetch(url)
                except PAGE_ERRORS as error:
                    failed.append(Rejected(url, url, error.code, error.detail))
                else:
                    name = await _name_of(database, context, target.collection_id, page)
                    if name in read:  # two addresses that lead to one
                        continue
                    read.add(name)
                    yield Source(name, page.name, page.content, media_type=page.media_type, metadata=metadata)

        outcomes = await ingest(database, target, sources(), check=context.check_cancelled)
        await follow(database, context.principal, target.collection_id, target.settings)
        await context.progress(len(urls), len(urls), "done")
        epoch = await epoch_of(database, context.principal, target.collection_id)
        return upload_result([*outcomes, *failed], epoch)

    return handle


async def _name_of(database: Database, context: JobContext, collection_id: UUID, page: FetchedPage) -> str:
    """Where the page was in the end, unless it has readers by the address that was asked for, and would be open there."""
    if page.asked == page.url:
        return page.url
    async with database.transaction(context.principal) as connection:
        keeps = await documents.keeps_address(connection, collection_id, page.asked, page.url)
    return page.asked if keeps else page.url
