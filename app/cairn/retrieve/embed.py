"""The query as each embedding model sees it: collections of one search may be served by different ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import structlog
from pgvector import HalfVector

from cairn.domain.principal import Principal
from cairn.errors import ProviderError, SettingsError, named_reason
from cairn.providers.protocols import Embedder, Vectors, embed_questions, question_encoder
from cairn.retrieve.context import QueryVectors, SearchContext, SearchDeps
from cairn.retrieve.operators import parse_operators
from cairn.settings import Settings
from cairn.store.vectors import EmbeddingModel

log = structlog.get_logger(__name__)


async def query_vectors(
    deps: SearchDeps,
    principal: Principal,
    texts: Sequence[str],
    settings: Settings,
    by: tuple[EmbeddingModel, Embedder],
) -> Vectors:
    """Vectors of questions `by` a model, float32 of shape (len(texts), dimensions).

    They come from the cache of query embeddings or go there, so that of the very same text, which may have been searched for, no
    other is made. Raises ProviderError.
    """
    model, embedder = by
    capacity, encoder = settings.cache.query_embeddings, question_encoder(embedder)
    rows = []
    for text in (parse_operators(text).text for text in texts):
        known = await deps.embeddings.get(principal, model, text, capacity, encoder)
        if known is None:
            made = await embed_questions(embedder, [text])
            known = HalfVector(made[0].astype(np.float16))
            deps.embeddings.put(principal, model, text, known, capacity, encoder)
        rows.append(known.to_numpy().astype(np.float32))
    return np.stack(rows)


def serving_model(deps: SearchDeps, principal: Principal, collection: str) -> EmbeddingModel:
    """The one that served the collection when this process last saw it, else that of the settings; the search reads what is
    so."""
    return deps.serving.get(principal, collection) or deps.model


async def embed_query(context: SearchContext, models: Iterable[EmbeddingModel]) -> SearchContext:
    """The context with the query's vectors under these models too, from the cache of query embeddings, else made, which is
    booked as `embed`. Raises nothing: what cannot be had is one of the `problems`."""
    for model in models:
        found = await _embed(context, model)
        known = context.vectors
        context = replace(
            context,
            vectors=QueryVectors(
                {**known.by_model, **found.by_model},
                {**known.problems, **found.problems},
                known.degraded + found.degraded,
            ),
        )
    return context


async def _embed(context: SearchContext, model: EmbeddingModel) -> QueryVectors:
    """The vector of one model, or why there is none."""
    deps, text = context.deps, context.text
    capacity = context.settings.cache.query_embeddings if context.request.cache else 0
    degraded: tuple[str, ...] = ()
    embedder, encoder, reason = None, "", ""
    try:
        embedder = deps.embedder_of(model)
        encoder = question_encoder(embedder)
    except (ProviderError, SettingsError) as error:  # what was kept of it is known all the same
        reason = error.detail
    try:
        if (known := await deps.embeddings.get(context.principal, model, text, capacity, encoder)) is not None:
            return QueryVectors({model.id: known})
    except Exception as error:  # a cache never fails a search
        log.exception("cache.failed", step="query embeddings")
        degraded = (f"cache: query embeddings failed ({named_reason(error)})",)
    if embedder is None:
        return QueryVectors({}, {model.id: f"query embedding failed ({model.name}): {reason}"}, degraded)
    try:
        made = await context.stopwatch.measure("embed", embed_questions(embedder, [text]))
    except (ProviderError, SettingsError) as error:
        return QueryVectors({}, {model.id: f"query embedding failed ({model.name}): {error.detail}"}, degraded)
    if made.shape[1] != model.dimensions:
        problem = f"{model.name} gives {made.shape[1]} dimensions now, its vectors here have {model.dimensions}"
        return QueryVectors({}, {model.id: problem}, degraded)
    vector = HalfVector(made[0].astype(np.float16))
    deps.embeddings.put(context.principal, model, text, vector, capacity, encoder)
    return QueryVectors({model.id: vector}, {}, degraded)
