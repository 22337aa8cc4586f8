"""Connections that serve: role cairn_app, one tenant per transaction, vectors in binary.

The pool connects with the owner's URL, or better with that of a login for serving, and drops to `cairn_app` through the
start-up packet, so that no statement ever runs with more rights. A pooler may drop that parameter unseen: so each new connection
is asked which rights it has (cairn/db/roles.py) and refused when row security would not hold. Session state is never used: the
role again, the tenant and the HNSW parameters are set with `set_config(..., is_local => true)` inside each transaction, so they
cannot leak through the pool, nor come from somebody else's session through a pooler. Prepared statements are the exception, and
can be left out; notifications need a session of their own, which a pooler does not give (docs/adr/0078-pgbouncer.md).
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, Literal

import asyncpg
import structlog
from pgvector.asyncpg import register_vector
from pydantic_core import from_json

from cairn import telemetry
from cairn.db import replicas as reads
from cairn.db.nodes import Node, Nodes, has_moved, is_distributed
from cairn.db.pooler import STATEMENT_ERRORS, check_statements, is_between, statements_lost
from cairn.db.queries import load_queries
from cairn.db.recovery import RECOVERY_SECONDS, connect_when_up
from cairn.db.replicas import Reader, Replica, ReplicaLostError, Replicas
from cairn.db.roles import APP_ROLE, verify_role
from cairn.domain.principal import Principal
from cairn.domain.replicas import ReplicasState
from cairn.errors import (
    CairnError,
    ConflictError,
    DatabaseUnavailableError,
    QueryTimeoutError,
    ReadOnlyError,
    UnsafeRoleError,
    WithheldError,
    reason_of,
)

log = structlog.get_logger(__name__)

Connection = asyncpg.Connection
_SESSION = {"role": APP_ROLE, "application_name": "cairn"}
Isolation = Literal["read_committed", "repeatable_read"]

STATEMENT_SECONDS = 600.0
"""Nothing that serves waits longer for one statement; searches have limits of their own, far below."""
ACQUIRE_SECONDS = 30.0
"""Until one of the pool's connections is free."""
ANSWER_SECONDS = 15.0
"""For statements that take no time: a server that does not answer them is gone, or something between us is."""
# Writers of a collection wait for each other for less than a second each. A lock that somebody holds for longer, such as a
# session of the owner that was left open, must not take the pool with it. The second ends what a process left behind that
# hangs: its locks would stop all others.
_LIMITS = {"lock_timeout": "20s", "idle_in_transaction_session_timeout": "60s"}
# With any other, filtered vector search silently returns too few rows.
_SCAN = {"hnsw.iterative_scan": "relaxed_order"}

WITHHELD: Final = (
    "what has this name or id already, or the folder that it would be in, is not yours to read: choose another one, or ask an "
    "administrator"
)
"""Said of a row that somebody would write in the place of one that is withheld from them, or in a folder that is."""
WITHHELD_CONVERSATION: Final = (
    "the conversation stands on documents that are not yours to read, or are no longer: begin another one"
)
_OF_ANOTHER: Final = (
    "row-level security policy (USING expression)",
    'new row violates row-level security policy for table "documents"',
    'new row violates row-level security policy for table "sessions"',  # of a conversation that is gone on with
)
"""What PostgreSQL says then."""

_BYTES = ("uuid_list", "float8_list", "text_list")
"""Domains over arrays: arguments of these types are arrays in binary already (cairn/store/arrays.py)."""

# How asyncpg shows a lost or refused connection: four unrelated families.
CONNECTION_ERRORS: tuple[type[BaseException], ...] = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,  # no connection, no memory
    asyncpg.IdleInTransactionSessionTimeoutError,
    OSError,
)


