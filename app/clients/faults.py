"""What asyncpg raises when Postgres is down, slow, full or restarting, turned into ours at one place.

A statement's own fault (a unique violation, wrong SQL, a missing right) says something about the caller, not
about the server: it passes `postgres_faults` as it is, costs an answer no more than what it could do without
(`retrieval_faults`), and is told apart for the answer log (`record_faults`). A damaged file is neither: it is
logged with the file or index that Postgres names. Raises `Unavailable`, `NoRoom`, `Damaged`, `Rejected`,
`RetrievalError`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import structlog

from app.domain.errors import Damaged, NoRoom, Rejected, RetrievalError, Unavailable

RETRY_SECONDS = 2
"""What Retry-After says: an embedded server that died is back within about a second."""

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
            told(error)
            raise Rejected("Postgres does not take this") from error


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
        told(error)
        raise RetrievalError("unavailable", rejected=True) from error


def damaged(error: asyncpg.PostgresError) -> Damaged:
    """The problem of a damaged file, logged as an error."""
    log.error("Postgres is damaged", sqlstate=error.sqlstate, detail=str(error))
    return Damaged(
        f"Postgres is damaged: {error}. `ibid doctor` names the table or index and says what to do"
    )


def told(error: asyncpg.PostgresError) -> None:
    """A fault that no waiting mends, in the log: its class alone, since its text may quote what was asked."""
    log.error("Postgres refused a statement", kind=type(error).__name__, sqlstate=error.sqlstate)
