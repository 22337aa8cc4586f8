"""The retrieval cache: where an entry stands, and what the cache did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheAddress:
    """Where the result of a search belongs.

    `key` and `scope` are MD5 digests: of all that decides the result, and of the same without the query. `query` is
    normalised (A7.02), `guards` are what two queries must have in common at the semantic level, `collections` names.
    """

    key: str
    scope: str
    query: str
    guards: tuple[str, ...]
    collections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Searches by what the cache did for them; `semantic_hits` are among the `hits`."""

    hits: int = 0
    semantic_hits: int = 0
    misses: int = 0
    bypassed: int = 0

    def plus(self, other: CacheCounts) -> CacheCounts:
        return CacheCounts(
            self.hits + other.hits,
            self.semantic_hits + other.semantic_hits,
            self.misses + other.misses,
            self.bypassed + other.bypassed,
        )


@dataclass(frozen=True, slots=True)
class CacheStats:
    """`size` counts the entries that can answer now; `query_embeddings` those stored for the tenant."""

    size: int
    counts: CacheCounts
    query_embeddings: int

    @property
    def hit_rate(self) -> float | None:
        """Hits of all searches that looked, 0 to 1; None before the first."""
        looked = self.counts.hits + self.counts.misses
        return self.counts.hits / looked if looked else None