def translate(error: BaseException) -> CairnError | None:
    """The CairnError that a database failure means to a caller; None for anything that is a bug."""
    if reads.is_recovery_error(error):
        return ReadOnlyError()
    if isinstance(error, asyncpg.QueryCanceledError):
        return QueryTimeoutError("the database did not answer in time; narrow the request or try again")
    if isinstance(error, asyncpg.DiskFullError):
        return DatabaseUnavailableError("the database's disk is full: nothing can be stored until there is room on it")
    if isinstance(error, asyncpg.SerializationError | asyncpg.DeadlockDetectedError | asyncpg.LockNotAvailableError):
        return DatabaseUnavailableError("the database is busy with conflicting work; try again")
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        return ConflictError("what this belongs to was deleted meanwhile; look at it and try again")
    if isinstance(error, STATEMENT_ERRORS):
        return statements_lost()
    if isinstance(error, asyncpg.InsufficientPrivilegeError) and any(said in str(error) for said in _OF_ANOTHER):
        return WithheldError(WITHHELD_CONVERSATION if 'table "sessions"' in str(error) else WITHHELD)
    if has_moved(error):
        return DatabaseUnavailableError("the rows of this tenant have moved to another node of the database; try again")
    if isinstance(error, CONNECTION_ERRORS):
        return DatabaseUnavailableError(f"no connection to the database ({type(error).__name__}); try again")
    return None


def _is_replicas(error: BaseException) -> bool:
    """Whether a read failed because it was made on a replica, and so may be made at the primary."""
    if isinstance(error, TimeoutError):
        return False
    return isinstance(error, (*CONNECTION_ERRORS, *reads.RECOVERY_ERRORS)) or reads.is_recovery_error(error)


async def _initialise(connection: Any) -> None:
    _notice_silence(connection)
    if telemetry.is_on():
        connection.add_query_logger(_trace_statement)
    await verify_role(connection)
    await register_vector(connection, schema="public")
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=json.dumps, decoder=from_json)
    try:
        for name in _BYTES:
            await connection.set_builtin_type_codec(name, schema="rag", codec_name="bytea", format="binary")
    except ValueError as error:  # there is no such type
        raise DatabaseUnavailableError(
            "the database lacks the schema of this release: run `cairn migrate`; a standby is used once it has replayed that"
        ) from error


_TYPES: Final = (
    *(("public", name) for name in ("vector", "halfvec", "sparsevec")),
    *(("rag", name) for name in _BYTES),
)
_ASK_TYPES: Final = """
SELECT t.oid, t.typelem AS elemtype, t.typtype AS kind, n.nspname::text AS schema, t.typname::text AS name
FROM unnest($1::text[], $2::text[]) AS w (schema, name)
JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.schema
JOIN pg_catalog.pg_type AS t ON t.typnamespace = n.oid AND t.typname = w.name
"""

STATEMENT_CHARS = 300
"""Of the text of a statement in a span. It has parameters where values belong."""


def _trace_statement(done: Any) -> None:
    """asyncpg calls it after each statement, in the context that ran it."""
    verb = done.query.split(None, 1)[:1]
    told = {"db.system.name": "postgresql", "db.query.text": done.query[:STATEMENT_CHARS]}
    telemetry.record(f"sql {verb[0].upper()[:20]}" if verb else "sql", done.elapsed, told, error=done.exception)


