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
"""The server's faults."""
DAMAGE: tuple[type[asyncpg.PostgresError], ...] = (
    asyncpg.DataCorruptedError,  # a page whose checksum is wrong, a file that is too short
    asyncpg.IndexCorruptedError,
    asyncpg.UndefinedFileError,  # a table's or an index's file is gone
    asyncpg.PostgresIOError,  # the disk does not read it
)
"""What its files are to blame for. Their texts name files and indexes, never what is in them."""

log = structlog.get_logger(__name__)


@contextmanager
def postgres_faults() -> Iterator[None]:
    """Around whatever cannot do without Postgres: the server's faults become `Unavailable`, a full disk
    `NoRoom` (it still reads)."""
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
    """Around the answer log: as `postgres_faults`, and what Postgres will not take is `Rejected`."""
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
    """Around what an answer can do without: all of Postgres's faults become `RetrievalError` (timeout or
    unavailable), and those that do not mean that it is down say so."""
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
    """The problem of a damaged file, logged as an error."""
    log.error("Postgres is damaged", sqlstate=error.sqlstate, detail=str(error))
    return Damaged(
        f"Postgres is damaged: {error}. `ibid doctor` names the table or index and says what to do"
    )


def log_refusal(error: asyncpg.PostgresError) -> None:
    """Log a refused statement by its class alone: its text may quote what was asked."""
    log.error("Postgres refused a statement", kind=type(error).__name__, sqlstate=error.sqlstate)


HEAD = struct.Struct(">HH")
SCHEMA = "SELECT typnamespace::regnamespace::text FROM pg_type WHERE oid = to_regtype('vector')"
"""Some hosts keep the extension in a schema of its own; the search path finds it."""


def encode(embedding: Embedding) -> bytes:
    return HEAD.pack(len(embedding) // 4, 0) + np.frombuffer(embedding, "<f4").astype(">f4").tobytes()


def decode(wire: bytes) -> Embedding:
    return np.frombuffer(wire, ">f4", offset=HEAD.size).astype("<f4").tobytes()


async def register(connection: asyncpg.Connection) -> None:
    """Let this connection give and take `vector` values as Embeddings, in COPY too."""
    schema = await connection.fetchval(SCHEMA)
    await connection.set_type_codec("vector", schema=schema, encoder=encode, decoder=decode, format="binary")


MAX_CONNECTIONS = 16
"""A replica's share: the embedded server takes 50, a small managed one 100."""
CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 15.0
"""A statement's own deadline where the caller gives none (`timeout=`)."""
RELEASE_SECONDS = 0.1
"""For giving a connection back, its interrupted statement called off: whoever has given up waiting for a hung
server must not wait for the giving up. Where it takes longer the connection is dropped."""
CLOSE_SECONDS = 5.0
PATIENCE = 1.5
"""A caller that waited this long and then gave up had a deadline; one before that has left."""
PATIENCE_SHARE = 0.25
"""Part of RAG_TIMEOUT_SECONDS, if that is less: below every deadline that is a part of it."""


class Connection(asyncpg.Connection):
    """A connection that is given back as it is: nothing of ours outlives its transaction (advisory locks and
    cursors are a transaction's, `jobs.Listener` takes its LISTEN back), and the statement that would undo it
    costs every other statement a round trip. A transaction left open is still rolled back."""

    def get_reset_query(self) -> str:
        return ""


class Pool(asyncpg.Pool):
    """asyncpg's pool, but nobody queues for a connection for ever."""

    superuser: str | None = None
    """DSN of the embedded server's own superuser; None: the server is another's."""
    home: Path | None = None
    """Folder of the embedded server; None: likewise."""
    patience: float = PATIENCE
    """See PATIENCE."""
    breaker: Breaker
    """Opened by `reading` and `recording` alone: a large upload or a long list may be slow on a server that
    is well."""

    def check_room(self, size: int = 0) -> None:
        """Raise `NoRoom` before a write that could leave the embedded server without room for its log: it
        would stop, and reads with it. `size`: bytes of new content, where there are many."""
        if self.home:
            disk.check(self.home, disk.RESERVE if size else disk.LEAST, size)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around what an answer can do without. Raises `RetrievalError`."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=self.patience), retrieval_faults():
            yield

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Around the log of answers. Raises `Unavailable`, `NoRoom`, `Damaged`, `Rejected`."""
        self._refuse()
        with self.breaker.attempt(is_down, patience=PATIENCE), record_faults():
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around all else. While the breaker is open one of these may be its probe. Not within one another.
        Raises `Unavailable`, `NoRoom`, `Damaged`."""
        self._refuse()
        with nullcontext() if self.breaker.closed else self.breaker.attempt(is_down), postgres_faults():
            yield

    def _refuse(self) -> None:
        if self.breaker.refuses:
            raise Unavailable("Postgres does not answer", retry_after=self.breaker.retry_after)

    def acquire(self, *, timeout: float | None = None) -> "PoolAcquireContext[asyncpg.Record]":
        """A connection within `timeout` seconds; `TimeoutError` after that."""
        return super().acquire(timeout=ACQUIRE_SECONDS if timeout is None else timeout)

    async def release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - asyncpg's
    ) -> None:
        """Give a connection back, or drop it if that takes too long."""
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
        connection_class=Connection,
        record_class=asyncpg.Record,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        server_settings={"application_name": "ibid", "timezone": "UTC"},
    )
    pool.breaker = Breaker(time.monotonic, lasting=LASTING)
    return pool


@asynccontextmanager
async def open_pool(dsn: str, *, max_size: int = MAX_CONNECTIONS) -> AsyncIterator[Pool]:
    """A pool on a migrated database; leaving waits 5 s for statements under way, then cuts them off."""
    pool = await build(dsn, max_size)
    try:
        yield pool
    finally:
        with suppress(TimeoutError):  # asyncpg has cut the rest off by then
            async with asyncio.timeout(CLOSE_SECONDS):
                await pool.close()
