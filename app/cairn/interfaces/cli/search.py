"""`cairn search` and `cairn cache`: the passages that match, best first; and what the retrieval cache did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cairn.domain.document import Collection, section_label
from cairn.domain.passage import FusionForm, Mode, SearchResult
from cairn.errors import NotFoundError
from cairn.interfaces.cli.terminal import count, note, say, say_json, services, shorten
from cairn.service.documents import check_collection_name, get_collection, list_collections
from cairn.service.search import check_query, clear_cache, get_cache_stats, make_request, run_search
from cairn.wiring import Services

_EXCERPT = 300


async def search(
    text: str, collection: str | None, top_k: int, mode: Mode | None, fusion: FusionForm | None = None, *, as_json: bool
) -> int:
    """Raises NotFoundError for a collection without documents; exit code 0 also when nothing matches."""
    async with services() as opened:
        settings = opened.settings.current
        query = check_query(text, settings)
        found = await require_documents(opened, collection)
        request = make_request(settings, query, (found.name,), top_k=top_k, mode=mode, fusion=fusion)
        result = await run_search(opened, request)
    if as_json:
        say_json(_as_json(result))
    else:
        _show(result, found)
    return 0


async def require_documents(opened: Services, name: str | None) -> Collection:
    """The collection, or the default one. Raises NotFoundError that says how to fill it when it holds nothing."""
    wanted = name or opened.settings.current.rag.collection_name
    try:
        found = await get_collection(opened, check_collection_name(wanted))
    except NotFoundError:
        found = None
    if found and found.document_count:
        return found
    others = [other.name for other in await list_collections(opened) if other.document_count]
    hint = f"; there are documents in: {', '.join(others[:10])}" if others else ""
    raise NotFoundError(
        f"collection {wanted} has no documents yet; add some: cairn ingest PATH --collection {wanted}{hint}"
    )


def where(page: int | None, section: str) -> str:
    """Page and section, as far as they are known."""
    return " / ".join(([f"page {page}"] if page else []) + ([f'section "{section}"'] if section else []))


def label_place(title: str, page: int | None, headings: Sequence[str], external_id: str) -> str:
    """`title, page 3 / section "X › Y" (file)`; a section called like the document says nothing."""
    stands = where(page, section_label(headings, title))
    named = f"{title}, {stands}" if stands else title
    return named if title == external_id else f"{named} ({external_id})"


def _show(result: SearchResult, collection: Collection) -> None:
    for number, passage in enumerate(result.passages, start=1):
        say(
            f"{number}. {label_place(passage.title, passage.page, passage.headings, passage.external_id)}", style="bold"
        )
        ranks = ", ".join(f"{leg} {rank}" for leg, rank in sorted(passage.ranks.items()))
        say(f"   score {passage.score:.4f}; rank in {ranks}", style="dim")
        say(f"   {shorten(passage.content, _EXCERPT)}\n")
    for problem in result.degraded:
        note(f"note: {problem}")
    if not result.passages:
        hint = " None of these words occurs; try --mode hybrid." if result.legs_used == ("lexical",) else ""
        say(f"Nothing found in collection {collection.name} ({count(collection.document_count, 'document')}).{hint}")
        return
    if result.weights:
        say(shown_weights(result.weights.as_json()), style="dim")
    total = result.timings_ms.get("total", 0)
    say(f"{count(len(result.passages), 'passage')} in {total:.0f} ms; trace {result.trace_id}", style="dim")


def shown_weights(weights: Mapping[str, Any] | None) -> str:
    """What text and graph counted, and why."""
    if weights is None:
        return "nothing was searched"
    sides = f"text {weights['text']:g}, graph {weights['graph']:g} ({weights['mode']}, by {weights['classifier']})"
    return f"{sides}: {weights['reason']}"


def _as_json(result: SearchResult) -> dict[str, Any]:
    """As POST /search answers it."""
    from cairn.interfaces.http.models import PassageOut, passage_fields
    from cairn.interfaces.http.search import SearchOut

    same = {name: getattr(result, name) for name in SearchOut.model_fields if name != "results"}
    passages = [PassageOut(**passage_fields(passage)) for passage in result.passages]
    return SearchOut(**same, results=passages).model_dump(mode="json")


# --- `cairn cache` ------------------------------------------------------------------------------------------------------


async def show(json: bool) -> int:
    """Counts of the tenant over all processes and restarts."""
    async with services() as opened:
        settings, stats = opened.settings.current.cache, await get_cache_stats(opened)
    counts, rate = stats.counts, stats.hit_rate
    if json:
        say_json(
            {
                "enabled": settings.enabled, "size": stats.size, "capacity": settings.capacity,
                "ttl_seconds": settings.ttl_seconds, **asdict(counts), "hit_rate": rate,
                "semantic": settings.semantic, "query_embeddings": stats.query_embeddings,
            }
        )  # fmt: skip
        return 0
    if not settings.enabled:
        say("The cache is switched off (cache.enabled).")
    say(f"{count(stats.size, 'result')} that can answer now, of at most {settings.capacity:,}")
    share = "" if rate is None else f" ({rate:.0%} of those that asked it)"
    near = f", {counts.semantic_hits:,} of them for nearly the same query" if counts.semantic_hits else ""
    say(f"Searches: {counts.hits:,} answered{share}{near}, {counts.misses:,} not, {counts.bypassed:,} passed it by")
    say(f"{count(stats.query_embeddings, 'query embedding')} stored")
    return 0


async def clear(collection: str | None, json: bool) -> int:
    """Remove cached results, of one collection or all. Raises NotFoundError for an unknown collection."""
    async with services() as opened:
        removed = await clear_cache(opened, collection)
    if json:
        say_json({"deleted": removed})
    else:
        say(f"{count(removed, 'cached result')} removed.")
    return 0
