"""Planning a search: what its query says besides words, which retrievers run, and whether a reranker does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from cairn.domain.ids import new_id
from cairn.domain.passage import LEGS, Leg, LegResult, Mode, SearchRequest
from cairn.domain.plan import FusionWeights
from cairn.domain.principal import Principal
from cairn.graph.code.symbols import wanted_symbols
from cairn.language.bridge import asks, bridge
from cairn.language.identify import likely_language
from cairn.providers.metered import Meter
from cairn.retrieve.context import GraphChoice, SearchContext, SearchDeps
from cairn.retrieve.graph import question_keys
from cairn.retrieve.operators import parse_operators
from cairn.retrieve.rerank import wants_reranking
from cairn.retrieve.weights import CONFIDENCE_THRESHOLD, weights_by_type
from cairn.settings import Settings

SKIP = 0.15  # measured: tests/unit/test_plan_search.py
"""A side, text or graph, with less weight is not asked."""
LEFT_OUT_BY_SETTINGS = GraphChoice("by the settings, searches do not follow the graph", "settings")
LEFT_OUT_BY_CALLER = GraphChoice("the caller asked for a search without the graph", "caller")


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
    """`answering`: an answer will be made of the passages, which are shortened where a reranker failed. `meter`: what a chat
    model that reranks is taken from."""
    parsed = parse_operators(request.query)
    choice = deps.reranker.get(settings, meter)
    reranks = wants_reranking(choice, settings, requested=request.rerank, chat_reranks=request.chat_reranks)
    legs, graph_choice = choose_legs(request, parsed.text, settings)
    return SearchContext(
        deps, principal, request, settings,
        text=parsed.text,
        conditions=parsed.conditions,
        legs=legs,
        graph_choice=graph_choice,
        fusion=request.fusion or settings.retrieve.fusion,
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


def choose_legs(request: SearchRequest, text: str, settings: Settings) -> tuple[tuple[Leg, ...], GraphChoice]:
    """The retrievers that run, of those requested, and why the graph is among them or not. `text`: the query without operators.

    By names, the graph is followed where a question names something and goes through another question, or names several things;
    elsewhere it moves what text has found already (docs/adr/0054-routing.md). What an agent looks for serves the question that
    it works on, which decides. By type, the side with a weight below SKIP is left
    out. Retrievers that the caller chose all run.
    """
    others = tuple(leg for leg in request.legs if leg != "graph")
    if others == request.legs:
        by_settings = others == default_legs(settings)
        return others, LEFT_OUT_BY_SETTINGS if by_settings else LEFT_OUT_BY_CALLER
    if not others or request.explicit:
        return request.legs, GraphChoice("the caller asked for the graph", "caller")
    if (weights := weights_by_type(request, settings)) is not None:
        return _choose_by_type(request, weights, others)
    return _choose_by_names(request, text, others)


def _choose_by_type(
    request: SearchRequest, weights: FusionWeights, others: tuple[Leg, ...]
) -> tuple[tuple[Leg, ...], GraphChoice]:
    kind = request.classification
    told = f"{kind.type} questions ({kind.reason}) " if kind else "the question "
    choice = GraphChoice(f"{told}weigh text {weights.text:g} and graph {weights.graph:g}", kind.by if kind else "rules")
    if weights.graph < SKIP:
        return others, choice
    return (("graph",) if weights.text < SKIP else request.legs), choice


def _choose_by_names(request: SearchRequest, text: str, others: tuple[Leg, ...]) -> tuple[tuple[Leg, ...], GraphChoice]:
    """Reasons are kept in traces, which outlive deletions, so they repeat no word of the question."""
    keys, asked = question_keys(text), request.asked or text
    if wanted_symbols(text):
        return request.legs, GraphChoice("the question names a symbol of code", "names")
    if not keys:
        return others, GraphChoice("the question names nothing that the graph could begin with", "names")
    if bridge(asked, likely_language(asked)):
        return request.legs, GraphChoice("the question goes through another question, and names something", "names")
    if asks(asked) and (several := len(question_keys(asked))) > 1:
        return request.legs, GraphChoice(f"the question names several things ({several})", "names")
    return others, GraphChoice(
        f"names in it: {len(keys)}; it goes through no other question, so text finds it", "names"
    )


def graph_is_unsure(context: SearchContext, found: Mapping[Leg, LegResult]) -> bool:
    """Whether retrievers that were left out have to run all the same: the graph ran alone and found too little."""
    alone, graph = context.legs == ("graph",) != context.request.legs, found.get("graph")
    return alone and (graph is None or graph.confidence < CONFIDENCE_THRESHOLD)
