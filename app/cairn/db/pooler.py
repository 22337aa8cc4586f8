"""What lies between us and PostgreSQL: a pooler that shares server sessions among connections, such as PgBouncer, or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

from cairn.errors import PreparedStatementsError

_TRIES: Final = 3
_ANSWER_SECONDS: Final = 5.0
"""A pooler that has one session for this login lets the second connection wait."""
_SERVER: Final = "SELECT pg_backend_pid()"

STATEMENT_ERRORS: Final = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)
"""A statement was prepared in one session and looked for in another."""


def statements_lost() -> PreparedStatementsError:
    """What STATEMENT_ERRORS mean to whoever operates the server."""
    return PreparedStatementsError(
        "a pooler in transaction mode loses prepared statements: set CAIRN_PREPARED_STATEMENTS=off, or use PgBouncer 1.22 or "
        "newer with max_prepared_statements above 0"
    )


async def is_between(connection: Any) -> bool:
    """Whether a pooler answers: it makes up the number of the process that a client is told when it connects."""
    return bool(await connection.fetchval(_SERVER) != connection.get_server_pid())


async def check_statements(connect: Callable[[], Awaitable[Any]]) -> None:
    """Raises PreparedStatementsError where a statement that was prepared in one session is looked for in another.

    Errors would be the better outcome: processes give their statements the same names, and could run each other's. So a
    statement is prepared, somebody else is made to take the session that has it, and it is asked for again.
    """
    first = await connect()
    try:
        second = await connect()
        try:
            statement = await first.prepare(_SERVER, name=f"cairn_{secrets.token_hex(8)}")
            for _ in range(_TRIES):
                home = await statement.fetchval(timeout=_ANSWER_SECONDS)
                async with second.transaction():
                    await second.execute("SELECT 1")  # BEGIN alone may not take a session
                    if await statement.fetchval(timeout=_ANSWER_SECONDS) != home:
                        return
        except STATEMENT_ERRORS:
            raise statements_lost() from None
        except TimeoutError:
            return  # one session for all: nothing gets lost between two
        finally:
            second.terminate()
    finally:
        first.terminate()
