"""The query as each embedding model sees it: collections of one search may be served by different ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import structlog
from pgvector import HalfVector

from app.domain.passage import SearchRequest
from app.domain.principal import Principal
from app.errors import ProviderError, SettingsError
from app.providers.protocols import Vectors
from app.retrieve.context import Stopwatch
from app.retrieve.operators import parse_operators
from app.settings import Settings
from app.store.vectors import EmbeddingModel

if TYPE_CHECKING:
    from app.retrieve.context import SearchDeps

log = structlog.get_logger(__name__)


class NeedsVectorsError(Exception):
    """The collections are served by models that the query was not embedded with yet; raised inside the snapshot, because
    nothing is embedded while a transaction is open."""

    def __init__(self, models: Iterable[EmbeddingModel]) -> None:
        super().__init__()
        self.models = tuple(models)


async def query_vectors(deps: SearchDeps, principal: Principal, texts: Sequence[str], settings: Settings) -> Vectors:
    """Vectors of texts under the model of the settings, float32 of shape (len(texts), dimensions).

    They come from the cache of query embeddings or go there, so that a search for the very same text makes none. Raises
    ProviderError.
    """
    capacity, model = settings.cache.query_embeddings, deps.model
    rows = []
    for text in (parse_operators(text).text for text in texts):
        known = await deps.embeddings.get(principal, model, text, capacity)
        if known is None:
            made = await deps.embedder.embed([text])
            known = HalfVector(made[0].astype(np.float16))
            deps.embeddings.put(principal, model, text, known, capacity)
        rows.append(known.to_numpy().astype(np.float32))
    return np.stack(rows)


class QueryVectors:
    """Vectors of one query by model id, had when first needed: from the cache of query embeddings, else from the model.

    `problems` says why one cannot be had, `degraded` what did not work on the way. The text is the query without its
    operators.
    """

    def __init__(self, deps: SearchDeps, principal: Principal, request: SearchRequest, settings: Settings) -> None:
        self.vectors: dict[int, HalfVector] = {}
        self.problems: dict[int, str] = {}
        self.degraded: list[str] = []
        self._retriever = deps
        self._principal = principal
        self._text = parse_operators(request.query).text
        self._capacity = settings.cache.query_embeddings if request.cache else 0

    def knows(self, model: EmbeddingModel) -> bool:
        """Whether the model was asked already."""
        return model.id in self.vectors or model.id in self.problems

    def require(self, models: Iterable[EmbeddingModel]) -> None:
        """Raises NeedsVectorsError when one of the models was not asked yet."""
        missing = [model for model in set(models) if not self.knows(model)]
        if missing:
            raise NeedsVectorsError(missing)

    async def add(self, models: Iterable[EmbeddingModel], stopwatch: Stopwatch) -> None:
        """Have the vectors of these models too; booked as `embed` where one had to be made. Raises nothing."""
        for model in models:
            if (known := await self._known(model)) is not None:
                self.vectors[model.id] = known
                continue
            try:
                embedder = self._retriever.embedder_of(model)
                made = await stopwatch.measure("embed", embedder.embed([self._text]))
            except (ProviderError, SettingsError) as error:
                self.problems[model.id] = f"query embedding failed ({model.name}): {error.detail}"
                continue
            if made.shape[1] != model.dimensions:
                self.problems[model.id] = (
                    f"{model.name} gives {made.shape[1]} dimensions now, its vectors here have {model.dimensions}"
                )
                continue
            vector = self.vectors[model.id] = HalfVector(made[0].astype(np.float16))
            self._retriever.embeddings.put(self._principal, model, self._text, vector, self._capacity)

    async def _known(self, model: EmbeddingModel) -> HalfVector | None:
        """From the cache, which never fails a search."""
        try:
            return await self._retriever.embeddings.get(self._principal, model, self._text, self._capacity)
        except Exception as error:
            log.exception("cache.failed", step="query embeddings")
            self.degraded.append(f"cache: query embeddings failed ({type(error).__name__}: {error})")
            return None
