"""The tables as SQLAlchemy metadata: what Alembic compares the database with, and where each column is explained.

Rules of the house: `tenant_id` is the first column of every key of tenant data; ids are UUIDv7 made by
the app; vectors are `halfvec` without a fixed dimension, so that one table can hold several embedding models. Row
security, grants and policies are in sql/roles.sql, which applies to every table that has a `tenant_id`.
"""

from __future__ import annotations

from cairn.db.tables import (
    audit,
    conversations,
    documents,
    graph,
    idempotency,
    keys,
    limits,
    persons,
    retrieval,
    runs,
    sources,
)
from cairn.db.tables.base import SCHEMA, metadata

__all__ = [
    "SCHEMA",
    "audit",
    "conversations",
    "documents",
    "graph",
    "idempotency",
    "keys",
    "limits",
    "metadata",
    "persons",
    "retrieval",
    "runs",
    "sources",
]
