"""The pool of Postgres connections: deadlines (seconds), circuit breaker, errors, pgvector's binary format.

Opening connects to nothing; the first statement does. `reading`, `recording` and `asking` translate asyncpg's
errors and refuse at once while Postgres is down. A statement's own fault (a unique violation, wrong SQL) says
nothing about the server and passes unchanged. A `vector` on the wire is big-endian float32 after two uint16
(pgvector, vector_send); an Embedding is the same, little-endian. Raises `Unavailable`, `NoRoom`, `Damaged`,
`Rejected`, `RetrievalError`.
"""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path

import asyncpg
import numpy as np
import structlog
from asyncpg.pool import PoolAcquireContext, PoolConnectionProxy

from app import disk
from app.breaker import LASTING, Breaker, is_down
from app.errors import Damaged, NoRoom, Rejected, RetrievalError, Unavailable
from app.types import Embedding

RETRY_SECONDS = 2
"""Retry-After in seconds: an embedded server that died is back within about a second."""

DOWN: tuple[type[Exception], ...] = (
    asyncpg.InterfaceError,  # the connection or the pool was closed under us
    asyncpg.InternalClientError,  # the protocol broke off in the middle
    asyncpg.PostgresConnectionError,  # class 08
    asyncpg.InvalidAuthorizationSpecificationError,  # class 28: a password changed while we ran
    asyncpg.TransactionRollbackError,  # class 40: a deadlock; asking again helps
    asyncpg.InsufficientResourcesError,  # class 53: disk or connections are used up
    asyncpg.OperatorInterventionError,  # class 57: shutting down, starting up, statement timeout
    asyncpg.PostgresSystemError,  # class 58
    asyncpg.ReadOnlySQLTransactionError,  # a standby after a failover
    OSError,  # no socket, refused, reset; TimeoutError is one too
)
"""Faults of the server."""
DAMAGE: tuple[type[asyncpg.PostgresError], ...] = (
    asyncpg.DataCorruptedError,  # a page whose checksum is wrong, a file that is too short
    asyncpg.IndexCorruptedError,
    asyncpg.UndefinedFileError,  # a table's or an index's file is gone
    asyncpg.PostgresIOError,  # the disk does not read it
)
"""Damaged files. The messages name files and indexes, never their content."""

log = structlog.get_logger(__name__)


@contextmanager
def postgres_faults() -> Iterator[None]:
    """For code that needs Postgres: the server's faults become `Unavailable`, a full disk `NoRoom` (reads
    still work)."""
    try:
        yield
    except DAMAGE as error:
        raise damaged(error) from error
    except asyncpg.DiskFullError as error:
        raise NoRoom("Postgres has no room left on its disk") from error
    except DOWN as error:
        raise Unavailable("Postgres does not answer", retry_after=RETRY_SECONDS) from error


@contextmanager
def record_faults() -> Iterator[None]:
    """For the answer log: as `postgres_faults`; a value that Postgres refuses becomes `Rejected`."""
    with postgres_faults():
        try:
            yield
        except (*DOWN, *DAMAGE):
            raise
        except asyncpg.PostgresError as error:
            log_refusal(error)
            raise Rejected("Postgres rejected the statement") from error


@contextmanager
def retrieval_faults() -> Iterator[None]:
    """For parts that an answer can do without: all of Postgres's faults become `RetrievalError`, marked as
    rejected if they do not mean that it is down."""
    try:
        yield
    except TimeoutError as error:
        raise RetrievalError("timeout") from error
    except DAMAGE as error:
        damaged(error)
        raise RetrievalError("unavailable", rejected=True) from error
    except asyncpg.DiskFullError as error:  # no room to sort in
        raise RetrievalError("unavailable", rejected=True) from error
    except DOWN as error:
        raise RetrievalError("unavailable") from error
    except asyncpg.PostgresError as error:
        log_refusal(error)
        raise RetrievalError("unavailable", rejected=True) from error


def damaged(error: asyncpg.PostgresError) -> Damaged:
    log.error("Postgres is damaged", sqlstate=error.sqlstate, detail=str(error))
    return Damaged(
        f"Postgres is damaged: {error}. `ibid doctor` names the table or index and says what to do"
    )


def log_refusal(error: asyncpg.PostgresError) -> None:
    log.error("Postgres refused a statement", kind=type(error).__name__, sqlstate=error.sqlstate)


HEAD = struct.Struct(">HH")
SCHEMA = "SELECT typnamespace::regnamespace::text FROM pg_type WHERE oid = to_regtype('vector')"
"""Some hosts have the extension in a schema of its own."""


