"""Whom this database was told to forget, for as long as something of them may be on its way to it."""

from __future__ import annotations

from sqlalchemy import LargeBinary, PrimaryKeyConstraint, Table, Text

from cairn.db.tables.base import NOW, col, metadata, moment, tenant_id

forgotten_callers = Table(
    "forgotten_callers",
    metadata,
    tenant_id(),
    col("digest", LargeBinary, "SHA-256 over salt and caller."),
    col("salt", LargeBinary, "Random, of this row."),
    col("mark", Text, "What stands in the place of the caller from now on: forgotten:<random>."),
    moment("forgotten_at", "When; an hour later the row is of no use, and goes.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "digest"),
    comment="Callers of whom nothing is kept for an hour: what was under way when they were forgotten leaves nothing behind.",
)
