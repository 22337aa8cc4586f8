"""Support across languages: shared words say nothing there, but meaning, numbers and commands do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.answer.ground_evidence import SentenceEvidence
from app.answer.ground_score import CONTRADICTED
from app.answer.ground_sources import Sources
from app.providers.protocols import Embedder

EMBEDDED: Final = 24
"""Source sentences embedded at most, those first that share numbers and names with the answer."""
INTERCEPT: Final = -4.0
COSINE: Final = 8.0


async def foreign_logits(
    sentences: Sequence[str], evidence: Sequence[SentenceEvidence], sources: Sources, embedder: Embedder
) -> list[float]:
    """A logit for each sentence, by its cosine with the nearest source sentence; a number that no source has caps it.
    Raises ProviderError."""
    closest = dict.fromkeys(source.text for found in evidence for source in found.best)
    texts = list(dict.fromkeys((*closest, *(source.text for source in sources.sentences))))[:EMBEDDED]
    vectors = await embedder.embed([*sentences, *texts])
    nearest = (vectors[: len(sentences)] @ vectors[len(sentences) :].T).max(axis=1)
    raw = [INTERCEPT + COSINE * float(cosine) for cosine in nearest]
    return [min(value, CONTRADICTED) if e.numbers else value for value, e in zip(raw, evidence, strict=True)]
