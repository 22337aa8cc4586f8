"""`cairn migrate --distribute`: a migrated database on a Citus coordinator is spread over its worker nodes by tenant.

Tables with a tenant_id are distributed by it in one group, so that all rows of a tenant lie on one node; what all tenants share
is copied to every node. All in one transaction: the database is distributed, or as it was. Later migrations distribute the
tables that they add (docs/adr/0082-citus.md).
"""

from __future__ import annotations

from typing import Any, Final

import asyncpg
import structlog

from cairn.db.queries import load_queries
from cairn.errors import MigrationError

log = structlog.get_logger(__name__)

SHARED_TABLES: Final = ("rag.tenants", "rag.embedding_models", "rag.analyst_grant")
"""Copied to every node."""
FIRST: Final = "rag.collections"
"""The table beside whose shards all others lie."""


async def check_cluster(connection: Any) -> None:
    """Raises MigrationError that says what an administrator has to do first."""
    statements = load_queries("distribute")
    if not await connection.fetchval(statements["has_citus"]):
        raise MigrationError(
            "this database has no Citus: connect to the coordinator of a cluster whose administrator ran CREATE EXTENSION citus "
            "in this database on every node"
        )
    if not await connection.fetchval(statements["is_coordinator"]):
        raise MigrationError("this is a worker node: connect to the coordinator")
    if not await connection.fetchval(statements["count_workers"]):
        raise MigrationError(
            "the cluster has no worker node: let an administrator run SELECT citus_add_node('HOST', 5432)"
        )
    if await connection.fetchval(statements["holds_tenants_itself"]):
        raise MigrationError(
            "the coordinator would hold tenants too: let an administrator run SELECT citus_set_node_property(nodename, nodeport, "
            "'shouldhaveshards', false) FROM pg_dist_node WHERE groupid = 0"
        )
    if roles := await connection.fetchval(statements["roles_without_login"]):
        raise MigrationError(
            f"nodes connect to each other as {', '.join(roles)}: let an administrator run, at the coordinator, "
            + " ".join(f"ALTER ROLE {role} LOGIN;" for role in roles)
        )


async def refuse_access_lists(connection: Any) -> None:
    """Raises MigrationError where documents or folders have access lists, which a distributed database would not keep: Citus
    takes no policy that asks for them, so everybody in the tenant would read what they withhold."""
    statements = load_queries("distribute")
    tables = [row["name"] for row in await connection.fetch(statements["tables_with_lists"])]
    if not tables:  # of an empty database, which may have no roles either
        return
    async with connection.transaction():
        await connection.execute(statements["see_all_rows"])
        for name in tables:
            if await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {name} WHERE access IS NOT NULL)"):
                raise MigrationError(
                    "documents or folders of this database have access lists, which a distributed one (Citus) does not keep: "
                    "everybody in the tenant would read them. Move what only some may read to a tenant of its own, or leave the "
                    "database as it is; then take the lists off (docs/security.md), and run this again"
                )


async def distribute_tables(connection: Any) -> int:
    """Distribute what is not yet; how many tables. In the caller's transaction, as the owner of the tables.

    Foreign keys are made anew at the end, because neither end of one can be distributed before the other. Rows move by COPY,
    which row security forbids: it is not forced on the owner meanwhile.
    """
    statements = load_queries("distribute")
    await _show_shards(connection)
    tables = [row["name"] for row in await connection.fetch(statements["tables_to_distribute"])]
    shared = [row["name"] for row in await connection.fetch(statements["tables_to_share"], list(SHARED_TABLES))]
    if not tables and not shared:
        return 0
    # tables that refer to a shared one are met by one session each
    await connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    # views go to the nodes with their tables, and are made there by their owner
    await connection.execute("GRANT CREATE ON SCHEMA analyst TO cairn_views")
    for policy in await connection.fetch(statements["nested_policies"]):
        await connection.execute(f"DROP POLICY {policy['policy']} ON {policy['name']}")
    keys = await connection.fetch(statements["foreign_keys"], [*tables, *shared])
    for key in keys:
        await connection.execute(f"ALTER TABLE {key['name']} DROP CONSTRAINT {key['key']}")
    for name in shared:
        await _unforced(connection, name, f"SELECT create_reference_table('{name}')")
    for name in sorted(tables, key=lambda name: (name != FIRST, name)):
        beside = "default" if name == FIRST else FIRST
        await _unforced(
            connection, name, f"SELECT create_distributed_table('{name}', 'tenant_id', colocate_with => '{beside}')"
        )
    for key in keys:
        await connection.execute(f"ALTER TABLE {key['name']} ADD CONSTRAINT {key['key']} {key['definition']}")
    log.info("distribute.done", tables=len(tables), shared=len(shared))
    return len(tables) + len(shared)


async def _unforced(connection: Any, table: str, statement: str) -> None:
    try:
        await connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        await connection.execute(statement)
        await connection.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{table} cannot be distributed: {error}") from error


async def _show_shards(connection: Any) -> None:
    """Citus hides shards in the catalogs by asking of each relation, often over, whether it is one: looking up a type takes a
    client many seconds then."""
    statement = await connection.fetchval(load_queries("distribute")["show_shards"])
    try:
        await connection.execute(statement)
    except asyncpg.InsufficientPrivilegeError:
        if await connection.fetchval("SELECT current_setting('citus.override_table_visibility') <> 'off'"):
            raise MigrationError(f"let the owner of the database run, at the coordinator: {statement}") from None