def _notice_silence(connection: Any) -> None:
    """A connection over a network ends when the other side has been silent for half a minute, and not after the hours that
    the kernel would wait. Through a Unix socket that cannot happen."""
    found = connection._transport.get_extra_info("socket")  # asyncpg has no other way to it
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 30_000)):
        if hasattr(socket, name):  # not on every system
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _roll_back(connection: Any) -> None:
    """End the transaction; where the server does not answer, the connection: a pool of those that hang serves nobody."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    try:
        await _execute(connection, "ROLLBACK")
    except CONNECTION_ERRORS:
        connection.terminate()


async def _settle(connection: Any) -> None:
    """End what the server still waits for; where it does not answer, the connection."""
    try:
        await _execute(connection, "SELECT 1")
        connection._unsettled = False
    except CONNECTION_ERRORS:
        connection.terminate()


async def _execute(connection: Any, statement: str, *, seconds: float = ANSWER_SECONDS) -> None:
    """What takes no time. A connection on which it does is ended: the pool would wait for the statement once more."""
    try:
        await connection.execute(statement, timeout=seconds)
    except TimeoutError:
        connection.terminate()
        raise


OWN_OIDS: Final = 10_000
"""PostgreSQL itself gives the types below, the same ones in every database of every release."""

_described: dict[int, list[Any]] = {}
"""Rows of asyncpg's question about a type below OWN_OIDS, by its OID."""


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """A pooled connection that needs no cleaning: nothing here sets session state, and RESET ALL after every use would be
    a round trip of its own. A transaction that is left open is rolled back in any case.

    asyncpg asks each connection anew what uuid[], int8[] and the like are made of, by a recursive query over the catalog
    that takes longer than what is then asked. A process asks it once. It asks for each type of an extension or of ours, too, one
    by one; here a connection asks for all of them by one statement."""

    _named: Mapping[tuple[str, str], Any] | None = None
    """Schema and name of such types to what asyncpg asks of them, once it was asked."""
    _unsettled = False
    """Whether a statement was given up while it was being prepared. asyncpg asks for that without an end of its message, so the
    server goes on waiting for one: outside a transaction it keeps a snapshot and the locks of what it has looked at."""

    async def _introspect_type(self, typename: str, schema: str) -> Any:
        if (schema, typename) not in _TYPES:
            return await super()._introspect_type(typename, schema)
        if self._named is None:
            rows = await self.fetch(_ASK_TYPES, [schema for schema, _ in _TYPES], [name for _, name in _TYPES])
            self._named = {(row["schema"], row["name"]): row for row in rows}
        if (found := self._named.get((schema, typename))) is None:
            raise ValueError(f"unknown type: {schema}.{typename}")
        return found

    def get_reset_query(self) -> str:
        return ""

    async def reset(self, *, timeout: float | None = None) -> None:
        """As asyncpg, which complains to the event loop of a transaction that is open: only one whose COMMIT or ROLLBACK was
        cancelled comes here with one, and who interrupts a command shall not read of that."""
        async with asyncio.timeout(timeout):
            await _roll_back(self)
            if self._unsettled and not self.is_closed():
                await _settle(self)
            await super().reset()

    async def _get_statement(self, *arguments: Any, **options: Any) -> Any:
        try:
            return await super()._get_statement(*arguments, **options)
        except BaseException:
            self._unsettled = True
            raise

    async def _introspect_types(self, typeoids: Iterable[int], timeout: float | None) -> tuple[list[Any], Any]:
        rows: list[Any] = []
        statement: Any = _NOT_ASKED
        for oid in (wanted := set(typeoids)):
            if oid < OWN_OIDS:
                if oid not in _described:
                    _described[oid], statement = await super()._introspect_types([oid], timeout)
                rows += _described[oid]
        if others := [oid for oid in wanted if oid >= OWN_OIDS]:
            found, statement = await super()._introspect_types(others, timeout)
            rows += found
        return rows, statement


_NOT_ASKED: Final = SimpleNamespace(name="not asked")
"""In place of the statement by which asyncpg asked, which would have displaced an unnamed one (there is none of a name)."""


@asynccontextmanager
async def savepoint(connection: Any) -> AsyncIterator[None]:
    """Within a transaction: an error that leaves the block leaves the transaction usable."""
    await connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if not connection.is_closed():
            await connection.execute("ROLLBACK TO SAVEPOINT part")
        raise
    await connection.execute("RELEASE SAVEPOINT part")


async def stream(connection: Any, query: str, *arguments: Any, prefetch: int) -> AsyncIterator[Any]:
    """Rows of a query, so many at a time, within a transaction. asyncpg's own cursors name their statement in any case, and
    the name would stay behind in a session that others share."""
    statement = await connection.prepare(query)
    async for row in statement.cursor(*arguments, prefetch=prefetch):
        yield row


def _begin(isolation: Isolation, readonly: bool, config: Mapping[str, str], enter: int | None = None) -> str:
    """BEGIN with the settings of the transaction, in one message and so in one round trip. `enter`: the tenant, where it must
    be asked whether it is at this node."""

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    settings = ", ".join(f"set_config({quoted(name)}, {quoted(value)}, true)" for name, value in config.items())
    level = isolation.replace("_", " ").upper()
    entered = "" if enter is None else f", rag.enter_tenant({enter})"
    return f"BEGIN ISOLATION LEVEL {level} {'READ ONLY' if readonly else 'READ WRITE'}; SELECT {settings}{entered}"


