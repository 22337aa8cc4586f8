"""Who serves: no connection is used whose role stands above row security, and the embedded server has a login for serving."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from cairn.db.queries import load_queries
from cairn.errors import DatabaseUnavailableError, UnsafeRoleError, reason_of

APP_ROLE: Final = "cairn_app"
SERVER_LOGIN: Final = "cairn_server"
"""Of embedded servers: a member of cairn_app and of nothing else."""

_ATTEMPTS: Final = 5
"""Of making the login: roles belong to the cluster, and processes that start at once collide."""
_COLLISIONS: Final = (asyncpg.UniqueViolationError, asyncpg.DuplicateObjectError, asyncpg.InternalServerError)
_CURE: Final = (
    "Row security would not hold, so nothing is served. A connection pooler that ignores the start-up parameter `role` "
    f"does this (PgBouncer: ignore_startup_parameters). Give serving a login of its own, CREATE ROLE {SERVER_LOGIN} LOGIN "
    f"PASSWORD '...'; GRANT {APP_ROLE} TO {SERVER_LOGIN}; and name it in CAIRN_APP_DATABASE_URL, or connect directly."
)


async def verify_role(connection: Any) -> None:
    """One statement. Raises UnsafeRoleError unless the role in force is cairn_app or a plain member of it."""
    rights = await connection.fetchrow(load_queries("roles")["rights"])
    if rights["superuser"]:
        reasons = ["is a superuser"]
    else:
        reasons = ["has BYPASSRLS"] if rights["bypasses"] else []
        reasons += ["is or may become the owner of the tables"] if rights["owns"] else []
        reasons += [f"is a member of {role}" for role in rights["above"]]
        reasons += [] if rights["serves"] else [f"is no member of {APP_ROLE}"]
    if reasons:
        raise UnsafeRoleError(
            f"PostgreSQL gave this connection the role {rights['role']}, which {', '.join(reasons)}. {_CURE}"
        )


async def ensure_server_login(owner_dsn: str) -> None:
    """Of a migrated embedded server, also one that an earlier release made. Raises DatabaseUnavailableError."""
    statements = load_queries("roles")
    try:
        connection = await asyncpg.connect(owner_dsn, timeout=15)
        try:
            for left in reversed(range(_ATTEMPTS)):
                if await connection.fetchval(statements["server_login_is_ready"]):
                    return
                try:
                    await connection.execute(statements["make_server_login"])
                except _COLLISIONS:
                    if not left:
                        raise
        finally:
            await connection.close(timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailableError(f"cannot prepare the login {SERVER_LOGIN}: {reason_of(error)}") from error
