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
from cairn.ingest.contexts import ChunkInPassage, WrittenContext, checked, question, read_reply, writer
from cairn.ingest.embed import ModelInUse, Target, embed_texts, in_use
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.ingest.loaders import kind_of_media_type
from cairn.ingest.reindex import title_was_embedded
from cairn.jobs.context import Handler, JobContext
from cairn.jobs.model_work import ModelWork, prompt_size
from cairn.jobs.outcome import NotHereError
from cairn.providers.metered import Account, learn_name
from cairn.providers.protocols import ChatModel
from cairn.providers.requests import metered_by
from cairn.settings import Settings
from cairn.store import contexts, documents
from cairn.store.contexts import UNREAD, PlainDocument
from cairn.store.session import Database

PUT_CHUNKS: Final = 128
"""Vectors that one statement replaces."""
CONTEXT_CHARS: Final = 300
"""Longest sentence that is taken."""
OUTPUT_PER_CHUNK: Final = 60
"""Tokens of a reply for one chunk, as the cap of a document estimates them."""
OVER_CAP: Final = "enrichment.maxTokensPerDocument is reached"


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
        await learn_name(chat)  # what it writes is kept under its name
        target = target_for(context, UUID(context.job.payload["collection_id"]))
        work = ModelWork(
            database, context, chat, now, now.enrichment, account_of(context.principal), "enrichment", "enrich",
            "writing contexts",
        )  # fmt: skip
        return await _Enrichment(work, target, writer(chat.name)).run()

    return handle


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A stored chunk: where it stands, what a model is told of it, and the hash of what is embedded now."""

    id: UUID
    passage_id: UUID
    span: tuple[int, int]
    told: ChunkInPassage


@dataclass
class _Enrichment:
    work: ModelWork
    target: Target
    writer: str
    without: Counter[str] = field(default_factory=Counter)
    unread: set[tuple[UUID, int]] = field(default_factory=set)
    """Versions of documents of which this run could not read a reply; a later one asks again."""

    @property
    def _principal(self) -> Principal:
        return self.work.context.principal

    async def run(self) -> dict[str, Any]:
        principal, collection_id = self._principal, self.target.collection_id
        stopped = await self.work.go_through(
            lambda connection, after, limit: contexts.list_pending(
                connection, principal, collection_id, self.writer, after=after, limit=limit
            ),
            self._document,
        )
        return await self.work.sum_up(
            ("documents", "chunks", "contexts", "cached"), {"without": dict(self.without)}, stopped,
            lambda connection: contexts.count_pending(connection, principal, collection_id, self.writer),
        )  # fmt: skip

    async def _document(self, document: PlainDocument) -> bool:
        """Whether it is embedded with contexts now: not where it has become another version, or is gone."""
        principal = self._principal
        if (document.id, document.version) in self.unread:
            return False
        serving = (await in_use(self.work.database, self.target))[0].model.id
        async with self.work.database.transaction(principal, readonly=True) as connection:
            text = await documents.text(connection, principal, document.id)
            rows = await contexts.load_chunks(connection, principal, document.id, serving)
            if text is None or text[0] != document.version:
                return False
            cached = await contexts.load_cached(
                connection, principal, document.id, self.writer, [row["key"] for row in rows]
            )
        chunks = [_chunk(row) for row in rows]
        written = {key: WrittenContext(*one) for key, one in cached.items()}
        self.work.tally["cached"] += sum(one.told.key in written for one in chunks)
        for passage in self._affordable(document, text[1], chunks):
            if missing := [one.told for one in passage if one.told.key not in written]:
                written |= await self._asked(document, text[1], missing)
        if any(one.reason == UNREAD for one in written.values()):
            self.unread.add((document.id, document.version))
        texts = await asyncio.to_thread(_texts_of, document, text[1], rows)
        while True:
            try:
                return await self._embed(
                    document, await in_use(self.work.database, self.target), texts, chunks, written
                )
            except documents.ModelsChangedError:
                continue

    def _affordable(self, document: PlainDocument, text: str, chunks: Sequence[_Chunk]) -> Iterator[list[_Chunk]]:
        """The chunks of each passage, as long as the cap of a document allows. Cached ones count as well, so that the same
        chunks are left out whenever it is asked."""
        left = self.work.settings.enrichment.max_tokens_per_document
        for _, group in groupby(chunks, key=lambda one: one.passage_id):
            passage = list(group)
            asked = question(document.title, text, [one.told for one in passage])
            left -= prompt_size(asked) + OUTPUT_PER_CHUNK * len(passage)
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
                written[one.key] = WrittenContext("", UNREAD)  # never kept: a later run asks again
        return written

    async def _call(
        self, document: PlainDocument, text: str, chunks: Sequence[ChunkInPassage]
    ) -> list[WrittenContext | None]:
        """One call; what it says is kept with what it cost. Raises ProviderError, and CapReachedError instead of calling."""
        reply, spend = await self.work.call(
            document, question(document.title, text, chunks), lambda failed: self._keep(document, {}, failed)
        )
        if reply is None:
            return [None] * len(chunks)
        found = [
            None if said is None else checked(said, document.title, text, chunks, CONTEXT_CHARS)
            for said in read_reply(reply, chunks)
        ]
        known = {one.key: kept for one, kept in zip(chunks, found, strict=True) if kept is not None}
        await self._keep(document, known, spend)
        return found

    async def _keep(
        self, document: PlainDocument, written: dict[bytes, WrittenContext], spend: Spend = Spend()
    ) -> None:
        stored = {key: (one.context, one.reason) for key, one in written.items()}
        async with self.work.database.transaction(self._principal) as connection:
            await contexts.keep(connection, self.target.collection_id, document.id, self.writer, stored)
            await self.work.note_usage(connection, spend)

    # --- vectors --------------------------------------------------------------------------------------------------------

    async def _embed(
        self, document: PlainDocument, used: Sequence[ModelInUse], texts: ChunkTexts, chunks: Sequence[_Chunk],
        written: dict[bytes, WrittenContext],
    ) -> bool:  # fmt: skip
        principal, collection_id = self._principal, self.target.collection_id
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
        with metered_by(self.work.meter(document)):
            made = [
                (
                    one.model.id,
                    await embed_texts(
                        self.work.database, principal, one, inputs, document.access, self.work.context.check_cancelled
                    ),
                )
                for one in used
            ]
        enrichment = self._enrichment(texts, chunks, written)
        async with self.work.database.transaction(principal) as connection:
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
            "writer": self.writer, "model": self.work.chat.name, "chunks": len(chunks) - without.total(), "of": len(chunks),
            "without": dict(without), "titled": texts.title is not None,
        }  # fmt: skip

    def _count(self, chunks: Sequence[_Chunk], enrichment: dict[str, Any]) -> None:
        self.work.tally.update(documents=1, chunks=len(chunks), contexts=enrichment["chunks"])
        self.without.update(enrichment["without"])


def _chunk(row: Any) -> _Chunk:
    told = ChunkInPassage(bytes(row["key"]), tuple(row["headings"]), row["content"])
    return _Chunk(row["id"], row["passage_id"], (row["char_start"], row["char_end"]), told)


def _texts_of(document: PlainDocument, text: str, rows: Sequence[Any]) -> ChunkTexts:
    kind = kind_of_media_type(document.media_type)
    texts = ChunkTexts.of(text, document.title, code=kind is not None and kind.loader.markup == "code")
    return texts if title_was_embedded(texts, rows, document.enrichment) else replace(texts, title=None)
