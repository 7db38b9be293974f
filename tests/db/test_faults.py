"""asyncpg's errors are ours at the edge: the server's fault is told from the caller's."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

import asyncpg
import pytest

from app.db.pool import Pool, postgres_faults, record_faults, retrieval_faults
from app.errors import Damaged, NoRoom, Rejected, RetrievalError, Unavailable
from tests.fakes.logged import captured

SERVER = [
    ConnectionRefusedError(),
    FileNotFoundError("no socket"),
    TimeoutError(),
    asyncpg.InterfaceError("pool is closing"),
    asyncpg.ConnectionDoesNotExistError(),
    asyncpg.CannotConnectNowError(),
    asyncpg.AdminShutdownError(),
    asyncpg.QueryCanceledError(),
    asyncpg.TooManyConnectionsError(),
    asyncpg.DeadlockDetectedError(),
    asyncpg.InvalidPasswordError(),
    asyncpg.ReadOnlySQLTransactionError(),
    asyncpg.InternalClientError(),
]
CALLER = [
    asyncpg.UniqueViolationError(),
    asyncpg.UndefinedTableError(),
    asyncpg.CharacterNotInRepertoireError(),
    asyncpg.DataError("invalid input for query argument"),
]
BUG = KeyError("a bug")


def named(error: Exception) -> str:
    """A test's id."""
    return type(error).__name__


@pytest.mark.parametrize("error", SERVER, ids=named)
def test_a_server_that_does_not_answer_is_unavailable(error: Exception) -> None:
    """What the server could not do becomes a 503 that says when to ask again, its cause kept."""
    with pytest.raises(Unavailable) as caught, postgres_faults():
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.retry_after == 2


@pytest.mark.parametrize("error", SERVER, ids=named)
def test_a_search_is_lost_with_its_reason(error: Exception) -> None:
    """The same where an answer can do without: one word for `degraded`."""
    with pytest.raises(RetrievalError) as caught, retrieval_faults():
        raise error
    assert caught.value.reason == ("timeout" if isinstance(error, TimeoutError) else "unavailable")


@pytest.mark.parametrize("guard", [postgres_faults, record_faults])
def test_a_full_disk_is_no_outage(guard: Callable[[], AbstractContextManager[None]]) -> None:
    """It still reads; and what only reads goes on without, which says nothing of the server."""
    with pytest.raises(NoRoom) as caught, guard():
        raise asyncpg.DiskFullError
    assert isinstance(caught.value.__cause__, asyncpg.DiskFullError)
    with pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise asyncpg.DiskFullError
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)


DAMAGED = [
    asyncpg.DataCorruptedError('invalid page in block 5 of relation "base/5/16635"'),
    asyncpg.IndexCorruptedError('index "memory_pkey" is corrupt'),
    asyncpg.UndefinedFileError('could not open file "base/5/16635": No such file or directory'),
    asyncpg.PostgresIOError("could not read blocks"),
]


@pytest.mark.parametrize("error", DAMAGED, ids=named)
def test_a_damaged_file_is_told_apart_and_logged(error: asyncpg.PostgresError) -> None:
    """No outage that passes and no fault of the caller's: its file is named, an answer goes on without."""
    for guard in (postgres_faults, record_faults):
        with captured() as lines, pytest.raises(Damaged) as caught, guard():
            raise error
        assert (caught.value.status, caught.value.retry_after) == (500, None)
        (line,) = lines.of("Postgres is damaged")
        assert (line["level"], line["detail"]) == ("error", str(error))
    with captured() as lines, pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise error
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)
    assert lines.of("Postgres is damaged")


@pytest.mark.parametrize("error", CALLER, ids=named)
def test_a_fault_of_the_caller_passes(error: Exception) -> None:
    """A violated constraint is not dressed up as an outage."""
    with pytest.raises(type(error)), postgres_faults():
        raise error


@pytest.mark.parametrize("guard", [postgres_faults, record_faults, retrieval_faults])
def test_a_bug_passes(guard: Callable[[], AbstractContextManager[None]]) -> None:
    """Whatever it is around."""
    with pytest.raises(KeyError), guard():
        raise BUG


@pytest.mark.parametrize("error", CALLER, ids=named)
def test_what_postgres_will_not_take_costs_no_answer(error: Exception) -> None:
    """A search goes on without, the answer log is told apart; neither means that it is down."""
    with pytest.raises(RetrievalError) as lost, retrieval_faults():
        raise error
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)
    with pytest.raises(Rejected) as refused, record_faults():
        raise error
    assert refused.value.__cause__ is error


@pytest.mark.parametrize("error", SERVER, ids=named)
def test_the_answer_log_s_outages_are_outages(error: Exception) -> None:
    """Not refusals, which would be given up."""
    with pytest.raises(Unavailable), record_faults():
        raise error


def test_a_refusal_is_logged_without_its_text() -> None:
    """The class and the SQLSTATE; the text may quote what somebody asked."""
    with captured() as lines, pytest.raises(Rejected), record_faults():
        raise asyncpg.NotNullViolationError("secret")
    (line,) = lines.of("Postgres refused a statement")
    assert (line["kind"], line["sqlstate"]) == ("NotNullViolationError", "23502")
    assert "secret" not in lines.getvalue()


async def test_cancellation_passes() -> None:
    """No guard turns a cancelled request into an outage."""
    for guard in (postgres_faults, record_faults, retrieval_faults):
        with pytest.raises(asyncio.CancelledError), guard():
            raise asyncio.CancelledError


async def test_real_faults_are_told_apart(pool: Pool) -> None:
    """Against a real server: wrong SQL is ours, a statement that takes too long is the server's."""
    with pytest.raises(asyncpg.UndefinedTableError), postgres_faults():
        await pool.execute("SELECT * FROM nowhere")
    with pytest.raises(asyncpg.DataError), postgres_faults():
        await pool.fetchval("SELECT $1::int", "one")
    with pytest.raises(Unavailable), postgres_faults():
        await pool.execute("SELECT pg_sleep(5)", timeout=0.05)
