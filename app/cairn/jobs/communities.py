"""The job that brings the communities of a collection up to date. Run again after a crash it completes what is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.graph.refresh import due, refresh, write_summaries
from cairn.jobs.context import Handler, JobContext
from cairn.providers.metered import Account, Meter
from cairn.providers.protocols import ChatModel
from cairn.settings import Settings
from cairn.store.session import Database

ROUNDS = 3
"""While it runs no further one can be queued, so it looks again; what changes faster is left to the next job."""


def refresh_communities(
    database: Database,
    settings: Callable[[], Settings],
    chat_for: Callable[[Settings], ChatModel | None],
    account_of: Callable[[Principal], Account | None],
) -> Handler:
    """The handler. Payload: collection_id. Result: communities, written, removed and overtaken of the last round; {} where
    a refresh was made since the job was queued; `by_model` what a chat model did."""

    async def handle(context: JobContext) -> dict[str, Any]:
        collection_id, result = UUID(context.job.payload["collection_id"]), dict[str, Any]()

        async def report(done: int, total: int) -> None:
            await context.progress(done, total, "communities")

        for _ in range(ROUNDS):
            async with database.transaction(context.principal, readonly=True) as connection:
                stale = await due(connection, context.principal, collection_id, settings())
            if stale is None:
                break
            found = await refresh(database, context.principal, collection_id, settings().graph.communities, report)
            result = asdict(found)
        now = settings()
        chat = chat_for(now) if now.graph.communities.written else None
        if chat and result:
            wanted, seconds = now.graph.communities, now.answer.timeout_seconds
            meter = Meter(now.answer.prices, account_of(context.principal))
            metered = meter.chat(chat, "community")
            made = await write_summaries(database, context.principal, collection_id, metered, wanted, seconds)
            result["by_model"] = {"written": made.count, "problem": made.problem, **meter.spend.usage()}
        return result

    return handle