async def _open_pool(
    dsn: str,
    *,
    max_size: int,
    prepared_statements: bool,
    also: Callable[[Any], Awaitable[None]] | None = None,
    node: Node | None = None,
    seconds: float = 0.0,
) -> tuple[Any, bool]:
    """A pool of connections that serve, each asked for its rights and given to `also`, and whether a pooler lies between. `node`:
    where they lead instead of the URL's host. `seconds`: how long a server that is coming up is waited for. Raises what
    `Database.open` raises."""

    async def initialise(connection: Any) -> None:
        await _initialise(connection)
        if also is not None:
            await also(connection)

    statements = {} if prepared_statements else {"statement_cache_size": 0}
    try:
        opening = partial(
            asyncpg.create_pool,
            dsn,
            min_size=1,
            max_size=max_size,
            init=initialise,
            connection_class=_Connection,
            server_settings=_SESSION,
            timeout=15,
            command_timeout=STATEMENT_SECONDS,
            **statements,
            **(node._asdict() if node else {}),
        )
        pool = await connect_when_up(opening, seconds=seconds)
        try:
            async with pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
                pooled = await is_between(connection)
            if pooled and prepared_statements:
                await check_statements(partial(_connect, dsn, command_timeout=ANSWER_SECONDS))
        except BaseException:
            pool.terminate()
            raise
    except STATEMENT_ERRORS as error:
        raise statements_lost() from error
    except (asyncpg.PostgresError, *CONNECTION_ERRORS) as error:
        raise DatabaseUnavailableError(f"cannot connect to PostgreSQL: {reason_of(error)}") from error
    return pool, pooled


async def _connect(dsn: str, **options: Any) -> Any:
    """A connection that belongs to no pool."""
    return await asyncpg.connect(dsn, server_settings=_SESSION, timeout=15, **options)


