"""The job that gives each chunk a sentence of context by a chat model, document by document (docs/adr/0053).

    chunks -> what is cached -> a call for each passage, kept as it arrives -> vectors -> one short transaction

The documents can be searched meanwhile, and no lock is held during a call. Run again after a crash it goes on with the passage
that it was at. A cap ends it with a note; a later run goes on from there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from cairn.domain.principal import Principal
from cairn.domain.trace import Spend
from cairn.errors import BudgetExceededError, ProviderError, ProviderResponseError
from cairn.ingest.contexts import ChunkInPassage, WrittenContext, checked, question, read_reply, writer
from cairn.ingest.embed import ModelInUse, Target, embed_texts, in_use
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.ingest.loaders import kind_of_media_type
from cairn.ingest.reindex import title_was_embedded
from cairn.jobs.caps import CapReachedError, spent, stop_note
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.outcome import NotHereError
from cairn.prompts import Prompt
from cairn.providers.metered import Account, Meter
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.tokens import estimate
from cairn.settings import Settings
from cairn.store import contexts, documents, model_usage
from cairn.store.contexts import PlainDocument
from cairn.store.session import Database

BATCH_DOCUMENTS: Final = 20
PUT_CHUNKS: Final = 128
"""Vectors that one statement replaces."""
OUTPUT_PER_CHUNK: Final = 60
"""Tokens of a reply for one chunk, as the cap of a document estimates them."""
FIRST: Final = UUID(int=0)
REFUSED: Final = frozenset({400, 413, 422})
"""HTTP statuses by which a server refuses this one request: too long, or not to its liking."""
OVER_CAP: Final = "enrichment.maxTokensPerDocument is reached"
UNREAD: Final = "no usable reply"


def enrich(
    database: Database,
    settings: Callable[[], Settings],
    chat_for: Callable[[Settings], ChatModel | None],
    target_for: Callable[[JobContext, UUID], Target],
    account_of: Callable[[Principal], Account | None],
) -> Handler:
    """The handler. Payload: collection_id. Result: documents, chunks, how many of them have a context or were cached, why
    others have none, calls, tokens, cost, and `stopped` with what is `left` where it did not come to the end."""

    async def handle(context: JobContext) -> dict[str, Any]:
        now = settings()
        chat = chat_for(now)
        if not now.rag.contextual_enrichment_enabled:
            return {"stopped": "rag.contextualEnrichmentEnabled is off"}
        if chat is None:
            raise NotHereError("no chat model is configured in the process that took it")
        target = target_for(context, UUID(context.job.payload["collection_id"]))
        run = _Run(database, context, chat, now, account_of(context.principal), target, writer(chat.name))
        stopped = None
        try:
            while await run.once():
                pass
        except CapReachedError as reached:
            stopped = f"{reached}; documents that are left are done by a later run"
        return await run.result(stopped)

    return handle


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A stored chunk: where it stands, what a model is told of it, and the hash of what is embedded now."""

    id: UUID
    passage_id: UUID
    span: tuple[int, int]
    told: ChunkInPassage