def encode(embedding: Embedding) -> bytes:
    return HEAD.pack(len(embedding) // 4, 0) + np.frombuffer(embedding, "<f4").astype(">f4").tobytes()


def decode(wire: bytes) -> Embedding:
    return np.frombuffer(wire, ">f4", offset=HEAD.size).astype("<f4").tobytes()


async def register(connection: asyncpg.Connection) -> None:
    schema = await connection.fetchval(SCHEMA)
    await connection.set_type_codec("vector", schema=schema, encoder=encode, decoder=decode, format="binary")


MAX_CONNECTIONS = 16
"""Per replica: the embedded server takes 50, a small managed one 100."""
CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 15.0
"""Deadline of a statement, unless the caller gives one (`timeout=`)."""
RELEASE_SECONDS = 0.1
"""Seconds for returning a connection whose statement is cancelled: a caller that has given up on a hung
server must not wait again. After that the connection is dropped."""
CLOSE_SECONDS = 5.0
PATIENCE = 1.5
"""A caller that gave up after this many seconds had a deadline; an earlier one disconnected."""
PATIENCE_SHARE = 0.25
"""PATIENCE is at most this share of RAG_TIMEOUT_SECONDS: less than every deadline derived from it."""


class PooledConnection(asyncpg.Connection):
    """A connection without asyncpg's reset on release, which costs every statement a round trip. No session
    state outlives a transaction (advisory locks and cursors belong to one, `jobs.Listener` ends its LISTEN
    and its lock).
    An open transaction is still rolled back."""

    def get_reset_query(self) -> str:
        return ""


class Pool(asyncpg.Pool):
    """asyncpg's pool with a deadline for acquiring a connection."""

    superuser: str | None = None
    """DSN of the embedded server's superuser; None for a configured server."""
    home: Path | None = None
    """Folder of the embedded server; None for a configured server."""
    patience: float = PATIENCE
    breaker: Breaker
    """Opened only by `reading` and `recording`: a large upload or a long list may be slow on a healthy
    server."""

    def check_room(self, size: int = 0) -> None:
        """Raise `NoRoom` before a write that could leave the embedded server without room for its log, which
        would stop reads too. `size`: bytes of new content, if there are many."""
        if self.home:
            disk.check(self.home, disk.RESERVE if size else disk.LEAST_FREE, size)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """For reads that an answer can do without. Raises `RetrievalError`."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=self.patience), retrieval_faults():
            yield

    @contextmanager
    def recording(self) -> Iterator[None]:
        """For the log of answers. Raises `Unavailable`, `NoRoom`, `Damaged`, `Rejected`."""
        self._refuse()
        with self.breaker.attempt(is_down, patience=PATIENCE), record_faults():
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        """For everything else. While the breaker is open one of these may be its probe. Do not nest. Raises
        `Unavailable`, `NoRoom`, `Damaged`."""
        self._refuse()
        with nullcontext() if self.breaker.closed else self.breaker.attempt(is_down), postgres_faults():
            yield

    def _refuse(self) -> None:
        if self.breaker.refuses:
            raise Unavailable("Postgres does not answer", retry_after=self.breaker.retry_after)

    def acquire(self, *, timeout: float | None = None) -> "PoolAcquireContext[asyncpg.Record]":
        return super().acquire(timeout=ACQUIRE_SECONDS if timeout is None else timeout)

    async def release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - asyncpg's
    ) -> None:
        with suppress(TimeoutError):  # asyncpg has ended the connection by then
            await super().release(connection, timeout=RELEASE_SECONDS if timeout is None else timeout)


def build(dsn: str, max_size: int) -> Pool:
    pool = Pool(
        dsn,
        min_size=0,
        max_size=max_size,
        max_queries=50_000,
        max_inactive_connection_lifetime=300.0,
        init=register,
        loop=None,
        connection_class=PooledConnection,
        record_class=asyncpg.Record,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        server_settings={"application_name": "ibid", "timezone": "UTC"},
    )
    pool.breaker = Breaker(time.monotonic, lasting=LASTING)
    return pool


@asynccontextmanager
async def open_pool(dsn: str, *, max_size: int = MAX_CONNECTIONS) -> AsyncIterator[Pool]:
    """A pool on a migrated database; leaving waits 5 s for running statements, then cancels them."""
    pool = await build(dsn, max_size)
    try:
        yield pool
    finally:
        with suppress(TimeoutError):  # asyncpg has cut the rest off by then
            async with asyncio.timeout(CLOSE_SECONDS):
                await pool.close()
