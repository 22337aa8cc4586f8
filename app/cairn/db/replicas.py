"""Standbys of the primary that answer reads, each only while it has replayed what this process last committed.

Which reads may go there is said by `reading_contents`; all others are the primary's. Where one goes is decided by `eligible`,
from numbers that are at hand: the position in the write-ahead log where this process's last commit ends, and how far each
replica is known to have replayed. A replica is asked how far it is only where it is not known to be far enough. Whatever a
replica fails with is no failure of the read, which goes on at the primary. Why: docs/adr/0080-read-replicas.md.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import urlsplit

import asyncpg
import structlog

from cairn.db.queries import load_queries
from cairn.domain.replicas import ReplicasState, ReplicaState
from cairn.errors import CairnError, DatabaseUnavailableError, reason_of

T = TypeVar("T")
P = ParamSpec("P")
log = structlog.get_logger(__name__)

ANSWER_SECONDS: Final = 2.0
"""A replica that takes longer for what takes no time is left alone for a while: there is the primary."""
CHECK_SECONDS: Final = 1.0
"""Between two looks at how far each replica is."""
LONGEST_PAUSE_SECONDS: Final = 30.0
"""Between two attempts to reach one that is away."""
WAITING_SINCE: Final = 19
"""Major version of PostgreSQL from which a replica can be told to wait until it has replayed a position."""
WAIT_MS: Final = 50
"""That long, and then the primary answers."""
_SAMPLES: Final = 4096

# What a standby refuses, or ends in favour of its replay. Most of these mean something else on a primary.
RECOVERY_ERRORS: Final = (
    asyncpg.ReadOnlySQLTransactionError,  # 25006
    asyncpg.SerializationError,  # 40001: conflict with recovery; reads of other kinds never get it
    asyncpg.DeadlockDetectedError,  # 40P01: with the replay
    asyncpg.LockNotAvailableError,  # 55P03: the replay holds it
)
_ONLY_IN_RECOVERY: Final = (asyncpg.FeatureNotSupportedError, asyncpg.ObjectNotInPrerequisiteStateError)


def is_recovery_error(error: BaseException) -> bool:
    """Whether a server said that it cannot do this because it follows another one: 0A000 and 55000 have many meanings."""
    return isinstance(error, asyncpg.ReadOnlySQLTransactionError) or (
        isinstance(error, _ONLY_IN_RECOVERY) and "recovery" in str(error)
    )


class ReplicaLostError(DatabaseUnavailableError):
    """A replica failed within a snapshot that the primary does not have: the work is to be begun again (`reads_contents`)."""


@dataclass(slots=True, eq=False)
class Replica:
    """What this process knows of one. `replayed`: the position that it has replayed at least; it grows while one server is at
    the other end, and is forgotten with each new connection. `away`: why it is not used; it may come back. `excluded`: why it
    never will. `retry_at`: monotonic. `watch`: the connection on which it is looked after. `can_wait`: it took the statement that
    waits, or was not asked to. `major`: version of PostgreSQL; 0 before it is known."""

    name: str
    dsn: str
    pool: Any = None
    replayed: int = 0
    in_use: int = 0
    reads: int = 0
    failed_over: int = 0
    away: str | None = "not connected yet"
    excluded: str | None = None
    pause: float = CHECK_SECONDS
    retry_at: float = 0.0
    lag_bytes: int | None = None
    lag_seconds: float | None = None
    watch: Any = None
    can_wait: bool = True
    major: int = 0

    @property
    def can_be_told_to_wait(self) -> bool:
        """Not one that the last look found behind."""
        return self.can_wait and self.major >= WAITING_SINCE and not self.lag_seconds


def eligible(replicas: Sequence[Replica], position: int | None, most_seconds: float) -> list[Replica]:
    """Those that may answer a read, best first: known to have replayed `position`, then the least busy, then by turns. None where
    it is not known what was committed last."""
    if position is None:
        return []
    usable = [one for one in replicas if problem_of(one, most_seconds) is None]
    return sorted(usable, key=lambda one: (one.replayed < position, one.in_use, one.reads))


def problem_of(replica: Replica, most_seconds: float) -> str | None:
    """Why it is not used now; None where it is."""
    if (replica.lag_seconds or 0) > most_seconds:
        late = f"it is {replica.lag_seconds:.0f} s behind, more than replicas.maxLagSeconds"
        return replica.excluded or replica.away or late
    return replica.excluded or replica.away


def waiting_statement(major: int, position: int) -> str | None:
    """What has a replica of this major version wait until it has replayed a position; None where there is no such statement."""
    if major < WAITING_SINCE:
        return None
    return f"WAIT FOR LSN '{position >> 32:X}/{position & 0xFFFFFFFF:X}' WITH (TIMEOUT '{WAIT_MS}ms', NO_THROW)"


# --- which reads, and one direction ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Pin:
    """Where a piece of work reads: once at the primary always there, and never at two replicas, of which one may be behind."""

    replica: Replica | None = None
    primary: bool = False


_pin: ContextVar[_Pin | None] = ContextVar("reads", default=None)


def may_spread() -> bool:
    """Whether what is read now may be a replica's: only what `reading_contents` is around. Everything else is read to be changed,
    or must be the newest that any process has written, and it is the primary's without a word."""
    return _pin.get() is not None


