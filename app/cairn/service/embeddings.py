"""Vectors of texts, by the models that serve."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cairn.errors import NotFoundError
from cairn.service.metered import metered_for_key
from cairn.service.models import list_models
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors in the order of the texts, L2-normalised; `tokens` of all texts, as the model's tokenizer counts."""

    model: str
    vectors: list[list[float]]
    tokens: int


async def embed(services: Services, name: str, texts: Sequence[str]) -> EmbeddedTexts:
    """By the model of that name, or the one that serves the collection of that name. Raises NotFoundError, ProviderError,
    RateLimitedError."""
    found = await list_models(services)
    serving = {one.collection: one.model for one in found.collections if one.state == "serving"}
    deps = services.search_deps
    # models are known by the name under which vectors are stored, and by the shorter one of the settings
    named = {**{model.name: model for model in found.models}, deps.embedder.name: deps.model}
    model = named.get(name) or named.get(services.model_name(name)) or named.get(serving.get(name, ""))
    if model is None:
        raise NotFoundError(
            f"no embedding model and no collection with documents is named {name[:140]}; there are the models "
            f"{', '.join(sorted(model.name for model in found.models))}"
        )
    embedder = deps.embedder_of(model)
    with metered_for_key(services):
        vectors = await embedder.embed(texts)
    counts = await asyncio.to_thread(embedder.tokens.count_batch, texts)
    return EmbeddedTexts(model.name, vectors.tolist(), sum(counts))
