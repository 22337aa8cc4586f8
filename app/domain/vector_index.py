"""HNSW indexes of single collections, and how well they find."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PlannedIndex:
    """An index that is wanted, or is there and not wanted. `ready`: searches use it now."""

    tenant_id: int
    collection_id: UUID
    model_id: int
    dimensions: int
    chunk_count: int
    wanted: bool
    ready: bool

    @property
    def name(self) -> str:
        """Of the index; the collection's part is its last 12 hex digits, which are random."""
        return f"embeddings_hnsw_{self.model_id}_c{self.collection_id.hex[-12:]}"


@dataclass(frozen=True, slots=True)
class RecallCheck:
    """A sampled comparison with the exact scan: `recall` is the mean share of the true `k` neighbours found, 0 to 1."""

    regime: str
    model: str
    k: int
    sample: int
    recall: float
    ef_search: int
    checked_at: datetime
