"""The tables of tenant data as the catalog has them, in the order in which rows can be added, and what of them travels in a file.

A new table travels by itself. What only one server knows does not: numeric ids of embedding models are mapped by name, and tenant
ids stay behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, Final

import asyncpg

from cairn.db.nodes import refuse_distributed
from cairn.db.queries import load_queries
from cairn.domain.connected_source import IMPORTED
from cairn.errors import DatabaseUnavailableError, NotFoundError, reason_of

SQL = load_queries("tenant_files")

_SESSION: Final = {
    "application_name": "cairn-tenant",
    "search_path": "public",
    "lock_timeout": "20s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_connection_check_interval": "5s",
}

LEFT_OUT: Final[Mapping[str, str]] = {
    "analyst_grant": "logins are those of one server",
    "forgotten_callers": "what was under way when somebody was forgotten was so on one server",
    "cache_counters": "they count what the cache of one server did",
    "idempotency_keys": "requests are repeated where they were made",
    "key_requests": "permits of the minute",
    "query_embeddings": "a cache",
    "recall_checks": "they are about indexes of one server",
    "retrieval_cache": "a cache",
    "run_slots": "runs under way on one server",
    "source_secrets": "they are sealed with a key of one server",
    "vector_indexes": "indexes are built anew",
}
"""Tables whose rows stay behind, and why."""

Progress = Callable[[str], None]
"""Told what is done next."""

MODEL: Final = "model_id"
"""The one column that holds a numeric id of rag.embedding_models, wherever it stands."""

_MAPPED = "($3::smallint[])[array_position($2::smallint[], s.model_id)]"

_CONFIGURED = ("passages", "lexical_index", "lexical_stats")

ADAPTED: Final[Mapping[tuple[str, str], str]] = {
    # files from before revision 0032 have the name of a configuration of one's own without its schema
    **{(table, "regconfig"): "rag.config_name(s.regconfig::regconfig)" for table in _CONFIGURED},
    # who ran it does so no more, and that was no attempt that failed
    ("jobs", "status"): "CASE s.status WHEN 'running' THEN 'queued' ELSE s.status END",
    ("jobs", "attempts"): "CASE s.status WHEN 'running' THEN greatest(s.attempts - 1, 0) ELSE s.attempts END",
    ("jobs", "lease_until"): "NULL",
    ("jobs", "worker"): "NULL",
    # its owner will not come back: whoever looks next ends it as lost
    ("resumable_runs", "lease_until"): "clock_timestamp()",
    # whoever wrote the file chose what would be read from here: somebody of this server looks at it first
    ("sources", "paused"): "true",
    ("sources", "note"): f"'{IMPORTED}'",
    ("embeddings", "own"): f"rag.has_own_index($1, s.collection_id, {_MAPPED})",
}
"""What is stored in place of a value of the file. $1 is the tenant, $2 and $3 are ids of models there and here."""

KEPT: Final[Mapping[str, str]] = {
    # a key, and its id, is that of one tenant, which rag.find_key and rag.live_keys rely on
    "api_keys": "NOT EXISTS (SELECT FROM rag.api_keys AS k WHERE k.key_hash = s.key_hash OR k.id = s.id)",
}
"""Which rows of a table are added; all where nothing is said."""


@dataclass(frozen=True, slots=True)
class Column:
    """`type` as format_type writes it. `required`: neither null nor a default will do."""

    name: str
    type: str
    required: bool

    @property
    def quoted(self) -> str:
        return quote(self.name)


@dataclass(frozen=True)
class TenantTable:
    """`columns` without tenant_id and what is generated. `served`: the serving role may write it, so row security can hold for
    it. `recursive`: rows refer to rows of the same table, which must come in one statement."""

    name: str
    columns: tuple[Column, ...]
    partitioned: bool
    served: bool
    recursive: bool

    @property
    def quoted(self) -> str:
        return f"rag.{quote(self.name)}"

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def travels(self) -> bool:
        return self.name not in LEFT_OUT

    def reading(self) -> str:
        """The statement that reads all rows of tenant $1 as a file has them."""
        return f"SELECT {', '.join(c.quoted for c in self.columns)} FROM {self.quoted} WHERE tenant_id = $1"

    def staging(self, names: Iterable[str]) -> str:
        """The statement that makes the temporary table into which these columns of a file go."""
        columns = ", ".join(f"{c.quoted} {c.type}" for c in map(self.by_name.__getitem__, names))
        return f"CREATE TEMPORARY TABLE staged ({columns}) ON COMMIT DROP"

    def adding(self, names: Iterable[str]) -> str:
        """The statement that adds rows from there, of pages $4 to $5 (excluded); the other parameters are those of ADAPTED."""
        columns = [self.by_name[name] for name in names]
        return (
            f"INSERT INTO {self.quoted} (tenant_id, {', '.join(c.quoted for c in columns)}) "
            f"SELECT $1::bigint, {', '.join(self._stored(c) for c in columns)} FROM pg_temp.staged AS s "
            f"WHERE s.ctid >= format('(%s,0)', $4::bigint)::tid AND s.ctid < format('(%s,0)', $5::bigint)::tid "
            f"AND cardinality($2::smallint[]) = cardinality($3::smallint[]) AND {KEPT.get(self.name, 'true')}"
        )

    def _stored(self, column: Column) -> str:
        if adapted := ADAPTED.get((self.name, column.name)):
            return adapted
        if column.name == MODEL:
            return _MAPPED
        return f"s.{column.quoted}"


def row_count(done: str) -> int:
    """Rows that a statement has read or written, by what the server said when it was done."""
    return int(done.split()[-1])


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@asynccontextmanager
async def owner_connection(owner_dsn: str) -> AsyncIterator[Any]:
    """Of the owner, for statements that may take hours. Raises CairnError for what befalls the database meanwhile."""
    try:
        connection = await asyncpg.connect(owner_dsn, timeout=15, server_settings=_SESSION)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    try:
        await refuse_distributed(connection, "cairn tenant export, import or delete")
        yield connection
    except asyncpg.DiskFullError as error:
        raise DatabaseUnavailableError(
            "the database's disk is full: nothing can be stored until there is room on it"
        ) from error
    except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.AdminShutdownError) as error:
        raise DatabaseUnavailableError(f"the connection to PostgreSQL was lost: {reason_of(error)}") from error
    finally:
        await connection.close(timeout=5)


async def find_tenant(connection: Any, name: str) -> int:
    """Raises NotFoundError."""
    found = await connection.fetchval(SQL["find"], name)
    if found is None:
        raise NotFoundError(f"there is no tenant {name[:140]!r}; see cairn tenant list")
    return int(found)


async def list_tables(connection: Any) -> list[TenantTable]:
    """All tables of tenant data, those first that others refer to. `connection`: of the owner, with search_path public."""
    columns: dict[str, list[Any]] = {}
    for row in await connection.fetch(SQL["columns"]):
        columns.setdefault(row["name"], []).append(row)
    needs: dict[str, set[str]] = {name: set() for name in columns}
    recursive = set()
    for row in await connection.fetch(SQL["references"]):
        if row["source"] == row["target"]:
            recursive.add(row["source"])
        elif row["source"] in needs and row["target"] in needs:
            needs[row["source"]].add(row["target"])
    # where a vector belongs is known once its collection has an index, or has none
    needs["embeddings"].add("vector_indexes")
    return [
        TenantTable(
            name,
            tuple(
                Column(row["column"], row["type"], row["required"])
                for row in columns[name]
                if row["column"] != "tenant_id"
            ),
            columns[name][0]["partitioned"],
            columns[name][0]["served"],
            name in recursive,
        )
        for name in TopologicalSorter(needs).static_order()
    ]
