"""Requests under an Idempotency-Key: made once, however often they are sent."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, LargeBinary, PrimaryKeyConstraint, SmallInteger, Table, Text
from sqlalchemy.dialects.postgresql import UUID

from cairn.db.tables.base import NOW, col, json_object, metadata, moment, tenant_id

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    tenant_id(),
    col("caller", Text, "Who sent it: two callers may use the same key."),
    col("key", Text, "What the caller named the request."),
    col("fingerprint", LargeBinary, "SHA-256 of method, path, query and body: another request must not take the key."),
    col("claim", UUID, "Of whoever carries it out."),
    moment("claimed_until", "Until when nobody else may begin; renewed while it is carried out."),
    moment("created_at", "When it came first.", server_default=NOW),
    col("status", SmallInteger, "HTTP status of the answer; null while it is carried out.", nullable=True),
    json_object("headers", "Headers that the answer had."),
    col("body", LargeBinary, "Body of the answer.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "caller", "key"),
    CheckConstraint("octet_length(key) <= 255 AND octet_length(caller) <= 2000", name="size"),
    CheckConstraint("(status IS NULL) = (body IS NULL)", name="answer"),
    Index("idempotency_keys_created_at_idx", "tenant_id", "created_at"),
    comment="Requests that are made once, with the answers that their repetitions get too.",
)
