"""The query as each embedding model sees it: collections of one search may be served by different ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from pgvector import HalfVector

from app.errors import ProviderError, SettingsError
from app.store.vectors import EmbeddingModel

if TYPE_CHECKING:
    from app.retrieve.search import Retriever


class NeedsVectorsError(Exception):
    """The collections are served by models that the query was not embedded with yet; raised inside the snapshot, because
    nothing is embedded while a transaction is open."""

    def __init__(self, models: Iterable[EmbeddingModel]) -> None:
        super().__init__()
        self.models = tuple(models)


class QueryVectors:
    """Vectors of one query by model id, made when first needed; `problems` says why one cannot be had."""

    def __init__(self, retriever: Retriever, query: str) -> None:
        self.vectors: dict[int, HalfVector] = {}
        self.problems: dict[int, str] = {}
        self._retriever = retriever
        self._query = query

    def require(self, models: Iterable[EmbeddingModel]) -> None:
        """Raises NeedsVectorsError when one of the models was not asked yet."""
        missing = [model for model in set(models) if model.id not in self.vectors and model.id not in self.problems]
        if missing:
            raise NeedsVectorsError(missing)

    async def add(self, models: Iterable[EmbeddingModel]) -> None:
        for model in models:
            try:
                made = await self._retriever.embedder_of(model).embed([self._query])
            except (ProviderError, SettingsError) as error:
                self.problems[model.id] = f"query embedding failed ({model.name}): {error.detail}"
                continue
            if made.shape[1] != model.dimensions:
                self.problems[model.id] = (
                    f"{model.name} gives {made.shape[1]} dimensions now, its vectors here have {model.dimensions}"
                )
                continue
            self.vectors[model.id] = HalfVector(made[0].astype(np.float16))
