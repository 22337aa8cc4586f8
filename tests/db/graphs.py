"""Documents with random graphs, and the graph that a fresh build would give: recounted from mentions and evidence."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector

from cairn.domain.document import Indexed, LoadedDocument, PreparedDocument
from cairn.domain.graph import (
    DocumentGraph,
    EntityKey,
    EvidenceRow,
    MentionRow,
)
from cairn.ingest.prepare import prepare
from cairn.service.documents import ensure_collection, get_collection
from cairn.settings import ChunkingSettings, GraphSettings, IngestSettings, Settings
from cairn.store import documents
from cairn.wiring import Services
from tests.benchmarks.corpus import WordCount
from tests.documents import text_source

SMALL = Settings(
    graph=GraphSettings(enabled=False),
    ingest=IngestSettings(detect_language=False),
    chunking=ChunkingSettings(passage_size=200, passage_overlap=0, chunk_size=100, chunk_overlap=0),
)
TABLES = (
    "entities", "entity_aliases", "entity_words", "mentions", "relations", "evidence", "adjacency",
)  # fmt: skip


def key(name: str, family: str = "name") -> EntityKey:
    return EntityKey(family, name.casefold())


def plain(name: str, text: str) -> PreparedDocument:
    """A document without a graph, in passages of about 200 characters."""
    return prepare(text_source(name, text), LoadedDocument(text, "text/plain", "plain"), SMALL, WordCount())


def with_graph(
    document: PreparedDocument,
    mentioned: Sequence[Sequence[str]],
    related: Sequence[Sequence[tuple[str, str, str]]] = (),
) -> PreparedDocument:
    """Per passage: names, and (source, kind, target)."""
    mentions, evidence = [], []
    for place, passage in enumerate(document.passages):
        start = passage.draft.start
        for name in dict.fromkeys(mentioned[place] if place < len(mentioned) else ()):
            mentions.append(
                MentionRow(passage.id, key(name), name, "person", name.casefold(), start, start + len(name))
            )
        for source, kind, target in dict.fromkeys(related[place] if place < len(related) else ()):
            evidence.append(EvidenceRow(passage.id, key(source), kind, key(target), start, start + 9))
    return replace(document, graph=DocumentGraph(tuple(mentions), tuple(evidence)))


NAMES = [f"Person {letter}{number}" for letter in "ABCDEF" for number in range(4)]
KINDS = ["person", "organisation"]


def random_document(name: str, chance: random.Random) -> PreparedDocument:
    """One to four passages; entities with several names and kinds, relations between what a passage mentions."""
    text = "\n\n".join(
        " ".join(chance.choices(["granite", "basalt", "cairn", "trail"], k=22)) for _ in range(chance.randint(1, 4))
    )
    document = plain(name, text)
    mentions, evidence = [], []
    for passage in document.passages:
        spoken = chance.sample(NAMES, chance.randint(0, 6))
        for full in spoken:
            for alias in {full, *chance.sample([full.upper(), full.split()[1]], chance.randint(0, 2))}:
                form = alias.casefold()
                mentions.append(MentionRow(
                    passage.id, key(full), alias, chance.choice(KINDS), form, 0, len(alias), chance.randint(0, 3)
                ))  # fmt: skip
        pairs = {(a, chance.choice(["co_occurs", "leads"]), b) for a in spoken for b in spoken if a < b}
        for source, kind, target in chance.sample(sorted(pairs), min(len(pairs), 5)):
            strength = chance.choice([0.5, 1.0, 1.37])
            evidence.append(EvidenceRow(passage.id, key(source), kind, key(target), 0, 9, strength))
    return replace(document, graph=DocumentGraph(tuple(mentions), tuple(evidence)))


async def publish(services: Services, collection: str, document: PreparedDocument) -> Indexed:
    """As the last stage of ingestion does it, with made-up vectors."""
    found = await ensure_collection(services, collection)
    principal, model = services.principal, services.search_deps.model
    made = [HalfVector(row) for row in np.eye(len(document.chunks), model.dimensions, dtype=np.float16)]
    async with services.database.transaction(principal) as connection:
        known = await documents.register(connection, principal, found.id, document.source, document.content_hash)
        version = documents.NewVersion(known.id, document, {model.id: made})
        [indexed] = await documents.publish(connection, found.id, model.id, [version], keep_original=False)
        return indexed


async def remove(services: Services, collection: str, document_id: UUID) -> bool:
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal) as connection:
        return await documents.delete(connection, found.id, document_id)


async def contents(services: Services, collection_id: UUID) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the graph of a collection; passages by their document and place, since their ids are random."""
    found = {}
    async with services.database.transaction(services.principal, readonly=True) as connection:
        for table in TABLES:
            passage = table in ("mentions", "evidence")
            rows = await connection.fetch(
                "SELECT to_jsonb(t) - 'passage_id' - 'collection_id' AS row, "
                + ("d.external_id, p.ordinal " if passage else "1, 1 ") +
                f"FROM rag.{table} t " + ("JOIN rag.passages p ON p.id = t.passage_id "
                "JOIN rag.documents d ON d.id = p.document_id " if passage else "")
                + "WHERE t.collection_id = $1", collection_id,
            )  # fmt: skip
            found[table] = sorted((str(sorted(row[0].items())), row[1], row[2]) for row in rows)
    return found
