"""Tenants, models, the revision of the schema, and what analysts may read."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
)

from app.db.tables.base import NOW, col, metadata, moment, tenant_id

tenants = Table(
    "tenants",
    metadata,
    Column("id", BigInteger, Identity(always=False), primary_key=True, comment="Tenant id, first part of every key."),
    col("name", Text, "Name given as CAIRN_TENANT.", unique=True),
    moment("created_at", "When the tenant was first seen.", server_default=NOW),
    comment="Tenants: who owns documents, runs and jobs.",
)


embedding_models = Table(
    "embedding_models",
    metadata,
    Column("id", SmallInteger, Identity(always=False), primary_key=True, comment="Key used by rag.embeddings."),
    col("name", Text, "Name as in the setting rag.embeddingModel, with its precision.", unique=True),
    col("dimensions", Integer, "Length of the vectors."),
    moment("created_at", "When the model was first used.", server_default=NOW),
    comment="Embedding models that have vectors here; each has its own HNSW index on rag.embeddings.",
)


schema_revisions = Table(
    "schema_revisions",
    metadata,
    col("revision", Text, "Alembic revision.", primary_key=True),
    col("breaking", Boolean, "Code that does not know this revision must not serve the database."),
    moment("applied_at", "When it was applied.", server_default=NOW),
    comment="Applied migrations, and whether older code may still serve the database.",
)


schema_objects = Table(
    "schema_objects",
    metadata,
    col("name", Text, "Folder or file under sql/.", primary_key=True),
    col("hash", Text, "SHA-256 of what was applied."),
    moment("applied_at", "When it was applied.", server_default=NOW),
    comment="Hashes of the functions, views and roles applied from sql/.",
)


analyst_grants = Table(
    "analyst_grant",
    metadata,
    tenant_id(),
    col("role_name", Text, "Login role (session_user) that may read this tenant through schema analyst."),
    moment("granted_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "role_name"),
    comment="Which database logins may read which tenant in the analyst views.",
)