@contextmanager
def reading_contents(*, primary: bool = False) -> Iterator[None]:
    """Around reads of what collections hold, which may be a moment old and never go back in time. Work that begins within stays
    bound by it. `primary`: all of them go there."""
    outer = _pin.get()
    if outer is not None and not primary:
        yield
        return
    token = _pin.set(_Pin(primary=primary))
    try:
        yield
    finally:
        _pin.reset(token)
        if outer is not None:
            outer.primary = True


def reads_contents(work: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """For functions that read what collections hold and change nothing: `reading_contents` is around them, and where a replica
    failed within a snapshot, they are begun again at the primary."""

    @wraps(work)
    async def reading(*args: P.args, **options: P.kwargs) -> T:
        with reading_contents():
            try:
                return await work(*args, **options)
            except ReplicaLostError as error:
                log.warning("replica.begun_again", problem=error.detail)
            with reading_contents(primary=True):
                return await work(*args, **options)

    return reading


# --- the replicas -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Position:
    """Where the last commit of this process ends in the log. `doubts` counts commits of which that could not be found out."""

    known: int | None = None
    doubts: int = 0


@dataclass(slots=True)
class Replicas:
    """Of one primary. `system`: the identifier of its cluster. `open_pool`: a pool that serves, from a URL and what is to be done
    with each new connection. `ask_primary`: where its log is now, (on disk, written)."""

    replicas: tuple[Replica, ...]
    system: int
    open_pool: Callable[[str, Callable[[Any], Awaitable[None]]], Awaitable[Any]]
    connect: Callable[[str], Awaitable[Any]]
    ask_primary: Callable[[], Awaitable[tuple[int, int]]]
    most_lag_seconds: Callable[[], float]
    primary_reads: int = 0
    _position: _Position = field(default_factory=_Position)
    _samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    _watching: asyncio.Task[None] | None = None

    def begin(self, position: int) -> None:
        """Look after the replicas from now on; `position` of the primary's log is what they must have replayed."""
        self._position.known = position
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        for replica in self.replicas:
            if replica.watch is not None:
                replica.watch.terminate()
            if replica.pool is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await replica.pool.close()
                replica.pool.terminate()

    def state(self) -> ReplicasState:
        most = self.most_lag_seconds()
        states = (
            ReplicaState(
                one.name, problem_of(one, most), one.lag_bytes, one.lag_seconds, one.reads, one.failed_over
            )
            for one in self.replicas
        )  # fmt: skip
        return ReplicasState(tuple(states), self.primary_reads)

    async def note_commit(self, connection: Any, *, durable: bool) -> None:
        """After a commit on a connection to the primary: reads that follow see it. `durable`: it waited for the disk. Never fails
        what is committed."""
        doubts = self._position.doubts
        try:
            position = await connection.fetchval(load_queries("replicas")["committed"], durable, timeout=ANSWER_SECONDS)
        except Exception as error:
            log.warning("replicas.position_unknown", problem=reason_of(error))
            self.doubt()
        except BaseException:
            self.doubt()
            raise
        else:
            self._settle(position, doubts)

    def doubt(self) -> None:
        """Something may have been committed, and it is not known where: until it is, the primary answers all."""
        self._position.known = None
        self._position.doubts += 1

    def _settle(self, position: int, doubts: int) -> None:
        """`position` was asked for when there had been so many doubts."""
        if doubts == self._position.doubts:
            self._position.known = max(position, self._position.known or 0)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[tuple[Replica, Any] | None]:
        """A replica that has replayed this process's last commit, and a connection to it; None: the primary is to be asked."""
        found = await self._find()
        if found is None:
            self.primary_reads += 1
            yield None
            return
        replica, connection = found
        replica.reads += 1
        replica.in_use += 1
        try:
            yield found
        finally:
            replica.in_use -= 1
            await replica.pool.release(connection)

    async def _find(self) -> tuple[Replica, Any] | None:
        pin, position = _pin.get(), self._position.known
        if pin is not None and pin.primary:
            return None
        usable = [
            replica
            for replica in eligible(self.replicas, position, self.most_lag_seconds())
            if pin is None or pin.replica in (None, replica)
        ]
        for wait in (False, True):
            for replica in usable if not wait else [one for one in usable if one.can_be_told_to_wait][:1]:
                assert position is not None
                if (connection := await self._acquire(replica, position, wait=wait)) is not None:
                    if pin is not None:
                        pin.replica = replica
                    return replica, connection
        if pin is not None:
            pin.primary = True
        return None

    async def _acquire(self, replica: Replica, position: int, *, wait: bool) -> Any | None:
        """A connection to a replica that has replayed the position; with `wait`, to one that may need a moment for it."""
        try:
            connection = await replica.pool.acquire(timeout=ANSWER_SECONDS)
        except TimeoutError:
            return None  # all in use; whether it is away is found out elsewhere
        except (CairnError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            self.lost(replica, error)
            return None
        if position <= replica.replayed:
            return connection
        try:
            if position <= (await self._ask(replica, connection) or 0):
                return connection
            replica.major = connection.get_server_version().major
            waited = wait and await self._wait(replica, connection, position)
            if waited and position <= (await self._ask(replica, connection) or 0):
                return connection
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
            self.lost(replica, error)  # a TimeoutError is an OSError
            connection.terminate()
        except BaseException:
            await replica.pool.release(connection)
            raise
        await replica.pool.release(connection)
        return None

    async def _ask(self, replica: Replica, connection: Any) -> int | None:
        position: int | None = await connection.fetchval(load_queries("replicas")["replayed"], timeout=ANSWER_SECONDS)
        if position is None:
            self.promoted(replica)
        else:
            replica.replayed = max(replica.replayed, position)
        return position

    async def _wait(self, replica: Replica, connection: Any, position: int) -> bool:
        """Give a replica that is a moment behind that moment, where it can be told to; whether it was told. One that the last
        look found behind is not waited for."""
        statement = waiting_statement(connection.get_server_version().major, position)
        if statement is None or not replica.can_wait or replica.lag_seconds:
            return False
        try:
            await connection.execute(statement, timeout=ANSWER_SECONDS)
        except (asyncpg.PostgresSyntaxError, asyncpg.FeatureNotSupportedError) as error:
            replica.can_wait = False
            log.warning("replica.cannot_wait", replica=replica.name, problem=reason_of(error))
        return replica.can_wait

    async def answers(self, replica: Replica) -> bool:
        """Whether it lives, where a statement took too long."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                connection = await self.connect(replica.dsn)
                try:
                    return await self._ask(replica, connection) is not None
                finally:
                    connection.terminate()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
            return False

    def failed(self, replica: Replica, error: BaseException) -> None:
        """A read failed there, for a reason that is the replica's; the primary answers it."""
        replica.failed_over += 1
        if (pin := _pin.get()) is not None:
            pin.primary = True
        if isinstance(error, RECOVERY_ERRORS) or is_recovery_error(error):
            log.info("replica.failed_over", replica=replica.name, problem=reason_of(error))
        else:
            self.lost(replica, error)

    def lost(self, replica: Replica, error: BaseException) -> None:
        """Not used until it answers again; the pauses grow while it does not."""
        if replica.away is None:
            replica.pause = CHECK_SECONDS
            log.warning("replica.away", replica=replica.name, problem=reason_of(error))
        replica.away = f"it does not answer: {reason_of(error)}"
        replica.replayed = 0
        replica.retry_at = time.monotonic() + replica.pause

    def promoted(self, replica: Replica) -> None:
        """It may have another history than the primary from here on, so nothing is read there any more."""
        self._exclude(replica, "it was promoted: it follows the primary no more, and may have another history")

    def _exclude(self, replica: Replica, why: str) -> None:
        if replica.excluded is None:
            replica.excluded = f"{why}. It is not used until this process starts anew"
            log.error("replica.excluded", replica=replica.name, problem=why)

    # --- looking after them ---

    async def _watch(self) -> None:
        while True:
            try:
                await self._sample()
                await asyncio.gather(*(self._check(one) for one in self.replicas))
            except Exception:
                log.exception("replicas.unwatched")
            await asyncio.sleep(CHECK_SECONDS)

    async def _sample(self) -> None:
        """Where the primary's log is; nothing where it does not answer, which is not told here."""
        doubts = self._position.doubts
        try:
            durable, written = await self.ask_primary()
        except (CairnError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return
        self._samples.append((time.monotonic(), durable))
        if self._position.known is None:
            self._settle(written, doubts)

    async def _check(self, replica: Replica) -> None:
        if replica.excluded or (replica.away and time.monotonic() < replica.retry_at):
            return
        try:
            async with asyncio.timeout(2 * ANSWER_SECONDS):
                await self._look(replica)
        except CairnError as error:
            self._away(replica, error.detail)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
            self._away(replica, f"it does not answer: {reason_of(error)}")

    def _away(self, replica: Replica, why: str) -> None:
        if replica.watch is not None:
            replica.watch.terminate()
            replica.watch = None
        if replica.away != why:
            log.warning("replica.away", replica=replica.name, problem=why)
        replica.away, replica.replayed = why, 0
        replica.retry_at = time.monotonic() + replica.pause
        replica.pause = min(2 * replica.pause, LONGEST_PAUSE_SECONDS)

    async def _look(self, replica: Replica) -> None:
        """How far it is; one that was away is used again from here on."""
        if replica.watch is None or replica.watch.is_closed():
            replica.watch = await self.connect(replica.dsn)
            await self._identify(replica, replica.watch)
        position = await self._ask(replica, replica.watch)
        if position is None or replica.excluded:
            return
        self._measure(replica, position)
        if replica.away is None:
            return
        if replica.pool is None:
            replica.pool = await self.open_pool(replica.dsn, lambda new: self._identify(replica, new))
        else:
            await replica.pool.expire_connections()
        if not replica.excluded:
            log.info("replica.used", replica=replica.name)
            replica.away, replica.pause = None, CHECK_SECONDS

    async def _identify(self, replica: Replica, connection: Any) -> None:
        """Each new connection: another server may answer there than before."""
        replica.replayed = 0
        found = await connection.fetchrow(load_queries("replicas")["identity"], timeout=ANSWER_SECONDS)
        if found["system_identifier"] != self.system:
            self._exclude(replica, "it is a copy of another server than CAIRN_DATABASE_URL")
        elif not found["in_recovery"]:
            self.promoted(replica)

    def _measure(self, replica: Replica, position: int) -> None:
        """Lag, by when the primary was where the replica is not yet."""
        if not self._samples:
            return
        replica.lag_bytes = max(0, self._samples[-1][1] - position)
        since = next((moment for moment, reached in self._samples if reached > position), None)
        replica.lag_seconds = 0.0 if since is None else round(time.monotonic() - since, 1)


def name_of(dsn: str) -> str:
    """Of a replica, for logs and health: where it is, without login and password."""
    parts = urlsplit(dsn)
    where = parts.netloc.rpartition("@")[2]
    socket = next((word[5:] for word in parts.query.split("&") if word.startswith("host=")), "")
    return where or socket or "local"


# --- a read -----------------------------------------------------------------------------------------------------------


class Reader:
    """A connection to a replica for one read, in its place one to the primary from where the replica failed.

    Outside a snapshot each statement sees what is committed by then, so that going on at the primary, which is never behind,
    changes nothing for who reads. Within one, that is so until a statement has answered; then ReplicaLostError is raised."""

    def __init__(
        self,
        replicas: Replicas,
        replica: Replica,
        connection: Any,
        is_failure: Callable[[BaseException], bool],
        primary: Callable[[], Awaitable[Any]],
        *,
        snapshot: bool,
    ) -> None:
        self._replicas, self._replica = replicas, replica
        self._connection = connection
        self._is_failure = is_failure
        self._primary = primary
        self._snapshot = snapshot
        self._answered = self._lost = False
        self.on_replica = True

    async def fetch(self, *args: Any, **options: Any) -> Any:
        return await self._run("fetch", args, options)

    async def fetchrow(self, *args: Any, **options: Any) -> Any:
        return await self._run("fetchrow", args, options)

    async def fetchval(self, *args: Any, **options: Any) -> Any:
        return await self._run("fetchval", args, options)

    async def execute(self, *args: Any, **options: Any) -> Any:
        return await self._run("execute", args, options)

    async def prepare(self, *args: Any, **options: Any) -> Any:
        return await self._run("prepare", args, options)

    def is_closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._lost or (not self.on_replica and bool(self._connection.is_closed()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def begin(self, work: Callable[[Any], Awaitable[None]]) -> None:
        """`work` begins the transaction; a connection to the primary comes with it begun."""
        try:
            await work(self._connection)
        except Exception as error:
            if not isinstance(error, TimeoutError) and not self._is_failure(error):
                raise
            await self._go_on(error)

    async def _run(self, method: str, args: Any, options: Any) -> Any:
        try:
            answer = await getattr(self._connection, method)(*args, **options)
        except TimeoutError as error:  # the limit of the search, or a replica that is gone
            if not self.on_replica or await self._replicas.answers(self._replica):
                raise
            await self._go_on(error)
        except Exception as error:
            if not self.on_replica or not self._is_failure(error):
                raise
            await self._go_on(error)
        else:
            if not self.on_replica or not was_promoted(self._connection):
                self._answered = True
                return answer
            self._replicas.promoted(self._replica)
            await self._go_on(ReplicaLostError("the replica was promoted"))
        return await getattr(self._connection, method)(*args, **options)

    async def _go_on(self, error: BaseException) -> None:
        self._replicas.failed(self._replica, error)
        if self._replica.away is not None:
            with suppress(asyncpg.InterfaceError):  # the pool has let go of it
                self._connection.terminate()  # nothing is said to it any more, and so nothing waited for
        if self._snapshot and self._answered:
            self._lost = True
            raise ReplicaLostError(f"a replica failed: {reason_of(error)}") from error
        self._connection = await self._primary()
        self.on_replica = False


def was_promoted(connection: Any) -> bool:
    """By what the server said of itself with its last answer; a pooler may keep that to itself."""
    return getattr(connection.get_settings(), "in_hot_standby", "on") == "off"