@dataclass
class _Run:
    database: Database
    context: JobContext
    chat: ChatModel
    settings: Settings
    account: Account | None
    target: Target
    writer: str
    tally: Counter[str] = field(default_factory=Counter)
    without: Counter[str] = field(default_factory=Counter)

    async def once(self) -> bool:
        """Every document that waits; whether there was any, since others may have come or changed meanwhile."""
        principal, after, done = self.context.principal, FIRST, 0
        while True:
            async with self.database.transaction(principal, readonly=True) as connection:
                waiting = await contexts.list_pending(
                    connection, principal, self.target.collection_id, self.writer, after=after, limit=BATCH_DOCUMENTS
                )
            for document in waiting:
                done += await self._document(document)
            if not waiting:
                return done > 0
            after = waiting[-1].id

    async def _document(self, document: PlainDocument) -> bool:
        """Whether it is embedded with contexts now: not where it has become another version, or is gone."""
        principal = self.context.principal
        serving = (await in_use(self.database, self.target))[0].model.id
        async with self.database.transaction(principal, readonly=True) as connection:
            text = await documents.text(connection, principal, document.id)
            rows = await contexts.load_chunks(connection, principal, document.id, serving)
            if text is None or text[0] != document.version:
                return False
            cached = await contexts.load_cached(connection, principal, self.writer, [row["key"] for row in rows])
        chunks = [_chunk(row) for row in rows]
        written = {key: WrittenContext(*one) for key, one in cached.items()}
        self.tally["cached"] += sum(one.told.key in written for one in chunks)
        for passage in self._affordable(document, text[1], chunks):
            if missing := [one.told for one in passage if one.told.key not in written]:
                written |= await self._asked(document, text[1], missing)
        texts = await asyncio.to_thread(_texts_of, document, text[1], rows)
        while True:
            try:
                return await self._embed(document, await in_use(self.database, self.target), texts, chunks, written)
            except documents.ModelsChangedError:
                continue

    def _affordable(self, document: PlainDocument, text: str, chunks: Sequence[_Chunk]) -> Iterator[list[_Chunk]]:
        """The chunks of each passage, as long as the cap of a document allows. Cached ones count as well, so that the same
        chunks are left out whenever it is asked."""
        left = self.settings.enrichment.max_tokens_per_document
        for _, group in groupby(chunks, key=lambda one: one.passage_id):
            passage = list(group)
            asked = question(document.title, text, [one.told for one in passage])
            left -= _size(asked) + OUTPUT_PER_CHUNK * len(passage)
            if left < 0:
                return
            yield passage

    # --- calls ----------------------------------------------------------------------------------------------------------

    async def _asked(
        self, document: PlainDocument, text: str, chunks: Sequence[ChunkInPassage]
    ) -> dict[bytes, WrittenContext]:
        """What the model writes of chunks of one passage; those that its reply leaves out are asked again alone, once."""
        replies = await self._call(document, text, chunks)
        written: dict[bytes, WrittenContext] = {}
        for one, reply in zip(chunks, replies, strict=True):
            if reply is not None:
                written[one.key] = reply
            elif len(chunks) > 1:
                written |= await self._asked(document, text, [one])
            else:
                written[one.key] = WrittenContext("", UNREAD)
                await self._keep(document, written)
        return written

    async def _call(
        self, document: PlainDocument, text: str, chunks: Sequence[ChunkInPassage]
    ) -> list[WrittenContext | None]:
        """One call; what it says is kept with what it cost. Raises ProviderError, and CapReachedError instead of calling."""
        limits, filled = self.settings.enrichment, question(document.title, text, chunks)
        await self._check(_size(filled))
        await self.context.progress(self.tally["documents"], None, f"writing contexts with {self.chat.name}")
        meter = Meter(self.settings.answer.prices, self.account)
        try:
            reply = await meter.chat(self.chat, "enrich").complete(
                [Message("system", filled.system), Message("user", filled.user)],
                temperature=0.0, max_tokens=limits.max_output_tokens, timeout=limits.timeout_seconds,
            )  # fmt: skip
        except BudgetExceededError as error:
            raise CapReachedError(f"the job has used up {error.reason}") from None
        except ProviderError as error:
            await self._keep(document, {}, meter.spend)
            if not self._concerns_text(error):
                raise
            return [None] * len(chunks)
        self.tally["answered"] += 1
        found = [
            None if said is None else checked(said, document.title, text, chunks, limits.context_chars)
            for said in read_reply(reply.text, chunks)
        ]
        known = {one.key: kept for one, kept in zip(chunks, found, strict=True) if kept is not None}
        await self._keep(document, known, meter.spend)
        return found

    def _concerns_text(self, error: ProviderError) -> bool:
        """Whether another passage may fare better: an empty reply, or a refusal by a server that has answered before."""
        if isinstance(error, ProviderResponseError):
            return not error.blames_server
        return self.tally["answered"] > 0 and error.extra.get("upstream_status") in REFUSED

    async def _check(self, size: int) -> None:
        limits, prices, principal = self.settings.enrichment, self.settings.answer.prices, self.context.principal
        async with self.database.transaction(principal, readonly=True) as connection:
            used = await model_usage.usage(connection, principal, self.context.job)
        if note := stop_note("enrichment", limits, prices, self.chat.name, used, (size, limits.max_output_tokens)):
            raise CapReachedError(note)

    async def _keep(
        self, document: PlainDocument, written: dict[bytes, WrittenContext], spend: Spend | None = None
    ) -> None:
        stored = {key: (one.context, one.reason) for key, one in written.items()}
        async with self.database.transaction(self.context.principal) as connection:
            await contexts.keep(connection, self.target.collection_id, document.id, self.writer, stored)
            if spend and spend.calls:
                await model_usage.note_usage(
                    connection, self.context.principal, self.context.job, self.chat.name, spend
                )

    # --- vectors --------------------------------------------------------------------------------------------------------

    async def _embed(
        self, document: PlainDocument, used: Sequence[ModelInUse], texts: ChunkTexts, chunks: Sequence[_Chunk],
        written: dict[bytes, WrittenContext],
    ) -> bool:  # fmt: skip
        principal, collection_id = self.context.principal, self.target.collection_id
        serving = used[0].embedder
        embedded = {
            one.id: texts.embedded_whole(
                one.span, one.told.headings, written[one.told.key].context if one.told.key in written else "",
                serving.tokens, serving.max_tokens,
            )
            for one in chunks
        }  # fmt: skip
        hashes = {chunk_id: text_hash(text) for chunk_id, text in embedded.items()}
        inputs = {hashes[chunk_id]: text for chunk_id, text in embedded.items()}
        made = [
            (one.model.id, await embed_texts(self.database, principal, one, inputs, self.context.check_cancelled))
            for one in used
        ]
        enrichment = self._enrichment(texts, chunks, written)
        async with self.database.transaction(principal) as connection:
            if not await contexts.hold_document(connection, principal, document, [one.id for one in chunks]):
                return False
            for model_id, vectors in made:
                rows = [(chunk_id, digest, vectors[digest]) for chunk_id, digest in hashes.items()]
                for start in range(0, len(rows), PUT_CHUNKS):
                    await contexts.replace_vectors(
                        connection, principal, collection_id, document.id, model_id, rows[start : start + PUT_CHUNKS]
                    )
            stored = {key: (one.context, one.reason) for key, one in written.items()}  # of other documents too
            await contexts.keep(connection, collection_id, document.id, self.writer, stored)
            await contexts.mark(connection, principal, document.id, enrichment)
            needed = await contexts.finish(connection, principal, collection_id, [one.id for one in chunks])
            if not needed <= {one.model.id for one in used}:
                raise documents.ModelsChangedError
        self._count(chunks, enrichment)
        return True

    def _enrichment(
        self, texts: ChunkTexts, chunks: Sequence[_Chunk], written: dict[bytes, WrittenContext]
    ) -> dict[str, Any]:
        reasons = [written[one.told.key].reason if one.told.key in written else OVER_CAP for one in chunks]
        without = Counter(reason for reason in reasons if reason)
        return {
            "writer": self.writer, "model": self.chat.name, "chunks": len(chunks) - without.total(), "of": len(chunks),
            "without": dict(without), "titled": texts.title is not None,
        }  # fmt: skip

    def _count(self, chunks: Sequence[_Chunk], enrichment: dict[str, Any]) -> None:
        self.tally.update(documents=1, chunks=len(chunks), contexts=enrichment["chunks"])
        self.without.update(enrichment["without"])

    async def result(self, stopped: str | None) -> dict[str, Any]:
        principal = self.context.principal
        async with self.database.transaction(principal) as connection:
            used = await model_usage.usage(connection, principal, self.context.job)
            left = await contexts.count_pending(connection, principal, self.target.collection_id, self.writer)
        total: Spend = spent((one for one in used if one.own), self.settings.answer.prices)
        cost = total.usage()
        counts = {name: self.tally[name] for name in ("documents", "chunks", "contexts", "cached")}
        spend = {name: cost[name] for name in ("input_tokens", "output_tokens", "cost")}
        calls = sum(one.calls for one in used if one.own)
        end = {"stopped": stopped, "left": left} if stopped else {}
        return {"model": self.chat.name, **counts, "without": dict(self.without), "calls": calls, **spend, **end}


def _chunk(row: Any) -> _Chunk:
    told = ChunkInPassage(bytes(row["key"]), tuple(row["headings"]), row["content"])
    return _Chunk(row["id"], row["passage_id"], (row["char_start"], row["char_end"]), told)


def _size(filled: Prompt) -> int:
    return estimate(filled.system) + estimate(filled.user)


def _texts_of(document: PlainDocument, text: str, rows: Sequence[Any]) -> ChunkTexts:
    kind = kind_of_media_type(document.media_type)
    texts = ChunkTexts.of(text, document.title, code=kind is not None and kind.loader.markup == "code")
    return texts if title_was_embedded(texts, rows, document.enrichment) else replace(texts, title=None)
