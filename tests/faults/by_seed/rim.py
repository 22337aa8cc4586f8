"""What goes wrong, at the rim: on the connection to the server, in the task, on the database's clock. Nothing of the product is
replaced; its pool makes connections of the class below, which are asyncpg's but for what strikes at their statements."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg

from cairn.db import pool
from cairn.jobs import worker
from cairn.runs import log as run_log
from tests.waiting import patience

REFUSALS: Final = {
    "lock time-out": "55P03",
    "serialisation failure": "40001",
    "deadlock": "40P01",
    "full disk": "53100",
    "no memory": "53200",
    "query cancelled": "57014",
}
"""Faults that the server tells itself: in place of the statement it raises this SQLSTATE, and the transaction has failed."""

HELD_SECONDS: Final = 0.2
"""Of a process that was stopped: it holds its locks meanwhile."""
LOCK_TIMEOUT: Final = "100ms"
"""For a statement that meets a lock that somebody holds as long as it waits; others wait as long as they do in service."""

_running: ContextVar[Operation | None] = ContextVar("operation", default=None)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@dataclass(eq=False)
class Operation:
    """One step under way: how many statements it has sent, and what is to strike it."""

    name: str
    faults: dict[int, str]
    outside: Outside
    awaited: int | None = None
    """The await at which it is cancelled."""
    sent: int = 0
    struck: list[str] = field(default_factory=list)
    dead: bool = False
    task: asyncio.Task[Any] | None = None
    connections: set[Any] = field(default_factory=set)
    """Those that it uses now."""

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """`work`, struck by what is planned; raises what it raises."""
        _running.set(self)
        self.task = asyncio.current_task()
        await _Counted(work(), self)

    def die(self) -> None:
        """As kill -9 does: from now on nothing of it reaches the database. What the tasks still do in memory dies unseen."""
        self.dead = True
        for connection in list(self.connections):
            connection.terminate()
        self.cancel()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


class _Counted:
    """A coroutine whose awaits are counted; at the one that is planned its task is cancelled."""

    def __init__(self, work: Coroutine[Any, Any, None], operation: Operation) -> None:
        self._work, self._operation = work, operation

    def __await__(self) -> Generator[Any, Any, None]:
        operation, counted = self._operation, 0
        steps = self._work.__await__()
        sent: Any = None
        error: BaseException | None = None
        while True:
            try:
                waits_for = steps.throw(error) if error else steps.send(sent)
            except StopIteration:
                return
            counted += 1
            if counted == operation.awaited:
                operation.struck.append(f"cancelled at await {counted}")
                asyncio.get_running_loop().call_soon(operation.cancel)
            sent, error = None, None
            try:
                sent = yield waits_for
            except BaseException as raised:
                error = raised


class Outside:
    """Somebody else at the same database: sessions of its owner that hold locks, and the clock."""

    def __init__(self, dsn: str, owner: asyncpg.Connection) -> None:
        """`owner`: a connection that nobody else uses."""
        self._dsn, self._owner = dsn, owner
        self._lock = asyncio.Lock()
        self.jumps: Counter[str] = Counter()

    async def jump(self, seconds: int) -> None:
        """As if the database's clock had jumped so far: what was written with the old one lies so much further back, or ahead."""
        self.jumps["ahead" if seconds > 0 else "back"] += 1
        by = f"{seconds} seconds"
        async with self._lock:
            for table, column in (("jobs", "lease_until"), ("jobs", "run_at"), ("resumable_runs", "lease_until")):
                await self._owner.execute(
                    f"UPDATE rag.{table} SET {column} = {column} - $1::text::interval WHERE {column} IS NOT NULL", by
                )

    async def free_leases(self) -> None:
        """As if all leases and delays were over, by the clock of the database."""
        await self.jump(3 * 3600)

    async def terminate(self, pid: int) -> None:
        async with self._lock:
            await self._owner.execute("SELECT pg_terminate_backend($1)", pid)

    @contextlib.asynccontextmanager
    async def holding_collections(self) -> AsyncIterator[None]:
        """Rows of all collections that nobody holds just now are somebody else's."""
        session = await asyncpg.connect(self._dsn)
        try:
            async with session.transaction():
                await session.execute("SELECT 1 FROM rag.collections FOR UPDATE SKIP LOCKED")
                yield
        finally:
            session.terminate()


