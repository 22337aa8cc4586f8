"""Who may call, and what each may do."""

from __future__ import annotations

from sqlalchemy import ARRAY, BigInteger, Double, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text
from sqlalchemy.dialects.postgresql import UUID

from cairn.db.tables.base import NOW, col, metadata, moment, tenant_id

LIMIT = "null: as the settings say"

api_keys = Table(
    "api_keys",
    metadata,
    tenant_id(),
    col("id", UUID, "Key id (UUIDv7)."),
    col("name", Text, "What it is for, in the words of who made it."),
    col("key_hash", LargeBinary, "SHA-256 of the key, which is stored nowhere."),
    col("shown", Text, "Its first characters, to tell it from others."),
    col("scopes", ARRAY(Text), "What it may do: read, ask, write, admin."),
    col("requests_per_minute", Integer, f"Requests per minute; {LIMIT}.", nullable=True),
    col("concurrent_runs", Integer, f"Runs at once; {LIMIT}.", nullable=True),
    col("tokens_per_day", BigInteger, f"Tokens of chat models per day; {LIMIT}.", nullable=True),
    col("cost_per_day", Double, f"What these may cost per day; {LIMIT}.", nullable=True),
    moment("created_at", "When it was made.", server_default=NOW),
    col("created_by", Text, "Who made it: local, key:<id> or token:<subject>."),
    moment("expires_at", "From when on it counts no more; null: never.", nullable=True),
    moment("revoked_at", "When it was revoked; null: it was not.", nullable=True),
    moment("last_used_at", "When it was last used, to a minute; null: never.", nullable=True),
    col("groups", ARRAY(Text), "Groups that its holder belongs to; null: none.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("api_keys_hash_idx", "key_hash"),
    comment="Keys by which callers over HTTP are known.",
)
