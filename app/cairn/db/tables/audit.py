"""Who did what, when: only ever added to."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table, Text, text
from sqlalchemy.dialects.postgresql import UUID

from cairn.db.tables.base import NOW, col, json_object, metadata, moment, tenant_id

audit_events = Table(
    "audit_events",
    metadata,
    tenant_id(),
    col("id", UUID, "Event id."),
    moment("occurred_at", "When, by the clock of the database; no role can say another time.", server_default=NOW),
    col("caller", Text, "Who: local, key:<id>, token:<subject>, or database:<login> for what was done in SQL."),
    col("caller_name", Text, "The name of that caller at that time.", server_default=text("''")),
    col("action", Text, "What was done, as <what>.<deed>: collection.delete, key.create."),
    col("target", Text, "What it was done to: a name or an id."),
    json_object("detail", "What else belongs to it: counts, what it was before and after."),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint(r"action ~ '^[a-z_]+\.[a-z_]+$'", name="action"),
    CheckConstraint("octet_length(target) <= 2000 AND octet_length(detail::text) <= 16000", name="size"),
    Index("audit_events_occurred_at_idx", "tenant_id", text("occurred_at DESC"), text("id DESC")),
    comment="Deeds that matter afterwards. The serving role adds and reads; rag.expire_audit takes away what is old.",
)
