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
from typing import Any, Final
from uuid import UUID

from cairn.domain.graph import DocumentGraph
from cairn.domain.principal import Principal
from cairn.domain.trace import Spend
from cairn.errors import BudgetExceededError, ProviderError, ProviderResponseError
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
from cairn.ingest.extraction import MODEL as KIND
from cairn.jobs.caps import CapReachedError, spent, stop_note
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.outcome import NotHereError
from cairn.providers.metered import Account, Meter
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.tokens import estimate
from cairn.settings import Settings
from cairn.store import documents, extractions, graph_stage, model_usage
from cairn.store.extractions import PendingDocument
from cairn.store.session import Database

__all__ = ["KIND", "extract_with_model"]

BATCH_DOCUMENTS: Final = 20
FIRST: Final = UUID(int=0)
REFUSED: Final = frozenset({400, 413, 422})
"""HTTP statuses by which a server refuses this one request: too long, or not to its liking."""


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
        run = _Run(
            database,
            context,
            chat,
            now,
            account_of(context.principal),
            UUID(context.job.payload["collection_id"]),
            extractor(chat.name),
        )
        stopped = None
        try:
            while await run.once():
                pass
        except CapReachedError as reached:
            stopped = f"{reached}; documents that are left are done by a later run"
        return await run.result(stopped)

    return handle


@dataclass
class _Run:
    database: Database
    context: JobContext
    chat: ChatModel
    settings: Settings
    account: Account | None
    collection_id: UUID
    extractor: str
    tally: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    async def once(self) -> bool:
        """Every document that waits; whether there was any, since others may have come or changed meanwhile."""
        principal, after, merged = self.context.principal, FIRST, 0
        while True:
            async with self.database.transaction(principal, readonly=True) as connection:
                waiting = await extractions.list_pending(
                    connection, principal, self.collection_id, self.extractor, after=after, limit=BATCH_DOCUMENTS
                )
            for document in waiting:
                merged += await self._document(document)
            if not waiting:
                return merged > 0
            after = waiting[-1].id

    async def _document(self, document: PendingDocument) -> bool:
        """Whether it was merged: not where it has become another version, or is gone."""
        principal = self.context.principal
        async with self.database.transaction(principal, readonly=True) as connection:
            text = await documents.text(connection, principal, document.id)
            rows = await extractions.passages(connection, principal, document.id)
            if text is None or text[0] != document.version:
                return False
            passages = [_passage(text[1], row) for row in rows]
            said = {
                digest: from_json(stored)
                for digest, stored in (
                    await extractions.load_cached(connection, principal, self.extractor, [p.digest for p in passages])
                ).items()
            }
        self.tally["cached"] += sum(one.digest in said for one in passages)
        missing = {one.digest: one for one in passages if one.digest not in said}
        for batch in batches(missing.values(), self.settings.graph.model.batch_tokens):
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
        limits, filled = self.settings.graph.model, question(batch)
        size = estimate(filled.system) + estimate(filled.user)
        await self._check(size)
        await self.context.progress(self.tally["documents"], None, f"extracting with {self.chat.name}")
        meter = Meter(self.settings.answer.prices, self.account)
        try:
            reply = await meter.chat(self.chat, "extract").complete(
                [Message("system", filled.system), Message("user", filled.user)],
                temperature=0.0, max_tokens=limits.max_output_tokens, timeout=limits.timeout_seconds,
            )  # fmt: skip
        except BudgetExceededError as error:
            raise CapReachedError(f"the job has used up {error.reason}") from None
        except ProviderError as error:
            await self._keep(document, {}, meter.spend)
            if not self._concerns_text(error):
                raise
            return [None] * len(batch)
        self.tally["answered"] += 1
        found = read_reply(reply.text, batch)
        known = {one.digest: said for one, said in zip(batch, found, strict=True) if said is not None}
        await self._keep(document, known, meter.spend)
        return found

    def _concerns_text(self, error: ProviderError) -> bool:
        """Whether another passage may fare better: an empty reply, or a refusal by a server that has answered before."""
        if isinstance(error, ProviderResponseError):
            return not error.blames_server
        return self.tally["answered"] > 0 and error.extra.get("upstream_status") in REFUSED

    async def _check(self, size: int) -> None:
        limits, prices, principal = self.settings.graph.model, self.settings.answer.prices, self.context.principal
        async with self.database.transaction(principal, readonly=True) as connection:
            used = await model_usage.usage(connection, principal, self.context.job)
        if note := stop_note("graph.model", limits, prices, self.chat.name, used, (size, limits.max_output_tokens)):
            raise CapReachedError(note)

    async def _keep(self, document: PendingDocument, said: dict[bytes, Said], spend: Spend | None = None) -> None:
        stored = {digest: to_json(one) for digest, one in said.items()}
        async with self.database.transaction(self.context.principal) as connection:
            await extractions.keep(connection, self.collection_id, document.id, self.extractor, stored)
            if spend and spend.calls:
                await model_usage.note_usage(
                    connection, self.context.principal, self.context.job, self.chat.name, spend
                )

    # --- what comes of them ---------------------------------------------------------------------------------------------

    def _graph(self, text: str, passages: Sequence[ModelPassage], said: dict[bytes, Said]) -> DocumentGraph:
        extracted = [(one.id, place_names(said[one.digest], one.start)) for one in passages]
        return graph_rows(text, extracted, self.settings.graph)

    async def _merge(
        self, document: PendingDocument, passages: Sequence[ModelPassage], said: dict[bytes, Said], graph: DocumentGraph
    ) -> bool:
        stored = {digest: to_json(one) for digest, one in said.items()}
        async with self.database.transaction(self.context.principal) as connection:
            await extractions.keep(connection, self.collection_id, document.id, self.extractor, stored)
            await graph_stage.stage(connection, self.collection_id, graph, by_model=True)
            done = await extractions.merge(
                connection, self.collection_id, document, self.extractor, [one.id for one in passages]
            )
        if done:
            counted = {"documents": 1, "passages": len(passages), "entities": len(graph.mentions)}
            self.tally.update(counted, relations=len(graph.evidence))
            for one in passages:
                self.dropped.update(said[one.digest].dropped)
        return done

    async def result(self, stopped: str | None) -> dict[str, Any]:
        principal = self.context.principal
        async with self.database.transaction(principal) as connection:
            used = await model_usage.usage(connection, principal, self.context.job)
            left = await extractions.count_pending(connection, principal, self.collection_id, self.extractor)
        cost = spent((one for one in used if one.own), self.settings.answer.prices).usage()
        counts = {name: self.tally[name] for name in ("documents", "passages", "cached", "entities", "relations")}
        spend = {name: cost[name] for name in ("input_tokens", "output_tokens", "cost")}
        calls = sum(one.calls for one in used if one.own)
        end = {"stopped": stopped, "left": left} if stopped else {}
        return {"model": self.chat.name, **counts, "dropped": dict(self.dropped), "calls": calls, **spend, **end}


def _passage(text: str, row: Any) -> ModelPassage:
    return ModelPassage(row["id"], row["char_start"], text[row["char_start"] : row["char_end"]], row["token_count"])
