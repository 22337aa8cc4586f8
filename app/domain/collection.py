"""A named set of documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Collection:
    """`epoch` grows with every committed change of content. `model_id`: the embedding model that serves it; None before
    its first document."""

    id: UUID
    name: str
    epoch: int
    document_count: int
    passage_count: int
    chunk_count: int
    created_at: datetime
    model_id: int | None = None
