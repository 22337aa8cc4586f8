"""The job that extracts entities and relations with a chat model, document by document (docs/adr/0028).

    passages -> what is cached -> calls in batches, each kept as it arrives -> one short transaction per document

The documents can be searched by the rules' graph meanwhile, and no lock is held during a call. Run again after a crash it
goes on with the batch that it was at. A cap ends it with a note; a later run goes on from there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from cairn.domain.graph import DocumentGraph
from cairn.domain.principal import Principal
from cairn.domain.trace import Spend
from cairn.graph.model import (
    ModelPassage,
    Said,
    batches,
    extractor,
    from_json,
    place_names,
    question,
    read_reply,
    to_json,
)
from cairn.graph.rows import graph_rows
from cairn.ingest.model_jobs import MODEL as KIND
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.model_work import ModelWork
from cairn.jobs.outcome import NotHereError
from cairn.providers.metered import Account, learn_name
from cairn.providers.protocols import ChatModel
from cairn.settings import Settings
from cairn.store import documents, extractions, graph_stage
from cairn.store.extractions import PendingDocument
from cairn.store.session import Database

__all__ = ["KIND", "extract_with_model"]


def extract_with_model(
    database: Database,
    settings: Callable[[], Settings],
    chat_for: Callable[[Settings], ChatModel | None],
    account_of: Callable[[Principal], Account | None],
) -> Handler:
    """The handler. Payload: collection_id. Result: documents, passages, calls, cached passages, entities, relations,
    items dropped by reason, tokens, cost, and `stopped` with what is `left` where it did not come to the end."""

    async def handle(context: JobContext) -> dict[str, Any]:
        now = settings()
        chat = chat_for(now)
        if not (now.graph.enabled and now.graph.model.enabled):
            return {"stopped": "graph.model.enabled is off"}
        if chat is None:
            raise NotHereError("no chat model is configured in the process that took it")
        await learn_name(chat)  # what it writes is kept under its name
        work = ModelWork(
            database, context, chat, now, now.graph.model, account_of(context.principal), "graph.model", "extract",
            "extracting",
        )  # fmt: skip
        return await _Extraction(work, UUID(context.job.payload["collection_id"]), extractor(chat.name)).run()

    return handle


@dataclass
class _Extraction:
    work: ModelWork
    collection_id: UUID
    extractor: str
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def _principal(self) -> Principal:
        return self.work.context.principal

    async def run(self) -> dict[str, Any]:
        principal, collection_id = self._principal, self.collection_id
        stopped = await self.work.go_through(
            lambda connection, after, limit: extractions.list_pending(
                connection, principal, collection_id, self.extractor, after=after, limit=limit
            ),
            self._document,
        )
        return await self.work.sum_up(
            ("documents", "passages", "cached", "entities", "relations"), {"dropped": dict(self.dropped)}, stopped,
            lambda connection: extractions.count_pending(connection, principal, collection_id, self.extractor),
        )  # fmt: skip

    async def _document(self, document: PendingDocument) -> bool:
        """Whether it was merged: not where it has become another version, or is gone."""
        principal = self._principal
        async with self.work.database.transaction(principal, readonly=True) as connection:
            text = await documents.text(connection, principal, document.id)
            rows = await extractions.passages(connection, principal, document.id)
            if text is None or text[0] != document.version:
                return False
            passages = [_passage(text[1], row) for row in rows]
            said = {
                digest: from_json(stored)
                for digest, stored in (
                    await extractions.load_cached(
                        connection, principal, document.id, self.extractor, [p.digest for p in passages]
                    )
                ).items()
            }
        self.work.tally["cached"] += sum(one.digest in said for one in passages)
        missing = {one.digest: one for one in passages if one.digest not in said}
        for batch in batches(missing.values(), self.work.settings.graph.model.batch_tokens):
            said |= await self._asked(document, batch)
        graph = await asyncio.to_thread(self._graph, text[1], passages, said)
        return await self._merge(document, passages, said, graph)

    # --- calls ----------------------------------------------------------------------------------------------------------

    async def _asked(self, document: PendingDocument, batch: Sequence[ModelPassage]) -> dict[bytes, Said]:
        """What the model says of each passage; those that its reply leaves out are asked again alone, once."""
        replies = await self._call(document, batch)
        said = {one.digest: reply for one, reply in zip(batch, replies, strict=True) if reply is not None}
        for one, reply in zip(batch, replies, strict=True):
            if reply is None and len(batch) > 1:
                said |= await self._asked(document, [one])
            elif reply is None:
                said[one.digest] = Said(dropped={"unread": 1})
                await self._keep(document, {one.digest: said[one.digest]})
        return said

    async def _call(self, document: PendingDocument, batch: Sequence[ModelPassage]) -> list[Said | None]:
        """One call; what it says is kept with what it cost. Raises ProviderError, and CapReachedError instead of calling."""
        reply, spend = await self.work.call(document, question(batch), lambda failed: self._keep(document, {}, failed))
        if reply is None:
            return [None] * len(batch)
        found = read_reply(reply, batch)
        known = {one.digest: said for one, said in zip(batch, found, strict=True) if said is not None}
        await self._keep(document, known, spend)
        return found

    async def _keep(self, document: PendingDocument, said: dict[bytes, Said], spend: Spend = Spend()) -> None:
        stored = {digest: to_json(one) for digest, one in said.items()}
        async with self.work.database.transaction(self._principal) as connection:
            await extractions.keep(connection, self.collection_id, document.id, self.extractor, stored)
            await self.work.note_usage(connection, spend)

    # --- what comes of them ---------------------------------------------------------------------------------------------

    def _graph(self, text: str, passages: Sequence[ModelPassage], said: dict[bytes, Said]) -> DocumentGraph:
        extracted = [(one.id, place_names(said[one.digest], one.start)) for one in passages]
        return graph_rows(text, extracted, self.work.settings.graph)

    async def _merge(
        self, document: PendingDocument, passages: Sequence[ModelPassage], said: dict[bytes, Said], graph: DocumentGraph
    ) -> bool:
        stored = {digest: to_json(one) for digest, one in said.items()}
        async with self.work.database.transaction(self._principal) as connection:
            await extractions.keep(connection, self.collection_id, document.id, self.extractor, stored)
            await graph_stage.stage(connection, self.collection_id, graph, by_model=True)
            done = await extractions.merge(
                connection, self.collection_id, document, self.extractor, [one.id for one in passages]
            )
        if done:
            counted = {"documents": 1, "passages": len(passages), "entities": len(graph.mentions)}
            self.work.tally.update(counted, relations=len(graph.evidence))
            for one in passages:
                self.dropped.update(said[one.digest].dropped)
        return done


def _passage(text: str, row: Any) -> ModelPassage:
    return ModelPassage(row["id"], row["char_start"], text[row["char_start"] : row["char_end"]], row["token_count"])