class StruckConnection(pool._Connection):
    """A connection of the pool that counts the statements of the operation that uses it, and lets faults strike."""

    _user: Operation | None = None

    async def execute(self, query: str, *arguments: Any, timeout: float | None = None) -> Any:
        if arguments:
            return await super().execute(query, *arguments, timeout=timeout)  # comes to _execute
        if query.startswith("ROLLBACK"):
            return await self._strike(
                lambda: super(StruckConnection, self).execute(query, timeout=timeout), refusable=False
            )
        return await self._strike(lambda: super(StruckConnection, self).execute(query, timeout=timeout))

    async def _execute(self, *arguments: Any, **options: Any) -> Any:
        return await self._strike(lambda: super(StruckConnection, self)._execute(*arguments, **options))

    async def _executemany(self, *arguments: Any, **options: Any) -> Any:
        return await self._strike(lambda: super(StruckConnection, self)._executemany(*arguments, **options))

    async def _copy_in(self, *arguments: Any, **options: Any) -> Any:
        return await self._strike(lambda: super(StruckConnection, self)._copy_in(*arguments, **options))

    def _on_release(self, stacklevel: int = 1) -> None:
        """It goes back to the pool, and belongs to no operation any more."""
        super()._on_release(stacklevel)
        if self._user is not None:
            self._user.connections.discard(self)
            self._user = None

    async def reset(self, *, timeout: float | None = None) -> None:
        with _unstruck():
            await super().reset(timeout=timeout)

    async def _introspect_types(self, *arguments: Any) -> Any:
        with _unstruck():
            return await super()._introspect_types(*arguments)

    async def _strike(self, send: Callable[[], Awaitable[Any]], *, refusable: bool = True) -> Any:
        """`refusable`: the server may fail at it."""
        operation = _running.get()
        if operation is None or _quiet.get():
            return await send()
        if operation.dead:
            self.terminate()
            raise _dead()
        self._user = operation
        operation.connections.add(self)
        operation.sent += 1
        kind = operation.faults.get(operation.sent)
        if kind is None or (kind in REFUSALS and not refusable):
            return await send()
        operation.struck.append(f"{kind} at {operation.sent}")
        with _unstruck():
            return await self._meet(kind, operation, send)

    async def _meet(self, kind: str, operation: Operation, send: Callable[[], Awaitable[Any]]) -> Any:
        outside = operation.outside
        if kind in REFUSALS:
            state = REFUSALS[kind]
            await super().execute(f"DO $$ BEGIN RAISE EXCEPTION 'by seed' USING ERRCODE = '{state}'; END $$")
        match kind:
            case "kill":
                operation.die()
                raise _dead()
            case "kill after":
                await send()
                operation.die()
                raise _dead()
            case "cancel":
                operation.cancel()
            case "hang":
                await asyncio.sleep(HELD_SECONDS)
            case "freeze":  # for so long that its leases are over, by the clock of the database
                await outside.free_leases()
                await asyncio.sleep(HELD_SECONDS)
            case "cut":
                asyncio.get_running_loop().call_soon(self._transport.abort)
            case "cut before":
                self._transport.abort()
            case "cut after":
                await send()
                self._transport.abort()
                raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
            case "terminate":
                await outside.terminate(self.get_server_pid())
            case "lock":
                async with outside.holding_collections():
                    if self.is_in_transaction():
                        await super().execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                        return await send()
            case "clock ahead":
                await outside.jump(24 * 3600)
            case "clock back":
                await outside.jump(-24 * 3600)
        return await send()


def _dead() -> Exception:
    """For a task of a process that was killed, which ends at its next await."""
    if (task := asyncio.current_task()) is not None:
        task.cancel()
    return asyncpg.ConnectionDoesNotExistError("the process that had it was killed")


@contextlib.contextmanager
def _unstruck() -> Iterator[None]:
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


@contextlib.contextmanager
def rim() -> Iterator[None]:
    """Connections that are opened within can be struck; what waits for a database to come back waits shortly, and what waits for
    an answer as long as a slow machine takes."""
    initialise = pool._initialise

    async def unstruck(connection: Any) -> None:
        with _unstruck():
            await initialise(connection)

    changed: list[tuple[Any, str, Any]] = [
        (pool, "_Connection", StruckConnection),
        (pool, "_initialise", unstruck),
        (worker, "MAX_PAUSE_SECONDS", 0.02),
        (run_log, "BEAT_SECONDS", 0.05),
        (run_log, "ANSWER_SECONDS", patience()),
        (worker, "ANSWER_SECONDS", patience()),
        (pool, "ANSWER_SECONDS", patience(15)),
        (pool, "ACQUIRE_SECONDS", patience(30)),
        (run_log, "MERGE_SECONDS", 0.01),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in changed]
    for module, name, value in changed:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
