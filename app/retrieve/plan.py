"""Planning a search: what its query says besides words, which retrievers run, and whether a reranker does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from app.domain.ids import new_id
from app.domain.passage import LEGS, Leg, LegResult, Mode, SearchRequest
from app.domain.principal import Principal
from app.providers.metered import Meter
from app.retrieve.context import SearchContext, SearchDeps
from app.retrieve.fuse import CONFIDENCE_THRESHOLD, weights_by_type
from app.retrieve.graph import names_something
from app.retrieve.operators import parse_operators
from app.retrieve.rerank import wants_reranking
from app.settings import Settings

SKIP = 0.15
"""A side, text or graph, with less weight is not asked."""


def plan_search(
    deps: SearchDeps,
    principal: Principal,
    request: SearchRequest,
    settings: Settings,
    run_id: UUID | None = None,
    *,
    answering: bool = False,
    meter: Meter | None = None,
) -> SearchContext:
    """`answering`: an answer will be made of the passages, so a slow reranker may run. `meter`: what a chat model that reranks
    is taken from."""
    parsed = parse_operators(request.query)
    choice = deps.reranker.get(settings, meter)
    reranks = wants_reranking(
        choice, settings, requested=request.rerank, answering=answering, chat_reranks=request.chat_reranks
    )
    return SearchContext(
        deps, principal, request, settings,
        text=parsed.text,
        conditions=parsed.conditions,
        legs=choose_legs(request, parsed.text, settings),
        whole=max(request.top_k, settings.retrieve.rerank_candidates if reranks and choice.reranker else 0),
        reranker_choice=choice,
        reranks=reranks,
        answering=answering,
        run_id=run_id or new_id(),
    )  # fmt: skip


def default_legs(settings: Settings) -> tuple[Leg, ...]:
    """Legs of a search that names none."""
    return legs_of("hybrid" if settings.rag.hybrid_search_enabled else "vector", settings)


def legs_of(mode: Mode, settings: Settings) -> tuple[Leg, ...]:
    """Hybrid has the graph where the settings want it followed."""
    if mode == "hybrid" and settings.graph.enabled and settings.graph.search:
        return LEGS
    if mode == "hybrid" or mode == "text":
        return ("vector", "lexical")
    return (mode,)


def choose_legs(request: SearchRequest, text: str, settings: Settings) -> tuple[Leg, ...]:
    """The retrievers that run, of those requested. `text`: the query without operators.

    By names, the graph is left out where the query names nothing and the caller did not choose the retrievers. By type, the
    side with a weight below SKIP is left out.
    """
    others = tuple(leg for leg in request.legs if leg != "graph")
    if others == request.legs or not others:
        return request.legs
    if (weights := weights_by_type(request, settings)) is not None:
        return others if weights.graph < SKIP else ("graph",) if weights.text < SKIP else request.legs
    return request.legs if request.explicit or names_something(text) else others


def graph_is_unsure(context: SearchContext, found: Mapping[Leg, LegResult]) -> bool:
    """Whether retrievers that were left out have to run all the same: the graph ran alone and found too little."""
    alone, graph = context.legs == ("graph",) != context.request.legs, found.get("graph")
    return alone and (graph is None or graph.confidence < CONFIDENCE_THRESHOLD)
