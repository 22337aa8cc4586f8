"""Summaries without a model: the sentences that stand for most of a text, each quoted at its place.

Two steps, so that long documents are cheap: chunks are ranked by their stored vectors, then the sentences of the best
ones by vectors made for them. Ranking is LexRank (Erkan and Radev 2004): the stationary distribution of a walk from
sentence to similar sentence; choosing is maximal marginal relevance (Carbonell and Goldstein 1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from cairn.answer.candidates import Candidate, candidates
from cairn.answer.extract import drafted
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from cairn.language.sentences import Span
from cairn.providers.protocols import Embedder, Vectors

DAMPING: Final = 0.85  # measured: tests/unit/test_edges_quotation.py
STEPS: Final = 50  # bound: tests/unit/test_edges_quotation.py
"""Power iterations; the error shrinks by DAMPING with each, so to 3e-4."""
LIKENESS_WEIGHT: Final = 0.5  # measured: tests/unit/test_edges_quotation.py
"""Share of unlikeness to what is chosen, against centrality."""
SENTENCES_EMBEDDED: Final = 64  # bound: tests/unit/test_edges_quotation.py
"""At most; each costs some milliseconds of CPU."""
FEWEST: Final = 2  # measured: tests/unit/test_edges_quotation.py
"""Sentences of a summary of something short."""
SHORTEST: Final = 4  # measured: tests/unit/test_edges_quotation.py
"""Words of a sentence that can stand in a summary."""

Scores = NDArray[np.float64]


def centrality(vectors: Vectors) -> Scores:
    """LexRank of each row, summing to 1. Similarities are cosines of unit vectors, negative ones 0."""
    likeness = np.clip(vectors.astype(np.float64) @ vectors.astype(np.float64).T, 0, None)
    np.fill_diagonal(likeness, 0)
    sums = likeness.sum(axis=1, keepdims=True)
    count = len(vectors)
    walk = np.divide(likeness, sums, out=np.full_like(likeness, 1 / count), where=sums > 0)
    rank = np.full(count, 1 / count)
    for _ in range(STEPS):
        rank = (1 - DAMPING) / count + DAMPING * (rank @ walk)
    return rank


def representative(vectors: Vectors, limit: int) -> list[int]:
    """At most `limit` rows, central and unlike each other, in their order."""
    if not len(vectors):
        return []
    rank = centrality(vectors)
    rank = rank / rank.max()
    nearest = np.zeros(len(vectors))
    chosen: list[int] = []
    while len(chosen) < min(limit, len(vectors)):
        worth = (1 - LIKENESS_WEIGHT) * rank - LIKENESS_WEIGHT * nearest
        worth[chosen] = -np.inf
        best = int(np.argmax(worth))
        chosen.append(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return sorted(chosen)


async def digest(
    passages: Sequence[Passage], embedder: Embedder, limit: int, places: Mapping[UUID, Sequence[Span]] | None = None
) -> Draft | None:
    """A summary of at most `limit` sentences and a third of what there is, in order; None where there is no sentence.

    `places`: parts of the passages (by id, code points of the document's text) that sentences are taken from. Raises
    ProviderError.
    """
    everything = candidates(passages)
    found = [c for c in everything if len(c.text.split()) >= SHORTEST and c.unit.kind != "code"] or everything
    limit = min(limit, max(FEWEST, -(-len(found) // 3)))
    if places is not None and len(found) > SENTENCES_EMBEDDED:
        found = [c for c in found if _stands_in(c, passages[c.rank], places)] or found
    found = _spread(found)
    if not found:
        return None
    vectors = await embedder.embed([candidate.in_context for candidate in found])
    chosen = [found[at] for at in representative(vectors, limit)]
    return drafted(chosen, passages)


def _stands_in(candidate: Candidate, passage: Passage, places: Mapping[UUID, Sequence[Span]]) -> bool:
    start, end = passage.start + candidate.unit.start, passage.start + candidate.unit.end
    return any(start < last and first < end for first, last in places.get(passage.passage_id, ()))


def _spread(found: list[Candidate]) -> list[Candidate]:
    """Not more than can be embedded, evenly spread."""
    if len(found) <= SENTENCES_EMBEDDED:
        return found
    return [found[at * len(found) // SENTENCES_EMBEDDED] for at in range(SENTENCES_EMBEDDED)]
