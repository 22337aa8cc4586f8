"""Tools that find and read: search, documents, collections, the graph, and how well searching does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from textwrap import shorten
from typing import Annotated, Any

from pydantic import Field

from cairn.domain.document import Document
from cairn.domain.document_list import DocumentFilter
from cairn.domain.graph import EntitySummary
from cairn.domain.ids import as_id
from cairn.domain.passage import Mode
from cairn.interfaces.mcp.shapes import (
    CollectionsFound,
    DocumentInfo,
    DocumentsFound,
    EntityRef,
    FoundPassage,
    ListedCollection,
    PassagesFound,
    RelationInfo,
    RelationsFound,
    RerankingImpact,
    SearchMeasure,
    TextExcerpt,
)
from cairn.interfaces.mcp.tooling import InCollection, ToolAnswer, ToolInput, ToolWork, choose_collection
from cairn.service import graph as graph_service
from cairn.service.documents import find_document_id, get_document, list_collections, list_documents
from cairn.service.evaluation import measure_queries
from cairn.service.search import make_request, run_search
from cairn.wiring import Services

PAGE = 50
"""Items per page of a list."""
NEIGHBOURS = 15
"""Entities that are told to be around one: a model reads the sentence of each."""
QUOTED = 300
"""Characters of such a sentence in the text; the structured result has all of it."""
MAX_EXCERPT = 50_000
"""Code points of a document that are read at once."""


class SearchFor(InCollection):
    query: str = Field(description="Words or a question.")
    top_k: int = Field(5, ge=1, le=50, description="Passages at most.")
    mode: Mode | None = Field(None, description="By meaning (vector), words (lexical), graph; default: all of them.")
    filters: dict[str, Any] | None = Field(None, description="Only documents whose metadata contain this object.")
    rerank: bool | None = Field(None, description="Default: as the settings say.")


async def search_documents(work: ToolWork, wanted: SearchFor) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    request = make_request(
        work.services.settings.current, wanted.query, [collection], mode=wanted.mode, top_k=wanted.top_k,
        rerank=wanted.rerank, filters=wanted.filters,
    )  # fmt: skip
    found = await run_search(work.services, request)
    result = PassagesFound(
        results=[FoundPassage.of(passage) for passage in found.passages],
        collection=collection,
        legs_used=list(found.legs_used),
        legs_failed={str(leg): reason for leg, reason in found.legs_failed.items()},
        reranker=found.reranker,
        degraded=list(found.degraded),
        trace_id=found.trace_id,
    )
    return ToolAnswer(result, _passages(result))


def _passages(found: PassagesFound) -> str:
    if not found.results:
        return f"Nothing in {found.collection} matches."
    parts = []
    for n, one in enumerate(found.results, 1):
        place = ", ".join([*([f"page {one.page}"] if one.page else []), " > ".join(one.headings)]).strip(", ")
        parts.append(f"[{n}] {one.title} ({one.external_id}{', ' if place else ''}{place}) {one.uri}\n{one.content}")
    return "\n\n".join(parts)


# --- collections and documents ----------------------------------------------------------------------------------------


class CollectionsWanted(ToolInput):
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


async def find_collections(work: ToolWork, wanted: CollectionsWanted) -> ToolAnswer:
    found = await list_collections(work.services, after=wanted.cursor or "", limit=PAGE + 1)
    shown = [
        ListedCollection(
            name=one.name, document_count=one.document_count, passage_count=one.passage_count, created_at=one.created_at
        )
        for one in found[:PAGE]
    ]
    result = CollectionsFound(collections=shown, next_cursor=shown[-1].name if len(found) > PAGE else None)
    lines = [f"{one.name}: {one.document_count:,} document(s)" for one in shown]
    return ToolAnswer(result, "\n".join([*lines, *_more(result.next_cursor)]) or "There is no collection yet.")


class DocumentsWanted(InCollection):
    title: str | None = Field(None, description="Only documents whose title or external id contains this, in any case.")
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


async def find_documents(work: ToolWork, wanted: DocumentsWanted) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    meant = DocumentFilter(contains=wanted.title or None)
    found = await list_documents(work.services, collection, meant, after=wanted.cursor or "", limit=PAGE + 1)
    shown = [DocumentInfo.of(one) for one in found[:PAGE]]
    more = shown[-1].external_id if len(found) > PAGE else None
    result = DocumentsFound(collection=collection, documents=shown, next_cursor=more)
    lines = [f"{one.external_id}: {one.title} ({one.status}) {one.uri}" for one in shown]
    return ToolAnswer(result, "\n".join([*lines, *_more(more)]) or f"No such documents in {collection}.")


def _more(cursor: str | None) -> list[str]:
    return [f"There is more: pass cursor {cursor!r}."] if cursor else []


class DocumentWanted(InCollection):
    document: str = Field(description="Id of the document: the caller's (external_id) or Cairn's.")
    start: int = Field(0, ge=0, description="First character to read.")
    length: int = Field(8000, ge=1, le=MAX_EXCERPT, description="Characters to read.")


async def read_document(work: ToolWork, wanted: DocumentWanted) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    document, text = await _load(work.services, collection, wanted.document)
    text = text or ""
    end = min(len(text), wanted.start + wanted.length)
    start = min(wanted.start, end)
    result = TextExcerpt(
        document=DocumentInfo.of(document), text=text[start:end], start=start, end=end, characters=len(text)
    )
    rest = f"\n\n(characters {start:,} to {end:,} of {len(text):,})" if (start, end) != (0, len(text)) else ""
    return ToolAnswer(result, result.text + rest or f"{document.external_id} is {document.status}; it has no text yet.")


async def _load(services: Services, collection: str, named: str) -> tuple[Document, str | None]:
    if (document_id := as_id(named)) is not None:
        return await get_document(services, collection, document_id)
    return await get_document(services, collection, await find_document_id(services, collection, named))


# --- the graph --------------------------------------------------------------------------------------------------------


class GraphWanted(InCollection):
    entity: str = Field(min_length=1, max_length=500, description="Name of a person, organisation, place, class, ...")
    related_to: str | None = Field(None, max_length=500, description="Then: the ways from the one to this one.")
    hops: int = Field(2, ge=1, le=3, description="Relations to follow at most.")


async def explore_graph(work: ToolWork, wanted: GraphWanted) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    if wanted.related_to is not None:
        return await _ways(work.services, collection, wanted, wanted.related_to)
    found = await graph_service.get_neighborhood(
        work.services, wanted.entity, collection, hops=wanted.hops, limit=NEIGHBOURS
    )
    centre, *others = found.places
    result = RelationsFound(
        collection=collection,
        entity=_entity(centre.entity),
        related=[_entity(one.entity) for one in others],
        relations=[RelationInfo.of(one) for one in found.relations],
        ways=[],
        truncated=found.truncated,
    )
    if not others:
        return ToolAnswer(result, f"Nothing is known to be related to {result.entity.name}.")
    return ToolAnswer(result, "\n".join([f"{result.entity.name} ({result.entity.kind})", *_told(result.relations)]))


async def _ways(services: Services, collection: str, wanted: GraphWanted, target: str) -> ToolAnswer:
    found = await graph_service.get_paths(services, wanted.entity, target, collection, hops=wanted.hops)
    ways = [[RelationInfo.of(one) for one in way.relations] for way in found.ways]
    result = RelationsFound(
        collection=collection, entity=_entity(found.source), related=[_entity(found.target)], relations=[], ways=ways,
        truncated=False,
    )  # fmt: skip
    if not ways:
        return ToolAnswer(result, f"Nothing joins {found.source.name} and {found.target.name} in {wanted.hops} steps.")
    return ToolAnswer(result, "\n\n".join("\n".join(_told(way)) for way in ways))


def _entity(summary: EntitySummary) -> EntityRef:
    return EntityRef(name=summary.name, kind=summary.kind, passage_count=summary.passage_count)


def _told(relations: Sequence[RelationInfo]) -> list[str]:
    return [
        f'{one.source} {one.kind} {one.target}: "{shorten(one.quote, QUOTED, placeholder=" ...")}" ({one.external_id}) {one.uri}'
        for one in relations
    ]


# --- how well searching does ------------------------------------------------------------------------------------------


class QueriesToMeasure(InCollection):
    queries: list[Annotated[str, Field(min_length=1)]] = Field(
        min_length=1, max_length=20, description="What users ask for; each is searched, and searched with reranking."
    )


async def optimize_search(work: ToolWork, wanted: QueriesToMeasure) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    waiting: asyncio.Queue[str | None] = asyncio.Queue()

    async def measure() -> SearchMeasure:
        try:
            report = await measure_queries(work.services, wanted.queries, collection, waiting.put_nowait)
        finally:
            waiting.put_nowait(None)
        impact, relevance = report.reranking, report.relevance
        return SearchMeasure(
            queries=report.queries,
            collection=collection,
            average_relevance=round(relevance.mean, 4),
            relevance_interval=(round(relevance.low, 4), round(relevance.high, 4)),
            latency_ms=dict(report.timings_ms),
            reranking=impact
            and RerankingImpact(reranker=impact.reranker, top_changed=impact.top_changed, added_ms=impact.added_ms),
        )

    measuring = asyncio.create_task(measure())
    try:
        done, most = 0, 2 * len(wanted.queries)  # each twice where there is a reranker
        while (query := await waiting.get()) is not None:
            done += 1
            await work.report(100 * done / most, f"searched: {query}")
        result = await measuring
    finally:
        measuring.cancel()
    return ToolAnswer(result, _measured(result))


def _measured(result: SearchMeasure) -> str:
    latency = result.latency_ms
    low, high = result.relevance_interval
    lines = [
        f"{result.queries} queries on {result.collection}",
        f"Relevance of the first result: {result.average_relevance:.2f} on average (95 %: {low:.2f} to {high:.2f})",
        f"Latency: {latency['mean']:.1f} ms on average, median {latency['p50']:.1f}, 95th percentile {latency['p95']:.1f}",
    ]
    if (impact := result.reranking) is None:
        return "\n".join([*lines, "Reranking: no reranker is configured"])
    changed = f"another first document for {impact.top_changed:.0%} of the queries, {impact.added_ms:+.1f} ms"
    return "\n".join([*lines, f"Reranking ({impact.reranker}): {changed}"])
