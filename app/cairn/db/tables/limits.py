"""What keys and tenants may use, and have used."""

from __future__ import annotations

from sqlalchemy import BigInteger, Date, Double, Index, Integer, PrimaryKeyConstraint, Table, text
from sqlalchemy.dialects.postgresql import ARRAY, UUID

from cairn.db.tables.base import col, count, metadata, moment, tenant_id

KEY = "The key that is counted."

tenant_limits = Table(
    "tenant_limits",
    metadata,
    tenant_id(),
    col("documents", BigInteger, "Most indexed documents; null: limits.documents.", nullable=True),
    col("bytes", BigInteger, "Most bytes of their files; null: limits.bytes.", nullable=True),
    col("chunks", BigInteger, "Most chunks of them; null: limits.chunks.", nullable=True),
    PrimaryKeyConstraint("tenant_id"),
    comment="How much a tenant may keep, where that is not what the settings say; its row is the lock under which "
    "publications are counted.",
)


OLD = "Asked by processes of before revision 0038 alone, which serve on until they are restarted."

key_requests = Table(
    "key_requests",
    metadata,
    tenant_id(),
    col("key_id", UUID, KEY),
    moment("minute", OLD, server_default=text("'-infinity'::timestamp with time zone")),
    count("taken", OLD),
    count("second", "Second (since 1970) that the last element of permits is of.", BigInteger),
    col(
        "permits",
        ARRAY(Integer),
        "What processes took in each of the last 61 seconds.",
        server_default=text("'{}'::integer[]"),
    ),
    PrimaryKeyConstraint("tenant_id", "key_id"),
    comment="Requests of keys with a limit per minute: one row per key, which is also the lock of its runs.",
)


run_slots = Table(
    "run_slots",
    metadata,
    tenant_id(),
    col("id", UUID, "Id of the slot (UUIDv7)."),
    col("key_id", UUID, KEY),
    col("owner", UUID, "The process that runs it."),
    moment("lease_until", "A process that is silent until then has lost it."),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("run_slots_key_idx", "tenant_id", "key_id"),
    comment="Runs under way of keys with a limit of concurrent runs.",
)


key_usage = Table(
    "key_usage",
    metadata,
    tenant_id(),
    col("key_id", UUID, KEY),
    col("day", Date, "Day (UTC)."),
    count("calls", "Requests to models of providers.", BigInteger),
    count("tokens", "Tokens read and written, with those that calls under way may use.", BigInteger),
    col(
        "cost",
        Double,
        "What they cost, by answer.prices; models without a price are not in it.",
        server_default=text("0"),
    ),
    PrimaryKeyConstraint("tenant_id", "key_id", "day"),
    comment="What calls of models of providers have cost, per key and day.",
)
