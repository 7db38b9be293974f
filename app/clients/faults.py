"""What asyncpg raises when Postgres is down, slow or restarting, turned into ours at one place.

A statement's own fault (a unique violation, wrong SQL, a value that does not fit) passes through as it is:
it says something about the caller, not about the server. Raises `Unavailable` or `RetrievalError`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from app.domain.errors import RetrievalError, Unavailable

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


@contextmanager
def postgres_faults() -> Iterator[None]:
    """Around whatever cannot do without Postgres: the server's faults become `Unavailable`."""
    try:
        yield
    except DOWN as error:
        raise Unavailable("Postgres does not answer", retry_after=RETRY_SECONDS) from error


@contextmanager
def retrieval_faults() -> Iterator[None]:
    """Around what an answer can do without: they become `RetrievalError` (timeout or unavailable)."""
    try:
        yield
    except TimeoutError as error:
        raise RetrievalError("timeout") from error
    except DOWN as error:
        raise RetrievalError("unavailable") from error