class Database:
    """A small pool (1 to 4 connections per process by default) of tenant-scoped transactions, and one for each replica that may
    answer those that only read."""

    def __init__(
        self,
        pool: Any,
        own_dsn: str,
        *,
        notifies: bool,
        replicas: Replicas | None = None,
        nodes: Nodes | None = None,
        spreads: bool = True,
        counts: bool = True,
    ) -> None:
        """`nodes`: of a distributed database. `spreads`: reads may go to replicas. `counts`: reads that follow see what is
        committed here."""
        self._pool = pool
        self._nodes = nodes
        self._own_dsn = own_dsn
        self.notifies = notifies
        """Whether a connection of the pool can listen: not behind a pooler, which gives its session to others meanwhile, and not
        where tenants notify at nodes of their own."""
        self._replicas = replicas
        self._spreads, self._counts = spreads and replicas is not None, counts and replicas is not None

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        max_size: int = 4,
        direct: str | None = None,
        prepared_statements: bool = True,
        replicas: Sequence[str] = (),
        most_lag_seconds: Callable[[], float] = lambda: 30.0,
    ) -> Database:
        """Connect as cairn_app. `direct`: a URL that leads past a pooler, if there is one between; used for what needs a
        session of its own. `replicas`: URLs of standbys, connected to as soon as they can be; those more than
        `most_lag_seconds` behind answer nothing. Raises DatabaseUnavailableError when the server cannot be reached or refuses,
        UnsafeRoleError when it gives more rights than that, PreparedStatementsError when a pooler would lose statements."""
        pool, pooled = await _open_pool(
            dsn, max_size=max_size, prepared_statements=prepared_statements, seconds=RECOVERY_SECONDS
        )
        if pooled:
            log.info("database.pooled", prepared_statements=prepared_statements, listens="directly" if direct else "no")
        own_dsn = (direct if pooled else None) or dsn
        opened = cls(pool, own_dsn, notifies=not pooled)
        try:
            async with opened.connection() as connection:
                distributed = await is_distributed(connection)
        except BaseException:
            pool.terminate()
            raise
        if distributed:
            if replicas:
                log.warning(
                    "replicas.unused", problem="the database is distributed: reads go to the node of their tenant"
                )
            open_node = partial(_open_node, dsn, max_size=max_size, prepared_statements=prepared_statements)
            return cls(pool, own_dsn, notifies=False, nodes=Nodes(pool, open_node, ACQUIRE_SECONDS))
        if not replicas:
            return opened
        try:
            open_one = partial(_open_replica, max_size=max_size, prepared_statements=prepared_statements)
            found = await opened._begin_replicas(replicas, open_one, most_lag_seconds)
        except BaseException:
            pool.terminate()
            raise
        return cls(pool, opened._own_dsn, notifies=opened.notifies, replicas=found)

    async def _begin_replicas(
        self, dsns: Sequence[str], open_pool: Any, most_lag_seconds: Callable[[], float]
    ) -> Replicas | None:
        statements = load_queries("replicas")

        async def ask() -> tuple[int, int]:
            async with self.connection() as connection:
                return tuple(await connection.fetchrow(statements["written"], timeout=reads.ANSWER_SECONDS))

        async with self.connection() as connection:
            mine = await connection.fetchrow(statements["identity"])
        if mine["in_recovery"]:
            log.warning("replicas.unused", problem="CAIRN_DATABASE_URL is a standby itself")
            return None
        all_of_them = tuple(Replica(reads.name_of(dsn), dsn) for dsn in dsns)
        found = Replicas(all_of_them, mine["system_identifier"], open_pool, _connect, ask, most_lag_seconds)
        _, written = await ask()
        found.begin(written)
        return found

    @property
    def is_distributed(self) -> bool:
        """Whether the rows of tenants are spread over nodes: then one transaction serves one tenant."""
        return self._nodes is not None

    @property
    def primary(self) -> Database:
        """The same without replicas, for what must see all that any process has committed, also where contents of collections are
        read around it: runs, conversations."""
        return Database(
            self._pool, self._own_dsn, notifies=self.notifies, replicas=self._replicas, nodes=self._nodes,
            spreads=False, counts=self._counts,
        )  # fmt: skip

    @property
    def bookkeeping(self) -> Database:
        """The same for what no read waits for: traces, counters, the cache. It is read at the primary."""
        return Database(
            self._pool, self._own_dsn, notifies=self.notifies, replicas=self._replicas, nodes=self._nodes,
            spreads=False, counts=False,
        )  # fmt: skip

    def _may_spread(self) -> bool:
        return self._spreads and reads.may_spread()

    def replicas(self) -> ReplicasState:
        """How they are; of none where there are none."""
        return self._replicas.state() if self._replicas else ReplicasState((), 0)

    def note_elsewhere(self) -> None:
        """Something was committed on a connection that is not of this pool: reads see it, at the primary if need be."""
        if self._replicas is not None:
            self._replicas.doubt()

    async def close(self) -> None:
        if self._replicas is not None:
            await self._replicas.close()
        if self._nodes is not None:
            await self._nodes.close()
        await self._pool.close()

    @asynccontextmanager
    async def own_connection(self) -> AsyncIterator[Any]:
        """A connection of its own, past any pooler, which waits for nobody and keeps none from others. Raises CairnError."""
        try:
            connection = await _connect(self._own_dsn)
            try:
                await verify_role(connection)
                yield connection
            finally:
                await connection.close(timeout=2)
        except CairnError:
            raise
        except Exception as error:
            if (known := translate(error)) is None:
                raise
            raise known from error

    @asynccontextmanager
    async def connection(self, principal: Principal | None = None) -> AsyncIterator[Any]:
        """A connection without a transaction and without a tenant: sees no tenant's rows. `principal`: whose rows functions that
        are called on it will read; in a distributed database it leads to the node that has them."""
        try:
            pool = self._pool
            if self._nodes is not None and principal is not None:
                pool = await self._nodes.pool_of(principal.tenant_id)
            async with pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
                yield connection
        except UnsafeRoleError as error:  # names roles: for the log, not for whoever asked
            log.error("database.unsafe_role", problem=error.detail)
            raise DatabaseUnavailableError("the database gives no connection that may serve; see the log") from error
        except CairnError:
            raise
        except Exception as error:
            if self._nodes is not None and principal is not None and has_moved(error):
                self._nodes.forget(principal.tenant_id)
            if (known := translate(error)) is None:
                raise
            raise known from error

    def read_newest(self) -> None:
        """Read at the primary until it is known where its log is now: what others have committed may not be at a replica."""
        if self._replicas is not None:
            self._replicas.doubt()

    def reading(self, principal: Principal) -> AbstractAsyncContextManager[Any]:
        """The same for statements that change nothing, of a replica where one may answer."""
        return self._read(None, principal, snapshot=False) if self._may_spread() else self.connection(principal)

    @asynccontextmanager
    async def transaction(
        self,
        principal: Principal,
        *,
        readonly: bool = False,
        isolation: Isolation = "read_committed",
        config: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Any]:
        """A transaction in which only the principal's rows exist, and of them those that it may read. `config` are settings
        local to it. One that is `readonly` may be a replica's within `reading_contents`; with `repeatable_read` it may raise
        ReplicaLostError then (cairn.db.replicas.reads_contents)."""
        settings = dict(config or {})
        begin = _begin(
            isolation,
            readonly,
            {
                "role": APP_ROLE,
                "app.tenant": str(principal.tenant_id),
                "app.principals": principal.principals,
                **_LIMITS,
                **_SCAN,
                **settings,
            },
            principal.tenant_id if self._nodes is not None else None,
        )
        if readonly and self._may_spread():
            async with self._read(begin, principal, snapshot=isolation == "repeatable_read") as connection:
                yield connection
            return
        async with self._on_primary(begin, principal) as connection:
            yield connection
            if readonly or not self._counts or self._replicas is None:
                return
            await self._commit(connection, self._replicas, durable=settings.get("synchronous_commit") != "off")

    @asynccontextmanager
    async def autocommit(self, principal: Principal) -> AsyncIterator[Any]:
        """A connection to the primary for one statement: a function that enters the tenant by itself, and whose writes need not
        survive a crash of the server. One round trip instead of three."""
        async with self.connection(principal) as connection:
            if not self._counts or self._replicas is None:
                yield connection
                return
            try:
                yield connection
            except BaseException:
                self._replicas.doubt()
                raise
            await self._replicas.note_commit(connection, durable=False)

    @asynccontextmanager
    async def _on_primary(self, begin: str, principal: Principal) -> AsyncIterator[Any]:
        async with self.connection(principal) as connection:
            try:
                await _execute(connection, begin)  # may be cancelled when the server has begun
                yield connection
            except BaseException:
                await _roll_back(connection)
                raise
            if connection.is_in_transaction():
                await connection.execute("COMMIT")

    @staticmethod
    async def _commit(connection: Any, replicas: Replicas, *, durable: bool) -> None:
        try:
            await connection.execute("COMMIT")
        except BaseException:
            replicas.doubt()
            raise
        await replicas.note_commit(connection, durable=durable)

    @asynccontextmanager
    async def _read(self, begin: str | None, principal: Principal, *, snapshot: bool) -> AsyncIterator[Any]:
        """At a replica that may answer, else at the primary."""
        assert self._replicas is not None
        async with self._replicas.lend() as lent, AsyncExitStack() as stack:

            async def primary() -> Any:
                there = self._on_primary(begin, principal) if begin else self.connection(principal)
                return await stack.enter_async_context(there)

            if lent is None:
                yield await primary()
                return
            replica, connection = lent
            reader = Reader(self._replicas, replica, connection, _is_replicas, primary, snapshot=snapshot)
            try:
                if begin:
                    await reader.begin(partial(_execute, statement=begin, seconds=reads.ANSWER_SECONDS))
                yield reader
            except BaseException as error:
                await _leave(connection)
                if not reader.on_replica or isinstance(error, CairnError) or not isinstance(error, Exception):
                    raise
                if _is_replicas(error):
                    self._replicas.failed(replica, error)
                    raise ReplicaLostError(f"a replica failed: {reason_of(error)}") from error
                if (known := translate(error)) is None:
                    raise
                raise known from error
            await _leave(connection)  # nothing is there to be committed


async def _leave(connection: Any) -> None:
    """A transaction at a replica. Where the connection was lost, the pool has let go of it."""
    with suppress(asyncpg.InterfaceError):
        await _roll_back(connection)


async def _open_replica(
    dsn: str, also: Callable[[Any], Awaitable[None]], *, max_size: int, prepared_statements: bool
) -> Any:
    pool, _ = await _open_pool(dsn, max_size=max_size, prepared_statements=prepared_statements, also=also)
    return pool


async def _open_node(dsn: str, node: Node, *, max_size: int, prepared_statements: bool) -> Any:
    pool, _ = await _open_pool(dsn, max_size=max_size, prepared_statements=prepared_statements, node=node)
    return pool
